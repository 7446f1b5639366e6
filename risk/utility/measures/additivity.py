"""How far published parts are from adding up to their published total."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from footing.messages import Argument, Message, said
from risk.distributions.band import Band
from risk.errors import RiskError
from risk.utility.catalogue import Measure, defined, undefined
from risk.utility.measures.noise import row_variances

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from ptable import PTable
    from risk.utility.pairs import Pairs

_NAMES = ("gap_mean", "gap_max_abs", "gap_nonzero_pct", "gap_mean_square")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Additivity:
    """The gaps between published totals and their parts.

    Parameters
    ----------
    totals
        The position of the total of each line.
    gaps
        Published total less the sum of the published parts, per line.
    parts
        The number of parts whose noise is not always 0, per line.
    expected
        The variance of the gap per line; None where neither noise nor p-table is known.
    measures
        The gaps of all lines, summarised.

    Examples
    --------
    >>> from risk.utility import Pairs
    >>> pairs = Pairs(original=[5, 2, 3], published=[6, 2, 2])
    >>> additivity(pairs, parent=[-1, 0, 0]).gaps
    array([2])
    """

    totals: NDArray[np.int64]
    gaps: NDArray[np.int64]
    parts: NDArray[np.int64]
    expected: NDArray[np.float64] | None
    measures: tuple[Measure, ...]

    def to_frame(self) -> pd.DataFrame:
        """Give one line per number of parts, with gap² as seen and as expected.

        Examples
        --------
        >>> from risk.utility import Pairs
        >>> pairs = Pairs(original=[5, 2, 3], published=[6, 2, 2])
        >>> additivity(pairs, parent=[-1, 0, 0], noise=1.0).to_frame()
           parts  lines  gap_max_abs  gap_mean_square  gap_expected
        0      2      1            2              4.0           3.0
        """
        import pandas as pd

        columns = {
            "parts": self.parts,
            "gap": np.abs(self.gaps),
            "square": np.square(self.gaps, dtype=float),
        }
        if self.expected is not None:
            columns["expected"] = self.expected
        by_parts = pd.DataFrame(columns).groupby("parts")
        frame = pd.DataFrame(
            {
                "lines": by_parts.size(),
                "gap_max_abs": by_parts["gap"].max(),
                "gap_mean_square": by_parts["square"].mean(),
            }
        )
        if self.expected is not None:
            frame["gap_expected"] = by_parts["expected"].mean()
        return frame.reset_index()


def additivity(
    pairs: Pairs, *, parent: ArrayLike, noise: PTable | float | None = None
) -> Additivity:
    """Measure the gaps between totals and parts along one dimension.

    Parameters
    ----------
    pairs
        The cells, totals included.
    parent
        For each cell the position of its total along the dimension, -1 where it has none.
    noise
        The p-table that made the noise, or the variance of the noise of every cell that is
        not empty; None leaves out what is expected.

    Notes
    -----
    With independent noises the gap of a line with c parts has mean 0 and variance
    ``V_total + Σ V_part``, that is ``(c + 1) V`` where all variances are V. Empty cells count
    as far as the p-table moves them; cells with one and the same set of records share their
    noise, so that a line whose parts are all empty but one has no gap at all. Such lines are
    expected to have a variance of 0.

    Examples
    --------
    >>> from risk.utility import Pairs
    >>> pairs = Pairs(original=[5, 2, 3], published=[6, 2, 2])
    >>> found = additivity(pairs, parent=[-1, 0, 0], noise=1.0)
    >>> {m.name: m.value for m in found.measures if m.name.endswith("expected")}
    {'gap_expected': 3.0}
    """
    where = _checked(parent, pairs.n_cells)
    inner = np.flatnonzero(where >= 0)
    totals, line = np.unique(where[inner], return_inverse=True)
    n = len(totals)
    sums = np.zeros(n, dtype=np.int64)
    np.add.at(sums, line, pairs.p[inner])
    gaps = pairs.p[totals] - sums
    variance = _variance(pairs.o, noise)
    moved = (pairs.o > 0) if variance is None else (variance > 0)
    parts = np.bincount(line, weights=moved[inner], minlength=n).astype(np.int64)
    expected = None
    if variance is not None:
        expected = variance[totals] + np.bincount(line, variance[inner], minlength=n)
        # One part of the same size as its total has the same records, hence the same noise.
        full = np.bincount(line, pairs.o[inner] == pairs.o[totals[line]], minlength=n)
        expected[(parts == 1) & (full > 0)] = 0.0
    return Additivity(
        totals=totals,
        gaps=gaps,
        parts=parts,
        expected=expected,
        measures=_measures(gaps, expected),
    )


def _checked(parent: ArrayLike, n_cells: int) -> NDArray[np.int64]:
    where = np.asarray(parent)
    problem = ""
    if where.shape != (n_cells,) or where.dtype.kind not in "iu":
        problem = Message("must be whole numbers, one per cell")
    elif n_cells and not (int(where.min()) >= -1 and int(where.max()) < n_cells):
        problem = Message("must be positions from 0 to {n_cells}, or -1", n_cells=n_cells - 1)
    elif np.any(where == np.arange(n_cells)):
        problem = Message("must not make a cell a part of itself")
    if problem:
        raise RiskError(
            Message("parent {problem}.", problem=said(problem)),
            hint=Message("give each cell the position of its total, or -1"),
        )
    return where.astype(np.int64)


def _variance(
    counts: NDArray[np.int64], noise: PTable | float | None
) -> NDArray[np.float64] | None:
    if noise is None:
        return None
    if isinstance(noise, (int, float)):
        if not 0 <= float(noise) < np.inf:
            raise RiskError(
                Message(
                    "The variance of noise must be at least 0, not {noise!r}.",
                    noise=Argument(noise),
                )
            )
        return np.where(counts > 0, float(noise), 0.0)
    rows = Band.of(noise).rows(counts)
    return row_variances(noise)[rows]


def _measures(
    gaps: NDArray[np.int64], expected: NDArray[np.float64] | None
) -> tuple[Measure, ...]:
    n = len(gaps)
    names = (*_NAMES, "gap_expected", "gap_ratio")
    if not n:
        return tuple(undefined(name, "no cell has a total") for name in names)
    squares = float(np.square(gaps, dtype=float).sum()) / n
    values = (
        gaps.sum() / n,
        np.abs(gaps).max(),
        100 * np.count_nonzero(gaps) / n,
        squares,
    )
    measures = [defined(name, v, base=n) for name, v in zip(_NAMES, values, strict=True)]
    if expected is None:
        reason = "neither a p-table nor a variance was given"
        return (*measures, *(undefined(name, reason, base=n) for name in names[4:]))
    mean = float(expected.sum()) / n
    measures.append(defined("gap_expected", mean, base=n))
    if not mean:
        return (*measures, undefined("gap_ratio", "the noise of every line is 0", base=n))
    return (*measures, defined("gap_ratio", squares / mean, base=n))
