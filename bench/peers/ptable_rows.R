# All rows of a p-table by R ptable: CPU seconds.
given <- as.numeric(commandArgs(trailingOnly = TRUE))  # largest noise, variance, left or not
suppressMessages(library(ptable))
spent <- system.time(
  create_cnt_ptable(D = given[1], V = given[2], optim = 4, mono = given[3] == 1)
)
cat(sprintf('{"cpu": %f}\n', sum(spent[c(1, 2)])))
