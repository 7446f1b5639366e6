"""Coarser values, and sensitive values detached from their records."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from footing.messages import Argument, Message
from synth.errors import SynthError
from synth.sanitisers.frames import checked_rows, opened

if TYPE_CHECKING:
    import pandas as pd


def intervals(*spans: tuple[int, int]) -> Callable[[float], str]:
    """Return what names the interval of a whole number.

    Parameters
    ----------
    *spans
        Least and greatest number of each interval, in rising order, none overlapping.

    Examples
    --------
    >>> intervals((0, 1999), (2000, 49999))(2174)
    '[2000-49999]'
    """
    if not spans or any(low > high for low, high in spans):
        raise SynthError(Message("An interval must not end before it starts."))
    if any(a[1] >= b[0] for a, b in pairwise(spans)):
        raise SynthError(Message("Intervals must rise and not overlap."))
    starts = [low for low, _ in spans]

    def name(value: float) -> str:
        place = bisect_right(starts, value) - 1
        if place < 0 or value > spans[place][1]:
            raise SynthError(
                Message("A value lies in no interval."), hint=Message("widen them")
            )
        return f"[{spans[place][0]}-{spans[place][1]}]"

    return name


def recode(
    frame: Any, *, into: Mapping[str, Mapping[Any, Any] | Callable[[Any], Any]]
) -> pd.DataFrame:
    """Replace values by coarser ones.

    Parameters
    ----------
    frame
        The records.
    into
        Per column a mapping, whose other values stay, or a function such as `intervals`.

    Examples
    --------
    >>> recode({"land": ["Cuba", "France"]}, into={"land": {"Cuba": "Caribbean"}})[
    ...     "land"
    ... ].tolist()
    ['Caribbean', 'France']
    """
    import pandas as pd

    table = opened(frame, list(into))
    for name, rule in into.items():
        old = table[name].tolist()
        new = [rule.get(v, v) if isinstance(rule, Mapping) else rule(v) for v in old]
        table[name] = pd.Series(new, dtype=object)
    return table


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Buckets:
    """Records without their sensitive values, and those by bucket.

    Parameters
    ----------
    records
        The other columns, and the number of the bucket.
    sensitive
        Per bucket the sensitive values, sorted: whose is which is not told.

    Examples
    --------
    >>> made = bucketise({"age": [1, 2], "ill": ["y", "x"]}, groups=[[0, 1]], sensitive="ill")
    >>> made.sensitive
    (('x', 'y'),)
    """

    records: pd.DataFrame
    sensitive: tuple[tuple[Any, ...], ...]

    @property
    def diversity(self) -> int:
        """The least number of different sensitive values in a bucket.

        Examples
        --------
        >>> frame = {"age": [1, 2], "ill": ["y", "x"]}
        >>> bucketise(frame, groups=[[0, 1]], sensitive="ill").diversity
        2
        """
        return min(len(set(bucket)) for bucket in self.sensitive)

    def __repr__(self) -> str:
        return "Buckets(…)"


def bucketise(
    frame: Any, *, groups: Sequence[Sequence[int]], sensitive: str, least: int = 1
) -> Buckets:
    """Detach the sensitive values of each group from its records.

    Parameters
    ----------
    frame
        The records.
    groups
        The rows of each bucket, from 0; every row once.
    sensitive
        The column to detach.
    least
        How many different sensitive values a bucket needs.

    Examples
    --------
    >>> frame = {"age": [1, 2, 3, 4], "ill": ["y", "x", "x", "z"]}
    >>> list(bucketise(frame, groups=[[0, 1], [2, 3]], sensitive="ill").records["bucket"])
    [0, 0, 1, 1]
    """
    table = opened(frame, [sensitive])
    rows = checked_rows([row for group in groups for row in group], len(table))
    if sorted(rows) != list(range(len(table))) or not all(groups):
        raise SynthError(Message("Every row must be in one bucket, and no bucket empty."))
    if "bucket" in table.columns:
        raise SynthError(
            Message("A column 'bucket' is there already."), hint=Message("rename it")
        )
    of = {row: number for number, group in enumerate(groups) for row in group}
    values = table[sensitive].tolist()
    buckets = Buckets(
        records=table.drop(columns=[sensitive]).assign(
            bucket=[of[r] for r in range(len(table))]
        ),
        sensitive=tuple(
            tuple(sorted((values[row] for row in group), key=str)) for group in groups
        ),
    )
    if buckets.diversity < least:
        raise SynthError(
            Message(
                "A bucket has {diversity} different sensitive values, not {least}.",
                diversity=buckets.diversity,
                least=Argument(least),
            ),
            hint=Message("mix the records otherwise"),
        )
    return buckets


def cross_bucket(
    frame: Any,
    *,
    quasi_identifiers: Sequence[str],
    sensitive: str,
    groups: Sequence[Sequence[int]],
    k: int,
    least: int,
) -> Buckets:
    """Join k-anonymous classes with diverse buckets, or refuse.

    Parameters
    ----------
    frame
        The records, already generalised.
    quasi_identifiers
        Columns an intruder may know: each combination must occur k times.
    sensitive
        The column to detach.
    groups
        The rows of each bucket, from 0; at least k each.
    k
        How many records must look alike.
    least
        How many different sensitive values a bucket needs.

    References
    ----------
    Li et al. 2017, on (k, l) cross-bucket generalisation.

    Examples
    --------
    >>> frame = {"age": ["20-39"] * 4, "ill": ["x", "y", "x", "y"]}
    >>> made = cross_bucket(
    ...     frame,
    ...     quasi_identifiers=["age"],
    ...     sensitive="ill",
    ...     groups=[[0, 1], [2, 3]],
    ...     k=2,
    ...     least=2,
    ... )
    >>> made.diversity
    2
    """
    from risk.anonymity.audit import audit_anonymity

    table = opened(frame, [*quasi_identifiers, sensitive])
    own_k = audit_anonymity(table, quasi_identifiers=list(quasi_identifiers)).k
    smallest = min((len(group) for group in groups), default=0)
    if min(own_k, smallest) < k:
        raise SynthError(
            Message(
                "Classes of {value} and buckets of {smallest} records are not all of {k}.",
                value=own_k,
                smallest=smallest,
                k=k,
            ),
            hint=Message("generalise further, or ask for less"),
        )
    return bucketise(table, groups=groups, sensitive=sensitive, least=least)
