"""The table of the page: what stands in rows and columns, in which order, on which page."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile
from operator import eq
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckm.service.answering.answer import Answer
from ckm.service.answering.figures import WITH_BASE
from ckm.service.answering.pxweb_selection import codelists_of
from ckm.service.answering.render import measure_label
from ckm.service.answering.variables import Variable
from ckm.service.page.drawn_map import MAPPED, map_of_column
from ckm.service.page.page_state import PageState, View
from reports.facts.service import (
    Against,
    Chart,
    Choice,
    Column,
    DrawnMap,
    Grid,
    Group,
    Head,
    Order,
    Row,
    ShareOf,
)

_MAX_ACROSS = 12  # categories across the columns where nobody asked
_MAX_COLUMNS = 60
_MAX_ROWS, _FEWEST_ROWS, _NUMBERS = 100, 20, 1200
_MAX_BARS, _LARGEST, _MAX_PANELS = 15, 12, 12
_MAX_BASES = 200  # categories of a variable to compare with
_NEARLY = 0.9  # bars that differ by less look alike


@dataclass(frozen=True)
class _Shown:
    """A variable of the table in a language, with those of its categories that are shown."""

    variable: Variable
    ranks: tuple[int, ...]
    language: str
    level: int | None = None  # that of the list that was asked for

    @property
    def name(self) -> str:
        level = next(iter(self.depths)) if len(self.depths) == 1 else None
        if self._is_zone(max(self.ranks, default=0)):
            level = None
        return self.variable.title(level, self.language)

    @cached_property
    def labels(self) -> list[str]:
        return [self.variable.label(rank, self.language) for rank in self.ranks]

    @cached_property
    def levels(self) -> NDArray[np.int64]:
        return self.variable.level_of[list(self.ranks)]

    @cached_property
    def has_parts(self) -> NDArray[np.bool_]:
        """Which categories have parts among the others."""
        return np.asarray(self.levels > self.levels.min(), bool)

    @cached_property
    def depths(self) -> dict[int, int]:
        """Level → how far to the right its categories stand; the total is at none."""
        if self.level is not None:
            return {self.level: 0}
        used = {
            int(level)
            for level, rank in zip(self.levels, self.ranks, strict=True)
            if rank and not self._is_zone(rank)
        }
        return {level: depth for depth, level in enumerate(sorted(used, reverse=True))}

    def _is_zone(self, rank: int) -> bool:
        """Tell whether a category is a sum of areas, which is of no level."""
        return rank >= self.variable.axis.size

    def head(self, place: int) -> Head:
        """Say how a category stands at the left, with its level where there are several."""
        label = self.variable.label(self.ranks[place], self.language)
        level = int(self.levels[place])
        rank = self.ranks[place]
        if rank == 0 or self._is_zone(rank) or len(self.depths) < 2:
            return Head(label=label)
        words = self.variable.level_label(level, self.language)
        return Head(label=label, level=words, depth=self.depths[level])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """Variables down the rows, and perhaps one across the columns."""

    down: tuple[_Shown, ...]
    across: _Shown | None
    numbers: NDArray[Any]  # rows by columns; a column for each category across and measure

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(one.ranks) for one in self.down)


def grid_of(answer: Answer, view: View) -> Grid:
    """Lay an answer out for the page."""
    page_state, language = view.asked, view.language
    axes = tuple(
        _Shown(
            variable := answer.variables.get(s.variable) or view.variables[s.variable],
            s.ranks,
            language,
            codelists_of(variable).get(page_state.of(s.variable).codelist or s.variable),
        )
        for s in answer.selections
    )
    n_measures = len(answer.shown_measures)
    place = _across(axes, page_state, n_measures=n_measures)
    layout = _laid_out(answer, axes, place)
    measures = [
        measure_label(name, answer, view.service, language) for name in answer.shown_measures
    ]
    columns = _columns(layout, measures)
    figure = answer.figure
    if figure is not None and figure.kind != "count":
        columns = [replace(column, kind="figure") for column in columns]
    share_of: ShareOf = ""
    if page_state.pair:
        layout, columns, share_of = _compared(layout, answer, view)
    order = _order(layout, page_state.sort)
    n_rows, n_heads = len(layout.numbers), len(layout.down)
    most = max(_FEWEST_ROWS, min(_MAX_ROWS, _NUMBERS // max(1, len(columns))))
    first = min(page_state.first // most, (n_rows - 1) // most) * most
    sorted_by = abs(page_state.sort) if order is not None else 0
    direction: Order = "descending" if page_state.sort < 0 else "ascending"
    titled = [
        replace(
            column,
            href=_sort_href(page_state, place),
            order="none" if place != sorted_by else direction,
        )
        for place, column in enumerate(
            [*(Column(heading=head.name, href="") for head in layout.down), *columns], start=1
        )
    ]
    rows = np.arange(n_rows) if order is None else order
    ends = _ends(answer, axes, place)
    return Grid(
        labels=tuple(one.name for one in axes) or (view.say("total"),),
        measure=", ".join(measures),
        across="" if layout.across is None else layout.across.name,
        heads=tuple(titled[:n_heads]),
        columns=tuple(titled[n_heads:]),
        rows=_rows(layout, rows[first : first + most], ends),
        n_rows=n_rows,
        chart=Chart()
        if figure is not None and figure.kind != "count"
        else _chart(layout, columns, rows)
        if len(layout.down) < 2 or len(columns) > 1
        else _small_multiples(answer, axes, measures),
        margin=answer.margin.count if answer.margin and n_measures == 1 else 0,
        first=first + 1,
        pages=_pages(page_state, n_rows, most, first),
        share_of=share_of,
        views=() if page_state.pair else _views(layout, answer, view),
        figure="" if figure is None else figure.kind,
        against=None if page_state.pair else _against(axes, answer, view),
        map=_map(layout, columns, ends, answer, view),
    )


def _map(
    layout: _Layout,
    columns: Sequence[Column],
    ends: NDArray[Any] | None,
    answer: Answer,
    view: View,
) -> DrawnMap | None:
    """Draw the column that the table is sorted by, else the first; None where nothing fits.

    Without margins there is no map: nobody could tell a pattern from the noise.
    """
    figure, area_map = answer.figure, view.table_service.answerer.area_map
    is_mapped = figure is not None and figure.kind in MAPPED and ends is not None
    names = [one.variable.name for one in layout.down]
    if area_map is None or not is_mapped or ends is None or names != [view.service.area]:
        return None
    if answer.variables:  # zones, of which the map has none
        return None
    (down,) = layout.down
    place = abs(view.asked.sort) - 2
    if not 0 <= place < len(columns):
        parts = [at for at, column in enumerate(columns) if not column.has_parts]
        place = next(iter(parts), 0)

    return map_of_column(
        area_map,
        down.variable,
        ranks=down.ranks,
        figures=layout.numbers[:, place].astype(np.float64),
        ends=ends[:, place].astype(np.float64),
        label=columns[place].heading,
        language=view.language,
    )


def _views(layout: _Layout, answer: Answer, view: View) -> tuple[Choice, ...]:
    """Return the ways to look at the numbers: percentages, ranks, rates, with a margin.

    There are none of two measures.
    """
    plain = replace(view.asked.plain, figure="", over=(), base="")
    figure = answer.figure
    if figure is None and len(answer.query.measures) > 1:
        return ()
    down = tuple(one.variable.name for one in layout.down)
    across = () if layout.across is None else (layout.across.variable.name,)
    ways: dict[str, PageState] = {view.say("figure_count"): plain}
    if view.table_service.answerer.deriver.margin is not None:
        ways[view.say("view_margin")] = replace(plain, figure="count")
    if down and across:
        ways[view.say("view_row")] = replace(plain, figure="share", over=across)
        ways[view.say("view_column")] = replace(plain, figure="share", over=down)
    if down or across:
        ways[view.say("view_whole")] = replace(plain, figure="share", over=(*down, *across))
    if down:
        ways[view.say("figure_rank")] = replace(plain, figure="rank", over=down[:1])
    is_counted = view.asked.measures in {(), ("count",)}
    for name, rate in view.service.rates.items():
        if is_counted and rate.variable not in {*down, *across}:
            ways[rate.title[view.language]] = replace(plain, figure=name)
    current = (view.asked.figure, {*view.asked.over})
    return tuple(
        Choice(
            value=state.href(), label=label, is_chosen=(state.figure, {*state.over}) == current
        )
        for label, state in ways.items()
    )


def _against(axes: Sequence[_Shown], answer: Answer, view: View) -> Against | None:
    """Offer differences and indices against a category of the table.

    Of many categories those above them can be chosen, such as the region of a municipality.
    """
    page_state = replace(view.asked.plain, figure="", over=(), base="")
    if len(answer.query.measures) > 1 and answer.figure is None:
        return None
    groups = []
    for one in axes:
        variable = view.variables[one.variable.name]
        own = [rank for rank in one.ranks if rank < variable.axis.size]
        if len(own) > _MAX_BASES:
            levels = variable.level_of[own]
            own = [rank for rank, at in zip(own, levels, strict=True) if at > levels.min()][
                :_MAX_BASES
            ]
        ranks = list(dict.fromkeys([0, *own]))
        is_base = view.asked.over == (variable.name,)
        choices = tuple(
            Choice(
                value=f"{variable.name}={variable.word(rank)}",
                label=variable.label(rank, view.language),
                is_chosen=is_base and variable.chosen(view.asked.base) == rank,
            )
            for rank in ranks
        )
        groups.append(Group(label=view.label(variable.name), choices=choices))
    kinds = tuple(
        Choice(
            value=kind, label=view.say(f"figure_{kind}"), is_chosen=view.asked.figure == kind
        )
        for kind in WITH_BASE
    )
    if not groups:
        return None
    return Against(hidden=tuple(page_state.pairs()), kinds=kinds, bases=tuple(groups))


def _ends(answer: Answer, axes: tuple[_Shown, ...], place: int | None) -> NDArray[Any] | None:
    """Lay the ends of intervals out as the numbers are; None where there are none."""
    if answer.figure is None or answer.figure_margin is None:
        return None
    low, high = (
        _laid_out(answer, axes, place, names=(name,)).numbers
        for name in answer.figure.measures[1:]
    )
    return np.stack([low, high], axis=-1)


def _laid_out(
    answer: Answer,
    axes: tuple[_Shown, ...],
    place: int | None,
    *,
    names: tuple[str, ...] | None = None,
) -> _Layout:
    table = answer.table
    assert table is not None  # noqa: S101  (the caller looked)
    shape = tuple(len(one.ranks) for one in axes)
    columns = [table.measures[name] for name in names or answer.shown_measures]
    whole = np.stack([_unmasked(column).reshape(shape) for column in columns], axis=-1)
    n_measures = whole.shape[-1]
    if place is None:
        return _Layout(down=axes, across=None, numbers=whole.reshape(-1, n_measures))
    return _Layout(
        down=(*axes[:place], *axes[place + 1 :]),
        across=axes[place],
        numbers=np.moveaxis(whole, place, -2).reshape(-1, shape[place] * n_measures),
    )


def _unmasked(column: NDArray[Any]) -> NDArray[Any]:
    """Put no number where none is published."""
    if not np.ma.isMaskedArray(column):
        return np.asarray(column)
    return np.asarray(np.ma.filled(column.astype(np.float64), np.nan))


def _across(axes: Sequence[_Shown], page_state: PageState, *, n_measures: int) -> int | None:
    for place, one in enumerate(axes):
        if one.variable.name == page_state.heading:
            return place if len(one.ranks) * n_measures <= _MAX_COLUMNS else None
    if len(axes) < 2 or n_measures > 1 or len(axes[-1].ranks) > _MAX_ACROSS:
        return None
    return len(axes) - 1


def _columns(layout: _Layout, measures: list[str]) -> list[Column]:
    across = layout.across
    if across is None:
        return [Column(heading=name, href="") for name in measures]
    return [
        Column(
            heading=label if len(measures) == 1 else f"{label}, {name}",
            href="",
            has_parts=has_parts,
        )
        for label, has_parts in zip(across.labels, across.has_parts.tolist(), strict=True)
        for name in measures
    ]


def _compared(
    layout: _Layout, answer: Answer, view: View
) -> tuple[_Layout, list[Column], ShareOf]:
    """Put the shares of two areas beside their numbers, and how far these lie apart.

    Shares are of the published total of the area, or of its rows where that is not shown.
    """
    across, names = layout.across, answer.query.measures
    assert across is not None  # noqa: S101  (two categories always have room)
    is_total = np.ones((), bool)
    for one in layout.down:
        is_total = np.logical_and.outer(is_total, np.array(one.ranks) == 0)
    is_base = is_total.ravel() if is_total.any() else _is_leaf(layout)
    pair = [across.variable.chosen(code) for code in view.asked.pair]
    order = np.argsort([pair.index(rank) for rank in across.ranks])
    blocks: list[NDArray[Any]] = []
    columns: list[Column] = []
    for place, name in enumerate(names):
        end = f", {view.say(name)}" if len(names) > 1 else ""
        headings = [across.labels[at] for at in order]
        numbers = layout.numbers[:, place :: len(names)][:, order]
        blocks.append(numbers)
        columns += [Column(heading=label + end, href="") for label in headings]
        if layout.down:
            blocks.append(numbers / np.maximum(numbers[is_base].sum(axis=0), 1))
            columns += [
                Column(heading=f"{label}{end} (%)", href="", kind="share") for label in headings
            ]
        if len(headings) == 2:
            margin = answer.margin.difference if answer.margin and name == "count" else -1
            blocks.append(numbers[:, :1] - numbers[:, 1:])
            heading = view.say("difference") + end
            columns.append(Column(heading=heading, href="", kind="difference", margin=margin))
    share_of: ShareOf = "total" if is_total.any() else "rows"
    whole = replace(layout, numbers=np.concatenate(blocks, axis=1))
    return whole, columns, share_of if layout.down else ""


def _order(layout: _Layout, sort: int) -> NDArray[np.int64] | None:
    """Return the rows in the order asked for; None for the order of the categories."""
    place, n_heads = abs(sort) - 1, len(layout.down)
    if sort == 0 or place >= n_heads + layout.numbers.shape[1]:
        return None
    if place >= n_heads:
        keys = layout.numbers[:, place - n_heads]
    else:
        labels = layout.down[place].labels
        ordered = {text: n for n, text in enumerate(sorted(set(labels), key=str.casefold))}
        codes = np.array([ordered[text] for text in labels])
        keys = codes[np.indices(layout.shape)[place].ravel()]
    return np.argsort(-keys if sort < 0 else keys, kind="stable")


def _is_leaf(layout: _Layout) -> NDArray[np.bool_]:
    """Tell which rows have no parts in other rows."""
    is_leaf = np.ones((), bool)
    for one in layout.down:
        is_leaf = np.logical_and.outer(is_leaf, ~one.has_parts)
    return is_leaf.ravel()


def _small_multiples(answer: Answer, axes: tuple[_Shown, ...], measures: list[str]) -> Chart:
    """Draw a panel for each category of the variable that has the fewest."""
    several = [place for place, one in enumerate(axes) if 1 < len(one.ranks) <= _MAX_ACROSS + 1]
    place = min(several, key=lambda place: len(axes[place].ranks), default=None)
    layout = _laid_out(answer, axes, place)
    return _chart(layout, _columns(layout, measures), np.arange(len(layout.numbers)))


def _chart(layout: _Layout, columns: list[Column], rows: NDArray[np.int64]) -> Chart:
    """Choose the bars: totals would dwarf their parts, and of many the largest say most.

    Of more columns than can be looked at, the total alone is drawn; of one row, its columns.
    """
    leaves = rows[_is_leaf(layout)[rows]]
    places = [
        place
        for place, column in enumerate(columns)
        if column.kind == "number" and not column.has_parts
    ]
    if len(places) > _MAX_PANELS and len(leaves) > 1:
        places = [place for place, column in enumerate(columns) if column.has_parts][:1]
    numbers = layout.numbers[leaves][:, places]
    headings = [columns[place].heading for place in places]
    is_turned = len(leaves) == 1 < len(places)
    n_bars = len(places if is_turned else leaves)
    if not places or n_bars < 2:
        return Chart(n_bars=n_bars, why_none="columns" if n_bars > 1 else "")
    if is_turned:
        numbers = numbers.T
    largest = numbers.max(axis=1)
    bars = np.argsort(-largest, kind="stable")[: _LARGEST if n_bars > _MAX_BARS else 0]
    bars = bars if len(bars) else np.arange(n_bars)
    numbers = numbers[bars]
    if numbers.min() >= _NEARLY * numbers.max():
        return Chart(n_bars=n_bars, why_none="equal")
    if is_turned:
        names = [headings[bar] for bar in bars]
        headings = _own_names(_rows(layout, leaves))
    else:
        names = _own_names(_rows(layout, leaves[bars]))
    panels = zip(headings, map(tuple, numbers.T.tolist()), strict=True)
    return Chart(names=tuple(names), panels=tuple(panels), n_bars=n_bars)


def _own_names(rows: Sequence[Row]) -> list[str]:
    """Name rows by what tells them apart: not by a category that all of them have."""
    heads = [[head.label for head in row.heads] for row in rows]
    differing = [
        place for place, labels in enumerate(zip(*heads, strict=True)) if len({*labels}) > 1
    ]
    return [
        ", ".join(labels[place] for place in differing) if differing else ", ".join(labels)
        for labels in heads
    ]


def _rows(
    layout: _Layout, numbers: NDArray[np.int64], ends: NDArray[Any] | None = None
) -> tuple[Row, ...]:
    rows: list[Row] = []
    before: tuple[int, ...] = ()
    for number in numbers.tolist():
        index = tuple(map(int, np.unravel_index(number, layout.shape))) if layout.down else ()
        pairs = list(zip(layout.down, index, strict=True))
        above = [bool(one.has_parts[place]) for one, place in pairs]
        same = [*takewhile(bool, map(eq, before, index))]
        rows.append(
            Row(
                heads=tuple(one.head(place) for one, place in pairs),
                numbers=tuple(layout.numbers[number].tolist()),
                ends=() if ends is None else tuple(map(tuple, ends[number].tolist())),
                n_again=min(len(same), len(index) - 1),
                is_total=any(
                    one.ranks[place] == 0 and a
                    for (one, place), a in zip(pairs, above, strict=True)
                ),
                has_parts=any(above),
            )
        )
        before = index
    return tuple(rows)


def _sort_href(page_state: PageState, place: int) -> str:
    return replace(
        page_state, sort=-place if page_state.sort == place else place, first=0
    ).href()


def _pages(page_state: PageState, n_rows: int, most: int, first: int) -> tuple[Choice, ...]:
    """Return the pages around this one, the first and the last; empty ones for gaps."""
    last, here = (n_rows - 1) // most, first // most
    if last <= 0:
        return ()
    numbers = sorted(
        page for page in {0, last, *range(here - 2, here + 3)} if 0 <= page <= last
    )
    pages: list[Choice] = []
    for before, page in zip([-1, *numbers], numbers, strict=False):
        if page > before + 1:
            pages.append(Choice(value="", label="…"))
        href = replace(page_state, first=page * most).href()
        pages.append(Choice(value=href, label=str(page + 1), is_chosen=page == here))
    return tuple(pages)
