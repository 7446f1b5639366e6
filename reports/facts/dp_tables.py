"""What the page of differentially private tables says, as plain numbers and names."""

from dataclasses import dataclass

from reports.facts.quantity import Quantity


@dataclass(frozen=True, slots=True, kw_only=True)
class DPPartFact:
    """What a part of the plan cost, and how far off its answer was expected to be, of what."""

    table: str
    what: str
    cost: float
    error: float
    of: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DPTableFact:
    """One table.

    Parameters
    ----------
    name
        Of the office.
    groups, rows
        In how many groups a unit is kept, with how many rows in each.
    are_found
        Whether groups were found in the data.
    bounds
        Of values, where they were found: what, from, to, and how many values lie beyond.
    left_out
        What the bounds of a unit left out: a name, with noise, least and most.
    numbers
        What was published: of which group, and its interval, which a rank has none of.
    """

    name: str
    groups: int
    rows: int
    are_found: bool
    bounds: tuple[tuple[str, float, float, float], ...]
    left_out: tuple[tuple[str, float, float, float], ...]
    numbers: tuple[Quantity, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DPTablesFacts:
    """All that is known of a release.

    Parameters
    ----------
    title, version
        Of the office, and of the engine.
    epsilon, delta, unit
        What all of it costs, and who is protected, between data with and without one.
    odds, chances
        By how much odds change: of being in the data, of any other statement; and how rarely
        by more.
    confidence
        Of each interval.
    currency, parts
        In what parts of the plan are paid; and all of them.
    entry, at
        Of the ledger: the number of the entry, and when it was written.
    tables
        The tables.
    """

    title: str
    version: str
    epsilon: float
    delta: float
    unit: str
    odds: tuple[float | None, ...]
    chances: tuple[float, ...]
    confidence: float
    currency: str
    parts: tuple[DPPartFact, ...]
    entry: int
    at: str
    tables: tuple[DPTableFact, ...]
