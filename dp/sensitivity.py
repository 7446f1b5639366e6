"""How far one unit can move an answer: the catalogue. What has no bound is refused."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from dp.adjacency import Adjacency, common, units_changed
from dp.checking import checked_count, checked_positive
from dp.errors import DPError, UnboundedError
from footing.messages import Message, said

#: One of two neighbours lacks the unit, or its values.
_BLANK = {Adjacency.ADD_REMOVE, Adjacency.ZERO_OUT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """The farthest that neighbours' answers lie apart.

    Parameters
    ----------
    l1
        Sum of the absolute differences of all numbers of the answer.
    l2
        Their Euclidean distance; by default `l1`, which is never less.
    adjacency
        What the neighbours are.
    unit
        Who is protected.
    numbers
        How many numbers the answer has: 1 for a count. Nothing here says any number of them,
        whose differences `l1` and `l2` cover all together.
    covers_missing
        Under replacement, whether a record that one of two data sets lacks moves the answer no
        farther than one that is replaced. It always does no more under `add-remove`.

    Examples
    --------
    >>> Sensitivity(l1=3, adjacency=Adjacency.ADD_REMOVE).l2
    3.0
    """

    l1: float
    l2: float = math.nan
    adjacency: Adjacency
    unit: str = "record"
    numbers: int | None = None
    covers_missing: bool = False

    def __post_init__(self) -> None:
        for name in ("l1", "l2"):
            value = getattr(self, name)
            if isinstance(value, (int, float)) and math.isinf(value):
                raise UnboundedError(
                    Message("One record can change the answer without limit."),
                    hint=Message("clamp the values to public bounds first"),
                )
        object.__setattr__(self, "l1", checked_positive(self.l1, "sensitivity"))
        l2 = self.l1 if math.isnan(self.l2) else checked_positive(self.l2, "sensitivity")
        if l2 > self.l1 * (1 + 1e-12):
            raise DPError(
                Message("l2 cannot exceed l1 = {l1:g}, but is {l2:g}.", l1=self.l1, l2=l2)
            )
        object.__setattr__(self, "l2", l2)
        object.__setattr__(self, "adjacency", Adjacency(self.adjacency))
        if self.adjacency == Adjacency.DISTANCE:
            raise DPError(
                Message("Neighbours at a distance have no sensitivity."),
                hint=Message("use dp.PlanarLaplace"),
            )
        if self.numbers is not None:
            object.__setattr__(self, "numbers", checked_count(self.numbers, "numbers"))

    def for_units(self, records: int, *, unit: str) -> Sensitivity:
        """Return the sensitivity when a unit stands behind several records.

        Parameters
        ----------
        records
            The most records of one unit.
        unit
            What it is, a person or an enterprise for instance.

        Raises
        ------
        DPError
            If units are replaced and may have fewer records than others, and nothing is known
            of what a missing record moves.

        Examples
        --------
        >>> count().for_units(4, unit="person").l1
        4.0
        """
        times = checked_count(records, "records")
        is_replaced = self.adjacency in {Adjacency.REPLACE, Adjacency.LOCAL}
        if times > 1 and is_replaced and not self.covers_missing:
            raise DPError(
                Message(
                    "A unit may be replaced by one with fewer records, and a record that is "
                    "missing may move the answer farther than one that is replaced."
                ),
                hint=Message(
                    "state the sensitivity for add-remove, and take dp.disjoint of it alone "
                    "with adjacency='replace'"
                ),
            )
        return replace(self, l1=times * self.l1, l2=times * self.l2, unit=unit)


def count(adjacency: Adjacency = Adjacency.ADD_REMOVE) -> Sensitivity:
    """Count the records with a property.

    Parameters
    ----------
    adjacency
        What the neighbours are.

    Examples
    --------
    >>> count().l1
    1.0
    """
    return Sensitivity(l1=1, adjacency=adjacency, numbers=1, covers_missing=True)


def counts(number: int, *, adjacency: Adjacency = Adjacency.ADD_REMOVE) -> Sensitivity:
    """Count several properties, where one record may be in all of them.

    Parameters
    ----------
    number
        How many counts.
    adjacency
        What the neighbours are.

    Examples
    --------
    Blue eyes; taller than 1.60 m:

    >>> counts(2).l1
    2.0
    """
    number = checked_count(number, "number")
    return Sensitivity(
        l1=number,
        l2=math.sqrt(number),
        adjacency=adjacency,
        numbers=number,
        covers_missing=True,
    )


def histogram(adjacency: Adjacency = Adjacency.ADD_REMOVE) -> Sensitivity:
    """Count the records of cells that share none, however many cells there are.

    Parameters
    ----------
    adjacency
        What the neighbours are; a record replaced may leave one cell and enter another. A
        record that is blank is in no cell.

    Examples
    --------
    >>> histogram().l1, histogram(Adjacency.REPLACE).l1
    (1.0, 2.0)
    """
    distance = 1 if adjacency in _BLANK else 2
    return Sensitivity(
        l1=distance, l2=math.sqrt(distance), adjacency=adjacency, covers_missing=True
    )


def bounded_sum(
    lower: float, upper: float, *, adjacency: Adjacency = Adjacency.ADD_REMOVE
) -> Sensitivity:
    """Sum values clamped to public bounds.

    Sum integers. Floats are summed by `math.fsum`, which rounds once: it can move farther by
    the last digit of the sum, a running sum by much more. A record that is blank adds 0.

    Parameters
    ----------
    lower, upper
        The bounds.
    adjacency
        What the neighbours are.

    Raises
    ------
    UnboundedError
        If a bound is infinite.

    Examples
    --------
    >>> bounded_sum(20, 100).l1, bounded_sum(20, 100, adjacency=Adjacency.REPLACE).l1
    (100.0, 80.0)
    """
    return Sensitivity(
        l1=_move(lower, upper, adjacency, "A sum"),
        adjacency=adjacency,
        numbers=1,
        covers_missing=lower <= 0 <= upper,
    )


def mean(
    lower: float,
    upper: float,
    *,
    at_least: int,
    adjacency: Adjacency = Adjacency.ADD_REMOVE,
) -> Sensitivity:
    """Average values clamped to public bounds.

    Parameters
    ----------
    lower, upper
        The bounds.
    at_least
        A public number of records below which no data set in question lies. With the
        actual number in its place, the guarantee does not cover that somebody leaves.
    adjacency
        What the neighbours are.

    Raises
    ------
    UnboundedError
        If a bound is infinite.

    Notes
    -----
    The worst neighbours have `at_least` records and one more: the width of the bounds over
    ``at_least + 1``. Otherwise the number is public: what a sum moves, over `at_least`.

    Examples
    --------
    Mean age of nine patients, bounded by 20 and 100:

    >>> mean(20, 100, at_least=9).l1
    8.0
    """
    records = checked_count(at_least, "at_least")
    if adjacency == Adjacency.ADD_REMOVE:
        distance = _width(lower, upper, Message("A mean")) / (records + 1)
    else:
        distance = _move(lower, upper, adjacency, Message("A mean")) / records
    return Sensitivity(l1=distance, adjacency=adjacency, numbers=1)


def maximum(
    lower: float = -math.inf,
    upper: float = math.inf,
    *,
    adjacency: Adjacency = Adjacency.ADD_REMOVE,
) -> Sensitivity:
    """Take the largest value; the smallest, the median and every quantile move as far.

    Parameters
    ----------
    lower, upper
        The bounds; the answer on no data must lie between them as well.
    adjacency
        What the neighbours are.

    Raises
    ------
    UnboundedError
        If a bound is infinite.

    Examples
    --------
    >>> maximum(0, 120).l1
    120.0
    """
    distance = _width(lower, upper, Message("A maximum"))
    if adjacency == Adjacency.ZERO_OUT:  # a blank value counts as 0, which may lie outside
        distance = max(upper, 0.0) - min(lower, 0.0)
    return Sensitivity(l1=distance, adjacency=adjacency, numbers=1, covers_missing=True)


def disjoint(
    parts: Iterable[Sensitivity],
    *,
    adjacency: Adjacency | None = None,
    is_fixed: bool = False,
) -> Sensitivity:
    """Answer on parts of the data that share no unit.

    Parameters
    ----------
    parts
        The sensitivity of each answer.
    adjacency
        The neighbours of the whole; by default those of the parts.
    is_fixed
        Whether the part of a unit is public and the same in all neighbours.

    Notes
    -----
    Added or removed, a unit is in one part: the largest. Replaced, it is removed and another
    added, at worst both in the part that moves farthest: twice the largest. A unit that leaves
    one part for another moves both, which is never more.

    Examples
    --------
    >>> disjoint([count(), counts(3)]).l1
    3.0
    >>> disjoint([count(), counts(3)], adjacency=Adjacency.REPLACE).l1
    6.0
    """
    members = list(parts)
    part_adjacency, unit = common((part.adjacency, part.unit) for part in members)
    whole = part_adjacency if adjacency is None else Adjacency(adjacency)
    n_units = units_changed(part_adjacency, whole, is_fixed=is_fixed)
    return Sensitivity(
        l1=n_units * max(part.l1 for part in members),
        l2=n_units * max(part.l2 for part in members),
        adjacency=whole,
        unit=unit,
        numbers=_numbers(members),
        covers_missing=_cover_missing(members),
    )


def together(parts: Iterable[Sensitivity]) -> Sensitivity:
    """Answer several questions on the same data, published as one.

    Parameters
    ----------
    parts
        The sensitivity of each answer.

    Examples
    --------
    >>> together([count(), count()]).l1
    2.0
    """
    members = list(parts)
    adjacency, unit = common((part.adjacency, part.unit) for part in members)
    return Sensitivity(
        l1=sum(part.l1 for part in members),
        l2=math.hypot(*(part.l2 for part in members)),
        adjacency=adjacency,
        unit=unit,
        numbers=_numbers(members),
        covers_missing=_cover_missing(members),
    )


def _numbers(parts: list[Sensitivity]) -> int | None:
    """How many numbers the answers of all parts have."""
    numbers = [part.numbers for part in parts if part.numbers is not None]
    return sum(numbers) if len(numbers) == len(parts) else None


def _cover_missing(parts: list[Sensitivity]) -> bool:
    return all(p.covers_missing or p.adjacency == Adjacency.ADD_REMOVE for p in parts)


def _move(lower: float, upper: float, adjacency: Adjacency, query: str) -> float:
    """How far one record moves a sum."""
    width = _width(lower, upper, query)
    return max(abs(lower), abs(upper)) if adjacency in _BLANK else width


def _width(lower: float, upper: float, query: str) -> float:
    if not (math.isfinite(lower) and math.isfinite(upper)):
        raise UnboundedError(
            Message(
                "{query} of unbounded values can be changed by one record without limit.",
                query=said(query),
            ),
            hint=Message(
                "clamp the values to public bounds, or choose among candidates with "
                "dp.Exponential"
            ),
        )
    if not lower < upper:
        raise DPError(
            Message(
                "lower must lie below upper, but {lower:g} and {upper:g} do not.",
                lower=lower,
                upper=upper,
            )
        )
    return float(upper) - float(lower)
