"""What the columns of files and frames are read as: one table of types, whatever holds them.

A column that cannot be read as it is meant is left out, and refused by name when it is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from tables.filtering.values import kind_of
from tables.source.periods import period_sql

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

#: In the metadata of a field of ours, the type that a column had before it was handed on.
ORIGINAL_TYPE = b"ckm:type"
_EXTENSION, _SETTINGS = b"ARROW:extension:name", b"ARROW:extension:metadata"
_MAX_DIGITS = 38
_INTEGERS = {  # bits; of those with a sign, the sign's as well
    **{"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64, "HUGEINT": 128},
    **{"UTINYINT": 9, "USMALLINT": 17, "UINTEGER": 33, "UBIGINT": 65},
}
_SIGNED = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_RENAME = "rename one of them"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a column is not read, and a way out."""

    problem: str
    hint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How a column is read.

    Parameters
    ----------
    sql, spark
        What makes the column out of what DuckDB and Spark find, written ``{0}``.
    refusal
        Why it is not read.
    kind
        DuckDB's type of it; empty for that of what is found.
    """

    sql: str = "{0}"
    spark: str = "{0}"
    kind: str = ""
    refusal: Refusal | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the column is read as it is found."""
        return self.refusal is None and self.sql == self.spark == "{0}"


#: DuckDB's type of columns without a value, and how they are read.
NOTHING = '"NULL"'
ALL_MISSING = Reading(
    sql="CAST(NULL AS VARCHAR)", spark="CAST(NULL AS STRING)", kind=NOTHING
)


def reading_of(field: pa.Field) -> Reading:
    """Return how a column of an Arrow schema is read."""
    name, kind = field.name, field.type
    metadata = field.metadata or {}
    if (was := metadata.get(ORIGINAL_TYPE)) is not None:
        if was in {b"HUGEINT", b"UHUGEINT"}:
            return Reading(sql=f"CAST({{0}} AS {was.decode()})", kind=was.decode())
        return _refused(name, was.decode())
    extension, settings = _extension_of(field)
    if extension:
        return _extension(name, extension, settings, kind)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return reading_of(field.with_type(kind.value_type))
    if pa.types.is_null(kind):
        return ALL_MISSING
    if pa.types.is_decimal256(kind) and kind.precision > _MAX_DIGITS:
        return _refused(name, f"decimal with {kind.precision} digits")
    if pa.types.is_decimal(kind) and kind.scale < 0:
        return _refused(name, "decimal with a negative scale")
    if pa.types.is_float16(kind):
        return _refused(name, "half float")
    if pa.types.is_duration(kind):
        return _refused(name, "duration")
    return Reading()


def _extension_of(field: pa.Field) -> tuple[str, str]:
    """Return the name and the settings of an extension type, whether Arrow knows it or not."""
    kind = field.type
    if isinstance(kind, pa.BaseExtensionType):
        settings = kind.__arrow_ext_serialize__() if hasattr(kind, "freq") else b""
        return kind.extension_name, settings.decode()
    metadata = field.metadata or {}
    found = (metadata.get(_EXTENSION, b""), metadata.get(_SETTINGS, b""))
    return found[0].decode(), found[1].decode(errors="replace")


def _extension(name: str, extension: str, settings: str, kind: pa.DataType) -> Reading:
    storage = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
    match extension:
        case "arrow.uuid":
            return Reading()
        case "arrow.bool8":
            return Reading(sql="({0} <> 0)", spark="({0} <> 0)", kind="BOOLEAN")
        case "pandas.period":
            if (found := period_sql(settings)) is not None:
                return Reading(sql=found[0], spark=found[1], kind="VARCHAR")
            return _refused(name, "pandas period of a rare frequency")
        case "pandas.interval":
            return _refused(name, "interval")
    if pa.types.is_nested(storage) or pa.types.is_binary(storage):
        return Reading()  # refused by DuckDB's type, if it is used
    if any(test(storage) for test in (pa.types.is_string, pa.types.is_large_string)):
        return Reading()
    if pa.types.is_string_view(storage):
        return Reading()
    return _refused(name, extension)


