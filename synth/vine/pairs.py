"""Pair-copulas from noisy tables: families weighed by a likelihood that knows the noise.

Nothing here reads records: tables come with their noise, and all else is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from footing.arrays import Floats
from synth.copulas.library import vines

_UP = ("gaussian", "student", "frank", "clayton", "gumbel")  # with a rotation where it has one
#: Degrees of freedom that are tried, and that from which on a Student's copula is a normal one.
FREEDOMS = (2.0, 2.5, 3.0, 4.0, 5.0, 6.5, 9.0, 14.0, 22.0)
NORMAL = 40.0
_SIZES = 0.97  # of Kendall's tau, at most
_SMALL = 1e-9
_KNOTS = 30  # of a table of densities, as the library has them
_LEAST_CORRECTION = 0.1  # a share of the misfit of a family that is worth a table of densities


@dataclass(frozen=True, slots=True, eq=False)
class NoisyPair:
    """A noisy table of two numbers, with the heights of their margins at the edges of cells.

    Parameters
    ----------
    counts
        Noisy counts.
    scale
        Scale of their noise.
    rows, columns
        Heights at the edges of cells, from 0 to 1.
    records
        How many records there are, about.
    """

    counts: Floats
    scale: float
    rows: Floats
    columns: Floats
    records: float

    def misfit(self, chances: Floats, variance: Floats) -> float:
        """Return twice the negative logarithm of the likelihood, but for a constant."""
        return float(((self.counts - self.records * chances) ** 2 / variance).sum())

    def variance(self, chances: Floats) -> Floats:
        """Return the variance of each count: of noise, and of records as a sample."""
        return np.asarray(self.scale**2 + self.records * np.maximum(chances, _SMALL))


def bicop_of(family: str, tau: float, *, freedom: float = 0.0, rotation: int = 0) -> Any:
    """Return a pair-copula of a family with a Kendall's tau."""
    library = vines()
    tau = float(np.clip(tau, -_SIZES, _SIZES))
    if family == "student":
        parameters = np.array([[math.sin(math.pi / 2 * tau)], [freedom]])
        return library.Bicop(library.BicopFamily.student, 0, parameters)
    kind = getattr(library.BicopFamily, family)
    if family == "gaussian":
        return library.Bicop(kind, 0, np.array([[math.sin(math.pi / 2 * tau)]]))
    parameters = library.Bicop(kind, rotation).tau_to_parameters(tau)
    return library.Bicop(kind, rotation, np.asfortranarray(parameters))


def rectangle_chances(bicop: Any, rows: Floats, columns: Floats) -> Floats:
    """Return the chance of each cell; with more axes in front, cells of each layer."""
    u = np.broadcast_to(rows[..., :, None], (*rows.shape, columns.shape[-1]))
    v = np.broadcast_to(columns[..., None, :], u.shape)
    points = np.asfortranarray(np.column_stack([u.ravel(), v.ravel()]).clip(1e-10, 1 - 1e-10))
    heights = np.asarray(bicop.cdf(points)).reshape(u.shape)
    chances = np.diff(np.diff(heights, axis=-1), axis=-2)
    return np.asarray(np.maximum(chances, 0.0))


def choose_pair(
    table: NoisyPair,
    chances: Callable[[Any], Floats],
    *,
    start: float,
    width: float,
    freedom: float,
) -> tuple[Any, Floats]:
    """Return the pair-copula that explains a noisy table best for its number of parameters.

    Parameters
    ----------
    table
        The table.
    chances
        The chances of its cells under a pair-copula.
    start, width
        Where Kendall's tau is about, and how far from there it is looked for.
    freedom
        The degrees of freedom of Student's copula, decided for all tables together.

    Notes
    -----
    Counts are normal around what is expected, with the variance of noise and of sampling. A
    parameter must better twice the log-likelihood by the logarithm of the number of cells.
    """
    from scipy.optimize import minimize_scalar

    low, high = max(start - width, -_SIZES), min(start + width, _SIZES)
    pilot = chances(bicop_of("gaussian", start))
    variance = table.variance(pilot)
    price = math.log(table.counts.size)
    library = vines()
    independent = library.Bicop()
    flat = chances(independent)
    best = (table.misfit(flat, variance), independent, flat)

    steps = 10

    def weigh(family: str, freedom: float, rotation: int, penalty: float) -> float:
        nonlocal best
        edges = (low, high)
        if family in ("clayton", "gumbel"):
            edges = (max(low, 0.01), high) if rotation in (0, 180) else (low, min(high, -0.01))
            if edges[0] >= edges[1]:
                return start

        def loss(tau: float) -> float:
            bicop = bicop_of(family, tau, freedom=freedom, rotation=rotation)
            return table.misfit(chances(bicop), variance)

        optimum = minimize_scalar(
            loss, bounds=edges, method="bounded", options={"xatol": 6e-3, "maxiter": steps}
        )
        if optimum.fun + penalty < best[0]:
            bicop = bicop_of(family, float(optimum.x), freedom=freedom, rotation=rotation)
            best = (float(optimum.fun + penalty), bicop, chances(bicop))
        return float(optimum.x)

    tau, steps = weigh("gaussian", 0.0, 0, price), 6
    low, high = max(tau - width / 3, -_SIZES), min(tau + width / 3, _SIZES)
    if freedom < NORMAL:
        weigh("student", freedom, 0, price)
    weigh("frank", 0.0, 0, price)
    turns = (0, 180) if start >= 0 else (90, 270)
    for family in ("clayton", "gumbel"):
        for turn in turns:
            weigh(family, 0.0, turn, price)
    return best[1], best[2]


