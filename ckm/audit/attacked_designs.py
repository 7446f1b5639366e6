"""What attacks find with designs that lose less than a job's own, on the job's own tables.

Each design tells no more than the own one by any limit, and has floors of its variance: one for
rows of small counts, and one for full rows. Averaging and differencing have formulas; the audit
attacks all tables of the job, drawn anew with the same keys for each design.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from statistics import fmean, stdev
from time import process_time
from typing import TYPE_CHECKING, Any

from footing.progress import Progress, no_progress
from ptable.errors import InfeasibleError, InternalError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from ckm.audit.audit import Audit, Auditor
    from ckm.audit.query_space import QuerySpace
    from ptable import NoiseSpec, PTable
    from reports.facts.frontier import AttackedFact, AttacksFact

#: Floors of small counts, and of full rows, as shares of the own greatest variance.
_FLOORS = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3)
_FULL_FLOORS = (0.8, 0.6)
#: By so much more a share counts as no more.
SLACK = 0.005
#: The shares of an audit that count: the largest of all, and that of all tables together.
_SHARES = ("audit", "together")
#: Designs whose losses differ by less are one: that of the higher floor.
_ALIKE = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A design, what it loses, and what formulas say of it.

    Parameters
    ----------
    floor, full_floor
        The least variance of rows of small counts and of full rows; None of the own design.
    table
        Its p-table.
    loss
        Weighted by the first prior.
    formulas
        Attack → its probability of success.
    audits
        What the audit found, a secret each.
    """

    floor: float | None
    full_floor: float | None
    table: PTable = field(repr=False)
    loss: float
    formulas: Mapping[str, float]
    audits: tuple[Audit, ...] = field(default=(), repr=False)

    def mean(self, name: str) -> float | None:
        """Give the mean of a figure of the audit over secrets; None where none was made."""
        return fmean(self._values(name)) if self.audits else None

    def standard_error(self, name: str) -> float | None:
        """Give its standard error; None with fewer than two secrets."""
        values = self._values(name)
        return stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None

    def _values(self, name: str) -> list[float]:
        return [share_of(audit, name) for audit in self.audits]


def share_of(audit: Audit, name: str) -> float:
    """Give a share that an audit found: the largest, or those of all tables."""
    if name == "audit":
        return float(audit.largest_share)
    return float(getattr(audit.whole, name).share)


def trials(own: PTable, spec: NoiseSpec) -> Iterator[Trial]:
    """Solve designs that are no worse than the own one, which comes first."""
    from ptable import solve
    from ptable.advice.frontier import measure, milder_spec

    figures = measure(own, spec)
    yield trial_of(own, spec)
    most = figures.largest_variance
    pairs = [(share, 1.0) for share in _FLOORS] + [(share, share) for share in _FULL_FLOORS]
    for share, full_share in pairs:
        floor, full_floor = round(share * most, 4), round(full_share * most, 4)
        try:
            table = solve(milder_spec(own, spec, floor=floor, full_floor=full_floor))
        except (InfeasibleError, InternalError):
            continue
        yield replace(trial_of(table, spec), floor=floor, full_floor=full_floor)


def trial_of(table: PTable, spec: NoiseSpec) -> Trial:
    """Measure what a design loses, and what formulas say of it."""
    from ptable.advice.frontier import measure
    from risk.attacks import Differencing, TwoPartition

    return Trial(
        floor=None,
        full_floor=None,
        table=table,
        loss=measure(table, spec).loss,
        formulas={
            "differencing": float(Differencing().closed_form(table)),
            "averaging": float(TwoPartition(n_categories=7).closed_form(table)),
        },
    )


def attack_trial(
    trial: Trial,
    space: QuerySpace,
    auditor: Auditor,
    *,
    n_secrets: int,
    seed: int,
) -> Trial:
    """Attack the tables with the noise of a design, with one secret after another."""
    from ckm.audit.advice import redrawn

    audits = []
    for place in range(n_secrets):
        drawn, attacker = redrawn(space, auditor, trial.table, seed=seed + place)
        audits.append(attacker.audit(drawn))
    return replace(trial, audits=tuple(audits))


