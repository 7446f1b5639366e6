"""Controlled rounding of true counts, and what who knows how it is done makes of it."""

import itertools

import numpy as np
import pytest

from ckm.errors import ReleaseError
from ckm.methods.additivity.equations import TableSums
from ckm.methods.additivity.round_counts import kept_within, round_counts


def full(*sizes):
    """Add up the inner cells of a table to all its cells, totals first."""
    from scipy import sparse

    matrix = sparse.csr_array(np.ones((1, 1)))
    for size in sizes:
        axis = np.vstack([np.ones((1, size)), np.eye(size)])
        matrix = sparse.csr_array(sparse.kron(matrix, axis, format="csr"))
    inner = np.flatnonzero(np.diff(matrix.indptr) == 1)
    inner = inner[np.argsort(matrix.indices[matrix.indptr[inner]], kind="stable")]
    return TableSums(matrix=matrix, inner=np.arange(matrix.shape[1])), inner


def rounded(sizes, inner, **how):
    """Round a table of which only cells with records are known, as in a release."""
    sums, leaf = full(*sizes)
    inner = np.asarray(inner)
    held = np.flatnonzero(inner)
    part = TableSums(matrix=sums.matrix[:, held].tocsr(), inner=np.arange(len(held)))
    counts = (sums.matrix @ inner).astype(np.int64)
    return counts, round_counts(part, counts, leaf=leaf[held], **how)


@pytest.mark.parametrize("base", [3, pytest.param(5, marks=pytest.mark.slow)])
def test_who_tries_all_tables_finds_no_count_nearer_than_half_the_base(base):
    tables: dict[tuple, list] = {}
    for inner in itertools.product(range(2 * base), repeat=3):
        counts, found = rounded((3,), inner, base=base)
        tables.setdefault(tuple(found.tolist()), []).append(counts)
    assert len(tables) > 20
    seen = 0
    for found, originals in tables.items():
        if max(found[1:]) + base // 2 >= 2 * base:
            continue  # larger counts were not tried
        possible = np.array(originals)
        for counts in originals:
            told = np.array(kept_within(np.array(found), counts, base=base))
            assert (possible.min(axis=0) <= told[0]).all()
            assert (possible.max(axis=0) >= told[1]).all()
            assert (told[1] - told[0] >= base // 2).all()  # 0 to half the base, if it is 0
            assert ((told[0] <= counts) & (counts <= told[1])).all()
        seen += 1
    assert seen >= 8


@pytest.mark.parametrize(
    ("sizes", "how"),
    [
        ((4, 3), {"base": 5}),
        ((2, 3, 2), {"base": 10}),
        ((2, 2), {"base": 5, "bound": 4, "exact": True}),
        ((7, 6, 4), {"base": 5, "bound": 4}),
    ],
    ids=["lines", "cube", "exact", "blocks"],
)
def test_the_published_table_with_a_few_records_more_or_fewer_is_published_alike(sizes, how):
    rng = np.random.default_rng(4)
    inner = rng.integers(0, 9, int(np.prod(sizes)))
    counts, found = rounded(sizes, inner, **how)
    published = found[full(*sizes)[1]]
    reach = (how["base"] - 1) // 2
    for cell in rng.choice(np.flatnonzero(published), 2):
        for moved in (-reach, reach):
            other = published.copy()
            other[cell] += moved
            assert rounded(sizes, other, **how)[1].tolist() == found.tolist()
    least, most = kept_within(found, counts, base=how["base"])
    assert (least <= np.minimum(counts, np.maximum(found - reach, 0))).all()
    assert (most >= np.maximum(counts, found + reach)).all()


def test_rounded_counts_add_up_in_multiples_within_the_bound_and_empty_cells_stay_empty():
    inner = np.random.default_rng(2).poisson(3, 30) * (np.arange(30) % 4 > 0)
    sums, leaf = full(6, 5)
    for how in ({}, {"bound": 4, "exact": True}):
        counts, found = rounded((6, 5), inner, base=5, **how)
        assert (found % 5 == 0).all()
        assert (sums.matrix @ found[leaf] == found).all()
        assert (found[leaf][inner == 0] == 0).all()
        deviation = np.abs(found - counts)
        assert deviation.max() <= 4 + 2 * (not how)
        assert deviation.sum() < 1.3 * np.abs(counts - 5 * np.rint(counts / 5)).sum()
    with pytest.raises(ReleaseError, match=r"within 1; the nearest one has numbers off by \d"):
        rounded((6, 5), inner, base=5, bound=1)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_bound_that_moves_of_single_cells_miss_is_met_by_programs_of_blocks(seed):
    inner = np.random.default_rng(seed).negative_binomial(0.5, 0.08, 10 * 8 * 4)
    counts, near = rounded((10, 8, 4), inner, base=5)
    assert np.abs(near - counts).max() > 4
    counts, found = rounded((10, 8, 4), inner, base=5, bound=4)
    assert np.abs(found - counts).max() <= 4
    sums, leaf = full(10, 8, 4)
    assert (found % 5 == 0).all()
    assert (sums.matrix @ found[leaf] == found).all()


@pytest.mark.parametrize("base", [3, 5])
@pytest.mark.parametrize("bound", [None, 4])
def test_small_counts_become_the_base_or_nothing_and_the_rest_is_unchanged(base, bound):
    inner = np.random.default_rng(base).negative_binomial(0.5, 0.08, 10 * 8)
    sums, leaf = full(10, 8)
    held = np.flatnonzero(inner)
    part = TableSums(matrix=sums.matrix[:, held].tocsr(), inner=np.arange(len(held)))
    counts = (sums.matrix @ inner).astype(np.int64)
    found = round_counts(
        part, counts, leaf=leaf[held], base=base, bound=bound, small=inner[held]
    )
    published = found[leaf]
    assert (sums.matrix @ published == found).all()
    is_small = inner < base
    assert set(published[is_small & (inner > 0)].tolist()) == {0, base}
    assert (published[inner == 0] == 0).all()
    assert (published[~is_small] == inner[~is_small]).all()
    assert not ((found > 0) & (found < base)).any()
    assert np.abs(found - counts).max() <= (bound or 2 * base)
    assert abs(int(found[0] - counts[0])) <= base


def test_small_counts_of_tiny_tables_are_as_near_as_any_rounding_of_them():
    """Every choice of which counts become the base, tried: least squares within a tenth."""
    rng, base = np.random.default_rng(3), 3
    sums, leaf = full(3, 3)
    squares = np.zeros(2)
    for _ in range(12):
        inner = rng.integers(1, 5, 9)
        counts = (sums.matrix @ inner).astype(np.int64)
        found = round_counts(sums, counts, leaf=leaf, base=base, small=inner)
        small = np.flatnonzero(inner < base)
        best = np.inf
        for chosen in itertools.product((0, base), repeat=len(small)):
            other = inner.copy()
            other[small] = chosen
            best = min(best, float(((sums.matrix @ other - counts) ** 2).sum()))
        squares += ((found - counts) ** 2).sum(), best
    assert squares[0] <= 1.1 * squares[1]


def test_several_groups_of_one_cell_share_its_count():
    from scipy import sparse

    matrix = sparse.csr_array(
        np.array([[1.0, 1, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0]])
    )
    sums = TableSums(matrix=matrix, inner=np.arange(4))
    counts = np.array([40, 21, 19, 22])
    found = round_counts(sums, counts, leaf=np.array([1, 1, 2, 2]), base=5)
    assert found[0] == found[1] + found[2]
    assert np.abs(found - counts).max() < 5
