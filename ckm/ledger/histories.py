"""What was published, history by history, in memory: it follows the database."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from ckm.ledger.definition import Definition
from ckm.ledger.errors import LedgerError
from ckm.ledger.index import Index
from ckm.ledger.pair import ThinPair
from ckm.ledger.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from ckm.ledger.entry import Entry
    from ckm.ledger.index import Pairs
    from ckm.ledger.pair import CellName
    from ckm.ledger.seal import Seal
    from ckm.ledger.store import Row, Store

    Words = NDArray[np.uint64]

__all__ = ["Histories"]

_KEPT = 500_000  # sets of unsealed records at hand for naming


class Histories:
    """The record sets of all histories of a ledger.

    Parameters
    ----------
    store
        The database.
    seal
        The keys of the ledger.
    width
        The width of its sketches.

    Examples
    --------
    >>> Histories(store, seal=seal, width=2)  # doctest: +SKIP
    Histories(0 entries)
    """

    def __init__(self, store: Store, *, seal: Seal, width: int) -> None:
        self._store = store
        self._seal = seal
        self._width = width
        self._indexes: dict[str, Index] = {}
        self._last = 0
        self._opened: OrderedDict[int, Record] = OrderedDict()
        self._sets = 0

    def __repr__(self) -> str:
        return f"Histories({self._last} entries)"

    def refresh(self) -> bool:
        """Take in what was recorded since the last look, by whomever; tell if there was any."""
        before = self._last
        for row in self._store.rows(after=self._last):
            self.take(row.number, self._unseal(row), row.history)
        return self._last > before

    def take(self, number: int, record: Record, history: str) -> None:
        """Take a record in that is safely written.

        Parameters
        ----------
        number
            Its number.
        record
            The record.
        history
            Its history.
        """
        self.index(history).add(record, number=number)
        self._keep(number, record)
        self._last = number

    def index(self, history: str) -> Index:
        """Return the sets of a history.

        Parameters
        ----------
        history
            The history.
        """
        return self._indexes.setdefault(history, Index(self._width))

    def record(self, entry: Entry, history: str) -> Record:
        """Return what a table would add to a history.

        Parameters
        ----------
        entry
            The table.
        history
            The history.
        """
        return entry.record(~self.index(history).knows(entry.identity))

    def compare(
        self,
        records: Sequence[Record],
        *,
        history: str,
        also: Sequence[str],
        threshold: int,
        most: int,
    ) -> tuple[list[int], list[ThinPair]]:
        """Find the thin differences that tables would add.

        Parameters
        ----------
        records
            From `record`; each is also compared with those before it.
        history, also
            The history they would belong to, and others that their readers know.
        threshold
            The largest difference that counts.
        most
            How many are named.

        Returns
        -------
        tuple of list
            The places of the tables that are not recorded yet, and the first thin differences.
        """
        fresh: list[int] = []
        pairs: list[ThinPair] = []
        pending = Index(self._width)
        others = [self.index(h) for h in dict.fromkeys(also) if h != history]
        mine = self.index(history)
        for place, record in enumerate(records):
            is_known = mine.knows(record.identity) | pending.knows(record.identity)
            before = [records[p].definition for p in fresh]
            if is_known.all() and self._is_among(record.definition, before, history):
                continue
            for index in others:
                is_known |= index.knows(record.identity)
            for index in (mine, *others, pending):
                found = index.pairs(record, threshold=threshold, is_known=is_known)
                given = records if index is pending else None
                pairs += self._named(record, found, given, most=most - len(pairs))
            if place < len(records) - 1:  # for those that follow
                pending.add(record, number=place)
            fresh.append(place)
        return fresh, pairs

    def audit(self, history: str | None, threshold: int) -> Iterator[ThinPair]:
        """Yield the thin differences of a history, or of each by itself, as they came up.

        Parameters
        ----------
        history
            The history.
        threshold
            The largest difference that counts.
        """
        indexes: dict[str, Index] = {}
        for row in self._store.rows():
            if history is not None and row.history != history:
                continue
            record = self._unseal(row)
            index = indexes.setdefault(row.history, Index(self._width))
            is_known = index.knows(record.identity)
            found = index.pairs(record, threshold=threshold, is_known=is_known)
            yield from self._named(record, found, None, most=len(found[0]), number=row.number)
            index.add(record, number=row.number)

    def _is_among(self, wanted: Definition, before: Sequence[Definition], history: str) -> bool:
        """Tell whether this very table is recorded, or about to be."""
        identity = wanted.identity
        return any(known.identity == identity for known in before) or self._store.has(
            history, self._seal.digest(identity)
        )

    def _named(
        self,
        record: Record,
        found: Pairs,
        given: Sequence[Record] | None,
        *,
        most: int,
        number: int | None = None,
    ) -> list[ThinPair]:
        """Name pairs, each published table being opened once."""
        rows = list(zip(*(column[: max(most, 0)] for column in found), strict=True))
        published: dict[tuple[int, int], CellName] = {}
        for table, one in sorted({(table, one) for _, table, one in rows}):
            published[table, one] = (
                self._opened_record(table).name(one, entry=table)
                if given is None
                else given[table].name(one)
            )
        return [
            ThinPair(cell=record.name(new, entry=number), published=published[table, one])
            for new, table, one in rows
        ]

    def _opened_record(self, number: int) -> Record:
        record = self._opened.get(number)
        if record is None:
            for row in self._store.rows(number=number):
                record = self._unseal(row)
                self._keep(number, record)
        if record is None:
            raise LedgerError("An entry of the ledger is gone.", hint="restore the ledger")
        return record

    def _keep(self, number: int, record: Record) -> None:
        self._opened[number] = record
        self._sets += len(record)
        while len(self._opened) > 1 and self._sets > _KEPT:
            self._sets -= len(self._opened.popitem(last=False)[1])

    def _unseal(self, row: Row) -> Record:
        text = self._seal.open(row.sealed, beside=row.beside)
        if text is None:
            raise LedgerError(
                f"Entry {row.number} of the ledger was altered or is damaged.",
                hint="restore the ledger from a copy",
            )
        return Record.unpack(text, Definition.read(row.definition))
