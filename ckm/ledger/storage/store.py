"""Where the entries lie: an SQLite file, or a PostgreSQL database for several servers."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ckm.ledger.errors import LedgerError
from footing.addresses import Address
from footing.files import new_file, refuse_dangling, require_private
from footing.messages import Message, Name, said

_APPLICATION = 0x636B6D4C  # "ckmL" in the header of the file
_META = "CREATE TABLE IF NOT EXISTS ckm_ledger (name TEXT PRIMARY KEY, content TEXT NOT NULL)"
_ENTRIES = (
    "CREATE TABLE IF NOT EXISTS ckm_ledger_entry (number {number}, history TEXT NOT NULL, "
    "digest {bytes} NOT NULL, definition TEXT NOT NULL, published_at TEXT NOT NULL, "
    "sealed {bytes} NOT NULL, link {bytes} NOT NULL)"
)
_LOOKUP = "CREATE INDEX IF NOT EXISTS ckm_ledger_lookup ON ckm_ledger_entry (history, digest)"
_MADE = {"ckm_ledger", "ckm_ledger_entry", "ckm_ledger_lookup"}
_COLUMNS = "history, digest, definition, published_at, sealed, link"
_OPEN_COLUMNS = "history, digest, definition, published_at, NULL, NULL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One entry as it is stored."""

    number: int
    history: str
    digest: bytes
    definition: str
    published_at: str
    sealed: bytes
    link: bytes = b""

    @property
    def beside(self) -> bytes:
        """What the seal covers without hiding it."""
        open_texts = (self.history, self.definition, self.published_at)
        return self.digest + b"".join(
            len(text.encode()).to_bytes(8, "big") + text.encode() for text in open_texts
        )


def open_store(
    target: str | os.PathLike[str],
    *,
    create: bool = True,
    timeout_s: float = 30.0,
    is_quick: bool = False,
) -> Database:
    """Open the database of a ledger, or make it.

    `is_quick` is for other tables than the ledger's: what is written last may be lost with the
    power, and in PostgreSQL its writers do not wait for those of the ledger.
    """
    text = os.fspath(target)
    if _is_postgres(text):
        from ckm.ledger.storage.postgres import Postgres

        return Postgres(text, timeout_s=timeout_s, create=create, is_quick=is_quick)
    if re.match(r"^[a-z][a-z0-9+]*://", text):
        raise LedgerError(
            Message("A ledger is a file or a database postgresql://…, nothing else."),
            hint=Message("for example ledger = 'ledger.db'"),
        )
    if (address := Address(text)).has_password and not Path(text).exists():
        raise LedgerError(
            Message("The address {address!r} is none of a ledger.", address=address),
            hint=Message(
                "a ledger is a file, or postgresql://host/database with the password in "
                "~/.pgpass or PGPASSWORD"
            ),
        )
    return _Sqlite(Path(text), timeout_s, create=create, is_quick=is_quick)


def has_ledger(target: str | os.PathLike[str]) -> bool:
    """Tell whether a ledger is there, whatever its state; nothing is made."""
    text = os.fspath(target)
    if not _is_postgres(text):
        return Path(text).exists()
    from ckm.ledger.storage.postgres import Postgres

    with contextlib.closing(Postgres(text)) as store:
        return store.is_made


def _is_postgres(target: str) -> bool:
    return re.match(r"^postgres(ql)?://", target) is not None


