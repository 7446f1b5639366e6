"""Ways to share places that report noise: geo-indistinguishability and RAPPOR."""

import math

import numpy as np

from dp.mechanisms.planar import PlanarLaplace
from footing.arrays import Flags, Floats
from footing.messages import Argument, Message
from rappor.client.bernoulli import bytes_source, flip
from rappor.client.permanent import SecretKey, permanent, permanent_key
from rappor.errors import RapporError
from rappor.location.areas import Grid
from rappor.location.collect import Collection, charged, collect, sampled_hours
from rappor.location.map import finest_shares, population_map
from rappor.location.simulation.outcome import Observations, Outcome, judge, shares_of
from rappor.location.simulation.people import HOURS, Traces

_POINTS = 64  # of the grid of reports along the side of a finest cell


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
    Noise and guarantee are those of `dp.PlanarLaplace`, on a fine grid within the box. The
    loss is that of moving by one finest cell in all reports. The attacker averages the
    reports of the nights.

    References
    ----------
    Andrés, Bordenabe, Chatzikokolakis, Palamidessi: Geo-indistinguishability, CCS 2013.
    """
    if not epsilon > 0:
        raise RapporError(
            Message("epsilon must be above 0, not {epsilon!r}.", epsilon=Argument(epsilon))
        )
    n_cells = grid.areas().n_cells(len(grid.levels) - 1)
    when = sampled_hours(traces.n_people, n_periods=traces.n_days, hours=HOURS, rng=rng)
    true = np.column_stack(
        [np.take_along_axis(part, when, axis=1).ravel() for part in (traces.x, traces.y)]
    )
    side = (grid.east - grid.west) / 2 ** grid.levels[-1]
    noise = PlanarLaplace(
        epsilon=epsilon,
        spacing=side / _POINTS,
        reach=math.hypot(grid.east - grid.west, grid.north - grid.south) * (1 + 1e-9),
        box=(grid.west, grid.south, grid.east, grid.north),
        unit="unit of the grid",
    )
    x, y = (part.reshape(when.shape) for part in noise.perturb(true, generator=rng).T)
    night = traces.is_night[when]
    half = when >= traces.cells.shape[1] // 2
    cells = grid.cells(x, y)
    views = Observations(
        night=_nearness(x, y, night, grid),
        halves=(_nearness(x, y, ~half, grid), _nearness(x, y, half, grid)),
        shares=shares_of(cells, n_cells),
        loss=epsilon * side * traces.n_days,
    )
    promise = Message("{epsilon:g} per unit of distance and report", epsilon=epsilon)
    return judge(
        views, traces, name=Message("geo-indistinguishability"), guarantee=promise, rng=rng
    )


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
    """
    parameters = collection.parameters[-1]
    when = sampled_hours(traces.n_people, n_periods=traces.n_days, hours=HOURS, rng=rng)
    places = np.take_along_axis(traces.cells, when, axis=1)
    key = permanent_key(secret, metric="attack", parameters=parameters)
    sent, losses = charged(places, parameters=parameters, cap=collection.cap, key=key)
    people = [b"%d" % person for person in range(traces.n_people)]
    shape = (traces.n_people, parameters.n_bits)
    night, halves = np.zeros(shape), (np.zeros(shape), np.zeros(shape))
    for day in range(traces.n_days):
        bloom = np.arange(parameters.n_bits) == places[:, day, None]
        permanent_bits = permanent(bloom, people, key=key, f=parameters.f)
        reports = flip(permanent_bits, p=parameters.p, q=parameters.q, source=bytes_source(rng))
        reports = reports & sent[:, day, None]
        halves[int(2 * day >= traces.n_days)][:] += reports
        night += reports * traces.is_night[when[:, day]][:, None]
    days = collect(traces.cells, collection=collection, secret=secret, hours=HOURS, rng=rng)
    areas = collection.areas
    views = Observations(
        night=night,
        halves=halves,
        shares=finest_shares(population_map(days, areas=areas), areas=areas),
        loss=float(losses.max()),
    )
    promise = Message("{loss:.3g} a cell, for ever", loss=parameters.epsilon_permanent)
    return judge(views, traces, name=Message("RAPPOR"), guarantee=promise, rng=rng)


def _nearness(x: Floats, y: Floats, kept: Flags, grid: Grid) -> Floats:
    """Score cells by their distance to the mean of each person's reports."""
    number = np.maximum(kept.sum(axis=1), 1)
    middle_x, middle_y = ((part * kept).sum(axis=1) / number for part in (x, y))
    cell_x, cell_y = grid.centres()
    away = np.hypot(middle_x[:, None] - cell_x, middle_y[:, None] - cell_y)
    return np.where(kept.any(axis=1, keepdims=True), -away, 0.0)
