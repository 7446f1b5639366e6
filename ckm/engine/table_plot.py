"""The numbers of a published table as the chart of a page lays them out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ckm.errors import ReleaseError

if TYPE_CHECKING:
    from ckm.engine.published_table import PublishedTable
    from ptable.pictures import Picture

_MAX_ROWS, _MAX_ACROSS = 40, 12


def table_plot(
    table: PublishedTable, *, measure: str | None, total_label: str, language: str
) -> Picture:
    """Draw one measure; see `PublishedTable.plot`."""
    from reports import plots
    from reports.facts.service import Column, Grid, Head, Row

    measure = measure or next(iter(table.measures))
    cells = _parts(table, measure, total_label)
    rows: dict[tuple[str, ...], tuple[float, ...]]
    rows = {labels: (number,) for labels, number in cells.items()}
    names, columns = tuple(table.dimensions), [measure]
    across = list(dict.fromkeys(labels[-1] for labels in cells if len(names) > 1))
    down = list(dict.fromkeys(labels[:-1] for labels in cells))
    if len(across) <= _MAX_ACROSS and len(across) * len(down) == len(cells):
        rows = {head: tuple(cells[*head, last] for last in across) for head in down}
        columns = across
    largest = sorted(rows, key=lambda labels: -max(rows[labels]))[:_MAX_ROWS]
    drawn = tuple(
        Row(heads=tuple(Head(label=text) for text in labels), numbers=rows[labels])
        for labels in rows
        if labels in {*largest}
    )
    n_heads = len(names) - (columns is across)
    return plots.table_plot(
        Grid(
            labels=names,
            measure=measure,
            across=names[-1] if columns is across else "",
            heads=tuple(Column(heading=name, href="") for name in names[:n_heads]),
            columns=tuple(Column(heading=text, href="") for text in columns),
            rows=drawn,
            n_rows=len(rows),
            drawn=drawn,
            n_leaves=len(rows),
        ),
        language=language,
    )


def _parts(
    table: PublishedTable, measure: str, total_label: str
) -> dict[tuple[str, ...], float]:
    """Give the number of each cell that is no total."""
    numbers = table.measures.get(measure)
    if numbers is None:
        raise ReleaseError(
            f"The table has no measure {measure!r}.", hint=f"it has {', '.join(table.measures)}"
        )
    if np.ma.is_masked(numbers) or not np.all(numbers >= 0):
        raise ReleaseError(
            f"{measure!r} has negative or unpublished numbers: bars cannot show them.",
            hint="plot another measure",
        )
    texts = [
        [labels[code] for code in codes.tolist()] for codes, labels in table.dimensions.values()
    ]
    every = zip(zip(*texts, strict=True), numbers.tolist(), strict=True) if texts else ()
    return {labels: number for labels, number in every if total_label not in labels}
