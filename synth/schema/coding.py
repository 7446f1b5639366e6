"""From records to codes and back, by what is declared and nothing else.

A value that is not declared is refused, or goes where the declaration says; never elsewhere.
Errors name the column and what is wrong with its values, never a value.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import re
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import numpy as np

from footing.messages import Argument, Message, Name, joined
from synth.errors import DomainError, SynthError
from synth.schema.columns import Category, Column, Date, Numeric, Whole, key_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from footing.arrays import AnyIntegers, Flags, Integers
    from synth.schema.columns import Plain
    from synth.schema.schema import Schema
    from synth.tails import NumberLaw

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?")
_OUTSIDE = -1
_STRANGE = -2
_EPOCH = dt.date(1970, 1, 1)
_FAR = 2**62
_CERTAIN = 2.0**30  # up to here a product of floats is right to 1e-6
# Objects of which equal ones are alike; others may be equal and differ, as 1 and True do.
_ALIKE = {
    "string",
    "integer",
    "floating",
    "mixed-integer-float",
    "boolean",
    "date",
    "decimal",
    "empty",
}
_WHAT = {
    "category": Message("text, whole numbers or truth values"),
    "whole": Message("whole numbers"),
    "real": Message("numbers"),
    "date": Message("days"),
}


def encode(records: pd.DataFrame, schema: Schema) -> NDArray[np.int32]:
    """Return the codes of records, one column a variable.

    Parameters
    ----------
    records
        The records.
    schema
        Their declaration.

    Raises
    ------
    DomainError
        With everything that is outside the declared domains, by column.

    Examples
    --------
    >>> import pandas as pd
    >>> from synth import Schema
    >>> schema = Schema(
    ...     columns=[
    ...         Whole(name="age", low=0, high=99, missing={"refused": -8}),
    ...         Category(name="sex", values=["F", "M"], missing={"unknown": None}),
    ...     ]
    ... )
    >>> records = pd.DataFrame({"age": [4, -8], "sex": ["M", None]})
    >>> encode(records, schema)
    array([[  4,   1],
           [100,   2]], dtype=int32)
    """
    schema.require_declared()
    check_names(list(records.columns), schema)
    codes = np.empty((len(records), len(schema.columns)), np.int32)
    problems = []
    for place, column in enumerate(schema.columns):
        try:
            codes[:, place] = encode_column(records[column.name], column)
        except DomainError as error:
            problems.append(error.problem)
    if problems:
        raise DomainError(
            joined("\n  ", [Message("Records do not fit the schema:"), *problems]),
            hint=Message(
                "declare what is missing from the domain, an 'other' value, or outside='clip'"
            ),
        )
    return codes


def encode_column(values: pd.Series, column: Column) -> NDArray[np.int32]:
    """Return the codes of one column."""
    with readable(column.name):
        return _encoded(values, column)


@contextlib.contextmanager
def readable(name: str) -> Iterator[None]:
    """Put an error of a library into our words: its own may quote a record."""
    try:
        yield
    except SynthError:
        raise
    except (ArithmeticError, NotImplementedError, TypeError, ValueError):
        raise DomainError(
            Message("Column {name!r}: values that are no single values.", name=Name(name))
        ) from None


def _encoded(values: pd.Series, column: Column) -> NDArray[np.int32]:
    places, distinct = distinct_values(values, column.name)
    if isinstance(column, Category):
        codes = _codes_of_categories(distinct, column)
    elif isinstance(column, Numeric):
        codes = _codes_of_numbers(distinct, column)
    else:
        raise SynthError(
            Message("Column {column!r} is of an unknown kind.", column=Name(column.name))
        )
    null = [
        column.domain_size + place
        for place, mark in enumerate(column.missing.values())
        if mark is None
    ]
    codes = np.append(codes, null[0] if null else _OUTSIDE)  # found last, by place -1
    is_present = np.zeros(len(codes), bool)  # a type may know values that no record has
    is_present[places] = True
    if (is_present & (codes == _STRANGE)).any():
        raise DomainError(
            Message(
                "Column {column!r}: values that are no {what}.",
                column=Name(column.name),
                what=_WHAT[column.kind],
            )
        )
    if (is_present & (codes == _OUTSIDE)).any():
        only_null = not (is_present & (codes == _OUTSIDE))[:-1].any()
        problem = (
            Message("null, and no kind of missing is null.")
            if only_null
            else Message("values outside the domain.")
        )
        raise DomainError(
            Message("Column {column!r}: {problem}", column=Name(column.name), problem=problem)
        )
    return np.asarray(codes[places], np.int32)


def draw_numbers(
    codes: AnyIntegers,
    column: Numeric,
    *,
    rng: np.random.Generator,
    law: NumberLaw | None = None,
) -> Integers:
    """Return a number of the grid for each code; those of missing codes mean nothing."""
    if law is not None:
        return law.draw(codes, rng=rng)
    grid = column.grid
    return grid.draw(np.minimum(codes, grid.size - 1), rng=rng, distribution=column.law)


def decode_column(
    codes: AnyIntegers, column: Column, *, numbers: Integers | None = None
) -> Any:
    """Return values as an Arrow array."""
    import pyarrow as pa

    if isinstance(column, Category):
        all_values = [*column.known, *column.missing.values()]
        return pa.DictionaryArray.from_arrays(
            pa.array(codes, pa.int32()), _plain_array(all_values)
        ).dictionary_decode()
    if not isinstance(column, Numeric) or numbers is None:
        raise SynthError(Message("Column {column!r} needs numbers.", column=Name(column.name)))
    kind = codes - column.domain_size  # from 0 on: missing
    marks = list(column.missing.values())
    if any(isinstance(one, str) for one in marks) or (
        isinstance(column, Date) and any(one is not None for one in marks)
    ):
        return _as_text(numbers, kind, marks, column)
    values: NDArray[Any] = numbers / column.factor if column.factor > 1 else numbers.copy()
    if column.kind == "real":
        values = values.astype(np.float64)
    for place, one in enumerate(marks):
        if one is not None:
            values[kind == place] = one
    nulls = np.isin(kind, [place for place, one in enumerate(marks) if one is None])
    if isinstance(column, Date):
        return pa.array(values.astype(np.int32), pa.int32(), mask=nulls).cast(pa.date32())
    return pa.array(values, mask=nulls)


def _as_text(
    numbers: Integers, kind: AnyIntegers, marks: Sequence[Plain], column: Numeric
) -> Any:
    """Write numbers as text, where a kind of missing is text."""
    import pyarrow as pa

    unlike, places = np.unique(numbers, return_inverse=True)
    texts: list[str | None] = [column.shown(int(number)) for number in unlike]
    texts += [None if one is None else str(one) for one in marks]
    indices = np.where(kind >= 0, len(unlike) + kind, places)
    return pa.array(texts, pa.string()).take(pa.array(indices))


def _plain_array(values: Sequence[Plain]) -> Any:
    """Return declared values as Arrow has them: of one type, or as text."""
    import pyarrow as pa

    kinds = {type(value) for value in values if value is not None}
    if len(kinds) > 1:
        return pa.array([None if value is None else str(value) for value in values])
    return pa.array(list(values))


def distinct_values(values: pd.Series, name: str) -> tuple[NDArray[np.intp], Any]:
    """Return where each value is in the distinct ones, -1 for null, and those.

    Values that are equal and not alike stay apart: 1 and True, one moment in two time zones.
    Otherwise the first of them would stand for all, and one record change others. NaN is null
    in every type, those included that tell the two apart.
    """
    import pandas as pd

    places: Any
    distinct: Any
    with readable(name):
        if isinstance(values.dtype, pd.CategoricalDtype):
            places, distinct = values.cat.codes, values.cat.categories
        else:
            places, distinct = pd.factorize(values, use_na_sentinel=True)
        if values.dtype == object and pd.api.types.infer_dtype(values) not in _ALIKE:
            return _apart(values)
        places, distinct = np.array(places, np.intp), _as_numpy(distinct)
    if distinct.dtype.kind == "f":
        is_null = np.append(np.isnan(distinct), True)  # the last for place -1
        places[is_null[places]] = -1
    return places, distinct


def _as_numpy(values: Any) -> NDArray[Any]:
    """Return values of any type of pandas or Arrow as NumPy numbers or objects.

    Moments and durations become objects: NumPy makes whole numbers of their nanoseconds.
    """
    import pandas as pd

    kind = values.dtype
    if isinstance(kind, np.dtype):
        return np.asarray(pd.Index(values), object if kind.kind in "mM" else None)
    if pd.api.types.is_integer_dtype(kind):
        is_unsigned = pd.api.types.is_unsigned_integer_dtype(kind)
        return np.asarray(values.to_numpy(np.uint64 if is_unsigned else np.int64))
    if pd.api.types.is_float_dtype(kind):
        return np.asarray(values.to_numpy(np.float64, na_value=np.nan))
    return np.asarray(values, object)


def _apart(values: pd.Series) -> tuple[NDArray[np.intp], NDArray[np.object_]]:
    """Tell values apart by type and spelling."""
    import pandas as pd

    objects, is_null = values.to_numpy(object), values.isna().to_numpy()
    spelt = np.empty(len(objects), object)
    spelt[:] = [
        None if null else f"{type(one)} {one!r}"
        for one, null in zip(objects.tolist(), is_null, strict=True)
    ]
    places, names = pd.factorize(spelt, use_na_sentinel=True)
    there = np.flatnonzero(~is_null)[::-1]
    first = np.empty(len(names), np.intp)
    first[places[there]] = there
    return np.asarray(places, np.intp), objects[first]


def _codes_of_categories(distinct: Any, column: Category) -> Integers:
    """Return codes that follow from what a value says, not from the type of its column.

    A text stands for a declared number that it writes. A number does not stand for a text, as
    ``01`` and ``1`` are one number: where texts of digits are declared, numbers are refused.
    """
    values = [*column.known, *column.missing.values()]
    places: dict[tuple[str, object], int] = {
        key_of(value): place for place, value in enumerate(values) if value is not None
    }
    texts = [str(value) for kind, value in places if kind == "text"]
    # One truth value among numbers may turn all into one kind or the other.
    other_kinds = {"truth": "number", "number": "truth"}
    refused = {"unknown", *(other_kinds[kind] for kind, _ in places if kind in other_kinds)}
    if any(_NUMBER.fullmatch(text.strip()) for text in texts):
        refused.add("number")
    for truth in (True, False):
        if ("truth", truth) in places:
            for text in (str(truth), str(truth).lower()):
                places.setdefault(("text", text), places["truth", truth])
        elif {str(truth), str(truth).lower()} & {*texts}:
            refused.add("truth")
    default = _OUTSIDE if column.other is None else places[key_of(column.other)]
    codes = np.empty(len(distinct), np.int64)
    for place, value in enumerate(_python(distinct)):
        key = key_of(value)
        code = places.get(key)
        if code is None and key[0] == "text":
            code = places.get(("number", _exact(key)))
        unknown = _STRANGE if key[0] in refused else default
        codes[place] = unknown if code is None else code
    return codes


def _codes_of_numbers(distinct: Any, column: Numeric) -> Integers:
    numbers, codes = _numbers_of(distinct, column)
    grid, (low, high) = column.grid, column.bounds
    is_value = codes == 0
    if column.outside == "clip":
        numbers = np.clip(numbers, low, high)
    inside = is_value & (numbers >= low) & (numbers <= high)
    codes[is_value & ~inside] = _OUTSIDE
    codes[inside] = grid.cell_of(numbers[inside])
    is_missing = codes <= _MISSING
    codes[is_missing] = grid.size + (_MISSING - codes[is_missing])
    return codes


def grid_numbers(values: pd.Series, column: Numeric) -> Integers:
    """Return the numbers of the grid of all values that are not missing, bounds or none."""
    numbers, is_number = number_values(values, column)
    return np.asarray(numbers[is_number])


def number_values(values: pd.Series, column: Numeric) -> tuple[Integers, Flags]:
    """Return the number of the grid of each value, and whether it is one or missing."""
    places, distinct = distinct_values(values, column.name)
    numbers, codes = _numbers_of(distinct, column)
    if ((codes < 0) & (codes > _MISSING)).any():
        raise DomainError(
            Message("Column {column!r}: values that are no numbers.", column=Name(column.name))
        )
    is_number = np.append(codes == 0, False)  # the last for null, of place -1
    return np.append(numbers, 0)[places], is_number[places]


def _numbers_of(distinct: Any, column: Numeric) -> tuple[Integers, Integers]:
    """Return numbers on the grid, and for each 0 or a mark of why it is none."""
    array = np.asarray(distinct)
    if isinstance(column, Date):
        return _days(distinct, column)
    if array.dtype.kind in "iuf":
        return _plain_numbers(array, column)
    return _each_number(_python(distinct), column)


# Marks of a draft of codes: 0 for a value, this and below for the kinds of missing.
_MISSING = -10


def _plain_numbers(array: NDArray[Any], column: Numeric) -> tuple[Integers, Integers]:
    codes = np.zeros(len(array), np.int64)
    if array.dtype.kind in "iu":
        most = _FAR // column.factor
        clipped = np.clip(array.astype(np.int64), -most, most) * column.factor
        numbers = np.where(array > most, _FAR, clipped)  # what is unsigned may have turned
    else:
        exact = array.astype(np.float64)
        scaled = np.clip(exact * column.factor, -float(_FAR), float(_FAR))
        if isinstance(column, Whole):
            codes[scaled != np.rint(scaled)] = _STRANGE
        numbers = np.rint(scaled).astype(np.int64)
        if column.factor > 1:
            # Where the product may have been rounded across a half, decimals decide: a column
            # that holds one text as well comes as objects, and must get the same codes.
            is_near = np.abs(np.abs(scaled - np.trunc(scaled)) - 0.5) < 1e-6
            for place in np.flatnonzero(is_near | (np.abs(scaled) > _CERTAIN)).tolist():
                numbers[place] = _on_grid(Decimal(repr(exact[place].item())), column)
    for place, mark in enumerate(column.missing.values()):
        if isinstance(mark, int) and not isinstance(mark, bool):
            codes[array == mark] = _MISSING - place
    return numbers, codes


def _each_number(values: list[Any], column: Numeric) -> tuple[Integers, Integers]:
    numbers, codes = np.zeros(len(values), np.int64), np.zeros(len(values), np.int64)
    by_key = _missing_keys(column)
    for place, value in enumerate(values):
        key = key_of(value)
        if key in by_key:
            codes[place] = by_key[key]
            continue
        exact = _exact(key)
        if ("number", exact) in by_key:  # a text, -8.0 for -8
            codes[place] = by_key["number", exact]
            continue
        if exact is None:
            codes[place] = _OUTSIDE if key[0] == "text" else _STRANGE
            continue
        if isinstance(column, Whole) and exact != exact.to_integral_value():
            codes[place] = _STRANGE
        numbers[place] = _on_grid(exact, column)
    return numbers, codes


def _on_grid(exact: Decimal, column: Numeric) -> int:
    scaled = max(min(exact * column.factor, Decimal(_FAR)), Decimal(-_FAR))
    return int(scaled.to_integral_value())


def _missing_keys(column: Column) -> dict[tuple[str, object], int]:
    by_key = {
        key_of(mark): _MISSING - place
        for place, mark in enumerate(column.missing.values())
        if mark is not None
    }
    # A file of text holds -8 as text.
    return {("text", str(value)): code for (_, value), code in by_key.items()} | by_key


def _exact(key: tuple[str, object]) -> Decimal | None:
    kind, value = key
    if kind == "number":
        return value if isinstance(value, Decimal) else Decimal(repr(value))
    if kind == "text" and _NUMBER.fullmatch(str(value).strip()):
        try:
            return Decimal(str(value).strip())
        except InvalidOperation:
            return None
    return None


def _days(distinct: Any, column: Date) -> tuple[Integers, Integers]:
    numbers, codes = np.zeros(len(distinct), np.int64), np.zeros(len(distinct), np.int64)
    by_key = _missing_keys(column)
    for place, value in enumerate(_python(distinct)):
        key = key_of(value)
        if key in by_key:
            codes[place] = by_key[key]
            continue
        try:
            if isinstance(value, dt.datetime):
                if value != dt.datetime.combine(value.date(), dt.time(), value.tzinfo):
                    raise ValueError  # noqa: TRY301 (a time of day is no day)
                value = value.date()  # noqa: PLW2901
            day = value if isinstance(value, dt.date) else dt.date.fromisoformat(value)
            numbers[place] = (day - _EPOCH).days
        except (TypeError, ValueError):
            codes[place] = _OUTSIDE if key[0] == "text" else _STRANGE
    return numbers, codes


def _python(values: Any) -> list[Any]:
    return list(values.tolist()) if hasattr(values, "tolist") else list(values)


def check_names(names: list[Any], schema: Schema) -> None:
    """Refuse columns that are not declared, and declared ones that are not there."""
    if len(set(map(str, names))) < len(names):
        raise DomainError(Message("Two columns of the records have the same name."))
    schema_names = {*schema.names, *schema.ignored}
    if schema.unit.identifier is not None:
        schema_names.add(schema.unit.identifier)
    absent = [name for name in schema.names if name not in names]
    extra = [str(name) for name in names if name not in schema_names]
    if absent or extra:
        parts = (
            [Message("not in the records: {absent}", absent=Argument(absent))] if absent else []
        )
        parts += [Message("not in the schema: {extra}", extra=Argument(extra))] if extra else []
        raise DomainError(
            Message("The columns differ; {parts}.", parts=joined("; ", parts)),
            hint=Message("declare each column, or name it under ignored"),
        )
