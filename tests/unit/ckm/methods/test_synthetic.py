"""Synthetic records as a method: they are counted in place of the true ones."""

from __future__ import annotations

import pyarrow.parquet as pq

from ckm.methods.method import Method
from ckm.methods.settings import SyntheticSettings
from ckm.methods.synthetic import SyntheticRecords
from tests.unit.ckm.methods.test_swapping import job, people, protect

__all__ = ["job"]


def test_synthetic_records_are_counted_whether_they_have_identifiers_or_not(job):
    drawn = people(800, seed=9)
    pq.write_table(drawn, "drawn.parquet")
    pq.write_table(drawn.drop_columns(["id"]), "bare.parquet")
    found = []
    for name in ("drawn.parquet", "bare.parquet"):
        method: Method = SyntheticRecords(SyntheticSettings(path=job.path.parent / name))
        found.append(protect(method, job))
        assert method.guarantee.status == "absent"
        assert method.record(job.path.parent).method["synthetic"]["file"] == name
    assert found[0] == found[1]
    assert found[0]["ages"]["Total", "Total"] == 800
