"""Which bits a value sets in a report."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeAlias

import mmh3
import numpy as np
from numpy.typing import ArrayLike, NDArray

from footing.arrays import Integers
from footing.messages import Message, said
from rappor.errors import RapporError
from rappor.parameters import Parameters

#: Values in any list or array, and the names of their clients.
Values: TypeAlias = "Sequence[object] | NDArray[np.generic]"
Clients: TypeAlias = "Sequence[str | bytes | int] | NDArray[np.generic]"

_WORDS = 4  # 32-bit words of one MurmurHash3 digest
_BLOCK = 2**24  # step of the seed from one digest to the next; above every cohort


def bits(values: Values, cohorts: ArrayLike, *, parameters: Parameters) -> Integers:
    """Give the bits each value sets in its client's cohort.

    Bit i is word ``i mod 4`` of ``MurmurHash3_x64_128(value, cohort + 2**24 (i div 4))``,
    modulo `n_bits`. With ``hash="md5"`` it is byte i of the MD5 digest of the cohort, as four
    bytes big endian, and the value; above 256 bits two bytes, little endian. With
    ``hash="hadamard"`` it is the parity of the cohort and the value plus 1.
    """
    _refuse_one_text(values)
    n = len(values)
    if parameters.hash == "index":
        return _index_bits(values, parameters.n_bits)
    places = _checked_cohorts(cohorts, n, parameters.n_cohorts)
    if parameters.hash == "hadamard":
        return _parity(_index_bits(values, parameters.n_values)[:, 0], places)[:, None]
    codes, distinct = _factorise(values)
    if len(distinct) * parameters.n_cohorts <= n:  # each pair once
        table = _hashed(distinct, range(parameters.n_cohorts), parameters)
        return table[codes, places]
    texts = [distinct[code] for code in codes.tolist()]
    return _digest_bits(texts, places.tolist(), parameters)


def every_bit(values: Values, *, parameters: Parameters) -> Integers:
    """Give the bits each value sets in every cohort."""
    _refuse_one_text(values)
    if parameters.hash == "index":
        return _index_bits(values, parameters.n_bits)[:, None, :]
    if parameters.hash == "hadamard":
        numbers = _index_bits(values, parameters.n_values)
        return _parity(numbers, np.arange(parameters.n_cohorts))[:, :, None]
    codes, distinct = _factorise(values)
    return _hashed(distinct, range(parameters.n_cohorts), parameters)[codes]


def _parity(values: Integers, cohorts: Integers) -> Integers:
    """Give the entries of the Hadamard matrix, 0 for 1 and 1 for -1; column 0 is left out."""
    entries: Integers = np.bitwise_count((values + 1) & cohorts).astype(np.int64)
    return entries & 1


def _hashed(texts: Sequence[bytes], cohorts: Sequence[int], parameters: Parameters) -> Integers:
    pairs = [text for text in texts for _ in cohorts]
    bits = _digest_bits(pairs, [*cohorts] * len(texts), parameters)
    return bits.reshape(len(texts), len(cohorts), parameters.n_hashes)


def _digest_bits(
    texts: Sequence[bytes], cohorts: Sequence[int], parameters: Parameters
) -> Integers:
    k, h = parameters.n_bits, parameters.n_hashes
    if parameters.hash == "md5":
        digests = b"".join(
            hashlib.md5(cohort.to_bytes(4, "big") + text, usedforsecurity=False).digest()
            for text, cohort in zip(texts, cohorts, strict=True)
        )
        words = np.frombuffer(digests, np.uint8 if k <= 256 else "<u2")
        return words.reshape(len(texts), -1)[:, :h].astype(np.int64) % k
    digest = mmh3.mmh3_x64_128_digest
    blocks = range(0, -(-h // _WORDS) * _BLOCK, _BLOCK)
    stream = b"".join(
        digest(text, cohort + block)
        for text, cohort in zip(texts, cohorts, strict=True)
        for block in blocks
    )
    words = np.frombuffer(stream, "<u4")
    return words.reshape(len(texts), len(blocks) * _WORDS)[:, :h].astype(np.int64) % k


def _factorise(values: Values) -> tuple[Integers, list[bytes]]:
    """Give each distinct value a number, and the bytes each number stands for."""
    items = values.tolist() if isinstance(values, np.ndarray) else values
    numbers: dict[object, int] = {}
    number = numbers.setdefault
    try:
        codes = np.fromiter(
            (number(value, len(numbers)) for value in items), np.int64, len(items)
        )
        return codes, [_as_bytes(value) for value in numbers]
    except TypeError:  # what cannot be hashed is no text
        raise _not_text(Message("a container")) from None


def _as_bytes(value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        raise _not_text(type(value).__name__)
    try:
        return value.encode()
    except UnicodeEncodeError:
        raise RapporError(
            Message("A value holds half a character and cannot be written as UTF-8."),
            hint=Message("repair the text, or pass bytes"),
        ) from None


def _refuse_one_text(values: object) -> None:
    if isinstance(values, (str, bytes)):
        raise RapporError(
            Message("values must be a sequence of values, not one text."),
            hint=Message("put it in a list: [value]"),
        )


def _not_text(kind: str) -> RapporError:
    return RapporError(
        Message("A value must be text or bytes, not {kind}.", kind=said(kind)),
        hint=Message("write numbers and dates as text, and drop missing values"),
    )


def _index_bits(values: Values, n_bits: int) -> Integers:
    numbers = np.asarray(values)
    if numbers.size == 0:
        return np.empty((0, 1), np.int64)
    if n_bits == 1:
        if numbers.ndim != 1 or numbers.dtype.kind not in "biu" or not _within(numbers, 1):
            raise RapporError(
                Message("The values of a Boolean question must be True or False.")
            )
        return np.where(numbers.astype(bool), 0, -1)[:, None]
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or not _within(numbers, n_bits - 1):
        raise RapporError(
            Message("The values must be whole numbers in 0..{n_bits}.", n_bits=n_bits - 1),
            hint=Message("number the values by their place in the list of all values"),
        )
    return numbers.astype(np.int64)[:, None]


def _within(numbers: NDArray[np.generic], top: int) -> bool:
    whole = numbers.astype(object) if numbers.dtype.kind == "u" else numbers.astype(np.int64)
    return bool(np.all((whole >= 0) & (whole <= top)))


def _checked_cohorts(cohorts: ArrayLike, n: int, n_cohorts: int) -> Integers:
    places = np.asarray(cohorts)
    if places.ndim == 0:
        places = np.full(n, places)
    if places.shape != (n,):
        raise RapporError(
            Message(
                "Each of the {number} values needs a cohort; got {size}.",
                number=n,
                size=places.size,
            )
        )
    if n and (places.dtype.kind not in "iu" or not _within(places, n_cohorts - 1)):
        raise RapporError(
            Message(
                "A cohort must be a whole number in 0..{n_cohorts}.", n_cohorts=n_cohorts - 1
            )
        )
    return places.astype(np.int64)
