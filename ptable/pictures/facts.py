"""What there is to say of each row of a p-table, in units and exactly."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from footing.messages import Message, Name
from ptable import lookup
from ptable.errors import PTableError
from ptable.lookup import cycle_length, moments
from ptable.pictures.words import decimal, ranges

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ptable.table import PTable

_MAX_ROWS = 64
_FIRST_ROWS = 41
_TOLERANCE = Fraction(1, 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFacts:
    """One row: its law and the figures that follow from it.

    Parameters
    ----------
    count
        The original count.
    name
        What the row is called: the count, with "and more" for a last row.
    law
        The probability of each noise, in steps; ascending.
    mean, variance
        Of the noise, in units and squared units.
    stays
        The probability that the count is published as it is.
    flags
        What is wrong with the row, each as a few words and a sentence; empty when nothing is.
    """

    count: int
    name: str
    law: dict[int, Fraction]
    mean: Fraction
    variance: Fraction
    stays: Fraction
    flags: tuple[tuple[str, str], ...]


def row_facts(table: PTable, row: int) -> RowFacts:
    """Work out the figures of one row."""
    distribution = _law(table, row)
    mean, variance = _moments(table, row)
    return RowFacts(
        count=_count(table, row),
        name=row_name(table, row),
        law=distribution,
        mean=mean,
        variance=variance,
        stays=distribution.get(0, Fraction(0)),
        flags=tuple(_flags(table, row, mean, variance)),
    )


def _count(table: PTable, row: int) -> int:
    return row if table.anchors is None else table.anchors[row]


def _law(table: PTable, row: int) -> dict[int, Fraction]:
    units = table.units(_count(table, row))
    return {v: Fraction(units[v], table.key_range) for v in sorted(units)}


def _moments(table: PTable, row: int) -> tuple[Fraction, Fraction]:
    mean, variance = moments(table.units(_count(table, row)), table.key_range)
    return mean / table.step, variance / table.step**2


def _flags(
    table: PTable, row: int, mean: Fraction, variance: Fraction
) -> Iterable[tuple[str, str]]:
    """Say in what a row differs from its request or, where none is known, from the last."""
    name = f"Count {row_name(table, row)}"
    if table.certificate is not None:
        count = _count(table, row)
        for proof in table.certificate.rows:
            if proof.count == count and proof.note:
                yield "not as asked", f"{name}: {proof.note}."
        return  # a mean other than 0 was declared, or the certificate would not hold
    if table.large_counts == "last" and (row > 0 or variance):
        _, last = _moments(table, table.n_rows - 1)
        if abs(variance - last) > _TOLERANCE * last:
            sentence = f"variance {decimal(variance)}; the last row has {decimal(last)}."
            yield "variance differs", f"{name}: {sentence}"
    if abs(mean) > _TOLERANCE:
        yield "mean is not 0", f"{name}: the noise has mean {decimal(mean)}, not 0."


def row_name(table: PTable, row: int) -> str:
    """Name a row by the counts that it serves."""
    is_open = row == table.n_rows - 1 and table.large_counts == "last"
    count = str(_count(table, row))
    return f"{count} and more" if is_open else count


def row_of(table: PTable, count: int) -> int:
    """Find the row that serves a count."""
    if table.anchors is None:
        return lookup.row_of(table, count)
    if count > table.anchors[-1]:
        return table.n_rows - 1
    if count not in table.anchors:
        raise PTableError(
            Message(
                "Count {count} has no row; there are rows for {ranges}.",
                count=count,
                ranges=Name(ranges(table.anchors)),
            ),
            hint=Message("a magnitude between two rows takes a mixture of both"),
        )
    return table.anchors.index(count)


def chosen_rows(table: PTable) -> list[int]:
    """Choose the rows that are drawn: all, or the first ones and the one for large counts."""
    if table.n_rows <= _MAX_ROWS:
        return list(range(table.n_rows))
    if table.large_counts != "last":
        return list(range(_FIRST_ROWS))
    return [*range(_FIRST_ROWS - 1), table.n_rows - 1]


def table_notes(table: PTable, rows: Sequence[int]) -> list[str]:
    """Say which rows are not drawn and what happens beyond the last."""
    notes: list[str] = []
    for before, after in pairwise([*rows, table.n_rows]):
        if after > before + 2:
            first, last = _count(table, before + 1), _count(table, after - 1)
            notes.append(
                Message("Rows {first} to {last} are not drawn.", first=first, last=last)
            )
        elif after > before + 1:
            notes.append(Message("Row {count} is not drawn.", count=_count(table, before + 1)))
    if table.large_counts != "last":
        n_rows = table.n_rows
        start = n_rows - cycle_length(table.large_counts, n_rows=n_rows)
        notes.append(
            Message(
                "Counts from {n_rows} on take rows {start} to {n_rows_2} in turn.",
                n_rows=n_rows,
                start=start,
                n_rows_2=n_rows - 1,
            )
        )
    if table.anchors is not None:
        notes.append(Message("A magnitude between two rows takes a mixture of both."))
    return notes


def never_published(table: PTable, first: int, last: int) -> set[int]:
    """Find the values that no count is published as, larger counts included, in steps."""
    if table.anchors is not None:
        return set()
    reach, step = table.max_noise, table.step
    values: set[int] = set()
    for count in range(max(0, (first - reach) // step), (last + reach) // step + 1):
        values.update(count * step + v for v in set(table.noise[row_of(table, count)]))
    return set(range(max(first, 0), last + 1)) - values


def never_near(table: PTable, counts: Sequence[int], reach: int) -> set[int]:
    """Find the values within reach of some counts that no count is published as, in steps."""
    spans: list[tuple[int, int]] = []
    for count in counts:
        low, high = count * table.step - reach, count * table.step + reach
        if spans and low <= spans[-1][1]:
            low = spans.pop()[0]
        spans.append((low, high))
    return {j for low, high in spans for j in never_published(table, low, high)}


def span(rows: Sequence[RowFacts]) -> str:
    """Say how many rows there are, and from which count to which."""
    if len(rows) == 1:
        return f"one row, for count {rows[0].name}"
    return f"{len(rows)} rows, from count {rows[0].name} to {rows[-1].name}"


def bin_width(reach: int, most: int) -> int:
    """Say how many neighbouring noise values share a column; an odd number keeps 0 central."""
    wide = 1
    while 2 * ((reach + wide // 2) // wide) + 1 > most:
        wide += 2 if wide < 99 else wide - wide % 2
        wide += 1 - wide % 2
    return wide


def binned(distribution: Mapping[int, Fraction], wide: int) -> dict[int, Fraction]:
    """Sum the probabilities of neighbouring noise values; the bin of 0 is 0."""
    bins: dict[int, Fraction] = {}
    for v, p in distribution.items():
        place = (v + wide // 2) // wide
        bins[place] = bins.get(place, Fraction(0)) + p
    return bins
