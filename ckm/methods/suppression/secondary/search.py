"""Secondary suppression from end to end, and what it cost."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ckm.errors import CheckFailedError, ConfigError
from ckm.methods.suppression.attackers import Attackers
from ckm.methods.suppression.audit import Audit, audit, check_changes
from ckm.methods.suppression.secondary.cover import Change, Cover
from ckm.methods.suppression.secondary.exact import protect_exactly
from ckm.methods.suppression.secondary.problem import Demands, Problem
from ckm.methods.suppression.secondary.reverse_delete import reverse_delete
from ckm.methods.suppression.secondary.sequential import protect_in_turn
from footing.arrays import Flags, Integers
from footing.messages import Message, Name
from footing.progress import Progress, no_progress

logger = logging.getLogger(__name__)

Method: TypeAlias = Literal["auto", "exact", "sequential"]

PUBLISHED, PRIMARY, SECONDARY = 0, 1, 2

#: A smaller gap is arithmetic.
_EXACT_GAP = 1e-6
#: What "auto" solves exactly.
_EXACT_CELLS = 300


class UnprotectedError(CheckFailedError):
    """No choice of cells protects some of them."""

    def __init__(self, cells: Integers, problem: str, *, hint: str | None) -> None:
        super().__init__(problem, hint=hint)
        self.cells = cells


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Suppression:
    """Which cells are hidden; the others carry their true values.

    Suppression publishes originals: nothing here went through a p-table.

    Parameters
    ----------
    problem
        What was asked for.
    status
        0 for a published cell, 1 for a primary one, 2 for a secondary one.
    method
        How it was found: ``"exact"`` or ``"sequential"``.
    least
        No choice costs less; 0 where nothing is known.
    changes
        Changed tables that a reader cannot rule out, which prove that demands are met.
    seconds
        How long it took.

    Examples
    --------
    See `suppress`.
    """

    problem: Problem
    status: NDArray[np.int8]
    method: str
    least: float
    changes: tuple[Change, ...]
    seconds: float

    @property
    def hidden(self) -> Flags:
        """Which cells are not published.

        Examples
        --------
        See `suppress`.
        """
        return np.asarray(self.status != PUBLISHED)

    @property
    def cost(self) -> float:
        """What the secondary cells cost.

        Examples
        --------
        See `suppress`.
        """
        return float(self.problem.cost[self.status == SECONDARY].sum())

    @property
    def gap(self) -> float:
        """How much dearer than the cheapest it may be, as a share of its cost; 0 is proven.

        Examples
        --------
        See `suppress`.
        """
        gap = 1 - self.least / self.cost if self.cost > 0 else 0.0
        return gap if gap > _EXACT_GAP else 0.0

    @property
    def is_optimal(self) -> bool:
        """Whether it is proven that no choice of cells is cheaper.

        Examples
        --------
        See `suppress`.
        """
        return self.gap == 0

    def unproven(self) -> Integers:
        """List the primary cells whose protection no change proves; an audit may still.

        Examples
        --------
        See `suppress`.
        """
        open_ = check_changes(self.problem, self.hidden, self.changes)
        return np.unique(self.problem.demands.cell[open_])

    def audit(self) -> Audit:
        """Compute what a reader can work out of every hidden cell; see `audit`.

        Examples
        --------
        See `suppress`.
        """
        return audit(self.problem, self.hidden, changes=self.changes)

    def masked(self, values: ArrayLike | None = None, *, table: int = 0) -> Any:
        """Give the true numbers of a table's cells, hidden ones masked and overwritten by 0.

        Parameters
        ----------
        values
            Of all cells; by default those of the problem.
        table
            Which of the linked tables.

        Examples
        --------
        See `suppress`.
        """
        number = self.problem.relations.numbers[table]
        array = np.asarray(self.problem.values if values is None else values)
        if array.shape != (self.problem.relations.n_cells,):
            raise ConfigError(Message("Every cell needs one value."))
        hidden = self.hidden[number]
        return np.ma.masked_array(np.where(hidden, 0, array[number]), mask=hidden)

    def __repr__(self) -> str:
        n = np.bincount(self.status, minlength=3).tolist()
        return (
            f"Suppression({n[0]} published, {n[1]} primary, {n[2]} secondary,"
            f" {self.method}, gap {self.gap:.3g})"
        )


def suppress(
    problem: Problem,
    *,
    method: Method = "auto",
    limit_s: float = 600.0,
    progress: Progress | None = None,
) -> Suppression:
    """Choose the secondary cells.

    Parameters
    ----------
    problem
        The table and its primary cells.
    method
        ``"exact"`` looks for the cheapest choice; ``"sequential"`` protects one cell after
        another by a linear program, and publishes again what cheaper cells make needless.
        ``"auto"`` takes the first that suits the size.
    limit_s
        When the search stops with the best found. Where it does, the choice depends on the
        machine's speed; elsewhere the same problem has the same answer.
    progress
        Called with a stage, how much of it is done, and how much there is.

    Returns
    -------
    Suppression
        The choice.

    Raises
    ------
    UnprotectedError
        If the demands cannot be met, even if all that may be is hidden.
    CheckFailedError
        If no choice that meets them is found in time.

    Examples
    --------
    >>> from ckm.methods.suppression import Frequency, Grid, Problem, Relations, primary_cells
    >>> counts = np.array([30, 12, 18, 11, 1, 10, 19, 11, 8])
    >>> problem = Problem(
    ...     relations=Relations.of_grids([Grid.full([[-1, 0, 0], [-1, 0, 0]])]),
    ...     values=counts,
    ...     primary=primary_cells([Frequency(least=3)], counts=counts),
    ... )
    >>> found = suppress(problem)
    >>> found
    Suppression(5 published, 1 primary, 3 secondary, exact, gap 0)
    >>> print(found.masked().reshape(3, 3))
    [[30 12 18]
     [11 -- --]
     [19 -- --]]
    >>> found.audit().is_safe, found.cost, found.is_optimal, found.unproven().size
    (True, 29.0, True, 0)
    """
    started = time.monotonic()
    if method not in {"auto", "exact", "sequential"}:
        raise ConfigError(
            Message(
                "method must be 'auto', 'exact' or 'sequential', not {method!r}.",
                method=Name(method),
            )
        )
    if not limit_s > 0:
        raise ConfigError(Message("limit_s must be above 0, not {limit_s:g}.", limit_s=limit_s))
    own_method = _chosen(problem, method)
    attackers, least = Attackers(problem), 0.0
    deadline, report_progress = started + limit_s, progress or no_progress
    cover = _settled(Cover(problem), attackers, deadline=deadline, progress=report_progress)
    _require_time(cover, limit_s)
    wide = _settled(cover, attackers, deadline=deadline, progress=report_progress, is_wide=True)
    if not wide.open_demands().size:
        cover = min(cover, wide, key=Cover.cost)
    if own_method == "exact":
        report_progress("optimum", 0, 1)
        cover, least = _settled_exactly(cover, deadline=deadline)
    status = np.where(cover.hidden, SECONDARY, PUBLISHED).astype(np.int8)
    status[problem.primary.is_primary] = PRIMARY
    seconds = time.monotonic() - started
    logger.info(
        "suppressed", extra={"cells": problem.relations.n_cells, "seconds": round(seconds, 3)}
    )
    return Suppression(
        problem=cover.problem,
        status=status,
        method=own_method,
        least=least,
        changes=tuple(cover.changes),
        seconds=seconds,
    )


def _settled(
    cover: Cover,
    attackers: Attackers,
    *,
    deadline: float,
    progress: Progress,
    is_wide: bool = False,
) -> Cover:
    """Meet every demand, and those of attackers who turn up, and publish what is needless."""
    is_reduced = False
    while not is_reduced:
        failed = protect_in_turn(
            cover, deadline=deadline, progress=partial(progress, "suppression")
        )
        _require_met(cover.problem, failed)
        if cover.open_demands().size:  # out of time
            break
        more = attackers.unguarded(cover.changes)
        if more is None:  # only now, as it takes long
            again = partial(progress, "publish again")
            cover = reverse_delete(cover, deadline=deadline, is_wide=is_wide, progress=again)
            is_wide, more = False, attackers.unguarded(cover.changes)
            is_reduced = more is None
        if more is not None:
            cover = _against(cover, more)
    return cover


def _settled_exactly(best: Cover, *, deadline: float) -> tuple[Cover, float]:
    """Find a cheaper choice that no attacker breaks, if there is one, and what none goes below.

    Every attacker who turns up narrows what is possible, so that bounds found before stay.
    """
    # what was asked of a choice that was dropped is not asked of this one yet
    cover, least, attackers = best, 0.0, Attackers(best.problem)
    while True:
        cover, bound = protect_exactly(cover, deadline=deadline)
        least, more = max(least, bound), attackers.unguarded(cover.changes)
        if more is None:
            return min(best, cover, key=Cover.cost), least
        cover = _against(best, more, cover.problem)
        protect_in_turn(cover, deadline=deadline)
        if cover.open_demands().size:
            return best, least


def _against(cover: Cover, more: Demands, problem: Problem | None = None) -> Cover:
    """Ask for more, of what a cover or another one was asked for; keep what it changes."""
    problem = problem or cover.problem
    insiders = more if problem.insiders is None else problem.insiders.joined(more)
    larger_cover = Cover(replace(problem, insiders=insiders))
    for change in cover.changes:
        larger_cover.add(change)
    return larger_cover


def _chosen(problem: Problem, method: str) -> str:
    if method != "auto":
        return method
    return "exact" if problem.relations.n_cells <= _EXACT_CELLS else "sequential"


def _require_time(cover: Cover, limit_s: float) -> None:
    is_high, is_low = cover.is_high_met, cover.is_low_met
    if not (is_high & is_low).all():
        raise CheckFailedError(
            Message(
                "No choice of cells that meets every demand was found within {limit_s:g} s.",
                limit_s=limit_s,
            ),
            hint=Message("raise limit_s, or show fewer levels of detail"),
        )
    logger.info("demands met", extra={"demands": len(is_high)})


def _require_met(problem: Problem, failed: Integers) -> None:
    if failed.size:
        cells = np.unique(problem.demands.cell[failed])
        raise UnprotectedError(
            cells,
            Message(
                "{number:,} primary cells cannot be protected as demanded, even if every "
                "cell that may be hidden is.",
                number=len(cells),
            ),
            hint=_way_out(problem),
        )


def _way_out(problem: Problem) -> str:
    if problem.kept is not None and np.any(problem.kept):
        return Message("keep fewer cells: those of the same sums have to be hidden as well")
    if np.isfinite(problem.rise).any():
        return Message("take readers to know less beforehand, or ask for less protection")
    return Message(
        "publish fewer tables together, or leave out the finest level, or ask for less"
    )
