"""A published table: protected, and safe to write anywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ckm.engine.request import column_of
from ckm.errors import ReleaseError
from footing.messages import Message, Name

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from numpy.typing import NDArray

    from ckm.formats import TableAbout
    from footing.arrays import Codes, Flags, Floats, Integers
    from ptable.pictures import Picture
    from tables import Cells
    from tables.cells.axes import Axis


_MAX_GRID = 40_000_000
_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PublishedTable:
    """A protected table: categories and published numbers, nothing else.

    Made by `Engine.tabulate`. Rows are ordered by category, totals before their parts.

    Parameters
    ----------
    dimensions
        Output column → codes into its categories, int32, and the categories as texts.
    measures
        Output column → published numbers: counts int64, all others float64. A masked number
        (`numpy.ma`) is one that is not published, or a mean of cells whose published count is
        small; files and frames hold none in its place.
    """

    dimensions: Mapping[str, tuple[Codes, Sequence[str]]]
    measures: Mapping[str, NDArray[Any]]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, dimensions first."""
        return (*self.dimensions, *self.measures)

    @property
    def n_rows(self) -> int:
        """Number of published cells."""
        return len(next(iter(self.measures.values())))

    def pieces(self, size: int) -> Iterator[PublishedTable]:
        """Give the rows in order, `size` at a time."""
        for start in range(0, self.n_rows, size):
            rows = slice(start, start + size)
            yield PublishedTable(
                dimensions={n: (codes[rows], c) for n, (codes, c) in self.dimensions.items()},
                measures={name: values[rows] for name, values in self.measures.items()},
            )

    def mapped(self, change: Callable[[PublishedTable], PublishedTable]) -> PublishedTable:
        """Return the table with other words; `change` looks at no other row than its own."""
        return change(self)

    def to_arrow(self) -> pa.Table:
        """Return the table as Arrow; dimensions are dictionary-encoded texts."""
        import pyarrow as pa

        columns: dict[str, Any] = {
            name: pa.DictionaryArray.from_arrays(
                pa.array(codes), pa.array(list(categories), pa.string())
            )
            for name, (codes, categories) in self.dimensions.items()
        }
        columns.update({name: pa.array(values) for name, values in self.measures.items()})
        return pa.table(columns)

    def plain_arrow(self) -> pa.Table:
        """Return the table as Arrow with its dimensions spelled out."""
        import pyarrow as pa

        table = self.to_arrow()
        columns = [
            column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
            for column in table.columns
        ]
        return pa.table(columns, names=table.column_names)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Hand the table to any reader of the Arrow stream protocol."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> pd.DataFrame:
        """Return the table as a data frame; dimensions are texts."""
        frame: pd.DataFrame = self.plain_arrow().to_pandas()
        return frame

    def to_polars(self) -> pl.DataFrame:
        """Return the table as a data frame of polars; dimensions are texts."""
        import polars as pl

        return pl.DataFrame(self.plain_arrow())

    def write(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,  # noqa: A002  (the word of jobs and requests)
        about: TableAbout | None = None,
        overwrite: bool = False,
    ) -> None:
        """Write the table to a file, complete or not at all; see `ckm.formats.write_table`.

        Parameters
        ----------
        path
            The file.
        format
            A name in `ckm.formats.FORMATS`; by default the end of the file's name says.
        about
            What is said about the table.
        overwrite
            Replace the file if it exists.

        Raises
        ------
        ReleaseError
            If the format is unknown or cannot hold the table, the file exists, or it cannot
            be written.
        """
        from ckm.formats import write_table

        write_table(self, path, format=format, about=about, overwrite=overwrite)

    def plot(
        self, measure: str | None = None, *, total_label: str = "Total", language: str = "en"
    ) -> Picture:
        """Draw a measure as bars, like the page of a service.

        Totals are left out, and so are all but the 40 rows with the largest numbers.

        Parameters
        ----------
        measure
            Its column; by default the first.
        total_label
            What totals are called in the table.
        language
            ``"en"`` or ``"fr"``.

        Raises
        ------
        ReleaseError
            If there is no such measure, or numbers of it are negative or not published.
        reports.ReportError
            If there are not two cells besides totals.

        Examples
        --------
        >>> sex = (np.array([0, 1], np.int32), ["F", "M"])
        >>> table = PublishedTable(
        ...     dimensions={"sex": sex}, measures={"count": np.array([5, 7])}
        ... )
        >>> table.plot().description
        'sex, count'
        """
        from reports.plots import table_plot

        measure = measure or next(iter(self.measures))
        numbers = self.measures.get(measure)
        if numbers is None or np.ma.is_masked(numbers) or not np.all(numbers >= 0):
            raise ReleaseError(
                Message(
                    "{measure!r} is no measure whose numbers are all published and not "
                    "negative.",
                    measure=Name(measure),
                ),
                hint=Message("the measures are {measures}", measures=Name.each(self.measures)),
            )
        texts = [[labels[n] for n in codes] for codes, labels in self.dimensions.values()]
        cells = zip(zip(*texts, strict=True), numbers.tolist(), strict=bool(texts))
        parts = {labels: number for labels, number in cells if total_label not in labels}
        return table_plot(tuple(self.dimensions), measure, parts, language=language)

    def __repr__(self) -> str:
        return f"PublishedTable({', '.join(self.columns)}; {self.n_rows:,} cells)"

    def __str__(self) -> str:
        """Show the first rows, and how many there are."""
        first = next(self.pieces(_SHOWN), self)
        texts = [[labels[n] for n in codes] for codes, labels in first.dimensions.values()]
        numbers = [np.ma.filled(v.astype(object), "") for v in first.measures.values()]
        arrays: list[Any] = [*texts, *numbers]
        columns = [
            [name, *map(_in_one_line, column)]
            for name, column in zip(self.columns, arrays, strict=True)
        ]
        widths = [max(map(len, column)) for column in columns]
        lines = [
            "  ".join(
                text.ljust(width) if place < len(texts) else text.rjust(width)
                for place, (text, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in zip(*columns, strict=True)
        ]
        more = ["…"] * (self.n_rows > _SHOWN)
        note = f"[{self.n_rows:,} cells, not checked by a release]"
        return "\n".join([*lines, *more, note])

    def _repr_html_(self) -> str:
        return str(self.to_pandas().head(20).to_html(index=False))


def _in_one_line(value: object) -> str:
    """Return a category or a number without what breaks or steers a line."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in str(value))


def publish(
    cells: Cells,
    published: Integers,
    *,
    measures: Sequence[str],
    empty_cells: str,
    round_weighted: bool,
    amounts: Mapping[str, NDArray[Any]] | None = None,
) -> PublishedTable:
    """Turn cells and their published counts into a table that carries nothing else."""
    numbers = published_numbers(
        cells, published, measures=measures, round_weighted=round_weighted
    )
    return table_of(cells, published, {**numbers, **(amounts or {})}, empty_cells=empty_cells)


def table_of(
    cells: Cells,
    published: Integers,
    numbers: Mapping[str, NDArray[Any]],
    *,
    empty_cells: str,
) -> PublishedTable:
    """Lay the published numbers of cells out as a table, a column for each measure."""
    ranks, numbers = rows_of(cells, published, dict(numbers), empty_cells)
    if "" in numbers:
        mask = unhidden(ranks, open_categories(cells.axes, ranks, numbers.pop("")))
        if not mask.all():
            ranks = [rank[mask] for rank in ranks]
            numbers = {name: values[mask] for name, values in numbers.items()}
    dimensions: dict[str, tuple[Codes, Sequence[str]]] = {}
    for axis in cells.axes:
        rank = ranks.pop(0)
        is_used = np.zeros(axis.size, bool)
        is_used[rank] = True
        for name, (codes, categories) in encodings(axis, is_used).items():
            dimensions[name] = (codes[rank], categories)
    columns = measure_columns(list(numbers), dimensions)
    arrays = {column: numbers[measure] for column, measure in columns.items()}
    return PublishedTable(dimensions=dimensions, measures=arrays)


def rows_of(
    cells: Cells, published: Integers, numbers: dict[str, NDArray[Any]], empty_cells: str
) -> tuple[list[Codes], dict[str, NDArray[Any]]]:
    """Lay cells out in the order of their rows: the rank on each axis, and the numbers.

    A grid also has which cells show somebody, under no name: see `open_categories`.
    """
    shows = published > 0
    for measure, values in numbers.items():
        if measure.startswith("sum:"):  # which may have noise of its own beside a count of 0
            shows = shows | (values != 0)
    if shows_grid(cells, empty_cells):
        return _fill_grid(cells, {**numbers, "": shows})
    return _drop_zeros(cells, shows, numbers)


def published_numbers(
    cells: Cells, published: Integers, *, measures: Sequence[str], round_weighted: bool
) -> dict[str, NDArray[Any]]:
    """Return the numbers of every measure, cell by cell."""
    numbers: dict[str, NDArray[Any]] = {}
    if "count" in measures:
        numbers["count"] = published
    if "weighted" in measures and cells.weight is not None:
        numbers["weighted"] = published * (cells.weight / np.maximum(cells.count, 1))
        if round_weighted and cells.weighted_count is not None:
            mean = cells.weight / np.maximum(cells.weighted_count, 1)
            numbers["weighted"] = round_to_unit(numbers["weighted"], mean)
    return numbers


def round_to_unit(weighted: Floats, mean: Floats) -> Floats:
    """Round to the least 1, 2 or 5 times a power of ten that is no less than a mean weight.

    For weighted counts the mean is that of the weights that are not zero. More digits give the
    original count away: they tell how many records the mean was taken over, as soon as weights
    are multiples of something, and no weights are multiples of more than their mean.
    """
    exponent = np.floor(np.log10(np.where(mean > 0, mean, 1.0)))
    unit = 10.0**exponent
    factor = np.select(
        [mean <= unit, mean <= 2 * unit, mean <= 5 * unit], [1.0, 2.0, 5.0], 10.0
    )
    steps = np.rint(weighted / (factor * unit)) * factor
    # A power of ten below 1 is no exact double: divide by its inverse, which is.
    return np.asarray(np.where(exponent < 0, steps / 10.0**-exponent, steps * unit))


def open_categories(axes: Sequence[Axis], ranks: Sequence[Codes], mask: Flags) -> list[Flags]:
    """Tell for each axis which categories may stand in a grid.

    That a category that the records alone tell of stands there, and no published number shows
    it, would tell that somebody is in it.
    """
    flags = []
    for axis, rank in zip(axes, ranks, strict=True):
        is_open = ~axis.is_found
        is_open[rank[mask]] = True
        flags.append(is_open)
    return flags


def unhidden(ranks: Sequence[Codes], is_open: Sequence[Flags]) -> Flags:
    """Tell which rows show open categories alone."""
    mask = np.ones(len(ranks[0]) if ranks else 1, bool)
    for rank, flags in zip(ranks, is_open, strict=True):
        if not flags.all():
            mask &= flags[rank]
    return mask


def measure_columns(
    measures: Sequence[str], dimensions: Mapping[str, object]
) -> dict[str, str]:
    """Return the columns of a table's measures: column → measure.

    A dimension of a measure's name keeps it, and so does a measure before another.
    """
    names = {name.lower() for name in dimensions}
    columns = {}
    for measure in measures:
        column = column_of(measure)
        while column.lower() in names:
            column += "_published"
        names.add(column.lower())
        columns[column] = measure
    return columns


def encodings(axis: Axis, is_used: Flags) -> dict[str, tuple[Codes, list[str]]]:
    """Code the output columns of an axis: the code of each rank, and the categories.

    Unused categories are left out, since their names may tell.
    """
    columns = {}
    for name, labels in zip(axis.columns, axis.labels, strict=True):
        categories: dict[str, int] = {}
        code = np.zeros(len(labels), np.int32)
        for place in np.flatnonzero(is_used):
            code[place] = categories.setdefault(labels[place], len(categories))
        columns[name] = (code, list(categories))
    return columns


def _positions(ranks: Sequence[Codes], sizes: Sequence[int]) -> Integers | None:
    """Return the cells' numbers by category; None when there are too many combinations."""
    total = 1
    position = np.zeros(len(ranks[0]) if ranks else 1, np.int64)
    for rank, size in zip(ranks, sizes, strict=True):
        total *= size
        position = position * size + rank
    return position if total < 2**62 else None


def _drop_zeros(
    cells: Cells, shows: Flags, numbers: Mapping[str, NDArray[Any]]
) -> tuple[list[Codes], dict[str, NDArray[Any]]]:
    order = np.flatnonzero(shows)
    position = _positions(cells.ranks, [axis.size for axis in cells.axes])
    if cells.ranks and position is not None:
        order = order[np.argsort(position[order], kind="stable")]
    elif cells.ranks:
        order = order[np.lexsort([rank[order] for rank in reversed(cells.ranks)])]
    del position
    return [rank[order] for rank in cells.ranks], {n: v[order] for n, v in numbers.items()}


def shows_grid(cells: Cells, empty_cells: str) -> bool:
    """Return whether a table lists its empty cells."""
    return empty_cells == "grid" or (
        empty_cells == "auto" and all(axis.is_declared for axis in cells.axes)
    )


def block_size(cells: Cells, levels: tuple[int, ...]) -> int:
    """Count the combinations of categories that a table shows at some levels, empty or not."""
    sizes = [
        a.levels[level].is_shown.sum() for a, level in zip(cells.axes, levels, strict=True)
    ]
    return int(np.prod(sizes, dtype=float))


def grid_size(cells: Cells) -> int:
    """Count all combinations of categories that a table shows, empty or not."""
    return sum(block_size(cells, levels) for levels in cells.level_sets)


def _fill_grid(
    cells: Cells, numbers: Mapping[str, NDArray[Any]]
) -> tuple[list[Codes], dict[str, NDArray[Any]]]:
    """Return all combinations of categories, zeros where there is no cell."""
    categories = [[level.ranks[level.is_shown] for level in axis.levels] for axis in cells.axes]
    size = grid_size(cells)
    if size > _MAX_GRID:
        raise ReleaseError(
            Message(
                "The full grid has {size:,} cells; at most {max_grid:,} are written.",
                size=size,
                max_grid=_MAX_GRID,
            ),
            hint=Message(
                'ask for fewer dimensions or for empty_cells = "drop", or in a job for '
                "stream = true under [output]"
            ),
        )
    sizes = [axis.size for axis in cells.axes]
    everything = len(cells.level_sets) == int(
        np.prod([len(a.levels) for a in cells.axes], dtype=int)
    )
    if everything:  # the grid is the whole box: no need to sort
        ranks = [r.ravel() for r in np.indices(sizes, dtype=np.int32)] if sizes else []
        order_of_cells = _positions(cells.ranks, sizes)
        place = np.asarray(order_of_cells)[: len(cells)]
    else:
        blocks = [
            np.meshgrid(
                *(s[level] for s, level in zip(categories, levels, strict=True)), indexing="ij"
            )
            for levels in cells.level_sets
        ]
        ranks = [
            np.concatenate([block[axis].ravel() for block in blocks])
            for axis in range(len(cells.axes))
        ]
        position = np.asarray(_positions(ranks, sizes))
        order = np.argsort(position, kind="stable")
        ranks = [rank[order] for rank in ranks]
        place = np.searchsorted(position[order], np.asarray(_positions(cells.ranks, sizes)))
    filled = {}
    for name, values in numbers.items():
        full = np.zeros(size, values.dtype)
        if isinstance(values, np.ma.MaskedArray):  # nobody is there, so there is no number
            full = np.ma.array(full, mask=True)
        full[place] = values
        filled[name] = full
    return ranks, filled
