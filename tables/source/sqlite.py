"""Records of an SQLite file, by the types that its columns declare.

SQLite keeps a kind for each value, not for each column. What a column is read as is settled
by its declared type and by all of its values, never by the first ones alone.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
import urllib.parse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from footing.messages import Message
from tables.errors import SourceError
from tables.filtering.filters import quote

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tables.source.source import Source

#: How many values are held at a time.
_VALUES = 500_000
#: Python's type of a value → the part of a column that holds it, and the part's type.
_PARTS = {
    int: ("integers", pa.int64()),
    float: ("reals", pa.float64()),
    str: ("texts", pa.string()),
    bytes: ("bytes", pa.binary()),
}
_EXACT = 2**53  # whole numbers up to here are themselves as floating-point numbers
_MAX_DIGITS = 38
#: How a declared type begins → DuckDB's type of texts that all stand for it.
_MOMENTS = {"DATETIME": "TIMESTAMP", "TIMESTAMP": "TIMESTAMP", "DATE": "DATE", "TIME": "TIME"}


def path_of(address: str, folder: Path | None = None) -> Path:
    """Return the file of an address, which may be relative to a folder.

    ``sqlite:////data/p.sqlite`` is absolute; ``sqlite:///p.sqlite`` is relative, unless there
    is such a file at the root alone. Signs are as they are written, or percent-encoded.
    """
    slashes, rest = re.fullmatch(r"sqlite://(/*)(.*)", address, re.DOTALL).groups()  # type: ignore[union-attr]
    near, root = (folder or Path()) / rest, Path("/") / rest
    candidates = [root] if len(slashes) > 1 else [near, root] if slashes else [near]
    candidates += [Path(urllib.parse.unquote(str(path))) for path in candidates]
    return next((path for path in candidates if path.exists()), candidates[0])


def copy_records(path: Path, statement: str, raw: Path) -> list[tuple[str, str]]:
    """Write the rows of a query into a Parquet file, each column in parts by kinds of values.

    They are of one state of the database.

    Returns
    -------
    list
        The columns: their names, and the types that they declare.
    """
    place = urllib.parse.quote(str(path.absolute()))
    with contextlib.closing(
        sqlite3.connect(f"file:{place}?mode=ro", uri=True, isolation_level=None)
    ) as connection:
        connection.execute("BEGIN")
        rows = connection.execute(statement)
        columns = [name for name, *_ in rows.description or ()]
        if len({name.lower() for name in columns}) < len(columns):
            raise SourceError(
                Message("Column names must differ in more than upper and lower case.")
            )
        # A view tells the declared type of each column that is one of a table.
        connection.execute(f"CREATE TEMP VIEW ckm_records AS {statement}")
        declared = [row[2] for row in connection.execute("PRAGMA temp.table_info(ckm_records)")]
        fields = [
            pa.field(f"{number}_{part}", kind)
            for number in range(len(columns))
            for part, kind in _PARTS.values()
        ]
        with pq.ParquetWriter(raw, pa.schema(fields), compression="zstd") as writer:
            size = max(1, _VALUES // max(1, len(columns)))
            while chunk := rows.fetchmany(size):
                parts = [part for values in zip(*chunk, strict=True) for part in _parts(values)]
                writer.write_batch(pa.record_batch(parts, schema=pa.schema(fields)))
    return list(zip(columns, declared, strict=True))


def _parts(values: Sequence[Any]) -> Iterator[pa.Array]:
    """Split values of one column by their kinds."""
    kinds = {*map(type, values)} - {type(None)}
    for kind, (_, arrow) in _PARTS.items():
        if kind not in kinds:
            yield pa.nulls(len(values), arrow)
        elif len(kinds) == 1:
            yield pa.array(values, arrow)
        else:
            yield pa.array([one if type(one) is kind else None for one in values], arrow)


def columns_sql(source: Source, columns: Sequence[tuple[str, str]]) -> list[str]:
    """Return the SQL of each column of records that were copied in parts."""
    return [
        f"{_Parts(source, number).column_sql(declared.upper())} AS {quote(name)}"
        for number, (name, declared) in enumerate(columns)
    ]


class _Parts:
    """The parts of a column: its whole numbers, its other numbers, its texts, its bytes."""

    def __init__(self, source: Source, number: int) -> None:
        self._source = source
        parts = [quote(f"{number}_{part}") for part, _ in _PARTS.values()]
        self.integers, self.reals, self.texts, self.bytes = parts
        counts = ", ".join(f"count({part})" for part in parts)
        ends = f"min({self.integers}), max({self.integers})"
        row = source.fetch(f"SELECT {counts}, {ends} FROM {source.records}")[0]
        self.counts, self.ends = row[:4], row[4:]

    def column_sql(self, declared: str) -> str:
        """Return the SQL of the column: of its declared type where every value is of it."""
        integers, reals, texts, blobs = self.counts
        if blobs:  # nothing that a table shows
            return f"coalesce({self.bytes}, encode({self._as_text}))"
        if texts and (integers or reals):
            return self._as_text
        if texts:
            return self._sql_of_moments(declared) or self.texts
        if integers or reals:
            return self._sql_of_numbers(declared)
        return f"CAST(NULL AS {_kind_of_nothing(declared)})"

    @property
    def _as_text(self) -> str:
        """Write each value; a whole number alike, whatever SQLite keeps it as."""
        is_whole = f"{self.reals} = trunc({self.reals}) AND abs({self.reals}) <= {_EXACT}"
        words = (
            f"CASE WHEN {is_whole} THEN {self.reals}::BIGINT::VARCHAR "
            f"ELSE {self.reals}::VARCHAR END"
        )
        return f"coalesce({self.texts}, {self.integers}::VARCHAR, {words})"

    def _sql_of_moments(self, declared: str) -> str | None:
        """Return dates or times where each of them is written as its text; else None."""
        kind = _moment_of(declared)
        is_same = f"TRY_CAST({self.texts} AS {kind})::VARCHAR = {self.texts}"
        if kind and self._is_true(f"{self.texts} IS NULL OR ({is_same}) IS TRUE"):
            return f"CAST({self.texts} AS {kind})"
        return None

    def _sql_of_numbers(self, declared: str) -> str:
        """Return exact numbers, or texts where floating-point numbers would lose digits."""
        integers, reals = self.counts[:2]
        least, most = self.ends
        if declared.startswith("BOOL") and not reals and 0 <= least <= most <= 1:
            return f"{self.integers} = 1"
        for kind in _decimals(declared):
            decimal = f"TRY_CAST({self.reals}::VARCHAR AS {kind})"
            fits = f"({decimal}::DOUBLE = {self.reals}) IS TRUE OR {self.reals} IS NULL"
            of_integers = f"TRY_CAST({self.integers} AS {kind})"
            fits = f"({fits}) AND ({of_integers} IS NOT NULL OR {self.integers} IS NULL)"
            if self._is_true(fits):
                return f"coalesce({of_integers}, {decimal})"
        if not reals and _affinity(declared) != "real":
            return self.integers
        is_exact = not integers or -_EXACT <= least <= most <= _EXACT
        return f"coalesce({self.integers}::DOUBLE, {self.reals})" if is_exact else self._as_text

    def _is_true(self, condition: str) -> bool:
        rows = self._source.fetch(
            f"SELECT coalesce(bool_and({condition}), true) FROM {self._source.records}"
        )
        return bool(rows[0][0])


def _affinity(declared: str) -> str:
    """Return the affinity of a declared type, by the rules of SQLite."""
    rules = {
        "integer": "INT",
        "text": "CHAR|CLOB|TEXT",
        "blob": "BLOB|^$",
        "real": "REAL|FLOA|DOUB",
    }
    return next((name for name, rule in rules.items() if re.search(rule, declared)), "numeric")


def _moment_of(declared: str) -> str | None:
    return next((kind for start, kind in _MOMENTS.items() if declared.startswith(start)), None)


def _decimals(declared: str) -> list[str]:
    """Return the types of an exact decimal: as declared, and as wide as can be."""
    match = re.search(r"^(?:DEC|NUM)[A-Z]*\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)", declared)
    if match is None:
        return []
    digits, scale = int(match[1]), int(match[2] or 0)
    if not scale <= digits <= _MAX_DIGITS or not digits:
        return []
    return [f"DECIMAL({digits},{scale})", f"DECIMAL({_MAX_DIGITS},{scale})"]


def _kind_of_nothing(declared: str) -> str:
    """Return DuckDB's type of a column without a value."""
    if declared.startswith("BOOL"):
        return "BOOLEAN"
    kinds = {"integer": "BIGINT", "real": "DOUBLE", "numeric": "DOUBLE"}
    own = [*_decimals(declared), _moment_of(declared), kinds.get(_affinity(declared))]
    return next((kind for kind in own if kind), "VARCHAR")
