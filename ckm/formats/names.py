"""The names of the file formats, for who needs no more of them: `ckm.formats` writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

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


def without_repeats(formats: Iterable[str]) -> tuple[str, ...]:
    """Return formats, each once; CSV on the Web writes the file of CSV itself."""
    names = list(dict.fromkeys(formats))
    return tuple(name for name in names if name != "csv" or "csvw" not in names)
