"""Records in and out: pandas, Arrow and polars frames, Parquet and CSV files.

Text is read as text and understood by the schema; no type is guessed from the records.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from footing.files import new_file
from synth.coding import decode_column
from synth.columns import Category, Numeric
from synth.errors import DomainError, SynthError

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from synth.columns import Column
    from synth.schema import Schema

__all__ = [
    "Shape",
    "from_codes",
    "names_of",
    "read_records",
    "settled",
    "to_records",
    "write_records",
]


# Types that pandas and Arrow choose by the values: by null, infinity, text among numbers.
_UNSETTLED = {
    "bool", "double", "float64", "int64", "large_string", "null", "object", "str", "string",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How records came, so that synthetic ones go the same way.

    Parameters
    ----------
    container
        ``"pandas"``, ``"arrow"`` or ``"polars"``.
    types
        The type of each column, as the container names it.

    Examples
    --------
    >>> Shape().container
    'pandas'
    """

    container: str = "pandas"
    types: Mapping[str, str] = field(default_factory=dict)


def read_records(path: str | os.PathLike[str]) -> Any:
    """Read records from a Parquet or CSV file.

    Parameters
    ----------
    path
        The file; everything in a CSV file is text, and an empty field is null.

    Returns
    -------
    pyarrow.Table
        The records.

    Raises
    ------
    DomainError
        If it cannot be read.
    """
    import pyarrow as pa

    file = Path(path)
    try:
        if file.suffix.lower() == ".parquet":
            import pyarrow.parquet as pq

            return pq.read_table(file)
        if file.suffix.lower() == ".csv":
            return _read_csv(file)
    except (OSError, ValueError, pa.ArrowException):
        # The library's own words may quote a record.
        raise DomainError(f"The file {file.name!r} cannot be read.") from None
    raise DomainError(
        f"{file.name!r} is neither Parquet nor CSV.", hint="rename it .parquet or .csv"
    )


def names_of(path: str | os.PathLike[str]) -> list[str]:
    """Return the names of the columns of a file; no value is looked at.

    Parameters
    ----------
    path
        A Parquet or CSV file.

    Raises
    ------
    DomainError
        If it cannot be read.
    """
    import pyarrow as pa

    file = Path(path)
    try:
        if file.suffix.lower() == ".parquet":
            import pyarrow.parquet as pq

            return list(pq.read_schema(file).names)
        return _csv_names(file)
    except (OSError, ValueError, pa.ArrowException):
        raise DomainError(f"The file {file.name!r} cannot be read.") from None


def _csv_names(file: Path) -> list[str]:
    with file.open(encoding="utf-8-sig", newline="") as lines:
        names: list[str] = next(csv.reader(lines), [])
    return names


