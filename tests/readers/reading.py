"""Read tables back from every format, also from those that the engine only writes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import ckm.formats
from ckm.formats import FORMATS
from ckm.formats.registry import format_named, format_of
from tests.readers.csvw import read_csvw
from tests.readers.json_stat import read_json_stat
from tests.readers.px import read_px
from tests.readers.sdmx import read_sdmx_csv
from tests.readers.xlsx import read_xlsx

#: What is for people alone is not read back.
READ = tuple(name for name in FORMATS if name != "csv-labels")
_READERS = {
    "csvw": read_csvw,
    "json-stat2": read_json_stat,
    "px": read_px,
    "xlsx": read_xlsx,
    "sdmx-csv": read_sdmx_csv,
    "sdmx-csv-1": read_sdmx_csv,
}


def read_both(path, format=None):  # noqa: A002
    """Return the table and what is said about it, in all languages."""
    path = Path(path)
    name = (format_of(path) if format is None else format_named(format)).name
    if name == "csv" and format is None and Path(f"{path}-metadata.json").exists():
        name = "csvw"
    if name not in _READERS:
        formats = ckm.formats
        return formats.read_table(path, format=name), formats.read_about(path, format=name)
    table, about, *others = _READERS[name](path)
    return table, replace(about, translations=others[0]) if others else about


def read_table(path, *, format=None):  # noqa: A002
    return read_both(path, format)[0]


def read_about(path, *, format=None):  # noqa: A002
    return read_both(path, format)[1]
