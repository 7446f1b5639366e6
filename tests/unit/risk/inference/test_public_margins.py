"""Margins that everybody may see: they hold what they say, and tell no p-table from another."""

from itertools import product

import numpy as np
import pytest

from ptable import Mechanism, NoiseSpec, solve
from risk import RiskError, count_intervals
from risk.inference.public_margins import LADDER, PublicMargin

#: The design of drafted jobs, and others of which some share its step of the ladder.
DESIGNS = {
    "job": NoiseSpec(max_noise=5, variance=3.0, small=2),
    "no small counts kept back": NoiseSpec(max_noise=5, variance=3.0),
    "shorter": NoiseSpec(max_noise=4, variance=3.0, small=2),
    "less": NoiseSpec(max_noise=5, variance=2.0, small=1),
    "more": NoiseSpec(max_noise=8, variance=5.0, small=2),
    "lopsided": NoiseSpec(max_noise=12, variance=10.0, small=3),
    "most": NoiseSpec(max_noise=15, variance=15.0, small=3),
}
TABLES = {name: solve(spec) for name, spec in DESIGNS.items()}
#: Those that an attack has to tell apart.
ON_ONE_STEP = ("job", "no small counts kept back", "shorter")


def published(table, counts, generator):
    """Publish true counts under a secret of their own."""
    keys = generator.integers(0, table.key_range, size=counts.shape, dtype=np.uint64)
    return counts + table.lookup(counts, keys)


def drawn(generator, size):
    """Draw wholes of at least 30, many small and some large, and a part of each."""
    whole = np.minimum(30 * (1 + generator.pareto(0.8, size)), 50_000).astype(np.int64)
    return generator.binomial(whole, generator.random(size)), whole


def share_held(low, figure, high):
    return float(((low - 1e-9 <= figure) & (figure <= high + 1e-9)).mean())


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("level", [90, 95])
def test_intervals_hold_true_figures_as_often_as_they_say_over_secrets(name, level):
    # seeded; 200,000 draws: the standard error is 0.05 points
    generator, table = np.random.default_rng(45), TABLES[name]
    margin = PublicMargin.of(table, level=level)
    part, whole = drawn(generator, 200_000)
    seen_part, seen_whole = (published(table, n, generator) for n in (part, whole))
    ratios = share_held(
        margin.ratios(seen_part, seen_whole)[0],
        part / whole,
        margin.ratios(seen_part, seen_whole)[1],
    )
    low, high = margin.differences(seen_part, seen_whole)
    differences = share_held(low, part - whole, high)
    groups = part.reshape(-1, 5)
    seen = seen_part.reshape(-1, 5)
    low, high = margin.sums(seen.sum(1), margin.squares(seen).sum(1))
    sums = share_held(low, groups.sum(1), high)
    for share in (ratios, differences, sums):
        assert 100 * share >= level
    if level == 95:
        assert ratios <= 0.98


@pytest.mark.parametrize("name", ["job", "most"])
def test_the_worst_true_counts_are_held_as_often_too(name):
    generator, table = np.random.default_rng(7), TABLES[name]
    margin = PublicMargin.of(table)
    for part, whole in product((1, 2, 3, 4, 5, 9), (9, 30, 400)):
        ones = np.ones(40_000, np.int64)
        a, b = (published(table, n * ones, generator) for n in (min(part, whole), whole))
        low, high = margin.ratios(a, b)
        # four standard errors below the level, seeded
        assert share_held(low, np.full(len(a), min(part, whole) / whole), high) > 0.9456


@pytest.mark.parametrize("name", ["job", "most"])
def test_sums_of_many_small_counts_are_held(name):
    generator, table = np.random.default_rng(8), TABLES[name]
    margin = PublicMargin.of(table)
    for count, number in product((0, 1, 3, 5), (7, 50)):
        counts = np.full((10_000, number), count)
        seen = published(table, counts, generator)
        low, high = margin.sums(seen.sum(1), margin.squares(seen).sum(1))
        assert share_held(low, counts.sum(1), high) > 0.95


