"""Tables that workers of Spark write on a store, and here what needs none of their cells."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

from ckm.assessment.facts import keeps_positive
from ckm.errors import ConfigError, InternalError
from ckm.methods.internal_files import write_ptable
from ckm.release.files.claim import written_folder
from ckm.release.job_inputs import load_secret
from ckm.release.pages.report_pages import LeakCheck
from footing.messages import Message, Name
from footing.serialisation import plain
from reports.facts.release import PublicFacts, StatedFile

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckm.config.job.job import Job
    from ckm.engine.published_table import PublishedTable
    from ckm.release.opening import OpenedMethod
    from ckm.release.run import ReleaseDraft
    from footing.places import FileState
    from footing.progress import Progress
    from reports.facts.release import FileFact

#: What a page would know of the release, which has none.
_NOTHING = PublicFacts(
    id="", title="", date="", contact="", version="", ptable_label="", checks={}, tables=()
)


class StoredTables:
    """Has workers write tables onto a store that were made on this machine.

    Parameters
    ----------
    opened
        The method with its data, whose workers write; what they wrote is noted there.
    folder
        The folder of the release on the store.
    is_kept
        False writes none.
    """

    def __init__(self, opened: OpenedMethod, folder: str, *, is_kept: bool) -> None:
        self._opened, self._folder, self._is_kept = opened, folder, is_kept

    def require_new(self) -> None:
        """Refuse a folder in which something lies, before any record is counted."""
        if self._opened.far_files(self._folder):
            raise written_folder(self._folder)

    def write(self, name: str, table: PublishedTable) -> None:
        """Write a table into a new folder."""
        place = f"{self._folder}/{name}"
        if self._is_kept:
            self._opened.written[place] = []  # perhaps not to its end
            self._opened.write_rows(table.plain_arrow(), place)
            self._opened.written[place] = stated_files(self._opened.far_files(place))


def stated_files(files: Mapping[str, FileState]) -> list[dict[str, Any]]:
    """Return what a manifest says of files on a store."""
    stated: list[dict[str, Any]] = plain([StatedFile.of(*file) for file in files.items()])
    return stated


def folder_of(job: Job, name: str) -> str:
    """Return the folder of a release on the store; a rehearsal has no name, and writes none."""
    return f"{job.output.place}/{name or '.check'}"


class DistributedTables:
    """Lets workers write the tables of a draft, and says what they are.

    Parameters
    ----------
    draft
        The draft, which holds none of the tables.
    opened
        The method with its engine, whose workers write; what they wrote is noted there.
    name
        The name of the folder of the release; a rehearsal has none.
    is_kept
        False lets workers make the tables and write none.
    progress
        Called with a stage, how much of it is done, and how much there is.
    """

    def __init__(
        self,
        draft: ReleaseDraft,
        session: OpenedMethod,
        *,
        name: str,
        is_kept: bool,
        progress: Progress,
    ) -> None:
        if session.noise is None:
            raise InternalError(Message("Workers write tables with noise alone."))
        self._draft, self._noise, self._written = draft, session.noise, session.written
        self._folder = folder_of(draft.job, name)
        self._is_kept, self._progress = is_kept, progress

    def write(self) -> None:
        """Write each table into a new folder; in a rehearsal workers only make them."""
        draft, engine = self._draft, self._noise.engine
        if engine.far_files(self._folder):
            raise written_folder(self._folder)
        for name, request in draft.job.tables.items():
            started, place = time.monotonic(), f"{self._folder}/{name}"
            if self._is_kept:
                self._written[place] = []  # perhaps not to its end
            target = place if self._is_kept else None
            rows = engine.write_distributed(request, target, progress=partial(self._tell, name))
            if self._is_kept:
                self._written[place] = stated_files(engine.far_files(place))
            if not rows:
                hint = Message("do its filter and its categories fit the data?")
                raise ConfigError(
                    Message("Table {name!r} has no cells.", name=Name(name)), hint=hint
                )
            seconds, columns = time.monotonic() - started, draft.files.rehearsal(name)
            draft.write_table(name, columns, rows=rows, seconds=seconds)

    def public_manifest(self, *, report: Sequence[FileFact]) -> dict[str, Any]:
        """Return what anybody may know, once nothing in it must stay inside."""
        job, ptable = self._draft.job, self._noise.ptable
        is_positive = keeps_positive(ptable.transition.tolist())
        manifest = self._draft.public_manifest(
            "positive" if is_positive else "noise", report=report
        )
        hidden = [str(job.path.parent), ptable.id]
        leaks = LeakCheck(_NOTHING, hidden=hidden, secret=load_secret(job))
        leaks.require_clean(manifest, what=Message("the public manifest"))
        return manifest

    def record(self) -> dict[str, Any]:
        """Write the p-table, and return what the internal manifest says of it."""
        path = self._draft.internal / "pt.parquet"
        return {"ptable": write_ptable(path, self._noise.ptable)}

    def _tell(self, name: str, _stage: str, done: int, total: int) -> None:
        self._progress(Message("table {name}", name=Name(name)), done, total)