class Database:
    """A ledger's database: one connection, one lock; one transaction writes at a time."""

    _mark = "?"
    _number = "INTEGER PRIMARY KEY"
    _bytes = "BLOB"
    _errors: tuple[type[BaseException], ...] = (sqlite3.Error,)
    _connection: Any

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def make_table(self, name: str, columns: str, *, index: str) -> None:
        """Make a table beside those of the ledger, unless it is there."""
        try:
            self.fetch(f"SELECT 1 FROM {name} LIMIT 1")  # noqa: S608
        except LedgerError:
            with self.writing():
                self.run(f"CREATE TABLE IF NOT EXISTS {name} ({columns})")
                self.run(f"CREATE INDEX IF NOT EXISTS {name}_{index} ON {name} ({index})")

    def settings(self) -> dict[str, str]:
        """Return the settings written when the ledger was made; none in a new one."""
        return dict(self.fetch("SELECT name, content FROM ckm_ledger"))

    def write_settings(self, settings: dict[str, str]) -> None:
        """Write settings, in the place of older ones of these names."""
        for item in settings.items():
            self.run(
                "INSERT INTO ckm_ledger (name, content) VALUES (?, ?) "
                "ON CONFLICT (name) DO UPDATE SET content = excluded.content",
                item,
            )

    def insert(self, row: Row) -> None:
        """Write an entry."""
        fields = (row.history, row.digest, row.definition, row.published_at)
        values = (row.number, *fields, row.sealed, row.link)
        marks = ", ".join("?" * len(values))
        self.run(
            f"INSERT INTO ckm_ledger_entry (number, {_COLUMNS}) VALUES ({marks})",  # noqa: S608
            values,
        )

    def rows(
        self, *, after: int = 0, number: int | None = None, is_open: bool = False
    ) -> Iterator[Row]:
        """Yield entries in order: later ones, or one; `is_open` leaves what is sealed out."""
        where, value = ("number = ?", number) if number is not None else ("number > ?", after)
        numbers = self.fetch(
            f"SELECT number FROM ckm_ledger_entry WHERE {where} ORDER BY number",  # noqa: S608
            (value,),
        )
        columns = _OPEN_COLUMNS if is_open else _COLUMNS
        for (one,) in numbers:  # one after the other: entries may be large
            lines = self.fetch(
                f"SELECT {columns} FROM ckm_ledger_entry WHERE number = ?",  # noqa: S608
                (one,),
            )
            for history, digest, definition, published_at, sealed, link in lines:
                yield Row(
                    number=one,
                    history=history,
                    digest=bytes(digest),
                    definition=definition,
                    published_at=published_at,
                    sealed=bytes(sealed or b""),
                    link=bytes(link or b""),
                )

    def has(self, history: str, digest: bytes) -> bool:
        """Whether a history has an entry of this definition."""
        return bool(self.numbers(history, digest))

    def numbers(self, history: str, digest: bytes) -> tuple[int, ...]:
        """Return the numbers of a history's entries of this definition, in order."""
        sql = "SELECT number FROM ckm_ledger_entry WHERE history = ? AND digest = ?"
        lines = self.fetch(f"{sql} ORDER BY number", (history, digest))
        return tuple(int(number) for (number,) in lines)

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._connection.close()

    def _make(self) -> None:
        self.run(_META)
        self.run(_ENTRIES.format(number=self._number, bytes=self._bytes))
        self.run(_LOOKUP)

    def run(self, sql: str, values: Sequence[object] = ()) -> Any:
        """Run a statement, its values marked by ``?``."""
        with self._lock, self._explained():
            return self._connection.execute(sql.replace("?", self._mark), tuple(values))

    def fetch(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        """Run a statement and return its rows."""
        with self._lock, self._explained():
            return list(self.run(sql, values).fetchall())

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn errors of the database, whose texts may quote rows, into ours."""
        try:
            yield
        except self._errors as error:
            raise self._explain(error) from None

    def _explain(self, error: BaseException) -> LedgerError:
        raise NotImplementedError

    def _begin(self) -> None:
        raise NotImplementedError

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Let nobody else write; commit at the end, or take everything back."""
        with self._lock:
            self._begin()
            try:
                yield
                self.run("COMMIT")
            except BaseException:
                with contextlib.suppress(LedgerError):
                    self.run("ROLLBACK")
                raise


class SqliteDatabase(Database):
    """A database in a file, or in memory; one that is replaced is not written any more."""

    def __init__(self, path: Path | None, timeout_s: float) -> None:
        super().__init__()
        self._path, self._timeout_s = path, timeout_s
        self._name = "" if path is None else path.name
        with self._explained():
            self._connection = sqlite3.connect(
                path or ":memory:",
                timeout=timeout_s,
                isolation_level=None,
                check_same_thread=False,
            )
        self._inode = None if path is None else path.stat().st_ino

    def _begin(self) -> None:
        if self._path is not None and (
            not self._path.exists() or self._path.stat().st_ino != self._inode
        ):
            raise LedgerError(
                Message(
                    "The file {name!r} was replaced or deleted while it was in use.",
                    name=Name(self._name),
                ),
                hint=Message("put it back and start again; nothing was published"),
            )
        self.run("BEGIN IMMEDIATE")

    def _explain(self, error: BaseException) -> LedgerError:
        code = getattr(error, "sqlite_errorname", "") or ""
        if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return LedgerError(
                Message(
                    "The ledger {name!r} is busy: another program has been writing for "
                    "{timeout:g} seconds.",
                    name=Name(self._name),
                    timeout=self._timeout_s,
                ),
                hint=Message("try again; nothing was published"),
            )
        what = {
            "SQLITE_NOTADB": Message("is not a ledger"),
            "SQLITE_CORRUPT": Message("is damaged"),
            "SQLITE_FULL": Message("cannot be written: the disk is full"),
            "SQLITE_READONLY": Message("cannot be written: it is read-only"),
            "SQLITE_CANTOPEN": Message("cannot be opened"),
            "SQLITE_PERM": Message("cannot be opened: permission denied"),
        }.get(
            "_".join(code.split("_")[:2]),
            Message(
                "cannot be used ({code})", code=Name(code) if code else Message("unknown error")
            ),
        )
        return LedgerError(
            Message("The ledger {name!r} {what}.", name=Name(self._name), what=what),
            hint=Message("nothing was published; look at the file"),
        )


def copy_store(
    target: str | os.PathLike[str], output: Path, *, overwrite: bool = False
) -> None:
    """Copy the database of a ledger as it is at one moment, while programs write to it."""
    if _is_postgres(os.fspath(target)):
        raise LedgerError(
            Message("A ledger in PostgreSQL is copied by the tools of the database."),
            hint=Message("pg_dump --table='ckm_ledger*' writes it, psql reads it back"),
        )
    if output.exists() and output.samefile(target):
        raise LedgerError(
            Message("A ledger cannot be copied onto itself."), hint=Message("name another file")
        )
    with (
        contextlib.closing(open_store(target, create=False)),  # it is a ledger, and private
        new_file(output, error=LedgerError, overwrite=overwrite) as draft,
        contextlib.closing(sqlite3.connect(target)) as source,
        contextlib.closing(sqlite3.connect(draft)) as copy,
    ):
        source.backup(copy, pages=4096)
        copy.execute("PRAGMA journal_mode = DELETE")  # one file, with nothing beside it


class _Sqlite(SqliteDatabase):
    def __init__(self, path: Path, timeout_s: float, *, create: bool, is_quick: bool) -> None:
        if not path.parent.is_dir():
            raise LedgerError(
                Message(
                    "The ledger {path!r} cannot be made: its folder does not exist.",
                    path=Name(path.name),
                ),
                hint=Message("make the folder, or choose another"),
            )
        if not create and not path.exists():
            raise LedgerError(
                Message("There is no ledger {path!r}.", path=Name(path.name)),
                hint=Message("look at the name and the folder"),
            )
        refuse_dangling(path, error=LedgerError)
        try:
            make_private(path)
        except OSError as error:
            raise LedgerError(
                Message(
                    "The ledger {path!r} cannot be opened: {reason}.",
                    path=Name(path.name),
                    reason=said(error.strerror or ""),
                ),
                hint=Message("look at the file's permissions"),
            ) from None
        super().__init__(path, timeout_s)
        try:
            self._require_ledger()
            require_private(path, "ledger", error=LedgerError)
            self._prepare(is_quick=is_quick)
        except BaseException:
            self._connection.close()
            raise

    def _prepare(self, *, is_quick: bool) -> None:
        self.run("PRAGMA journal_mode = WAL")
        self.run(f"PRAGMA synchronous = {'NORMAL' if is_quick else 'FULL'}")
        self.run("PRAGMA secure_delete = ON")
        if self._is_made():  # whoever only looks at a ledger leaves every byte as it is
            return
        with self.writing():
            self._require_ledger()
            self._make()
            self.run(f"PRAGMA application_id = {_APPLICATION}")

    def _is_made(self) -> bool:
        names = {name for (name,) in self.fetch("SELECT name FROM sqlite_master")}
        (application,) = self.fetch("PRAGMA application_id")[0]
        return application == _APPLICATION and names >= _MADE

    def _require_ledger(self) -> None:
        (application,) = self.fetch("PRAGMA application_id")[0]
        has_tables = self.fetch("SELECT 1 FROM sqlite_master LIMIT 1")
        if application != _APPLICATION and (application or has_tables):
            raise LedgerError(
                Message(
                    "The file {name!r} is a database, but no ledger.", name=Name(self._name)
                ),
                hint=Message("choose another name; the file was left as it is"),
            )


def make_private(path: Path) -> None:
    """Make a file before SQLite does, so that nobody else can ever read it.

    One that is there is not touched: to close it would take away the locks of this process.
    """
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
