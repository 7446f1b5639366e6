"""Sessions of people who signed in at the page: a random name each.

All processes and servers of a service share the ledger's database, or a small file, so that
signing in and out holds for all of them. The cookie holds the name of a session, never the
token; the database holds keyed digests of names, and a seal: who writes into it makes none.
"""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from pathlib import Path

from ckm.ledger.storage.store import Database
from ckm.service.access.sqlite_file import SqliteFile, busy_without

LASTS_S = 8 * 3600
_KEPT_S = 86_400  # so long after its end, for servers whose clocks are behind
_MOST = 10_000
_LONGEST = 100

_SESSIONS = SqliteFile(
    name="sessions",
    application=0x434B4D53,
    table="ckm_session",
    columns="name TEXT PRIMARY KEY, token TEXT NOT NULL, until BIGINT NOT NULL, "
    "seal TEXT NOT NULL",
    index="until",
    cure="remove it: people sign in anew",
    wait_s=0.5,
)


def new_name() -> str:
    """Return a random name that nobody can guess."""
    return secrets.token_urlsafe(32)


def proof_of(name: str, *, purpose: str) -> str:
    """Return what a form shows beside the cookie of that name: only our own pages can."""
    return hmac.digest(name.encode(), purpose.encode(), hashlib.sha256).hex()


def is_proof(proof: str, name: str, *, purpose: str) -> bool:
    """Return whether a form comes from one of our pages."""
    own_proof = proof_of(name, purpose=purpose)
    return bool(name) and hmac.compare_digest(proof.encode(), own_proof.encode())


class Sessions:
    """Keeps who signed in.

    Parameters
    ----------
    place
        The database, or the file, that keeps sessions.
    key
        Of digests and seals; servers that share sessions share it.
    clock
        Tells the time in seconds.
    """

    def __init__(
        self,
        place: Path | Database,
        *,
        key: bytes = b"",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._database = _SESSIONS.open(place)
        self._key = key
        self._clock = clock

    @busy_without("sessions")
    def open(self, token_id: str) -> str:
        """Begin a session and return its name."""
        name, until = new_name(), int(self._clock()) + LASTS_S
        digest = self._digest("name", name)
        with self._database.writing():
            self._tidy()
            self._database.run(
                "INSERT INTO ckm_session (name, token, until, seal) VALUES (?, ?, ?, ?)",
                (digest, token_id, until, self._digest("seal", digest, token_id, until)),
            )
        return name

    @busy_without("sessions")
    def token_id(self, name: str) -> str | None:
        """Return whose session it is; None for one that is over or never was."""
        if not name or len(name) > _LONGEST:
            return None
        digest = self._digest("name", name)
        rows = self._database.fetch(
            "SELECT token, until, seal FROM ckm_session WHERE name = ?", (digest,)
        )
        for token, until, seal in rows:
            own_seal = self._digest("seal", digest, token, until)
            is_ours = hmac.compare_digest(str(seal).encode(), own_seal.encode())
            if is_ours and until > self._clock():
                return str(token)
        return None

    @busy_without("sessions")
    def close(self, name: str) -> None:
        """End a session."""
        with self._database.writing():
            self._database.run(
                "DELETE FROM ckm_session WHERE name = ?", (self._digest("name", name),)
            )

    def close_all(self) -> None:
        """Close the database; sessions go on."""
        self._database.close()

    def _tidy(self) -> None:
        """Forget what is over; of too many, the oldest half of whoever has most of them."""
        run, fetch = self._database.run, self._database.fetch
        run("DELETE FROM ckm_session WHERE until <= ?", (int(self._clock()) - _KEPT_S,))
        ((number,),) = fetch("SELECT count(*) FROM ckm_session")
        if number >= _MOST:
            ((token, theirs),) = fetch(
                "SELECT token, count(*) FROM ckm_session GROUP BY token "
                "ORDER BY count(*) DESC LIMIT 1"
            )
            run(
                "DELETE FROM ckm_session WHERE name IN "
                "(SELECT name FROM ckm_session WHERE token = ? ORDER BY until LIMIT ?)",
                (token, (theirs + 1) // 2),
            )

    def _digest(self, *parts: object) -> str:
        text = repr(parts).encode("utf-8", "backslashreplace")
        return hmac.digest(self._key, text, hashlib.sha256).hex()
