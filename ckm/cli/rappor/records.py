"""The true values a command encodes: two columns of a file, piece by piece."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ckm.cli.office_records import is_office, opened
from footing.messages import Argument, Message, Name, said
from tables.errors import DataError
from tables.filtering.filters import quote

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rappor.parameters import Parameters

_FORMATS = {".csv": "csv", ".parquet": "parquet"}
_ROWS = 2**16


def answers(
    path: Path, *, value: str, client: str, parameters: Parameters
) -> Iterator[tuple[list[Any], list[str]]]:
    """Give values and clients, some ten thousand at a time."""
    if is_office(path) and path.is_file():
        batches = _office_batches(path, value=value, client=client)
    else:
        batches = _file_batches(path, value=value, client=client)
    for values, clients in batches:
        if any(column.null_count or _has_empty(column) for column in (values, clients)):
            raise DataError(
                Message("A value or a client is missing."),
                hint=Message("drop these records, or give 'missing' as a value of its own"),
            )
        yield _typed(values.to_pylist(), parameters), clients.to_pylist()


def _file_batches(path: Path, *, value: str, client: str) -> Iterator[tuple[Any, Any]]:
    """Give the columns of values and clients as texts, some ten thousand at a time."""
    import pyarrow as pa
    from pyarrow import csv as pa_csv
    from pyarrow import dataset

    form: Any = _FORMATS.get(path.suffix.lower())
    if form is None or not path.is_file():
        raise DataError(
            Message("The data {path!r} is no .csv or .parquet file.", path=Name(path.name)),
            hint=Message("convert it, or look at the path"),
        )
    kinds = {value: pa.string(), client: pa.string()}
    if form == "csv":
        options = pa_csv.ConvertOptions(column_types=kinds, strings_can_be_null=False)
        form = dataset.CsvFileFormat(convert_options=options)
    try:
        source = dataset.dataset(path, format=form)
        _require(source.schema.names, (value, client), path.name)
        _require_names(source.schema.field(client).type, client)
        for batch in source.to_batches(columns=sorted(kinds), batch_size=_ROWS):
            values, clients = (batch.column(n).cast(pa.string()) for n in (value, client))
            yield values, clients
    except pa.ArrowInvalid:
        raise DataError(
            Message(
                "The data {path!r} cannot be read as {suffix}.",
                path=Name(path.name),
                suffix=said(path.suffix),
            ),
            hint=Message(
                "a .csv is UTF-8, with distinct column names and as many cells in each line"
            ),
        ) from None


def _office_batches(path: Path, *, value: str, client: str) -> Iterator[tuple[Any, Any]]:
    """Give the same of a file of a statistical program or a spreadsheet: codes, no labels."""
    import pyarrow as pa

    with opened(path) as source:
        for name in (value, client):
            source.require(name)
        columns = f"{quote(value)} AS v, {quote(client)} AS c"
        for batch in source.batches(f"FROM {source.records} SELECT {columns}", rows=_ROWS):
            _require_names(batch.schema.field("c").type, client)
            yield batch.column("v").cast(pa.string()), batch.column("c").cast(pa.string())


def _has_empty(column: Any) -> bool:
    import pyarrow.compute as pc

    return bool(pc.any(pc.equal(column, "")).as_py())


def _require(names: list[str], columns: tuple[str, ...], file: str) -> None:
    for name in columns:
        if name not in names:
            raise DataError(
                Message(
                    "Column {name!r} is not in {file!r}; it has {names!r}.",
                    name=Name(name),
                    file=Argument(file),
                    names=Name.each(names),
                )
            )


def _require_names(kind: Any, client: str) -> None:
    import pyarrow as pa

    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if not is_text and not pa.types.is_integer(kind):
        raise DataError(
            Message(
                "The clients in {client!r} are neither texts nor whole numbers.",
                client=Argument(client),
            ),
            hint=Message(
                "convert the column: 7 and 7.00 would be two clients, with a loss each"
            ),
        )


def _typed(texts: list[str], parameters: Parameters) -> list[Any]:
    if not parameters.is_numbered:
        return texts
    words = {"true": 1, "false": 0} if parameters.is_boolean else {}
    try:
        return [
            words[text.lower()] if text.lower() in words else _whole(text) for text in texts
        ]
    except ValueError:
        raise DataError(
            Message("The values must be whole numbers."),
            hint=Message("number the values by their place in the list of all values"),
        ) from None


def _whole(text: str) -> int:
    """Read a whole number; Python alone would take 1_0 for 10."""
    if not text.isascii() or "_" in text:
        raise ValueError
    return int(text)
