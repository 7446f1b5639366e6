"""Tables by limits on the command line: built, checked, refused with the nearest limits."""

import pytest
from click.testing import CliRunner

from ckm.cli import app
from ptable import PTable
from ptable.dialects import DIALECTS

LIMITED = ["--max-noise", "3", "--variance", "2", "--posterior", "0.85", "--floor", "1"]


def run(*args):
    environment = {"CKM_LOG_FORMAT": "text", "COLUMNS": "120"}
    return CliRunner(env=environment).invoke(app, ["ptable", *args])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_table_by_limits_is_built_and_checked_with_its_figures(folder):
    options = [*LIMITED, "--objective", "least-variance", "--neighbours", "1,0.3"]
    built = run("build", *options, "-o", "pt.parquet")
    assert built.exit_code == 0, built.output
    assert "no table within these limits loses less than" in built.stderr
    table = PTable.read(folder / "pt.parquet")
    assert table.spec.limits.posterior == 0.85
    assert table.spec.limits.neighbours == (1.0, 0.3)
    checked = run("check", "pt.parquet")
    assert checked.exit_code == 0, checked.output
    for words in ("posterior: 0.8", "limit 0.85", "the certificate holds: every limit"):
        assert words in checked.stderr
    shown = run("show", "pt.parquet", "--program")
    assert shown.stdout.startswith("minimise    Σ_ij w_i (j - i)² P[i, j]\n")


def test_limits_that_nothing_keeps_are_answered_by_the_nearest(folder):
    result = run("build", "--max-noise", "2", "--posterior", "0.3", "-o", "pt.parquet")
    assert result.exit_code == 4
    assert "No p-table keeps all of these limits together." in result.stderr
    assert not (folder / "pt.parquet").exists()


def test_a_floor_that_no_row_can_have_is_refused(folder):
    result = run("build", *LIMITED[:6], "--floor", "5", "-o", "pt.parquet")
    assert result.exit_code == 4
    assert "the row of count 1 cannot vary by more than 3" in result.stderr


SPEC = """[ptable]
max_noise = 4
variance = 3.0
objective = "least-variance"
[ptable.limits]
posterior = {posterior}
neighbours = [1.0, 0.2]
priors = ["textbook"{more}]
"""
PEOPLE = """schema = 1
data = {{ path = "people.csv", record_key = "rkey", key_range = 4096 }}
keys = {{ mix = false }}
{spec}
[[table]]
name = "people"
dimensions = ["area", "age", "job"]
"""


def test_advice_reads_the_data_where_a_job_names_them(folder):
    lines = [f"{k * 7 % 4096},{k % 40},{k % 7},{k * k % 3}" for k in range(600)]
    (folder / "people.csv").write_text("rkey,area,age,job\n" + "\n".join(lines) + "\n")
    spec = SPEC.format(posterior=0.8, more=', "tables"')
    (folder / "job.toml").write_text(PEOPLE.format(spec=spec))
    result = run("advise", "job.toml")
    assert result.exit_code == 0, result.output
    assert "A p-table within all limits exists." in result.stdout
    assert "ckm ptable build job.toml -o pt.parquet" in result.stdout


def test_advice_on_limits_that_nothing_keeps_is_the_nearest(folder):
    (folder / "spec.toml").write_text(SPEC.format(posterior=0.2, more=""))
    result = run("advise", "spec.toml")
    assert result.exit_code == 0, result.output
    assert "No p-table keeps all of these limits together." in result.stdout
    assert "all else as it is: posterior 0." in result.stdout


def test_what_other_tools_and_pictures_get_holds_no_prior(folder):
    options = [*LIMITED, "--objective", "least-variance", "--neighbours", "1,0.3"]
    assert run("build", *options, "-o", "pt.parquet").exit_code == 0
    table = PTable.read(folder / "pt.parquet")
    seen = {repr(share) for share in table.spec.limits.priors[0] if 0 < share < 1}
    layouts = [
        name
        for name in DIALECTS
        if name != "ckm" and run("convert", "pt.parquet", name, "--to", name).exit_code == 0
    ]
    assert {"destatis", "r-ptable", "sas", "tau-argus"} <= {*layouts}
    for layout in layouts:
        assert not any(share in (folder / layout).read_text() for share in seen)
    for name in ("heatmap", "distributions", "perturbation"):
        run("show", "pt.parquet", "--picture", name, "-o", f"{name}.svg")
        assert not any(share in (folder / f"{name}.svg").read_text() for share in seen)
    kept = run("convert", "pt.parquet", "again.json")
    assert "holds the priors of its limits: it stays inside" in kept.stderr


def test_check_names_a_limit_of_the_report_that_the_design_cannot_meet(folder):
    options = [*LIMITED, "--objective", "least-variance", "--neighbours", "1,0.3"]
    assert run("build", *options, "-o", "pt.parquet").exit_code == 0
    (folder / "people.csv").write_text("rkey,sex\n17,F\n")
    job = """schema = 1
data = {{ path = "people.csv", record_key = "rkey", key_range = 256 }}
keys = {{ mix = false }}
ptable = {{ path = "pt.parquet" }}
[report]
sensitive = 2
[report.limits]
posterior = {limit}
[[table]]
name = "people"
dimensions = ["sex"]
"""
    for limit, is_named in ((0.7, True), (0.9, False)):
        (folder / "job.toml").write_text(job.format(limit=limit))
        result = CliRunner(env={"CKM_LOG_FORMAT": "text", "COLUMNS": "300"}).invoke(
            app, ["check", "job.toml", "--quick"]
        )
        assert ("it was designed for other limits" in result.stderr) == is_named, result.output
        assert "are of counts 1 to 2" not in result.stderr
    (folder / "job.toml").write_text(
        job.format(limit=0.9).replace("sensitive = 2", "sensitive = 4")
    )
    result = CliRunner(env={"CKM_LOG_FORMAT": "text", "COLUMNS": "300"}).invoke(
        app, ["check", "job.toml", "--quick"]
    )
    assert "posterior are of counts 1 to 4, and the p-table was designed for 1 to 2" in (
        result.stderr
    )
