"""Feasibility intervals, rebuilt bits and linkage."""

import itertools
from functools import cache

import numpy as np
import pytest

from ptable import NoiseSpec, solve
from ptable.design.mechanisms import Mechanism
from risk.anonymity.linkage import link
from risk.attacks.reconstruction.subset_sums import decode_bits, expected_share_right
from risk.errors import RiskError
from risk.reconstruction.counts import PublishedCounts, possible_origins
from risk.reconstruction.intervals import (
    Contradiction,
    Intervals,
    intervals,
    propagate,
)
from tests.published_counts import all_margins, counts_from_tables


@cache
def noise_of(max_noise, variance):
    """Solve each p-table once."""
    return solve(NoiseSpec(max_noise=max_noise, variance=variance))


def tables_of(cube, rng, ptable):
    """Publish all margins of a cube, each count with its own noise."""
    published = {}
    for kept in all_margins(cube.ndim):
        counts = cube.sum(axis=tuple(a for a in range(cube.ndim) if a not in kept))
        keys = rng.integers(0, 2**32, counts.size, dtype=np.uint64)
        published[kept] = counts + ptable.lookup(np.ravel(counts), keys).reshape(counts.shape)
    return published


def every_table(counts):
    """List the tables of whole numbers that fit, one by one."""
    high = propagate(counts)
    if high is None:
        return np.zeros((0, counts.n_cells), dtype=np.int64)
    ranges = [range(int(np.floor(top)) + 1) for top in high[1]]
    row = np.repeat(np.arange(counts.n_sums), np.diff(counts.starts))
    found = []
    for table in itertools.product(*ranges):
        parts = counts.weights * np.array(table)[counts.cells]
        sums = np.bincount(row, parts, minlength=counts.n_sums)
        if ((counts.lower <= sums) & (sums <= counts.upper)).all():
            found.append(table)
    return np.array(found, dtype=np.int64).reshape(-1, counts.n_cells)


def test_a_line_whose_noise_sits_at_the_bounds_is_revealed():
    # two cells of 4 and 5 with noise -2, their total 9 with noise +2
    counts = counts_from_tables((2,), tables={(0,): [2, 3], (): 11}, max_noise=2)
    found = intervals(counts)
    assert found.lower.tolist() == found.upper.tolist() == [4, 5]
    assert found.n_unique == 2


def test_intervals_hold_the_original_counts_of_a_perturbed_cube():
    rng = np.random.default_rng(3)
    ptable = noise_of(3, 2.0)
    cube = rng.poisson(1.5, (3, 4, 3))
    counts = counts_from_tables(cube.shape, tables=tables_of(cube, rng, ptable), max_noise=3)
    for known in (counts, counts.known_to(ptable)):
        for whole in (False, True):
            found = intervals(known, whole=whole)
            assert isinstance(found, Intervals)
            assert (found.lower <= cube.ravel()).all()
            assert (cube.ravel() <= found.upper).all()


def test_whole_numbers_give_intervals_inside_those_of_linear_programs():
    # x + y, y + z, x + z all published exactly: an odd triangle has no whole table
    triangle = PublishedCounts.from_matrix(
        [[1, 1, 0], [0, 1, 1], [1, 0, 1]], [1, 1, 1], max_noise=0
    )
    assert isinstance(intervals(triangle), Contradiction)
    loose = PublishedCounts.from_matrix(
        [[1, 1, 0, 1], [0, 1, 1, 1], [1, 0, 1, 1]], [1, 1, 1], max_noise=0
    )
    relaxed, exact = intervals(loose), intervals(loose, whole=True)
    assert relaxed.lower.tolist() == [0, 0, 0, 0]
    assert exact.lower.tolist() == [0, 0, 0, 1]
    assert exact.upper.tolist() == [0, 0, 0, 1]
    assert exact.n_unproven == 0


def test_a_guess_below_the_true_noise_is_refuted():
    truth = np.array([[4, 0], [2, 6]])
    published = {(0, 1): truth, (0,): [9, 8], (1,): [6, 6], (): 12}
    counts = counts_from_tables((2, 2), tables=published, max_noise=0)
    found = intervals(counts)
    assert isinstance(found, Contradiction)
    assert "max_noise" in str(found)
    again = counts_from_tables((2, 2), tables=published, max_noise=2)
    assert intervals(again).is_feasible


def test_a_count_that_may_not_be_published_is_a_contradiction():
    counts = counts_from_tables((1,), tables={(0,): [2]}, max_noise=3, small=2)
    assert not intervals(counts).is_feasible


