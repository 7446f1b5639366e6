"""What all published counts say of each count: its posterior, exactly or from draws.

Joint cells have independent Poisson priors with the means of independent variables; a published
count has the probability that the p-table gives it for the true count. The noises of different
cells are taken for independent.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np

from footing.arrays import Flags, Floats, Integers, Levels
from ptable import PTable
from risk.errors import RiskError
from risk.reconstruction.chains import CellVector, Chains
from risk.reconstruction.counts import possible_origins
from risk.reconstruction.lattice import Lattice, Shown, SmallCounts, independent_shares
from risk.reconstruction.lattice_bounds import count_bounds

_MOST_ENUMERATED = 10_000_000
_MOST_HELD = 100_000_000
_LEAST_STEPS = 50
_SOFT, _HARD = 9.0, 30.0
_MIXED = 1.05


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Posterior:
    """What is known of the counts of a table. Disclosive.

    Parameters
    ----------
    chances
        Of the counts 0, 1, ... up to the largest small count, and of more, along the last axis.
    rhat
        How far chains differ in how often a cell has its most probable count (split R-hat): 1
        where the posterior is exact, infinite where most chains found no counts that fit.
    n_effective
        How many independent draws would tell as much of that; infinite where it is exact.
    """

    chances: Floats
    rhat: Floats
    n_effective: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundByPosterior(SmallCounts):
    """How many small counts their posterior finds.

    Somebody is sure where one small count is probable enough, and chains agree.

    Parameters
    ----------
    n_cells, n_unmixed
        How many cells there are; in how many chains still differ (R-hat above 1.05).
    sure_small, sure_small_wrong
        How often it is as probable that a count is a small one, whichever; how often wrongly.
    said
        By tenth of the probability of the guess (0-10 %, ..., 90-100 %), how many guesses there
        are where chains agree.
    kept
        How many of these are right.
    """

    n_cells: int
    n_unmixed: int
    sure_small: int
    sure_small_wrong: int
    said: tuple[int, ...]
    kept: tuple[int, ...]


def found_by(
    posterior: Posterior, truth: Integers, is_shown: Flags, *, confidence: float
) -> FoundByPosterior:
    """Compare the posterior of a table with its true counts.

    Parameters
    ----------
    posterior, truth
        What is known of the counts, and the counts.
    is_shown
        Which cells to look at.
    confidence
        From which probability on a reader is sure.
    """
    chances, rhat = posterior.chances[is_shown], posterior.rhat[is_shown]
    more = chances.shape[-1] - 1
    true = np.minimum(truth[is_shown], more)
    best, chance, mixed = chances.argmax(axis=-1), chances.max(axis=-1), rhat <= _MIXED
    is_small, is_guess = ((one > 0) & (one < more) for one in (true, best))
    sure = is_guess & mixed & (chance >= confidence)
    sure_small = mixed & (chances[:, 1:more].sum(axis=-1) >= confidence)
    right = is_guess & (best == true)
    tenth = np.minimum(chance * 10, 9).astype(np.int64)
    figures = {
        "n_unmixed": ~mixed,
        "n_small": is_small,
        "guessed": is_guess,
        "right": right,
        "sure": sure,
        "sure_wrong": sure & ~right,
        "sure_small": sure_small,
        "sure_small_wrong": sure_small & ~is_small,
    }
    return FoundByPosterior(
        n_cells=len(true),
        said=tuple(np.bincount(tenth[is_guess & mixed], minlength=10).tolist()),
        kept=tuple(np.bincount(tenth[right & mixed], minlength=10).tolist()),
        **{name: int(of.sum()) for name, of in figures.items()},
    )


def exact_posterior(
    lattice: Lattice, shown: Mapping[Levels, Shown], *, ptable: PTable, small: int
) -> dict[Levels, Posterior] | None:
    """Give the posterior of all tables exactly, from all joint counts that fit.

    Parameters
    ----------
    lattice, shown
        The tables, and what they show.
    ptable
        The noise of a count.
    small
        Counts up to this are told apart.

    Returns
    -------
    dict or None
        None where too many joint counts fit.

    Raises
    ------
    RiskError
        If no counts fit what is published.
    """
    n_cells = sum(one.published.size for one in shown.values())
    if math.prod(lattice.shape) * n_cells > _MOST_ENUMERATED:
        return None
    finest = (0,) * len(lattice.shape)
    if finest not in shown:
        hidden = np.zeros(lattice.shape, np.int64)
        shown = {**shown, finest: Shown(published=hidden, is_shown=hidden > 0)}
        lattice = Lattice(lattice.groups, list(shown))
    cells = CellVector(lattice, shown, ptable)
    bounds = count_bounds(lattice, shown, origins=partial(possible_origins, ptable))
    lower = np.concatenate([bounds[table].lower.ravel() for table in cells.tables])
    upper = np.concatenate([bounds[table].upper.ravel() for table in cells.tables])
    shares, total = independent_shares(lattice, shown)
    means = (reduce(np.multiply.outer, shares) * total).ravel()
    of_joint = cells.places(np.arange(means.size))
    most = upper[of_joint[:, cells.tables.index(finest)]]
    sums, logs = np.zeros((1, len(upper)), np.int64), np.zeros(1)
    to_come = cells.sums(most.reshape(lattice.shape))
    for place, mean, top in zip(of_joint, means, most, strict=True):
        if len(sums) * (top + 1) * len(upper) > _MOST_ENUMERATED:
            return None
        to_come[place] -= top
        poisson = np.cumsum([0.0, *np.log(mean / np.arange(1, top + 1))])
        counts = np.repeat(np.arange(len(poisson)), len(sums))
        sums, logs = np.tile(sums, (len(poisson), 1)), np.tile(logs, len(poisson))
        sums[:, place] += counts[:, None]
        here = sums[:, place]
        fits = (here <= upper[place]) & (here + to_come[place] >= lower[place])
        sums, logs = sums[fits.all(axis=1)], (logs + poisson[counts])[fits.all(axis=1)]
    logs = logs + cells.log_likelihoods(sums).sum(axis=1)
    if not np.isfinite(logs).any():
        raise RiskError(
            "No true counts fit what is published.",
            hint="the p-table is another than that of the tables",
        )
    weights = np.exp(logs - logs.max())
    chances = [weights @ (np.minimum(sums, small + 1) == one) for one in range(small + 2)]
    exact = np.stack(chances, axis=-1) / weights.sum()
    return _by_table(cells, exact, np.ones(len(upper)), np.full(len(upper), np.inf))


def sample_posterior(
    lattice: Lattice,
    shown: Mapping[Levels, Shown],
    *,
    ptable: PTable,
    small: int,
    draws: int,
    fitted: Floats,
    area: int | None = None,
    seed: int = 0,
    n_chains: int = 16,
    progress: Callable[[int, int], None] | None = None,
) -> dict[Levels, Posterior]:
    """Give the posterior of all tables from draws of joint counts.

    Parameters
    ----------
    lattice, shown
        The tables, and what they show.
    ptable
        The noise of a count.
    small
        Counts up to this are told apart.
    draws
        How many to keep of each chain, 4 or more; as many before are thrown away. Between two
        there are as many steps as the largest of the coarsest areas has occupied joint cells.
    fitted
        Joint counts to start near.
    area
        The variable of areas.
    seed
        Of the draws.
    n_chains
        How many chains there are.
    progress
        Called with the draws done and all of them.

    Raises
    ------
    RiskError
        If a published count comes from no true count, or the joint cells are too many to hold.

    Notes
    -----
    The chains start from the fitted counts, rounded up or down at random. While they warm up,
    counts that do not fit what is published become less and less likely. Where a draw does not
    fit, nothing is kept of this half of its chain for the coarsest area of the cell, or for the
    tables that are not by area.
    """
    if fitted.size * n_chains > _MOST_HELD:
        raise RiskError(
            f"All variables together have {fitted.size:,} cells, more than can be drawn.",
            hint="look at a sample of areas, or at fewer variables",
        )
    rng = np.random.default_rng(seed)
    cells = CellVector(lattice, shown, ptable, area=area)
    shares, total = independent_shares(lattice, shown)
    starts = np.floor(fitted + rng.random((n_chains, *fitted.shape))).astype(np.int64)
    chains = Chains(cells, shares=shares, total=total, starts=starts, rng=rng)
    steps = max(int(chains.n_occupied.max()), _LEAST_STEPS)
    half = max(-(-draws // 2), 2)
    times = np.zeros((2, n_chains, len(cells.published), small + 2), np.int16)
    fits = np.ones((2, n_chains, chains.n_blocks + 1), bool)
    for draw in range(-2 * half, 2 * half):
        if progress is not None:
            progress(draw + 2 * half, 4 * half)
        if draw <= 0:
            chains.soften(1 + (_SOFT - 1) * (2 + draw / half) if draw < -half else _HARD)
        chains.run(steps)
        if draw >= 0:
            counts = chains.sums()
            chain, cell = np.nonzero(np.isinf(cells.log_likelihoods(counts)))
            fits[draw // half, chain, cells.blocks[cell]] = False
            for one in range(small + 2):
                times[draw // half, ..., one] += np.minimum(counts, small + 1) == one
    halves = times.reshape(-1, *times.shape[2:]) / half
    return _by_table(
        cells, *_from_halves(halves, fits.reshape(2 * n_chains, -1)[:, cells.blocks], n=half)
    )


def _from_halves(shares: Floats, fits: Flags, *, n: int) -> tuple[Floats, Floats, Floats]:
    """Return the chances, split R-hat and the effective number of draws.

    References
    ----------
    Vehtari, Gelman, Simpson, Carpenter, Bürkner 2021, Rank-normalization, folding, and
    localization: an improved R-hat for assessing convergence of MCMC, section 2.1 (the ranks of
    an indicator are the indicator); Gelman et al. 2004, Bayesian Data Analysis, section 11.6.
    """
    m = fits.sum(axis=0)
    weights = fits / np.maximum(m, 1)
    chances = np.einsum("hk,hkc->kc", weights, shares)
    best = chances.argmax(axis=1)[None, :, None]
    share = np.take_along_axis(shares, best, axis=2)[:, :, 0]
    mean = (weights * share).sum(axis=0)
    within = (weights * share * (1 - share)).sum(axis=0) * n / (n - 1)
    between = (weights * (share - mean) ** 2).sum(axis=0) * m / np.maximum(m - 1, 1)
    total = within * (n - 1) / n + between
    with np.errstate(divide="ignore", invalid="ignore"):
        rhat = np.where(between == 0, 1.0, np.sqrt(total / within))
        effective = np.where(between == 0, m * n, np.minimum(total / between, n) * m)
    rhat[2 * m <= len(fits)] = np.inf
    return chances, rhat, effective


def _by_table(
    cells: CellVector, chances: Floats, rhat: Floats, n_effective: Floats
) -> dict[Levels, Posterior]:
    parts = [cells.by_table(one) for one in (chances, rhat, n_effective)]
    return {
        table: Posterior(chances=chances, rhat=rhat, n_effective=n_effective)
        for table, chances, rhat, n_effective in zip(
            cells.tables, *(part.values() for part in parts), strict=True
        )
    }
