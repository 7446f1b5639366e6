"""Additivity restored after the cell key method, and what that changes."""

import numpy as np
import pytest

from ckm.engine.published_table import PublishedTable
from ckm.errors import ConfigError, ReleaseError
from ckm.methods.additivity.effect import measure_restoration
from ckm.methods.additivity.equations import TableSums
from ckm.methods.additivity.least_squares import nearest_additive
from ckm.methods.additivity.restore import restore_additivity
from tables import CodeTree


def with_margins(inner):
    """Put the total of every axis before its parts."""
    for axis in range(inner.ndim):
        inner = np.concatenate([inner.sum(axis=axis, keepdims=True), inner], axis=axis)
    return inner


def table_of(counts, **dimensions):
    """List all cells of a cube with its margins."""
    places = np.indices(counts.shape).reshape(counts.ndim, -1)
    named = {f"d{a}": ["Total", *map(str, range(n - 1))] for a, n in enumerate(counts.shape)}
    named = dimensions or named
    return PublishedTable(
        dimensions={
            name: (places[axis].astype(np.int32), labels)
            for axis, (name, labels) in enumerate(named.items())
        },
        measures={"count": counts.ravel()},
    )


def noisy(shape, *, seed=1, max_noise=3, mean=6.0):
    rng = np.random.default_rng(seed)
    counts = with_margins(rng.poisson(mean, shape))
    noise = rng.integers(-max_noise, max_noise + 1, counts.shape)
    return counts, np.where(counts > 0, np.maximum(counts + noise, 0), 0)


def gaps(table, numbers, **options):
    sums = TableSums.of_table(table, **options)
    return numbers - sums.matrix @ numbers[sums.inner]


def least_squares(sums, y):
    """Solve the program by dense non-negative least squares."""
    from scipy.optimize import nnls

    return sums.matrix @ nnls(sums.matrix.toarray(), y)[0]


@pytest.mark.parametrize("shape", [(7,), (4, 5), (3, 4, 5), (2, 3, 2, 3)])
@pytest.mark.parametrize("base", [None, 1, 3])
def test_every_margin_adds_up_without_error(shape, base):
    _, published = noisy(shape, mean=2.0)
    table = table_of(published)
    assert gaps(table, published.ravel()).any()
    numbers = restore_additivity(table, base=base).measures["count"]
    assert (gaps(table, numbers) == 0).all()
    assert numbers.min() >= 0
    assert (numbers[published.ravel() == 0] == 0).sum() > 0 or published.all()
    if base is not None:
        assert numbers.dtype == np.int64
        assert (numbers % base == 0).all()


# In the last two a cell that was held at 0 has to be let go again.
@pytest.mark.parametrize(
    ("seed", "noise", "mean"),
    [*((seed, 3, 1.5) for seed in range(5)), (5, 6, 2.0), (8, 6, 2.0)],
)
def test_fractions_are_the_exact_least_squares(seed, noise, mean):
    _, published = noisy((4, 3, 3), seed=seed, max_noise=noise, mean=mean)
    table = table_of(published)
    y = published.ravel().astype(float)
    found = restore_additivity(table, base=None).measures["count"]
    expected = least_squares(TableSums.of_table(table).without(y == 0), y)
    assert np.abs(found - expected).max() < 1e-4


def test_a_table_that_adds_up_stays_as_it_is():
    counts, _ = noisy((4, 5))
    for base in (None, 1):
        found = restore_additivity(table_of(counts), base=base).measures["count"]
        assert (found == counts.ravel()).all()


