"""Compare designs of noise on the tables of a job; original counts stay in the process."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from footing.progress import Progress
from ptable.table import PTable
from reports.i18n.languages import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ckm.assessment.risk_utility_scenarios import Scenarios
    from ckm.config.job.job import Job
    from ckm.engine.cell_histogram import CountHistogram
    from ptable.pictures import Picture
    from reports import Report
    from reports.facts.release import ComparisonFacts, LevelFact, Text
    from risk.risk_map.designs import MapDesign
    from risk.risk_map.findings import Rules
    from risk.risk_map.result import RiskUtilityMap

_JOB = "job"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Comparison:
    """What a comparison found; for inside, as it follows from original counts.

    Parameters
    ----------
    title
        Of the job; empty for none.
    scenarios
        The designs on their map.
    count_histogram
        The cells.
    rules
        The limits behind the conclusion; None for those of the program.
    levels
        The job's words for the variables of the count histogram.
    titles
        Name of a table → its title, for those that have one.
    """

    title: Text
    scenarios: Scenarios
    count_histogram: CountHistogram
    rules: Rules | None
    levels: Mapping[str, LevelFact] = field(default_factory=dict)
    titles: Mapping[str, Text] = field(default_factory=dict)

    @property
    def map(self) -> RiskUtilityMap:
        """The figures of all designs."""
        return self.scenarios.map

    @property
    def ptables(self) -> Mapping[str, PTable]:
        """Design → p-table, as it is published with: empty cells stay 0."""
        return self.scenarios.ptables

    @property
    def chosen(self) -> str:
        """The design that is the job's own."""
        return self.scenarios.chosen

    def facts(self, *, rules: Rules | None = None) -> ComparisonFacts:
        """Give all that a page says."""
        from ckm.comparison.design_facts import comparison_facts

        return comparison_facts(self, rules=rules or self.rules)

    def report(
        self,
        *,
        language: str = "en",
        links: Mapping[str, str] | None = None,
    ) -> Report:
        """Make the page, for inside."""
        from reports import make_report

        return make_report(self.facts(), language=language, links=links)

    def plot(self, *, language: str = "en") -> Picture:
        """Draw the designs by risk and utility, as on the page; for inside."""
        from reports.plots import comparison_plot

        return comparison_plot(self.scenarios.facts(), language=language)

    def __repr__(self) -> str:
        return f"Comparison({self.map!r})"


def compare(
    job: Job,
    designs: Mapping[str, MapDesign],
    *,
    sensitive: Sequence[int] | None = None,
    n_draws: int = 1,
    seed: int = 1,
    progress: Progress | None = None,
    memory_limit: str | None = None,
    threads: int | None = None,
) -> Comparison:
    """Tabulate the tables of a job once and map the risk and the utility of designs.

    The job's own p-table is one of the designs; it is called ``"job"`` unless a design of the
    same probabilities has a name already. For all tables together, a cell that several of
    them show counts once.

    Parameters
    ----------
    job
        The job, from `ckm.config.read_job`.
    designs
        Name → design, see `risk.risk_map.map.risk_utility_map`.
    sensitive
        The sensitive counts; by default those of the job's ``[report]``, whose limit of
        ``posterior_set`` is that of the conclusion too.
    n_draws
        As there.
    seed
        Of the keys that are drawn; the same seed gives the same map.
    progress
        Called with a stage, how much of it is done, and how much there is.
    memory_limit, threads
        Limits of the tabulation; they never change a result.

    Examples
    --------
    >>> from ckm.config import read_designs, read_job
    >>> job = read_job("job.toml")  # doctest: +SKIP
    >>> compare(job, read_designs("designs.toml"))  # doctest: +SKIP
    """
    from ckm.assessment.facts import level_facts
    from ckm.assessment.risk_utility_scenarios import map_scenarios
    from ckm.release.job_inputs import load_ptable, open_engine
    from risk.risk_map.findings import Rules

    no_noise = PTable(noise=[[0]], upper=[[8]], key_range=8)  # type: ignore[arg-type]
    with open_engine(job, no_noise, memory_limit=memory_limit, threads=threads) as engine:
        count_histogram = engine.count_histogram(job.tables, progress=progress)
    limit = job.report.limits.posterior_set
    return Comparison(
        title=job.title_of(),
        titles={name: job.title_of(name) for name in job.titles if name},
        scenarios=map_scenarios(
            designs,
            count_histogram,
            own=load_ptable(job),
            name=_JOB,
            sensitive=range(1, job.report.sensitive + 1) if sensitive is None else sensitive,
            n_draws=n_draws,
            seed=seed,
            progress=progress,
        ),
        count_histogram=count_histogram,
        rules=None if limit is None else Rules(posterior=limit),
        levels=level_facts(job, count_histogram.variables),
    )


def write_comparison(comparison: Comparison, folder: Path) -> None:
    """Write the pages of a comparison and their numbers into a new folder for inside."""
    from ckm.release.files.output_folder import new_folder
    from reports import make_report

    facts = comparison.facts()
    pages = {code: f"comparison.{code}.html" for code in LANGUAGES}
    with new_folder(folder) as draft:
        draft.chmod(0o700)
        for code, file in pages.items():
            report = make_report(facts, language=code, links=pages)
            report.write(draft / file)
        report.write(draft / "comparison.json")
