"""What a decoder found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from footing.arrays import Flags, Floats
    from rappor.decoding.diagnostics import Diagnostic
    from rappor.decoding.testing import Correction
    from rappor.parameters import Parameters
    from reports import Report
    from reports.facts.decoding import DecodingFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """A number of reports, estimated, and its standard deviation."""

    estimate: float
    sd: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Decoding:
    """Estimates of how many reports each candidate had; all amounts are numbers of reports.

    Parameters
    ----------
    groups
        The candidates; names no decoder can tell apart are together.
    total
        All reports.
    estimates, sds
        Of each group. Estimates are unbiased, and so may be negative; one that the bits cannot
        tell is not a number, with an infinite standard deviation.
    plausible
        The amounts that fit best among those that are not negative and, with the rest, add up
        to all reports; 0 for what was not fitted together.
    p_values, adjusted
        One-sided, of there being no such report: alone, and allowing for all tests.
    correction, alpha
        What was allowed for, and the level.
    confidence
        Of the intervals.
    freedom, dispersion
        Degrees of freedom, and residual squares per degree; None without one. A dispersion
        clearly above 1 tells of frequent strings that are not among the candidates.
    unknown
        Reports of strings that are not among the candidates; None where it cannot be told.
    rest
        Reports of all that was not fitted together: the unknown strings and, where candidates
        were screened, those that were not strong enough.
    fitted_together
        How many groups were.
    mass
        Everything that was fitted, the rest among it; it should be all reports. None for a
        Boolean question.
    diagnostics
        What in the counts hardly happens when everything is right.
    parameters
        What the reports were made with.
    """

    groups: tuple[tuple[str, ...], ...]
    total: int
    estimates: Floats
    sds: Floats
    plausible: Floats
    p_values: Floats
    adjusted: Floats
    correction: Correction
    alpha: float
    confidence: float
    freedom: int
    dispersion: float | None
    unknown: Amount | None
    rest: Amount | None
    fitted_together: int
    mass: Amount | None
    diagnostics: tuple[Diagnostic, ...]
    parameters: Parameters

    @property
    def names(self) -> tuple[str, ...]:
        """A name for each group."""
        return tuple(" = ".join(group) for group in self.groups)

    @property
    def is_detected(self) -> Flags:
        """Which groups had reports, by the tests."""
        return self.adjusted <= self.alpha

    @property
    def is_screened(self) -> bool:
        """Whether the candidates were too many to be fitted all together."""
        return self.fitted_together < len(self.groups)

    @property
    def quantile(self) -> float:
        """How many standard deviations an interval reaches to each side."""
        from scipy.special import ndtri, stdtrit

        level = (1 + self.confidence) / 2
        wide = stdtrit(self.freedom, level) if self.freedom > 0 else ndtri(level)
        return float(wide)

    @property
    def intervals(self) -> Floats:
        """The least and the largest plausible number of reports of each group.

        They may reach below 0, as the estimates may.
        """
        sides = self.quantile * np.array([-1.0, 1.0])
        with np.errstate(invalid="ignore"):
            ends = self.estimates[:, None] + self.sds[:, None] * sides
        return np.where(np.isnan(ends), np.array([0.0, self.total]), ends)

    @property
    def misfit(self) -> float | None:
        """The chance of residuals this large, were nothing missing; None where unknown."""
        from scipy.special import chdtrc

        if self.dispersion is None:
            return None
        return float(chdtrc(self.freedom, self.dispersion * self.freedom))

    @property
    def mass_misfit(self) -> float | None:
        """The two-sided chance of a total this far from all reports; None where unknown."""
        from scipy.special import ndtr

        if self.mass is None or not self.mass.sd:
            return None
        return float(2 * ndtr(-abs(self.mass.estimate - self.total) / self.mass.sd))

    def to_frame(self) -> pd.DataFrame:
        """Give one line per group, the smallest p-value first.

        Examples
        --------
        >>> from rappor import Candidates, Counts, Parameters, decode
        >>> towns = Parameters.basic(2, f=0.0, p=0.25, q=0.75)
        >>> counts = Counts(n=[10_000], ones=[[7_500, 2_500]], parameters=towns)
        >>> found = decode(counts, Candidates.of(["Lyon", "Nice"], parameters=towns))
        >>> found.to_frame()[["candidate", "estimate", "sd", "is_detected"]].round(1)
          candidate  estimate    sd  is_detected
        0      Lyon   10000.0  86.6         True
        1      Nice       0.0  86.6        False
        """
        import pandas as pd

        ends = self.intervals
        frame = pd.DataFrame(
            {
                "candidate": self.names,
                "estimate": self.estimates,
                "sd": self.sds,
                "low": ends[:, 0],
                "high": ends[:, 1],
                "share": self.estimates / self.total,
                "plausible": self.plausible,
                "p_value": self.p_values,
                "adjusted": self.adjusted,
                "is_detected": self.is_detected,
            }
        )
        return frame.sort_values(
            ["p_value", "estimate"], ascending=[True, False], kind="stable", ignore_index=True
        )

    def facts(self, *, title: str = "") -> DecodingFacts:
        """Give all that a page says.

        Parameters
        ----------
        title
            Of the page.

        Examples
        --------
        >>> from rappor import Candidates, Counts, Parameters, decode
        >>> towns = Parameters.basic(2, f=0.0, p=0.25, q=0.75)
        >>> counts = Counts(n=[10_000], ones=[[7_500, 2_500]], parameters=towns)
        >>> found = decode(counts, Candidates.of(["Lyon", "Nice"], parameters=towns))
        >>> found.facts(title="Towns").reports
        10000
        """
        from rappor.page_facts import decoding_facts

        return decoding_facts(self, title=title)

    def report(
        self, *, language: str = "en", title: str = "", links: Mapping[str, str] | None = None
    ) -> Report:
        """Make the page.

        Parameters
        ----------
        language
            ``"en"`` or ``"fr"``.
        title
            Of the page.
        links
            Language → file of the page in that language.

        Examples
        --------
        >>> from rappor import Candidates, Counts, Parameters, decode
        >>> towns = Parameters.basic(2, f=0.0, p=0.25, q=0.75)
        >>> counts = Counts(n=[10_000], ones=[[7_500, 2_500]], parameters=towns)
        >>> found = decode(counts, Candidates.of(["Lyon", "Nice"], parameters=towns))
        >>> found.report(language="fr", title="Villes")
        Report('Villes', internal, fr)
        """
        from reports import make_report

        return make_report(self.facts(title=title), language=language, links=links)

    def __repr__(self) -> str:
        number = int(self.is_detected.sum())
        return f"Decoding({number} of {len(self.groups)} found in {self.total:,} reports)"
