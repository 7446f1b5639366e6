"""Medians and other quantiles: means of a few neighbours around a rank with noise."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from ckm.engine.key_mixing import siphash
from ckm.engine.published_table import round_to_unit
from ckm.engine.request import quantile_of
from ckm.errors import ConfigError, InternalError
from footing.messages import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ckm.engine.magnitudes.settings import VariableNoises
    from footing.arrays import Floats, Integers, Words
    from ptable import PTable
    from tables import Cells, Secret

    #: A column and ranks of cells → the values that have these ranks.
    Values = Callable[[str, Integers], Floats]

_HALF = 2  # neighbours on either side of the rank that are averaged with it
_BEYOND = 5  # records that lie beyond them on either side, whatever the noise


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileNoise:
    """How one quantile of a variable is protected in every cell.

    Parameters
    ----------
    variable
        The column.
    share
        The share of records at or below the quantile, as it is written: ``"0.5"``.
    ptable
        The p-table of counts, whose last row is the noise of ranks.
    period
        The period of the amounts.
    """

    variable: str
    share: str
    ptable: PTable
    period: str = ""

    def __post_init__(self) -> None:
        if len(self.ptable.units(self._last)) < 2:
            raise ConfigError(
                Message(
                    "The p-table leaves large counts as they are, and ranks with them: "
                    "quantiles would be published without noise."
                ),
                hint=Message(
                    "publish sums and means, or take a p-table with noise in its last row"
                ),
            )

    @property
    def least_count(self) -> int:
        """The least published count of a cell whose quantile is published.

        Examples
        --------
        >>> from ptable import NoiseSpec, solve
        >>> table = solve(NoiseSpec(max_noise=5, variance=3.0))
        >>> QuantileNoise(variable="income", share="0.5", ptable=table).least_count
        30
        """
        most = max(map(abs, self.ptable.units(self._last)))
        share, below = Fraction(self.share), _BEYOND + _HALF + most
        # ceil(share n) > below, and n - ceil(share n) >= below, for every true count n.
        records = max(below // share + 1, -(-below // (1 - share)))
        return int(records) + self.ptable.max_noise

    def ranks(self, cells: Cells) -> Integers:
        """Return the rank of the quantile in every cell, counted from 1, without noise."""
        share = Fraction(self.share)
        return -(-cells.count * share.numerator // share.denominator)

    def noise(self, cell_keys: Words, *, secret: Secret) -> Integers:
        """Return the noise of these ranks."""
        content = ["ckm quantile v1", self.variable, self.period, self.share]
        text = json.dumps(content, separators=(",", ":"))
        key = np.frombuffer(secret.derive(text)[:16], "<u8")
        numbers = (siphash(cell_keys, key) >> np.uint64(32)).astype(np.uint32)
        return self.ptable.lookup(np.full(len(numbers), self._last), numbers)

    def windows(self, cells: Cells, *, secret: Secret) -> Integers:
        """Return the ranks of the neighbours in every cell, around the rank with noise."""
        rank = self.ranks(cells) + self.noise(cells.cell_key, secret=secret)
        return np.asarray(rank[:, np.newaxis] + np.arange(-_HALF, _HALF + 1))

    @property
    def _last(self) -> int:
        return int(self.ptable.counts[-1])


def rounded_means(windows: Floats) -> Floats:
    """Return the means of lines of ascending values, rounded by the range of each line.

    The unit is the least 1, 2 or 5 times a power of ten that is no less than the range of a
    line over its length: a value moves the number by about one unit, wherever in the range it
    lies.
    """
    spread = windows[:, -1] - windows[:, 0]
    rounded = round_to_unit(windows.mean(axis=1), spread / windows.shape[1])
    return np.where(spread > 0, rounded, windows[:, 0]) + 0.0  # no minus before a zero


def quantile_noise(measure: str, *, ptable: PTable, noises: VariableNoises) -> QuantileNoise:
    """Return how a quantile such as ``"median:income"`` is protected."""
    pair = quantile_of(measure)
    if pair is None:
        raise InternalError(Message("A measure is protected as a quantile, and is none."))
    variable, share = pair
    return QuantileNoise(
        variable=variable, share=share, ptable=ptable, period=noises.period(variable)
    )


def published_quantiles(
    measures: Sequence[str],
    cells: Cells,
    published: Integers,
    values: Values,
    *,
    ptable: PTable,
    noises: VariableNoises,
    secret: Secret,
) -> dict[str, Floats]:
    """Return the published quantiles of cells, masked where the published count is too small.

    Parameters
    ----------
    measures
        The quantiles.
    cells, published
        The cells and their published counts.
    values
        Gives the values of ranks, in one scan for each variable.
    ptable, noises, secret
        What the noise is made of.
    """
    quantiles = {}
    quantile_noises = {m: quantile_noise(m, ptable=ptable, noises=noises) for m in measures}
    for variable in dict.fromkeys(noise.variable for noise in quantile_noises.values()):
        own = {m: noise for m, noise in quantile_noises.items() if noise.variable == variable}
        ranks = [noise.windows(cells, secret=secret) for noise in own.values()]
        windows = np.split(values(variable, np.hstack(ranks)), len(own), axis=1)
        for (measure, noise), window in zip(own.items(), windows, strict=True):
            mask = published < noise.least_count
            numbers = np.where(mask, 0.0, rounded_means(window))
            quantiles[measure] = np.ma.array(numbers, mask=mask)
    return {measure: quantiles[measure] for measure in measures}
