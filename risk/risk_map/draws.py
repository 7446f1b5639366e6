"""Measures of utility without a closed form, from simulated keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from risk.risk_map.catalogue import FIGURES
from risk.utility.measures.distances import distances
from risk.utility.measures.ranks import ranks
from risk.utility.measures.variation import variation
from risk.utility.pairs import Pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ptable.table import PTable
    from risk.utility.measure import Measure

#: The names of the figures that are drawn.
DRAWN = tuple(name for name, figure in FIGURES.items() if figure.is_drawn)


def draw_keys(
    n_cells: int, *, n_draws: int, rng: np.random.Generator
) -> tuple[NDArray[np.uint32], ...]:
    """Draw cell keys, independent and uniform as the keyed mix makes them.

    Parameters
    ----------
    n_cells
        The number of cells.
    n_draws
        How many times.
    rng
        The generator.

    Examples
    --------
    >>> [len(keys) for keys in draw_keys(3, n_draws=2, rng=np.random.default_rng(1))]
    [3, 3]
    """
    return tuple(rng.integers(0, 2**32, n_cells, dtype=np.uint32) for _ in range(n_draws))


def drawn_figures(
    table: PTable, counts: NDArray[np.int64], *, keys: Sequence[NDArray[np.uint32]]
) -> dict[str, float | None]:
    """Publish all cells with the keys given and take the mean of the measures."""
    drawn: dict[str, list[float]] = {name: [] for name in DRAWN}
    for some in keys:
        pairs = Pairs(original=counts, published=counts + table.lookup(counts, some))
        for measure in (*distances(pairs), *ranks(pairs), *variation(pairs)):
            name, value = _renamed(measure)
            if name in drawn and value is not None:
                drawn[name].append(value)
    return {name: float(np.mean(values)) if values else None for name, values in drawn.items()}


def _renamed(measure: Measure) -> tuple[str, float | None]:
    if measure.name == "rv_pct":
        return "rv_size_pct", None if measure.value is None else abs(measure.value)
    return measure.name, measure.value