@pytest.mark.parametrize("seed", range(4))
def test_a_bound_holds_and_the_nearest_table_within_it_is_found(seed):
    from scipy.optimize import minimize

    counts, published = noisy((3, 3), seed=seed, mean=20.0)
    table, y = table_of(published), published.ravel().astype(float)
    # tighter than least squares need, so that it binds
    bound = 0.9 * np.abs(restore_additivity(table, base=None).measures["count"] - y).max()
    sums = TableSums.of_table(table).without(y == 0)
    found = restore_additivity(table, base=None, bound=bound).measures["count"]
    assert np.abs(found - y).max() <= bound + 1e-4
    start = counts.ravel()[sums.inner].astype(float)
    other = minimize(
        lambda x: float(((sums.matrix @ x - y) ** 2).sum()),
        start,
        method="SLSQP",
        bounds=[(0, None)] * len(start),
        constraints=[
            {"type": "ineq", "fun": lambda x: sums.matrix @ x - np.maximum(y - bound, 0)},
            {"type": "ineq", "fun": lambda x: y + bound - sums.matrix @ x},
        ],
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert ((found - y) ** 2).sum() == pytest.approx(other.fun, rel=1e-4, abs=1e-4)
    assert other.success


def test_a_bound_that_no_table_meets_is_told():
    table = table_of(np.array([20, 3, 4]), sex=["Total", "F", "M"])
    for options in ({"base": None}, {"base": 1}, {"base": 1, "exact": True}):
        with pytest.raises(ReleaseError, match="adds up"):
            restore_additivity(table, bound=2, **options)


def test_exact_rounding_is_no_farther_than_the_local_optimum():
    for seed in range(3):
        _, published = noisy((3, 3), seed=seed)
        table, y = table_of(published), published.ravel()
        best, near = (
            restore_additivity(table, base=3, exact=exact).measures["count"]
            for exact in (True, False)
        )
        assert (gaps(table, best) == 0).all()
        assert (best % 3 == 0).all()
        assert np.abs(best - y).sum() <= 1.02 * np.abs(near - y).sum()


def test_controlled_rounding_of_an_additive_table_takes_neighbours():
    counts, _ = noisy((4, 4), seed=9)
    found = restore_additivity(table_of(counts), base=5, bound=5, exact=True)
    off = np.abs(found.measures["count"] - counts.ravel())
    assert off.max() <= 5
    with pytest.raises(ReleaseError, match=r"at most 2,000 cells"):
        restore_additivity(table_of(noisy((50, 50))[1]), exact=True)


def test_hierarchies_in_columns_and_in_trees_add_up():
    tree = CodeTree({"all": None, "A": "all", "a1": "A", "a2": "A", "B": "all"})
    labels = ["all", "A", "a1", "a2", "B"]
    numbers = np.array([[30, 11, 17], [18, 8, 12], [9, 2, 6], [10, 5, 7], [9, 4, 6]])
    table = table_of(numbers, code=labels, sex=["Total", "F", "M"])
    found = restore_additivity(table, trees={"code": tree}).measures["count"].reshape(5, 3)
    assert (found[:, 0] == found[:, 1:].sum(axis=1)).all()
    assert (found[0] == found[1] + found[4]).all()
    assert (found[1] == found[2] + found[3]).all()

    paths = [("Total", "Total"), ("A", "Total"), ("A", "a1"), ("A", "a2"), ("B", "b1")]
    regions, towns = ["Total", "A", "B"], ["Total", "a1", "a2", "b1"]
    nested = PublishedTable(
        dimensions={
            "region": (np.array([regions.index(r) for r, _ in paths], np.int32), regions),
            "town": (np.array([towns.index(t) for _, t in paths], np.int32), towns),
        },
        measures={"count": np.array([30, 18, 9, 10, 9])},
    )
    total, a, a1, a2, b1 = restore_additivity(nested).measures["count"]
    assert a == a1 + a2
    assert total == a + b1


def test_cells_that_are_not_listed_stay_0():
    counts = np.array([[9, 5, 3], [6, 6, 0], [2, 0, 1]])
    full = table_of(counts)
    kept = counts.ravel() > 0
    thin = PublishedTable(
        dimensions={n: (codes[kept], labels) for n, (codes, labels) in full.dimensions.items()},
        measures={"count": counts.ravel()[kept]},
    )
    whole = restore_additivity(full).measures["count"]
    assert (whole[~kept] == 0).all()
    assert (restore_additivity(thin).measures["count"] == whole[kept]).all()


def test_the_table_given_and_its_other_measures_are_left_alone():
    table = table_of(np.array([12, 3, 6]), sex=["Total", "F", "M"])
    table = PublishedTable(
        dimensions=table.dimensions,
        measures={**table.measures, "weighted": np.array([1.0, 2, 3])},
    )
    found = restore_additivity(table)
    assert table.measures["count"].tolist() == [12, 3, 6]
    assert found.measures["weighted"].tolist() == [1.0, 2.0, 3.0]
    assert found.columns == table.columns


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        (np.array([3.0, np.nan, 1.0]), "from 0 to"),
        (np.array([3, -1, 1]), "from 0 to"),
        (np.array([3.0, np.inf, 1.0]), "from 0 to"),
        (np.array([2**62, 2**61, 2**60]), "from 0 to"),
        (np.ma.masked_less(np.array([3, 1, 2]), 2), "suppressed"),
    ],
)
def test_numbers_that_cannot_add_up_are_refused(numbers, words):
    table = table_of(np.array([3, 1, 2]), sex=["Total", "F", "M"])
    table = PublishedTable(dimensions=table.dimensions, measures={"count": numbers})
    with pytest.raises(ReleaseError, match=words):
        restore_additivity(table)


