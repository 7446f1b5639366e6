"""Every public entry of `risk` answers bad input with its own error: no NaN, no other error.

The tables below pair every entry with everything that is wrong for what it takes. An entry that
is not listed fails `test_every_public_name_is_walked`.
"""

import math
import warnings
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

import risk
import risk.attacks
import risk.utility
from ptable import Mechanism, NoiseSpec, solve
from risk import (
    Histogram,
    Inverse,
    Law,
    Prior,
    RiskError,
    accuracy_table,
    count_intervals,
    credible_intervals,
    credible_set,
    deviation_set,
    difference_law,
    error_given_originals,
    error_given_published,
    inverse_matrix,
    noise_grid,
    possible_set,
    published_law,
    risk_utility_map,
    sum_law,
    worst_posterior,
)
from risk.anonymity.audit import audit_anonymity
from risk.anonymity.generalise import bins, generalise
from risk.anonymity.linkage import link
from risk.attacks import (
    AdditiveKeys,
    AttackResult,
    CountRequest,
    Differencing,
    GeographicDifferencing,
    HiddenBound,
    LinearReconstruction,
    MarginBounds,
    RepeatedAnswers,
    SimulatedOracle,
    SmallCell,
    SubsetSums,
    TwoPartition,
    joint_noise,
    pairs_available,
    pairs_needed,
    reveal,
    wilson,
)
from risk.attacks.reconstruction.geographic import find_slivers
from risk.attacks.reconstruction.linear import rebuild_counts
from risk.attacks.reconstruction.subset_sums import decode_bits, expected_share_right
from risk.reconstruction.counts import PublishedCounts
from risk.utility import (
    Pairs,
    additivity,
    assess_utility,
    association,
    utility_record,
    zeros,
)
from tests.unit.risk.attacks.support import r_table

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
    "count_intervals, first": lambda bad: count_intervals((TABLE, TABLE), bad, [1, 2]),
    "count_intervals, second": lambda bad: count_intervals((TABLE, TABLE), [1, 2], bad),
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
    "PublishedCounts.from_matrix, published": lambda bad: PublishedCounts.from_matrix(
        [[1, 0], [1, 1]], bad, max_noise=2
    ),
    "PublishedCounts.from_matrix, matrix": lambda bad: PublishedCounts.from_matrix(
        [_given(bad)], [1], max_noise=2
    ),
    "PublishedCounts.from_matrix, max_noise": lambda bad: PublishedCounts.from_matrix(
        [[1, 0], [1, 1]], [1, 2], max_noise=_given(bad)
    ),
    "rebuild_counts": lambda bad: rebuild_counts([[1, 0], [1, 1]], _no_floats(bad)),
    "decode_bits": lambda bad: decode_bits([[1, 0], [1, 1]], _no_floats(bad)),
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
    "LinearReconstruction.run": lambda bad: LinearReconstruction(n_categories=2).run(
        exact, truth=[_given(bad)]
    ),
    "LinearReconstruction.closed_form": lambda bad: LinearReconstruction(
        n_categories=2
    ).closed_form(TABLE, counts=_given(bad)),
    "SubsetSums.run": lambda bad: SubsetSums(n_people=2, n_queries=4).run(
        exact, truth=[_given(bad)], rng=rng()
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
    "reveal": lambda bad: reveal([7, 8], total=bad, max_noise=2),
    "reveal, max_noise": lambda bad: reveal([7, 8], total=9, max_noise=bad),
    "PublishedCounts, small": lambda bad: PublishedCounts.from_matrix(
        [[1]], [3], max_noise=1, small=bad
    ),
    "find_slivers": lambda bad: find_slivers(["A", "A"], ["a", "b"], largest=bad),
    "expected_share_right": lambda bad: expected_share_right(
        n_people=bad, n_queries=9, variance=1.0
    ),
    "generalise": lambda bad: generalise(
        {"age": [1, 2]}, hierarchies={"age": [{1: "all", 2: "all"}]}, k=bad
    ),
}


def _number(bad):
    """Take the place of a default: None alone would ask for it."""
    return "None" if bad is None else bad


