"""Synthetic records in place of the true ones, counted as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckm.methods.counting import counted_tables, require_counts
from ckm.methods.internal_files import record_file
from ckm.methods.method import InternalRecord, Statement
from footing.serialisation import plain
from tables.source.spill import SpillFolder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from ckm.engine.protection import Protected
    from ckm.engine.request import TableRequest
    from ckm.methods.settings import SyntheticSettings
    from ckm.methods.suppression.original_cells import Originals
    from footing.progress import Progress
    from synth.guarantee import Guarantee

_NUMBER = "ckm_record_number"


class SyntheticRecords:
    """Counts records that somebody drew from a model of the true ones.

    Parameters
    ----------
    settings
        Where they lie.
    """

    def __init__(self, settings: SyntheticSettings) -> None:
        self.settings = settings

    @property
    def guarantee(self) -> Guarantee:
        """What the certificate beside the records promises, or that there is none."""
        from synth.guarantee import guarantee_beside

        return guarantee_beside(self.settings.path)

    def require(self, tables: Mapping[str, TableRequest]) -> None:
        """Refuse what is no count."""
        require_counts(tables)

    def protect(
        self,
        data: Originals,
        requests: Mapping[str, TableRequest],
        *,
        progress: Progress | None = None,
    ) -> Iterator[Protected]:
        """Count the synthetic records for the tables of a job; its own are not read."""
        place = SpillFolder()
        try:
            path = place.path / "synthetic.parquet"
            _write_numbered(self.settings.path, path)
            yield from counted_tables(
                data.job, path, requests, record_key=_NUMBER, progress=progress
            )
        finally:
            place.remove()

    def statement(self) -> Statement:
        """Say that the records are synthetic."""
        return Statement(words="synthetic")

    def record(self, folder: Path) -> InternalRecord:
        """Name the file of the records."""
        del folder
        path = self.settings.path
        return InternalRecord(method={"synthetic": plain(record_file(path, name=path.name))})


def _write_numbered(records: Path, path: Path) -> None:
    """Write the records with a number for each, by which a table tells them apart."""
    import pyarrow.parquet as pq

    from tables import open_source

    with open_source(str(records)) as source:
        number = f"(row_number() OVER () - 1)::UBIGINT AS {_NUMBER}"
        pq.write_table(source.arrow(f"SELECT *, {number} FROM {source.relation}"), path)  # noqa: S608
