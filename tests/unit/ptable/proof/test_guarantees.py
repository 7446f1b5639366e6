from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from ptable import NoiseSpec, PTable, PTableError, solve
from ptable.design.mechanisms import Mechanism
from ptable.proof.guarantees import guarantee

EPSILONS = (0.0, 0.1, 0.5, 1.0, 2.0, 5.0, 44.0, 50.0, 1e6, math.inf)


@pytest.fixture(scope="module")
def solved():
    return solve(NoiseSpec(max_noise=3, variance=1.5, small=1))


def foreign(seed, *, large_counts="last", key_range=64):
    """A table from nowhere: noise in any order, repeated, biased, zeros moved."""
    rng = np.random.default_rng(seed)
    noise, upper = [], []
    for count in range(7):
        values = rng.integers(max(-count, -3), 4, 6).tolist()
        cuts = np.sort(rng.integers(0, key_range + 1, 5)).tolist()
        noise.append(values)
        upper.append([*cuts, key_range])
    return PTable(noise=noise, upper=upper, key_range=key_range, large_counts=large_counts)


TABLES = {
    "solved": lambda: solve(NoiseSpec(max_noise=2, variance=1.0)),
    "blocked": lambda: solve(NoiseSpec(max_noise=3, variance=1.5, small=1)),
    "foreign": lambda: foreign(1),
    "foreign cycle": lambda: foreign(2, large_counts="cycle:3"),
    "rounding": Mechanism.ons_10_5().build,
    "random rounding": Mechanism.random_rounding(4).build,
    "laplace": Mechanism.discrete_laplace(0.8, max_noise=7).build,
    "truncated": Mechanism.discrete_laplace(0.8, max_noise=7, edge="truncate").build,
    "gaussian": Mechanism.discrete_gaussian(3.0, max_noise=6, edge="fold").build,
}


@pytest.fixture(params=TABLES, scope="module")
def table(request):
    return TABLES[request.param]()


def matrix(table, n_counts):
    """P(published | count) for counts 0.., through the lookup of evenly spread keys."""
    n_keys = 64 if table.key_range == 64 else 4096
    keys = np.arange(n_keys) + 0
    answer = np.zeros((n_counts, n_counts + 40))
    for count in range(n_counts):
        moved = count + table.lookup(np.full(n_keys, count), keys, key_range=n_keys)
        np.add.at(answer[count], moved, 1 / n_keys)
    return answer, n_keys


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_delta_is_the_largest_divergence_of_any_two_neighbours(table, epsilon):
    probabilities, n_keys = matrix(table, 40)
    proof = guarantee(table, key_range=n_keys)
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.where(probabilities > 0, np.exp(epsilon) * probabilities, 0.0)
    there = np.maximum(0, probabilities[:-1] - scaled[1:]).sum(axis=1)
    back = np.maximum(0, probabilities[1:] - scaled[:-1]).sum(axis=1)
    assert proof.delta_at(epsilon) == pytest.approx(max(there.max(), back.max()), abs=1e-12)


def test_rows_hold_mean_variance_bounds_and_divergences(table):
    probabilities, n_keys = matrix(table, table.n_rows + 1)
    proof = guarantee(table, epsilon=0.7, key_range=n_keys)
    t = math.exp(0.7)
    for row, (here, after) in zip(proof.rows, itertools.pairwise(probabilities), strict=True):
        noise = np.arange(len(here)) - row.count
        mean = (noise * here).sum()
        assert float(row.mean) == pytest.approx(mean, abs=1e-12)
        assert float(row.variance) == pytest.approx((noise**2 * here).sum() - mean**2)
        used = noise[here > 0]
        assert (row.least_noise, row.greatest_noise) == (used.min(), used.max())
        assert float(row.p_stay) == pytest.approx(here[row.count])
        assert row.delta_to_next == pytest.approx(np.maximum(0, here - t * after).sum())
        assert row.delta_from_next == pytest.approx(np.maximum(0, after - t * here).sum())
        assert row.delta == max(row.delta_to_next, row.delta_from_next)
    assert proof.delta_at(0.7) == max(row.delta for row in proof.rows)
    assert proof.epsilon_at(1e-6) == max(row.epsilon for row in proof.rows)
    assert proof.pure_epsilon == proof.epsilon_at(0.0)


@pytest.mark.parametrize("delta", [0.0, 1e-9, 1e-4, 0.01, 0.1, 0.2, 0.3, 0.6, 0.9])
def test_epsilon_is_the_smallest_for_its_delta(table, delta):
    proof = guarantee(table)
    epsilon = proof.epsilon_at(delta)
    if epsilon == math.inf:
        assert proof.delta_at(1e9) > delta
        return
    assert proof.delta_at(epsilon) <= delta
    assert epsilon == 0 or proof.delta_at(epsilon * (1 - 1e-9)) > delta


