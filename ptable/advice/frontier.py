"""The frontier: the least that any table loses, by the most that a published count may tell.

All points keep the same limits but one, the worst posterior, and each is a p-table with its
proof. Designs in use are measured by the same figures, so that it can be seen how far they are
from what is possible.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from footing.checks import require_integer
from footing.messages import Argument, Message, Name
from footing.progress import Progress, no_progress
from ptable.design.limits import Limits, default_floor
from ptable.design.mechanisms import Mechanism
from ptable.design.presets import ONS, PRESETS
from ptable.design.spec import NoiseSpec
from ptable.errors import InfeasibleError, InternalError, PTableError
from ptable.lookup import cycle_length, serving_row
from ptable.proof.limits import least_loss
from ptable.solver.joint import Joint
from ptable.solver.solve import solve
from ptable.solver.statement import JointStatement
from ptable.table import PTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The limit that moves along a frontier.
Against: TypeAlias = Literal["posterior", "posterior_set"]
AGAINST: tuple[str, ...] = get_args(Against)

_FEWEST, _USUAL, _MOST = 2, 14, 100
#: Limits of two points differ by so much at least.
_APART = 1e-3
#: How far from what is just feasible the first point lies, as a share of the range.
_INWARD = 0.01
#: Figures of a table become limits that it keeps: rounded upwards to this.
_GRAIN = 1e-4
#: What is told of a table without bias, which keys keep exactly.
_NO_BIAS = 1e-9
_EPSILON = 1.0
#: Where rows take turns, counts are gone through as far as this.
_CYCLED = 200
_LEAST_WEIGHT = 1e-6
_KEPT = 1e-9
#: A variance that keys meet lies so near to it.
_MET = 1e-6
#: So much more loss than without the limit counts as none.
_IDLE = 1e-4
_LOSSES = {
    "least-deviation": lambda i, j: np.abs(j - i),
    "least-variance": lambda i, j: (j - i) ** 2,
    "least-hellinger": lambda i, j: (np.sqrt(j) - np.sqrt(i)) ** 2 / 2,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFigures:
    """What a table tells and loses, measured as limits measure it.

    Parameters
    ----------
    posterior, posterior_set
        The largest probability of one sensitive count, and of all, given a published count,
        whatever prior is the worst.
    loss
        What is lost, weighted by the first prior.
    neighbours
        The most of ``Σ_j max(0, P[i, j] - e^ε P[i ± 1, j])`` among positive counts.
    p_stay
        The largest probability that a positive count is published as it is.
    least_variance, largest_variance
        Among the rows of positive counts.
    best_guess
        The largest share of sensitive counts that one guess per published count gets right.
    bias
        The largest mean of the noise of a positive count, either way.
    """

    posterior: float
    posterior_set: float
    loss: float
    neighbours: float
    p_stay: float
    least_variance: float
    largest_variance: float
    best_guess: float
    bias: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierPoint:
    """A certified table that loses hardly more than any other within its limits.

    Parameters
    ----------
    limit
        The worst posterior that was allowed.
    bound
        What every table within the limits loses at least, by weak duality.
    figures
        Of the table.
    table
        The table, with its certificate.
    """

    limit: float
    bound: float
    figures: TableFigures
    table: PTable = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignPoint:
    """A design in use, beside the frontier.

    Parameters
    ----------
    name
        What it is called.
    figures
        Of its table.
    is_own
        Whether it is the design that the frontier is drawn for.
    exceeds
        The limits of the frontier that it does not keep, by name: as far as there are any, it
        may lie below the frontier.
    least
        What every table within the frontier's limits that tells no more loses at least; None
        where no table tells so little.
    alike
        What every table of its own largest noise and blocked counts loses at least that is no
        worse by any limit; None for a design with bias, which no such table has.
    table
        Its table.
    """

    name: str
    figures: TableFigures
    is_own: bool
    exceeds: tuple[str, ...]
    least: float | None
    alike: float | None
    table: PTable = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Frontier:
    """The least loss by the worst posterior allowed, and designs beside it.

    Parameters
    ----------
    spec
        The limits of all points; the one that moves is that of the last.
    against
        The limit that moves.
    points
        From the strictest limit to the loosest.
    designs
        The own one first, where there is one.
    least_posterior
        No table of these limits tells less; None while nobody looked.
    n_planned
        How many points are planned.
    gaps
        Limits at which whole keys did not keep all limits.
    """

    spec: NoiseSpec = field(repr=False)
    against: Against
    points: tuple[FrontierPoint, ...] = ()
    designs: tuple[DesignPoint, ...] = ()
    least_posterior: float | None = None
    n_planned: int = 0
    gaps: tuple[float, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether all that was planned is there."""
        return len(self.points) + len(self.gaps) >= self.n_planned > 0

    @property
    def own(self) -> DesignPoint | None:
        """The design that the frontier is drawn for."""
        return next((one for one in self.designs if one.is_own), None)

    def exposure(self, figures: TableFigures) -> float:
        """Give the figure of a table that moves along the frontier."""
        return float(getattr(figures, self.against))

    def as_safe(self, design: DesignPoint) -> FrontierPoint | None:
        """Find the point that loses least of those that tell no more than a design."""
        most = self.exposure(design.figures) + _KEPT
        safe = [one for one in self.points if self.exposure(one.figures) <= most]
        return min(safe, key=lambda one: one.figures.loss, default=None)

    def as_near(self, design: DesignPoint) -> FrontierPoint | None:
        """Find the point that tells least of those that lose no more than a design."""
        near = [one for one in self.points if one.figures.loss <= design.figures.loss + _KEPT]
        return min(near, key=lambda one: self.exposure(one.figures), default=None)


