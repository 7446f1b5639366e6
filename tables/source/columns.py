"""What the columns of files and frames are read as: one table of types, whatever holds them.

A column that cannot be read as it is meant is left out, and refused by name when it is used.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from footing.messages import Argument, Message
from tables.filtering.values import kind_of
from tables.refusals import Refusal, refusal_of, words_of
from tables.source.periods import period_sql

if TYPE_CHECKING:
    from collections.abc import Iterable

#: In the metadata of a field of ours, the type that a column had before it was handed on.
ORIGINAL_TYPE = b"ckm:type"
_EXTENSION, _SETTINGS = b"ARROW:extension:name", b"ARROW:extension:metadata"
_PANDAS = {"pandas.interval": "intervals", "pandas.period": "periods"}
#: Storages of extensions that hold what is shown, or what no table shows.
_AS_MEANT = (
    *(pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
    *(pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary),
    *(pa.types.is_binary_view, pa.types.is_nested),
)
#: The names of DuckDB's that columns of polars go by whose integers come as texts.
_WIDE = ("HUGEINT", "UHUGEINT")
_MAX_DIGITS = 38
_INTEGERS = {  # bits; of those without a sign, with room for one
    "TINYINT": 8,
    "SMALLINT": 16,
    "INTEGER": 32,
    "BIGINT": 64,
    "HUGEINT": 128,
    "UTINYINT": 9,
    "USMALLINT": 17,
    "UINTEGER": 33,
    "UBIGINT": 65,
}
_SIGNED = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")


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
    words
        What its values are called, where its type does not say it.
    """

    sql: str = "{0}"
    spark: str = "{0}"
    kind: str = ""
    words: str = ""
    refusal: Refusal | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the column is read as it is found."""
        return self.refusal is None and self.sql == self.spark == "{0}"


#: DuckDB's type of columns without a value, and how they are read.
NOTHING = '"NULL"'
ALL_MISSING = Reading(sql="CAST(NULL AS VARCHAR)", spark="CAST(NULL AS STRING)", kind=NOTHING)


def reading_of(field: pa.Field) -> Reading:
    """Return how a column of an Arrow schema is read."""
    name, kind = field.name, field.type
    extension, settings = _extension_of(field)
    if extension:
        return _reading_of_extension(name, extension, settings, kind)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return reading_of(field.with_type(kind.value_type))
    if pa.types.is_null(kind) and ORIGINAL_TYPE not in (field.metadata or {}):
        return ALL_MISSING
    words = _unread(field)
    return Reading() if words is None else Reading(refusal=refusal_of(name, words))


def _unread(field: pa.Field) -> str | None:
    """Say what values of a type that is not read are; None where it is read."""
    kind, metadata = field.type, field.metadata or {}
    if ORIGINAL_TYPE in metadata:
        return str(metadata[ORIGINAL_TYPE], encoding="utf-8")
    if pa.types.is_float16(kind):
        return Message("half floats")
    if pa.types.is_duration(kind):
        return "durations"
    if pa.types.is_decimal(kind) and (kind.precision > _MAX_DIGITS or kind.scale < 0):
        return Message("values of the type {kind}", kind=Argument(kind))
    return None


def _extension_of(field: pa.Field) -> tuple[str, str]:
    """Return the name and the settings of an extension type, whether Arrow knows it or not."""
    kind, metadata = field.type, field.metadata or {}
    if not isinstance(kind, pa.BaseExtensionType):
        pair = (metadata.get(_EXTENSION, b""), metadata.get(_SETTINGS, b""))
        return pair[0].decode(), pair[1].decode(errors="replace")
    is_period = kind.extension_name == "pandas.period"
    return kind.extension_name, kind.__arrow_ext_serialize__().decode() if is_period else ""


def _reading_of_extension(
    name: str, extension: str, settings: str, kind: pa.DataType
) -> Reading:
    """Read extensions whose values are told; of others texts alone, which are what they show.

    Others, nested or binary ones too, are no categories in any case.
    """
    storage = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
    if extension in _WIDE:
        return Reading(sql=f"CAST({{0}} AS {extension})", kind=extension)
    if extension == "arrow.bool8":
        return Reading(sql="({0} <> 0)", spark="({0} <> 0)", kind="BOOLEAN")
    if extension == "pandas.period" and (period := period_sql(settings)) is not None:
        words = f"periods ({json.loads(settings)['freq']})"
        return Reading(sql=period[0], spark=period[1], kind="VARCHAR", words=words)
    is_told = extension == "arrow.uuid" or any(is_kind(storage) for is_kind in _AS_MEANT)
    if is_told and extension != "pandas.interval":
        return Reading()
    return Reading(refusal=refusal_of(name, _PANDAS.get(extension, extension)))


def type_words(sql_type: str) -> str:
    """Say what values of a type of DuckDB's are."""
    kind = kind_of(sql_type)
    return f"{kind} ({sql_type})" if kind != "other" else words_of(sql_type)


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
