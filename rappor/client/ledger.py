"""What the reports of many clients have cost each of them, in a file."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import logging
import os
import secrets
import sqlite3
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from footing.files import open_own, refuse_dangling, require_private, write_whole
from footing.messages import Argument, Message, Name
from footing.serialisation import json_line
from rappor.accounting import epsilon_after
from rappor.client.account import SLACK
from rappor.client.client import bloom_filter, identifiers
from rappor.errors import MismatchError, RapporError, ReportFileError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from _typeshed import StrPath

    from footing.arrays import Flags
    from rappor.client.bloom import Clients, Values
    from rappor.client.permanent import SecretKey
    from rappor.parameters import Parameters

logger = logging.getLogger(__name__)

_HELD = 32766  # places for values in a statement of SQLite
_TABLES = """
CREATE TABLE IF NOT EXISTS kept (secret BLOB PRIMARY KEY);
CREATE TABLE IF NOT EXISTS state (token TEXT PRIMARY KEY, seal BLOB);
CREATE TABLE IF NOT EXISTS spent (client BLOB, value BLOB, reports INTEGER, loss REAL,
    forever REAL, PRIMARY KEY (client, value)) WITHOUT ROWID"""
_TOTALS = """
SELECT count(*), ifnull(sum(v), 0), ifnull(max(v), 0), ifnull(sum(r), 0), ifnull(max(r), 0),
    ifnull(max(e), 0), ifnull(max(f), 0)
FROM (SELECT count(*) AS v, sum(reports) AS r, sum(loss) AS e,
    sum(ifnull(forever, 9e999)) AS f FROM spent GROUP BY client)"""
# All of a row in one line, with the kind of each value: no two rows have the same.
_LINES = """
SELECT typeof(client) || quote(client) || typeof(value) || quote(value) || typeof(reports)
    || quote(reports) || typeof(loss) || printf('%!.20g', loss)
    || typeof(forever) || ifnull(printf('%!.20g', forever), '') || char(10)
