"""The parts of a page that a template only has to write down: tables and pictures."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Generic, Literal, TypeAlias, TypeVar

from reports.catalogues.wording import written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from reports.catalogues.wording import Kind
    from reports.charts.drawing import Labels
    from reports.facts.release import Outcome
    from reports.i18n.languages import Words

#: What stands where there is no number.
NOTHING = "–"
_Item = TypeVar("_Item")
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")

#: Whether a figure is the best that can be, the worst, or between.
Rating: TypeAlias = Literal["best", "part", "worst"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A cell of a table that is more than a text.

    Parameters
    ----------
    text
        What it says.
    small
        What stands below it in small letters.
    is_code
        Whether it is a name or a hash.
    outcome
        Of a check; None for any other cell.
    rating
        Of a figure that can be the best or the worst there is; None for any other cell.
    links
        Words → address, instead of a text.
    groups
        What links have in common → the links, instead of a text.
    """

    text: str
    small: str = ""
    is_code: bool = False
    outcome: Outcome | None = None
    rating: Rating | None = None
    links: tuple[tuple[str, str], ...] = ()
    groups: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()


Entry: TypeAlias = str | Cell


def with_interval(
    words: Words,
    write: Callable[[float], str],
    value: float,
    low: float | None,
    high: float | None,
) -> Entry:
    """Write a number, with its interval below where it has one."""
    if low is None or high is None:
        return write(value)
    ends = words.say("%(low)s to %(high)s", low=write(low), high=write(high))
    return Cell(text=write(value), small=ends)


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its heading, and whether it holds numbers."""

    heading: str
    is_number: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of a page.

    Parameters
    ----------
    id
        Unique on the page.
    caption
        What it shows.
    columns
        Their headings.
    rows
        One entry per column.
    n_heads
        How many columns of the left name the row.
    notes
        Remarks below it.
    """

    id: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Entry, ...], ...]
    n_heads: int = 1
    notes: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A picture of a page, and its data.

    Parameters
    ----------
    id
        Unique on the page.
    title
        What it shows.
    svg
        The drawing; its text comes escaped.
    data
        What was drawn.
    notes
        How to read it.
    """

    id: str
    title: str
    svg: str
    data: Table
    notes: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Small pictures beside each other, and their data.

    Parameters
    ----------
    id
        Unique on the page.
    title
        What they show.
    panels
        The title of each and its drawing.
    data
        What was drawn.
    notes
        How to read them.
    """

    id: str
    title: str
    panels: tuple[tuple[str, str], ...]
    data: Table
    notes: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Lines(Generic[_Item]):
    """A table in the making: a line per item, to which columns are added from left to right.

    Parameters
    ----------
    words
        The language.
    items
        What the lines are about.
    columns, entries
        The columns so far, and what each says of an item.
    """

    words: Words
    items: Iterable[_Item]
    columns: tuple[Column, ...] = ()
    entries: tuple[Callable[[_Item], Entry], ...] = ()

    def column(self, column: Column, entry: Callable[[_Item], Entry]) -> Lines[_Item]:
        """Add a column whose heading is in the language of the page."""
        return replace(self, columns=(*self.columns, column), entries=(*self.entries, entry))

    def text(self, heading: str, entry: Callable[[_Item], Entry]) -> Lines[_Item]:
        """Add a column of texts; the heading is a message, as for `Words.say`."""
        return self.column(Column(self.words.say(heading)), entry)

    def number(
        self,
        heading: str,
        entry: Callable[[_Item], Entry | float | None],
        kind: Kind = "plain",
    ) -> Lines[_Item]:
        """Add a column of numbers, each written as the kind says."""
        column = Column(self.words.say(heading), is_number=True)
        return self.column(column, self._written(entry, kind))

    def _written(
        self, entry: Callable[[_Item], Entry | float | None], kind: Kind
    ) -> Callable[[_Item], Entry]:
        def said(item: _Item) -> Entry:
            value = entry(item)
            if isinstance(value, Cell):
                return value
            return NOTHING if value is None else written(self.words, value, kind)

        return said

    def texts(
        self, headings: Mapping[_Key, str], entry: Callable[[_Item, _Key], Entry]
    ) -> Lines[_Item]:
        """Add a column of texts per key, under its heading in the language of the page."""
        lines = self
        for key, heading in headings.items():
            lines = lines.column(Column(heading), partial(_of_key, entry, key))
        return lines

    def numbers(
        self,
        headings: Mapping[_Key, str],
        entry: Callable[[_Item, _Key], Entry | float | None],
        kind: Kind = "plain",
    ) -> Lines[_Item]:
        """Add a column of numbers per key, under its heading in the language of the page."""
        lines = self
        for key, heading in headings.items():
            entry_of = self._written(partial(_of_key, entry, key), kind)
            lines = lines.column(Column(heading, is_number=True), entry_of)
        return lines

    def table(
        self, ident: str, caption: str, *, n_heads: int = 1, notes: Iterable[str] = ()
    ) -> Table:
        """Give the table."""
        return Table(
            id=ident,
            caption=caption,
            columns=self.columns,
            rows=tuple(tuple(entry(item) for entry in self.entries) for item in self.items),
            n_heads=n_heads,
            notes=tuple(notes),
        )

    def figure(
        self,
        labels: Labels,
        svg: str,
        *,
        caption: str = "",
        n_heads: int = 1,
        notes: Iterable[str] = (),
    ) -> Figure:
        """Give a picture whose data the table is."""
        data = self.table(f"{labels.id}-data", caption or labels.title, n_heads=n_heads)
        return Figure(
            id=labels.id,
            title=labels.title,
            svg=svg,
            data=data,
            notes=tuple(notes),
        )


def _of_key(entry: Callable[[_Item, _Key], _Value], key: _Key, item: _Item) -> _Value:
    return entry(item, key)
