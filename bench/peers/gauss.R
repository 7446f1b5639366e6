# Secondary suppression by GaussSuppression: CPU seconds, and the cells that it hides.
given <- commandArgs(trailingOnly = TRUE)  # folder with finest.csv (finest cell, cell) and cells.csv
suppressMessages({
  library(SSBtools)
  library(Matrix)
})
finest <- read.csv(file.path(given[1], "finest.csv"))
cells <- read.csv(file.path(given[1], "cells.csv"))
spent <- system.time({
  sums <- sparseMatrix(finest$finest, finest$cell, x = 1, dims = c(max(finest$finest), nrow(cells)))
  hidden <- GaussSuppression(
    x = sums, candidates = order(-cells$value), primary = which(cells$primary == 1),
    printInc = FALSE, singletonMethod = "none"
  )
})
cat(sprintf('{"cpu": %f, "hidden": [%s]}\n', sum(spent[1:2]), paste(hidden - 1, collapse = ",")))
