"""What can be asked of each group, how a unit moves the answer, and how sure the answer is."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dp.accounting.composition import basic
from dp.aggregates.ends import mean_of
from dp.aggregates.quantiles import DIGITS_OF_CELLS, Cells, Tree
from dp.aggregates.scope import Scope, spread
from dp.checking import checked_count, checked_positive, checked_probability, checked_share
from dp.errors import DPError
from dp.guarantee import Guarantee
from footing.checks import require_number
from footing.messages import Message, Name

#: Bounds have at most as many binary digits of steps: sums of 2**30 rows fit into 64 bits.
DIGITS = 32
MOST_STEPS = 2**DIGITS - 1
_BOUNDS_CONFIDENCE, _LEAST_STEP = 0.999, 1e-9
#: Of quantiles: the most of a step by default, and how many steps bounds have at least.
_CENT, _MANY_STEPS = 0.01, 100_000
_TYPICAL = 1_000
#: Kind → what is said with it: needed, and possible.
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
_WORDS = ("column", "lower", "upper", "step", "edges", "categories", "at", "k")
_LEFT_OUT = ("units with more groups", "groups of a unit with more rows")


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
    bounds: tuple[float, float] | tuple[()] = ()
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
        Values are rounded to multiples of it, one over a whole number or more; by default a
        power of ten, at most 1, that makes 1,000 steps or more of the bounds; of quantiles at
        most 0.01, that makes 100,000 or more, unless the bounds are too far from 0 for it.
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

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise DPError(
                Message("Unknown question {kind!r}.", kind=Name(self.kind)),
                hint=Message("known: {kinds}", kinds=Name.each(KINDS)),
            )
        self._require_words()
        checked_share(self.share)
        for share in self.at:
            checked_probability(share, "at", is_open=True)
        if len(set(self.categories)) < len(self.categories):
            raise DPError(
                Message("{name}: a category stands twice.", name=Name(self.name)),
                hint=Message("remove one"),
            )
        if self.k is not None and checked_count(self.k, "k") > len(self.categories):
            raise DPError(
                Message("{name}: k exceeds the number of categories.", name=Name(self.name))
            )
        if self.is_number:
            self._require_steps()

    def _require_words(self) -> None:
        mandatory, possible = KINDS[self.kind]
        words = {name for name in _WORDS if getattr(self, name) not in ("", (), None)}
        if missing := sorted(mandatory - words):
            raise DPError(
                Message("{name} needs {names}.", name=Name(self.name), names=Name.each(missing))
            )
        if spare := sorted(words - mandatory - possible):
            raise DPError(
                Message(
                    "{name} has no use for {spare}.",
                    name=Name(self.name),
                    spare=Name.each(spare),
                ),
                hint=Message("leave it out"),
            )
        if self.kind == "histogram" and len({"edges", "categories"} & words) != 1:
            raise DPError(
                Message(
                    "{name} needs edges or categories, one of the two.", name=Name(self.name)
                )
            )
        if (self.lower is None) != (self.upper is None):
            raise DPError(
                Message("{name} has one bound.", name=Name(self.name)),
                hint=Message("give both, or none to have them found"),
            )

    def _require_steps(self) -> None:
        """Check bounds and edges, and settle the step."""
        ends = [require_number(end, Message("a bound"), error=DPError) for end in self._ends]
        if len(ends) < 2 or any(a >= b for a, b in itertools.pairwise(ends)):
            raise DPError(Message("{name}: bounds and edges rise.", name=Name(self.name)))
        step = self._usual_step(ends)
        if self.step is not None:
            step = checked_positive(self.step, "step")
        if step < 1 and not (step >= _LEAST_STEP and math.isclose(1 / step, round(1 / step))):
            raise DPError(
                Message(
                    "{name}: step must be one over a whole number up to a billion, or 1 or "
                    "more, not {step:g}.",
                    name=Name(self.name),
                    step=step,
                ),
                hint=Message("0.5, 0.1 or 0.01, for instance"),
            )
        object.__setattr__(self, "step", 1 / round(1 / step) if step < 1 else step)
        cuts = [round(end / self._step) for end in ends]
        is_rising = all(a < b for a, b in itertools.pairwise(cuts))
        if not is_rising or max(map(abs, cuts)) > MOST_STEPS:
            raise DPError(
                Message(
                    "{name}: bounds and edges lie at least a step apart, and at most "
                    "2**{digits} steps of {step:g} from 0.",
                    name=Name(self.name),
                    digits=DIGITS,
                    step=self._step,
                ),
                hint=Message("take another step"),
            )

    def _usual_step(self, ends: Sequence[float]) -> float:
        most, steps = (_CENT, _MANY_STEPS) if self.kind == "quantiles" else (1.0, 1000)
        step = 10.0 ** math.floor(math.log10(ends[-1] / steps - ends[0] / steps))
        step = min(most, max(_LEAST_STEP, step))
        if self.kind == "quantiles" and (size := max(map(abs, ends))) > MOST_STEPS * step:
            step = 10.0 ** math.ceil(math.log10(size / MOST_STEPS))
        return step

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
    def is_number(self) -> bool:
        """Whether values are read as numbers."""
        return bool(self.column) and not self.categories

    @property
    def is_found(self) -> bool:
        """Whether bounds are found."""
        return self.kind in {"sum", "mean"} and self.lower is None

    @property
    def _ends(self) -> tuple[Any, ...]:
        if self.is_found:
            size = MOST_STEPS * (self.step or 1.0)
            return -size, size
        return self.edges or (self.lower, self.upper)

    @property
    def _step(self) -> float:
        return self.step or 1.0

    @property
    def steps(self) -> tuple[int, int]:
        """The bounds in steps."""
        return round(self._ends[0] / self._step), round(self._ends[-1] / self._step)

    @property
    def cells(self) -> Cells:
        """The cells of quantiles."""
        low, high = self.steps
        return Cells(low=low, high=high)

    def tree(self, scope: Scope) -> Tree:
        """Return the cells of quantiles, and the nodes above them."""
        return Tree.of(self.cells, law=scope.law)

    @property
    def reading(self) -> dict[str, Any] | None:
        """How the column is read, in the words of `tables.Reading`."""
        if not self.column:
            return None
        if self.categories:
            return {"column": self.column, "categories": self.categories}
        return {
            "column": self.column,
            "step": self._step,
            "limits": self.steps,
            "cuts": tuple(round(edge / self._step) for edge in self.edges[1:-1]),
            **self._digits,
        }

    @property
    def _digits(self) -> dict[str, int]:
        """Bins by the digits of a value, where there are no edges."""
        if self.kind == "quantiles":
            return {"digits": DIGITS_OF_CELLS, "widest": self.cells.widest}
        return {"digits": 0} if self.is_found else {}

    @property
    def items(self) -> tuple[str, ...]:
        """What is told of each group."""
        if self.kind == "quantiles":
            return tuple(f"{share:g}" for share in self.at)
        if self.kind == "left-out":
            return _LEFT_OUT
        if self.kind == "top":
            return (*self.categories, *(f"{name}, rows" for name in self.categories))
        bins = [f"[{a:g}, {b:g})" for a, b in itertools.pairwise(self.edges)]
        bins[-1:] = [text[:-1] + "]" for text in bins[-1:]]
        return tuple(bins) or self.categories or ("",)

    def noises(
        self, scope: Scope, cost: float, steps: tuple[int, int] | None = None
    ) -> dict[str, Any]:
        """Return the noise of each part of the answer."""
        low, high = steps or self.steps if self.is_number else (0, 1)
        if self.kind == "units":
            return {"count": scope.one_row().noise(cost)}
        if self.kind == "sum":
            return {"sum": scope.noise(cost, per_row=max(abs(low), abs(high)))}
        if self.kind == "mean":
            return {"ends": scope.noise(cost, per_row=high - low)}
        if self.kind == "quantiles":
            return {"count": scope.noise(cost, levels=self.tree(scope).levels)}
        if self.kind == "left-out":
            groups = scope.groups
            return {"count": scope.noise_of(cost, l1=1 + groups, l2=math.hypot(1, groups))}
        return {"count": scope.noise(cost)}

    def guarantee(self, scope: Scope, cost: float) -> Guarantee:
        """Return what the answer promises: all of its mechanisms together."""
        # The bounds of a sum that are found later change its noise, not what it costs.
        return basic([noise.guarantee for noise in self.noises(scope, cost).values()])

    def expected(self, scope: Scope, cost: float) -> tuple[float, str]:
        """Return how far an answer lies off at most, at the confidence; and of what."""
        sure = scope.confidence
        steps = (0, 1) if self.is_found else None
        noises = self.noises(scope, cost, steps)
        if self.kind == "quantiles":
            return max(self._reaches(scope, noises["count"])), Message("rows")
        if self.kind == "top":
            numbers = len(self.categories)
            return noises["count"].accuracy(sure, numbers=numbers), Message("rows, all at once")
        if self.kind == "mean":
            size = noises["ends"].accuracy(sure) / _TYPICAL
            return size * self._step, (
                Message("times the width, 1,000 rows") if steps else Message("1,000 rows")
            )
        if self.kind == "sum":
            size = noises["sum"].accuracy(sure) * self._step
            return size, Message("times the larger bound") if steps else Message()
        return noises["count"].accuracy(sure), ""

    def _reaches(self, scope: Scope, noise: Any) -> list[float]:
        """Return, by quantile, how far noise moves its rank at most."""
        tree = self.tree(scope)
        beta = tree.chance_of(tree.levels, 1 - scope.confidence)
        reaches = (tree.reach(noise, at, level=tree.levels, beta=beta) for at in self.at)
        return [float(max(start.max(), end.max())) for start, end in reaches]

    def notes(self, scope: Scope, cost: float, *, rows: int) -> tuple[Message, ...]:
        """Return what else is known of an answer before any data: how wide an interval is."""
        if self.kind != "quantiles":
            return ()
        reaches = self._reaches(scope, self.noises(scope, cost)["count"])
        widths = Message(
            "a cell is as wide as {share:.1f} per cent of its values at most, or {least:g}; "
            "none is wider than {most:g}",
            share=100 / 2**DIGITS_OF_CELLS,
            least=self._step,
            most=self._step * 2**self.cells.widest,
        )
        intervals = (
            Message(
                "{at:g}, among {rows:,} rows: from the quantile {low:.4f} to {high:.4f}, "
                "and to the ends of their cells",
                at=at,
                rows=rows,
                low=max(0.0, at - reach / rows),
                high=min(1.0, at + reach / rows),
            )
            for at, reach in zip(self.at, reaches, strict=True)
        )
        return (widths, *intervals)

    def answer(
        self, scope: Scope, costs: tuple[float, float], summary: Any, bins: Any, places: Any
    ) -> Answers:
        """Draw the answer of the groups at some places; the second cost is of bounds."""
        if self.kind in {"units", "rows", "left-out"}:
            exact = (
                np.array([summary.left_out], np.int64)
                if self.kind == "left-out"
                else getattr(summary, self.kind)[places][:, None]
            )
            return self._counted(self.noises(scope, costs[0])["count"], exact, scope)
        groups = len(summary.keys)
        if self.kind in {"sum", "mean"}:
            return self._summed(scope, costs, bins, groups=groups, places=places)
        noise = self.noises(scope, costs[0])["count"]
        if self.kind == "quantiles":
            cells = self.cells
            shape = (groups, cells.number)
            matrix = spread(bins.groups, bins.bins - cells.first, bins.counts, shape)[places]
            tree = self.tree(scope)
            return self._told(tree.answer(noise, matrix, self.at, beta=1 - scope.confidence))
        shape = (groups, len(self.categories or self.items))
        matrix = spread(bins.groups, bins.bins, bins.counts, shape)[places]
        if self.kind == "histogram":
            return self._counted(noise, matrix, scope)
        return self._ranked(noise, matrix, scope)

    def _told(self, triple: Any, **bounds: Any) -> Answers:
        """Return value, least and most in steps as they are published."""
        # Below 1 a step is one over a whole number: dividing gives the nearest decimal number.
        value, least, most = (
            np.asarray(
                part / round(1 / self._step) if self._step < 1 else part * self._step,
                dtype=np.float64,
            )
            for part in triple
        )
        return Answers(items=self.items, values=value, lower=least, upper=most, **bounds)

    def _counted(self, noise: Any, counts: NDArray[np.int64], scope: Scope) -> Answers:
        noisy, reach = noise.release(counts), noise.accuracy(scope.confidence)
        return Answers(
            items=self.items,
            values=noisy.astype(np.float64),
            lower=np.maximum(noisy - reach, 0.0),
            upper=np.maximum(noisy + reach, 0.0),
        )

    def _summed(
        self, scope: Scope, costs: tuple[float, float], bins: Any, *, groups: int, places: Any
    ) -> Answers:
        steps, each = self.steps, bins.totals
        bounds: dict[str, Any] = {}
        if self.is_found:
            steps, bounds = self._find_bounds(scope, costs[1], bins)
            inner, outer = _ends_of(bins.bins)
            each = np.where(outer > steps[1], bins.counts * steps[1], each)
            each = np.where(inner < steps[0], bins.counts * steps[0], each)
        at, shape = np.zeros_like(bins.groups), (groups, 1)
        counts = spread(bins.groups, at, bins.counts, shape)[places]
        totals = spread(bins.groups, at, each, shape)[places]
        noises = self.noises(scope, costs[0], steps)
        if self.kind == "sum":
            value = noises["sum"].release(totals)
            reach = noises["sum"].accuracy(scope.confidence)
            return self._told((value, value - reach, value + reach), **bounds)
        triple = mean_of(noises["ends"], counts, totals, steps=steps, beta=1 - scope.confidence)
        return self._told(triple, **bounds)

    def _find_bounds(
        self, scope: Scope, cost: float, bins: Any
    ) -> tuple[tuple[int, int], dict[str, Any]]:
        """Find bounds: the outermost bins of all groups together that hold more than noise."""
        numbers = np.arange(-DIGITS, DIGITS + 1)
        exact = np.zeros(len(numbers), np.int64)
        np.add.at(exact, bins.bins + DIGITS, bins.counts)
        noise = scope.noise(cost, is_pooled=True)
        noisy = noise.release(exact)
        full_bins = numbers[noisy > noise.accuracy(_BOUNDS_CONFIDENCE, numbers=len(numbers))]
        full_bins = full_bins if full_bins.size else np.array([0, 1])
        inner, outer = _ends_of(full_bins)
        low, high = int(inner[0]), max(int(outer[-1]), int(inner[0]) + 1)
        outside = noisy[(numbers < full_bins[0]) | (numbers > full_bins[-1])]
        reach = noise.accuracy(scope.confidence, numbers=max(1, outside.size)) * outside.size
        beyond = float(outside.sum())
        return (low, high), {
            "bounds": (low * self._step, high * self._step),
            "beyond": (beyond, max(0.0, beyond - reach), max(0.0, beyond + reach)),
        }

    def _ranked(self, noise: Any, counts: NDArray[np.int64], scope: Scope) -> Answers:
        """Count all categories, and tell ranks and rows of the first, with both ends.

        All counts lie within their intervals at once, and so do the ranks that follow.
        """
        noisy = noise.release(counts).astype(np.float64)
        reach = noise.accuracy(scope.confidence, numbers=counts.shape[1])
        order = np.argsort(-noisy, axis=1, kind="stable")[:, : self.k]
        groups = np.arange(len(noisy))[:, None]
        top = noisy[groups, order]
        triples = np.full((3, len(noisy), 2 * counts.shape[1]), np.nan)
        others = noisy[:, None, :] - top[:, :, None]
        for part, ranks, rows in zip(
            triples,
            (
                np.broadcast_to(np.arange(1, top.shape[1] + 1), top.shape),
                1 + (others > 2 * reach).sum(axis=2),
                (others >= -2 * reach).sum(axis=2),
            ),
            (top, np.maximum(top - reach, 0.0), np.maximum(top + reach, 0.0)),
            strict=True,
        ):
            part[groups, order] = ranks
            part[groups, order + counts.shape[1]] = rows
        values, lower, upper = triples
        return Answers(items=self.items, values=values, lower=lower, upper=upper)


def _ends_of(bins: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return least and largest steps of bins by sign and binary digits."""
    size = np.abs(bins).astype(np.int64)
    small = np.where(size > 0, 1 << np.maximum(size - 1, 0), 0)
    large = np.where(size > 0, (1 << size) - 1, 0)
    return np.where(bins < 0, -large, small), np.where(bins < 0, -small, large)
