"""What this version reads otherwise than the last one in an office's folder."""

from __future__ import annotations

import contextlib
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from footing.errors import ExplainedError
from footing.messages import Message, Name
from footing.places import list_files
from ptable.files import is_table
from tables.source.earlier_csv import renamed_columns
from tables.source.spill import SpillFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ckm.config import Job

_HIDDEN = "."
_MANIFEST = "manifest.json"
_MOST_BYTES = 100_000_000
#: What is said where nothing is otherwise; else each text, and what to do.
_Answer: TypeAlias = tuple[str, list[tuple[str, str]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeFinding:
    """What this version makes of one file.

    Parameters
    ----------
    path
        The file, from the folder on.
    state
        ``"same"``, ``"otherwise"`` where it is read, and numbers or labels can change, or
        ``"refused"``.
    text
        What is to be known.
    hint
        What to do; empty for nothing.
    """

    path: Path
    state: Literal["same", "otherwise", "refused"]
    text: str
    hint: str = ""


def compare_with_last_version(folder: Path) -> Iterator[UpgradeFinding]:
    """Read the p-tables and jobs of a folder, and tell what is otherwise; write nothing.

    Of a job, that is: its keys and values; the ledger that it goes on with, of which a copy is
    opened; and the columns of its CSV whose categories 0.1.0 printed otherwise.

    Parameters
    ----------
    folder
        The folder; those in it are looked at as well.
    """
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if any(part.startswith(_HIDDEN) for part in name.parts) or not path.is_file():
            continue
        if (path.parent / _MANIFEST).is_file():  # of a release: a copy for the record
            continue
        look = _look_at(path)
        if look is None:
            continue
        try:
            same, others = look(path)
        except ExplainedError as error:
            yield UpgradeFinding(
                path=name, state="refused", text=error.problem, hint=error.hint or ""
            )
            continue
        if not others:
            yield UpgradeFinding(path=name, state="same", text=same)
        for text, hint in others:
            yield UpgradeFinding(path=name, state="otherwise", text=text, hint=hint)


def _look_at(path: Path) -> Callable[[Path], _Answer] | None:
    """Return what looks at a file; None for what is none of ours."""
    if path.suffix == ".toml":
        from ckm.config.read import keys_in, kind_of

        return _job if {"data", "table"} <= keys_in(path) and kind_of(path) == "job" else None
    if path.suffix == ".json" and path.stat().st_size >= _MOST_BYTES:
        return None
    return _table if is_table(path) else None


def _table(path: Path) -> _Answer:
    from ptable import PTable

    table = PTable.read(path)
    return Message("p-table {id}, the same noise as before", id=Name(table.id[:12])), []


def _job(path: Path) -> _Answer:
    from ckm.config import read_job

    job = read_job(path)
    others = [*_otherwise_in_ledger(job), *_otherwise_in_csv(job)]
    return Message("a job that this version reads as before"), others


def _otherwise_in_ledger(job: Job) -> Iterator[tuple[str, str]]:
    """Tell whether a job's ledger holds another noise than the one that this job makes."""
    from ckm.ledger import Ledger, LedgerError
    from ckm.release.job_inputs import load_ptable, load_secret, noise_label

    if job.ledger is None or job.ptable is None or job.keys.version == 1:
        return
    target = Path(str(job.ledger.target))
    secret = load_secret(job)
    if secret is None or not target.is_file():
        return
    earlier = job.model_copy(update={"keys": job.keys.model_copy(update={"version": 1})})
    ptable = load_ptable(job)
    with contextlib.ExitStack() as stack:
        folder = SpillFolder()
        stack.callback(folder.remove)

        copy = folder.path / "ledger"
        shutil.copyfile(target, copy)
        copy.chmod(0o600)

        def problem(one: Job) -> LedgerError | None:
            try:
                with Ledger.open(copy, secret=secret, noise=noise_label(one, ptable)):
                    return None
            except LedgerError as error:
                return error

        if (error := problem(job)) is None:
            return
        if problem(earlier) is None:
            yield (
                Message("its ledger holds tables whose record keys have version 1"),
                Message("go on with [keys] version = 1; the noise of its tables stays"),
            )
        else:
            yield error.problem, error.hint or ""


def _otherwise_in_csv(job: Job) -> Iterator[tuple[str, str]]:
    """Name columns whose categories 0.1.0 printed after taking them for numbers."""
    for file in _csv_files(job):
        off = renamed_columns(file, _columns(job))
        if off:
            yield (
                Message(
                    "categories of {columns} are printed as the file has them; 0.1.0 took "
                    "them for numbers, and renamed or merged some",
                    columns=Name.each(off),
                ),
                Message("tell readers, or bring the labels of before by [[variable]] recode"),
            )


def _csv_files(job: Job) -> list[str]:
    path = job.data.path
    paths = [] if path is None else path if isinstance(path, list | tuple) else [path]
    files = [file for one in paths for file in list_files(str(one))]
    return [file for file in files if file.lower().endswith((".csv", ".csv.gz"))]


def _columns(job: Job) -> list[str]:
    """Return the columns that tables of a job have categories of."""
    names: list[str] = []
    for dimension in dict.fromkeys(d for table in job.table for d in table.dimensions):
        nested = job.hierarchies.get(dimension)
        names += nested if isinstance(nested, list) else [dimension]
    return names
