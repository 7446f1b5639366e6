"""What a table lost on the way to a file and back, in exact numbers."""

import math
from fractions import Fraction
from typing import TypeAlias

from ptable.lookup import cycle_length, row_of
from ptable.table import PTable

_MAX_COMPARED = 20_000


def losses_between(table: PTable, again: PTable) -> tuple[str, ...]:
    """Name what differs between a table and what its file says."""
    moves = _Moves()
    has_anchors = table.anchors is not None or again.anchors is not None
    for row in range(table.n_rows):
        moves.add(table, row, again, row if has_anchors else row_of(again, row))
    losses = [*_moved(moves), *_large_counts(table, again)]
    if table.key_range != again.key_range:
        same = "" if losses else ", with the same noise for every key"
        losses.append(
            f"the key range, {table.key_range}, is not kept: it reads back as "
            f"{again.key_range}{same}"
        )
    if table.step != again.step:
        losses.append(f"the step, 1/{table.step}, is not kept: the noise needs 1/{again.step}")
    names = [
        name
        for name, before, after in (
            ("specification", table.spec, again.spec),
            ("certificate", table.certificate, again.certificate),
        )
        if before is not None and after is None
    ]
    if names:
        verb = "is" if len(names) == 1 else "are"
        losses.append(f"the {' and the '.join(names)} {verb} not kept")
    if table.label and again.label != table.label:
        losses.append(f"the label, {table.label!r}, is not kept")
    return tuple(losses)


#: Where each interval of a row ends, as a share of the keys, and its noise in units.
_Law: TypeAlias = list[tuple[Fraction, Fraction]]


class _Moves:
    """The largest differences between rows of two tables."""

    def __init__(self) -> None:
        self.threshold = self.mean = self.second = self.keys = Fraction(0)
        self.n_lost = 0
        self.has_same_order = True

    def add(self, table: PTable, row: int, again: PTable, other: int) -> None:
        """Compare two rows."""
        distribution, copy = _law(table, row), _law(again, other)
        if [v for _, v in distribution] == [v for _, v in copy]:
            distances = (abs(a - b) for (a, _), (b, _) in zip(distribution, copy, strict=True))
            self.threshold = max(self.threshold, *distances)
        else:
            self.has_same_order = False
            self.n_lost += max(0, len(distribution) - len(copy))
        self.keys = max(self.keys, _share(distribution, copy))
        self.mean = max(self.mean, abs(_moment(distribution, 1) - _moment(copy, 1)))
        self.second = max(self.second, abs(_moment(distribution, 2) - _moment(copy, 2)))


def _law(table: PTable, row: int) -> _Law:
    return [
        (Fraction(end, table.key_range), Fraction(v, table.step))
        for v, end in zip(table.noise[row], table.upper[row], strict=True)
    ]


def _share(distribution: _Law, other: _Law) -> Fraction:
    """Give the share of keys to which two rows give different noise."""
    share = start = Fraction(0)
    a = b = 0
    while a < len(distribution) and b < len(other):
        end = min(distribution[a][0], other[b][0])
        if distribution[a][1] != other[b][1]:
            share += end - start
        start = end
        a += distribution[a][0] == end
        b += other[b][0] == end
    return share


def _moment(distribution: _Law, power: int) -> Fraction:
    starts = [Fraction(0), *(end for end, _ in distribution)]
    terms = (
        (end - start) * v**power for start, (end, v) in zip(starts, distribution, strict=False)
    )
    return sum(terms, Fraction(0))


def _moved(moves: _Moves) -> list[str]:
    if not moves.keys:
        return []
    how = (
        f"thresholds move by at most {float(moves.threshold):.2g}"
        if moves.has_same_order
        else f"{moves.n_lost} intervals are too narrow to be kept"
    )
    loss = (
        f"probabilities are rounded: {how}, at most {float(moves.keys):.2g} of a row's keys "
        f"get other noise, a row's mean noise moves by at most {float(moves.mean):.2g} and its "
        f"mean square by at most {float(moves.second):.2g}"
    )
    return [loss]


def _large_counts(table: PTable, again: PTable) -> list[str]:
    """Say from which count on the two take different rows, beyond the rows of the first."""
    if table.anchors is not None or again.anchors is not None:
        return []
    cycles = [cycle_length(t.large_counts, n_rows=t.n_rows) for t in (table, again)]
    start = table.n_rows
    stop = max(table.n_rows, again.n_rows) + math.lcm(*cycles)
    compared: dict[tuple[int, int], bool] = {}
    for count in range(start, min(stop, start + _MAX_COMPARED)):
        pair = row_of(table, count), row_of(again, count)
        if pair not in compared:
            alike = _Moves()
            alike.add(table, pair[0], again, pair[1])
            # A rounded row is the same row; only another row is a loss of its own.
            own = _Moves()
            own.add(table, pair[0], again, row_of(again, pair[0]))
            compared[pair] = alike.keys <= own.keys
        if not compared[pair]:
            loss = (
                f"the rule for large counts, {table.large_counts!r}, is not kept: from count "
                f"{count} on the noise is that of other rows"
            )
            return [loss]
    if stop - start > _MAX_COMPARED and table.large_counts != again.large_counts:
        return [f"the rule for large counts, {table.large_counts!r}, may not be kept"]
    return []
