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
from ckm.methods.suppression.secondary.least_cost import least_cost
from ckm.methods.suppression.secondary.merging import Merging, merged
from ckm.methods.suppression.secondary.problem import Demands, Problem
from ckm.methods.suppression.secondary.reverse_delete import reverse_delete
from ckm.methods.suppression.secondary.sequential import protect_in_turn
from ckm.methods.suppression.secondary.work import (
    IMPROVED,
    IMPROVED_INSIDE,
    PER_SECOND,
    Work,
)
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
#: How long "auto" takes care of its first choice: see `Neighbourhood.change`.
_CARE_S = 30.0
#: A search among all that may be hidden takes so many times as long as one among what is.
_WIDER = 1.5
#: Cells that are cheaper than such a share of all, together, "auto" does not try.
_CRUMBS = 0.01


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
        No choice costs less: by the exact search, or at least by `least_cost`; 0 where nothing
        is known.
    changes
        Changed tables that a reader cannot rule out, which prove that demands are met.
    seconds
        How long it took.
    work
        How much it did, in units that are the same on every machine.
    ended_by
        What ended the search before it was done: ``"work"`` or ``"clock"`` for `limit_s`,
        ``"share"`` where a first choice was improved as long as is worth it; or None.

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
    work: float = 0.0
    ended_by: str | None = None

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

        That is what is not proven to be needed. A bound from single sums, as that of the
        sequential method is, leaves much of it open, and is no estimate.

        Examples
        --------
        See `suppress`.
        """
        gap = 1 - self.least / self.cost if self.cost > 0 else 0.0
        return gap if gap > _EXACT_GAP else 0.0

    @property
    def has_bound(self) -> bool:
        """Whether anything is known of what other choices cost.

        Examples
        --------
        See `suppress`.
        """
        return self.least > 0 or self.cost == 0

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
        ``"auto"`` takes what suits the size, and improves large choices no longer than is
        worth it; ``"sequential"`` does so until all is tried.
    limit_s
        When the search stops with the best found: after the work that takes so long on one
        core of a usual machine, so that the same problem has the same answer on all of them.
        The first choice that meets every demand takes as long as it takes.
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
    merging = merged(problem)
    search = _Search(
        merging,
        Work(limit_s, care_s=_CARE_S if method == "auto" else np.inf),
        progress or no_progress,
    )
    own_method = _chosen(problem, method)
    search.choose()
    if method == "auto" and own_method == "sequential":
        times, least_s = IMPROVED_INSIDE if problem.coalition else IMPROVED
        search.work.share(times, least_s=least_s)
        search.crumbs = _CRUMBS
    before = search.work.units
    search.improve()
    # the wide search takes longer, and gives nothing before it is done
    if search.work.has(_WIDER * (search.work.units - before)):
        search.improve(is_wide=True)
    if own_method == "exact":
        search.improve_exactly()
    cover = search.best
    status = np.where(merging.hidden(cover.hidden), SECONDARY, PUBLISHED).astype(np.int8)
    status[problem.primary.is_primary] = PRIMARY
    seconds = time.monotonic() - started
    logger.info(
        "suppressed",
        extra={
            "cells": problem.relations.n_cells,
            "seconds": round(seconds, 3),
            "work": round(search.work.units / PER_SECOND, 3),
            "ended_by": search.work.ended_by,
        },
    )
    if cover.problem.insiders is not None:
        problem = replace(problem, insiders=merging.demands(cover.problem.insiders))
    # sums that follow from others are looked at, too
    least = max(search.least, min(least_cost(problem), cover.cost()))
    return Suppression(
        problem=problem,
        status=status,
        method=own_method,
        least=least,
        changes=tuple(map(merging.change, cover.changes)),
        seconds=seconds,
        work=search.work.units,
        ended_by=search.work.ended_by,
    )


class _Search:
    """The best choice so far of those that meet every demand, and what attackers asked for."""

    def __init__(self, merging: Merging, work: Work, progress: Progress) -> None:
        self.merging, self.problem = merging, merging.problem
        self.work, self.progress = work, progress
        self.attackers, self.insiders = Attackers(self.problem), self.problem.insiders
        self.best, self.least, self.crumbs = Cover(self.problem), 0.0, 0.0

    def choose(self) -> None:
        """Find a first choice that nobody breaks, however long it takes."""
        self.best = self._settled(Cover(self.problem), self.work.apart())
        logger.info("demands met", extra={"demands": len(self.best.demands)})

    def improve(self, *, is_wide: bool = False) -> None:
        """Publish again what is needless, and repair what that opens, while work is left."""
        cover, needed, work = self._again(self.best), None, self.work
        while not work.is_over:
            lighter = reverse_delete(
                cover,
                work=work,
                is_wide=is_wide,
                needed=needed,
                crumbs=self.crumbs,
                progress=partial(self.progress, "publish again"),
            )
            if lighter is cover:
                break
            more = self.attackers.unguarded(lighter.changes)
            if more is None:
                self._offer(lighter)
                break
            # from now on only what is hidden anew may be needless, which is soon told
            needed, is_wide = lighter.hidden.copy(), False
            work = self.work.rest() if work is self.work else work
            cover = self._settled(self._with(lighter, more), self.work.apart())
            self._offer(cover)
        if work.ended_by is not None:
            _ = self.work.is_over  # what ended the rest is told of the whole

    def improve_exactly(self) -> None:
        """Find a cheaper choice that no attacker breaks, if there is one, and a least cost.

        Every attacker who turns up narrows what is possible, so that bounds found before stay.
        """
        self.progress("optimum", 0, 1)
        # what was asked of a choice that was dropped is not asked of this one yet
        cover, self.attackers = self._again(self.best), Attackers(self.problem)
        while not self.work.is_over:
            cover, bound = protect_exactly(cover, work=self.work)
            self.least = max(self.least, bound)
            more = self.attackers.unguarded(cover.changes)
            if more is None:
                self._offer(cover)
                break
            start = self._with(self.best, more)
            protect_in_turn(start)
            if start.open_demands().size:
                break
            cover = start
        self.least = min(self.least, self.best.cost())

    def _settled(self, cover: Cover, work: Work) -> Cover:
        """Meet every demand, and those of attackers who turn up."""
        while True:
            failed = protect_in_turn(
                cover, work=work, progress=partial(self.progress, "suppression")
            )
            self._require_met(cover, failed)
            more = self.attackers.unguarded(cover.changes)
            if more is None:
                return cover
            cover = self._with(cover, more)

    def _offer(self, cover: Cover) -> None:
        self.best = min(self.best, cover, key=Cover.cost)

    def _again(self, cover: Cover) -> Cover:
        """Ask of a choice whatever was asked of any."""
        if cover.problem.insiders is self.insiders:
            return cover
        return cover.enlarged(replace(self.problem, insiders=self.insiders))

    def _with(self, cover: Cover, more: Demands) -> Cover:
        """Ask for more; keep what the choice changes."""
        self.insiders = more if self.insiders is None else self.insiders.joined(more)
        return self._again(cover)

    def _require_met(self, cover: Cover, failed: Integers) -> None:
        if failed.size:
            problem = self.merging.whole
            classes = np.unique(cover.demands.cell[failed])
            is_failed = np.isin(self.merging.of_cell, classes) & problem.primary.is_primary
            cells = np.flatnonzero(is_failed)
            raise UnprotectedError(
                cells,
                Message(
                    "{number:,} primary cells cannot be protected as demanded, even if every "
                    "cell that may be hidden is.",
                    number=len(cells),
                ),
                hint=_way_out(problem),
            )


def _chosen(problem: Problem, method: str) -> str:
    if method != "auto":
        return method
    return "exact" if problem.relations.n_cells <= _EXACT_CELLS else "sequential"


def _way_out(problem: Problem) -> str:
    if problem.kept is not None and np.any(problem.kept):
        return Message("keep fewer cells: those of the same sums have to be hidden as well")
    if np.isfinite(problem.rise).any():
        return Message("take readers to know less beforehand, or ask for less protection")
    return Message(
        "publish fewer tables together, or leave out the finest level, or ask for less"
    )
