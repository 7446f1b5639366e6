"""A receiver's files: sums that stay, and who answered, which a period's end destroys."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import logging
import os
import secrets
import sqlite3
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from footing.files import open_own
from footing.messages import Message, Name
from rappor.counts import Counts
from rappor.encoded import Reports
from rappor.errors import MismatchError, RapporError, ReportFileError
from rappor.parameters import Parameters
from rappor.receiver.periods import PERIODS, Period, period_of
from rappor.receiver.sending import RefusedError, Sending, unpack_sending

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from _typeshed import StrPath

    from footing.arrays import Flags, Integers

logger = logging.getLogger(__name__)

_SUMS, _CLIENTS, _LOCK = "sums.db", "clients.db", ".lock"
_TABLES = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, content TEXT);
CREATE TABLE IF NOT EXISTS periods (name TEXT PRIMARY KEY, is_over INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS sums (period TEXT, cohort INTEGER, numbers BLOB,
    PRIMARY KEY (period, cohort)) WITHOUT ROWID"""
# Sorted by the keyed hash: neither an order of arrival nor a number of a row is kept.
_CLIENT_TABLES = """
CREATE TABLE clients.period (name TEXT, key BLOB);
CREATE TABLE clients.answered (client BLOB PRIMARY KEY) WITHOUT ROWID"""
_AT_ONCE = 30_000  # places for values in a statement of SQLite
_KEY_BYTES = 32
_HASH_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What became of the reports of a sending.

    Parameters
    ----------
    accepted
        How many are counted.
    repeated
        How many came from a client that had answered in this period; they are not counted.
    beyond
        How many passed the limit of clients; they are not counted.
    """

    accepted: int
    repeated: int
    beyond: int


class Receiver:
    """Takes reports, counts each client once a period, and keeps sums.

    Use it in a ``with`` block, which holds its folder alone. Two files: the sums by period, and
    the keyed hashes of those who answered in the present period, with the key. Both change in
    one transaction. When a period ends, the second file is overwritten and removed: of a period
    that is over there are sums alone.

    Parameters
    ----------
    folder
        Made with mode 0700 if there is none.
    parameters, metric
        Of the collection; a folder of another one is refused.
    period
        How long a period is.
    most
        The largest number of clients in a period; None for any.
    clock
        Seconds since 1970.

    Examples
    --------
    >>> import tempfile
    >>> from rappor import Parameters, Reports
    >>> from rappor.receiver import pack_sending
    >>> coin = Parameters.basic(2, f=0.5, p=0.25, q=0.75)
    >>> reports = Reports.from_texts(["01", "11"], [0, 0], parameters=coin)
    >>> with Receiver(
    ...     tempfile.mkdtemp(), parameters=coin, metric="m", period="day", clock=lambda: 0.0
    ... ) as receiver:
    ...     body = pack_sending(
    ...         reports, [bytes(16), b"1" * 16], metric="m", period=receiver.period
    ...     )
    ...     [receiver.take([body])[0] for _ in range(2)]
    [Receipt(accepted=2, repeated=0, beyond=0), Receipt(accepted=0, repeated=2, beyond=0)]
    """

    def __init__(
        self,
        folder: StrPath,
        *,
        parameters: Parameters,
        metric: str,
        period: Period,
        most: int | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if period not in PERIODS:
            raise RapporError(
                Message("A period is one of {periods!r}.", periods=Name.each(PERIODS))
            )
        if not metric.strip():
            raise RapporError(Message("The question needs a name."))
        if most is not None and most < 1:
            raise RapporError(Message("The limit of clients is at least one."))
        self._folder = Path(folder)
        self.parameters, self.metric, self.kind = parameters, metric, period
        self._most, self._clock = most, clock
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None
        self._handle: int | None = None
        #: The name of the present period.
        self.period = ""
        self._key = b""
        self._numbers: Integers = np.zeros(0, np.int64)

    def __enter__(self) -> Self:
        try:
            with _explained():
                self._open()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._close()

    def _open(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self._folder.stat().st_mode & 0o077:
            raise ReportFileError(
                Message("The folder of a receiver must be its owner's alone."),
                hint=Message("chmod 700 it, or name a new one"),
            )
        self._handle = open_own(self._folder / _LOCK, error=ReportFileError)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ReportFileError(
                Message("Another receiver holds this folder."),
                hint=Message("stop it, or name a folder for each"),
            ) from None
        path = self._folder / _SUMS
        os.close(open_own(path, error=ReportFileError))
        self._db = db = sqlite3.connect(
            path, timeout=60, isolation_level=None, check_same_thread=False
        )
        db.execute("PRAGMA journal_mode = DELETE")  # one transaction over both files
        db.execute("PRAGMA synchronous = FULL")
        for table in _TABLES.split(";"):
            db.execute(table)
        self._require_same(db)
        self._turn(is_opening=True)

    def _require_same(self, db: sqlite3.Connection) -> None:
        about = {
            "parameters": json.dumps(self.parameters.to_dict()),
            "metric": self.metric,
            "period": self.kind,
        }
        rows = dict(db.execute("SELECT name, content FROM about"))
        if not rows:
            db.executemany("INSERT INTO about VALUES (?, ?)", about.items())
        elif rows != about:
            raise MismatchError(
                Message("The folder holds another collection."),
                hint=Message("name a folder for each: parameters, question and period"),
            )

    def roll(self) -> bool:
        """End the present period where its time is over; tell whether it was."""
        with self._lock, _explained():
            return self._turn()

    def _turn(self, *, is_opening: bool = False) -> bool:
        name = period_of(self._clock(), self.kind)
        db = self._opened()
        # A clock that was put back opens no period again whose clients are forgotten.
        (latest,) = db.execute("SELECT max(name) FROM periods").fetchone()
        name = max(name, latest or "")
        if name == self.period:
            return False
        if not is_opening:
            self._forget()
        is_new = name != latest
        if is_new:
            db.execute("BEGIN IMMEDIATE")
            db.execute("UPDATE periods SET is_over = 1")
            db.execute("INSERT INTO periods VALUES (?, 0)", (name,))
            db.execute("COMMIT")
        self.period = name
        self._attach(is_new=is_new)
        self._numbers = self._sums()
        return True

    def _attach(self, *, is_new: bool) -> None:
        db, path = self._opened(), self._folder / _CLIENTS
        if path.exists() and not is_new:
            db.execute("ATTACH ? AS clients", (str(path),))
            rows = _present(db)
            if rows and rows[0][0] == self.period:
                self._key = rows[0][1]
                self._prepare(db)
                return
        has_sums = db.execute(
            "SELECT 1 FROM sums WHERE period = ? LIMIT 1", (self.period,)
        ).fetchone()
        if has_sums:
            raise ReportFileError(
                Message(
                    "Who has answered in the period {period!r} is not there any more: clients "
                    "would be counted twice.",
                    period=Name(self.period),
                ),
                hint=Message("put clients.db back, or wait for the next period"),
            )
        self._forget()
        os.close(open_own(path, error=ReportFileError))
        db.execute("ATTACH ? AS clients", (str(path),))
        self._key = secrets.token_bytes(_KEY_BYTES)
        self._prepare(db)
        db.execute("BEGIN IMMEDIATE")
        for table in _CLIENT_TABLES.split(";"):
            db.execute(table)
        db.execute("INSERT INTO clients.period VALUES (?, ?)", (self.period, self._key))
        db.execute("COMMIT")

    def _prepare(self, db: sqlite3.Connection) -> None:
        db.execute("PRAGMA clients.journal_mode = DELETE")
        db.execute("PRAGMA clients.synchronous = FULL")
        db.execute("PRAGMA clients.secure_delete = ON")

    def _forget(self) -> None:
        """Destroy the key of a period and who answered in it."""
        self._key = b""
        with contextlib.suppress(sqlite3.OperationalError):
            self._opened().execute("DETACH clients")
        for path in (self._folder / _CLIENTS, self._folder / f"{_CLIENTS}-journal"):
            with contextlib.suppress(FileNotFoundError):
                with path.open("r+b") as file:
                    size = path.stat().st_size
                    for start in range(0, size, 2**20):
                        file.write(bytes(min(2**20, size - start)))
                    file.flush()
                    os.fsync(file.fileno())
                path.unlink()

    def take(self, bodies: Sequence[bytes]) -> list[Receipt | RefusedError]:
        """Count the reports of several sendings in one transaction, and answer each.

        Parameters
        ----------
        bodies
            What was sent: `pack_sending`. One that is refused is refused whole.

        Returns
        -------
        list
            For each, its receipt or why it is refused. What has a receipt is on the disk.
        """
        with self._lock, _explained():
            self._turn()
            answers: list[Receipt | RefusedError | Sending] = [self._read(b) for b in bodies]
            sendings = [one for one in answers if isinstance(one, Sending)]
            receipts = iter(self._count(sendings) if sendings else [])
            return [next(receipts) if isinstance(a, Sending) else a for a in answers]

    def _read(self, body: bytes) -> Sending | RefusedError:
        try:
            return unpack_sending(
                body, parameters=self.parameters, metric=self.metric, period=self.period
            )
        except RefusedError as refusal:
            return refusal

    def _count(self, sendings: list[Sending]) -> list[Receipt]:
        db = self._opened()
        hashes = [[self._hash(token) for token in sending.tokens] for sending in sendings]
        db.execute("BEGIN IMMEDIATE")
        try:
            earlier = self._earlier([one for part in hashes for one in part])
            room = None if self._most is None else self._most - int(self._numbers[:, 0].sum())
            receipts, pieces = [], []
            new_clients: list[bytes] = []
            for part, sending in zip(hashes, sendings, strict=True):
                mask: Flags = np.zeros(len(part), bool)
                beyond = 0
                for place, client in enumerate(part):
                    if client in earlier:
                        continue
                    if room is not None and len(new_clients) >= room:
                        beyond += 1
                        continue
                    earlier.add(client)
                    new_clients.append(client)
                    mask[place] = True
                accepted = int(mask.sum())
                receipts.append(
                    Receipt(
                        accepted=accepted,
                        repeated=len(part) - accepted - beyond,
                        beyond=beyond,
                    )
                )
                pieces.append((sending.reports, mask))
            numbers = self._added(pieces)
            db.executemany(
                "INSERT INTO clients.answered VALUES (?)",
                [(one,) for one in sorted(new_clients)],
            )
            changed = np.flatnonzero(numbers[:, 0] != self._numbers[:, 0])
            db.executemany(
                "INSERT OR REPLACE INTO sums VALUES (?, ?, ?)",
                [
                    (self.period, int(cohort), numbers[cohort].astype("<i8").tobytes())
                    for cohort in changed
                ],
            )
            db.execute("COMMIT")
        except BaseException:
            db.execute("ROLLBACK")
            raise
        self._numbers = numbers
        return receipts

    def _added(self, pieces: list[tuple[Reports, Flags]]) -> Integers:
        reports = Reports(
            cohorts=np.concatenate([part.cohorts[mask] for part, mask in pieces]),
            packed=np.concatenate([part.packed[mask] for part, mask in pieces]),
            parameters=self.parameters,
        )
        counts = reports.sum()
        return self._numbers + np.column_stack([counts.n, counts.ones])

    def _earlier(self, clients: list[bytes]) -> set[bytes]:
        earlier: set[bytes] = set()
        for start in range(0, len(clients), _AT_ONCE):
            part = clients[start : start + _AT_ONCE]
            marks = ",".join("?" * len(part))
            query = f"SELECT client FROM clients.answered WHERE client IN ({marks})"  # noqa: S608 (no value)
            earlier.update(client for (client,) in self._opened().execute(query, part))
        return earlier

    def _hash(self, token: bytes) -> bytes:
        return hashlib.blake2b(token, key=self._key, digest_size=_HASH_BYTES).digest()

    def _sums(self) -> Integers:
        return _numbers_of(self._opened(), self.period, self.parameters)

    def _opened(self) -> sqlite3.Connection:
        if self._db is None:
            raise RapporError(Message("A receiver is used in a with block."))
        return self._db

    def _close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def period_counts(
    folder: StrPath, *, is_unfinished_too: bool = False, now: float | None = None
) -> dict[str, Counts]:
    """Give the sums of a receiver's periods that are over, by name.

    Parameters
    ----------
    folder
        Of the receiver, which may be at work.
    is_unfinished_too
        Whether the present period is given, too. Two looks at it differ by the reports between
        them: of one client, where only one came.
    now
        Seconds since 1970, by default those of the clock.

    Raises
    ------
    ReportFileError
        If there is no receiver's folder.
    """
    path = Path(folder) / _SUMS
    if not path.is_file():
        raise ReportFileError(
            Message("There is no collection in {folder!r}.", folder=Name(Path(folder).name)),
            hint=Message("name the folder of ckm rappor serve"),
        )
    with _explained(), contextlib.closing(sqlite3.connect(path, timeout=60)) as db:
        about = dict(db.execute("SELECT name, content FROM about"))
        try:
            parameters = Parameters.from_dict(json.loads(about["parameters"]))
            present = period_of(time.time() if now is None else now, about["period"])
        except (KeyError, ValueError, TypeError):
            raise ReportFileError(Message("The folder holds no collection.")) from None
        counts = {}
        for name, is_over in db.execute("SELECT name, is_over FROM periods ORDER BY name"):
            if is_over or name < present or is_unfinished_too:
                numbers = _numbers_of(db, name, parameters)
                counts[name] = Counts(
                    n=numbers[:, 0], ones=numbers[:, 1:], parameters=parameters
                )
    return counts


def _present(db: sqlite3.Connection) -> list[tuple[str, bytes]]:
    """Give the period and the key of who answered; nothing where a crash left no tables."""
    names = db.execute("SELECT name FROM clients.sqlite_master").fetchall()
    if ("period",) not in names:
        return []
    return db.execute("SELECT name, key FROM clients.period").fetchall()


def _numbers_of(db: sqlite3.Connection, period: str, parameters: Parameters) -> Integers:
    numbers = np.zeros((parameters.n_cohorts, parameters.n_bits + 1), np.int64)
    rows = db.execute("SELECT cohort, numbers FROM sums WHERE period = ?", (period,))
    for cohort, blob in rows:
        numbers[cohort] = np.frombuffer(blob, "<i8")
    return numbers


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    """Turn what SQLite and the system say into an error of ours, without a path or a value."""
    try:
        yield
    except (sqlite3.Error, OSError, ValueError, IndexError) as error:
        if isinstance(error, RapporError):
            raise
        logger.error("receiver failed", extra={"error": type(error).__name__})  # noqa: TRY400
        raise ReportFileError(
            Message("The files of the receiver cannot be read or written."),
            hint=Message("look at the folder: its owner, its disk, and whether it is damaged"),
        ) from None
