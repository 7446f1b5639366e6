import math
import subprocess
import sys
from fractions import Fraction
from functools import cache

import numpy as np
import pandas as pd
import pytest

from ptable import NoiseSpec, PTable, PTableError, PTableWarning, solve
from ptable.quantisation.key_matrix import table_from_key_matrix
from ptable.quantisation.quantise import Quantisation, quantise, warning_of


def _moments(table, count):
    units = table.units(count)
    mean = Fraction(sum(v * n for v, n in units.items()), table.key_range)
    square = Fraction(sum(v * v * n for v, n in units.items()), table.key_range)
    return mean, square - mean**2


@pytest.fixture(scope="module")
def census():
    return solve(NoiseSpec(max_noise=5, variance=3.0, small=2))


@pytest.fixture(scope="module")
def quantised(census):
    return cache(lambda key_range: quantise(census, key_range))


@pytest.mark.slow
@pytest.mark.parametrize("key_range", [256, 4096, 65536])
def test_means_and_variances_are_kept_exactly(census, quantised, key_range):
    answer = quantised(key_range)
    assert answer.is_exact
    assert answer.drifting == ()
    assert answer.table.key_range == key_range
    for count in range(1, census.n_rows):
        assert _moments(answer.table, count) == (0, 3)
        assert set(answer.table.units(count)) <= set(census.spec.row(count).noise)
    assert answer.table.units(0) == {0: key_range}
    assert all(row.gap == 0 and row.is_least for row in answer.rows)
    assert max(row.largest_change for row in answer.rows) < 9 / key_range


@pytest.mark.slow
def test_more_keys_come_nearer_to_the_greatest_entropy(census, quantised):
    entropies = [
        [row.entropy for row in quantised(key_range).rows] for key_range in (256, 4096, 65536)
    ]
    best = [0.0] + [row.entropy for row in census.certificate.rows]
    for few, more, most, bound in zip(*entropies, best, strict=True):
        assert few <= more + 1e-9
        assert more <= most + 1e-9
        assert most <= bound + 1e-9
    assert max(abs(b - e) for e, b in zip(entropies[2], best, strict=True)) < 1e-6


def test_an_odd_number_of_keys_cannot_hold_an_odd_sum_of_squares():
    answer = quantise(solve(NoiseSpec(max_noise=3, variance=1.0)), 255)
    drifts = [row.variance_drift for row in answer.rows[1:]]
    assert [abs(drift) for drift in drifts] == [Fraction(1, 255)] * 3
    assert all(
        row.mean_drift == 0 and row.is_least and not row.is_exact for row in answer.rows[1:]
    )
    assert "nothing less is possible" in str(answer)
    assert "exact in 1 of 4 rows" in str(answer)
    assert not answer.is_exact
    assert quantise(solve(NoiseSpec(max_noise=2, variance=1.0)), 256).is_exact


def test_a_variance_between_two_numbers_of_keys_takes_the_nearer():
    answer = quantise(solve(NoiseSpec(max_noise=3, variance=0.9)), 256)
    for row in answer.rows[1:]:
        assert row.variance_drift == Fraction(230, 256) - Fraction(9, 10)


def test_rows_at_the_end_of_their_reach_drift_as_little_as_they_can():
    table = solve(NoiseSpec(max_noise=2, variance=2.0))
    answer = quantise(table, 256)
    row = answer.rows[1]
    assert row.mean_drift == 0
    assert row.variance_drift == Fraction(-1, 128)
    assert row.is_least
    exact = quantise(table, 255)
    assert exact.rows[1].is_exact
    assert exact.table.units(1) == {-1: 170, 2: 85}


@pytest.mark.slow
def test_an_upper_bound_on_the_variance_stays_one():
    table = solve(NoiseSpec.r_ptable(5, 2.0))
    with pytest.warns(PTableWarning, match="below one key"):
        few = table.quantise(256)
    for count in range(1, 6):
        mean, variance = _moments(few, count)
        assert mean == 0
        assert variance <= 2
        left = [few.units(count).get(v, 0) for v in range(-min(count, 5), 1)]
        assert left == sorted(left)
    assert all(row.is_exact for row in quantise(table, 256).rows)


def test_a_bound_that_does_not_bind_is_left_alone():
    table = solve(NoiseSpec(max_noise=2, variance=3.0, variance_rule="at-most"))
    answer = quantise(table, 250)
    assert answer.table.units(2) == dict.fromkeys(range(-2, 3), 50)


def test_a_probability_of_staying_that_keys_cannot_hold_is_reported():
    spec = NoiseSpec(max_noise=2, variance=1.0, p_stay=0.3)
    law = {-2: 100, -1: 200, 0: 400, 1: 200, 2: 100}
    rows = [{0: 1000}, {-1: 250, 0: 500, 1: 250}, law]
    table = PTable.from_units(rows, key_range=1000).with_proof(spec, None)
    answer = quantise(table, 256)
    stays = Fraction(answer.table.units(2)[0], 256)
    assert stays in {Fraction(76, 256), Fraction(77, 256)}
    assert answer.rows[2].note == f"no noise has probability {stays}, not 3/10"
    assert answer.rows[2] in answer.drifting
    assert quantise(table, 250).table.units(2)[0] == 75


