"""A pattern that another program chose: which cells it hides, and how far that protects."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ckm.errors import ConfigError
from ckm.methods.suppression.a_priori.cell_names import CellNames
from ckm.methods.suppression.argus.metadata import read_text
from ckm.methods.suppression.argus.write import argus_codes
from ckm.methods.suppression.cell_selection import HiddenCells, choose_hidden
from ckm.methods.suppression.original_cells import open_originals
from footing.messages import Message, Name

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ckm.config.job.job import Job
    from footing.arrays import Flags
    from footing.progress import Progress

#: Of tau-ARGUS' intermediate and SBS files, and of sdcTable.
_HIDDEN, _SHOWN = set("UMABCDFX"), set("SPVZE")
_MAX_NAMED, _UNKNOWN = 5, -1


def choice_of_pattern(job: Job, path: Path, *, progress: Progress | None = None) -> HiddenCells:
    """Return what another program chose for the one table of a job, ready to be audited."""
    if job.suppression is None or len(job.tables) != 1:
        raise ConfigError(
            Message(
                "The job {path!r} has {number} tables, or no [suppression].",
                path=Name(job.path.name),
                number=len(job.tables),
            ),
            hint=Message(
                "a pattern is audited for a job of one table, with the rules of [suppression]"
            ),
        )
    with open_originals(job) as originals:
        tables = originals.cells(progress=progress)
        ((name, cells),) = tables.items()
        names = CellNames(cells, job.tables[name].dimensions)
        pattern = hidden_cells(path, names, len(cells))
        finest = originals.finest()
        return choose_hidden(
            tables,
            originals.known(job.tables),
            rules=replace(job.suppression.settings, public_counts=job.report.has_public_counts),
            groups=originals.groups() if finest is None else (),
            whole=originals.whole(),
            finest=finest,
            pattern=[pattern],
            progress=progress,
        )


def hidden_cells(path: Path, names: CellNames, n_cells: int) -> Flags:
    """Read which cells of a table are hidden: codes, then a status, with a header or without.

    The status is a letter, or a number of tau-ARGUS right after the value.
    """
    text, k = read_text(path), len(names.dimensions)
    # as `argus_files` writes codes: whole paths, or without dots
    written = [{c: rank for rank, c in enumerate(argus_codes(a)[0])} for a in names.axes]
    mark = max(",;\t|", key=text.count)
    statuses, gone = np.full(n_cells, _UNKNOWN), []
    for number, row in enumerate(csv.reader(io.StringIO(text), delimiter=mark), start=1):
        fields = [field.strip() for field in row]
        is_hidden = _is_hidden(fields[k:])
        if is_hidden is None:
            if number == 1 or not any(fields):  # a header
                continue
            raise ConfigError(
                Message(
                    "Line {number} of {path!r} has no status that is known.",
                    number=number,
                    path=Name(path.name),
                )
            )
        cell = names.find(dict(zip(names.dimensions, fields, strict=False)))
        if cell is None:
            cell = names.at([own.get(code) for own, code in zip(written, fields, strict=False)])
        if cell is None:
            if is_hidden:
                gone.append(Message("line {number}", number=number))
        elif statuses[cell] not in {_UNKNOWN, is_hidden}:
            raise ConfigError(
                Message(
                    "Line {number} of {path!r} says another thing of a cell.",
                    number=number,
                    path=Name(path.name),
                )
            )
        else:
            statuses[cell] = is_hidden
    missing = int((statuses == _UNKNOWN).sum())
    if gone or missing:
        listing = Message(": {lines}", lines=gone[:_MAX_NAMED]) if gone else Message()
        raise ConfigError(
            Message(
                "{path!r} hides {number:,} cells that are not there{named}, and says "
                "nothing of {missing:,} that are.",
                path=Name(path.name),
                number=len(gone),
                named=listing,
                missing=missing,
            ),
            hint=Message(
                "codes are those of the job, in the order of the dimensions of its table"
            ),
        )
    return np.asarray(statuses == 1)


def _is_hidden(fields: Sequence[str]) -> bool | None:
    """Tell what a line says; None where it says nothing."""
    for field in fields:
        if field.upper() in _HIDDEN | _SHOWN:
            return field.upper() in _HIDDEN
    if len(fields) == 2 and fields[-1].isdigit() and 1 <= int(fields[-1]) <= 14:
        return 3 <= int(fields[-1]) <= 9 or int(fields[-1]) in {11, 12}
    return None
