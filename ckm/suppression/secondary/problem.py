"""What secondary suppression has to solve, checked before anybody tries."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ckm.errors import ConfigError
from ckm.suppression.primary import Primary
from ckm.suppression.relations import Relations
from footing.arrays import Flags, Floats, Integers

_ADDS_UP = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Demands:
    """Cells to protect, each from a reader who knows nothing or one other cell.

    Parameters
    ----------
    cell
        The cell to protect.
    known
        A cell that the reader knows, as its only contributor; -1 for none.
    lower, upper
        How far below and above its value the reader must believe the cell possible.

    Examples
    --------
    >>> one = np.ones(1)
    >>> demands = Demands(
    ...     cell=np.zeros(1, np.int64), known=np.array([-1]), lower=one, upper=one
    ... )
    >>> len(demands)
    1
    """

    cell: Integers
    known: Integers
    lower: Floats
    upper: Floats

    def __len__(self) -> int:
        return len(self.cell)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Problem:
    """A table, the cells of it that must not be published, and what it costs to hide others.

    Parameters
    ----------
    relations
        Which cells add up to which.
    values
        Of every cell; none negative.
    primary
        The primary cells and the protection that they need.
    costs
        What it costs to hide a cell: ``"value"``, ``"one"``, or a number of 0 or more for each.
    kept
        Cells that are published whatever it costs.
    singles
        Cells of a single contributor, against whom the primary cells beside them are
        protected as well; None leaves readers who contributed out.
    unseen
        Cells that no table shows, which only link others.

    Raises
    ------
    ConfigError
        If the parts do not fit together; all problems are named.

    Notes
    -----
    Cells of value 0 are published: a reader who knows that no value is negative learns from a
    hidden zero that it is free to rise alone, which protects nothing below it, and offices
    keep their zeros.

    Examples
    --------
    >>> from ckm.suppression import Frequency, Grid, Relations, primary_cells
    >>> counts = np.array([9, 1, 8])
    >>> problem = Problem(
    ...     relations=Relations.of_grids([Grid.full([[-1, 0, 0]])]),
    ...     values=counts,
    ...     primary=primary_cells([Frequency(least=3)], counts=counts),
    ... )
    >>> problem, problem.is_open
    (Problem(3 cells, 1 primary), array([ True, False,  True]))

    With cells of a single contributor, what is demanded is more:

    >>> from ckm.suppression import Primary
    >>> need = np.array([0.0, 1, 1])
    >>> demands = Problem(
    ...     relations=problem.relations,
    ...     values=[3, 1, 2],
    ...     primary=Primary(is_primary=need > 0, lower=need, upper=need),
    ...     singles=np.array([False, True, False]),
    ... ).demands
    >>> demands.cell, demands.known
    (array([1, 2, 2]), array([-1, -1,  1]))
    """

    relations: Relations
    values: ArrayLike
    primary: Primary
    costs: ArrayLike = "value"
    kept: ArrayLike | None = None
    singles: ArrayLike | None = None
    unseen: ArrayLike | None = None
    value: Floats = field(init=False)
    room: Floats = field(init=False)
    cost: Floats = field(init=False)
    must_hide: Flags = field(init=False)
    is_open: Flags = field(init=False)
    demands: Demands = field(init=False)

    def __post_init__(self) -> None:
        n = self.relations.n_cells
        value = np.asarray(self.values)
        problems = _number_problems(value, n, "values")
        named = isinstance(self.costs, str)
        cost = _costs(self.costs, value) if named and not problems else np.asarray(self.costs)
        if not named or not problems:
            problems += _number_problems(cost, n, "costs")
        for name in ("kept", "singles", "unseen"):
            mask = getattr(self, name)
            if mask is not None and (np.shape(mask) != (n,) or np.asarray(mask).dtype != bool):
                problems.append(f"{name} must be true or false for each of the {n:,} cells")
        for name in ("is_primary", "lower", "upper"):
            part = np.asarray(getattr(self.primary, name))
            if part.shape != (n,):
                problems.append(f"primary.{name} must have one entry for each cell")
            elif not (np.isfinite(part) & (part >= 0)).all():
                problems.append(f"primary.{name} must be finite and not negative")
        floor = np.asarray(self.primary.floor)
        if not problems and (floor.shape not in {(), (n,)} or not (floor >= 0).all()):
            problems.append("primary.floor must be one number, or one for each cell, from 0 up")
        if not problems and (floor > value).any():
            problems.append("primary.floor must not be above the values")
        if problems:
            raise ConfigError("Nothing can be suppressed: " + "; ".join(problems) + ".")
        self._fill(value.astype(np.float64), cost.astype(np.float64))

    def _fill(self, value: Floats, cost: Floats) -> None:
        scale = max(1.0, float(value.max(initial=0.0)))
        off = np.abs(self.relations.residuals(value)) > _ADDS_UP * scale
        if off.any():
            raise ConfigError(
                f"{int(off.sum()):,} totals are not the sum of their parts.",
                hint="suppression needs additive tables: true numbers, not noisy ones",
            )
        is_primary = self.primary.is_primary
        none = np.zeros(len(value), bool)
        kept = none if self.kept is None else np.asarray(self.kept)
        unseen = none if self.unseen is None else np.asarray(self.unseen)
        if (kept & is_primary).any():
            raise ConfigError("A cell cannot be both primary and kept.")
        must_hide = is_primary | unseen
        object.__setattr__(self, "value", value)
        object.__setattr__(self, "room", value - self._floor())
        object.__setattr__(self, "cost", np.where(unseen, 0.0, cost))
        object.__setattr__(self, "must_hide", must_hide)
        object.__setattr__(self, "is_open", (value > 0) & ~kept & ~must_hide)
        object.__setattr__(self, "demands", self._demands())

    def _floor(self) -> Floats:
        """Return the floors of all cells: a total is not below those of its parts together."""
        n, relations = self.relations.n_cells, self.relations
        floor = np.broadcast_to(np.asarray(self.primary.floor, np.float64), n).copy()
        rows, is_above = relations.rows, relations.signs > 0
        times = np.bincount(rows, is_above * relations.signs, minlength=relations.n_relations)
        total = np.zeros(relations.n_relations, np.int64)
        total[rows[is_above]] = relations.cells[is_above]
        while floor.any():
            parts = np.where(is_above, 0.0, -relations.signs * floor[relations.cells])
            below = np.bincount(rows, parts, minlength=relations.n_relations)
            higher = floor.copy()
            np.maximum.at(higher, total[times == 1], below[times == 1])
            if (higher == floor).all():
                break
            floor = higher
        return floor

    def _demands(self) -> Demands:
        """List every primary cell, and every pair of one and a single cell beside it."""
        cells = np.flatnonzero(self.primary.is_primary)
        known = np.full(len(cells), -1)
        if self.singles is not None:
            beside, single = self._pairs(np.asarray(self.singles) & self.primary.is_primary)
            cells, known = np.concatenate([cells, beside]), np.concatenate([known, single])
        lower = np.minimum(self.primary.lower[cells], self.room[cells])
        upper = self.primary.upper[cells]
        return Demands(cell=cells, known=known, lower=lower, upper=upper)

    def _pairs(self, single: Flags) -> tuple[Any, Any]:
        """Pair primary cells with the single contributors' cells of their relations."""
        found = []
        cells, starts = self.relations.cells, self.relations.starts
        for r in np.unique(self.relations.rows[single[cells]]).tolist():
            whole = slice(starts[r], starts[r + 1])
            is_primary = self.primary.is_primary[cells[whole]]
            is_above = self.relations.signs[whole] > 0
            part = cells[whole][is_primary]
            # between tables, several cells may stand on both sides
            is_total = is_above[is_primary] & (is_above.sum() == 1)
            a, b = np.nonzero(single[part] & (part[:, None] != part))
            # a total of a single contributor and its part are of the same one
            same = single[part[a]] & (is_total[a] | is_total[b])
            found.append(np.stack([part[a], part[b]], axis=1)[~same])
        if not found:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        pairs = np.unique(np.concatenate(found), axis=0)
        return pairs[:, 0], pairs[:, 1]

    def __repr__(self) -> str:
        n = int(self.primary.is_primary.sum())
        return f"Problem({self.relations.n_cells} cells, {n} primary)"


def _number_problems(numbers: NDArray[Any], n: int, name: str) -> list[str]:
    if numbers.shape != (n,):
        return [f"{name} must be one number for each of the {n:,} cells"]
    if numbers.dtype.kind not in "biuf" or not np.isfinite(numbers.astype(np.float64)).all():
        return [f"{name} must be finite numbers"]
    if (numbers < 0).any():
        return [f"{name} must not be negative"]
    return []


def _costs(word: object, value: NDArray[Any]) -> NDArray[Any]:
    if word == "value":
        return value
    if word == "one":
        return np.ones(len(value))
    raise ConfigError(f"costs must be 'value', 'one' or numbers, not {word!r}.")