def as_safe_as(allowed: Mapping[str, float], trial: Trial) -> bool:
    """Tell whether attacks that were made find no more than is allowed."""
    figures = {**trial.formulas, **{name: trial.mean(name) for name in _SHARES}}
    return all(
        figure is None or figure <= allowed[name] + SLACK for name, figure in figures.items()
    )


def attacked_designs(
    path: Path,
    own: PTable,
    spec: NoiseSpec,
    *,
    small: int = 2,
    share: float | None = None,
    n_secrets: int = 1,
    seed: int = 1,
    is_full: bool = False,
    progress: Progress | None = None,
    tell_cost: Callable[[int, float], None] | None = None,
) -> AttacksFact:
    """Find the design that loses least of those with which attacks find no more.

    Parameters
    ----------
    path
        The job file.
    own
        Its p-table, of greatest entropy as a rule.
    spec
        The priors, sensitive counts and loss.
    small
        Counts from 1 to this are small to the audit.
    share
        The share that the audit may find; None for that of the own design.
    n_secrets
        How many secrets are drawn for each design.
    seed
        Of the first.
    is_full
        Whether every design is audited; else only as many as it takes.
    progress
        Called with a stage, the designs tried and all of them.
    tell_cost
        Called after the first audit with how many more there may be, and the CPU seconds of
        each.
    """
    from ckm.audit.job_tables import open_release
    from reports.facts.frontier import AttacksFact

    report = progress or no_progress
    space, auditor, _ = open_release(path, small=small, progress=progress)
    options: dict[str, Any] = {"n_secrets": n_secrets, "seed": seed}
    first, *others = trials(own, spec)
    report("attacks", 0, len(others) + 1)
    started = process_time()
    first = attack_trial(first, space, auditor, **options)
    seconds = process_time() - started
    allowed = dict(first.formulas)
    for name in _SHARES:
        allowed[name] = share if share is not None else first.mean(name) or 0.0
    candidates = _distinct(first, others)
    hopeful = [place for place, one in enumerate(candidates) if as_safe_as(allowed, one)]
    if tell_cost is not None:
        tell_cost(len(candidates) if is_full else len(hopeful), seconds)
    for done, place in enumerate(range(len(candidates)) if is_full else hopeful):
        report("attacks", done + 1, len(candidates) + 1)
        candidates[place] = attack_trial(candidates[place], space, auditor, **options)
        if not is_full and as_safe_as(allowed, candidates[place]):
            break  # those that lose least come first
    every = [first, *candidates]
    safe = [one for one in every if one.audits and as_safe_as(allowed, one)]
    best = min(safe, key=lambda one: one.loss, default=None)
    return AttacksFact(
        small=small,
        n_secrets=n_secrets,
        allowed=allowed,
        is_stated=share is not None,
        is_entropy=is_entropy(own),
        designs=tuple(_fact(one, allowed) for one in every),
        chosen=None if best is None else every.index(best),
    )


def is_entropy(table: PTable) -> bool:
    """Tell whether a table has the greatest entropy, without limits on what it tells."""
    from ptable import NoiseSpec

    return isinstance(table.spec, NoiseSpec) and table.spec.limits is None


def _distinct(own: Trial, others: Sequence[Trial]) -> list[Trial]:
    """Leave out what loses as much as with a higher floor; what loses least comes first."""
    distinct: list[Trial] = []
    for one in others:
        beside = [own.loss, *(o.loss for o in distinct if o.full_floor == one.full_floor)]
        if all(abs(one.loss / loss - 1) > _ALIKE for loss in beside):
            distinct.append(one)
    return sorted(distinct, key=lambda one: one.loss)


def _fact(trial: Trial, allowed: Mapping[str, float]) -> AttackedFact:
    from reports.facts.frontier import AttackedFact

    return AttackedFact(
        floor=trial.floor,
        full_floor=trial.full_floor,
        loss=trial.loss,
        audit=trial.mean("audit"),
        together=trial.mean("together"),
        alone=trial.mean("alone"),
        error=trial.standard_error("audit"),
        **trial.formulas,
        is_as_safe=as_safe_as(allowed, trial) if trial.audits else None,
    )
