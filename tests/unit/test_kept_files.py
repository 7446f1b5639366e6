"""What an earlier version wrote is read, and its releases go on: files kept of each version."""

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from ckm.cli import app
from ptable import PTable, PTableError
from ptable.files import _checksum

KEPT = Path(__file__).parents[1] / "kept"
VERSIONS = sorted(folder.name for folder in KEPT.iterdir())


@pytest.fixture(params=VERSIONS)
def folder(request, tmp_path):
    """Return a copy of an office's folder, private as its files were."""
    copy = tmp_path / request.param
    shutil.copytree(KEPT / request.param, copy)
    for path in copy.rglob("*"):
        if path.is_file():
            path.chmod(0o600)
    return copy


def run(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args], catch_exceptions=False)


def test_every_p_table_is_read_with_its_id_and_a_proof_that_holds(folder):
    paths = [path for path in folder.glob("*.json") if "key_range" in path.read_text()]
    paths += [*folder.glob("*.parquet"), folder / "out/internal/pt.parquet"]
    assert len(paths) >= 7
    for path in paths:
        if path.suffix == ".json":
            stored = json.loads(path.read_text())
        else:
            stored = json.loads(pq.read_schema(path).metadata[b"ptable"])
        table = PTable.read(path)
        assert table.id == stored["id"]
        assert (table.certificate is None) == (stored["certificate"] is None)
        if table.certificate is not None:
            table.certificate.check(table)


def test_multipliers_of_an_older_certificate_are_no_proof_by_themselves(folder):
    path = folder / "plain.json"
    head = json.loads(path.read_text())
    rows = head.pop("rows")
    head["certificate"]["rows"][3]["multipliers"][1] += 0.01
    head["checksum"] = _checksum(head)
    path.write_text(json.dumps({**head, "rows": rows}))
    with pytest.raises(PTableError, match="does not fit"):
        PTable.read(path)


def test_a_release_goes_on_with_its_ledger_and_the_same_numbers(folder):
    job = folder / "job.toml"
    answer = run("release", job, "-o", folder / "again")
    assert answer.exit_code == 2
    assert "[keys] version = 1" in answer.output
    job.write_text(job.read_text().replace("[keys]", "[keys]\nversion = 1"))
    answer = run("release", job, "-o", folder / "again")
    assert answer.exit_code == 0, answer.output
    before = (folder / "out/public/region_sex.csv").read_bytes()
    assert (folder / "again/public/region_sex.csv").read_bytes() == before
    manifest = json.loads((folder / "again/internal/manifest.json").read_text())
    assert manifest["versions"]["record key"] == "1"


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (("synth", "report", "model.json"), "epsilon 1 at delta 1e-05"),
        (("synth", "sample", "model.json", "-n", "9", "-o", "more.csv"), "more.csv"),
        (("synth", "verify", "synthetic.csv.certificate.json", "--data", "synthetic.csv"), ""),
        (("dpsgd", "card", "net.safetensors"), "epsilon 0.999931"),
        (("rappor", "sum", "reports.rappor", "-o", "sums.json"), "600 reports"),
        (("dp", "ledger", "show", "budget.db"), "epsilon = 2.75"),
        (("dp", "ledger", "verify", "budget.db"), ""),
        (("ledger", "audit", "history.ckml", "--secret", "secret.key"), "no thin difference"),
    ],
)
def test_models_reports_and_budgets_are_read(folder, monkeypatch, command, text):
    monkeypatch.chdir(folder)
    answer = run(*command)
    assert answer.exit_code == 0, answer.output
    assert text in answer.output
