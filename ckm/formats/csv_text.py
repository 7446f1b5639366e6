"""CSV: texts in quotation marks, numbers without; an empty number is a suppressed one.

Numbers are plain decimals, never with an exponent. The file is an exact document: texts stand
as they are, `=1+1` too; `without_formulas` makes another table for spreadsheets.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ckm.engine.published_table import PublishedTable
from ckm.errors import FormatError
from ckm.formats.about import TableAbout
from ckm.formats.content import encoded, is_weighted, labelled, masked
from footing.messages import Message, Name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa


# One field and what ends it: quoted (with "" for a mark inside) or plain.
_FIELD = re.compile(rb'(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|\r|\n|\Z)')
_KNOWN = re.compile(r"(count|weighted)(_published)*")
_HEAD = 1 << 20
_CHUNK = 1 << 16
# What begins a formula, the full-width forms that East Asian spreadsheets take for it, too.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def write_csv(table: PublishedTable, stream: IO[bytes], about: TableAbout) -> None:
    """Write a table as CSV."""
    del about
    _write(table, stream)


def _write(
    table: PublishedTable, stream: IO[bytes], *, separator: str = ",", decimal: str = "."
) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    stream.write((separator.join(map(_quoted, table.columns)) + "\n").encode())
    texts = [
        pa.array(list(map(_quoted, categories)), pa.string())
        for _, categories in table.dimensions.values()
    ]
    for piece in table.pieces(_CHUNK):
        coded = zip(piece.dimensions.values(), texts, strict=True)
        columns = [category_texts.take(pa.array(codes)) for (codes, _), category_texts in coded]
        numbers = [plain_numbers(values) for values in piece.measures.values()]
        if decimal != ".":
            numbers = [pc.replace_substring(texts, ".", decimal) for texts in numbers]
        stream.write(lines_of([*columns, *numbers], separator=separator))


def write_labelled_csv(table: PublishedTable, stream: IO[bytes], about: TableAbout) -> None:
    """Write labels beside codes, for spreadsheets: with a byte order mark, and no formulas.

    A spreadsheet in French parts columns at semicolons and decimals at commas.
    """
    is_french = about.language.partition("-")[0].lower() == "fr"
    signs = {"separator": ";", "decimal": ","} if is_french else {}
    stream.write(b"\xef\xbb\xbf")
    _write(table.mapped(lambda t: without_formulas(labelled(t, about))), stream, **signs)


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def is_formula(text: str) -> bool:
    """Return whether a spreadsheet would take a text for a formula."""
    return text.startswith(_FORMULA)


def formulas(table: PublishedTable) -> dict[str, list[str]]:
    """Return the texts that a spreadsheet would take for formulas, by column."""
    texts = {name: [name] for name in table.measures}
    texts |= {name: [name, *categories] for name, (_, categories) in table.dimensions.items()}
    by_column = {name: list(filter(is_formula, values)) for name, values in texts.items()}
    return {name: values for name, values in by_column.items() if values}


def without_formulas(table: PublishedTable) -> PublishedTable:
    """Return a table with an apostrophe before each text that could be a formula."""

    def escaped(text: str) -> str:
        return f"'{text}" if is_formula(text) else text

    return PublishedTable(
        dimensions={
            escaped(name): (codes, list(map(escaped, categories)))
            for name, (codes, categories) in table.dimensions.items()
        },
        measures={escaped(name): values for name, values in table.measures.items()},
    )


def plain_numbers(values: Any) -> pa.Array:
    """Return numbers as texts without an exponent, empty where they are suppressed.

    Each text reads back as the same number.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = pa.array(values).cast(pa.string()).fill_null("")
    if values.dtype == np.float64:
        has_exponent = pc.match_substring(texts, "e")
        long = [format(Decimal(text), "f") for text in texts.filter(has_exponent).to_pylist()]
        if long:
            texts = pc.replace_with_mask(texts, has_exponent, pa.array(long, pa.string()))
    return texts


def lines_of(columns: Sequence[pa.Array | pa.Scalar], *, separator: str = ",") -> bytes:
    """Join texts, quoted where they must be, into lines."""
    import pyarrow.compute as pc

    lines = pc.binary_join_element_wise(*columns, separator)
    return str("\n".join(lines.to_pylist()) + "\n").encode()


