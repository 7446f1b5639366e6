"""PrivBayes: a network of few parents, chosen and measured with noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from dp import Adjacency, Exponential, Laplace, Sensitivity
from synth.baselines.account import Account, Charge, checked_epsilon, is_whole
from synth.baselines.binned import Binned, bin_columns
from synth.baselines.coded import code_frame, decode_frame
from synth.baselines.dp_histogram import charge_bins
from synth.baselines.model import BaselineModel
from synth.baselines.noise import choose, noisy
from synth.errors import SynthError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

__all__ = ["information_sensitivity", "priv_bayes"]

_LARGEST = 1_000_000
_MOST_CANDIDATES = 20_000


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
    if not is_whole(degree):
        raise SynthError(f"degree must be a whole number from 1, not {degree!r}.")
    columns = code_frame(frame, domains=domains)
    is_bounded = domains is not None and not is_legacy
    account = Account(claimed=epsilon, limit=epsilon if is_bounded else None)
    charge_bins(account, columns)
    binned = bin_columns(columns)
    n = len(columns)
    k = min(degree, n - 1)
    half = epsilon / 2 if n > 1 else 0.0
    source = np.random.default_rng() if rng is None else rng
    root = int(source.integers(n))
    if n > 1:
        account.pay(Charge(part="dependence", what="network", epsilon=half))
    network = _network(binned, root, degree=k, epsilon=half, rng=rng)
    measured = _measured(network, degree=k)
    price = epsilon - half
    scale = 2 * len(measured) / price
    if is_legacy:
        scale /= len(columns[0].codes)
        price *= len(columns[0].codes)
        account.pay(Charge(part="margins", what="histograms of a fallback", epsilon=epsilon))
    account.pay(Charge(part="margins", what="tables of the network", epsilon=price))
    tables = _tables(binned, network, measured=measured, scale=scale, rng=rng)

    def draw(size: int, source: np.random.Generator) -> pd.DataFrame:
        return decode_frame(columns, binned.spread(_draw(size, tables, n, source), source))

    label = "PrivBayes" + (" with noise too small" if is_legacy else "")
    return BaselineModel(
        label=label if account.is_as_claimed else f"{label}, NOT DP as claimed",
        account=account,
        draw=draw,
        details={
            "network": [
                (columns[one].name, [columns[p].name for p in of]) for one, of in network
            ],
            "scale": scale,
        },
    )


def information_sensitivity(records: int, *, is_binary: bool) -> float:
    """Return how far the mutual information moves when a record is replaced.

    Parameters
    ----------
    records
        How many records there are.
    is_binary
        Whether the column, or the set of its parents, has two values.

    Examples
    --------
    >>> round(information_sensitivity(1000, is_binary=True), 6)
    0.007907
    """
    n = records
    if n < 2:
        return math.log(2)
    if is_binary:
        return math.log(n) / n + (n - 1) / n * math.log(n / (n - 1))
    return 2 / n * math.log((n + 1) / 2) + (n - 1) / n * math.log((n + 1) / (n - 1))


@dataclass(frozen=True, slots=True)
class _Table:
    child: int
    parents: tuple[int, ...]
    sizes: tuple[int, ...]
    cumulative: NDArray[np.float64]


def _network(
    binned: Binned,
    root: int,
    *,
    degree: int,
    epsilon: float,
    rng: np.random.Generator | None,
) -> list[tuple[int, tuple[int, ...]]]:
    n = len(binned.sizes)
    network: list[tuple[int, tuple[int, ...]]] = [(root, ())]
    chosen = [root]
    while len(chosen) < n:
        candidates = _candidates(binned.sizes, chosen, degree)
        scores = [
            _information(binned, child, of)
            / information_sensitivity(
                len(binned.codes), is_binary=_is_binary(binned, child, of)
            )
            for child, of in candidates
        ]
        pick = Exponential(
            epsilon=epsilon / (n - 1), sensitivity=1, adjacency=Adjacency.REPLACE
        )
        best = candidates[choose(scores, pick, rng=rng)]
        network.append(best)
        chosen.append(best[0])
    return network


def _candidates(
    sizes: Sequence[int], chosen: Sequence[int], degree: int
) -> list[tuple[int, tuple[int, ...]]]:
    left = [one for one in range(len(sizes)) if one not in chosen]
    for many in range(min(len(chosen), degree), -1, -1):
        if math.comb(len(chosen), many) * len(left) > _MOST_CANDIDATES:
            continue
        found = [
            (child, of)
            for child in left
            for of in combinations(sorted(chosen), many)
            if sizes[child] * math.prod(sizes[one] for one in of) <= _LARGEST
        ]
        if found:
            return found
    return [(child, ()) for child in left]


def _is_binary(binned: Binned, child: int, parents: Sequence[int]) -> bool:
    joint = math.prod(binned.sizes[one] for one in parents)
    return binned.sizes[child] <= 2 or joint <= 2


def _information(binned: Binned, child: int, parents: Sequence[int]) -> float:
    cells = math.prod(binned.sizes[one] for one in (*parents, child))
    joined = _flat(binned, (*parents, child))
    table = np.bincount(joined, minlength=cells).reshape(-1, binned.sizes[child])
    return _entropy(table.sum(axis=0)) + _entropy(table.sum(axis=1)) - _entropy(table.ravel())


def _entropy(counts: NDArray[np.int64]) -> float:
    held = counts[counts > 0]
    total = held.sum()
    return float(math.log(total) - (held * np.log(held)).sum() / total)


def _flat(binned: Binned, columns: Sequence[int]) -> NDArray[np.int64]:
    flat = np.zeros(len(binned.codes), dtype=np.int64)
    for one in columns:
        flat = flat * binned.sizes[one] + binned.codes[:, one]
    return flat


def _measured(network: list[tuple[int, tuple[int, ...]]], *, degree: int) -> list[int]:
    """Return the places whose tables are measured: all but those that the first one holds."""
    child, parents = network[degree]
    shared = {child, *parents}
    return [
        place
        for place, (one, of) in enumerate(network)
        if place >= degree or not {one, *of} <= shared
    ]


def _tables(
    binned: Binned,
    network: list[tuple[int, tuple[int, ...]]],
    *,
    measured: list[int],
    scale: float,
    rng: np.random.Generator | None,
) -> list[_Table]:
    noise = Laplace(sensitivity=Sensitivity(l1=2, adjacency=Adjacency.REPLACE), scale=scale)
    held: dict[int, tuple[tuple[int, ...], NDArray[np.float64]]] = {}
    for place in measured:
        child, parents = network[place]
        order = (*parents, child)
        sizes = tuple(binned.sizes[one] for one in order)
        counts = np.bincount(_flat(binned, order), minlength=math.prod(sizes))
        drawn = noisy(counts.astype(np.float64), noise, rng=rng)
        held[place] = order, drawn.clip(min=0).reshape(sizes)
    tables = []
    for place, (child, parents) in enumerate(network):
        joint = held[place] if place in held else _shared(held, (*parents, child))
        tables.append(_conditional(joint[1], child, parents))
    return tables


def _shared(
    held: dict[int, tuple[tuple[int, ...], NDArray[np.float64]]], wanted: tuple[int, ...]
) -> tuple[tuple[int, ...], NDArray[np.float64]]:
    """Return the table of some columns as a margin of one that was measured."""
    order, joint = next(one for one in held.values() if set(wanted) <= set(one[0]))
    others = tuple(axis for axis, one in enumerate(order) if one not in wanted)
    left = [one for one in order if one in wanted]
    summed = joint.sum(axis=others) if others else joint
    return wanted, np.transpose(summed, [left.index(one) for one in wanted])


def _conditional(held: NDArray[np.float64], child: int, parents: tuple[int, ...]) -> _Table:
    rows = held.reshape(-1, held.shape[-1]).copy()
    rows[rows.sum(axis=1) <= 0] = 1.0
    cumulative = np.cumsum(rows, axis=1)
    return _Table(child, parents, held.shape[:-1], cumulative / cumulative[:, -1:])


def _draw(
    size: int, tables: list[_Table], n: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    drawn = np.zeros((size, n), dtype=np.int64)
    for table in tables:
        row = np.zeros(size, dtype=np.int64)
        for one, width in zip(table.parents, table.sizes, strict=True):
            row = row * width + drawn[:, one]
        # rows are sorted, so one search in all of them finds each one's place
        width = table.cumulative.shape[1]
        shifted = (table.cumulative + np.arange(len(table.cumulative))[:, None]).ravel()
        place = np.searchsorted(shifted, row + rng.random(size), side="right")
        drawn[:, table.child] = (place - row * width).clip(0, width - 1)
    return drawn
