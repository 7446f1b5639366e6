"""The rules of τ-ARGUS by hand, and where they differ from those of cellKey."""

import numpy as np
import pytest

from ckm.engine.magnitudes import (
    FewContributors,
    Flex,
    MagnitudeNoise,
    Proportional,
)
from ckm.engine.magnitudes.noise.scale import bases_of_records
from ckm.engine.magnitudes.other_tools.cellkey import trace_cellkey
from ckm.engine.magnitudes.other_tools.rotation import (
    rotations,
)
from ckm.engine.magnitudes.other_tools.tauargus import trace_tauargus
from ptable import PTable
from tests.amounts import amounts

# Row 1 has noise -1 and 1, row 2 has -2 and 2: the lower half of the keys goes down.
TABLE = PTable(
    noise=[[0], [-1, 1], [-2, 2]], upper=[[8], [4, 8], [4, 8]], key_range=8, anchors=(0, 1, 2)
)

STAY = PTable(noise=[[0], [-1, 0, 1]], upper=[[8], [1, 7, 8]], key_range=8)

LOW, HIGH = 2 * 10**17, 9 * 10**17  # 0.2 becomes 0.00000002, 0.9 becomes 0.00000009


def keys(*numbers):
    return np.array(numbers, np.uint64)


def argus(cells, key, **fields):
    noise = MagnitudeNoise(
        **({"ptable": TABLE, "scale": Proportional(share=0.1), "rules": "tauargus"} | fields)
    )
    return trace_tauargus(cells, noise, keys=keys(key), key_range=10**18)


def cellkey(cells, key, **fields):
    noise = MagnitudeNoise(
        **({"ptable": TABLE, "scale": Proportional(share=0.1), "rules": "cellkey"} | fields)
    )
    return trace_cellkey(cells, noise, keys=np.array([key]))


def test_two_components_one_after_the_other():
    found = argus(amounts([[60.0, 40.0]]), 2 * 10**17 + 10**16, factors=(1.0, 0.5))
    # 0.21: rotated 0.10000002 (down), again 0.00000021 (down); 100 - 2·6 = 88, 88 - 2·2 = 84.
    assert found.keys.tolist() == [[0.10000002, 0.00000021]]
    assert found.steps.tolist() == [[6.0, 2.0]]
    assert found.totals.tolist() == [84.0]


def test_keys_are_rotated_before_the_first_component_at_fixed_decimals():
    assert argus(amounts([[50.0]]), 5 * 10**17).keys.tolist() == [[0.00000005]]
    assert argus(amounts([[50.0]]), 5 * 10**17 + 10).keys.tolist() == [[0.00000005]]
    short = rotations(keys(348_200_000_000_010_000), key_range=10**18, decimals=4, components=3)
    assert short.tolist() == [[4823, 8234, 2348]]
    hashed = rotations(keys(2**63), key_range=2**64, decimals=3, components=1)
    assert hashed.tolist() == [[5]]
    top = rotations(keys(2**64 - 1), key_range=2**64, decimals=3, components=1)
    assert top.tolist() == [[0]], "what rounds to 1 starts again"


def test_factors_count_below_the_flex_point_as_they_do_not_in_cellkey():
    flex = Flex(point=1000.0, small=0.1, large=0.05)
    cells = amounts([[60.0, 40.0]])
    common = {"scale": flex, "factors": (1.0, 0.1)}
    assert argus(cells, LOW, **common).steps.tolist() == [[6.0, 0.4]]
    assert cellkey(cells, 0.2, **common).steps.tolist() == [[6.0, 4.0]]


def test_the_least_noise_is_for_the_first_component_and_not_below_the_separation_point():
    cells = amounts([[60.0, 40.0]])
    common = {"sensitive": (FewContributors(least=3),), "least_noise": 1.0, "ptable": STAY}
    both = {**common, "factors": (1.0, 1.0)}
    # No noise counts as upwards: the first component moves by one unit, the second does not.
    key = 4 * 10**17 + 5 * 10**16 + 5 * 10**15  # 0.455: 0.55000004, then 0.50000045
    assert argus(cells, key, **both).noise.tolist() == [[6.0, 0.0]]
    assert cellkey(cells, 0.455, **both).noise.tolist() == [[6.0, 4.0]]
    small = {**common, "small_cells": STAY}
    separation = MagnitudeNoise(scale=Proportional(share=0.1), **small).separation
    assert separation == pytest.approx(0.5 / 0.1)
    tiny = amounts([[separation * 0.9]])
    assert argus(tiny, key, **small).noise.tolist() == [[0.0]]
    assert argus(amounts([[separation * 1.1]]), key, **small).noise[0, 0] > 0


