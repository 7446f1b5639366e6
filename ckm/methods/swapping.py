"""Swapping: households at risk change places before anything is counted."""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any

from ckm.errors import InternalError
from ckm.ledger.protection import CellProtection
from ckm.methods.counting import counted_tables, require_counts
from ckm.methods.method import InternalRecord, Statement
from footing.messages import Message
from footing.serialisation import plain
from tables import Request
from tables.source.spill import SpillFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from ckm.engine.protection import Protected
    from ckm.engine.request import TableRequest
    from ckm.methods.settings import SwapSettings
    from ckm.methods.suppression.original_cells import Originals
    from footing.progress import Progress
    from tables import Secret
    from tables.source.source import Source
    from tables.swapping import SwapReport


class RecordSwapping:
    """Gives some households the places of others, and counts the records then.

    Parameters
    ----------
    settings
        Who moves, and where to.
    secret
        What decides where the settings have no seed.
    """

    def __init__(self, settings: SwapSettings, *, secret: Secret | None = None) -> None:
        self.settings, self._secret = settings, secret
        self._report: SwapReport | None = None

    @property
    def report(self) -> SwapReport:
        """What moved; for inside use."""
        if self._report is None:
            raise InternalError(Message("A swap is told of, and no record was swapped."))
        return self._report

    @property
    def parameters(self) -> dict[str, Any]:
        """The plan, by the names of its fields."""
        plan = self.settings.plan
        return {field.name: getattr(plan, field.name) for field in fields(plan)}

    def require(self, tables: Mapping[str, TableRequest]) -> None:
        """Refuse what is no count."""
        require_counts(tables)

    def write(
        self, source: Source, path: Path, *, progress: Callable[[float], None] | None = None
    ) -> SwapReport:
        """Write the swapped records, and return what moved."""
        from tables.swapping import swap_records

        self._report = swap_records(
            source,
            path=path,
            seed=self.settings.seed,
            secret=None if self.settings.seed is not None else self._secret,
            progress=progress,
            **self.parameters,
        )
        return self._report

    def protect(
        self,
        data: Originals,
        requests: Mapping[str, TableRequest],
        *,
        progress: Progress | None = None,
    ) -> Iterator[Protected]:
        """Swap into a private file that goes again, and count it."""
        place = SpillFolder()
        try:
            path = place.path / "swapped.parquet"
            share = None if progress is None else partial(_tell, progress)
            self.write(data.source, path, progress=share)
            yield from counted_tables(data.job, path, requests, progress=progress)
        finally:
            place.remove()

    def statement(self) -> Statement:
        """Say that some households were moved."""
        return Statement(words="swapping")

    def record(self, folder: Path) -> InternalRecord:
        """Tell what moved; no file is written."""
        del folder
        return InternalRecord(method=self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return the plan, what decided, and what moved; the secret and the seed stay out."""
        decided = "seed" if self.settings.seed is not None else "secret"
        return {
            "swap": self.parameters | {"decided_by": decided},
            "share": self.report.share,
            "share_of_records": self.report.share_of_records,
            "moved": plain(self.report),
        }

    def areas(self) -> Request:
        """Ask for the records of each area of each level, and for all of them."""
        geography = self.settings.plan.geography
        above = [geography[:level] for level in range(len(geography))]
        return Request(dimensions=geography, margins=above, discrete=geography)

    def record_protection(self) -> CellProtection:
        """Return what tells this swap from any other: who moves, and what decides."""
        decided: object = self.settings.seed
        if decided is None and self._secret is not None:
            decided = self._secret.derive("ckm swap v1").hex()
        settings = repr((self.parameters, decided))
        return CellProtection(method="swapping", settings=settings, is_compared=False)


def _tell(progress: Progress, share: float) -> None:
    progress("swapping", round(100 * share), 100)
