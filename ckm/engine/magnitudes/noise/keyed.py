"""Keyed numbers for the noise of amounts: one for each variable, purpose and component."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from ckm.engine.key_mixing import siphash

if TYPE_CHECKING:
    from footing.arrays import Floats, Words
    from tables import Secret

Purpose: TypeAlias = Literal["noise", "jitter", "rounding"]

_CHUNK = 8192  # the state of a chunk stays in the processor's cache
_BITS = 52  # with the half after them they fit a float, so that nothing is rounded


def keyed_numbers(
    keys: Words,
    *,
    secret: Secret,
    variable: str,
    purpose: Purpose,
    component: int = 1,
    period: str = "",
    settings: str = "",
) -> Words:
    """Turn sums of record keys into 64-bit numbers that nobody without the secret foresees.

    SipHash-2-4 of the key as 8 little-endian bytes, under the first 16 bytes of
    HMAC-SHA256(secret, text), where the text is the JSON list ``["ckm magnitude v1",
    variable, period, settings, purpose, component]`` without spaces. Numbers of different
    variables, periods, settings, purposes or components are independent for everybody without
    the secret.
    """
    text = json.dumps(
        ["ckm magnitude v1", variable, period, settings, purpose, component],
        separators=(",", ":"),
    )
    key = np.frombuffer(secret.derive(text)[:16], "<u8")
    found = np.empty(len(keys), np.uint64)
    for start in range(0, len(keys), _CHUNK):
        found[start : start + _CHUNK] = siphash(keys[start : start + _CHUNK], key)
    return found


def keyed_fractions(numbers: Words) -> Floats:
    """Turn 64-bit numbers into the middles of 2**52 equal parts of [0, 1], exactly.

    Fraction and one minus fraction are equally likely, so that their mean is one half exactly.
    """
    upper = (numbers >> np.uint64(64 - _BITS)).astype(np.float64)
    return np.asarray((upper + 0.5) / 2.0**_BITS, np.float64)
