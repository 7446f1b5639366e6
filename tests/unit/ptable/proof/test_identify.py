"""Designs found back from tables alone."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from ptable import NoiseSpec, PTable, PTableWarning, solve
from ptable.design.mechanisms import Mechanism
from ptable.design.stack import StackedSpec
from ptable.proof.identify import _apart, identify


def bare(design):
    """Give the table of a design without its label."""
    table = design.build() if isinstance(design, Mechanism) else solve(design)
    return PTable(
        noise=table.noise,
        upper=table.upper,
        key_range=table.key_range,
        large_counts=table.large_counts,
        step=table.step,
        anchors=table.anchors,
    )


def entropy_of(most, variance, **other):
    return NoiseSpec(max_noise=most, variance=variance, **other)


PLAIN = "maximum entropy, largest noise"
BACK = [
    (entropy_of(1, 0.5), f"{PLAIN} 1, variance 0.5 exactly"),
    (
        entropy_of(2, 2.5, zero_bias=0.3, variance_rule="nearest"),
        f"{PLAIN} 2, variance 2.5 or the nearest in reach, zeros with a bias of 0.3",
    ),
    (entropy_of(2, 1.0), f"{PLAIN} 2, variance 1 exactly"),
    (entropy_of(2, 1.0, monotone="left"), f"{PLAIN} 2, variance 1 exactly, monotone left"),
    (
        entropy_of(3, 2.0, small=1),
        f"{PLAIN} 3, variance 2 exactly, no published count in 1..1",
    ),
    (
        entropy_of(3, 2.0, monotone="unimodal"),
        f"{PLAIN} 3, variance 2 exactly, monotone unimodal",
    ),
    (
        NoiseSpec.r_ptable(2, 1.0),
        f"{PLAIN} 2, variance 1 at most, monotone left, every probability at least 1e-08",
    ),
    (entropy_of(2, 1.0, p_stay=0.5), f"{PLAIN} 2, variance 1 exactly, P(stay) exact 0.5"),
    (
        entropy_of(2, 2.5, variance_rule="nearest"),
        f"{PLAIN} 2, variance 2.5 or the nearest in reach",
    ),
    (
        entropy_of(2, 1.0, zero_bias=0.1),
        f"{PLAIN} 2, variance 1 exactly, zeros with a bias of 0.1",
    ),
    (
        entropy_of(2, 0.326, positive_bias=0.2),
        f"{PLAIN} 2, variance 0.326 exactly, positives stay positive with a bias of 0.2",
    ),
    (
        entropy_of(2, 1.0, step=2, anchors=(1, 3)),
        f"{PLAIN} 2, variance 1 exactly, in steps of 1/2",
    ),
    (
        StackedSpec(parts=((0, entropy_of(2, 1.0)), (3, entropy_of(2, 1.5)))),
        (
            f"from count 0 on {PLAIN} 2, variance 1 exactly; from count 3 on {PLAIN} 2, "
            "variance 1.5 exactly"
        ),
    ),
    (
        entropy_of(3, (0.5, 1.1, 0.7)),
        f"{PLAIN} 3, a variance of its own in every row",
    ),
    (Mechanism.rounding(5), "rounding: base 5, ties up"),
    (Mechanism.rounding(4, ties="even"), "rounding: base 4, ties even"),
    (Mechanism.rounding(4, ties="down"), "rounding: base 4, ties down"),
    (Mechanism.ons_10_5(), "rounding: base 5, ties up, threshold 10"),
    (Mechanism.random_rounding(3), "random rounding: base 3"),
    (Mechanism.small_count_rounding(4), "small count rounding: base 4"),
    (
        Mechanism.discrete_laplace(0.8, max_noise=4),
        "discrete laplace: epsilon 0.8, max_noise 4, edge clamp, zeros noise",
    ),
    (
        Mechanism.discrete_laplace(0.8, max_noise=3, edge="fold", zeros="keep"),
        "discrete laplace: epsilon 0.8, max_noise 3, edge fold, zeros keep",
    ),
    (
        Mechanism.discrete_gaussian(2.5, max_noise=3, edge="truncate"),
        "discrete gaussian: variance 2.5, max_noise 3, edge truncate, zeros noise",
    ),
]


@pytest.mark.parametrize(("design", "words"), BACK, ids=[words for _, words in BACK])
def test_a_design_is_found_back_from_its_integers_and_named(design, words):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PTableWarning)
        answer = identify(bare(design))
    assert answer.is_match
    assert answer.design == design
    first, second = str(answer).splitlines()
    assert first == words
    assert second.startswith("largest difference of a probability: ")
    assert answer.distance == max(row.distance for row in answer.rows) < 1e-8


@pytest.mark.slow
@pytest.mark.parametrize(
    "design",
    [
        NoiseSpec(max_noise=5, variance=3.0, small=2),
        NoiseSpec(max_noise=5, variance=1.7, monotone="both"),
        NoiseSpec.r_ptable(5, 2.0, monotone=False),
        NoiseSpec.r_ptable(5, 2.0, p_stay=0.3),
        NoiseSpec(max_noise=3, variance=1.0, zero_bias=0.1, zero_variance=0.2),
        StackedSpec(
            parts=(
                (0, NoiseSpec(max_noise=5, variance=2.0)),
                (6, NoiseSpec(max_noise=5, variance=6.0)),
            )
        ),
        Mechanism.discrete_laplace(0.8, max_noise=8, edge="fold", zeros="keep"),
    ],
)
def test_wider_designs_are_found_back_too(design):
    answer = identify(bare(design))
    assert answer.is_match, str(answer)
    assert answer.distance < 1e-6


def test_laws_are_as_far_apart_as_their_likeliest_difference():
    ours = {0: 0.5, 1: 0.5}
    assert _apart(ours, ours) == 0
    assert _apart(ours, {0: 0.6, 1: 0.4}) == pytest.approx(0.1)
    for other, far in (({0: 1.0}, 0.5), ({0: 0.5, 1: 0.3, 2: 0.2}, 0.2), ({5: 1.0}, 1.0)):
        assert _apart(ours, other) == _apart(other, ours) == pytest.approx(far)


def test_every_row_tells_its_figures():
    table = PTable(
        noise=[[0], [-1, 2], [-2, 0, 1]],
        upper=[[300], [100, 300], [75, 150, 300]],
        key_range=300,
    )
    zero, one, two = identify(table).rows
    assert (zero.count, zero.bias, zero.variance, zero.p_stay) == (0, 0, 0, 1)
    assert (one.count, one.bias, one.variance, one.p_stay) == (1, 1, 2, 0)
    assert (two.bias, two.variance, two.p_stay) == (0, 1.5, 0.25)
    assert one.resolution == pytest.approx(3 / 300)
    assert zero.resolution == 2e-6
    assert [row.is_biased for row in (zero, one, two)] == [False, True, False]


def test_figures_are_told_in_units_whatever_the_step():
    table = PTable.from_units(
        [{0: 400}, {-2: 200, 4: 200}], key_range=400, step=2, anchors=[0, 5]
    )
    row = identify(table).rows[1]
    assert (row.bias, row.variance) == (0.5, 2.25)
    assert row.resolution == pytest.approx(6 / 400 / 2)


def test_few_keys_are_a_mechanism_s_own_and_hundreds_are_rounded():
    def tolerance(key_range):
        table = PTable.from_units([{0: key_range}, {0: key_range}], key_range=key_range)
        answer = identify(table)
        assert not any(row.is_biased for row in answer.rows)
        return answer.tolerance, answer.rows[0].resolution

    assert tolerance(199) == (2e-6, 0.0)
    assert tolerance(200) == (2e-6 + 6 / 200, 2e-6)
    assert tolerance(4000) == (2e-6 + 6 / 4000, 2e-6)


@pytest.mark.slow
def test_a_rounded_design_passes_up_to_six_keys(monkeypatch):
    def plain(fields, variance, *_):
        yield NoiseSpec(variance=variance, **fields)

    monkeypatch.setattr("ptable.proof.identify._rules", plain)  # the others take long
    few = solve(NoiseSpec(max_noise=2, variance=1.0)).quantise(1000)
    rows = [few.units(count) for count in range(few.n_rows)]

    def moved(keys):  # moves neither mean nor variance
        for v, times in ((-2, 1), (-1, -3), (0, 3), (1, -1)):
            rows[2][v] += times * keys
        return identify(PTable.from_units(rows, key_range=1000))

    assert moved(1).is_match
    far = moved(2)
    assert not far.is_match
    assert [row.count for row in far.rows if row.distance > far.tolerance] == [2]
    assert str(far).endswith("(counts 2)")


def test_of_many_rows_apart_six_are_named():
    rows = [{0: 1000}] + [
        {-1: 300 + 20 * n, 0: 400 - 40 * n, 1: 300 + 20 * n} for n in range(9)
    ]
    rows[3] = {-1: 450, 1: 550}
    rows[6] = {-1: 450, 1: 550}
    answer = identify(PTable.from_units(rows, key_range=1000))
    far = [row.count for row in answer.rows if row.distance > answer.tolerance]
    named = ", ".join(map(str, far[:6]))
    more = f" and {len(far) - 6} more" if len(far) > 6 else ""
    assert len(far) > 6
    assert str(answer).splitlines()[-1].endswith(f"(counts {named}{more})")
    six = replace(answer, rows=[row for row in answer.rows if row.count in far[:6]])
    assert str(six).splitlines()[-1].endswith(f"(counts {named})")


def test_blocked_counts_are_those_from_1_on_that_no_row_publishes():
    def small(*rows, **other):
        return identify(PTable.from_units(list(rows), key_range=4, **other)).small

    to_zero, by_two = {-1: 2, 1: 2}, {-2: 2, 1: 2}
    assert small({0: 4}, {-1: 2, 2: 2}, {-2: 2, 1: 2}) == 2
    assert small({0: 4}, to_zero, by_two) == 1
    assert small({0: 4}, {0: 4}, by_two) == 0
    assert small({0: 4}) == 0
    assert small({0: 4}, {-1: 2, 3: 2}) == 1
    assert small({0: 4}, {-2: 2, 4: 2}, step=2) == 0


@pytest.mark.parametrize(("base", "is_exhaustive"), [(22, True), (23, False)])
def test_wide_tables_are_said_to_be_compared_less(base, is_exhaustive):
    answer = identify(Mechanism.random_rounding(base).build())
    assert (answer.is_match, answer.is_exhaustive) == (True, is_exhaustive)


def test_counts_in_turn_are_no_design_of_greatest_entropy():
    table = solve(NoiseSpec(max_noise=2, variance=1.0))
    rows = [table.units(count) for count in range(3)]
    turns = PTable.from_units(rows, large_counts="cycle:2")
    assert not identify(turns).is_match
    level = PTable.from_units([*rows, rows[2]], large_counts="cycle:2")
    assert identify(level).design == table.spec


def test_no_candidate_at_all_is_said_so():
    answer = identify(PTable.from_units([{0: 4}, {0: 4}], key_range=4, step=2))
    assert (answer.design, answer.is_match) == (None, False)
    assert str(answer) == "no known design"


@pytest.mark.parametrize(
    ("written", "read"),
    [(2.0000001, 2.0), (1.3333333, 1.3333333), (0.1234, 0.1234), (12.3456789, 12.34568)],
)
def test_figures_are_read_as_their_maker_wrote_them(written, read):
    answer = identify(bare(NoiseSpec(max_noise=20, variance=written, variance_rule="nearest")))
    assert answer.design.variance == pytest.approx(read, rel=2e-6)
    assert len(repr(answer.design.variance)) <= len(repr(read))


def test_the_order_of_intervals_does_not_matter():
    table = solve(NoiseSpec(max_noise=5, variance=3.0, small=2))
    mixed = PTable.from_units(
        [dict(reversed(table.units(count).items())) for count in range(table.n_rows)]
    )
    assert mixed != table
    assert identify(mixed).design == identify(table).design


def test_a_table_of_nobody_s_design_says_how_far_it_is_from_the_nearest():
    rng = np.random.default_rng(3)
    rows = [{0: 1000}]
    for count in range(1, 5):
        cuts = np.sort(rng.choice(np.arange(1, 1000), size=4, replace=False))
        parts = np.diff([0, *cuts, 1000]).tolist()
        rows.append({v: n for v, n in zip(range(-2, 3), parts, strict=True) if count + v >= 0})
        rows[-1][0] += 1000 - sum(rows[-1].values())
    answer = identify(PTable.from_units(rows, key_range=1000))
    assert not answer.is_match
    assert answer.distance > 0.01
    assert "no known design" in str(answer)
    assert answer.largest_bias > 0


@pytest.mark.slow
def test_a_single_changed_row_is_pointed_out():
    table = solve(NoiseSpec(max_noise=5, variance=3.0))
    rows = [table.units(count) for count in range(table.n_rows)]
    rows[2] = {0: 2**32}
    answer = identify(PTable.from_units(rows))
    assert not answer.is_match
    assert "(counts 2)" in str(answer)
    far = [row.count for row in answer.rows if row.distance > answer.tolerance]
    assert far == [2]


@pytest.mark.parametrize(
    "table",
    [
        PTable(noise=[[0]], upper=[[256]], key_range=256),
        PTable(noise=[[0], [0]], upper=[[256], [256]], key_range=256),
        PTable(noise=[[0], [10**6]], upper=[[2], [2]], key_range=2),
        PTable(noise=[[5]], upper=[[2]], key_range=2),
    ],
)
def test_odd_tables_are_answered_without_fuss(table):
    assert identify(table).rows[0].count == 0


@pytest.mark.slow
def test_a_wide_table_of_no_design_is_said_to_be_tried_less():
    rows = [Mechanism.discrete_laplace(0.3, max_noise=40, edge="truncate").build()]
    units = [rows[0].units(count) for count in range(rows[0].n_rows)]
    for row in units:
        lowest, highest = min(row), max(row)
        row[lowest] -= row[lowest] // 2
        row[highest] += 2**32 - sum(row.values())
    answer = identify(PTable.from_units(units))
    assert not answer.is_match
    assert not answer.is_exhaustive
    assert "only plain designs are tried" in str(answer)
    assert identify(Mechanism.rounding(5).build()).is_exhaustive


def test_noise_too_flat_for_any_mechanism_is_answered_too():
    quarter = 2**30
    flat = {-1: quarter - 400, 0: quarter + 500, 1: quarter + 499, 2: quarter - 599}
    table = PTable.from_units([{0: 4 * quarter}, flat], key_range=4 * quarter)
    assert identify(table).largest_bias == pytest.approx(0.5, abs=1e-6)
