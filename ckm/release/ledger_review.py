"""What judges tables without noise of cell keys: the ledger alone, if the job names one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ckm.errors import InternalError
from ckm.release.review import NoReview, Pages
from footing.messages import Message

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ckm.engine.protection import Protected
    from ckm.ledger.release_check import ReleaseCheck
    from ckm.methods.method import InternalRecord, RecordedMethod
    from ckm.release.files.manifest import TableRecord
    from ckm.release.review import ReviewTools
    from reports.facts.release import FileFact
    from tables import Request


class LedgerReview(NoReview):
    """Lets tables pass when the ledger has them.

    Parameters
    ----------
    release_check
        The gate of the ledger.
    method
        What protects the tables.
    requests
        Name of a table → what is tabulated for it.
    tools
        What the run gives.
    """

    is_late = True

    def __init__(
        self,
        release_check: ReleaseCheck,
        method: RecordedMethod[Any],
        requests: Mapping[str, Request],
        tools: ReviewTools,
    ) -> None:
        super().__init__(tools)
        if release_check.watch is None:
            raise InternalError(Message("Tables are to be recorded, and there is no ledger."))
        self._release_check, self._watch = release_check, release_check.watch
        self._method, self._requests, self._notes = method, requests, tools.notes

    def add(self, protected: Protected) -> None:
        """Digest the cells of a table, and what is published of them."""
        self._watch.add_table(
            protected.name,
            self._requests[protected.name],
            protected.cells,
            where=protected.request.where,
            protection=self._method.cell_protection(protected),
        )

    def judge(self, notes: Sequence[str]) -> None:
        """Stop where the ledger has these records by another method, or near ones."""
        self._notes.add(self._release_check.compare())
        self._notes.add(notes)

    def write(
        self,
        folder: Path,
        tables: Sequence[TableRecord],
        inputs: Sequence[FileFact],
        record: InternalRecord,
    ) -> Pages:
        """Tell the internal manifest of the ledger, and what it warned of."""
        del folder, tables, inputs, record
        entry = {"ledger": self._release_check.record, "warnings": list(self._notes.texts)}
        return Pages(inside=entry)

    def publish(self) -> Mapping[str, Any]:
        """Record the tables in the ledger; its entries have their numbers then."""
        self._release_check.publish()
        return {"ledger": self._release_check.record}
