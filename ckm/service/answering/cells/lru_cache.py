"""A bounded memory: what was used last stays, as far as its bytes go."""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")

_ENTRY_BYTES = 500  # of an entry's key and place


def digest_of(*parts: object) -> bytes:
    """Return a short key for what may be long."""
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).digest()


class Cache(Generic[T]):
    """Keep the entries that were used last, up to a number of bytes.

    A key is short, see `digest_of`, or part of its entry: beside the entry it counts as 500
    bytes.

    Parameters
    ----------
    max_bytes
        The bound. An entry larger than an eighth of it is not kept.
    size
        Tells the bytes of an entry.
    """

    def __init__(self, max_bytes: int, *, size: Callable[[T], int]) -> None:
        self.max_bytes = max_bytes
        self.used = 0
        self._size = size
        self._entries: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> T | None:
        """Return an entry, which thereby was used last."""
        with self._lock:
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            return self._entries[key][0]

    def put(self, key: Hashable, entry: T) -> None:
        """Keep an entry, and let go of those that were not used for longest."""
        size = self._size(entry) + _ENTRY_BYTES
        if size > self.max_bytes // 8:
            return
        with self._lock:
            if key in self._entries:
                self.used -= self._entries.pop(key)[1]
            self._entries[key] = entry, size
            self.used += size
            while self.used > self.max_bytes:
                self.used -= self._entries.popitem(last=False)[1][1]

    def find(self, fits: Callable[[T], bool], *, cost: Callable[[T], int]) -> T | None:
        """Return the cheapest entry that fits."""
        with self._lock:
            entries = [(key, entry) for key, (entry, _) in self._entries.items()]
        candidates = [
            (cost(entry), place) for place, (_, entry) in enumerate(entries) if fits(entry)
        ]
        if not candidates:
            return None
        key, entry = entries[min(candidates)[1]]
        self.get(key)
        return entry

    def __len__(self) -> int:
        return len(self._entries)
