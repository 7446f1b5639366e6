"""The frontier of a job's design: its own table and limits, and priors from its records."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ckm.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ptable import NoiseSpec, PTable
    from ptable.advice.frontier import DesignPoint, Frontier, FrontierPoint, TableFigures
    from reports.facts.frontier import (
        AttacksFact,
        FiguresFact,
        FrontierDesignFact,
        FrontierFacts,
    )

#: What is lost where a design says nothing, and where its variance is fixed.
_LOSS, _LOSS_AT_ONE_VARIANCE = "least-variance", "least-deviation"
_USUAL_PRIORS = ("tables", "textbook")


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierPlan:
    """What a frontier is drawn for.

    Parameters
    ----------
    spec
        The limits that all points keep.
    own
        The design in use; None where no table keeps the limits of a job.
    priors
        Names of the priors.
    title
        Of the job; empty for none.
    has_records
        Whether a prior was counted from records.
    cautions
        What there is to say of them.
    """

    spec: NoiseSpec = field(repr=False)
    own: PTable | None
    priors: tuple[str, ...]
    title: Any = ""
    has_records: bool = False
    cautions: tuple[str, ...] = ()


def plan_of_job(
    path: Path, *, limits: Mapping[str, Any], objective: str | None
) -> FrontierPlan:
    """Read the design of a job, its limits where it has some, and priors of its tables.

    Parameters
    ----------
    path
        The job file.
    limits
        Fields of `Limits` that are to be otherwise.
    objective
        What is lost; None for what the job says.
    """
    from ckm.config.read import open_settings, read_job_for_its_tables, read_noise_spec
    from ckm.release.prior_of_tables import prior_of_tables

    section = open_settings(path, kind="job")[1].get("ptable", {})
    title = read_job_for_its_tables(path).title_of()
    if isinstance(section, dict) and "limits" in section:
        spec = read_noise_spec(path, prior_of_tables=prior_of_tables)
        words = section["limits"].get("priors", _USUAL_PRIORS)
        own, cautions = _own_by_limits(path, spec, has_file="path" in section)
        priors = tuple(word if isinstance(word, str) else "stated" for word in words)
        spec = with_changes(spec, limits=limits, objective=objective)
        return FrontierPlan(
            spec=spec,
            own=own,
            priors=priors,
            title=title,
            has_records="tables" in priors,
            cautions=cautions,
        )
    return _plan_without_limits(path, title, limits=limits, objective=objective)


def _own_by_limits(
    path: Path, spec: NoiseSpec, *, has_file: bool
) -> tuple[PTable | None, tuple[str, ...]]:
    """Read the table of a job by limits, or build it; None where nothing keeps them."""
    from ckm.config.read import read_job
    from ckm.release.job_inputs import load_ptable
    from ptable import InfeasibleError, solve

    if has_file:
        return load_ptable(read_job(path)), ()
    try:
        return solve(spec), ()
    except InfeasibleError as error:
        return None, (error.problem,)


def _plan_without_limits(
    path: Path, title: Any, *, limits: Mapping[str, Any], objective: str | None
) -> FrontierPlan:
    from ckm.config.job.limits import TEXTBOOK
    from ckm.config.read import read_job
    from ckm.release.job_inputs import load_ptable
    from ckm.release.prior_of_tables import prior_of_tables

    own = load_ptable(read_job(path))
    cautions: tuple[str, ...] = ()
    try:
        priors: dict[str, Any] = {"tables": prior_of_tables(path)}
    except ConfigError as error:  # so few cells tell nothing but themselves
        priors, cautions = {}, (error.problem,)
    priors["textbook"] = TEXTBOOK
    plan = plan_of_table(own, priors=priors, limits=limits, objective=objective)
    return replace(plan, title=title, has_records="tables" in priors, cautions=cautions)


def plan_of_table(
    own: PTable,
    *,
    priors: Mapping[str, Any],
    limits: Mapping[str, Any],
    objective: str | None,
) -> FrontierPlan:
    """State limits for a design that has none: no worse than it is."""
    from ptable.advice.frontier import frontier_spec

    def state(loss: str) -> NoiseSpec:
        return frontier_spec(own, priors=priors.values(), objective=loss, **limits)

    spec = state(objective or _LOSS)
    if objective is None and _is_fixed(spec):
        spec = state(_LOSS_AT_ONE_VARIANCE)
    return FrontierPlan(spec=spec, own=own, priors=tuple(priors))


def with_changes(
    spec: NoiseSpec, *, limits: Mapping[str, Any], objective: str | None
) -> NoiseSpec:
    """Change limits and what is lost; greatest entropy alone is no loss."""
    own, loss = spec.limits, objective or spec.objective
    assert own is not None  # noqa: S101  (a frontier has limits)
    changed: dict[str, Any] = {"objective": _LOSS if loss == "entropy" else loss}
    return replace(spec, limits=replace(own, **limits), **changed)


def _is_fixed(spec: NoiseSpec) -> bool:
    """Tell whether the variance of large counts is all there is to choose."""
    limits = spec.limits
    assert limits is not None  # noqa: S101  (a frontier has limits)
    floor, ceiling = limits.variance_floor, limits.variance_ceiling
    is_plain = isinstance(floor, float) and isinstance(ceiling, float)
    return is_plain and floor >= ceiling  # type: ignore[operator]


def frontier_facts(
    plan: FrontierPlan, line: Frontier, *, attacks: AttacksFact | None = None
) -> FrontierFacts:
    """Give all that a page says of a frontier."""
    from ckm import __version__
    from reports.facts.frontier import FrontierFacts, FrontierPointFact

    spec = line.spec
    limits = spec.limits
    assert limits is not None  # noqa: S101  (a frontier has limits)
    return FrontierFacts(
        title=plan.title,
        version=__version__,
        has_records=plan.has_records,
        against=line.against,
        objective=spec.objective,
        priors=plan.priors,
        max_noise=max(spec.max_noises),
        small=spec.small,
        sensitive=limits.sensitive or (),
        limits=_limits_in_common(spec),
        points=tuple(
            FrontierPointFact(
                limit=point.limit, bound=point.bound, figures=_figures(point.figures)
            )
            for point in line.points
        ),
        designs=tuple(_design(line, one) for one in line.designs),
        least_posterior=line.least_posterior,
        planned=line.n_planned,
        gaps=line.gaps,
        attacks=attacks,
        ptable="" if plan.own is None else plan.own.id,
    )


def _limits_in_common(spec: NoiseSpec) -> dict[str, float | None]:
    from ptable.solver.joint import Joint

    limits = spec.limits
    assert limits is not None  # noqa: S101  (a frontier has limits)
    joint = Joint.of(spec)
    ends = [joint.variance_limits(row) for row in joint.rows if row.count]
    common: dict[str, float | None] = {}
    for name, column in zip(
        ("variance_floor", "variance_ceiling"), zip(*ends, strict=True), strict=True
    ):
        values = {round(float(value), 6) for value in column}
        common[name] = values.pop() if len(values) == 1 else None
    if limits.neighbours is not None:
        common["epsilon"], common["delta"] = limits.neighbours
    for name in ("p_stay", "posterior", "posterior_set", "best_guess", "ratio"):
        if (value := getattr(limits, name)) is not None:
            common[name] = value
    return common


def _figures(figures: TableFigures) -> FiguresFact:
    from reports.facts.frontier import FiguresFact

    names = FiguresFact.__dataclass_fields__
    return FiguresFact(**{name: min(1e9, getattr(figures, name)) for name in names})


def _design(line: Frontier, one: DesignPoint) -> FrontierDesignFact:
    from reports.facts.frontier import FrontierDesignFact

    near, safe = line.as_near(one), line.as_safe(one)
    return FrontierDesignFact(
        name="" if one.is_own else one.name,
        figures=_figures(one.figures),
        is_own=one.is_own,
        exceeds=one.exceeds,
        least=one.least,
        alike=one.alike,
        safer=None if near is None else line.exposure(near.figures),
        cheaper=None if safe is None else safe.figures.loss,
    )


_COLUMNS = (
    "posterior",
    "posterior_set",
    "loss",
    "neighbours",
    "p_stay",
    "least_variance",
    "largest_variance",
)


def frontier_csv(facts: FrontierFacts) -> str:
    """Write points and designs, a line each; numbers as they are."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        ["kind", "name", "limit", *_COLUMNS, "least_loss", "least_loss_alike", "exceeds"]
    )
    for place, point in enumerate(facts.points, start=1):
        values = [repr(getattr(point.figures, name)) for name in _COLUMNS]
        writer.writerow(["point", place, repr(point.limit), *values, repr(point.bound), "", ""])
    for one in facts.designs:
        values = [repr(getattr(one.figures, name)) for name in _COLUMNS]
        least = ["" if v is None else repr(v) for v in (one.least, one.alike)]
        name = "own" if one.is_own else one.name
        writer.writerow(["design", name, "", *values, *least, " ".join(one.exceeds)])
    return text.getvalue()


def names_of_tables(points: tuple[FrontierPoint, ...]) -> dict[str, PTable]:
    """Name the files of the points' tables, by their number on the page."""
    return {
        f"point-{place:02}.parquet": point.table for place, point in enumerate(points, start=1)
    }
