"""An engine, or a service before it, as the oracle that attacks ask."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias, TypeVar

import numpy as np

from ckm.engine.request import TableRequest
from ckm.errors import ConfigError, ReleaseError
from risk.attacks.reconstruction.geographic import GeographicDifferencing
from risk.errors import RiskError
from tables import RequestError, TablesError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ckm.engine.published_table import PublishedTable
    from risk.attacks.oracle import CountRequest
    from risk.attacks.reconstruction.geographic import Sliver

    Group: TypeAlias = tuple[int, ...]
    Counts: TypeAlias = dict[tuple[str, ...], int]
    #: A filter, a cell of a table, or None for what is not on offer.
    Question: TypeAlias = "str | PublishedCell | None"

_T = TypeVar("_T")


class Tabulator(Protocol):
    """Anything that answers table requests as `Engine` does, such as a service with rules."""

    def tabulate_all(self, requests: Mapping[str, TableRequest]) -> dict[str, PublishedTable]:
        """Publish tables, or raise an error that says why not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedCell:
    """Say where a published count stands.

    Parameters
    ----------
    request
        The table.
    at
        Column of the published table → category; columns left out are those of the total.
    """

    request: TableRequest
    at: Mapping[str, str]


class EngineOracle:
    """Answer the count requests of attacks with what an engine publishes.

    Every count goes the way of a user's request, so that all rules and limits hold. A count
    that is refused is None, and its reason is kept. What is wrong with the data or the keys is
    no refusal, and raised.

    Parameters
    ----------
    engine
        An `Engine`, or anything with its `tabulate_all`.
    question
        What to ask for a line and a group of categories: a filter, whose total is taken; a
        cell of a table; or None where users cannot ask such a thing.
    remembers
        Whether a table that was published is read again instead of asked for again. The
        attack counts its queries alike.
    total_label
        What the engine calls totals.

    Notes
    -----
    A category that does not stand in a table was published as 0: empty cells and those that
    noise made 0 are left out where categories are not declared.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from ckm import Engine
    >>> from ptable import NoiseSpec, solve
    >>> from risk.attacks import RepeatedAnswers
    >>> from tables import Secret
    >>> people = pa.table({"id": range(90), "sex": ["F", "M", "F"] * 30})
    >>> table = solve(NoiseSpec(max_noise=2, variance=1.0))
    >>> engine = Engine(people, id="id", secret=Secret(bytes(16)), ptable=table)
    >>> oracle = EngineOracle.of_groups(engine, column="sex", categories=["F", "M"])
    >>> result = RepeatedAnswers(n_repeats=5).run(oracle, truth=[60])
    >>> result.queries, dict(oracle.reasons)
    (5, {})
    """

    def __init__(
        self,
        engine: Tabulator,
        question: Callable[[int, Group], Question],
        *,
        remembers: bool = False,
        total_label: str = "Total",
    ) -> None:
        self._engine = engine
        self._question = question
        self._remembers = remembers
        self._total = total_label
        self._known: dict[str, tuple[tuple[str, ...], Counts]] = {}
        #: Why counts were refused, and how many.
        self.reasons: Counter[str] = Counter()

    @classmethod
    def of_groups(
        cls,
        engine: Tabulator,
        *,
        column: str,
        categories: Sequence[str | int],
        lines: Sequence[str | None] = (None,),
        remembers: bool = False,
    ) -> Self:
        """Ask for the total of a filter on groups of categories of a column.

        Parameters
        ----------
        engine
            As for the class.
        column
            The attribute that is grouped at will.
        categories
            Its categories; a group names them by their places here.
        lines
            A filter per line, such as an area; None for everybody.
        remembers
            As for the class.

        Examples
        --------
        >>> class Service:
        ...     def tabulate_all(self, requests):
        ...         for request in requests.values():
        ...             print(request.where)
        ...         raise PermissionError("closed")
        >>> oracle = EngineOracle.of_groups(
        ...     Service(), column="age", categories=["0-14", "15+"], lines=["area = 'north'"]
        ... )
        >>> from risk.attacks import CountRequest
        >>> oracle(CountRequest(groups=((0, 1),)))
        (area = 'north') and `age` in ('0-14', '15+')
        [None]
        """

        def question(line: int, group: Group) -> str:
            named = ", ".join(_literal(_at(categories, place)) for place in group)
            here = _at(lines, line)
            return (f"({here}) and " if here else "") + f"{_name(column)} in ({named})"

        return cls(engine, question, remembers=remembers)

    @classmethod
    def of_cube(
        cls,
        engine: Tabulator,
        *,
        categories: Mapping[str, Sequence[str]],
        lines: Sequence[str | None] = (None,),
        total_label: str = "Total",
    ) -> Self:
        """Ask for cells and margins of a table, as published; other groups are not on offer.

        Parameters
        ----------
        engine
            As for the class.
        categories
            Dimension → its categories as published. The base cells of a line are numbered in C
            order, and a group of them is a cell of a margin or refused.
        lines
            A filter per line; None for everybody.
        total_label
            As for the class.
        """
        names = tuple(categories)
        cells = _margins([list(labels) for labels in categories.values()])

        def question(line: int, group: Group) -> Question:
            labels = cells.get(tuple(sorted(group)))
            if labels is None:
                return None
            at = {n: label for n, label in zip(names, labels, strict=True) if label is not None}
            request = TableRequest(dimensions=names, margins="all", where=_at(lines, line))
            return PublishedCell(request=request, at=at)

        return cls(engine, question, remembers=True, total_label=total_label)

    @classmethod
    def of_slivers(
        cls,
        engine: Tabulator,
        slivers: Sequence[Sliver],
        *,
        old: str,
        new: str,
        total_label: str = "Total",
    ) -> Self:
        """Ask for zones of two zonings, one table each, for `GeographicDifferencing`.

        Parameters
        ----------
        engine
            As for the class.
        slivers
            One per line, each with its parts inside its zone.
        old, new
            The columns of both zonings.
        total_label
            As for the class.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from ckm import Engine
        >>> from ptable import NoiseSpec, solve
        >>> from risk.attacks.reconstruction.geographic import find_slivers
        >>> from tables import Secret
        >>> zones = {"old": ["A"] * 60 + ["B"] * 30, "new": ["A"] * 58 + ["B"] * 32}
        >>> table = solve(NoiseSpec(max_noise=2, variance=1.0))
        >>> people = pa.table({"id": range(90), **zones})
        >>> engine = Engine(people, id="id", secret=Secret(bytes(16)), ptable=table)
        >>> slivers = find_slivers(zones["old"], zones["new"], largest=2)
        >>> oracle = EngineOracle.of_slivers(engine, slivers, old="old", new="new")
        >>> truth = [sliver.n_only_zone for sliver in slivers]
        >>> GeographicDifferencing().run(oracle, truth=truth).trials
        2
        """
        if not all(sliver.is_nested for sliver in slivers):
            raise RiskError(
                "The parts of a sliver must lie inside its zone; some reach beyond it.",
                hint="[s for s in slivers if s.is_nested] keeps the others",
            )
        cells: list[dict[Group, PublishedCell]] = []
        for sliver in slivers:
            sides = (old, new) if sliver.zoning == "old" else (new, old)
            zones = [(sides[1], part) for part in sliver.parts] + [(sides[0], sliver.zone)]
            groups = GeographicDifferencing(n_parts=len(sliver.parts), measure="exact").groups
            found = [
                PublishedCell(request=TableRequest(dimensions=[column]), at={column: str(zone)})
                for column, zone in zones
            ]
            cells.append(dict(zip(groups, found, strict=True)))

        def question(line: int, group: Group) -> Question:
            return _at(cells, line).get(group)

        return cls(engine, question, remembers=True, total_label=total_label)

    def __call__(self, request: CountRequest, /) -> list[int | None]:
        """Publish one count per group, None where it is refused."""
        if not self._remembers:
            self._known.clear()
        asked = [self._question(request.line, group) for group in request.groups]
        cells = [_cell(question) for question in asked]
        self._publish([cell.request for cell in cells if cell is not None])
        return [None if cell is None else self._count(cell) for cell in cells]

    def _publish(self, requests: Sequence[TableRequest]) -> None:
        """Ask for the tables that are not known, in one scan; one by one if that is refused."""
        new = {_key(r): r for r in requests if _key(r) not in self._known}
        if not new:
            return
        try:
            found = self._engine.tabulate_all(new)
        except (RequestError, ConfigError, ReleaseError, PermissionError) as error:
            if len(new) > 1:
                for request in new.values():
                    self._publish([request])
                return
            self.reasons[str(getattr(error, "problem", error))] += 1
            return
        except TablesError as error:
            raise RiskError(f"The engine cannot answer: {error.problem}") from error
        for key, table in found.items():
            self._known[key] = _read(table)

    def _count(self, cell: PublishedCell) -> int | None:
        if _key(cell.request) not in self._known:
            return None
        columns, counts = self._known[_key(cell.request)]
        unknown = set(cell.at) - set(columns)
        if unknown:
            raise RiskError(f"The published table has no column {min(unknown)!r}.")
        return counts.get(tuple(cell.at.get(column, self._total) for column in columns), 0)


