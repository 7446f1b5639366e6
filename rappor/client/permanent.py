"""The permanent response: a function of a secret, never stored and never drawn again."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from footing.arrays import Flags, Integers
from rappor.client.bernoulli import threshold
from rappor.parameters import Parameters

_LOW_BITS = 2**48 - 1  # what the first two bytes of a 64-bit number leave
_COHORT_PURPOSE = "rappor cohort"


class SecretKey(Protocol):
    """What derives the key of a purpose and never shows itself, as `tables.Secret` does."""

    def derive(self, purpose: str) -> bytes:
        """Derive 32 bytes; other purposes give independent ones."""


def permanent_key(secret: SecretKey, *, metric: str, parameters: Parameters) -> bytes:
    """Derive the key of the permanent responses to one question.

    Another metric, or another shape or noise of the permanent response, has another key: were
    it the same, two responses of one value would tell more than their losses add up to.
    `p` and `q` do not enter, as they concern the instantaneous response alone.
    """
    shape = (parameters.n_bits, parameters.n_hashes, parameters.n_cohorts, parameters.hash)
    words = ",".join(map(str, shape))
    return secret.derive(f"rappor permanent response:{words},{parameters.f.hex()}:{metric}")


def cohorts_of(clients: Sequence[bytes], *, secret: SecretKey, n_cohorts: int) -> Integers:
    """Give every client its cohort, the same for all metrics."""
    if n_cohorts == 1:
        return np.zeros(len(clients), np.int64)
    key, hashed = secret.derive(_COHORT_PURPOSE), hashlib.sha256
    digests = [hashed(key + client).digest()[:8] for client in clients]
    words = np.frombuffer(b"".join(digests), "<u8")
    return (words % np.uint64(n_cohorts)).astype(np.int64)


def permanent(bloom: Flags, clients: Sequence[bytes], *, key: bytes, f: float) -> Flags:
    """Give the permanent response to each row of bits: the same for ever.

    Bit i compares ``u``, eight bytes of ``SHAKE128(key, client, bits)``, with ``f/2`` and
    ``f``: below the first it becomes 1, below the second 0, else it stays. The bytes are those
    at ``i``, ``k + i``, ``2k + i``, …, so that two nearly always decide.
    """
    if not f:
        return bloom.copy()
    row_bytes = np.packbits(bloom, axis=1, bitorder="little")
    whole, width = row_bytes.tobytes(), row_bytes.shape[1]
    texts = [
        key + client + whole[at : at + width]
        for client, at in zip(clients, range(0, len(whole), width), strict=True)
    ]
    rows: Integers | slice = slice(None)
    if len(set(clients)) < len(texts):  # the same client may give the same value again
        numbers: dict[bytes, int] = {}
        rows = np.fromiter((numbers.setdefault(t, len(numbers)) for t in texts), np.int64)
        texts = list(numbers)
    ones, either = _coins(texts, bloom.shape[1], threshold(f / 2))
    return (bloom & ~either[rows]) | ones[rows]


def _coins(texts: Sequence[bytes], n_bits: int, half: int) -> tuple[Flags, Flags]:
    """Tell which bits become 1, and which become 1 or 0."""
    limits, hashed = (half, 2 * half), hashlib.shake_128
    width = 1 if half % 2**56 == 0 else 2  # bytes that decide; more are a longer stream
    digests = b"".join([hashed(text).digest(width * n_bits) for text in texts])
    stream = np.frombuffer(digests, np.uint8).reshape(-1, width, n_bits)
    words: NDArray[np.integer] = stream[:, 0]
    if width == 2:
        words = words.astype(np.uint16) << np.uint16(8) | stream[:, 1]
    bits = [_below(words, limit >> (64 - 8 * width)) for limit in limits]
    if width == 1:
        return bits[0], bits[1]
    for limit, coin in zip(limits, bits, strict=True):
        ties = np.flatnonzero(words == (limit >> 48)) if limit & _LOW_BITS else ()
        for row, bit in (divmod(int(tie), n_bits) for tie in ties):
            whole = hashed(texts[row]).digest(8 * n_bits)[bit::n_bits]
            coin[row, bit] = int.from_bytes(whole, "big") < limit
    return bits[0], bits[1]


def _below(words: NDArray[np.integer], limit: int) -> Flags:
    if limit > np.iinfo(words.dtype).max:
        return np.ones(words.shape, bool)
    return np.asarray(words < words.dtype.type(limit), bool)
