"""Record keys that workers hash: those of DuckDB, for arrays of any shape."""

import pyarrow as pa
import pytest

from tables.keyed_hash import KeyedHash
from tables.spark.hashing import _hashed

KEY = bytes(range(16))


@pytest.mark.parametrize("messages", [[b"1", b"", None, b"fifteen bytes!!"], [None], []])
def test_the_bits_of_the_words_are_those_of_the_keyed_hash(messages):
    array = pa.array(messages, pa.binary())
    wanted = KeyedHash(KEY).words(array)
    bits = _hashed(array, pa.array([KEY] * len(messages), pa.binary()))
    assert bits.type == pa.int64()
    assert bits.view(pa.uint64()).to_pylist() == wanted.to_pylist()
