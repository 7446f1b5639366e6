"""Do the digits of a published total give its only contributor away?

Everybody in the survey extract with a positive income is a cell of their own. The intruder
knows the noise and how often each income occurs, and names the most probable one.
"""

import numpy as np
import pandas as pd
import pytest

from ckm.engine.magnitudes import (
    MagnitudeNoise,
    Proportional,
    magnitude_ptable,
    perturb_magnitudes,
)
from ckm.engine.magnitudes.noise.plan import plan_noise
from tables import Secret
from tables.magnitudes.amounts import Magnitudes

SECRET = Secret(bytes(range(32)))
SHARE = 0.1
N_ATTACKED = 4_000


@pytest.fixture(scope="module")
def incomes(shared):
    data = pd.read_parquet(shared / "data" / "acs_national_2019.parquet")
    found = pd.to_numeric(data["PINCP"], errors="coerce").to_numpy()
    return found[found > 0]


@pytest.fixture(scope="module")
def persons(incomes):
    """Make a cell of each attacked person."""
    own = np.random.default_rng(3).choice(incomes, N_ATTACKED, replace=False)
    one = np.ones(N_ATTACKED)
    keys = np.random.default_rng(4).integers(0, 10**8, N_ATTACKED).astype(np.uint64)
    return Magnitudes(
        variable="PINCP",
        total=own,
        raw_total=own,
        contributors=one.astype(np.int64),
        weighted_contributors=one,
        records=one.astype(np.int64),
        weight=one,
        key=keys * np.uint64(10**10),
        key_range=10**18,
        top=own[:, None],
        top_weight=one[:, None],
        largest=own,
        low=own,
        high=own,
    )


def found_exactly(persons, incomes, published, *, likelihood):
    """Give the share of persons whose income is the most probable one."""
    values, counts = np.unique(incomes, return_counts=True)
    hits = 0
    for own, seen in zip(persons.total, published, strict=True):
        place = slice(*np.searchsorted(values, [seen / (1 + 8 * SHARE), seen / 0.2]))
        candidates = values[place]
        chances = likelihood((seen / candidates - 1) / SHARE, candidates) * counts[place]
        hits += bool(len(chances)) and chances.max() > 0 and candidates[chances.argmax()] == own
    return hits / len(published)


def on_the_grid(law, chances, *, unit):
    """Build the likelihood of noise on a grid, published to a unit."""

    def likelihood(units, candidates):
        near = (0.5001 * unit + 1e-7) / candidates / SHARE
        return sum(p * (np.abs(units - v) <= near) for v, p in zip(law, chances, strict=True))

    return likelihood


def in_steps(law, chances, *, width):
    """Build the likelihood of noise that is even within its steps."""

    def likelihood(units, candidates):
        inside = sum(
            p * (np.abs(units - v) <= width / 2) for v, p in zip(law, chances, strict=True)
        )
        return inside / candidates

    return likelihood


def smooth(variance):
    def likelihood(units, candidates):
        return np.exp(-0.5 * units**2 / variance) / candidates

    return likelihood


def law_of(noise, persons):
    plan = plan_noise(persons, noise)
    assert set(plan.row.tolist()) == {5}
    regime = plan.regimes[0]
    return *regime.law(5), regime


def test_incomes_are_heaped_on_round_numbers(incomes):
    assert len(incomes) == 19_969
    assert (incomes % 100 == 0).mean() > 0.94


@pytest.mark.slow
@pytest.mark.parametrize(("decimals", "least"), [(None, 0.65), (0, 0.65), (-1, 0.55)])
def test_the_digits_of_other_tools_give_most_persons_away(persons, incomes, decimals, least):
    noise = MagnitudeNoise(
        ptable=magnitude_ptable(), scale=Proportional(share=SHARE), rules="cellkey"
    )
    published = perturb_magnitudes(persons, noise)
    unit = 1e-6 if decimals is None else 10.0**-decimals
    published = np.round(published / unit) * unit if decimals is not None else published
    law, chances, _ = law_of(MagnitudeNoise(ptable=noise.ptable, scale=noise.scale), persons)
    likelihood = on_the_grid(law, chances, unit=unit)
    assert found_exactly(persons, incomes, published, likelihood=likelihood) > least


@pytest.mark.slow
def test_our_digits_tell_no_more_than_smooth_noise_does(persons, incomes):
    noise = MagnitudeNoise(
        ptable=magnitude_ptable(), scale=Proportional(share=SHARE), decimals=None
    )
    law, chances, regime = law_of(noise, persons)
    published = perturb_magnitudes(persons, noise, secret=SECRET)
    ours = found_exactly(
        persons, incomes, published, likelihood=in_steps(law, chances, width=regime.width)
    )
    variance = regime.variance(5)
    drawn = np.random.default_rng(5).normal(0, np.sqrt(variance), N_ATTACKED)
    blurred = persons.total * (1 + SHARE * drawn)
    guessed = found_exactly(persons, incomes, blurred, likelihood=smooth(variance))
    assert ours == pytest.approx(guessed, abs=0.03)
    assert ours < 0.2
    thousands = np.round(published / 1000) * 1000
    coarse = found_exactly(
        persons, incomes, thousands, likelihood=in_steps(law, chances, width=regime.width)
    )
    assert ours - coarse < 0.06, "digits below a thousand are worth little"


@pytest.mark.slow
def test_without_jitter_our_digits_would_tell_as_much(persons, incomes):
    noise = MagnitudeNoise(
        ptable=magnitude_ptable(),
        scale=Proportional(share=SHARE),
        decimals=None,
        jitter=False,
    )
    law, chances, _ = law_of(noise, persons)
    published = perturb_magnitudes(persons, noise, secret=SECRET)
    likelihood = on_the_grid(law, chances, unit=1e-6)
    assert found_exactly(persons, incomes, published, likelihood=likelihood) > 0.65


def test_every_published_float_is_possible_for_neighbouring_incomes():
    """The jitter is finer than floats are, so that its own grid tells nothing either."""
    width = SHARE / 2
    assert 30_000 * width * 2.0**-52 < np.spacing(30_000 * 0.5)
