"""Rules of offices beside those of the Handbook's size: requests, and sums of 0."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ckm.methods.suppression.primary import Amounts, Primary
from footing.arrays import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Requested:
    """A cell is unsafe of which one who asked has more than `percent`: passive confidentiality.

    Parameters
    ----------
    percent
        The largest share of a safe cell.
    margin
        The least protection on both sides, in percent of the cell.

    Notes
    -----
    With ``a`` the largest contribution of one who asked and ``X`` the total: unsafe if
    ``a > (percent / 100) X``. The interval must reach to ``(100 / percent) a``, the least total
    of which that is a safe share, and as far below.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> given = SimpleNamespace(total=np.array([100.0, 100.0]), asked=np.array([80.0, 0.0]))
    >>> Requested(percent=50).on_amounts(given).upper
    array([60.,  0.])
    """

    percent: float
    margin: float = 10.0

    def on_amounts(self, amounts: Amounts) -> Primary:
        """Apply the rule to amounts.

        Parameters
        ----------
        amounts
            Of every cell.

        Examples
        --------
        >>> from types import SimpleNamespace
        >>> given = SimpleNamespace(total=np.array([100.0]), asked=np.array([40.0]))
        >>> Requested(percent=50).on_amounts(given).is_primary
        array([False])
        """
        request_amounts, total = np.abs(amounts.asked), np.abs(amounts.total)
        is_primary = request_amounts > self.percent / 100 * total
        need = np.maximum(
            100 / self.percent * request_amounts - total, self.margin / 100 * total
        )
        need = np.where(is_primary, need, 0.0)
        return Primary(is_primary=is_primary, lower=need, upper=need)

    def rest(self, amounts: Amounts, kind: int) -> Floats:
        """Return what must be kept, line by line of `primary.Contributions`."""
        need = self.on_amounts(amounts).upper
        if kind == 1:  # the largest may be the one who asked
            return np.where(np.abs(amounts.asked) < np.abs(amounts.top[:, 0]), need, 0.0)
        return np.zeros(len(need)) if kind == 3 else need


@dataclass(frozen=True, slots=True, kw_only=True)
class ZeroSum:
    """A sum of 0 over records is unsafe: all of them gave 0.

    Parameters
    ----------
    margin
        How far above 0 a reader must believe it possible, in units of the amounts.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> given = SimpleNamespace(total=np.array([0.0, 5.0]), records=np.array([2, 2]))
    >>> ZeroSum(margin=3.0).on_amounts(given).upper
    array([3., 0.])
    """

    margin: float

    def on_amounts(self, amounts: Amounts) -> Primary:
        """Apply the rule to amounts.

        Parameters
        ----------
        amounts
            Of every cell.

        Examples
        --------
        >>> from types import SimpleNamespace
        >>> given = SimpleNamespace(total=np.array([0.0]), records=np.array([0]))
        >>> ZeroSum(margin=3.0).on_amounts(given).is_primary
        array([False])
        """
        is_primary = (amounts.total == 0) & (amounts.records > 0)
        upper = np.where(is_primary, self.margin, 0.0)
        return Primary(is_primary=is_primary, lower=np.zeros(len(upper)), upper=upper)

    def rest(self, amounts: Amounts, kind: int) -> Floats:
        """Ask for nothing more against contributors: nobody gives a sum of 0 anything."""
        del kind
        return np.zeros(len(amounts.total))
