"""A bounded memory: what was used last stays, as far as its bytes go."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

__all__ = ["Cache"]

T = TypeVar("T")


class Cache(Generic[T]):
    """Keep the entries that were used last, up to a number of bytes.

    Parameters
    ----------
    most_bytes
        The bound. An entry larger than an eighth of it is not kept.
    size
        Tells the bytes of an entry.

    Examples
    --------
    >>> cache = Cache(800, size=len)
    >>> cache.put("a", b"123")
    >>> cache.get("a"), cache.get("b"), cache.used
    (b'123', None, 3)
    """

    def __init__(self, most_bytes: int, *, size: Callable[[T], int]) -> None:
        self.most_bytes = most_bytes
        self.used = 0
        self._size = size
        self._entries: OrderedDict[Hashable, T] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> T | None:
        """Return an entry, which thereby was used last."""
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
            return self._entries.get(key)

    def put(self, key: Hashable, entry: T) -> None:
        """Keep an entry, and let go of those that were not used for longest."""
        size = self._size(entry)
        if size > self.most_bytes // 8:
            return
        with self._lock:
            if key in self._entries:
                self.used -= self._size(self._entries.pop(key))
            self._entries[key] = entry
            self.used += size
            while self.used > self.most_bytes:
                _, oldest = self._entries.popitem(last=False)
                self.used -= self._size(oldest)

    def find(self, fits: Callable[[T], bool], *, cost: Callable[[T], int]) -> T | None:
        """Return the cheapest entry that fits.

        Parameters
        ----------
        fits
            Whether an entry serves.
        cost
            What using it would cost.
        """
        with self._lock:
            entries = list(self._entries.items())
        found = [
            (cost(entry), place) for place, (_, entry) in enumerate(entries) if fits(entry)
        ]
        if not found:
            return None
        key, entry = entries[min(found)[1]]
        self.get(key)
        return entry

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"Cache({len(self)} entries)"
