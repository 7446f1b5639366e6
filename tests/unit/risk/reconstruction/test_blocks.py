"""Sums of a product of tables: block by block they are those of the array of all variables."""

import itertools

import numpy as np
import pytest

from risk.errors import RiskError
from risk.reconstruction.blocks import Blocks
from risk.reconstruction.joint_cells import JointCells
from risk.reconstruction.lattice import Lattice

TREE = [np.arange(7), np.array([2, 0, 1, 0, 2, 1, 0]), np.zeros(7, int)]
LEVELS = {n: [np.arange(n), np.zeros(n, int)] for n in (2, 3, 5)}
GROUPS = [TREE, LEVELS[2], LEVELS[3], LEVELS[5], LEVELS[2]]
SCOPES = {
    "a chain": [{0, 1}, {1, 2}, {2, 3}, {3, 4}],
    "a circle": [{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 0}],
    "two that nothing links": [{0, 1}, {2, 3, 4}],
    "all": [{0, 1, 2, 3, 4}],
    "no table of one variable": [{0, 1, 3}, {1, 2}],
}


@pytest.mark.parametrize("name", SCOPES)
def test_sums_are_those_of_all_joint_cells(name):
    rng = np.random.default_rng(len(name))
    top_level = [len(of) - 1 for of in GROUPS]
    tables = [
        table
        for table in itertools.product(*(range(len(of)) for of in GROUPS))
        if any(
            {a for a, level in enumerate(table) if level < top_level[a]} <= scope
            for scope in SCOPES[name]
        )
    ]
    lattice, blocks = Lattice(GROUPS, tables), Blocks(GROUPS, tables)
    exponents = {table: rng.normal(size=lattice.shape_of(table)) / 3 for table in tables}
    shares = [rng.dirichlet(np.ones(size)) for size in lattice.shape]
    joint = np.exp(lattice.spread(exponents)) * 50
    for axis, share in enumerate(shares):
        joint *= share.reshape([-1 if axis == place else 1 for place in range(5)])
    merged = [np.bincount(one, s) for one, s in zip(blocks.merged, shares, strict=True)]
    sums = blocks.sums(merged, 50.0, exponents)
    for table, dense in lattice.sums(joint).items():
        assert sums[table] == pytest.approx(dense)


def test_categories_that_no_table_tells_apart_are_one():
    blocks = Blocks([TREE, LEVELS[5]], [(1, 1), (2, 0)])
    assert blocks.sizes == [3, 5]
    assert blocks.n_cells == 5  # each variable is a block


def test_a_chain_of_wide_variables_has_the_cells_of_its_widest_pair():
    wide = [np.arange(3000), np.zeros(3000, int)]
    blocks = Blocks([wide] * 6, [(0, 1, 1, 1, 1, 1), (1, 0, 1, 1, 1, 1), (1, 1, 1, 1, 1, 0)])
    assert blocks.n_cells == 3000
    with pytest.raises(RiskError, match=r"81,000,000,000,000 cells.*(.|\n)*sample of areas"):
        Blocks([wide] * 4, [(0, 0, 0, 0)])


def test_the_sums_of_cells_with_records_are_those_of_all():
    rng = np.random.default_rng(1)
    tables = list(itertools.product(range(3), range(2), range(2)))
    lattice = Lattice(GROUPS[:3], tables)
    joint = rng.poisson(0.5, lattice.shape)
    cells = JointCells.of(joint)
    sums = cells.sums(lattice)
    for table, dense in lattice.sums(joint).items():
        assert (sums[table] == dense).all()
    less = cells.without([1])
    assert less.shape == (7, 1, 3)
    assert less.n_records == joint.sum()
    pairs = [one.tolist() for one in cells.pairs(0, 2)]
    assert pairs == [one.tolist() for one in np.nonzero(joint.any(axis=1))]
