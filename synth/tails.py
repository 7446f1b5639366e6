"""How numbers are drawn within wide noisy cells, and beyond the last that stands out of its noise.

All of it is made of noisy counts that were paid for, bounds and cells: post-processing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
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

#: Scales of its noise from which on a cell stands out: 1 in 100 columns of 64 empty cells has one.
STANDS_OUT = 3.6
_FAR = 2.0  # how many times as far as the last cell that stands out the bound must be
_STEEPEST = 6.0  # of the density in a cell, as a power of the distance from 0
_RISING = -2.0
_ALIKE = 20  # a neighbour is no heap if it is not this many times as narrow
_LEAST_CELLS = 3  # that a tail is fitted to
_TAIL_SHARE = 0.1  # of the records on a side, from which a tail is fitted
_EXPONENTS = (1.05, 8.0)  # of a fitted tail


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """What is drawn beyond the last cell that stands out, on one side of zero.

    Parameters
    ----------
    edge, limit
        Distances from zero where it begins, and where the declared bounds end.
    exponent
        Of a Pareto distribution from the edge to the limit; 0 where everything lies at the edge.
    share
        The share of the records that are drawn there.

    Examples
    --------
    >>> Tail(edge=100, limit=10_000, exponent=1.5, share=0.002).share
    0.002
    """

    edge: int
    limit: int
    exponent: float
    share: float = 0.0

    def draw(self, places: Floats) -> Floats:
        """Return the distances from zero at some quantiles."""
        if not self.exponent:
            return np.full(len(places), float(self.edge))
        ratio = ((self.edge + 1) / (self.limit + 2)) ** self.exponent
        y = (self.edge + 1) * (1 - places * (1 - ratio)) ** (-1 / self.exponent)
        return np.clip(np.floor(y) - 1, self.edge, self.limit)

    def mean(self, most: float) -> float:
        """Return the mean distance from zero, each `most` at most."""
        if not self.exponent:
            return min(float(self.edge), most)
        ends = np.array([self.edge], float), np.array([self.limit], float)
        return float(_means(*ends, np.array([self.exponent + 1]), most)[0])


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

    def means(self, *, most: float = np.inf, least: float = -np.inf, shift: float = 0.0) -> Floats:
        """Return the mean number of each cell, or of the tail it lies in, cut off at two limits."""
        near, far = self.ends
        caps = np.where(self.sides < 0, -least, most)
        means = self.sides * _means(near, far, self.moved(self.shift + shift), caps)
        mixed = self.sides == 0
        if mixed.any():
            grid = [np.clip(np.linspace(a, b, 201), least, most).mean()
                    for a, b in zip(self.lows[mixed], self.highs[mixed], strict=True)]  # fmt: skip
            means[mixed] = grid
        for tail, cells, cap, sign in zip(
            (self.upper, self.lower), self.beyond, (most, -least), (1, -1), strict=True
        ):
            if tail is not None:
                means[cells] = sign * _shifted(tail, self.shift + shift).mean(cap)
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
                distances[there] = _shifted(one, self.shift).draw(places[there])
        sides = self.sides[cells]
        numbers = np.where(sides < 0, -distances, distances)
        inner = self.lows[cells] + np.floor(places * (self.highs[cells] - self.lows[cells] + 1))
        return np.where(sides == 0, inner, numbers).astype(np.int64)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        tails = {
            name: None if one is None else
            {"edge": one.edge, "limit": one.limit, "exponent": one.exponent, "share": one.share}
            for name, one in (("upper", self.upper), ("lower", self.lower))
        }  # fmt: skip
        return {"exponents": self.exponents.tolist(), **tails, "shift": self.shift}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], grid: Grid) -> Self:
        """Read what `to_dict` gave, for the cells of a column."""
        cells = np.array(grid.cells(), np.int64)
        exponents = np.array(content["exponents"], np.float64)
        tails = {
            side: None if (one := content[side]) is None else
            Tail(edge=int(one["edge"]), limit=int(one["limit"]),
                 exponent=float(one["exponent"]), share=float(one["share"]))
            for side in ("upper", "lower")
        }  # fmt: skip
        law = cls(
            lows=cells[:, 0], highs=cells[:, 1], exponents=exponents, **tails,
            shift=float(content["shift"]),
        )  # fmt: skip
        ends = [(t.edge, t.limit) for t in tails.values() if t is not None]
        reach = max(abs(int(cells[0, 0])), abs(int(cells[-1, 1])))
        if len(exponents) != len(cells) or not np.isfinite(exponents).all() or not all(
            0 <= edge <= limit <= reach for edge, limit in ends
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
        tails[name], power = _tail(law, outwards, counts, stands)
        last = outwards[stands[outwards]][-1:]
        if power and len(last) and exponents[last[0]]:
            exponents[last[0]] = power + 1  # the cell before the tail has its law
    if not exponents.any() and not any(tails.values()):
        return None
    total = max(float(counts.sum()), 1e-9)
    law = replace(law, exponents=exponents, **tails)
    shares = [float(counts[flags].sum()) / total for flags in law.beyond]
    both = zip(("upper", "lower"), (law.upper, law.lower), shares, strict=True)
    tails = {name: one and replace(one, share=share) for name, one, share in both}
    return replace(law, **tails)


def _tail(
    law: NumberLaw, outwards: Integers, counts: Floats, stands: Flags
) -> tuple[Tail | None, float]:
    """Return the tail of one side, and the exponent fitted to the cells before it."""
    near, far = (end[outwards] for end in law.ends)
    masses = counts[outwards]
    some = np.flatnonzero(stands[outwards])
    limit = int(far[-1])
    if not len(some):  # nothing stands out on this side: all of it is noise, at its edge
        edge = int(near[0])
        return (Tail(edge=edge, limit=limit, exponent=0.0) if limit > edge + 1 else None), 0.0
    last = int(some[-1])
    exponent = _pareto(near, far, masses, last)
    if last + 1 == len(outwards):
        return None, exponent
    edge = int(near[last + 1])
    if limit <= _FAR * max(edge, 1):
        return None, 0.0
    return Tail(edge=edge, limit=limit, exponent=exponent), exponent


def _pareto(near: Floats, far: Floats, masses: Floats, last: int) -> float:
    """Return the exponent that is likeliest for the outermost cells; 0 where these are few."""
    from scipy.optimize import minimize_scalar

    survivors = np.cumsum(masses[::-1])[::-1]
    positive = near > 0
    if not positive.any():
        return 0.0
    goal = max(_TAIL_SHARE * survivors[positive][0], 8 * survivors[last])
    first = int(np.flatnonzero(positive & ((survivors <= goal) | (np.arange(len(near)) == last)))[0])
    first = min(first, max(last - _LEAST_CELLS + 1, int(np.flatnonzero(positive)[0])))
    if last - first + 1 < _LEAST_CELLS:
        return 0.0
    ends = np.append(near[first : last + 1], near[last + 1] if last + 1 < len(near) else far[last] + 1)
    outer = float(masses[last + 1 :].sum())
    top = far[-1] + 1 if outer else np.inf

    def loss(exponent: float) -> float:
        heights = (ends + 1) ** -exponent
        rest = (top + 1) ** -exponent if np.isfinite(top) else 0.0
        whole = np.log(max(heights[0] - (rest if outer else heights[-1]), 1e-300))
        parts = masses[first : last + 1] @ np.log(np.maximum(heights[:-1] - heights[1:], 1e-300))
        tail = outer * np.log(max(heights[-1] - rest, 1e-300)) if outer else 0.0
        return float((masses[first:].sum()) * whole - parts - tail)

    return float(minimize_scalar(loss, bounds=_EXPONENTS, method="bounded").x)


def _slopes(law: NumberLaw, counts: Floats, scale: float) -> Floats:
    """Return by which power of the distance from zero chances fall within each wide cell.

    The densities of neighbours are joined by a power: straight lines of logarithms. Cells that do
    not stand out of their noise tell no slope.
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
                left = _neighbour(at, -1, widths[places], known)
                right = _neighbour(at, 1, widths[places], known)
                left, right = (at if one is None else one for one in (left, right))
                if left == right or not known[at]:
                    continue
                run = middles[right] - middles[left]
                slopes[at] = np.clip(-(heights[right] - heights[left]) / run, _RISING, _STEEPEST)
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
    return np.clip(np.floor(low * np.exp(steps)) - 1, near, far)


def _shifted(tail: Tail, shift: float) -> Tail:
    if not tail.exponent or not shift:
        return tail
    return replace(tail, exponent=max(tail.exponent + shift, 0.3))
