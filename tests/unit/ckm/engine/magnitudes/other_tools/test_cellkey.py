"""The rules of cellKey by hand; `tests/golden/test_magnitudes.py` has what the program gave."""

import numpy as np
import pytest

from ckm.engine.magnitudes import (
    FewContributors,
    MagnitudeError,
    MagnitudeNoise,
    Proportional,
)
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
