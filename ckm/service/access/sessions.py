"""Sessions of people who signed in at the page: a random name each, kept where none can read.

All processes of a service share the folder, so that signing out holds for all of them. The
cookie holds the name of a session, never the token; the folder holds digests of names.
"""

import contextlib
import hashlib
import hmac
import json
import os
import secrets
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

LASTS_S = 8 * 3600
_MOST = 10_000
_LONGEST = 100


def new_name() -> str:
    """Return a random name that nobody can guess."""
    return secrets.token_urlsafe(32)


def proof_of(name: str, *, purpose: str) -> str:
    """Return what a form shows beside the cookie of that name: only our own pages can."""
    return hmac.digest(name.encode(), purpose.encode(), hashlib.sha256).hex()


def is_proof(given: str, name: str, *, purpose: str) -> bool:
    """Return whether a form comes from one of our pages."""
    wanted = proof_of(name, purpose=purpose)
    return bool(name) and hmac.compare_digest(given.encode(), wanted.encode())


class Sessions:
    """Keeps who signed in.

    Parameters
    ----------
    folder
        Where sessions are kept; the processes of a service share it.
    clock
        Tells the time in seconds.
    """

    def __init__(self, folder: Path, *, clock: Callable[[], float] = time.time) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder = folder
        self._clock = clock

    def open(self, token_id: str) -> str:
        """Begin a session and return its name."""
        self._tidy()
        name = new_name()
        told = {"token": token_id, "until": self._clock() + LASTS_S}
        handle = os.open(self._path(name), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(told, file)
        return name

    def token_id(self, name: str) -> str | None:
        """Return whose session it is; None for one that is over or never was."""
        if not name or len(name) > _LONGEST:
            return None
        found = self._read(self._path(name))
        return found[0] if found is not None and found[1] > self._clock() else None

    def close(self, name: str) -> None:
        """End a session."""
        self._path(name).unlink(missing_ok=True)

    def _tidy(self) -> None:
        paths = list(self._folder.iterdir())
        if len(paths) < _MOST:
            return
        now = self._clock()
        found = {path: self._read(path) for path in paths}
        over = [p for p, told in found.items() if told is None or told[1] <= now]
        if len(paths) - len(over) >= _MOST:  # the oldest half of whoever has most of them
            owners = Counter(told[0] for told in found.values() if told is not None)
            ((most, number),) = owners.most_common(1)
            theirs = [(told[1], p) for p, told in found.items() if told and told[0] == most]
            over += [path for _, path in sorted(theirs)[: (number + 1) // 2]]
        for path in over:
            path.unlink(missing_ok=True)

    def _read(self, path: Path) -> tuple[str, float] | None:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            told = json.loads(path.read_text(encoding="utf-8"))
            return str(told["token"]), float(told["until"])
        return None

    def _path(self, name: str) -> Path:
        return self._folder / hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()

    def __repr__(self) -> str:
        return "Sessions(…)"
