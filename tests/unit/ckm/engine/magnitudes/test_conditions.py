"""Sensitivity rules against their definitions, written out for every cell."""

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
