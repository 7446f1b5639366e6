"""A file of finished runs: a line each, whole or not there."""

import errno
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from footing.files import open_own
from footing.messages import Message, Name
from footing.serialisation import json_line, plain
from synth.errors import EvaluationError

_FORMAT = "ckm-synth-sweep"


class Journal:
    """Remember finished runs.

    Parameters
    ----------
    path
        The file; None remembers nothing.
    settings
        What the runs have in common. A file with other settings is refused.
    """

    def __init__(
        self, path: str | os.PathLike[str] | None, *, settings: Mapping[str, Any]
    ) -> None:
        self._path = None if path is None else Path(path)
        self._known: dict[tuple[str, int], dict[str, float | None]] = {}
        if self._path is None:
            return
        head = {"format": _FORMAT, **settings}
        if self._path.exists() and self._path.stat().st_size:
            self._read(head)
        else:
            self.add(head)

    def find(self, name: str, fold: int) -> dict[str, float | None] | None:
        """Give the figures of a finished run; None where there is none."""
        return self._known.get((name, fold))

    def add(self, record: Mapping[str, Any]) -> None:
        """Write a line, and wait until it is on the disk."""
        if self._path is None:
            return
        line = json_line(record) + "\n"
        file = open_own(self._path, os.O_APPEND, error=EvaluationError)
        try:
            size = os.fstat(file).st_size
            if os.write(file, line.encode("ascii")) < len(line):  # the disk is full
                os.ftruncate(file, size)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.fspath(self._path))
            os.fsync(file)
        finally:
            os.close(file)

    def _read(self, head: Mapping[str, Any]) -> None:
        path = self._path or Path()
        text = path.read_bytes()
        whole, newline, torn = text.rpartition(b"\n")
        if torn:
            # A run that was being written when the machine stopped did not finish.
            with path.open("r+b") as file:
                file.truncate(len(whole) + len(newline))
        try:
            first, *lines = [json.loads(line) for line in whole.splitlines()]
            runs = {
                (line["name"], line["fold"]): dict(line["figures"])
                for line in lines
                if not line["error"]
            }
        except (ValueError, KeyError, TypeError) as error:
            raise EvaluationError(
                Message("The file '{path}' is no record of a sweep.", path=Name(path.name)),
                hint=Message("take another name, or remove the file"),
            ) from error
        if first != plain(head):
            raise EvaluationError(
                Message(
                    "The file '{path}' belongs to a sweep with other records or settings.",
                    path=Name(path.name),
                ),
                hint=Message("take another name, or the settings of that sweep"),
            )
        self._known = runs
