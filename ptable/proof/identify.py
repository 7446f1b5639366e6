"""Which design a p-table looks like, whoever made it.

The table's own figures suggest a few candidates; each is solved anew, without integers, and the
nearest one is named together with its largest difference.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from footing.messages import Message, Name, Text, joined
from ptable.design.design import Design
from ptable.design.mechanisms import Mechanism
from ptable.design.spec import NoiseSpec
from ptable.design.stack import StackedSpec
from ptable.errors import PTableError
from ptable.lookup import cycle_length, moments, row_of
from ptable.solver.dual import maximise
from ptable.solver.reach import meets, variance_bounds
from ptable.solver.row import RowProblem
from ptable.solver.unimodal import best_peak
from ptable.solver.variance_range import resolve_row
from ptable.table import PTable

_Law: TypeAlias = "Mapping[int, float]"

#: How near R ptable's own answers come to the optimum.
_TOLERANCE = 2e-6
#: Solving every row of wide tables for every candidate takes too long to be worth it.
_MAX_VALUES = 2001
_MAX_BASE = 100
#: In squared noise values, over all rows of all designs tried: a few seconds.
_MAX_EFFORT = 5_000_000
_COST_OF_A_ROW = 20
_MAX_DESIGNS = 80
_FEWEST_ROUNDED = 200
#: How many keys keeping mean and variance in few keys may cost a probability.
_ROUNDED_KEYS = 6
_NO_BIAS = 1e-4
_R_FLOOR = 1e-8
#: Two figures this close are the same figure, written with other digits.
_SAME = 2e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFigures:
    """What one row does.

    Parameters
    ----------
    count
        The original count.
    bias, variance
        Mean and variance of the noise.
    p_stay
        The probability of no noise.
    distance
        The largest difference of a probability from the design's; None without a design.
    resolution
        The bias that rounding to the table's keys may leave at most.

    Examples
    --------
    >>> from ptable import PTable
    >>> table = PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8)
    >>> identify(table).rows[1].variance
    1.0
    """

    count: int
    bias: float
    variance: float
    p_stay: float
    distance: float | None
    resolution: float

    @property
    def is_biased(self) -> bool:
        """Whether the mean noise is more than rounding can explain.

        Examples
        --------
        >>> from ptable import PTable
        >>> table = PTable(noise=[[0], [-1, 2]], upper=[[9], [3, 9]], key_range=9)
        >>> [row.is_biased for row in identify(table).rows]
        [False, True]
        """
        return abs(self.bias) > self.resolution


@dataclass(frozen=True, slots=True, kw_only=True)
class Identification:
    """The design that a p-table looks like.

    Parameters
    ----------
    design
        The nearest design; None where none could be tried.
    distance
        The largest difference of a probability between the table and the design.
    tolerance
        Up to which difference the table passes for the design.
    rows
        The figures of every row.
    small
        Counts ``1..small`` are never published.
    is_exhaustive
        Whether every design was tried; wide tables are compared with the plainest ones only.

    Examples
    --------
    >>> from ptable import NoiseSpec, solve
    >>> answer = identify(solve(NoiseSpec(max_noise=2, variance=1.0)))
    >>> print(str(answer).splitlines()[0])
    maximum entropy, largest noise 2, variance 1 exactly
    >>> answer.distance < 1e-8
    True
    """

    design: Design | None
    distance: float
    tolerance: float
    rows: tuple[RowFigures, ...]
    small: int
    is_exhaustive: bool = True

    @property
    def is_match(self) -> bool:
        """Whether the table passes for the design.

        Examples
        --------
        >>> from ptable import Mechanism
        >>> identify(Mechanism.ons_10_5().build()).is_match
        True
        """
        return self.design is not None and self.distance <= self.tolerance

    @property
    def largest_bias(self) -> float:
        """The largest mean noise of a row, that of count 0 included.

        Examples
        --------
        >>> from ptable import NoiseSpec, solve
        >>> identify(solve(NoiseSpec(max_noise=2, variance=1.0))).largest_bias
        0.0
        """
        return max(abs(row.bias) for row in self.rows)

    def __str__(self) -> str:
        if self.design is None:
            return Message("no known design")
        words = Text(_words(self.design))
        difference = Message(
            "largest difference of a probability: {distance:.1g}", distance=self.distance
        )
        if self.is_match:
            return joined("\n", [words, difference])
        far = [
            row.count
            for row in self.rows
            if row.distance is not None and row.distance > self.tolerance
        ]
        return Message(
            "no known design; nearest: {words}\n{difference} (counts {counts}{more}){rest}",
            words=words,
            difference=difference,
            counts=Name.each(far[:6]),
            more=Message(" and {number} more", number=len(far) - 6)
            if len(far) > 6
            else Message(),
            rest=Message()
            if self.is_exhaustive
            else Message("; for so wide a table, only plain designs are tried"),
        )


def identify(table: PTable, *, tolerance: float | None = None) -> Identification:
    """Find the design that a p-table looks like.

    Parameters
    ----------
    table
        Any p-table.
    tolerance
        Up to which difference of a probability a design counts as found; None for 2e-6, the
        accuracy of R ptable, plus six keys.

    Notes
    -----
    Tried are rounding, random rounding and small-count rounding, and maximum-entropy designs
    with the table's own largest noise, blocked counts, variances and probability of staying,
    under every rule and shape. Tables of known origin are not identified by their label.
    Wide tables take long to compare, and are compared with the plainest designs only.

    Examples
    --------
    >>> from ptable import NoiseSpec, solve
    >>> answer = identify(solve(NoiseSpec.r_ptable(5, 2.0)))
    >>> answer.design.variance_rule, answer.design.monotone
    ('at-most', 'left')
    """
    # a few keys are a mechanism's own denominator; hundreds are rounded probabilities
    one_key = 1 / table.key_range if table.key_range >= _FEWEST_ROUNDED else 0.0
    limit = _TOLERANCE + _ROUNDED_KEYS * one_key if tolerance is None else tolerance
    counts: list[int] = table.counts.tolist()
    distributions = {
        count: {v: n / table.key_range for v, n in table.units(count).items()}
        for count in counts
    }
    best: Design | None = None
    apart: dict[int, float] = {}
    fewest, distance = (math.inf, math.inf), math.inf
    for design, theirs in _candidates(table, distributions):
        here = {
            count: _apart(distributions[count], distribution)
            for count, distribution in theirs.items()
        }
        furthest = max(here.values())
        # within a key, the plainer design wins, which comes first
        rank = sum(x > limit for x in here.values()), furthest // (_TOLERANCE + one_key)
        if rank < fewest:
            best, apart, distance, fewest = design, here, furthest, rank
        if furthest <= _TOLERANCE:
            break
    return Identification(
        design=best,
        distance=distance,
        tolerance=limit,
        rows=tuple(_figures(table, count, apart.get(count)) for count in counts),
        small=_small(table),
        is_exhaustive=_MAX_DESIGNS * _cost(table.n_rows, table.max_noise) <= _MAX_EFFORT,
    )


def _figures(table: PTable, count: int, distance: float | None) -> RowFigures:
    units = table.units(count)
    bias, variance = moments(units, table.key_range)
    return RowFigures(
        count=count,
        bias=float(bias / table.step),
        variance=float(variance / table.step**2),
        p_stay=units.get(0, 0) / table.key_range,
        distance=distance,
        resolution=max(_TOLERANCE, sum(map(abs, units)) / table.key_range) / table.step
        if table.key_range >= _FEWEST_ROUNDED
        else 0.0,
    )


def _apart(ours: _Law, theirs: _Law) -> float:
    return max(abs(ours.get(v, 0.0) - theirs.get(v, 0.0)) for v in {*ours, *theirs})


def _small(table: PTable) -> int:
    """Give the largest ``js`` such that no row publishes ``1..js``, though some could."""
    if table.step != 1 or table.anchors is not None or table.n_rows < 2:
        return 0
    published = {
        count + v for count in range(table.n_rows) for v, n in table.units(count).items() if n
    }
    small = 0
    while small + 1 < table.n_rows and small + 1 not in published:
        small += 1
    return small


def _candidates(
    table: PTable, distributions: Mapping[int, _Law]
) -> Iterator[tuple[Design, Mapping[int, _Law]]]:
    """Give designs that the figures of the table suggest, with the laws of their rows."""
    if table.step == 1 and table.anchors is None:
        for mechanism in _mechanisms(table, distributions):
            theirs = mechanism.build()
            if theirs.n_rows <= table.n_rows or table.large_counts == theirs.large_counts:
                yield mechanism, {count: _law_of(theirs, count) for count in distributions}
    if table.n_rows < 2 or not table.max_noise or not _levels_off(table, distributions):
        return
    cache: dict[RowProblem, _Law] = {}
    effort = _MAX_EFFORT
    for design in _specs(table, distributions):
        effort -= _effort(design)
        if effort < 0:
            return
        rows = _solved(design, cache)
        if rows and max(rows) <= max(distributions):
            last = rows[max(rows)]
            yield design, {count: rows.get(count, last) for count in distributions}


def _levels_off(table: PTable, distributions: Mapping[int, _Law]) -> bool:
    """Say whether all counts beyond the last row have the noise of the last row."""
    counts = list(distributions)
    turn = counts[table.n_rows - cycle_length(table.large_counts, n_rows=table.n_rows) :]
    return all(distributions[count] == distributions[counts[-1]] for count in turn)


def _effort(design: NoiseSpec | StackedSpec) -> int:
    """Weigh how long solving a design takes, at most."""
    parts = [spec for _, spec in design.parts] if isinstance(design, StackedSpec) else [design]
    return _cost(len(design.counts), max(max(s.max_noises) * s.step for s in parts))


def _cost(n_rows: int, max_noise: int) -> int:
    width = 2 * max_noise + 1
    return n_rows * width * (width + _COST_OF_A_ROW)


def _law_of(table: PTable, count: int) -> dict[int, float]:
    """Give the law of any count, by the rule for large counts too."""
    units = table.units(row_of(table, count))
    return {v: n / table.key_range for v, n in units.items()}


def _mechanisms(table: PTable, distributions: Mapping[int, _Law]) -> Iterator[Mechanism]:
    reach, last = table.max_noise, distributions[max(distributions)]
    yield Mechanism.ons_10_5()
    if not 1 <= reach <= _MAX_BASE:
        return
    for base in range(reach + 1, 2 * reach + 2):
        for ties in ("up", "down", "even"):
            yield Mechanism.rounding(base, ties=ties)
    # before random rounding, whose first rows are the same
    yield Mechanism.small_count_rounding(reach + 1)
    yield Mechanism.random_rounding(reach + 1)
    ratio = last.get(0, 0.0) / last[1] if last.get(1) else 0.0
    if ratio > 1 and _is_biased(table):
        slope = math.log(ratio)
        for edge in ("clamp", "truncate", "fold"):
            for zeros in ("noise", "keep"):
                options: dict[str, Any] = {"max_noise": reach, "edge": edge, "zeros": zeros}
                for kind, size in (
                    (Mechanism.discrete_laplace, slope),
                    (Mechanism.discrete_gaussian, 0.5 / slope),
                ):
                    try:
                        yield kind(_short(size), **options)
                    except PTableError:  # noise this flat is none of theirs
                        continue


def _is_biased(table: PTable) -> bool:
    return any(
        abs(moments(table.units(count), table.key_range)[0]) > _NO_BIAS
        for count in table.counts.tolist()
    )


def _specs(
    table: PTable, distributions: Mapping[int, _Law]
) -> Iterator[NoiseSpec | StackedSpec]:
    """Give maximum-entropy designs, the plainest first."""
    counts = [count for count in distributions if count]
    variances = {
        count: float(moments(table.units(count), table.key_range)[1] / table.step**2)
        for count in counts
    }
    fields: dict[str, Any] = {
        "max_noise": -(-table.max_noise // table.step),
        "small": _small(table),
        "step": table.step,
        "anchors": None if table.anchors is None else tuple(counts),
    }
    first = fields["small"] + 1
    if (
        first in counts
        and table.step == 1
        and all(-count not in distributions[count] for count in counts)
    ):
        lifted = moments(table.units(first), table.key_range)[0]
        fields["positive_bias"] = max(_short(float(lifted)), 0.0)
    if set(distributions[0]) != {0}:
        bias, variance = moments(table.units(0), table.key_range)
        fields["zero_bias"] = _short(float(bias / table.step))
        yield from _rules(fields, _short(variances[counts[-1]]), distributions, counts)
        fields["zero_variance"] = _short(float(variance / table.step**2))
    yield from _rules(fields, _short(variances[counts[-1]]), distributions, counts)
    yield from _stacks(fields, variances, counts)
    yield from _by_row(fields, variances)


def _rules(
    fields: Mapping[str, Any],
    variance: float,
    distributions: Mapping[int, _Law],
    counts: list[int],
) -> Iterator[NoiseSpec]:
    """Give the designs of one variance under every rule and shape."""
    stays = _short(distributions[counts[-1]].get(0, 0.0))
    choices: tuple[dict[str, Any], ...] = (
        {},
        {"monotone": "left"},
        {"monotone": "left", "variance_rule": "at-most", "min_probability": _R_FLOOR},
        {"monotone": "none", "variance_rule": "at-most", "min_probability": _R_FLOOR},
        {"monotone": "left", "min_probability": _R_FLOOR},
        {"min_probability": _R_FLOOR},
        {"variance_rule": "nearest"},
        {"variance_rule": "nearest", "monotone": "left"},
        {"variance_rule": "at-most"},
        {"variance_rule": "at-most", "monotone": "left"},
        {"monotone": "both"},
        {"monotone": "unimodal"},
        {"variance_rule": "nearest", "monotone": "both"},
    )
    for choice in choices:
        yield from _tried(variance=variance, **fields, **choice)
    for choice in choices:
        for rule in ("exact", "at-least"):
            stay = {"p_stay": stays, "p_stay_rule": rule}
            yield from _tried(variance=variance, **fields, **choice, **stay)


def _stacks(
    fields: Mapping[str, Any], variances: Mapping[int, float], counts: list[int]
) -> Iterator[StackedSpec]:
    """Give designs whose last row alone has another variance."""
    if fields["anchors"] is not None or len(counts) < 2:
        return
    below, last = variances[counts[-2]], variances[counts[-1]]
    for choice in (
        {},
        {"monotone": "left"},
        {"monotone": "left", "variance_rule": "at-most", "min_probability": _R_FLOOR},
    ):
        for lower in _tried(variance=_short(below), **fields, **choice):
            for upper in _tried(
                variance=_short(last), **{**fields, **choice, "small": 0, "zero_bias": 0.0}
            ):
                try:
                    yield StackedSpec(parts=((0, lower), (counts[-1], upper)))
                except PTableError:
                    continue


def _by_row(fields: Mapping[str, Any], variances: Mapping[int, float]) -> Iterator[NoiseSpec]:
    """Give designs with the table's own variance in every row."""
    spread = tuple(map(_short, variances.values()))
    for monotone in ("none", "left", "both"):
        yield from _tried(variance=spread, monotone=monotone, **fields)


