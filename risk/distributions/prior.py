"""What an intruder believes about a count before seeing what is published."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from footing.checks import require_number
from footing.messages import Argument, Message, Name, joined
from risk.errors import RiskError
from risk.wellformed import read_numbers, require_between, require_counts, require_whole

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

_LARGEST = 10**8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Prior:
    """Hold the probability of each original count 0, 1, 2, ...

    Parameters
    ----------
    probabilities
        Of the counts 0..n; they sum to 1 within 1e-9.
    beyond
        What holds for counts above n: ``"none"`` when there are none, ``"last"`` when each is
        as probable as n. The latter has no finite sum over all counts, but all that is asked
        given a published count involves the few counts in its reach only.

    Examples
    --------
    >>> prior = Prior(probabilities=[0.5, 0.3, 0.2])
    >>> prior
    Prior(beyond='none')
    >>> prior.at([0, 2, 7])
    array([0.5, 0.2, 0. ])
    """

    probabilities: NDArray[np.float64]
    beyond: Literal["none", "last"] = "none"

    def __post_init__(self) -> None:
        array = np.array(read_numbers(self.probabilities, name="probabilities"))
        problems = []
        if array.ndim != 1 or array.size == 0:
            problems.append(
                Message("probabilities must be a list, one number per count from 0 on.")
            )
        else:
            if (array < 0).any():
                problems.append(
                    Message(
                        "probabilities must be 0 or more; the smallest is {min:g}.",
                        min=array.min(),
                    )
                )
            if abs(array.sum() - 1) > 1e-9:
                problems.append(
                    Message(
                        "probabilities must sum to 1 within 1e-9, not to {sum:.12g}.",
                        sum=array.sum(),
                    )
                )
        if self.beyond not in ("none", "last"):
            problems.append(
                Message(
                    "beyond must be 'none' or 'last', not {beyond!r}.", beyond=Name(self.beyond)
                )
            )
        if problems:
            raise RiskError(
                joined(" ", problems), hint=Message("Prior.supplied() divides by the sum")
            )
        array.setflags(write=False)
        object.__setattr__(self, "probabilities", array)

    @classmethod
    def supplied(cls, weights: ArrayLike, *, beyond: Literal["none", "last"] = "none") -> Prior:
        """Take one weight per count from 0 on and divide them by their sum.

        Parameters
        ----------
        weights
            Finite, 0 or more, not all 0.
        beyond
            As for the class.

        Examples
        --------
        >>> Prior.supplied([2, 1, 1]).probabilities
        array([0.5 , 0.25, 0.25])
        """
        array = read_numbers(weights, name="weights")
        fits = array.ndim == 1 and array.size and array.min() >= 0
        with np.errstate(over="ignore"):
            total = float(array.sum()) if fits else 0.0
        if not 0 < total < np.inf:
            raise RiskError(
                Message("weights must be one finite number of 0 or more per count, not all 0."),
                hint=Message("Prior.flat() believes in all counts alike"),
            )
        return cls(probabilities=array / total, beyond=beyond)

    @classmethod
    def flat(cls) -> Prior:
        """Believe in all counts alike, however large.

        What is left is the shape of the noise alone.

        Examples
        --------
        >>> Prior.flat().at([0, 1000])
        array([1., 1.])
        """
        return cls(probabilities=np.ones(1), beyond="last")

    @classmethod
    def two_points(cls, first: int, second: int, *, odds: float = 1.0) -> Prior:
        """Believe that a count is one of two, as who knows all records of a cell but one.

        Parameters
        ----------
        first, second
            The two counts.
        odds
            How many times more probable the first is.

        Examples
        --------
        >>> Prior.two_points(1, 2, odds=3).probabilities
        array([0.  , 0.75, 0.25])
        """
        here = _listed(first, name="first")
        there = _listed(second, name="second")
        if here == there:
            raise RiskError(Message("first and second must differ; they are the same count."))
        require_number(odds, "odds", error=RiskError, above=0)
        weights = np.zeros(max(here, there) + 1)
        weights[here], weights[there] = odds, 1
        return cls.supplied(weights)

    @classmethod
    def from_counts(
        cls,
        counts: ArrayLike,
        *,
        grid_size: int | None = None,
        added: float = 0.0,
        reach: float = 0.0,
        beyond: Literal["none", "last"] = "none",
    ) -> Prior:
        """Take the share of each count among a table's own cells.

        Parameters
        ----------
        counts
            The original counts of the cells.
        grid_size
            The number of cells of the declared grid, the product of the numbers of categories.
            Those that ``counts`` does not list are empty. By default it lists all.
        added
            Cells added to every count 0..n; 0.5 is Jeffreys' rule.
        reach
            How far a cell lends its weight to counts nearby, in square roots of its count.
        beyond
            As for the class.

        Notes
        -----
        With ``N_c`` cells of count c and n the largest count,
        ``π_i = (added + Σ_c N_c k_c(i)) / Σ``. The kernel ``k_c`` is triangular: half-width
        ``h = ⌈reach √c⌉``, weight ``h + 1 - |i - c|`` on ``max(1, c - h) .. c + h``, scaled to
        sum 1. Empty cells lend nothing and borrow nothing, so the share of zeros stays. With
        a reach, n is the end of the largest cell's kernel. ``added`` alone swamps the prior
        where n is much larger than the number of cells.

        Examples
        --------
        >>> Prior.from_counts([1, 1, 3], grid_size=4).probabilities
        array([0.25, 0.5 , 0.  , 0.25])
        >>> Prior.from_counts([1, 1, 3], grid_size=4, added=0.5).probabilities.round(3)
        array([0.25 , 0.417, 0.083, 0.25 ])
        """
        numbers = require_counts(counts, name="counts").ravel()
        problems = []
        n_cells = len(numbers)
        if grid_size is not None:
            size = require_whole(grid_size, name="grid_size")
            if size < n_cells:
                problems.append(
                    Message(
                        "grid_size must be at least the number of cells given, not {size}.",
                        size=Argument(size),
                    )
                )
            n_cells = max(n_cells, size)
        if n_cells == 0:
            problems.append(Message("There must be at least one cell."))
        if problems:
            raise RiskError(
                joined(" ", problems), hint=Message("grid_size counts empty cells too")
            )
        extra = require_between(added, name="added")
        kinds, cells = np.unique(numbers, return_counts=True)
        _listed(int(kinds.max(initial=0)), name="counts")
        weights = spread(kinds, cells, reach=require_between(reach, name="reach"))
        weights[0] += n_cells - len(numbers)
        return cls.supplied(weights + extra, beyond=beyond)

    def at(self, counts: ArrayLike) -> NDArray[np.float64]:
        """Give the weight of each count: its probability, or what holds beyond.

        Parameters
        ----------
        counts
            Original counts.

        Examples
        --------
        >>> Prior.supplied([1, 3], beyond="last").at([0, 1, 50])
        array([0.25, 0.75, 0.75])
        """
        numbers = require_counts(counts, name="counts")
        last = len(self.probabilities) - 1
        weights = self.probabilities[np.minimum(numbers, last)]
        return weights if self.beyond == "last" else weights * (numbers <= last)

    def tilted(self, originals: ArrayLike, *, odds: float) -> Prior:
        """Multiply the odds of some counts: the worst prior near this one.

        Parameters
        ----------
        originals
            The counts that an intruder suspects.
        odds
            How many times their odds against the rest grow; 1 or more.

        Notes
        -----
        Among all priors r with ``max(r/π) <= odds * min(r/π)`` the tilted one has the largest
        ``P(X ∈ originals | X' ∈ J)``, for every set J and every p-table at once: the posterior
        odds are ``Σ_I r_i p_iJ / Σ_{not I} r_k p_kJ``, largest with r/π at its upper end in
        the numerator and at its lower end in the denominator. They are exactly ``odds`` times
        the posterior odds under π. With `flat` this is the worst over all priors in which no
        count is more than ``odds`` times as probable as another.

        Examples
        --------
        >>> Prior.supplied([2, 1, 1]).tilted([1], odds=3).probabilities.round(4)
        array([0.3333, 0.5   , 0.1667])
        """
        suspects = require_counts(originals, name="originals").ravel()
        factor = require_between(odds, name="odds", least=1.0)
        n = len(self.probabilities) - 1
        if self.beyond == "last" and suspects.size:
            n = max(n, _listed(int(suspects.max()), name="originals") + 1)
        weights = self.at(np.arange(n + 1))
        weights[suspects[suspects <= n]] *= factor
        return Prior.supplied(weights, beyond=self.beyond)

    def to_frame(self) -> pd.DataFrame:
        """Give one line per count from 0 to n.

        Examples
        --------
        >>> Prior.supplied([1, 3]).to_frame().values.tolist()
        [[0.0, 0.25], [1.0, 0.75]]
        """
        import pandas as pd

        counts = np.arange(len(self.probabilities))
        return pd.DataFrame({"count": counts, "probability": self.probabilities})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Prior):
            return NotImplemented
        same = np.array_equal(self.probabilities, other.probabilities)
        return same and self.beyond == other.beyond

    def __hash__(self) -> int:
        return hash((self.probabilities.tobytes(), self.beyond))

    def __repr__(self) -> str:
        return f"Prior(beyond={self.beyond!r})"


def _listed(count: int, *, name: str) -> int:
    number = require_whole(count, name=name)
    if number > _LARGEST:
        raise RiskError(
            Message(
                "A prior lists counts up to {largest}; {name} has a larger one.",
                largest=_LARGEST,
                name=Name(name),
            ),
            hint=Message("leave the largest counts out and give beyond='last'"),
        )
    return number


def spread(
    counts: NDArray[np.int64], weights: NDArray[np.int64], *, reach: float
) -> NDArray[np.float64]:
    """Spread weights over neighbouring counts by triangular kernels; zeros stay."""
    if counts.size == 0:
        return np.zeros(1)
    largest = int(counts[-1])
    answer = np.zeros(largest + _half_width(largest, reach) + 1)
    if reach == 0:
        answer[counts] = weights
        return answer
    for count, weight in zip(counts.tolist(), weights.tolist(), strict=True):
        half = _half_width(count, reach)
        low = max(min(count, 1), count - half)
        places = np.arange(low, count + half + 1)
        kernel = half + 1.0 - np.abs(places - count)
        answer[low : count + half + 1] += weight * kernel / kernel.sum()
    return answer


def _half_width(count: int, reach: float) -> int:
    return math.ceil(reach * math.sqrt(count))
