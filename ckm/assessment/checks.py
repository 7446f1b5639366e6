"""The checks of a release: a rule, what was found, and how it ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ckm.assessment.noise.agreement import (
    SHARE,
    mean_test,
    share_fit,
    share_p_value,
    variance_test,
)
from ckm.assessment.observed import repeats
from reports.facts.release import CheckFact, of_all_cells

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ckm.assessment.assessor import Assessor
    from ckm.assessment.noise.agreement import SumTest
    from ckm.assessment.noise.applied import Design
    from ckm.assessment.observed import ObservedCells
    from ckm.config.job.report import JobLimits
    from ptable import PTable
    from reports.facts.release import AttackFact, MeasureFact, Outcome, WorstFact
    from tables.quality import KeyQuality

_RESIDUAL = 1e-9
_SLACK = 1e-12  # a limit is not broken by the last digit of a double


def _check(
    name: str,
    outcome: Outcome,
    *,
    allowed: Mapping[str, float] | None = None,
    figures: Mapping[str, float] | None = None,
    where: str = "",
) -> CheckFact:
    """Make a check; its numbers are floats, so that JSON gives back the same."""
    return CheckFact(
        name=name,
        outcome=outcome,
        allowed={key: float(value) for key, value in (allowed or {}).items()},
        found={key: float(value) for key, value in (figures or {}).items()},
        where=where,
    )


def _outcome(is_passed: bool) -> Outcome:  # noqa: FBT001
    return "passed" if is_passed else "failed"


def made_checks(assessor: Assessor) -> Iterator[CheckFact]:
    """Check what must hold for every single cell: bounds, small counts, zeros, same records."""
    tables, design = list(assessor.tables.values()), assessor.design
    everything = assessor.everything
    outside = [table.name for table in tables if not _fits(table.cells, design)]
    noise = everything.noise
    yield _check(
        "noise-bound",
        _outcome(not outside),
        allowed={"least": int(design.least.min()), "most": int(design.most.max())},
        figures={"least": int(noise.min(initial=0)), "most": int(noise.max(initial=0))},
        where=outside[0] if outside else "",
    )
    small = design.largest_gap
    counts = {table.name: _small(table.cells, small) for table in tables}
    yield _counted("small-counts", counts, allowed={"small": small})
    yield _counted("zeros-kept", {table.name: table.appeared for table in tables})
    again, differing = repeats(everything)
    yield _check(
        "same-records",
        _outcome(not differing),
        figures={"repeats": again, "differing": differing},
    )


def _fits(cells: ObservedCells, design: Design) -> bool:
    """Tell whether every noise is one that the row of its count has."""
    column = cells.noise - design.lowest
    inside = (column >= 0) & (column < design.probabilities.shape[1])
    rows = design.rows(cells.count)
    return bool(inside.all() and (design.probabilities[rows, column] > 0).all())


def _small(cells: ObservedCells, small: int) -> int:
    published = cells.published
    return int(np.count_nonzero((published >= 1) & (published <= small)))


def _counted(
    name: str, cells: dict[str, int], *, allowed: dict[str, float] | None = None
) -> CheckFact:
    total = sum(cells.values())
    return _check(
        name,
        _outcome(not total),
        allowed=allowed,
        figures={"cells": total},
        where=max(cells, key=lambda table: cells[table]) if total else "",
    )


def noise_checks(cells: ObservedCells, design: Design) -> Iterator[CheckFact]:
    """Check mean, variance and shares of the noise against the p-table."""
    n = len(cells)
    drift, spread = mean_test(cells, design), variance_test(cells, design)
    mean = float(cells.noise.mean()) if n else 0.0
    yield _tested("noise-mean", drift, figures={"mean": mean, "cells": n})
    rows = design.rows(cells.count)
    actual = float(((cells.noise - design.mean[rows]) ** 2).sum())
    designed = float(design.variance[rows].sum())
    ratio = actual / designed if designed else 0.0
    yield _tested("noise-variance", spread, figures={"ratio": ratio, "cells": n})
    p_value = share_p_value(cells, design) if n else None
    if p_value is None:
        yield _check("noise-distribution", "not computed", figures={"cells": n})
    else:
        yield _check(
            "noise-distribution",
            _outcome(p_value >= SHARE),
            allowed={"p": SHARE},
            figures={"bound": p_value, "cells": n, **share_fit(cells, design)},
        )


def _tested(name: str, test: SumTest | None, *, figures: Mapping[str, float]) -> CheckFact:
    if test is None:
        return _check(name, "not computed", figures={"cells": figures["cells"]})
    return _check(
        name,
        _outcome(test.is_passed),
        allowed={"z": test.allowed},
        figures={"z": test.z, **figures},
    )


def proof_checks(ptable: PTable, quality: KeyQuality | None) -> Iterator[CheckFact]:
    """Check what the noise rests on: the record keys, and the p-table's certificate."""
    from ptable import PTableError

    outcome: Outcome = "not computed"
    if quality is not None:
        outcome = _outcome(quality.is_sound)
    yield _check("keys", outcome)
    if ptable.certificate is None:
        yield _check("certificate", "not computed")
        return
    try:
        ptable.certificate.check(ptable)
        is_sound = True
    except PTableError:
        is_sound = False
    residual = ptable.certificate.largest_residual
    yield _check(
        "certificate",
        _outcome(is_sound),
        allowed={"residual": _RESIDUAL},
        figures={"residual": residual} if np.isfinite(residual) else {},
    )


