"""The rules of cellKey by hand; `tests/golden/test_magnitudes.py` has what the program gave."""

import numpy as np
import pytest

from ckm.engine.magnitudes import (
    FewContributors,
    Flex,
    MagnitudeError,
    MagnitudeNoise,
    Proportional,
)
from ckm.engine.magnitudes.noise.scale import bases_of_records
from ckm.engine.magnitudes.other_tools.cellkey import trace_cellkey
from ckm.engine.magnitudes.other_tools.rotation import (
    printed_rotations,
)
from ptable import PTable
from tests.amounts import amounts

# Row 1 has noise -1 and 1, row 2 has -2 and 2: the lower half of the keys goes down.
TABLE = PTable(
    noise=[[0], [-1, 1], [-2, 2]], upper=[[8], [4, 8], [4, 8]], key_range=8, anchors=(0, 1, 2)
)

STAY = PTable(noise=[[0], [-1, 0, 1]], upper=[[8], [1, 7, 8]], key_range=8)


def cellkey(cells, key, **fields):
    noise = MagnitudeNoise(
        **({"ptable": TABLE, "scale": Proportional(share=0.1), "rules": "cellkey"} | fields)
    )
    return trace_cellkey(cells, noise, keys=np.array([key]))


def test_no_noise_counts_as_upwards_in_other_tools():
    fields = {"ptable": STAY, "sensitive": (FewContributors(least=3),), "least_noise": 1.0}
    assert cellkey(amounts([[50.0]]), 0.5, **fields).noise.tolist() == [[5.0]]


def test_in_other_tools_two_amounts_of_one_person_have_one_relative_noise():
    """Their ratio is published exactly; ours is not, see the tests of our own noise."""
    income, tax = (amounts([[value]]) for value in (1234.0, 567.0))
    for key in (0.1, 0.34, 0.9):
        ours, theirs = cellkey(income, key).totals[0], cellkey(tax, key).totals[0]
        assert ours / theirs == pytest.approx(1234 / 567, rel=1e-14)
        assert ours != 1234


def test_keys_that_rotate_into_no_number_are_refused_as_cellkey_stops_at_them():
    assert np.isnan(printed_rotations(np.array([1e-8]), components=2, same_key=True)[0, 1])
    with pytest.raises(MagnitudeError, match="leaves no number"):
        cellkey(amounts([[60.0, 40.0]]), 1e-8, factors=(1.0, 0.5))


# --- cell by cell, in plain Python --------------------------------------------------------

SEP = PTable(  # the p-table of small cells, in units of the amounts
    noise=[[0], [-1, 0, 1], [-2, 0, 2]],
    upper=[[8], [3, 5, 8], [3, 5, 8]],
    key_range=8,
    anchors=(0, 1, 2),
)
ODD = PTable(noise=[[0], [-1, 0, 2]], upper=[[8], [4, 6, 8]], key_range=8, anchors=(0, 1))


def units_at(table, ratio, key):
    """Mix the noise of the two anchors around a ratio, at one decimal key."""
    anchors = table.counts.tolist()
    ratio = min(ratio, anchors[-1])
    low = max(a for a in anchors if a <= ratio)
    high = min((a for a in anchors if a > ratio), default=low)

    def noise(anchor):
        running = 0
        for v, n in sorted(table.units(anchor).items()):
            running += n / table.key_range
            if key < running:
                return v / table.step
        raise AssertionError

    share = (ratio - low) / max(high - low, 1)
    return (1 - share) * noise(low) + share * noise(high)


def repeat(noise, bases, total, n_records, keys, *, is_sensitive):
    """Follow the steps of cellKey for one cell; give units, tables, noise and the total."""
    steps, tables, moves = [], [], []
    running = total
    is_open = total != 0 and keys[0] != 0
    parity = noise.ptable or (noise.even if n_records % 2 == 0 else noise.odd)
    name = "all" if noise.ptable else ("even" if n_records % 2 == 0 else "odd")
    for place, (base, factor) in enumerate(zip(bases, noise.factors, strict=True)):
        is_flex = isinstance(noise.scale, Flex)
        scaled = factor if not is_flex or abs(base) >= noise.scale.point else 1.0
        step = base * float(noise.scale.shares([base])[0]) * scaled
        is_small = abs(base) < noise.separation
        step = 1.0 if is_small else step
        stays = False
        if abs(running) < abs(step):
            step = running
            if abs(running / (noise.scale.small * factor)) < noise.separation:
                step, is_small = 1.0, True
                stays = place > 0 or not is_flex
        acts = is_open and place < n_records
        move = 0.0
        if acts and not stays:
            v = 0.0
            if keys[place] != 0 and running != 0:
                table = noise.small_cells if is_small else parity
                ratio = abs(running) / abs(step) if step else table.counts[-1]
                v = units_at(table, ratio, keys[place])
            size = abs(step) * ((noise.least_noise if is_sensitive else 0.0) + abs(v))
            move = (1 if running >= 0 else -1) * (1 if v >= 0 else -1) * size
            if v < 0 and abs(move) > abs(running):
                move = -running
        steps.append(step if acts else 1.0)
        tables.append("small_cells" if is_small else name)
        moves.append(move)
        running += move
    return steps, tables, moves, total + sum(moves) if is_open else 0.0


