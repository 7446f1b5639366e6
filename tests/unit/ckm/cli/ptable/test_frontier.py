"""The frontier on the command line: what a page, a table and its data say, and to whom."""

import csv
import json
import stat

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from ckm.cli import app
from ckm.comparison.frontier import plan_of_job
from ckm.config import read_job
from ckm.release.frontier_file import frontier_of
from ckm.release.job_inputs import load_ptable
from ptable import PTable

OPTIONS = ["--max-noise", "2", "--variance", "1.5", "--floor", "0.5", "--points", "3"]
JOB = """schema = 1
title = "Small"
data = {{ path = "people.parquet", record_key = "rkey", key_range = 4294967296 }}
keys = {{ secret = "secret.key" }}
ptable = {{ max_noise = 2, variance = 1.5 }}
[report]
sensitive = 2
{report}
[[table]]
name = "people"
dimensions = ["area", "kind"]
"""


def run(*args, **environment):
    settings = {"CKM_LOG_FORMAT": "text", "COLUMNS": "200", "CKM_LANG": "en", **environment}
    return CliRunner(env=settings).invoke(app, ["ptable", *map(str, args)])


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def job(folder):
    rng = np.random.default_rng(1)
    n = 1200
    people = {
        "rkey": rng.integers(2**32, size=n, dtype=np.uint64),
        "area": [f"a{k:03}" for k in rng.integers(150, size=n)],
        "kind": [f"k{k}" for k in np.minimum(rng.geometric(0.5, size=n), 6)],
    }
    pd.DataFrame(people).to_parquet(folder / "people.parquet")
    (folder / "secret.key").write_bytes(b"0123456789abcdef" * 2)
    (folder / "secret.key").chmod(0o600)
    path = folder / "job.toml"
    path.write_text(JOB.format(report=""))
    return path


def test_a_frontier_without_records_is_a_page_with_its_data_beside_it(folder):
    result = run("frontier", *OPTIONS, "--no-field", "-o", "f.html")
    assert result.exit_code == 0, result.output
    assert "Internal" not in result.stderr
    page = (folder / "f.html").read_text()
    assert "nothing on it was computed from records" in page
    assert "<svg" in page
    facts = json.loads((folder / "f.json").read_text())
    assert facts["has_records"] is False
    assert facts["priors"] == ["textbook"]
    assert len(facts["points"]) >= 3
    lines = list(csv.DictReader((folder / "f.csv").read_text().splitlines()))
    assert {line["kind"] for line in lines} == {"point", "design"}
    own = next(line for line in lines if line["name"] == "own")
    assert float(own["least_loss"]) <= float(own["loss"])
    again = run("frontier", *OPTIONS, "--no-field", "-o", "f.html")
    assert again.exit_code == 2
    assert "exists; replace it with --force" in again.stderr


def test_a_page_is_in_french_too(folder):
    result = run("frontier", *OPTIONS, "--no-field", "-o", "f.html", "--lang", "fr")
    assert result.exit_code == 0, result.output
    assert '<html lang="fr"' in (folder / "f.html").read_text()


def test_the_frontier_of_a_job_is_internal_from_its_first_line_on(job, folder):
    result = run("frontier", "job.toml", "--points", "2", "--floor", "0.5", "-o", "f.csv")
    assert result.exit_code == 0, result.output
    assert "Internal" in result.stderr.splitlines()[0]
    assert (folder / "f.csv").read_text().startswith("# internal")
    assert mode(folder / "f.csv") == 0o600
    names = set(pd.read_csv(folder / "f.csv", comment="#")["name"])
    assert {"own", "insee", "ons-10-5"} <= names


LIMITED = """max_noise = 2, variance = 1.5, objective = "least-variance", limits = {{ \
posterior = {posterior}, variance_floor = 0.5, neighbours = [1.0, 0.4] }}"""


@pytest.mark.parametrize("posterior", [0.9, 0.2])
def test_a_job_by_limits_keeps_its_own_and_is_drawn_even_if_nothing_meets_them(job, posterior):
    text = JOB.format(report="")
    limited = LIMITED.format(posterior=posterior)
    job.write_text(text.replace("max_noise = 2, variance = 1.5", limited))
    plan = plan_of_job(job, limits={"variance_floor": 0.6}, objective=None)
    assert plan.spec.limits.neighbours == (1.0, 0.4)
    assert plan.spec.limits.variance_floor == 0.6
    assert plan.spec.objective == "least-variance"
    assert plan.priors == ("tables", "textbook")
    assert plan.has_records
    assert (plan.own is None) == (posterior == 0.2)
    assert bool(plan.cautions) == (posterior == 0.2)


def test_a_job_of_few_cells_has_the_prior_of_textbooks_alone_and_says_so(job, folder):
    people = pd.read_parquet(folder / "people.parquet")
    people.assign(area="one").to_parquet(folder / "people.parquet")
    plan = plan_of_job(job, limits={}, objective=None)
    assert plan.priors == ("textbook",)
    assert not plan.has_records
    assert "too few cells" in plan.cautions[0]


def test_tables_of_the_points_are_proven_and_lie_in_a_folder_for_inside(job, folder):
    options = ["--points", "2", "--floor", "0.5", "--no-field", "--tables", "points"]
    result = run("frontier", "job.toml", *options)
    assert result.exit_code == 0, result.output
    assert "Certified tables of the frontier" in result.stdout
    assert mode(folder / "points") == 0o700
    files = sorted((folder / "points").iterdir())
    assert len(files) >= 2
    for file in files:
        table = PTable.read(file)
        table.certificate.check(table)
        assert mode(file) == 0o600
    refused = run("frontier", "job.toml", *options)
    assert refused.exit_code == 2
    assert "exists already" in refused.stderr


