"""Generalise whole columns, as little as needed, until every group has k records."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from operator import le
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from footing.checks import is_number, problems_of, require_number
from footing.messages import Message, Name, joined
from risk.anonymity.groups import Column, as_pandas, columns_of, group_numbers
from risk.errors import RiskError

Levels: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Generalised:
    """Hold generalised records and how they came about; records inside.

    Parameters
    ----------
    frame
        The records kept, with generalised quasi-identifiers, as pandas, polars or Arrow like
        what was given (pandas for a mapping).
    levels
        Per quasi-identifier its level; 0 is as it was.
    k
        The size of the smallest group.
    minimal
        The levels of all minimal generalisations, this one's among them.
    """

    frame: Any
    levels: dict[str, int]
    k: int
    minimal: tuple[dict[str, int], ...]

    def __repr__(self) -> str:
        return f"Generalised(levels={self.levels})"


def generalise(
    frame: Any,
    *,
    hierarchies: Mapping[str, Sequence[Mapping[Any, Any]]],
    k: int,
) -> Generalised:
    """Find a minimal generalisation of whole columns that makes records k-anonymous.

    Notes
    -----
    A generalisation is minimal when none with all levels as fine or finer, and one of them
    finer, is k-anonymous; of these the one with the smallest sum of levels is taken. It only
    becomes easier as columns get broader, so combinations are tried by the sum of their
    levels, without those that are broader than a success. Only the distinct combinations of
    the values are generalised, not the records. Ties go to the first in lexicographic order.

    References
    ----------
    P. Samarati (2001), IEEE TKDE 13(6).
    """
    _require(hierarchies, k)
    table = as_pandas(frame)
    names = list(hierarchies)
    columns = columns_of(table, names)
    ladders = _ladders(names, columns, hierarchies)
    numbers, first = group_numbers([column.codes for column in columns])
    coded = [
        [codes[column.codes[first]] for codes, _ in ladder]
        for column, ladder in zip(columns, ladders, strict=True)
    ]
    weights = np.bincount(numbers)
    minimal: list[Levels] = []
    for levels in sorted(product(*(range(len(ladder)) for ladder in ladders)), key=sum):
        is_coarser = any(all(map(le, one, levels)) for one in minimal)
        if not is_coarser and _smallest(coded, levels, weights) >= k:
            minimal.append(levels)
    if not minimal:
        raise RiskError(
            Message("Even the broadest levels leave groups of fewer than {k} records.", k=k),
            hint=Message("add a broadest level, or ask for a smaller k"),
        )
    best = minimal[0]
    generalised = table.copy()
    for name, column, ladder, level in zip(names, columns, ladders, best, strict=True):
        if level:
            codes, labels = ladder[level]
            generalised[name] = np.array([*labels, None], dtype=object)[:-1][
                codes[column.codes]
            ]
    return Generalised(
        frame=_as_given(generalised.reset_index(drop=True), frame),
        levels=dict(zip(names, best, strict=True)),
        k=_smallest(coded, best, weights),
        minimal=tuple(dict(zip(names, levels, strict=True)) for levels in sorted(minimal)),
    )


def _smallest(
    coded: Sequence[Sequence[NDArray[np.int64]]], levels: Levels, weights: NDArray[np.int64]
) -> int:
    """Count the records of the smallest group, from codes by column, level and combination."""
    of_groups, _ = group_numbers([c[level] for c, level in zip(coded, levels, strict=True)])
    return int(np.bincount(of_groups, weights).min())


def bins(values: Sequence[Any], *, width: float, start: float = 0) -> dict[Any, str]:
    """Make a level of a hierarchy that puts numbers into classes of equal width."""
    require_number(width, "width", error=RiskError, above=0)
    require_number(start, "start", error=RiskError)
    numbers = sorted({value for value in values if value is not None and value == value})  # noqa: PLR0124
    if not all(is_number(value) for value in numbers):
        raise RiskError(Message("values must be finite numbers; some are not."))
    lows = [start + width * ((value - start) // width) for value in numbers]
    return {v: f"{low:g}-{low + width:g}" for v, low in zip(numbers, lows, strict=True)}


def _require(hierarchies: Any, k: int) -> None:
    problems: list[str] = []
    if not hierarchies:
        problems.append(Message("hierarchies must name at least one column"))
    problems += problems_of(k, "k", is_whole=True, minimum=1)
    if problems:
        raise RiskError(
            Message(
                "Records cannot be generalised: {problems}.",
                problems=joined("; ", problems),
            )
        )


def _ladders(
    names: Sequence[str],
    columns: Sequence[Column],
    hierarchies: Mapping[str, Sequence[Mapping[Any, Any]]],
) -> list[list[tuple[NDArray[np.int64], list[Any]]]]:
    """Give per column and level the code of each value, and the labels of the codes."""
    problems, ladders = [], []
    for name, column in zip(names, columns, strict=True):
        values = column.categories
        ladder = [(np.arange(len(values)), list(values))]
        for level, labels in enumerate(hierarchies[name], start=1):
            absent = sum(v is not None and v not in labels for v in values)
            if absent:
                problems.append(
                    Message(
                        "level {level} of {name!r} lacks {absent} of the values in the data",
                        level=level,
                        name=Name(name),
                        absent=absent,
                    )
                )
                continue
            row_labels = [labels.get(v) if v is None else labels[v] for v in values]
            distinct = list(dict.fromkeys(row_labels))
            place = {label: code for code, label in enumerate(distinct)}
            ladder.append((np.array([place[label] for label in row_labels]), distinct))
        for level, ((fine, _), (broad, _)) in enumerate(pairwise(ladder), start=1):
            if len(np.unique(np.stack([fine, broad]), axis=1).T) > len(np.unique(fine)):
                problems.append(
                    Message(
                        "level {level} of {name!r} splits a class of the one below",
                        level=level,
                        name=Name(name),
                    )
                )
        ladders.append(ladder)
    if problems:
        raise RiskError(
            Message(
                "The hierarchies do not fit: {problems}.",
                problems=joined("; ", problems),
            ),
            hint=Message(
                "every level maps every value, and classes only merge from level to level"
            ),
        )
    return ladders


def _as_given(records: Any, original: Any) -> Any:
    """Return records in the form they came in."""
    import pandas as pd

    if isinstance(original, pd.DataFrame):
        return records
    if hasattr(original, "__arrow_c_stream__"):
        import pyarrow as pa

        table = pa.Table.from_pandas(records, preserve_index=False)
        is_polars = type(original).__module__.split(".")[0] == "polars"
        return type(original)(table) if is_polars else table
    return records
