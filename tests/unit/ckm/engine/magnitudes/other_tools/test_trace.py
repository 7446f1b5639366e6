"""The lookup of other tools: mixed between anchors, and kept from crossing zero."""

import numpy as np
import pytest

from ckm.engine.magnitudes import (
    MagnitudeNoise,
    Proportional,
    perturb_magnitudes,
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
