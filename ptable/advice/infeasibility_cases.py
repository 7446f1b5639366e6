"""A request that cannot be met, what is changed about it, and how that is told."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ptable.design.spec import NoiseSpec
from ptable.design.stack import StackedSpec
from ptable.errors import PTableError
from ptable.solver.reach import meets, reaches, variance_bounds
from ptable.solver.row import RowProblem

_Request: TypeAlias = "NoiseSpec | StackedSpec"
_MAX_NAMED = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """A request that can be met, as near as possible to one that cannot.

    Parameters
    ----------
    changes
        The options that differ, each with its value before and after.
    distance
        How far the numbers move, relative to what was asked; giving up a rule counts as 1.
    note
        What to know about it, in words; may be empty.
    spec
        The request itself.

    Examples
    --------
    >>> from ptable import alternatives
    >>> for found in alternatives(NoiseSpec(max_noise=5, variance=1.0, small=2)):
    ...     print(found)
    small 1 instead of 2
    variance 2 instead of 1 (counts 1, 2 have only one law there)
    variance per row, rows 1, 2 changed, instead of 1 (counts 1, 2 have only one law there)
    variance_rule 'nearest' instead of 'exact' (rows out of reach take their nearest variance)
    """

    changes: Mapping[str, tuple[Any, Any]]
    distance: float
    note: str
    spec: _Request = field(repr=False)

    def __str__(self) -> str:
        sentence = " and ".join(_say(name, *pair) for name, pair in self.changes.items())
        return f"{sentence} ({self.note})" if self.note else sentence


@dataclass(slots=True, kw_only=True)
class Case:
    """A request whose options are changed, and the rows it answers for.

    Parameters
    ----------
    fields
        The options of a `NoiseSpec`.
    wrap
        Makes the whole request of a changed `NoiseSpec`.
    counts
        The counts of the rows that matter; None for all.
    tough
        The counts whose rows failed last, tried first.
    """

    fields: dict[str, Any]
    wrap: Callable[[NoiseSpec], _Request] = lambda spec: spec
    counts: Collection[int] | None = None
    tough: list[int] = field(default_factory=list)

    def get(self, name: str) -> Any:
        """Give an option, or its default."""
        return self.fields.get(name, NoiseSpec.__dataclass_fields__[name].default)

    def design(self, **changes: Any) -> _Request | None:
        """Give the changed request, or None where it is refused."""
        try:
            return self.wrap(NoiseSpec(**{**self.fields, **changes}))
        except PTableError:
            return None

    def rows(self, design: _Request) -> tuple[RowProblem, ...]:
        """Give the rows that matter."""
        rows = design.rows()
        return rows if self.counts is None else tuple(r for r in rows if r.count in self.counts)

    def works(self, **changes: Any) -> _Request | None:
        """Give the changed design if every row can be met; rows that failed before go first."""
        design = self.design(**changes)
        if design is None:
            return None
        rows = {row.count: row for row in self.rows(design)}
        for count in [*(c for c in self.tough if c in rows), *rows]:
            if not can(rows[count]):
                if count not in self.tough:
                    self.tough.insert(0, count)
                return None
        return design

    def offer(
        self, distance: float, *, note: str = "", **changes: Any
    ) -> Iterator[Alternative]:
        """Give a change as an alternative, if it works."""
        design = self.works(**changes)
        if design is not None:
            yield Alternative(
                changes={name: (self.get(name), value) for name, value in changes.items()},
                distance=distance,
                note=note,
                spec=design,
            )


def can(problem: RowProblem) -> bool:
    """Say whether a row can be met."""
    if not problem.nearest or reaches(problem):
        return reaches(problem)
    ends = variance_bounds(problem)
    return ends is not None and not meets(problem, ends)


def name_counts(counts: list[int]) -> str:
    """Name some counts, and say how many more there are."""
    numbers = ", ".join(map(str, counts[:_MAX_NAMED]))
    more = f" and {len(counts) - _MAX_NAMED} more" if len(counts) > _MAX_NAMED else ""
    return f"count{'s' if len(counts) > 1 else ''} {numbers}{more}"


def _say(name: str, before: Any, after: Any) -> str:
    if isinstance(after, tuple):
        old = before if isinstance(before, tuple) else (before,) * len(after)
        changes = [
            row
            for row, (was, is_now) in enumerate(zip(old, after, strict=True), start=1)
            if was != is_now and is_now is not None
        ]
        rows = name_counts(changes).replace("count", "row", 1)
        return f"{name} per row, {rows} changed, instead of {_value(before)}"
    return f"{name} {_value(after)} instead of {_value(before)}"


def _value(value: Any) -> str:
    if isinstance(value, tuple):
        return "one per row"
    if isinstance(value, float):
        return f"{value:.6g}"
    return "free" if value is None else repr(value)
