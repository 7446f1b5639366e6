"""What there is to say of each row of a p-table, in units and exactly."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from ptable.errors import PTableError
from ptable.lookup import cycle_length, serving_row
from ptable.pictures.words import ENGLISH, Wording, decimal, ranges

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ptable.table import PTable

_MAX_ROWS = 64
_FIRST_ROWS = 41
_TOLERANCE = Fraction(1, 1000)
_NOTE = re.compile(r"variance (\S+) instead of (\S+)")


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

    Examples
    --------
    >>> from ptable import PTable
    >>> row = row_facts(PTable.from_units([{0: 8}, {-1: 4, 1: 4}], key_range=8), 1)
    >>> row.name, row.variance, row.stays
    ('1 and more', Fraction(1, 1), Fraction(0, 1))
    """

    count: int
    name: str
    law: dict[int, Fraction]
    mean: Fraction
    variance: Fraction
    stays: Fraction
    flags: tuple[tuple[str, str], ...]


def row_facts(table: PTable, row: int, *, wording: Wording = ENGLISH) -> RowFacts:
    """Work out the figures of one row.

    Parameters
    ----------
    table
        The p-table.
    row
        The place of the row, from 0 on.
    wording
        The language.

    Examples
    --------
    >>> from ptable import PTable
    >>> table = PTable.from_units([{0: 4}, {0: 3, 1: 1}, {-1: 1, 0: 2, 1: 1}], key_range=4)
    >>> [words for words, _ in row_facts(table, 1).flags]
    ['variance differs', 'mean is not 0']
    """
    law = _law(table, row)
    mean, variance = _moments(table, row)
    return RowFacts(
        count=_count(table, row),
        name=row_name(table, row, wording=wording),
        law=law,
        mean=mean,
        variance=variance,
        stays=law.get(0, Fraction(0)),
        flags=tuple(_flags(table, row, mean, variance, wording=wording)),
    )


def _count(table: PTable, row: int) -> int:
    return row if table.anchors is None else table.anchors[row]


def _law(table: PTable, row: int) -> dict[int, Fraction]:
    units = table.units(_count(table, row))
    return {v: Fraction(units[v], table.key_range) for v in sorted(units)}


def _moments(table: PTable, row: int) -> tuple[Fraction, Fraction]:
    units = table.units(_count(table, row)).items()
    total = table.key_range * table.step
    mean = Fraction(sum(v * n for v, n in units), total)
    square = Fraction(sum(v * v * n for v, n in units), total * table.step)
    return mean, square - mean**2


def _flags(
    table: PTable, row: int, mean: Fraction, variance: Fraction, *, wording: Wording
) -> Iterable[tuple[str, str]]:
    """Say in what a row differs from its request or, where none is known, from the last."""
    words, figure = wording.words, wording.number
    found: dict[str, str] = {"count": row_name(table, row, wording=wording)}
    if table.certificate is not None:
        count = _count(table, row)
        for proof in table.certificate.rows:
            if proof.count == count and proof.note:
                found["note"] = _note(proof.note, wording)
                yield words("not as asked"), words("Count %(count)s: %(note)s.") % found
        return  # a mean other than 0 was declared, or the certificate would not hold
    found |= {"mean": figure(decimal(mean)), "variance": figure(decimal(variance))}
    if table.large_counts == "last" and (row > 0 or variance):
        _, last = _moments(table, table.n_rows - 1)
        if abs(variance - last) > _TOLERANCE * last:
            found["last"] = figure(decimal(last))
            sentence = words(
                "Count %(count)s: variance %(variance)s; the last row has %(last)s."
            )
            yield words("variance differs"), sentence % found
    if abs(mean) > _TOLERANCE:
        sentence = words("Count %(count)s: the noise has mean %(mean)s, not 0.")
        yield words("mean is not 0"), sentence % found


def _note(note: str, wording: Wording) -> str:
    """Say the note of a certificate in a language; one of a newer program stays as it is."""
    known = _NOTE.fullmatch(note)
    if known is None:
        return note
    got, asked = map(wording.number, known.groups())
    sentence = wording.words("variance %(got)s instead of %(asked)s")
    return sentence % {"got": got, "asked": asked}


def row_name(table: PTable, row: int, *, wording: Wording = ENGLISH) -> str:
    """Name a row by the counts that it serves.

    Parameters
    ----------
    table
        The p-table.
    row
        The place of the row, from 0 on.
    wording
        The language.

    Examples
    --------
    >>> from ptable import PTable
    >>> row_name(PTable.from_units([{0: 8}], key_range=8), 0)
    '0 and more'
    """
    is_open = row == table.n_rows - 1 and table.large_counts == "last"
    count = str(_count(table, row))
    return wording.words("%(count)s and more") % {"count": count} if is_open else count


