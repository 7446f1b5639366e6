"""Ways to share places, judged on the same people: what is found out, what is still seen."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rappor.coins import bytes_source, flip
from rappor.errors import RapporError
from rappor.location.attacks import best_guess, linked
from rappor.location.collect import Collection, collect, sampled_hours, spent
from rappor.location.map import finest_shares, population_map
from rappor.location.people import HOURS
from rappor.permanent import permanent, permanent_key

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rappor.location.areas import Grid
    from rappor.location.people import Traces
    from rappor.permanent import SecretKey

__all__ = [
    "Outcome",
    "cloaking",
    "dummies",
    "geo_indistinguishable",
    "mix_zones",
    "open_traces",
    "rappor_cells",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one way of sharing places gives away, and what it still shows.

    Parameters
    ----------
    name
        The way.
    guarantee
        What it promises, in words.
    loss
        The largest privacy loss of a person over all days; None without such a promise.
    homes_found
        Share of people whose home cell an attacker names.
    linked
        Share of people whose two halves of the time an attacker joins without names.
    map_error
        Half the sum of differences between the map and where people truly were, 0 to 1.

    Examples
    --------
    >>> Outcome(
    ...     name="none", guarantee="none", loss=None, homes_found=1, linked=1, map_error=0
    ... ).name
    'none'
    """

    name: str
    guarantee: str
    loss: float | None
    homes_found: float
    linked: float
    map_error: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Seen:
    """What an attacker holds of each person, and the map."""

    night: NDArray[np.float64]
    halves: tuple[NDArray[np.float64], NDArray[np.float64]]
    shares: NDArray[np.float64]
    loss: float | None = None


def open_traces(traces: Traces, *, grid: Grid, rng: np.random.Generator) -> Outcome:
    """Publish every hour's cell under a pseudonym: the worst that can be done.

    Parameters
    ----------
    traces
        The people.
    grid
        The cells.
    rng
        Source of chance.

    Examples
    --------
    >>> from rappor.location.areas import Grid
    >>> from rappor.location.people import moving_people
    >>> rng = np.random.default_rng(1)
    >>> grid = Grid(west=0, south=0, east=16, north=16, levels=(2, 4))
    >>> people = moving_people(60, n_days=14, grid=grid, rng=rng)
    >>> open_traces(people, grid=grid, rng=rng).homes_found
    1.0
    """
    n_cells = grid.areas().n_cells(len(grid.levels) - 1)
    seen = _seen_cells(traces, traces.cells, n_cells, np.ones(traces.cells.shape, bool))
    return _judge("pseudonyms", "none", seen, traces, rng)


def mix_zones(traces: Traces, *, grid: Grid, n_zones: int, rng: np.random.Generator) -> Outcome:
    """Report nothing in the busiest cells, and change pseudonyms there.

    Parameters
    ----------
    traces
        The people.
    grid
        The cells.
    n_zones
        How many cells are mix-zones.
    rng
        Source of chance.

    Notes
    -----
    The attacker holds each person's longest stretch between two zones, in each half of the
    time.

    Examples
    --------
    >>> from rappor.location.areas import Grid
    >>> from rappor.location.people import moving_people
    >>> rng = np.random.default_rng(1)
    >>> grid = Grid(west=0, south=0, east=16, north=16, levels=(2, 4))
    >>> people = moving_people(60, n_days=14, grid=grid, rng=rng)
    >>> mix_zones(people, grid=grid, n_zones=8, rng=rng).homes_found > 0.5
    True
    """
    n_cells = grid.areas().n_cells(len(grid.levels) - 1)
    busiest = np.argsort(-np.bincount(traces.cells.ravel(), minlength=n_cells), kind="stable")
    is_out = ~np.isin(traces.cells, busiest[:n_zones])
    middle = traces.cells.shape[1] // 2
    kept = np.concatenate([_longest(is_out[:, :middle]), _longest(is_out[:, middle:])], axis=1)
    seen = _seen_cells(traces, traces.cells, n_cells, kept)
    shares = _shares(traces.cells[is_out], n_cells)
    seen = _Seen(night=seen.night, halves=seen.halves, shares=shares)
    return _judge("mix-zones", "pseudonyms change in crowds", seen, traces, rng)


