"""Columns that are made of others before anything is tabulated, as SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from footing.messages import Message, Name
from tables.filtering.filters import quote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tables.source.source import Source


def asked_column(variable: str) -> str:
    """Name the column of what those contribute to a variable who asked for protection."""
    return Message("{variable} (asked)", variable=Name(variable))


def asked_columns(source: Source, variable: str, column: str) -> dict[str, str]:
    """Return what records of those contribute who asked, by the name of the column."""
    own, flag = source.number_sql(variable), quote(column)
    is_asked = f"coalesce({flag}::INTEGER, 0) <> 0"
    sql = f"CASE WHEN {is_asked} THEN {own} WHEN {own} IS NOT NULL THEN 0 END"
    return {asked_column(variable): sql}


def size_column(variable: str) -> str:
    """Name the column of absolute amounts of a variable of either sign."""
    return f"{variable} (absolute)"


def size_columns(source: Source, variable: str) -> dict[str, str]:
    """Return absolute amounts, by the name of their column."""
    return {size_column(variable): f"abs({source.number_sql(variable)})"}


def holding_columns(name: str, column: str, *, key: str | None) -> dict[str, str]:
    """Return the contributor of each record: its holding, or itself where it has none."""
    own = "row_number() OVER ()" if key is None else quote(key)
    sql = f"coalesce('h ' || {quote(column)}::VARCHAR, 'r ' || ({own})::VARCHAR)"
    return {name: sql}


def given_columns(
    source: Source, variable: str, *, n: str | None, largest: Sequence[str], asked: str | None
) -> dict[str, str]:
    """Return the columns of a table of cells under the names that it is read by.

    A contributor of 0 is none: where all of them are among the largest, those are counted.
    """
    columns = {
        f"{variable}_{rank}": source.number_sql(name)
        for rank, name in enumerate(largest, start=1)
    }
    if n is not None:
        number = f"{source.number_sql(n)}::BIGINT"
        some = " + ".join(
            f"(coalesce({source.number_sql(c)}, 0) <> 0)::BIGINT" for c in largest
        )
        if largest:
            few = f"WHEN {number} <= {len(largest)} THEN least({number}, {some})"
            number = f"CASE {few} ELSE {number} END"
        columns[f"{variable}_n"] = number
    if asked is not None:
        name, value = asked_column(variable), f"coalesce({source.number_sql(asked)}, 0)"
        columns |= {name: value, f"{name}_n": f"({value} <> 0)::BIGINT", f"{name}_1": value}
    return columns
