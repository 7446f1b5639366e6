"""Empty cells: which stayed, which appeared, which went."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from risk.utility.catalogue import Measure, defined, undefined
from risk.wellformed import require_whole

if TYPE_CHECKING:
    from risk.utility.pairs import Pairs


def zeros(pairs: Pairs, *, threshold: int = 4) -> tuple[Measure, ...]:
    """Count zeros, false zeros and false non-zeros.

    Parameters
    ----------
    pairs
        The cells.
    threshold
        The largest small count.

    Examples
    --------
    >>> from risk.utility import Pairs
    >>> found = zeros(Pairs(original=[1, 0, 9], published=[0, 0, 9]), threshold=4)
    >>> {m.name: m.value for m in found if m.name in {"false_zeros", "true_zeros_pct"}}
    {'false_zeros': 1.0, 'true_zeros_pct': 50.0}
    """
    require_whole(threshold, name="threshold", least=1)
    n, was_zero, is_zero = pairs.n_cells, pairs.o == 0, pairs.p == 0
    kept, gone = was_zero & is_zero, is_zero & ~was_zero
    n_zero = np.count_nonzero(is_zero)
    return (
        defined("zeros_original", np.count_nonzero(was_zero), base=n),
        defined("zeros_published", n_zero, base=n),
        defined("false_zeros", np.count_nonzero(gone), base=n),
        defined("false_nonzeros", np.count_nonzero(was_zero & ~is_zero), base=n),
        defined("small_to_zero", np.count_nonzero(pairs.o[gone] <= threshold), base=n),
        defined("true_zeros_pct", 100 * np.count_nonzero(kept) / n_zero, base=n_zero)
        if n_zero
        else undefined("true_zeros_pct", "no published count is 0"),
    )
