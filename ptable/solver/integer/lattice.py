"""Which sums whole numbers can have at all, whatever their range: exact linear algebra."""

from collections.abc import Sequence
from typing import TypeAlias

#: Columns in echelon form, each with the first row in which it is not zero.
Basis: TypeAlias = tuple[tuple[int, tuple[int, ...]], ...]


def basis_of(rows: Sequence[Sequence[int]]) -> Basis:
    """Find a basis of all sums that whole numbers of either sign can have."""
    columns = [list(column) for column in zip(*rows, strict=True)]
    basis = []
    for row in range(len(rows)):
        while True:
            active = sorted(
                (column for column in columns if column[row]), key=lambda c: (abs(c[row]), c)
            )
            if len(active) < 2:
                break
            pivot = active[0]
            for column in active[1:]:
                times = column[row] // pivot[row]
                column[:] = [a - times * b for a, b in zip(column, pivot, strict=True)]
        if active:
            pivot = active[0]
            columns.remove(pivot)
            sign = 1 if pivot[row] > 0 else -1
            basis.append((row, tuple(sign * a for a in pivot)))
    return tuple(basis)


def coordinates(basis: Basis, sums: Sequence[int]) -> tuple[int, ...] | None:
    """Express sums in a basis, or say with None that no whole numbers have them."""
    rest, places = list(sums), []
    for row, column in basis:
        times, left_over = divmod(rest[row], column[row])
        if left_over:
            return None
        places.append(times)
        rest = [a - times * b for a, b in zip(rest, column, strict=True)]
    return None if any(rest) else tuple(places)


def next_values(basis: Basis, sums: Sequence[int]) -> tuple[int, int] | None:
    """Give one value that the next sum can have after given ones, and their spacing."""
    n_sums = len(sums)
    fixed = tuple((row, column) for row, column in basis if row < n_sums)
    places = coordinates(tuple((row, column[:n_sums]) for row, column in fixed), sums)
    if places is None:
        return None
    start = sum(t * column[n_sums] for t, (_, column) in zip(places, fixed, strict=True))
    spacing = next((column[n_sums] for row, column in basis if row == n_sums), 0)
    return (start % spacing, spacing) if spacing else (start, 0)
