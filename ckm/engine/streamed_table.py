"""A published table that is larger than memory: its rows lie in a private folder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ckm.engine.published_table import (
    PublishedTable,
    encodings,
    measure_columns,
    open_categories,
    rows_of,
    unhidden,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from ckm.engine.protection import ProtectedCells
    from footing.arrays import Flags
    from tables.cells.axes import Axis

_ROWS = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class StreamedTable(PublishedTable):
    """A protected table whose rows are read in pieces; its own columns hold no row.

    Parameters
    ----------
    rows
        Number of published cells.
    read
        Gives the rows in order, so many at a time.
    """

    rows: int
    read: Callable[[int], Iterator[PublishedTable]]

    @property
    def n_rows(self) -> int:
        """Number of published cells."""
        return self.rows

    def pieces(self, size: int) -> Iterator[PublishedTable]:
        """Give the rows in order, `size` at a time."""
        return self.read(size)

    def mapped(self, change: Callable[[PublishedTable], PublishedTable]) -> PublishedTable:
        """Return the table with other words; `change` looks at no other row than its own."""
        head = change(PublishedTable(dimensions=self.dimensions, measures=self.measures))
        return replace(
            self,
            dimensions=head.dimensions,
            measures=head.measures,
            read=lambda size: map(change, self.read(size)),
        )


class TableSpool:
    """Takes in the published rows of a table part by part, in order.

    Parameters
    ----------
    folder
        A private folder, for this table alone; the table lives as long as it.
    empty_cells
        As in `TableRequest`.
    """

    def __init__(self, folder: Path, *, empty_cells: str) -> None:
        self._folder = folder
        self._empty_cells = empty_cells
        self._axes: tuple[Axis, ...] = ()
        self._open: list[Flags] = []
        self._measures: dict[str, NDArray[Any]] = {}
        self._kinds: dict[str, np.dtype[Any]] = {}
        self._rows = 0

    def add(self, part: ProtectedCells) -> None:
        """Write the rows of a part; all parts have the categories of the whole table."""
        cells, numbers = part.cells, dict(part.numbers)
        ranks, numbers = rows_of(cells, part.counts, numbers, self._empty_cells)
        if not self._axes:
            self._axes = cells.axes
            self._measures = {n: v[:0] for n, v in numbers.items() if n}
            is_found = "" in numbers
            self._open = [
                ~a.is_found if is_found else ~np.zeros(a.size, bool) for a in cells.axes
            ]
        if "" in numbers:
            flags = open_categories(cells.axes, ranks, numbers.pop(""))
            self._open = [one | other for one, other in zip(self._open, flags, strict=True)]
        columns = {
            f"d{place}": rank.astype(np.min_scalar_type(axis.size))
            for place, (axis, rank) in enumerate(zip(self._axes, ranks, strict=True))
        }
        for place, values in enumerate(numbers.values()):
            columns[f"n{place}"] = np.ma.getdata(values)
            if np.ma.isMaskedArray(values):
                columns[f"m{place}"] = np.ma.getmaskarray(values)
        for name, values in columns.items():
            self._kinds[name] = values.dtype
            with (self._folder / name).open("ab") as file:
                file.write(values.tobytes())
        self._rows += len(columns["d0"])

    def table(self) -> StreamedTable:
        """Return the table, once all its parts are there."""
        rows, used = 0, [np.zeros(axis.size, bool) for axis in self._axes]
        for columns in self._chunks(_ROWS):
            for flags, rank in zip(used, self._ranks(columns), strict=True):
                flags[rank] = True
            rows += len(columns["d0"])
        coded = [encodings(axis, flags) for axis, flags in zip(self._axes, used, strict=True)]
        nothing = np.zeros(0, np.int32)
        dimensions = {
            name: (nothing, texts) for each in coded for name, (_, texts) in each.items()
        }
        names = measure_columns(list(self._measures), dimensions)

        def read(size: int) -> Iterator[PublishedTable]:
            for columns in self._chunks(size):
                pairs = zip(coded, self._ranks(columns), strict=True)
                yield PublishedTable(
                    dimensions={
                        name: (codes[rank], texts)
                        for each, rank in pairs
                        for name, (codes, texts) in each.items()
                    },
                    measures={
                        name: _number(columns, place) for place, name in enumerate(names)
                    },
                )

        return StreamedTable(
            dimensions=dimensions,
            measures={name: self._measures[measure] for name, measure in names.items()},
            rows=rows,
            read=read,
        )

    def _ranks(self, columns: dict[str, NDArray[Any]]) -> Sequence[NDArray[Any]]:
        return [columns[f"d{place}"] for place in range(len(self._axes))]

    def _chunks(self, size: int) -> Iterator[dict[str, NDArray[Any]]]:
        """Read the rows that show open categories alone, `size` at a time."""
        blocks: list[dict[str, NDArray[Any]]] = []
        count = 0
        for start in range(0, self._rows, size):
            block = {name: self._read(name, start, size) for name in self._kinds}
            mask = unhidden(self._ranks(block), self._open)
            blocks.append(block if mask.all() else {n: v[mask] for n, v in block.items()})
            count += len(blocks[-1]["d0"])
            if count >= size:
                whole = _joined(blocks)
                yield {name: values[:size] for name, values in whole.items()}
                blocks = [{name: values[size:] for name, values in whole.items()}]
                count -= size
        if count:
            yield _joined(blocks)

    def _read(self, name: str, start: int, size: int) -> NDArray[Any]:
        kind = self._kinds[name]
        path, offset = self._folder / name, start * kind.itemsize
        return np.fromfile(path, kind, count=min(size, self._rows - start), offset=offset)


def _joined(blocks: list[dict[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    if len(blocks) == 1:
        return blocks[0]
    return {name: np.concatenate([each[name] for each in blocks]) for name in blocks[0]}


def _number(columns: dict[str, NDArray[Any]], place: int) -> NDArray[Any]:
    values, mask = columns[f"n{place}"], columns.get(f"m{place}")
    return values if mask is None else np.ma.array(values, mask=mask)
