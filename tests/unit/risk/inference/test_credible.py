"""The fewest originals, and the shortest interval of them, that hold a level."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from ptable import Mechanism
from risk.distributions.prior import Prior
from risk.errors import RiskError
from risk.inference.credible import CredibleSet, credible_intervals, credible_set
from risk.inference.inverse import Inverse
from tests.results import require_fixed
from tests.unit.risk.inference.support import TABLE, WEIGHTS, posterior

INVERSE = Inverse(table=TABLE, prior=Prior.supplied(WEIGHTS))
SEEN = [j for j in range(10) if posterior(j)]
#: Levels that some set or interval holds exactly, those between them, and both ends.
LEVELS = [*(Fraction(n, 24) for n in range(25)), Fraction(9, 10), Fraction(19, 20)]


def fewest(chances, published, level):
    """Take originals one by one: the most probable, of those the nearest, then the smallest."""
    ordered = sorted(chances, key=lambda i: (-chances[i], abs(i - published), i))
    for n in range(1, len(ordered) + 1):
        if sum(chances[i] for i in ordered[:n]) >= level:
            break
    return sorted(ordered[:n])


def shortest(chances, level):
    """Try every interval: of the shortest that hold the level the most probable, the lowest."""
    ends = range(min(chances), max(chances) + 1)
    spans = [
        (high - low, -sum(chances.get(i, 0) for i in range(low, high + 1)), low, high)
        for low in ends
        for high in ends
        if low <= high
    ]
    return min(span for span in spans if -span[1] >= level)


@pytest.mark.parametrize("published", SEEN)
def test_sets_are_those_of_exact_fractions(published):
    chances = posterior(published)
    sums = {sum(c, Fraction(0)) for n in range(4) for c in combinations(chances.values(), n)}
    for level in {*LEVELS, *(each for each in sums if each <= 1)}:
        found = credible_set(INVERSE, published, level=float(level))
        assert list(found.counts) == fewest(chances, published, level)
        assert found.probability == pytest.approx(float(sum(chances[i] for i in found.counts)))
        assert found.probability <= 1
        assert (found.published, found.level) == (published, float(level))


@pytest.mark.parametrize("level", LEVELS)
def test_intervals_are_the_shortest_of_all(level):
    found = credible_intervals(INVERSE, SEEN, level=float(level))
    for place, published in enumerate(SEEN):
        _, mass, low, high = shortest(posterior(published), level)
        assert (found.lower[place], found.upper[place]) == (low, high)
        assert found.probability[place] == pytest.approx(-float(mass), abs=1e-12)
    assert found.level == float(level)
    assert found.published.tolist() == SEEN


def test_no_fewer_originals_hold_the_level():
    """Tried are all sets, not those of the most probable alone."""
    for published in SEEN:
        chances = posterior(published)
        for level in LEVELS[1:]:
            n = len(credible_set(INVERSE, published, level=float(level)).counts)
            masses = [
                sum(c, Fraction(0)) for c in combinations(chances.values(), max(n - 1, 0))
            ]
            assert max(masses) < level


def test_equally_probable_originals_are_taken_from_the_published_count_outwards():
    """Under a flat prior 4 to 6 may have become 5, each as often, then 3 and 7."""
    inverse = Inverse(table=Mechanism.random_rounding(5).build(), prior=Prior.flat())
    assert credible_set(inverse, 10, level=0.0).counts == (10,)
    # 9 and 11 weigh 4 twenty-fifths each: the smaller comes first
    assert credible_set(inverse, 10, level=0.21).counts == (9, 10)
    assert credible_set(inverse, 10, level=0.5).counts == (9, 10, 11)
    assert credible_set(inverse, 10, level=1.0).counts == tuple(range(6, 15))


def test_an_interval_of_equals_lies_lowest():
    inverse = Inverse(table=Mechanism.rounding(5).build(), prior=Prior.flat())
    found = credible_intervals(inverse, [10, 20], level=0.4)
    assert found.lower.tolist() == [8, 18]
    assert found.upper.tolist() == [9, 19]
    assert found.probability == pytest.approx([0.4, 0.4])


def test_rounded_arithmetic_makes_nothing_more_than_certain():
    rng = np.random.default_rng(3)
    table = Mechanism.discrete_laplace(1.0, max_noise=8).build()
    for _ in range(40):
        inverse = Inverse(table=table, prior=Prior.supplied(rng.random(40)))
        found = credible_intervals(inverse, np.arange(30), level=1.0)
        assert found.probability.max() <= 1
        assert max(credible_set(inverse, j, level=1.0).probability for j in range(12)) <= 1


def test_levels_are_95_per_cent_unless_said_otherwise():
    assert credible_set(INVERSE, 2).level == 0.95
    assert credible_intervals(INVERSE, [2]).level == 0.95


def test_frames_have_a_line_for_each_published_count():
    found = credible_intervals(INVERSE, [0, 2], level=0.5)
    frame = found.to_frame()
    assert frame.columns.tolist() == ["published", "lower", "upper", "probability"]
    assert frame["published"].tolist() == [0, 2]
    assert frame["upper"].tolist() == found.upper.tolist()


def test_lists_of_any_shape_are_read_in_a_row():
    found = credible_intervals(INVERSE, [[0, 1], [2, 3]], level=0.5)
    assert found.lower.shape == (4,)
    assert credible_intervals(INVERSE, []).upper.shape == (0,)


def test_sets_are_equal_when_what_they_say_is():
    one, other = (
        CredibleSet(published=3, level=0.9, counts=(2, 3), probability=p) for p in (0.9, 0.95)
    )
    assert one != other
    assert credible_set(INVERSE, 2) == credible_set(INVERSE, 2)


def test_sets_and_intervals_cannot_be_changed():
    require_fixed(credible_set(INVERSE, 2))
    found = credible_intervals(INVERSE, [2])
    require_fixed(found)
    assert found != credible_intervals(INVERSE, [2]), "arrays are not compared"


def test_what_is_never_published_tells_nothing():
    for ask in (
        lambda: credible_set(INVERSE, 20),
        lambda: credible_intervals(INVERSE, [3, 20]),
    ):
        with pytest.raises(RiskError, match="never publish 20"):
            ask()


@pytest.mark.parametrize("level", [-0.01, 1.01, np.nan])
def test_levels_lie_between_nought_and_one(level):
    for ask in (
        lambda: credible_set(INVERSE, 2, level=level),
        lambda: credible_intervals(INVERSE, [2], level=level),
    ):
        with pytest.raises(RiskError, match="level must be"):
            ask()