def test_ranks_that_are_left_open_hold_the_true_rank():
    generator, table = np.random.default_rng(9), TABLES["job"]
    margin, held = PublicMargin.of(table), []
    for _ in range(300):
        counts = generator.integers(30, 200, size=60)
        best, worst = margin.ranks(published(table, counts, generator))
        first = 1 + (counts[:, np.newaxis] < counts).sum(axis=1)
        last = (counts[:, np.newaxis] <= counts).sum(axis=1)
        held.append(((best <= last) & (first <= worst)).mean())
    assert np.mean(held) >= 0.95


def test_one_count_has_as_many_ranks_as_there_are_counts_near_it():
    best, worst = PublicMargin(width=3.58).ranks([100, 90, 50, 49])
    assert best.tolist() == [1, 2, 3, 3]
    assert worst.tolist() == [1, 2, 4, 4]


def intervals_of_rule(rule, parts, wholes):
    low, high = rule(parts, wholes)
    return np.round(np.stack([low, high]), 12)


def guesses(rules, *, n_intervals, n_secrets, generator):
    """Guess the design of published intervals: the one whose rule makes most of them.

    The rule of each design is known to the attacker, and so are the published counts: nothing
    in the intervals can tell more. Ties are settled by chance.
    """
    right = 0
    for _ in range(n_secrets):
        truth = generator.choice(ON_ONE_STEP)
        part, whole = drawn(generator, n_intervals)
        seen = [published(TABLES[truth], n, generator) for n in (part, whole)]
        told = intervals_of_rule(rules[truth], *seen)
        agreement = {
            name: (intervals_of_rule(rules[name], *seen) == told).all(axis=0).mean()
            for name in ON_ONE_STEP
        }
        best = max(agreement.values())
        right += generator.choice([n for n in agreement if agreement[n] == best]) == truth
    return right / n_secrets


def test_intervals_tell_the_design_of_the_job_from_two_others_no_better_than_chance():
    # seeded; by chance a third of 200 are right, with a standard error of 3.4 points
    rules = {name: PublicMargin.of(TABLES[name]).ratios for name in ON_ONE_STEP}
    generator = np.random.default_rng(10)
    share = guesses(rules, n_intervals=500, n_secrets=200, generator=generator)
    assert share <= 0.6
    assert len({PublicMargin.of(TABLES[name]).width for name in ON_ONE_STEP}) == 1


@pytest.mark.long
def test_a_hundred_thousand_intervals_tell_no_more():
    # seeded; by chance a third of 60 are right, with a standard error of 6.1 points
    rules = {name: PublicMargin.of(TABLES[name]).ratios for name in ON_ONE_STEP}
    generator = np.random.default_rng(13)
    assert guesses(rules, n_intervals=100_000, n_secrets=60, generator=generator) <= 0.6


def test_the_attack_works_on_the_exact_intervals_of_the_office():
    def rule_of(table):
        def rule(first, second):
            found = count_intervals((table, table), first, second, part=True)
            return np.nan_to_num(found.lower, nan=-1), np.nan_to_num(found.upper, nan=-1)

        return rule

    rules = {name: rule_of(TABLES[name]) for name in ON_ONE_STEP}
    generator = np.random.default_rng(11)
    assert guesses(rules, n_intervals=40, n_secrets=10, generator=generator) >= 0.9


def test_a_step_is_shared_by_designs_that_differ_in_every_parameter():
    designs = [(5, 3.0, 2), (5, 3.0, 0), (4, 3.0, 1), (8, 2.8, 1), (7, 2.75, 2), (5, 2.9, 0)]
    specs = (NoiseSpec(max_noise=d, variance=v, small=s) for d, v, s in designs)
    assert {PublicMargin.of(solve(spec)).width for spec in specs} == {3.58}