@pytest.mark.slow
def test_rows_that_are_their_own_mirror_image_stay_so_or_have_the_greatest_entropy():
    table = solve(NoiseSpec(max_noise=5, variance=1.5))
    alike, best = quantise(table, 256), quantise(table, 256, keep_symmetry=False)
    units = alike.table.units(5)
    assert units == {-v: n for v, n in reversed(units.items())}
    assert alike.rows[5].entropy < best.rows[5].entropy
    assert alike.is_exact
    assert best.is_exact
    assert alike.table.units(1) == best.table.units(1)


def test_unless_told_otherwise_rows_of_a_handful_of_keys_stay_their_own_mirror_image():
    table = solve(NoiseSpec(max_noise=2, variance=1.0))
    alike, best = quantise(table, 10), quantise(table, 10, keep_symmetry=False)
    assert alike.table.units(2) == {-2: 1, -1: 1, 0: 6, 1: 1, 2: 1}
    assert best.rows[2].entropy > alike.rows[2].entropy
    assert best.rows[2].is_exact


@pytest.mark.slow
def test_a_table_from_elsewhere_keeps_its_shape(shared):
    frame = pd.read_csv(shared / "reference/ptable/cnt_D5_V300_js2.csv")
    table = PTable.from_frame(frame, key_range=10**8)
    answer = quantise(table, 4096)
    for count, row in enumerate(answer.rows):
        assert set(answer.table.units(count)) <= set(table.units(count))
        assert abs(row.mean_drift) < Fraction(1, 10**7)
        assert abs(row.variance_drift) <= Fraction(1, 4096)
        assert row.is_least
        assert row.largest_change < 6 / 4096


@pytest.mark.slow
def test_columns_of_256_keys_always_add_up_where_plain_rounding_does_not():
    wrong = 0
    for max_noise, variance, small in [
        (2, 1.0, 0),
        (3, 1.5, 0),
        (3, 2.0, 1),
        (5, 2.0, 0),
        (5, 3.0, 2),
        (8, 4.0, 0),
        (10, 3.0, 0),
    ]:
        table = solve(NoiseSpec(max_noise=max_noise, variance=variance, small=small))
        few = table.quantise(256)
        for count in range(1, table.n_rows):
            rounded = [round(n * 256 / 2**32) for n in table.units(count).values()]
            wrong += sum(rounded) != 256
            assert sum(few.units(count).values()) == 256
            assert _moments(few, count) == (0, variance)
    assert wrong > 0


@pytest.mark.slow
def test_what_cannot_be_kept_is_named_in_a_warning():
    table = solve(NoiseSpec(max_noise=9, variance=1.1))
    with pytest.warns(
        PTableWarning, match=r"256 keys cannot hold every row: count 1: variance"
    ):
        few = table.quantise(256)
    assert few.key_range == 256
    with pytest.warns(PTableWarning, match="and 3 more rows"):
        table.quantise(256)


def test_the_rest_of_the_table_is_kept():
    table = PTable.from_units(
        [{0: 1000}, {-1: 333, 0: 334, 1: 333}, {1: 500, -1: 500}],
        key_range=1000,
        large_counts="cycle:2",
        step=2,
        label="odd",
    )
    few = quantise(table, 64).table
    assert (few.large_counts, few.step, few.label, few.spec) == ("cycle:2", 2, "odd", None)
    assert few.noise[2] == (-1, 1)
    magnitudes = PTable.from_units(
        [{0: 8}, {-1: 4, 1: 4}, {-9: 2, 0: 4, 9: 2}], key_range=8, anchors=[0, 1, 10]
    )
    assert quantise(magnitudes, 16).table.anchors == (0, 1, 10)


@pytest.mark.slow
def test_the_new_table_knows_its_specification_but_claims_no_proof(census, tmp_path):
    few = census.quantise(256)
    assert few.spec == census.spec
    assert few.certificate is None
    few.write(tmp_path / "few.json")
    assert PTable.read(tmp_path / "few.json") == few


@pytest.mark.parametrize("wrong", [1, 0, -256, 2**24 + 1, 256.0, True, "256", None, math.nan])
def test_a_number_of_keys_that_is_none_is_refused(census, wrong):
    with pytest.raises(PTableError, match=r"key_range must be an integer from 2 to 2\*\*24"):
        census.quantise(wrong)


@pytest.mark.slow
def test_very_few_and_very_many_keys_work(census):
    few = quantise(census, 2)
    assert all(row.is_least for row in few.rows)
    assert all(sum(few.table.units(count).values()) == 2 for count in range(census.n_rows))
    assert quantise(census, 2**24).is_exact


@pytest.mark.slow
def test_the_same_table_gives_the_same_bytes():
    code = (
        "from ptable import NoiseSpec, solve;"
        "print(solve(NoiseSpec(max_noise=6, variance=2.0)).quantise(256).id)"
    )
    other = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    assert other.stdout == solve(NoiseSpec(max_noise=6, variance=2.0)).quantise(256).id + "\n"


