# What cellKey's vignette does, with the engine of ckm. The data need record keys with their digits:
# micro <- cellKey::ck_create_testdata()[, c("sex", "age")]
# micro$rkey <- sprintf("%.8f", runif(nrow(micro)))
library(ckm)
micro <- data.frame(
  sex = rep(c("male", "female"), 200),
  age = paste0("age_group", rep(1:4, each = 100)),
  rkey = sprintf("%.8f", ((1:400) * 0.6180339887) %% 1)
)
ptable <- ckm_ptable(D = 5, V = 3, js = 2, pstay = 0.5)
counts <- ckm_tabulate(micro, c("sex", "age"), record_key = "rkey", ptable = ptable, mix = FALSE)
print(counts)
