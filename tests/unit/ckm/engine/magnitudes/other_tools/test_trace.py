"""The lookup of other tools: mixed between anchors, and kept from crossing zero."""

import numpy as np
import pytest

from ckm.engine.magnitudes import (
    MagnitudeNoise,
    Proportional,
    perturb_magnitudes,
)
from ckm.engine.magnitudes.other_tools.trace import (
    Trace,
    clamped_noise,
    interpolated,
    looked_up,
    table_names,
)
from ptable import PTable
from tests.amounts import amounts

# Row 1 has noise -1 and 1, row 2 has -2 and 2: the lower half of the keys goes down.
TABLE = PTable(
    noise=[[0], [-1, 1], [-2, 2]], upper=[[8], [4, 8], [4, 8]], key_range=8, anchors=(0, 1, 2)
)

LOW, HIGH = 2 * 10**17, 9 * 10**17  # 0.2 becomes 0.00000002, 0.9 becomes 0.00000009


def keys(*numbers):
    return np.array(numbers, np.uint64)


@pytest.mark.parametrize("rules", ["cellkey", "tauargus"])
def test_between_two_anchors_noise_is_mixed_at_one_key(rules):
    noise = MagnitudeNoise(ptable=TABLE, scale=Proportional(share=2 / 3), rules=rules)
    # The ratio is 1.5, half way between -1 and -2: 10 - 1.5 * 6.67 = 0.
    total = perturb_magnitudes(_with_key(amounts([[10.0]]), LOW), noise)
    assert total.tolist() == pytest.approx([0.0], abs=1e-12)


def _with_key(cells, key):
    fields = {name: getattr(cells, name) for name in cells.__dataclass_fields__}
    return type(cells)(**(fields | {"key": keys(key), "key_range": 10**18}))


HALVES = PTable(  # half steps, anchors 0, 1, 2, 4; the lower half of the keys goes down
    noise=[[0], [-1, 1], [-2, 3], [-4, 7]],
    upper=[[8], [4, 8], [4, 8], [4, 8]],
    key_range=8,
    step=2,
    anchors=(0, 1, 2, 4),
)
DOWN, UP = 1, 7


@pytest.mark.parametrize(
    ("ratio", "down", "up"),
    [
        (0.0, 0.0, 0.0),
        (0.5, -0.25, 0.25),  # half way from 0 to row 1
        (1.0, -0.5, 0.5),
        (1.5, -0.75, 1.0),
        (2.0, -1.0, 1.5),
        (3.0, -1.5, 2.5),  # half way over a gap of two
        (3.5, -1.75, 3.0),
        (4.0, -2.0, 3.5),
        (9.0, -2.0, 3.5),  # all larger ones have the last row
    ],
)
def test_noise_is_mixed_between_the_anchors_around_a_ratio_at_one_key(ratio, down, up):
    found = interpolated(HALVES, np.full(2, ratio), keys(DOWN, UP), key_range=8)
    assert found.tolist() == pytest.approx([down, up])


def test_a_ratio_within_the_tolerance_of_an_anchor_mixes_the_next_row_as_none():
    ratios = np.array([1 + 1e-9, 1 + 1e-7, 1.5])
    found = interpolated(HALVES, ratios, keys(UP, UP, UP), key_range=8, tolerance=1e-8)
    assert found[0] == pytest.approx(0.5 * (1 - 1e-9), abs=1e-15)
    assert found[1] == pytest.approx(0.5 + 1e-7, abs=1e-12)
    assert found[2] == 1.0
    at = interpolated(HALVES, np.array([1.25]), keys(UP), key_range=8, tolerance=0.25)
    assert at.tolist() == [0.75 * 0.5], "what is just as far is within"


def test_a_key_range_of_its_own_is_scaled_to_the_p_table():
    found = interpolated(HALVES, np.ones(2), keys(49, 50), key_range=100)
    assert found.tolist() == [-0.5, 0.5]


def noise_of(**fields):
    return MagnitudeNoise(**({"scale": Proportional(share=0.1), "rules": "cellkey"} | fields))


def test_a_cell_has_the_p_table_of_all_or_of_the_parity_of_its_records():
    cells = amounts([[5.0], [5.0, 0.0], [5.0, 4.0, 3.0], []])
    assert table_names(noise_of(ptable=HALVES), cells).tolist() == ["all"] * 4
    by_parity = noise_of(even=HALVES, odd=TABLE)
    assert table_names(by_parity, cells).tolist() == ["odd", "even", "odd", "even"]


def test_every_cell_is_looked_up_in_the_table_of_its_name_at_its_total_over_its_step():
    noise = noise_of(even=HALVES, odd=TABLE, small_cells=TABLE)
    names = np.array(["even", "odd", "small_cells", "", "all", "even", "even", "even"])
    totals = np.array([3.0, 30.0, -2.0, 5.0, 5.0, 0.0, -3.0, 5.0])
    steps = np.array([2.0, 20.0, 1.0, 1.0, 1.0, 1.0, -2.0, 0.0])
    found = looked_up(
        noise, names, totals=totals, steps=steps, keys=keys(*[UP] * 8), key_range=8
    )
    # ratios 1.5, 1.5 and 2; no name, no table, no total; 1.5 without signs; no step: the last
    assert found.tolist() == pytest.approx([1.0, 1.5, 2.0, 0.0, 0.0, 0.0, 1.0, 3.5])
    assert looked_up(
        noise,
        np.array(["even"]),
        totals=np.array([1.2]),
        steps=np.array([1.0]),
        keys=keys(UP),
        key_range=8,
        tolerance=0.3,
    ).tolist() == pytest.approx([0.8 * 0.5])


@pytest.mark.parametrize(
    ("running", "step", "v", "extra", "change"),
    [
        (100.0, 6.0, 2.0, 0.0, 12.0),
        (100.0, 6.0, -2.0, 0.0, -12.0),
        (100.0, -6.0, 2.0, 0.0, 12.0),  # the sign of a step does not count
        (-100.0, 6.0, 2.0, 0.0, -12.0),  # noise goes with the sign of the amount
        (-100.0, 6.0, -2.0, 0.0, 12.0),
        (10.0, 6.0, -2.0, 0.0, -10.0),  # not across zero
        (-10.0, 6.0, -2.0, 0.0, 10.0),
        (10.0, 6.0, 0.0, 1.0, 6.0),  # no noise counts as upwards
        (10.0, 2.0, -1.0, 0.5, -3.0),
        (-10.0, 2.0, -1.0, 0.5, 3.0),
        (0.0, 6.0, 2.0, 0.0, 12.0),
        (0.0, 6.0, -2.0, 0.0, 0.0),
    ],
)
def test_noise_moves_an_amount_from_or_to_zero_and_not_beyond(running, step, v, extra, change):
    parts = (np.array([part]) for part in (running, step, v, extra))
    assert clamped_noise(*parts).tolist() == [change]


def test_a_trace_shows_no_number_when_it_is_printed():
    line = np.array([[123457.0]])
    trace = Trace(keys=line, steps=line, tables=line.astype(str), noise=line, totals=line[0])
    assert "123457" not in repr(trace)
    assert trace != Trace(
        keys=line, steps=line, tables=line.astype(str), noise=line, totals=line[0]
    )
    assert not hasattr(trace, "__dict__")
    with pytest.raises(TypeError):
        Trace(line, line, line, line, line)
