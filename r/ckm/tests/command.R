# What needs no command; the rest is tested with it, tests/unit/test_r_package.py.
options(ckm.command = "no-such-command-anywhere")
problem <- tryCatch(ckm::ckm_secret("x"), error = conditionMessage)
stopifnot(grepl("not found", problem), grepl("ckm.command", problem))
written <- ckm:::toml(list("a \"b\" \\", "c"))
stopifnot(identical(written, "[\"a \\\"b\\\" \\\\\", \"c\"]"))
stopifnot(identical(ckm:::toml(FALSE), "false"), identical(ckm:::toml(as.list("x")), "[\"x\"]"))
