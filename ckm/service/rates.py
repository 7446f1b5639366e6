"""How often somebody may ask: so many times in an hour, counted in windows of an hour."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Budget", "Rates"]

_WINDOW_S = 3600.0
_MOST_CALLERS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What is left of a caller's budget.

    Parameters
    ----------
    limit, remaining
        Requests of the window, and those left.
    reset_s
        Seconds until the next window.
    is_allowed
        Whether this request is within the budget.
    """

    limit: int
    remaining: int
    reset_s: int
    is_allowed: bool

    def headers(self) -> dict[str, str]:
        """Return the headers that tell a caller."""
        told = {
            "RateLimit-Limit": str(self.limit),
            "RateLimit-Remaining": str(self.remaining),
            "RateLimit-Reset": str(self.reset_s),
        }
        return told | ({} if self.is_allowed else {"Retry-After": str(self.reset_s)})


class Rates:
    """Counts requests by caller.

    Parameters
    ----------
    clock
        Tells the time in seconds.

    Examples
    --------
    >>> rates = Rates(clock=lambda: 0.0)
    >>> [rates.take("me", limit=2).is_allowed for _ in range(3)]
    [True, True, False]
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._windows: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def take(self, caller: str, *, limit: int, cost: int = 1) -> Budget:
        """Count a request.

        Parameters
        ----------
        caller
            Who asks.
        limit
            Requests per hour.
        cost
            How many requests this one counts for; 0 only looks.
        """
        now = self._clock()
        with self._lock:
            start, used = self._windows.pop(caller, (now, 0))
            if now - start >= _WINDOW_S:
                start, used = now, 0
            is_allowed = used + cost <= limit
            used += cost if is_allowed else 0
            self._windows[caller] = (start, used)
            while len(self._windows) > _MOST_CALLERS:
                self._windows.popitem(last=False)
        reset = max(1, int(start + _WINDOW_S - now + 0.999))
        return Budget(
            limit=limit, remaining=max(limit - used, 0), reset_s=reset, is_allowed=is_allowed
        )

    def charge(self, caller: str, *, cost: int) -> None:
        """Take more from a caller's budget, even more than is left.

        Parameters
        ----------
        caller
            Who asks.
        cost
            How many requests it counts for.

        Examples
        --------
        >>> rates = Rates(clock=lambda: 0.0)
        >>> rates.charge("me", cost=2)
        >>> rates.take("me", limit=2).is_allowed
        False
        """
        with self._lock:
            start, used = self._windows.get(caller, (self._clock(), 0))
            self._windows[caller] = (start, used + cost)

    def __repr__(self) -> str:
        return f"Rates({len(self._windows)} callers)"
