"""Tables about to be written, as far as later ones are compared with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckm.ledger.record_sets.index import Index

if TYPE_CHECKING:
    from ckm.ledger.storage.record import Record


class Pending:
    """Tables about to be written.

    Parameters
    ----------
    width
        The width of the ledger's sketches.
    """

    def __init__(self, width: int) -> None:
        self.records: list[Record] = []
        self._width = width
        self._indexes: dict[str, Index] = {}
        self._known: set[tuple[bytes, str]] = set()

    def __repr__(self) -> str:
        return f"Pending({len(self.records)} tables)"

    def index(self, history: str) -> Index:
        """Return their sets in a history."""
        return self._indexes.setdefault(history, Index(self._width))

    def add(self, record: Record, history: str) -> None:
        """Add a table."""
        self.index(history).add(record, number=len(self.records))
        self.records.append(record)
        self._known.add((record.definition.identity, history))

    def has(self, identity: bytes, history: str) -> bool:
        """Whether a table of this definition is among them."""
        return (identity, history) in self._known