WITH_CHANCES = {
    "credible_set": lambda bad: credible_set(INVERSE, 3, level=bad),
    "credible_intervals": lambda bad: credible_intervals(INVERSE, [3], level=bad),
    "accuracy_table": lambda bad: accuracy_table(INVERSE, [3], levels=[bad]),
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
    "HiddenBound.queries_needed": lambda bad: HiddenBound(n_pairs=1).queries_needed(
        TABLE, confidence=bad
    ),
    "SubsetSums": lambda bad: SubsetSums(n_people=3, n_queries=9, share_asked=bad),
    "expected_share_right": lambda bad: expected_share_right(
        n_people=3, n_queries=9, variance=1.0, share_asked=bad
    ),
}

WITH_WEIGHTS = {
    "Prior": lambda bad: Prior(probabilities=bad),
    "Prior.supplied": Prior.supplied,
    "Law": lambda bad: Law(lowest=0, probabilities=bad),
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


#: Whole calls that are wrong: shapes that differ, priors that do not sum to one, and the rest.
WRONG = {
    "Pairs of two lengths": lambda: Pairs(original=[1, 2], published=[1, 2, 3]),
    "Pairs of two shapes": lambda: Pairs(original=[[1, 2]], published=[1, 2]),
    "Pairs of three dimensions": lambda: Pairs(original=[[[1]]], published=[[[1]]]),
    "assess_utility of two shapes": lambda: assess_utility([[1, 2]], [[1], [2]]),
    "assess_utility with parents too short": lambda: assess_utility(
        [1, 2], [1, 2], parents={"sex": [-1]}
    ),
    "assess_utility with a parent beyond": lambda: assess_utility(
        [1, 2], [1, 2], parents={"sex": [-1, 7]}
    ),
    "assess_utility with a NaN among parents": lambda: assess_utility(
        [1, 2], [1, 2], parents={"sex": [-1, NAN]}
    ),
    "assess_utility with a class upside down": lambda: assess_utility(
        [1, 2], [1, 2], classes={"small": (9, 1)}
    ),
    "association of two shapes": lambda: association([[1, 2], [3, 4]], [[1, 2]]),
    "association of a vector": lambda: association([1, 2], [1, 2]),
    "additivity with a variance of NaN": lambda: additivity(SIX, parent=[-1, 0, 0], noise=NAN),
    "Inverse.probability of two lengths": lambda: INVERSE.probability([1, 2], [1, 2, 3]),
    "Inverse of a table of magnitudes": lambda: Inverse(
        table=_magnitudes(), prior=Prior.flat()
    ).given(1),
    "Inverse.given what is never published": lambda: Inverse(
        table=Mechanism.rounding(5).build(), prior=Prior.flat()
    ).given(3),
    "Histogram.of more cells than the grid": lambda: Histogram.of([1, 2, 3], grid_size=2),
    "Histogram.of nothing": lambda: Histogram.of([]),
    "Histogram.together of nothing": lambda: Histogram.together([]),
    "Prior.from_counts of nothing": lambda: Prior.from_counts([]),
    "Prior that sums to less than one": lambda: Prior(probabilities=[0.5, 0.4]),
    "Prior that sums to more than one": lambda: Prior(probabilities=[0.5, 0.6]),
    "Prior that is off by a millionth": lambda: Prior(probabilities=[0.5, 0.500001]),
    "Prior that goes on somehow": lambda: Prior(probabilities=[1.0], beyond="on"),
    "Prior.two_points of one": lambda: Prior.two_points(3, 3),
    "Prior.two_points with odds of NaN": lambda: Prior.two_points(3, 4, odds=NAN),
    "Prior.tilted by odds of NaN": lambda: Prior.flat().tilted([1], odds=NAN),
    "Prior.from_counts with NaN added": lambda: Prior.from_counts([1], added=NAN),
    "Law that sums to less than one": lambda: Law(lowest=0, probabilities=[0.5, 0.4]),
    "Law that starts at a fraction": lambda: Law(lowest=0.5, probabilities=[1.0]),
    "sum_law of magnitudes": lambda: sum_law(_magnitudes(), [1]),
    "difference_law of one count": lambda: difference_law(TABLE, [1]),
    "difference_law of parts too large": lambda: difference_law(TABLE, [1, 2], nested=True),
    "error_given_originals over an empty cell": lambda: error_given_originals(TABLE, (5, 0)),
    "error_given_originals beyond NaN": lambda: error_given_originals(TABLE, (5, 3)).exceeds(
        NAN
    ),
    "accuracy_table at no level": lambda: accuracy_table(INVERSE, [1], levels=[]),
    "worst_posterior of what the prior rules out": lambda: worst_posterior(
        Inverse(table=TABLE, prior=Prior.supplied([1, 0, 1])), [1]
    ),
    "worst_posterior of nothing": lambda: worst_posterior(INVERSE, []),
    "risk_utility_map of no tables": lambda: risk_utility_map({"t": TABLE}, {}, rng=rng()),
    "risk_utility_map of no designs": lambda: risk_utility_map({}, {"t": [1]}, rng=rng()),
    "risk_utility_map with zeros sensitive": lambda: risk_utility_map(
        {"t": TABLE}, {"t": [1]}, rng=rng(), sensitive=(0, 1)
    ),
    "risk_utility_map of designs that are none": lambda: risk_utility_map(
        {"t": None}, {"t": [1]}, rng=rng()
    ),
    "utility_record of small counts of NaN": lambda: utility_record(SIX, small=NAN),
    "utility_record of no large counts": lambda: utility_record(SIX, large=None),
    "PublishedCounts of two lengths": lambda: PublishedCounts.from_matrix(
        [[1, 0]], [1, 2], max_noise=1
    ),
    "PublishedCounts with a bound per cell": lambda: PublishedCounts.from_matrix(
        [[1, 0], [0, 1]], [1, 2], max_noise=[1, 2, 3]
    ),
    "PublishedCounts of a fraction": lambda: PublishedCounts.from_matrix(
        [[0.5]], [1], max_noise=1
    ),
    "decode_bits of two lengths": lambda: decode_bits([[1, 0]], [1, 2]),
    "rebuild_counts of nothing": lambda: rebuild_counts([], []),
    "find_slivers of two lengths": lambda: find_slivers(["A"], ["a", "b"], largest=1),
    "find_slivers of nobody": lambda: find_slivers([], [], largest=1),
    "link of no columns": lambda: link({"a": [1]}, {"a": [1]}, quasi_identifiers=[]),
    "link of absent columns": lambda: link({"a": [1]}, {"a": [1]}, quasi_identifiers=["b"]),
    "link of no records": lambda: link({"a": []}, {"a": [1]}, quasi_identifiers=["a"]),
    "link of no file": lambda: link(None, {"a": [1]}, quasi_identifiers=["a"]),
    "link of columns of two lengths": lambda: link(
        {"a": [1, 2], "b": [1]}, {"a": [1], "b": [1]}, quasi_identifiers=["a", "b"]
    ),
    "audit_anonymity of no file": lambda: audit_anonymity(3, quasi_identifiers=["a"]),
    "audit_anonymity of absent columns": lambda: audit_anonymity(
        {"a": [1]}, quasi_identifiers=["b"]
    ),
    "audit_anonymity of no columns": lambda: audit_anonymity({"a": [1]}, quasi_identifiers=[]),
    "bins of no width": lambda: bins([1, 2], width=0),
    "bins of a width of NaN": lambda: bins([1, 2], width=NAN),
    "bins that start at NaN": lambda: bins([1, 2], width=1, start=NAN),
    "bins of texts": lambda: bins(["a"], width=1),
    "generalise to no hierarchy": lambda: generalise({"a": [1]}, hierarchies={}, k=2),
    "an oracle that answers NaN": lambda: _ask([NAN]),
    "an oracle that answers a fraction": lambda: _ask([3.5]),
    "an oracle that answers a text": lambda: _ask(["3"]),
    "an oracle that answers too much": lambda: _ask([3, 4]),
    "an oracle that answers a number": lambda: _ask(3),
    "TwoPartition with an empty category": lambda: TwoPartition(n_categories=2).closed_form(
        TABLE, counts=[0, 3]
    ),
    "HiddenBound of a bound of NaN": lambda: HiddenBound(n_pairs=1).run(
        exact, truth=[14], max_noise=NAN, rng=rng()
    ),
    "AdditiveKeys of truth of another shape": lambda: AdditiveKeys().run(
        exact, ptable=TABLE, truth=[[1, 2, 3]]
    ),
    "joint_noise of an empty part": lambda: joint_noise(TABLE, counts=(0, 3)),
    "Differencing of two people": lambda: Differencing().run(exact, truth=[2]),
    "SubsetSums of counts": lambda: SubsetSums(n_people=1, n_queries=2).run(
        exact, truth=[[2]], rng=rng()
    ),
    "SimulatedOracle asked for another line": lambda: SimulatedOracle(TABLE, [1], rng=rng())(
        CountRequest(groups=((0,),), line=3)
    ),
    "SimulatedOracle of no counts": lambda: SimulatedOracle(TABLE, [], rng=rng()),
    "CountRequest of no groups": lambda: CountRequest(groups=()),
    "noise_grid beyond": lambda: risk_utility_map(
        noise_grid(max_noise=[2], variance=["much"]), {"t": [1]}, rng=rng()
    ),
}


def _magnitudes():
    return solve(NoiseSpec(max_noise=1, variance=0.4, step=2, anchors=(1,)))


def _ask(answers):
    return RepeatedAnswers(n_repeats=1).run(lambda _: answers, truth=[3])


@pytest.mark.parametrize("call", [pytest.param(c, id=n) for n, c in WRONG.items()])
def test_calls_that_are_wrong_are_refused(call):
    assert refuses(lambda _: call(), None)


#: Tables with zeros, or with nothing but zeros, or with nothing: all of them are tables.
TABLES = {
    "zeros among them": ([0, 3, 0, 7, 1], [0, 4, 0, 7, 0]),
    "zeros in all": ([0, 0, 0], [0, 0, 0]),
    "zeros made of all": ([1, 2, 1], [0, 0, 0]),
    "somebody out of nothing": ([0, 0], [2, 0]),
    "one cell": ([5], [4]),
    "no cell": (np.zeros(0, np.int64), np.zeros(0, np.int64)),
    "a square with a zero": ([[0, 3], [4, 5]], [[0, 4], [4, 3]]),
    "a square with an empty line": ([[0, 0], [4, 5]], [[0, 0], [4, 3]]),
    "a square of zeros": ([[0, 0], [0, 0]], [[0, 0], [0, 0]]),
    "the largest counts": ([2**53, 2**53], [2**53, 2**53 - 2]),
}


@pytest.mark.parametrize(("original", "published"), TABLES.values(), ids=TABLES)
def test_no_measure_of_a_table_with_zeros_is_nan(original, published):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = assess_utility(original, published, ptable=TABLE)
    assert len(found.entries) > 50
    for entry in found.entries:
        value = entry.measure.value
        assert value is None or math.isfinite(value)
        assert (value is None) == bool(entry.measure.reason)


@pytest.mark.parametrize("counts", [t[0] for n, t in TABLES.items() if n != "no cell"], ids=str)
def test_no_figure_of_a_map_of_a_table_with_zeros_is_nan(counts):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = risk_utility_map({"t": TABLE}, {"t": counts}, rng=rng())
    for line in found.lines:
        for value in line.figures.values():
            assert value is None or math.isfinite(value)


#: Public names that take no input from outside: results, their parts, protocols, constants.
RESULTS = {
    *("NAMES", "REASONS", "RiskError", "percentage"),
    *("CLASSES", "DEFINITIONS", "Measure"),
    # take Pairs, which are checked when they are made
    *("bias", "deviations", "distances", "distributions"),
    "noise_distribution",
    *("ranks", "significance", "summaries", "variation"),
}


@pytest.mark.parametrize(
    "package", [risk, risk.attacks, risk.utility], ids=lambda p: p.__name__
)
def test_every_public_name_is_walked(package):
    assert isinstance(package, ModuleType)
    tables = (WITH_COUNTS, WITH_NUMBERS, WITH_CHANCES, WITH_WEIGHTS, WRONG)
    walked = {word for table in tables for name in table for word in name.split(",")[0].split()}
    walked = {word.split(".")[0] for word in walked}
    assert set(package.__all__) - RESULTS <= walked
