"""Other records in place of the true ones: their tables are counted, and nothing is changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckm.engine.protection import Protected
from ckm.engine.published_table import publish
from ckm.engine.request_fitting import raise_together, table_measures
from ckm.errors import ConfigError
from footing.messages import Message, Name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from ckm.config.job.job import Job
    from ckm.engine.request import TableRequest
    from footing.progress import Progress

_COUNTED = ("count", "weighted")


def require_counts(tables: Mapping[str, TableRequest]) -> None:
    """Refuse what is no count, table by table."""
    raise_together(
        [
            ConfigError(
                Message(
                    "Table {table!r} shows {measure!r}, and other records are counted alone.",
                    table=Name(name),
                    measure=Name(measure),
                ),
                hint=Message("publish it in a job with noise or suppression"),
            )
            for name, measure in table_measures(tables)
            if measure not in _COUNTED
        ]
    )


def counted_tables(
    job: Job,
    path: Path,
    requests: Mapping[str, TableRequest],
    *,
    record_key: str | None = None,
    progress: Progress | None = None,
) -> Iterator[Protected]:
    """Count the records of a Parquet file for the tables of a job, one after the other.

    Parameters
    ----------
    job
        The job, whose own data are not opened.
    path
        The file, with the columns that the job names.
    requests
        Its tables.
    record_key
        A column that numbers the records, where they have no identifiers.
    progress
        As for `Method.protect`.
    """
    from ckm.methods.suppression.original_cells import open_originals

    keys = {} if record_key is None else {"id": None, "record_key": record_key}
    place = {"path": path, "database": None, "table": None, "query": None}
    data = job.data.changed(**place, types={}, text=False, decimal=".", missing=[], **keys)
    own = job.changed(data=data)
    if record_key is not None:  # numbers are no keys by which anything is protected
        own = own.changed(keys=job.keys.changed(checks="skip"))
    with open_originals(own) as others:
        for name, cells in others.cells(progress=progress).items():
            request = requests[name]
            table = publish(
                cells,
                cells.count,
                measures=list(request.measures),
                empty_cells=request.empty_cells,
                round_weighted=True,
            )
            yield Protected(
                name=name, request=request, cells=cells, table=table, counts=cells.count
            )
            del cells
