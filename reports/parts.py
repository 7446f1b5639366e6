"""The parts of a page that a template only has to write down: tables and pictures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from reports.facts.release import Outcome

__all__ = ["Cell", "Column", "Entry", "Figure", "Rating", "Table", "numbers", "texts"]

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
    """

    text: str
    small: str = ""
    is_code: bool = False
    outcome: Outcome | None = None
    rating: Rating | None = None


Entry: TypeAlias = str | Cell


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


def texts(*headings: str) -> tuple[Column, ...]:
    """Give columns of texts.

    Parameters
    ----------
    headings
        One per column.

    Examples
    --------
    >>> texts("Table")
    (Column(heading='Table', is_number=False),)
    """
    return tuple(Column(heading) for heading in headings)


def numbers(*headings: str) -> tuple[Column, ...]:
    """Give columns of numbers.

    Parameters
    ----------
    headings
        One per column.

    Examples
    --------
    >>> numbers("Cells")
    (Column(heading='Cells', is_number=True),)
    """
    return tuple(Column(heading, is_number=True) for heading in headings)
