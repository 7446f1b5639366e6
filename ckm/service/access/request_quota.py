"""The file of budgets: a small SQLite database for its owner, shared by processes."""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING

from ckm.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

_OURS = 0x434B4D42  # so that no other database is taken for one of budgets
_MAX_ROWS = 200_000
_WAIT_S = 0.5
_SCHEMA = """
CREATE TABLE IF NOT EXISTS used (
  caller TEXT NOT NULL, "window" TEXT NOT NULL, until REAL NOT NULL, used INTEGER NOT NULL,
  PRIMARY KEY (caller, "window")
) WITHOUT ROWID
"""


def open_budgets(path: Path | None) -> sqlite3.Connection:
    """Open the file, and make it where there is none."""
    try:
        if path is not None:  # made here, so that nobody else can read it for a moment
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        return _opened(":memory:" if path is None else str(path))
    except OSError as error:
        raise ConfigError(
            f"The file of budgets {path and path.name!r} cannot be written: {error.strerror}.",
            hint="budgets in [access] names a file in a folder that the service may write",
        ) from None
    except sqlite3.OperationalError:
        raise ConfigError(
            f"The file of budgets {path and path.name!r} cannot be written.",
            hint="it needs a local disk, and a folder that the service may write",
        ) from None
    except sqlite3.DatabaseError:
        raise ConfigError(
            f"The file of budgets {path and path.name!r} is damaged, or no file of budgets.",
            hint="remove it: all budgets then begin anew; or name another",
        ) from None


def _opened(name: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        name, timeout=10 * _WAIT_S, isolation_level=None, check_same_thread=False
    )
    try:
        run = connection.execute
        (owner,) = run("PRAGMA application_id").fetchone()
        (tables,) = run("SELECT count(*) FROM sqlite_master").fetchone()
        if owner != _OURS and tables:
            raise sqlite3.DatabaseError  # noqa: TRY301
        if run("PRAGMA quick_check(1)").fetchone() != ("ok",):
            raise sqlite3.DatabaseError  # noqa: TRY301
        if owner != _OURS:
            run(f"PRAGMA application_id = {_OURS}")
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = NORMAL")
        run(_SCHEMA)
        run("CREATE INDEX IF NOT EXISTS used_until ON used (until)")
        run(f"PRAGMA busy_timeout = {int(1000 * _WAIT_S)}")
    except BaseException:
        connection.close()
        raise
    return connection


def prune(connection: sqlite3.Connection, now: float) -> None:
    """Forget windows that are over; of too many callers, those who asked least."""
    connection.execute("DELETE FROM used WHERE until <= ?", (now,))
    (rows,) = connection.execute("SELECT count(*) FROM used").fetchone()
    if rows > _MAX_ROWS:
        connection.execute(
            'DELETE FROM used WHERE (caller, "window") IN'
            ' (SELECT caller, "window" FROM used ORDER BY used, until LIMIT ?)',
            (rows - _MAX_ROWS // 2,),
        )
