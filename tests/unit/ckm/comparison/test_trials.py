"""Tables that are asked one by one, for methods that begin with true numbers."""

import numpy as np
import pyarrow as pa
import pytest

from ckm.comparison.trials import SingleTable
from ckm.engine.request import TableRequest
from ckm.methods.rounding import ControlledRounding
from ckm.methods.settings import RoundingSettings
from tables import HashedKeys, Request, Secret, cube, open_source


@pytest.fixture
def cells():
    rng = np.random.default_rng(3)
    people = pa.table(
        {"id": range(200), "region": rng.integers(0, 4, 200), "sex": rng.integers(0, 2, 200)}
    )
    with open_source(people) as source:
        keys = HashedKeys(column="id", secret=Secret(bytes(16)))
        (cells,) = cube(source, keys, [Request(dimensions=["region", "sex"])])
    return cells


@pytest.mark.parametrize("counts", ["all", "small"])
def test_one_table_is_rounded_as_those_of_a_release_are(cells, counts):
    data = SingleTable(name="t", table=cells)
    groups, sizes = data.groups_and_sizes()
    assert len(groups) == 1
    assert sizes.sum() == cells.count.max()
    method = ControlledRounding(RoundingSettings(base=5, counts=counts))
    requests = {"t": TableRequest(dimensions=["region", "sex"])}
    (protected,) = method.protect(data, requests)
    numbers = np.asarray(protected.counts)
    assert (np.abs(numbers - cells.count) < 10).all()
    if counts == "all":
        assert not (numbers % 5).any()
    total = numbers[cells.count == cells.count.max()]
    leaves = np.logical_and.reduce(
        [np.isin(r, a.levels[0].ranks) for a, r in zip(cells.axes, cells.ranks, strict=True)]
    )
    assert numbers[leaves].sum() == total
