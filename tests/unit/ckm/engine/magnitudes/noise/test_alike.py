"""Which amounts are alike, and what becomes of their cells before noise is added."""

from dataclasses import FrozenInstanceError, replace
from fractions import Fraction

import numpy as np
import pytest

from ckm.engine.magnitudes import Dominance, FewContributors, MagnitudeNoise
from ckm.engine.magnitudes.noise.alike import (
    CountNoise,
    alike_caution,
    alike_cells,
    alike_numbers,
    as_published,
    tells_count,
    variations,
)
from ckm.engine.perturbation import perturb_counts
from ptable import NoiseSpec, PTable, solve
from tables import Secret
from tests.amounts import amounts

SECRET = Secret(bytes(range(16)))
PTABLE = solve(NoiseSpec(max_noise=2, variance=1.5))
COUNTS = CountNoise(ptable=PTABLE, secret=SECRET)
EXACT = PTable(noise=[[0], [0]], upper=[[8], [8]], key_range=8)


def cells_of(values, *, variation=0.1):
    """Make cells with the sums of squares that the aggregation adds up."""
    squares = np.array([sum(v * v for v in cell) for cell in values])
    return replace(amounts(values), squares=squares, variation=variation)


def test_the_law_of_a_count_is_that_of_its_row_and_of_the_last_one_beyond():
    for count, row in ((0, 0), (1, 1), (2, 2), (3, 2), (10**6, 2)):
        law = COUNTS.law(count)
        assert law == {v: n / 2**32 for v, n in PTABLE.units(row).items()}
        assert sum(law.values()) == pytest.approx(1)
    assert COUNTS.law(1) != COUNTS.law(2)
    assert COUNTS.variance == pytest.approx(sum(p * v * v for v, p in COUNTS.law(9).items()))


# --- which amounts are alike --------------------------------------------------------------


def test_variation_is_standard_deviation_over_mean_of_contributors():
    rng = np.random.default_rng(2)
    values = [np.round(rng.lognormal(3, s, n), 2) for n in (3, 4, 9, 40) for s in (0.1, 0.5, 2)]
    found = variations(cells_of([[*v.tolist(), 0.0] for v in values], variation=np.inf))
    assert found.tolist() == pytest.approx([v.std() / v.mean() for v in values], rel=1e-9)


def test_one_or_two_contributors_vary_as_the_column_does_at_least():
    cells = [[5.0], [5.0, 5.0], [1.0, 3.0], [5.0, 5.0, 5.0]]
    assert variations(cells_of(cells, variation=0.4)).tolist() == [0.4, 0.4, 0.5, 0.0]
    assert variations(cells_of(cells, variation=0.6)).tolist() == [0.6, 0.6, 0.6, 0.0]


def test_amounts_that_add_up_to_nothing_are_not_alike():
    cells = cells_of([[5.0, -5.0, 5.0, -5.0], [], [0.0, 0.0]], variation=0.0)
    assert variations(cells)[0] == np.inf
    assert alike_cells(cells).tolist() == [False, False, False]
    for values in ([-5.0, -5.0, -4.0], [0.25, 0.25, 0.5]):
        found = variations(cells_of([values]))[0]
        assert found == pytest.approx(np.std(values) / abs(np.mean(values)))


def test_amounts_are_alike_below_a_variation_of_one_half():
    half = [1.0, 1.0, 3.0, 3.0]  # mean 2, standard deviation 1
    cells = cells_of([half, [1.0, 1.001, 3.0, 3.0], [1.0, 3.0], [7.0]], variation=0.49)
    assert alike_cells(cells).tolist() == [False, True, False, True]
    assert alike_cells(replace(cells, variation=0.5)).tolist() == [False, True, False, False]


def test_rounding_makes_no_variation_below_zero():
    cells = cells_of([[0.1] * 7, [0.3] * 11])
    found = variations(replace(cells, squares=cells.squares * (1 - 1e-12)))
    assert found.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("n_alike", "n_others", "which"),
    [(0, 3, None), (1, 2, "some"), (1, 1, "most"), (2, 1, "most"), (3, 0, "all")],
)
def test_a_caution_says_which_cells_have_the_noise_of_counts(n_alike, n_others, which):
    cells = cells_of([[5.0, 5.0, 5.0]] * n_alike + [[1.0, 1.0, 90.0]] * n_others + [[]])
    said = alike_caution("ages", "income", alike_numbers(cells))
    if which is None:
        assert said is None
    else:
        assert said.startswith(f"Table 'ages': in {which} cells, amounts of 'income' vary")


