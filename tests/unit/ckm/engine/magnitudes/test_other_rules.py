"""The rules of τ-ARGUS by hand, and where they differ from those of cellKey."""

import numpy as np
import pytest

from ckm.engine.magnitudes import (
    FewContributors,
    Flex,
    MagnitudeError,
    MagnitudeNoise,
    Proportional,
    perturb_magnitudes,
)
from ckm.engine.magnitudes.other_tools.cellkey import trace_cellkey
from ckm.engine.magnitudes.other_tools.rotation import (
    decimal_keys,
    printed_rotations,
    rotations,
)
from ckm.engine.magnitudes.other_tools.tauargus import trace_tauargus
from ckm.errors import ConfigError
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


@pytest.mark.parametrize("rules", ["cellkey", "tauargus"])
def test_between_two_anchors_noise_is_mixed_at_one_key(rules):
    noise = MagnitudeNoise(ptable=TABLE, scale=Proportional(share=2 / 3), rules=rules)
    # The ratio is 1.5, half way between -1 and -2: 10 - 1.5 * 6.67 = 0.
    total = perturb_magnitudes(_with_key(amounts([[10.0]]), LOW), noise)
    assert total.tolist() == pytest.approx([0.0], abs=1e-12)


def _with_key(cells, key):
    fields = {name: getattr(cells, name) for name in cells.__dataclass_fields__}
    return type(cells)(**(fields | {"key": keys(key), "key_range": 10**18}))


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


def test_rotated_keys_are_not_independent():
    draws = np.random.default_rng(1).integers(0, 10**8, 200_000).astype(np.uint64)
    found = rotations(draws, key_range=10**8, decimals=8, components=2).astype(float)
    assert np.corrcoef(found[:, 0], found[:, 1])[0, 1] == pytest.approx(0.1, abs=0.01)


def test_zero_keys_take_the_keys_of_all_records():
    noise = MagnitudeNoise(
        ptable=TABLE, scale=Proportional(share=0.1), rules="cellkey", zero_keys=True
    )
    cells = _with_key(amounts([[50.0, 0.0]]), LOW)
    with pytest.raises(ConfigError, match="zero_keys"):
        perturb_magnitudes(cells, noise)
    assert perturb_magnitudes(cells, noise, cell_keys=keys(HIGH)).tolist() == [60.0]
    assert perturb_magnitudes(cells, noise, cell_keys=keys(LOW)).tolist() == [40.0]


@pytest.mark.parametrize("rules", ["cellkey", "tauargus"])
def test_amounts_that_are_no_numbers_are_refused(rules):
    cells = amounts([[5.0]])
    cells.total[0] = np.nan
    noise = MagnitudeNoise(ptable=TABLE, scale=Proportional(share=0.1), rules=rules)
    with pytest.raises(MagnitudeError, match="infinite or undefined"):
        perturb_magnitudes(cells, noise)


def test_keys_that_rotate_into_no_number_are_refused_as_cellkey_stops_at_them():
    assert np.isnan(printed_rotations(np.array([1e-8]), components=2, same_key=True)[0, 1])
    with pytest.raises(MagnitudeError, match="leaves no number"):
        cellkey(amounts([[60.0, 40.0]]), 1e-8, factors=(1.0, 0.5))


def test_integer_keys_become_the_nearest_decimals():
    found = decimal_keys(keys(4 * 10**17, 2**63), key_range=10**18)
    assert found.tolist() == [0.4, 2**63 / 10**18]
    assert decimal_keys(keys(2**63), key_range=2**64).tolist() == [0.5]
