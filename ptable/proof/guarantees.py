"""What a p-table guarantees, computed from its whole numbers: bias, bounds and privacy."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from footing.checks import is_integer, require_integer
from footing.messages import Argument, Message, said
from ptable.errors import PTableError
from ptable.lookup import moments
from ptable.proof.composition import composed_delta
from ptable.proof.divergence import (
    blocked_counts,
    hockey_stick,
    laws_of,
    neighbours,
    require_delta,
    require_epsilon,
    smallest_epsilon,
)
from ptable.proof.wording import describe

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from ptable.proof.divergence import Outcomes
    from ptable.table import PTable


@dataclass(frozen=True, slots=True, kw_only=True)
class RowGuarantee:
    """What one row of a p-table guarantees; noise in units, fractions exact.

    The next count is one higher; where a row serves larger counts too, the row that follows
    it there. The last four figures are None for tables of magnitudes.

    Parameters
    ----------
    count
        The original count.
    mean, variance
        Of the noise; a mean other than 0 is a bias.
    least_noise, greatest_noise
        The noise stays between them.
    p_stay
        The probability that the count is published as it is.
    delta_to_next, delta_from_next
        The hockey-stick divergence of this row from the next count's at the epsilon asked
        for, and of the next count's from this row.
    pure_epsilon
        The smallest epsilon with delta 0 in both directions; infinite where there is none.
    epsilon
        The same for the delta asked for.

    Examples
    --------
    >>> from ptable import PTable
    >>> table = PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8)
    >>> guarantee(table).rows[1].variance
    Fraction(1, 1)
    """

    count: int
    mean: Fraction
    variance: Fraction
    least_noise: Fraction
    greatest_noise: Fraction
    p_stay: Fraction
    delta_to_next: float | None
    delta_from_next: float | None
    pure_epsilon: float | None
    epsilon: float | None

    @property
    def delta(self) -> float | None:
        """The larger of both directions' delta.

        Examples
        --------
        >>> from ptable import Mechanism
        >>> guarantee(Mechanism.random_rounding(4).build(), epsilon=0.0).rows[0].delta
        0.25
        """
        if self.delta_to_next is None or self.delta_from_next is None:
            return None
        return max(self.delta_to_next, self.delta_from_next)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Guarantee:
    """What a p-table guarantees for every count, however large.

    Parameters
    ----------
    table
        The p-table.
    rows
        One entry per row.
    epsilon, delta
        What the figures of the rows were asked for.
    key_range
        How many different cell keys there are.

    Examples
    --------
    >>> from ptable import PTable
    >>> table = PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8)
    >>> print(guarantee(table))
    Noise lies between -1 and 1; its mean is exactly 0 for every count.
    Always published as they are: 0.
    Never published: none.
    One record more or less in a cell: delta is 1 at epsilon 1, worst for counts 1 and 2.
    No epsilon gives delta 1e-06.
    No epsilon gives delta 0.
    """

    table: PTable
    rows: tuple[RowGuarantee, ...]
    epsilon: float
    delta: float
    key_range: int

    @property
    def has_privacy(self) -> bool:
        """Whether privacy is defined: for counts it is, for magnitudes it is not.

        Examples
        --------
        >>> from ptable import Mechanism
        >>> guarantee(Mechanism.rounding(5).build()).has_privacy
        True
        """
        return _is_plain(self.table)

    @property
    def largest_bias(self) -> Fraction:
        """The largest mean noise in either direction.

        Examples
        --------
        >>> from ptable import Mechanism
        >>> guarantee(Mechanism.rounding(5).build()).largest_bias
        Fraction(2, 1)
        """
        return max(abs(row.mean) for row in self.rows)

    @property
    def max_noise(self) -> Fraction:
        """The largest noise in either direction; no p-table exceeds its own.

        Examples
        --------
        >>> from ptable import Mechanism
        >>> guarantee(Mechanism.random_rounding(3).build()).max_noise
        Fraction(2, 1)
        """
        return max(max(-row.least_noise, row.greatest_noise) for row in self.rows)

    @property
    def zeros_stay(self) -> bool:
        """Whether a count of 0 is always published as 0.

        Examples
        --------
        >>> from ptable import Mechanism
        >>> guarantee(Mechanism.discrete_laplace(1.0, max_noise=5).build()).zeros_stay
        False
        """
        return self.rows[0].p_stay == 1

    @property
    def unchanged(self) -> tuple[int, ...]:
        """The counts with a row of their own that are always published as they are.

        Examples
        --------
        >>> from ptable import Mechanism
        >>> guarantee(Mechanism.small_count_rounding(3).build()).unchanged
        (0, 3)
        """
        return tuple(row.count for row in self.rows if row.p_stay == 1)

    def never_published(self, up_to: int) -> tuple[int, ...]:
        """Give the counts that are published for no original count at all.

        Parameters
        ----------
        up_to
            The largest count to look at.

        Examples
        --------
        >>> from ptable import Mechanism
        >>> guarantee(Mechanism.rounding(5).build()).never_published(11)
        (1, 2, 3, 4, 6, 7, 8, 9, 11)
        """
        if not self.has_privacy:
            raise _magnitudes(Message("which counts are never published"))
        if not is_integer(up_to, minimum=0):
            raise PTableError(
                Message("up_to must be a count, not {up_to!r}.", up_to=Argument(up_to))
            )
        distributions = laws_of(self.table, key_range=self.key_range)
        return blocked_counts(
            distributions, large_counts=self.table.large_counts, up_to=int(up_to)
        )

    @property
    def pure_epsilon(self) -> float:
        """The smallest epsilon with delta 0; infinite where there is none.

        Examples
        --------
        >>> from ptable import Mechanism
        >>> guarantee(Mechanism.random_rounding(3).build()).pure_epsilon
        inf
        """
        if not self.has_privacy:
            raise _magnitudes(Message("an epsilon"))
        return max(row.pure_epsilon for row in self.rows if row.pure_epsilon is not None)

    def delta_at(self, epsilon: float) -> float:
        """Compute the smallest delta for an epsilon, over all neighbouring counts.

        Parameters
        ----------
        epsilon
            0 or more.

        Examples
        --------
        >>> from ptable import Mechanism
        >>> proof = guarantee(Mechanism.discrete_laplace(1.0, max_noise=15).build())
        >>> f"{proof.delta_at(1.0):.1e}"
        '1.4e-07'
        """
        require_epsilon(epsilon)
        return max(
            hockey_stick(side, epsilon=epsilon)
            for both in self._neighbours(Message("a delta"))
            for side in both
        )

    def epsilon_at(self, delta: float) -> float:
        """Find the smallest epsilon for a delta, over all neighbouring counts.

        Parameters
        ----------
        delta
            From 0 to below 1.

        Returns
        -------
        float
            Infinite where no epsilon suffices; rounded upwards.

        Examples
        --------
        >>> from ptable import Mechanism
        >>> proof = guarantee(Mechanism.discrete_gaussian(4.0, max_noise=20).build())
        >>> round(proof.epsilon_at(1e-6), 3)
        2.276
        """
        require_delta(delta)
        return max(
            smallest_epsilon(side, delta=delta)
            for both in self._neighbours(Message("an epsilon"))
            for side in both
        )

    def delta_of_cells(
        self, n_cells: int, *, epsilon: float | None = None, are_large: bool = False
    ) -> float:
        """Bound the delta of several cells that hold one record, each with noise of its own.

        Parameters
        ----------
        n_cells
            How many cells; they show different sets of records. A cell that is shown again
            has the same noise, and counts once.
        epsilon
            0 or more; that of the rows by default.
        are_large
            Whether all counts are served by the last row; any counts by default.

        Notes
        -----
        It does not hold where two of the published cells differ by the one record alone:
        without it they would be the same cell, with the same noise.

        Examples
        --------
        >>> from ptable import Mechanism
        >>> proof = guarantee(Mechanism.random_rounding(10).build())
        >>> round(proof.delta_of_cells(3, epsilon=5.0), 6)
        0.271
        """
        epsilon = require_epsilon(self.epsilon if epsilon is None else epsilon)
        times = require_integer(n_cells, "n_cells", error=PTableError, minimum=1, maximum=1000)
        pairs = [both[0] for both in self._neighbours(Message("a delta"))]
        if are_large and self.table.large_counts == "last":
            pairs = pairs[-1:]
        return composed_delta(pairs, epsilon=epsilon, times=times)

    @property
    def chance_apart(self) -> float:
        """How likely two large cells that differ by one record are published apart.

        Whatever epsilon is, this is the delta of publishing both: without the record they are
        one cell, and published alike.

        Examples
        --------
        >>> from ptable import NoiseSpec, solve
        >>> round(guarantee(solve(NoiseSpec(max_noise=5, variance=3.0))).chance_apart, 3)
        0.851
        """
        *_, (last, _) = self._neighbours(Message("a chance"))
        return 1 - sum(p * q for p, q in last) / self.key_range**2

    def _neighbours(self, what: str) -> Iterator[tuple[Outcomes, Outcomes]]:
        if not self.has_privacy:
            raise _magnitudes(what)
        distributions = laws_of(self.table, key_range=self.key_range)
        return neighbours(distributions, large_counts=self.table.large_counts)

    def to_frame(self) -> pd.DataFrame:
        """Give one line per row, in floating point; missing figures are NaN.

        Examples
        --------
        >>> from ptable import Mechanism
        >>> frame = guarantee(Mechanism.random_rounding(3).build()).to_frame()
        >>> frame[["count", "mean", "variance"]].values.tolist()
        [[0.0, 0.0, 0.0], [1.0, 0.0, 2.0], [2.0, 0.0, 2.0]]
        """
        import pandas as pd

        names = list(RowGuarantee.__dataclass_fields__)
        frame = pd.DataFrame(
            [[getattr(row, name) for name in names] for row in self.rows], columns=names
        )
        return frame.astype({"count": "int64"} | dict.fromkeys(names[1:], "float64"))

    def summary(self) -> str:
        """Say in plain words what the p-table guarantees.

        Examples
        --------
        >>> from ptable import Mechanism
        >>> print(guarantee(Mechanism.small_count_rounding(3).build()).summary())
        Noise lies between -2 and 2; its mean is exactly 0 for every count.
        Always published as they are: 0, 3 and all larger.
        Never published: 1, 2.
        One record more or less in a cell: delta is 1 at epsilon 1, worst for counts 3 and 4.
        No epsilon gives delta 1e-06.
        No epsilon gives delta 0.
        """
        return describe(self)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return (
            f"Guarantee(n_rows={len(self.rows)}, epsilon={self.epsilon:g}, "
            f"delta={self.delta:g})"
        )


def guarantee(
    table: PTable, *, epsilon: float = 1.0, delta: float = 1e-6, key_range: int | None = None
) -> Guarantee:
    """Compute what a p-table guarantees, wherever it comes from.

    Parameters
    ----------
    table
        The p-table.
    epsilon
        Where the rows' delta is computed.
    delta
        Where the rows' epsilon is computed.
    key_range
        How many different cell keys there are; the table's own key range by default. Keys
        mixed with a secret are 32 bits: ``2**32``.

    Notes
    -----
    Neighbours are the counts ``i`` and ``i + 1`` of a cell with one record more or less. All
    are covered: those with a row, the last one and the next larger, and every pair of a
    cycle. Privacy figures assume cell keys that are uniform, secret, and independent between
    cells that differ, as the keyed mix makes them. They hold for one cell under one p-table
    and secret; what cells that share records tell together is not part of them.

    Examples
    --------
    >>> from ptable import NoiseSpec, solve
    >>> proof = guarantee(solve(NoiseSpec(max_noise=2, variance=1.0)))
    >>> proof.largest_bias == 0, proof.zeros_stay, round(proof.delta_at(1.0), 4)
    (True, True, 0.6019)
    """
    epsilon, delta = require_epsilon(epsilon), require_delta(delta)
    keys = table.key_range if key_range is None else key_range
    keys = require_integer(keys, "key_range", error=PTableError, minimum=2, maximum=2**64)
    distributions = laws_of(table, key_range=keys)
    beside = (
        neighbours(distributions, large_counts=table.large_counts) if _is_plain(table) else None
    )
    rows = []
    for count, distribution in zip(table.counts.tolist(), distributions, strict=True):
        mean, variance = moments(distribution, keys)
        privacy = _private(next(beside) if beside else None, epsilon, delta)
        rows.append(
            RowGuarantee(
                count=count,
                mean=mean / table.step,
                variance=variance / table.step**2,
                least_noise=Fraction(min(distribution), table.step),
                greatest_noise=Fraction(max(distribution), table.step),
                p_stay=Fraction(distribution.get(0, 0), keys),
                delta_to_next=privacy[0],
                delta_from_next=privacy[1],
                pure_epsilon=privacy[2],
                epsilon=privacy[3],
            )
        )
    return Guarantee(
        table=table, rows=tuple(rows), epsilon=epsilon, delta=delta, key_range=keys
    )


def _private(
    both: tuple[Outcomes, Outcomes] | None, epsilon: float, delta: float
) -> tuple[float | None, float | None, float | None, float | None]:
    if both is None:
        return None, None, None, None
    there, back = both
    return (
        hockey_stick(there, epsilon=epsilon),
        hockey_stick(back, epsilon=epsilon),
        max(smallest_epsilon(side, delta=0.0) for side in both),
        max(smallest_epsilon(side, delta=delta) for side in both),
    )


def _is_plain(table: PTable) -> bool:
    return table.step == 1 and table.anchors is None


def _magnitudes(what: str) -> PTableError:
    return PTableError(
        Message(
            "A p-table of magnitudes does not tell {what}: its noise scales with the "
            "magnitude.",
            what=said(what),
        ),
        hint=Message("the bias, variance and bounds of its rows are in rows and to_frame()"),
    )
