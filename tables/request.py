"""What a table request asks for, checked against the columns before anything is read."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeVar, get_args

from footing.errors import ExplainedError
from footing.messages import Argument, Message, Name, said
from tables.errors import RequestError, unknown_name
from tables.filtering.filters import Filter, parse_filter
from tables.filtering.values import NOUNS
from tables.recoding.derive import derived_problems

if TYPE_CHECKING:
    from tables.cells.hierarchy import Hierarchy
    from tables.source.source import Source

    Problem = tuple[str, str]

MissingValues = Literal["stop", "skip"]
#: What missing categories are called where nothing else is said.
MISSING = "(missing)"
MAX_TOP = 6
_MAX_DIMENSIONS = 24
_MAX_MARGINS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A table to tabulate.

    Parameters
    ----------
    dimensions
        Names of columns or of hierarchies; none gives the grand total.
    hierarchies
        Name → hierarchy, for the dimensions that nest.
    margins
        ``"all"`` for every total and subtotal, ``"none"`` for the finest cells only, or the
        wanted margins beside them: each a list of dimensions (all their levels) or of
        columns of a hierarchy (that level); the empty list is the grand total.
    where
        A filter, see `tables.filtering.filters`.
    weight
        Column of weights, or None.
    categories
        Dimension → its declared categories in order: so empty cells are known. For a
        hierarchy of columns, tuples of codes from broad to fine.
    total_label, missing_label
        What margins and missing categories are called in the output.
    sums
        Columns of numbers, or of true and false, to add up in every cell.
    top
        How many of the largest contributions to these sums to keep, at most 6.
    ordered
        Columns of numbers of which quantiles will be asked, see `tables.cells.order`.
    missing_values
        What a record without a value in `sums` does: ``"stop"`` raises, ``"skip"`` lets it
        contribute nothing.
    discrete
        Columns that have categories, however many values they hold and however few records
        these have: see `tables.cells.continuous`.

    Raises
    ------
    RequestError
        If the request contradicts itself; all problems at once.

    Examples
    --------
    >>> Request(dimensions=["sex", "age"], where="age >= 15").dimensions
    ('sex', 'age')
    """

    dimensions: Sequence[str]
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    margins: str | Sequence[Sequence[str]] = "all"
    where: str | Filter | None = None
    weight: str | None = None
    categories: Mapping[str, Sequence[object]] = field(default_factory=dict)
    total_label: str = "Total"
    missing_label: str = MISSING
    sums: Sequence[str] = ()
    top: int = 0
    ordered: Sequence[str] = ()
    missing_values: MissingValues = "stop"
    discrete: Sequence[str] = ()

    def __post_init__(self) -> None:
        if isinstance(self.dimensions, str):
            raise RequestError(
                Message("dimensions is a list of names."),
                hint=Message("write [{dimensions!r}]", dimensions=Name(self.dimensions)),
            )
        if isinstance(self.sums, str):
            raise RequestError(
                Message("sums is a list of names."),
                hint=Message("write [{sums!r}]", sums=Name(self.sums)),
            )
        set_field = object.__setattr__
        set_field(self, "dimensions", tuple(self.dimensions))
        set_field(self, "sums", tuple(self.sums))
        set_field(self, "discrete", tuple(self.discrete))
        nested = {n: self.hierarchies[n] for n in self.dimensions if n in self.hierarchies}
        set_field(self, "hierarchies", nested)
        declared = {n: tuple(c) for n, c in self.categories.items() if n in self.dimensions}
        set_field(self, "categories", declared)
        if isinstance(self.where, str):
            set_field(self, "where", parse_filter(self.where))
        if not isinstance(self.margins, str):
            set_field(self, "margins", tuple(tuple(m) for m in self.margins))
        errors = [_error(problem, "dimensions") for problem in self._contradictions()]
        errors += [_error(problem, "margins") for problem in self._wrong_margins()]
        errors += [_error(problem, "measures") for problem in self._contradictions_of_sums()]
        if errors:
            raise _joined(errors)

    def columns_of(self, dimension: str) -> tuple[str, ...]:
        """Return the data columns behind a dimension, from broad to fine."""
        nested = self.hierarchies.get(dimension)
        return (dimension,) if nested is None else nested.columns

    def output_columns_of(self, dimension: str) -> tuple[str, ...]:
        """Return the columns in which the table shows a dimension."""
        nested = self.hierarchies.get(dimension)
        return (dimension,) if nested is None or nested.tree is not None else nested.columns

    @property
    def columns(self) -> tuple[str, ...]:
        """The data columns of all dimensions, each once."""
        return tuple(dict.fromkeys(c for d in self.dimensions for c in self.columns_of(d)))

    @property
    def read_columns(self) -> tuple[str, ...]:
        """The data columns that are read for the table, but for those of keys."""
        where = self.where.columns if isinstance(self.where, Filter) else ()
        weight = () if self.weight is None else (self.weight,)
        return tuple(dict.fromkeys([*self.columns, *where, *weight, *self.sums]))

    def problems(self, source: Source) -> list[tuple[str, str]]:
        """Tell what does not fit the source's columns, as (problem, hint) pairs."""
        return [(error.problem, error.hint or "") for error in self.errors(source)]

    def errors(self, source: Source) -> list[RequestError]:
        """Tell what does not fit the source's columns; each knows its place in the request."""
        errors = [*self._wrong_dimensions(source)]
        if isinstance(self.where, Filter):
            wrong = self.where.problems(source.types, source.refusals)
            errors += [_error(problem, "where") for problem in wrong]
        given = [] if source.cells is None else source.cells.problems(self, source)
        if source.derived:
            errors += map(_error, derived_problems(self, source))
        return [*errors, *self._wrong_numbers(source), *map(_error, given)]

    def level_sets(self, depths: Sequence[int]) -> list[tuple[int, ...]]:
        """Enumerate the wanted combinations of levels, finest first.

        Parameters
        ----------
        depths
            Number of levels of each dimension, the total included. Level 0 is the finest.

        Returns
        -------
        list of tuple of int
            One level per dimension.
        """
        finest = (0,) * len(depths)
        if self.margins == "none":
            return [finest]
        if self.margins == "all":
            return list(itertools.product(*(range(d) for d in depths)))
        combinations = {finest}
        for margin in self.margins:
            choices: list[Sequence[int]] = []
            for dimension, depth in zip(self.dimensions, depths, strict=True):
                columns = self.output_columns_of(dimension)
                numbers = [len(columns) - 1 - columns.index(c) for c in margin if c in columns]
                if dimension in margin:
                    choices.append(range(depth - 1))
                elif numbers:
                    choices.append(numbers)
                else:
                    choices.append([depth - 1])
            combinations.update(itertools.product(*choices))
        return sorted(combinations, key=lambda levels: (sum(levels), levels))

    def _wrong_dimensions(self, source: Source) -> Iterator[RequestError]:
        for column in (c for d in self.dimensions for c in self.columns_of(d)):
            place = ("dimensions", column)
            if column not in source.columns and column not in source.refusals:
                names = [*source.columns, *self.hierarchies]
                yield _error(unknown_name("Column", column, names), *place)
            elif (problem := source.category_problem_of(column)) is not None:
                yield _error(problem, *place)

    def _wrong_numbers(self, source: Source) -> Iterator[RequestError]:
        for column in dict.fromkeys((self.weight, *self.sums, *self.ordered)):
            if column is not None:
                place = ("weight",) if column == self.weight else ("measures", column)
                for problem in self._wrong_number(column, source):
                    yield _error(problem, *place)

    def _wrong_number(self, column: str, source: Source) -> Iterator[Problem]:
        kinds = source.kinds
        if (problem := source.problem_of(column)) is not None:
            yield problem
        elif kinds[column] == "other":
            yield source.category_problem_of(column) or ("", "")
        elif source.is_text_of_csv(column):
            yield from filter(None, [source.number_problem(column)])
        elif column == self.weight and kinds[column] not in {"integer", "number"}:
            yield (
                Message("The weight {column!r} must hold numbers.", column=Name(column)),
                "",
            )
        elif kinds[column] not in {"integer", "number", "boolean"}:
            noun = NOUNS[kinds[column]]
            yield (
                Message(
                    "Column {column!r} holds {noun}, which have neither sum nor quantiles.",
                    column=Name(column),
                    noun=said(noun),
                ),
                Message("a variable to add up or to order holds numbers, or true and false"),
            )

    def _contradictions(self) -> Iterator[Problem]:
        outputs = [c for d in self.dimensions for c in self.output_columns_of(d)]
        for column in sorted({c for c in outputs if outputs.count(c) > 1}):
            yield (
                Message("Column {column!r} is asked for twice.", column=Name(column)),
                Message("name each dimension once"),
            )
        depths = [len(self.output_columns_of(d)) + 1 for d in self.dimensions]
        if self.margins == "all" and math.prod(depths) > _MAX_MARGINS:
            yield (
                Message(
                    "All margins of these dimensions are more than {max_margins:,} tables.",
                    max_margins=_MAX_MARGINS,
                ),
                Message('ask for fewer dimensions, for margins = "none", or list the margins'),
            )
        if len(self.dimensions) > _MAX_DIMENSIONS:
            yield (
                Message(
                    "A table has at most {max_dimensions} dimensions.",
                    max_dimensions=_MAX_DIMENSIONS,
                ),
                Message("ask for fewer"),
            )

    def _wrong_margins(self) -> Iterator[Problem]:
        outputs = [c for d in self.dimensions for c in self.output_columns_of(d)]
        if not isinstance(self.margins, str):
            names = {*self.dimensions, *outputs}
            for name in sorted({n for margin in self.margins for n in margin} - names):
                yield unknown_name("Margin", name, sorted(names))
        elif self.margins not in {"all", "none"}:
            yield (
                Message(
                    "margins are 'all', 'none' or a list, not {margins!r}.",
                    margins=Name(self.margins),
                ),
                Message('for example [["sex"], ["sex", "age"], []]'),
            )

    def _contradictions_of_sums(self) -> Iterator[Problem]:
        for column in sorted({c for c in self.sums if self.sums.count(c) > 1}):
            yield (
                Message("The variable {column!r} is asked for twice.", column=Name(column)),
                Message("name each variable once"),
            )
        if type(self.top) is not int or not 0 <= self.top <= MAX_TOP:
            yield (
                Message(
                    "top must be a whole number from 0 to {max_top}, not {top!r}.",
                    max_top=MAX_TOP,
                    top=Argument(self.top),
                ),
                "",
            )
        if self.missing_values not in get_args(MissingValues):
            yield (
                Message(
                    "missing_values are 'stop' or 'skip', not {missing_values!r}.",
                    missing_values=Name(self.missing_values),
                ),
                "",
            )
        if self.total_label == self.missing_label or not self.total_label:
            yield Message("total_label and missing_label must be two different texts."), ""


