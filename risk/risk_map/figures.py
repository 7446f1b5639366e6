"""The figures of one design on one table, in closed form or from simulated keys."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ptable.proof.guarantees import guarantee
from ptable.table import PTable
from risk.attacks.pairs import pairs_needed
from risk.distributions.band import Band
from risk.distributions.histogram import Histogram
from risk.inference.inverse import Inverse
from risk.inference.nested import certain_with_one_more
from risk.inference.worst import worst_posterior
from risk.risk_map.catalogue import FIGURES
from risk.utility.catalogue import Measure
from risk.utility.classes import CLASSES
from risk.utility.measures.distances import distances, ranks
from risk.utility.measures.variation import variation
from risk.utility.pairs import Pairs

_POSTERIORS = (
    "q_worst",
    "q_worst_set",
    "q_set",
    "q_least",
    "true_if_small",
    "sensitive_kept",
    "given_away",
    "given_away_set",
)
_USES = tuple(
    name for name, figure in FIGURES.items() if figure.side == "utility" and not figure.is_drawn
)
#: The names of the figures without a closed form, which simulated keys give.
DRAWN = tuple(name for name, figure in FIGURES.items() if figure.is_drawn)


def own_figures(band: Band) -> dict[str, float | None]:
    """Compute what a p-table tells without any data: privacy and attacks on large counts.

    Where large counts take rows in turn, figures are means over one turn, and the variance of
    the noise is that of a count that falls on each of the rows alike.
    """
    n_rows = len(band.probabilities)
    large = np.arange(n_rows, n_rows + band.cycle)
    distributions, nexts = (band.probabilities[band.rows(large + more)] for more in (0, 1))
    # X' is the same for X and X + 1: noise v for the one, v - 1 for the other.
    equal = float((distributions[:, 1:] * nexts[:, :-1]).sum()) / band.cycle
    distribution = distributions.mean(axis=0)
    mean = float(distribution @ band.noise)
    variance = max(0.0, float(distribution @ (band.noise - mean) ** 2))
    deltas = [row.delta for row in guarantee(band.table, epsilon=1.0).rows]
    return {
        "delta": max(delta for delta in deltas if delta is not None),
        "differencing": 1 - equal,
        "averaging_queries": 2.0 * math.ceil(pairs_needed(variance)),
    }


def risk_figures(
    band: Band, histogram: Histogram, *, sensitive: NDArray[np.int64]
) -> dict[str, float | None]:
    """Compute posteriors of sensitive counts; None where a condition never occurs."""
    figures: dict[str, float | None] = dict.fromkeys(_POSTERIORS)
    least = _least_published(band)
    # Originals in reach of any published count that is asked about.
    reach = max(int(sensitive.max()) + max(band.highest, 0), least) - min(band.lowest, 0)
    prior = histogram.prior(reach)
    if prior is None:
        return figures
    inverse = Inverse(table=band.table, prior=prior)
    weights = prior.at(sensitive)
    if weights.any():
        worst = worst_posterior(inverse, sensitive)
        stays = band.forward(sensitive, sensitive)
        figures["q_worst"] = float(worst.probabilities.max())
        figures["q_worst_set"] = worst.set_probability
        figures["sensitive_kept"] = float((weights * stays).sum() / weights.sum())
        away = certain_with_one_more(band.table, prior, sensitive)
        figures |= {
            "given_away": away.probability,
            "given_away_set": away.set_probability,
        }
    if inverse.weight([least])[0] > 0:
        figures["q_least"] = inverse.of_sets(np.arange(1, int(sensitive.max()) + 1), [least])
    chances = inverse.weight(sensitive)
    if chances.any():
        true = weights * band.forward(sensitive, sensitive)
        figures["q_set"] = inverse.of_sets(sensitive, sensitive)
        figures["true_if_small"] = float(true.sum() / chances.sum())
    return figures


def utility_figures(band: Band, histogram: Histogram) -> dict[str, float | None]:
    """Compute expected losses of users; None where there are no such cells.

    With ``N_c`` cells of count c, means are ``Σ_c N_c Σ_v p_c(v) f(c, v) / Σ_c N_c``. The two
    roots, ``rmse`` and ``hellinger_raw``, are of the expected square: slightly above the
    expectation of the root, by less than its variance over twice its size.
    """
    counts, cells, noise = histogram.counts, histogram.cells, band.noise
    distributions = band.probabilities[band.rows(counts)]
    size, square, drift = (
        distributions @ np.abs(noise),
        distributions @ noise**2,
        distributions @ noise,
    )
    chances = distributions @ (noise != 0)
    n, positive = histogram.n_cells, counts > 0
    if not n:
        return dict.fromkeys(_USES)
    figures: dict[str, float | None] = {
        "aad": float(cells @ size) / n,
        "rmse": math.sqrt(float(cells @ square) / n),
        "bias_mean": abs(float(cells @ drift)) / n,
        "changed_pct": 100 * float(cells @ chances) / n,
    }
    published = np.maximum(counts[:, None] + noise, 0)
    root = np.sqrt(counts.astype(np.float64))[:, None]
    distance = cells * (distributions * (np.sqrt(published) - root) ** 2).sum(axis=1) / 2
    figures["hellinger_raw"] = math.sqrt(float(distance.sum()))
    for name, (low, high) in CLASSES.items():
        inside = (counts >= low) & (counts <= (np.inf if high is None else high))
        some = math.sqrt(float(distance[inside].sum()))
        figures[f"hellinger_{name}"] = some if inside.any() else None
    n_positive = int(cells[positive].sum())
    false_zeros = float(
        cells[positive] @ (distributions * (counts[:, None] + noise == 0)).sum(axis=1)[positive]
    )
    figures["false_zeros"] = false_zeros
    if not n_positive:
        return figures | dict.fromkeys(("rmad_pct", "changed_nonzero_pct", "false_zeros_pct"))
    relative = float(cells[positive] @ (size[positive] / counts[positive]))
    figures["rmad_pct"] = 100 * relative / n_positive
    figures["changed_nonzero_pct"] = 100 * float((cells * chances)[positive].sum()) / n_positive
    figures["false_zeros_pct"] = 100 * false_zeros / n_positive
    return figures


def _least_published(band: Band) -> int:
    """Give the least positive count that some original is published as."""
    count = 1
    while True:
        if band.windows(np.array([count]))[1].any():
            return count
        count += 1


def draw_keys(
    n_cells: int, *, n_draws: int, rng: np.random.Generator
) -> tuple[NDArray[np.uint32], ...]:
    """Draw cell keys, independent and uniform as the keyed mix makes them."""
    return tuple(rng.integers(0, 2**32, n_cells, dtype=np.uint32) for _ in range(n_draws))


def drawn_figures(
    table: PTable, counts: NDArray[np.int64], *, keys: Sequence[NDArray[np.uint32]]
) -> dict[str, float | None]:
    """Publish all cells with the keys given and take the mean of the measures."""
    draws: dict[str, list[float]] = {name: [] for name in DRAWN}
    for some in keys:
        pairs = Pairs(original=counts, published=counts + table.lookup(counts, some))
        for measure in (*distances(pairs), *ranks(pairs), *variation(pairs)):
            name, value = _renamed(measure)
            if name in draws and value is not None:
                draws[name].append(value)
    return {name: float(np.mean(values)) if values else None for name, values in draws.items()}


def _renamed(measure: Measure) -> tuple[str, float | None]:
    if measure.name == "rv_pct":
        return "rv_size_pct", None if measure.value is None else abs(measure.value)
    return measure.name, measure.value
