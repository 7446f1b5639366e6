"""What the noise of every cell may be, before any key is looked at, and its p-tables."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ckm.engine.magnitudes.noise.scale import bases
from ckm.engine.magnitudes.sensitive.conditions import sensitive_cells
from ckm.errors import MagnitudeError
from footing.messages import Message, Name
from ptable import PTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ckm.engine.magnitudes.settings import MagnitudeNoise
    from footing.arrays import Flags, Floats, Integers
    from tables.magnitudes.amounts import Magnitudes

_KEYS = 2**64


@dataclass(frozen=True, slots=True, kw_only=True)
class Regime:
    """A p-table and what its noise gets more in its own direction.

    Parameters
    ----------
    table
        The p-table.
    least_noise
        What its noise gets more in its own direction, in units.
    width
        The width of the jitter, in units.
    """

    table: PTable
    least_noise: float
    width: float

    @property
    def margin(self) -> float:
        """How far noise may go beyond that of the p-table, in units."""
        return self.least_noise + self.width / 2

    def law(self, row: int) -> tuple[list[float], list[float]]:
        """Give the noise values of a row before jitter, in units, and their probabilities."""
        units = self.table.units(row)
        values = [v / self.table.step + self.least_noise * ((v > 0) - (v < 0)) for v in units]
        return values, [n / self.table.key_range for n in units.values()]

    def variance(self, row: int) -> float:
        """Give the variance of the noise of a row, jitter included, in squared units."""
        values, chances = (np.array(part) for part in self.law(row))
        mean = float(chances @ values)
        return float(chances @ values**2) - mean * mean + self.width**2 / 12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class NoisePlan:
    """What the noise of every cell may be. Disclosive: never write or print it.

    Parameters
    ----------
    steps
        Per cell and component the size of one unit of noise, 0 where there is no component.
    row
        Per cell the anchor of its p-table.
    regime
        Per cell the place in `regimes`.
    regimes
        The p-tables in use.
    sensitive
        Which cells are sensitive.
    """

    steps: Floats
    row: Integers
    regime: NDArray[np.int8]
    regimes: tuple[Regime, ...]
    sensitive: Flags

    def variances(self) -> Floats:
        """Give the variance of the noise of every cell, before the last rounding.

        Notes
        -----
        Components are independent, and all of a cell use one row: ``V_row sum(steps**2)``.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from tables import Request, StoredKeys, cube, open_source
        >>> key = pa.array(range(4), pa.uint8())
        >>> turnover = [40.0, 30.0, 20.0, 10.0]
        >>> firms = pa.table({"town": [*"AAAA"], "turnover": turnover, "key": key})
        >>> request = Request(dimensions=["town"], sums=["turnover"], top=6)
        >>> with open_source(firms) as source:
        ...     (cells,) = cube(source, StoredKeys(column="key"), [request])
        >>> from ckm import MagnitudeNoise
        >>> noise = MagnitudeNoise.start(spread=0.1)
        >>> plan = plan_noise(cells.magnitudes["turnover"], noise)
        >>> round(float(plan.variances()[0]), 6)  # (0.1 * 40)**2
        16.0
        """
        variances = np.zeros(len(self.row))
        for place, regime in enumerate(self.regimes):
            for row in np.unique(self.row[self.regime == place]).tolist():
                here = (self.regime == place) & (self.row == row)
                variances[here] = regime.variance(row)
        return np.asarray(variances * (self.steps**2).sum(axis=1), np.float64)


def plan_noise(
    magnitudes: Magnitudes, noise: MagnitudeNoise, *, sensitive: Flags | None = None
) -> NoisePlan:
    """Work out what the noise of every cell may be.

    Parameters
    ----------
    magnitudes
        The amounts.
    noise
        How they are perturbed, under the program's own rules.
    sensitive
        Which cells are sensitive; by default those that the conditions of the noise find.

    Notes
    -----
    The unit of component j is ``s_j = f_j m(b_j) b_j``: factor, share and base. All components
    of a cell use one row of the p-table, the largest anchor i with ``(i + g) sum(s_j) <= X``,
    where X is the total and g the margin that jitter and sensitive cells need; where none
    fits, all units shrink until the first one does. Then the noise, at least
    ``-(i + g) sum(s_j)``, never takes a total below zero. For a signed variable the last row
    is used and nothing shrinks.

    Sensitive cells have a component for each of the three largest contributors, whatever the
    base. The row is the largest anchor with ``(i + g) s_1 <= b_1``, and units are no more than
    ``b_j / (i + g)``: unit and row of the first depend on that contributor alone.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from tables import Request, StoredKeys, cube, open_source
    >>> key = pa.array(range(4), pa.uint8())
    >>> turnover = [40.0, 30.0, 20.0, 10.0]
    >>> firms = pa.table({"town": [*"AAAA"], "turnover": turnover, "key": key})
    >>> request = Request(dimensions=["town"], sums=["turnover"], top=6)
    >>> with open_source(firms) as source:
    ...     (cells,) = cube(source, StoredKeys(column="key"), [request])
    >>> from ckm import MagnitudeNoise
    >>> plan = plan_noise(cells.magnitudes["turnover"], MagnitudeNoise.start())
    >>> plan.row.tolist(), plan.steps.round(2).tolist()
    ([5, 5], [[4.22], [4.22]])
    """
    require_sound(magnitudes, noise)
    if sensitive is None:
        sensitive = sensitive_cells(magnitudes, noise.sensitive)
    sizes = bases(magnitudes, base=noise.base, components=noise.n_components)
    steps = sizes * noise.scale.shares(sizes) * np.array(noise.factors)
    first = np.where(sensitive, magnitudes.largest, sizes[:, 0])
    is_small = first < noise.separation
    regimes, regime = _regimes(noise, magnitudes, is_small, sensitive)
    if noise.small_cells is not None:
        steps[is_small] = 0.0
        steps[is_small, 0] = 1.0
    steps[magnitudes.contributors == 0] = 0.0
    row = np.zeros(len(magnitudes), np.int64)
    for place, used in enumerate(regimes):
        here = np.flatnonzero((regime == place) & ~sensitive)
        totals = None if noise.signed else magnitudes.total[here]
        row[here], factor = _fit(steps[here], used, totals)
        steps[here] *= factor[:, None]
    if sensitive.any():
        largest = magnitudes.first_sizes
        if not largest.shape[1]:
            raise MagnitudeError(
                Message(
                    "The noise of sensitive cells needs the largest contributors of "
                    "{variable!r}, and none were asked for.",
                    variable=Name(magnitudes.variable),
                ),
                hint=Message(
                    "ask the aggregation for as many as the noise's n_top says, at least 1: "
                    "Request(…, top=1)"
                ),
            )
        steps = np.pad(steps, ((0, 0), (0, max(0, largest.shape[1] - steps.shape[1]))))
        for place, used in enumerate(regimes):
            here = np.flatnonzero((regime == place) & sensitive)
            steps[here] = 0.0
            row[here], units = _of_largest(largest[here], noise, used, is_small[here])
            steps[here, : units.shape[1]] = units
    return NoisePlan(steps=steps, row=row, regime=regime, regimes=regimes, sensitive=sensitive)


def _of_largest(
    largest: Floats, noise: MagnitudeNoise, regime: Regime, is_small: Flags
) -> tuple[Integers, Floats]:
    """Give the rows of sensitive cells, and the units of their largest contributors."""
    units = np.where(is_small[:, None], 1.0, largest * noise.scale.shares(largest))
    units[largest == 0] = 0.0
    row, factor = _fit(units[:, :1], regime, None if noise.signed else largest[:, 0])
    units[:, 0] *= factor
    if not noise.signed:
        units = np.minimum(units, largest / (row + regime.margin)[:, None])
    return row, units


def _regimes(
    noise: MagnitudeNoise, magnitudes: Magnitudes, is_small: Flags, sensitive: Flags
) -> tuple[tuple[Regime, ...], NDArray[np.int8]]:
    """Give the p-tables in use, plain and for sensitive cells, and the place of each cell's."""
    tables = [noise.ptable] if noise.ptable is not None else [noise.even, noise.odd]
    place = np.zeros(len(magnitudes), np.int8)
    if len(tables) == 2:  # one table for all sensitive cells, so that a contributor has one
        place += ((magnitudes.contributors % 2 == 1) | sensitive).astype(np.int8)
    if noise.small_cells is not None:
        place[is_small] = len(tables)
        tables.append(noise.small_cells)
    has_sensitive = bool(noise.sensitive) or bool(magnitudes.named.any())
    regimes = []
    for table in tables:
        assert table is not None  # noqa: S101  (settings hold one or two)
        width = 1 / table.step if noise.jitter else 0.0
        regimes.append(Regime(table=table, least_noise=0.0, width=width))
        if has_sensitive:
            both = two_sided(table, least_noise=noise.least_noise)
            regimes.append(Regime(table=both, least_noise=noise.least_noise, width=width))
    if has_sensitive:
        place = (2 * place + sensitive).astype(np.int8)
    return tuple(regimes), place


