"""The ledger: every published table, and what a new one differs by."""

from __future__ import annotations

import datetime as dt
import itertools
import logging
import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Self

import numpy as np

from ckm.errors import ConfigError
from ckm.ledger.definition import Definition
from ckm.ledger.entry import Entry
from ckm.ledger.errors import LedgerError, ThinDifferenceError
from ckm.ledger.index import Index
from ckm.ledger.pair import ThinPair
from ckm.ledger.seal import Seal
from ckm.ledger.store import Row, open_store
from tables.sketch import MAX_WIDTH

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterator, Sequence
    from types import TracebackType

    from numpy.typing import NDArray

    from ckm.ledger.index import Pairs
    from ckm.ledger.pair import CellName
    from ckm.ledger.store import Store
    from tables import Cells, Secret

__all__ = ["Ledger", "Published", "list_published"]

logger = logging.getLogger(__name__)

_SCHEMA = "1"
_WIDTH = 2
_KEPT = 500_000  # sets of unsealed entries at hand for naming
_MOST_NAMED = 10_000  # more thin differences of one table tell nobody anything more

Policy = Literal["refuse", "flag"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A table as the ledger lists it.

    Parameters
    ----------
    number
        Number of the entry.
    history
        The history it belongs to.
    published_at
        When it was recorded, in UTC.
    definition
        What table it is.
    """

    number: int
    history: str
    published_at: str
    definition: Definition


class Ledger:
    """The tables that were published, as sealed digests of their record sets.

    Made by `Ledger.open`. Threads may share it; processes open one each.

    Parameters
    ----------
    store
        The database.
    seal
        The keys of digests and seals.
    threshold
        The largest difference, in records, that counts as thin.
    width
        The largest threshold that the ledger's sketches serve.
    with_complements
        Also compare what is left of a published cell without another one in it.
    smallest
        Cells with fewer records are not compared.

    Examples
    --------
    >>> import tempfile
    >>> from tables import Secret
    >>> with Ledger.open(tempfile.mkdtemp() + "/l.db", secret=Secret(bytes(16))) as ledger:
    ...     ledger
    Ledger(threshold 2)
    """

    def __init__(
        self,
        store: Store,
        *,
        seal: Seal,
        threshold: int,
        width: int,
        with_complements: bool,
        smallest: int,
    ) -> None:
        self._store = store
        self._seal = seal
        self.threshold = threshold
        self.width = width
        self._with_complements = with_complements
        self._smallest = smallest
        self._lock = threading.RLock()
        self._indexes: dict[str, Index] = {}
        self._last = 0
        self._opened: OrderedDict[int, Entry] = OrderedDict()

    @classmethod
    def open(
        cls,
        target: str | os.PathLike[str],
        *,
        secret: Secret,
        threshold: int | None = None,
        create: bool = True,
        with_complements: bool = True,
        smallest: int = 1,
        timeout_s: float = 30.0,
    ) -> Self:
        """Open a ledger, or make a new one.

        Parameters
        ----------
        target
            A file, or a URL ``postgresql://…``, which several servers can share.
        secret
            The secret under which the ledger is sealed.
        threshold
            The largest difference, in records, that counts as thin. A new ledger, by default
            for 2, serves this threshold and smaller ones for ever; an old one by default the
            largest that it can.
        create
            Make the ledger if there is none.
        with_complements
            Also compare what is left of a published cell without another one in it.
        smallest
            Cells with fewer records are not compared.
        timeout_s
            How long to wait for another writer.

        Returns
        -------
        Ledger
            The ledger.

        Raises
        ------
        LedgerError
            If it cannot be opened, is something else, or has another secret.

        Examples
        --------
        >>> Ledger.open("ledger.db", secret=secret)  # doctest: +SKIP
        """
        if threshold is not None and (
            type(threshold) is not int or not 1 <= threshold <= MAX_WIDTH
        ):
            raise ConfigError(
                f"The threshold of a ledger is a number of records from 1 to {MAX_WIDTH}, "
                f"not {threshold!r}.",
                hint="2 is usual: neither of two people finds the other",
            )
        if type(smallest) is not int or smallest < 1:
            raise ConfigError(f"smallest must be a positive integer, not {smallest!r}.")
        seal = Seal(secret)
        store = open_store(target, create=create, timeout_s=timeout_s)
        try:
            with store.writing():
                settings = store.settings()
                if not settings:
                    settings = {
                        "schema": _SCHEMA,
                        "width": str(threshold or _WIDTH),
                        "check": seal.check,
                    }
                    store.write_settings(settings)
            width = _width(settings, seal, threshold)
        except BaseException:
            store.close()
            raise
        return cls(
            store,
            seal=seal,
            threshold=threshold or width,
            width=width,
            with_complements=with_complements,
            smallest=smallest,
        )

    def entry(
        self,
        cells: Cells,
        definition: Definition,
        *,
        shown: NDArray[np.bool_] | None = None,
    ) -> Entry:
        """Digest the cells of a table, to check or record it.

        Parameters
        ----------
        cells
            From `tables.cube` with ``sketch=ledger.width``.
        definition
            What table it is.
        shown
            Which of the cells the table shows; by default all of them.

        Returns
        -------
        Entry
            The table's sets; disclosive, but without counts or keys.

        Examples
        --------
        >>> ledger.entry(cells, Definition(name="t"))  # doctest: +SKIP
        Entry('t')
        """
        return Entry.of(
            cells,
            definition,
            seal=self._seal,
            with_complements=self._with_complements,
            smallest=self._smallest,
            shown=shown,
        )

    def is_known(self, definition: Definition, *, history: str = "public") -> bool:
        """Tell whether a table of this definition is recorded.

        If the definition names the version of the records, the table needs neither sketches
        nor a check.

        Parameters
        ----------
        definition
            What table it is.
        history
            The history.

        Returns
        -------
        bool
            Whether it is there.

        Examples
        --------
        >>> ledger.is_known(Definition(name="t"))  # doctest: +SKIP
        False
        """
        return self._store.has(history, self._seal.digest(definition.identity))

    def numbers(self, definition: Definition, *, history: str = "public") -> tuple[int, ...]:
        """Return the numbers of the entries of this definition, in order.

        Parameters
        ----------
        definition
            What table it is.
        history
            The history.

        Returns
        -------
        tuple of int
            One entry, more where the same words meant other records in between.

        Examples
        --------
        >>> ledger.numbers(Definition(name="t"))  # doctest: +SKIP
        (1,)
        """
        return self._store.numbers(history, self._seal.digest(definition.identity))

    def standing(
        self, entries: Sequence[Entry], *, history: str = "public"
    ) -> tuple[ThinPair, ...]:
        """Find the thin differences that tables added when they were recorded before.

        They stand as long as the table shows the same cells: a table that is published again
        adds nothing, and is as near to others as before.

        Parameters
        ----------
        entries
            The tables, from `entry`.
        history
            The history.

        Returns
        -------
        tuple of ThinPair
            Their thin differences with tables recorded before them, the first 10,000.

        Examples
        --------
        >>> ledger.standing([entry])  # doctest: +SKIP
        ()
        """
        again = {self._seal.digest(entry.definition.identity): entry for entry in entries}
        last = max((n for d in again for n in self._store.numbers(history, d)), default=0)
        index = Index(self.width)
        pairs: list[ThinPair] = []
        for row in self._store.rows() if last else ():
            if row.number > last:
                break
            if row.history != history:
                continue
            recorded = self._unseal(row)
            if row.digest in again:
                pairs += self._still_near(row, recorded, again[row.digest], index)
            index.add(recorded, number=row.number)
        return tuple(pairs[:_MOST_NAMED])

    def _still_near(
        self, row: Row, recorded: Entry, again: Entry, index: Index
    ) -> list[ThinPair]:
        """Name what a recorded table added, as far as its cells are those of today."""
        found = index.pairs(recorded, threshold=self.threshold, is_known=index.knows(recorded))
        is_still = np.isin(recorded.identity[found[0]], again.identity).tolist()
        kept = [list(itertools.compress(column, is_still)) for column in found]
        return [
            replace(pair, cell=replace(pair.cell, table=again.definition.name))
            for pair in self._named(
                recorded,
                (kept[0], kept[1], kept[2]),
                None,
                most=_MOST_NAMED,
                number=row.number,
            )
        ]

    def check(
        self, entries: Sequence[Entry], *, history: str = "public", also: Sequence[str] = ()
    ) -> tuple[ThinPair, ...]:
        """Find the thin differences between tables and what was published; record nothing.

        Parameters
        ----------
        entries
            The tables, from `entry`; each is also compared with those before it.
        history
            The history they would belong to.
        also
            Further histories whose tables its readers know.

        Returns
        -------
        tuple of ThinPair
            The thin differences that they would add, the first 10,000 of them.

        Examples
        --------
        >>> ledger.check([entry])  # doctest: +SKIP
        ()
        """
        with self._lock:
            self._refresh()
            return self._compare(entries, history, also, _MOST_NAMED)[1]

    def publish(
        self,
        entries: Sequence[Entry],
        *,
        policy: Policy = "refuse",
        history: str = "public",
        also: Sequence[str] = (),
        allowed: Collection[ThinPair] = (),
        most: int = _MOST_NAMED,
    ) -> tuple[ThinPair, ...]:
        """Check tables and record them, all or none, before anybody sees them.

        Parameters
        ----------
        entries
            The tables, from `entry`; each is also compared with those before it.
        policy
            ``"refuse"`` records nothing when there is a thin difference; ``"flag"`` records
            and returns them.
        history
            The history they belong to.
        also
            Further histories whose tables their readers know.
        allowed
            Thin differences, from `check`, that refuse nothing.
        most
            How many thin differences are named; all of them count.

        Returns
        -------
        tuple of ThinPair
            The thin differences, the first of them.

        Raises
        ------
        ThinDifferenceError
            If there is another one and the policy is to refuse.
        LedgerError
            If the ledger cannot be written: then nothing may be published.

        Examples
        --------
        >>> ledger.publish([entry])  # doctest: +SKIP
        ()
        """
        if policy not in {"refuse", "flag"}:
            raise ConfigError(f"The policy is 'refuse' or 'flag', not {policy!r}.")
        borne = set(allowed)
        with self._lock:
            self._refresh()  # most of the work while others may still write
            with self._store.writing():
                self._refresh()
                fresh, pairs = self._compare(entries, history, also, most)
                refused = [pair for pair in pairs if pair not in borne]
                if refused and policy == "refuse":
                    raise ThinDifferenceError(refused)
                numbers = [self._insert(entry, history) for entry in fresh]
            for number, entry in zip(numbers, fresh, strict=True):
                self._take(number, entry, history)
        logger.info("recorded in the ledger", extra={"tables": len(fresh), "history": history})
        return pairs

    def audit(
        self, *, history: str | None = None, threshold: int | None = None
    ) -> Iterator[ThinPair]:
        """List the thin differences of a whole history, as each table added them.

        Parameters
        ----------
        history
            The history, or None for each of them by itself.
        threshold
            The largest difference that counts, by default the ledger's own.

        Yields
        ------
        ThinPair
            Each thin difference, in the order of publication.

        Examples
        --------
        >>> list(ledger.audit())  # doctest: +SKIP
        []
        """
        wanted = self.threshold if threshold is None else threshold
        if not 1 <= wanted <= self.width:
            raise ConfigError(
                f"This ledger can tell differences of 1 to {self.width} records, not {wanted}.",
                hint="a ledger is made for the largest threshold it will ever need",
            )
        indexes: dict[str, Index] = {}
        for row in self._store.rows():
            if history is not None and row.history != history:
                continue
            entry = self._unseal(row)
            index = indexes.setdefault(row.history, Index(self.width))
            found = index.pairs(entry, threshold=wanted, is_known=index.knows(entry))
            yield from self._named(entry, found, None, most=len(found[0]), number=row.number)
            index.add(entry, number=row.number)

    def close(self) -> None:
        """Close the database."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Ledger(threshold {self.threshold})"

    def _compare(
        self, entries: Sequence[Entry], history: str, also: Sequence[str], most: int
    ) -> tuple[list[Entry], tuple[ThinPair, ...]]:
        """Return the entries that are not recorded yet, and the thin differences they add."""
        fresh: list[Entry] = []
        pairs: list[ThinPair] = []
        pending = Index(self.width)
        others = [self._index(h) for h in dict.fromkeys(also) if h != history]
        mine = self._index(history)
        for left, entry in zip(reversed(range(len(entries))), entries, strict=True):
            is_known = mine.knows(entry) | pending.knows(entry)
            if is_known.all() and self._is_among(entry, fresh, history):
                continue
            for index in others:
                is_known |= index.knows(entry)
            for index in (mine, *others, pending):
                found = index.pairs(entry, threshold=self.threshold, is_known=is_known)
                given = fresh if index is pending else None
                pairs += self._named(entry, found, given, most=most - len(pairs))
            if left:  # for those that follow
                pending.add(entry, number=len(fresh))
            fresh.append(entry)
        return fresh, tuple(pairs)

    def _is_among(self, entry: Entry, fresh: Sequence[Entry], history: str) -> bool:
        """Tell whether this very table is recorded, or about to be."""
        identity = entry.definition.identity
        return any(e.definition.identity == identity for e in fresh) or self.is_known(
            entry.definition, history=history
        )

    def _named(
        self,
        entry: Entry,
        found: Pairs,
        fresh: Sequence[Entry] | None,
        *,
        most: int,
        number: int | None = None,
    ) -> list[ThinPair]:
        """Name pairs, each published table being opened once."""
        rows = list(zip(*(column[: max(most, 0)] for column in found), strict=True))
        published: dict[tuple[int, int], CellName] = {}
        for table, one in sorted({(table, one) for _, table, one in rows}):
            published[table, one] = (
                self._entry(table).name(one, entry=table)
                if fresh is None
                else fresh[table].name(one)
            )
        return [
            ThinPair(cell=entry.name(new, entry=number), published=published[table, one])
            for new, table, one in rows
        ]

    def _insert(self, entry: Entry, history: str) -> int:
        row = Row(
            number=0,
            history=history,
            digest=self._seal.digest(entry.definition.identity),
            definition=entry.definition.text,
            published_at=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            sealed=b"",
        )
        sealed = self._seal.close(entry.pack(), beside=row.beside)
        return self._store.insert(
            Row(
                number=0,
                history=row.history,
                digest=row.digest,
                definition=row.definition,
                published_at=row.published_at,
                sealed=sealed,
            )
        )

    def _index(self, history: str) -> Index:
        return self._indexes.setdefault(history, Index(self.width))

    def _refresh(self) -> None:
        """Take in what was recorded since the last look, by whomever."""
        for row in self._store.rows(after=self._last):
            entry = self._unseal(row)
            self._take(row.number, entry, row.history)

    def _take(self, number: int, entry: Entry, history: str) -> None:
        """Take an entry that is safely recorded into memory."""
        self._index(history).add(entry, number=number)
        self._keep(number, entry)
        self._last = number

    def _entry(self, number: int) -> Entry:
        entry = self._opened.get(number)
        if entry is None:
            for row in self._store.rows(number=number):
                entry = self._unseal(row)
                self._keep(number, entry)
        if entry is None:
            raise LedgerError("An entry of the ledger is gone.", hint="restore the ledger")
        return entry

    def _keep(self, number: int, entry: Entry) -> None:
        self._opened[number] = entry
        while len(self._opened) > 1 and sum(map(len, self._opened.values())) > _KEPT:
            self._opened.popitem(last=False)

    def _unseal(self, row: Row) -> Entry:
        text = self._seal.open(row.sealed, beside=row.beside)
        if text is None:
            raise LedgerError(
                f"Entry {row.number} of the ledger was altered or is damaged.",
                hint="restore the ledger from a copy",
            )
        return Entry.unpack(text, Definition.read(row.definition))


def list_published(target: str | os.PathLike[str]) -> Iterator[Published]:
    """List the tables that a ledger holds, without its secret.

    Parameters
    ----------
    target
        The file or the URL of the ledger.

    Yields
    ------
    Published
        Each table, in the order of publication.

    Raises
    ------
    LedgerError
        If it cannot be opened.

    Examples
    --------
    >>> list(list_published("ledger.db"))  # doctest: +SKIP
    []
    """
    store = open_store(target, create=False)
    try:
        for row in store.rows(is_open=True):
            yield Published(
                number=row.number,
                history=row.history,
                published_at=row.published_at,
                definition=Definition.read(row.definition),
            )
    finally:
        store.close()


def _width(settings: dict[str, str], seal: Seal, threshold: int | None) -> int:
    """Return the width of a ledger's sketches, or raise when it does not suit."""
    if settings.get("schema") != _SCHEMA:
        raise LedgerError(
            "The ledger has a form that this version does not know.",
            hint="use the version that wrote it, or a newer one",
        )
    if settings.get("check") != seal.check:
        raise LedgerError(
            "The ledger was made with another secret.",
            hint="use that secret, or start a new ledger",
        )
    width = int(settings["width"])
    if threshold is not None and threshold > width:
        raise LedgerError(
            f"The ledger was made for thresholds up to {width}, not {threshold}.",
            hint="start a new ledger with the larger threshold",
        )
    return width