def test_the_noise_of_counts_is_given_by_name_and_does_not_change():
    assert CountNoise(ptable=PTABLE, secret=SECRET) == COUNTS
    assert not hasattr(COUNTS, "__dict__")
    with pytest.raises(TypeError):
        CountNoise(PTABLE, SECRET)
    with pytest.raises(FrozenInstanceError):
        COUNTS.secret = None


# --- what becomes of them -----------------------------------------------------------------


def test_the_noise_of_counts_is_that_of_a_table_of_contributors():
    cells = cells_of([[5.0] * n for n in range(1, 60)])
    wanted = perturb_counts(
        cells.contributors, cells.key, key_range=2**64, ptable=PTABLE, secret=SECRET
    )
    assert COUNTS.published(cells).tolist() == wanted.tolist()
    units = PTABLE.units(int(PTABLE.counts[-1]))
    mean = sum(Fraction(v * n, 2**32) for v, n in units.items())
    square = sum(Fraction(v * v * n, 2**32) for v, n in units.items())
    assert COUNTS.variance == pytest.approx(float(square - mean**2), rel=1e-12)
    assert COUNTS.variance == pytest.approx(1.5, rel=1e-3)


def many():
    """Cells of 1 to 20 contributors, every third of them unlike each other."""
    rng = np.random.default_rng(4)
    return [
        np.round(rng.lognormal(3, 2, n), 2).tolist() if n % 3 == 0 and n > 2 else [7.0] * n
        for n in list(range(21)) * 3
    ]


@pytest.mark.parametrize(
    ("rules", "few"),
    [
        ((FewContributors(least=5),), 4 + 2),
        ((FewContributors(least=2), FewContributors(least=4)), 3 + 2),
        ((Dominance(n=1, percent=90),), 2 + 2),
        ((), 0),
    ],
    ids=["five", "two or four", "dominance", "none"],
)
def test_a_cell_becomes_one_of_as_many_contributors_as_are_published(rules, few):
    """The total is X C / n; few of them, in sensitive cells, have one noise with one key."""
    cells = cells_of(many())
    given = {n: getattr(cells, n).copy() for n in ("total", "first_sizes", "first_keys")}
    noise = MagnitudeNoise.start(sensitive=rules)
    changed, sensitive = as_published(cells, noise, COUNTS)
    alike, published = alike_cells(cells), COUNTS.published(cells)
    seen = set()
    for place, values in enumerate(many()):
        n, count = len(values), int(published[place])
        is_plain = any(bool(rule.holds(cells)[place]) for rule in rules) and n > 0
        if not alike[place]:
            assert changed.total[place] == cells.total[place]
            assert changed.contributors[place] == n
            assert sensitive[place] == is_plain
            assert changed.largest[place] == cells.largest[place]
            assert changed.first_sizes[place].tolist() == cells.first_sizes[place].tolist()
            continue
        total = sum(values) * count / n
        assert changed.total[place] == pytest.approx(total, rel=1e-12)
        assert changed.contributors[place] == count
        is_strong = is_plain or count <= few
        assert sensitive[place] == (is_strong and count > 0)
        assert changed.largest[place] == pytest.approx(
            total if is_strong else max(values, default=0.0)
        )
        if is_strong:
            assert changed.first_sizes[place].tolist() == [pytest.approx(total), 0.0, 0.0]
            assert changed.first_keys[place, 0] == cells.key[place]
        else:
            assert changed.first_sizes[place].tolist() == cells.first_sizes[place].tolist()
            assert changed.first_keys[place].tolist() == cells.first_keys[place].tolist()
        seen.add((is_strong, count > 0))
    assert (False, True) in seen
    assert (True, True) in seen or not few
    assert all(np.array_equal(getattr(cells, n), was) for n, was in given.items())


