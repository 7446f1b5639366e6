"""Records of SAS, SPSS, Stata, Excel or OpenDocument, for commands that read tables whole."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa

    from tables.source.source import Source

_ENDINGS = frozenset(
    {".sav", ".zsav", ".dta", ".sas7bdat", ".xpt", ".xlsx", ".xlsm", ".xls", ".xlsb", ".ods"}
)


def is_office(path: Path) -> bool:
    """Tell by its name whether a file is of a statistical program or a spreadsheet."""
    return path.suffix.lower() in _ENDINGS


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Source]:
    """Open such a file, whose records come in the order that they have there."""
    from tables import open_source

    with open_source(path, threads=1) as source:
        source.fetch("SET preserve_insertion_order=true")
        yield source


def office_table(path: Path) -> pa.Table:
    """Return the records of such a file, with codes as they are and missing ones as null."""
    with opened(path) as source:
        source.warn_of_copy()
        return source.arrow(f"FROM {source.records}")