def test_a_published_count_above_0_has_a_record_behind_it():
    counts = counts_from_tables((1,), tables={(0,): [1]}, max_noise=3)
    assert intervals(counts).lower.tolist() == [1]
    loose = counts_from_tables((1,), tables={(0,): [1]}, max_noise=3, zeros_stay=False)
    assert intervals(loose).lower.tolist() == [0]


def test_the_whole_ptable_tells_more_than_its_bound():
    rounded = counts_from_tables((2,), tables={(0,): [5, 0]}, max_noise=4)
    assert rounded.lower.tolist() == [1, 0]
    sharp = rounded.known_to(Mechanism.rounding(5).build())
    assert (sharp.lower.tolist(), sharp.upper.tolist()) == ([3, 0], [7, 2])
    cycled = noise_of(2, 1.0)
    far = counts_from_tables((1,), tables={(0,): [90]}, max_noise=2).known_to(cycled)
    assert (far.lower.tolist(), far.upper.tolist()) == ([88], [92])


def test_a_number_the_ptable_never_publishes_is_a_contradiction():
    seen = counts_from_tables((1,), tables={(0,): [4]}, max_noise=4)
    assert seen.known_to(Mechanism.rounding(5).build()).is_contradictory


def test_negative_weights_are_propagated_and_solved_alike():
    counts = PublishedCounts.from_matrix(
        [[1, -1], [1, 0], [0, 1]], [1, 4, 4], max_noise=1, zeros_stay=True
    )
    found = intervals(counts, whole=True)
    tables = every_table(counts)
    assert found.lower.tolist() == tables.min(axis=0).tolist()
    assert found.upper.tolist() == tables.max(axis=0).tolist()


def test_problems_of_published_counts_come_together():
    with pytest.raises(RiskError) as caught:
        PublishedCounts.from_matrix([[1, 1]], [-3], max_noise=-1, small=-2)
    text = str(caught.value)
    assert "negative" in text
    assert "max_noise" in text
    assert "small" in text
    with pytest.raises(RiskError, match="whole numbers"):
        PublishedCounts.from_matrix([[0.5]], [1], max_noise=1)


def test_a_cell_that_nothing_bounds_is_refused():
    counts = PublishedCounts.from_matrix([[1, -1]], [1], max_noise=1)
    with pytest.raises(RiskError, match="bounds it"):
        intervals(counts)


def test_published_counts_take_a_sparse_matrix():
    from scipy.sparse import csr_matrix

    sparse = PublishedCounts.from_matrix(csr_matrix([[1, 0], [1, 1]]), [3, 7], max_noise=2)
    dense = PublishedCounts.from_matrix([[1, 0], [1, 1]], [3, 7], max_noise=2)
    assert (sparse.cells == dense.cells).all()
    assert (sparse.starts == dense.starts).all()


def test_neither_counts_nor_intervals_show_in_a_repr():
    counts = counts_from_tables((2,), tables={(0,): [777, 888]}, max_noise=2)
    for shown in (repr(counts), repr(intervals(counts))):
        assert "777" not in shown
        assert "888" not in shown


# Reference shares to two or three decimals; their subsets hold each person with probability
# 0.3, which the linear theory below recovers. Three standard errors and half a unit of the last
# decimal: a right program fails each line less than 3 times in 1,000.
def shares_right(table, *, n_people, n_queries, n_repetitions, share_asked, rng):
    """The mean share of bits rebuilt from random subsets of people, and its standard error."""
    shares = []
    for _ in range(n_repetitions):
        bits = rng.random(n_people) < 0.5
        queries = rng.random((n_queries, n_people)) < share_asked
        counts = (queries & bits).sum(axis=1)
        answers = counts + table.lookup(counts, rng.integers(0, 2**32, n_queries, np.uint64))
        shares.append((decode_bits(queries, answers) == bits).mean())
    return np.mean(shares), np.std(shares, ddof=1) / n_repetitions**0.5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("noise", "variance", "n_people", "times", "reference"),
    [
        (2, 1.0, 100, 2, 0.99),
        (2, 1.0, 100, 4, 1.00),
        (5, 3.0, 100, 2, 0.91),
        (5, 3.0, 100, 4, 0.99),
        (5, 3.0, 100, 8, 1.00),
        (5, 3.0, 400, 2, 0.996),
    ],
)
def test_least_squares_rebuild_as_many_bits_as_the_reference(
    noise, variance, n_people, times, reference
):
    share, error = shares_right(
        noise_of(noise, variance),
        n_people=n_people,
        n_queries=times * n_people,
        n_repetitions=30 if n_people == 100 else 8,
        share_asked=0.3,
        rng=np.random.default_rng(20),
    )
    assert abs(share - reference) <= 3 * error + (0.0005 if n_people == 400 else 0.005)


