"""Every public entry of `risk` answers bad input with its own error: no NaN, no other error.

The tables below pair every entry with everything that is wrong for what it takes. An entry that
is not listed fails `test_every_public_name_is_walked`.
"""

import math
import warnings

import numpy as np
import pandas as pd
import pytest

from risk import (
    Histogram,
    Inverse,
    Law,
    Prior,
    RiskError,
    accuracy_of_noise,
    accuracy_table,
    credible_intervals,
    credible_set,
    deviation_set,
    difference_law,
    error_given_originals,
    error_given_published,
    inverse_matrix,
    possible_set,
    published_law,
    risk_utility_map,
    sum_law,
    worst_posterior,
)
from risk.anonymity.audit import audit_anonymity
from risk.anonymity.generalise import generalise
from risk.anonymity.uniqueness import individual_risk, measure_uniqueness
from risk.attacks import (
    AdditiveKeys,
    AttackResult,
    CountRequest,
    Differencing,
    FeasibilityIntervals,
    GeographicDifferencing,
    HiddenBound,
    LinearReconstruction,
    Linkage,
    MarginBounds,
    MeansBesideCounts,
    RepeatedAnswers,
    SimulatedOracle,
    SmallCell,
    SubsetSums,
    TwoPartition,
    candidate_counts,
    joint_noise,
    pairs_available,
    pairs_needed,
    repeats_needed,
    reveal,
    wilson,
)
from risk.reconstruction.counts import PublishedCounts
from risk.reconstruction.differences import sliver_posterior
from risk.reconstruction.linear import rebuild_counts
from risk.reconstruction.subsets import decode_bits, expected_share_right, rebuild_bits
from risk.reconstruction.zonings import find_slivers
from risk.utility import (
    Pairs,
    assess_utility,
    association,
    zeros,
)
from tests.unit.risk.attack_support import r_table

TABLE = r_table(2, 1)
INVERSE = Inverse(table=TABLE, prior=Prior.supplied([4, 3, 2, 1], beyond="last"))
SIX = Pairs(original=[4, 0, 1], published=[5, 0, 0])
NAN = float("nan")


def rng():
    return np.random.default_rng(1)


def exact(request):
    return [7 * len(group) for group in request.groups]


#: What is no vector of counts: missing, not whole, negative, too large, no numbers at all.
COUNTS = {
    "None": None,
    "a None among them": [1, None],
    "NaN": [1.0, NAN],
    "an infinity": [1.0, math.inf],
    "masked": np.ma.masked_array([1, 2], mask=[False, True]),
    "pandas NA": pd.array([1, None], dtype="Int64"),
    "pandas NaN": pd.Series([1.0, NAN]),
    "fractions": [1.5, 2.0],
    "texts": ["1", "2"],
    "truth values": [True, False],
    "dates": np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[D]"),
    "complex": [1 + 0j, 2 + 0j],
    "negative": [1, -1],
    "beyond 2**53": [1, 2**60],
    "beyond int64": [1, 2**70],
    "ragged": [[1], [1, 2]],
    "a mapping": {"a": 1, "b": 2},
    "an object": object(),
}

#: What is no single whole number of at least 0.
NUMBERS = {
    "None": None,
    "NaN": NAN,
    "infinity": math.inf,
    "a fraction": 1.5,
    "a text": "1",
    "a truth value": True,
    "negative": -1,
    "a list": [1, 2],
    "pandas NA": pd.NA,
    "masked": np.ma.masked,
}

#: What is no probability.
CHANCES = {
    "None": None,
    "NaN": NAN,
    "infinity": math.inf,
    "a text": "0.5",
    "above 1": 1.5,
    "negative": -0.1,
    "a list": [0.5, 0.5],
    "pandas NA": pd.NA,
}

#: What is no list of weights or probabilities.
WEIGHTS = {
    name: COUNTS[name]
    for name in (
        *("None", "a None among them", "NaN", "an infinity", "masked", "pandas NA"),
        *("pandas NaN", "texts", "complex", "negative", "ragged", "a mapping", "an object"),
    )
} | {"empty": [], "all 0": [0.0, 0.0], "a matrix": [[0.5, 0.5]]}