# --- closed forms ---------------------------------------------------------------------------


@pytest.mark.parametrize("base", [2, 3, 5, 10])
def test_random_rounding_has_delta_one_over_its_base_at_every_epsilon(base):
    proof = guarantee(Mechanism.random_rounding(base).build())
    assert proof.largest_bias == 0
    assert proof.pure_epsilon == math.inf
    for epsilon in EPSILONS:
        assert proof.delta_at(epsilon) == pytest.approx(1 / base, rel=1e-15)
    assert proof.epsilon_at(1 / base + 1e-12) == 0
    assert proof.epsilon_at(1 / base - 1e-12) == math.inf
    assert [row.variance for row in proof.rows] == [r * (base - r) for r in range(base)]


@pytest.mark.parametrize(
    "mechanism",
    [Mechanism.rounding(5), Mechanism.ons_10_5(), Mechanism.small_count_rounding(3)],
    ids=["rounding", "ONS", "small counts"],
)
def test_rules_without_chance_between_two_counts_have_delta_1(mechanism):
    proof = guarantee(mechanism.build())
    assert proof.delta_at(100.0) == 1
    assert proof.epsilon_at(0.999) == math.inf


@pytest.mark.parametrize("edge", ["clamp", "fold"])
@pytest.mark.parametrize(("epsilon", "max_noise"), [(1.0, 10), (0.5, 12), (2.0, 6)])
def test_laplace_noise_keeps_its_epsilon_but_for_its_cut_tail(edge, epsilon, max_noise):
    proof = guarantee(
        Mechanism.discrete_laplace(epsilon, max_noise=max_noise, edge=edge).build(),
        epsilon=epsilon,
    )
    a = math.exp(-epsilon)
    tail = a**max_noise * (1 - a) / (1 + a - 2 * a ** (max_noise + 1))
    keys = (2 * max_noise + 1) * 2**-32 * math.exp(epsilon)
    assert proof.delta_at(epsilon) == pytest.approx(tail, abs=keys)
    # The design epsilon is needed: a little less costs a delta far above the tail's.
    assert proof.delta_at(0.9 * epsilon) > 40 * tail
    assert proof.rows[-1].delta_to_next == proof.rows[-1].delta_from_next
    assert proof.pure_epsilon == math.inf


def test_truncated_laplace_noise_costs_more_than_its_epsilon():
    proof = guarantee(Mechanism.discrete_laplace(1.0, max_noise=20, edge="truncate").build())
    # Row 0 loses all negative noise, row 1 all but one: their weights differ by this factor.
    a = math.exp(-1)
    needed = 1 + math.log(1 + a * (1 - a))
    assert proof.delta_at(1.0) > 0.1
    assert proof.epsilon_at(1e-6) == pytest.approx(needed, abs=1e-3)


def test_keeping_zeros_costs_nearly_everything():
    def delta(zeros):
        table = Mechanism.discrete_laplace(1.0, max_noise=15, zeros=zeros).build()
        return guarantee(table).delta_at(1.0)

    a = math.exp(-1)
    assert delta("noise") < 1e-6
    # A published count above 0 then proves that somebody is there.
    assert delta("keep") == pytest.approx(1 - a / (1 + a), abs=1e-6)


def test_the_uniform_row_of_a_maximum_entropy_table_has_delta_a_fifth():
    proof = guarantee(solve(NoiseSpec(max_noise=2, variance=2.0)))
    assert proof.rows[-1].variance == pytest.approx(2)
    for epsilon in (0.5, 1.0, 3.0):
        last = guarantee(proof.table, epsilon=epsilon).rows[-1]
        assert last.delta_to_next == last.delta_from_next == pytest.approx(0.2, abs=1e-9)


def test_figures_of_the_worked_table_of_maximum_entropy():
    proof = guarantee(TABLES["solved"]())
    assert proof.largest_bias == 0
    assert proof.zeros_stay
    assert proof.unchanged == (0,)
    assert proof.max_noise == 2
    assert [float(row.variance) for row in proof.rows] == [0, 1, 1]
    # Between 0 and 1: all that a count of 1 shows beside 0, 1 - .3981.
    assert proof.delta_at(1.0) == pytest.approx(0.6019, abs=5e-5)
    assert proof.never_published(10) == ()


def test_blocked_counts_are_never_published(solved):
    proof = guarantee(solved)
    assert proof.never_published(30) == (1,)
    assert "Never published: 1." in str(proof)


def test_never_published_is_what_no_lookup_gives(table):
    _, n_keys = matrix(table, 1)
    counts, keys = np.meshgrid(np.arange(80), np.arange(n_keys))
    reached = set((counts + table.lookup(counts, keys, key_range=n_keys)).ravel().tolist())
    found = guarantee(table, key_range=n_keys).never_published(60)
    assert set(found) == set(range(61)) - reached


