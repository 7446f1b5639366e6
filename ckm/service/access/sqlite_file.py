"""A small SQLite file that all processes of a service share, for its owner's eyes."""

import contextlib
import logging
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ckm.errors import ConfigError
from ckm.ledger import LedgerError
from ckm.ledger.storage.store import Database, SqliteDatabase, make_private
from ckm.service.answering.messages import ClientError
from footing.messages import Message, Name

logger = logging.getLogger(__name__)


@contextlib.contextmanager
def busy_without(what: str) -> Iterator[None]:
    """Answer nothing where something cannot be read or written."""
    try:
        yield
    except LedgerError as error:
        logger.error("%s failed", what, extra={"error": error.problem})  # noqa: TRY400
        raise ClientError("busy") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class SqliteFile:
    """A kind of file.

    Parameters
    ----------
    name
        What it holds, and its key in the section ``[access]``.
    application
        A number, so that no other database is taken for one of these.
    table, columns, index
        Its table, in a ledger's database too; the index is on one column.
    cure
        What to do about a damaged one.
    wait_s
        How long a process waits for another.
    is_durable
        Whether what was written outlives a loss of power.
    """

    name: str
    application: int
    table: str
    columns: str
    index: str
    cure: str
    wait_s: float
    is_durable: bool = False

    def open(self, place: Path | Database | None) -> Database:
        """Open the file, and make it where there is none; memory without one.

        In the database of a ledger its tables are made.
        """
        if isinstance(place, Database):
            place.make_table(self.table, self.columns, index=self.index)
            return place
        try:
            if place is not None:
                make_private(place)
            database = SqliteDatabase(place, max(5, self.wait_s))
            try:
                self._prepare(database)
            except BaseException:
                database.close()
                raise
        except (OSError, LedgerError) as error:
            raise self._explained(error, "" if place is None else place.name) from None
        return database

    def _explained(self, error: OSError | LedgerError, name: str) -> ConfigError:
        called = Message(
            "The file of {name} {name_2!r}", name=Name(self.name), name_2=Name(name)
        )
        if isinstance(error, OSError) or isinstance(
            error.__context__, sqlite3.OperationalError
        ):
            return ConfigError(
                Message("{called} cannot be written.", called=called),
                hint=Message("it needs a local disk, and a folder that the service may write"),
            )
        return ConfigError(
            Message(
                "{called} is damaged, or no file of {name}.",
                called=called,
                name=Name(self.name),
            ),
            hint=self.cure,
        )

    def _prepare(self, database: Database) -> None:
        ((owner,),) = database.fetch("PRAGMA application_id")
        ((tables,),) = database.fetch("SELECT count(*) FROM sqlite_master")
        is_whole = database.fetch("PRAGMA quick_check(1)") == [("ok",)]
        if (owner != self.application and tables) or not is_whole:
            raise LedgerError(Message("The file is another one, or damaged."))
        database.run(f"PRAGMA application_id = {self.application}")
        database.run("PRAGMA journal_mode = WAL")
        database.run(f"PRAGMA synchronous = {'FULL' if self.is_durable else 'NORMAL'}")
        database.make_table(self.table, self.columns, index=self.index)
        database.run(f"PRAGMA busy_timeout = {int(1000 * self.wait_s)}")