WITH_COUNTS = {
    "Pairs, original": lambda bad: Pairs(original=bad, published=[1, 2]),
    "Pairs, published": lambda bad: Pairs(original=[1, 2], published=bad),
    "assess_utility, original": lambda bad: assess_utility(bad, [1, 2]),
    "assess_utility, published": lambda bad: assess_utility([1, 2], bad),
    "association": lambda bad: association(bad, [[1, 2], [3, 4]]),
    "association, row_totals": lambda bad: association(
        [[1, 2], [3, 4]], [[1, 2], [3, 4]], row_totals=bad, column_totals=[4, 6], total=10
    ),
    "Histogram.of": Histogram.of,
    "Prior.from_counts": Prior.from_counts,
    "Prior.at": INVERSE.prior.at,
    "Prior.tilted": lambda bad: INVERSE.prior.tilted(bad, odds=2),
    "Inverse.probability, originals": lambda bad: INVERSE.probability(bad, [1, 2]),
    "Inverse.probability, published": lambda bad: INVERSE.probability([1, 2], bad),
    "Inverse.forward": lambda bad: INVERSE.forward(bad, [1]),
    "Inverse.of_sets": lambda bad: INVERSE.of_sets([1], bad),
    "Inverse.weight": INVERSE.weight,
    "Inverse.windows": INVERSE.windows,
    "Inverse.expected": INVERSE.expected,
    "Inverse.unchanged": INVERSE.unchanged,
    "Inverse.reachable": INVERSE.reachable,
    "credible_intervals": lambda bad: credible_intervals(INVERSE, bad),
    "accuracy_table": lambda bad: accuracy_table(INVERSE, bad, levels=[0.9]),
    "accuracy_of_noise": lambda bad: accuracy_of_noise(TABLE, bad, levels=[0.9]),
    "worst_posterior": lambda bad: worst_posterior(INVERSE, bad),
    "risk_utility_map, tables": lambda bad: risk_utility_map(
        {"t": TABLE}, {"t": bad}, rng=rng()
    ),
    "risk_utility_map, sensitive": lambda bad: risk_utility_map(
        {"t": TABLE}, {"t": [1, 2]}, rng=rng(), sensitive=bad
    ),
    "sum_law": lambda bad: sum_law(TABLE, bad),
    "difference_law": lambda bad: difference_law(TABLE, bad),
    "error_given_originals": lambda bad: error_given_originals(TABLE, bad),
    "error_given_published": lambda bad: error_given_published(INVERSE, bad),
    "SimulatedOracle": lambda bad: SimulatedOracle(TABLE, bad, rng=rng()),
    "joint_noise": lambda bad: joint_noise(TABLE, counts=_given(bad)),
    "reveal": lambda bad: reveal(bad, total=3, max_noise=2),
    "candidate_counts": lambda bad: candidate_counts(bad, max_noise=2),
    "PublishedCounts.from_matrix, published": lambda bad: PublishedCounts.from_matrix(
        [[1, 0], [1, 1]], bad, max_noise=2
    ),
    "PublishedCounts.from_matrix, matrix": lambda bad: PublishedCounts.from_matrix(
        [_given(bad)], [1], max_noise=2
    ),
    "PublishedCounts.from_matrix, max_noise": lambda bad: PublishedCounts.from_matrix(
        [[1, 0], [1, 1]], [1, 2], max_noise=_given(bad)
    ),
    "PublishedCounts.from_tables": lambda bad: PublishedCounts.from_tables(
        (2,), tables={(0,): bad}, max_noise=2
    ),
    "rebuild_counts": lambda bad: rebuild_counts([[1, 0], [1, 1]], _no_floats(bad)),
    "decode_bits": lambda bad: decode_bits([[1, 0], [1, 1]], _no_floats(bad)),
    "individual_risk": lambda bad: individual_risk(bad, [0.5, 0.5]),
    "GeographicDifferencing.run": lambda bad: GeographicDifferencing().run(exact, truth=bad),
    "GeographicDifferencing.closed_form": lambda bad: GeographicDifferencing().closed_form(
        TABLE, counts=[_given(bad)]
    ),
    "Differencing.run": lambda bad: Differencing().run(exact, truth=bad),
    "TwoPartition.run": lambda bad: TwoPartition(n_categories=3).run(
        exact, truth=bad, rng=rng()
    ),
    "TwoPartition.closed_form": lambda bad: TwoPartition(n_categories=2).closed_form(
        TABLE, counts=_given(bad)
    ),
    "SmallCell.run": lambda bad: SmallCell(n_categories=3).run(exact, truth=bad),
    "RepeatedAnswers.run": lambda bad: RepeatedAnswers(n_repeats=2).run(exact, truth=bad),
    "HiddenBound.run": lambda bad: HiddenBound(n_pairs=1).run(
        exact, truth=bad, max_noise=2, rng=rng()
    ),
    "MarginBounds.run": lambda bad: MarginBounds(max_noise=2).run(exact, truth=[_given(bad)]),
    "MarginBounds.closed_form": lambda bad: MarginBounds(max_noise=2).closed_form(
        TABLE, counts=_given(bad)
    ),
    "AdditiveKeys.run": lambda bad: AdditiveKeys().run(
        exact, ptable=TABLE, truth=[_given(bad)]
    ),
    "MeansBesideCounts.run": lambda bad: MeansBesideCounts(max_noise=2).run(
        exact, truth=[_given(bad)], sums=[[3, 4]]
    ),
    "MeansBesideCounts.solve": lambda bad: MeansBesideCounts(max_noise=2).solve(
        bad, means=[1, 2, 3]
    ),
    "LinearReconstruction.run": lambda bad: LinearReconstruction(n_categories=2).run(
        exact, truth=[_given(bad)]
    ),
    "LinearReconstruction.closed_form": lambda bad: LinearReconstruction(
        n_categories=2
    ).closed_form(TABLE, counts=_given(bad)),
    "SubsetSums.run": lambda bad: SubsetSums(n_people=2, n_queries=4).run(
        exact, truth=[_given(bad)], rng=rng()
    ),
    "FeasibilityIntervals.run": lambda bad: FeasibilityIntervals(shape=(2,), max_noise=2).run(
        exact, truth=[_given(bad)]
    ),
    "FeasibilityIntervals.closed_form": lambda bad: FeasibilityIntervals(
        shape=(2,), max_noise=2
    ).closed_form(TABLE, counts=_given(bad)),
    "Linkage.run": lambda bad: Linkage(n_categories=2).run(exact, truth=bad),
    "Linkage.closed_form": lambda bad: Linkage(n_categories=2).closed_form(
        TABLE, counts=[_given(bad)], truth=[0]
    ),
}