def measure(table: PTable, spec: NoiseSpec) -> TableFigures:
    """Measure a table by the sensitive counts, priors and loss of a specification with limits.

    Parameters
    ----------
    table
        Any p-table of counts.
    spec
        A specification with limits and priors.

    Examples
    --------
    >>> from ptable import Mechanism
    >>> spec = NoiseSpec(
    ...     max_noise=2,
    ...     variance=1.0,
    ...     objective="least-variance",
    ...     limits=Limits(priors=([0.0, *(2.0**-i for i in range(1, 40))],)),
    ... )
    >>> round(measure(Mechanism.random_rounding(3).build(), spec).loss, 3)
    1.714
    """
    limits = _limits(spec)
    sensitive = limits.sensitive or (1,)
    if table.step != 1 or table.anchors is not None:
        raise PTableError(
            Message("A frontier is of tables for counts, not for magnitudes."),
            hint=Message("leave out tables with steps or anchors"),
        )
    cycle = cycle_length(table.large_counts, n_rows=table.n_rows)
    last = max(spec.last_count, table.n_rows - 1, sensitive[-1] + 2 * table.max_noise) + cycle
    if cycle > 1:  # rows in turn: the last one does not speak for all larger counts
        last = max(last, min(_CYCLED, len(limits.priors[0]) - 1))
    matrix = np.zeros((last + 2, last + 2 + table.max_noise))
    for count in range(last + 2):
        units = table.units(serving_row(count, n_rows=table.n_rows, cycle=cycle))
        for v, n in units.items():
            matrix[count, count + v] += n / table.key_range
    priors = [_by_row(prior, last) for prior in limits.priors]
    noise = np.arange(matrix.shape[1])[None, :] - np.arange(1, last + 1)[:, None]
    rows = matrix[1 : last + 1]
    means = (rows * noise).sum(axis=1)
    variances = (rows * noise**2).sum(axis=1) - means**2
    columns = matrix[:, : sensitive[-1] + table.max_noise + 1]
    first = 0 if limits.zeros_in_prior else 1
    posteriors = [_posteriors(columns, prior, first, sensitive) for prior in priors]
    return TableFigures(
        posterior=max((float(one.max()) for one in posteriors), default=0.0),
        posterior_set=max((float(one.sum(axis=0).max()) for one in posteriors), default=0.0),
        loss=_loss(rows, limits, spec.objective, last),
        neighbours=_excess(matrix[1:], (limits.neighbours or (_EPSILON, 1.0))[0]),
        p_stay=float(np.diagonal(matrix)[1 : last + 1].max()),
        least_variance=float(variances.min()),
        largest_variance=float(variances.max()),
        best_guess=max((_guessed(columns, prior, sensitive) for prior in priors), default=0.0),
        bias=float(np.abs(means).max()),
    )


def _limits(spec: NoiseSpec) -> Limits:
    limits = spec.limits
    if limits is None or not limits.priors or spec.objective not in _LOSSES:
        raise PTableError(
            Message("A frontier needs limits with priors, and an objective that loses."),
            hint=Message("one of {names}", names=Name.each(_LOSSES)),
        )
    return limits