def _tried(**fields: Any) -> Iterator[NoiseSpec]:
    try:
        yield NoiseSpec(**fields)
    except PTableError:
        return


def _solved(design: NoiseSpec | StackedSpec, cache: dict[RowProblem, _Law]) -> dict[int, _Law]:
    """Solve the rows of a design; empty where one cannot be met or is too wide."""
    distributions: dict[int, _Law] = {}
    for problem in design.rows():
        alike = replace(problem, count=-1)
        if alike not in cache:
            cache[alike] = _row_law(problem)
        if not cache[alike]:
            return {}
        distributions[problem.count] = cache[alike]
    return {0: {0: 1.0}} | distributions


def _row_law(problem: RowProblem) -> _Law:
    ends = variance_bounds(problem)
    if ends is None or len(problem.noise) > _MAX_VALUES:
        return {}
    if not (problem.nearest or meets(problem, ends)):
        return {}
    row = resolve_row(problem)
    distribution = row.law
    if distribution is None:
        distribution = (
            best_peak(problem)[1] if problem.unimodal else maximise(problem, polish=False).law
        )
    return {v: float(p) for v, p in zip(problem.noise, distribution, strict=True)}


def _short(number: float) -> float:
    """Write a figure as its maker did: with the fewest digits that tell no other story."""
    for digits in range(1, 10):
        rounded = round(number, digits)
        if abs(rounded - number) <= _SAME * max(1.0, abs(number)):
            return rounded
    return number


