"""How numbers are drawn within wide noisy cells, and beyond the last that stands out.

All of it is made of noisy counts that were paid for, bounds and cells: post-processing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from footing.arrays import AnyIntegers, Flags, Floats, Integers
from footing.messages import Message
from synth.errors import SynthError
from synth.marginals.drawing import places_of
from synth.schema.columns import Date, Numeric

if TYPE_CHECKING:
    from synth.schema.grid import Grid

#: Scales of its noise from which on a cell stands out: of 100 empty columns of 64 cells, one.
STANDS_OUT = 3.6
_FAR = 8.0  # how many times as far as the last cell that stands out the bound must be
_STEEPEST = 6.0  # of the density in a cell, as a power of the distance from 0
_RISING = -2.0
_ALIKE = 20  # a neighbour is no heap if it is not this many times as narrow
_MANY = 8  # numbers of a tail, from which on they are spread evenly
_LEAST_CELLS = 3  # that a tail is fitted to
_BEND = 0.2  # how much the exponent of a tail may change with the logarithm of the distance
_TAIL_SHARE = 0.2  # of the records on a side, from which a tail is fitted
_EXPONENTS = (1.05, 8.0)  # of a fitted tail


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """What is drawn beyond the last cell that stands out, on one side of zero.

    Parameters
    ----------
    edge, limit
        Distances from zero where it begins, and where the declared bounds end.
    exponent
        Of a Pareto distribution from edge to limit; 0 where everything lies at the edge.
    part
        The part of the records of these cells that the distribution explains.
    start
        From where on the others are drawn, by the same distribution: they are noise.
    beyond
        The distance from zero where the last cell that stands out ends.

    Examples
    --------
    >>> tail = Tail(edge=100, limit=10_000, exponent=1.5, start=100, beyond=500)
    >>> tail.draw(np.array([0.0, 0.5, 0.99])).tolist()
    [100.0, 159.0, 2040.0]
    """

    edge: int
    limit: int
    exponent: float
    start: int
    beyond: int
    part: float = 1.0

    def draw(self, places: Floats) -> Floats:
        """Return the distances from zero at some quantiles."""
        if not self.exponent:
            return np.full(len(places), float(self.edge))
        is_noise = places < 1 - self.part
        width = np.where(is_noise, 1 - self.part, self.part)
        places = np.where(is_noise, places, places - (1 - self.part)) / np.maximum(width, 1e-12)
        first = np.where(is_noise, self.start, self.edge)
        ratio = ((first + 1) / (self.limit + 2)) ** self.exponent
        y = (first + 1) * (1 - places * (1 - ratio)) ** (-1 / self.exponent)
        return np.asarray(np.clip(np.floor(y) - 1, first, self.limit))

    def mean(self, most: float) -> float:
        """Return the mean distance from zero, each `most` at most."""
        if not self.exponent:
            return min(float(self.edge), most)
        first = np.array([self.edge, self.start], float)
        ends = first, np.full(2, float(self.limit))
        means = _means(*ends, np.full(2, self.exponent + 1), most)
        return float(means @ [self.part, 1 - self.part])

    def share_beyond(self) -> float:
        """Return the part of the tail that lies beyond the last cell that stands out."""
        if not self.exponent:
            return 1.0
        first = np.array([self.edge, self.start], float) + 1
        rest = (self.limit + 2.0) ** -self.exponent
        heights = first**-self.exponent - rest
        out = max((self.beyond + 1.0) ** -self.exponent - rest, 0.0)
        return float(np.minimum(out / heights, 1.0) @ [self.part, 1 - self.part])

    def mean_beyond(self) -> float:
        """Return the mean distance from zero beyond the last cell that stands out."""
        if not self.exponent:
            return float(self.edge)
        ends = np.array([min(self.beyond, self.limit)], float), np.array([self.limit], float)
        return float(_means(*ends, np.array([self.exponent + 1]), np.inf)[0])


@dataclass(frozen=True, kw_only=True, eq=False)
class NumberLaw:
    """How the numbers of one column are drawn, given their cells.

    Parameters
    ----------
    lows, highs
        The first and the last number of each cell.
    exponents
        Of each cell: within it chances fall with this power of the distance from zero; 0 where
        they are even.
    upper, lower
        What lies beyond the last cells that stand out, above and below; None where all is drawn
        in its cell.
    shift
        What is added to the exponents so that a total is met.

    Examples
    --------
    >>> law = NumberLaw(lows=np.array([0, 10]), highs=np.array([9, 99]), exponents=np.zeros(2))
    >>> law.means().tolist()
    [4.5, 54.5]
    """

    lows: Integers
    highs: Integers
    exponents: Floats
    upper: Tail | None = None
    lower: Tail | None = None
    shift: float = 0.0

    @cached_property
    def ends(self) -> tuple[Floats, Floats]:
        """The nearest and the farthest distance from zero of each cell."""
        low, high = self.lows.astype(float), self.highs.astype(float)
        is_below = self.sides < 0
        return np.where(is_below, -high, low), np.where(is_below, -low, high)

    @cached_property
    def sides(self) -> Integers:
        """1 for a cell above zero, -1 for one below, 0 for one that has both."""
        return np.where(self.lows >= 0, 1, np.where(self.highs <= 0, -1, 0))

    @cached_property
    def beyond(self) -> tuple[Flags, Flags]:
        """The cells that lie in the upper and in the lower tail."""
        near, _ = self.ends
        upper = np.zeros(len(near), bool)
        lower = upper.copy()
        if self.upper is not None:
            upper = (self.sides > 0) & (near >= self.upper.edge)
        if self.lower is not None:
            lower = (self.sides < 0) & (near >= self.lower.edge)
        return upper, lower

    def moved(self, shift: float) -> Floats:
        """Return the exponents with a shift, of cells that are wide."""
        return np.where(self.exponents == 0, 0.0, self.exponents + shift)

    def means(self, *, most: float = np.inf, least: float = -np.inf) -> Floats:
        """Return the mean number of each cell, or of its tail, cut off at two limits."""
        near, far = self.ends
        caps = np.where(self.sides < 0, -least, most)
        means = self.sides * _means(near, far, self.moved(self.shift), caps)
        mixed = self.sides == 0
        if mixed.any():
            ends = zip(self.lows[mixed], self.highs[mixed], strict=True)
            grids = [np.clip(np.linspace(low, high, 201), least, most) for low, high in ends]
            means[mixed] = [grid.mean() for grid in grids]
        for tail, cells, cap, sign in zip(
            (self.upper, self.lower), self.beyond, (most, -least), (1, -1), strict=True
        ):
            if tail is not None:
                means[cells] = sign * _shifted(tail, self.shift).mean(cap)
        return np.asarray(means)

    def draw(self, codes: AnyIntegers, *, rng: np.random.Generator) -> Integers:
        """Return a number for each code, spread evenly over the quantiles of its cell."""
        cells = np.minimum(codes, len(self.lows) - 1).astype(np.int64)
        rows = cells.copy()
        for tail in self.beyond:  # the cells of a tail are one
            if tail.any():
                rows[tail[cells]] = np.flatnonzero(tail)[0]
        places = places_of(rows, len(self.lows), rng)
        near, far = (end[cells] for end in self.ends)
        distances = _quantiles(near, far, self.moved(self.shift)[cells], places)
        for one, flags in zip((self.upper, self.lower), self.beyond, strict=True):
            if one is not None:
                there = flags[cells]
                distances[there] = _shifted(one, self.shift).draw(_steadied(places[there]))
        sides = self.sides[cells]
        numbers = np.where(sides < 0, -distances, distances)
        inner = self.lows[cells] + np.floor(places * (self.highs[cells] - self.lows[cells] + 1))
        return np.where(sides == 0, inner, numbers).astype(np.int64)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        tails = {
            name: None if one is None else
            {part.name: getattr(one, part.name) for part in fields(Tail)}
            for name, one in (("upper", self.upper), ("lower", self.lower))
        }  # fmt: skip
        return {"exponents": self.exponents.tolist(), **tails, "shift": self.shift}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], grid: Grid) -> Self:
        """Read what `to_dict` gave, for the cells of a column."""
        cells = np.array(grid.cells(), np.int64)
        exponents = np.array(content["exponents"], np.float64)
        kinds: dict[str, type] = {"exponent": float, "part": float}
        tails: dict[str, Any] = {"upper": None, "lower": None}
        for side in tails:
            if (one := content[side]) is not None:
                parts: dict[str, Any] = {
                    part.name: kinds.get(part.name, int)(one[part.name])
                    for part in fields(Tail)
                }
                tails[side] = Tail(**parts)
        law = cls(
            lows=cells[:, 0], highs=cells[:, 1], exponents=exponents, **tails,
            shift=float(content["shift"]),
        )  # fmt: skip
        ends = [(t.start, t.edge, t.limit) for t in tails.values() if t is not None]
        reach = max(abs(int(cells[0, 0])), abs(int(cells[-1, 1])))
        if len(exponents) != len(cells) or not np.isfinite(exponents).all() or not all(
            0 <= start <= edge <= limit <= reach for start, edge, limit in ends
        ):  # fmt: skip
            raise SynthError(Message("How numbers are drawn does not fit the cells."))
        return law


def law_of(column: Numeric, counts: Floats, *, scale: float) -> NumberLaw | None:
    """Return how to draw the numbers of a column, from noisy counts of its cells.

    Parameters
    ----------
    column
        The column, with its cells.
    counts
        What a model expects in each cell.
    scale
        Scale of the noise of such a count.
    """
    if isinstance(column, Date) or column.law != "fitted":
        return None
    cells = np.array(column.grid.cells(), np.int64)
    counts = np.maximum(counts[: len(cells)], 0.0)
    law = NumberLaw(lows=cells[:, 0], highs=cells[:, 1], exponents=np.zeros(len(cells)))
    law = replace(law, exponents=_slopes(law, counts, scale))
    stands = counts > STANDS_OUT * scale
    tails: dict[str, Tail | None] = {}
    exponents = law.exponents.copy()
    for name, side in (("upper", 1), ("lower", -1)):
        places = np.flatnonzero(law.sides == side)
        if not len(places) or not stands.any():
            continue
        outwards = places if side > 0 else places[::-1]
        tails[name], power = _tail(law, outwards, counts, stands, scale)
        last = outwards[stands[outwards]][-1:]
        if power and len(last) and exponents[last[0]]:
            exponents[last[0]] = power + 1  # the last cell has the law of the tail
    if not exponents.any() and not any(tails.values()):
        return None
    return replace(law, exponents=exponents, upper=tails.get("upper"), lower=tails.get("lower"))


def _tail(
    law: NumberLaw, outwards: Integers, counts: Floats, stands: Flags, scale: float
) -> tuple[Tail | None, float]:
    """Return the tail of one side, and the exponent fitted to the cells that stand out."""
    near, far = (end[outwards] for end in law.ends)
    masses = counts[outwards]
    some = np.flatnonzero(stands[outwards])
    limit = int(far[-1])
    if not len(some):  # nothing stands out on this side: all of it is noise, at its edge
        edge = int(near[0])
        return (_at_edge(edge, limit) if limit > edge + 1 else None), 0.0
    last = int(some[-1])
    exponent, first, survival = _pareto(near, far, masses, last, scale)
    beyond = int(far[last]) + 1
    is_wide = law.exponents[outwards[last]] != 0
    # What follows from the fit beyond the cells that stand out; what is counted there is noise.
    cut = last if is_wide and exponent else last + 1
    is_far = cut < len(outwards) and limit > _FAR * max(int(near[cut]), 1)
    if not is_far or (far[cut:] == near[cut:]).all():  # few numbers, which noise moves little
        return None, exponent
    if not exponent:
        return _at_edge(beyond, limit), 0.0
    heights = survival(np.array([near[cut], far[last] + 1, limit + 1]))
    tail_mass = masses[first : last + 1].sum() * (heights[0] - heights[2]) / (1 - heights[1])
    tail_mass = min(tail_mass, masses[cut : last + 1].sum() + 2 * masses[cut:].sum())
    part = min(float(tail_mass / max(masses[cut:].sum(), 1e-9)), 1.0)
    tail = Tail(
        edge=int(near[cut]), limit=limit, exponent=exponent, start=int(near[first]),
        beyond=min(beyond, limit), part=part,
    )  # fmt: skip
    return tail, exponent


def _at_edge(edge: int, limit: int) -> Tail:
    return Tail(edge=edge, limit=limit, exponent=0.0, start=edge, beyond=edge)


def _pareto(
    near: Floats, far: Floats, masses: Floats, last: int, scale: float
) -> tuple[float, int, Callable[[Floats], Floats]]:
    """Return the exponent that fits at the last cell that stands out, and the first cell used.

    The exponent is 0 where cells are few. Third is the share of the records from the first cell
    on that lie farther than some distances.

    Notes
    -----
    Survivors fall with ``exp(-a l - b l**2 / 2)``, ``l`` the logarithm of the distance: as
    Pareto's distribution where ``b`` is 0, about as a lognormal one where it is above. A ``b``
    has to be worth its price. The exponent is that at the edge, and a mean step farther.
    """
    from scipy.optimize import minimize

    survivors = np.cumsum(masses[: last + 1][::-1])[::-1]
    positive = np.flatnonzero(near[: last + 1] > 0)
    if len(positive) < _LEAST_CELLS:
        return 0.0, last, np.zeros_like
    goal = max(_TAIL_SHARE * survivors[positive[0]], 8 * survivors[last])
    few = np.flatnonzero(survivors <= goal)
    first = max(min(int(few[0]), last - _LEAST_CELLS + 1), int(positive[0]))
    some, start = masses[first : last + 1], float(near[first]) + 1
    steps = np.log((np.append(near[first : last + 1], far[last] + 1) + 1) / start)
    variances = some + scale**2 + 1

    def loss(values: Floats) -> float:
        heights = np.exp(-values[0] * steps - values[1] * steps**2 / 2)
        parts = heights[:-1] - heights[1:]
        misses = some - some.sum() * parts / max(parts.sum(), 1e-300)
        return float((misses**2 / variances).sum() + (values[1] / _BEND) ** 2)

    bounds = [(0.1, _EXPONENTS[1]), (0.0, 2.0)]
    power, bend = minimize(loss, [1.5, 0.05], bounds=bounds, method="L-BFGS-B").x.tolist()

    def survival(distances: Floats) -> Floats:
        far_steps = np.log((distances + 1) / start)
        return np.asarray(np.exp(-power * far_steps - bend * far_steps**2 / 2))

    at_edge = max(power + bend * float(np.log((near[last] + 1) / start)), 0.1)
    return float(np.clip(at_edge + bend / at_edge, *_EXPONENTS)), first, survival


def _slopes(law: NumberLaw, counts: Floats, scale: float) -> Floats:
    """Return by which power of the distance from zero chances fall within each wide cell.

    The densities of neighbours are joined by a power: straight lines of logarithms. Cells
    that do not stand out of their noise tell no slope.
    """
    near, far = law.ends
    widths = far - near + 1
    exponents = np.zeros(len(near))
    for side in (1, -1):
        places = np.flatnonzero(law.sides == side)
        places = places if side > 0 else places[::-1]
        known = counts[places] > scale
        middles = np.log((near[places] + 1) * (far[places] + 2)) / 2
        slopes = np.zeros(len(places))
        for _ in range(3):
            masses = np.maximum(counts[places], 1e-9)
            spans = _integral(near[places] + 1, far[places] + 2, -slopes)
            heights = np.log(masses / spans) - slopes * middles
            for at in range(len(places)):
                if widths[places[at]] < 3:
                    continue
                below = _neighbour(at, -1, widths[places], known)
                above = _neighbour(at, 1, widths[places], known)
                below, above = (at if one is None else one for one in (below, above))
                if below == above or not known[at]:
                    continue
                run = middles[above] - middles[below]
                slopes[at] = np.clip(
                    -(heights[above] - heights[below]) / run, _RISING, _STEEPEST
                )
        wide = widths[places] > 2
        exponents[places] = np.where(wide & (slopes == 0), 1e-6, slopes)
    return exponents


def _neighbour(at: int, step: int, widths: Floats, known: Flags) -> int | None:
    """Return the next cell that is no heap of its own, if it stands out."""
    one = at + step
    while 0 <= one < len(widths):
        if widths[one] * _ALIKE >= widths[at]:
            return one if known[one] else None
        one += step
    return None


def _integral(low: Floats, high: Floats, power: Floats) -> Floats:
    """Return the integrals of powers from low to high, both positive."""
    up = power + 1
    near = np.abs(up) < 1e-9
    safe = np.where(near, 1.0, up)
    ratio = np.log(high / low)
    # low^up * (exp(up * ratio) - 1) / up, without overflow for moderate powers
    return np.where(near, ratio, np.exp(safe * np.log(low)) * np.expm1(safe * ratio) / safe)


def _means(near: Floats, far: Floats, exponents: Floats, most: Any) -> Floats:
    """Return means of distances in cells, each `most` at most."""
    low, high = near.astype(float) + 1, far.astype(float) + 2
    low, high = np.maximum(low, 1.0), np.maximum(high, low + 1)
    cap = np.clip(np.asarray(most, float) + 1.5, low, high)
    scale = low  # ratios keep powers small
    a, b, c = low / scale, high / scale, cap / scale
    whole = _integral(a, b, -exponents)
    inner = _integral(a, c, 1 - exponents) + c * _integral(c, b, -exponents)
    means = inner / whole * scale - 1.5
    return np.asarray(np.minimum(np.clip(means, near, far), most))


def _quantiles(near: Floats, far: Floats, exponents: Floats, places: Floats) -> Floats:
    """Return distances at some quantiles of the powers in cells."""
    low, high = np.maximum(near.astype(float) + 1, 1.0), far.astype(float) + 2
    high = np.maximum(high, low + 1)
    up = 1 - exponents
    flat = np.abs(up) < 1e-9
    safe = np.where(flat, 1.0, up)
    ratio = np.log(high / low)
    steps = np.where(flat, places * ratio, np.log1p(places * np.expm1(safe * ratio)) / safe)
    return np.asarray(np.clip(np.floor(low * np.exp(steps)) - 1, near, far))


def _steadied(places: Floats) -> Floats:
    """Return places near the middles of their steps, that of the last near its mean.

    The largest of many numbers of a heavy tail would else make the total by chance alone: half
    a step from its end it is right in the median, a fifth of a step from it in the mean.
    """
    number = len(places)
    if number < _MANY:
        return places
    ranks = np.floor(places * number)
    dither = places * number - ranks
    steps = np.where(ranks == number - 1, 0.75 + dither / 10, 0.35 + 0.3 * dither)
    return np.asarray((ranks + steps) / number)


def _shifted(tail: Tail, shift: float) -> Tail:
    if not tail.exponent or not shift:
        return tail
    # Where little is known beyond, a total that was cut off says nothing for a heavier tail.
    return replace(tail, exponent=tail.exponent + max(shift, 0.0))
