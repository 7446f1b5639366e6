"""Mixed answers: the bound beside enumeration, and beside the closed form of its paper."""

import itertools
import math
from collections import Counter

import pytest
from scipy.stats import binom

from dp import DPError, RandomisedResponse, shuffled_epsilon
from dp.accounting.shuffled import shuffled_delta


def mixed(first, others, transition):
    """The law of how often each answer is given, without who gave it."""
    law = Counter({(0,) * len(transition): 1.0})
    for true in (first, *others):
        after = Counter()
        for seen, chance in law.items():
            for answer, share in enumerate(transition[true]):
                counts = tuple(n + (place == answer) for place, n in enumerate(seen))
                after[counts] += chance * share
        law = after
    return law


def excess(law, other, epsilon):
    return sum(max(0.0, law[key] - math.exp(epsilon) * other[key]) for key in law)


@pytest.mark.parametrize(("answers", "n"), [(2, 12), (3, 7), (4, 5)])
@pytest.mark.parametrize("local", [0.5, 1.5])
def test_mixed_answers_lose_no_more_than_the_bound(answers, n, local):
    design = RandomisedResponse.k_ary(answers, epsilon=local)
    for rest in itertools.combinations_with_replacement(range(answers), n - 1):
        if len(set(rest)) > 2:
            continue
        laws = [mixed(first, rest, design.transition) for first in (0, 1)]
        for epsilon in (0.0, 0.1, local / 2):
            bound = shuffled_delta(epsilon, local=local, reports=n)
            assert excess(*laws, epsilon) <= bound + 1e-12
            assert excess(*laws[::-1], epsilon) <= bound + 1e-12


@pytest.mark.parametrize(("local", "n", "epsilon"), [(1, 9, 0.2), (0.3, 30, 0.05), (3, 15, 1)])
def test_the_delta_is_that_of_the_clones_of_the_theorem(local, n, epsilon):
    """Sum over clones, those like the first neighbour, and the own answer."""
    laws = [Counter(), Counter()]
    true = 1 / (1 + math.exp(-local))
    for c in range(n):
        for a in range(c + 1):
            chance = binom.pmf(c, n - 1, math.exp(-local)) * binom.pmf(a, c, 0.5)
            for own in (0, 1):
                share = true if own else 1 - true
                laws[0][a + own, c - a + 1 - own] += chance * share
                laws[1][a + 1 - own, c - a + own] += chance * share
    expected = excess(*laws, epsilon)
    assert expected == pytest.approx(excess(*laws[::-1], epsilon))
    assert shuffled_delta(epsilon, local=local, reports=n) == pytest.approx(expected)


@pytest.mark.parametrize("local", [0.5, 1, 2, 4])
@pytest.mark.parametrize("reports", [10**4, 10**5])
def test_the_epsilon_is_below_that_of_the_closed_form(local, reports):
    """The closed form of the paper, where it holds."""
    delta = 1e-9
    found = shuffled_epsilon(delta, local=local, reports=reports)
    assert shuffled_delta(found, local=local, reports=reports) <= delta
    assert shuffled_delta(found * 0.98, local=local, reports=reports) > delta
    odds = math.exp(local)
    if local <= math.log(reports / (16 * math.log(2 / delta))):
        root = 8 * math.sqrt(odds * math.log(4 / delta) / reports) + 8 * odds / reports
        assert found < math.log1p((odds - 1) / (odds + 1) * root)
    assert 0 < found < local


def test_few_answers_hide_nothing_and_more_hide_more():
    assert shuffled_epsilon(1e-9, local=1, reports=2) == pytest.approx(1)
    found = [shuffled_epsilon(1e-6, local=2, reports=10**n) for n in range(1, 6)]
    assert found == sorted(found, reverse=True)
    assert shuffled_delta(1.0, local=1, reports=50) == 0


@pytest.mark.parametrize(
    "wrong", [{"local": 0}, {"reports": 1}, {"delta": 0}, {"local": math.inf}]
)
def test_what_cannot_be_mixed_is_refused(wrong):
    asked = {"delta": 1e-6, "local": 1, "reports": 100} | wrong
    with pytest.raises(DPError):
        shuffled_epsilon(asked.pop("delta"), **asked)
