"""What secondary suppression has to solve, checked before anybody tries."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ckm.errors import ConfigError
from ckm.methods.suppression.primary import Primary
from ckm.methods.suppression.relations import Relations
from footing.arrays import Flags, Floats, Integers
from footing.messages import Argument, Enumeration, Message, Name, joined

_ADDS_UP = 1e-9
_MAX_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Demands:
    """Cells to protect, each from a reader who may know something of other cells.

    Parameters
    ----------
    cell
        The cell to protect.
    lower, upper
        How far below and above its value the reader must believe the cell possible.
    starts, known
        Demand ``d`` is against a reader who knows something of the cells ``known[e]`` for ``e``
        from ``starts[d]`` to ``starts[d + 1] - 1``; an outsider knows nothing of any.
    fall, rise
        How far this reader believes each of these may fall and rise, at most.

    Examples
    --------
    >>> one = np.ones(1)
    >>> demands = Demands.of_outsider(np.zeros(1, np.int64), lower=one, upper=one)
    >>> len(demands), demands.known_to(0)
    (1, slice(0, 0, None))
    """

    cell: Integers
    lower: Floats
    upper: Floats
    starts: Integers
    known: Integers
    fall: Floats
    rise: Floats
    _by_cell: tuple[Integers, Integers] = field(init=False)

    def __post_init__(self) -> None:
        order = np.argsort(self.cell, kind="stable")
        object.__setattr__(self, "_by_cell", (order, self.cell[order]))

    @classmethod
    def of_outsider(cls, cell: Integers, *, lower: Floats, upper: Floats) -> Demands:
        """Protect cells from readers who know what is published.

        Parameters
        ----------
        cell, lower, upper
            As above.

        Examples
        --------
        See `Demands`.
        """
        return cls(
            cell=cell,
            lower=lower,
            upper=upper,
            starts=np.zeros(len(cell) + 1, np.int64),
            known=np.zeros(0, np.int64),
            fall=np.zeros(0),
            rise=np.zeros(0),
        )

    def __len__(self) -> int:
        return len(self.cell)

    def joined(self, other: Demands) -> Demands:
        """Return these and other demands.

        Parameters
        ----------
        other
            The others, which get the higher numbers.

        Examples
        --------
        >>> one = Demands.of_outsider(np.array([3]), lower=np.ones(1), upper=np.ones(1))
        >>> len(one.joined(one))
        2
        """
        both = {
            name: np.concatenate([getattr(self, name), getattr(other, name)])
            for name in ("cell", "lower", "upper", "known", "fall", "rise")
        }
        starts = np.append(self.starts, other.starts[1:] + self.starts[-1])
        return Demands(starts=starts, **both)

    def after(self, number: int) -> Demands:
        """Return the demands from a number on.

        Parameters
        ----------
        number
            How many are left out.

        Examples
        --------
        >>> one = Demands.of_outsider(np.array([3]), lower=np.ones(1), upper=np.ones(1))
        >>> len(one.joined(one).after(1))
        1
        """
        part = slice(int(self.starts[number]), None)
        return Demands(
            cell=self.cell[number:],
            lower=self.lower[number:],
            upper=self.upper[number:],
            starts=self.starts[number:] - self.starts[number],
            known=self.known[part],
            fall=self.fall[part],
            rise=self.rise[part],
        )

    def known_to(self, demand: int) -> slice:
        """Return where `known`, `fall` and `rise` tell what the reader of a demand knows.

        Parameters
        ----------
        demand
            Its number.

        Examples
        --------
        See `Demands`.
        """
        return slice(int(self.starts[demand]), int(self.starts[demand + 1]))

    def limited(self, demand: int, down: Floats, up: Floats) -> tuple[Floats, Floats]:
        """Return how far cells may fall and rise for the reader of a demand.

        Parameters
        ----------
        demand
            Its number.
        down, up
            How far all cells may for an outsider.

        Examples
        --------
        See `Demands`.
        """
        part = self.known_to(demand)
        if part.start == part.stop:
            return down, up
        down, up = down.copy(), up.copy()
        cells = self.known[part]
        down[cells] = np.minimum(down[cells], self.fall[part])
        up[cells] = np.minimum(up[cells], self.rise[part])
        return down, up

    def of_cells(self, cells: Integers) -> tuple[Integers, Integers]:
        """List the demands for some cells, and for each the place of its cell among them.

        Parameters
        ----------
        cells
            Rising.

        Examples
        --------
        >>> one = Demands.of_outsider(np.array([3]), lower=np.ones(1), upper=np.ones(1))
        >>> one.of_cells(np.array([2, 3]))
        (array([0]), array([1]))
        """
        order, sorted_cells = self._by_cell
        starts = np.searchsorted(sorted_cells, cells)
        sizes = np.searchsorted(sorted_cells, cells, side="right") - starts
        before = np.repeat(np.cumsum(sizes) - sizes, sizes)
        places = order[np.repeat(starts, sizes) + np.arange(sizes.sum()) - before]
        return places, np.repeat(np.arange(len(cells)), sizes)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Problem:
    """A table, the cells of it that must not be published, and what it costs to hide others.

    Parameters
    ----------
    relations
        Which cells add up to which.
    values
        Of every cell; none negative, unless `Primary.floor` says that readers know it may be.
    primary
        The primary cells and the protection that they need.
    costs
        What it costs to hide a cell: ``"value"``, ``"one"``, or a number of 0 or more for each.
    kept
        Cells that are published whatever it costs.
    coalition
        How many contributors may join what they know: 0, 1 or 2; of primary cells that come
        with `Primary.contributions`.
    insiders
        Demands against readers who know something of other cells, beside those against
        outsiders; `ckm.methods.suppression.attackers` finds those of contributors.
    unseen
        Cells that no table shows, which only link others.
    hides_zeros
        Cells of value 0 may be hidden, too.

    Raises
    ------
    ConfigError
        If the parts do not fit together; all problems are named.

    Notes
    -----
    Unless `hides_zeros`, cells of value 0 are published: a reader who knows that no value is
    negative learns from a hidden zero that it is free to rise alone, which protects nothing
    below it, and offices keep their zeros.

    Examples
    --------
    >>> from ckm.methods.suppression import Frequency, Grid, Relations, primary_cells
    >>> counts = np.array([9, 1, 8])
    >>> problem = Problem(
    ...     relations=Relations.of_grids([Grid.full([[-1, 0, 0]])]),
    ...     values=counts,
    ...     primary=primary_cells([Frequency(least=3)], counts=counts),
    ... )
    >>> problem, problem.is_open
    (Problem(3 cells, 1 primary), array([ True, False,  True]))
    """

    relations: Relations
    values: ArrayLike
    primary: Primary
    costs: ArrayLike = "value"
    kept: ArrayLike | None = None
    coalition: int = 0
    insiders: Demands | None = None
    unseen: ArrayLike | None = None
    hides_zeros: bool = False
    value: Floats = field(init=False)
    #: how far readers believe each cell may fall, and rise
    room: Floats = field(init=False)
    rise: Floats = field(init=False)
    cost: Floats = field(init=False)
    must_hide: Flags = field(init=False)
    is_open: Flags = field(init=False)
    demands: Demands = field(init=False)

    def __post_init__(self) -> None:
        n = self.relations.n_cells
        value = np.asarray(self.values)
        is_signed = bool(np.any(np.asarray(self.primary.floor) < 0))
        problems = _number_problems(value, n, "values", is_signed=is_signed)
        if is_signed and self.coalition:
            problems.append(Message("coalition is for values that are not negative"))
        is_name = isinstance(self.costs, str)
        cost = _costs(self.costs, value) if is_name and not problems else np.asarray(self.costs)
        if not is_name or not problems:
            problems += _number_problems(cost, n, "costs")
        if self.coalition not in {0, 1, 2}:
            problems.append(
                Message(
                    "coalition must be 0, 1 or 2, not {coalition!r}",
                    coalition=Argument(self.coalition),
                )
            )
        for name in ("kept", "unseen"):
            mask = getattr(self, name)
            if mask is not None and (np.shape(mask) != (n,) or np.asarray(mask).dtype != bool):
                problems.append(
                    Message(
                        "{name} must be true or false for each of the {number:,} cells",
                        name=Name(name),
                        number=n,
                    )
                )
        for name in ("is_primary", "lower", "upper"):
            part = np.asarray(getattr(self.primary, name))
            if part.shape != (n,):
                problems.append(
                    Message("primary.{name} must have one entry for each cell", name=Name(name))
                )
            elif not (np.isfinite(part) & (part >= 0)).all():
                problems.append(
                    Message("primary.{name} must be finite and not negative", name=Name(name))
                )
        problems = problems or self._bound_problems(value)
        if problems:
            raise ConfigError(
                Message(
                    "Nothing can be suppressed: {problems}.", problems=joined("; ", problems)
                )
            )
        self._fill(value.astype(np.float64), cost.astype(np.float64))

    def _bound_problems(self, value: NDArray[Any]) -> list[str]:
        floor, ceiling = np.asarray(self.primary.floor), np.asarray(self.primary.ceiling)
        shapes = {(), value.shape}
        if floor.shape not in shapes or np.isnan(floor).any():
            return [Message("primary.floor must be one number, or one for each cell")]
        if (floor > value).any():
            return [Message("primary.floor must not be above the values")]
        if ceiling.shape not in shapes or not (ceiling >= value).all():
            return [
                Message(
                    "primary.ceiling must be one number or one for each cell, none below it"
                )
            ]
        return []

    def _fill(self, value: Floats, cost: Floats) -> None:
        scale = max(1.0, float(np.abs(value).max(initial=0.0)))
        off = np.abs(self.relations.residuals(value)) > _ADDS_UP * scale
        if off.any():
            entries = off[self.relations.rows] & (self.relations.signs > 0)
            cells = self.relations.cells[entries][:_MAX_NAMED].tolist()
            raise ConfigError(
                Message(
                    "{sum:,} totals are not the sum of their parts, such as cell {cells}.",
                    sum=int(off.sum()),
                    cells=Enumeration(" and ", list(cells)),
                ),
                hint=Message("suppression needs additive tables: true numbers, not noisy ones"),
            )
        is_primary = self.primary.is_primary
        none = np.zeros(len(value), bool)
        visible = none if self.kept is None else np.asarray(self.kept)
        is_unseen = none if self.unseen is None else np.asarray(self.unseen)
        if (visible & is_primary).any():
            raise ConfigError(Message("A cell cannot be both primary and kept."))
        must_hide = is_primary | is_unseen
        object.__setattr__(self, "value", value)
        object.__setattr__(self, "room", value - self._floor())
        ceiling = np.broadcast_to(np.asarray(self.primary.ceiling, np.float64), value.shape)
        object.__setattr__(self, "rise", ceiling - value)
        object.__setattr__(self, "cost", np.where(is_unseen, 0.0, cost))
        object.__setattr__(self, "must_hide", must_hide)
        is_open = ((value != 0) | self.hides_zeros) & ~visible & ~must_hide
        object.__setattr__(self, "is_open", is_open)
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
        """List every primary cell, and what insiders must not find."""
        cells = np.flatnonzero(self.primary.is_primary)
        lower = np.minimum(self.primary.lower[cells], self.room[cells])
        demands = Demands.of_outsider(cells, lower=lower, upper=self.primary.upper[cells])
        return demands if self.insiders is None else demands.joined(self.insiders)

    def __repr__(self) -> str:
        n = int(self.primary.is_primary.sum())
        return f"Problem({self.relations.n_cells} cells, {n} primary)"


def _number_problems(
    numbers: NDArray[Any], n: int, name: str, *, is_signed: bool = False
) -> list[str]:
    if numbers.shape != (n,):
        return [
            Message(
                "{name} must be one number for each of the {number:,} cells",
                name=Name(name),
                number=n,
            )
        ]
    if numbers.dtype.kind not in "biuf" or not np.isfinite(numbers.astype(np.float64)).all():
        return [Message("{name} must be finite numbers", name=Name(name))]
    if not is_signed and (numbers < 0).any():
        return [Message("{name} must not be negative", name=Name(name))]
    return []


def _costs(word: object, value: NDArray[Any]) -> NDArray[Any]:
    if word == "value":
        return np.asarray(np.abs(value))
    if word == "one":
        return np.ones(len(value))
    raise ConfigError(
        Message("costs must be 'value', 'one' or numbers, not {word!r}.", word=Argument(word))
    )


def ranges(starts: Integers, numbers: Integers, entries: Integers) -> Integers:
    """Collect the entries of some rows, one row after another."""
    sizes = starts[numbers + 1] - starts[numbers]
    before = np.repeat(np.cumsum(sizes) - sizes, sizes)
    values: Integers = entries[
        np.repeat(starts[numbers], sizes) + np.arange(sizes.sum()) - before
    ]
    return values
