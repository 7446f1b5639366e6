# A protected cube by cellKey or by INSEE's ckm: CPU seconds, cells, and peak memory in MB.
given <- commandArgs(trailingOnly = TRUE)  # package, file with the records
records <- as.data.frame(data.table::fread(given[2], colClasses = list(character = 1:8)))
dims <- setdiff(names(records), "rkey")
suppressMessages(library(given[1], character.only = TRUE))
cube <- function() {
  if (given[1] == "ckm") {
    found <- tabulate_and_apply_ckm(records, cat_vars = dims, D = 5, V = 3, js = 2)
    return(nrow(found$tab))
  }
  ptable <- ptable::create_cnt_ptable(D = 5, V = 3, js = 2)
  trees <- lapply(records[dims], function(x) hier_create("Total", nodes = sort(unique(x))))
  table <- ck_setup(records, rkey = "rkey", dims = trees)
  table$params_cnts_set(val = ck_params_cnts(ptable), v = "total")
  table$perturb("total")
  nrow(table$freqtab("total"))
}
spent <- system.time(cells <- suppressMessages(cube()))
peak <- grep("VmHWM", readLines("/proc/self/status"), value = TRUE)
peak <- as.numeric(gsub("[^0-9]", "", peak)) * 1024 / 1e6
cat(sprintf('{"cpu": %f, "cells": %d, "peak": %f}\n', sum(spent[c(1, 2)]), cells, peak))
