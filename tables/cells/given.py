"""Cells as they were given: counts, keys, weights and amounts that others added up.

A row is a cell of the finest level, or a margin. Margins are checked against the cells and left
out, so that cells are tabulated as records are: what is counted is summed instead.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from footing.messages import Argument, Message, Name, said
from tables.cells.axes import encode
from tables.cells.hierarchy import CodeTree, Hierarchy
from tables.errors import DataError, DataWarning, RequestError
from tables.filtering.filters import Filter, quote
from tables.keys import StoredKeys
from tables.magnitudes.variables import largest_columns
from tables.request import Request
from tables.source.files import sql_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from footing.arrays import Flags
    from tables.cells.blocks import Cells
    from tables.source.source import Source

    #: ``"weight"`` or ``"sums"``, and a column; None for counts and keys.
    Part = tuple[str, str] | None

_NO_KEY = "ckm_no_key"
_LARGEST = 2**53
_WIDE = 2**32  # keys of a smaller range add up to others by chance
_NEAR = 1e-9  # sums of others were rounded on the way


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenCells:
    """What the columns of a table of cells are.

    Parameters
    ----------
    dimensions
        The columns that tell cells apart.
    count
        The column of numbers of records.
    cell_key
        The column of sums of record keys modulo their range; None where there are no keys.
    key_range
        As for `StoredKeys`.
    trees
        Column → its code tree.
    total_label, missing_label
        What totals of other columns, and missing categories, are called.
    shared
        Variables whose contributors may give to several cells, as holdings do: how many give
        to a total, and the largest contributions to it, are those of its own row.

    Examples
    --------
    >>> from tables import Request, cube, open_source
    >>> file = pa.table(
    ...     {"sex": ["F", "M", "Total"], "n": [2, 1, 3], "key": pa.array([4, 2, 6], pa.uint8())}
    ... )
    >>> given = GivenCells(dimensions=("sex",), count="n", cell_key="key")
    >>> with open_source(file) as source:
    ...     given.take(source)
    ...     (cells,) = cube(source, given.keys, [Request(dimensions=["sex"])])
    >>> cells.count.tolist(), cells.cell_key.tolist()
    ([2, 1, 3], [4, 2, 6])
    """

    dimensions: tuple[str, ...]
    count: str = "count"
    cell_key: str | None = None
    key_range: int | None = None
    trees: Mapping[str, CodeTree] = field(default_factory=dict)
    total_label: str = "Total"
    missing_label: str = "(missing)"
    shared: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.dimensions:
            raise RequestError(Message("A table of cells has one dimension or more."))

    @property
    def keys(self) -> StoredKeys:
        """Where keys are."""
        return StoredKeys(column=self.cell_key or _NO_KEY, key_range=self.key_range)

    def take(self, source: Source) -> None:
        """Take what a source has for cells of this kind; read none."""
        for column in (*self.dimensions, self.count, *filter(None, [self.cell_key])):
            source.require(column)
        if (wrong := source.number_problem(self.count)) is not None:
            raise RequestError(
                Message(
                    "The counts {count!r} must be numbers, not {kinds}s. {wrong}",
                    count=Name(self.count),
                    kinds=said(source.kinds[self.count]),
                    wrong=said(wrong[0]),
                ),
                hint=wrong[1] or Message("count names the column of numbers of records"),
            )
        no_key = "" if self.cell_key else f", 0::UTINYINT AS {quote(_NO_KEY)}"
        source.narrow(
            f"SELECT *{no_key} FROM {source.relation} "
            f"WHERE {source.number_sql(self.count)} > 0 AND NOT {self._is_margin()}"
        )
        source.cells = self

    def numbers_sql(self, source: Source, weights: Mapping[str, str]) -> list[str]:
        """Return SQL of numbers of records, of all and of those with a weight by its alias."""
        numbers = {"n0": self.count} | {
            f"{a}_n": f"{weight}_n" for weight, a in weights.items()
        }
        return [
            f"{source.number_sql(column)}::BIGINT AS {alias}"
            for alias, column in numbers.items()
        ]

    def problems(self, request: Request, source: Source) -> Iterator[tuple[str, str]]:
        """Tell what a request wants that the cells have not, as (problem, hint) pairs."""
        filter_columns = request.where.columns if isinstance(request.where, Filter) else ()
        for column in dict.fromkeys((*request.columns, *filter_columns)):
            if column in source.columns and column not in self.dimensions:
                hint = Message("add it to the columns of cells, if it tells cells apart")
                yield (
                    Message(
                        "Column {column!r} is no dimension of the table of cells.",
                        column=Argument(column),
                    ),
                    hint,
                )
        for column in [*request.sums, *filter(None, [request.weight])]:
            if column in source.columns and f"{column}_n" not in source.columns:
                hint = Message(
                    "of each cell: how many of its records have another value than 0"
                )
                yield (
                    Message(
                        "The table of cells needs a column '{column}_n' for {column!r}.",
                        column=Name(column),
                    ),
                    hint,
                )
        if request.ordered:
            yield Message("Quantiles need records, and the data are cells."), ""
        if request.sums and request.weight is not None:
            hint = Message("give sums that are weighted already, and no weight")
            yield Message("Sums of cells cannot be weighted any more."), hint

    def require(
        self,
        source: Source,
        requests: Sequence[Request],
        tabulate: Callable[..., list[Cells]],
    ) -> None:
        """Raise unless the cells are sound, and each margin is the sum of its cells."""
        sums = [("sums", name) for r in requests for name in r.sums]
        weights = [("weight", r.weight) for r in requests if r.weight is not None]
        for part in (None, *sums, *weights):
            if ("given", part) not in source.sound:
                source.sound["given", part] = True  # margins are tabulated on the way
                try:
                    self._require_part(source, part, tabulate)
                except BaseException:
                    del source.sound["given", part]
                    raise

    def _require_part(
        self, source: Source, part: Part, tabulate: Callable[..., list[Cells]]
    ) -> None:
        self._require_rows(source, part)
        self._require_margins(source, part, tabulate)
        if part is None:
            self._require_no_total(source)

    def _total(self, column: str) -> str:
        tree = self.trees.get(column)
        return self.total_label if tree is None or tree.root is None else tree.root

    def _is_margin(self) -> str:
        """Return SQL that tells margins from cells."""
        parts = []
        for column in self.dimensions:
            codes = {self._total(column)}
            if column in self.trees:
                codes |= {code for code in self.trees[column].children if code is not None}
            codes_sql = ", ".join(sql_text(code) for code in sorted(codes))
            parts.append(f"coalesce({quote(column)}::VARCHAR IN ({codes_sql}), false)")
        return f"({' OR '.join(parts) or 'false'})"

    def _require_rows(self, source: Source, part: Part) -> None:
        """Refuse rows that no table of cells has, and cells that are there twice."""
        tests = self._wrong_part(source, *part) if part else self._wrong_counts(source)
        filters = ", ".join(f"count(*) FILTER ({sql})" for sql in tests)
        rows = source.fetch(f"SELECT count(*), {filters} FROM {source.records}")
        total, *numbers = rows[0]
        if not total:
            raise DataError(
                Message("The table of cells {label!r} has no row.", label=Name(source.label))
            )
        for number, problem in zip(numbers, tests.values(), strict=True):
            if number:
                raise DataError(
                    Message(
                        "In the table of cells {label!r}, some rows {problem}.",
                        label=Name(source.label),
                        problem=said(problem),
                    ),
                    hint=Message("repair them, or have the table made again"),
                    inside=Message("{number:,} of {total:,} rows", number=number, total=total),
                )
        columns_sql = ", ".join(map(quote, self.dimensions))
        groups_sql = (
            f"SELECT 1 FROM {source.records} GROUP BY {columns_sql} HAVING count(*) > 1"
        )
        if part is None and source.fetch(f"SELECT count(*) FROM ({groups_sql})")[0][0]:
            raise DataError(
                Message(
                    "In the table of cells {label!r}, some cells are there more than once.",
                    label=Name(source.label),
                ),
                hint=Message("cells has to name every column that tells them apart"),
            )

    def _wrong_counts(self, source: Source) -> dict[str, str]:
        """Return SQL that finds what is wrong with counts and keys → what that is."""
        count = f"{source.number_sql(self.count)}::DOUBLE"
        bad = f"{count} < 0 OR {count} <> trunc({count}) OR {count} > {_LARGEST}"
        tests: dict[str, str] = {
            f"{count} IS NULL": Message("have no {count!r}", count=Name(self.count)),
            bad: Message(
                "have a {count!r} that is no whole number of 0 or more", count=Name(self.count)
            ),
        }
        if self.cell_key is None:
            return tests
        for problem, hint in self.keys.problems(source):
            raise RequestError(problem, hint=hint)
        key, name = source.number_sql(self.cell_key), self.cell_key
        top = 1 if self.keys.has_decimals(source) else self.keys.resolve(source)
        is_cell = f"{count} > 0 AND NOT {self._is_margin()}"
        more: dict[str, str] = {
            f"{key} IS NULL AND {is_cell}": Message(
                "have records and no {name!r}", name=Name(name)
            ),
            f"{key} < 0 OR {key} >= {top}": Message(
                "have a {name!r} outside [0, {top})", name=Name(name), top=top
            ),
            f"{count} = 0 AND {key} <> 0": Message(
                "have no records and a {name!r}", name=Name(name)
            ),
        }
        return tests | more

    def _wrong_part(self, source: Source, kind: str, column: str) -> dict[str, str]:
        """Return SQL that finds what is wrong with a weight or a variable → what that is."""
        value, number = (f"{source.number_sql(c)}::DOUBLE" for c in (column, f"{column}_n"))
        wrong = f"{number} IS NULL OR {number} < 0 OR {number} <> trunc({number})"
        wrong += (
            f" OR {number} > {source.number_sql(self.count)} OR ({number} = 0 AND {value} <> 0)"
        )
        tests: dict[str, str] = {
            wrong: Message(
                "have a '{column}_n' that is no number of records of theirs",
                column=Name(column),
            )
        }
        if kind == "sums" and (columns := largest_columns(source, column)):
            n, top = (
                len(columns),
                [f"coalesce({source.number_sql(c)}::DOUBLE, 0)" for c in columns],
            )
            total, near = " + ".join(top), f"{_NEAR} * abs({value})"
            is_some = " + ".join(f"({each} <> 0)::INTEGER" for each in top)
            unlike = [f"{is_some} <> least({number}, {n})", f"{total} > {value} + {near}"]
            unlike += [f"({number} <= {n} AND {total} < {value} - {near})"]
            unlike += [f"{a} < {b}" for a, b in pairwise(top)]
            is_judged = "true" if column in self.shared else f"NOT {self._is_margin()}"
            wrong = f"{is_judged} AND ({' OR '.join(unlike)})"
            tests[wrong] = Message(
                "have largest contributions to {column!r} that are not those of a sum",
                column=Name(column),
            )
        return tests

    def _require_margins(
        self, source: Source, part: Part, tabulate: Callable[..., list[Cells]]
    ) -> None:
        """Compare margins with what their cells add up to."""
        expressions = {self.count: f"{source.number_sql(self.count)}::BIGINT"}
        if part is not None:
            number = f"{part[1]}_n"
            expressions = {part[1]: f"{source.number_sql(part[1])}::DOUBLE"}
            if part[1] not in self.shared:
                expressions[number] = f"{source.number_sql(number)}::BIGINT"
        elif self.cell_key is not None:
            expressions[self.cell_key] = f"{self.keys.sql(source, {})}::UBIGINT"
        columns = [f"{sql} AS m{place}" for place, sql in enumerate(expressions.values())]
        rows = source.arrow(
            f"SELECT {', '.join([*map(quote, self.dimensions), *columns])} "
            f"FROM {source.records} WHERE {self._is_margin()}"
        )
        if not rows.num_rows:
            return
        texts = [self._texts(rows[column], column) for column in self.dimensions]
        pairs = zip(texts, self.dimensions, strict=True)
        is_total = np.stack([values == self._total(column) for values, column in pairs], axis=1)
        (cells,) = tabulate(source, self.keys, [self._margins(is_total, part)])
        on = [f"d{place}" for place in range(len(texts))]
        ranks = zip(cells.axes, cells.ranks, strict=True)
        labels = (axis.labels[0][rank] for axis, rank in ranks)
        sums = pa.table(dict(zip(on, labels, strict=True)) | _sums(cells, part))
        numbers = {
            name: rows[name] for name in (f"m{place}" for place in range(len(expressions)))
        }
        margins = pa.table(
            {**dict(zip(on, texts, strict=True)), **numbers, "at": np.arange(len(rows))}
        )
        both = margins.join(sums, on)
        for place, name in enumerate(expressions):
            is_off = _differ(both[f"m{place}"], both[f"s{place}"])
            if is_off.any():
                over = is_total[both["at"].to_numpy()[is_off]].any(axis=0)
                totals = np.array(self.dimensions)[over].tolist() or [*self.trees]
                raise DataError(
                    Message(
                        "Margins of the table of cells {label!r} are not the sums of their "
                        "cells "
                        "in {name!r}: {sum:,} of {number:,}, totals of {totals!r}.",
                        label=Name(source.label),
                        name=Name(name),
                        sum=is_off.sum(),
                        number=len(is_off),
                        totals=Name.each(totals),
                    ),
                    hint=Message(
                        "is a cell missing, or were margins rounded? repair them, or leave "
                        "them "
                        "out: cells are added up in any case"
                    ),
                )

    def contributors(
        self, source: Source, cells: Cells, column: str, *, top: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return how many give to each cell, and the largest amounts, as its own row says.

        Raises
        ------
        DataError
            If a total has no row, or more contributors, or a smaller one, than its cells.
        """
        largest = largest_columns(source, column)[:top]
        numbers = [f"{source.number_sql(f'{column}_n')}::BIGINT AS m"] + [
            f"coalesce({source.number_sql(name)}::DOUBLE, 0) AS t{place}"
            for place, name in enumerate(largest)
        ]
        rows = source.arrow(
            f"SELECT {', '.join([*map(quote, self.dimensions), *numbers])} "
            f"FROM {source.records} WHERE {source.number_sql(self.count)} > 0"
        )
        texts = {name: self._texts(rows[name], name) for name in self.dimensions}
        places = {n: p for p, n in enumerate(zip(*texts.values(), strict=True))}
        labels = self._labels(cells)
        own = np.array([places.get(n, -1) for n in zip(*labels, strict=True)], np.int64)
        if (own < 0).any():
            raise self._unlike_holdings(source, column, Message("have no row of their own"))
        number = rows["m"].to_numpy()[own]
        amounts = np.zeros((len(cells), top))
        for place in range(len(largest)):
            amounts[:, place] = rows[f"t{place}"].to_numpy()[own]
        added = (cells.magnitudes or {})[column]
        is_off = number > added.contributors
        if largest:
            is_off |= amounts[:, 0] < added.top[:, 0] * (1 - _NEAR)
        if is_off.any():
            problem = Message("have more contributors, or smaller ones, than their cells")
            raise self._unlike_holdings(source, column, problem)
        return number, amounts

    def _labels(self, cells: Cells) -> list[NDArray[np.object_]]:
        """Return the category of every cell in each column, with totals of the others."""
        size = len(cells)
        labels = {n: np.full(size, self._total(n), object) for n in self.dimensions}
        for axis, rank in zip(cells.axes, cells.ranks, strict=True):
            for column, own in zip(axis.columns, axis.labels, strict=True):
                is_total = (rank == 0) if len(axis.columns) == 1 else own[rank] == own[0]
                labels[column] = np.where(is_total, self._total(column), own[rank])
        return list(labels.values())

    def _unlike_holdings(self, source: Source, column: str, problem: Message) -> DataError:
        return DataError(
            Message(
                "In the table of cells {label!r}, some totals of {column!r} {problem}.",
                label=Name(source.label),
                column=Name(column),
                problem=problem,
            ),
            hint=Message(
                "where contributors give to several cells, each total has a row with how many "
                "they are and the largest of them"
            ),
        )

    def _require_no_total(self, source: Source) -> None:
        """Refuse a category that is all others together: a total of another name."""
        key_range = self.keys.resolve(source)
        key, count = self.keys.sql(source, {}), source.number_sql(self.count)
        numbers = f"sum({key}::HUGEINT) AS k, sum({count}) AS n"
        whole = f"(SELECT {numbers} FROM {source.relation}) t"
        is_same = f"2 * c.n = t.n AND (2 * c.k - t.k) % {key_range} = 0"
        for column in self.dimensions:
            parts = f"SELECT {numbers}, count(*) OVER () AS size FROM {source.relation}"
            relation = f"({parts} GROUP BY {quote(column)}) c, {whole}"
            sql = f"SELECT count(*) FROM {relation} WHERE c.size > 2 AND {is_same}"
            if source.fetch(sql)[0][0]:
                text = Message(
                    "A category of {column!r} is all others together: is it a total? Totals "
                    "are called {total!r}, see total_label.",
                    column=Name(column),
                    total=Name(self._total(column)),
                )
                if key_range >= _WIDE:
                    raise DataError(text)
                warnings.warn(text, DataWarning, stacklevel=5)

    def _margins(self, is_total: Flags, part: Part) -> Request:
        """Ask for the margins of these shapes."""
        shapes = np.unique(is_total, axis=0)
        kind, column = part or ("weight", None)
        own: dict[str, Any] = {kind: column if kind == "weight" else (column,)}
        return Request(
            dimensions=self.dimensions,
            hierarchies={c: Hierarchy(columns=(c,), tree=t) for c, t in self.trees.items()},
            margins=[np.array(self.dimensions)[~shape].tolist() for shape in shapes],
            total_label=self.total_label,
            missing_label=self.missing_label,
            discrete=self.dimensions,  # nobody sees them
            **own,
        )

    def _texts(self, values: pa.ChunkedArray, column: str) -> NDArray[np.object_]:
        labels, codes = encode(values, column)
        return np.array([*labels, self.missing_label], object)[codes]


def _sums(cells: Cells, part: Part) -> dict[str, Any]:
    """Return what cells add up to."""
    sums: list[Any] = [cells.count, cells.cell_key]
    if part is not None:
        sums = [cells.weight, cells.weighted_count]
    for magnitudes in (cells.magnitudes or {}).values():
        sums = [magnitudes.raw_total, magnitudes.contributors]
    return {f"s{place}": each for place, each in enumerate(sums)}


def _differ(reference: pa.ChunkedArray, added: pa.ChunkedArray) -> Flags:
    """Tell which numbers that were given are not those added up."""
    added = pc.fill_null(added, 0)
    if pa.types.is_floating(reference.type):
        numbers = reference.to_numpy()
        near = np.isclose(numbers, added.to_numpy(), rtol=_NEAR, atol=_NEAR)
        return np.asarray(~near & ~np.isnan(numbers))
    return np.asarray(pc.not_equal(reference, added).fill_null(False))  # noqa: FBT003
