"""How a way to share places is judged."""

from dataclasses import dataclass

import numpy as np

from footing.arrays import Flags, Floats, Integers
from rappor.location.simulation.attacks import best_guess, linked
from rappor.location.simulation.people import Traces


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
    """

    name: str
    guarantee: str
    loss: float | None
    homes_found: float
    linked: float
    map_error: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Observations:
    """What an attacker holds of each person, and the map.

    Parameters
    ----------
    night
        People by cells: how often each was seen in each cell at night, or any score.
    halves
        The same for both halves of the time.
    shares
        The map: the share of people in each cell.
    loss
        The largest privacy loss of a person.
    """

    night: Floats
    halves: tuple[Floats, Floats]
    shares: Floats
    loss: float | None = None


def judge(
    views: Observations, traces: Traces, *, name: str, guarantee: str, rng: np.random.Generator
) -> Outcome:
    """Attack what was seen, and compare the map with where people were."""
    truth = shares_of(traces.cells, views.shares.size)
    shares = np.clip(views.shares, 0, None)
    shares = shares / shares.sum() if shares.sum() else np.full(shares.size, 1 / shares.size)
    return Outcome(
        name=name,
        guarantee=guarantee,
        loss=views.loss,
        homes_found=float(np.mean(best_guess(views.night, rng=rng) == traces.homes)),
        linked=linked(*views.halves, rng=rng),
        map_error=float(np.abs(shares - truth).sum() / 2),
    )


def observed_cells(
    traces: Traces, cells: Integers, *, n_cells: int, kept: Flags
) -> Observations:
    """Count cells by person, at night and in both halves of the time."""
    late = np.arange(cells.shape[1]) >= cells.shape[1] // 2
    return Observations(
        night=_count_histogram(cells, kept & traces.is_night, n_cells),
        halves=(
            _count_histogram(cells, kept & ~late, n_cells),
            _count_histogram(cells, kept & late, n_cells),
        ),
        shares=shares_of(cells[kept], n_cells),
    )


def shares_of(cells: Integers, n_cells: int) -> Floats:
    """Give the share of each cell."""
    counts = np.bincount(cells.ravel(), minlength=n_cells)
    return np.asarray(counts / max(1, counts.sum()))


def _count_histogram(cells: Integers, kept: Flags, n_cells: int) -> Floats:
    people = np.nonzero(kept)[0]
    flat = np.bincount(people * n_cells + cells[kept], minlength=len(cells) * n_cells)
    return flat.reshape(len(cells), n_cells).astype(float)