def _by_row(prior: Sequence[float], last: int) -> NDArray[np.float64]:
    """Give the share of each count up to the one behind the last."""
    shares = np.zeros(last + 2)
    known = np.asarray(prior[: last + 2], dtype=np.float64)
    shares[: len(known)] = known
    return shares


def _posteriors(
    columns: NDArray[np.float64],
    prior: NDArray[np.float64],
    first: int,
    sensitive: Sequence[int],
) -> NDArray[np.float64]:
    """Give P(original | published) of the sensitive originals, down, by published count."""
    joint = columns * prior[:, None]
    totals = joint[first:].sum(axis=0)
    posteriors = np.zeros((len(sensitive), len(totals)))
    some = joint[list(sensitive)]
    np.divide(some, totals, out=posteriors, where=some > 0)
    return posteriors


def _guessed(
    columns: NDArray[np.float64], prior: NDArray[np.float64], sensitive: Sequence[int]
) -> float:
    """Give the share of sensitive counts that the best guess of each column gets right."""
    places = list(sensitive)
    hits = (columns[places] * prior[places, None]).max(axis=0).sum()
    return float(hits / prior[places].sum())


def _loss(rows: NDArray[np.float64], limits: Limits, objective: str, last: int) -> float:
    """Sum what rows lose, the last for all larger counts, as `Joint` weighs them."""
    weights = _by_row(limits.priors[0], last)[1 : last + 1]
    weights[-1] += math.fsum(limits.priors[0][last + 1 :])
    weights = np.maximum(weights / weights.sum(), _LEAST_WEIGHT)
    i = np.arange(1, last + 1)[:, None]
    j = np.arange(rows.shape[1])[None, :]
    return float(weights @ (rows * _LOSSES[objective](i, j)).sum(axis=1))


def _excess(matrix: NDArray[np.float64], epsilon: float) -> float:
    factor = math.exp(epsilon)
    here, there = matrix[:-1], matrix[1:]
    ways = ((here, there), (there, here))
    sums = [np.maximum(one - factor * other, 0).sum(axis=1).max() for one, other in ways]
    return float(max(sums))


def frontier_spec(
    own: PTable,
    *,
    priors: Iterable[Any],
    objective: str = "least-variance",
    sensitive: Sequence[int] | None = None,
    **limits: Any,
) -> NoiseSpec:
    """State the limits of a frontier for a design that has none: no worse than it is.

    Points then have its largest noise and blocked counts, no row of more variance than its
    largest, a floor of 2 or its least variance, and its δ of neighbours and largest
    probability of staying.

    Parameters
    ----------
    own
        The p-table of the design.
    priors
        What an intruder may believe beforehand; the first weighs the loss.
    objective
        What is lost.
    sensitive
        The sensitive counts; ``1..max(small, 2)`` where None.
    limits
        Fields of `Limits` that are to be otherwise.

    Examples
    --------
    >>> table = solve(NoiseSpec(max_noise=3, variance=2.0, small=1))
    >>> prior = [0.0, *(1 / (i * (i + 1)) for i in range(1, 200))]
    >>> spec = frontier_spec(table, priors=[prior])
    >>> spec.max_noise, spec.small, spec.limits.variance_floor
    (3, 1, 2.0)
    """
    small = _blocked(own)
    probe = NoiseSpec(
        max_noise=max(own.max_noise, 1),
        small=small,
        limits=Limits(
            sensitive=None if sensitive is None else tuple(sensitive), priors=tuple(priors)
        ),
        objective=objective,  # type: ignore[arg-type]
    )
    figures = measure(own, probe)
    options = _no_worse(figures, epsilon=limits.pop("epsilon", _EPSILON))
    options["variance_floor"] = min(default_floor(None), _floor(figures.least_variance))
    return replace(probe, limits=replace(_limits(probe), **{**options, **limits}))


def _no_worse(figures: TableFigures, *, epsilon: float) -> dict[str, Any]:
    """Make limits of a table's own figures."""
    return {
        "posterior": None,
        "posterior_set": None,
        "variance_ceiling": _ceiling(figures.largest_variance),
        "neighbours": (epsilon, min(1.0, _upwards(figures.neighbours))),
        "p_stay": min(1.0, max(_upwards(figures.p_stay), _GRAIN)),
    }


