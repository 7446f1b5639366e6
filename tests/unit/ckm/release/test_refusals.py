"""No message, log or public file names the cells of a refusal; an internal file does."""

import logging
import stat

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import ckm.methods.suppression.method
from ckm.cli import app
from ckm.config import read_job
from ckm.ledger import ThinDifferenceError
from ckm.release import release
from tests.strategies import worked_ptable

MARKERS = ("MARKER-zone-", "MARKER-job-")
NOISE = """
[keys]
secret = "secret.key"
[ptable]
path = "pt.parquet"
[ledger]
path = "ledger.db"
{ledger}
"""
JOB = """
schema = 1
[data]
path = "people.parquet"
id = "id"
[report]
languages = ["en"]
{more}
[[table]]
name = "t"
dimensions = ["zone", "job"]
measures = ["count"]
{where}
"""
SHARES = [0.4, 0.3, 0.2, 0.08, 0.01, 0.01]
RULES = "[suppression]\nthreshold = 3\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(7)
    people = pd.DataFrame(
        {
            "id": range(400),
            "zone": [f"MARKER-zone-{k % 5}" for k in range(400)],
            "job": [
                f"MARKER-job-{k}"
                for k in rng.choice(6, 400, p=[0.4, 0.3, 0.2, 0.08, 0.01, 0.01])
            ],
            "age": [105, *rng.integers(0, 90, 399)],
        }
    )
    people.to_parquet(tmp_path / "people.parquet")
    worked_ptable().write(tmp_path / "pt.parquet")
    (tmp_path / "secret.key").write_text("a secret of sixteen bytes or more")
    (tmp_path / "secret.key").chmod(0o600)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")
    return tmp_path


def write(name, more, where=""):
    path = f"{name}.toml"
    with open(path, "w") as file:  # noqa: PTH123
        file.write(JOB.format(more=more, where=where))
    return path


def noisy(name, where="", ledger=""):
    return write(name, NOISE.format(ledger=ledger), where)


def told(caplog, *words, code=None):
    """Run a command both as text and as JSON; return all that was said."""
    said = ""
    for style in ("text", "json"):
        with caplog.at_level(logging.DEBUG):
            done = CliRunner(env={"CKM_LOG_FORMAT": style}).invoke(app, words)
        assert code is None or done.exit_code == code, done.output
        said += done.stdout + done.stderr + caplog.text
    assert not [marker for marker in MARKERS if marker in said], said
    return said


def require_named(path):
    """Require a file of mode 0600 that names cells."""
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert all(marker in path.read_text() for marker in MARKERS)


@pytest.mark.slow
def test_a_thin_difference_is_named_in_a_file_alone(folder, caplog):
    assert CliRunner().invoke(app, ["release", noisy("one"), "-o", "one"]).exit_code == 0
    second = noisy("two", "where = 'age < 100'")
    for words in (["check", second], ["release", second, "-o", "two", "--dry-run"]):
        said = told(caplog, *words, code=1)
        assert "OUTPUT.refused.csv" in said
        assert not list(folder.glob("*.refused.csv"))
    assert "OUTPUT.refused.csv" in told(caplog, "release", second, "-o", "two", code=1)
    require_named(folder / "two.refused.csv")
    said = told(caplog, "release", second, "-o", "new/two", code=1)
    assert not (folder / "new").exists()
    told(caplog, "check", second, "--json", code=1)
    flagged = noisy("three", "where = 'age < 100'", 'policy = "flag"')
    assert "differ by too few records" in told(
        caplog, "release", flagged, "-o", "three", "--force"
    )
    for words in (["ledger", "audit", "ledger.db", "--secret", "secret.key"],):
        assert "-o thin.csv names them" in told(caplog, *words)
    told(caplog, *words, "-o", "thin.csv", "--force", code=0)
    require_named(folder / "thin.csv")
    public = folder / "three" / "public"
    for path in public.glob("report*"):
        assert "too few records" not in path.read_text()