def test_bias_and_moved_zeros_are_told():
    proof = guarantee(Mechanism.discrete_laplace(1.0, max_noise=15).build())
    a = math.exp(-1)
    assert proof.largest_bias != 0
    assert not proof.zeros_stay
    assert float(proof.largest_bias) == pytest.approx(a / (1 - a * a), abs=1e-4)
    assert "not always 0: 0.4255 for count 0" in proof.summary()


def test_guarantees_of_32_bit_keys_tell_what_random_rounding_lost():
    table = Mechanism.random_rounding(3).build()
    proof = guarantee(table, key_range=2**32)
    assert guarantee(table).largest_bias == 0
    assert proof.largest_bias != 0
    assert 0 < proof.largest_bias <= Fraction(3, 2**32)
    assert proof.delta_at(1.0) == pytest.approx(1 / 3, abs=2**-31)
    assert guarantee(table, key_range=3 * 2**20).largest_bias == 0


def test_simulated_frequencies_agree_with_the_table():
    # Hoeffding: a frequency misses its probability by more than this once in 1e9 / 2 cases.
    n, rng = 200_000, np.random.default_rng(8)
    most = math.sqrt(math.log(2e9) / (2 * n))
    for mechanism in (
        Mechanism.discrete_laplace(0.7, max_noise=8, edge="fold"),
        Mechanism.discrete_gaussian(4.0, max_noise=8),
        Mechanism.random_rounding(5),
    ):
        table = mechanism.build()
        for count in (0, 1, 3, 4):
            keys = rng.integers(0, 2**32, n)
            noise = table.lookup(np.full(n, count), keys)
            for v, units in table.units(count).items():
                assert abs((noise == v).mean() - units / table.key_range) < most
            assert set(noise.tolist()) <= set(table.units(count))


# --- words and frames -----------------------------------------------------------------------


def test_a_table_that_hides_nothing_and_one_that_hides_all_are_told():
    nothing = guarantee(PTable(noise=[[0]], upper=[[8]], key_range=8))
    assert nothing.delta_at(3.0) == 1
    assert "0 and all larger" in str(nothing)
    everything = PTable.from_units(
        [{0: 4, 1: 4}, {-1: 4, 0: 4}], key_range=8, large_counts="cycle:2"
    )
    proof = guarantee(everything)
    assert proof.rows[0].pure_epsilon == 0
    assert proof.pure_epsilon == math.inf


def test_a_frame_has_a_line_per_row(solved):
    frame = guarantee(solved).to_frame()
    assert frame["count"].tolist() == list(range(solved.n_rows))
    assert frame["p_stay"].tolist()[0] == 1
    assert (frame.dtypes.astype(str) == ["int64", *["float64"] * 9]).all()
    assert np.isinf(frame["pure_epsilon"]).all()


def test_tables_of_magnitudes_have_bounds_but_no_privacy():
    table = PTable(
        noise=[[0], [-2, 0, 2], [-4, 4]],
        upper=[[8], [2, 6, 8], [4, 8]],
        key_range=8,
        step=2,
        anchors=(0, 1, 5),
    )
    proof = guarantee(table)
    assert proof.largest_bias == 0
    assert proof.max_noise == 2
    assert [row.count for row in proof.rows] == [0, 1, 5]
    assert [row.variance for row in proof.rows] == [0, Fraction(1, 2), 4]
    assert all(row.delta is None and row.epsilon is None for row in proof.rows)
    assert not proof.has_privacy
    assert "not defined for tables of magnitudes" in proof.summary()
    assert proof.to_frame()["epsilon"].isna().all()
    for ask in (
        lambda: proof.delta_at(1.0),
        lambda: proof.epsilon_at(0.1),
        lambda: proof.pure_epsilon,
        lambda: proof.never_published(5),
    ):
        with pytest.raises(PTableError, match="p-table of magnitudes does not tell"):
            ask()


# --- several cells ---------------------------------------------------------------------------


@pytest.mark.parametrize("n_cells", [1, 3])
def test_several_cells_of_random_rounding_tell_a_record_unless_none_does(n_cells):
    proof = guarantee(Mechanism.random_rounding(10).build(), epsilon=2.0)
    exact = 1 - 0.9**n_cells
    assert proof.delta_of_cells(n_cells, epsilon=math.inf) == pytest.approx(exact, abs=1e-9)
    # without an epsilon it is that of the rows
    assert proof.delta_of_cells(n_cells) == proof.delta_of_cells(n_cells, epsilon=2.0)
    assert proof.delta_of_cells(n_cells, epsilon=0.0) > exact or n_cells == 1