@pytest.mark.parametrize(
    "options",
    [
        {"bound": -1},
        {"bound": float("nan")},
        {"base": 0},
        {"base": 1.5},
        {"base": True},
        {"base": None, "exact": True},
    ],
)
def test_wrong_parameters_are_refused(options):
    with pytest.raises(ConfigError, match="Additivity cannot be restored"):
        restore_additivity(table_of(np.array([3, 1, 2])), **options)


def test_wrong_tables_are_refused():
    only_total = table_of(np.array([3]), sex=["Total"])
    with pytest.raises(ReleaseError, match="no inner cells"):
        restore_additivity(only_total)
    table = table_of(np.array([3, 1, 2]))
    with pytest.raises(ReleaseError, match="no measure 'sum'"):
        restore_additivity(table, measure="sum")
    with pytest.raises(ReleaseError, match="no column 'age'"):
        restore_additivity(table, trees={"age": CodeTree({"all": None, "a": "all"})})
    with pytest.raises(ReleaseError, match="does not know"):
        restore_additivity(table, trees={"d0": CodeTree({"all": None, "a": "all"})})


def test_a_table_of_zeros_and_huge_numbers_add_up():
    zeros = restore_additivity(table_of(np.array([2, 0, 0]))).measures["count"]
    assert zeros.tolist() == [0, 0, 0]
    huge = restore_additivity(table_of(np.array([3 * 10**12, 10**12, 10**12])), base=None)
    total, first, second = huge.measures["count"]
    assert total == first + second
    assert total == pytest.approx(10**12 * 8 / 3, rel=1e-9)


def test_restored_tables_are_nearer_to_the_truth_and_tell_intruders_less():
    counts, published = noisy((5, 4), seed=3, max_noise=2, mean=8.0)
    effect = measure_restoration(table_of(published), counts.ravel(), max_noise=2)
    assert effect.gap[0] > 1
    assert effect.gap[1] < 1e-9
    assert effect.deviation[1] < effect.deviation[0]
    assert effect.width[1] >= effect.width[0] > 0
    assert effect.pinned[1] <= effect.pinned[0]
    assert repr(effect) == "RestorationEffect(…)"


def test_the_truth_lies_in_the_intervals_of_the_restored_table():
    from ckm.methods.additivity.effect import _Intruder

    counts, published = noisy((3, 3), seed=5, max_noise=2, mean=2.0)
    y = published.ravel().astype(float)
    sums = TableSums.of_table(table_of(published))
    free = sums.without(y == 0)
    z = nearest_additive(free, y, lower=np.zeros_like(y), upper=np.full_like(y, np.inf))
    assert (z[free.inner] == 0).any() or (y[sums.inner] == 0).any()
    intruder = _Intruder(sums, y == 0, z, max_noise=2)
    for cell, count in enumerate(counts.ravel()[sums.inner].tolist()):
        assert intruder._end(cell, 1) - 0.01 <= count <= -intruder._end(cell, -1) + 0.01


def test_effects_need_counts_and_noise_that_fit():
    table = table_of(np.array([12, 3, 6]))
    with pytest.raises(ConfigError, match="one original count"):
        measure_restoration(table, np.array([10, 4]), max_noise=2)
    with pytest.raises(ConfigError, match="No original counts fit"):
        measure_restoration(table, np.array([10, 4, 6]), max_noise=0)
    large = table_of(noisy((15, 15))[1])
    counts = noisy((15, 15))[0].ravel()
    assert measure_restoration(large, counts, max_noise=3).width is None
