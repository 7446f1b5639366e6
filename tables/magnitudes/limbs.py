"""Sums that no order can change: integers wider than a machine word, kept as limbs.

A limb is one of the integers into which a wide one is split so that it can be summed on.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from footing.arrays import Floats, Integers, Words

WEIGHT_DECIMALS = 15
_HALF = 2**32 - 1
_STEP = 10**5  # divided by in turns, so that a remainder and 32 bits fit one word
_STEP_DECIMALS = 5
_CHUNK = 2**15  # few enough that the intermediate numbers stay near the processor


def sum_at(place: Integers, values: Integers, total: int) -> Integers:
    """Sum values by their place among `total` places."""
    sums = np.zeros(total, np.int64)
    np.add.at(sums, place, values)
    return sums


def sum_keys(place: Integers, keys: Words, total: int, key_range: int) -> Words:
    """Sum keys modulo `key_range`, exactly."""
    sums = np.zeros(total, np.uint64)
    if key_range == 2**64:
        np.add.at(sums, place, keys)
        return sums
    if key_range <= 2**32:
        np.add.at(sums, place, keys)
        return sums % np.uint64(key_range)
    # Sums of keys overflow 64 bits: sum the halves, then shift the high one back in.
    modulus = np.uint64(key_range)
    low = np.zeros(total, np.uint64)
    np.add.at(sums, place, keys >> np.uint64(32))
    np.add.at(low, place, keys & np.uint64(2**32 - 1))
    sums %= modulus
    for _ in range(32):
        sums = _add_modulo(sums, sums, modulus)
    return _add_modulo(sums, low % modulus, modulus)


def _add_modulo(a: Words, b: Words, modulus: np.uint64) -> Words:
    """Return (a + b) mod modulus for a, b < modulus, where the sum may pass 2**64."""
    return np.where(a >= modulus - b, a - (modulus - b), a + b)


def modulo_sql(expression: str, key_range: int) -> str:
    """Return the SQL of an expression modulo the range of keys."""
    if key_range & (key_range - 1) == 0:
        return f"(({expression})::HUGEINT & {key_range - 1}::HUGEINT)::UBIGINT"
    return f"(({expression})::HUGEINT % {key_range}::HUGEINT)::UBIGINT"


def limbs_of(sums: pa.ChunkedArray) -> tuple[Integers, ...]:
    """Split 128-bit sums into three integers that can be summed on without overflow."""
    array = sums.combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0) if array.num_chunks else pa.array([], sums.type)
    raw = np.frombuffer(array.buffers()[1] or b"", np.uint64)
    raw = raw[2 * array.offset : 2 * (array.offset + len(array))]
    low, high = raw[0::2], raw[1::2].astype(np.int64)
    half = np.uint64(_HALF)
    return (low & half).astype(np.int64), (low >> np.uint64(32)).astype(np.int64), high


def lean_limbs(limbs: tuple[Integers, ...]) -> tuple[Integers, ...]:
    """Leave out a highest limb that is 0 everywhere: sums of the others do not reach it.

    The middle limbs of fewer than 2**31 cells, each below 2**32, add up to less than 2**63.
    """
    low, middle, high = limbs
    return (low, middle) if len(low) < 2**31 and not high.any() else limbs


def from_limbs(limbs: Sequence[Integers]) -> Floats:
    """Join the integers of summed weights and scale them back; equal sums give equal floats."""
    low, middle, high = _carried(limbs)
    total = high.astype(float) * 2.0**64 + (middle.astype(float) * 2.0**32 + low.astype(float))
    return np.asarray(total / 10.0**WEIGHT_DECIMALS)


def exact_floats(limbs: Sequence[Integers], *, decimals: int) -> Floats:
    """Join the integers and take off decimals; whole numbers below 2**53 come out exactly.

    The fraction is divided apart from the whole part, so that the same number comes out
    whatever the number of decimals in which it was summed.
    """
    if len(limbs) == 1:
        whole, rest = np.divmod(np.abs(limbs[0]), 10**decimals)
        return np.asarray(np.sign(limbs[0]) * (whole + rest / 10.0**decimals))
    if len(limbs) == 2:  # the highest is 0
        limbs = (*limbs, np.broadcast_to(np.int64(0), limbs[0].shape))
    answer = np.empty(len(limbs[0]))
    for start in range(0, len(answer), _CHUNK):
        part = slice(start, start + _CHUNK)
        answer[part] = _wide_floats([limb[part] for limb in limbs], decimals)
    return answer


def _wide_floats(limbs: Sequence[Integers], decimals: int) -> Floats:
    sign = np.where(_carried(limbs)[2] < 0, -1, 1)
    low, middle, high = _carried([sign * limb for limb in limbs])
    rest = np.zeros(len(low), np.int64)
    for step in range(decimals // _STEP_DECIMALS):
        high, carry = np.divmod(high, _STEP)
        middle, carry = np.divmod((carry << 32) + middle, _STEP)
        low, carry = np.divmod((carry << 32) + low, _STEP)
        rest += carry * _STEP**step
    return np.asarray(sign * (_rounded(low, middle, high) + rest / 10.0**decimals))


def _rounded(low: Integers, middle: Integers, high: Integers) -> Floats:
    """Return the nearest floats of integers below 2**93, and of larger ones a near one."""
    is_large = high >= 2**29
    upper = (np.where(is_large, 0, high) << 32) + middle
    exact = upper.astype(float) * 2.0**32 + low
    # Beyond 2**85 the lower limb can only decide a tie: a last bit does that.
    wide = ((upper << 1) | (low > 0)).astype(float) * 2.0**31
    nearest = np.where(upper < 2**53, exact, wide)
    return np.where(is_large, high * 2.0**64 + middle * 2.0**32, nearest)


def _carried(limbs: Sequence[Integers]) -> tuple[Integers, Integers, Integers]:
    """Bring the lower limbs into [0, 2**32)."""
    low, middle, high = limbs
    middle = middle + (low >> 32)
    return low & _HALF, middle & _HALF, high + (middle >> 32)
