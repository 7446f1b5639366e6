"""Designs that lose less, and whether attacks find more with them."""

from types import SimpleNamespace

import pytest

from ckm.audit.attacked_designs import SLACK, Trial, as_safe_as, is_entropy, trials
from ptable import NoiseSpec, PTable, solve
from ptable.advice.frontier import frontier_spec, measure

TEXTBOOK = [0.0, *(1 / (i * (i + 1)) for i in range(1, 300))]
ALLOWED = {"differencing": 0.8, "averaging": 0.9, "audit": 0.3, "together": 0.3}


def trial(*shares, differencing=0.8, averaging=0.9):
    audits = tuple(
        SimpleNamespace(
            largest_share=share, whole=SimpleNamespace(together=SimpleNamespace(share=share))
        )
        for share in shares
    )
    return Trial(
        floor=1.0,
        full_floor=3.0,
        table=PTable(noise=[[0]], upper=[[8]], key_range=8),
        loss=1.0,
        formulas={"differencing": differencing, "averaging": averaging},
        audits=audits,
    )


@pytest.mark.parametrize(
    ("one", "is_safe"),
    [
        (trial(), True),  # no audit was made: formulas alone speak
        (trial(0.2, 0.4), True),
        (trial(0.3 + SLACK), True),
        (trial(0.32), False),
        (trial(0.1, averaging=0.91), False),
        (trial(0.1, differencing=0.81), False),
    ],
)
def test_a_design_is_as_safe_where_no_attack_finds_more(one, is_safe):
    assert as_safe_as(ALLOWED, one) == is_safe


def test_shares_of_an_audit_are_means_over_secrets_with_their_error():
    assert trial(0.2, 0.4).mean("audit") == pytest.approx(0.3)
    assert trial(0.2, 0.4).standard_error("audit") == pytest.approx(0.1)
    assert trial(0.2).standard_error("audit") is None
    assert trial().mean("together") is None


def test_designs_tried_are_no_worse_and_averages_find_more_with_quieter_full_rows():
    own = solve(NoiseSpec(max_noise=2, variance=1.5))
    spec = frontier_spec(own, priors=[TEXTBOOK])
    first, *others = trials(own, spec)
    assert first.floor is None
    assert first.table == own
    figures = measure(own, spec)
    for one in others:
        found = measure(one.table, spec)
        for name in ("posterior", "posterior_set", "neighbours", "p_stay", "best_guess"):
            assert getattr(found, name) <= getattr(figures, name) + 1e-4
        assert found.largest_variance <= figures.largest_variance + 1e-5
        is_quiet = one.full_floor < 1.5
        assert (one.formulas["averaging"] > first.formulas["averaging"] + SLACK) == is_quiet
    assert min(one.loss for one in others) < 0.8 * first.loss


def test_a_table_without_limits_is_that_of_the_greatest_entropy():
    own = solve(NoiseSpec(max_noise=2, variance=1.5))
    assert is_entropy(own)
    spec = frontier_spec(own, priors=[TEXTBOOK], variance_floor=1.0)
    assert not is_entropy(solve(spec))