@pytest.mark.long
def test_a_ladder_of_98_per_cent_tells_the_variance_to_a_tenth_and_no_more():
    """The trade-off of ADR 46: coverage against what a step tells of the noise."""
    generator, widths = np.random.default_rng(14), {}
    for variance in np.arange(2.0, 8.01, 0.5):
        for small, most in ((0, 1.8), (2, 2.4), (1, 3.2)):
            spec = NoiseSpec(
                max_noise=int(max(np.ceil(most * variance**0.5), variance)) + 1,
                variance=float(variance),
                small=small,
            )
            table = solve(spec)
            margin = PublicMargin.of(table)
            part, whole = drawn(generator, 40_000)
            low, high = margin.ratios(*(published(table, n, generator) for n in (part, whole)))
            share = share_held(low, part / whole, high)
            assert 0.955 <= share <= 0.9825
            widths.setdefault(float(variance), []).append(margin.width)
    # Two of three designs of a variance, or more, share a step, whatever their largest noise.
    shared = [max(own.count(width) for width in own) for own in widths.values()]
    assert np.mean(shared) >= 2


def test_other_mechanisms_have_a_step_and_noise_beyond_the_ladder_is_refused():
    assert PublicMargin.of(Mechanism.random_rounding(3).build()).width in LADDER
    with pytest.raises(RiskError, match="beyond the ladder"):
        PublicMargin.of(Mechanism.random_rounding(1000).build())
    with pytest.raises(RiskError, match="90 or 95"):
        PublicMargin.of(TABLES["job"], level=99)


def test_a_whole_that_is_too_small_tells_nothing_and_ends_stay_where_figures_can_be():
    margin = PublicMargin(width=3.58)
    low, high = margin.ratios([0, 3, 0, 40, 40], [0, 4, 100, 40, 38])
    assert (low[:2].tolist(), high[:2].tolist()) == ([0, 0], [1, 1])
    assert low[2] == 0
    assert 0 < high[2] < 0.1
    assert high[3:].tolist() == [1, 1]
    assert np.isinf(margin.ratios([5], [3], part=False)[1])
    assert margin.sums([2], margin.squares([2]))[0] == 0


def test_parts_of_a_sum_have_narrower_intervals_than_other_counts():
    margin = PublicMargin(width=3.58)
    pair = (np.array([[1.0, 1.0]]), np.array([[2.0, 2.0]]))
    low, high = margin.ratios([80], [100], squares=pair, shared=[[1.0, 1.0]])
    wide = margin.ratios([80], [100], squares=pair)
    assert wide[0] < low < 0.8 < high < wide[1]


def test_small_published_counts_reach_further_down_and_the_smallest_further_up():
    margin = PublicMargin(width=4.0)
    assert margin.squares([0, 3, 4, 9, 10]).tolist() == [
        *([[1, 2.25]] * 2),
        *([[2.25**2, 1]] * 2),
        [1, 1],
    ]
    low, high = margin.sums([0, 9, 10], margin.squares([0, 9, 10]))
    assert (low.tolist(), high.tolist()) == ([0, 0, 6], [6, 13, 14])
    # what a number is too large by may be that it is less than, and the other way round
    low, high = margin.differences([9], [100])
    assert (low[0], high[0]) == (
        np.ceil(-91 - 4 * np.sqrt(2.25**2 + 1)),
        np.floor(-91 + 4 * 2**0.5),
    )


def test_the_ends_of_a_ratio_solve_its_quadratic():
    margin = PublicMargin(width=3.58)
    low, high = margin.ratios([300], [1000])
    for end, sign in ((low[0], 1), (high[0], -1)):
        off = sign * (300 - end * 1000)
        assert off == pytest.approx(3.58 * np.sqrt(1 + end**2), rel=0.05)
        assert off >= 3.58 * np.sqrt(1 + end**2) - 1e-9


def test_ends_are_rounded_outwards_by_a_fiftieth_of_the_width_at_most():
    generator = np.random.default_rng(12)
    part, whole = drawn(generator, 2000)
    margin = PublicMargin(width=3.58)
    low, high = margin.ratios(part, whole)
    middle = np.where(whole > 40, part / whole, (low + high) / 2)
    assert (low <= middle).all()
    assert (middle <= high).all()
    digits = [len(f"{100 * n:.10g}".partition(".")[2]) for n in (*low, *high)]
    assert max(digits) <= 4
