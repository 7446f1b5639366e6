"""How often somebody may ask: so many times in an hour, and in a day.

The counts stand in a small SQLite file that all processes of a service share.
"""

import contextlib
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ckm.service.access.sqlite_file import SqliteFile
from ckm.service.answering.messages import ClientError

_Counts = dict[str, tuple[float, int]]

logger = logging.getLogger(__name__)

_WINDOWS = {"hour": 3600, "day": 86_400}
_PRUNED_EVERY = 1000

_MAX_ROWS = 200_000
_BUDGETS = SqliteFile(
    name="budgets",
    application=0x434B4D42,
    schema="""
CREATE TABLE IF NOT EXISTS used (
  caller TEXT NOT NULL, "window" TEXT NOT NULL, until REAL NOT NULL, used INTEGER NOT NULL,
  PRIMARY KEY (caller, "window")
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS used_until ON used (until);
""",
    cure="remove it: all budgets then begin anew; or name another",
    wait_s=0.5,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What is left of one window.

    Parameters
    ----------
    window
        ``"hour"`` or ``"day"``.
    limit, remaining
        Requests of the window, and those left.
    reset_s
        Seconds until the next window.
    """

    window: str
    limit: int
    remaining: int
    reset_s: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What is left of a caller's budget.

    Parameters
    ----------
    shares
        What is left, by window.
    is_allowed
        Whether this request is within the budget.
    """

    shares: tuple[Share, ...]
    is_allowed: bool

    @property
    def tightest(self) -> Share:
        """The window with the fewest requests left; of several, the one that lasts longest."""
        return min(self.shares, key=lambda share: (share.remaining, -share.reset_s))

    @property
    def limit(self) -> int:
        """Requests of the tightest window."""
        return self.tightest.limit

    @property
    def remaining(self) -> int:
        """Requests left in it."""
        return self.tightest.remaining

    @property
    def reset_s(self) -> int:
        """Seconds until the next one."""
        return self.tightest.reset_s

    def headers(self) -> dict[str, str]:
        """Return the headers that tell a caller."""
        policy = [f'"{s.window}";q={s.limit};w={_WINDOWS[s.window]}' for s in self.shares]
        left = [f'"{s.window}";r={s.remaining};t={s.reset_s}' for s in self.shares]
        told = {
            "RateLimit-Policy": ", ".join(policy),
            "RateLimit": ", ".join(left),
            "RateLimit-Limit": str(self.limit),
            "RateLimit-Remaining": str(self.remaining),
            "RateLimit-Reset": str(self.reset_s),
        }
        return told | ({} if self.is_allowed else {"Retry-After": str(self.reset_s)})


class Rates:
    """Counts requests by caller.

    Parameters
    ----------
    path
        The file that holds the counts; memory by default.
    clock
        Tells the time in seconds, the same in all processes.
    """

    def __init__(
        self, path: Path | None = None, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._connection = _BUDGETS.open(path)
        self._taken = 0

    def take(
        self, caller: str, *, limit: int, per_day: int | None = None, cost: int = 1
    ) -> Budget:
        """Count a request, unless a window has no room for it."""
        limits = {"hour": limit} | ({} if per_day is None else {"day": per_day})
        with self._lock, self._told():
            return self._take(caller, limits, cost)

    def charge(self, caller: str, *, cost: int) -> None:
        """Take more from a caller's budget, even more than is left."""
        with self._lock, self._told():
            self._connection.execute("BEGIN IMMEDIATE")
            self._put(caller, self._counts(caller, _WINDOWS, self._clock()), cost)
            self._connection.execute("COMMIT")

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Answer nothing where requests cannot be counted."""
        try:
            yield
        except sqlite3.Error as error:
            if self._connection.in_transaction:
                self._connection.rollback()
            logger.error("budgets failed", extra={"error": type(error).__name__})  # noqa: TRY400
            raise ClientError("busy") from None

    def _take(self, caller: str, limits: Mapping[str, int], cost: int) -> Budget:
        if cost:
            self._connection.execute("BEGIN IMMEDIATE")
        now = self._clock()
        counts = self._counts(caller, limits, now)
        is_allowed = all(used + cost <= limits[w] for w, (_, used) in counts.items())
        if cost and is_allowed:
            counts = self._put(caller, counts, cost)
        if cost:
            self._prune(now)
            self._connection.execute("COMMIT")
        shares = (
            Share(
                window=window,
                limit=limits[window],
                remaining=max(0, limits[window] - used),
                reset_s=max(1, min(int(until - now + 0.999), _WINDOWS[window])),
            )
            for window, (until, used) in counts.items()
        )
        return Budget(shares=tuple(shares), is_allowed=is_allowed)

    def _counts(self, caller: str, windows: Iterable[str], now: float) -> _Counts:
        """Return until when each window lasts, and what is used of it."""
        rows = self._connection.execute(
            'SELECT "window", until, used FROM used WHERE caller = ?', (caller,)
        )
        known = {window: (until, used) for window, until, used in rows}
        counts = {}
        for window in windows:
            until, used = known.get(window, (0.0, 0))
            # A window that ends too late was written by a clock that was wrong.
            if not now < until <= now + _WINDOWS[window] + 1:
                until, used = now + _WINDOWS[window], 0
            counts[window] = (until, used)
        return counts

    def _put(self, caller: str, counts: _Counts, cost: int) -> _Counts:
        counts = {window: (until, used + cost) for window, (until, used) in counts.items()}
        self._connection.executemany(
            "INSERT OR REPLACE INTO used VALUES (?, ?, ?, ?)",
            [(caller, window, until, used) for window, (until, used) in counts.items()],
        )
        return counts

    def _prune(self, now: float) -> None:
        self._taken += 1
        if self._taken % _PRUNED_EVERY == 0:
            prune(self._connection, now)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def __repr__(self) -> str:
        return "Rates(…)"


def prune(connection: sqlite3.Connection, now: float) -> None:
    """Forget windows that are over; of too many callers, those who asked least."""
    connection.execute("DELETE FROM used WHERE until <= ?", (now,))
    (rows,) = connection.execute("SELECT count(*) FROM used").fetchone()
    if rows > _MAX_ROWS:
        connection.execute(
            'DELETE FROM used WHERE (caller, "window") IN'
            ' (SELECT caller, "window" FROM used ORDER BY used, until LIMIT ?)',
            (rows - _MAX_ROWS // 2,),
        )
