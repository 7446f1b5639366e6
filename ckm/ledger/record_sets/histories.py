"""What was published, history by history, in memory: it follows the database."""

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ckm.ledger.appearances import Appearance
from ckm.ledger.definition import Definition
from ckm.ledger.errors import LedgerError
from ckm.ledger.record_sets.entry import Entry
from ckm.ledger.record_sets.index import Index, Pair, Pending
from ckm.ledger.second_method import LabelledRun, LabelledSets, SecondMethod, differ
from ckm.ledger.storage.record import CellName, Record, ThinPair
from ckm.ledger.storage.seal import Seal
from ckm.ledger.storage.settings import Head, read_head, write_head
from ckm.ledger.storage.store import Database, Row
from ckm.ledger.storage.writer import Submission
from footing.arrays import Flags, Words
from footing.messages import Message, joined

Source = tuple[Index, Pending | None]

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
    """

    def __init__(self, store: Database, *, seal: Seal, width: int) -> None:
        self._store = store
        self._seal = seal
        self.width = width
        self._indexes: dict[str, Index] = {}
        self._labelled: dict[str, LabelledSets] = {}
        self._in_two_ways: dict[str, tuple[tuple[LabelledRun, ...], int, Words]] = {}
        self.head = Head()  # where the ledger ends, as far as was looked
        self._opened: OrderedDict[int, Record] = OrderedDict()
        self._sets = 0

    @property
    def sets(self) -> int:
        """How many sets of records are in memory."""
        return sum(len(index) for index in list(self._indexes.values()))

    @property
    def has_labels(self) -> bool:
        """Whether a table is there that another method than noise protected."""
        return any(list(self._labelled.values()))

    def refresh(self) -> bool:
        """Take in what was recorded since the last look, by whomever; tell if there was any."""
        before = self.head
        head = read_head(self._store.settings(), self._seal)
        links = {before.number: before.link}
        for row in self._store.rows(after=before.number):
            if self._chained(row, self.head) != row:
                raise self._damaged()
            self.take(row, self._unseal(row))
            links[row.number] = row.link
        # What others wrote after the head was read may be there already.
        if links.get(head.number) != head.link:
            raise self._damaged()
        return self.head != before

    def take(self, row: Row, record: Record) -> None:
        """Take a record in that is safely written."""
        self.index(row.history).add(record, number=row.number)
        if len(record.labels):
            self._labelled_sets(row.history).add(*record.sets, number=row.number)
        self._keep(row.number, record)
        self.head = Head(row.number, row.link)

    def chained(self, rows: Sequence[Row]) -> list[Row]:
        """Give new rows the numbers and the links that follow on what is recorded."""
        chain: list[Row] = []
        head = self.head
        for row in rows:
            chain.append(self._chained(row, head))
            head = Head(chain[-1].number, chain[-1].link)
        return chain

    def write_head(self, rows: Sequence[Row], new: Mapping[str, str]) -> None:
        """Write that the ledger ends with new rows, and has new settings."""
        read_head(self._store.settings(), self._seal)
        head = Head(rows[-1].number, rows[-1].link) if rows else self.head
        write_head(self._store, self._seal, head, new)

    def require_whole(self, reference: Head | None = None) -> Head:
        """Return where the ledger ends, after a look at every entry."""
        wrong: list[str] = []
        head = Head()
        is_known = reference is None or reference == head
        last = read_head(self._store.settings(), self._seal)
        for row in self._store.rows():
            if row.number != head.number + 1:
                wrong.append(_missing(head.number + 1, row.number - 1))
            is_sealed = self._seal.open(row.sealed, beside=row.beside) is not None
            if not is_sealed:
                wrong.append(Message("entry {number} was altered", number=row.number))
            elif row.number == head.number + 1 and self._chained(row, head).link != row.link:
                wrong.append(
                    Message(
                        "entry {number} does not follow on the one before it", number=row.number
                    )
                )
            head = Head(row.number, row.link)
            is_known = is_known or head == reference
        if head.number < last.number:
            wrong.append(_missing(head.number + 1, last.number))
        elif head.number == last.number and head.link != last.link:
            wrong.append(
                Message(
                    "entry {number} is not the last one that was written", number=head.number
                )
            )
        if not is_known and reference is not None:
            wrong.append(
                Message(
                    "entry {number} is not the one whose head was noted",
                    number=reference.number,
                )
            )
        if wrong:
            raise LedgerError(
                Message("The ledger is not whole: {wrong}.", wrong=joined("; ", wrong)),
                hint=Message("restore the ledger from a copy, and find out who can write it"),
            )
        return head

    def _chained(self, row: Row, head: Head) -> Row:
        number = head.number + 1
        link = self._seal.link(head.link, number, row.sealed)
        return replace(row, number=number, link=link)

    def _damaged(self) -> LedgerError:
        try:
            self.require_whole()
        except LedgerError as error:
            return error
        return LedgerError(
            Message("The ledger was put back to an earlier state while it was in use."),
            hint=Message("restore the ledger from its latest copy"),
        )

    def index(self, history: str) -> Index:
        """Return the sets of a history."""
        return self._indexes.setdefault(history, Index(self.width))

    def draft(self, entry: Entry, history: str) -> Record:
        """Return what a table would add to a history, as far as is known in memory.

        Sets that were recorded since the last look count as new, which does no harm.
        """
        is_new = ~self.index(history).knows(entry.identity)
        return entry.record(is_new, has_others=bool(self._labelled_sets(history)))

    def _labelled_sets(self, history: str) -> LabelledSets:
        return self._labelled.setdefault(history, LabelledSets())

    def record(self, number: int) -> Record:
        """Return a record."""
        record = self._opened.get(number)
        if record is None:
            for row in self._store.rows(number=number):
                record = self._unseal(row)
                self._keep(number, record)
        if record is None:
            raise LedgerError(
                Message("An entry of the ledger is gone."), hint=Message("restore the ledger")
            )
        return record

    def appearances(
        self, entries: Sequence[Entry], histories: Sequence[str]
    ) -> Iterator[Appearance]:
        """Yield the tables of some histories, then new ones, and what is new in each.

        Sets that two histories have count in the first of them.
        """
        places = {name: place for place, name in enumerate(histories)}
        for row in self._store.rows(is_open=True):
            if row.history in places:
                record = self.record(row.number)
                before = histories[: places[row.history]]
                is_new = ~self._any_knows(before, record.identity)
                levels = {
                    name: max(len(columns), 1 + max(own, default=0))
                    for name, (columns, _), own in zip(
                        record.definition.dimensions,
                        record.axes,
                        record.levels or [()] * len(record.axes),
                        strict=False,
                    )
                }
                yield Appearance(
                    definition=record.definition,
                    digest=row.digest,
                    levels=levels,
                    new=record.combinations(is_new),
                )
        identities = [np.zeros(0, np.uint64), *(entry.identity for entry in entries)]
        is_first = np.zeros(sum(map(len, identities)), bool)
        is_first[np.unique(np.concatenate(identities), return_index=True)[1]] = True
        start = 0
        for entry in entries:
            is_new = is_first[start : start + len(entry)]
            start += len(entry)
            is_new = is_new & ~self._any_knows(histories, entry.identity) & entry.is_compared
            yield Appearance(definition=entry.definition, new=entry.combinations(is_new))

    def _any_knows(self, histories: Sequence[str], identities: Words) -> Flags:
        is_known = np.zeros(len(identities), bool)
        for name in histories:
            is_known |= self.index(name).knows(identities)
        return is_known

    def compare(
        self, submission: Submission, *, accepted: Pending, threshold: int
    ) -> tuple[list[int], list[ThinPair]]:
        """Find the thin differences that a submission would add."""
        history, records = submission.history, submission.records
        fresh: list[int] = []
        pairs: list[ThinPair] = []
        own = Pending(self.width)
        mine = [*self._sources(history, accepted), (own.index(history), own)]
        others = [
            source
            for name in dict.fromkeys(submission.also)
            if name != history
            for source in self._sources(name, accepted)
        ]
        for place, record in enumerate(records):
            is_known = _known(record, mine)
            if is_known.all() and self._is_again(record, (accepted, own), history):
                continue
            is_known |= _known(record, others)
            for index, pending in (*mine, *others):
                own_pairs = index.pairs(record, threshold=threshold, is_known=is_known)
                most = max(submission.most - len(pairs), 0)
                pairs += self._named(record, own_pairs[:most], pending)
            if place < len(records) - 1:  # for those that follow
                own.add(record, history)
            fresh.append(place)
        return fresh, pairs

    def second_methods(
        self, submission: Submission, *, accepted: Pending
    ) -> list[SecondMethod]:
        """Find the tables with sets of records that were published in another way.

        A set that was published in this way before tells nothing new.
        """
        second_methods = list[SecondMethod]()
        histories = tuple(dict.fromkeys([submission.history, *submission.also]))
        waiting = [record for name in histories for record in accepted.of(name)]
        noise = self._noise_met_by(submission.records, histories)
        for record in submission.records:
            for other, number in self._others(record, histories, waiting, noise):
                pair = (record.definition, other.definition)
                second_methods.append(SecondMethod.of(*pair, entry=number))
            waiting.append(record)
        return second_methods

    def _noise_met_by(self, records: Sequence[Record], histories: Sequence[str]) -> list[int]:
        """Return the entries with noise that share sets with tables by other methods."""
        sets = [record.sets[0] for record in records if len(record.labels)]
        if not sets:  # all noise is the same
            return []
        every = np.unique(np.concatenate(sets))
        return [
            number
            for name in histories
            for number, other in self._with_noise(name)
            if np.isin(other.sets[0], every).any()
        ]

    def _others(
        self,
        record: Record,
        histories: Sequence[str],
        waiting: Sequence[Record],
        noise: Sequence[int],
    ) -> Iterator[tuple[Record, int | None]]:
        """Yield the tables that publish a set of a table in another way."""
        sets, labels = record.sets
        candidates = [other for other in waiting if _differ(record, other, sets, labels)]
        numbers = self._entries_of_others(record, histories, noise, (sets, labels))
        if candidates or numbers:  # else there is nothing to look closer at
            is_new = ~self._are_published(record, histories[0])
            sets, labels = sets[is_new], labels[is_new]
            candidates = [other for other in candidates if _differ(record, other, sets, labels)]
            numbers = self._entries_of_others(record, histories, noise, (sets, labels))
        yield from ((self.record(number), number) for number in numbers)
        yield from ((other, None) for other in candidates)

    def _entries_of_others(
        self,
        record: Record,
        histories: Sequence[str],
        noise: Sequence[int],
        sets: tuple[Words, Words],
    ) -> list[int]:
        entries = set[int]()
        for name in histories:
            entries |= set(self._labelled_sets(name).others(*sets))
        if len(record.labels):
            entries |= {n for n in noise if _differ(record, self.record(n), *sets)}
        return sorted(entries)

    def _are_published(self, record: Record, history: str) -> Flags:
        """Tell which sets of a table its history has, published in the same way."""
        sets, labels = record.sets
        if len(record.labels):
            return self._labelled_sets(history).has(sets, labels)
        return np.isin(sets, self._published_in_two_ways(history))

    def _published_in_two_ways(self, history: str) -> Words:
        """Return the sets that another method published, and noise as well.

        What was found stays: a service asks for each of its tables.
        """
        labelled = self._labelled_sets(history)
        cached = self._in_two_ways.get(history)
        if cached is None or cached[0] is not labelled.runs:
            cached = (labelled.runs, 0, np.zeros(0, np.uint64))
        _, last, sets = cached
        for number, record in self._with_noise(history, after=last):
            own = record.sets[0]
            sets, last = np.union1d(sets, own[labelled.knows(own)]), number
        self._in_two_ways[history] = (cached[0], last, sets)
        return sets

    def _with_noise(self, history: str, *, after: int = 0) -> Iterator[tuple[int, Record]]:
        for row in self._store.rows(after=after, is_open=True):
            if row.history == history and not len((record := self.record(row.number)).labels):
                yield row.number, record

    def audit(self, history: str | None, threshold: int) -> Iterator[ThinPair]:
        """Yield the thin differences of a history, or of each by itself, as they came up."""
        for row, record, pairs in self._added(history, threshold):
            yield from self._named(record, pairs, number=row.number)

    def audit_methods(self, history: str | None) -> Iterator[SecondMethod]:
        """Yield the tables that publish sets of earlier ones in another way."""
        with_noise, others = list[Row](), list[Row]()
        for row in self._store.rows(is_open=True):
            if history is not None and row.history != history:
                continue
            record = self.record(row.number)
            is_noise = not len(record.labels)
            for other in others if is_noise else (*with_noise, *others):
                earlier = self.record(other.number)
                if other.history == row.history and _differ(record, earlier, *record.sets):
                    pair = (record.definition, earlier.definition)
                    yield SecondMethod.of(*pair, entry=other.number)
            (with_noise if is_noise else others).append(row)

    def standing(
        self, again: Mapping[bytes, Entry], *, history: str, last: int, threshold: int
    ) -> Iterator[ThinPair]:
        """Yield what tables added when they were recorded, as far as they show it today."""
        for row, record, pairs in self._added(history, threshold, last=last):
            table = again.get(row.digest)
            if table is None:
                continue
            is_still = np.isin(record.identity, table.identity)
            current_pairs = [pair for pair in pairs if is_still[pair[0]]]
            for pair in self._named(record, current_pairs, number=row.number):
                yield replace(pair, cell=replace(pair.cell, table=table.definition.name))

    def _added(
        self, history: str | None, threshold: int, *, last: int | None = None
    ) -> Iterator[tuple[Row, Record, list[Pair]]]:
        """Go through the entries in order, each with the thin differences that it added."""
        indexes: dict[str, Index] = {}
        for row in self._store.rows() if last is None or last else ():
            if last is not None and row.number > last:
                return
            if history is not None and row.history != history:
                continue
            record = self._unseal(row)
            index = indexes.setdefault(row.history, Index(self.width))
            is_known = index.knows(record.identity)
            yield row, record, index.pairs(record, threshold=threshold, is_known=is_known)
            index.add(record, number=row.number)

    def _sources(self, history: str, accepted: Pending) -> list[Source]:
        """Return the sets of a history that are recorded, and those about to be."""
        return [(self.index(history), None), (accepted.index(history), accepted)]

    def _is_among(
        self, definition: Definition, waiting: Sequence[Pending], history: str
    ) -> bool:
        """Tell whether this very table is recorded, or about to be."""
        identity = definition.identity
        return any(pending.has(identity, history) for pending in waiting) or self._store.has(
            history, self._seal.digest(identity)
        )

    def _is_again(self, record: Record, waiting: Sequence[Pending], history: str) -> bool:
        """Tell whether this very table is recorded, or about to be, with the same numbers."""
        if not self._is_among(record.definition, waiting, history):
            return False
        return bool(
            self._labelled_sets(history).has(*record.sets).all() or not len(record.labels)
        )

    def _named(
        self,
        record: Record,
        pairs: Sequence[Pair],
        pending: Pending | None = None,
        *,
        number: int | None = None,
    ) -> list[ThinPair]:
        """Name pairs, each published table being opened once."""
        published: dict[tuple[int, int], CellName] = {}
        for table, one in sorted({(table, one) for _, table, one in pairs}):
            published[table, one] = (
                self.record(table).name(one, entry=table)
                if pending is None
                else pending.records[table].name(one)
            )
        return [
            ThinPair(cell=record.name(new, entry=number), published=published[table, one])
            for new, table, one in pairs
        ]

    def _keep(self, number: int, record: Record) -> None:
        self._opened[number] = record
        self._sets += len(record)
        while len(self._opened) > 1 and self._sets > _KEPT:
            self._sets -= len(self._opened.popitem(last=False)[1])

    def _unseal(self, row: Row) -> Record:
        text = self._seal.open(row.sealed, beside=row.beside)
        if text is None:
            raise LedgerError(
                Message(
                    "Entry {number} of the ledger was altered or is damaged.", number=row.number
                ),
                hint=Message("restore the ledger from a copy"),
            )
        return Record.unpack(text, Definition.read(row.definition))


def _missing(first: int, last: int) -> str:
    one = Message("entry {first} is missing", first=first)
    return (
        one
        if first == last
        else Message("entries {first} to {last} are missing", first=first, last=last)
    )


def _differ(one: Record, other: Record, sets: Words, labels: Words) -> bool:
    """Tell whether a table publishes some sets of another one in another way."""
    has_labels = len(one.labels) or len(other.labels)
    return bool(has_labels) and differ((sets, labels), other.sets)


def _known(record: Record, sources: Sequence[Source]) -> Flags:
    """Tell which new sets of a table some indexes have."""
    is_known = np.zeros(len(record), bool)
    for index, _ in sources:
        is_known |= index.knows(record.identity)
    return is_known
