"""Releases on Spark with amounts and a ledger: the same bytes and the same decisions."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ckm.config import read_job
from ckm.ledger import ThinDifferenceError, list_published
from ckm.release.perturbed import release
from tables import RequestError
from tests.strategies import worked_ptable

JOB = """
schema = 1
[data]
path = "people.parquet"
id = "person_id"
weight = "w"
{engine}
[keys]
secret = "secret.key"
[ptable]
path = "pt.parquet"
[ledger]
path = "{ledger}.db"
[[magnitude]]
unit = {{ en = "euros", fr = "euros" }}
period = "2027"
[[table]]
name = "{name}"
dimensions = ["sex", "area"]
measures = ["count", "weighted", "sum:income", "mean:income"]
where = "{where}"
"""


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(7)
    n = 400
    people = {
        "person_id": [f"person-{i}" for i in range(n)],
        "sex": rng.choice(["F", "M"], n).tolist(),
        "area": rng.integers(1, 5, n),
        "number": list(range(n)),
        "income": np.round(rng.lognormal(8, 1, n), 2),
        "w": rng.random(n) * 3,
    }
    pq.write_table(pa.table(people), tmp_path / "people.parquet")
    worked_ptable().write(tmp_path / "pt.parquet")
    secret = tmp_path / "secret.key"
    secret.write_text("a secret of sixteen bytes or more")
    secret.chmod(0o600)
    return tmp_path


def job(folder, name, *, where="number >= 0", ledger="ledger", master=None):
    engine = "" if master is None else f'engine = "spark"\nmaster = "{master}"'
    path = folder / f"{name}.toml"
    path.write_text(JOB.format(name=name, where=where, ledger=ledger, engine=engine))
    return read_job(path)


def public(folder):
    files = sorted(path for path in (folder / "public").rglob("*") if path.is_file())
    return {path.name: path.read_bytes() for path in files}


def test_a_release_with_a_ledger_is_the_same_and_is_refused_the_same(folder, master):
    words = {}
    for engine, where in (("duckdb", None), ("spark", master)):
        release(job(folder, "all", ledger=engine, master=where), folder / engine)
        thin = job(folder, "older", where="number > 0", ledger=engine, master=where)
        with pytest.raises(ThinDifferenceError) as refusal:
            release(thin, folder / "refused")
        words[engine] = str(refusal.value)
        assert not (folder / "refused").exists()
        far = job(folder, "some", where="number > 200", ledger=engine, master=where)
        release(far, folder / f"{engine}-some")
        names = [entry.definition.name for entry in list_published(folder / f"{engine}.db")]
        assert names == ["all", "some"]
    assert words["duckdb"] == words["spark"]
    for name in ("", "-some"):
        ours, theirs = public(folder / f"duckdb{name}"), public(folder / f"spark{name}")
        assert list(ours) == list(theirs)
        assert {file for file in ours if ours[file] != theirs[file]} == set()
    amounts = (folder / "spark" / "public" / "all.csv").read_text()
    assert re.search(r"sum_income.*mean_income", amounts)


def test_a_ledger_written_by_one_engine_refuses_the_other(folder, master):
    release(job(folder, "all", master=master), folder / "a")
    with pytest.raises(ThinDifferenceError, match="in 1 table"):
        release(job(folder, "older", where="number > 0"), folder / "b")


def test_a_column_that_is_not_there_is_told_before_spark_works(folder, master):
    wrong = job(folder, "all", where="numbr > 0", master=master)
    with pytest.raises(RequestError, match="'numbr' is not in the data") as caught:
        release(wrong, folder / "out")
    assert "did you mean 'number'" in str(caught.value)
    assert not (folder / "out").exists()