def test_amounts_of_which_nobody_knows_the_largest_are_changed_too():
    cells = replace(cells_of([[7.0] * 9]), first_sizes=np.zeros((1, 0)))
    changed, _ = as_published(cells, MagnitudeNoise.start(sensitive=()), COUNTS)
    assert changed.first_sizes.shape == (1, 0)
    assert changed.total.tolist() == pytest.approx((7.0 * COUNTS.published(cells)).tolist())


def test_sizes_of_negative_amounts_are_those_of_their_total():
    cells = cells_of([[-7.0] * 3] * 20)
    noise = MagnitudeNoise.start(signed=True, sensitive=(FewContributors(least=4),))
    changed, sensitive = as_published(cells, noise, COUNTS)
    assert changed.total.max() < 0
    assert sensitive.all()
    assert changed.largest.tolist() == (-changed.total).tolist()
    assert changed.first_sizes[:, 0].tolist() == (-changed.total).tolist()


def test_without_noise_of_counts_or_amounts_that_are_alike_nothing_changes():
    noise = MagnitudeNoise.start()
    cells = cells_of([[7.0] * 9, [7.0], []])
    for counts in (None, CountNoise(ptable=EXACT, secret=SECRET)):
        same, sensitive = as_published(cells, noise, counts)
        assert same is cells
        assert sensitive.tolist() == [False, True, False]
    others = cells_of([[7.0, 20.0, 50.0], [1.0, 1.0, 1.0, 90.0]])
    same, sensitive = as_published(others, noise, COUNTS)
    assert same is others
    assert sensitive.tolist() == [False, True]


# --- several variables --------------------------------------------------------------------


def told(means, covariances, shares, variation, *, variance=1.0):
    return tells_count(
        np.array(means, float),
        np.array(covariances, float),
        shares=np.array(shares, float),
        variations=np.array(variation, float),
        variance=variance,
    )


def test_one_variable_tells_the_count_where_its_noise_is_less_than_that_of_a_count():
    """The estimate S / mu has the variance share**2 + 1000 s**2, against that of counts."""
    for mean in (1.0, 50.0, -3.0):
        assert told([mean], [[0.0]], [0.97], [0.6])
        assert not told([mean], [[0.0]], [0.98], [0.6])  # 1 / 0.98**2 < 1.05
        assert told([mean], [[0.0009 * mean**2]], [0.0], [0.6])
        assert not told([mean], [[0.000953 * mean**2]], [0.0], [0.6])  # 1 / 0.953 < 1.05
    assert told([1.0], [[0.0]], [1.9], [0.6], variance=4.0)
    assert not told([1.0], [[0.0]], [1.97], [0.6], variance=4.0)


def test_amounts_that_are_alike_have_the_noise_of_counts_beside_their_own():
    assert not told([5.0], [[0.0]], [0.1], [0.4])
    assert told([5.0], [[0.0]], [0.1], [0.5])
    both = [[0.0, 0.0], [0.0, 0.0]]
    assert not told([5.0, 8.0], both, [0.1, 0.1], [0.4, 0.4]), "one noise, not two"
    assert told([5.0, 8.0], both, [0.1, 0.1], [0.4, 0.6])


@pytest.mark.parametrize("seed", range(12))
def test_the_best_combination_is_no_worse_than_any_that_is_tried(seed):
    """Whoever takes a S / (a mu) for the count has the variance a' M a / (a mu)**2."""
    rng = np.random.default_rng(seed)
    means, shares = rng.uniform(1, 9, 2), rng.uniform(0.2, 1.2, 2)
    root = rng.normal(0, 0.04, (2, 2))
    covariances, variance = root @ root.T, 1.0
    variation = rng.choice([0.4, 0.6], 2)
    alike = np.where(variation < 0.5, means, 0.0)
    noise = np.diag((shares * means) ** 2) + variance * np.outer(alike, alike)
    angle = np.linspace(0, np.pi, 20_001)
    weights = np.stack([np.cos(angle), np.sin(angle)])
    spread = ((noise + 1000 * covariances) @ weights * weights).sum(axis=0)
    with np.errstate(divide="ignore"):
        least = (spread / (means @ weights) ** 2).min()
    assert told(means, covariances, shares, variation) == (variance / least > 1.05)
