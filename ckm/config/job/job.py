"""A release job: what a job file says, checked and with its paths resolved."""

from __future__ import annotations

import glob
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ckm.config.words import LANGUAGES, one_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckm.config.words import Texts
    from ckm.engine.magnitudes import MagnitudeNoise
    from ckm.engine.request import TableRequest
    from ptable import NoiseSpec, PTable

__all__ = [
    "Allowance",
    "Category",
    "Hierarchy",
    "Job",
    "JobData",
    "JobKeys",
    "JobLedger",
    "JobLimits",
    "JobMagnitude",
    "JobOutput",
    "JobReport",
    "JobSuppression",
    "JobVariable",
]

Hierarchy = list[str] | Path | dict[str, str]
Category = list[str | int | bool] | Path


@dataclass(frozen=True, slots=True, kw_only=True)
class JobData:
    """The microdata of a job."""

    path: Path
    table: str | None = None
    id: str | None = None
    record_key: str | None = None
    key_range: int | None = None
    weight: str | None = None
    engine: Literal["duckdb", "spark"] = "duckdb"
    master: str | None = None

    def files(self) -> tuple[Path, ...]:
        """Return the files that `path` stands for, sorted.

        Examples
        --------
        >>> JobData(path=Path("people.parquet"), id="person_id").files()
        (PosixPath('people.parquet'),)
        """
        if not glob.has_magic(str(self.path)) or self.path.exists():
            return (self.path,)
        found = glob.glob(str(self.path), recursive=True)  # noqa: PTH207 (an absolute pattern)
        return tuple(sorted(path for path in map(Path, found) if path.is_file()))