RULE = (FewContributors(least=3),)
SETTINGS = {
    "plain": {},
    "several": {"factors": (1.0, 0.5, 0.3)},
    "turned": {"factors": (1.0, 0.5), "same_key": False},
    "large": {"scale": Proportional(share=1.0), "factors": (1.0, 1.0)},
    "sensitive": {"sensitive": RULE, "least_noise": 0.75, "factors": (1.0, 0.5)},
    "flex": {"scale": Flex(point=40.0, small=0.4, large=0.05), "factors": (1.0, 0.5, 0.2)},
    "parity": {"ptable": None, "even": TABLE, "odd": ODD},
    "small": {"small_cells": SEP, "scale": Proportional(share=0.1), "factors": (1.0, 0.5)},
    "small, flex": {
        "small_cells": SEP,
        "scale": Flex(point=40.0, small=0.1, large=0.05),
        "factors": (1.0, 0.4),
        "sensitive": RULE,
        "least_noise": 0.5,
    },
    "small, large": {
        "small_cells": SEP,
        "scale": Proportional(share=0.9),
        "factors": (1.0, 0.9, 0.8),
    },
    "mean": {"base": "mean"},
    "range": {"base": "range", "sensitive": RULE},
    "sum": {"base": "sum"},
}


@pytest.mark.parametrize("changes", SETTINGS.values(), ids=SETTINGS)
def test_every_step_is_that_of_a_cell_by_cell_repetition(changes):
    fields = {"ptable": TABLE, "scale": Proportional(share=0.3), "rules": "cellkey"}
    noise = MagnitudeNoise(**(fields | changes))
    rng = np.random.default_rng(6)
    values = [
        (np.round(rng.lognormal(2.5, 1.3, n), 2) * rng.choice([-1, 1, 1, 1], n)).tolist()
        for n in [*range(6)] * 20
    ]
    values += [[0.0], [5.0, 0.0], [5.0, -5.0], [30.0, -29.5], [9.0, -8.75, 0.25]] * 3
    cells = amounts(values)
    keys = np.round(rng.random(len(values)), 8)
    keys[::9] = 0.0
    keys[4::9] = 0.5  # of one digit, turned into 0.05, then 0
    trace = trace_cellkey(cells, noise, keys=keys)
    parts = len(noise.factors)
    bases = bases_of_records(cells, base=noise.base, components=parts)
    turned = printed_rotations(keys, components=parts, same_key=noise.same_key)
    moved = 0
    for place in range(len(values)):
        steps, tables, moves, total = repeat(
            noise,
            bases[place].tolist(),
            float(cells.total[place]),
            len(values[place]),
            [0.0 if keys[place] == 0 else turned[place, 0], *turned[place, 1:].tolist()],
            is_sensitive=noise.sensitive != () and 0 < cells.contributors[place] < 3,
        )
        assert trace.totals[place] == pytest.approx(total, rel=1e-9, abs=1e-9)
        assert trace.noise[place].tolist() == pytest.approx(moves, rel=1e-9, abs=1e-9)
        assert trace.steps[place].tolist() == pytest.approx(steps, rel=1e-9, abs=1e-9)
        assert trace.tables[place].tolist() == tables
        moved += total not in (0.0, cells.total[place])
    assert moved > 20
    assert trace.keys.tolist() == turned.tolist()


def test_from_the_flex_point_on_factors_count():
    flex = Flex(point=50.0, small=0.1, large=0.05)
    for base, step in ((50.0, 2.5), (49.0, 4.9)):
        found = cellkey(amounts([[90.0, base]]), 0.25, scale=flex, factors=(1.0, 0.5))
        assert found.steps[0, 1] == pytest.approx(step)
