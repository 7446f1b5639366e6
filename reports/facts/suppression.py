"""What the overview of a suppression says, as plain numbers and names."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SuppressedMeasureFact:
    """What the choice of hidden cells was for one measure.

    Parameters
    ----------
    measure
        ``"count"``, ``"weighted"`` or ``"sum:"`` with a variable.
    cells, unsafe, hidden
        How many cells tables show, rules call unsafe, and are hidden.
    lost
        The share of the values of all cells, totals among them, that is hidden.
    method, gap
        How cells were chosen, and what share of their cost is not proven to be needed; None
        where nothing is proven.
    exact
        Hidden cells of which readers find one possible value; None without an audit.
    """

    measure: str
    cells: int
    unsafe: int
    hidden: int
    lost: float
    method: str
    gap: float | None
    exact: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SuppressedLevelFact:
    """How many cells of one level of a table are hidden, and why.

    Parameters
    ----------
    table
        The table.
    columns
        What the level breaks down by; none for the total.
    cells, primary, secondary
        How many cells there are; are unsafe; and are hidden to protect those.
    """

    table: str
    columns: tuple[str, ...]
    cells: int
    primary: int
    secondary: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternFact:
    """Which cells of a table are hidden, over two of its dimensions.

    Parameters
    ----------
    table
        The table.
    down, across
        The names of its rows and columns.
    rows, columns
        Their categories.
    cells
        Row, column, how many cells there are (of further dimensions), how many of them are
        unsafe, and how many are hidden.
    """

    table: str
    down: str
    across: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[int, int, int, int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DimensionLinkFact:
    """Two dimensions of linked tables that are of one column, or nest in all records.

    Parameters
    ----------
    first, second
        Their names, in the first and the second table.
    nesting
        Of columns and their levels, what the first is to the second: ``"same"``, ``"whole"``,
        ``"part"``, or ``"other"`` where one column is grouped in two ways. Of different
        columns that nest in all records: ``"finer"``, ``"coarser"`` or ``"same"``.
    """

    first: str
    second: str
    nesting: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLinkFact:
    """Two tables that have cells of the same records.

    Parameters
    ----------
    tables
        Their names.
    cells
        How many cells they have in common.
    dimensions
        Which of their dimensions belong together.
    is_confirmed
        Whether the job says that the office knows it.
    """

    tables: tuple[str, str]
    cells: int
    dimensions: tuple[DimensionLinkFact, ...]
    is_confirmed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EquationFact:
    """Variables whose sums tell one another.

    Parameters
    ----------
    equation
        As a person writes it.
    status
        ``"stated"`` or ``"denied"`` by the office, or ``"seen"`` in the records alone.
    is_exact
        Whether all records fulfil it; None where nobody looked.
    tables
        Tables, each with a variable whose sums it does not show and its others tell.
    """

    equation: str
    status: str
    is_exact: bool | None
    tables: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SuppressionFacts:
    """All that the office sees of a suppression at a glance.

    Parameters
    ----------
    title, version
        Of the office, and of the engine.
    rules
        What makes a cell unsafe: the name of a rule and its numbers.
    coalition, has_holdings
        How many contributors may join, and whether they are holdings.
    prior
        Within what readers know every number beforehand, below and above, per cent.
    is_audited
        Whether what readers can work out was computed.
    measures, levels, patterns
        What was hidden.
    links, equations
        What lets readers compute cells of one table or column from others.
    """

    title: str
    version: str
    rules: tuple[tuple[str, tuple[float, ...]], ...]
    coalition: int
    has_holdings: bool
    prior: tuple[float, float] | None
    is_audited: bool
    measures: tuple[SuppressedMeasureFact, ...]
    levels: tuple[SuppressedLevelFact, ...]
    patterns: tuple[PatternFact, ...]
    links: tuple[TableLinkFact, ...] = ()
    equations: tuple[EquationFact, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SuppressedTableFact:
    """How many cells of a table everybody sees to be hidden."""

    table: str
    cells: int
    hidden: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicSuppressionFacts:
    """All that anybody may know of a suppression; the files of the tables tell it as well.

    Parameters
    ----------
    title, contact, version
        Of the office, and of the engine.
    tables
        What is hidden.
    """

    title: str
    contact: str
    version: str
    tables: tuple[SuppressedTableFact, ...]