def limit_checks(
    limits: JobLimits,
    *,
    worst: Sequence[WorstFact],
    attacks: Sequence[AttackFact],
    utility: Sequence[MeasureFact],
) -> Iterator[CheckFact]:
    """Hold a release to the limits that the office set."""
    tables = [fact for fact in worst if fact.table] or list(worst)
    single = {fact.table: fact.probability for fact in tables}
    together = {fact.table: fact.set_probability for fact in tables}
    yield _limited("posterior", "probability", single, limits.posterior)
    yield _limited("posterior-set", "probability", together, limits.posterior_set)
    shares = {fact.table: fact.sure / fact.small for fact in tables if fact.small}
    if limits.known_small is not None:
        yield _limited("known-small", "share", shares, limits.known_small)
    over = [fact.name for fact in attacks if _is_over(fact)]
    n_limited = sum(fact.allowed is not None for fact in attacks)
    yield _check(
        "attacks",
        _outcome(not over) if limits.attacks else "no limit",
        figures={"over": len(over), "limited": n_limited, "tried": len(attacks)}
        if limits.attacks
        else {},
        where=", ".join(over),
    )
    deviations = {
        fact.table: fact.number
        for fact in utility
        if fact.name == "aad"
        and (fact.group, fact.cells) == ("all", "all")
        and fact.table
        and fact.number is not None
    }
    yield _limited("utility", "aad", deviations, limits.aad)
    cells = {fact.name: fact for fact in of_all_cells(utility) if fact.cells == "all"}
    for name, measure, allowed in (
        ("changed", "changed_pct", limits.changed_cells),
        ("false-zeros", "false_zeros", limits.false_zeros),
    ):
        fact = cells.get(measure)
        if allowed is not None:
            part = None if fact is None or not fact.base else fact.cells_of_base
            figures = {} if fact is None or part is None else {"": part / fact.base}
            yield _limited(name, "share", figures, allowed)


def _limited(
    name: str, unit: str, shares: dict[str, float], allowed: float | None
) -> CheckFact:
    where = max(shares, key=lambda table: shares[table]) if shares else ""
    most = {unit: shares[where]} if shares else {}
    limit = {} if allowed is None else {unit: allowed}
    if not shares and name.startswith(("posterior", "known")):
        # No table has a sensitive cell: none can be told.
        most = {unit: 0.0}
        return _check(name, "passed" if limit else "no limit", allowed=limit, figures=most)
    if not shares:
        return _check(name, "not computed", allowed=limit)
    if allowed is None:
        return _check(name, "no limit", figures=most, where=where)
    return _check(
        name,
        _outcome(shares[where] <= allowed + _SLACK),
        allowed=limit,
        figures=most,
        where=where,
    )


def _is_over(fact: AttackFact) -> bool:
    if fact.allowed is None:
        return False
    if fact.closed_form is not None:
        return fact.closed_form > fact.allowed + _SLACK
    # Without a formula, what was tried decides; what could be neither is not shown to be safe.
    if fact.successes is None or not fact.trials:
        return True
    return fact.successes / fact.trials > fact.allowed
