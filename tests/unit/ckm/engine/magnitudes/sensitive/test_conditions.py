"""Sensitivity rules against their definitions, written out for every cell."""

import math
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from ckm.engine.magnitudes import (
    Dominance,
    FewContributors,
    MagnitudeError,
    PPercent,
    PriorPosterior,
    sensitive_cells,
)
from ckm.engine.magnitudes.sensitive.conditions import largest_contributions
from ckm.errors import ConfigError
from tests.amounts import amounts

RNG = np.random.default_rng(20)
CELLS = [
    np.round(RNG.lognormal(3, 2, RNG.integers(0, 9)), 2).tolist() + [0.0] * int(RNG.integers(3))
    for _ in range(400)
]
WEIGHTS = [RNG.integers(1, 9, len(values)).astype(float).tolist() for values in CELLS]


def told(rule, values, weights):
    """Apply the definition of a rule to the records of one cell."""
    kept = sorted((v for v in values if v), reverse=True)
    if not kept:
        return False
    if isinstance(rule, FewContributors):
        return len(kept) < rule.least
    total = sum(kept)
    if rule.weighted:
        total = sum(v * w for v, w in zip(values, weights, strict=True))
    kept += [0.0, 0.0]
    if isinstance(rule, Dominance):
        return sum(kept[: rule.n]) > rule.percent / 100 * total
    rest = total - kept[0] - kept[1]
    if isinstance(rule, PPercent):
        return rest < rule.percent / 100 * kept[0]
    return rest * rule.prior < rule.posterior * kept[0]


@pytest.mark.parametrize(
    "rule",
    [
        FewContributors(least=3),
        Dominance(n=1, percent=60),
        Dominance(n=2, percent=85),
        Dominance(n=3, percent=90, weighted=True),
        PPercent(percent=10),
        PPercent(percent=60, weighted=True),
        PriorPosterior(posterior=15, prior=60),
    ],
    ids=repr,
)
def test_rules_find_what_their_definitions_find(rule):
    found = sensitive_cells(amounts(CELLS, weights=WEIGHTS), [rule]).tolist()
    wanted = [told(rule, v, w) for v, w in zip(CELLS, WEIGHTS, strict=True)]
    assert found == wanted
    assert any(wanted)
    assert not all(wanted)


def test_a_cell_of_one_or_two_is_sensitive_to_every_estimating_rule():
    cells = amounts([[5.0], [5.0, 4.0]])
    for rule in (PPercent(percent=1), PriorPosterior(posterior=1, prior=99)):
        assert sensitive_cells(cells, [rule]).tolist() == [True, True]


def test_the_order_of_conditions_and_zeros_do_not_matter():
    rules = [FewContributors(least=3), PPercent(percent=10)]
    cells, more = amounts(CELLS), amounts([[*values, 0.0] for values in CELLS])
    found = sensitive_cells(cells, rules).tolist()
    assert found == sensitive_cells(cells, rules[::-1]).tolist()
    assert found == sensitive_cells(more, rules).tolist()
    assert not sensitive_cells(cells, []).any()


def test_rules_for_amounts_refuse_negative_ones_and_counting_does_not():
    cells = amounts([[5.0, -4.0]])
    with pytest.raises(MagnitudeError, match="negative values"):
        sensitive_cells(cells, [PPercent(percent=10)])
    assert sensitive_cells(cells, [FewContributors(least=3)]).tolist() == [True]


def test_a_rule_says_when_it_lacks_contributors():
    cells = amounts([[5.0, 4.0, 3.0]], n_top=2)
    with pytest.raises(MagnitudeError, match="3 largest"):
        sensitive_cells(cells, [Dominance(n=3, percent=80)])
    few = amounts([[5.0, 4.0]], n_top=2)
    assert sensitive_cells(few, [Dominance(n=3, percent=80)]).tolist() == [True]


@pytest.mark.parametrize(
    "make",
    [
        lambda: FewContributors(least=1),
        lambda: FewContributors(least=2.5),
        lambda: Dominance(n=0, percent=80),
        lambda: Dominance(n=1, percent=100),
        lambda: Dominance(n=1, percent=math.nan),
        lambda: PPercent(percent=0),
        lambda: PPercent(percent="10"),
        lambda: PriorPosterior(posterior=50, prior=10),
        lambda: PriorPosterior(posterior=10, prior=101),
        lambda: PriorPosterior(posterior=10, prior=10),
        lambda: Dominance(n=1, percent=0),
        lambda: FewContributors(least="3"),
    ],
)
def test_conditions_are_checked(make):
    with pytest.raises(ConfigError):
        make()


