"""A guarantee in plain words."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context
from typing import TYPE_CHECKING

from footing.messages import Message, Name, joined
from ptable.lookup import cycle_length

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ptable.proof.guarantees import Guarantee
    from ptable.table import PTable

_SHOWN = 8
_FOUR_DIGITS = Context(prec=4, rounding=ROUND_CEILING)


def describe(proof: Guarantee) -> str:
    """Say what a p-table guarantees, one sentence a line."""
    return joined("\n", describe_lines(proof))


def describe_lines(proof: Guarantee) -> list[Message]:
    """Return the sentences of what a p-table guarantees."""
    lines = [
        _noise(proof),
        Message("Always published as they are: {counts}", counts=_unchanged(proof)),
    ]
    if not proof.has_privacy:
        lines.append(Message("Privacy is not defined for tables of magnitudes."))
        return lines
    lines.append(Message("Never published: {counts}", counts=_blocked(proof)))
    return [*lines, *_privacy(proof)]


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


def _noise(proof: Guarantee) -> Message:
    least = min(row.least_noise for row in proof.rows)
    greatest = max(row.greatest_noise for row in proof.rows)
    worst = max(proof.rows, key=lambda row: abs(row.mean))
    bias = Message("its mean is exactly 0 for every count")
    if worst.mean:
        bias = Message(
            "its mean is not always 0: {mean:.4g} for count {count}",
            mean=float(worst.mean),
            count=worst.count,
        )
    return Message(
        "Noise lies between {least:g} and {greatest:g}; {bias}.",
        least=float(least),
        greatest=float(greatest),
        bias=bias,
    )


def _unchanged(proof: Guarantee) -> Message:
    first = _cycle_start(proof.table)
    from_here = [row.count for row in proof.rows if row.count >= first and row.p_stay == 1]
    if proof.table.large_counts != "last":
        return _sentence(_listed(proof.unchanged, goes_on=bool(from_here)))
    counts = _listed(proof.unchanged)
    if from_here:
        return Message("{counts} and all larger.", counts=counts)
    return _sentence(counts)


def _blocked(proof: Guarantee) -> Message:
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


def _privacy(proof: Guarantee) -> list[Message]:
    worst = max(proof.rows, key=lambda row: row.delta or 0.0)
    epsilon = max(row.epsilon for row in proof.rows if row.epsilon is not None)
    return [
        Message(
            "One record more or less in a cell: delta is {delta} at epsilon {epsilon:g}, worst "
            "for counts {count} and {next}.",
            delta=_upwards(worst.delta or 0.0),
            epsilon=proof.epsilon,
            count=worst.count,
            next=worst.count + 1,
        ),
        _reached(proof.delta, epsilon),
        _reached(0, proof.pure_epsilon),
    ]


def _upwards(number: float) -> Message:
    return Message("{number:g}", number=float(upwards(number)))


def _reached(delta: float, epsilon: float) -> Message:
    if epsilon == math.inf:
        return Message("No epsilon gives delta {delta:g}.", delta=delta)
    return Message(
        "Delta {delta:g} takes epsilon {epsilon}.", delta=delta, epsilon=_upwards(epsilon)
    )


def _listed(counts: Sequence[int], *, goes_on: bool = False) -> Message:
    if not counts:
        return Message("none, …") if goes_on else Message("none")
    listed = [*Name.each(counts[:_SHOWN]), *[Name("…")] * (len(counts) > _SHOWN or goes_on)]
    return Message("{counts}", counts=listed)


def _sentence(words: Message) -> Message:
    return words if words.endswith("…") else Message("{words}.", words=words)
