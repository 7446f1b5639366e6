"""The noise on amounts recomputed from its description, in plain Python."""

import hashlib
import hmac
import json
from fractions import Fraction

import pytest

from ckm.engine.magnitudes import (
    FewContributors,
    MagnitudeNoise,
    Proportional,
    perturb_magnitudes,
)
from ptable import PTable
from tables import Secret
from tests.amounts import amounts

SECRET = bytes(range(32))
MASK = 2**64 - 1
TABLE = PTable(
    noise=[[0], [-1, 0, 1], [-2, 0, 1, 3], [-4, -1, 5]],
    upper=[[24], [6, 18, 24], [6, 12, 18, 24], [8, 20, 24]],
    key_range=24,
    anchors=(0, 1, 2, 4),
)
CELLS = [[50.0, 30.0, 20.0, 4.0], [7.0], [], [3.0, 3.0, 3.0], [1e6, 999.0], [0.0, 12.0]]


def siphash(message, key):
    k0, k1 = (int.from_bytes(key[i : i + 8], "little") for i in (0, 8))
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D]
    v += [k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]

    def turn(x, bits):
        return (x << bits | x >> (64 - bits)) & MASK

    def rounds(n):
        for _ in range(n):
            v[0] = (v[0] + v[1]) & MASK
            v[2] = (v[2] + v[3]) & MASK
            v[1] = turn(v[1], 13) ^ v[0]
            v[3] = turn(v[3], 16) ^ v[2]
            v[0] = turn(v[0], 32)
            v[2] = (v[2] + v[1]) & MASK
            v[0] = (v[0] + v[3]) & MASK
            v[1] = turn(v[1], 17) ^ v[2]
            v[3] = turn(v[3], 21) ^ v[0]
            v[2] = turn(v[2], 32)

    for block in (message, 8 << 56):
        v[3] ^= block
        rounds(2)
        v[0] ^= block
    v[2] ^= 0xFF
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def number(key, period, settings, purpose, component):
    text = json.dumps(
        ["ckm magnitude v1", "income", period, settings, purpose, component],
        separators=(",", ":"),
    )
    return siphash(key, hmac.digest(SECRET, text.encode(), hashlib.sha256)[:16])


def even(drawn):
    return Fraction((drawn >> 12) * 2 + 1, 2**53)


def looked_up(row, drawn, least):
    units = {v: Fraction(n, TABLE.key_range) for v, n in TABLE.units(row).items()}
    if least is not None:
        up = {v: p for v, p in units.items() if v > 0}
        down = {v: p for v, p in units.items() if v < 0}
        high, low = (
            least + sum(abs(v) * p for v, p in side.items()) / sum(side.values())
            for side in (up, down)
        )
        units = {v: p / sum(down.values()) * high / (high + low) for v, p in down.items()}
        units |= {v: p / sum(up.values()) * low / (high + low) for v, p in up.items()}
    running = Fraction(0)
    for v in sorted(units):
        running += units[v]
        if Fraction(drawn, 2**64) < running:
            return v
    raise AssertionError


def published(values, key, own, *, share, factors, least, decimals, period, settings):
    kept = sorted((Fraction(v) for v in values if v), reverse=True)
    if not kept:
        return Fraction(0)
    total, is_sensitive = sum(kept), len(kept) < 3
    word = "sensitive " if is_sensitive else ""
    factors = (Fraction(1), Fraction(1)) if is_sensitive else factors
    units = [x * f * share for x, f in zip(kept, factors, strict=False)]
    margin = Fraction(1, 2) + (least if is_sensitive else 0)
    room = kept[0] / units[0] if is_sensitive else total / sum(units)
    row = max((a for a in (1, 2, 4) if a + margin <= room), default=None)
    if row is None:
        units, row = [s * room / (1 + margin) for s in units], 1
    for component, unit in enumerate(units, 1):
        of = (own[component - 1], 1) if is_sensitive else (key, component)
        drawn = number(of[0], period, settings, f"{word}noise", of[1])
        v = looked_up(row, drawn, least if is_sensitive else None)
        jitter = number(of[0], period, settings, f"{word}jitter", of[1])
        jitter = even(jitter) - Fraction(1, 2)
        extra = least * ((v > 0) - (v < 0)) if is_sensitive else 0
        total += unit * (v + extra + jitter)
    scaled = total * Fraction(10) ** decimals
    whole = scaled.numerator // scaled.denominator
    whole += even(number(key, period, settings, "rounding", 1)) < scaled - whole
    return whole / Fraction(10) ** decimals


@pytest.mark.parametrize("share", [Fraction(1, 8), Fraction(3, 8), Fraction(1)])
@pytest.mark.parametrize(("decimals", "period"), [(0, ""), (2, "2027"), (-1, 'é "2027"')])
def test_published_totals_are_those_of_the_description(share, decimals, period):
    noise = MagnitudeNoise(
        ptable=TABLE,
        scale=Proportional(share=float(share)),
        factors=(1.0, 0.5),
        sensitive=(FewContributors(least=3),),
        least_noise=0.5,
        decimals=decimals,
        period=period,
    )
    cells = amounts(CELLS)
    made = [TABLE.id, None, None, None, ["Proportional", float(share)], "top", [1.0, 0.5], 0.5]
    made += [[["FewContributors", 3]], False, True]
    text = json.dumps(made, separators=(",", ":"))
    settings = hashlib.sha256(text.encode()).hexdigest()
    found = perturb_magnitudes(cells, noise, secret=Secret(SECRET)).tolist()
    wanted = [
        published(
            values,
            key,
            own,
            share=share,
            factors=(Fraction(1), Fraction(1, 2)),
            least=Fraction(1, 2),
            decimals=decimals,
            period=period,
            settings=settings,
        )
        for values, key, own in zip(
            CELLS, cells.key.tolist(), cells.first_keys.tolist(), strict=True
        )
    ]
    assert found == [float(total) for total in wanted]
    assert found != [sum(values) for values in CELLS]
