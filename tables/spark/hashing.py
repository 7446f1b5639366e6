"""Record keys that the workers of Spark hash, as whole arrays; its own cipher takes texts."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import pyarrow as pa

from tables.keyed_hash import KeyedHash

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: The function's name in statements.
NAME = "ckm_hash"
#: The function that stands in statements for keys that were hashed before.
KEY_OF = "ckm_key_of"
#: The column that holds their bits beside the records.
KEY_COLUMN = "ckm_key_bits"


def register(session: SparkSession) -> bool:
    """Make the function known to a session; False where a worker has no Python with it."""
    trial = pa.table({"message": [b"1"], "key": [bytes(16)]})
    wanted = _hashed(*(column.combine_chunks() for column in trial.columns))
    try:
        from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]

        session.udf.register(NAME, arrow_udf(_hashed, "bigint"))
        rows = session.createDataFrame(trial).selectExpr(f"{NAME}(message, key) AS k").toArrow()
    except Exception:  # noqa: BLE001  (whatever the reason is: Spark's own cipher does it, too)
        return False
    return bool(rows["k"].to_pylist() == wanted.to_pylist())


def _hashed(messages: pa.Array, keys: pa.Array) -> pa.Array:
    """Hash messages; the bits of the words are those of signed integers."""
    if not len(messages):
        return pa.array([], pa.int64())
    return _hash_of(keys[0].as_py()).words(messages).view(pa.int64())


@functools.lru_cache(maxsize=4)
def _hash_of(key: bytes) -> KeyedHash:
    return KeyedHash(key)