def row_of(table: PTable, count: int) -> int:
    """Find the row that serves a count.

    Parameters
    ----------
    table
        The p-table.
    count
        The original count, 0 or more.

    Examples
    --------
    >>> from ptable import PTable
    >>> table = PTable.from_units([{0: 8}] * 3, key_range=8, large_counts="cycle:2")
    >>> [row_of(table, count) for count in range(6)]
    [0, 1, 2, 1, 2, 1]
    """
    n_rows = table.n_rows
    if table.anchors is None:
        cycle = cycle_length(table.large_counts, n_rows=n_rows)
        return serving_row(count, n_rows=n_rows, cycle=cycle)
    if count > table.anchors[-1]:
        return n_rows - 1
    if count not in table.anchors:
        raise PTableError(
            f"Count {count} has no row; there are rows for {ranges(table.anchors)}.",
            hint="a magnitude between two rows takes a mixture of both",
        )
    return table.anchors.index(count)


def chosen_rows(table: PTable, most: int = _MAX_ROWS) -> list[int]:
    """Choose the rows that are drawn: all, or the first ones and the one for large counts.

    Parameters
    ----------
    table
        The p-table.
    most
        How many rows there is room for.

    Examples
    --------
    >>> from ptable import PTable
    >>> chosen_rows(PTable.from_units([{0: 8}] * 90, key_range=8))[-2:]
    [39, 89]
    """
    if table.n_rows <= most:
        return list(range(table.n_rows))
    first = min(_FIRST_ROWS, most)
    if table.large_counts != "last":
        return list(range(first))
    return [*range(first - 1), table.n_rows - 1]


def table_notes(table: PTable, rows: Sequence[int], *, wording: Wording = ENGLISH) -> list[str]:
    """Say which rows are not drawn and what happens beyond the last.

    Parameters
    ----------
    table
        The p-table.
    rows
        The rows that are drawn.
    wording
        The language.

    Examples
    --------
    >>> from ptable import PTable
    >>> table = PTable.from_units([{0: 8}] * 90, key_range=8)
    >>> table_notes(table, chosen_rows(table))
    ['Rows 40 to 88 are not drawn.']
    """
    words, notes = wording.words, []
    for before, after in pairwise([*rows, table.n_rows]):
        first, last = _count(table, before + 1) if after > before + 1 else 0, after - 1
        left_out = {"first": first, "last": _count(table, last)}
        if after > before + 2:
            notes.append(words("Rows %(first)s to %(last)s are not drawn.") % left_out)
        elif after > before + 1:
            notes.append(words("Row %(first)s is not drawn.") % left_out)
    if table.large_counts != "last":
        n_rows = table.n_rows
        start = n_rows - cycle_length(table.large_counts, n_rows=n_rows)
        cycle = {"count": n_rows, "first": start, "last": n_rows - 1}
        sentence = words("Counts from %(count)s on take rows %(first)s to %(last)s in turn.")
        notes.append(sentence % cycle)
    if table.anchors is not None:
        notes.append(words("A magnitude between two rows takes a mixture of both."))
    return notes


def never_published(table: PTable, first: int, last: int) -> set[int]:
    """Find the values that no count is published as, larger counts included, in steps.

    Parameters
    ----------
    table
        The p-table; one with anchors has none, as magnitudes in between are published too.
    first, last
        Where to look, in steps.

    Examples
    --------
    >>> from ptable import PTable
    >>> rows = [{0: 3}, {-1: 2, 2: 1}, {-2: 1, 1: 2}]
    >>> table = PTable.from_units(rows, key_range=3, large_counts="cycle:3")
    >>> sorted(never_published(table, 0, 6))
    [1, 2, 4, 5]
    """
    if table.anchors is not None:
        return set()
    reach, step = table.max_noise, table.step
    found: set[int] = set()
    for count in range(max(0, (first - reach) // step), (last + reach) // step + 1):
        found.update(count * step + v for v in set(table.noise[row_of(table, count)]))
    return set(range(max(first, 0), last + 1)) - found


def never_near(table: PTable, counts: Sequence[int], reach: int) -> set[int]:
    """Find the values within reach of some counts that no count is published as, in steps.

    Parameters
    ----------
    table
        The p-table.
    counts
        The counts, ascending.
    reach
        How far to look from each, in steps.

    Examples
    --------
    >>> from ptable import PTable
    >>> rows = [{0: 3}, {-1: 2, 2: 1}, {-2: 1, 1: 2}]
    >>> table = PTable.from_units(rows, key_range=3, large_counts="cycle:3")
    >>> sorted(never_near(table, [0, 1, 30], 1))
    [1, 2, 29, 31]
    """
    spans: list[tuple[int, int]] = []
    for count in counts:
        low, high = count * table.step - reach, count * table.step + reach
        if spans and low <= spans[-1][1]:
            low = spans.pop()[0]
        spans.append((low, high))
    return {j for low, high in spans for j in never_published(table, low, high)}


def span(rows: Sequence[RowFacts], *, wording: Wording = ENGLISH) -> str:
    """Say how many rows there are, and from which count to which.

    Parameters
    ----------
    rows
        The rows, ascending.
    wording
        The language.

    Examples
    --------
    >>> from ptable import PTable
    >>> span([row_facts(PTable.from_units([{0: 8}], key_range=8), 0)])
    'one row, for count 0 and more'
    """
    ends = {"rows": len(rows), "first": rows[0].name, "last": rows[-1].name}
    if len(rows) == 1:
        return wording.words("one row, for count %(first)s") % ends
    return wording.words("%(rows)s rows, from count %(first)s to %(last)s") % ends
