"""What a page of decoded reports says, as plain numbers and names."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateFact:
    """A number of reports, its standard deviation and its interval."""

    estimate: float
    sd: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateFact:
    """What was found of a candidate.

    Parameters
    ----------
    name
        Of the office; candidates that nobody can tell apart are one name.
    amount
        Reports of it; None where the bits cannot tell.
    adjusted
        The p-value, allowing for all tests.
    is_detected
        Whether it had reports, by the test.
    """

    name: str
    amount: EstimateFact | None
    adjusted: float
    is_detected: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspicionFact:
    """Something in the counts that hardly happens when everything is right.

    Parameters
    ----------
    name
        A name of the catalogue of suspicions.
    found
        How many bits or cohorts.
    cohort, bit
        The worst, numbered from 0; a bit of -1 stands for the whole cohort.
    """

    name: str
    found: int
    cohort: int
    bit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodingFacts:
    """All that is known of decoded reports.

    Parameters
    ----------
    title
        Of the office; empty for none.
    version
        Of the engine.
    reports
        How many were decoded.
    parameters
        Name → value, in the words of the parameter files.
    fingerprint
        Of the parameters.
    epsilon_one, epsilon_permanent
        What one report, and all reports of one value, tell at most; None where nothing bounds
        it.
    candidates
        In the order they were given.
    is_ordered
        Whether that order is one of the values, as with ages.
    collisions
        Names that nobody can tell apart.
    fitted_together
        How many candidates were.
    correction, alpha, confidence
        Of the tests and the intervals.
    limit
        Reports a candidate needs to be found in half of all cases; None where unknown.
    unknown, rest, mass
        Reports of strings without a name, of all that was not fitted, and of everything.
    freedom, dispersion, misfit
        Degrees of freedom, residual squares per degree, and their chance.
    mass_misfit
        The chance of a mass this far from all reports.
    suspicions
        What hardly happens when everything is right.
    """

    title: str
    version: str
    reports: int
    parameters: Mapping[str, float | str]
    fingerprint: str
    epsilon_one: float | None
    epsilon_permanent: float | None
    candidates: tuple[CandidateFact, ...]
    is_ordered: bool
    collisions: tuple[tuple[str, ...], ...]
    fitted_together: int
    correction: str
    alpha: float
    confidence: float
    limit: float | None
    unknown: EstimateFact | None
    rest: EstimateFact | None
    mass: EstimateFact | None
    freedom: int
    dispersion: float | None
    misfit: float | None
    mass_misfit: float | None
    suspicions: tuple[SuspicionFact, ...] = field(default=())