def _given(bad):
    """Take the place of a default: None alone would ask for it."""
    return [None, None] if bad is None else bad


def _no_floats(bad):
    """Answers may be any finite numbers, truth values and negative ones included."""
    good = (
        isinstance(bad, list)
        and len(bad) == 2
        and all(isinstance(x, (int, float)) and math.isfinite(x) and x < 2**63 for x in bad)
    )
    return [None, None] if good else bad


WITH_NUMBERS = {
    "Histogram.of, grid_size": lambda bad: Histogram.of([1, 2], grid_size=_number(bad)),
    "Prior.from_counts, grid_size": lambda bad: Prior.from_counts(
        [1, 2], grid_size=_number(bad)
    ),
    "Prior.two_points": lambda bad: Prior.two_points(bad, 3),
    "Prior.two_points, second": lambda bad: Prior.two_points(3, bad),
    "Inverse.given": INVERSE.given,
    "Inverse.possible": INVERSE.possible,
    "inverse_matrix": lambda bad: inverse_matrix(INVERSE, up_to=_number(bad)),
    "credible_set": lambda bad: credible_set(INVERSE, bad),
    "published_law": lambda bad: published_law(TABLE, bad),
    "difference_law": lambda bad: difference_law(TABLE, [9, bad]),
    "deviation_set": lambda bad: deviation_set(TABLE, bad),
    "possible_set": lambda bad: possible_set(TABLE, bad),
    "Law.repeated": Law.certain(1).repeated,
    "risk_utility_map, n_draws": lambda bad: risk_utility_map(
        {"t": TABLE}, {"t": [1, 2]}, rng=rng(), n_draws=bad
    ),
    "risk_utility_map, grid_sizes": lambda bad: risk_utility_map(
        {"t": TABLE}, {"t": [1, 2]}, rng=rng(), grid_sizes={"t": _number(bad)}
    ),
    "zeros, threshold": lambda bad: zeros(SIX, threshold=bad),
    "wilson": lambda bad: wilson(bad, 3),
    "wilson, trials": lambda bad: wilson(0, bad),
    "AttackResult": lambda bad: AttackResult(name="x", successes=0, trials=1, queries=bad),
    "AttackResult, refused": lambda bad: AttackResult(
        name="x", successes=0, trials=1, queries=9, refused=bad
    ),
    "CountRequest": lambda bad: CountRequest(groups=((bad,),)),
    "CountRequest, line": lambda bad: CountRequest(groups=((0,),), line=bad),
    "pairs_available": pairs_available,
    "TwoPartition": lambda bad: TwoPartition(n_categories=bad),
    "SmallCell": lambda bad: SmallCell(n_categories=bad),
    "RepeatedAnswers": lambda bad: RepeatedAnswers(n_repeats=bad),
    "HiddenBound": lambda bad: HiddenBound(n_pairs=bad),
    "MarginBounds": lambda bad: MarginBounds(max_noise=bad),
    "MarginBounds.expected_hits": lambda bad: MarginBounds(max_noise=2).expected_hits(
        TABLE, n_lines=bad
    ),
    "MeansBesideCounts": lambda bad: MeansBesideCounts(max_noise=bad),
    "GeographicDifferencing": lambda bad: GeographicDifferencing(n_parts=bad, measure="exact"),
    "GeographicDifferencing.closed_form": lambda bad: GeographicDifferencing().closed_form(
        TABLE, sliver=bad
    ),
    "Differencing.closed_form": lambda bad: Differencing().closed_form(
        TABLE, count=_number(bad)
    ),
    "SmallCell.closed_form": lambda bad: SmallCell(n_categories=3).closed_form(
        TABLE, cell=_number(bad)
    ),
    "RepeatedAnswers.closed_form": lambda bad: RepeatedAnswers(n_repeats=3).closed_form(
        TABLE, noise="fresh", count=_number(bad)
    ),
    "LinearReconstruction": lambda bad: LinearReconstruction(n_categories=bad),
    "SubsetSums": lambda bad: SubsetSums(n_people=bad, n_queries=3),
    "SubsetSums, n_queries": lambda bad: SubsetSums(n_people=3, n_queries=bad),
    "FeasibilityIntervals": lambda bad: FeasibilityIntervals(shape=(2,), max_noise=bad),
    "FeasibilityIntervals, shape": lambda bad: FeasibilityIntervals(shape=(bad,), max_noise=2),
    "FeasibilityIntervals, small": lambda bad: FeasibilityIntervals(
        shape=(2,), max_noise=2, small=bad
    ),
    "Linkage": lambda bad: Linkage(n_categories=bad),
    "reveal": lambda bad: reveal([7, 8], total=bad, max_noise=2),
    "reveal, max_noise": lambda bad: reveal([7, 8], total=9, max_noise=bad),
    "candidate_counts": lambda bad: candidate_counts([9, 14, 19], max_noise=bad),
    "PublishedCounts, small": lambda bad: PublishedCounts.from_matrix(
        [[1]], [3], max_noise=1, small=bad
    ),
    "sliver_posterior": lambda bad: sliver_posterior(
        TABLE, published_larger=bad, published_part=5, largest=2
    ),
    "sliver_posterior, largest": lambda bad: sliver_posterior(
        TABLE, published_larger=5, published_part=5, largest=bad
    ),
    "find_slivers": lambda bad: find_slivers(["A", "A"], ["a", "b"], largest=bad),
    "rebuild_bits": lambda bad: rebuild_bits(TABLE, n_people=bad, n_queries=4, rng=rng()),
    "rebuild_bits, n_queries": lambda bad: rebuild_bits(
        TABLE, n_people=4, n_queries=bad, rng=rng()
    ),
    "expected_share_right": lambda bad: expected_share_right(
        n_people=bad, n_queries=9, variance=1.0
    ),
    "generalise": lambda bad: generalise(
        {"age": [1, 2]}, hierarchies={"age": [{1: "all", 2: "all"}]}, k=bad
    ),
    "Anonymity.n_at_risk": lambda bad: audit_anonymity(
        {"age": [1, 1, 2]}, quasi_identifiers=["age"]
    ).n_at_risk(bad),
}