def _cell(question: Question) -> PublishedCell | None:
    if isinstance(question, str):
        total = TableRequest(dimensions=[], where=question)
        return PublishedCell(request=total, at={})
    return question


def _key(request: TableRequest) -> str:
    return repr(request)


def _read(table: PublishedTable) -> tuple[tuple[str, ...], Counts]:
    """Give the columns of the dimensions, and the count of every cell by its categories."""
    lines = table.to_arrow().to_pydict()
    counts = lines[next(iter(table.measures))]
    columns = tuple(table.dimensions)
    labels = (
        zip(*(lines[column] for column in columns), strict=True)
        if columns
        else [()] * len(counts)
    )
    return columns, dict(zip(labels, counts, strict=True))


def _margins(labels: list[list[str]]) -> dict[Group, tuple[str | None, ...]]:
    """Give the label of every dimension, None for its total, of each group of base cells."""
    sizes = [len(ours) for ours in labels]
    cells = np.arange(math.prod(sizes)).reshape(sizes)
    found: dict[Group, tuple[str | None, ...]] = {}
    choices: list[list[tuple[Any, str | None]]] = [
        [*enumerate(ours), (slice(None), None)] for ours in labels
    ]
    for named in itertools.product(*choices):
        group = cells[tuple(place for place, _ in named)]
        found.setdefault(tuple(np.ravel(group).tolist()), tuple(label for _, label in named))
    return found


def _at(values: Sequence[_T], place: int) -> _T:
    """Take a value by its place; one that does not exist is a mistake, not a refusal."""
    if not 0 <= place < len(values):
        raise RiskError(f"The oracle has {len(values)} of these; {place} is none of them.")
    return values[place]


def _literal(value: str | int) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    text = str(value).replace("'", "''")
    return f"'{text}'"


def _name(column: str) -> str:
    return "`" + column.replace("`", "``") + "`"
