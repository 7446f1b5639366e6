"""Cells by need: from memory, rolled up from cells in memory, or from a scan.

Counts and keys add up, so the three ways give the same cells.
"""

import logging
import threading
from collections import Counter
from collections.abc import Hashable, Mapping
from concurrent.futures import Future

from ckm.service.answering.cells.lru_cache import Cache
from ckm.service.answering.messages import ClientError
from tables import SourceError
from tables.deadline import Deadline
from tables.errors import StoppedError
from tables.filtering.conditions import Condition
from tables.prepared.prepared import Prepared, PreparedCells

logger = logging.getLogger(__name__)

# A scan beats rolling up from more cells than this.
_MAX_CELLS = 250_000
_TICK_S = 0.1  # how soon somebody who waits notices that the work was called off


class Cubes:
    """Finds cells, and remembers as many as its bytes allow.

    Parameters
    ----------
    prepared
        The records made ready.
    max_bytes
        Memory for cells.
    scans
        Scans at a time.
    timeout_s
        The longest time to find cells, where no deadline is given.
    """

    def __init__(
        self, prepared: Prepared, *, max_bytes: int, scans: int, timeout_s: float
    ) -> None:
        self._prepared = prepared
        self.cache: Cache[PreparedCells] = Cache(max_bytes, size=lambda cells: cells.nbytes)
        self.routes: Counter[str] = Counter()
        self._scans = threading.BoundedSemaphore(scans)
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._under_way: dict[Hashable, Future[PreparedCells]] = {}

    def find(
        self,
        levels: Mapping[str, int],
        *,
        where: frozenset[Condition],
        deadline: Deadline | None = None,
    ) -> PreparedCells:
        """Return the cells over some levels that meet some conditions."""
        deadline = deadline or Deadline(self._timeout_s)
        key = (frozenset(levels.items()), where)
        while True:
            deadline.require()
            cells = self.cache.get(key)
            if cells is not None:
                self.routes["repeated"] += 1
                return cells
            with self._lock:  # the same cells are looked for once
                waiting = self._under_way.get(key)
                if waiting is None:
                    mine: Future[PreparedCells] = Future()
                    self._under_way[key] = mine
            if waiting is None:
                return self._found(key, mine, levels, where, deadline)
            try:
                return waiting.result(timeout=deadline.left_s(_TICK_S))
            except StoppedError:
                raise
            except TimeoutError:  # not yet, or the other was called off
                continue

    def _found(
        self,
        key: tuple[frozenset[tuple[str, int]], frozenset[Condition]],
        mine: Future[PreparedCells],
        levels: Mapping[str, int],
        where: frozenset[Condition],
        deadline: Deadline,
    ) -> PreparedCells:
        """Look for cells, and tell those who wait for the same."""
        try:
            cells = self._look(levels, where, deadline)
            self.cache.put(key, cells)
            mine.set_result(cells)
        except BaseException as error:
            mine.set_exception(TimeoutError() if deadline.is_over else error)
            raise
        finally:
            with self._lock:
                del self._under_way[key]
        return cells

    def _look(
        self, levels: Mapping[str, int], where: frozenset[Condition], deadline: Deadline
    ) -> PreparedCells:
        parent = self.cache.find(lambda cells: cells.covers(levels, where), cost=len)
        if parent is not None and len(parent) <= _MAX_CELLS:
            self.routes["rolled"] += 1
            return self._prepared.roll(parent, levels, where=where)
        self._wait_for_scan(deadline)
        try:
            self.routes["scanned"] += 1
            return self._prepared.scan(levels, where=where, deadline=deadline)
        except SourceError as error:  # memory or disk, as the records were read at the start
            logger.error("scan failed", extra={"problem": error.problem})  # noqa: TRY400
            raise ClientError("busy") from None
        finally:
            self._scans.release()

    def _wait_for_scan(self, deadline: Deadline) -> None:
        while not self._scans.acquire(timeout=deadline.left_s(_TICK_S)):
            if deadline.is_over:
                raise ClientError("busy")
