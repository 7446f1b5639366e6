"""The posterior of counts: by hand, by enumeration, and by draws that agree with it."""

import itertools
import math

import numpy as np
import pytest

from ptable import NoiseSpec, solve
from risk.errors import RiskError
from risk.reconstruction.lattice import Lattice, Shown, most_probable_counts
from risk.reconstruction.posterior import (
    Posterior,
    _from_halves,
    exact_posterior,
    found_by,
    sample_posterior,
)
from tests.strategies import worked_ptable

AREA = [np.arange(3), np.zeros(3, int)]
SEX = [np.arange(2), np.zeros(2, int)]
FINEST = (0, 0, 0)
PTABLE = worked_ptable()


def shown_as(*published):
    return Shown(published=np.array(published), is_shown=np.ones(np.shape(published), bool))


def probability(published, count):
    units = PTABLE.units(min(count, PTABLE.n_rows - 1))
    return units.get(published - count, 0) / PTABLE.key_range


def test_two_cells_and_their_total_are_as_by_hand():
    lattice = Lattice([SEX], [(0,), (1,)])
    found = exact_posterior(
        lattice, {(0,): shown_as(1, 3), (1,): shown_as(3)}, ptable=PTABLE, small=2
    )
    by_hand = np.zeros((8, 8))
    for x, y in itertools.product(range(8), repeat=2):
        prior = 0.75**x / math.factorial(x) * 2.25**y / math.factorial(y)  # 3 in shares 1 : 3
        told = probability(1, x) * probability(3, y) * probability(3, x + y)
        by_hand[x, y] = prior * told
    by_hand /= by_hand.sum()
    first = by_hand.sum(axis=1)
    assert found[0,].chances[0] == pytest.approx([*first[:3], first[3:].sum()])
    total = [np.trace(by_hand[:, ::-1], 7 - n) for n in range(3)]
    assert found[1,].chances[0] == pytest.approx([*total, 1 - sum(total)])


def twelve_cells(seed):
    """Three areas by two variables of two categories, with all margins, as published."""
    rng = np.random.default_rng(seed)
    lattice = Lattice([AREA, SEX, SEX], list(itertools.product((0, 1), repeat=3)))
    shown = {}
    for table, counts in lattice.sums(rng.poisson(0.8, lattice.shape)).items():
        noises = [PTABLE.units(min(int(n), 2)) for n in counts.ravel()]
        drawn_noise = [
            rng.choice(list(units), p=np.array(list(units.values())) / PTABLE.key_range)
            for units in noises
        ]
        shown[table] = shown_as(*(counts + np.reshape(drawn_noise, counts.shape)))
    return lattice, shown


def both(seed, *, draws, area):
    lattice, shown = twelve_cells(seed)
    fitted = most_probable_counts(lattice, shown, variance=1.0)[FINEST]
    given = {"ptable": PTABLE, "small": 2}
    return exact_posterior(lattice, shown, **given), sample_posterior(
        lattice, shown, draws=draws, fitted=fitted, area=area, seed=1, **given
    )


def largest_difference(exact, found):
    return max(np.abs(found[t].chances - exact[t].chances).max() for t in exact)


def test_draws_of_twelve_cells_are_near_their_enumeration():
    """480 draws, as good as 400 independent ones: 0.1 is four standard errors."""
    exact, found = both(2, draws=30, area=0)
    assert largest_difference(exact, found) < 0.1
    n_effective = np.concatenate([one.n_effective.ravel() for one in found.values()])
    assert 100 < np.median(n_effective) <= n_effective.max() <= 480
    for one in (*exact.values(), *found.values()):
        assert one.chances.sum(axis=-1) == pytest.approx(np.ones(one.rhat.shape))


@pytest.mark.slow
@pytest.mark.parametrize("area", [None, 0])
def test_many_draws_agree_with_the_enumeration(area):
    """Of 144 probabilities the largest error is 0.012 and 0.009."""
    exact, found = both(2, draws=300, area=area)
    assert largest_difference(exact, found) < 0.02
    assert max(one.rhat.max() for one in found.values()) < 1.05


