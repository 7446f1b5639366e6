"""Many tables of the same records together: least squares over all their cells at once.

Whoever may ask for tables asks for all of them. The tables lie in a lattice: each shows every
variable at one level, its finest or a coarser one up to the total, and all are sums of the same
joint cells.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from footing.arrays import Flags, Floats, Integers, Levels
from footing.messages import Message
from risk.errors import RiskError

#: So many joint cells are held at most.
MAX_JOINT = 20_000_000
_STEPS = (40, 100)
_PASSES = 3
_ENOUGH = 20


class Lattice:
    """Sums of joint cells, table by table.

    Parameters
    ----------
    groups
        For every variable and level, finest first: the category at this level of each finest
        category. The last level is the total.
    tables
        Combinations of levels, one level for each variable.

    Raises
    ------
    RiskError
        If the joint cells are too many to hold.
    """

    def __init__(self, groups: Sequence[Sequence[Integers]], tables: Sequence[Levels]) -> None:
        self.groups = groups
        self.sizes = [[int(codes.max(initial=0)) + 1 for codes in one] for one in groups]
        self.shape = tuple(len(one[0]) for one in groups)
        self.tables = tuple(dict.fromkeys(tables))
        joint = int(np.prod([float(size) for size in self.shape]))
        if joint > MAX_JOINT:
            raise RiskError(
                Message(
                    "All variables together have {joint:,} cells, more than {max_joint:,}.",
                    joint=joint,
                    max_joint=MAX_JOINT,
                ),
                hint=Message(
                    "look at a sample of areas, or at fewer variables, or keep two large ones "
                    "apart: exclusive in [rules]"
                ),
            )
        # Level by level of one variable after the other, so that tables share their sums.
        finest = (0,) * len(groups)
        self._above: dict[Levels, tuple[Levels, int]] = {}
        for table in self.tables:
            below = finest
            for axis, level in enumerate(table):
                here = (*below[:axis], level, *below[axis + 1 :])
                if level:
                    self._above.setdefault(here, (below, axis))
                below = here

    def shape_of(self, table: Levels) -> tuple[int, ...]:
        """Give the number of categories of each variable in a table."""
        return tuple(sizes[level] for sizes, level in zip(self.sizes, table, strict=True))

    def codes(self, axis: int, below: int, above: int) -> Integers | None:
        """Give the category at a level of each at one below; None where they do not nest."""
        low, high = self.groups[axis][below], self.groups[axis][above]
        codes = np.zeros(self.sizes[axis][below], np.int64)
        codes[low] = high
        return codes if (codes[low] == high).all() else None

    def sums(self, joint: NDArray[Any]) -> dict[Levels, NDArray[Any]]:
        """Add joint cells up to every table."""
        sums = {(0,) * joint.ndim: joint}
        for table, (below, axis) in self._above.items():
            sums[table] = self._raised(sums[below], axis, table[axis])
        return {table: sums[table] for table in self.tables}

    def spread(self, tables: Mapping[Levels, Floats]) -> Floats:
        """Give each joint cell the sum over all cells that it is part of (the adjoint)."""
        every = (0,) * len(self.shape)
        sums = {table: values.astype(np.float64) for table, values in tables.items()}
        for table, (below, axis) in reversed(self._above.items()):
            if table in sums:
                part = np.take(sums[table], self.groups[axis][table[axis]], axis=axis)
                sums[below] = sums[below] + part if below in sums else part
        return sums.get(every, np.zeros(self.shape))

    def _raised(self, values: NDArray[Any], axis: int, level: int) -> NDArray[Any]:
        return added(values, self.groups[axis][level], axis=axis)


def added(values: NDArray[Any], codes: Integers, *, axis: int) -> NDArray[Any]:
    """Add up along an axis what has the same code; every code up to the largest occurs."""
    if (np.diff(codes) < 0).any():
        order = np.argsort(codes, kind="stable")
        codes, values = codes[order], values.take(order, axis=axis)
    starts = np.searchsorted(codes, np.arange(codes.max(initial=0) + 1))
    sums: NDArray[Any] = np.add.reduceat(values, starts, axis=axis)
    return sums


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Shown:
    """What a table shows.

    Parameters
    ----------
    published
        Its counts, as published.
    is_shown
        Which of them are published at all; the others may hold anything.
    """

    published: Integers
    is_shown: Flags

    def mapped(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> Shown:
        """Change both arrays alike."""
        return Shown(published=change(self.published), is_shown=change(self.is_shown))


def most_probable_counts(
    lattice: Lattice,
    published_cells: Mapping[Levels, Shown],
    *,
    variance: float,
    progress: Callable[[int, int], None] | None = None,
) -> dict[Levels, Floats]:
    """Fit joint cells to all published counts together, and return what they add up to.

    Parameters
    ----------
    lattice, shown
        The tables, and what they show.
    variance
        The variance of the noise of a count.
    progress
        Called with the steps done and the most there are.

    Returns
    -------
    dict
        For every table the fitted counts, not rounded.

    Notes
    -----
    The joint cells ``x`` that maximise the likelihood of all published counts ``p`` under
    normal noise of variance ``s``, times a Poisson prior whose means ``m`` are those of
    independent variables: they make ``|Ax - p|^2 / 2s + sum(x log(x / m) - x)`` least. The dual
    has a price ``y`` for each published count, ``x = m exp(A'y)``, and is smooth with the
    gradient ``Ax + s y - p``. Without the prior, least squares fit the noise where the tables
    say little, and find fewer counts.

    References
    ----------
    Csiszár 1975, I-divergence geometry of probability distributions and minimization problems;
    Liu, Nocedal 1989, On the limited memory BFGS method.
    """
    from scipy import optimize
    from threadpoolctl import threadpool_limits

    minimize: Any = optimize.minimize  # its stubs know no L-BFGS with arguments

    means = _independent(lattice, published_cells)
    published = _flat(
        {table: one.published for table, one in published_cells.items()}, published_cells
    )
    multipliers = np.zeros(len(published))
    done = 0

    def joint(all_multipliers: Floats) -> Floats:
        cells: Floats = means * np.exp(
            np.minimum(lattice.spread(_tables(all_multipliers, published_cells)), 50)
        )
        return cells

    def dual(scaled: Floats, scale: Floats) -> tuple[float, Floats]:
        y = scaled * scale
        x = joint(y)
        gradient = _flat(lattice.sums(x), published_cells) + variance * y - published
        return float(x.sum() - published @ y + variance / 2 * (y @ y)), gradient * scale

    def tell(_: Floats) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(min(done, sum(_STEPS)), sum(_STEPS))

    for steps in _STEPS:  # a price moves its count by about as much as the count and the noise
        scale = 1 / np.sqrt(_flat(lattice.sums(joint(multipliers)), published_cells) + variance)
        with threadpool_limits(limits=1):  # its small matrices are slower with several
            solution = minimize(
                dual,
                multipliers / scale,
                (scale,),
                method="L-BFGS-B",
                jac=True,
                callback=tell,
                options={"maxiter": steps, "maxcor": 30},
            )
        multipliers = scale * solution.x
    return lattice.sums(joint(multipliers))


def _flat(
    tables: Mapping[Levels, NDArray[Any]], published_cells: Mapping[Levels, Shown]
) -> Floats:
    """Put the published cells of all tables behind each other."""
    return np.concatenate(
        [tables[table][one.is_shown] for table, one in published_cells.items()]
    ).astype(np.float64)


def _tables(values: Floats, published_cells: Mapping[Levels, Shown]) -> dict[Levels, Floats]:
    """Put values of published cells into their tables, 0 elsewhere."""
    tables, start = {}, 0
    for table, one in published_cells.items():
        tables[table] = np.zeros(one.is_shown.shape)
        stop = start + int(one.is_shown.sum())
        tables[table][one.is_shown] = values[start:stop]
        start = stop
    return tables


def _independent(lattice: Lattice, published_cells: Mapping[Levels, Shown]) -> Floats:
    """Return the joint cells of independent variables, from the tables of one variable each."""
    top_level = tuple(len(one) - 1 for one in lattice.groups)
    of_one = [
        [
            (published_cells[table], groups[level])
            for level in reversed(range(top))
            if (table := (*top_level[:axis], level, *top_level[axis + 1 :])) in published_cells
        ]
        for axis, (top, groups) in enumerate(zip(top_level, lattice.groups, strict=True))
    ]
    sums = [int(s.published[s.is_shown].sum()) for some in of_one for s, _ in some]
    total = (
        float(
            published_cells[top_level].published.sum()
            if top_level in published_cells
            else max(sums, default=1)
        )
        or 1.0
    )
    shares = []
    for axis, size in enumerate(lattice.shape):
        part = np.full(size, total / size)
        for one, codes in of_one[axis] * _PASSES:  # levels that do not nest are fitted in turn
            part *= (_wanted(one, added(part, codes, axis=0), total))[codes]
        shares.append(part / part.sum())
    return functools.reduce(np.multiply.outer, shares, np.array(total))


def _wanted(cells: Shown, sums: Floats, total: float) -> Floats:
    """Return by what to multiply sums; what is not shown has the rest of the total."""
    is_shown = cells.is_shown.ravel()
    targets = np.maximum(cells.published.ravel(), 0.5)
    rest = max(total - float(targets[is_shown].sum()), 0.5 * int((~is_shown).sum()))
    share = rest / max(float(sums[~is_shown].sum()), 1e-9)
    return np.where(is_shown, targets / np.maximum(sums, 1e-9), share)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Numbers of what is found, which add up one by one."""

    def __add__(self, other: Self) -> Self:
        names = [field.name for field in fields(self)]
        return type(self)(**{n: getattr(self, n) + getattr(other, n) for n in names})


@dataclass(frozen=True, slots=True, kw_only=True)
class Found(Tally):
    """How many small counts are found from cells that look alike.

    Of a cell with fewer than 20 others like it nobody is taken to be sure, though some of these
    are guessed best.

    Parameters
    ----------
    n_small
        How many published cells hold between 1 and the largest small count.
    guessed
        How many cells the best guess takes for small.
    right
        For how many of the small ones the best guess is right.
    sure, sure_wrong
        How often somebody is sure enough that a cell is small, and names its count; how often
        wrongly.
    certain
        Of how many small ones no other count fits what is published.
    """

    n_small: int = 0
    guessed: int = 0
    right: int = 0
    sure: int = 0
    sure_wrong: int = 0
    certain: int = 0

    @property
    def share(self) -> float:
        """The share of small counts that the best guess has right."""
        return self.right / self.n_small if self.n_small else 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Guesses:
    """What is guessed of each cell, arrays of shape ``(n,)``. Disclosive.

    Parameters
    ----------
    is_small
        Whether the cell holds between 1 and the largest small count.
    is_guessed
        Whether the best guess takes it for small.
    is_right
        Whether the best guess is its count, where all that is not small is one answer.
    is_sure
        Whether somebody is sure enough that it is small, and names its count.
    is_certain
        Whether no other count fits the bounds, and it is not large.
    """

    is_small: Flags
    is_guessed: Flags
    is_right: Flags
    is_sure: Flags
    is_certain: Flags

    @property
    def found(self) -> Found:
        """How many small counts are found."""
        return Found(
            n_small=int(self.is_small.sum()),
            guessed=int(self.is_guessed.sum()),
            right=int((self.is_right & self.is_small).sum()),
            sure=int(self.is_sure.sum()),
            sure_wrong=int((self.is_sure & ~self.is_right).sum()),
            certain=int((self.is_certain & self.is_small).sum()),
        )


def guessed_counts(
    truth: Integers,
    guess: Integers,
    clues: Sequence[Integers],
    *,
    small: int,
    confidence: float,
    bounds: tuple[Floats, Floats] | None = None,
) -> Guesses:
    """Guess each count by what is most frequent among other cells with the same clues.

    Parameters
    ----------
    truth
        The true counts, shape ``(n,)``.
    guess
        What to guess where fewer than 20 others have the same clues, shape ``(n,)``.
    clues
        What a reader sees of every cell, arrays of shape ``(n,)``: alike where equal.
    small
        Counts from 1 to this are small.
    confidence
        From which share of the others on a reader is sure.
    bounds
        The least and the largest count of each cell, shape ``(n,)``, where they are known: no
        guess leaves them.

    Notes
    -----
    A reader who knows the p-table can simulate such tables and learn the same frequencies. Each
    cell is left out of the frequencies that its own guess is made by.
    """
    capped = np.minimum(truth, small + 1)  # what is not small is one answer, but for 0
    is_small = (capped >= 1) & (capped <= small)
    if not len(truth):
        return Guesses(**dict.fromkeys((f.name for f in fields(Guesses)), is_small))
    group = np.unique(np.stack([*clues]), axis=1, return_inverse=True)[1].ravel()
    times = np.zeros((int(group.max()) + 1, small + 2), np.int64)
    np.add.at(times, (group, capped), 1)
    others = times[group]
    others[np.arange(len(truth)), capped] -= 1
    n_others = others.sum(axis=1)
    is_known = n_others >= _ENOUGH
    best = np.where(is_known, others.argmax(axis=1), np.clip(guess, 0, small + 1))
    is_certain = np.zeros(len(truth), bool)
    is_sure = is_known & (others.max(axis=1) >= confidence * n_others)
    if bounds is not None:
        lower, upper = (np.minimum(one, small + 1).astype(np.int64) for one in bounds)
        is_certain = (lower == upper) & (upper <= small)
        is_sure = (is_sure & (lower <= best) & (best <= upper)) | is_certain
        best = np.clip(best, lower, upper)
    is_guessed = (best >= 1) & (best <= small)
    return Guesses(
        is_small=is_small,
        is_guessed=is_guessed,
        is_right=best == capped,
        is_sure=is_sure & is_guessed,
        is_certain=is_certain,
    )
