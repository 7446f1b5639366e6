"""The strictest limits that the noise of a drafted job keeps on its own tables.

Figures of risk are the largest of all counts that may be published, whatever is drawn. Figures
of use and the share of cells that are surely small depend on the draws: each is what the noise
is expected to do, and `_ERRORS` standard errors more. Cells of the same records share a draw,
so that their deviations are added up before they are squared.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ckm.assessment.exposure import prior_of
from ckm.engine.cell_histogram import CountHistogramBuilder
from reports.facts.release import SURE
from risk.distributions.band import Band
from risk.inference.inverse import Inverse
from risk.inference.worst import worst_posterior
from tables import HashedKeys, Secret
from tables.cells.cube import cube

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from ckm.engine.cell_histogram import CountHistogram
    from ptable import PTable
    from tables import Cells, Request
    from tables.source.source import Source

_ERRORS = 4.0
#: Where no identifier tells records apart, cells of the same records cannot be told either.
_SHARED = 3.0
_DECIMALS = {"posterior": 3, "posterior_set": 3}


class _NoKeys(HashedKeys):
    """Keys of records that nothing tells apart: all the same, as counts need none."""

    def problems(self, source: Source) -> list[tuple[str, str]]:
        """Find nothing wrong with any column."""
        del source
        return []

    def sql(self, source: Source, parameters: dict[str, object]) -> str:
        """Return one key for all."""
        del source, parameters
        return "0::UBIGINT"


def drafted_limits(
    source: Source,
    requests: Mapping[str, Request],
    *,
    ptable: PTable,
    sensitive: Sequence[int],
    identifier: str = "",
) -> dict[str, float]:
    """Tabulate drafted tables once, and give the limits that they keep.

    Parameters
    ----------
    source
        The records.
    requests
        Name → table.
    ptable
        The drafted noise.
    sensitive
        The sensitive counts.
    identifier
        A column that tells records apart; empty for none.

    Returns
    -------
    dict
        Key of ``[report.limits]`` → limit, rounded up.
    """
    kind = HashedKeys if identifier else _NoKeys
    column = identifier or next(iter(source.columns))
    keys = kind(column=column, secret=Secret.generate())
    all_cells = cube(source, keys, [*requests.values()], tolerate_missing_keys=True)
    builder, band = CountHistogramBuilder(), Band.of(ptable)
    tables, distinct = {}, []
    for name, cells in zip(requests, all_cells, strict=True):
        is_new = builder.add(name, cells, where=None, empty_cells="auto")
        tables[name] = _Draws.of(cells, band, is_keyed=bool(identifier))
        distinct.append(_Draws.of(cells, band, is_keyed=bool(identifier), where=is_new))
    histogram = builder.result()
    everything = _Draws.together(distinct)
    figures = {
        "posterior": 0.0,
        "posterior_set": 0.0,
        "known_small": 0.0,
        "aad": max(draws.most(lambda _, noise: np.abs(noise)) for draws in tables.values()),
        "changed_cells": everything.most(lambda _, noise: noise != 0),
        "false_zeros": everything.most(lambda count, noise: count + noise == 0),
    }
    for name, draws in tables.items():
        for key, figure in _risks(name, draws, histogram, sensitive):
            figures[key] = max(figures[key], figure)
    return {key: _rounded_up(figure, _DECIMALS.get(key, 2)) for key, figure in figures.items()}


@dataclass(frozen=True, kw_only=True)
class _Draws:
    """Counts of non-empty cells, which of them share a draw, and the noise."""

    count: NDArray[np.int64]
    key: NDArray[np.uint64]
    band: Band
    is_keyed: bool

    @classmethod
    def of(
        cls, cells: Cells, band: Band, *, is_keyed: bool, where: NDArray[np.bool_] | None = None
    ) -> _Draws:
        """Take the cells of a table, or some of them."""
        mask = cells.count > 0 if where is None else (cells.count > 0) & where
        return cls(
            count=cells.count[mask], key=cells.cell_key[mask], band=band, is_keyed=is_keyed
        )

    @classmethod
    def together(cls, parts: Sequence[_Draws]) -> _Draws:
        """Take the cells of several tables as one list."""
        return replace(
            parts[0],
            count=np.concatenate([part.count for part in parts]),
            key=np.concatenate([part.key for part in parts]),
        )

    @property
    def possible(self) -> NDArray[np.int64]:
        """The counts that these cells may be published as."""
        counts = np.unique(self.count)
        published = counts[:, None] + self.band.noise
        return np.unique(published[self.band.probabilities[self.band.rows(counts)] > 0])

    def within(self, counts: Sequence[int]) -> _Draws:
        """Keep the cells of some counts."""
        mask = np.isin(self.count, counts)
        return replace(self, count=self.count[mask], key=self.key[mask])

    def most(self, measure: Callable[[NDArray[np.int64], NDArray[np.int64]], Any]) -> float:
        """Bound the mean of a measure of count and noise over all cells."""
        if not len(self.count):
            return 0.0
        counts, place = np.unique(self.count, return_inverse=True)
        distributions = self.band.probabilities[self.band.rows(counts)]
        values = np.broadcast_to(measure(counts[:, None], self.band.noise), distributions.shape)
        mean = (distributions * values).sum(axis=1)
        spread = np.sqrt((distributions * (values - mean[:, None]) ** 2).sum(axis=1))[place]
        if self.is_keyed:  # one draw for each set of records: its deviations are equal
            _, draw = np.unique(self.key, return_inverse=True)
            variance = float((np.bincount(draw, weights=spread) ** 2).sum())
        else:
            variance = _SHARED * float((spread**2).sum())
        cap = float(np.where(distributions > 0, values, 0).max(axis=1)[place].mean())
        n = len(self.count)
        return min(cap, float(mean[place].mean()) + _ERRORS * math.sqrt(variance) / n)


def _risks(
    name: str, draws: _Draws, histogram: CountHistogram, sensitive: Sequence[int]
) -> Iterator[tuple[str, float]]:
    """Give the largest posteriors of a table, and how many small cells are surely small."""
    band, suspects = draws.band, np.array(sorted(set(sensitive)))
    reach = int(suspects.max()) + max(band.highest, 0) - min(band.lowest, 0)
    _, prior = prior_of(histogram.tables[name], histogram.together, reach)
    if prior is None or not prior.at(suspects).any():
        return
    inverse = Inverse(table=band.table, prior=prior)
    counts = draws.possible
    if histogram.tables[name].within(0, 0).n_cells:
        counts = np.union1d(counts, [0])
    if not np.isin(counts, inverse.reachable(suspects)).any():
        return
    most = worst_posterior(inverse, suspects, published=counts)
    yield "posterior", float(most.probabilities.max())
    yield "posterior_set", most.set_probability
    outcomes = inverse.reachable(suspects)
    chances = inverse.probability(suspects[:, None], outcomes[None, :]).sum(axis=0)
    sure = outcomes[chances > SURE]
    small = draws.within(sensitive)
    yield "known_small", small.most(lambda count, noise: np.isin(count + noise, sure))


def _rounded_up(figure: float, decimals: int) -> float:
    """Round up, what a double is off by excepted; a share stays one."""
    scale = float(10**decimals)
    return math.ceil(round(figure * scale, 6)) / scale
