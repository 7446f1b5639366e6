"""The section ``[suppression]``: which cells are unsafe, and how others are chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from ckm.config.job.job import JobSuppression
from ckm.config.job.magnitude_schema import DominanceModel, PriorPosteriorModel
from ckm.config.section import Section

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import BaseModel

    from ckm.config.job.schema import JobModel

__all__ = [
    "SuppressionModel",
    "build_suppression",
    "suppression_sections",
]

_WHERE = "[suppression]"


class SuppressionModel(Section):
    """Cells are hidden instead of changed; all others are published as they are."""

    threshold: int | None = Field(
        default=None, ge=2, description="Cells of fewer contributors are unsafe."
    )
    margin: float = Field(
        default=10.0,
        gt=0,
        le=1000,
        description="Protection of such cells of amounts, per cent.",
    )
    dominance: DominanceModel | None = Field(default=None, description="The nk rule.")
    p_percent: float | None = Field(default=None, gt=0, lt=100, description="The p % rule.")
    prior_posterior: PriorPosteriorModel | None = Field(
        default=None, description="The p-q rule."
    )
    singles: bool = Field(
        default=True, description="Guard cells from who is alone in the cell beside."
    )
    costs: Literal["value", "one"] = Field(
        default="value", description="What it costs to hide a cell: its number, or 1."
    )
    method: Literal["auto", "exact", "sequential", "hypercube"] = Field(
        default="auto", description="How secondary cells are chosen."
    )
    limit_s: float = Field(
        default=60.0, gt=0, description="When the exact method stops with the best found."
    )
    audit: bool = Field(
        default=True, description="Compute what readers can work out of each hidden cell."
    )


def suppression_sections() -> dict[str, type[BaseModel]]:
    """Return the section and those within it, by the name that people know.

    Examples
    --------
    >>> list(suppression_sections())
    ['suppression', 'suppression.dominance', 'suppression.prior_posterior']
    """
    return {
        "suppression": SuppressionModel,
        "suppression.dominance": DominanceModel,
        "suppression.prior_posterior": PriorPosteriorModel,
    }


def build_suppression(
    job: JobModel, *, add: Callable[[str, str, str | None], None]
) -> JobSuppression | None:
    """Build the rules of suppression; what does not fit the job is added to its problems.

    Parameters
    ----------
    job
        The whole job.
    add
        Called with the section, a problem and a hint.

    Examples
    --------
    >>> build_suppression(JobModel.model_validate(document), add=print)  # doctest: +SKIP
    """
    model = job.suppression
    if model is None:
        if job.ptable is None:
            hint = "[ptable] is for noise; a job for ckm suppress has [suppression] instead"
            add("[ptable]", "is missing: which noise protects the tables?", hint)
        return None
    _require_alone(job, add)
    _require_rules(job, model, add)
    rules = model.model_dump(exclude={"dominance", "prior_posterior"})
    nk, pq = model.dominance, model.prior_posterior
    return JobSuppression(
        **rules,
        dominance=None if nk is None else (nk.n, nk.percent),
        prior_posterior=None if pq is None else (pq.posterior, pq.prior),
    )


def _require_alone(job: JobModel, add: Callable[[str, str, str | None], None]) -> None:
    """Note what noise has and suppression has not."""
    if job.ptable is not None:
        hint = "write two jobs, and publish the tables of one of them"
        text = "stands beside [ptable]: true numbers beside noisy ones give the noise away."
        add(_WHERE, text, hint)
    if job.ledger is not None:
        hint = "remove [ledger]; link tables by writing them into the same job"
        add(_WHERE, "stands beside [ledger], which knows noisy tables alone.", hint)
    if job.output.additive:
        add("[output]", "additive is for noise: suppressed tables add up.", "remove additive")

    told = job.report.model_dump(exclude_defaults=True)
    for key in ("limits", "exceptions", "designs", "sensitive"):
        if key in told:
            add("[report]", f"{key} is for noise, and a suppression has none.", f"remove {key}")


def _require_rules(
    job: JobModel, model: SuppressionModel, add: Callable[[str, str, str | None], None]
) -> None:
    """Note rules that are missing, that contradict themselves, or that nothing is there for."""
    measures = {measure for table in job.table for measure in table.measures}
    has_amounts = any(":" in measure for measure in measures)
    counts = measures & {"count", "weighted"} or any(m.startswith("mean:") for m in measures)
    of_amounts = {
        name: getattr(model, name)
        for name in ("dominance", "p_percent", "prior_posterior")
        if getattr(model, name) is not None
    }
    if model.threshold is None and (counts or not of_amounts):
        hint = "threshold = 3 hides counts of 1 and 2"
        add(_WHERE, "threshold is missing: which counts are too small?", hint)
    if of_amounts and not has_amounts:
        text = f"{', '.join(of_amounts)} judges amounts, and no table shows any."
        add(_WHERE, text, 'add "sum:…" to the measures of a table, or remove it')
    pq = model.prior_posterior
    if pq is not None and pq.posterior > pq.prior:
        add(f"{_WHERE} prior_posterior:", "posterior must be at most prior.", None)
