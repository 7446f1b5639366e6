"""Which filtered sets each project got, for as long as the file is kept. It holds no count."""

from __future__ import annotations

import logging
import sqlite3
import threading
from typing import TYPE_CHECKING

from ckm.service.access.sqlite_file import SqliteFile
from ckm.service.answering.filtered_sets import FilteredSet
from ckm.service.answering.messages import ClientError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    Judge = Callable[
        [Sequence[FilteredSet], Sequence[FilteredSet]], Sequence[FilteredSet] | None
    ]

logger = logging.getLogger(__name__)

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
        run = self._connection.execute
        try:
            with self._lock:
                known = self._known(project)
                if all(one in known for one in asked):
                    return True
                run("BEGIN IMMEDIATE")
                try:
                    if self._path.stat().st_ino != self._inode:  # workers would not share it
                        raise sqlite3.OperationalError("replaced")
                    new = judge(self._known(project), asked)
                    for one in new or ():
                        run(
                            "INSERT INTO asked (project, told) VALUES (?, ?)",
                            (project, one.to_text()),
                        )
                    run("COMMIT")
                finally:
                    if self._connection.in_transaction:
                        self._connection.rollback()
        except (sqlite3.Error, OSError) as error:
            logger.error("projects failed", extra={"error": type(error).__name__})  # noqa: TRY400
            raise ClientError("busy") from None
        return new is not None

    def _known(self, project: str) -> list[FilteredSet]:
        rows = self._connection.execute(
            "SELECT told FROM asked WHERE project = ? ORDER BY number", (project,)
        )
        return [FilteredSet.of_text(told) for (told,) in rows]

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def __repr__(self) -> str:
        return "Projects(…)"