@pytest.mark.slow
def test_as_many_queries_as_people_rebuild_little_more_than_guessing():
    # The queries' matrix is square and all but singular, so shares spread by about 0.07 from
    # one repetition to the next; the reference, 0.54, is within two of them.
    share, error = shares_right(
        noise_of(2, 1.0),
        n_people=100,
        n_queries=100,
        n_repetitions=60,
        share_asked=0.3,
        rng=np.random.default_rng(21),
    )
    spread = error * 60**0.5
    assert abs(share - 0.54) < 2 * spread
    assert 0.5 < share < 0.62


@pytest.mark.slow
@pytest.mark.parametrize("share_asked", [0.3, 0.5])
def test_the_linear_theory_agrees_with_the_simulation(share_asked):
    table = noise_of(5, 3.0)
    share, error = shares_right(
        table,
        n_people=100,
        n_queries=200,
        n_repetitions=30,
        share_asked=share_asked,
        rng=np.random.default_rng(22),
    )
    theory = expected_share_right(
        n_people=100, n_queries=200, variance=3.0, share_asked=share_asked
    )
    # an approximation: three standard errors (3 in 1,000) and one percent
    assert abs(share - theory) < 3 * error + 0.01


def test_linear_programs_stand_answers_that_are_wrong_by_any_amount():
    rng = np.random.default_rng(23)
    bits = rng.random(40) < 0.5
    queries = rng.random((240, 40)) < 0.5
    answers = (queries & bits).sum(axis=1).astype(float)
    answers[rng.choice(240, 24, replace=False)] += 1_000
    assert (decode_bits(queries, answers, method="linear-program") == bits).all()
    assert (decode_bits(queries, answers) != bits).any()


def test_a_way_to_decode_that_is_not_known_is_named():
    with pytest.raises(RiskError, match="method"):
        decode_bits([[1]], [1], method="guess")


def test_linkage_agrees_with_linking_by_hand():
    rng = np.random.default_rng(24)
    released = {"a": rng.integers(0, 6, 60), "b": rng.choice(["x", "y", None], 60)}
    known = {"a": rng.integers(0, 6, 40), "b": rng.choice(["x", "y", None], 40)}
    released["id"] = rng.permutation(80)[:60]
    known["id"] = rng.permutation(80)[:40]
    found = link(released, known, quasi_identifiers=["a", "b"], identity="id")
    here, there = (
        [(int(a), b, int(i)) for a, b, i in zip(f["a"], f["b"], f["id"], strict=True)]
        for f in (released, known)
    )
    matches = [[t for t in there if t[:2] == h[:2]] for h in here]
    alone = [sum(o[:2] == h[:2] for o in here) == 1 for h in here]
    own = [h in m for h, m in zip(here, matches, strict=True)]
    assert found.n_records == 60
    assert found.n_unique == sum(alone)
    assert found.n_matched == sum(bool(m) for m in matches)
    single = [a and len(m) == 1 for a, m in zip(alone, matches, strict=True)]
    assert found.n_unique_in_both == sum(single)
    assert found.n_correct_unique == sum(s and o for s, o in zip(single, own, strict=True))
    expected = sum(1 / len(m) for m, o in zip(matches, own, strict=True) if o)
    assert found.expected_correct == pytest.approx(expected)
    assert "60" not in repr(found)


def test_linkage_refuses_an_identity_that_repeats():
    with pytest.raises(RiskError, match="unique"):
        link(
            {"a": [1], "id": [1]},
            {"a": [1, 1], "id": [1, 1]},
            quasi_identifiers=["a"],
            identity="id",
        )


def test_a_count_that_no_original_gives_is_a_contradiction():
    ptable = solve(NoiseSpec(max_noise=2, variance=1.0, small=1)).quantise(256)
    lower, upper = possible_origins(ptable, [0, 1, 2])
    assert lower[1] > upper[1]  # 1 is never published
    assert (lower[0], lower[2]) == (0, 1)
    assert (upper[0], upper[2]) == (2, 4)
    assert (
        PublishedCounts.from_matrix([[1]], [1], max_noise=2).known_to(ptable).is_contradictory
    )


def test_intervals_are_listed_cell_by_cell():
    counts = PublishedCounts.from_matrix([[1]], [3], max_noise=1)
    listed = intervals(counts).to_frame()
    assert listed.columns.tolist() == ["cell", "lower", "upper", "width"]
    assert listed.values.tolist() == [[0, 2, 4, 2]]
