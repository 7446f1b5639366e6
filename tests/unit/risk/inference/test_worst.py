"""The published count that gives an original away most."""

from fractions import Fraction

import numpy as np
import pytest

from ptable import Mechanism, NoiseSpec, PTable, solve
from risk.distributions.prior import Prior
from risk.errors import RiskError
from risk.inference.inverse import Inverse
from risk.inference.worst import worst_posterior
from tests.results import require_fixed
from tests.unit.risk.inference.support import TABLE, WEIGHTS, posterior

INVERSE = Inverse(table=TABLE, prior=Prior.supplied(WEIGHTS))
ALL = {j: chances for j in range(12) if (chances := posterior(j))}


def worst(originals, published=tuple(ALL)):
    """Give (published, probability) of some originals; the lowest published of equals."""

    def chance(j):
        return sum((ALL[j].get(i, Fraction(0)) for i in originals), Fraction(0))

    best = max(published, key=lambda j: (chance(j), -j))
    return best, chance(best)


@pytest.mark.parametrize("suspects", [[1], [1, 2], [1, 2, 3, 4], [0, 8], [3, 5], [2, 6, 7]])
@pytest.mark.parametrize("published", [None, [0, 1, 3], [4, 2, 5, 9, 11, 0]])
def test_the_worst_is_that_of_exact_fractions(suspects, published):
    seen = [j for j in ALL if published is None or j in published]
    allowed = [i for i in suspects if WEIGHTS[i]]
    seen = [j for j in seen if any(ALL[j].get(i) for i in allowed)]
    found = worst_posterior(INVERSE, suspects, published=published)
    assert found.originals.tolist() == allowed
    for place, original in enumerate(allowed):
        j, chance = worst([original], seen)
        assert found.published[place] == j
        assert found.probabilities[place] == pytest.approx(float(chance), abs=1e-14)
    j, chance = worst(allowed, seen)
    assert found.set_published == j
    assert found.set_probability == pytest.approx(float(chance), abs=1e-14)


def test_the_lowest_of_equally_bad_published_counts_is_named():
    """Half of the cells of 6 become 4 and half become 8, among eighths of each."""
    inverse = Inverse(table=Mechanism.random_rounding(4).build(), prior=Prior.flat())
    found = worst_posterior(inverse, [6, 14])
    assert found.published.tolist() == [4, 12]
    assert found.probabilities == pytest.approx([1 / 8, 1 / 8])
    assert (found.set_published, found.set_probability) == (4, pytest.approx(1 / 8))
    assert worst_posterior(inverse, [6, 10]).set_published == 8


def test_rounded_sums_of_several_originals_stay_probabilities():
    rng = np.random.default_rng(11)
    table = Mechanism.discrete_laplace(1.0, max_noise=6).build()
    for _ in range(60):
        inverse = Inverse(table=table, prior=Prior.supplied(rng.random(30)))
        assert worst_posterior(inverse, range(30)).set_probability <= 1


def test_all_originals_together_are_certain():
    found = worst_posterior(INVERSE, range(len(WEIGHTS)))
    assert found.set_probability == pytest.approx(1, abs=1e-15)
    assert found.set_published == 0
    assert 5 not in found.originals.tolist(), "the prior rules it out"


def test_a_range_an_array_and_repeated_counts_say_the_same():
    wanted = worst_posterior(INVERSE, [1, 2, 3])
    for originals in (range(1, 4), np.array([3, 1, 2]), [2, 1, 3, 3]):
        found = worst_posterior(INVERSE, originals)
        assert found.originals.tolist() == [1, 2, 3]
        assert found.probabilities.tolist() == wanted.probabilities.tolist()
    assert worst_posterior(INVERSE, 2).probabilities[0] == wanted.probabilities[1]


def test_traces_count_only_where_they_were_published():
    """A billionth of the keys make a 1 a 3: by design it is nothing, in print it is certain."""
    table = PTable.from_units(
        [{0: 10**9}, {0: 10**9 - 1, 2: 1}, {0: 10**9}, {1: 10**9}, {1: 10**9}],
        key_range=10**9,
    )
    inverse = Inverse(table=table, prior=Prior.supplied([1, 1, 1, 1, 1]))
    found = worst_posterior(inverse, [1])
    assert (found.set_published, found.set_probability) == (1, 1)
    assert worst_posterior(inverse, [1], published=[3]).set_published == 3
    solved = solve(NoiseSpec(max_noise=10, variance=10.0))
    traces = Inverse(table=solved, prior=Prior.two_points(1, 40))
    assert worst_posterior(traces, [1]).published.tolist() in ([0], [11])


def test_frames_have_a_line_for_each_original():
    found = worst_posterior(INVERSE, [1, 2])
    frame = found.to_frame()
    assert frame.columns.tolist() == ["original", "published", "probability"]
    assert frame["original"].tolist() == [1, 2]
    assert frame["probability"].tolist() == found.probabilities.tolist()


def test_the_worst_cannot_be_changed():
    found = worst_posterior(INVERSE, [1, 2])
    require_fixed(found)
    assert found != worst_posterior(INVERSE, [1, 2]), "arrays are not compared"


def test_what_cannot_be_is_refused_with_a_way_out():
    for originals in ([5], [1000], range(0)):
        with pytest.raises(RiskError):
            worst_posterior(INVERSE, originals)
    with pytest.raises(RiskError, match="the prior does not rule out"):
        worst_posterior(INVERSE, [5, 1000])
    with pytest.raises(RiskError, match="that one of originals can become"):
        worst_posterior(INVERSE, [1], published=[8])
