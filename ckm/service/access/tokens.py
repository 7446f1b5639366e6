"""Tokens: shown once, kept as Argon2 hashes in a file that only its owner can read."""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import json
import logging
import re
import secrets
import threading
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, get_args

from ckm.config.service.sections import Role
from ckm.errors import ConfigError
from footing.files import locked, require_private, write_whole
from footing.messages import Message, Name
from footing.serialisation import digest_of, document, plain
from footing.text_files import read_text

if TYPE_CHECKING:
    from pathlib import Path

    from argon2 import PasswordHasher

logger = logging.getLogger(__name__)

ROLES: tuple[Role, ...] = get_args(Role)

_TOKEN = re.compile(r"ckm_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who asks: a token's id, or an address."""

    id: str
    role: Role = "public"
    requests_per_hour: int | None = None
    project: str = ""

    @property
    def account(self) -> str:
        """What the caller's filters are accounted to; strangers may work together."""
        if self.role == "public":
            return "public"
        return f"project {self.project}" if self.project else f"token {self.id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenEntry:
    """A token as it is kept.

    Parameters
    ----------
    id
        Its public part.
    hash
        Argon2id of its secret part.
    role
        What it may do.
    label
        Whose it is, for people.
    created
        When.
    requests_per_hour
        Its own budget, instead of its role's.
    is_revoked
        Whether it was taken back.
    project
        What its filters are accounted to, with other tokens of the project; by itself if empty.
    """

    id: str
    hash: str
    role: Role
    label: str
    created: str
    requests_per_hour: int | None = None
    is_revoked: bool = False
    project: str = ""

    def __repr__(self) -> str:
        return f"TokenEntry({self.id!r}, {self.role!r})"


class TokenFile:
    """The file of tokens.

    Parameters
    ----------
    path
        The file; it is made with the first token.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[TokenEntry]:
        """Return the tokens that are kept."""
        require_private(self.path, Message("file of tokens"), error=ConfigError)
        try:
            content = json.loads(read_text(self.path))
            tokens = content["tokens"]
            entries = [TokenEntry(**entry) for entry in tokens]
            for entry in entries:
                _require_sound(entry)
        except FileNotFoundError:
            return []
        except (OSError, KeyError, TypeError, ValueError, RecursionError):
            raise ConfigError(
                Message(
                    "The file of tokens {path!r} cannot be read.", path=Name(self.path.name)
                ),
                hint=Message("ckm token add makes one"),
            ) from None
        if "digest" not in content:
            logger.warning(
                Message(
                    "the file of tokens has no digest, as in older versions: whether it "
                    "was changed cannot be checked; ckm token add or revoke writes one"
                ),
                extra={"event": "tokens without digest"},
            )
        elif content != _content(tokens):
            raise ConfigError(
                Message(
                    "The file of tokens {path!r} was changed by other means than ckm token, or "
                    "is damaged.",
                    path=Name(self.path.name),
                ),
                hint=Message(
                    "put back its last copy; if you changed it by hand and all in it is right, "
                    'take out its "digest"'
                ),
            )
        return entries

    def add(
        self,
        *,
        role: Role,
        label: str,
        requests_per_hour: int | None = None,
        project: str | None = None,
    ) -> str:
        """Make a token, keep its hash, and return it; it is not to be had again."""
        public, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
        entry = TokenEntry(
            id=public,
            hash=_hasher().hash(secret),
            role=role,
            label=label,
            created=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            requests_per_hour=requests_per_hour,
            project=project or "",
        )
        with locked(self.path, error=ConfigError):
            self._write([*self.read(), entry])
        return f"ckm_{public}_{secret}"

    def revoke(self, public: str) -> bool:
        """Take a token back; tell whether there was one."""
        with locked(self.path, error=ConfigError):
            entries = self.read()
            if not any(e.id == public and not e.is_revoked for e in entries):
                return False
            changed = [replace(e, is_revoked=e.is_revoked or e.id == public) for e in entries]
            self._write(changed)
        return True

    def _write(self, entries: list[TokenEntry]) -> None:
        content = _content(plain(entries))
        write_whole(self.path, document(content), error=ConfigError, is_private=True)


def _content(tokens: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what a file of tokens holds: the tokens, and a digest of them."""
    content = {"schema": 1, "tokens": tokens}
    return content | {"digest": digest_of(content)}


def _require_sound(entry: TokenEntry) -> None:
    """Refuse an entry whose role there is not, or whose parts are of other kinds."""
    ROLES.index(entry.role)  # who has no role that there is may ask nothing
    texts = (entry.id, entry.hash, entry.label, entry.created, entry.project)
    limit: object = entry.requests_per_hour
    is_number = limit is None or (isinstance(limit, int) and not isinstance(limit, bool))
    if not (all(isinstance(t, str) for t in texts) and is_number):
        raise TypeError
    if not isinstance(entry.is_revoked, bool):
        raise TypeError


class Tokens:
    """Tells who a token belongs to; looks at the file again when it changed.

    Parameters
    ----------
    file
        The file of tokens.
    """

    def __init__(self, file: TokenFile) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._stamp: tuple[int, int, int] | None = None
        self._entries: dict[str, TokenEntry] = {}
        self._key = secrets.token_bytes(32)
        self._known: dict[bytes, str] = {}  # keyed digest of a token that was right → its id
        self._load()

    def recognise(self, token: str) -> Caller | str | None:
        """Return whose a token is, or the id of one whose secret is still to be verified.

        An id that nobody has is one to be verified too: how long a refusal takes, and how many
        there may be, does not tell which ids exist.
        """
        match = _TOKEN.fullmatch(token)
        if match is None:
            return None
        digest = self._digest(token)
        with self._lock:
            self._load()
            entry = self._entries.get(match[1])
            if entry is None or entry.is_revoked or self._known.get(digest) != entry.id:
                return match[1]
            return _caller_of(entry)

    def caller(self, token: str) -> Caller | None:
        """Return whose a token is; None for a wrong or a revoked one.

        A token that was right before costs nothing, another one tens of milliseconds; others
        are recognised meanwhile.
        """
        answer = self.recognise(token)
        if not isinstance(answer, str):
            return answer
        with self._lock:
            entry = self._entries.get(answer)
        is_usable = entry is not None and not entry.is_revoked
        hashed = entry.hash if entry is not None and is_usable else _hash_of_none()
        is_right = _is_right(hashed, token.rpartition("_" + answer + "_")[2])
        if entry is None or not is_usable or not is_right:
            return None
        with self._lock:
            self._load()
            if self._entries.get(answer) != entry:  # changed or revoked meanwhile
                return None
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[self._digest(token)] = answer
        return _caller_of(entry)

    def holder(self, public: str) -> Caller | None:
        """Return whose a token is by its id; None for a revoked one."""
        with self._lock:
            self._load()
            entry = self._entries.get(public)
        return None if entry is None or entry.is_revoked else _caller_of(entry)

    def _digest(self, token: str) -> bytes:
        return hmac.digest(self._key, token.encode(), hashlib.sha256)

    def _load(self) -> None:
        try:
            status = self._file.path.stat()
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
        except OSError:
            stamp = (0, 0, 0)
        if stamp != self._stamp:
            self._entries = {entry.id: entry for entry in self._file.read()}
            self._known.clear()
            self._stamp = stamp


def _caller_of(entry: TokenEntry) -> Caller:
    return Caller(
        id=entry.id,
        role=entry.role,
        requests_per_hour=entry.requests_per_hour,
        project=entry.project,
    )


def _hasher() -> PasswordHasher:
    from argon2 import PasswordHasher

    # The second of the two parameter sets that OWASP names first: 19 MiB, two passes.
    return PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)


@cache
def _hash_of_none() -> str:
    """Return the hash of a secret that nobody has: to refuse takes as long as to verify."""
    return _hasher().hash(secrets.token_urlsafe(32))


def _is_right(hashed: str, secret: str) -> bool:
    from argon2.exceptions import Argon2Error, InvalidHashError

    try:
        return bool(_hasher().verify(hashed, secret))
    except (Argon2Error, InvalidHashError):
        return False
