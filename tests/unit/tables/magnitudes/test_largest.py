"""The largest contributions, found among records that are handed over."""

from dataclasses import fields

import numpy as np
import pyarrow as pa
import pytest

from tables import Request, StoredKeys, cube, open_source
from tables.cells.cube import _ScanPlan
from tables.keys import require_sound
from tables.magnitudes.amounts import Magnitudes
from tables.magnitudes.largest import largest_lists

KEYS = StoredKeys(column="key")
SIZE = 600


@pytest.fixture(scope="module")
def records():
    """Amounts of either sign with many ties, zeros and gaps, and weights that may be 0."""
    rng = np.random.default_rng(11)
    income = np.round(rng.lognormal(3, 2, SIZE), 3) * rng.choice([-1, 1, 1], SIZE)
    income[rng.random(SIZE) < 0.2] = 0
    return pa.table(
        {
            "key": pa.array(rng.integers(0, 2**63, SIZE), pa.uint64()),
            "a": pa.array(rng.integers(0, 9, SIZE), mask=rng.random(SIZE) < 0.1),
            "b": rng.choice(["x", "y", "zzz"], SIZE),
            "w": rng.choice([0, 1.5, 1 / 3, 2, 3.3333333333], SIZE),
            "income": pa.array(income, mask=rng.random(SIZE) < 0.1),
            "spend": rng.integers(0, 4, SIZE),
            "hours": rng.choice([0.1, 1e-7, 3.14159265358979, 22 / 7], SIZE),
        }
    )


def tabulated(records, request):
    """Return the amounts, and whether each variable's records were handed over."""
    with open_source(records) as source:
        require_sound(source, KEYS)
        (cells,) = cube(source, KEYS, [request])
        plan = _ScanPlan(source, KEYS, [request])
    return cells.magnitudes, [variable.gathers for variable in plan._variables.values()]


@pytest.mark.parametrize("chunk", [1, 50, 2**19])
@pytest.mark.parametrize(
    "request_",
    [
        Request(
            dimensions=["a", "b"],
            sums=["income", "spend", "hours"],
            weight="w",
            top=3,
            missing_values="skip",
        ),
        Request(dimensions=["a", "b"], sums=["hours"], top=2),
        Request(dimensions=[], sums=["income"], weight="w", top=5, missing_values="skip"),
        Request(
            dimensions=["b"],
            sums=["income", "hours"],
            weight="w",
            top=3,
            where="a > 3",
            missing_values="skip",
        ),
    ],
    ids=["weighted", "unweighted", "total", "filter"],
)
def test_arrays_find_the_largest_that_duckdb_finds(records, request_, chunk, monkeypatch):
    monkeypatch.setattr("tables.magnitudes.largest._CHUNK", chunk)
    by_duckdb, gathers = tabulated(records, request_)
    assert not any(gathers)
    monkeypatch.setattr("tables.cells.cube._MOST_KEPT", 0)
    by_arrays, gathers = tabulated(records, request_)
    assert all(gathers)
    for name, expected in by_duckdb.items():
        assert expected.top.any()
        for field in fields(Magnitudes):
            mine, theirs = (getattr(m, field.name) for m in (by_arrays[name], expected))
            assert np.array_equal(mine, theirs), (name, field.name)


def test_cells_without_contributors_have_empty_lists():
    (lists,) = largest_lists(
        [{"size": np.array([3.0, 0.0, 5.0, 4.0])}],
        [2],
        contributes=np.array([True, False, True, True]),
        row=np.array([2, 1, 2, 2], np.int32),
        rows=4,
    )
    assert lists.to_pylist() == [[], [], [{"size": 5.0}, {"size": 4.0}], []]