def milder_spec(own: PTable, spec: NoiseSpec, *, floor: float, full_floor: float) -> NoiseSpec:
    """State that a table is no worse than a design, with floors of its variance.

    It tells no more by any limit: the posterior of one and of all sensitive counts, the best
    guesses, δ of neighbours, the probability of staying; no row has more variance.

    Parameters
    ----------
    own
        The p-table of the design.
    spec
        A specification with the priors and sensitive counts, and what is lost.
    floor, full_floor
        The least variance of rows that an edge cuts, as far as the design's own have it, and
        of all others.

    Examples
    --------
    >>> table = solve(NoiseSpec(max_noise=3, variance=2.0, small=1))
    >>> prior = [0.0, *(1 / (i * (i + 1)) for i in range(1, 200))]
    >>> spec = frontier_spec(table, priors=[prior])
    >>> milder = milder_spec(table, spec, floor=1.5, full_floor=2.0)
    >>> milder.limits.variance_floor[:6]
    (1.5, 1.5, 1.5, 1.5, 2.0, 2.0)
    """
    limits, figures = _limits(spec), measure(own, spec)
    small = _blocked(own)
    options = _no_worse(figures, epsilon=(limits.neighbours or (_EPSILON, 1.0))[0])
    options |= {
        "posterior": min(1.0, figures.posterior + _KEPT),
        "posterior_set": min(1.0, figures.posterior_set + _KEPT),
        "best_guess": min(1.0, _upwards(figures.best_guess)),
    }
    full = own.max_noise + (small + 1 if small else 0)
    last = max(full, (limits.sensitive or (1,))[-1] + 2 * own.max_noise)
    options["variance_floor"] = tuple(
        _floor(min(full_floor if count >= full else floor, _variance(own, count)))
        for count in range(1, last + 1)
    )
    return NoiseSpec(
        max_noise=own.max_noise,
        small=small,
        objective=spec.objective,
        limits=replace(limits, **options),
    )


def _variance(table: PTable, count: int) -> float:
    units = table.units(min(count, table.n_rows - 1))
    mean = float(sum(v * n for v, n in units.items()) / table.key_range)
    return float(sum(v * v * n for v, n in units.items()) / table.key_range - mean**2)


def _floor(variance: float) -> float:
    """Give a variance as it was asked for, where keys meet it, or what is just below."""
    near = round(variance, 3)
    return near if abs(near - variance) < _MET else float(math.floor(variance / _MET) * _MET)


def _ceiling(variance: float) -> float:
    near = round(variance, 3)
    return near if abs(near - variance) < _MET else float(math.ceil(variance / _MET) * _MET)


def _upwards(figure: float) -> float:
    return round(math.ceil(figure / _GRAIN) * _GRAIN, 4)


def _blocked(table: PTable) -> int:
    """Give the largest count from 1 on in a row that the table never publishes."""
    reached = {
        count + v for count in range(table.n_rows) for v, n in table.units(count).items() if n
    }
    last = table.n_rows - 1
    reached |= {last + k + v for k in range(table.max_noise) for v in table.units(last)}
    small = 0
    while small + 1 < table.max_noise and small + 1 not in reached:
        small += 1
    return small


def designs_of_the_field() -> dict[str, PTable]:
    """Solve the designs that offices documented, by the names of their presets.

    Examples
    --------
    >>> sorted(designs_of_the_field())[:2]
    ['abs-tablebuilder', 'destatis-example']
    """
    tables = {name: solve(preset.spec) for name, preset in PRESETS.items()}
    return {**tables, ONS: Mechanism.ons_10_5().build()}


