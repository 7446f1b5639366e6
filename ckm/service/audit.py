"""The audit log: who asked for what shape of table, what came of it, and no number of it."""

from __future__ import annotations

import datetime as dt
import json
import os
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from ckm.service.query import Query

__all__ = ["Audit", "shape_of"]


class Audit:
    """Appends one line of JSON per request to a file that only its owner can read.

    Parameters
    ----------
    path
        The file; None keeps no log.
    """

    def __init__(self, path: Path | None) -> None:
        self._lock = threading.Lock()
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        self._handle = None if path is None else os.open(path, flags, 0o600)

    def note(self, **fields: Any) -> None:
        """Write a line.

        Parameters
        ----------
        fields
            What is noted.
        """
        if self._handle is None:
            return
        moment = dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")
        line = json.dumps({"time": moment, **fields}) + "\n"
        with self._lock:  # one write, so that lines of several processes stay whole
            os.write(self._handle, line.encode())

    def close(self) -> None:
        """Close the file."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def __repr__(self) -> str:
        return "Audit(…)"


def shape_of(query: Query) -> dict[str, Any]:
    """Return what a query asks for, without its categories.

    Parameters
    ----------
    query
        The query.
    """
    return {
        "variables": {s.variable: len(s.ranks) for s in query.selections},
        "measures": list(query.measures),
        "where": query.where,
        "within": {s.variable: len(s.ranks) for s in query.within},
        "cells": query.cells,
    }
