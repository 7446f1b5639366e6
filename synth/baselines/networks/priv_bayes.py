"""PrivBayes: a network of few parents, chosen and measured with noise."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from dp import Adjacency, Exponential, Laplace, Sensitivity
from footing.arrays import Floats
from footing.checks import require_integer
from synth.baselines.coded import code_frame, decode_frame
from synth.baselines.model import Account, BaselineModel, Charge, charge_bins, checked_epsilon
from synth.baselines.networks.network import (
    Binned,
    Family,
    bin_columns,
    candidates_of,
    cells_of,
    draw_network,
    information_of,
    measured_places,
    spread_bins,
    tables_of,
)
from synth.baselines.noise import choose, noisy
from synth.errors import SynthError


def priv_bayes(
    frame: Any,
    *,
    epsilon: float,
    domains: Mapping[str, Sequence[Any]] | None,
    degree: int = 3,
    is_legacy: bool = False,
    rng: np.random.Generator | None = None,
) -> BaselineModel:
    """Fit PrivBayes: half of the budget chooses a network, half measures its tables.

    Parameters
    ----------
    frame
        The records.
    epsilon
        The budget.
    domains
        Per column its values. None reads them from the records, and the account says so.
        Numbers with more than 20 values are put into 20 equal bins.
    degree
        The most parents of a column.
    is_legacy
        Whether to repeat the noise of an implementation that earlier comparisons used: too
        small by as many times as there are records.
    rng
        A generator, for simulations; without one the noise is exact and from the system.

    Notes
    -----
    Of the n columns, the n - k after the first k share half of epsilon: their joint counts get
    Laplace noise of scale ``2 (n - k) / (epsilon / 2)``; the first k follow from the first of
    these tables. Candidates whose table would have more
    than a million cells are left out, and degrees with more than 20,000 candidates at a step.

    References
    ----------
    Zhang, Cormode, Procopiuc, Srivastava, Xiao 2017; Ping, Stoyanovich, Howe 2017.

    Examples
    --------
    >>> x = np.arange(600) % 3
    >>> model = priv_bayes(
    ...     {"a": x, "b": x},
    ...     epsilon=30,
    ...     domains={"a": range(3), "b": range(3)},
    ...     rng=np.random.default_rng(1),
    ... )
    >>> drawn = model.sample(200, np.random.default_rng(2))
    >>> bool((drawn["a"] == drawn["b"]).mean() > 0.95), str(model.account)
    (True, 'epsilon 30 (dependence 15, margins 15)')
    """
    epsilon = checked_epsilon(epsilon)
    require_integer(degree, "degree", error=SynthError, minimum=1)
    columns = code_frame(frame, domains=domains)
    is_bounded = domains is not None and not is_legacy
    account = Account(claimed=epsilon, limit=epsilon if is_bounded else None)
    charge_bins(account, columns)
    binned = bin_columns(columns)
    n = len(columns)
    k = min(degree, n - 1)
    half = epsilon / 2 if n > 1 else 0.0
    source = np.random.default_rng(rng)
    root = int(source.integers(n))
    if n > 1:
        account.pay(Charge(part="dependence", what="network", epsilon=half))
    network = _network(binned, root, degree=k, epsilon=half, rng=rng)
    places = measured_places(network, degree=k)
    price = epsilon - half
    scale = 2 * len(places) / price
    if is_legacy:
        scale /= len(columns[0].codes)
        price *= len(columns[0].codes)
        account.pay(Charge(part="margins", what="histograms of a fallback", epsilon=epsilon))
    account.pay(Charge(part="margins", what="tables of the network", epsilon=price))
    joints = _held(binned, network, places=places, scale=scale, rng=rng)
    tables = tables_of(network, joints)

    def draw(size: int, source: np.random.Generator) -> pd.DataFrame:
        draws = draw_network(size, tables, rng=source)
        return decode_frame(columns, spread_bins(draws, binned.members, source))

    label = "PrivBayes" + (" with noise too small" if is_legacy else "")
    return BaselineModel(
        label=account.label(label),
        account=account,
        draw=draw,
        details={
            "network": [
                (columns[one].name, [columns[p].name for p in of]) for one, of in network
            ],
            "scale": scale,
        },
    )


def _network(
    binned: Binned,
    root: int,
    *,
    degree: int,
    epsilon: float,
    rng: np.random.Generator | None,
) -> list[Family]:
    n = len(binned.sizes)
    network: list[Family] = [(root, ())]
    while len(network) < n:
        candidates = candidates_of(binned.sizes, [child for child, _ in network], degree=degree)
        scores = [information_of(binned.codes, one, sizes=binned.sizes) for one in candidates]
        pick = Exponential(
            epsilon=epsilon / (n - 1), sensitivity=1, adjacency=Adjacency.REPLACE
        )
        network.append(candidates[choose(scores, pick, rng=rng)])
    return network


def _held(
    binned: Binned,
    network: list[Family],
    *,
    places: list[int],
    scale: float,
    rng: np.random.Generator | None,
) -> dict[int, tuple[tuple[int, ...], Floats]]:
    """Return the noisy tables of some places, none of their counts below 0."""
    noise = Laplace(sensitivity=Sensitivity(l1=2, adjacency=Adjacency.REPLACE), scale=scale)
    joints: dict[int, tuple[tuple[int, ...], Floats]] = {}
    for place in places:
        child, parents = network[place]
        order = (*parents, child)
        sizes = tuple(binned.sizes[one] for one in order)
        cells = cells_of(binned.codes, order, sizes=binned.sizes)
        counts = np.bincount(cells, minlength=math.prod(sizes))
        answer = noisy(counts.astype(np.float64), noise, rng=rng)
        joints[place] = order, answer.clip(min=0).reshape(sizes)
    return joints
