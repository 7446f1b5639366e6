"""A collection of places tried on simulated people, beside other ways to share them."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from footing.arrays import Floats
from footing.messages import Message
from rappor.client.permanent import SecretKey
from rappor.errors import RapporError
from rappor.location.areas import Grid
from rappor.location.collect import Collection, collect
from rappor.location.map import LevelMap, finest_shares, population_map
from rappor.location.simulation.attacks import averaging_attack
from rappor.location.simulation.noisy import geo_indistinguishable, rappor_cells
from rappor.location.simulation.outcome import Outcome, shares_of
from rappor.location.simulation.people import HOURS, Traces, moving_people
from rappor.location.simulation.strategies import (
    cloaking,
    dummies,
    mix_zones,
    named_traces,
    open_traces,
)

_REPORTS = (1, 10, 30, 100, 300)
_ATTACKED = 300
_LARGEST = 2 * 10**7  # hours of people, or cells of people, kept in memory at once
_MAX_JUDGED = 5_000  # everybody's two halves are compared with everybody's


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelFigures:
    """How well the map of one level does.

    Parameters
    ----------
    cells, shown
        How many cells it has, and how many are shown; the others are withheld.
    held
        Share of the shown cells' intervals that hold the true share; None where none is shown.
    """

    cells: int
    shown: int
    held: float | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Experiment:
    """What a simulation of moving people found.

    Parameters
    ----------
    outcomes
        Each way to share places, on the same people.
    averaging
        Numbers of reports → share of people whose cell is guessed, with the permanent response
        kept and with one drawn anew for each report.
    levels
        The map, coarse to fine.
    figures
        How well each level of the map does.
    map_error
        Half the sum of differences between map and truth over the finest cells.
    silenced
        Share of reports that were not sent, because a person's loss would have passed the cap.
    """

    outcomes: tuple[Outcome, ...]
    averaging: dict[int, tuple[float, float]]
    levels: tuple[LevelMap, ...]
    figures: tuple[LevelFigures, ...]
    map_error: float
    silenced: float

    def to_dict(self) -> dict[str, Any]:
        """Give all of it as plain values; withheld cells are None."""
        return {
            "ways": [asdict(outcome) for outcome in self.outcomes],
            "averaging": [
                {"reports": reports, "kept": memoised, "drawn_anew": anew}
                for reports, (memoised, anew) in self.averaging.items()
            ],
            "map": [
                asdict(figures) | {"estimates": _published(level)}
                for figures, level in zip(self.figures, self.levels, strict=True)
            ],
            "map_error": self.map_error,
            "silenced": self.silenced,
        }


def experiment(
    grid: Grid,
    *,
    collection: Collection,
    secret: SecretKey,
    rng: np.random.Generator,
    n_people: int = 400,
    population: int = 10_000,
    n_days: int = 14,
    alpha: float = 0.05,
    confidence: float = 0.95,
    **ways: Any,
) -> Experiment:
    """Simulate people, judge all ways to share places, and draw the map of a population.

    Parameters
    ----------
    grid
        The cells.
    collection
        How people report by RAPPOR; its areas are those of the grid.
    secret
        From which permanent responses derive.
    rng
        Source of chance: same seed, same figures.
    n_people
        People on whom all ways are judged.
    population
        People of the map.
    n_days
        Days of both; everybody reports once a day.
    alpha, confidence
        As for `population_map`.
    **ways
        As for `compare`.

    Raises
    ------
    RapporError
        If a number is out of range, or the simulation would not fit into memory.
    """
    areas = collection.areas
    n_cells = areas.n_cells(areas.n_levels - 1)
    check_size(n_people=n_people, population=population, n_days=n_days, n_cells=n_cells)
    few = moving_people(n_people, n_days=n_days, grid=grid, rng=rng)
    outcomes = compare(few, grid=grid, collection=collection, secret=secret, rng=rng, **ways)
    many = moving_people(population, n_days=n_days, grid=grid, rng=rng)
    days = collect(many.cells, collection=collection, secret=secret, hours=HOURS, rng=rng)
    levels = population_map(days, areas=areas, alpha=alpha, confidence=confidence)
    truths = [
        shares_of(areas.upward(many.cells, to=level), areas.n_cells(level))
        for level in range(areas.n_levels)
    ]
    sent = sum(counts.total for day in days for counts in day)
    error = np.abs(finest_shares(levels, areas=areas) - truths[-1]).sum() / 2
    return Experiment(
        outcomes=outcomes,
        averaging=_averaging(collection, rng),
        levels=levels,
        figures=tuple(
            _figures(level, truth) for level, truth in zip(levels, truths, strict=True)
        ),
        map_error=float(error),
        silenced=1 - sent / (population * n_days),
    )


def compare(
    traces: Traces,
    *,
    grid: Grid,
    collection: Collection,
    secret: SecretKey,
    rng: np.random.Generator,
    k: int = 10,
    n_zones: int = 10,
    n_dummies: int = 5,
    epsilon: float = 0.5,
) -> tuple[Outcome, ...]:
    """Judge names, pseudonyms, mix-zones, cloaking, dummies, planar noise and RAPPOR.

    Parameters
    ----------
    traces
        The people.
    grid
        The cells.
    collection
        How people report by RAPPOR; its areas are those of the grid.
    secret
        From which permanent responses derive.
    rng
        Source of chance: same seed, same figures.
    k
        Size of the crowd of cloaking.
    n_zones
        Number of mix-zones.
    n_dummies
        Number of dummies a report.
    epsilon
        Loss of one geo-indistinguishable report per unit of distance.
    """
    return (
        named_traces(traces, grid=grid, rng=rng),
        open_traces(traces, grid=grid, rng=rng),
        mix_zones(traces, grid=grid, n_zones=n_zones, rng=rng),
        cloaking(traces, grid=grid, k=k, rng=rng),
        dummies(traces, grid=grid, n_dummies=n_dummies, rng=rng),
        geo_indistinguishable(traces, grid=grid, epsilon=epsilon, rng=rng),
        rappor_cells(traces, collection=collection, secret=secret, rng=rng),
    )


def _averaging(
    collection: Collection, rng: np.random.Generator
) -> dict[int, tuple[float, float]]:
    parameters = collection.parameters[-1]
    memoised, anew = (
        averaging_attack(
            parameters, reports=_REPORTS, n_people=_ATTACKED, rng=rng, is_memoised=is_memoised
        )
        for is_memoised in (True, False)
    )
    return {reports: (memoised[reports], anew[reports]) for reports in _REPORTS}


def _figures(level: LevelMap, truth: Floats) -> LevelFigures:
    is_shown = level.is_shown
    is_held = (level.low <= truth) & (truth <= level.high)
    return LevelFigures(
        cells=int(is_shown.size),
        shown=int(is_shown.sum()),
        held=float(is_held[is_shown].mean()) if is_shown.any() else None,
    )


def _published(level: LevelMap) -> list[dict[str, float] | None]:
    rows = zip(level.shares, level.low, level.high, level.is_shown, strict=True)
    return [
        {"share": float(share), "low": float(low), "high": float(high)} if is_shown else None
        for share, low, high, is_shown in rows
    ]


def check_size(*, n_people: int, population: int, n_days: int, n_cells: int) -> None:
    """Refuse simulations that are empty or would not fit into memory."""
    if min(n_people, population, n_days) < 1:
        raise RapporError(Message("A simulation needs at least one person and one day."))
    if n_people > _MAX_JUDGED:
        raise RapporError(
            Message(
                "At most {most:,} people are judged, not {n_people:,}.",
                most=_MAX_JUDGED,
                n_people=n_people,
            ),
            hint=Message("take fewer people, and a larger population for the map"),
        )
    hours = n_days * HOURS
    largest = max(population * hours, n_people * hours, n_people * n_cells, _ATTACKED * n_cells)
    if largest > _LARGEST:
        raise RapporError(
            Message(
                "The simulation would hold {largest:,} places at once, more than {most:,}.",
                largest=largest,
                most=_LARGEST,
            ),
            hint=Message("take fewer people, days or levels"),
        )
