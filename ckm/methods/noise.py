"""The cell key method: the same set of records has the same noise in every table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckm.methods.internal_files import write_amount_ptables, write_ptable
from ckm.methods.method import InternalRecord, Statement
from footing.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from ckm.engine.engine import Engine
    from ckm.engine.protection import Protected
    from ckm.engine.request import TableRequest
    from ckm.ledger.watch import Watch
    from ckm.methods.settings import NoiseSettings


class CellKeyNoise:
    """Adds the noise that an engine was opened with, seen by the watch of a ledger.

    Parameters
    ----------
    settings
        The noise, which is that of the engine.
    watch
        What digests each table for a ledger; None where there is none.
    """

    def __init__(self, settings: NoiseSettings, *, watch: Watch | None = None) -> None:
        self.settings, self._watch = settings, watch

    def require(self, tables: Mapping[str, TableRequest]) -> None:
        """Refuse nothing: whether requests fit the records is for the engine to say."""

    def protect(
        self,
        data: Engine,
        requests: Mapping[str, TableRequest],
        *,
        progress: Progress | None = None,
    ) -> Iterator[Protected]:
        """Tabulate in one scan, and add noise to one table after the other."""
        if self._watch is None:
            return data.protect_tables(requests, progress=progress)
        return self._watch.tables(data, requests, progress=progress)

    def statement(self) -> Statement:
        """Say that numbers have noise."""
        return Statement(words="noise")

    def record(self, folder: Path) -> InternalRecord:
        """Write the p-tables."""
        counts = write_ptable(folder / "pt.parquet", self.settings.ptable)
        amounts = write_amount_ptables(folder, self.settings.noises)
        return InternalRecord(method={"ptable": counts, "amounts": amounts})