def _number(bad):
    """Take the place of a default: None alone would ask for it."""
    return "None" if bad is None else bad


WITH_CHANCES = {
    "credible_set": lambda bad: credible_set(INVERSE, 3, level=bad),
    "credible_intervals": lambda bad: credible_intervals(INVERSE, [3], level=bad),
    "accuracy_table": lambda bad: accuracy_table(INVERSE, [3], levels=[bad]),
    "accuracy_of_noise": lambda bad: accuracy_of_noise(TABLE, [3], levels=[bad]),
    "StatisticError.smallest_beta": lambda bad: error_given_originals(
        TABLE, (3, 4)
    ).smallest_beta(bad),
    "wilson": lambda bad: wilson(1, 3, level=bad),
    "AttackResult": lambda bad: AttackResult(
        name="x", successes=0, trials=1, queries=1, level=bad
    ),
    "AttackResult, closed_form": lambda bad: AttackResult(
        name="x", successes=0, trials=1, queries=1, closed_form=_number(bad)
    ),
    "Differencing": lambda bad: Differencing(prior=bad),
    "Differencing.run": lambda bad: Differencing(measure="accuracy").run(
        lambda _: [5, 5], truth=[1], p_equal=bad
    ),
    "pairs_needed": lambda bad: pairs_needed(1.0, confidence=bad),
    "repeats_needed": lambda bad: repeats_needed(1.0, confidence=bad),
    "HiddenBound.queries_needed": lambda bad: HiddenBound(n_pairs=1).queries_needed(
        TABLE, confidence=bad
    ),
    "SubsetSums": lambda bad: SubsetSums(n_people=3, n_queries=9, share_asked=bad),
    "rebuild_bits": lambda bad: rebuild_bits(
        TABLE, n_people=3, n_queries=9, rng=rng(), share_asked=bad
    ),
    "rebuild_bits, share_ones": lambda bad: rebuild_bits(
        TABLE, n_people=3, n_queries=9, rng=rng(), share_ones=bad
    ),
    "expected_share_right": lambda bad: expected_share_right(
        n_people=3, n_queries=9, variance=1.0, share_asked=bad
    ),
    "measure_uniqueness": lambda bad: measure_uniqueness(
        {"age": [1, 2, 2]}, quasi_identifiers=["age"], sampling_fraction=_number(bad)
    ),
    "individual_risk": lambda bad: individual_risk([1], [bad]),
    "generalise": lambda bad: generalise(
        {"age": [1, 2]},
        hierarchies={"age": [{1: "all", 2: "all"}]},
        k=1,
        max_suppressed=bad,
    ),
}

