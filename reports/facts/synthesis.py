"""What a page says of synthetic records, as plain numbers and names."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class GuaranteeFact:
    """What the certificate beside synthetic records promises.

    Parameters
    ----------
    name
        A name of the catalogue of guarantees.
    values
        The numbers and texts of its words.
    """

    name: str
    values: Mapping[str, float | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthesisFigure:
    """One figure, and the same figure for known records.

    Parameters
    ----------
    name
        A name of the catalogue of figures.
    value
        None where it is not defined.
    controls
        Name of a control → its figure.
    subject
        The column that it is about; empty for none.
    reason
        Why there is no value; one of the catalogue.
    low, high
        An interval of 95 % of the value; None where there is none.
    real, made, sampling
        Of an amount: its figure in the real and in the synthetic records, and how far off, as a
        share, another sample of real records is in 19 of 20 cases.
    part
        The category that an amount is of; empty for all records.
    """

    name: str
    value: float | None
    controls: Mapping[str, float | None] = field(default_factory=dict)
    subject: str = ""
    reason: str = ""
    low: float | None = None
    high: float | None = None
    real: float | None = None
    made: float | None = None
    sampling: float | None = None
    part: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthesisFinding:
    """A conclusion: its name in the catalogue, and the numbers and texts of its words."""

    name: str
    values: Mapping[str, float | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadFact:
    """A figure of one way to synthesise, over the folds of a sweep.

    Parameters
    ----------
    line
        The way without its epsilon.
    epsilon
        None where the way states none.
    mean, low, high
        Of the values; None for the ends where nothing tells them.
    values
        One for each fold.
    """

    line: str
    mean: float
    epsilon: float | None = None
    low: float | None = None
    high: float | None = None
    values: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SweptFigure:
    """A figure of all ways of a sweep.

    Parameters
    ----------
    name, subject
        A name of the catalogue of figures, and the column that it is about.
    spreads
        By way and epsilon.
    controls
        Name of a control → its mean.
    leads
        The best way, and the first and the last epsilon at which it is.
    part
        The category that an amount is of; empty for all records.
    """

    name: str
    subject: str = ""
    spreads: tuple[SpreadFact, ...] = ()
    controls: Mapping[str, float | None] = field(default_factory=dict)
    leads: tuple[tuple[str, float | None, float | None], ...] = ()
    part: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthesisFacts:
    """An evaluation of one set of synthetic records, or of several; or a sweep.

    Parameters
    ----------
    title, version
        Of the page, and of the program.
    train, holdout
        Numbers of real records.
    synthetic
        Name of a set of synthetic records → how many there are.
    columns
        Their names.
    learner
        What was trained; empty where nothing was.
    figures
        Name of a set → its figures.
    findings
        Name of a set → what follows.
    guarantees
        Name of a set → what is promised of it, where that was looked for.
    measures, folds
        Of a sweep, whose sets have no figures of their own.
    """

    title: str
    version: str
    train: int
    holdout: int
    synthetic: Mapping[str, int]
    columns: tuple[str, ...]
    learner: str
    figures: Mapping[str, tuple[SynthesisFigure, ...]]
    findings: Mapping[str, tuple[SynthesisFinding, ...]]
    guarantees: Mapping[str, GuaranteeFact] = field(default_factory=dict)
    measures: tuple[SweptFigure, ...] = ()
    folds: int = 0