def cloaking(traces: Traces, *, grid: Grid, k: int, rng: np.random.Generator) -> Outcome:
    """Report each hour the smallest quarter of a quarter … that holds at least k people.

    Parameters
    ----------
    traces
        The people.
    grid
        The cells.
    k
        Size of the crowd to hide in.
    rng
        Source of chance.

    Examples
    --------
    >>> from rappor.location.areas import Grid
    >>> from rappor.location.people import moving_people
    >>> rng = np.random.default_rng(1)
    >>> grid = Grid(west=0, south=0, east=16, north=16, levels=(2, 4))
    >>> people = moving_people(60, n_days=14, grid=grid, rng=rng)
    >>> cloaking(people, grid=grid, k=5, rng=rng).map_error > 0.1
    True
    """
    if not 1 <= k <= traces.n_people:
        raise RapporError(f"k must lie in 1..{traces.n_people}, not {k}.")
    deepest = grid.levels[-1]
    n_cells = 4**deepest
    night, halves = (
        np.zeros((traces.n_people, n_cells)),
        np.zeros((2, traces.n_people, n_cells)),
    )
    total = np.zeros(n_cells)
    row, column = np.divmod(np.arange(n_cells), 2**deepest)
    inside = [(row >> up) * 2**deepest + (column >> up) for up in range(deepest + 1)]
    members = [[np.flatnonzero(of == cell) for cell in range(of.max() + 1)] for of in inside]
    for hour, cells in enumerate(traces.cells.T):
        level = np.full(traces.n_people, deepest)
        for up in range(deepest - 1, -1, -1):
            crowd = np.bincount(inside[up][cells], minlength=n_cells)
            level = np.where(crowd[inside[up][cells]] >= k, up, level)
        for person, (up, cell) in enumerate(zip(level.tolist(), cells.tolist(), strict=True)):
            area = members[up][inside[up][cell]]
            weight = 1 / area.size
            total[area] += weight
            halves[int(2 * hour >= traces.cells.shape[1]), person, area] += weight
            if traces.is_night[hour]:
                night[person, area] += weight
    seen = _Seen(night=night, halves=(halves[0], halves[1]), shares=total / total.sum())
    return _judge(f"cloaking, k = {k}", f"among {k} people, each hour alone", seen, traces, rng)


def dummies(traces: Traces, *, grid: Grid, n_dummies: int, rng: np.random.Generator) -> Outcome:
    """Report each hour's cell among cells drawn at random.

    Parameters
    ----------
    traces
        The people.
    grid
        The cells.
    n_dummies
        Cells drawn besides the true one.
    rng
        Source of chance.

    Examples
    --------
    >>> from rappor.location.areas import Grid
    >>> from rappor.location.people import moving_people
    >>> rng = np.random.default_rng(1)
    >>> grid = Grid(west=0, south=0, east=16, north=16, levels=(2, 4))
    >>> people = moving_people(60, n_days=14, grid=grid, rng=rng)
    >>> dummies(people, grid=grid, n_dummies=5, rng=rng).homes_found > 0.9
    True
    """
    n_cells = grid.areas().n_cells(len(grid.levels) - 1)
    always = np.ones(traces.cells.shape, bool)
    layers = [traces.cells]
    layers += [rng.integers(0, n_cells, traces.cells.shape) for _ in range(n_dummies)]
    parts = [_seen_cells(traces, layer, n_cells, always) for layer in layers]
    counts = sum(part.shares for part in parts) - n_dummies / n_cells
    early, late = (np.sum([part.halves[i] for part in parts], axis=0) for i in (0, 1))
    night = np.sum([part.night for part in parts], axis=0)
    seen = _Seen(night=night, halves=(early, late), shares=np.asarray(counts))
    return _judge(f"{n_dummies} dummies", "none that lasts", seen, traces, rng)


