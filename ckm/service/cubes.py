"""Cells by need: from memory, rolled up from cells in memory, or from a scan.

Counts and keys add up, so the three ways give the same cells.
"""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import Future
from typing import TYPE_CHECKING

from ckm.service.cache import Cache
from ckm.service.mistake import Mistake

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from tables import Condition, Prepared, PreparedCells

__all__ = ["Cubes"]

# A scan beats rolling up from more cells than this.
_MOST_CELLS = 250_000


class Cubes:
    """Finds cells, and remembers as many as its bytes allow.

    Parameters
    ----------
    prepared
        The records made ready.
    most_bytes
        Memory for cells.
    scans
        Scans at a time.
    timeout_s
        The longest time of a scan, and of waiting for one.
    """

    def __init__(
        self, prepared: Prepared, *, most_bytes: int, scans: int, timeout_s: float
    ) -> None:
        self._prepared = prepared
        self.cache: Cache[PreparedCells] = Cache(most_bytes, size=lambda cells: cells.nbytes)
        self.routes: Counter[str] = Counter()
        self._scans = threading.BoundedSemaphore(scans)
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._under_way: dict[Hashable, Future[PreparedCells]] = {}

    def find(self, levels: Mapping[str, int], *, where: frozenset[Condition]) -> PreparedCells:
        """Return the cells over some levels that meet some conditions.

        Parameters
        ----------
        levels
            Variable → level.
        where
            The conditions.

        Raises
        ------
        Mistake
            If too many others are being looked for.
        tables.StoppedError
            If it takes too long.
        """
        key = (frozenset(levels.items()), where)
        found = self.cache.get(key)
        if found is not None:
            self.routes["repeated"] += 1
            return found
        with self._lock:  # the same cells are looked for once
            waiting = self._under_way.get(key)
            if waiting is None:
                mine: Future[PreparedCells] = Future()
                self._under_way[key] = mine
        if waiting is not None:
            return waiting.result(timeout=2 * self._timeout_s)
        try:
            found = self._look(levels, where)
            self.cache.put(key, found)
            mine.set_result(found)
        except BaseException as error:
            mine.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._under_way[key]
        return found

    def _look(self, levels: Mapping[str, int], where: frozenset[Condition]) -> PreparedCells:
        parent = self.cache.find(lambda cells: cells.covers(levels, where), cost=len)
        if parent is not None and len(parent) <= _MOST_CELLS:
            self.routes["rolled"] += 1
            return self._prepared.roll(parent, levels, where=where)
        if not self._scans.acquire(timeout=self._timeout_s):
            raise Mistake("busy")
        try:
            self.routes["scanned"] += 1
            return self._prepared.scan(levels, where=where, timeout_s=self._timeout_s)
        finally:
            self._scans.release()

    def __repr__(self) -> str:
        return "Cubes(…)"
