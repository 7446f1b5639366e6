"""The records that a private model learns from or predicts: columns it declares, no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpsgd.errors import TrainingDataError
from tables.filtering.filters import quote
from tables.source.source import open_source

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pyarrow as pa

    from tables.source.source import Source


def read_columns(path: Path, *, names: Sequence[str], table: str | None = None) -> pa.Table:
    r"""Return columns of a file, in its order of records; texts without blanks around them.

    How a value is read depends on nothing but that value: one record must not be able to turn
    the column of all others from numbers into texts.
    """
    with open_source(path, table=table, threads=1, is_text=True) as source:
        _require(source, names)
        wanted = ", ".join(_selected(source, name) for name in names)
        # Names are quoted.
        return source.arrow(f"SELECT {wanted} FROM {source.relation}")  # noqa: S608


def check_columns(path: Path, *, names: Sequence[str], table: str | None = None) -> None:
    r"""Refuse a file without these columns; no value is looked at."""
    with open_source(path, table=table, threads=1, is_text=True) as source:
        _require(source, names)


def _require(source: Source, names: Sequence[str]) -> None:
    if missing := [name for name in names if name not in source.columns]:
        raise TrainingDataError(
            f"{source.label!r} lacks {', '.join(map(repr, missing))}.",
            hint=f"it has {', '.join(map(repr, [*source.columns][:20]))}",
        )


def _selected(source: Source, name: str) -> str:
    quoted = quote(name)
    if source.columns[name] == "VARCHAR":
        return f"nullif(trim({quoted}), '') AS {quoted}"
    return quoted
