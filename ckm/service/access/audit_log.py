"""The audit log: who asked for what shape of table, what came of it, and no number of it."""

import contextlib
import datetime as dt
import errno
import json
import logging
import os
import threading
from pathlib import Path
from typing import Any

from ckm.errors import ConfigError
from ckm.service.answering.messages import ClientError
from ckm.service.answering.query import Query
from footing.drafts import is_same_file
from footing.files import alone, open_own

logger = logging.getLogger(__name__)


class AuditLog:
    """Appends one line of JSON per request to a file that only its owner can read.

    A file that was moved away is begun anew, so that logs can be rotated.

    Parameters
    ----------
    path
        The file; None keeps no log.
    """

    def __init__(self, path: Path | None) -> None:
        self._lock = threading.Lock()
        self._path = path
        self._handle = None if path is None else _opened(path)

    def note(self, **fields: Any) -> None:
        """Write a line.

        Parameters
        ----------
        fields
            What is noted.

        Raises
        ------
        ClientError
            If it cannot be written whole; then there is no answer.
        """
        if self._path is None:
            return
        moment = dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")
        line = json.dumps({"time": moment, **fields}) + "\n"
        try:
            with self._lock:
                self._append(line.encode())
        except (OSError, ConfigError) as error:
            reason = error.strerror if isinstance(error, OSError) else "a symbolic link"
            logger.error("audit log failed", extra={"error": reason})  # noqa: TRY400
            raise ClientError("busy") from None

    def close(self) -> None:
        """Close the file."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _append(self, line: bytes) -> None:
        """Write a line that stands alone, whatever a full disk or a kill left before it."""
        assert self._path is not None  # noqa: S101
        if self._handle is None or not is_same_file(self._handle, self._path):
            self.close()
            self._handle = _opened(self._path)
        with alone(self._handle):
            size = os.fstat(self._handle).st_size
            if size and os.pread(self._handle, 1, size - 1) != b"\n":
                line = b"\n" + line
            n_bytes = 0
            try:
                n_bytes = os.write(self._handle, line)
            finally:
                if n_bytes < len(line):
                    with contextlib.suppress(OSError):
                        os.ftruncate(self._handle, size)
            if n_bytes < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _opened(path: Path) -> int:
    return open_own(path, os.O_APPEND, error=ConfigError)


def shape_of(query: Query) -> dict[str, Any]:
    """Return what a query asks for, without its categories."""
    return {
        "variables": {s.variable: len(s.ranks) for s in query.selections},
        "measures": list(query.measures),
        "population": query.population,
        "where": query.where,
        "within": {s.variable: len(s.ranks) for s in query.within},
        "cells": query.cells,
    }
