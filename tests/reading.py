"""Read tables back from every format, also from those that the engine only writes."""

from __future__ import annotations

from pathlib import Path

import ckm.formats
from ckm.errors import FormatError
from ckm.formats.registry import format_named, format_of
from tests.px_reader import read_px
from tests.sdmx_reader import read_sdmx_csv
from tests.xlsx_reader import read_xlsx

_READERS = {
    "px": read_px,
    "xlsx": read_xlsx,
    "sdmx-csv": read_sdmx_csv,
    "sdmx-csv-1": read_sdmx_csv,
}


def read_both(path, format=None):  # noqa: A002
    """Return the table and what is said about it."""
    path = Path(path)
    name = (format_of(path) if format is None else format_named(format)).name
    if name in _READERS:
        if not path.is_file():
            raise FormatError(f"There is no file {path.name!r}.", hint="check the folder")
        return _READERS[name](path)
    formats = ckm.formats
    return formats.read_table(path, format=format), formats.read_about(path, format=format)


def read_table(path, *, format=None):  # noqa: A002
    return read_both(path, format)[0]


def read_about(path, *, format=None):  # noqa: A002
    return read_both(path, format)[1]
