"""The names of the file formats, for who needs no more of them: `ckm.formats` writes them."""

from __future__ import annotations

__all__ = ["FORMAT_NAMES"]

#: In the order of `ckm.formats.FORMATS`.
FORMAT_NAMES = (
    "csv",
    "parquet",
    "xlsx",
    "json-stat2",
    "px",
    "sdmx-csv",
    "sdmx-csv-1",
    "csvw",
)