def test_the_error_in_python_holds_the_cells_and_does_not_say_them(folder):
    release(read_job(noisy("one")), "one")
    with pytest.raises(ThinDifferenceError) as caught:
        release(read_job(noisy("two", "where = 'age < 100'")), "two")
    assert not [marker for marker in MARKERS if marker in str(caught.value)]
    assert "in 1 table" in str(caught.value)
    assert "MARKER-zone-0" in str(caught.value.places.rows)
    assert "MARKER" not in repr(caught.value.places)


def test_the_file_of_a_refusal_goes_with_the_next_run_that_agrees(folder):
    release(read_job(noisy("one")), "one")
    refused, file = noisy("two", "where = 'age < 100'"), folder / "two.refused.csv"
    file.write_text("table,older\nof a run before\n")
    file.chmod(0o644)
    with pytest.raises(ThinDifferenceError):
        release(read_job(refused), "two")
    require_named(file)
    release(read_job(noisy("two")), "two", dry_run=True)
    require_named(file)
    release(read_job(noisy("two")), "two")
    assert not file.exists()


@pytest.mark.parametrize("text", ["zone,n\n1,2\n", "", "table,older"])
def test_a_file_of_that_name_that_no_refusal_wrote_stays(folder, text):
    (folder / "one.refused.csv").write_text(text)
    release(read_job(noisy("one")), "one")
    assert (folder / "one.refused.csv").read_text() == text


@pytest.mark.slow
def test_unsafe_cells_are_named_in_a_file_alone(folder, caplog, monkeypatch):
    wide = [f'zone = "MARKER-zone-{zone}"' for zone in range(5)]
    fine = [f'{zone}, job = "MARKER-job-{job}"' for zone in wide for job in range(4)]
    both = [*wide, *fine, *(f'job = "MARKER-job-{job}"' for job in range(6))]
    kept = ", ".join(f"{{ {one} }}" for one in both)
    everything = write("kept", f"{RULES}keep = [{kept}]\n")
    for words in (["check", everything], ["suppress", everything, "-o", "out"]):
        told(caplog, *words, code=1)
    require_named(folder / "out.refused.csv")
    (folder / "out.refused.csv").unlink()
    absent = write("absent", f'{RULES}keep = [{{ zone = "MARKER-zone-9" }}]\n')
    assert "cell 1 of keep" in told(caplog, "suppress", absent, "-o", "out")
    (folder / "cells.csv").write_text(
        "zone,job,status\nMARKER-zone-0,MARKER-job-0,u\nMARKER-zone-0,MARKER-job-0,s\n"
        "MARKER-zone-9,MARKER-job-0,u\n"
    )
    listed = write("listed", f'{RULES}cells = [{{ path = "cells.csv", table = "t" }}]\n')
    told(caplog, "suppress", listed, "-o", "out")

    real = ckm.methods.suppression.method._require_safe

    def fail(choice, audits):
        for audit in audits.values():
            object.__setattr__(audit, "exposed", np.arange(3))
        real(choice, audits)

    with monkeypatch.context() as patched:
        patched.setattr(ckm.methods.suppression.method, "_require_safe", fail)
        told(caplog, "suppress", write("plain", RULES), "-o", "out", code=1)
        require_named(folder / "out.refused.csv")
    told(caplog, "suppress", "plain.toml", "-o", "out", "--force", code=0)
    assert not (folder / "out.refused.csv").exists()


@pytest.mark.slow
def test_a_pattern_that_does_not_protect_is_named_in_a_file_alone(folder, caplog):
    plain = write("plain", RULES)
    cells = pd.read_parquet("people.parquet").groupby(["zone", "job"]).size()
    lines = [f"{z},{j},{n},V" for (z, j), n in cells.items()]
    people = pd.read_parquet("people.parquet")
    lines += [f"{z},,{n},V" for z, n in people.groupby("zone").size().items()]
    lines += [f",{j},{n},V" for j, n in people.groupby("job").size().items()]
    (folder / "pattern.csv").write_text("\n".join([*lines, f",,{len(people)},V"]))
    said = told(caplog, "job", "audit-pattern", plain, "pattern.csv")
    if "does not protect" in said:
        told(caplog, "job", "audit-pattern", plain, "pattern.csv", "-o", "cells.csv", "--force")
        require_named(folder / "cells.csv")
    else:
        pytest.fail(said)