def read_csv(path: Path) -> tuple[PublishedTable, TableAbout]:
    """Read a table from CSV.

    What stands in quotation marks in the first row is a dimension, the rest are measures.
    Categories come in the order of their first row. Whole numbers make a count, except in
    a measure whose name begins with ``weighted``, ``sum_`` or ``mean_``. A file without
    quotation marks, as other programs save it, has the measures ``count`` and ``weighted``
    at its end.
    """
    names, is_dimension = _columns(path)
    kinds = {name: "text" for name, says in zip(names, is_dimension, strict=True) if says}
    kinds |= {name: "double" for name in names if name not in kinds and is_weighted(name)}
    return read_rows(path, names, kinds), TableAbout()


def read_rows(path: Path, names: Sequence[str], kinds: Mapping[str, str]) -> PublishedTable:
    """Read the rows of a CSV file whose columns are known."""
    arrow = read_texts(path, names, {name: kinds.get(name, "") for name in names})
    dimensions, measures = {}, {}
    for name in names:
        column = arrow[name].combine_chunks()
        if kinds.get(name) == "text":
            dimensions[name] = encoded(column.to_pylist())
        else:
            measures[name] = _numbers(name, column)
    return PublishedTable(dimensions=dimensions, measures=measures)


def read_texts(path: Path, names: Sequence[str], kinds: Mapping[str, str]) -> pa.Table:
    """Read a CSV file into Arrow, each column of a given kind, or of what it holds."""
    import pyarrow as pa
    from pyarrow import csv

    types = {"text": pa.string(), "whole": pa.int64(), "double": pa.float64()}
    column_types = {name: types[kind] for name, kind in kinds.items() if kind}
    try:
        return csv.read_csv(
            path,
            read_options=csv.ReadOptions(
                column_names=list(names), skip_rows_after_names=1, block_size=1 << 26
            ),
            parse_options=csv.ParseOptions(
                newlines_in_values=True, ignore_empty_lines=len(names) > 1
            ),
            convert_options=csv.ConvertOptions(
                column_types=column_types,
                null_values=[""],
                true_values=[],
                false_values=[],
                timestamp_parsers=[],
                strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid:
        raise FormatError(
            Message(
                "The file {path!r} is no table: a row has too many or too few columns, a "
                "number is none, or a text is not in UTF-8.",
                path=Name(path.name),
            ),
        ) from None


def _numbers(name: str, column: pa.Array) -> Any:
    import pyarrow as pa

    if pa.types.is_null(column.type):
        column = column.cast(pa.int64())
    if not (pa.types.is_int64(column.type) or pa.types.is_float64(column.type)):
        raise FormatError(
            Message("Column {name!r} holds texts where numbers are meant.", name=Name(name))
        )
    values = column.fill_null(0).to_numpy(zero_copy_only=False)
    return masked(values, np.asarray(column.is_null().to_numpy(zero_copy_only=False), bool))


def _start(path: Path) -> tuple[list[tuple[str, bool]], list[tuple[bytes, bool]]]:
    """Return the names of the columns and the first row, and which are quoted."""
    with path.open("rb") as file:
        head = file.read(_HEAD).removeprefix(b"\xef\xbb\xbf")
    try:
        header, place = _record(head, 0)
        names = [(text.decode(), is_quoted) for text, is_quoted in header]
        first = _record(head, place)[0] if place < len(head) else []
    except ValueError:
        raise FormatError(
            Message(
                "The file {path!r} does not begin with a row of column names in UTF-8.",
                path=Name(path.name),
            )
        ) from None
    if len({name for name, _ in names}) < len(names):
        raise FormatError(
            Message("Two columns of {path!r} have the same name.", path=Name(path.name))
        )
    return names, first


def _columns(path: Path) -> tuple[list[str], list[bool]]:
    """Return the columns, and which of them are dimensions."""
    header, first = _start(path)
    names = [name for name, _ in header]
    if header[0][1] and len(first) == len(names):
        return names, [is_quoted for _, is_quoted in first]
    n_measures = 0
    while n_measures < len(names) and _KNOWN.fullmatch(names[-1 - n_measures]):
        n_measures += 1
    if not n_measures:
        raise FormatError(
            Message(
                "The file {path!r} does not tell its measures from its dimensions.",
                path=Name(path.name),
            ),
            hint=Message(
                "keep the quotation marks, or keep its metadata beside it (format 'csvw')"
            ),
        )
    return names, [place < len(names) - n_measures for place in range(len(names))]


def _record(text: bytes, place: int) -> tuple[list[tuple[bytes, bool]], int]:
    """Return the fields of a line, whether each is quoted, and where the next one starts."""
    fields = []
    while True:
        match = _FIELD.match(text, place)
        if match is None:
            raise ValueError
        quoted = match[1]
        fields.append(
            (match[2] if quoted is None else quoted.replace(b'""', b'"'), quoted is not None)
        )
        place = match.end()
        if match[3] != b",":
            return fields, place
