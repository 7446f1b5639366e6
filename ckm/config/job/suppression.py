"""The section ``[suppression]``: which cells are unsafe, and how others are chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from ckm.config.section import ReadAs, Section, optional
from ckm.engine.request import quantile_of

if TYPE_CHECKING:
    from ckm.config.job.job import Job
    from ckm.config.reading import Reading

_WHERE = "[suppression]"


class DominanceSection(Section):
    """The nk rule."""

    n: int = Field(ge=1, le=6, description="How many of the largest contributors.")
    percent: float = Field(gt=0, lt=100, description="Their share of the total.")


class PriorPosteriorSection(Section):
    """The p-q rule."""

    posterior: float = Field(gt=0, lt=100, description="p: how near they come, per cent.")
    prior: float = Field(gt=0, le=100, description="q: how near all were before, per cent.")


_Dominance = Annotated[
    tuple[int, float], ReadAs(DominanceSection, lambda rule, _: (rule.n, rule.percent))
]
_PriorPosterior = Annotated[
    tuple[float, float],
    ReadAs(PriorPosteriorSection, lambda rule, _: (rule.posterior, rule.prior)),
]


class PriorSection(Section):
    """What readers know of every number beforehand."""

    below: float = Field(gt=0, le=100, description="At least so much of it less, per cent.")
    above: float = Field(gt=0, description="At most so much of it more, per cent.")


class JobSuppression(Section):
    """Cells are hidden instead of changed; all others are published as they are."""

    threshold: int | None = optional("Cells of fewer contributors are unsafe.", ge=2)
    margin: float = optional(
        "Protection of such cells of amounts, per cent.", default=10.0, gt=0, le=1000
    )
    dominance: _Dominance | None = optional("The nk rule.")
    p_percent: float | None = optional("The p % rule.", gt=0, lt=100)
    prior_posterior: _PriorPosterior | None = optional("The p-q rule.")
    coalition: int = optional(
        "How many contributors may join what they know: 0, 1 or 2.", default=2, ge=0, le=2
    )
    prior: (
        Annotated[
            tuple[float, float],
            ReadAs(PriorSection, lambda known, _: (known.below, known.above)),
        ]
        | None
    ) = optional("Within what readers know every number beforehand.")
    costs: Literal["value", "one"] = optional(
        "What it costs to hide a cell: its number, or 1.", default="value"
    )
    method: Literal["auto", "exact", "sequential"] = optional(
        "How secondary cells are chosen.", default="auto"
    )
    limit_s: float = optional("When the search stops with the best found.", default=600.0, gt=0)
    audit: bool = optional(
        "Compute what readers can work out of each hidden cell.", default=True
    )

    def add_problems(self, reading: Reading) -> None:
        """Note a rule that contradicts itself."""
        posterior, prior = self.prior_posterior or (0.0, 0.0)
        if posterior > prior:
            reading.add(f"{_WHERE} prior_posterior:", "posterior must be at most prior.")

    def add_problems_beside(self, job: Job, reading: Reading) -> None:
        """Note what noise has and suppression has not, and rules without their numbers."""
        if job.ptable is not None:
            hint = "write two jobs, and publish the tables of one of them"
            text = "stands beside [ptable]: true numbers beside noisy ones give the noise away."
            reading.add(_WHERE, text, hint)
        if job.ledger is not None:
            hint = "remove [ledger]; link tables by writing them into the same job"
            reading.add(_WHERE, "stands beside [ledger], which knows noisy tables alone.", hint)
        if job.output.additive:
            text = "additive is for noise: suppressed tables add up."
            reading.add("[output]", text, "remove additive")
        for key in ("limits", "exceptions", "designs", "sensitive"):
            if getattr(job.report, key) != type(job.report).model_fields[key].default:
                text = f"{key} is for noise, and a suppression has none."
                reading.add("[report]", text, f"remove {key}")
        measures = {measure for table in job.table for measure in table.measures}
        if any(map(quantile_of, measures)):
            text = "hides sums and counts: true quantiles would give single values away."
            reading.add(_WHERE, text, "publish quantiles in a job with noise")
        has_amounts = any(":" in measure for measure in measures)
        counts = any(not measure.startswith("sum:") for measure in measures)
        names = ("dominance", "p_percent", "prior_posterior")
        of_amounts = [name for name in names if getattr(self, name) is not None]
        if self.threshold is None and (counts or not of_amounts):
            hint = "threshold = 3 hides counts of 1 and 2"
            reading.add(_WHERE, "threshold is missing: which counts are too small?", hint)
        if of_amounts and not has_amounts:
            text = f"{', '.join(of_amounts)} judges amounts, and no table shows any."
            reading.add(_WHERE, text, 'add "sum:…" to the measures of a table, or remove it')
