"""Messages of at most 15 bytes → record keys: AES-128, for whole arrays at once."""

import hashlib

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from footing.arrays import Words
from tables.filtering.filters import quote

MOST_BYTES = 15  # a message is padded by at least one byte
_BLOCK = MOST_BYTES + 1
_SHA256_BLOCK = 64
_CHUNK = 8192  # what is worked on stays in the processor's cache
_EIGHT, _EIGHT_DIGITS = np.uint64(8), np.uint64(10**8)
_ONES = np.uint64(0x0101010101010101)
#: By the length of a message: which bytes of its block are its own, and what pads the others.
_IS_OWN = np.arange(_BLOCK) < np.arange(_BLOCK)[:, None]
_MASKS = np.where(_IS_OWN, 0xFF, 0).astype(np.uint8).view(np.uint64)
_PADDINGS = (
    np.where(_IS_OWN, 0, _BLOCK - np.arange(_BLOCK)[:, None]).astype(np.uint8).view(np.uint64)
)
_ASCII, _HIGH = np.uint64(0x30) * _ONES, np.uint64(0xF0) * _ONES


def plaintext_sql(column: str) -> str:
    """Return the SQL of a column's messages: its text, or a digest where that is long."""
    text = f"{quote(column)}::VARCHAR"
    digest = f"unhex(left(sha256({text}), {2 * MOST_BYTES}))"
    return f"CASE WHEN strlen({text}) > {MOST_BYTES} THEN {digest} ELSE encode({text}) END"


class KeyedHash:
    """A pseudo-random function from messages to 64-bit words.

    Parameters
    ----------
    key
        16 bytes.

    Notes
    -----
    The word is the first 8 bytes, big-endian, of AES-128(key, message padded to 16 bytes as
    PKCS #7 says). A block cipher under a secret key cannot be told from a random permutation;
    half of its answer, for fewer than 2**50 messages, not from independent uniform words.

    References
    ----------
    FIPS 197 (AES); RFC 5652, section 6.3 (padding); Hall, Wagner, Kelsey and Schneier (1998),
    Building PRFs from PRPs, CRYPTO '98 (truncation).
    """

    def __init__(self, key: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        self._cipher = Cipher(algorithms.AES128(key), modes.ECB())  # noqa: S305  (one block)

    def words(self, messages: pa.Array) -> pa.Array:
        """Hash messages of at most 15 bytes, or integers of at most 15 digits as these.

        Parameters
        ----------
        messages
            A missing message has a missing word.
        """
        is_integer = pa.types.is_integer(messages.type)
        blocks = _of_integers(messages) if is_integer else _of_bytes(messages)
        hashed = np.empty(blocks.nbytes + _BLOCK, np.uint8)
        self._cipher.encryptor().update_into(blocks.view(np.uint8).ravel().data, hashed.data)
        words = hashed[: blocks.nbytes].view(">u8")[::2].astype(np.uint64)
        missing = (
            messages.is_null().to_numpy(zero_copy_only=False) if messages.null_count else None
        )
        return pa.array(words, mask=missing)


class EarlierHash:
    """The record keys of 0.1.0, which ledgers of that version go on with.

    Parameters
    ----------
    key
        At most 64 bytes.

    Notes
    -----
    The word is the first 8 bytes, big-endian, of HMAC-SHA256(key, message): some 2 µs a
    message, where `KeyedHash` takes .01.

    References
    ----------
    RFC 2104 (HMAC).
    """

    def __init__(self, key: bytes) -> None:
        block = np.frombuffer(key.ljust(_SHA256_BLOCK, b"\0"), np.uint8)
        self._inner = hashlib.sha256((block ^ 0x36).tobytes())
        self._outer = hashlib.sha256((block ^ 0x5C).tobytes())

    def words(self, messages: pa.Array) -> pa.Array:
        """Hash messages of any length; a missing message has a missing word."""
        texts = messages.to_pylist()
        return pa.array([None if m is None else self._word(m) for m in texts], pa.uint64())

    def _word(self, message: bytes) -> int:
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(message)
        outer.update(inner.digest())
        return int.from_bytes(outer.digest()[:8], "big")


def _of_bytes(messages: pa.Array) -> NDArray[np.uint8]:
    """Return one padded block for each message."""
    messages = pc.fill_null(messages.cast(pa.large_binary()), b"")
    offsets = np.frombuffer(messages.buffers()[1], np.int64)[messages.offset :][
        : len(messages) + 1
    ]
    text = np.frombuffer(messages.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]]
    starts, sizes = offsets[:-1] - offsets[0], np.diff(offsets)
    size = int(sizes.max(initial=0))
    if size == sizes.min(initial=size):  # codes mostly are of one length
        blocks = np.full((len(sizes), _BLOCK), _BLOCK - size, np.uint8)
        blocks[:, :size] = text.reshape(len(sizes), size)
        return blocks
    # 16 bytes from the start of each message, of which those behind its end are cut off.
    text = np.concatenate([text, np.zeros(_BLOCK, np.uint8)])
    windows = np.ndarray((len(text) - MOST_BYTES,), f"V{_BLOCK}", text.data, strides=(1,))
    words: NDArray[np.uint64] = windows[starts].view(np.uint64).reshape(-1, 2)
    words &= _MASKS[sizes]
    words |= _PADDINGS[sizes]
    return words.view(np.uint8)


