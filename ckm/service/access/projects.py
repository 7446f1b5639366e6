"""Which filtered sets each project got, for as long as the file is kept. It holds no count."""

import logging
import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from ckm.service.access.sqlite_file import SqliteFile
from ckm.service.answering.filtered_sets import FilteredSet
from ckm.service.answering.messages import ClientError

Judge = Callable[[Sequence[FilteredSet], Sequence[FilteredSet]], Sequence[FilteredSet] | None]

logger = logging.getLogger(__name__)

_TIMES = 100  # so often others of the project may be faster

_PROJECTS = SqliteFile(
    name="projects",
    application=0x434B4D50,
    schema="""
CREATE TABLE IF NOT EXISTS asked (
  project TEXT NOT NULL, number INTEGER PRIMARY KEY, told TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS asked_project ON asked (project);
""",
    cure="take it from a backup: without it every project could ask for everything again",
    wait_s=10,
    is_durable=True,
)


class Projects:
    """Keeps account of filtered sets, project by project.

    Parameters
    ----------
    path
        The file.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._connection = path, _PROJECTS.open(path)
        self._inode = path.stat().st_ino
        self._lock = threading.Lock()

    def take(self, project: str, asked: Sequence[FilteredSet], *, judge: Judge) -> bool:
        """Write down what a project asks for, and tell whether it may have it.

        What it has already it may have again, whatever else it got.

        Parameters
        ----------
        project
            The project.
        asked
            The filtered sets.
        judge
            Returns which sets are new, beside those that the project has; None if it may not
            have them.

        Raises
        ------
        ClientError
            If the file cannot be read or written; then there is no answer.
        """
        try:
            for _ in range(_TIMES):
                with self._lock:
                    known, last = self._known(project)
                if all(one in known for one in asked):
                    return True
                new = judge(known, asked)  # it may take seconds: others need not wait for it
                if new is None:
                    return False
                with self._lock:
                    if self._write_if_unchanged(project, new, last=last):
                        return True
        except (sqlite3.Error, OSError) as error:
            logger.error("projects failed", extra={"error": type(error).__name__})  # noqa: TRY400
        raise ClientError("busy") from None

    def _known(self, project: str) -> tuple[list[FilteredSet], int]:
        """Return what a project has, and the last number of it."""
        rows = self._connection.execute(
            "SELECT told, number FROM asked WHERE project = ? ORDER BY number", (project,)
        ).fetchall()
        return [FilteredSet.of_text(told) for told, _ in rows], rows[-1][1] if rows else 0

    def _write_if_unchanged(
        self, project: str, new: Sequence[FilteredSet], *, last: int
    ) -> bool:
        """Write sets down, unless the project has got others since it was looked at."""
        run = self._connection.execute
        run("BEGIN IMMEDIATE")
        try:
            if self._path.stat().st_ino != self._inode:  # workers would not share it
                raise sqlite3.OperationalError("replaced")
            (now,) = run(
                "SELECT coalesce(max(number), 0) FROM asked WHERE project = ?", (project,)
            ).fetchone()
            if now == last:
                for one in new:
                    run(
                        "INSERT INTO asked (project, told) VALUES (?, ?)",
                        (project, one.to_text()),
                    )
            run("COMMIT")
        finally:
            if self._connection.in_transaction:
                self._connection.rollback()
        return bool(now == last)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def __repr__(self) -> str:
        return "Projects(…)"
