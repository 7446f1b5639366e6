"""P-tables for sensitive cells: never no noise, and still none on average."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from ckm.engine.magnitudes.errors import MagnitudeError
from ptable import PTable

_KEYS = 2**64


@lru_cache(maxsize=64)
def two_sided(table: PTable, *, least_noise: float) -> PTable:
    """Take no noise out of a p-table, for noise that gets more in its own direction.

    With ``m`` for `least_noise`, noise v becomes ``v + sign(v) m``. Its mean size on either
    side is ``M+ = m + E(v | v > 0)`` and ``M- = m + E(-v | v < 0)``. The side is up with
    probability ``M- / (M+ + M-)`` and down with ``M+ / (M+ + M-)``; given the side, v has its
    law of before. The mean is ``(M- M+ - M+ M-) / (M+ + M-) = 0``. Out of 2**64 keys
    probabilities are off by less than one key, and means by less than 2**-50 units.
    """
    rows = []
    for count in table.counts.tolist():
        units = table.units(count)
        rows.append(units if count == 0 else _row(units, table.step, Fraction(least_noise)))
    rows[0] = {0: _KEYS}
    return PTable.from_units(
        rows, key_range=_KEYS, step=table.step, anchors=table.counts.tolist()
    )


def _row(units: dict[int, int], step: int, least_noise: Fraction) -> dict[int, int]:
    up = {v: n for v, n in units.items() if v > 0 and n}
    down = {v: n for v, n in units.items() if v < 0 and n}
    if not up or not down:
        raise MagnitudeError(
            "The p-table of sensitive cells must have noise on both sides in every row but the "
            "first.",
            hint="use a p-table with a variance above 0",
        )
    sizes = [
        least_noise
        + Fraction(abs(sum(v * n for v, n in side.items())), step * sum(side.values()))
        for side in (up, down)
    ]
    wanted = {}
    for side, other in ((down, sizes[0]), (up, sizes[1])):
        chance = other / (sizes[0] + sizes[1])
        for v, n in side.items():
            wanted[v] = chance * Fraction(n, sum(side.values())) * _KEYS
    found, running, given = {}, Fraction(0), 0
    for v in sorted(wanted):
        running += wanted[v]
        found[v] = round(running) - given
        given += found[v]
    return found