def geo_indistinguishable(
    traces: Traces, *, grid: Grid, epsilon: float, rng: np.random.Generator
) -> Outcome:
    """Report one place a day, moved by planar Laplace noise.

    Parameters
    ----------
    traces
        The people.
    grid
        The cells.
    epsilon
        Loss of one report per unit of distance.
    rng
        Source of chance; noise of a simulation, not for release.

    Notes
    -----
    The angle is uniform and the distance has the Gamma law of shape 2 and rate `epsilon`. The
    loss is that of moving by one finest cell in all reports. The attacker averages the
    reports of the nights.

    References
    ----------
    Andrés, Bordenabe, Chatzikokolakis, Palamidessi: Geo-indistinguishability, CCS 2013.

    Examples
    --------
    >>> from rappor.location.areas import Grid
    >>> from rappor.location.people import moving_people
    >>> rng = np.random.default_rng(1)
    >>> grid = Grid(west=0, south=0, east=16, north=16, levels=(2, 4))
    >>> people = moving_people(60, n_days=14, grid=grid, rng=rng)
    >>> round(geo_indistinguishable(people, grid=grid, epsilon=0.5, rng=rng).loss, 6)
    7.0
    """
    if not epsilon > 0:
        raise RapporError(f"epsilon must be above 0, not {epsilon!r}.")
    n_cells = grid.areas().n_cells(len(grid.levels) - 1)
    when = sampled_hours(traces.n_people, n_periods=traces.n_days, hours=HOURS, rng=rng)
    angle = rng.uniform(0, 2 * math.pi, when.shape)
    distance = rng.gamma(2, 1 / epsilon, when.shape)
    x = np.take_along_axis(traces.x, when, axis=1) + distance * np.cos(angle)
    y = np.take_along_axis(traces.y, when, axis=1) + distance * np.sin(angle)
    night = traces.is_night[when]
    half = when >= traces.cells.shape[1] // 2
    cells = grid.cells(np.clip(x, grid.west, grid.east), np.clip(y, grid.south, grid.north))
    side = (grid.east - grid.west) / 2 ** grid.levels[-1]
    seen = _Seen(
        night=_nearness(x, y, night, grid),
        halves=(_nearness(x, y, ~half, grid), _nearness(x, y, half, grid)),
        shares=_shares(cells, n_cells),
        loss=epsilon * side * traces.n_days,
    )
    promise = f"{epsilon:g} per unit of distance and report"
    return _judge("geo-indistinguishability", promise, seen, traces, rng)


def rappor_cells(
    traces: Traces,
    *,
    collection: Collection,
    secret: SecretKey,
    rng: np.random.Generator,
) -> Outcome:
    """Report one cell a day by RAPPOR, with one permanent response a person and cell.

    Parameters
    ----------
    traces
        The people.
    collection
        How they report.
    secret
        From which their permanent responses derive.
    rng
        Source of chance of the simulation.

    Notes
    -----
    The attacker holds reports of the finest level from everybody, more than the collection
    gives. The loss is that of the person who reported most different cells.

    Examples
    --------
    >>> from tables.secret import Secret
    >>> from rappor.location.areas import Grid
    >>> from rappor.location.people import moving_people
    >>> rng = np.random.default_rng(1)
    >>> grid = Grid(west=0, south=0, east=16, north=16, levels=(2, 4))
    >>> people = moving_people(60, n_days=14, grid=grid, rng=rng)
    >>> design = Collection(areas=grid.areas(), f=0.5, p=0.25, q=0.75)
    >>> secret = Secret(bytes(16))
    >>> found = rappor_cells(people, collection=design, secret=secret, rng=rng)
    >>> found.homes_found < 0.5
    True
    """
    parameters = collection.parameters[-1]
    when = sampled_hours(traces.n_people, n_periods=traces.n_days, hours=HOURS, rng=rng)
    places = np.take_along_axis(traces.cells, when, axis=1)
    key = permanent_key(secret, metric="attack", parameters=parameters)
    people = [b"%d" % person for person in range(traces.n_people)]
    shape = (traces.n_people, parameters.n_bits)
    night, halves = np.zeros(shape), (np.zeros(shape), np.zeros(shape))
    for day in range(traces.n_days):
        bloom = np.arange(parameters.n_bits) == places[:, day, None]
        kept = permanent(bloom, people, key=key, f=parameters.f)
        shown = flip(kept, p=parameters.p, q=parameters.q, source=bytes_source(rng))
        halves[int(2 * day >= traces.n_days)][:] += shown
        night += shown * traces.is_night[when[:, day]][:, None]
    days = collect(traces.cells, collection=collection, secret=secret, hours=HOURS, rng=rng)
    areas = collection.areas
    seen = _Seen(
        night=night,
        halves=halves,
        shares=finest_shares(population_map(days, areas=areas), areas=areas),
        loss=float(spent(places, parameters=parameters).max()),
    )
    promise = f"{parameters.epsilon_permanent:.3g} a cell, for ever"
    return _judge("RAPPOR", promise, seen, traces, rng)


