"""From a table to numbers, by the schema alone: nothing is learnt from the data."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsgd.errors import TrainingDataError
from dpsgd.schema import Category, Number, Schema
from footing.arrays import Floats
from footing.messages import Message, Name


def features(table: Any, *, schema: Schema) -> NDArray[np.float32]:
    """Return a row of numbers for each record, of length about one at most.

    Numbers are moved into their bounds and scaled; each cut adds an indicator of what lies
    from it on; each code adds one; so does absence, where it is declared. What is absent
    without being declared counts as the middle of the bounds, or as no code. A column with a
    reference adds nothing where it has that value: numbers and indicators of cuts are counted
    from it, the reference code adds no indicator, and what is absent counts as it.
    """
    pieces = [_encoded(column_of(table, column.name), column) for column in schema.columns]
    pieces.append(np.ones((len(pieces[0]), 1), np.float32))
    rows: NDArray[np.float32] = np.concatenate(pieces, axis=1)
    # One number for all rows, so that linear models stay linear.
    return rows / np.float32(len(pieces) ** 0.5)


def widths(schema: Schema) -> list[int]:
    """Return how many numbers each column becomes; one that is always 1 follows."""
    return [
        c.may_be_missing + (1 + len(c.cuts or ()) if isinstance(c, Number) else len(_codes(c)))
        for c in schema.columns
    ]


def _codes(column: Category) -> list[str]:
    """Return the values that have an indicator."""
    reference = None if column.reference is None else str(column.reference)
    return [str(value) for value in column.values if str(value) != reference]


def targets(values: Any, *, column: Number | Category) -> NDArray[Any]:
    """Return the places of codes in their list, or numbers scaled from -1 to 1."""
    array = np.asarray(values, dtype=object)
    if isinstance(column, Number):
        return scaled(_numbers(array, column.name), column)
    places: dict[str | None, int] = {
        str(value): place for place, value in enumerate(column.values)
    }
    codes = np.array([places.get(_text(value), -1) for value in array], dtype=np.int64)
    if (codes < 0).any():
        raise TrainingDataError(
            Message(
                "The target {column!r} holds values that the schema does not list.",
                column=Name(column.name),
            ),
            hint=Message("list every code of the classification, or leave such records out"),
        )
    return codes


def column_of(table: Any, name: str) -> NDArray[Any]:
    """Return a column of a table."""
    if hasattr(table, "__arrow_c_stream__"):
        import pyarrow as pa

        table = pa.table(table)
        names = table.column_names
    elif hasattr(table, "keys"):
        names = [str(key) for key in table.keys()]  # noqa: SIM118 (data frames are no mappings)
    else:
        raise TrainingDataError(
            Message("The data must be a table with named columns."),
            hint=Message("give a data frame, an Arrow table or a dictionary of arrays"),
        )
    if name not in names:
        raise TrainingDataError(
            Message("Column {name!r} of the schema is not in the data.", name=Name(name)),
            hint=Message("the data have {names!r}", names=Name.each(names[:20])),
        )
    column = table[name]
    values = column.to_pylist() if hasattr(column, "to_pylist") else list(column)
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _encoded(values: NDArray[Any], column: Number | Category) -> NDArray[np.float32]:
    if isinstance(column, Number):
        numbers = _numbers(values, column.name)
        is_missing = np.isnan(numbers)
        pieces = [from_reference(numbers, column)]
        for cut in column.cuts or ():
            is_above = (numbers >= cut).astype(np.float32)
            if (usual := column.reference) is not None:
                is_above = np.where(is_missing, 0, is_above - np.float32(usual >= cut))
            pieces.append(is_above)
    else:
        texts = np.array([_text(value) for value in values], dtype=object)
        is_missing = np.array([text is None for text in texts], dtype=bool)
        pieces = [(texts == value).astype(np.float32) for value in _codes(column)]
    if column.may_be_missing:
        pieces.append(is_missing.astype(np.float32))
    return np.stack(pieces, axis=1)


def _number(value: Any) -> float:
    if isinstance(value, str) and "_" in value:  # 1_0, which Python takes for 10
        raise ValueError
    return np.nan if value is None else float(value)


def _numbers(values: NDArray[Any], name: str) -> Floats:
    try:
        return np.array([_number(value) for value in values], dtype=np.float64)
    except (TypeError, ValueError):
        raise TrainingDataError(
            Message(
                "Column {name!r} is declared as numbers and holds something else.",
                name=Name(name),
            ),
            hint=Message("declare it as a Category, or convert it"),
        ) from None


def from_reference(numbers: Floats, column: Number) -> NDArray[np.float32]:
    """Return scaled numbers, counted from the reference where the column has one."""
    if column.reference is None:
        return scaled(numbers, column)
    reference = np.array([column.reference])
    filled = np.where(np.isnan(numbers), reference, numbers)
    return scaled(filled, column) - scaled(reference, column)


def scaled(numbers: Floats, column: Number) -> NDArray[np.float32]:
    """Return numbers from -1 to 1, what is absent in the middle."""
    middle, half = (column.low + column.high) / 2, (column.high - column.low) / 2
    filled = np.where(np.isnan(numbers), middle, numbers)
    return ((np.clip(filled, column.low, column.high) - middle) / half).astype(np.float32)


def _text(value: Any) -> str | None:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))  # codes that a missing one turned into floats
    return str(value)