FROM spent ORDER BY client, value"""
_LINES_AT_ONCE = 10_000


class ClientLedger:
    """What the reports of many clients have cost each of them, for whoever encodes for all.

    All metrics and parameters of one secret add up. Clients and values are keyed hashes: the
    file names nobody to whoever lacks the secret. Use it in a ``with`` block, which holds the
    file alone; what was charged is undone unless `commit` was called.

    A small file beside it, ``.last``, names the state that the ledger was left in: a copy, an
    older state and an empty file in its place are refused. A digest of all its lines, keyed by
    the secret, is looked at whenever it is opened: what others changed is refused too.

    Parameters
    ----------
    path
        A file, made with mode 0600 if there is none; None keeps the ledger in memory.
    secret
        The secret that the permanent responses derive from.
    adopt
        Take the file as the only ledger from now on, though it is a copy or was moved.
    """

    def __init__(self, path: StrPath | None, *, secret: SecretKey, adopt: bool = False) -> None:
        if path is not None:
            refuse_dangling(Path(path), error=ReportFileError)
        self._path = None if path is None else Path(path).resolve()
        self._secret, self._adopt = secret, adopt
        self._key = secret.derive("rappor ledger of clients")
        self._db: sqlite3.Connection | None = None
        self._is_sealed = False  # whatever of the states named beside it is found
        #: Clients for whom a report was beyond the cap, and the most that any has spent.
        self.over: set[bytes] = set()
        self.most = 0.0

    def __enter__(self) -> Self:
        try:
            with self._explained():
                self._open()
                self._require_only()
                self._require_sealed()
        except BaseException:
            self._close()
            raise
        return self

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn what SQLite says into an error of ours."""
        try:
            yield
        except (sqlite3.Error, sqlite3.Warning, OverflowError, UnicodeDecodeError) as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
                raise ReportFileError(
                    Message(
                        "Another process holds the ledger of clients {name!r}.",
                        name=Name(self._name()),
                    ),
                    hint=Message("wait for the other command"),
                ) from None
            raise ReportFileError(
                Message(
                    "The ledger of clients {name!r} cannot be read.", name=Name(self._name())
                ),
                hint=Message(
                    "if it is damaged, put back its newest copy and take that over: ckm rappor "
                    "ledger --adopt"
                ),
            ) from None

    def __exit__(self, *_: object) -> None:
        self._close()

    def charge(
        self,
        values: Values,
        clients: Clients,
        *,
        parameters: Parameters,
        metric: str,
        cap: float,
    ) -> Flags:
        """Count a report of each value; tell which keep their client within the cap."""
        from rappor.client.permanent import cohorts_of

        if not cap > 0:  # a NaN fails this too, and would refuse nothing
            raise RapporError(Message("cap must be above 0, not {cap!r}.", cap=Argument(cap)))
        names = identifiers(clients)
        places = cohorts_of(names, secret=self._secret, n_cohorts=parameters.n_cohorts)
        rows = np.packbits(bloom_filter(values, places, parameters=parameters), axis=1)
        about = f"{metric}\0{parameters.fingerprint}\0".encode()
        who = {name: self._hash(b"client" + name) for name in set(names)}
        with self._explained():
            losses, counts = self._held([*who.values()])
        forever = parameters.epsilon_permanent

        @cache
        def loss_of(reports: int) -> float:
            return epsilon_after(parameters, reports=reports)

        mask, changed = np.ones(len(names), bool), {}
        for place, (name, row) in enumerate(zip(names, rows, strict=True)):
            client = who[name]
            one = (client, self._hash(b"value" + about + row.tobytes()))
            before = counts.get(one, 0)
            after = losses[client] + loss_of(before + 1) - loss_of(before)
            if after > cap * SLACK:
                self.over.add(client)
                mask[place] = False
                continue
            losses[client], counts[one] = after, before + 1
            changed[one] = (*one, before + 1, loss_of(before + 1), forever)
            self.most = max(self.most, after)
        with self._explained():
            self._opened().executemany(
                "INSERT OR REPLACE INTO spent (client, value, reports, loss, forever) "
                "VALUES (?, ?, ?, ?, ?)",
                sorted(changed.values()),
            )
        return mask

    def commit(self) -> None:
        """Keep what was charged: before the reports leave, so that no failure hides one."""
        db, token = self._opened(), secrets.token_hex(16)
        with self._explained():
            before, seal = self._token(), self._sealed(token)
            self._is_sealed = self._has_seal()
            db.execute("DELETE FROM state")
            db.execute("INSERT INTO state (token, seal) VALUES (?, ?)", (token, seal))
            self._mark([before, token])  # whichever of the two a crash leaves is known
            db.execute("COMMIT")
            self._is_sealed = True
            self._mark([token])
            db.execute("BEGIN IMMEDIATE")

    def totals(self) -> dict[str, float]:
        """Give how many clients sent how much, and the most of one of them."""
        with self._explained():
            row = self._opened().execute(_TOTALS).fetchone()
        names = ("clients", "values", "most_values", "reports", "most_reports", "most_epsilon")
        return dict(zip((*names, "most_forever"), row, strict=True))

    def _open(self) -> None:
        if self._path is not None:
            require_private(self._path, Message("ledger of clients"), error=ReportFileError)
            os.close(open_own(self._path, error=ReportFileError))
        self._db = db = sqlite3.connect(
            self._path or ":memory:", timeout=60, isolation_level=None
        )
        db.execute("PRAGMA synchronous = EXTRA")
        db.execute("BEGIN IMMEDIATE")
        for table in _TABLES.split(";"):
            db.execute(table)
        if "forever" not in {row[1] for row in db.execute("PRAGMA table_info(spent)")}:
            db.execute("ALTER TABLE spent ADD COLUMN forever REAL")  # kept by an older version
        if "seal" not in {row[1] for row in db.execute("PRAGMA table_info(state)")}:
            db.execute("ALTER TABLE state ADD COLUMN seal BLOB")  # the same
        mark = self._hash(b"secret")
        marks = [row[0] for row in db.execute("SELECT secret FROM kept")]
        if not marks:
            db.execute("INSERT INTO kept VALUES (?)", (mark,))
        if marks not in ([], [mark]):
            raise MismatchError(
                Message(
                    "The ledger of clients {name!r} was kept with another secret.",
                    name=Name(self._name()),
                ),
                hint=Message("use that secret; a new one costs every client its loss again"),
            )

    def _require_only(self) -> None:
        """Refuse what is not the file, in the state, that the last command left."""
        if self._path is None or self._adopt:
            return
        beside, token = self._beside(), self._token()
        try:
            state = json.loads(beside.read_text())
            tokens, file = state["tokens"], state["file"]
            if state.get("sealed") and not self._has_seal():
                tokens = []
        except FileNotFoundError:
            tokens, file = [""], self._path.stat().st_ino
        except (ValueError, KeyError, TypeError):
            tokens, file = [], 0
        if token in tokens and file == self._path.stat().st_ino:
            return
        what = (
            Message("is a copy")
            if token in tokens
            else Message("is not what the last command left there")
        )
        raise ReportFileError(
            Message(
                "The ledger of clients {name!r} {what}: reports that were counted "
                "elsewhere, or since, would be forgotten.",
                name=Name(self._name()),
                what=what,
            ),
            hint=Message(
                "go on with the ledger that {beside!r} lies beside; if there is no other: "
                "ckm rappor ledger --adopt",
                beside=Name(beside.name),
            ),
        )

    def _require_sealed(self) -> None:
        """Refuse lines that are not those that the last command sealed."""
        db = self._opened()
        token = self._token()
        row: Any = db.execute("SELECT seal FROM state").fetchone()
        if row is not None and row[0] is not None:
            if not isinstance(row[0], bytes) or not hmac.compare_digest(
                row[0], self._sealed(token)
            ):
                raise ReportFileError(
                    Message(
                        "The ledger of clients {name!r} was changed by other means than this "
                        "program, or is damaged.",
                        name=Name(self._name()),
                    ),
                    hint=Message(
                        "put back its newest copy and take that over: ckm rappor ledger --adopt"
                    ),
                )
        elif db.execute("SELECT 1 FROM spent LIMIT 1").fetchone() is not None:
            logger.warning(
                Message(
                    "The ledger of clients {name!r} was kept by an older version, which sealed "
                    "nothing: what it counted so far cannot be checked. It is sealed from now "
                    "on.",
                    name=Name(self._name()),
                ),
                extra={"event": "ledger without seal"},
            )

    def _sealed(self, token: str) -> bytes:
        """Return the keyed digest of all lines, in the state of a token."""
        state = hashlib.blake2b(b"lines" + token.encode() + b"\n", key=self._key)
        lines = self._opened().execute(_LINES)
        while batch := lines.fetchmany(_LINES_AT_ONCE):
            state.update("".join(str(line) for (line,) in batch).encode())
        return state.digest()

    def _mark(self, tokens: list[str]) -> None:
        if self._path is not None:
            state = {
                "tokens": tokens,
                "file": self._path.stat().st_ino,
                "sealed": self._is_sealed,
            }
            write_whole(self._beside(), json_line(state) + "\n", error=ReportFileError)

    def _beside(self) -> Path:
        path = self._path or Path()
        return path.with_name(f"{path.name}.last")

    def _token(self) -> str:
        """Return what names the state; nothing for a new ledger or one of older versions."""
        row: Any = self._opened().execute("SELECT token FROM state").fetchone()
        return str(row[0]) if row else ""

    def _has_seal(self) -> bool:
        row: Any = self._opened().execute("SELECT seal FROM state").fetchone()
        return row is not None and row[0] is not None

    def _held(
        self, clients: list[bytes]
    ) -> tuple[dict[bytes, float], dict[tuple[bytes, bytes], int]]:
        """Return what some clients have spent, and the reports of each of their values."""
        losses, counts = dict.fromkeys(clients, 0.0), {}
        for start in range(0, len(clients), _HELD):
            part = clients[start : start + _HELD]
            marks = ",".join("?" * len(part))
            query = f"SELECT client, value, reports, loss FROM spent WHERE client IN ({marks})"  # noqa: S608 (no value)
            for client, value, reports, loss in self._opened().execute(query, part):
                losses[client] += loss
                counts[client, value] = reports
        return losses, counts

    def _hash(self, text: bytes) -> bytes:
        return hashlib.blake2b(text, key=self._key, digest_size=16).digest()

    def _opened(self) -> sqlite3.Connection:
        if self._db is None:
            raise RapporError(Message("A ledger of clients is used in a with block."))
        return self._db

    def _close(self) -> None:
        if self._db is not None:
            with contextlib.suppress(sqlite3.DatabaseError):
                self._db.execute("ROLLBACK")
            self._db.close()
            self._db = None

    def _name(self) -> str:
        return Message("in memory") if self._path is None else self._path.name