WITH_WEIGHTS = {
    "Prior": lambda bad: Prior(probabilities=bad),
    "Prior.supplied": Prior.supplied,
    "Law": lambda bad: Law(lowest=0, probabilities=bad),
    "sliver_posterior, prior": lambda bad: sliver_posterior(
        TABLE, published_larger=5, published_part=5, largest=1, prior=_given(bad)
    ),
}


def refuses(entry, bad):
    """Call an entry with bad input; a NaN, a warning or another error fails the test."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            entry(bad)
        except RiskError:
            return True
    return False


#: Input that is bad elsewhere and has a meaning here.
GOOD = {
    "accuracy_table with None",
    "accuracy_of_noise with None",
    "PublishedCounts.from_matrix, matrix with negative",  # differences of base cells
}


def cases(entries, inputs):
    return [
        pytest.param(entry, bad, id=f"{name} with {kind}")
        for name, entry in entries.items()
        for kind, bad in inputs.items()
        if f"{name} with {kind}" not in GOOD
    ]


@pytest.mark.parametrize(("entry", "bad"), cases(WITH_COUNTS, COUNTS))
def test_counts_that_are_none_are_refused(entry, bad):
    assert refuses(entry, bad)


@pytest.mark.parametrize(("entry", "bad"), cases(WITH_NUMBERS, NUMBERS))
def test_numbers_that_are_none_are_refused(entry, bad):
    assert refuses(entry, bad)


@pytest.mark.parametrize(("entry", "bad"), cases(WITH_CHANCES, CHANCES))
def test_chances_that_are_none_are_refused(entry, bad):
    assert refuses(entry, bad)


@pytest.mark.parametrize(("entry", "bad"), cases(WITH_WEIGHTS, WEIGHTS))
def test_weights_that_are_none_are_refused(entry, bad):
    assert refuses(entry, bad)
