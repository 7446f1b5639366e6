"""What may go into a file: a table that says what it means, and nothing beside it."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckm.engine.published_table import PublishedTable
from ckm.engine.streamed_table import StreamedTable
from ckm.errors import FormatError
from ckm.formats.about import TableAbout, is_text
from ckm.formats.words import MISSING
from footing.messages import Message, Name, Shape, said

_EXACT = 2**53
_DECIMAL = ("weighted", "sum_", "mean_", "median_", "quantile_")


def checked(table: PublishedTable) -> PublishedTable:
    """Check a table, and leave out categories that no row shows, since their names may tell."""
    _check_columns(table)
    if isinstance(table, StreamedTable):  # it has the categories of its rows and no others
        for name, (codes, categories) in table.dimensions.items():
            _check_categories(name, codes, categories, len(codes))
        return table
    dimensions = {}
    for name, (codes, categories) in table.dimensions.items():
        _check_categories(name, codes, categories, table.n_rows)
        dimensions[name] = _used(codes, categories)
    for name, values in table.measures.items():
        _check_numbers(name, values, table.n_rows)
    return PublishedTable(dimensions=dimensions, measures=table.measures)


def _check_columns(table: PublishedTable) -> None:
    if not table.measures:
        raise FormatError(Message("A table has at least one measure."))
    if len(set(table.columns)) < len(table.columns):
        raise FormatError(Message("Two columns of the table have the same name."))
    if not all(map(is_text, table.columns)):
        raise FormatError(Message("A name of a column is no text that can be encoded."))


def _check_categories(
    name: str, codes: NDArray[np.int32], categories: Sequence[str], size: int
) -> None:
    if len(codes) != size:
        raise FormatError(
            Message(
                "Column {name!r} has {number:,} rows, the table {size:,}.",
                name=Name(name),
                number=len(codes),
                size=size,
            )
        )
    if len(set(categories)) < len(categories):
        raise FormatError(
            Message(
                "Categories of column {name!r} repeat: its rows cannot be told apart.",
                name=Name(name),
            ),
            hint=Message("give each category a name of its own"),
        )
    if not all(map(is_text, categories)):
        raise FormatError(
            Message(
                "A category of column {name!r} is no text that can be encoded.",
                name=Name(name),
            )
        )
    if size and not (int(codes.min()) >= 0 and int(codes.max()) < len(categories)):
        raise FormatError(
            Message("Column {name!r} has rows without a category.", name=Name(name))
        )


def _used(codes: NDArray[np.int32], categories: Sequence[str]) -> tuple[Any, list[str]]:
    is_used = np.bincount(codes, minlength=len(categories)) > 0
    if is_used.all():
        return codes, list(categories)
    place = (np.cumsum(is_used) - 1).astype(np.int32)
    texts = [text for text, keep in zip(categories, is_used, strict=True) if keep]
    return place[codes], texts


def _check_numbers(name: str, values: NDArray[Any], size: int) -> None:
    if values.dtype not in (np.dtype(np.int64), np.dtype(np.float64)) or values.ndim != 1:
        raise FormatError(
            Message(
                "Measure {name!r} holds {dtype}; counts are int64, others float64.",
                name=Name(name),
                dtype=Shape(values.dtype),
            )
        )
    if len(values) != size:
        raise FormatError(
            Message(
                "Measure {name!r} has {number:,} rows, the table {size:,}.",
                name=Name(name),
                number=len(values),
                size=size,
            )
        )
    if values.dtype == np.float64 and not np.isfinite(shown(values)).all():
        raise FormatError(
            Message(
                "Measure {name!r} holds numbers that are none, or infinite.",
                name=Name(name),
            ),
            hint=Message("mask numbers that are suppressed: numpy.ma.masked_invalid(…)"),
        )


def shown(values: NDArray[Any]) -> NDArray[Any]:
    """Return the numbers with zeros for suppressed ones."""
    return np.ma.filled(values, 0) if isinstance(values, np.ma.MaskedArray) else values


def hidden(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which numbers are suppressed."""
    return np.asarray(np.ma.getmaskarray(values))


def masked(values: NDArray[Any], mask: NDArray[np.bool_]) -> NDArray[Any]:
    """Return numbers as they are where none is suppressed, else masked, zeros underneath."""
    if not mask.any():
        return values
    return np.ma.array(np.where(mask, 0, values).astype(values.dtype), mask=mask)


def encoded(texts: Sequence[str]) -> tuple[NDArray[np.int32], list[str]]:
    """Code texts by first appearance."""
    places: dict[str, int] = {}
    codes = np.fromiter(
        (places.setdefault(text, len(places)) for text in texts), np.int32, len(texts)
    )
    return codes, list(places)


def is_weighted(name: str) -> bool:
    """Return whether a measure holds decimals where its numbers alone do not tell."""
    return name.startswith(_DECIMAL)


def require_doubles(table: PublishedTable, what: str) -> None:
    """Refuse whole numbers that a double cannot hold."""
    for name, values in table.measures.items():
        numbers = shown(values)
        if (
            values.dtype == np.int64
            and numbers.size
            and max(-int(numbers.min()), int(numbers.max())) > _EXACT
        ):
            raise FormatError(
                Message(
                    "{what} holds whole numbers up to 2^53, measure {name!r} larger ones.",
                    what=said(what),
                    name=Name(name),
                ),
                hint=Message("choose CSV or Parquet"),
            )


def free_name(name: str, names: Collection[str]) -> str:
    """Return a name that no column has."""
    while name in names:
        name += "_"
    return name


def labelled(table: PublishedTable, about: TableAbout) -> PublishedTable:
    """Return a table for people: under labels, a column of codes beside each of labels."""
    texts: dict[str, tuple[NDArray[np.int32], Sequence[str]]] = {}
    for name, (codes, categories) in table.dimensions.items():
        head, labels = about.labels.get(name, name), about.category_labels.get(name, {})
        words = [labels.get(text, text) for text in categories]
        texts[free_name(head, texts)] = codes, words
        plain = {about.totals.get(name), MISSING}  # whose codes tell people nothing
        if any(labels.get(text, text) != text for text in {*categories} - plain):
            texts[free_name(f"{head} (code)", texts)] = codes, categories
    numbers: dict[str, NDArray[Any]] = {}
    for name, values in table.measures.items():
        unit = about.units.get(name, about.unit)
        head = about.labels.get(name, name) + (f" ({unit})" if unit else "")
        numbers[free_name(head, [*texts, *numbers])] = values
    return PublishedTable(dimensions=texts, measures=numbers)
