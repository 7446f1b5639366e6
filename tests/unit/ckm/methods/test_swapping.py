"""Swapping as a method: swapped records are counted as they are."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ckm.config import read_job
from ckm.errors import ConfigError, InternalError
from ckm.methods.method import Method
from ckm.methods.settings import SwapSettings, SyntheticSettings
from ckm.methods.suppression.original_cells import open_originals
from ckm.methods.swapping import RecordSwapping
from ckm.methods.synthetic import SyntheticRecords
from ckm.release.files.manifest import METHODS
from tables import Secret
from tables.swapping.plan import SwapPlan

JOB = """
schema = 1
[data]
path = "people.parquet"
id = "id"
[rounding]
base = 5
[hierarchies]
place = ["region", "town"]
[[table]]
name = "places"
dimensions = ["place"]
[[table]]
name = "ages"
dimensions = ["town", "age"]
"""
PLAN = SwapPlan(
    household="home",
    geography=("region", "town"),
    risk=("age",),
    similar=((),),
    k=3,
    rate=0.2,
)


def people(n=1200, seed=5):
    rng = np.random.default_rng(seed)
    home = np.arange(n) // 2
    return pa.table(
        {
            "id": np.arange(n),
            "home": home,
            "region": [f"r{h % 3}" for h in home],
            "town": [f"t{h % 30}" for h in home],
            "age": rng.integers(0, 12, n).astype(str),
        }
    )


@pytest.fixture
def job(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(people(), "people.parquet")
    (tmp_path / "job.toml").write_text(JOB)
    return read_job("job.toml")


def counts(protected):
    table = protected.table
    labels = zip(*(np.array(c)[codes] for codes, c in table.dimensions.values()), strict=True)
    return dict(zip(labels, table.measures["count"].tolist(), strict=True))


def protect(method, job):
    with open_originals(job) as originals:
        tables = dict(job.tables)
        method.require(tables)
        return {one.name: counts(one) for one in method.protect(originals, tables)}


def truth(job):
    with open_originals(job) as originals:
        return {name: cells.count.tolist() for name, cells in originals.cells().items()}


def test_swapped_records_are_counted_as_they_lie_now(job):
    method: Method = RecordSwapping(SwapSettings(plan=PLAN, seed=1))
    swapped = protect(method, job)
    assert sorted(swapped["ages"].values()) != sorted(truth(job)["ages"])
    assert swapped["ages"]["Total", "Total"] == 1200
    ages = {age: n for (town, age), n in swapped["ages"].items() if town == "Total"}
    own = people().to_pandas().age.value_counts().to_dict()
    assert {age: n for age, n in ages.items() if age != "Total"} == own  # none moves in age
    record = method.record(job.path.parent).method
    assert record["moved"]["moved_households"] > 100
    assert record["swap"]["decided_by"] == "seed"
    assert "seed" not in record["swap"]
    assert protect(RecordSwapping(SwapSettings(plan=PLAN, seed=1)), job) == swapped


def test_what_moved_is_known_only_after_the_swap():
    with pytest.raises(InternalError):
        RecordSwapping(SwapSettings(plan=PLAN, seed=1)).to_dict()


def test_a_swap_is_told_from_another_by_its_plan_and_what_decides():
    def settings(seed=None, secret=None):
        method = RecordSwapping(SwapSettings(plan=PLAN, seed=seed), secret=secret)
        return method.record_protection().settings

    one, two = (Secret(bytes([n]) * 16) for n in (1, 2))
    assert settings(1) == settings(1) != settings(2)
    assert settings(secret=one) != settings(secret=two)
    assert "77" not in repr(SwapSettings(plan=PLAN, seed=77))


def test_the_public_is_told_of_each(job):
    synthetic = SyntheticRecords(SyntheticSettings(path=job.path))
    for method in (RecordSwapping(SwapSettings(plan=PLAN, seed=1)), synthetic):
        words = METHODS[method.statement().words]
        assert words
        assert not any(char.isdigit() for char in " ".join(words))


def test_sums_of_other_records_are_refused(job):
    text = job.text.replace(
        'dimensions = ["place"]', 'dimensions = ["place"]\nmeasures = ["sum:x"]'
    )
    text = text.replace(
        "[rounding]\nbase = 5", "[suppression]\nthreshold = 3\np_percent = 10.0"
    )
    job.path.write_text(text)
    tables = dict(read_job(job.path).tables)
    for method in (
        RecordSwapping(SwapSettings(plan=PLAN, seed=1)),
        SyntheticRecords(SyntheticSettings(path=job.path)),
    ):
        with pytest.raises(ConfigError, match="'sum:x'"):
            method.require(tables)


@pytest.mark.slow
def test_to_import_ckm_loads_neither_models_nor_training():
    code = "import sys, ckm, ckm.methods.swapping, ckm.methods.synthetic; "
    code += "print([n for n in sys.modules if n.split('.')[0] in ('synth', 'torch', 'dpsgd')])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
