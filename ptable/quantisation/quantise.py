"""A p-table in few keys, with means and variances kept exactly wherever integers can.

Per row the keys are whole numbers of each noise value with three given sums: how many there
are, the mean and the second moment. Among all that have them, integer programming finds those
of greatest entropy, or, for tables from elsewhere, those nearest to the table's own law.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from footing.checks import require_integer
from footing.messages import Argument, Message, joined, said
from ptable.errors import PTableError
from ptable.lookup import moments
from ptable.quantisation.row_keys import goal_of_row, keys_of_row
from ptable.table import PTable

if TYPE_CHECKING:
    import pandas as pd

    from ptable.quantisation.row_keys import RowGoal, RowKeys

_MAX_KEYS = 2**24
_MAX_NAMED = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class RowQuantisation:
    """What few keys changed in one row; noise in steps.

    Parameters
    ----------
    count
        The original count of the row.
    mean_drift, variance_drift
        The mean and the variance of the noise, less what they should be. Where the variance is
        an upper bound, by how much it is exceeded.
    is_least
        Whether it is proved that no other keys drift less, in the mean first.
    largest_change
        The largest change of a probability.
    total_variation
        Half the sum of all changes.
    entropy
        Of the new row.
    gap
        By how much the entropy, or for tables from elsewhere the divergence, may differ from
        the best one with the same mean and variance, and the same symmetry where that is kept;
        0 where the search is finished.
    note
        What else the keys could not hold; empty when nothing.

    Examples
    --------
    >>> from ptable import NoiseSpec, solve
    >>> row = quantise(solve(NoiseSpec(max_noise=2, variance=1.0)), 255).rows[1]
    >>> row.mean_drift, row.variance_drift, row.is_least
    (Fraction(0, 1), Fraction(1, 255), True)
    """

    count: int
    mean_drift: Fraction
    variance_drift: Fraction
    is_least: bool
    largest_change: float
    total_variation: float
    entropy: float
    gap: float
    note: str

    @property
    def is_exact(self) -> bool:
        """Whether mean and variance are what they should be.

        Examples
        --------
        >>> from ptable import NoiseSpec, solve
        >>> quantise(solve(NoiseSpec(max_noise=2, variance=1.0)), 256).rows[1].is_exact
        True
        """
        return not self.mean_drift and not self.variance_drift

    def __str__(self) -> str:
        words = []
        if self.mean_drift:
            words.append(Message("mean off by {drift}", drift=Argument(self.mean_drift)))
        if self.variance_drift:
            words.append(
                Message("variance off by {drift}", drift=Argument(self.variance_drift))
            )
        if words:
            words.append(
                Message("nothing less is possible")
                if self.is_least
                else Message("less may be possible")
            )
        notes = [*map(said, words), *[said(self.note)] * bool(self.note)]
        return Message(
            "count {count}: {notes}", count=self.count, notes=tuple(notes) or Message("exact")
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantisation:
    """A p-table in few keys, and what that changed.

    Parameters
    ----------
    table
        The new p-table.
    rows
        One entry per row, in order of counts.

    Examples
    --------
    >>> from ptable import NoiseSpec, solve
    >>> print(quantise(solve(NoiseSpec(max_noise=2, variance=1.0)), 256))
    256 keys: mean and variance exact in all 3 rows
    largest change of a probability 0.00796, total variation 0.0106
    """

    table: PTable
    rows: tuple[RowQuantisation, ...]

    @property
    def is_exact(self) -> bool:
        """Whether every mean and variance is what it should be.

        Examples
        --------
        >>> from ptable import NoiseSpec, solve
        >>> quantise(solve(NoiseSpec(max_noise=2, variance=1.0)), 255).is_exact
        False
        """
        return all(row.is_exact for row in self.rows)

    @property
    def drifting(self) -> tuple[RowQuantisation, ...]:
        """The rows that drift, or lost something else.

        Examples
        --------
        >>> from ptable import NoiseSpec, solve
        >>> answer = quantise(solve(NoiseSpec(max_noise=2, variance=1.0)), 255)
        >>> [row.count for row in answer.drifting]
        [1, 2]
        """
        return tuple(row for row in self.rows if row.note or not row.is_exact)

    def to_frame(self) -> pd.DataFrame:
        """Give one line per row as a pandas data frame, drifts as floats.

        Examples
        --------
        >>> from ptable import NoiseSpec, solve
        >>> answer = quantise(solve(NoiseSpec(max_noise=2, variance=1.0)), 256)
        >>> answer.to_frame()["variance_drift"].tolist()
        [0.0, 0.0, 0.0]
        """
        import pandas as pd

        names = tuple(RowQuantisation.__dataclass_fields__)
        lines = [[getattr(row, name) for name in names] for row in self.rows]
        frame = pd.DataFrame(lines, columns=names)
        drifts = ["mean_drift", "variance_drift"]
        frame[drifts] = frame[drifts].astype(float)
        return frame

    def __str__(self) -> str:
        exact = sum(row.is_exact for row in self.rows)
        share = f"all {exact}" if exact == len(self.rows) else f"{exact} of {len(self.rows)}"
        change = max(row.largest_change for row in self.rows)
        variation = max(row.total_variation for row in self.rows)
        lines = [
            f"{self.table.key_range} keys: mean and variance exact in {share} rows",
            f"largest change of a probability {change:.3g}, total variation {variation:.3g}",
        ]
        return "\n".join([*lines, *map(str, self.drifting)])


def quantise(
    table: PTable, key_range: int, *, keep_symmetry: bool = True, most_nodes: int = 10_000
) -> Quantisation:
    """Put a p-table into few keys, keeping means and variances wherever integers can.

    Every count keeps the noise it may take. Where the table has a specification, its rows keep
    their constraints; the variance is the requested one, and the entropy the greatest. Other
    tables keep the mean and variance of each row, and come as near to its law as they can
    (least Kullback-Leibler divergence; for laws of greatest entropy both are the same).

    Parameters
    ----------
    table
        The p-table.
    key_range
        How many keys: 256 for SuperSTAR and Cantabular, 4096 for the ONS.
    keep_symmetry
        Whether rows whose law is its own mirror image stay so, where that costs neither mean
        nor variance. It may cost entropy: little in many keys, much in a handful.
    most_nodes
        After how many nodes a search stops; rows without proof of the optimum have a `gap`.

    Returns
    -------
    Quantisation
        The new table, its noise in ascending order in every row, and the drift of each row.

    Raises
    ------
    PTableError
        Where no keys at all satisfy the constraints of a row.

    Notes
    -----
    Maximises ``-Σ (n/N) ln (n/N)`` over integers ``n ≥ 0`` with ``Σ n = N``, ``Σ v n = N m``
    and ``Σ v² n = N (V + m²)``. Where these have no solution, the mean is nearest first, then
    the variance. ``Σ v² n`` and ``Σ v n`` are both odd or both even, so that with mean zero a
    variance ``V`` needs an even ``N V``.

    Ties of entropy, within 1e-8 nats, are settled by a fixed preference. A least
    probability is rounded up to whole keys, but one below a single key is not kept.

    Examples
    --------
    >>> from ptable import NoiseSpec, solve
    >>> quantise(solve(NoiseSpec(max_noise=2, variance=1.0)), 256).table.units(2)
    {-2: 16, -1: 64, 0: 96, 1: 64, 2: 16}
    """
    way = Message("a solved table of 2**32 keys has exact means, and variances close to exact")
    total = require_integer(
        key_range, "key_range", error=PTableError, hint=way, minimum=2, maximum=_MAX_KEYS
    )
    cache: dict[object, RowKeys] = {}
    units: list[dict[int, int]] = []
    rows = []
    for count in table.counts.tolist():
        goal = goal_of_row(table, count, total=total)
        same = replace(goal.problem, count=0), goal.law
        if same not in cache:
            cache[same] = keys_of_row(goal, keep_symmetry=keep_symmetry, most_nodes=most_nodes)
        units.append(dict(zip(goal.problem.noise, cache[same].units, strict=True)))
        rows.append(_report(goal, cache[same]))
    new = PTable.from_units(
        units,
        key_range=total,
        large_counts=table.large_counts,
        step=table.step,
        anchors=table.anchors,
        label=table.label,
    )
    return Quantisation(table=new.with_proof(table.spec, None), rows=tuple(rows))


def warning_of(answer: Quantisation) -> str:
    """Name the rows that drift, or give an empty text."""
    rows = answer.drifting
    if not rows:
        return ""
    rest = len(rows) - _MAX_NAMED
    return Message(
        "{key_range} keys cannot hold every row: {named}{more}.",
        key_range=answer.table.key_range,
        named=joined("; ", map(str, rows[:_MAX_NAMED])),
        more=Message("; and {number} more rows", number=rest) if rest > 0 else Message(),
    )


def _report(goal: RowGoal, keys: RowKeys) -> RowQuantisation:
    problem, total = goal.problem, goal.total
    mean, variance = moments(dict(zip(problem.noise, keys.units, strict=True)), total)
    drift = variance - problem.variance
    changes = [abs(n / total - p) for n, p in zip(keys.units, goal.law, strict=True)]
    notes = []
    if problem.p_stay is not None and problem.p_stay_rule == "exact":
        stays = Fraction(keys.units[problem.noise.index(0)], total)
        if stays != problem.p_stay:
            notes.append(
                Message(
                    "no noise has probability {stays}, not {p_stay}",
                    stays=Argument(stays),
                    p_stay=Argument(problem.p_stay),
                )
            )
    if 0 < problem.floor * total < 1:
        notes.append(Message("the least probability is below one key and not kept"))
    return RowQuantisation(
        count=problem.count,
        mean_drift=mean - problem.mean,
        variance_drift=max(drift, Fraction(0)) if problem.at_most else drift,
        is_least=keys.is_least,
        largest_change=max(changes),
        total_variation=math.fsum(changes) / 2,
        entropy=-math.fsum(n / total * math.log(n / total) for n in keys.units if n),
        gap=keys.gap,
        note=joined(", ", notes) if notes else "",
    )
