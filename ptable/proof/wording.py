"""A guarantee in plain words."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context
from typing import TYPE_CHECKING

from ptable.lookup import cycle_length

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ptable.proof.guarantees import Guarantee
    from ptable.table import PTable

_SHOWN = 8
_FOUR_DIGITS = Context(prec=4, rounding=ROUND_CEILING)


def describe(proof: Guarantee) -> str:
    """Say what a p-table guarantees, one sentence a line."""
    lines = [_noise(proof), f"Always published as they are: {_unchanged(proof)}"]
    if not proof.has_privacy:
        return "\n".join([*lines, "Privacy is not defined for tables of magnitudes."])
    lines.append(f"Never published: {_blocked(proof)}")
    return "\n".join([*lines, *_privacy(proof)])


def upwards(number: float) -> str:
    """Write four digits of a guarantee, never less than what it prints as.

    Parameters
    ----------
    number
        A delta or an epsilon.

    Examples
    --------
    >>> upwards(0.60193), upwards(0.2), upwards(float("inf"))
    ('0.602', '0.2', 'inf')
    """
    return f"{float(_FOUR_DIGITS.create_decimal(repr(float(number)))):g}"


def _noise(proof: Guarantee) -> str:
    least = min(row.least_noise for row in proof.rows)
    greatest = max(row.greatest_noise for row in proof.rows)
    worst = max(proof.rows, key=lambda row: abs(row.mean))
    bias = "its mean is exactly 0 for every count"
    if worst.mean:
        bias = f"its mean is not always 0: {float(worst.mean):.4g} for count {worst.count}"
    return f"Noise lies between {float(least):g} and {float(greatest):g}; {bias}."


def _unchanged(proof: Guarantee) -> str:
    first = _cycle_start(proof.table)
    from_here = [row.count for row in proof.rows if row.count >= first and row.p_stay == 1]
    if proof.table.large_counts != "last":
        return _sentence(_listed(proof.unchanged, goes_on=bool(from_here)))
    return _sentence(_listed(proof.unchanged) + (" and all larger" if from_here else ""))


def _blocked(proof: Guarantee) -> str:
    """List blocked counts as far as they can differ from those that follow."""
    table = proof.table
    from_here = table.n_rows + table.max_noise
    cycle = table.n_rows - _cycle_start(table)
    blocked = proof.never_published(from_here + cycle - 1)
    goes_on = bool(blocked) and blocked[-1] >= from_here
    return _sentence(_listed(blocked, goes_on=goes_on))


def _cycle_start(table: PTable) -> int:
    """Give the first row that serves larger counts."""
    return table.n_rows - cycle_length(table.large_counts, n_rows=table.n_rows)


def _privacy(proof: Guarantee) -> list[str]:
    worst = max(proof.rows, key=lambda row: row.delta or 0.0)
    where = f"counts {worst.count} and {worst.count + 1}"
    figure = f"delta is {upwards(worst.delta or 0.0)} at epsilon {proof.epsilon:g}"
    epsilon = max(row.epsilon for row in proof.rows if row.epsilon is not None)
    return [
        f"One record more or less in a cell: {figure}, worst for {where}.",
        _reached(proof.delta, epsilon),
        _reached(0, proof.pure_epsilon),
    ]


def _reached(delta: float, epsilon: float) -> str:
    if epsilon == math.inf:
        return f"No epsilon gives delta {delta:g}."
    return f"Delta {delta:g} takes epsilon {upwards(epsilon)}."


def _listed(counts: Sequence[int], *, goes_on: bool = False) -> str:
    numbers = ", ".join(map(str, counts[:_SHOWN])) or "none"
    return f"{numbers}, …" if len(counts) > _SHOWN or goes_on else numbers


def _sentence(words: str) -> str:
    return words if words.endswith("…") else f"{words}."
