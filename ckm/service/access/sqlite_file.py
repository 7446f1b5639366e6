"""A small SQLite file that all processes of a service share, for its owner's eyes."""

import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from ckm.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class SqliteFile:
    """A kind of file.

    Parameters
    ----------
    name
        What it holds, and its key in the section ``[access]``.
    application
        A number, so that no other database is taken for one of these.
    schema
        Statements that make it.
    cure
        What to do about a damaged one.
    wait_s
        How long a process waits for another.
    is_durable
        Whether what was written outlives a loss of power.
    """

    name: str
    application: int
    schema: str
    cure: str
    wait_s: float
    is_durable: bool = False

    def open(self, path: Path | None) -> sqlite3.Connection:
        """Open the file, and make it where there is none; memory without one."""
        called = f"The file of {self.name} {path and path.name!r}"
        try:
            if path is not None:  # made here, so that nobody else can read it for a moment
                os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            return self._opened(":memory:" if path is None else str(path))
        except OSError as error:
            raise ConfigError(
                f"{called} cannot be written: {error.strerror}.",
                hint=f"{self.name} in [access] names a file in a folder that the service may "
                "write",
            ) from None
        except sqlite3.OperationalError:
            raise ConfigError(
                f"{called} cannot be written.",
                hint="it needs a local disk, and a folder that the service may write",
            ) from None
        except sqlite3.DatabaseError:
            raise ConfigError(
                f"{called} is damaged, or no file of {self.name}.", hint=self.cure
            ) from None

    def _opened(self, name: str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            name, timeout=max(5, self.wait_s), isolation_level=None, check_same_thread=False
        )
        try:
            run = connection.execute
            (owner,) = run("PRAGMA application_id").fetchone()
            (tables,) = run("SELECT count(*) FROM sqlite_master").fetchone()
            if owner != self.application and tables:
                raise sqlite3.DatabaseError  # noqa: TRY301
            if run("PRAGMA quick_check(1)").fetchone() != ("ok",):
                raise sqlite3.DatabaseError  # noqa: TRY301
            if owner != self.application:
                run(f"PRAGMA application_id = {self.application}")
            run("PRAGMA journal_mode = WAL")
            run(f"PRAGMA synchronous = {'FULL' if self.is_durable else 'NORMAL'}")
            connection.executescript(self.schema)
            run(f"PRAGMA busy_timeout = {int(1000 * self.wait_s)}")
        except BaseException:
            connection.close()
            raise
        return connection