def _fit(steps: Floats, regime: Regime, totals: Floats | None) -> tuple[Integers, Floats]:
    """Give each cell's row, and what its units must be multiplied by to stay above zero."""
    anchors = regime.table.counts[1:]
    factor = np.ones(len(steps))
    if totals is None:
        return np.full(len(steps), anchors[-1], np.int64), factor
    unit = np.zeros(len(steps))
    for column in steps.T:  # in this order everywhere
        unit = unit + column
    least = float(anchors[0]) + regime.margin
    shrinks = totals < least * unit
    np.divide(totals, least * unit, out=factor, where=shrinks)
    room = np.divide(totals, unit, out=np.full(len(steps), least), where=unit > 0)
    place = np.searchsorted(anchors, room - regime.margin, side="right") - 1
    return anchors[np.maximum(place, 0)], factor


def require_finite(magnitudes: Magnitudes, parts: Sequence[NDArray[Any]]) -> None:
    """Refuse amounts that are infinite or undefined."""
    if not all(np.isfinite(part).all() for part in parts):
        raise MagnitudeError(
            Message(
                "The variable {variable!r} has infinite or undefined amounts.",
                variable=Name(magnitudes.variable),
            ),
            hint=Message("leave such records out by a filter, or make their amounts missing"),
        )