def common_freedom(tables: Sequence[NoisyPair], taus: Sequence[float]) -> float:
    """Return the degrees of freedom of Student's copula that explain all tables best."""
    losses = []
    for freedom in (*FREEDOMS, NORMAL):
        loss = 0.0
        for table, tau in zip(tables, taus, strict=True):
            pilot = rectangle_chances(bicop_of("gaussian", tau), table.rows, table.columns)
            bicop = bicop_of("student", tau, freedom=freedom)
            chances = rectangle_chances(bicop, table.rows, table.columns)
            loss += table.misfit(chances, table.variance(pilot))
        losses.append(loss)
    return float((*FREEDOMS, NORMAL)[int(np.argmin(losses))])


def correction_of(table: NoisyPair, bicop: Any, chances: Floats) -> Any:
    """Return a pair-copula moved towards a table as far as its noise does not explain it.

    Notes
    -----
    The misfit of the family shrinks by the positive part of James and Stein; what is left of it
    multiplies the density, cell by cell, between the centres of cells on a straight line: a
    Bernstein copula of degree one. Its margins are made even, and the library takes it as one
    of its tables of densities.
    """
    variance = table.variance(chances)
    rest = table.counts - table.records * chances
    noise_share = float(variance.sum() / max((rest**2).sum(), 1e-300))
    share = 1 - noise_share
    if share < _LEAST_CORRECTION:
        return bicop
    cells = np.maximum(table.records * chances + share * rest, 0.02 * table.records * chances)
    ratio = np.log(cells / np.maximum(table.records * chances, 1e-3) + 1e-3)
    ratio = np.clip(ratio, -3, 3)
    knots = density_knots()
    between = _interpolated(ratio, table.rows, table.columns, knots)
    grid = np.asfortranarray(
        np.array(np.meshgrid(knots, knots, indexing="ij")).reshape(2, -1).T
    )
    density = np.asarray(bicop.pdf(grid)).reshape(_KNOTS, _KNOTS) * np.exp(between)
    library = vines()
    return library.Bicop(library.BicopFamily.tll, 0, np.asfortranarray(_even(density, knots)))


def density_knots() -> Floats:
    """Return where a table of densities of the library has its rows and columns."""
    from scipy.special import ndtr

    return np.asarray(ndtr(np.linspace(-3.25, 3.25, _KNOTS)))


def _interpolated(values: Floats, rows: Floats, columns: Floats, knots: Floats) -> Floats:
    first, second = (rows[1:] + rows[:-1]) / 2, (columns[1:] + columns[:-1]) / 2
    along = np.array([np.interp(knots, first, one) for one in values.T]).T
    return np.array([np.interp(knots, second, one) for one in along])


def _even(density: Floats, knots: Floats) -> Floats:
    """Return the density with even margins, by fitting rows and columns in turn."""
    edges = np.concatenate([[0.0], (knots[1:] + knots[:-1]) / 2, [1.0]])
    weights = np.diff(edges)
    for _ in range(30):
        density = density / (density @ weights)[:, None]
        density = density / (weights @ density)[None, :]
    return density


def heights_given(bicop: Any, heights: Floats, nodes: Floats) -> Floats:
    """Return P(U below each height | V = each node), one row a node."""
    u = np.tile(heights, len(nodes))
    v = np.repeat(nodes, len(heights))
    points = np.asfortranarray(np.column_stack([u, v]).clip(1e-10, 1 - 1e-10))
    conditional = np.asarray(bicop.hfunc2(points)).reshape(len(nodes), len(heights))
    conditional[:, 0], conditional[:, -1] = 0.0, 1.0
    return np.maximum.accumulate(conditional, axis=1)


def nodes_of(heights: Floats, *, parts: int = 3) -> tuple[Floats, Floats]:
    """Return points within cells, and the mass that each stands for."""
    widths = np.diff(heights)
    inside = (np.arange(parts) + 0.5) / parts
    nodes = heights[:-1, None] + widths[:, None] * inside
    return nodes.ravel(), np.repeat(widths / parts, parts)


def mixed_chances(weights: Floats, rows: Floats, columns: Floats) -> Callable[[Any], Floats]:
    """Return how likely cells are when their edges differ from layer to layer."""

    def chances(bicop: Any) -> Floats:
        layers = rectangle_chances(bicop, rows, columns)
        return np.asarray(np.tensordot(weights, layers, axes=1))

    return chances


def tau_of_rho(correlation: float) -> float:
    """Return Kendall's tau of a Gaussian copula with a rank correlation."""
    pearson = 2 * math.sin(math.pi / 6 * float(np.clip(correlation, -1, 1)))
    return 2 / math.pi * math.asin(float(np.clip(pearson, -1, 1)))


def sizes_of(cells: Sequence[Floats]) -> list[int]:
    """Return how many cells lie between edges."""
    return [len(edges) - 1 for edges in cells]