def test_only_the_first_component_is_kept_from_crossing_zero():
    cells = amounts([[10.0]])
    large = {"scale": Proportional(share=1.0), "sensitive": (FewContributors(least=3),)}
    found = argus(cells, LOW, least_noise=3.0, **large)
    assert found.totals.tolist() == [0.0]
    negative = argus(amounts([[-10.0]]), LOW, least_noise=3.0, **large)
    assert negative.totals.tolist() == [0.0]


def test_a_base_exactly_at_the_separation_point_gets_no_noise():
    fields = {"ptable": TABLE, "small_cells": STAY}
    separation = MagnitudeNoise(scale=Proportional(share=0.1), **fields).separation
    assert argus(amounts([[separation]]), LOW, **fields).noise.tolist() == [[0.0]]
    assert argus(amounts([[separation * 1.01]]), LOW, **fields).noise[0, 0] < 0


def test_a_later_component_that_is_left_out_does_not_rotate_the_key():
    key = 4 * 10**17 + 5 * 10**16 + 5 * 10**15
    found = argus(
        amounts([[10.0, -5.0, -4.8]]),
        key,
        scale=Proportional(share=0.5),
        factors=(1.0, 1.0, 0.01),
        ptable=STAY,
        small_cells=STAY,
    )
    # The total of 0.2 has no room for a unit of 2.5, and 0.2 / 0.5 is below the point of 1.
    assert found.steps[0].tolist() == pytest.approx([1.0, 0.0, -0.024])
    assert found.keys[0, 0] == 0.55000004
    assert found.keys[0, 2] == 0.50000045


def test_totals_of_zero_stop_nobody():
    for values in ([5.0, -5.0], [0.0], []):
        found = argus(amounts([values]), LOW, factors=(1.0, 0.5))
        assert found.totals.tolist() == [0.0]
        assert cellkey(amounts([values]), 0.2, factors=(1.0, 0.5)).totals.tolist() == [0.0]


def test_signs_and_components_beyond_the_records():
    found = argus(amounts([[-60.0, -40.0]]), 2 * 10**17 + 10**16, factors=(1.0, 0.5, 0.5))
    assert found.totals.tolist() == [-84.0]
    assert found.steps[0, 2] == 0.0


# --- cell by cell, in plain Python --------------------------------------------------------

SEP = PTable(  # the p-table of small cells, in units of the amounts
    noise=[[0], [-1, 0, 1], [-2, 0, 2]],
    upper=[[8], [3, 5, 8], [3, 5, 8]],
    key_range=8,
    anchors=(0, 1, 2),
)
ODD = PTable(noise=[[0], [-1, 0, 2]], upper=[[8], [4, 6, 8]], key_range=8, anchors=(0, 1))


def units_at(table, ratio, key):
    """Mix the noise of the two anchors around a ratio; within 1e-8 of one, with none."""
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
    return (1 - share) * noise(low) + share * (noise(high) if ratio - low > 1e-8 else 0.0)


def share_of(noise, base):
    """Give the share of a base: none up to the separation point, where the share is flat."""
    is_flat = not isinstance(noise.scale, Flex) or abs(base) < noise.scale.point
    if is_flat and abs(base) <= noise.separation:
        return 0.0
    return float(noise.scale.shares([abs(base)])[0])


def repeat(noise, bases, total, n_records, turned, *, is_sensitive):
    """Follow the steps of τ-ARGUS for one cell; give units, tables, noise, keys, the total."""
    steps, tables, moves, used = [], [], [], []
    running, turns, point = total, 0, noise.separation
    name = "all" if noise.ptable else ("even" if n_records % 2 == 0 else "odd")
    plain = noise.ptable or (noise.even if n_records % 2 == 0 else noise.odd)
    for place, (base, factor) in enumerate(zip(bases, noise.factors, strict=True)):
        is_large = abs(base) >= point
        step = base * factor * share_of(noise, base) if is_large else 1.0
        judged = base
        if abs(running) < abs(step):
            step, judged = running, running / (noise.scale.small * factor)
        is_small = False
        if place:
            is_large = is_large and abs(judged) >= point
        else:
            step = step if abs(judged) >= point else 1.0
            is_large = abs(judged) > point
            is_small = not is_large and noise.small_cells is not None
        key = turned[min(turns, len(bases) - 1)]
        used.append(key)
        move = 0.0
        acts = (is_large or is_small) and place < n_records
        if acts:
            table = noise.small_cells if is_small else plain
            v = 0.0
            if running != 0:
                v = units_at(table, abs(running) / abs(step) if step else 99.0, key)
            if place:
                move = (1 if running >= 0 else -1) * abs(step) * v
            else:
                extra = noise.least_noise if is_sensitive and abs(base) >= point else 0.0
                size = abs(step) * (extra + abs(v))
                move = (1 if running >= 0 else -1) * (1 if v >= 0 else -1) * size
                if v < 0 and abs(move) > abs(running):
                    move = -running
        steps.append(step if acts else 0.0)
        tables.append(("small_cells" if is_small else name) if acts else "")
        moves.append(move)
        running += move
        turns += bool(acts or place == 0)
    return steps, tables, moves, used, running if n_records else 0.0


