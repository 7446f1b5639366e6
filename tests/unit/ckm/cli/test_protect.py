"""``ckm protect``: a first table without a job, with all that makes a release safe."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import ckm
from ckm.cli import app

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CKM_SECRET", raising=False)
    draw = np.random.default_rng(4)
    people = pd.DataFrame(
        {
            "person": [f"p{number:05}" for number in draw.permutation(3000)],
            "region": draw.choice(["01", "02", "03"], 3000),
            "sex": draw.choice(["F", "M"], 3000),
            "age": [97, *draw.integers(0, 90, 2999)],
        }
    )
    (tmp_path / "data").mkdir()
    people.to_csv(tmp_path / "data" / "people.csv", index=False)
    return tmp_path


def run(*words):
    environment = {"CKM_LOG_FORMAT": "text", "COLUMNS": "200"}
    return CliRunner(env=environment).invoke(app, ["protect", *map(str, words)])


FIRST = ("data/people.csv", "region", "sex", "--id", "person", "-o", "tables")


def test_a_first_table_has_a_secret_a_ledger_and_a_job_that_repeats_it(folder):
    done = run(*FIRST)
    assert done.exit_code == 0, done.stderr
    assert "secret.key: keep it" in done.stderr
    for kept in ("data/secret.key", "data/ledger.db", "tables.toml"):
        assert (folder / kept).stat().st_mode & 0o777 == 0o600
    assert (folder / "tables/public/report.en.html").exists()
    assert "[report]" not in (folder / "tables.toml").read_text()
    text = (folder / "tables/public/region_by_sex.csv").read_bytes()
    again = CliRunner().invoke(app, ["release", "tables.toml", "-o", "again"])
    assert again.exit_code == 0, again.stderr
    assert (folder / "again/public/region_by_sex.csv").read_bytes() == text

    file = folder / "data" / "secret.key"
    table = ckm.protect("data/people.csv", ["region", "sex"], id="person", secret=file)
    published = pd.read_csv(folder / "tables/public/region_by_sex.csv", dtype={"region": str})
    pd.testing.assert_frame_equal(table.to_pandas(), published)
    assert str(table).endswith("[12 cells, not checked by a release]")


def test_the_secret_is_made_once_and_a_table_of_almost_the_same_people_is_refused(folder):
    assert run(*FIRST).exit_code == 0
    secret = (folder / "data/secret.key").read_bytes()
    later = run(*FIRST[:-1], "adults", "--where", "age >= 18")
    assert later.exit_code == 0, later.stderr
    assert "keep it" not in later.stderr
    assert (folder / "data/secret.key").read_bytes() == secret
    thin = run(*FIRST[:-1], "others", "--where", "age < 97")
    assert thin.exit_code == 1, thin.output
    assert not (folder / "others").exists()
    assert not (folder / "others.toml").exists()


def test_what_fails_leaves_no_job_and_a_folder_that_exists_is_kept(folder):
    failed = run("data/people.csv", "regoin", "--id", "person", "-o", "tables")
    assert failed.exit_code == 2
    assert "did you mean 'region'?" in failed.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["data"]
    assert run(*FIRST).exit_code == 0
    before = (folder / "tables.toml").read_text()
    other = run("data/people.csv", "sex", "--id", "person", "-o", "tables")
    assert other.exit_code == 2
    assert "--force" in other.stderr
    assert (folder / "tables.toml").read_text() == before


def test_a_dry_run_keeps_nothing(folder):
    done = run(*FIRST, "--dry-run")
    assert done.exit_code == 0, done.stderr
    assert sorted(path.name for path in folder.rglob("*")) == ["data", "people.csv"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("data/people.csv", "region", "-o", "t"), "--id"),
        (("data/people.csv", "--id", "person", "-o", "t"), "COLUMNS"),
        ((*FIRST, "--secret", "tables/secret.key"), "must not lie"),
        ((*FIRST, "--ledger", "tables/l.db"), "must not lie"),
        (("s3://bucket/people.parquet", "sex", "--id", "x", "-o", "t"), "--secret FILE"),
        (("data/people.csv", "age", "--id", "region", "-o", "t"), "repeat"),
    ],
)
def test_a_table_that_would_be_unsafe_is_refused_and_says_why(folder, words, said):
    refused = run(*words)
    assert refused.exit_code in {1, 2, 3}
    assert said in refused.stderr
    assert not (folder / "t").exists()
    assert not (folder / "tables").exists()
