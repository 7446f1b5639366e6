"""How the engine spends its budget and its time."""

from __future__ import annotations

import math
from dataclasses import dataclass

from synth.errors import SynthError

_EXACT = 1 - 1e-9  # shares of the budget are rounded; what they lose stays unspent


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How the engine spends its budget and its time. None of it depends on the records.

    Parameters
    ----------
    margin_share
        Share of the budget for margins.
    choice_share
        Share of the rest for choosing tables.
    slack, margin_slack
        How far the model may stay from a table, from a margin, at no cost, in scales of noise.
    softness
        See `fit_potentials`.
    max_groups
        The most groups of an ordered column; one without order may have twice as many.
    least_group
        The smallest group, in scales of the noise of tables.
    most_cells
        How many cells the cliques of the model may have together.
    thrift
        What a table that fills the model wholly must gain to be as good as one that does not
        make it larger, as a share of the records.
    tables
        How many tables to measure; by default more, the larger the budget and the data.
    rounds
        In how many rounds after the first.
    steps
        How often each round improves the potentials; the last one three times as often.

    Examples
    --------
    >>> Settings(tables=9).how_many(1000.0, columns=4, rho=0.5)
    9
    """

    margin_share: float = 0.3
    choice_share: float = 0.1
    slack: float = 2.0
    margin_slack: float = 0.7
    softness: float = 1.0
    max_groups: int = 16
    least_group: float = 2.0
    most_cells: int = 60_000
    thrift: float = 0.1
    tables: int | None = None
    rounds: int = 5
    steps: int = 60

    def __post_init__(self) -> None:
        shares = self.margin_share, self.choice_share
        whole = self.max_groups, self.most_cells, self.rounds, self.steps
        others = self.slack, self.margin_slack, self.least_group, self.thrift
        finite = all(0 <= other < math.inf for other in others)
        if not (all(0 < share < 1 for share in shares) and finite):
            raise SynthError("Shares lie between 0 and 1; slacks, sizes and thrift are finite.")
        if min(whole) < 1 or not 0 < self.softness < math.inf or (self.tables or 0) < 0:
            raise SynthError("Numbers of groups, cells, rounds and steps are positive.")

    def margin_price(self, rho: float, *, margins: int) -> float:
        """Return what one margin may cost.

        Parameters
        ----------
        rho
            The budget.
        margins
            How many margins are measured.

        Examples
        --------
        >>> round(Settings().margin_price(1.0, margins=3), 6)
        0.1
        """
        return _EXACT * self.margin_share * rho / max(margins, 1)

    def table_price(self, rho: float, *, tables: int) -> float:
        """Return what one table may cost, without its choice.

        Parameters
        ----------
        rho
            The budget.
        tables
            How many tables are measured.

        Examples
        --------
        >>> round(Settings().table_price(1.0, tables=7), 6)
        0.09
        """
        return self._round_price(rho, tables) * (1 - self.choice_share)

    def choice_price(self, rho: float, *, tables: int) -> float:
        """Return what the choice of one table may cost.

        Parameters
        ----------
        rho
            The budget.
        tables
            How many tables are measured.

        Examples
        --------
        >>> round(Settings().choice_price(1.0, tables=7), 6)
        0.01
        """
        return self._round_price(rho, tables) * self.choice_share

    def how_many(self, records: float, *, columns: int, rho: float) -> int:
        """Return how many tables to measure: more, the more records stand out from noise.

        Parameters
        ----------
        records
            The number of records, from noisy counts.
        columns
            How many columns there are.
        rho
            The budget.

        Examples
        --------
        >>> Settings().how_many(32_000.0, columns=14, rho=0.03)
        35
        """
        if columns < 2:
            return 0
        if self.tables is not None:
            return self.tables
        signal = math.log2(max(records * math.sqrt(rho), 2.0)) / 5
        return max(columns - 1, round(columns * min(signal, (columns - 1) / 2)))

    def _round_price(self, rho: float, tables: int) -> float:
        return _EXACT * (1 - self.margin_share) * rho / max(tables, 1)