@dataclass(frozen=True, slots=True, kw_only=True)
class JobKeys:
    """Where the secret lies: a file, or without one the environment variable ``CKM_SECRET``."""

    secret: Path | None = field(default=None, repr=False)
    checks: Literal["stop", "warn", "skip"] = "stop"
    mix: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOutput:
    """The files that a release writes of each table, and what all of them say.

    Parameters
    ----------
    formats
        Names in `ckm.formats.FORMATS`.
    total_label, missing_label
        What totals and missing categories are called.
    languages
        Of the words in the files: one, or several that have files of their own.
    source, unit, description
        Who is responsible, what is counted, and a sentence or two, by language; empty for none.
    additive
        Whether published counts are changed again until each table adds up.
    csv_formulas
        Whether texts of CSV that a spreadsheet would take for formulas are changed.
    """

    formats: tuple[str, ...] = ("csv", "parquet")
    total_label: str = "Total"
    missing_label: str = "(missing)"
    languages: tuple[str, ...] = ("en",)
    source: Texts = field(default_factory=dict)
    unit: Texts = field(default_factory=dict)
    description: Texts = field(default_factory=dict)
    additive: bool = False
    csv_formulas: Literal["keep", "escape"] = "keep"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobVariable:
    """The words for a dimension or a column, by language.

    Parameters
    ----------
    name
        The dimension, or a column of a hierarchy.
    labels
        What readers see; empty for the name.
    is_area
        Whether it tells places.
    levels, categories
        Column of the hierarchy, and code of a category → what readers see.
    codelist
        The file that `categories` comes from: it names all that may be published.
    """

    name: str
    labels: Texts = field(default_factory=dict)
    is_area: bool = False
    levels: Mapping[str, Texts] = field(default_factory=dict)
    categories: Mapping[str, Texts] = field(default_factory=dict)
    codelist: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLimits:
    """What the office allows; None and names that are missing set no limit.

    Parameters
    ----------
    posterior, posterior_set
        The largest probability that a published count gives an original one, or that it is
        among the sensitive ones.
    attacks
        Name of an attack → the largest probability of success.
    aad
        The largest mean deviation of a table, in counts.
    """

    posterior: float | None = None
    posterior_set: float | None = None
    attacks: Mapping[str, float] = field(default_factory=dict)
    aad: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """Something that a rule forbids and somebody allowed; perhaps a check that may fail."""

    what: str
    who: str
    when: str
    why: str
    check: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReport:
    """What the reports of a release say beside its numbers, and what they hold it to.

    Parameters
    ----------
    id, date, contact, ptable_label
        Shown as they stand, the label as the office's own name of the p-table; empty for
        none.
    languages
        Of the pages.
    designs
        A file of designs to compare.
    sensitive
        The largest sensitive count.
    limits, exceptions
        What is allowed, and who allowed more.
    """

    id: str = ""
    date: str = ""
    contact: str = ""
    ptable_label: str = ""
    languages: tuple[Literal["en", "fr"], ...] = ("en", "fr")
    designs: Path | None = None
    sensitive: int = 4
    limits: JobLimits = field(default_factory=JobLimits)
    exceptions: tuple[Allowance, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLedger:
    """The ledger that tables enter before anybody sees them.

    Parameters
    ----------
    target
        The file, or the URL of a database.
    threshold
        Differences of so few records are thin.
    policy
        Whether a thin difference refuses the tables, or is told beside them.
    smallest
        Smaller cells are not compared.
    history
        The history that the tables belong to.
    also
        Further histories that their readers know.
    """

    target: Path | str
    threshold: int = 2
    policy: Literal["refuse", "flag"] = "refuse"
    smallest: int = 1
    history: str = "public"
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JobMagnitude:
    """The noise of the sums and means of a variable, before its p-tables are there.

    Parameters
    ----------
    unit
        Of its amounts, by language; empty for none.
    spread
        The standard deviation of the noise, where no scale is given.
    ptables
        Field of the noise → the specification of its p-table, or the file.
    settings
        Field of the noise → what it is, where the job says.
    """

    unit: Texts = field(default_factory=dict)
    spread: float | None = None
    ptables: Mapping[str, NoiseSpec | Path] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def decimals(self) -> int | None:
        """How many decimals sums have; None for all digits."""
        found: int | None = self.settings.get("decimals", 0)
        return found

    def noise(self, ptables: Mapping[str, PTable]) -> MagnitudeNoise:
        """Return the noise.

        Parameters
        ----------
        ptables
            Field of the noise → its p-table.

        Raises
        ------
        ConfigError
            If settings contradict each other.

        Examples
        --------
        >>> JobMagnitude(settings={"decimals": -3}).noise({}).decimals
        -3
        """
        from ckm.engine.magnitudes import MagnitudeNoise

        given: dict[str, Any] = {**ptables, **self.settings}
        if self.spread is not None:
            given["spread"] = self.spread
        return MagnitudeNoise.start(**given)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSuppression:
    """Which cells are unsafe, and how others are chosen that hide them.

    Parameters
    ----------
    threshold, margin
        Cells of fewer contributors are unsafe, and how wide those of amounts are kept, in
        percent.
    dominance
        n and k of the nk rule.
    p_percent
        p of the p % rule.
    prior_posterior
        p and q of the p-q rule.
    singles
        Whether cells are guarded from who is alone in the cell beside.
    costs, method, limit_s
        See `ckm.suppression`.
    audit
        Whether the interval of each hidden cell is computed.
    """

    threshold: int | None = None
    margin: float = 10.0
    dominance: tuple[int, float] | None = None
    p_percent: float | None = None
    prior_posterior: tuple[float, float] | None = None
    singles: bool = True
    costs: Literal["value", "one"] = "value"
    method: Literal["auto", "exact", "sequential", "hypercube"] = "auto"
    limit_s: float = 60.0
    audit: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One release: data, keys, noise and tables.

    Build one with `ckm.config.read_job`.
    """

    path: Path
    text: str = field(repr=False)
    data: JobData
    keys: JobKeys
    ptable: NoiseSpec | Path | None
    hierarchies: Mapping[str, Hierarchy]
    categories: Mapping[str, Category]
    output: JobOutput
    tables: Mapping[str, TableRequest]
    #: Name of a table, or "" for the release → its title by language.
    titles: Mapping[str, Texts] = field(default_factory=dict)
    dataflows: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, JobVariable] = field(default_factory=dict)
    report: JobReport = field(default_factory=JobReport)
    ledger: JobLedger | None = None
    magnitudes: Mapping[str, JobMagnitude] = field(default_factory=dict)
    suppression: JobSuppression | None = None
    warnings: tuple[str, ...] = ()

    def title_of(
        self, table: str = "", *, languages: Sequence[str] = LANGUAGES
    ) -> str | Mapping[str, str]:
        """Return a title, by language where languages differ; empty for none.

        Parameters
        ----------
        table
            Name of the table, or ``""`` for the release.
        languages
            Those that are wanted.
        """
        said = self.titles.get(table, {})
        return one_text({code: said[code] for code in languages if code in said})

    @property
    def needs_secret(self) -> bool:
        """Whether the job cannot run without a secret."""
        if self.suppression is not None:
            return False
        own = any(m.settings.get("rules", "ckm") == "ckm" for m in self.magnitudes.values())
        return self.data.id is not None or self.keys.mix or own

    def input_files(self) -> tuple[Path, ...]:
        """Return every file that the published files depend on, the secret excepted."""
        files = [*self.data.files()]
        files += [tree for tree in self.hierarchies.values() if isinstance(tree, Path)]
        files += [Path(t["tree"]) for t in self.hierarchies.values() if isinstance(t, dict)]
        files += [path for path in self.categories.values() if isinstance(path, Path)]
        files += [v.codelist for v in self.variables.values() if v.codelist is not None]
        if isinstance(self.ptable, Path):
            files.append(self.ptable)
        for magnitude in self.magnitudes.values():
            files += [path for path in magnitude.ptables.values() if isinstance(path, Path)]
        return tuple(dict.fromkeys(files))

    def shown(self, path: Path) -> str:
        """Return a path as people wrote it: relative to the job file where it lies below."""
        folder = self.path.parent
        return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else str(path)