def test_chains_that_differ_are_told_and_nobody_is_sure():
    mixed, apart = np.array([0.96, 0.97] * 8), np.array([1.0] * 13 + [0.75] * 3)
    shares = np.zeros((16, 2, 4))
    shares[:, 0, 1], shares[:, 1, 1] = mixed, apart
    shares[:, :, 2] = 1 - shares[:, :, 1]
    fits = np.ones((16, 2), bool)
    chances, rhat, effective = _from_halves(shares, fits, n=100)
    within, between = np.mean(apart * (1 - apart)) * 100 / 99, apart.var(ddof=1)
    assert rhat[1] == pytest.approx(math.sqrt((within * 0.99 + between) / within))
    assert rhat[0] < 1.05 < rhat[1]
    assert effective[0] == 1600  # no more than there are
    assert effective[1] < 100
    told = found_by(
        Posterior(chances=chances, rhat=rhat, n_effective=effective),
        np.array([1, 1]),
        np.ones(2, bool),
        confidence=0.95,
    )
    assert (told.guessed, told.right, told.n_unmixed) == (2, 2, 1)
    assert (told.sure, told.sure_small) == (1, 1)
    assert told.said[9] == told.kept[9] == 1  # what is not to be trusted says nothing
    assert (told + told).said[9] == 2
    fits[:8, 0] = False
    assert np.isinf(_from_halves(shares, fits, n=100)[1]).tolist() == [True, False]


def test_what_is_sure_is_compared_with_the_truth():
    chances = np.array([[0, 0.97, 0.03, 0], [0, 0.5, 0.5, 0], [0.97, 0.03, 0, 0.0]])
    posterior = Posterior(chances=chances, rhat=np.ones(3), n_effective=np.ones(3))
    told = found_by(posterior, np.array([2, 3, 1]), np.ones(3, bool), confidence=0.95)
    assert (told.n_small, told.guessed, told.right, told.share) == (2, 2, 0, 0.0)
    assert (told.sure, told.sure_wrong) == (1, 1)
    assert (told.sure_small, told.sure_small_wrong) == (2, 1)


def test_counts_that_cannot_be_published_are_named():
    table = solve(NoiseSpec(max_noise=2, variance=1.0, small=1))
    lattice = Lattice([SEX], [(0,)])
    with pytest.raises(RiskError, match="published as 1 with this p-table"):
        exact_posterior(lattice, {(0,): shown_as(1, 3)}, ptable=table, small=1)
    no_sum = {(0,): shown_as(0, 0), (1,): shown_as(9)}
    with pytest.raises(RiskError, match="No true counts fit"):
        exact_posterior(Lattice([SEX], [(0,), (1,)]), no_sum, ptable=PTABLE, small=1)


def test_what_is_not_shown_may_be_anything_and_too_much_is_not_enumerated():
    lattice = Lattice([SEX, SEX], [(0, 1), (1, 0)])
    given = {"ptable": PTABLE, "small": 2}
    chances = []
    for hidden in (0, 99):
        published, is_shown = np.array([[2], [hidden]]), np.array([[True], [False]])
        half = Shown(published=published, is_shown=is_shown)
        found = exact_posterior(lattice, {(0, 1): half, (1, 0): shown_as([2, 2])}, **given)
        chances.append(found[0, 1].chances[1, 0])
    assert chances[0] == pytest.approx(chances[1])
    assert (chances[0] > 0).all()
    large = [np.arange(40), np.zeros(40, int)]
    many = {(0,): shown_as(*[9] * 40), (1,): shown_as(360)}
    lattice, given = Lattice([large], [(0,), (1,)]), {"ptable": PTABLE, "small": 2}
    assert exact_posterior(lattice, many, **given) is None
    with pytest.raises(RiskError, match=r"40 cells(.|\n)*sample of areas"):
        sample_posterior(lattice, many, draws=4, fitted=np.zeros(40), n_chains=10**7, **given)
