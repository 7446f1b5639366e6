"""Records made ready for many requests: scans, cells, and cells rolled up from cells.

Counts and keys are integers that add up, so whatever way cells are found here, they are those
that `cube` finds in the records themselves, to the last bit.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from footing.arrays import Flags, Integers
from footing.messages import Message
from tables.cells.axes import Axis
from tables.cells.blocks import Block, Cells, group, lay_out, roll_up, shown_cells
from tables.cells.sketch import Sketch, merged_columns, read_sketch
from tables.deadline import Deadline
from tables.errors import FilterError
from tables.filtering.conditions import Condition, conditions_of, members
from tables.filtering.filters import Filter, parse_filter, quote
from tables.filtering.values import FileType
from tables.magnitudes.limbs import limbs_of, modulo_sql
from tables.recoding.derive import filter_errors
from tables.source.source import Source

CODED = "ckm_prepared"
#: The dimension of the populations that a record is in: 1 or 0 for each of them.
POPULATIONS = "ckm populations"
_MAX_COMPARISONS = 100
_OBJECT_BYTES, _ARRAY_BYTES = 1_200, 128  # beside what arrays hold
LEVEL = Message("ckm level ")  # what the level of a coding is called, beside data columns


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PreparedCells:
    """Cells at one level of each of some dimensions. Disclosive, like `Cells`.

    Parameters
    ----------
    levels
        Dimension → its level, 0 for the finest.
    where
        The conditions that all their records meet.
    block
        The cells.
    """

    levels: Mapping[str, int]
    where: frozenset[Condition]
    block: Block

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the cells take, their conditions among them."""
        block = self.block
        arrays: list[NDArray[Any]] = [*block.codes, block.count, block.key, *block.weight]
        if block.sketch is not None:
            arrays += block.sketch.arrays
        array_bytes = sum(array.nbytes + _ARRAY_BYTES for array in arrays)
        return _OBJECT_BYTES + array_bytes + sum(condition.nbytes for condition in self.where)

    def covers(self, levels: Mapping[str, int], where: frozenset[Condition]) -> bool:
        """Whether other cells can be rolled up from these.

        Parameters
        ----------
        levels, where
            What the other cells are.
        """
        if not self.where <= where:
            return False
        needed = [*levels.items()]
        needed += [place for condition in where - self.where for place in condition.places]
        return all(self.levels.get(name, level + 1) <= level for name, level in needed)

    def without_sketch(self) -> Self:
        """Return the same cells, quicker to roll up."""
        return replace(self, block=replace(self.block, sketch=None))

    def __len__(self) -> int:
        return len(self.block.count)

    def __repr__(self) -> str:
        return f"PreparedCells({len(self.levels)} dimensions)"