def test_what_lies_on_the_bound_of_a_rule_is_not_sensitive():
    cells = amounts([[8.0, 2.0], [10.0, 5.0, 1.0], [10.0, 5.0, 1.0 - 2**-20]])
    assert Dominance(n=1, percent=80).holds(cells).tolist() == [False, False, False]
    assert Dominance(n=1, percent=79.999).holds(cells).tolist() == [True, False, False]
    assert PPercent(percent=10).holds(cells).tolist() == [True, False, True]
    assert PriorPosterior(posterior=5, prior=50).holds(cells).tolist() == [True, False, True]
    assert PriorPosterior(posterior=10, prior=100).holds(cells).tolist() == (
        PPercent(percent=10).holds(cells).tolist()
    )
    assert FewContributors(least=2).holds(amounts([[], [1.0], [1.0, 1.0]])).tolist() == [
        False,
        True,
        False,
    ]


def test_rules_say_how_many_of_the_largest_contributors_they_look_at():
    assert FewContributors(least=3).n_top == 0
    assert Dominance(n=4, percent=80).n_top == 4
    assert PPercent(percent=10).n_top == PriorPosterior(posterior=1, prior=2).n_top == 2


def test_percents_are_numbers_below_a_hundred_and_a_prior_may_be_a_hundred():
    assert Dominance(n=1, percent=99).percent == 99.0
    assert isinstance(Dominance(n=1, percent=99).percent, float)
    assert PriorPosterior(posterior=1, prior=100).prior == 100.0
    with pytest.raises(ConfigError, match="below 100"):
        PPercent(percent=100)


def test_totals_are_unweighted_unless_a_rule_says_otherwise():
    cells = amounts([[90.0, 5.0, 4.0]], weights=[[1.0, 1.0, 50.0]])
    for make in (
        lambda **w: Dominance(n=1, percent=80, **w),
        lambda **w: PPercent(percent=10, **w),
        lambda **w: PriorPosterior(posterior=10, prior=90, **w),
    ):
        assert make().holds(cells).tolist() == [True]
        assert make(weighted=False) == make()
        assert make(weighted=True).holds(cells).tolist() == [False]


def test_the_largest_values_and_their_weights_are_padded_with_zeros():
    cells = amounts([[5.0, 4.0], [3.0]], weights=[[2.0, 3.0], [7.0]], n_top=2)
    values, weights = largest_contributions(cells, 3, of="noise")
    assert values.tolist() == [[5.0, 4.0, 0.0], [3.0, 0.0, 0.0]]
    assert weights.tolist() == [[2.0, 3.0, 0.0], [7.0, 0.0, 0.0]]
    assert largest_contributions(cells, 1, of="noise")[0].tolist() == [[5.0], [3.0]]


def test_any_of_several_conditions_is_enough_and_cells_without_contributors_never_are():
    cells = amounts([[], [0.0], [5.0], [9.0, 1.0, 1.0], [5.0, 5.0, 5.0]])
    rules = [FewContributors(least=2), Dominance(n=1, percent=80)]
    assert sensitive_cells(cells, rules).tolist() == [False, False, True, True, False]
    named = replace(cells, named=np.array([True, True, False, False, True]))
    assert sensitive_cells(named, []).tolist() == [False, False, False, False, True]
    assert sensitive_cells(named, rules).tolist() == [False, False, True, True, True]


def test_rules_of_two_contributors_ask_for_no_third():
    cells = amounts([[90.0, 5.0, 4.0], [5.0, 5.0, 5.0]], n_top=2)
    for rule in (PPercent(percent=10), PriorPosterior(posterior=10, prior=90)):
        assert rule.holds(cells).tolist() == [True, False]


def test_rules_hold_plain_numbers_by_name_and_do_not_change():
    rule = PriorPosterior(posterior=1, prior=2)
    assert [type(rule.posterior), type(rule.prior)] == [float, float]
    assert type(FewContributors(least=np.int64(3)).least) is int
    assert type(PPercent(percent=10).percent) is float
    for kind in (FewContributors, Dominance, PPercent, PriorPosterior):
        with pytest.raises(TypeError):
            kind(3, 10)
    rules = (FewContributors(least=3), Dominance(n=1, percent=80), PPercent(percent=10), rule)
    for one in rules:
        assert not hasattr(one, "__dict__")
        with pytest.raises(FrozenInstanceError):
            setattr(one, "least" if hasattr(one, "least") else "weighted", True)