def _of_integers(numbers: pa.Array) -> NDArray[np.uint64]:
    """Return one padded block of decimal digits for each integer in [0, 10**15)."""
    values = pc.fill_null(numbers, 0).to_numpy(zero_copy_only=False).astype(np.uint64)
    blocks = np.empty((len(values), 2), "<u8")
    for start in range(0, len(values), _CHUNK):
        _write_digits(values[start : start + _CHUNK], blocks[start : start + _CHUNK])
    return blocks


def _write_digits(values: Words, blocks: NDArray[np.uint64]) -> None:
    """Write the padded decimal digits of integers, the first in the lowest byte of a block."""
    front, back = np.divmod(values, _EIGHT_DIGITS)
    first = back = _digits(back)
    spare = _leading_zeros(back) + _EIGHT
    is_long = front > 0
    if has_long := bool(is_long.any()):
        first = np.where(is_long, _digits(front), back)
        spare = np.where(is_long, _leading_zeros(first), spare)
    np.minimum(spare, np.uint64(MOST_BYTES), out=spare)  # 0 has a digit too
    padding = second = spare * _ONES
    if has_long:
        second = np.where(is_long, back | _ASCII, padding)
    right = (spare & np.uint64(7)) * _EIGHT
    left = np.uint64(64) - right  # a shift by 64 bits leaves nothing
    blocks[:, 0] = (first | _ASCII) >> right | second << left
    blocks[:, 1] = second >> right | padding << left


def _digits(numbers: Words) -> Words:
    """Return the eight decimal digits of integers below 10**8, the first in the lowest byte."""
    thousands = numbers // np.uint64(10**4)
    pairs = thousands | (numbers - thousands * np.uint64(10**4)) << np.uint64(32)
    hundreds = (pairs * np.uint64(10486) >> np.uint64(20)) & np.uint64(0x7F0000007F)
    pairs = hundreds | (pairs - hundreds * np.uint64(100)) << np.uint64(16)
    tens = (pairs * np.uint64(103) >> np.uint64(10)) & np.uint64(0x000F000F000F000F)
    digits: Words = tens | (pairs - tens * np.uint64(10)) << np.uint64(8)
    return digits


def _leading_zeros(digits: Words) -> Words:
    """Return how many of eight digits are zeros before the first that is not."""
    below = (digits & -digits) - np.uint64(1)  # ones below the lowest bit that is set
    zeros: Words = np.bitwise_count(below & _HIGH).astype(np.uint64) >> np.uint64(2)
    return zeros
