# The command line and its files: nothing is computed here.

# Run the command; its last message is the error. `ckm.command` may hold several words.
run <- function(...) {
  command <- getOption("ckm.command", "ckm")
  words <- c(command[-1], ..., "--log-format", "text")
  said <- suppressWarnings(
    tryCatch(
      # R puts its own libraries before those that Python's packages bring along.
      system2(command[1], shQuote(words), stdout = TRUE, stderr = TRUE, env = "LD_LIBRARY_PATH="),
      error = function(problem) {
        stop("The command ", command[1], " is not found: install ckm-engine, or set ",
             "options(ckm.command = c(\"python3\", \"-m\", \"ckm_engine\")).", call. = FALSE)
      }
    )
  )
  if (!is.null(attr(said, "status"))) stop(paste(said, collapse = "\n"), call. = FALSE)
  invisible(said)
}

# Which columns are numbers: the command puts texts in quotes, and numbers not.
number_columns <- function(file) {
  start <- paste(c(readLines(file, n = 100, encoding = "UTF-8", warn = FALSE), ""), collapse = "\n")
  Encoding(start) <- "UTF-8"
  columns <- ncol(read.csv(file, colClasses = "character", check.names = FALSE, nrows = 1))
  fields <- regmatches(start, gregexpr("(\"([^\"]|\"\")*\"|[^,\n]*)[,\n]", start))[[1]]
  first <- fields[columns + seq_len(columns)]
  !is.na(first) & !startsWith(first, "\"")
}

# Codes stay texts: 01 is no 1, whatever its column is called.
read_table <- function(file, numbers = number_columns(file)) {
  cells <- read.csv(file, colClasses = "character", check.names = FALSE, encoding = "UTF-8",
                    na.strings = character())
  if (is.character(numbers)) numbers <- names(cells) %in% numbers
  cells[numbers] <- lapply(cells[numbers], function(texts) {
    texts[texts == ""] <- NA
    as.numeric(texts)
  })
  cells
}

# Numbers with all their digits: an identifier of ten million is no 1e+07.
in_full <- function(column) {
  if (inherits(column, "integer64")) return(as.character(column))
  if (!is.double(column) || is.object(column)) return(column)
  texts <- sprintf("%.15g", column)
  is_short <- !is.na(column) & as.numeric(texts) != column
  texts[is_short] <- sprintf("%.17g", column[is_short])
  is_whole <- is.finite(column) & column == round(column) & abs(column) < 2^53
  texts[is_whole] <- sprintf("%.0f", column[is_whole])
  texts[is.na(column)] <- NA
  noquote(texts)
}

# Texts in quotes and numbers not, as the command reads them.
write_records <- function(data, file) {
  quoted <- which(vapply(data, function(column) is.character(column) || is.factor(column), NA))
  data[] <- lapply(data, in_full)
  write.csv(data, file, na = "", row.names = FALSE, fileEncoding = "UTF-8", quote = quoted)
}

# A text, several, a number or a truth, as TOML writes it.
toml <- function(value) {
  is_list <- is.list(value)
  value <- unlist(value)
  if (is.character(value)) {
    value <- gsub("([\"\\\\])", "\\\\\\1", value)
    value <- paste0("\"", value, "\"")
  } else if (is.logical(value)) {
    value <- tolower(as.character(value))
  } else {
    value <- format(value, digits = 15)
  }
  if (is_list || length(value) > 1) paste0("[", paste(value, collapse = ", "), "]") else value
}

section <- function(name, settings) {
  settings <- Filter(Negate(is.null), settings)
  lines <- paste(names(settings), "=", vapply(settings, toml, ""))
  if (length(settings)) c(name, lines, "") else character()
}

ckm_ptable <- function(D, V, js = 0, pstay = NULL, label = "all", file = NULL) {
  folder <- tempfile("ckm")
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  kept <- if (is.null(file)) file.path(folder, "pt.parquet") else file
  settings <- c("--max-noise", D, "--variance", V, "--small", js, if (!is.null(pstay)) c("--p-stay", pstay))
  run("ptable", "build", settings, "-o", kept)
  run("ptable", "convert", kept, file.path(folder, "pt.csv"), "--to", "r-ptable")
  rows <- read_table(file.path(folder, "pt.csv"), c("i", "j", "p", "v", "p_int_lb", "p_int_ub"))
  rows$type <- label
  attr(rows, "ckm") <- readBin(kept, "raw", file.size(kept))  # to the last bit, for ckm_tabulate
  rows
}

ckm_release <- function(job, output) {
  run("release", job, "-o", output)
  files <- list.files(file.path(output, "public"), "\\.csv$", full.names = TRUE)
  tables <- lapply(files, read_table)
  names(tables) <- sub("\\.csv$", "", basename(files))
  tables
}

ckm_tabulate <- function(data, dimensions, id = NULL, record_key = NULL, secret = NULL,
                         ptable, mix = TRUE, where = NULL, weight = NULL, sums = NULL,
                         means = NULL, hierarchies = NULL) {
  folder <- tempfile("ckm")
  dir.create(folder)
  Sys.chmod(folder, "0700")
  on.exit(unlink(folder, recursive = TRUE))
  write_records(data, file.path(folder, "data.csv"))
  if (!is.data.frame(ptable)) {
    ptable <- normalizePath(ptable)
  } else if (!is.null(attr(ptable, "ckm"))) {
    writeBin(attr(ptable, "ckm"), file.path(folder, "pt.parquet"))
    ptable <- "pt.parquet"
  } else {
    write.csv(ptable, file.path(folder, "pt.csv"), row.names = FALSE)
    ptable <- file.path(folder, "pt.parquet")
    run("ptable", "convert", file.path(folder, "pt.csv"), ptable, "--digits", 12)
  }
  if (!is.null(secret)) secret <- normalizePath(secret)
  # Names of hierarchies may be any text.
  if (length(hierarchies)) names(hierarchies) <- vapply(names(hierarchies), toml, "")
  measures <- c("count", if (!is.null(weight)) "weighted",
                sprintf("sum:%s", sums), sprintf("mean:%s", means))
  job <- c(
    "schema = 1",
    section("[data]", list(path = "data.csv", id = id, record_key = record_key, weight = weight)),
    section("[keys]", list(secret = secret, mix = mix)),
    section("[ptable]", list(path = ptable)),
    section("[hierarchies]", lapply(hierarchies, as.list)),
    section("[[table]]", list(name = "cells", dimensions = as.list(dimensions), margins = "all",
                              where = where, measures = as.list(measures)))
  )
  writeLines(enc2utf8(job), file.path(folder, "job.toml"), useBytes = TRUE)
  cells <- ckm_release(file.path(folder, "job.toml"), file.path(folder, "out"))$cells
  # The measures are the last columns; dimensions keep their names, whatever these are.
  is_measure <- seq_along(cells) > length(cells) - length(measures)
  published <- c("count" = "puwc", "weighted" = "pwc")
  names(cells)[is_measure] <- ifelse(names(cells)[is_measure] %in% names(published),
                                     published[names(cells)[is_measure]], names(cells)[is_measure])
  data.frame(cells[!is_measure], vname = rep("total", nrow(cells)), cells[is_measure],
             check.names = FALSE)
}

ckm_secret <- function(file) {
  run("keys", "secret", file)
  invisible(file)
}
