"""How 0.1.0 read CSV: the columns that it took for numbers and wrote otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tables.filtering.filters import quote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from duckdb import DuckDBPyRelation


def renamed_columns(file: str, columns: Sequence[str]) -> list[str]:
    """Name the columns of a CSV file whose values 0.1.0 wrote otherwise than the file.

    Parameters
    ----------
    file
        The file; one that is no CSV has none.
    columns
        Those to look at, as far as they are there.
    """
    import duckdb

    with duckdb.connect() as connection:
        try:
            texts = connection.read_csv(file, all_varchar=True)
            shared = [name for name in columns if name in texts.columns]
            return [name for name in shared if _was_renamed(texts, name)]
        except (duckdb.IOException, duckdb.InvalidInputException):
            return []


def _was_renamed(texts: DuckDBPyRelation, column: str) -> bool:
    """Tell whether 0.1.0 took a column for decimal numbers, and wrote one of them otherwise."""
    name = quote(column)
    number, whole = f"TRY_CAST({name} AS DOUBLE)", f"TRY_CAST({name} AS BIGINT)::VARCHAR"
    (answer,) = texts.aggregate(
        f"bool_and({name} IS NULL OR (isfinite({number}) IS TRUE "
        rf"AND NOT regexp_matches({name}, '^[+-]?0\d|^\s|\s$|^\+'))) "
        rf"AND (bool_and(NOT regexp_matches(coalesce({name}, ''), '\.\d+0$')) "
        f"OR count(DISTINCT length(split_part({name}, '.', 2))) = 1) "
        f"AND NOT bool_and({whole} IS NOT DISTINCT FROM {name}) "
        f"AND bool_or({number}::VARCHAR IS DISTINCT FROM {name})"
    ).fetchall()
    return bool(answer[0])