RULE = (FewContributors(least=3),)
SETTINGS = {
    "plain": {},
    "several": {"factors": (1.0, 0.5, 0.3)},
    "few digits": {"factors": (1.0, 0.5), "key_decimals": 3},
    "large": {"scale": Proportional(share=1.0), "factors": (1.0, 1.0)},
    "sensitive": {"sensitive": RULE, "least_noise": 0.75, "factors": (1.0, 0.5)},
    "flex": {"scale": Flex(point=40.0, small=0.4, large=0.05), "factors": (1.0, 0.5, 0.2)},
    "parity": {"ptable": None, "even": TABLE, "odd": ODD},
    "small": {"small_cells": SEP, "scale": Proportional(share=0.1), "factors": (1.0, 0.5)},
    "small, flex": {
        "small_cells": SEP,
        "scale": Flex(point=5.0, small=0.1, large=0.05),
        "factors": (1.0, 0.4),
        "sensitive": RULE,
        "least_noise": 0.5,
    },
    "small, large": {
        "small_cells": SEP,
        "scale": Proportional(share=0.9),
        "factors": (1.0, 0.9, 0.8),
        "sensitive": RULE,
        "least_noise": 0.5,
    },
    "mean": {"base": "mean"},
    "range": {"base": "range", "sensitive": RULE, "least_noise": 0.5},
    "sum": {"base": "sum"},
}


@pytest.mark.parametrize("changes", SETTINGS.values(), ids=SETTINGS)
def test_every_step_is_that_of_a_cell_by_cell_repetition(changes):
    fields = {"ptable": TABLE, "scale": Proportional(share=0.3), "rules": "tauargus"}
    noise = MagnitudeNoise(**(fields | changes))
    rng = np.random.default_rng(6)
    values = [
        (np.round(rng.lognormal(2.5, 1.3, n), 2) * rng.choice([-1, 1, 1, 1], n)).tolist()
        for n in [*range(6)] * 20
    ]
    point = noise.separation
    values += [[0.0], [5.0, 0.0], [5.0, -5.0], [30.0, -29.5], [9.0, -8.75, 0.25]] * 3
    values += [[point], [point * 0.99], [point * 1.01], [30.0, point], [30.0, -30.0, point]]
    cells = amounts(values)
    drawn = rng.integers(0, 10**18, len(values), np.uint64)
    parts, size = len(noise.factors), 10**noise.key_decimals
    trace = trace_tauargus(cells, noise, keys=drawn, key_range=10**18)
    bases = bases_of_records(cells, base=noise.base, components=parts)
    turned = rotations(drawn, key_range=10**18, decimals=noise.key_decimals, components=parts)
    moved = 0
    for place in range(len(values)):
        steps, tables, moves, used, total = repeat(
            noise,
            bases[place].tolist(),
            float(cells.total[place]),
            len(values[place]),
            (turned[place] / size).tolist(),
            is_sensitive=noise.sensitive != () and 0 < cells.contributors[place] < 3,
        )
        assert trace.totals[place] == pytest.approx(total, rel=1e-9, abs=1e-9)
        assert trace.noise[place].tolist() == pytest.approx(moves, rel=1e-9, abs=1e-9)
        assert trace.steps[place].tolist() == pytest.approx(steps, rel=1e-9, abs=1e-9)
        assert trace.tables[place].tolist() == tables
        assert trace.keys[place].tolist() == used
        moved += total not in (0.0, cells.total[place])
    assert moved > 20


def test_a_ratio_within_1e_8_of_an_anchor_mixes_the_next_row_as_none():
    scale = Proportional(share=1 / (1 + 1e-9))
    (move,) = argus(amounts([[1000.0]]), LOW, scale=scale).noise.ravel()
    assert move == pytest.approx(-1000.0 * (1 - 2e-9), rel=1e-10)