def frontiers(
    spec: NoiseSpec,
    *,
    own: PTable | None = None,
    designs: Mapping[str, PTable] | None = None,
    against: Against = "posterior",
    n_points: int = _USUAL,
    progress: Progress | None = None,
) -> Iterator[Frontier]:
    """Trace a frontier; give it again after each design and each point, as far as it is.

    Parameters
    ----------
    spec
        The limits of all points; that against which the frontier goes is left aside.
    own
        The design that the frontier is drawn for.
    designs
        Name → p-table of other designs to show beside it.
    against
        The limit that moves: the posterior of one sensitive count, or of all.
    n_points
        How many points, 2 at least; one more is at the own design's posterior.
    progress
        Called with a stage, the points there are and all that are planned.

    Raises
    ------
    InfeasibleError
        Where no table keeps the other limits.

    Notes
    -----
    Points lie closer where the limit is strict. The two ends come first, then those between
    them, so that whoever stops early has the whole range.
    """
    if against not in AGAINST:
        raise PTableError(
            Message("There is no frontier against {against!r}.", against=Argument(against)),
            hint=Message("one of {names}", names=Name.each(AGAINST)),
        )
    n_points = require_integer(
        n_points, "n_points", error=PTableError, minimum=_FEWEST, maximum=_MOST
    )
    _limits(spec)
    trace = _Trace(against=against, spec=_at(spec, against, None))
    report = progress or no_progress
    report("frontier", 0, n_points)
    loosest = trace.point(None)
    every = {} if own is None else {"own": own}
    every |= {name: table for name, table in (designs or {}).items() if table != own}
    shown = [trace.design(name, table, is_own=name == "own") for name, table in every.items()]
    if own is not None:  # what is said first must be there however early somebody stops
        shown[0] = trace.compared(shown[0])
    answer = Frontier(
        spec=trace.spec,
        against=against,
        points=(loosest,),
        designs=tuple(shown),
        n_planned=n_points,
    )
    yield answer
    high = min(1.0, answer.exposure(loosest.figures))
    low = trace.strictest(high)
    high = trace.strictest(high, low=low, loss=loosest.bound)
    limits = _places(
        low, high, n_points, None if own is None else answer.exposure(shown[0].figures)
    )
    answer = replace(answer, least_posterior=low, n_planned=len(limits) + 1)
    done: list[FrontierPoint] = [loosest]
    gaps: list[float] = []
    for limit in limits:
        report("frontier", len(done) + len(gaps), answer.n_planned)
        try:
            done.append(trace.point(limit))
        except (InfeasibleError, InternalError):  # whole keys need a little more room
            gaps.append(limit)
        points = tuple(sorted(done, key=lambda one: one.limit))
        answer = replace(answer, points=points, gaps=tuple(sorted(gaps)))
        yield answer
    report("frontier", answer.n_planned, answer.n_planned)
    designs_compared = (one if one.is_own else trace.compared(one) for one in answer.designs)
    yield replace(answer, designs=tuple(designs_compared))


def frontier(spec: NoiseSpec, **options: Any) -> Frontier:
    """Trace a frontier to its end; takes what `frontiers` takes.

    Parameters
    ----------
    spec, options
        See `frontiers`.

    Examples
    --------
    >>> table = solve(NoiseSpec(max_noise=3, variance=2.0, small=1))
    >>> prior = [0.0, *(1 / (i * (i + 1)) for i in range(1, 200))]
    >>> spec = frontier_spec(table, priors=[prior], variance_floor=1.0)
    >>> line = frontier(spec, own=table, n_points=2)
    >>> all(one.figures.loss <= 1.011 * one.bound for one in line.points)
    True
    """
    *_, last = frontiers(spec, **options)
    return last


def _at(spec: NoiseSpec, against: str, limit: float | None) -> NoiseSpec:
    changed: dict[str, Any] = {against: limit}
    return replace(spec, limits=replace(_limits(spec), **changed))


def _places(low: float, high: float, number: int, own: float | None) -> list[float]:
    """Choose limits between the ends, closer where they are strict, ends first."""
    if high - low < _APART:
        return []
    start = low + max(_INWARD * (high - low), _APART / 2)
    steps = [(k / (number - 1)) ** 1.5 for k in range(number - 1)]
    places = [start + (high - start) * step for step in steps]
    if own is not None and start < own:
        places = [place for place in places if abs(place - own) >= _APART] + [own]
    places = sorted({round(place, 4) if place != own else place for place in places})
    return [places[k] for k in _spread(len(places))]


