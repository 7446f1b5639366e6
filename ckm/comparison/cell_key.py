"""Noise by the keys of cells, as the engine adds it, and what may follow it: sums, a ledger."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckm.additivity.restore import restore_additivity
from ckm.comparison.testbed import Testbed
from ckm.engine.engine import Engine
from ckm.engine.perturbation import perturb
from ckm.engine.published_table import PublishedTable
from ckm.engine.request import TableRequest
from ckm.errors import ConfigError
from ckm.ledger import Ledger, ThinDifferenceError, Watch
from ckm.ledger.ledger import Policy
from ptable import PTable
from risk.criteria.coded import CountingMethod, CubeRequest
from tables import Cells, Secret

Numbers = NDArray[np.float64]

_TOTAL = "total"
_ROW, _KEY = "row", "key"
_LEAST_RANGE = 2**32
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
    how
        The `base`, `bound` and `exact` of `restore_additivity`.
    """

    def __init__(self, testbed: Testbed, method: CountingMethod, **how: Any) -> None:
        self._testbed = testbed
        self._method = method
        self._how = how

    def publish(self, request: CubeRequest, /) -> Numbers | None:
        """Publish the nearest whole numbers, or multiples, that add up."""
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
        restored = restore_additivity(table, total_label=_TOTAL, **self._how)
        answer = np.zeros(published.shape)
        answer[listed] = restored.measures["count"]
        return answer


def _labels(size: int) -> list[str]:
    return [*(str(code) for code in range(size - 1)), _TOTAL]


class LedgerMethod:
    """Ask the engine for every table, and publish it only where the ledger lets it pass.

    Parameters
    ----------
    testbed
        The records with their keys.
    ptable
        The p-table.
    secret
        The secret of the engine and of the ledger.
    mix
        Whether keys of cells are mixed.
    planned
        Tables that pass whatever they differ by: the office has looked at them.
    threshold
        Differences of so few records are thin.
    smallest
        Cells of fewer records are not compared.

    Whoever makes one closes it: `close` ends the engine and the ledger, which leaves no trace.
    """

    def __init__(
        self,
        testbed: Testbed,
        ptable: PTable,
        *,
        secret: Secret,
        mix: bool,
        planned: Sequence[CubeRequest],
        threshold: int,
        smallest: int,
    ) -> None:
        import pyarrow as pa

        if testbed.key_range < _LEAST_RANGE:
            raise ConfigError(
                "A ledger needs record keys that tell records apart, of a range of 2**32 or "
                "more.",
                hint="name an identifier with id",
            )
        self._sizes = testbed.records.sizes
        self._shape = testbed.records.shape
        codes = testbed.records.codes
        columns = {f"a{place}": codes[:, place] for place in range(codes.shape[1])}
        columns[_ROW] = np.arange(len(codes))
        records = pa.table({**columns, _KEY: pa.array(testbed.record_keys, pa.uint64())})
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            self._engine = stack.enter_context(
                Engine(
                    records,
                    record_key=_KEY,
                    key_range=testbed.key_range,
                    secret=secret,
                    ptable=ptable,
                    mix=mix,
                    checks="skip",
                    total_label=_TOTAL,
                )
            )
            self._ledger = stack.enter_context(
                Ledger.open(
                    folder / "ledger.db", secret=secret, threshold=threshold, smallest=smallest
                )
            )
            for request in planned:
                self._published(request, policy="flag")
            self.close = stack.pop_all().close

    def publish(self, request: CubeRequest, /) -> Numbers | None:
        """Publish a table, or refuse it."""
        return self._published(request, policy="refuse")

    def _published(self, request: CubeRequest, *, policy: Policy) -> Numbers | None:
        asked = TableRequest(
            dimensions=[f"a{place}" for place in request.dimensions], where=_where(request)
        )
        watch = Watch(self._ledger)
        table = self._engine.tabulate_all({"asked": asked}, watch=watch)["asked"]
        try:
            watch.publish(policy=policy)
        except ThinDifferenceError:
            return None
        return _laid_out(table, self._shape(request))


def _where(request: CubeRequest) -> str | None:
    parts = [
        f"a{place} in ({', '.join(map(str, categories))})"
        for place, categories in request.within.items()
    ]
    if request.without:
        parts.append(f"{_ROW} not in ({', '.join(map(str, request.without))})")
    return " and ".join(parts) or None


def _laid_out(table: PublishedTable, shape: tuple[int, ...]) -> Numbers:
    """Put published cells in their places, totals last."""
    answer = np.zeros(shape)
    places = []
    for size, (codes, labels) in zip(shape, table.dimensions.values(), strict=True):
        rank = [size - 1 if label == _TOTAL else int(label) for label in labels]
        places.append(np.array(rank, np.int64)[codes])
    numbers = table.measures["count"]
    if not shape:
        return np.asarray(numbers[0] if len(numbers) else 0, np.float64)
    answer[tuple(places)] = numbers
    return answer
