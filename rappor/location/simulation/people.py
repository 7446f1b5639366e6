"""People who move: homes, work, a few other places, day after day."""

from dataclasses import dataclass

import numpy as np

from footing.arrays import Flags, Floats, Integers
from footing.messages import Message
from rappor.errors import RapporError
from rappor.location.areas import Grid

HOURS = 24
_EVENING, _MORNING = 22, 6  # the hours between are night
_TOWNS = 6
_PLACES = 3  # besides home and work
_SPREAD = 0.05  # of a town, in widths of the box
_REACH = 0.1  # of the other places around home
_TRIP = 0.02  # chance of being anywhere, in any waking hour


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Traces:
    """Where simulated people are, hour by hour.

    Parameters
    ----------
    x, y
        People by hours.
    cells
        The finest cells of these points.
    homes
        The finest cell of everybody's home.
    """

    x: Floats
    y: Floats
    cells: Integers
    homes: Integers

    @property
    def n_people(self) -> int:
        """Number of people."""
        return len(self.cells)

    @property
    def n_days(self) -> int:
        """Number of days."""
        return int(self.cells.shape[1]) // HOURS

    @property
    def is_night(self) -> Flags:
        """Which hours are night."""
        return _is_night(np.arange(self.cells.shape[1]))


def moving_people(
    n_people: int, *, n_days: int, grid: Grid, rng: np.random.Generator
) -> Traces:
    """Simulate people with a home, a job, three other places and rare trips.

    Parameters
    ----------
    n_people
        Number of people.
    n_days
        Number of days; every sixth and seventh is a weekend.
    grid
        Where they live.
    rng
        Source of chance: same seed, same people.
    """
    if n_people < 1 or n_days < 1:
        raise RapporError(Message("A simulation needs at least one person and one day."))
    towns = rng.uniform(0.15, 0.85, (_TOWNS, 2))
    home = _around(towns[rng.integers(0, _TOWNS, n_people)], _SPREAD, rng)
    work = _around(towns[rng.integers(0, 2, n_people)], _SPREAD, rng)  # two towns have jobs
    others = _around(np.repeat(home[:, None], _PLACES, 1), _REACH, rng)
    places = np.concatenate([home[:, None], work[:, None], others], axis=1)
    where = _timetable(n_people, n_days, rng)
    points = np.take_along_axis(places, where[:, :, None], axis=1)
    hour = np.arange(n_days * HOURS) % HOURS
    trips = (rng.random(where.shape) < _TRIP) & ~_is_night(hour)
    points[trips] = rng.random((int(trips.sum()), 2))
    x = grid.west + points[..., 0] * (grid.east - grid.west)
    y = grid.south + points[..., 1] * (grid.north - grid.south)
    cells = grid.cells(x, y)
    return Traces(x=x, y=y, cells=cells, homes=cells[:, 0])


def traces_of(people: Integers, hours: Integers, x: Floats, y: Floats, *, grid: Grid) -> Traces:
    """Follow real people hour by hour: where they were last, or will be first.

    Parameters
    ----------
    people
        The number of each point's person, from 0; points of one person are in order of time.
    hours
        Of each point; hour 0 is a midnight, and days are whole.
    x, y
        The points; those outside the grid are moved to its edge.
    grid
        The cells.

    Notes
    -----
    Home is the cell in which a person is most hours of the nights.

    Examples
    --------
    >>> box = Grid(west=0, south=0, east=2, north=2, levels=(1,))
    >>> one = traces_of(
    ...     np.array([0, 0]), np.array([3, 9]), np.array([0.5, 1.5]), np.zeros(2), grid=box
    ... )
    >>> one.n_days, one.homes.tolist(), one.cells[0, 8:10].tolist()
    (1, [0], [0, 1])
    """
    if not people.size:
        raise RapporError(Message("A simulation needs at least one person and one day."))
    n_people, n_hours = int(people.max()) + 1, HOURS * (int(hours.max()) // HOURS + 1)
    number = np.full((n_people, n_hours), -1, np.int64)
    number[people, hours] = np.arange(people.size)
    number = np.maximum.accumulate(number, axis=1)  # points of a person are in order
    first = np.full(n_people, people.size, np.int64)
    np.minimum.at(first, people, np.arange(people.size))
    number = np.maximum(number, first[:, None])
    places = (
        np.clip(x, grid.west, grid.east)[number],
        np.clip(y, grid.south, grid.north)[number],
    )
    cells = grid.cells(*places)
    night = cells[:, _is_night(np.arange(n_hours))]
    homes = np.array([np.bincount(row).argmax() for row in night], np.int64)
    return Traces(x=places[0], y=places[1], cells=cells, homes=homes)


def _is_night(hours: Integers) -> Flags:
    hour = hours % HOURS
    return (hour >= _EVENING) | (hour < _MORNING)


def _around(centre: Floats, spread: float, rng: np.random.Generator) -> Floats:
    return np.clip(centre + rng.normal(0, spread, centre.shape), 0, 1 - 1e-9)


def _timetable(n_people: int, n_days: int, rng: np.random.Generator) -> Integers:
    """Give the place of each person and hour: 0 home, 1 work, then the others."""
    day, hour = np.divmod(np.arange(n_days * HOURS), HOURS)
    is_weekend = day % 7 >= 5
    where = np.zeros((n_people, day.size), np.int64)
    where[:, ~is_weekend & (hour >= 9) & (hour < 17)] = 1
    for chance, hours in (
        (0.4, ~is_weekend & (hour >= 18) & (hour < 21)),
        (0.6, is_weekend & (hour >= 11) & (hour < 18)),
    ):
        goes = rng.random((n_people, n_days)) < chance
        place = rng.integers(2, 2 + _PLACES, (n_people, n_days))
        out = hours & goes[:, day]
        where[out] = place[:, day][out]
    return where
