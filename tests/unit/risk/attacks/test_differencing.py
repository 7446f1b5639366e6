"""One person more or nobody. Error rates: one comparison in 370; seeds are fixed."""

import numpy as np
import pytest

from risk.attacks import Differencing, SimulatedOracle
from risk.errors import RiskError
from tests.unit.risk.attacks.support import SETTINGS, agrees, r_table

DETECTION = dict(zip(SETTINGS, (0.781, 0.824, 0.851, 0.868), strict=True))


def slivers(n, *, inner, prior, seed):
    is_there = (np.random.default_rng(seed).random(n) < prior).astype(int)
    return np.column_stack([np.full(n, inner), is_there]), is_there


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_figures_are_those_of_the_reference(setting):
    figures = Differencing().figures(r_table(*setting))
    assert figures.detection == pytest.approx(DETECTION[setting], abs=5e-4)
    assert 0.885 < figures.accuracy < 0.935
    assert 0.815 < figures.p_empty_if_equal < 0.885


@pytest.mark.slow
@pytest.mark.parametrize("keys", ["mixed", "additive"])
@pytest.mark.parametrize("inner", [1, 2, 30])
@pytest.mark.parametrize("measure", ["detection", "accuracy"])
def test_persons_are_found_as_often_as_computed(keys, inner, measure):
    table, prior = r_table(5, 3), 0.3
    counts, is_there = slivers(3000, inner=inner, prior=prior, seed=61)
    oracle = SimulatedOracle(table, counts, rng=np.random.default_rng(62), keys=keys)
    attack = Differencing(prior=prior, measure=measure)
    p_equal = attack.figures(table, count=inner).p_equal
    result = attack.run(oracle, truth=is_there, p_equal=p_equal)
    assert agrees(result.rate, attack.closed_form(table, count=inner), trials=result.trials)


def test_an_empty_sliver_never_raises_the_alarm():
    counts, nobody = slivers(500, inner=30, prior=0.0, seed=63)
    oracle = SimulatedOracle(r_table(8, 4), counts, rng=np.random.default_rng(64))
    result = Differencing(measure="accuracy").run(oracle, truth=nobody)
    assert result.rate == 1.0


def test_equal_counts_still_mean_somebody_where_nobody_was_unlikely():
    table = r_table(2, 1)
    attack = Differencing(prior=0.95, measure="accuracy")
    figures = attack.figures(table)
    assert 0.95 * figures.p_equal > 0.05
    assert figures.accuracy == pytest.approx(0.95)
    counts, is_there = slivers(2000, inner=30, prior=0.95, seed=65)
    oracle = SimulatedOracle(table, counts, rng=np.random.default_rng(66))
    result = attack.run(oracle, truth=is_there, p_equal=figures.p_equal)
    assert result.rate == is_there.mean()


def test_more_noise_makes_differencing_easier():
    found = [Differencing().closed_form(r_table(*setting)) for setting in SETTINGS]
    assert found == sorted(found)


def test_a_refused_line_is_missed_and_nothing_to_detect_is_an_error():
    result = Differencing(measure="accuracy").run(lambda _: [5, None], truth=[0, 1])
    assert (result.successes, result.refused) == (0, 2)
    with pytest.raises(RiskError, match="a line with a person"):
        Differencing().run(lambda _: [5, 5], truth=[0])
    with pytest.raises(RiskError, match=r"prior must be .* measure must be"):
        Differencing(prior=1.0, measure="guess")
