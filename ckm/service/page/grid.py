"""The table of the page: what stands in rows and columns, in which order, on which page."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ckm.service.answering.messages import say
from reports.service import Choice, Column, Grid, Head, Row

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from ckm.service.answering.answer import Answer
    from ckm.service.answering.query import Selection
    from ckm.service.answering.variables import Variable
    from ckm.service.page.page_state import PageState

_MAX_ACROSS = 12  # categories across the columns where nobody asked
_MAX_COLUMNS = 60
_MAX_ROWS, _FEWEST_ROWS, _NUMBERS = 100, 20, 1200
_MAX_DRAWN = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """Variables down the rows, and perhaps one across the columns."""

    down: tuple[Selection, ...]
    across: Selection | None
    numbers: NDArray[Any]  # rows by columns; a column for each category across and measure


def grid_of(
    answer: Answer, asked: PageState, variables: Mapping[str, Variable], *, language: str
) -> Grid:
    """Lay an answer out for the page."""
    layout = _laid_out(answer, asked)
    measures = [say(name, language) for name in answer.query.measures]
    heads = [variables[s.variable].offer.labels[language] for s in layout.down]
    columns = _columns(layout, measures, variables, language)
    order = _order(layout, asked.sort, variables, language)
    n_rows = len(layout.numbers)
    most = max(_FEWEST_ROWS, min(_MAX_ROWS, _NUMBERS // max(1, len(columns))))
    first = min(asked.first // most, (n_rows - 1) // most) * most
    titled = [Column(heading=name, href="") for name in heads] + columns
    sorted_by = abs(asked.sort) if order is not None else 0
    titled = [
        replace(
            column,
            href=_sort_href(asked, place),
            order="none" if place != sorted_by else _word(asked.sort),
        )
        for place, column in enumerate(titled, start=1)
    ]
    labels = [variables[s.variable].offer.labels[language] for s in answer.selections]
    across = layout.across
    rows = np.arange(n_rows) if order is None else order
    leaves = rows[_is_leaf(layout, variables)[rows]]
    leaves = leaves if len(leaves) else rows
    return Grid(
        labels=tuple(labels) or (say("total", language),),
        measure=", ".join(measures),
        across="" if across is None else variables[across.variable].offer.labels[language],
        heads=tuple(titled[: len(heads)]),
        columns=tuple(titled[len(heads) :]),
        rows=_rows(layout, rows[first : first + most], variables, language),
        n_rows=n_rows,
        drawn=_rows(layout, _largest(layout, leaves, columns), variables, language),
        n_leaves=len(leaves),
        first=first + 1,
        pages=_pages(asked, n_rows, most, first),
    )


def _laid_out(answer: Answer, asked: PageState) -> _Layout:
    table = answer.table
    assert table is not None  # noqa: S101  (the caller looked)
    selections = answer.selections
    shape = tuple(len(s.ranks) for s in selections)
    whole = np.stack(
        [np.asarray(table.measures[name]).reshape(shape) for name in answer.query.measures],
        axis=-1,
    )
    place = _across(selections, asked, n_measures=whole.shape[-1])
    if place is None:
        return _Layout(down=selections, across=None, numbers=whole.reshape(-1, whole.shape[-1]))
    moved = np.moveaxis(whole, place, -2)
    return _Layout(
        down=(*selections[:place], *selections[place + 1 :]),
        across=selections[place],
        numbers=moved.reshape(-1, shape[place] * whole.shape[-1]),
    )


def _across(
    selections: Sequence[Selection], asked: PageState, *, n_measures: int
) -> int | None:
    sizes = [len(s.ranks) for s in selections]
    for place, selection in enumerate(selections):
        if selection.variable == asked.heading:
            return place if sizes[place] * n_measures <= _MAX_COLUMNS else None
    if len(selections) < 2 or n_measures > 1 or sizes[-1] > _MAX_ACROSS:
        return None
    return len(selections) - 1


def _columns(
    layout: _Layout, measures: list[str], variables: Mapping[str, Variable], language: str
) -> list[Column]:
    if layout.across is None:
        return [Column(heading=name, href="") for name in measures]
    variable = variables[layout.across.variable]
    finest = _finest(variable, layout.across)
    return [
        Column(
            heading=label if len(measures) == 1 else f"{label}, {name}",
            href="",
            has_parts=int(variable.level_of[rank]) > finest,
        )
        for rank in layout.across.ranks
        for label in [variable.label(rank, language)]
        for name in measures
    ]


def _order(
    layout: _Layout, sort: int, variables: Mapping[str, Variable], language: str
) -> NDArray[np.int64] | None:
    """Return the rows in the order asked for; None for the order of the categories."""
    place, n_heads = abs(sort) - 1, len(layout.down)
    if sort == 0 or place >= n_heads + layout.numbers.shape[1]:
        return None
    if place >= n_heads:
        keys = layout.numbers[:, place - n_heads]
    else:
        selection = layout.down[place]
        labels = [variables[selection.variable].label(r, language) for r in selection.ranks]
        ordered = {text: n for n, text in enumerate(sorted(set(labels), key=str.casefold))}
        shape = tuple(len(s.ranks) for s in layout.down)
        codes = np.array([ordered[text] for text in labels])
        keys = codes[np.indices(shape)[place].ravel()]
    return np.argsort(-keys if sort < 0 else keys, kind="stable")


def _is_leaf(layout: _Layout, variables: Mapping[str, Variable]) -> NDArray[np.bool_]:
    """Tell which rows have no parts in other rows."""
    found = np.ones(tuple(len(s.ranks) for s in layout.down), bool)
    for place, selection in enumerate(layout.down):
        levels = variables[selection.variable].level_of[list(selection.ranks)]
        shape = [-1 if at == place else 1 for at in range(found.ndim)]
        found &= (levels == levels.min()).reshape(shape)
    return found.ravel()


def _largest(
    layout: _Layout, leaves: NDArray[np.int64], columns: list[Column]
) -> NDArray[np.int64]:
    """Return the rows that a chart has room for: those with the largest numbers."""
    if len(leaves) <= _MAX_DRAWN:
        return leaves
    shown = [place for place, column in enumerate(columns) if not column.has_parts]
    most = layout.numbers[leaves][:, shown or slice(None)].max(axis=1)
    return leaves[np.sort(np.argsort(-most, kind="stable")[:_MAX_DRAWN])]


def _rows(
    layout: _Layout,
    chosen: NDArray[np.int64],
    variables: Mapping[str, Variable],
    language: str,
) -> tuple[Row, ...]:
    shape = tuple(len(s.ranks) for s in layout.down)
    makers = [_head_maker(variables[s.variable], s, language) for s in layout.down]
    finest = [_finest(variables[s.variable], s) for s in layout.down]
    rows: list[Row] = []
    before: list[int] = []
    for number in chosen.tolist():
        index = np.unravel_index(number, shape) if shape else ()
        ranks = [s.ranks[int(at)] for s, at in zip(layout.down, index, strict=True)]
        above = [
            int(variables[s.variable].level_of[rank]) > low
            for s, rank, low in zip(layout.down, ranks, finest, strict=True)
        ]
        rows.append(
            Row(
                heads=tuple(make(rank) for make, rank in zip(makers, ranks, strict=True)),
                numbers=tuple(layout.numbers[number].tolist()),
                n_again=_n_same(before, ranks),
                is_total=any(r == 0 and a for r, a in zip(ranks, above, strict=True)),
                has_parts=any(above),
            )
        )
        before = ranks
    return tuple(rows)


def _n_same(before: list[int], ranks: list[int]) -> int:
    """Count the categories at the left that stand in the row above, too."""
    same = 0
    for above, here in zip(before, ranks, strict=False):
        if above != here:
            break
        same += 1
    return min(same, len(ranks) - 1)


def _finest(variable: Variable, selection: Selection) -> int:
    return int(variable.level_of[list(selection.ranks)].min())


def _head_maker(
    variable: Variable, selection: Selection, language: str
) -> Callable[[int], Head]:
    """Return what says how a category stands at the left, with its level where needed."""
    levels = set(variable.level_of[[r for r in selection.ranks if r]].tolist())
    used = sorted(levels, reverse=True)

    def head(rank: int) -> Head:
        label = variable.label(rank, language)
        if rank == 0 or len(used) < 2:
            return Head(label=label)
        level = int(variable.level_of[rank])
        return Head(
            label=label, level=variable.level_label(level, language), depth=used.index(level)
        )

    return head


def _sort_href(asked: PageState, place: int) -> str:
    return replace(asked, sort=-place if asked.sort == place else place, first=0).href()


def _word(sort: int) -> Any:
    return "descending" if sort < 0 else "ascending"


def _pages(asked: PageState, n_rows: int, most: int, first: int) -> tuple[Choice, ...]:
    """Return the pages around this one, the first and the last; empty ones for gaps."""
    last, here = (n_rows - 1) // most, first // most
    if last <= 0:
        return ()
    shown = sorted(page for page in {0, last, *range(here - 2, here + 3)} if 0 <= page <= last)
    pages: list[Choice] = []
    for before, page in zip([-1, *shown], shown, strict=False):
        if page > before + 1:
            pages.append(Choice(value="", label="…"))
        href = replace(asked, first=page * most).href()
        pages.append(Choice(value=href, label=str(page + 1), is_chosen=page == here))
    return tuple(pages)
