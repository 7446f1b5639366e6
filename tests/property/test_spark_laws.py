"""A law of engines: whatever the records and the request, two engines give the same cells."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow.parquet as pq
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tables import HashedKeys, Request, Secret, StoredKeys
from tests.environments.spark_support import both, require_same
from tests.strategies import (
    HIERARCHIES,
    MAY_BE_TINY,
    as_arrow,
    examples,
    populations,
    stored_range,
)

pytestmark = MAY_BE_TINY

FILTERS = [
    None,
    "age >= 2",
    "sex = 'F' or region is missing",
    "not (age in (0, 30))",
    "zone in ('A1', 'C') and age between 0 and 2.5",
]
wishes = st.builds(
    lambda dimensions, where, is_weighted, margins: Request(
        dimensions=dimensions,
        hierarchies=HIERARCHIES,
        where=where,
        weight="weight" if is_weighted else None,
        margins=margins,
    ),
    st.lists(st.sampled_from(["sex", "age", "geo", "zone"]), unique=True, max_size=3),
    st.sampled_from(FILTERS),
    st.booleans(),
    st.sampled_from(["all", "none"]),
)


@given(
    population=populations(),
    requests=st.lists(wishes, min_size=3, max_size=3),
    hashed=st.booleans(),
)
@settings(
    max_examples=examples(3),
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
    ],
)
def test_both_engines_give_the_same_cells(master, population, requests, hashed):
    records, key_range = population
    stored = StoredKeys(column="key", key_range=stored_range(key_range))
    keys = HashedKeys(column="id", secret=Secret(bytes(16))) if hashed else stored
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records.parquet"
        pq.write_table(as_arrow(records, key_range), path)
        sketch = 2 if hashed else 0
        require_same(*both(path, keys, requests, master=master, sketch=sketch))