def test_large_counts_have_the_delta_of_the_last_row():
    # a count of 1 is told from 0 by every key; larger ones by half of the keys
    rows = [{0: 4}, {1: 4}, {-2: 2, -1: 2}]
    proof = guarantee(PTable.from_units(rows, key_range=4))
    assert proof.delta_of_cells(1) == 1
    assert proof.delta_of_cells(1, are_large=True) == pytest.approx(0.5)
    assert proof.delta_of_cells(2, are_large=True) == pytest.approx(0.75)
    turns = guarantee(PTable.from_units(rows, key_range=4, large_counts="cycle:3"))
    assert turns.delta_of_cells(1, are_large=True) == 1


@pytest.mark.parametrize("wrong", [0, 1001, 2.0, True])
def test_numbers_of_cells_out_of_range_are_refused(wrong):
    with pytest.raises(PTableError, match="n_cells must be an integer from 1 to 1000"):
        guarantee(TABLES["random rounding"]()).delta_of_cells(wrong)


@pytest.mark.parametrize(
    ("law", "apart"),
    [
        ({-1: 4, 1: 4}, 1.0),
        ({0: 8}, 1.0),
        ({-1: 2, 0: 4, 1: 2}, 1 - 2 * (1 / 4) * (1 / 2)),
        ({0: 4, 1: 4}, 3 / 4),
    ],
)
def test_two_cells_that_differ_by_a_record_are_published_apart(law, apart):
    # with noise v and w they are published alike where v = w + 1
    proof = guarantee(PTable.from_units([{0: 8}, law], key_range=8))
    assert proof.chance_apart == apart


def test_a_guarantee_cannot_be_changed():
    proof = guarantee(TABLES["random rounding"]())
    for thing in (proof, proof.rows[0]):
        with pytest.raises(AttributeError):
            thing.epsilon = 0.0


def test_magnitudes_refuse_an_epsilon_that_is_none_first():
    table = PTable(noise=[[0], [-2, 2]], upper=[[8], [4, 8]], key_range=8, step=2)
    proof = guarantee(table)
    with pytest.raises(PTableError, match="epsilon must be"):
        proof.delta_at(-1.0)
    with pytest.raises(PTableError, match="delta must be"):
        proof.epsilon_at(1.0)
    with pytest.raises(PTableError, match="does not tell a delta"):
        proof.delta_of_cells(1)
    with pytest.raises(PTableError, match="does not tell a chance"):
        _ = proof.chance_apart


def test_figures_of_magnitudes_are_told_in_units():
    table = PTable(
        noise=[[0], [0], [-4, 0, 6]], upper=[[8], [8], [2, 5, 8]], key_range=8, step=2
    )
    row = guarantee(table).rows[2]
    assert row.mean == Fraction(-2 * 2 + 3 * 3, 8)
    assert row.variance == Fraction(4 * 2 + 9 * 3, 8) - row.mean**2
    assert (row.least_noise, row.greatest_noise) == (-2, 3)
    assert row.p_stay == Fraction(3, 8)


# --- refusals --------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [-1.0, math.nan, True, "1", None, [1.0, 2.0], 1j])
def test_what_is_no_epsilon_is_refused(wrong):
    table = TABLES["random rounding"]()
    with pytest.raises(PTableError, match="epsilon must be a number of at least 0"):
        guarantee(table, epsilon=wrong)
    with pytest.raises(PTableError, match="epsilon must be a number of at least 0"):
        guarantee(table).delta_at(wrong)


@pytest.mark.parametrize("wrong", [-1e-9, 1.0, math.nan, math.inf, False, "0", None])
def test_what_is_no_delta_is_refused(wrong):
    table = TABLES["random rounding"]()
    with pytest.raises(PTableError, match="delta must be a number from 0 to below 1"):
        guarantee(table, delta=wrong)
    with pytest.raises(PTableError, match="delta must be a number from 0 to below 1"):
        guarantee(table).epsilon_at(wrong)


@pytest.mark.parametrize("wrong", [1, 2.0, True, 2**65, "8"])
def test_what_is_no_key_range_is_refused(wrong):
    with pytest.raises(PTableError, match="key_range must be an integer from 2"):
        guarantee(TABLES["random rounding"](), key_range=wrong)


@pytest.mark.parametrize("wrong", [-1, 2.0, True])
def test_what_is_no_largest_count_is_refused(wrong):
    with pytest.raises(PTableError, match="up_to must be a count"):
        guarantee(TABLES["random rounding"]()).never_published(wrong)


def test_a_guarantee_shows_no_rows_in_its_repr():
    proof = guarantee(TABLES["laplace"]())
    assert repr(proof) == "Guarantee(n_rows=8, epsilon=1, delta=1e-06)"