def _seen_cells(
    traces: Traces, cells: NDArray[np.int64], n_cells: int, kept: NDArray[np.bool_]
) -> _Seen:
    """Count cells by person, at night and in both halves of the time."""
    late = np.arange(cells.shape[1]) >= cells.shape[1] // 2
    return _Seen(
        night=_tally(cells, kept & traces.is_night, n_cells),
        halves=(_tally(cells, kept & ~late, n_cells), _tally(cells, kept & late, n_cells)),
        shares=_shares(cells[kept], n_cells),
    )


def _tally(
    cells: NDArray[np.int64], kept: NDArray[np.bool_], n_cells: int
) -> NDArray[np.float64]:
    people = np.nonzero(kept)[0]
    flat = np.bincount(people * n_cells + cells[kept], minlength=len(cells) * n_cells)
    return flat.reshape(len(cells), n_cells).astype(float)


def _shares(cells: NDArray[np.int64], n_cells: int) -> NDArray[np.float64]:
    counts = np.bincount(cells.ravel(), minlength=n_cells)
    return np.asarray(counts / max(1, counts.sum()))


def _longest(is_out: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Keep each row's longest stretch of yes."""
    kept = np.zeros(is_out.shape, bool)
    for row, out in enumerate(is_out):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], out.astype(np.int8), [0]])))
        if edges.size:
            starts, ends = edges[::2], edges[1::2]
            best = int(np.argmax(ends - starts))
            kept[row, starts[best] : ends[best]] = True
    return kept


def _nearness(
    x: NDArray[np.float64], y: NDArray[np.float64], kept: NDArray[np.bool_], grid: Grid
) -> NDArray[np.float64]:
    """Score cells by their distance to the mean of each person's reports."""
    number = np.maximum(kept.sum(axis=1), 1)
    middle_x, middle_y = ((part * kept).sum(axis=1) / number for part in (x, y))
    cell_x, cell_y = grid.centres()
    away = np.hypot(middle_x[:, None] - cell_x, middle_y[:, None] - cell_y)
    return np.where(kept.any(axis=1, keepdims=True), -away, 0.0)


def _judge(
    name: str, guarantee: str, seen: _Seen, traces: Traces, rng: np.random.Generator
) -> Outcome:
    truth = _shares(traces.cells, seen.shares.size)
    shares = np.clip(seen.shares, 0, None)
    shares = shares / shares.sum() if shares.sum() else np.full(shares.size, 1 / shares.size)
    return Outcome(
        name=name,
        guarantee=guarantee,
        loss=seen.loss,
        homes_found=float(np.mean(best_guess(seen.night, rng=rng) == traces.homes)),
        linked=linked(*seen.halves, rng=rng),
        map_error=float(np.abs(shares - truth).sum() / 2),
    )
