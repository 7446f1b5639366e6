"""How far published totals of amounts lie from original ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from footing.messages import Message
from risk.errors import RiskError
from risk.wellformed import read_numbers

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

_LEVELS = (0.5, 0.75, 0.9, 0.95, 0.99, 1.0)
_BOUNDS = (0.01, 0.05, 0.1, 0.25)


@dataclass(frozen=True, slots=True, kw_only=True)
class AmountDeviations:
    """How far published totals lie from original ones. Computed from originals: internal.

    Parameters
    ----------
    cells
        How many cells are compared; those that are 0 before and after are left out.
    bias
        Published less original, summed over all cells, as a share of the summed originals
        without their signs.
    mean_absolute, root_mean_square
        The mean of the deviations without sign, and the root of their mean square.
    relative
        For each level, the relative deviation without sign that such a share of the cells does
        not exceed. Cells whose original is 0 have none.
    within
        For each bound, the share of the cells whose relative deviation does not exceed it.
    """

    cells: int
    bias: float
    mean_absolute: float
    root_mean_square: float
    relative: dict[float, float]
    within: dict[float, float]

    def to_frame(self) -> pd.DataFrame:
        """Give one line per figure."""
        import pandas as pd

        names = ("cells", "bias", "mean_absolute", "root_mean_square")
        lines = [(name, float(getattr(self, name))) for name in names]
        lines += [(f"relative_{level:g}", value) for level, value in self.relative.items()]
        lines += [(f"within_{bound:g}", value) for bound, value in self.within.items()]
        return pd.DataFrame(lines, columns=["figure", "value"])


def amount_deviations(original: ArrayLike, published: ArrayLike) -> AmountDeviations:
    """Measure how far published totals lie from original ones.

    With d the published less the original total X: ``sum(d) / sum(|X|)``, ``mean(|d|)``,
    ``sqrt(mean(d**2))``, and quantiles of ``|d / X|`` that are values of cells.
    """
    before = read_numbers(original, name="original").ravel()
    after = read_numbers(published, name="published").ravel()
    if before.shape != after.shape:
        raise RiskError(
            Message(
                "original and published must be aligned, not {number} and {number_2} cells.",
                number=len(before),
                number_2=len(after),
            )
        )
    is_cell = (before != 0) | (after != 0)
    before, after = before[is_cell], after[is_cell]
    if not before.any():
        raise RiskError(
            Message("There is no original total other than 0 to compare with."),
            hint=Message("leave out variables without contributions"),
        )
    off = after - before
    has_size = before != 0
    relative = np.sort(np.abs(off[has_size] / before[has_size]))
    places = [max(0, int(np.ceil(level * len(relative))) - 1) for level in _LEVELS]
    return AmountDeviations(
        cells=len(before),
        bias=float(off.sum() / np.abs(before).sum()),
        mean_absolute=float(np.abs(off).mean()),
        root_mean_square=float(np.sqrt((off**2).mean())),
        relative={
            level: float(relative[at]) for level, at in zip(_LEVELS, places, strict=True)
        },
        within={bound: float((relative <= bound).mean()) for bound in _BOUNDS},
    )