def require_sound(magnitudes: Magnitudes, noise: MagnitudeNoise) -> None:
    """Refuse amounts that are infinite, and negative ones unless they are declared."""
    parts = [magnitudes.total, magnitudes.raw_total, magnitudes.weighted_contributors]
    parts += [magnitudes.top, magnitudes.top_weight, magnitudes.largest]
    parts += [magnitudes.low, magnitudes.high]
    require_finite(magnitudes, parts)
    if bool((magnitudes.top_weight < 0).any()):
        raise MagnitudeError(
            Message(
                "Some weights of {variable!r} are negative.",
                variable=Name(magnitudes.variable),
            )
        )
    if noise.signed:
        return
    if bool((magnitudes.low < 0).any() or (magnitudes.total < 0).any()):
        raise MagnitudeError(
            Message(
                "The variable {variable!r} has negative values, and its noise is for "
                "amounts that are not negative.",
                variable=Name(magnitudes.variable),
            ),
            hint=Message(
                "in a job file, signed = true in its [[magnitude]] lets them in (in "
                "Python, signed=True); totals may then cross zero"
            ),
        )


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
            Message(
                "The p-table of sensitive cells must have noise on both sides in every row "
                "but the first."
            ),
            hint=Message("use a p-table with a variance above 0"),
        )
    sizes = [
        least_noise
        + Fraction(abs(sum(v * n for v, n in side.items())), step * sum(side.values()))
        for side in (up, down)
    ]
    shares = {}
    for side, other in ((down, sizes[0]), (up, sizes[1])):
        chance = other / (sizes[0] + sizes[1])
        for v, n in side.items():
            shares[v] = chance * Fraction(n, sum(side.values())) * _KEYS
    counts, running, total = {}, Fraction(0), 0
    for v in sorted(shares):
        running += shares[v]
        counts[v] = round(running) - total
        total += counts[v]
    return counts
