"""One ledger for jobs of every method: what is refused, what passes, and what is told."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ckm.config import JobError, read_job
from ckm.errors import ConfigError
from ckm.ledger import (
    LedgerError,
    SecondMethodError,
    ThinDifferenceError,
    list_published,
)
from ckm.release.perturbed import release
from ckm.release.run import ReleaseRun
from ptable import Limits, NoiseSpec, PTable, solve
from tests.strategies import worked_ptable

JOB = """
schema = 1
[data]
path = "people.parquet"
id = "person_id"
[keys]
secret = "secret.key"
{method}
[report]
languages = ["en"]
{ledger}
[[table]]
name = "{name}"
dimensions = {dimensions}
{where}
"""
LEDGER = '[ledger]\npath = "ledger.db"\n'
FLAG = LEDGER + 'second_method = "flag"\n'
NOISE = '[ptable]\npath = "pt.parquet"'
ADDITIVE = NOISE + "\n[output]\nadditive = true"
SUPPRESSION = "[suppression]\nthreshold = 3"


def rounding(base=5):
    return f"[rounding]\nbase = {base}"


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(7)
    people = {
        "person_id": [f"person-{i}" for i in range(300)],
        "sex": rng.choice(["F", "M"], 300).tolist(),
        "area": rng.choice([f"a{n}" for n in range(9)], 300).tolist(),
        "number": list(range(300)),
    }
    pq.write_table(pa.table(people), tmp_path / "people.parquet")
    worked_ptable().write(tmp_path / "pt.parquet")
    secret = tmp_path / "secret.key"
    secret.write_text("a secret of sixteen bytes or more")
    secret.chmod(0o600)
    return tmp_path


def job(folder, method, *, ledger=LEDGER, name="t", dimensions=("area", "sex"), where=""):
    path = folder / f"{name}.toml"
    text = JOB.format(
        method=method,
        ledger=ledger,
        name=name,
        dimensions=json.dumps(dimensions),
        where=f'where = "{where}"' if where else "",
    )
    path.write_text(text)
    return read_job(path)


def methods(folder):
    return [one.definition.method for one in list_published(folder / "ledger.db")]


@pytest.mark.parametrize(
    ("method", "name"),
    [(rounding(), "rounding"), (SUPPRESSION, "suppression"), (ADDITIVE, "additivity")],
)
def test_a_release_by_each_method_is_an_entry_and_passes_again(folder, method, name):
    for out in ("one", "two"):
        release(job(folder, method), folder / out)
    assert methods(folder) == [name]
    one, two = (sorted((folder / out / "public").glob("t.*")) for out in ("one", "two"))
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in two]
    manifest = json.loads((folder / "two" / "internal" / "manifest.json").read_text())
    assert manifest["ledger"]["entries"] == {"t": [1]}


@pytest.mark.parametrize("method", [rounding(), SUPPRESSION])
def test_what_is_published_does_not_depend_on_the_ledger(folder, method):
    release(job(folder, method), folder / "with")
    release(job(folder, method, ledger=""), folder / "without")
    tables = [(folder / out / "public" / "t.csv").read_bytes() for out in ("with", "without")]
    assert tables[0] == tables[1]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (NOISE, rounding()),
        (rounding(), NOISE),
        (rounding(), rounding(10)),
        (rounding(), SUPPRESSION),
        (SUPPRESSION, NOISE),
        (NOISE, ADDITIVE),
    ],
)
def test_the_same_records_by_another_method_are_refused(folder, first, second):
    release(job(folder, first), folder / "first")
    with pytest.raises(SecondMethodError):
        release(job(folder, second, name="u"), folder / "second")
    assert not (folder / "second").exists()
    assert len(methods(folder)) == 1


BASES = (3, 4, 5)


def possible(folder, out, reach):
    """Return the values that each count can have, as anybody reads them from a release."""
    rows = pq.read_table(folder / out / "public" / "t.parquet").to_pylist()
    return {
        (row["area"], row["sex"]): {*range(row["count"] - reach, row["count"] + reach + 1)}
        for row in rows
    }


def mean_number(counts):
    return float(np.mean([len(values) for values in counts.values()]))


@pytest.mark.slow
def test_an_attacker_who_puts_roundings_beside_noise_gets_no_second_one(folder):
    """Each release leaves some values of a count; together they leave fewer."""
    parquet = '\n[output]\nformats = ["parquet"]'
    noise = NOISE + parquet
    release(job(folder, noise, ledger=""), folder / "noise")
    counts = possible(folder, "noise", worked_ptable().max_noise)
    alone = mean_number(counts)
    for base in BASES:
        release(job(folder, rounding(base) + parquet, ledger=""), folder / f"base-{base}")
        rounded = possible(folder, f"base-{base}", base - 1)
        counts = {cell: counts[cell] & rounded[cell] for cell in counts.keys() & rounded.keys()}
    assert mean_number(counts) < 0.7 * alone
    release(job(folder, noise), folder / "recorded")
    for base in BASES:
        with pytest.raises(SecondMethodError):
            release(job(folder, rounding(base) + parquet), folder / f"again-{base}")
    assert methods(folder) == ["noise"]


def test_a_check_says_what_the_release_says(folder):
    release(job(folder, NOISE), folder / "first")
    with pytest.raises(SecondMethodError):
        ReleaseRun(job(folder, rounding(), name="u"), is_kept=False).rehearse()
    steps = []
    run = ReleaseRun(job(folder, rounding(), name="u"), is_kept=False)
    run.rehearse(quick=True, step=lambda *told: steps.append(told))
    assert ("ledger checked", "the ledger can be used") in steps


def test_a_check_makes_no_ledger(folder):
    ReleaseRun(job(folder, rounding()), is_kept=False).rehearse()
    assert not (folder / "ledger.db").exists()


def test_whoever_wants_two_methods_says_so_and_is_told_inside(folder, caplog):
    release(job(folder, NOISE), folder / "first")
    release(job(folder, rounding(), ledger=FLAG, name="u"), folder / "second")
    assert methods(folder) == ["noise", "rounding"]
    assert "protect the same records in two ways" in caplog.text
    manifest = json.loads((folder / "second" / "internal" / "manifest.json").read_text())
    assert any("table 't' (noise, entry 1" in text for text in manifest["warnings"])
    public = (folder / "second" / "public" / "manifest.json").read_text()
    assert "second_method" not in public
    assert "ledger" not in public


def test_rounded_tables_that_differ_by_one_person_are_refused(folder):
    release(job(folder, rounding()), folder / "first")
    with pytest.raises(ThinDifferenceError):
        release(
            job(folder, rounding(), ledger=FLAG, name="u", where="number > 0"),
            folder / "second",
        )


def test_hidden_cells_are_chosen_for_all_tables_of_the_ledger_or_none(folder):
    release(job(folder, SUPPRESSION, dimensions=["area", "sex"]), folder / "first")
    release(job(folder, SUPPRESSION, name="sexes", dimensions=["sex"]), folder / "second")
    rules = "[suppression]\nthreshold = 15"
    with pytest.raises(SecondMethodError):
        release(job(folder, rules, name="u", dimensions=["area", "sex"]), folder / "third")


def test_empty_cells_of_a_table_may_be_hidden_beside_a_ledger(folder):
    rules = "[suppression]\nthreshold = 3\nzero_cost = 1.0"
    for out in ("one", "two"):
        release(
            job(folder, rules, dimensions=["area", "sex"], where="number < 30"), folder / out
        )
    assert methods(folder) == ["suppression"]


def test_the_secret_is_needed_for_a_ledger_alone(folder, monkeypatch):
    monkeypatch.delenv("CKM_SECRET", raising=False)
    (folder / "t.toml").write_text("")
    for ledger in ("", LEDGER):
        text = JOB.format(
            method=rounding(), ledger=ledger, name="t", dimensions='["sex"]', where=""
        ).replace('[keys]\nsecret = "secret.key"', "")
        (folder / "t.toml").write_text(text)
        if ledger:
            with pytest.raises(ConfigError, match="sealed with the secret"):
                release(read_job(folder / "t.toml"), folder / "b")
        else:
            release(read_job(folder / "t.toml"), folder / "a")


def test_a_table_of_cells_has_no_records_to_compare(folder):
    cells = {"sex": ["F", "M"], "count": [150, 150]}
    pq.write_table(pa.table(cells), folder / "cells.parquet")
    given = job(folder, rounding(), dimensions=["sex"])
    text = given.text.replace(
        'path = "people.parquet"\nid = "person_id"', ('path = "cells.parquet"\ncells = ["sex"]')
    )
    (folder / "cells.toml").write_text(text)
    with pytest.raises(ConfigError, match="a table of cells has none"):
        release(read_job(folder / "cells.toml"), folder / "out")


def test_a_word_for_a_second_method_is_refuse_or_flag(folder):
    with pytest.raises(JobError):
        job(folder, rounding(), ledger=LEDGER + 'second_method = "perhaps"')


LIMITED = '[ptable]\npath = "limits.parquet"'
ALLOWED = (
    LEDGER + '[[report.exceptions]]\nwhat = "a second p-table"\nwho = "the methodologist"\n'
    'when = 2027-03-01\nwhy = "the first one was too weak"\nsecond_ptable = true\n'
)


@pytest.fixture
def limited(folder):
    prior = [0.0, *(1 / (i * (i + 1)) for i in range(1, 40))]
    limits = Limits(posterior=0.9, variance_floor=1.0, neighbours=None, priors=(prior,))
    spec = NoiseSpec(max_noise=3, variance=2.0, limits=limits, objective="least-variance")
    solve(spec).write(folder / "limits.parquet")
    return folder


def test_the_same_records_get_no_second_p_table(limited):
    release(job(limited, NOISE), limited / "first")
    with pytest.raises(LedgerError, match="have another noise") as caught:
        release(job(limited, LIMITED, name="u"), limited / "second")
    assert "second_ptable = true in [[report.exceptions]]" in caught.value.hint
    assert not (limited / "second").exists()
    assert methods(limited) == ["noise"]


def test_somebody_may_allow_a_second_p_table_and_says_why(limited, caplog):
    release(job(limited, NOISE), limited / "first")
    release(job(limited, LIMITED, ledger=ALLOWED, name="u"), limited / "second")
    assert methods(limited) == ["noise", "another noise"]
    assert "protect the same records in two ways" in caplog.text
    told = (limited / "second" / "internal" / "report-internal.en.html").read_text()
    assert "the methodologist" in told
    assert "the first one was too weak" in told
    assert "(another noise) shows records of table" in told
    assert "average two noises" in told
    for file in (limited / "second" / "public").iterdir():
        assert b"methodologist" not in file.read_bytes()
    release(job(limited, LIMITED, ledger=ALLOWED, name="u"), limited / "again")
    assert methods(limited) == ["noise", "another noise"]  # it tells nothing new


def test_the_prior_of_a_p_table_stays_in_its_file(limited):
    release(job(limited, LIMITED), limited / "out")
    prior = PTable.read(limited / "limits.parquet").spec.limits.priors[0]
    seen = {repr(share).encode() for share in prior if 0 < share < 1}
    holders = {
        file.name
        for file in (limited / "out").rglob("*")
        if file.is_file() and any(share in file.read_bytes() for share in seen)
    }
    assert holders == {"pt.parquet"}
    assert (limited / "out" / "internal" / "pt.parquet").is_file()
    assert "posterior" in (limited / "out" / "internal" / "report.json").read_text()


def test_the_first_p_table_gets_no_further_tables_of_records_that_a_second_one_showed(limited):
    release(job(limited, NOISE, where="number < 100"), limited / "first")
    release(job(limited, LIMITED, ledger=ALLOWED, name="u"), limited / "second")
    release(job(limited, NOISE, where="number < 100"), limited / "again")
    with pytest.raises(SecondMethodError) as caught:
        release(job(limited, NOISE, name="v"), limited / "third")
    assert "second_ptable = true" in caught.value.hint
    release(job(limited, NOISE, ledger=ALLOWED, name="v"), limited / "third")


def test_an_exception_for_two_noises_is_none_for_another_method(limited):
    release(job(limited, rounding()), limited / "first")
    with pytest.raises(SecondMethodError) as caught:
        release(job(limited, LIMITED, ledger=ALLOWED, name="u"), limited / "second")
    assert "second_method" in caught.value.hint


@pytest.mark.parametrize("ledger", [ALLOWED.removeprefix(LEDGER), ALLOWED])
def test_an_exception_needs_noise_and_a_ledger(folder, ledger):
    method = NOISE if ledger != ALLOWED else rounding()
    with pytest.raises(JobError, match=r"noise beside tables of a \[ledger\]|has no use"):
        job(folder, method, ledger=ledger)
