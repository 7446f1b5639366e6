"""What a folder of an office holds that this version reads otherwise."""

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from ckm.cli import app
from ckm.release.upgrade import compare_with_last_version

KEPT = Path(__file__).parents[3] / "kept" / "0.1.0"
JOB = """schema = 1
[data]
path = "people.csv"
id = "id"
[keys]
secret = "secret.key"
[ptable]
path = "pt.json"
[[table]]
name = "zones"
dimensions = ["zone", "sex"]
"""


@pytest.fixture
def folder(tmp_path):
    secret = tmp_path / "secret.key"
    shutil.copy(KEPT / "secret.key", secret)
    secret.chmod(0o600)
    shutil.copy(KEPT / "ons.json", tmp_path / "pt.json")
    (tmp_path / "job.toml").write_text(JOB)
    return tmp_path


def states(folder):
    return {str(one.path): (one.state, one.text) for one in compare_with_last_version(folder)}


@pytest.mark.parametrize(
    "zones", [["1E2", "100", "10"], ["0_4", "5_9", "7"], ["1.50", "2.25", "3.10"]]
)
def test_codes_that_were_taken_for_numbers_are_named_by_column(folder, zones):
    rows = [f"{i},{zone},f" for i, zone in enumerate(zones)]
    (folder / "people.csv").write_text("\n".join(["id,zone,sex", *rows]))
    state, text = states(folder)["job.toml"]
    assert state == "otherwise"
    assert "zone" in text
    assert not any(zone in text for zone in zones)


@pytest.mark.parametrize("zones", [["01", "1E2"], ["1.50", "2"], ["2027-01-01", "2027-02-01"]])
def test_codes_that_were_texts_before_are_read_as_before(folder, zones):
    rows = [f"{i},{zone},f" for i, zone in enumerate(zones)]
    (folder / "people.csv").write_text("\n".join(["id,zone,sex", *rows]))
    assert states(folder)["job.toml"][0] == "same"


def test_codes_that_write_back_are_read_as_before(folder):
    (folder / "people.csv").write_text("id,zone,sex\n1,01,f\n2,11,m\n")
    assert {state for state, _ in states(folder).values()} == {"same"}
    answer = CliRunner().invoke(app, ["upgrade", "--check", str(folder)])
    assert answer.exit_code == 0
    assert "2 files examined" in answer.output


def test_a_job_that_is_refused_and_a_damaged_p_table_are_named_and_the_rest_is_looked_at(
    folder,
):
    (folder / "people.csv").write_text("id,zone,sex\n1,10,f\n")
    (folder / "other.toml").write_text(JOB.replace("zones", "zones\nx"))
    (folder / "job.toml").write_text(JOB.replace("dimensions", "dimension"))
    text = (folder / "pt.json").read_text()
    (folder / "pt.json").write_text(text.replace('"key_range": 4294967296', '"key_range": 99'))
    assert [state for state, _ in states(folder).values()] == ["refused", "refused"]
    answer = CliRunner().invoke(app, ["upgrade", str(folder)])
    assert answer.exit_code == 1


def test_a_ledger_of_the_last_version_names_the_key_and_stays_as_it_is(tmp_path):
    for name in ("job.toml", "people.csv", "plain.parquet", "secret.key", "history.ckml"):
        shutil.copy(KEPT / name, tmp_path / name)
        (tmp_path / name).chmod(0o600)
    before = (tmp_path / "history.ckml").read_bytes()
    found = {str(one.path): one for one in compare_with_last_version(tmp_path)}
    assert found["job.toml"].state == "otherwise"
    assert "[keys] version = 1" in found["job.toml"].hint
    assert (tmp_path / "history.ckml").read_bytes() == before
    job = tmp_path / "job.toml"
    job.write_text(job.read_text().replace("[keys]", "[keys]\nversion = 1"))
    assert states(tmp_path)["job.toml"][0] == "same"


def test_copies_in_a_release_and_hidden_folders_are_left_out(folder):
    for place in (folder / "out", folder / ".draft"):
        place.mkdir()
        (place / "job.toml").write_text("schema = 1\ndata = 1\ntable = 2\n")
    (folder / "out/manifest.json").write_text("{}")
    (folder / "people.csv").write_text("id,zone,sex\n1,10,f\n")
    assert set(states(folder)) == {"job.toml", "pt.json"}
