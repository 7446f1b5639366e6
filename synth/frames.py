"""Records in and out: pandas, Arrow and polars frames, Parquet and CSV files.

Text is read as text and understood by the schema; no type is guessed from the records.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

from footing.files import new_file
from footing.messages import Message, Name, Shape
from synth.errors import DomainError, SynthError
from synth.schema.coding import decode_column

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    import pandas as pd

    from footing.arrays import AnyIntegers, Integers
    from synth.schema.columns import Column
    from synth.schema.schema import Schema

CONTAINERS = ("pandas", "arrow", "polars")


def read_records(path: str | os.PathLike[str], *, schema: Schema | None = None) -> Any:
    """Read records from a Parquet or CSV file.

    An empty cell of CSV is null, and ``""`` in quotes a text without letters. In columns of a
    schema that declare such a text and no null both are that text: most programs write it
    without quotes.
    """
    import pyarrow as pa

    file = Path(path)
    try:
        if file.suffix.lower() == ".parquet":
            import pyarrow.parquet as pq

            return pq.read_table(file)
        if file.suffix.lower() == ".csv":
            return _with_blanks(_read_csv(file), schema)
    except (OSError, ValueError, pa.ArrowException):
        # The library's own words may quote a record.
        raise DomainError(
            Message("The file {file!r} cannot be read.", file=Name(file.name))
        ) from None
    raise DomainError(
        Message("{file!r} is neither Parquet nor CSV.", file=Name(file.name)),
        hint=Message("rename it .parquet or .csv"),
    )


def names_of(path: str | os.PathLike[str]) -> list[str]:
    """Return the names of the columns of a file; no value is looked at."""
    import pyarrow as pa

    file = Path(path)
    try:
        if file.suffix.lower() == ".parquet":
            import pyarrow.parquet as pq

            return list(pq.read_schema(file).names)
        return _csv_names(file)
    except (OSError, ValueError, pa.ArrowException):
        raise DomainError(
            Message("The file {file!r} cannot be read.", file=Name(file.name))
        ) from None


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
    parse = arrow_csv.ParseOptions(newlines_in_values=True)
    return arrow_csv.read_csv(file, convert_options=convert, parse_options=parse)


def _with_blanks(table: Any, schema: Schema | None) -> Any:
    """Return a table in which empty cells are texts, where such are declared and no null."""
    for column in () if schema is None else schema.columns:
        values = [*(getattr(column, "values", None) or ()), *column.missing.values()]
        if "" in values and not column.has_null and column.name in table.column_names:
            place = table.column_names.index(column.name)
            filled = table.column(place).fill_null("")
            table = table.set_column(place, column.name, filled)
    return table


def write_records(records: Any, path: str | os.PathLike[str]) -> None:
    """Write records to a Parquet or CSV file."""
    from pyarrow import csv, parquet

    table, file = _arrow(records), Path(path)
    suffix = file.suffix.lower()
    if suffix not in (".parquet", ".csv"):
        raise DomainError(
            Message("{file!r} is neither Parquet nor CSV.", file=Name(file.name)),
            hint=Message("name it .parquet or .csv"),
        )
    with new_file(file, error=SynthError, overwrite=True, is_private=False) as draft:
        if suffix == ".parquet":
            parquet.write_table(table.replace_schema_metadata(), draft)
        else:
            csv.write_csv(_plain_text(table), draft)


def _plain_text(table: Any) -> Any:
    """Return a table whose text is of the type that every writer knows."""
    import pyarrow as pa

    fields = [
        field.with_type(pa.string()) if "string" in str(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))


def to_records(frame: Any) -> tuple[pd.DataFrame, str]:
    """Return a frame as pandas, and which of `CONTAINERS` it came in.

    Its types are not returned: most follow from the values of all records.
    """
    import pandas as pd

    if isinstance(frame, pd.DataFrame):
        plain = frame.index.name is None and pd.api.types.is_integer_dtype(frame.index.dtype)
        if not (plain or frame.empty):
            raise DomainError(
                Message("The frame has an index of its own, which may be a column."),
                hint=Message("frame.reset_index(drop=True), or keep it as a column"),
            )
        return frame.reset_index(drop=True), "pandas"
    if type(frame).__module__.startswith("polars.lazyframe"):
        return to_records(frame.collect())
    if not hasattr(frame, "__arrow_c_stream__"):
        raise DomainError(
            Message(
                "Records come as a pandas or Arrow frame, not as {name}.",
                name=Shape(type(frame)),
            )
        )
    import pyarrow as pa

    try:
        return _from_arrow(frame)
    except SynthError:
        raise
    except (pa.ArrowException, TypeError, ValueError):  # whose words may quote a record
        raise DomainError(
            Message("The frame has a column of a type that cannot be read."),
            hint=Message("give plain texts, numbers, truth values and days"),
        ) from None


def _from_arrow(frame: Any) -> tuple[pd.DataFrame, str]:
    import pandas as pd

    table = _arrow(frame)
    if len(set(table.column_names)) < table.num_columns:
        raise DomainError(Message("Two columns of the records have the same name."))
    columns = {
        name: table.column(name).to_pandas(integer_object_nulls=True, date_as_object=True)
        for name in table.column_names
    }
    is_polars = type(frame).__module__.partition(".")[0] == "polars"
    return pd.DataFrame(columns, index=pd.RangeIndex(table.num_rows)), (
        "polars" if is_polars else "arrow"
    )


def from_codes(
    codes: AnyIntegers,
    *,
    numbers: Mapping[str, Integers],
    schema: Schema,
    container: str = "pandas",
) -> Any:
    """Return codes as a frame, whose types follow from the schema alone."""
    import pyarrow as pa

    columns = {
        column.name: decode_column(codes[:, place], column, numbers=numbers.get(column.name))
        for place, column in enumerate(schema.columns)
    }
    if container == "pandas":
        import pandas as pd

        return pd.DataFrame(
            {column.name: _series(columns[column.name], column) for column in schema.columns}
        )
    table = pa.table(columns)
    if container == "polars":
        import polars as pl

        return pl.from_arrow(table)
    return table


def _series(array: Any, column: Column) -> Any:
    """Return a pandas column; whether its type holds null follows from the declaration."""
    values = array.to_pandas(date_as_object=True)
    if column.has_null:
        return values.astype(
            {"int64": "float64", "bool": "object"}.get(str(array.type), values.dtype)
        )
    return values


def _arrow(frame: Any) -> Any:
    import pandas as pd
    import pyarrow as pa

    if isinstance(frame, pd.DataFrame):
        return pa.Table.from_pandas(frame, preserve_index=False)
    return frame if isinstance(frame, pa.Table) else pa.table(frame)
