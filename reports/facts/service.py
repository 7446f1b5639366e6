"""What the page of a service needs to know, in plain values."""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Order: TypeAlias = Literal["none", "ascending", "descending"]
ColumnKind: TypeAlias = Literal["number", "share", "difference", "figure"]
ShareOf: TypeAlias = Literal["", "total", "rows"]
NoChart: TypeAlias = Literal["", "columns", "equal"]
Kind: TypeAlias = Literal["coarser", "without", "unfiltered", "with", "all"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One of several things to choose: what is sent, what is read, whether it is chosen."""

    value: str
    label: str
    is_chosen: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The categories of one level; `label` is empty where there is but one."""

    label: str
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """What can be chosen of one variable.

    Parameters
    ----------
    id
        Unique on the page.
    name, label, definition, responsibility
        The variable, what it means, and who answers for it.
    shows
        Ways to show it; the first leaves it out.
    groups
        Categories to tick.
    codes
        What stands in the field for codes; None for no such field.
    find
        What is searched for among the categories.
    n_found, n_categories
        How many were found, and how many there are.
    is_area
        Whether it is the variable of areas.
    """

    id: str
    name: str
    label: str
    shows: tuple[Choice, ...]
    groups: tuple[Group, ...]
    codes: str | None = None
    definition: str = ""
    responsibility: str = ""
    find: str = ""
    n_found: int = 0
    n_categories: int = 0
    is_area: bool = False

    @property
    def n_chosen(self) -> int:
        """How many of the categories that stand on the page are ticked."""
        return sum(choice.is_chosen for group in self.groups for choice in group.choices)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What is wrong with a request, and the id of the field to look at."""

    text: str
    field: str = ""
    suggestion: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """Another table to ask for, and its address.

    Parameters
    ----------
    kind
        What differs: a coarser level, a variable less, no filter, a variable more, all
        categories.
    variable, level
        Which, in words.
    href
        The address.
    """

    kind: Kind
    href: str
    variable: str = ""
    level: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpublished:
    """Why there is no table, what is advised, and tables to try."""

    detail: str
    advice: tuple[str, ...]
    tries: tuple[Try, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Withheld(Unpublished):
    """Areas that one rule does not let through, why, and tables to try."""

    areas: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column: its heading, the address that sorts by it, and how it is sorted.

    `has_parts` tells that parts of what it counts stand in columns beside it; differences of up
    to `margin` can come from the noise alone.
    """

    heading: str
    href: str
    order: Order = "none"
    has_parts: bool = False
    kind: ColumnKind = "number"
    margin: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """A category that a row is about.

    Parameters
    ----------
    label
        The category.
    level
        Its level, where several are shown.
    depth
        How far it is indented.
    """

    label: str
    level: str = ""
    depth: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of a table.

    Parameters
    ----------
    heads, numbers
        What it is about, and its numbers; not a number where there is none.
    ends
        The ends of the intervals of its numbers, where these are told.
    n_again
        How many of its first categories stand in the row above, too.
    is_total, has_parts
        Whether it is a total, or parts of what it counts stand in other rows.
    """

    heads: tuple[Head, ...]
    numbers: tuple[float, ...]
    ends: tuple[tuple[float, float], ...] = ()
    n_again: int = 0
    is_total: bool = False
    has_parts: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Bars of a table: their names, and for each panel a heading and their numbers.

    Parameters
    ----------
    names, panels
        The largest ones, largest first, where there are more than can be looked at.
    n_bars
        How many there are.
    why_none
        There are too many columns, or the bars look alike.
    """

    names: tuple[str, ...] = ()
    panels: tuple[tuple[str, tuple[float, ...]], ...] = ()
    n_bars: int = 0
    why_none: NoChart = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Areas that look the same on a map.

    Parameters
    ----------
    path
        Their outlines, as SVG has them.
    look
        Their class, from 0; -1 for areas without a number.
    is_hatched
        Whether the margin of each is wider than its class.
    name, code, figure, ends
        Of an area that has a shape by itself: what it is called, the code that selects it, and
        what its row says.
    """

    path: str
    look: int
    is_hatched: bool = False
    name: str = ""
    code: str = ""
    figure: float = 0.0
    ends: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A box of a map around areas that lie elsewhere.

    Parameters
    ----------
    ends
        Left, top, right and lower end.
    name
        The area that all of it belongs to; empty for none.
    """

    ends: tuple[int, int, int, int]
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnMap:
    """A map of one figure of a table.

    Parameters
    ----------
    label
        What the figure is.
    size
        Width and height.
    edges
        The ends of the classes, from low to high.
    shapes
        What is drawn.
    n_areas, n_hatched
        How many areas have a figure, and how many of these are hatched.
    has_gaps
        Whether some areas of the map have none.
    frames
        Boxes around areas that lie elsewhere.
    """

    label: str
    size: tuple[int, int]
    edges: tuple[float, ...]
    shapes: tuple[Shape, ...]
    n_areas: int
    n_hatched: int
    has_gaps: bool = False
    frames: tuple[Frame, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """A form for figures that are against a category.

    Parameters
    ----------
    hidden
        Names and texts that keep the table as it is.
    kinds, bases
        Figures to choose from; categories, grouped by variable.
    """

    hidden: tuple[tuple[str, str], ...]
    kinds: tuple[Choice, ...]
    bases: tuple[Group, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """What a polygon is drawn on.

    Parameters
    ----------
    runs
        Column, row and length of each run of cells with land.
    size
        Columns and rows.
    corner, step
        x and y of the upper left corner, and the side of a cell.
    names
        Column, row and name of some areas.
    """

    runs: tuple[tuple[int, int, int], ...]
    size: tuple[int, int]
    corner: tuple[float, float]
    step: float
    names: tuple[tuple[float, float, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnArea:
    """A form for areas that are added up under a name.

    Parameters
    ----------
    name, of
        The name; what the variable of areas is called.
    levels
        Levels of areas that a polygon can hold; empty where centres are not known.
    board
        What the polygon is drawn on.
    most
        Corners of the largest polygon.
    held, n_held
        Names of the areas that the polygon holds, the first of them; how many they are.
    level
        Their level, in words; empty for a variable of one.
    """

    of: str
    name: str = ""
    levels: tuple[Choice, ...] = ()
    board: Board | None = None
    most: int = 0
    held: tuple[str, ...] = ()
    n_held: int = 0
    level: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A table, or one page of it.

    Parameters
    ----------
    labels
        Its variables.
    measure
        What its numbers are.
    across
        The variable across the columns, in words; empty for none.
    heads, columns
        Columns of texts and of numbers.
    rows
        The rows of this page.
    n_rows
        Rows of all pages.
    first
        Number of the first row, from 1.
    pages
        Number of a page → its address; the page shown has none.
    chart, margin
        What is drawn of it; the margin of error of its counts, 0 where that is not told.
    share_of
        What its shares are parts of: the total of the column, or its rows.
    views, figure, against
        Ways to look at its numbers, and their addresses; what they are, where they are made
        of published numbers; a form for figures against a category.
    map
        A map of one of its columns.
    """

    labels: tuple[str, ...]
    measure: str = ""
    across: str = ""
    heads: tuple[Column, ...] = ()
    columns: tuple[Column, ...]
    rows: tuple[Row, ...] = ()
    n_rows: int = 0
    first: int = 1
    pages: tuple[Choice, ...] = ()
    chart: Chart = field(default_factory=Chart)
    margin: int = 0
    share_of: ShareOf = ""
    views: tuple[Choice, ...] = ()
    figure: str = ""
    against: Against | None = None
    map: DrawnMap | None = None

    @property
    def caption(self) -> str:
        """What it shows, in a line."""
        return " × ".join(self.labels)

    @property
    def has_totals(self) -> bool:
        """Whether totals and their parts can be seen side by side."""
        is_above = any(column.has_parts for column in self.columns)
        return is_above or any(row.has_parts for row in self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """A file of the table; `is_common` where most people can open it."""

    label: str
    href: str
    file: str
    is_common: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Who signed in.

    Parameters
    ----------
    role
        In words.
    n_left, limit
        Requests left in this hour, and requests in an hour.
    most_cells
        Cells of the largest table.
    proof, back
        What the form for signing out shows, and the words of this address.
    """

    role: str
    n_left: int
    limit: int
    most_cells: int | None
    proof: str
    back: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInFacts:
    """What the page for signing in shows.

    Parameters
    ----------
    title, contact
        Of the service.
    proof, back
        What the form shows, and the words of the address to go back to.
    problem
        Why a token did not do.
    notice
        What stands on every page.
    """

    title: str
    proof: str
    back: str = ""
    problem: str = ""
    contact: str = ""
    notice: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFacts:
    """All that a page shows.

    Parameters
    ----------
    title, description, source, unit, contact, updated, revision, licence
        Of the service; the licence is an address.
    languages
        Language → the address of the same page in it.
    language_given
        The language, where the address names it.
    fields
        The variables.
    populations
        Whose table can be asked for; empty where there is no choice.
    filter
        The filter in words of its language.
    columns, example
        What the filter may speak of, and an example of one.
    starts
        Tables to start with: addresses and names.
    across, measures
        What stands across the columns; which numbers. Empty where there is no choice.
    compare, compared, compare_href
        The id of the field of the areas that can be compared, empty for none; the two that are;
        the address that compares those ticked.
    problems
        What is wrong.
    unpublished, withheld
        What is not published, and why.
    restrictions, parts
        Who is counted: a variable and its categories, in words; the areas that are added up.
    grid
        The table.
    downloads, permalink
        Addresses of files and of the page itself.
    notes, notice, audit
        What has to be known about the numbers; what stands on every page; whether what all
        tables tell together was examined, in words.
    sign_in, reader
        Where to sign in, or who did.
    own_area
        Areas that are added up under a name.
    """

    title: str
    description: str
    source: str
    unit: str
    contact: str
    updated: str
    languages: dict[str, str]
    fields: tuple[Field, ...]
    revision: str = ""
    licence: str = ""
    language_given: str = ""
    populations: tuple[Choice, ...] = ()
    filter: str = ""
    columns: tuple[str, ...] = ()
    example: str = ""
    starts: tuple[Choice, ...] = ()
    across: tuple[Choice, ...] = ()
    measures: tuple[Choice, ...] = ()
    compare: str = ""
    compared: tuple[str, ...] = ("", "")
    compare_href: str = ""
    problems: tuple[Problem, ...] = ()
    unpublished: Unpublished | None = None
    withheld: tuple[Withheld, ...] = ()
    restrictions: tuple[tuple[str, str], ...] = ()
    parts: tuple[str, ...] = ()
    grid: Grid | None = None
    downloads: tuple[Download, ...] = ()
    permalink: str = ""
    notes: tuple[str, ...] = field(default=())
    notice: str = ""
    audit: str = ""
    sign_in: str = ""
    reader: Reader | None = None
    own_area: OwnArea | None = None
