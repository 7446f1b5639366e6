"""Noise by the keys of cells, as the engine adds it, and what may follow it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ckm.additivity.restore import restore_additivity
from ckm.engine.perturbation import perturb
from ckm.engine.published_table import PublishedTable
from tables import Cells

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ckm.comparison.testbed import Testbed
    from ptable import PTable
    from risk.criteria.coded import CubeRequest
    from risk.criteria.methods import CountingMethod
    from tables import Secret

    Numbers = NDArray[np.float64]

_TOTAL = "total"
_WORD = 2**64
_HALF = np.uint64(32)


class KeyedMethod:
    """Add the noise of a p-table by the keys of cells, with the engine's own `perturb`.

    Parameters
    ----------
    testbed
        The records with their keys.
    ptable
        The p-table.
    secret
        What mixes the keys of cells; None looks them up as they are.
    """

    def __init__(self, testbed: Testbed, ptable: PTable, *, secret: Secret | None) -> None:
        self._testbed = testbed
        self._ptable = ptable
        self._secret = secret

    def publish(self, request: CubeRequest, /) -> Numbers | None:
        """Publish the counts with their noise; empty cells stay empty."""
        count = self._testbed.records.counts(request)
        held = count > 0
        cells = Cells(
            axes=(),
            ranks=(),
            count=count[held],
            cell_key=self._cell_keys(request)[held],
            key_range=self._testbed.key_range,
            weight=None,
            weighted_count=None,
            level_sets=(),
        )
        published = np.zeros(count.shape)
        published[held] = perturb(cells, ptable=self._ptable, secret=self._secret)
        return published

    def _cell_keys(self, request: CubeRequest) -> NDArray[np.uint64]:
        records, keys = self._testbed.records, self._testbed.record_keys
        key_range = self._testbed.key_range
        if key_range == _WORD:  # sums wrap around by themselves
            return records.sums(request, keys)
        if key_range * max(1, len(records)) < _WORD:
            return records.sums(request, keys) % np.uint64(key_range)
        low = records.sums(request, keys & np.uint64(2**32 - 1)).astype(object)
        high = records.sums(request, keys >> _HALF).astype(object)
        exact: NDArray[np.uint64] = ((high * 2**32 + low) % key_range).astype(np.uint64)
        return exact


class AdditiveMethod:
    """Make every table of another method add up again, each by itself.

    Parameters
    ----------
    testbed
        The records, which tell which cells are listed.
    method
        The method before.
    bound
        How far a number may move; None for no bound.
    """

    def __init__(
        self, testbed: Testbed, method: CountingMethod, *, bound: float | None
    ) -> None:
        self._testbed = testbed
        self._method = method
        self._bound = bound

    def publish(self, request: CubeRequest, /) -> Numbers | None:
        """Publish the nearest whole numbers that add up."""
        published = self._method.publish(request)
        listed = self._testbed.records.counts(request) > 0
        if published is None or not request.dimensions or not listed.any():
            return published
        table = PublishedTable(
            dimensions={
                str(axis): (codes.astype(np.int32), _labels(size))
                for axis, (codes, size) in enumerate(
                    zip(np.nonzero(listed), published.shape, strict=True)
                )
            },
            measures={"count": published[listed].astype(np.int64)},
        )
        restored = restore_additivity(table, bound=self._bound, total_label=_TOTAL)
        answer = np.zeros(published.shape)
        answer[listed] = restored.measures["count"]
        return answer


def _labels(size: int) -> list[str]:
    return [*(str(code) for code in range(size - 1)), _TOTAL]