def _read_csv(file: Path) -> Any:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    types = dict.fromkeys(_csv_names(file), pa.string())
    convert = arrow_csv.ConvertOptions(
        column_types=types,
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    return arrow_csv.read_csv(file, convert_options=convert)


def write_records(records: Any, path: str | os.PathLike[str]) -> None:
    """Write records to a Parquet or CSV file.

    Parameters
    ----------
    records
        A frame.
    path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> file = tempfile.mkdtemp() + "/people.csv"
    >>> write_records(pd.DataFrame({"age": [4]}), file)
    >>> read_records(file)["age"].to_pylist()
    ['4']
    """
    table, file = _arrow(records), Path(path)
    if file.suffix.lower() == ".parquet":
        import pyarrow.parquet as pq

        with new_file(file, error=SynthError, overwrite=True, is_private=False) as draft:
            pq.write_table(table.replace_schema_metadata(), draft)
    elif file.suffix.lower() == ".csv":
        from pyarrow import csv as arrow_csv

        with new_file(file, error=SynthError, overwrite=True, is_private=False) as draft:
            arrow_csv.write_csv(_plain_text(table), draft)
    else:
        raise DomainError(
            f"{file.name!r} is neither Parquet nor CSV.", hint="name it .parquet or .csv"
        )


def _plain_text(table: Any) -> Any:
    """Return a table whose text is of the type that every writer knows."""
    import pyarrow as pa

    fields = [
        field.with_type(pa.string()) if "string" in str(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))


def to_records(frame: Any) -> tuple[pd.DataFrame, Shape]:
    """Return a frame as pandas, and how it came.

    Parameters
    ----------
    frame
        A pandas frame, or anything that speaks Arrow.

    Examples
    --------
    >>> import pyarrow as pa
    >>> records, shape = to_records(pa.table({"age": [4, None]}))
    >>> shape.container, shape.types
    ('arrow', {'age': 'int64'})
    """
    import pandas as pd

    if isinstance(frame, pd.DataFrame):
        if not isinstance(frame.index, pd.RangeIndex):
            raise DomainError(
                "The frame has an index that is not a plain range.",
                hint="frame.reset_index(drop=True), or keep it as a column",
            )
        types = {str(name): str(frame.dtypes.iloc[at]) for at, name in enumerate(frame.columns)}
        return frame, Shape(types=types)
    if not hasattr(frame, "__arrow_c_stream__"):
        raise DomainError(
            f"Records come as a pandas or Arrow frame, not as {type(frame).__name__}."
        )
    table = _arrow(frame)
    if len(set(table.column_names)) < table.num_columns:
        raise DomainError("Two columns of the records have the same name.")
    columns = {
        name: table.column(name).to_pandas(integer_object_nulls=True, date_as_object=True)
        for name in table.column_names
    }
    is_polars = type(frame).__module__.partition(".")[0] == "polars"
    types = {name: str(table.schema.field(name).type) for name in table.column_names}
    container = "polars" if is_polars else "arrow"
    return pd.DataFrame(columns, index=pd.RangeIndex(table.num_rows)), Shape(
        container=container, types=types
    )


def settled(shape: Shape, schema: Schema) -> Shape:
    """Return a shape that tells nothing of which values occur in the records.

    Parameters
    ----------
    shape
        How records came. Their types may follow from one value: a null makes floats of whole
        numbers, a text among numbers makes objects, the number of values sets the width of a
        dictionary.
    schema
        The declaration, from which the types follow here.

    Examples
    --------
    >>> from synth.columns import Whole
    >>> from synth.schema import Schema
    >>> schema = Schema(columns=[Whole(name="age", low=0, high=9, missing={"unknown": None})])
    >>> settled(Shape(types={"age": "int64"}), schema).types
    {'age': 'float64'}
    """
    types = {
        column.name: _settled(shape.types.get(column.name, ""), column, shape.container)
        for column in schema.columns
    }
    known = {name: kind for name, kind in types.items() if kind}
    return Shape(container=shape.container, types=known)


def _settled(came: str, column: Column, container: str) -> str:
    if came.startswith("dictionary"):
        return "dictionary"
    if came.startswith("decimal"):
        return ""
    if came in _UNSETTLED:
        return _type_of(column) if container == "pandas" else ""
    return came


def _type_of(column: Column) -> str:
    if column.kind == "date":
        return "object"
    if column.kind == "real":
        declared: set[type] = {float}
    else:
        declared = (
            {type(one) for one in column.known} if isinstance(column, Category) else {int}
        )
    kinds = declared | {type(one) for one in column.missing.values() if one is not None}
    if str in kinds:
        return "str"
    if kinds == {bool}:
        return "object" if column.has_null else "bool"
    if kinds <= {int, float}:
        return "float64" if column.has_null or float in kinds else "int64"
    return "object"


def from_codes(
    codes: NDArray[np.integer],
    *,
    numbers: Mapping[str, NDArray[np.int64]],
    schema: Schema,
    shape: Shape | None = None,
) -> Any:
    """Return codes as a frame like the one that came.

    Parameters
    ----------
    codes
        The codes.
    numbers
        The numbers of each column of numbers.
    schema
        The declaration.
    shape
        How records came.

    Notes
    -----
    Whether a type can hold null follows from the schema, never from whether the records
    happened to hold one.

    Examples
    --------
    >>> import numpy as np
    >>> from synth.schema import Schema
    >>> schema = Schema(columns=[Category(name="sex", values=["F", "M"])])
    >>> from_codes(np.array([[1], [0]]), numbers={}, schema=schema)["sex"].tolist()
    ['M', 'F']
    """
    import pyarrow as pa

    shape = shape or Shape()
    columns = {
        column.name: decode_column(codes[:, place], column, numbers=numbers.get(column.name))
        for place, column in enumerate(schema.columns)
    }
    if shape.container == "pandas":
        return _pandas(columns, schema, shape)
    arrays = {name: _cast(array, shape.types.get(name)) for name, array in columns.items()}
    table = pa.table(arrays)
    if shape.container == "polars":
        import polars as pl

        return pl.from_arrow(table)
    return table


def _cast(array: Any, wanted: str | None) -> Any:
    """Return an array of the type that came, where every declared value fits it."""
    import pyarrow as pa

    if wanted is None:
        return array
    if wanted.startswith("dictionary"):
        return array.dictionary_encode()
    try:
        return array.cast(pa.type_for_alias(wanted))
    except (ValueError, pa.ArrowException):
        return array


def _pandas(columns: Mapping[str, Any], schema: Schema, shape: Shape) -> Any:
    import pandas as pd

    return pd.DataFrame(
        {
            column.name: _series(columns[column.name], column, shape.types.get(column.name))
            for column in schema.columns
        }
    )


def _series(array: Any, column: Column, wanted: str | None) -> Any:
    """Return a pandas column of the type that came, where every declared value fits it."""
    import pandas as pd

    if wanted == "category" and isinstance(column, Category):
        written = [*column.known, *(one for one in column.missing.values() if one is not None)]
        values = array.to_pandas(integer_object_nulls=True)
        return pd.Series(pd.Categorical(values, categories=written, ordered=column.is_ordered))
    if wanted is not None and wanted.startswith("datetime64"):
        return pd.to_datetime(array.to_pandas(date_as_object=False)).astype(wanted)
    is_whole = isinstance(column, Numeric) and column.kind == "whole"
    if wanted in (None, "int64", "float64") and is_whole and str(array.type) == "int64":
        values = array.to_pandas()
        return values.astype("float64" if column.has_null or wanted == "float64" else "int64")
    values = array.to_pandas(integer_object_nulls=True, date_as_object=True)
    if wanted is None:
        return values
    try:
        cast = values.astype(wanted)
    except (TypeError, ValueError, OverflowError):
        return values
    # A narrow type may not hold all that is declared.
    return cast if (cast.isna() == values.isna()).all() and _same(cast, values) else values


def _same(cast: Any, values: Any) -> bool:
    import pandas as pd

    if pd.api.types.is_integer_dtype(cast.dtype):
        there = values.notna()
        return bool((cast[there].astype("object") == values[there].astype("object")).all())
    return True


def _arrow(frame: Any) -> Any:
    import pandas as pd
    import pyarrow as pa

    if isinstance(frame, pd.DataFrame):
        return pa.Table.from_pandas(frame, preserve_index=False)
    return frame if isinstance(frame, pa.Table) else pa.table(frame)
