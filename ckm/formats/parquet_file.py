"""Parquet: dimensions as dictionaries, what is said about the table in the metadata."""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING

import numpy as np

from ckm.engine.published_table import PublishedTable
from ckm.errors import FormatError
from ckm.formats.about import TableAbout, about_table, from_plain, to_plain
from ckm.formats.content import encoded, masked
from footing.messages import Argument, Message, Name

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

_KEY = b"table"
_GROUP = 1 << 20  # rows


def write_parquet(table: PublishedTable, stream: IO[bytes], about: TableAbout) -> None:
    """Write a table as Parquet."""
    import pyarrow.parquet as pq

    content = to_plain(about_table(about, table))
    schema = table.to_arrow().schema
    if content:
        schema = schema.with_metadata({_KEY: json.dumps(content, ensure_ascii=False)})
    with pq.ParquetWriter(stream, schema, compression="zstd") as writer:
        for piece in table.pieces(_GROUP) if table.n_rows else [table]:
            arrow = piece.to_arrow().replace_schema_metadata(schema.metadata)
            writer.write_table(arrow, row_group_size=_GROUP)


def read_parquet(path: Path) -> tuple[PublishedTable, TableAbout]:
    """Read a table from Parquet: texts are dimensions, numbers measures."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        arrow = pq.read_table(path)
    except pa.ArrowInvalid:
        raise FormatError(
            Message("The file {path!r} is no Parquet file.", path=Name(path.name))
        ) from None
    dimensions, measures = {}, {}
    for name, column in zip(arrow.column_names, arrow.columns, strict=True):
        kind = column.type
        if pa.types.is_dictionary(kind) or pa.types.is_string(kind):
            dimensions[name] = _dimension(column)
        elif pa.types.is_int64(kind) or pa.types.is_float64(kind):
            values = column.fill_null(0).to_numpy()
            measures[name] = masked(values, np.asarray(column.is_null().to_numpy(), bool))
        else:
            raise FormatError(
                Message(
                    "Column {name!r} of {path!r} holds {kind}.",
                    name=Name(name),
                    path=Name(path.name),
                    kind=Argument(kind),
                )
            )
    text = (arrow.schema.metadata or {}).get(_KEY)
    about = from_plain(json.loads(text)) if text else TableAbout()
    return PublishedTable(dimensions=dimensions, measures=measures), about


def _dimension(column: pa.ChunkedArray) -> tuple[np.ndarray, list[str]]:
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        return encoded(column.to_pylist())
    whole = column.unify_dictionaries().combine_chunks()
    return whole.indices.to_numpy().astype(np.int32), whole.dictionary.to_pylist()
