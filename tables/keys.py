"""Record keys: an integer per record, uniform, and the same whenever the record is the same.

Three ways to have them: a keyed hash of a stable identifier (`HashedKeys`), a column that
holds them already (`StoredKeys`), or fresh ones from the operating system (`draw_keys`).
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from footing.checks import require_integer
from footing.files import new_file
from footing.messages import Message, Name, said
from tables.errors import DataError, KeyQualityError, RequestError, SourceError
from tables.file_digest import add_digest
from tables.filtering.filters import quote
from tables.refusals import colliding_names, declaration

if TYPE_CHECKING:
    from collections.abc import Callable

    from tables.secret import Secret
    from tables.source.source import Source

#: The version of the definition of a record key that is hashed, and the one before it, which
#: ledgers of 0.1.0 go on with.
KEY_VERSION = 2
EARLIER_KEY_VERSION = 1
_KEY_BYTES = 16
_DECIMALS = 18
_BATCH = 131_072


@dataclass(frozen=True, slots=True, kw_only=True)
class HashedKeys:
    """Record keys that are a keyed hash of a stable identifier.

    Parameters
    ----------
    column
        The identifier: integers or texts, one per record.
    secret
        Whoever holds it can compute the keys; nobody else can.
    version
        The version of the definition; 1 is that of 0.1.0.

    Notes
    -----
    The key is the first 8 bytes, big-endian, of AES-128(k, message padded as PKCS #7 says),
    where k is the first half of HMAC-SHA256(secret, "ckm record key v2"). The message is the
    identifier as UTF-8 text, or the first 15 bytes of its SHA-256 where it takes more than
    15. An integer's text is its decimal form, so 17 and "17" have one key, 17 and "017" have
    two. See `tables.keyed_hash`.

    In version 1 it is the first 8 bytes, big-endian, of HMAC-SHA256(k, identifier as UTF-8
    text), where k = HMAC-SHA256(secret, "ckm record key v1").

    References
    ----------
    FIPS 197 (AES); RFC 5652, section 6.3 (padding); RFC 2104 (HMAC).

    Examples
    --------
    >>> from tables import Secret
    >>> HashedKeys(column="person_id", secret=Secret(bytes(16)))
    HashedKeys(column='person_id', secret=Secret(…))
    """

    column: str
    secret: Secret
    version: int = field(default=KEY_VERSION, repr=False)

    def __post_init__(self) -> None:
        if self.version not in {EARLIER_KEY_VERSION, KEY_VERSION}:
            raise RequestError(
                Message(
                    "Record keys have version {earlier} or {version}.",
                    earlier=EARLIER_KEY_VERSION,
                    version=KEY_VERSION,
                )
            )

    def resolve(self, source: Source) -> int:  # noqa: ARG002
        """Return the range of the keys, [0, range), for this source."""
        return 2**64

    def problems(self, source: Source) -> list[tuple[str, str]]:
        """Tell what is wrong with the column, as (problem, hint) pairs."""
        kind = source.kinds[self.column]
        problem = Message(
            "The identifier {column!r} must hold integers or texts.", column=Name(self.column)
        )
        hint = Message("a rounded or reformatted number is no stable identifier")
        return [] if kind in {"integer", "text"} else [(problem, hint)]

    def sql(self, source: Source, parameters: dict[str, object]) -> str:
        """Return the key's SQL expression; the keys are computed when first asked for."""
        source.require(self.column)
        key = self.secret.derive(f"ckm record key v{self.version}")
        if self.version == EARLIER_KEY_VERSION:
            return source.keyed_hash(self.column, key, parameters, earlier=True)
        return source.keyed_hash(self.column, key[:_KEY_BYTES], parameters)

    @property
    def metadata(self) -> dict[str, str]:
        """How files that hold such keys, or sums of them, say which definition they follow."""
        return {"ckm_record_key_version": str(self.version)}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredKeys:
    """Record keys that a column already holds.

    Parameters
    ----------
    column
        Integers in [0, key_range), or decimals in [0, 1).
    key_range
        For integers: one more than the largest possible key. Columns of an unsigned type
        use their full width unless told otherwise. Decimals are taken exactly at their
        printed digits (up to 18) and need none.

    Examples
    --------
    >>> StoredKeys(column="rkey", key_range=256)
    StoredKeys(column='rkey', key_range=256)
    """

    column: str
    key_range: int | None = None

    def __post_init__(self) -> None:
        if self.key_range is not None:
            hint = "keys 0..255 have key_range 256"
            limits: Any = {"minimum": 2, "maximum": 2**64, "error": RequestError, "hint": hint}
            whole = require_integer(self.key_range, "key_range", **limits)
            object.__setattr__(self, "key_range", whole)

    def has_decimals(self, source: Source) -> bool:
        """Tell whether the keys are decimals in [0, 1), not integers."""
        sql_type = source.require(self.column)
        if source.is_text_of_csv(self.column):
            return source.is_number(self.column)
        return source.kinds[self.column] == "number" and not sql_type.endswith(",0)")

    def resolve(self, source: Source) -> int:
        """Return the range of the keys, [0, range), for this source."""
        if self.has_decimals(source):
            return int(10**_DECIMALS)
        widths = {"UTINYINT": 8, "USMALLINT": 16, "UINTEGER": 32, "UBIGINT": 64}
        return self.key_range or 2 ** widths.get(source.columns[self.column], 0)

    def problems(self, source: Source) -> list[tuple[str, str]]:
        """Tell what is wrong with the column's type, as (problem, hint) pairs."""
        kind = source.kinds[self.column]
        name = Message("The record keys {column!r}", column=Name(self.column))
        if source.is_text_of_csv(self.column) and (wrong := source.number_problem(self.column)):
            return [wrong]
        if kind not in {"integer", "number"} and not self.has_decimals(source):
            problem = Message(
                "{name} must be integers, or decimals in [0, 1), not {kind}s.",
                name=name,
                kind=said(kind),
            )
            return [
                (problem, Message("to hash an identifier, name it as id instead of record_key"))
            ]
        if self.has_decimals(source) and self.key_range not in {None, 10**_DECIMALS}:
            if source.is_text_of_csv(self.column):
                problem = Message(
                    "{name} are read as decimals, for which key_range has no meaning.",
                    name=name,
                )
                return [(problem, self._as_integers(source))]
            problem = Message(
                "{name} are of a decimal type, for which key_range has no meaning.", name=name
            )
            hint = Message(
                "cast keys that are whole numbers to an integer type, or drop key_range"
            )
            return [(problem, hint)]
        if self.resolve(source) < 2:
            problem = Message(
                "{name} are signed integers, so their range is unknown.", name=name
            )
            return [
                (
                    problem,
                    Message("give key_range: 256 for keys 0..255, 4096 for 0..4095, 2**32, …"),
                )
            ]
        return []

    def _as_integers(self, source: Source) -> str:
        """Return how keys that are whole numbers are read as such."""
        if source.is_text_of_csv(self.column):
            declared = declaration(self.column, "integer")
            return Message(
                "if they are whole numbers, declare {declared} and give key_range",
                declared=said(declared),
            )
        return Message("cast keys that are whole numbers to an integer type and give key_range")

    def outside(self, source: Source, top: int) -> KeyQualityError:
        """Return the error for keys that do not lie in [0, top)."""
        hint = Message("set key_range to one more than the largest key that can occur")
        return KeyQualityError(
            Message(
                "Some record keys in {column!r} lie outside [0, {top}).",
                column=Name(self.column),
                top=top,
            ),
            hint=hint if top != 1 else self._as_integers(source),
        )

    def sql(self, source: Source, parameters: dict[str, object]) -> str:  # noqa: ARG002
        """Return the key's SQL expression, an integer in [0, resolve(source))."""
        column = source.number_sql(self.column)
        sql_type = source.require(self.column)
        if not self.has_decimals(source):  # DuckDB adds UHUGEINT up in floating point
            is_wide = sql_type.startswith(("DECIMAL", "HUGEINT", "UHUGEINT"))
            return f"{column}::UBIGINT" if is_wide else column
        decimals = f"CAST(CAST(CAST({column} AS VARCHAR) AS DECIMAL(38,18)) AS VARCHAR)"
        printed = f"CAST(replace({decimals}, '.', '') AS BIGINT)"
        if sql_type != "DOUBLE" and not source.is_text_of_csv(self.column):
            return printed
        # A double with at most 15 decimals is the nearest one to n / 10**15 for one integer n.
        digits = f"CAST(round({column} * 1e15) AS BIGINT)"
        return f"CASE WHEN {digits} / 1e15 = {column} THEN {digits} * 1000 ELSE {printed} END"


RecordKeys = HashedKeys | StoredKeys


def attach_keys(
    source: Source,
    *,
    id: str,  # noqa: A002  (the word of the job file)
    secret: Secret,
    path: str | os.PathLike[str],
    column: str = "record_key",
    overwrite: bool = False,
    progress: Callable[[float], None] | None = None,
) -> None:
    """Write a Parquet copy of the records with a hashed key beside each.

    Parameters
    ----------
    source
        The records.
    id
        The identifier column.
    secret
        The secret of the hash.
    path
        The Parquet file to write; it appears complete or not at all.
    column
        Name of the new column of unsigned 64-bit keys.
    overwrite
        Replace the file if it exists.
    progress
        Called with the share done.

    Raises
    ------
    SourceError
        If the column or the file exists, or the file cannot be written.
    DataError
        If identifiers are missing.

    Examples
    --------
    >>> import pyarrow as pa, tempfile
    >>> from tables import Secret, open_source
    >>> folder = tempfile.mkdtemp()
    >>> with open_source(pa.table({"id": [1, 2]})) as source:
    ...     attach_keys(source, id="id", secret=Secret(bytes(16)), path=folder + "/k.parquet")
    >>> with open_source(folder + "/k.parquet") as source:
    ...     source.columns
    {'id': 'BIGINT', 'record_key': 'UBIGINT'}
    """
    keys = HashedKeys(column=id, secret=secret)
    source.require(id)
    for problem, hint in keys.problems(source):
        raise RequestError(problem, hint=hint)
    missing = source.fetch(f"SELECT bool_or({quote(id)} IS NULL) FROM {source.relation}")
    if missing[0][0]:
        raise DataError(
            Message("Some records have no identifier {id!r}.", id=Name(id)),
            hint=Message("give every record one; all that lack it would share one key"),
        )
    parameters: dict[str, object] = {}
    source.warn_of_copy()
    _require_new(source, column)
    with new_file(path, error=SourceError, overwrite=overwrite) as draft:
        hashed = keys.sql(source, parameters)  # a table too, of which each record has a row
        source.copy(
            f"SELECT r.*, t.value AS {quote(column)} FROM {source.records} AS r "
            f"POSITIONAL JOIN {hashed} AS t",
            parameters,
            os.fspath(draft),
            metadata=keys.metadata,
            progress=progress,
        )
        add_digest(draft)


def draw_keys(
    source: Source,
    *,
    path: str | os.PathLike[str],
    column: str = "record_key",
    overwrite: bool = False,
    progress: Callable[[float], None] | None = None,
) -> None:
    """Write a Parquet copy of the records with a fresh random 64-bit key beside each.

    The keys come from the operating system's cryptographic generator. Keep the file: drawn
    again, the keys and so all the noise would be others.

    Parameters
    ----------
    source
        The records.
    path
        The Parquet file to write; it appears complete or not at all.
    column
        Name of the new column of unsigned 64-bit keys.
    overwrite
        Replace the file if it exists.
    progress
        Called with the share done.

    Raises
    ------
    SourceError
        If the column or the file exists, or the file cannot be written.

    Examples
    --------
    >>> import pyarrow as pa, tempfile
    >>> from tables import open_source
    >>> folder = tempfile.mkdtemp()
    >>> with open_source(pa.table({"sex": ["F", "M"]})) as source:
    ...     draw_keys(source, path=folder + "/k.parquet")
    >>> with open_source(folder + "/k.parquet") as source:
    ...     list(source.columns)
    ['sex', 'record_key']
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    total = source.fetch(f"SELECT count(*) FROM {source.relation}")[0][0]
    done = 0
    source.warn_of_copy()
    _require_new(source, column)
    with new_file(path, error=SourceError, overwrite=overwrite) as draft:
        writer: pq.ParquetWriter | None = None
        for batch in source.batches(f"SELECT * FROM {source.records}", rows=_BATCH):
            keys = np.frombuffer(os.urandom(8 * batch.num_rows), np.uint64)
            table = pa.Table.from_batches([batch]).append_column(
                pa.field(column, pa.uint64()), pa.array(keys)
            )
            if writer is None:
                writer = pq.ParquetWriter(draft, table.schema, compression="zstd")
                writer.add_key_value_metadata(source.mark)
            writer.write_table(table)
            done += batch.num_rows
            if progress is not None:
                progress(done / total)
        if writer is None:
            raise DataError(Message("The source has no record to draw a key for."))
        writer.close()
        add_digest(draft)


def _require_new(source: Source, column: str) -> None:
    if column in colliding_names([*source.columns, column]):
        raise SourceError(
            Message("The data already have a column {column!r}.", column=Name(column)),
            hint=Message("choose another name for the key's column"),
        )


def require_sound(
    source: Source, keys: RecordKeys, *, tolerate_missing: bool = False
) -> tuple[int, int]:
    """Raise unless every record has a key in range; the answer is kept for this source.

    Return how many records there are, and how many without a key.
    """
    mark = (keys, tolerate_missing)
    if mark in source.sound:
        return source.sound[mark]  # type: ignore[no-any-return]
    source.require(keys.column)
    for problem, hint in keys.problems(source):
        raise RequestError(problem, hint=hint)
    column = quote(keys.column)
    outside = "false"
    if isinstance(keys, StoredKeys):
        column = source.number_sql(keys.column)
        top = 1 if keys.has_decimals(source) else keys.resolve(source)
        outside = (
            f"coalesce(min({column}) < 0, false) OR coalesce(max({column}) >= {top}, false)"
        )
    rows = source.fetch(
        f"SELECT count(*), count(*) - count({column}), {outside} FROM {source.relation}"
    )
    total, missing, is_outside = rows[0]
    if is_outside and isinstance(keys, StoredKeys):
        raise keys.outside(source, top)
    if missing and not tolerate_missing:
        raise KeyQualityError(
            Message("Some records have no {column!r}.", column=Name(keys.column)),
            hint=Message(
                'give every record one, or accept key 0 for those with checks = "warn"'
            ),
            inside=Message("{number:,} of {total:,} records", number=missing, total=total),
        )
    source.sound[mark] = total, missing
    source.n_records = total
    return total, missing
