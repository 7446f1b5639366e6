"""P-tables of known mechanisms do through the engine what their names say."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import ckm
from ptable import Mechanism, PTableWarning
from tests.strategies import published


def release(mechanism, **options):
    rng = np.random.default_rng(5)
    n = 4000
    people = pa.table(
        {
            "id": np.arange(n),
            "area": np.minimum(rng.geometric(0.08, n), 60).astype(str),
            "sex": rng.choice(["F", "M"], n),
        }
    )
    with ckm.Engine(
        people, id="id", secret=ckm.Secret(bytes(16)), ptable=mechanism.build(), **options
    ) as engine:
        protected = published(engine.tabulate(["area", "sex"]))
    frame = people.to_pandas().assign(n=1)
    truth = {}
    for by in (["area", "sex"], ["area"], ["sex"], []):
        groups = frame.groupby(by).size() if by else {(): n}
        for key, count in groups.items():
            labels = dict(zip(by, key if isinstance(key, tuple) else (key,), strict=True))
            cell = tuple(labels.get(column, "Total") for column in ("area", "sex"))
            truth[cell] = int(count)
    return protected, truth


def test_rounding_through_the_engine_publishes_the_nearest_multiples():
    protected, truth = release(Mechanism.rounding(5))
    assert len(truth) > 100
    for cell, count in truth.items():
        assert protected.get(cell, 0) == (count + 2) // 5 * 5


def test_the_ons_rule_through_the_engine_publishes_nothing_below_10():
    protected, truth = release(Mechanism.ons_10_5())
    assert any(0 < count < 10 for count in truth.values())
    for cell, count in truth.items():
        assert protected.get(cell, 0) == (0 if count < 10 else (count + 2) // 5 * 5)


def test_random_rounding_through_the_engine_goes_both_ways():
    protected, truth = release(Mechanism.random_rounding(3))
    ways = {count % 3: set() for count in truth.values()}
    for cell, count in truth.items():
        ways[count % 3].add(protected.get(cell, 0) - count)
    assert ways == {0: {0}, 1: {-1, 2}, 2: {-2, 1}}


def test_empty_cells_stay_empty_in_the_engine_whatever_the_row_of_0_says():
    mechanism = Mechanism.discrete_laplace(0.2, max_noise=20)
    areas = [str(n) for n in range(200)]
    with pytest.warns(PTableWarning, match="noise for counts of 0"):
        protected, truth = release(mechanism, categories={"area": areas, "sex": ["F", "M"]})
    empty = [cell for cell in protected if cell not in truth]
    assert len(empty) > 100
    assert not any(protected[cell] for cell in empty)
    assert any(protected[cell] != count for cell, count in truth.items())
