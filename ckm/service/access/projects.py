"""Which filtered sets each project got, for as long as the file is kept. It holds no count."""

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path

from ckm.ledger import LedgerError
from ckm.ledger.storage.store import Database
from ckm.service.access.sqlite_file import SqliteFile, busy_without
from ckm.service.answering.filtered_sets import FilteredSet
from ckm.service.answering.messages import ClientError

Judge = Callable[[Sequence[FilteredSet], Sequence[FilteredSet]], Sequence[FilteredSet] | None]

_TIMES = 100  # so often others of the project may be faster

_PROJECTS = SqliteFile(
    name="projects",
    application=0x434B4D50,
    table="ckm_asked",
    columns="project TEXT NOT NULL, number BIGINT PRIMARY KEY, told TEXT NOT NULL",
    index="project",
    cure="take it from a backup: without it every project could ask for everything again",
    wait_s=10,
    is_durable=True,
)


class Projects:
    """Keeps account of filtered sets, project by project.

    Parameters
    ----------
    place
        The file, or the database of the ledger.
    service
        Whose projects they are, where several services share the database.
    """

    def __init__(self, place: Path | Database, *, service: str = "") -> None:
        self._database = _PROJECTS.open(place)
        self._service = service
        if isinstance(place, Path):  # what an earlier version wrote
            with contextlib.suppress(LedgerError):
                self._database.run(
                    "INSERT INTO ckm_asked (project, number, told) "
                    "SELECT project, number, told FROM asked WHERE true ON CONFLICT DO NOTHING"
                )

    @busy_without("projects")
    def take(self, project: str, sets: Sequence[FilteredSet], *, judge: Judge) -> bool:
        """Write down what a project asks for, and tell whether it may have it.

        What it has already it may have again, whatever else it got.

        Parameters
        ----------
        project
            The project.
        sets
            The filtered sets.
        judge
            Returns which sets are new, beside those that the project has; None if it may not
            have them.

        Raises
        ------
        ClientError
            If the file cannot be read or written; then there is no answer.
        """
        project = f"{self._service} {project}" if self._service else project
        for _ in range(_TIMES):
            earlier, last = self._known(project)
            if all(one in earlier for one in sets):
                return True
            new = judge(earlier, sets)  # it may take seconds: others need not wait for it
            if new is None:
                return False
            if self._write_if_unchanged(project, new, last=last):
                return True
        raise ClientError("busy")

    def _known(self, project: str) -> tuple[list[FilteredSet], int]:
        """Return what a project has, and the last number of it."""
        rows = self._database.fetch(
            "SELECT told, number FROM ckm_asked WHERE project = ? ORDER BY number", (project,)
        )
        return [FilteredSet.of_text(text) for text, _ in rows], rows[-1][1] if rows else 0

    def _write_if_unchanged(
        self, project: str, new: Sequence[FilteredSet], *, last: int
    ) -> bool:
        """Write sets down, unless the project has got others since it was looked at."""
        fetch, run = self._database.fetch, self._database.run
        with self._database.writing():
            ((now,),) = fetch(
                "SELECT coalesce(max(number), 0) FROM ckm_asked WHERE project = ?", (project,)
            )
            ((end,),) = fetch("SELECT coalesce(max(number), 0) FROM ckm_asked")
            if now == last:
                for number, one in enumerate(new, start=end + 1):
                    run(
                        "INSERT INTO ckm_asked (project, number, told) VALUES (?, ?, ?)",
                        (project, number, one.to_text()),
                    )
        return bool(now == last)

    def close(self) -> None:
        """Close the file."""
        self._database.close()
