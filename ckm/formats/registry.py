"""The formats by name."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import IO

from ckm.engine.published_table import PublishedTable
from ckm.errors import FormatError
from ckm.formats.about import TableAbout
from ckm.formats.csv_text import read_csv, write_csv, write_labelled_csv
from ckm.formats.csvw import METADATA_SUFFIX, write_metadata
from ckm.formats.cubes.cube import MAX_CELLS
from ckm.formats.cubes.json_stat import write_json_stat
from ckm.formats.cubes.px import write_px
from ckm.formats.parquet_file import read_parquet, write_parquet
from ckm.formats.sdmx_csv import write_sdmx_csv
from ckm.formats.xlsx import MAX_ROWS, write_xlsx
from footing.messages import Message, Name, said

_ALL = frozenset(part.name for part in fields(TableAbout))
_CUBED = _ALL - {"units", "decimals", "reliable_from", "dataflow"}
_CUBED -= {"withheld", "withheld_label", "suppressed_label"}
_HEADS = frozenset(("labels", "category_labels", "unit", "units"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A file format for published tables.

    Parameters
    ----------
    name
        What it is called in jobs and requests.
    media_type
        For HTTP.
    suffixes
        How its files end; the first is the usual one.
    write
        Writes a table and what is said about it to a stream.
    read
        Reads both from a file; None for a format that is only written.
    keeps
        The parts of `TableAbout` in the file, ``"categories"`` where their order is, too.
    needs_cube
        Whether a table is laid out as a cube, with a place for cells that it does not list.
    max_rows, max_cells
        The most rows of a table, and cells of a cube.
    sidecar
        What the name of a second file adds to that of the first.
    write_sidecar
        Writes it.
    """

    name: str
    media_type: str
    suffixes: tuple[str, ...]
    write: Callable[[PublishedTable, IO[bytes], TableAbout], None]
    read: Callable[[Path], tuple[PublishedTable, TableAbout]] | None = None
    keeps: frozenset[str] = frozenset()
    needs_cube: bool = False
    max_rows: int | None = None
    max_cells: int | None = None
    sidecar: str = ""
    write_sidecar: Callable[..., None] | None = None


_FORMATS = (
    Format(
        name="csv",
        media_type="text/csv; charset=utf-8",
        suffixes=(".csv",),
        write=write_csv,
        read=read_csv,
    ),
    Format(
        name="csv-labels",
        media_type="text/csv; charset=utf-8",
        suffixes=(".labels.csv",),
        write=write_labelled_csv,
        keeps=_HEADS,
    ),
    Format(
        name="parquet",
        media_type="application/vnd.apache.parquet",
        suffixes=(".parquet",),
        write=write_parquet,
        read=read_parquet,
        keeps=_ALL | {"categories"},
    ),
    Format(
        name="xlsx",
        media_type="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        suffixes=(".xlsx",),
        write=write_xlsx,
        keeps=frozenset({*_HEADS, "id", "title", "source", "contact", "notes", "updated"})
        | {"withheld", "withheld_label", "dataflow", "translations"},
        max_rows=MAX_ROWS,
    ),
    Format(
        name="json-stat2",
        media_type="application/vnd.json-stat2+json",
        suffixes=(".json", ".jsonstat"),
        write=write_json_stat,
        keeps=_ALL
        - {"decimals", "dataflow", "withheld_label", "suppressed_label", "reliable_from"}
        - {"translations"}
        | {"categories"},
        needs_cube=True,
        max_cells=MAX_CELLS,
    ),
    Format(
        name="px",
        media_type="application/octet-stream",
        suffixes=(".px",),
        write=write_px,
        keeps=_CUBED - {"updated"} | {"categories"},
        needs_cube=True,
        max_cells=MAX_CELLS,
    ),
    *(
        Format(
            name=name,
            media_type=f"application/vnd.sdmx.data+csv; version={version}.0; charset=utf-8",
            suffixes=(suffix,),
            write=partial(write_sdmx_csv, version=version),
            keeps=frozenset({"dataflow"}),
        )
        for name, suffix, version in (
            ("sdmx-csv", ".sdmx.csv", "2.0"),
            ("sdmx-csv-1", ".sdmx1.csv", "1.0"),
        )
    ),
    Format(
        name="csvw",
        media_type="application/zip",
        suffixes=(".csv",),
        write=write_csv,
        keeps=_ALL
        - {"decimals", "hierarchies", "dataflow", "suppressed_label", "reliable_from"}
        | {"categories"},
        sidecar=METADATA_SUFFIX,
        write_sidecar=write_metadata,
    ),
)

FORMATS: dict[str, Format] = {each.name: each for each in _FORMATS}


def format_named(name: str) -> Format:
    """Return a format."""
    if name not in FORMATS:
        close = get_close_matches(str(name), FORMATS, n=1)
        raise FormatError(
            Message(
                "There is no format {name!r}; there are {formats!r}.",
                name=Name(name),
                formats=Name.each(FORMATS),
            ),
            hint=Message("did you mean {close!r}?", close=Name(close[0])) if close else None,
        )
    return FORMATS[name]


def format_of(path: Path) -> Format:
    """Return the format of a file by the end of its name, the longest that fits."""
    name = path.name.lower()
    fitting = [(s, f) for f in FORMATS.values() for s in f.suffixes if name.endswith(s)]
    if not fitting:
        endings = ", ".join(sorted({s for f in FORMATS.values() for s in f.suffixes}))
        raise FormatError(
            Message(
                "A table is written to a file that ends in {names}, not {path!r}.",
                names=said(endings),
                path=Name(path.name),
            )
        )
    return max(fitting, key=lambda pair: len(pair[0]))[1]
