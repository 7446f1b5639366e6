"""A thin difference in the words of categories."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CellName:
    """A published cell, or what is left of it without another one, in public words.

    Parameters
    ----------
    table
        Name of the table.
    entry
        Number of the table in the ledger, or None while it is only asked for.
    where
        The table's filter.
    categories
        Column and category of every dimension.
    without
        For a complement, the column and the category that are left out.

    Examples
    --------
    >>> print(CellName(table="t", categories=(("sex", "F"),), where="age > 14"))
    sex=F where age > 14 in 't'
    """

    table: str
    entry: int | None = None
    where: str | None = None
    categories: tuple[tuple[str, str], ...] = ()
    without: tuple[tuple[str, str], ...] = ()

    @property
    def words(self) -> str:
        """The categories, without table and filter."""
        words = ", ".join(f"{column}={label}" for column, label in self.categories)
        if self.without:
            left_out = ", ".join(f"{column}={label}" for column, label in self.without)
            words = f"{words} without {left_out}"
        return words or "all records"

    def __str__(self) -> str:
        where = f" where {self.where}" if self.where else ""
        number = "" if self.entry is None else f" (entry {self.entry})"
        return f"{self.words}{where} in {self.table!r}{number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinPair:
    """Two sets of records, both published or derivable, that differ by few records.

    Parameters
    ----------
    cell
        The one asked for, or published later.
    published
        The one published before.

    Examples
    --------
    >>> new = CellName(table="b", categories=(("zone", "1"),))
    >>> old = CellName(table="a", entry=1, categories=(("commune", "1"),))
    >>> print(ThinPair(cell=new, published=old))
    zone=1 in 'b' ~ commune=1 in 'a' (entry 1)
    """

    cell: CellName
    published: CellName

    def __str__(self) -> str:
        return f"{self.cell} ~ {self.published}"
