"""How often somebody may ask: so many times in an hour, and in a day.

The counts stand in the ledger's database, or a small file, that all processes and servers of a
service share. Callers stand there as keyed digests.
"""

import contextlib
import hashlib
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ckm.ledger import LedgerError
from ckm.ledger.storage.store import Database
from ckm.service.access.sqlite_file import SqliteFile, busy_without
from footing.messages import Message

_Counts = dict[str, tuple[float, int]]

_WINDOWS = {"hour": 3600, "day": 86_400}
_PRUNED_EVERY = 1000
_SKEW_S = 60  # what clocks of several servers may differ by

_MAX_ROWS = 200_000
_BUDGETS = SqliteFile(
    name="budgets",
    application=0x434B4D42,
    table="ckm_used",
    columns="caller TEXT NOT NULL, span TEXT NOT NULL, until DOUBLE PRECISION NOT NULL, "
    "used BIGINT NOT NULL, PRIMARY KEY (caller, span)",
    index="until",
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
        limits = [f'"{s.window}";r={s.remaining};t={s.reset_s}' for s in self.shares]
        fields = {
            "RateLimit-Policy": ", ".join(policy),
            "RateLimit": ", ".join(limits),
            "RateLimit-Limit": str(self.limit),
            "RateLimit-Remaining": str(self.remaining),
            "RateLimit-Reset": str(self.reset_s),
        }
        return fields | ({} if self.is_allowed else {"Retry-After": str(self.reset_s)})


class Rates:
    """Counts requests by caller.

    Parameters
    ----------
    place
        The file or the database that holds the counts; memory by default.
    key
        Of the digests that callers are known by.
    clock
        Tells the time in seconds, the same in all processes and nearly so on all servers.
    """

    def __init__(
        self,
        place: Path | Database | None = None,
        *,
        key: bytes = b"",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._clock = clock
        self._key = key
        self._database = _BUDGETS.open(place)
        self._taken = 0

    @busy_without("budgets")
    def take(
        self, caller: str, *, limit: int, per_day: int | None = None, cost: int = 1
    ) -> Budget:
        """Count a request, unless a window has no room for it."""
        limits = {"hour": limit} | ({} if per_day is None else {"day": per_day})
        with self._database.writing() if cost else contextlib.nullcontext():
            return self._take(self._digest(caller), limits, cost)

    def _digest(self, caller: str) -> str:
        return hashlib.blake2b(caller.encode(), key=self._key, digest_size=16).hexdigest()

    def _take(self, caller: str, limits: Mapping[str, int], cost: int) -> Budget:
        now = self._clock()
        counts = self._counts(caller, limits, now)
        is_allowed = all(used + cost <= limits[w] for w, (_, used) in counts.items())
        if cost and is_allowed:
            counts = self._put(caller, counts, cost)
        if cost:
            self._prune(now)
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
        rows = self._database.fetch(
            "SELECT span, until, used FROM ckm_used WHERE caller = ?", (caller,)
        )
        by_window = {window: (until, used) for window, until, used in rows}
        if any(isinstance(one, str | bytes) for counts in by_window.values() for one in counts):
            raise LedgerError(Message("Something else than numbers was written there."))
        counts = {}
        for window in windows:
            until, used = by_window.get(window, (0.0, 0))
            # A window that ends too late was written by a clock that was wrong.
            if not now < until <= now + _WINDOWS[window] + _SKEW_S:
                until, used = now + _WINDOWS[window], 0
            counts[window] = (until, used)
        return counts

    def _put(self, caller: str, counts: _Counts, cost: int) -> _Counts:
        counts = {window: (until, used + cost) for window, (until, used) in counts.items()}
        for window, (until, used) in counts.items():
            self._database.run(
                "INSERT INTO ckm_used (caller, span, until, used) VALUES (?, ?, ?, ?) "
                "ON CONFLICT (caller, span) DO UPDATE SET until = excluded.until, "
                "used = excluded.used",
                (caller, window, until, used),
            )
        return counts

    def _prune(self, now: float) -> None:
        self._taken += 1
        if self._taken % _PRUNED_EVERY == 0:
            prune(self._database, now)

    def close(self) -> None:
        """Close the file."""
        self._database.close()


def prune(database: Database, now: float) -> None:
    """Forget windows that are over; of too many callers, those who asked least."""
    database.run("DELETE FROM ckm_used WHERE until <= ?", (now,))
    ((rows,),) = database.fetch("SELECT count(*) FROM ckm_used")
    if rows > _MAX_ROWS:
        database.run(
            "DELETE FROM ckm_used WHERE (caller, span) IN"
            " (SELECT caller, span FROM ckm_used ORDER BY used, until LIMIT ?)",
            (rows - _MAX_ROWS // 2,),
        )