def _words(design: Design) -> str:
    """Describe a design in one line."""
    if isinstance(design, Mechanism):
        rest = {k: v for k, v in design.to_dict().items() if k not in {"kind", "name"}}
        parameters = ", ".join(f"{name} {value}" for name, value in rest.items() if value)
        return f"{design.name.replace('-', ' ')}: {parameters}"
    if isinstance(design, StackedSpec):
        parts = (f"from count {first} on {_words(spec)}" for first, spec in design.parts)
        return "; ".join(parts)
    rule = {"exact": "exactly", "at-most": "at most", "nearest": "or the nearest in reach"}
    variance = (
        "a variance of its own in every row"
        if isinstance(design.variance, tuple)
        else f"variance {design.variance:g} {rule[str(design.variance_rule)]}"
    )
    words = [f"maximum entropy, largest noise {design.max_noise}", variance]
    if design.small:
        words.append(f"no published count in 1..{design.small}")
    if design.p_stay is not None:
        words.append(f"P(stay) {design.p_stay_rule.replace('-', ' ')} {design.p_stay}")  # type: ignore[union-attr]
    if design.monotone != "none":
        words.append(f"monotone {design.monotone}")
    if design.min_probability:
        words.append(f"every probability at least {design.min_probability:g}")
    if design.zero_bias:
        words.append(f"zeros with a bias of {design.zero_bias:g}")
    if design.positive_bias:
        words.append(f"positives stay positive with a bias of {design.positive_bias:g}")
    if design.step > 1:
        words.append(f"in steps of 1/{design.step}")
    return ", ".join(words)
