"""The package for R: sound by R's own check, and the same numbers as cellKey by way of it."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pandas as pd
import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed"),
]
ROOT = Path(__file__).resolve().parents[2]


def run(command, folder):
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "CKM_COMMAND": f"{sys.executable} -m ckm",
        "_R_CHECK_FORCE_SUGGESTS_": "false",
    }
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def by_r(code, folder):
    command = f'c("{sys.executable}", "-m", "ckm")'
    head = f'source("{ROOT}/r/ckm/R/ckm.R")\noptions(ckm.command = {command})\n'
    (folder / "code.R").write_text(head + code, encoding="utf-8")
    answer = run(["Rscript", "code.R"], folder)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def test_the_check_of_r_finds_nothing_and_the_vignette_shows_what_is_computed(tmp_path):
    packages = 'q(status = !all(c("knitr", "rmarkdown") %in% rownames(installed.packages())))'
    has_knitr = run(["Rscript", "-e", packages], tmp_path).returncode == 0
    without = [] if has_knitr and shutil.which("pandoc") else ["--no-build-vignettes"]
    built = run(["R", "CMD", "build", *without, ROOT / "r" / "ckm"], tmp_path)
    assert built.returncode == 0, built.stdout + built.stderr
    ignore = ["--ignore-vignettes"] if without else []
    check = ["R", "CMD", "check", "--no-manual", *ignore, "ckm_0.1.0.tar.gz"]
    said = run(check, tmp_path).stdout
    # R notes that packages are absent which it was told to do without.
    is_noted = not has_knitr and "Packages suggested but not available" in said
    assert "Status: OK" in said or (is_noted and "Status: 1 NOTE" in said), said
    if without:
        pytest.skip("knitr, rmarkdown or pandoc is not installed: no vignette is made")
    with tarfile.open(tmp_path / "ckm_0.1.0.tar.gz") as sources:
        page = sources.extractfile("ckm/inst/doc/cellkey.html").read().decode()
    shown = " ".join(page.split())
    assert "Total Total total" in shown
    assert "variance 0 3 3 3" in shown


def test_counts_are_those_of_cellkey(shared, tmp_path):
    cellkey = shared / "reference" / "cellkey"
    by_r(
        f"""
micro <- read.csv("{cellkey}/micro.csv", colClasses = c(rkey = "character"))
ptable <- read.csv("{cellkey}/ptable_cnt_D5V3js2.csv")
found <- ckm_tabulate(micro, c("sex", "age"), record_key = "rkey", ptable = ptable, mix = FALSE)
write.csv(found, "found.csv", row.names = FALSE)
""",
        tmp_path,
    )
    found = pd.read_csv(tmp_path / "found.csv")
    wanted = pd.read_csv(cellkey / "counts_perturbed.csv").query(
        "table == 'plain' and weights == 'unweighted' and ptable == 'D5V3js2'"
    )
    wanted = wanted[wanted["vname"] == "total"]
    both = wanted.merge(found, on=["sex", "age", "vname"], suffixes=("", "_found"))
    assert len(both) == len(wanted) == 21
    assert both["puwc"].tolist() == both["puwc_found"].tolist()


def test_a_table_of_its_own_and_what_goes_wrong(tmp_path):
    said = by_r(
        """
ckm_secret("secret.key")
people <- data.frame(person = 1:90, region = sprintf("%02d", 1:3), x = c("é", "F"))
names(people)[3] <- "a \\"b\\" \\\\"
ptable <- ckm_ptable(D = 5, V = 3, js = 2)
cat(names(ptable), "\n")
tabulate <- function(by) {
  ckm_tabulate(people, by, id = "person", secret = "secret.key", ptable = ptable)
}
cells <- tabulate(names(people)[2:3])
cat(unique(cells$region), unique(cells[[2]]), names(cells)[3:4], "\n")
one <- tabulate("region")
stopifnot(identical(one$puwc, cells$puwc[cells[[2]] == "Total"]))
problem <- tryCatch(tabulate("regoin"), error = conditionMessage)
cat(problem)
""",
        tmp_path,
    )
    assert "i j p v p_int_lb p_int_ub type" in said
    assert "Total 01 02 03 Total F é vname puwc" in said
    assert "did you mean 'region'?" in said


def test_codes_stay_texts_and_measures_are_numbers_whatever_columns_are_called(tmp_path):
    said = by_r(
        """
ckm_secret("secret.key")
n <- 2400
people <- data.frame(
  person = 1e9 + 1e6 * seq_len(n),  # doubles: R would write 1.001e+09
  p = rep_len(sprintf("%02d", 1:4), n), v = rep(c("007", "1e3", "NA"), each = n / 3),
  w = rep_len(c(1.5, 2, 3.25), n), income = exp(seq(5, 9, length.out = n)),
  region = rep(c("1", "2"), each = n / 2),
  commune = sprintf("%d%03d", rep(1:2, each = n / 2), 1:20)
)
tabulate <- function(...) {
  ptable <- ckm_ptable(D = 5, V = 3)
  ckm_tabulate(people, id = "person", secret = "secret.key", ptable = ptable, ...)
}
cells <- tabulate(c("p", "v"))
stopifnot(identical(unique(cells$p), c("Total", "01", "02", "03", "04")))
stopifnot(setequal(cells$v, c("Total", "007", "1e3", "NA")), is.numeric(cells$puwc))
more <- tabulate("geo", weight = "w", sums = "income", means = "income",
                 hierarchies = list(geo = c("region", "commune")))
stopifnot(vapply(more[c("puwc", "pwc", "sum_income", "mean_income")], is.numeric, NA))
stopifnot(nrow(more) == 43, identical(more$region[2:3], c("1", "1")))
stopifnot(abs(more$sum_income[1] / sum(people$w * people$income) - 1) < .02)
cat(names(more), in_full(c(1e15, .1 + .2, NA, 123456789012)))
""",
        tmp_path,
    )
    names = "region commune vname puwc pwc sum_income mean_income"
    assert said == f"{names} 1000000000000000 0.30000000000000004 NA 123456789012"


@pytest.mark.parametrize("page", ["docs/tutorial/from-r.md", "docs/fr/tutorial/from-r.md"])
def test_the_tutorial_runs_as_it_is_written(page, tmp_path):
    needed = (
        'all(c("nanoparquet", "reticulate") %in% rownames(installed.packages()))'
        ' && packageVersion("reticulate") >= "1.38"'
    )
    if run(["Rscript", "-e", f"q(status = !({needed}))"], tmp_path).returncode:
        pytest.skip("nanoparquet, or a reticulate that knows NumPy 2, is not installed")
    text = (ROOT / page).read_text(encoding="utf-8")
    pieces = re.findall(r"^```r\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    code = "".join(pieces).replace("library(ckm)\n", "")
    code = re.sub(r"/\w+/\w+/\.venv", sys.prefix, code)
    (tmp_path / "page.R").write_text(code, encoding="utf-8")
    said = by_r('found <- source("page.R", echo = TRUE)$value\nis.matrix(found)', tmp_path)
    assert said.count("Total") == 2
    assert said.endswith("TRUE\n")
