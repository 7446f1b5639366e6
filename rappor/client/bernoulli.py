"""Biased coins, exact to 2**-64, from any source of random bytes."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from footing.arrays import Flags

_LOW_BITS = 2**56 - 1  # what the first byte of a 64-bit number leaves


def threshold(probability: float) -> int:
    """Give the number of 64-bit numbers that stand for yes."""
    return round(Fraction(probability) * 2**64)


def bytes_source(rng: np.random.Generator | None) -> Callable[[int], bytes]:
    """Give the operating system's random bytes, or those of a simulation."""
    return secrets.token_bytes if rng is None else rng.bytes


def flip(bits: Flags, *, p: float, q: float, source: Callable[[int], bytes]) -> Flags:
    """Answer yes with probability `q` where a bit is set and `p` elsewhere, independently.

    A coin compares a 64-bit number with a threshold. Its first byte nearly always decides;
    the other seven are drawn only where it does not.
    """
    first = np.frombuffer(source(bits.size), np.uint8).reshape(bits.shape)
    at_p, at_q = threshold(p), threshold(q)
    below_p, below_q = _below(first, at_p), _below(first, at_q)
    answers = below_p | (bits & below_q) if p <= q else below_q | (~bits & below_p)
    if not (at_p | at_q) & _LOW_BITS:
        return answers
    near = np.flatnonzero((first == at_p >> 56) | (first == at_q >> 56))
    top_bytes = np.where(bits.flat[near], at_q >> 56, at_p >> 56)
    ties = near[first.flat[near] == top_bytes]
    if ties.size:
        words = np.frombuffer(source(8 * ties.size), "<u8") & np.uint64(_LOW_BITS)
        rest = np.where(
            bits.flat[ties], np.uint64(at_q & _LOW_BITS), np.uint64(at_p & _LOW_BITS)
        )
        answers.flat[ties] = words < rest
    return answers


def _below(first: NDArray[np.uint8], limit: int) -> Flags:
    top = limit >> 56
    return np.ones(first.shape, bool) if top > 255 else first < np.uint8(top)
