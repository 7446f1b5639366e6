"""The keyed mix: cell keys become 32-bit lookup keys that no longer add up.

Without it, the key of a total is the sum of the keys of its parts, so their noises are
dependent, and published values betray more about each other than independent noise would.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from footing.arrays import Words
    from tables import Secret

_CHUNK = 8192  # the state of a chunk stays in the processor's cache
_PURPOSE = "ckm cell key mix v1"
_START = np.array(
    [0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573], np.uint64
)
_HALVES = (0, 1, 0, 1)


def mix_key(secret: Secret) -> bytes:
    """Return the key of the mix."""
    return secret.derive(_PURPOSE)[:16]


def mix_keys(cell_keys: Words, *, secret: Secret | bytes) -> NDArray[np.uint32]:
    """Mix cell keys with a secret into uniform 32-bit keys for the lookup.

    Parameters
    ----------
    cell_keys
        Sums of record keys, uint64.
    secret
        The secret of the release, or the key of the mix.

    Returns
    -------
    numpy.ndarray
        For each cell the upper 32 bits of SipHash-2-4 of its key, uint32.

    Notes
    -----
    SipHash is a pseudo-random function of short messages: without the secret its answers
    cannot be told from independent uniform draws. Equal cell keys stay equal, so a cell has
    the same noise in every table. The 128-bit SipHash key is the first half of
    HMAC-SHA256(secret, "ckm cell key mix v1"); a cell key is hashed as 8 little-endian bytes.

    References
    ----------
    Aumasson and Bernstein (2012), SipHash: a fast short-input PRF, INDOCRYPT.

    Examples
    --------
    >>> from tables import Secret
    >>> mix_keys(np.array([1, 2, 1], np.uint64), secret=Secret(bytes(16)))
    array([1243329329, 1511959724, 1243329329], dtype=uint32)
    """
    key = np.frombuffer(secret if isinstance(secret, bytes) else mix_key(secret), "<u8")
    return (siphash(cell_keys, key) >> np.uint64(32)).astype(np.uint32)


def siphash(words: Words, key: Words, *, rounds: tuple[int, int] = (2, 4)) -> Words:
    """Compute SipHash of messages of one 64-bit little-endian word each.

    `key` has two words, or two rows with a column for each message.
    """
    words = words.astype(np.uint64, copy=False)
    hashes = np.empty(len(words), np.uint64)
    for start in range(0, len(words), _CHUNK):
        part = slice(start, start + _CHUNK)
        hashes[part] = _hashed(words[part], key if key.ndim == 1 else key[:, part], rounds)
    return hashes


def _hashed(words: Words, key: Words, rounds: tuple[int, int]) -> Words:
    state = [
        np.full(len(words), start) ^ key[half]
        for start, half in zip(_START, _HALVES, strict=True)
    ]
    spare = np.empty(len(words), np.uint64)
    length = np.uint64(8 << 56)
    for block in (words, length):
        state[3] ^= block
        _rounds(state, spare, rounds[0])
        state[0] ^= block
    state[2] ^= np.uint64(0xFF)
    _rounds(state, spare, rounds[1])
    hashes: Words = state[0] ^ state[1] ^ state[2] ^ state[3]
    return hashes


def _rounds(state: list[Words], spare: Words, count: int) -> None:
    v0, v1, v2, v3 = state
    for _ in range(count):
        v0 += v1
        v2 += v3
        _rotate(v1, spare, 13)
        _rotate(v3, spare, 16)
        v1 ^= v0
        v3 ^= v2
        _rotate(v0, spare, 32)
        v2 += v1
        v0 += v3
        _rotate(v1, spare, 17)
        _rotate(v3, spare, 21)
        v1 ^= v2
        v3 ^= v0
        _rotate(v2, spare, 32)


def _rotate(word: Words, spare: Words, bits: int) -> None:
    np.right_shift(word, np.uint64(64 - bits), out=spare)
    np.left_shift(word, np.uint64(bits), out=word)
    np.bitwise_or(word, spare, out=word)
