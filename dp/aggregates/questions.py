"""What can be asked of each group, how a unit moves the answer, and how sure the answer is."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dp.accounting.composition import basic
from dp.aggregates.quantiles import Tree
from dp.aggregates.scope import Scope, spread
from dp.checking import checked_count, checked_positive, checked_probability
from dp.errors import DPError
from dp.guarantee import Guarantee
from footing.checks import require_number

#: Bounds have at most as many binary digits of steps: sums of 2**30 rows fit into 64 bits.
DIGITS = 32
MOST_STEPS = 2**DIGITS - 1
_BOUNDS_CONFIDENCE = 0.999
_TYPICAL = (100, 1_000, 10_000)
#: Kind → what is said with it, beside column and share: needed, and possible.
KINDS: Mapping[str, tuple[set[str], set[str]]] = {
    "units": (set(), set()),
    "rows": (set(), set()),
    "sum": ({"column"}, {"lower", "upper", "step"}),
    "mean": ({"column"}, {"lower", "upper", "step"}),
    "histogram": ({"column"}, {"edges", "categories", "step"}),
    "quantiles": ({"column", "lower", "upper", "at"}, {"step"}),
    "top": ({"column", "categories", "k"}, set()),
    "left-out": (set(), set()),
}


class Bins(Protocol):
    """What one reading of a column found, bin by bin."""

    @property
    def groups(self) -> NDArray[np.int64]:
        """Places of groups."""

    @property
    def bins(self) -> NDArray[np.int64]:
        """Numbers of bins."""

    @property
    def counts(self) -> NDArray[np.int64]:
        """Rows."""

    @property
    def totals(self) -> NDArray[np.int64]:
        """Sums of steps."""


class Found(Protocol):
    """What units contribute to groups: `tables.contributions` gives it."""

    @property
    def keys(self) -> tuple[tuple[str, ...], ...]:
        """Of each group."""

    @property
    def units(self) -> NDArray[np.int64]:
        """In each group."""

    @property
    def rows(self) -> NDArray[np.int64]:
        """In each group."""

    @property
    def readings(self) -> tuple[Bins, ...]:
        """One for each reading."""

    @property
    def left_out(self) -> tuple[int, int]:
        """Units with too many groups, groups of a unit with too many rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What was found of one question, with noise.

    Parameters
    ----------
    items
        What is told of each group: a bin, a quantile, a category; empty for one number.
    values, lower, upper
        Groups down, items across; NaN where nothing is told. Of the table as a whole there is
        one row.
    bounds
        Between which values were clamped, where bounds were found; empty otherwise.
    beyond
        Values that the found bounds moved: with noise, and the least and most of them.

    Examples
    --------
    >>> one = np.array([[3.0]])
    >>> Answers(items=("",), values=one, lower=one - 1, upper=one + 1).bounds
    ()
    """

    items: tuple[str, ...]
    values: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    bounds: tuple[float, ...] = ()
    beyond: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question, asked of each group of a table.

    Parameters
    ----------
    kind
        ``"units"`` or ``"rows"`` count; ``"sum"``, ``"mean"``, ``"histogram"``,
        ``"quantiles"``, ``"top"`` are of a column; ``"left-out"`` counts, in the whole table,
        units with more groups than are kept, and groups of a unit with more rows.
    column
        Whose values.
    lower, upper
        Public bounds to which values are clamped. Of sums and means both may be left out: they
        are found, at the price of one question more.
    step
        Values are rounded to multiples of it; by default a power of ten, at most 1, that makes
        1,000 steps or more of the bounds.
    edges
        Where bins of a histogram begin and end; values beyond go into the outer ones.
    categories
        The only values that count, in place of edges.
    at
        Which quantiles, from 0 to 1.
    k
        How many categories, most frequent first.
    share
        Its part of the budget, beside those of all others.

    Examples
    --------
    >>> Question(kind="mean", column="age", lower=0, upper=120).steps
    (0, 1200)
    """

    kind: str
    column: str = ""
    lower: float | None = None
    upper: float | None = None
    step: float | None = None
    edges: tuple[float, ...] = ()
    categories: tuple[str, ...] = ()
    at: tuple[float, ...] = ()
    k: int | None = None
    share: float = 1.0
    _step: float = field(init=False, repr=False, default=1.0)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise DPError(f"Unknown question {self.kind!r}.", hint=f"known: {', '.join(KINDS)}")
        checked_positive(self.share, "share")
        self._require_words()
        self._require_numbers()
        object.__setattr__(self, "_step", self._rounded_to())
        if self.is_number:
            low, high = self.steps
            if high <= low or max(abs(low), abs(high)) > MOST_STEPS:
                raise DPError(
                    f"{self.name}: bounds lie at least a step apart, and at most 2**{DIGITS} "
                    f"steps of {self._step:g} from 0.",
                    hint="take another step",
                )

    def _require_words(self) -> None:
        needed, possible = KINDS[self.kind]
        given = {
            name
            for name in ("column", "lower", "upper", "step", "edges", "categories", "at", "k")
            if getattr(self, name) not in ("", (), None)
        }
        if missing := sorted(needed - given):
            raise DPError(f"{self.name} needs {', '.join(missing)}.")
        if spare := sorted(given - needed - possible):
            raise DPError(
                f"{self.name} has no use for {', '.join(spare)}.", hint="leave it out"
            )
        if self.kind == "histogram" and len({"edges", "categories"} & given) != 1:
            raise DPError(f"{self.name} needs edges or categories, one of the two.")
        if (self.lower is None) != (self.upper is None):
            raise DPError(
                f"{self.name} has one bound.", hint="give both, or none to have them found"
            )
        if len(set(self.categories)) < len(self.categories):
            raise DPError(f"{self.name}: a category stands twice.", hint="remove one")

    def _require_numbers(self) -> None:
        bounds = self.edges or (self.lower, self.upper)
        for bound in bounds:
            if bound is not None:
                require_number(bound, "a bound", error=DPError)
        known = [bound for bound in bounds if bound is not None]
        if known and (len(known) < 2 or any(a >= b for a, b in itertools.pairwise(known))):
            raise DPError(f"{self.name}: bounds and edges rise.")
        for share in self.at:
            checked_probability(share, "at", is_open=True)
        if self.k is not None and checked_count(self.k, "k") > len(self.categories):
            raise DPError(f"{self.name}: k exceeds the number of categories.")
        if self.step is not None:
            checked_positive(self.step, "step")

    def _rounded_to(self) -> float:
        if self.step is not None:
            inverse = round(1 / self.step) if self.step < 1 else 1
            return 1 / inverse if self.step < 1 else self.step
        if not self.is_number or self.is_found:
            return 1.0
        low, high = self._ends
        return min(1.0, 10.0 ** math.floor(math.log10((high - low) / 1000)))

    @property
    def name(self) -> str:
        """What it is called.

        Examples
        --------
        >>> Question(kind="units").name
        'units'
        """
        return f"{self.kind} {self.column}".strip()

    @property
    def said(self) -> dict[str, Any]:
        """What was asked, with the step that is taken."""
        names = ("kind", "column", "lower", "upper", "edges", "categories", "at", "k", "share")
        step = self._step if self.is_number else None
        return {name: getattr(self, name) for name in names} | {"step": step}

    @property
    def is_number(self) -> bool:
        """Whether values are read as numbers."""
        return bool(self.column) and not self.categories

    @property
    def is_found(self) -> bool:
        """Whether bounds are found."""
        return self.kind in {"sum", "mean"} and self.lower is None

    @property
    def _ends(self) -> tuple[float, float]:
        if self.edges:
            return self.edges[0], self.edges[-1]
        return (self.lower or 0.0), (self.upper or 0.0)

    @property
    def steps(self) -> tuple[int, int]:
        """The bounds in steps."""
        if self.is_found:
            return -MOST_STEPS, MOST_STEPS
        low, high = self._ends
        return round(low / self._step), round(high / self._step)

    @property
    def tree(self) -> Tree:
        """The cells of quantiles."""
        return Tree.of(*self.steps)

    @property
    def reading(self) -> dict[str, Any] | None:
        """How the column is read, in the words of `tables.contributions.Reading`."""
        if not self.column:
            return None
        if self.categories:
            return {"column": self.column, "categories": self.categories}
        cuts = tuple(round(edge / self._step) for edge in self.edges[1:-1])
        return {
            "column": self.column,
            "step": self._step,
            "limits": self.steps,
            "cuts": cuts,
            "width": self.tree.width if self.kind == "quantiles" else 0,
            "by_power": self.is_found,
        }

    @property
    def items(self) -> tuple[str, ...]:
        """What is told of each group."""
        if self.kind == "quantiles":
            return tuple(f"{share:g}" for share in self.at)
        if self.kind == "left-out":
            return ("units with more groups", "groups of a unit with more rows")
        if self.edges:
            pairs = list(itertools.pairwise(self.edges))
            ends = [")"] * (len(pairs) - 1) + ["]"]
            return tuple(f"[{a:g}, {b:g}{end}" for (a, b), end in zip(pairs, ends, strict=True))
        return self.categories or ("",)

    def guarantee(self, scope: Scope, cost: float) -> Guarantee:
        """Return what the answer promises: all of its mechanisms together."""
        if self.kind == "top":
            times = (self.k or 1) * scope.groups
            return basic([scope.choice(cost, times=self.k or 1).guarantee] * times)
        # The bounds of a sum that are found later change its noise, not what it costs.
        return basic([noise.guarantee for noise in self._noises(scope, cost).values()])

    def _noises(
        self, scope: Scope, cost: float, steps: tuple[int, int] | None = None
    ) -> dict[str, Any]:
        """Return the noise of each part of the answer."""
        low, high = steps or self.steps
        if self.kind == "units":
            return {"count": scope.one_row().noise(cost)}
        if self.kind == "sum":
            return {"sum": scope.noise(cost, per_row=max(abs(low), abs(high), 1))}
        if self.kind == "mean":
            middle = (low + high) // 2
            half = max(high - middle, middle - low, 1)
            return {
                "count": scope.noise(cost / 2),
                "sum": scope.noise(cost / 2, per_row=half),
            }
        if self.kind == "quantiles":
            return {"nodes": scope.noise(cost, levels=self.tree.levels)}
        if self.kind == "left-out":
            groups = scope.groups
            return {"count": scope.noise_of(cost, l1=1 + groups, l2=math.hypot(1, groups))}
        return {"count": scope.noise(cost)}

    def expected(self, scope: Scope, cost: float) -> dict[str, float]:
        """Return how far answers lie from the truth at most, at the confidence, by what of."""
        sure = scope.confidence
        if self.kind == "top":
            choice = scope.choice(cost, times=self.k or 1)
            return {"rows": choice.accuracy(sure, candidates=len(self.categories))}
        noises = self._noises(scope, cost, (0, 1) if self.is_found else None)
        if self.kind == "quantiles":
            noise = noises["nodes"]
            return {
                f"rows at {share:g}": float(self.tree.reach(noise, share, beta=1 - sure).max())
                for share in self.at
            }
        if self.kind == "mean":
            steps = (0, 1) if self.is_found else self.steps
            start = "times the width of bounds, " if self.is_found else ""
            told = {}
            for n in _TYPICAL:
                rows = np.array([n])
                found = _ratio(noises, rows, 0 * rows, steps=steps, confidence=sure)
                size = float((found[2] - found[1])[0]) / 2 * self._step
                told[f"{start}of {n:,} rows"] = size
            return told
        name = "times the larger bound" if self.is_found else ""
        size = self._step if self.kind == "sum" else 1
        return {name: next(iter(noises.values())).accuracy(sure) * size}

    def bounds_noise(self, scope: Scope, cost: float) -> Any:
        """Return the noise of the bins by which bounds are found."""
        return scope.noise(cost, is_pooled=True)

    def answer(
        self,
        scope: Scope,
        cost: float,
        found: Found,
        bins: Bins | None,
        *,
        kept: NDArray[np.int64],
        bounds_cost: float = 0.0,
    ) -> Answers:
        """Draw the answer; of the groups at some places."""
        steps: tuple[int, int] | None = None
        told: dict[str, Any] = {}
        if self.is_found and bins is not None:
            steps, told = self._find_bounds(scope, bounds_cost, bins)
        noises = self._noises(scope, cost, steps) if self.kind != "top" else {}
        if self.kind in {"units", "rows", "left-out"}:
            exact = {
                "units": found.units[kept],
                "rows": found.rows[kept],
                "left-out": np.array([found.left_out], np.int64),
            }[self.kind]
            columns = exact.reshape(-1, len(self.items))
            return self._counted(noises["count"], columns, scope)
        if bins is None:
            raise DPError(f"{self.name}: nothing was read.")
        shape = (len(found.keys), self._width)
        if self.kind in {"sum", "mean"}:
            sums = self._totals(bins, len(found.keys), steps)[kept]
            return self._summed(noises, sums, scope, steps=steps or self.steps, told=told)
        matrix = spread(bins.groups, bins.bins, bins.counts, shape)[kept]
        if self.kind == "histogram":
            return self._counted(noises["count"], matrix, scope)
        if self.kind == "top":
            return self._chosen(scope, cost, matrix)
        low, value, high = self.tree.answer(
            noises["nodes"], matrix, self.at, beta=1 - scope.confidence
        )
        low, value, high = (np.clip(v, *self.steps) * self._step for v in (low, value, high))
        return Answers(items=self.items, values=value, lower=low, upper=high)

    @property
    def _width(self) -> int:
        return self.tree.cells if self.kind == "quantiles" else len(self.items)

    def _counted(self, noise: Any, counts: NDArray[np.int64], scope: Scope) -> Answers:
        noisy, reach = noise.release(counts), noise.accuracy(scope.confidence)
        return Answers(
            items=self.items,
            values=noisy.astype(np.float64),
            lower=np.maximum(noisy - reach, 0.0),
            upper=np.maximum(noisy + reach, 0.0),
        )

    def _totals(
        self, bins: Bins, groups: int, steps: tuple[int, int] | None
    ) -> NDArray[np.int64]:
        """Return rows and sum of each group, clamped to bounds that were found."""
        totals = bins.totals
        if steps is not None:
            inner, outer = _ends_of(bins.bins)
            low, high = steps
            totals = np.where(outer > high, bins.counts * high, totals)
            totals = np.where(inner < low, bins.counts * low, totals)
        at, shape = np.zeros_like(bins.groups), (groups, 1)
        columns = [spread(bins.groups, at, v, shape) for v in (bins.counts, totals)]
        return np.concatenate(columns, axis=1)

    def _summed(
        self,
        noises: Mapping[str, Any],
        sums: NDArray[np.int64],
        scope: Scope,
        *,
        steps: tuple[int, int],
        told: Mapping[str, Any],
    ) -> Answers:
        counts, totals = sums.T
        if self.kind == "sum":
            value = noises["sum"].release(totals)
            reach = noises["sum"].accuracy(scope.confidence)
            found = value, value - reach, value + reach
        else:
            rows = noises["count"].release(counts)
            moved = noises["sum"].release(totals - sum(steps) // 2 * counts)
            found = _ratio(noises, rows, moved, steps=steps, confidence=scope.confidence)
        value, least, most = (column[:, None] * self._step for column in found)
        return Answers(items=self.items, values=value, lower=least, upper=most, **told)

    def _find_bounds(
        self, scope: Scope, cost: float, bins: Bins
    ) -> tuple[tuple[int, int], dict[str, Any]]:
        """Find bounds: the outermost bins of all groups together that hold more than noise."""
        numbers = np.arange(-DIGITS, DIGITS + 1)
        exact = np.zeros(len(numbers), np.int64)
        np.add.at(exact, bins.bins + DIGITS, bins.counts)
        noise = self.bounds_noise(scope, cost)
        noisy = noise.release(exact)
        is_held = noisy > noise.accuracy(_BOUNDS_CONFIDENCE, numbers=len(numbers))
        held = numbers[is_held] if is_held.any() else np.array([0, 1])
        inner, outer = _ends_of(np.array([held.min(), held.max()]))
        low, high = int(inner[0]), int(outer[1])
        outside = noisy[(numbers < held.min()) | (numbers > held.max())]
        reach = noise.accuracy(scope.confidence, numbers=max(1, outside.size)) * outside.size
        beyond = float(outside.sum())
        return (low, max(high, low + 1)), {
            "bounds": (low * self._step, high * self._step),
            "beyond": (beyond, max(0.0, beyond - reach), max(0.0, beyond + reach)),
        }

    def _chosen(self, scope: Scope, cost: float, counts: NDArray[np.int64]) -> Answers:
        ranks = np.full(counts.shape, np.nan)
        choice = scope.choice(cost, times=self.k or 1)
        for scores, rank in zip(counts, ranks, strict=True):
            for place in range(1, (self.k or 1) + 1):
                left = np.flatnonzero(np.isnan(rank))
                rank[left[choice.choose(scores[left])]] = place
        return Answers(
            items=self.items, values=ranks, lower=ranks * np.nan, upper=ranks * np.nan
        )


def _ends_of(bins: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return least and largest steps of bins by sign and binary digits."""
    size = np.abs(bins).astype(np.int64)
    small = np.where(size > 0, 1 << np.maximum(size - 1, 0), 0)
    large = np.where(size > 0, (1 << size) - 1, 0)
    return np.where(bins < 0, -large, small), np.where(bins < 0, -small, large)


def _ratio(
    noises: Mapping[str, Any],
    rows: NDArray[np.int64],
    moved: NDArray[np.int64],
    *,
    steps: tuple[int, int],
    confidence: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return a mean in steps, and its least and most: count and sum each within its noise."""
    low, high = steps
    middle = (low + high) // 2
    each = (1 + confidence) / 2
    off, shift = noises["count"].accuracy(each), noises["sum"].accuracy(each)
    fewest, most = np.maximum(rows - off, 0.0), np.maximum(rows + off, 1.0)

    def end(total: NDArray[np.float64], sign: int) -> NDArray[np.float64]:
        # The farther end has the fewest rows where the total is beyond 0, the most otherwise.
        divisor = np.where(sign * total > 0, fewest, most)
        with np.errstate(divide="ignore"):
            found = np.where(divisor > 0, total / np.maximum(divisor, 1e-9), sign * np.inf)
        return np.asarray(np.clip(middle + found, low, high))

    value = np.clip(middle + moved / np.maximum(rows, 1), low, high)
    return value, end(moved - shift, -1), end(moved + shift, 1)
