"""What a report says, as plain numbers and names: nothing here is computed, nothing drawn.

Whoever made a release fills `ReleaseFacts`; whoever compared designs fills `ComparisonFacts`.
Texts of the office (titles, names, reasons) are shown as they stand. All other words come from
catalogues by name, so that they exist in every language: a check, an attack, a measure and a
mechanism are names here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Self, TypeAlias

from reports.facts.copying import fact_of
from reports.facts.frontier import FrontierFacts
from reports.facts.methods import MethodFacts

#: A text of the office: one for all languages, or language → text.
Text: TypeAlias = str | Mapping[str, str]
#: How a check ended. Without a limit its figure is shown and nothing is judged; one that was
#: not computed has no figure either. Neither is a failure, or a success.
Outcome: TypeAlias = Literal["passed", "failed", "no limit", "not computed"]
#: The outcomes of checks that were made: those that the public edition tells.
MADE: tuple[Outcome, ...] = ("passed", "failed")
#: From more than this probability on somebody counts as sure.
SURE = 0.75


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckFact:
    """One check: its rule, and what was found.

    Parameters
    ----------
    name
        A name of the catalogue of checks.
    outcome
        How it ended.
    allowed, found
        The numbers that the words of rule and result need; what they mean is in the catalogue.
    where
        The table or the part of the release that decided; empty for all of it, and where
        nothing was decided.
    """

    name: str
    outcome: Outcome
    allowed: Mapping[str, float] = field(default_factory=dict)
    found: Mapping[str, float] = field(default_factory=dict)
    where: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFact:
    """A file: its name, its size in bytes and its SHA-256."""

    file: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedFile(FileFact):
    """A file that nobody hashed: its name, its size, when it changed last, perhaps its ETag."""

    sha256: str = ""
    modified: str
    etag: str = ""

    @classmethod
    def of(cls, name: str, state: tuple[int, str, str]) -> Self:
        """State a file by its size, its last change and its ETag."""
        size, modified, etag = state
        return cls(file=name, bytes=size, modified=modified, etag=etag)


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstRowsFact:
    """The first rows of a released table, as its files have them.

    Parameters
    ----------
    dimensions, measures
        The names of its columns, with labels where the office gave any.
    categories
        By row: the category of each dimension.
    numbers
        By row: the published number of each measure, as files write it; empty where it is not
        published.
    """

    dimensions: tuple[Text, ...]
    measures: tuple[Text, ...]
    categories: tuple[tuple[Text, ...], ...]
    numbers: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFact:
    """A released table, as the office knows it.

    Parameters
    ----------
    name, title
        Of the job; no title is an empty text.
    dimensions
        Their names, with labels where the office gave any, in order.
    measures
        Their names, in order.
    where
        The filter of the job; empty for none.
    published
        Rows of the published table.
    records
        How many records it counts.
    cells, empty
        Non-empty cells, and cells of the grid that are empty.
    margins
        How many of `cells` are totals over something.
    files
        What was written.
    first_rows
        The first published rows; None where workers wrote the table.
    population
        Which records it counts, for readers; empty where these are all.
    """

    name: str
    title: Text
    dimensions: tuple[Text, ...]
    measures: tuple[str, ...]
    where: str
    published: int
    records: int
    cells: int
    empty: int
    margins: int
    files: tuple[FileFact, ...]
    first_rows: FirstRowsFact | None = None
    population: Text = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseClassFact:
    """Noise designed and drawn, over the independent draws of a class of original counts.

    Cells that hold the same records share one draw, which counts once.

    Parameters
    ----------
    low, high
        The class; None leaves it open.
    cells
        Draws of the class.
    mean, variance, stay
        Of the noise, and the share of cells that keep their count: designed and drawn. What
        was drawn is None in a class without cells.
    least, most
        Least and largest noise, designed and drawn.
    """

    low: int
    high: int | None
    cells: int
    mean_designed: float | None
    mean_drawn: float | None
    variance_designed: float | None
    variance_drawn: float | None
    stay_designed: float | None
    stay_drawn: float | None
    least_designed: int | None
    least_drawn: int | None
    most_designed: int | None
    most_drawn: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseShareFact:
    """A value of the noise, and how often it was to come and came, over draws."""

    noise: int
    designed: float
    drawn: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeFact:
    """How far the published counts of cells of about one size lie from the original ones.

    Parameters
    ----------
    low, high
        The original counts; None leaves them open.
    cells
        How many there are; a cell that several tables show counts once.
    half, most
        The deviation, in counts, that half of the cells and nine tenths do not exceed.
    half_share, most_share
        The same as a share of the original count.
    """

    low: int
    high: int | None
    cells: int
    half: int
    most: int
    half_share: float
    most_share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AmountNoiseFact:
    """How the sums of a variable are perturbed.

    Parameters
    ----------
    variable
        The column.
    base
        What the noise is scaled to: a name of the catalogue of bases.
    deviation, largest
        The standard deviation of the noise and the largest one, as shares of the base of a
        small cell; None where several p-tables are used.
    zero_with_count
        Whether a sum is 0 wherever the published count is.
    """

    variable: str
    base: str
    deviation: float | None = None
    largest: float | None = None
    zero_with_count: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseFacts:
    """The p-table of a release, and the noise it made.

    Parameters
    ----------
    parameters
        Name → value as a text, in the words of the job file.
    ptable_id
        The identifier of the p-table.
    certificate
        Name → residual of the certificate; empty without one.
    transition
        Row i, column j: P(published j | original i); the last row stands for larger counts.
    classes, shares
        Designed beside drawn.
    sizes
        Deviations by size of cell.
    cycle
        How many of the last rows of `transition` stand for larger counts in turn.
    amounts
        Of each variable that is summed.
    keeps_positive
        Whether no row takes a count to 0, and some row is too high on average.
    """

    parameters: Mapping[str, str]
    ptable_id: str
    certificate: Mapping[str, float]
    transition: tuple[tuple[float, ...], ...]
    classes: tuple[NoiseClassFact, ...]
    shares: tuple[NoiseShareFact, ...]
    sizes: tuple[SizeFact, ...]
    cycle: int = 1
    amounts: tuple[AmountNoiseFact, ...] = ()
    keeps_positive: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureFact:
    """A measure of utility on a set of cells.

    Parameters
    ----------
    table
        The table; empty for the cells of all tables together, where one that several tables
        show counts once.
    group, value
        What the cells have in common: ``"margin"`` and a level, a dimension and its category,
        ``"parent"`` and a dimension; both ``"all"`` for all cells.
    cells
        The class of original counts; ``"all"`` for all of them.
    name
        A name of the catalogue of measures.
    number
        None where it is not defined.
    base
        How many cells it is computed from.
    reason
        Why there is no number.
    """

    table: str
    group: str
    value: str
    cells: str
    name: str
    number: float | None
    base: int
    reason: str = ""

    @property
    def cells_of_base(self) -> int | None:
        """How many cells of the base a share in percent, or a number of cells, stands for."""
        if self.number is None:
            return None
        return round(
            self.number if self.name == "false_zeros" else self.number * self.base / 100
        )


def of_all_cells(utility: Sequence[MeasureFact]) -> list[MeasureFact]:
    """Give the measures of all tables together, or of the only one."""
    together = [fact for fact in utility if not fact.table]
    return [fact for fact in together or utility if fact.group == "all"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelFact:
    """What readers call a level of a table and its categories, with names and codes beside.

    Parameters
    ----------
    label
        Of the level.
    categories
        Code → what it is called; others go by their codes.
    """

    label: Text
    categories: Mapping[str, Text]


@dataclass(frozen=True, slots=True, kw_only=True)
class AmountFact:
    """How the sums of a variable were changed, and what they tell of the largest contributor.

    Parameters
    ----------
    table, variable
        Where; no variable stands for weighted counts.
    cells
        Cells whose sum is not 0 before and after.
    bias
        Published less original sums, as a share of the original ones; None without cells, like
        all that follow.
    median, most
        The relative deviation that half of the cells, and nine tenths, do not exceed.
    within
        Share of the cells whose sum is within 5 % of the original one.
    exposed
        Cells in which the second largest contributor would come within 10 % of the largest
        without noise, leaving out three or more contributors with amounts of both signs; None
        where it is not known.
    expected, found
        The probability that this happens with noise, by formula, and the share of exposed
        cells in which it did; None without exposed cells or without a formula.
    told
        Cells with somebody, published with the count 0, whose sum tells that somebody is there.
    single
        Share of them that hold one record; None without any.
    """

    table: str
    variable: str
    cells: int
    bias: float | None = None
    median: float | None = None
    most: float | None = None
    within: float | None = None
    exposed: int | None = None
    expected: float | None = None
    found: float | None = None
    told: int = 0
    single: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DominatedFact:
    """How often contributors are found who dominate two exposed cells of a release or more.

    Parameters
    ----------
    variable
        The column.
    contributors, cells
        How many there are, and how many such cells they have.
    alone, together
        Share of these cells whose sum, less what the second largest contributes, is within
        10 % of the largest; share of the contributors to whom the mean of their cells is; None
        without any.
    """

    variable: str
    contributors: int
    cells: int
    alone: float | None = None
    together: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PosteriorFact:
    """What a published count tells of the original one.

    Parameters
    ----------
    published
        The published count.
    share
        Share of cells published so, by formula.
    originals
        Original count → P(original | published), the likely ones.
    sensitive
        P(the original is sensitive | published).
    """

    published: int
    share: float
    originals: Mapping[int, float]
    sensitive: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstFact:
    """The most that one of the counts that a table publishes tells.

    Parameters
    ----------
    table
        The table; empty for all together.
    original, published, probability
        The largest P(X = original | X' = published) over sensitive originals.
    set_published, set_probability
        The largest P(X is sensitive | X' = set_published).
    small, sure
        Cells with a sensitive original count, and those of which the published count tells
        with more than `SURE` that it is sensitive.
    prior
        Whose cells the prior counts: a name of the catalogue of priors of one table.
    """

    table: str
    original: int
    published: int
    probability: float
    set_published: int
    set_probability: float
    small: int
    sure: int
    prior: str = "table-counts"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackFact:
    """An attack on this design: the chance of success by formula and as tried.

    Parameters
    ----------
    name
        A name of the catalogue of attacks.
    settings
        Name → number of what the intruder has, such as 7 categories to group.
    closed_form
        The probability of success by formula; None where there is none.
    successes, trials, low, high
        As tried, with Wilson's interval; None where it was not tried.
    queries
        Requests per target.
    allowed
        The limit that the office set; None without one.
    """

    name: str
    settings: Mapping[str, float]
    closed_form: float | None
    successes: int | None = None
    trials: int | None = None
    low: float | None = None
    high: float | None = None
    queries: int | None = None
    allowed: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskFacts:
    """What a reader may learn.

    Parameters
    ----------
    sensitive
        The sensitive original counts.
    prior
        A name of the catalogue of priors.
    posteriors
        For small published counts, all tables together.
    worst
        Per table, the worst first.
    attacks
        In the order of the page.
    """

    sensitive: tuple[int, ...]
    prior: str
    posteriors: tuple[PosteriorFact, ...]
    worst: tuple[WorstFact, ...]
    attacks: tuple[AttackFact, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignFact:
    """The figures of a design on all tables together.

    Parameters
    ----------
    name
        As the office calls it.
    figures
        Name of the catalogue of figures → number; None where it is not defined.
    front
        Whether no other design has less risk and less loss.
    chosen
        Whether it is the design of the release.
    """

    name: str
    figures: Mapping[str, float | None]
    front: bool
    chosen: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioFacts:
    """Designs on the risk-utility map.

    Parameters
    ----------
    designs
        In the order of the file.
    refused
        Design → why there is no such p-table.
    risk, utility
        The two figures of the map.
    """

    designs: tuple[DesignFact, ...]
    refused: Mapping[str, str]
    risk: str = "q_worst"
    utility: str = "aad"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionFact:
    """Who decided the limits of a release, and when."""

    who: str
    when: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExceptionFact:
    """Something that a rule forbids and somebody allowed, perhaps a continuous dimension."""

    what: str
    who: str
    when: str
    why: str
    continuous: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReproductionFacts:
    """What it takes to make the release again.

    Parameters
    ----------
    command
        What to type.
    job
        The job file.
    inputs
        What the numbers depend on.
    secret
        Where the secret lies, never the secret; empty for none.
    versions
        Program → version, and the system.
    started, finished
        ISO 8601, UTC.
    seconds
        Name of a stage → how long it took.
    """

    command: str
    job: FileFact
    inputs: tuple[FileFact | StatedFile, ...]
    secret: str
    versions: Mapping[str, str]
    started: str
    finished: str
    seconds: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicTableFact:
    """A released table, as everybody may know it."""

    name: str
    title: Text
    dimensions: tuple[Text, ...]
    published: int
    files: tuple[FileFact, ...]
    first_rows: FirstRowsFact | None = None
    population: Text = ""
    suppressed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginFact:
    """How far published counts may lie from true ones, where the office says so.

    Parameters
    ----------
    largest, variance
        Of the noise: its largest value, and the largest variance of a count.
    count, difference
        What a count, and a difference of two counts, stays within with `level` percent.
    shares
        Size of a count → what `count` is of it, in percent.
    """

    largest: int
    variance: float
    count: int
    difference: int
    shares: Mapping[int, float]
    level: int = 95


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicFacts:
    """All that the public edition knows: no key, no original count, no time.

    And no parameter, but those of `margin` where the office tells them.

    Parameters
    ----------
    id, title, date, contact
        Of the job file, as they stand; empty where the office gave none.
    version
        Of the engine.
    ptable_label
        The office's own name for the p-table, never derived from it; empty for none.
    checks
        Name of a check → how it ended.
    tables
        The released tables.
    has_amounts
        Whether some of them show sums or means of amounts.
    has_zeroed_sums
        Whether some of these are 0 wherever the published count is.
    has_weights
        Whether some of them show weighted counts.
    cautions
        Language → what was done to the counts after the noise; empty for nothing.
    margin
        None where the office does not tell it.
    keeps_positive
        Whether no positive count is published as 0, so that small ones are too high on average.
    adds_up
        Whether published parts add up to their totals.
    continuous
        Dimensions that a rule forbids, and who allowed them, when and why.
    has_decided_limits
        Whether the office decided the limits of the checks, and did not leave them as drafted.
    """

    id: str
    title: Text
    date: str
    contact: str
    version: str
    ptable_label: str
    checks: Mapping[str, Outcome]
    tables: tuple[PublicTableFact, ...]
    has_amounts: bool = False
    has_zeroed_sums: bool = False
    has_weights: bool = False
    cautions: Mapping[str, str] = field(default_factory=dict)
    margin: MarginFact | None = None
    keeps_positive: bool = False
    adds_up: bool = False
    continuous: tuple[ExceptionFact, ...] = ()
    has_decided_limits: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexFacts(PublicFacts):
    """All that the first page of a release knows, whatever its method: tables and files.

    Parameters
    ----------
    pages
        The files with the pages and numbers of the release.
    manifest
        The file that lists the others.
    is_original
        Whether the numbers are the original ones, and some of them are left out.
    is_private
        Whether they have noise of differential privacy.
    are_stored
        Whether the tables lie on a store, each in a folder of its name.
    """

    pages: tuple[FileFact, ...] = ()
    manifest: str = "manifest.json"
    is_original: bool = False
    is_private: bool = False
    are_stored: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseFacts:
    """All that the internal edition knows of a release.

    Parameters
    ----------
    id, title, date, contact, ptable_label, version
        See `PublicFacts`.
    checks
        In the order of the page.
    tables, noise, utility, risk
        The numbers.
    scenarios
        None where no other designs were compared.
    exceptions, warnings
        What somebody allowed, and what the engine warned of.
    reproduction
        How to make it again.
    amounts
        Of each table and variable that is summed.
    dominated
        Of each variable that is summed.
    cautions, margin, adds_up
        See `PublicFacts`.
    levels
        `MeasureFact.group` → its words, where the office has some.
    has_limits, decided
        Whether there is any limit, and who decided them all; None where nobody did.
    frontier
        How far the design is from the possible; None where nobody drew it.
    """

    id: str
    title: Text
    date: str
    contact: str
    ptable_label: str
    version: str
    checks: tuple[CheckFact, ...]
    tables: tuple[TableFact, ...]
    noise: NoiseFacts
    utility: tuple[MeasureFact, ...]
    risk: RiskFacts
    scenarios: ScenarioFacts | None
    exceptions: tuple[ExceptionFact, ...]
    warnings: tuple[str, ...]
    reproduction: ReproductionFacts
    amounts: tuple[AmountFact, ...] = ()
    dominated: tuple[DominatedFact, ...] = ()
    cautions: Mapping[str, str] = field(default_factory=dict)
    margin: MarginFact | None = None
    levels: Mapping[str, LevelFact] = field(default_factory=dict)
    adds_up: bool = False
    has_limits: bool = False
    decided: DecisionFact | None = None
    frontier: FrontierFacts | None = None

    @property
    def has_weights(self) -> bool:
        """Whether some tables show weighted counts."""
        return any("weighted" in table.measures for table in self.tables)

    @property
    def keeps_positive(self) -> bool:
        """Whether no positive count is published as 0, and small ones too high on average."""
        return self.noise.keeps_positive

    def public(self) -> PublicFacts:
        """Keep what everybody may know."""
        return fact_of(
            PublicFacts,
            self,
            checks={
                check.name: check.outcome for check in self.checks if check.outcome in MADE
            },
            tables=tuple(fact_of(PublicTableFact, table) for table in self.tables),
            has_amounts=any(fact.variable for fact in self.amounts),
            has_zeroed_sums=any(fact.zero_with_count for fact in self.noise.amounts),
            continuous=tuple(one for one in self.exceptions if one.continuous is not None),
            has_decided_limits=self.has_limits and self.decided is not None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SetFact:
    """What a design may do to one count, before any data.

    Parameters
    ----------
    design
        The design.
    count
        The count.
    deviation
        What `count` may be published as.
    possible
        The originals that may lie behind a published `count`; empty where it is never
        published.
    """

    design: str
    count: int
    deviation: tuple[int, ...]
    possible: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonFacts:
    """Designs compared on one set of tables; internal.

    Parameters
    ----------
    title
        Of the job.
    version
        Of the engine.
    tables
        Name of a table → cells, empty ones included.
    sensitive
        The sensitive original counts.
    scenarios
        Figures on all tables together.
    by_table
        Table → figures of each design on it.
    sets
        Deviation and possible sets of small counts.
    posteriors
        Design → what small published counts tell, all tables together.
    utility
        Design → measures by variable; `MeasureFact.table` names the table.
    conclusion
        Names of findings, in the order of the page → the numbers in their words.
    methods
        What was measured of rival methods; None where designs alone were compared. Without
        designs, all that is said of them is empty.
    levels
        See `ReleaseFacts`.
    is_limit_set
        Whether the office set the limit of the first rule; else it is that of the program.
    frontier
        What is possible within limits; None where nobody asked.
    titles
        Name of a table → its title, for those that have one.
    """

    title: Text
    version: str
    tables: Mapping[str, int]
    sensitive: tuple[int, ...]
    scenarios: ScenarioFacts
    by_table: Mapping[str, tuple[DesignFact, ...]]
    sets: tuple[SetFact, ...]
    posteriors: Mapping[str, tuple[PosteriorFact, ...]]
    utility: Mapping[str, tuple[MeasureFact, ...]]
    conclusion: Mapping[str, Mapping[str, float | str]]
    methods: MethodFacts | None = None
    levels: Mapping[str, LevelFact] = field(default_factory=dict)
    is_limit_set: bool = False
    frontier: FrontierFacts | None = None
    titles: Mapping[str, Text] = field(default_factory=dict)
