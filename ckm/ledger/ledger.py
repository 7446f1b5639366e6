"""The ledger: every published table, and what a new one differs by."""

import datetime as dt
import itertools
import logging
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Self

import numpy as np

from ckm.errors import ConfigError
from ckm.ledger.appearances import Appearance
from ckm.ledger.definition import Definition
from ckm.ledger.protection import ANOTHER_NOISE, CellProtection
from ckm.ledger.record_sets.entry import Entry
from ckm.ledger.record_sets.histories import Histories
from ckm.ledger.second_method import SecondMethod
from ckm.ledger.storage.record import Record, ThinPair
from ckm.ledger.storage.seal import Seal
from ckm.ledger.storage.settings import (
    Head,
    is_first_noise,
    new_noises,
    require_noise,
    require_parameters,
    sealed_noises,
    width_of,
)
from ckm.ledger.storage.store import Database, Row, copy_store, open_store
from ckm.ledger.storage.writer import Submission, Writer
from footing.arrays import Flags
from footing.messages import Argument, Message
from tables import Cells, Secret

logger = logging.getLogger(__name__)

_MAX_NAMED = 10_000  # more thin differences of one table tell nobody anything more

Policy = Literal["refuse", "flag"]


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
    allows_second_noise
        Whether records may be published with another noise than before, too.
    second_noise
        What protects tables that have another noise than the first ones.

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
        store: Database,
        *,
        seal: Seal,
        threshold: int,
        width: int,
        with_complements: bool,
        smallest: int,
        allows_second_noise: bool = False,
        second_noise: CellProtection | None = None,
    ) -> None:
        self._store = store
        self._seal = seal
        self.threshold = threshold
        self.width = width
        self._with_complements = with_complements
        self._smallest = smallest
        self.allows_second_noise = allows_second_noise
        self._second_noise = second_noise
        self._histories = Histories(store, seal=seal, width=width)
        self._writer = Writer(store, self._histories, threshold=threshold)
        self._is_loaded = False

    @classmethod
    def open(
        cls,
        target: str | os.PathLike[str],
        *,
        secret: Secret,
        threshold: int | None = None,
        noise: str | None = None,
        allows_second_noise: bool = False,
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
        noise
            What noise depends on beside the secret, such as `ptable.PTable.id`; then a ledger
            whose tables have another noise is refused.
        allows_second_noise
            Do not refuse it: record what it protects as such, and tell which tables publish
            the same records with two noises.
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
            If it cannot be opened, is something else, or has another secret or noise.

        Examples
        --------
        >>> Ledger.open("ledger.db", secret=secret)  # doctest: +SKIP
        """
        require_parameters(threshold, smallest)
        seal = Seal(secret)
        store = open_store(target, create=create, timeout_s=timeout_s)
        try:
            width = width_of(store, seal, threshold)
            second_noise = None
            if noise is not None and not allows_second_noise:
                require_noise(store, seal, noise, create=create)
            elif noise is not None and not is_first_noise(store, seal, noise, create=create):
                second_noise = CellProtection(method=ANOTHER_NOISE, settings=noise)
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
            allows_second_noise=allows_second_noise,
            second_noise=second_noise,
        )

    @property
    def has_second_noise(self) -> bool:
        """Whether what is recorded here has another noise than the first tables.

        Examples
        --------
        >>> ledger.has_second_noise  # doctest: +SKIP
        False
        """
        return self._second_noise is not None

    def entry(
        self,
        cells: Cells,
        definition: Definition,
        *,
        shown: Flags | None = None,
        protection: CellProtection | None = None,
    ) -> Entry:
        """Digest the cells of a table, to check or record it.

        Parameters
        ----------
        cells
            From `tables.cells.cube` with ``sketch=ledger.width``.
        definition
            What table it is.
        shown
            Which of the cells the table shows; by default all of them.
        protection
            What protected them; None for the noise that the ledger was opened with.

        Returns
        -------
        Entry
            The table's sets; disclosive, but without counts or keys.

        Examples
        --------
        >>> ledger.entry(cells, Definition(name="t"))  # doctest: +SKIP
        Entry('t')
        """
        entry = Entry.of(
            cells,
            definition,
            seal=self._seal,
            with_complements=self._with_complements,
            smallest=self._smallest,
            shown=shown,
        )
        protection = protection or self._second_noise
        return entry if protection is None else entry.protected_by(protection)

    @property
    def sets(self) -> int:
        """Sets of records in memory, of all histories: 100 to 200 bytes each.

        Examples
        --------
        >>> ledger.sets  # doctest: +SKIP
        0
        """
        if not self._is_loaded:
            self._writer.refresh()
            self._is_loaded = True
        return self._histories.sets

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
        pairs = Histories(self._store, seal=self._seal, width=self.width).standing(
            again, history=history, last=last, threshold=self.threshold
        )
        return tuple(itertools.islice(pairs, _MAX_NAMED))

    def require_amounts(
        self, noises: Mapping[str, str], *, beside: Mapping[str, str] | None = None
    ) -> None:
        """Raise unless sums of variables may have this noise; record nothing.

        Parameters
        ----------
        noises
            From `ckm.engine.magnitudes.noise_identities`.
        beside
            The noise of sums that are about to be published with them.

        Raises
        ------
        LedgerError
            If one was published with another noise, or is about to be.

        Examples
        --------
        >>> ledger.require_amounts(noises)  # doctest: +SKIP
        """
        if noises:
            settings = self._store.settings() | sealed_noises(beside or {}, seal=self._seal)
            new_noises(sealed_noises(noises, seal=self._seal), earlier=settings)

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
        submission = self._submission(entries, history, also, with_rows=False)
        return self._writer.check(submission)

    def other_histories(self, histories: Collection[str]) -> list[str]:
        """Return the names of further histories that have tables.

        Parameters
        ----------
        histories
            Those that are left out.

        Examples
        --------
        >>> ledger.other_histories(["public"])  # doctest: +SKIP
        ['researchers']
        """
        recorded = {row.history for row in self._store.rows(is_open=True)}
        return sorted(recorded - set(histories))

    def appearances(
        self, entries: Sequence[Entry], *, history: str = "public", also: Sequence[str] = ()
    ) -> Iterator[Appearance]:
        """Give the tables recorded in some histories, then new ones, and what is new in each.

        Parameters
        ----------
        entries, history, also
            As for `check`.

        Yields
        ------
        Appearance
            The recorded tables in order, then the new ones.

        Examples
        --------
        >>> list(ledger.appearances([entry]))  # doctest: +SKIP
        [Appearance(…)]
        """
        self._writer.refresh()
        return self._histories.appearances(entries, list(dict.fromkeys([history, *also])))

    def second_methods(
        self, entries: Sequence[Entry], *, history: str = "public", also: Sequence[str] = ()
    ) -> tuple[SecondMethod, ...]:
        """Find tables whose records were published in another way; record nothing.

        Parameters
        ----------
        entries, history, also
            As for `check`.

        Returns
        -------
        tuple of SecondMethod
            The tables, each with one that it stands beside.

        Examples
        --------
        >>> ledger.second_methods([entry])  # doctest: +SKIP
        ()
        """
        self._writer.refresh()
        has_noise_alone = all(entry.labels is None for entry in entries)
        if has_noise_alone and not self._histories.has_labels:
            return ()
        submission = self._submission(entries, history, also, with_rows=False)
        return self._writer.second_methods(submission)

    def publish(
        self,
        entries: Sequence[Entry],
        *,
        policy: Policy = "refuse",
        second_method: Policy = "refuse",
        history: str = "public",
        also: Sequence[str] = (),
        allowed: Collection[ThinPair] = (),
        most: int = _MAX_NAMED,
        noises: Mapping[str, str] | None = None,
    ) -> tuple[ThinPair, ...]:
        """Check tables and record them, all or none, before anybody sees them.

        Parameters
        ----------
        entries
            The tables, from `entry`; each is also compared with those before it.
        policy
            ``"refuse"`` records nothing when there is a thin difference; ``"flag"`` records
            and returns them.
        second_method
            The same for records that were published by another method, or by the same one with
            other settings or numbers.
        history
            The history they belong to.
        also
            Further histories whose tables their readers know.
        allowed
            Thin differences, from `check`, that refuse nothing.
        most
            How many thin differences are named; all of them count.
        noises
            The noise of sums in the tables, from `ckm.engine.magnitudes.noise_identities`. A
            variable keeps the one that it is first published with.

        Returns
        -------
        tuple of ThinPair
            The thin differences, the first of them.

        Raises
        ------
        SecondMethodError, ThinDifferenceError
            If there is a second method, or another thin difference, that is to be refused.
        LedgerError
            If the ledger cannot be written, or a variable was published with another noise:
            then nothing may be published.

        Examples
        --------
        >>> ledger.publish([entry])  # doctest: +SKIP
        ()
        """
        for word in (policy, second_method):
            if word not in {"refuse", "flag"}:
                raise ConfigError(
                    Message(
                        "The policy is 'refuse' or 'flag', not {policy!r}.",
                        policy=Argument(word),
                    )
                )
        submission = self._submission(entries, history, also)
        submission.allowed = set(allowed) if policy == "refuse" else None
        submission.allows_second = second_method == "flag"
        submission.allows_second_noise = self.allows_second_noise
        submission.most = most
        submission.noises = sealed_noises(noises or {}, seal=self._seal)
        pairs = self._writer.write(submission)
        tables = len(submission.fresh)
        logger.info("recorded in the ledger", extra={"tables": tables, "history": history})
        return pairs

    def showing(self, entry: Entry) -> Iterator[str]:
        """Tell which recorded tables show the sets of a table, or let readers derive them.

        Parameters
        ----------
        entry
            The sets, from `entry`.

        Yields
        ------
        str
            Entry, history and name of the set. A table whose sets were all recorded before has
            no digest of its own, so that it is told as one that may show them.

        Examples
        --------
        >>> list(ledger.showing(entry))  # doctest: +SKIP
        ["entry 1, history 'public': sex=F in 't'"]
        """
        if not len(entry):
            yield f"not looked up: the ledger compares no cells below {self._smallest} records"
            return
        for row in self._store.rows(is_open=True):
            record = self._histories.record(row.number)
            table = record.definition.name
            numbers = np.flatnonzero(np.isin(record.identity, entry.identity)).tolist()
            names = [str(record.name(number)) for number in numbers]
            if not len(record) and not len(record.others):
                names = [f"perhaps in {table!r}: all its sets were recorded before"]
            elif np.isin(record.others, entry.identity).any():
                names = [f"in {table!r}, in a cell that the ledger does not name"]
            yield from (f"entry {row.number}, history {row.history!r}: {one}" for one in names)

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
        limit = self.threshold if threshold is None else threshold
        if not 1 <= limit <= self.width:
            raise ConfigError(
                Message(
                    "This ledger can tell differences of 1 to {width} records, not "
                    "{threshold}.",
                    width=self.width,
                    threshold=Argument(limit),
                ),
                hint=Message("a ledger is made for the largest threshold it will ever need"),
            )
        yield from self._histories.audit(history, limit)

    def audit_methods(self, *, history: str | None = None) -> Iterator[SecondMethod]:
        """List the tables of a whole history whose records others publish in another way.

        Parameters
        ----------
        history
            The history, or None for each of them by itself.

        Yields
        ------
        SecondMethod
            Each pair of tables, in the order of publication.

        Examples
        --------
        >>> list(ledger.audit_methods())  # doctest: +SKIP
        []
        """
        yield from self._histories.audit_methods(history)

    @property
    def head(self) -> str:
        """The number and the link of the last entry, as far as this program has seen."""
        return str(self._histories.head)

    def require_whole(self, *, head: str | None = None) -> str:
        """Look at every entry, and return the head of the ledger.

        Parameters
        ----------
        head
            The head at an earlier time, as noted elsewhere: then entries that were removed
            since are missed even where the whole ledger was put back.

        Returns
        -------
        str
            The number and the link of the last entry. Who keeps it elsewhere can tell later
            that nothing up to there was removed.

        Raises
        ------
        LedgerError
            If entries are missing, were altered or are in another order, with their numbers.

        Examples
        --------
        >>> ledger.require_whole()  # doctest: +SKIP
        '12:0123456789abcdef0123456789abcdef'
        """
        reference = None if head is None else Head.read(head)
        return str(self._histories.require_whole(reference))

    def close(self) -> None:
        """Close the database."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Ledger(threshold {self.threshold})"

    def _submission(
        self,
        entries: Sequence[Entry],
        history: str,
        also: Sequence[str],
        *,
        with_rows: bool = True,
    ) -> Submission:
        _ = self.sets  # what was recorded is in memory
        # All but the comparison is done while others may write.
        records = [self._histories.draft(entry, history) for entry in entries]
        rows = [self._row(record, history) for record in records] if with_rows else []
        return Submission(
            records=records, rows=rows, history=history, also=also, most=_MAX_NAMED
        )

    def _row(self, record: Record, history: str) -> Row:
        """Seal what the ledger keeps of a table."""
        definition = record.definition
        row = Row(
            number=0,
            history=history,
            digest=self._seal.digest(definition.identity),
            definition=definition.text,
            published_at=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            sealed=b"",
        )
        return replace(row, sealed=self._seal.close(record.pack(), beside=row.beside))


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


def copy_ledger(
    target: str | os.PathLike[str], output: str | os.PathLike[str], *, overwrite: bool = False
) -> int:
    """Write a copy of a ledger as it is at one moment; releases may go on meanwhile.

    Parameters
    ----------
    target
        The file of the ledger.
    output
        The file of the copy, for the owner's eyes.
    overwrite
        Whether a file of that name may be replaced.

    Returns
    -------
    int
        The number of tables in it.

    Raises
    ------
    LedgerError
        If there is no such ledger, if it is a database of PostgreSQL, or if `output` exists.

    Examples
    --------
    >>> copy_ledger("ledger.db", "copy.db")  # doctest: +SKIP
    12
    """
    copy_store(target, Path(output), overwrite=overwrite)
    return sum(1 for _ in list_published(output))


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
