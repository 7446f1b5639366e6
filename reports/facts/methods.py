"""What a page says of rival methods, as plain numbers and names."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from reports.facts.synthesis import GuaranteeFact


@dataclass(frozen=True, slots=True, kw_only=True)
class CriterionFact:
    """One criterion of one method, as measured.

    Parameters
    ----------
    name
        A name of the catalogue of criteria.
    share
        The share; None where there was nothing to measure it on.
    base
        How many cells, parts, lines or persons it is a share of.
    """

    name: str
    share: float | None
    base: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodFact:
    """One method.

    Parameters
    ----------
    name
        What the office calls it.
    kind
        A name of the catalogue of methods.
    is_default
        Whether the name says no more than the kind.
    parameters
        Name → value, as somebody set them.
    simple
        ``"yes"`` or ``"no"``: declared, not measured.
    reason
        Why it could not be tried; empty where it was.
    records
        How many records it was tried on.
    criteria
        What was measured; empty where it could not be tried.
    mean_change
        How far shown numbers lie from the truth on average.
    mean_loss
        The same over all cells with records, as if those that are hidden were shown as 0.
    facts
        A name of the catalogue of details → its number, None where there is none.
    guarantee
        What is promised of synthetic records; None for other methods.
    """

    name: str
    kind: str
    is_default: bool = True
    parameters: Mapping[str, str | float] = field(default_factory=dict)
    simple: str = ""
    reason: str = ""
    records: int = 0
    criteria: tuple[CriterionFact, ...] = ()
    mean_change: float | None = None
    mean_loss: float | None = None
    facts: Mapping[str, float | None] = field(default_factory=dict)
    guarantee: GuaranteeFact | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedFact:
    """One measure of one table as the job's own method would release it.

    Parameters
    ----------
    table, measure
        Their names.
    cells, hidden
        How many cells with records there are, and how many of them are not published.
    change
        The mean change of a published count; of sums, all changes as a share of the sums.
    lost
        Of sums, the share that is not published.
    """

    table: str
    measure: str
    cells: int
    hidden: int
    change: float | None = None
    lost: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodFacts:
    """All methods, and what they were tried on.

    Parameters
    ----------
    methods
        The methods.
    tables
        The planned tables: the dimensions of each.
    geography, target
        The dimension of areas, empty for none, and what an intruder wants to know.
    records, all_records
        How many records were taken, and how many there are.
    drawn
        ``"all"``, ``"areas"`` or ``"records"``.
    persons
        How many were sought.
    seed
        Of all that was drawn.
    most_found
        The share of small counts found that all methods were tuned to, where they were.
    left_out, summed
        Names of tables that are too large, and whose sums the other methods leave out.
    conclusion
        A name of the catalogue of advice → its numbers and names, in order.
    standing
        The same of the job's own method: where it stands, and what is better at what price.
    released
        What it would release, table by table; empty where that was not made.
    stopped
        Why the release would be stopped; empty where it would not.
    has_ledger
        Whether the job has a ledger, which was read.
    """

    methods: tuple[MethodFact, ...]
    tables: tuple[tuple[str, ...], ...]
    geography: str
    target: str
    records: int
    all_records: int
    drawn: str
    persons: int
    seed: int
    most_found: float | None = None
    left_out: tuple[str, ...] = ()
    summed: tuple[str, ...] = ()
    conclusion: Mapping[str, Mapping[str, float | str]] = field(default_factory=dict)
    standing: Mapping[str, Mapping[str, float | str]] = field(default_factory=dict)
    released: tuple[ReleasedFact, ...] = ()
    stopped: str = ""
    has_ledger: bool = False
