"""Ways to share places that hide people in crowds, areas or fakes."""

from dataclasses import replace

import numpy as np

from footing.arrays import Flags
from footing.messages import Argument, Message
from rappor.errors import RapporError
from rappor.location.areas import Grid
from rappor.location.simulation.outcome import (
    Observations,
    Outcome,
    judge,
    observed_cells,
    shares_of,
)
from rappor.location.simulation.people import Traces


def named_traces(traces: Traces, *, grid: Grid, rng: np.random.Generator) -> Outcome:
    """Publish every hour's cell with its person's name: what the others are compared with.

    Parameters
    ----------
    traces
        The people.
    grid
        The cells.
    rng
        Source of chance, which is not drawn from: other ways keep their figures.
    """
    views = _every_hour(traces, grid)
    (own,) = rng.spawn(1)
    outcome = judge(views, traces, name=Message("names"), guarantee=Message("none"), rng=own)
    return replace(outcome, linked=1.0)  # by the name itself


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
    """
    views = _every_hour(traces, grid)
    return judge(views, traces, name=Message("pseudonyms"), guarantee=Message("none"), rng=rng)


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
    """
    n_cells = grid.areas().n_cells(len(grid.levels) - 1)
    busiest = np.argsort(-np.bincount(traces.cells.ravel(), minlength=n_cells), kind="stable")
    is_out = ~np.isin(traces.cells, busiest[:n_zones])
    middle = traces.cells.shape[1] // 2
    kept = np.concatenate([_longest(is_out[:, :middle]), _longest(is_out[:, middle:])], axis=1)
    views = observed_cells(traces, traces.cells, n_cells=n_cells, kept=kept)
    shares = shares_of(traces.cells[is_out], n_cells)
    views = Observations(night=views.night, halves=views.halves, shares=shares)
    return judge(
        views,
        traces,
        name=Message("{n_zones} mix-zones", n_zones=n_zones),
        guarantee=Message("pseudonyms change in crowds"),
        rng=rng,
    )


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
    """
    if not 1 <= k <= traces.n_people:
        raise RapporError(
            Message(
                "k must lie in 1..{n_people}, not {k}.", n_people=traces.n_people, k=Argument(k)
            )
        )
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
    views = Observations(night=night, halves=(halves[0], halves[1]), shares=total / total.sum())
    return judge(
        views,
        traces,
        name=Message("cloaking, k = {k}", k=k),
        guarantee=Message("among {k} people, each hour alone", k=k),
        rng=rng,
    )


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
    """
    n_cells = grid.areas().n_cells(len(grid.levels) - 1)
    always = np.ones(traces.cells.shape, bool)
    layers = [traces.cells]
    layers += [rng.integers(0, n_cells, traces.cells.shape) for _ in range(n_dummies)]
    parts = [observed_cells(traces, layer, n_cells=n_cells, kept=always) for layer in layers]
    counts = sum(part.shares for part in parts) - n_dummies / n_cells
    early, late = (np.sum([part.halves[i] for part in parts], axis=0) for i in (0, 1))
    night = np.sum([part.night for part in parts], axis=0)
    views = Observations(night=night, halves=(early, late), shares=np.asarray(counts))
    return judge(
        views,
        traces,
        name=Message("{n_dummies} dummies", n_dummies=n_dummies),
        guarantee=Message("none that lasts"),
        rng=rng,
    )


def _every_hour(traces: Traces, grid: Grid) -> Observations:
    """See each person's cell of every hour."""
    n_cells = grid.areas().n_cells(len(grid.levels) - 1)
    always = np.ones(traces.cells.shape, bool)
    return observed_cells(traces, traces.cells, n_cells=n_cells, kept=always)


def _longest(is_out: Flags) -> Flags:
    """Keep each row's longest stretch of yes."""
    kept = np.zeros(is_out.shape, bool)
    for row, out in enumerate(is_out):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], out.astype(np.int8), [0]])))
        if edges.size:
            starts, ends = edges[::2], edges[1::2]
            best = int(np.argmax(ends - starts))
            kept[row, starts[best] : ends[best]] = True
    return kept
