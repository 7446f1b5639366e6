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

# Codes stay texts: 01 is no 1.
read_table <- function(file) {
  found <- read.csv(file, colClasses = "character", check.names = FALSE, encoding = "UTF-8")
  numbers <- intersect(c("count", "i", "j", "p", "v", "p_int_lb", "p_int_ub"), names(found))
  found[numbers] <- lapply(found[numbers], as.numeric)
  found
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
  found <- read_table(file.path(folder, "pt.csv"))
  found$type <- label
  attr(found, "ckm") <- readBin(kept, "raw", file.size(kept))  # to the last bit, for ckm_tabulate
  found
}

ckm_release <- function(job, output) {
  run("release", job, "-o", output)
  files <- list.files(file.path(output, "public"), "\\.csv$", full.names = TRUE)
  found <- lapply(files, read_table)
  names(found) <- sub("\\.csv$", "", basename(files))
  found
}

ckm_tabulate <- function(data, dimensions, id = NULL, record_key = NULL, secret = NULL,
                         ptable, mix = TRUE, where = NULL) {
  folder <- tempfile("ckm")
  dir.create(folder)
  Sys.chmod(folder, "0700")
  on.exit(unlink(folder, recursive = TRUE))
  write.csv(data, file.path(folder, "data.csv"), na = "", row.names = FALSE, fileEncoding = "UTF-8")
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
  job <- c(
    "schema = 1",
    section("[data]", list(path = "data.csv", id = id, record_key = record_key)),
    section("[keys]", list(secret = secret, mix = mix)),
    section("[ptable]", list(path = ptable)),
    section("[[table]]", list(name = "cells", dimensions = as.list(dimensions), margins = "all", where = where))
  )
  writeLines(enc2utf8(job), file.path(folder, "job.toml"), useBytes = TRUE)
  cells <- ckm_release(file.path(folder, "job.toml"), file.path(folder, "out"))$cells
  names(cells)[names(cells) == "count"] <- "puwc"
  cells$vname <- rep("total", nrow(cells))
  cells[c(dimensions, "vname", "puwc")]
}

ckm_secret <- function(file) {
  run("keys", "secret", file)
  invisible(file)
}