def test_an_internal_report_shows_the_frontier_of_its_own_p_table_alone(job, folder):
    options = ["--points", "2", "--floor", "0.5", "--no-field"]
    assert run("frontier", "job.toml", *options, "-o", "f.json").exit_code == 0
    job.write_text(JOB.format(report='frontier = "f.json"'))
    plan = read_job(job)
    facts = frontier_of(plan, load_ptable(plan))
    assert facts.has_records
    assert facts.designs[0].is_own
    other = PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8)
    with pytest.raises(ValueError, match="is of another p-table"):
        frontier_of(plan, other)
    (folder / "f.json").write_text("{}")
    with pytest.raises(ValueError, match="is no frontier"):
        frontier_of(plan, load_ptable(plan))


@pytest.mark.slow
def test_a_release_shows_the_frontier_inside_and_never_outside(job, folder):
    options = ["--points", "2", "--floor", "0.5", "--no-field"]
    assert run("frontier", "job.toml", *options, "-o", "f.json").exit_code == 0
    job.write_text(JOB.format(report='frontier = "f.json"'))
    environment = {"CKM_LOG_FORMAT": "text", "CKM_LANG": "en"}
    result = CliRunner(env=environment).invoke(app, ["release", "job.toml", "-o", "out"])
    assert result.exit_code == 0, result.output
    internal = (folder / "out" / "internal" / "report-internal.en.html").read_text()
    assert 'id="frontier"' in internal
    assert json.loads((folder / "out" / "internal" / "report.json").read_text())["frontier"]
    for file in (folder / "out" / "public").rglob("*"):
        if file.suffix in {".html", ".json"}:
            assert "frontier" not in file.read_text()
    again = CliRunner(env=environment).invoke(
        app, ["report", "out", "--internal", "-o", "again", "--lang", "fr"]
    )
    assert again.exit_code == 0, again.output


@pytest.mark.slow
def test_a_comparison_of_designs_shows_what_is_possible(job, folder):
    (folder / "designs.toml").write_text("[designs.quiet]\nmax_noise = 2\nvariance = 1.0\n")
    environment = {"CKM_LOG_FORMAT": "text", "CKM_LANG": "en"}
    words = ["compare", "job.toml", "designs.toml", "--frontier", "-o", "c.html"]
    result = CliRunner(env=environment).invoke(app, words)
    assert result.exit_code == 0, result.output
    page = (folder / "c.html").read_text()
    assert 'id="frontier"' in page
    assert "quiet" in page
    refused = CliRunner(env=environment).invoke(app, ["compare", "job.toml", "--frontier"])
    assert refused.exit_code == 2
    assert "--frontier goes with designs" in refused.stderr


@pytest.mark.slow
def test_the_design_is_found_with_which_attacks_find_no_more(job, folder):
    result = run(
        "frontier", "job.toml", "--points", "2", "--no-field", "--attacks", "-o", "f.json"
    )
    assert result.exit_code == 0, result.output
    attacks = json.loads((folder / "f.json").read_text())["attacks"]
    first, chosen = attacks["designs"][0], attacks["designs"][attacks["chosen"]]
    assert first["floor"] is None
    assert first["is_as_safe"] is True
    assert chosen["loss"] <= first["loss"]
    assert chosen["audit"] <= first["audit"] + 0.005
    for one in attacks["designs"]:
        if one["full_floor"] is not None and one["full_floor"] < 1.4:
            assert one["is_as_safe"] is None  # averages find more: not audited


@pytest.mark.slow
def test_advice_shows_how_far_a_design_is_from_the_possible(job):
    result = run("advise", "job.toml", "--frontier")
    assert result.exit_code == 0, result.output
    assert "Certified tables of the frontier" in result.stdout


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--variance", "1"], "Give JOB.toml, --preset, or --max-noise and --variance."),
        ([*OPTIONS, "--attacks"], "--attacks needs JOB.toml"),
        ([*OPTIONS, "--share", "0.2"], "--share can only go with --attacks"),
        ([*OPTIONS, "--objective", "entropy"], "Greatest entropy loses nothing"),
        ([*OPTIONS, "-o", "f.txt"], "The output must end in"),
    ],
)
def test_what_makes_no_frontier_is_refused(folder, args, words):
    result = run("frontier", *args)
    assert result.exit_code == 2
    assert words in result.stderr


def test_noise_beside_a_job_is_refused(job):
    result = run("frontier", "job.toml", "--max-noise", "3")
    assert result.exit_code == 2
    assert "Give a job or --max-noise, not both." in result.stderr


def test_whoever_stops_it_keeps_what_is_there(folder, monkeypatch):
    from ptable.advice import frontier

    solve, calls = frontier.solve, []

    def stopped(*args, **options):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return solve(*args, **options)

    monkeypatch.setattr(frontier, "solve", stopped)
    result = run("frontier", *OPTIONS[:-1], "12", "--no-field", "-o", "f.json")
    assert result.exit_code == 0, result.output
    assert "Stopped early: 2 of" in result.stderr
    assert len(json.loads((folder / "f.json").read_text())["points"]) == 2