def _error(problem: Problem, *place: str) -> RequestError:
    text, hint = problem
    return RequestError(text, hint=hint or None, at=place)


def _joined(errors: Sequence[RequestError]) -> RequestError:
    """Return one error that shows all problems."""
    unique = list({(error.problem, error.hint): error for error in reversed(errors)}.values())
    if len(unique) == 1:
        return unique[0]
    heading = Message("{number} problems:", number=len(unique))
    return RequestError.of_several(heading, reversed(unique))


def require_fit(requests: Mapping[str, Request] | Sequence[Request], source: Source) -> None:
    """Raise one error with the problems of all requests against the source's columns."""
    if isinstance(requests, Mapping):
        errors = [of_table(n, e) for n, r in requests.items() for e in r.errors(source)]
    else:
        errors = [error for request in requests for error in request.errors(source)]
    if errors:
        raise _joined(errors)


_E = TypeVar("_E", bound=ExplainedError)
_SECTION_NAME = re.compile(r"\[\[(\w+)\]\] (.+)", re.DOTALL)


def of_table(name: str, error: _E) -> _E:
    """Say of which table an error is, and of which of the file.

    A request of a service is named after its section, as ``[[variable]] sex``.
    """
    named = _SECTION_NAME.fullmatch(name)
    section, own = named.groups() if named else ("table", name)
    error.begin_with(
        lambda problem: (
            Message(
                "[[{section}]] {name!r}: {problem}",
                section=Name(section),
                name=Name(own),
                problem=said(problem),
            )
            if named
            else Message("table {name!r}: {problem}", name=Name(name), problem=said(problem))
        )
    )
    for one in error.parts or (error,):
        one.at = (section, own, *one.at)
    return error