@pytest.mark.slow
def test_looking_up_loads_no_solver():
    code = (
        "import sys; from ptable import PTable\n"
        "from ptable.quantisation import quantise, shuffle\n"
        "PTable.from_units([{0: 8}, {-1: 4, 1: 4}], key_range=8).lookup([1], [1], key_range=8);"
        "sys.exit(any(name in sys.modules for name in ('cvxpy', 'highspy', 'scipy', 'pandas')))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
def test_the_report_is_a_frame_too(census):
    answer = quantise(census, 255)
    frame = answer.to_frame()
    assert frame["count"].tolist() == list(range(census.n_rows))
    assert frame["variance_drift"].abs().max() == pytest.approx(1 / 255)
    assert isinstance(answer, Quantisation)


def test_our_256_rows_hold_what_sampled_ones_lose(shared):
    path = shared / "reference/ptable/abs_D2_V100_js0.csv"
    sampled = table_from_key_matrix(pd.read_csv(path).to_numpy())
    moments = [_moments(sampled, count) for count in range(1, 71)]
    assert sum(mean != 0 for mean, _ in moments) > 50
    assert max(abs(variance - 1) for _, variance in moments) > Fraction(1, 10)
    ours = solve(NoiseSpec(max_noise=2, variance=1.0)).quantise(256)
    ours = ours.shuffle(np.random.default_rng(1), piece="key")
    counts, keys = np.meshgrid(np.arange(1, 71), np.arange(256))
    matrix = ours.lookup(counts, keys, key_range=256)
    again = table_from_key_matrix(matrix)
    assert {_moments(again, count) for count in range(1, 71)} == {(0, 1)}


def thirds(n_rows):
    """Give rows whose variance of 2/3 no power of two holds."""
    return PTable.from_units([{0: 3}, *[{-1: 1, 0: 1, 1: 1}] * n_rows], key_range=3)


def test_at_most_six_rows_that_drift_are_named():
    assert warning_of(quantise(thirds(2), 9)) == ""
    row = "variance off by 1/48, nothing less is possible"
    six = warning_of(quantise(thirds(6), 32))
    assert (
        six
        == "32 keys cannot hold every row: "
        + "; ".join(f"count {count}: {row}" for count in range(1, 7))
        + "."
    )
    assert warning_of(quantise(thirds(8), 32)).endswith(f"count 6: {row}; and 2 more rows.")


def test_what_drifts_is_told_in_fractions():
    moved = PTable.from_units([{0: 3}, {0: 1, 1: 2}], key_range=3)
    answer = quantise(moved, 4)
    assert answer.table.units(1) == {0: 1, 1: 3}
    assert str(answer.rows[1]) == (
        "count 1: mean off by 1/12, variance off by -5/144, nothing less is possible"
    )
    assert str(answer.rows[0]) == "count 0: exact"
    assert (answer.rows[1].is_exact, answer.rows[0].is_exact) == (False, True)
    assert answer.drifting == answer.rows[1:]
    assert answer.rows[1].largest_change == pytest.approx(1 / 12)
    assert answer.rows[1].total_variation == pytest.approx(1 / 12)
    assert answer.rows[1].entropy == pytest.approx(
        -(0.25 * math.log(0.25) + 0.75 * math.log(0.75))
    )
    assert str(answer).splitlines()[:2] == [
        "4 keys: mean and variance exact in 1 of 2 rows",
        "largest change of a probability 0.0833, total variation 0.0833",
    ]
    assert str(quantise(moved, 6)).splitlines()[0] == (
        "6 keys: mean and variance exact in all 2 rows"
    )
    frame = answer.to_frame()
    assert frame["count"].tolist() == [0, 1]
    assert frame["mean_drift"].tolist() == [0.0, pytest.approx(1 / 12)]
    assert frame["variance_drift"].dtype == float


def test_a_least_probability_below_one_key_is_said_to_be_lost():
    spec = NoiseSpec(max_noise=1, variance=0.5, min_probability=0.01)
    table = PTable.from_units([{0: 8}, {-1: 2, 0: 4, 1: 2}], key_range=8).with_proof(spec, None)
    assert quantise(table, 64).rows[1].note == (
        "the least probability is below one key and not kept"
    )
    assert quantise(table, 100).rows[1].note == ""
    assert quantise(table, 64).drifting == quantise(table, 64).rows[1:]


def test_an_upper_bound_drifts_only_where_it_is_exceeded():
    spec = NoiseSpec(max_noise=1, variance=0.5, variance_rule="at-most")
    table = PTable.from_units([{0: 8}, {-1: 2, 0: 4, 1: 2}], key_range=8).with_proof(spec, None)
    assert quantise(table, 10).rows[1].variance_drift == 0
    assert quantise(table, 10).table.units(1)[0] >= 5


@pytest.mark.parametrize("most", [2, 2**24])
def test_as_few_and_as_many_keys_as_are_allowed_work(most):
    table = PTable.from_units([{0: 2}, {-1: 1, 1: 1}], key_range=2)
    assert quantise(table, most).table.units(1) == {-1: most // 2, 1: most // 2}