_CURES = {
    "half float": "cast it to float32 or float64, or write it as text",
    "duration": "write it as a number of one unit, such as hours or days",
    "interval": "cut it in the job, or write it as text: .astype(str)",
    "pandas period": "write it as text: .astype(str)",
    "decimal": f"write it with at most {_MAX_DIGITS} digits, or as text",
    "nested": "take out of it what is needed, as columns of their own",
    "binary": "write it as text",
}


def _refused(name: str, kind: str) -> Reading:
    return Reading(refusal=refusal_of(name, kind))


def refusal_of(name: str, kind: str) -> Refusal:
    """Refuse a column of a kind, in words or of one of DuckDB's types."""
    words = _words_of(kind)
    cure = next((cure for start, cure in _CURES.items() if words.startswith(start)), None)
    return Refusal(
        f"Column {name!r} is of the type {words}, which is not read.",
        cure or "write it as text, or as a number",
    )


def type_words(sql_type: str) -> str:
    """Say what values of a type of DuckDB's are."""
    kind = kind_of(sql_type)
    return f"{kind} ({sql_type})" if kind != "other" else _words_of(sql_type)


def _words_of(sql_type: str) -> str:
    """Say what a type of DuckDB's is, where it is none that is read."""
    if sql_type.startswith(("STRUCT", "MAP", "UNION")) or sql_type.endswith("]"):
        return f"nested ({sql_type.partition('(')[0].lower()})"
    words = {"BLOB": "binary", "BIT": "binary (bits)", "INTERVAL": "duration"}
    return words.get(sql_type, sql_type)


def colliding_names(names: Sequence[str]) -> dict[str, Refusal]:
    """Refuse the columns that SQL cannot tell apart: the same name, or upper and lower case.

    DuckDB renames the second of them, and finds either by the name of the other.
    """
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(_folded(name), []).append(name)
    refusals = {}
    for group in alike.values():
        if len(group) < 2:
            continue
        distinct = list(dict.fromkeys(group))
        problem = f"The data have two columns called {distinct[0]!r}."
        if len(distinct) > 1:
            listed = f"{', '.join(map(repr, distinct[:-1]))} and {distinct[-1]!r}"
            problem = f"Columns {listed} differ in upper and lower case alone."
        refusals |= dict.fromkeys(distinct, Refusal(problem, _RENAME))
    return refusals


def _folded(name: str) -> str:
    """Write a name in lower case as DuckDB compares it: the letters of ASCII alone."""
    return "".join(c.lower() if c.isascii() else c for c in name)


def free_name(stem: str, names: Iterable[str]) -> str:
    """Return a name for a column of ours that no column of the data has."""
    taken = {_folded(name) for name in names}
    while stem in taken:
        stem += "_"
    return stem


def common_type(types: Iterable[str]) -> str | None:
    """Return the type that holds the values of several of DuckDB's, with the same texts.

    There is none where a value or its text would change: not for integers beside decimals,
    nor for numbers in single beside double precision, whose digits differ.
    """
    kinds = list(dict.fromkeys(kind for kind in types if kind != NOTHING))
    if len(kinds) < 2:
        return kinds[0] if kinds else NOTHING
    if all(kind in _INTEGERS for kind in kinds):
        widest = max(_INTEGERS[kind] for kind in kinds)
        if all(kind.startswith("U") for kind in kinds):
            return max(kinds, key=_INTEGERS.__getitem__)
        return next(kind for kind in _SIGNED if _INTEGERS[kind] >= widest)
    if all(kind.startswith("DECIMAL(") for kind in kinds):
        pairs = [tuple(map(int, kind[8:-1].split(","))) for kind in kinds]
        scale = max(scale for _, scale in pairs)
        digits = max(digits - scale for digits, scale in pairs) + scale
        return f"DECIMAL({digits},{scale})" if digits <= _MAX_DIGITS else None
    if all(kind in _MOMENTS for kind in kinds):
        return max(kinds, key=_MOMENTS.index)
    return None


_MOMENTS = ("TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP")


def refused_names(refusals: Mapping[str, Refusal]) -> str:
    """List refused columns, the first few of them."""
    names = [repr(name) for name in list(refusals)[:5]]
    return ", ".join(names) + (", …" if len(refusals) > 5 else "")
