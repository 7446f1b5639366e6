"""Designs found back from tables alone."""

import numpy as np
import pytest

from ptable import NoiseSpec, PTable, solve
from ptable.design.mechanisms import Mechanism
from ptable.design.stack import StackedSpec
from ptable.proof.identify import identify


@pytest.mark.slow
@pytest.mark.parametrize(
    "design",
    [
        NoiseSpec(max_noise=2, variance=1.0),
        NoiseSpec(max_noise=5, variance=3.0, small=2),
        NoiseSpec(max_noise=5, variance=2.0, monotone="left"),
        NoiseSpec(max_noise=5, variance=1.7, monotone="both"),
        NoiseSpec.r_ptable(5, 2.0),
        NoiseSpec.r_ptable(5, 2.0, monotone=False),
        NoiseSpec.r_ptable(5, 2.0, p_stay=0.3),
        NoiseSpec(max_noise=5, variance=2.0, p_stay=0.5),
        NoiseSpec(max_noise=3, variance=1.0, zero_bias=0.1),
        NoiseSpec(max_noise=3, variance=1.0, zero_bias=0.1, zero_variance=0.2),
        NoiseSpec(max_noise=3, variance=1.0, step=3, anchors=(1, 3)),
        StackedSpec(
            parts=(
                (0, NoiseSpec(max_noise=5, variance=2.0)),
                (6, NoiseSpec(max_noise=5, variance=6.0)),
            )
        ),
        Mechanism.rounding(5),
        Mechanism.rounding(4, ties="even"),
        Mechanism.ons_10_5(),
        Mechanism.random_rounding(3),
        Mechanism.small_count_rounding(3),
        Mechanism.discrete_laplace(0.8, max_noise=8),
        Mechanism.discrete_laplace(0.8, max_noise=8, edge="fold", zeros="keep"),
        Mechanism.discrete_gaussian(2.5, max_noise=8, edge="truncate"),
    ],
)
def test_a_design_is_found_back_from_its_integers(design):
    table = design.build() if isinstance(design, Mechanism) else solve(design)
    bare = PTable(
        noise=table.noise,
        upper=table.upper,
        key_range=table.key_range,
        large_counts=table.large_counts,
        step=table.step,
        anchors=table.anchors,
    )
    answer = identify(bare)
    assert answer.is_match, str(answer)
    assert answer.distance < 1e-6


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
