"""Frames as codes: every column a list of values in order, and places in it."""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from footing.arrays import Floats, Integers
from footing.messages import Message, Name
from synth.errors import SynthError
from synth.sanitisers.frames import as_pandas


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CodedColumn:
    """A column as places among its values.

    Parameters
    ----------
    name
        Its name.
    domain
        The values in order; None, for missing, last.
    codes
        Per record the place of its value.
    is_numeric
        Whether the values but missing are numbers, in rising order.
    dtype
        The type of the column in the frame.
    is_declared
        Whether the values were given, not read from the records.
    """

    name: str
    domain: tuple[Any, ...]
    codes: Integers
    is_numeric: bool
    dtype: Any
    is_declared: bool

    @property
    def size(self) -> int:
        """How many values there are."""
        return len(self.domain)

    def __repr__(self) -> str:
        return f"CodedColumn({self.name!r}, size={self.size})"


def code_frame(
    frame: Any, *, domains: Mapping[str, Sequence[Any]] | None = None
) -> list[CodedColumn]:
    """Turn a frame into codes; columns that are coded stay as they are."""
    if isinstance(frame, list) and frame and isinstance(frame[0], CodedColumn):
        return frame
    table = as_pandas(frame)
    if not len(table.columns) or not len(table):
        raise SynthError(
            Message(
                "There is nothing to learn from: {number} records, {number_2} columns.",
                number=len(table),
                number_2=len(table.columns),
            )
        )
    names = [str(name) for name in table.columns]
    if len(set(names)) < len(names):
        raise SynthError(Message("Column names must differ."))
    if domains is not None:
        missing = [name for name in names if name not in domains]
        if missing:
            raise SynthError(
                Message("No domain is declared for {names!r}.", names=Name.each(missing)),
                hint=Message("reading it from the records would tell about them"),
            )
    return [
        _coded(name, table.iloc[:, place], None if domains is None else domains[name])
        for place, name in enumerate(names)
    ]


def decode_frame(columns: Sequence[CodedColumn], codes: Sequence[Integers]) -> pd.DataFrame:
    """Turn codes into a frame with the types of the one that was coded."""
    series = {}
    for column, places in zip(columns, codes, strict=True):
        values = np.empty(column.size, dtype=object)
        values[:] = column.domain
        entries = pd.Series(values[places], dtype=object)
        series[column.name] = entries.infer_objects()
        if _fits(column):
            with suppress(TypeError, ValueError):  # a declared value that the type cannot hold
                series[column.name] = entries.astype(column.dtype)
    return pd.DataFrame(series)


def _coded(name: str, series: Any, domain: Sequence[Any] | None) -> CodedColumn:
    is_numeric = bool(pd.api.types.is_numeric_dtype(series.dtype))
    is_missing = series.isna().to_numpy()
    present = series[~is_missing]
    if is_numeric:
        numbers = np.asarray(present.to_numpy(), dtype=np.float64)
        if not np.isfinite(numbers).all():
            raise SynthError(
                Message("Column {name!r} has an infinite number.", name=Name(name)),
                hint=Message("bound it first"),
            )
    if domain is None:
        values = _found_values(present, is_numeric=is_numeric)
        values = (*values, None) if is_missing.any() else values
    else:
        values = _declared_values(name, domain, is_numeric=is_numeric)
        if is_missing.any() and values[-1] is not None:
            raise SynthError(
                Message(
                    "Column {name!r} has missing values, its domain none.", name=Name(name)
                ),
                hint=Message("add None to the domain"),
            )
    grid = values[:-1] if values[-1] is None else values
    codes = np.full(len(series), len(grid), dtype=np.int64)
    if is_numeric:
        codes[~is_missing] = _nearest(numbers, np.asarray(grid, dtype=np.float64))
    else:
        places = {value: place for place, value in enumerate(grid)}
        try:
            codes[~is_missing] = [places[value] for value in present]
        except KeyError:
            raise SynthError(
                Message(
                    "Column {name!r} has a value outside its declared domain.", name=Name(name)
                ),
                hint=Message("declare it, or recode it"),
            ) from None
    return CodedColumn(
        name=name,
        domain=values,
        codes=codes,
        is_numeric=is_numeric,
        dtype=_settled(series.dtype, values, is_declared=domain is not None),
        is_declared=domain is not None,
    )


def _settled(dtype: Any, values: tuple[Any, ...], *, is_declared: bool) -> Any:
    """Return a type that does not tell whether a declared missing value occurred."""
    is_integer = isinstance(dtype, np.dtype) and dtype.kind in "iu"
    can_miss = values[-1] is None and is_declared
    return np.dtype(np.float64) if is_integer and can_miss else dtype


def _found_values(present: Any, *, is_numeric: bool) -> tuple[Any, ...]:
    if is_numeric:
        return tuple(sorted(set(present.tolist())))
    try:
        return tuple(sorted(set(present), key=lambda value: (str(type(value)), value)))
    except TypeError:
        try:
            return tuple(sorted(set(present), key=str))
        except TypeError:
            raise SynthError(
                Message("A column holds values that are neither numbers nor texts."),
                hint=Message("turn lists and other containers into texts first"),
            ) from None


def _declared_values(name: str, domain: Sequence[Any], *, is_numeric: bool) -> tuple[Any, ...]:
    entries = list(domain)
    has_missing = any(_is_missing(value) for value in entries)
    choices = [value for value in entries if not _is_missing(value)]
    if is_numeric:
        try:
            choices = sorted({float(value) for value in choices})
        except (TypeError, ValueError):
            raise SynthError(
                Message("The domain of {name!r} must be numbers.", name=Name(name))
            ) from None
        if not all(math.isfinite(value) for value in choices):
            raise SynthError(Message("The domain of {name!r} must be finite.", name=Name(name)))
    values = tuple(dict.fromkeys(choices))
    if not values:
        raise SynthError(Message("The domain of {name!r} is empty.", name=Name(name)))
    return (*values, None) if has_missing else values


def _fits(column: CodedColumn) -> bool:
    """Tell whether a column of integers has integers declared, which a cast would cut."""
    is_integer = getattr(column.dtype, "kind", "O") in "iu"
    return not is_integer or all(
        value is None or value == int(value) for value in column.domain
    )


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _nearest(numbers: Floats, grid: Floats) -> Integers:
    if not len(grid):
        return np.zeros(len(numbers), dtype=np.int64)
    right = np.searchsorted(grid, numbers).clip(0, len(grid) - 1)
    below = (right - 1).clip(min=0)
    is_left = numbers - grid[below] <= grid[right] - numbers
    return np.where(is_left & (numbers < grid[right]), below, right).astype(np.int64)