class Prepared:
    """Records made ready for many requests; made by `prepare`.

    Parameters
    ----------
    source
        The source in whose connection the coded records are.
    axes
        Dimension → its axis, over all its categories.
    columns
        Dimension → its data columns, from broad to fine.
    table
        Name of the table of coded records.
    key_range
        Keys lie in [0, key_range).
    is_weighted
        Whether weights are kept.
    sketch
        The width of the sketches that are kept, 0 for none.
    """

    def __init__(
        self,
        source: Source,
        axes: Mapping[str, Axis],
        *,
        columns: Mapping[str, Sequence[str]],
        table: str,
        key_range: int,
        is_weighted: bool,
        sketch: int = 0,
    ) -> None:
        self._source = source
        self._table = table
        self.axes = dict(axes)
        self.key_range = key_range
        self.is_weighted = is_weighted
        self._width = sketch
        self._aliases = {name: f"a{place}" for place, name in enumerate(self.axes)}
        self._places = _coarsest(columns, self.axes)
        self.kinds = {column: source.kinds[column] for column in self._places}
        self._types = {column: source.types[column] for column in self._places}
        for kind in self._types.values():  # looked at now, and not when somebody filters
            if isinstance(kind, FileType) and kind == "VARCHAR" and kind.texts.are_numbers():
                kind.texts.reading(is_exact=True)

    def conditions(self, where: str | Filter | None) -> frozenset[Condition]:
        """Parse a filter and code it; conditions joined by ``and`` stand by themselves.

        Parameters
        ----------
        where
            The filter, over columns of the dimensions alone.

        Raises
        ------
        FilterError
            If it cannot be parsed, does not fit the columns, or has more than 100 comparisons.
        """
        if where is None:
            return frozenset()
        tree = parse_filter(where) if isinstance(where, str) else where
        if tree.comparisons > _MAX_COMPARISONS:  # each looks at every category
            raise FilterError(
                Message(
                    "A filter has at most {max_comparisons} comparisons.",
                    max_comparisons=_MAX_COMPARISONS,
                ),
                hint=Message("list values: code in ('a', 'b')"),
                reason="comparisons",
                limit=_MAX_COMPARISONS,
            )
        for error in tree.errors(self._types):
            raise error
        for error in filter_errors(tree, self._source.derived, self._source.derived_labels):
            raise error
        return conditions_of(tree, self._places, self._types, self._judge)

    def members(self, dimension: str, ranks: Iterable[int]) -> Condition | None:
        """Return the condition that records lie in some categories; None for no condition.

        Parameters
        ----------
        dimension
            The dimension.
        ranks
            Categories of any levels, by rank.
        """
        return members(dimension, self.axes[dimension], ranks)

    def scan(
        self,
        levels: Mapping[str, int],
        *,
        where: frozenset[Condition] = frozenset(),
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> PreparedCells:
        """Find cells in the coded records.

        Parameters
        ----------
        levels
            Dimension → level.
        where
            Conditions that the records must meet.
        timeout_s
            Stop each query after so many seconds.
        deadline
            When the work that this is part of must end.

        Raises
        ------
        StoppedError
            If the time is over, or the work was called off.
        """
        names = sorted(levels)
        columns = [f"{self._aliases[name]}_{levels[name]}" for name in names]
        filters = [condition.sql(self._column) for condition in sorted(where, key=repr)]
        weights = ["sum(w) AS w, sum(m)::BIGINT AS m"] if self.is_weighted else []
        select_list = [
            *columns,
            "sum(n)::BIGINT AS n",
            f"{modulo_sql('coalesce(sum(k), 0)', self.key_range)} AS k",
            *weights,
            *(merged_columns(self._width) if self._width else []),
        ]
        records = self._table + (f" WHERE {' AND '.join(filters)}" if filters else "")
        sql = f"SELECT {', '.join(select_list)} FROM {records}"
        sql += f" GROUP BY {', '.join(columns)}" if columns else " HAVING count(*) > 0"
        limits: dict[str, Any] = {"timeout_s": timeout_s, "deadline": deadline}
        answer = self._source.aside(sql, **limits)
        weight: tuple[Any, ...] = ()
        if self.is_weighted:
            weight = (*limbs_of(answer["w"]), _owned(answer["m"]))
        block = Block(
            tuple(answer[column].to_numpy().astype(np.int32) for column in columns),
            _owned(answer["n"]),
            _owned(answer["k"]),
            weight,
            self._sketch(answer, columns, records, limits) if self._width else None,
        )
        return PreparedCells(levels={n: levels[n] for n in names}, where=where, block=block)

    def roll(
        self, cells: PreparedCells, levels: Mapping[str, int], *, where: frozenset[Condition]
    ) -> PreparedCells:
        """Roll cells up from cells that cover them.

        Parameters
        ----------
        cells
            Cells that cover the wanted ones.
        levels, where
            What the wanted cells are.
        """
        codes = dict(zip(sorted(cells.levels), cells.block.codes, strict=True))
        block = cells.block
        extra = where - cells.where
        if extra:
            mask = np.ones(len(cells), bool)
            for condition in extra:
                mask &= condition.holds(
                    lambda name, level: self.axes[name].raised(
                        codes[name], cells.levels[name], level
                    )
                )
            codes = {name: code[mask] for name, code in codes.items()}
            block = block.take(np.flatnonzero(mask))
        names = sorted(levels)
        raised = tuple(
            self.axes[name].raised(codes[name], cells.levels[name], levels[name])
            for name in names
        )
        sizes = tuple(self.axes[name].levels[levels[name]].size for name in names)
        same = {n: levels[n] for n in names} == dict(cells.levels)
        block = replace(block, codes=raised)
        if not same:
            block = group(block, sizes, self.key_range)
        return PreparedCells(levels={n: levels[n] for n in names}, where=where, block=block)

    def cells(
        self,
        cells: PreparedCells,
        dimensions: Sequence[str],
        *,
        level_sets: Sequence[tuple[int, ...]],
    ) -> Cells:
        """Lay cells out as those of a table, with its margins.

        Parameters
        ----------
        cells
            Cells over exactly these dimensions, as fine as any level wanted.
        dimensions
            In the order of the table.
        level_sets
            The combinations of levels that the table shows. A category of several levels is
            shown at the finest of them.
        """
        axes, blocks = self._rolled(cells, dimensions, level_sets)
        used = [sorted(set(column)) for column in zip(*level_sets, strict=True)]
        finest = [_finest(axis, levels) for axis, levels in zip(axes, used, strict=True)]
        parts = []
        for levels in level_sets:
            block = shown_cells(axes, levels, blocks[levels], is_whole=True)
            is_here = np.ones(len(block.count), bool)
            for level, ranks, code in zip(levels, finest, block.codes, strict=True):
                is_here &= ranks[code] == level
            parts.append(block if is_here.all() else block.take(np.flatnonzero(is_here)))
        return lay_out(axes, parts, level_sets, key_range=self.key_range)

    def cells_by_level(
        self,
        cells: PreparedCells,
        dimensions: Sequence[str],
        *,
        level_sets: Sequence[tuple[int, ...]],
    ) -> dict[tuple[int, ...], Cells]:
        """Return the cells of each combination of levels, with all categories of a level.

        Parameters
        ----------
        found, dimensions, level_sets
            As for `cells`.
        """
        axes, blocks = self._rolled(cells, dimensions, level_sets)
        answer = {}
        for levels in level_sets:
            block = shown_cells(axes, levels, blocks[levels], is_whole=True)
            answer[levels] = lay_out(axes, [block], [levels], key_range=self.key_range)
        return answer

    def _sketch(
        self,
        answer: pa.Table,
        columns: Sequence[str],
        records: str,
        limits: Mapping[str, Any],
    ) -> Sketch:
        """Return the sketches of an answer, with the members of small sets."""
        sketch = read_sketch(answer, self._width)
        small = np.flatnonzero(sketch.is_small)
        if not len(small):
            return sketch
        beside = pa.table(
            {"row": small, **{c: answer[c].take(pa.array(small)) for c in columns}}
        )
        same = [f"r.{column} = b.{column}" for column in columns]
        members = self._source.aside(
            "SELECT b.row, unnest(r.keys) AS key FROM (SELECT *, CASE WHEN n = 1 THEN [x0] "
            f"ELSE members END AS keys FROM {records}) AS r "
            f"JOIN {self._source.beside} AS b ON {' AND '.join(same) or 'true'}",
            beside=beside,
            **limits,
        )
        return sketch.with_members(members["row"].to_numpy(), members["key"].to_numpy())

    def _rolled(
        self,
        cells: PreparedCells,
        dimensions: Sequence[str],
        level_sets: Sequence[tuple[int, ...]],
    ) -> tuple[tuple[Axis, ...], dict[tuple[int, ...], Block]]:
        order = [sorted(dimensions).index(name) for name in dimensions]
        axes = tuple(self.axes[name] for name in dimensions)
        codes = tuple(cells.block.codes[place] for place in order)
        start = tuple(cells.levels[name] for name in dimensions)
        block = replace(cells.block, codes=codes)
        return axes, roll_up(axes, block, level_sets, self.key_range, start=start)

    def __repr__(self) -> str:
        return f"Prepared({', '.join(self.axes)})"

    def _column(self, dimension: str, level: int) -> str:
        return f"{self._aliases[dimension]}_{level}"

    def _judge(
        self, at: tuple[str, int], expressions: Sequence[str], parameters: Mapping[str, object]
    ) -> list[tuple[Flags, Flags]]:
        """Tell for which categories of a place each expression holds, or is unknown."""
        dimension, level = at
        coding = f"{self._table}_{self._aliases[dimension]}"
        select_list = ", ".join(f"{sql} AS holds{n}" for n, sql in enumerate(expressions))
        answer = self._source.aside(
            f"SELECT DISTINCT {quote(f'{LEVEL}{level}')} AS place, {select_list} FROM {coding}",
            parameters,
        )
        places = answer["place"].to_numpy()
        masks = np.zeros((len(expressions), 2, self.axes[dimension].levels[level].size), bool)
        for mask, holds in zip(masks, answer.columns[1:], strict=True):
            mask[0, places[holds.fill_null(False).to_numpy()]] = True  # noqa: FBT003
            mask[1, places[holds.is_null().to_numpy()]] = True
        return [(holds, unknown) for holds, unknown in masks]


def _owned(column: pa.ChunkedArray) -> NDArray[Any]:
    """Return numbers without the whole answer of which they are a column."""
    return np.array(column.to_numpy())


def _finest(axis: Axis, levels: Sequence[int]) -> Integers:
    """Return for every category, by rank, the finest of some levels that has it."""
    finest = np.full(axis.size, -1, np.int64)
    for level in reversed(levels):
        finest[axis.levels[level].ranks] = level
    return finest


def _coarsest(
    columns: Mapping[str, Sequence[str]], axes: Mapping[str, Axis]
) -> dict[str, tuple[str, int]]:
    """Find for each data column the dimension and level of fewest categories that tells it."""
    places: dict[str, tuple[str, int]] = {}
    for name, path in columns.items():
        for depth, column in enumerate(path):
            level = len(path) - 1 - depth
            size = axes[name].levels[level].size
            best = places.get(column)
            if best is None or size < axes[best[0]].levels[best[1]].size:
                places[column] = (name, level)
    return places