def _spread(number: int) -> list[int]:
    """Order places so that each comes in the middle of the widest gap."""
    if number < 2:
        return list(range(number))
    order, gaps = [0, number - 1], [(0, number - 1)]
    while gaps:
        first, last = gaps.pop(0)
        middle = (first + last) // 2
        if first < middle < last:
            order.append(middle)
            gaps += [(first, middle), (middle, last)]
    return order


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trace:
    """What finds points and judges designs by the same limits."""

    against: Against
    spec: NoiseSpec

    def point(self, limit: float | None) -> FrontierPoint:
        """Solve the table of a limit; without one, it tells as much as is worth it."""
        table = solve(_at(self.spec, self.against, limit))
        proof = None if table.certificate is None else table.certificate.limits
        if proof is None or proof.bound is None:
            raise InternalError(Message("A point of the frontier has no proof."))
        figures = measure(table, self.spec)
        return FrontierPoint(
            limit=float(getattr(figures, self.against)) if limit is None else limit,
            bound=proof.bound,
            figures=figures,
            table=table,
        )

    def strictest(self, high: float, *, low: float = 0.0, loss: float | None = None) -> float:
        """Find the strictest limit that a table can keep, if asked for without more loss."""
        budget = None if loss is None else loss * (1 + _IDLE) + _KEPT
        while high - low > _APART / 4:
            middle = (low + high) / 2
            joint = Joint.of(_at(self.spec, self.against, middle))
            is_feasible = JointStatement.of(replace(joint, budget=budget)).is_feasible()
            low, high = (low, middle) if is_feasible else (middle, high)
        return high

    def design(self, name: str, table: PTable, *, is_own: bool) -> DesignPoint:
        """Measure a design, and say which limits it does not keep."""
        figures = measure(table, self.spec)
        return DesignPoint(
            name=name,
            figures=figures,
            is_own=is_own,
            exceeds=tuple(self._exceeded(table, figures)),
            least=None,
            alike=None,
            table=table,
        )

    def _exceeded(self, table: PTable, figures: TableFigures) -> Iterator[str]:
        spec, limits = self.spec, _limits(self.spec)
        largest = max(spec.max_noises)
        if table.max_noise > largest:
            yield "max_noise"
        if _blocked(table) < spec.small:
            yield "small"
        if figures.bias > _NO_BIAS:
            yield "bias"
        joint = Joint.of(spec)
        ranges = [joint.variance_limits(row) for row in joint.rows if row.count]
        room = _MET * largest**2
        if figures.least_variance < min(float(low) for low, _ in ranges) - room:
            yield "variance_floor"
        if figures.largest_variance > max(float(high) for _, high in ranges) + room:
            yield "variance_ceiling"
        if limits.neighbours is not None and figures.neighbours > limits.neighbours[1] + _KEPT:
            yield "neighbours"
        for name in ("p_stay", "posterior", "posterior_set"):
            limit = getattr(limits, name)
            if limit is not None and getattr(figures, name) > limit + _KEPT:
                yield name

    def compared(self, design: DesignPoint) -> DesignPoint:
        """Add what tables lose at least that tell no more than a design."""
        limit = float(getattr(design.figures, self.against))
        least = _bound(_at(self.spec, self.against, min(1.0, limit + _KEPT)))
        alike = None
        if design.figures.bias <= _NO_BIAS and design.table.max_noise:
            alike = _bound(self._alike(design))
        return replace(design, least=least, alike=alike)

    def _alike(self, design: DesignPoint) -> NoiseSpec:
        """State limits that a design keeps, each as near as it comes."""
        limits, figures = _limits(self.spec), design.figures
        options = _no_worse(figures, epsilon=(limits.neighbours or (_EPSILON, 1.0))[0])
        options |= {
            "posterior": min(1.0, figures.posterior + _KEPT),
            "posterior_set": min(1.0, figures.posterior_set + _KEPT),
            "variance_floor": _floor(min(_least_floor(limits), figures.least_variance)),
        }
        return NoiseSpec(
            max_noise=design.table.max_noise,
            small=_blocked(design.table),
            objective=self.spec.objective,
            limits=replace(limits, **options),
        )


def _least_floor(limits: Limits) -> float:
    floor = limits.variance_floor
    if isinstance(floor, tuple):
        return min(floor)
    return default_floor(None) if floor is None else float(floor)


def _bound(spec: NoiseSpec) -> float | None:
    """Bound from below what tables within limits lose; None where there are none."""
    joint = Joint.of(spec)
    answer = JointStatement.of(joint).solve()
    if not answer.is_solved:
        return None
    signed = [
        np.maximum(prices, 0.0) if line.relation == "≤" else prices
        for line, prices in zip(joint.lines(), answer.multipliers, strict=True)
    ]
    bound = least_loss(joint, signed)
    return None if bound is None else float(bound)
