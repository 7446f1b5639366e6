"""A budget that lasts: what was spent, by whom, for what, in a file that refuses the rest.

A release is charged before it is made. What is charged is on the disk when `spend` returns;
after a crash in between, the budget is spent and nothing was published, never the reverse.
Post-processing costs nothing and has no entry.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

from dp.accounting.composition import parallel
from dp.adjacency import Adjacency
from dp.budget.entries import (
    ARITHMETIC,
    BudgetSettings,
    Entry,
    RunState,
    amount,
    chained,
    checked_text,
    exact,
)
from dp.errors import BudgetSpentError, DPError, LedgerFileError
from dp.guarantee import Guarantee
from footing.files import new_file
from footing.messages import Message, Name, Shape, Text

_APPLICATION = 0x64704C64  # "dpLd" in the header of the file
_TABLES = (
    "CREATE TABLE dp_ledger (name TEXT PRIMARY KEY, content TEXT NOT NULL)",
    """CREATE TABLE dp_entry (
        number INTEGER PRIMARY KEY, at TEXT NOT NULL, who TEXT NOT NULL, what TEXT NOT NULL,
        epsilon TEXT NOT NULL, delta TEXT NOT NULL, rho TEXT NOT NULL,
        spent_first TEXT NOT NULL, spent_second TEXT NOT NULL, digest TEXT NOT NULL
    )""",
)
_COLUMNS = "number, at, who, what, epsilon, delta, rho, spent_first, spent_second, digest"


class Releasing(Protocol):
    """What a ledger can charge and run: every noise and choice of this package, and places."""

    @property
    def guarantee(self) -> Guarantee:
        """What a release costs."""

    def check(self, answer: Any, /) -> None:
        """Raise what `release` would raise."""

    def release(self, answer: Any, /) -> Any:
        """Make the release."""


@dataclass(frozen=True, slots=True)
class BudgetLedger:
    """The ledger in a file. Several processes may use it at once.

    Losses add up: epsilons and deltas, or rhos. Both sums hold however each release is chosen
    after looking at those before.

    Parameters
    ----------
    path
        The file.
    settings
        What may be spent, against which neighbours.

    Examples
    --------
    >>> import tempfile
    >>> from dp import Adjacency, Geometric, count
    >>> file = tempfile.mkdtemp() + "/budget.db"
    >>> ledger = BudgetLedger.create(file, epsilon=1.0, adjacency=Adjacency.ADD_REMOVE)
    >>> noise = Geometric.calibrated(count(), epsilon=0.75)
    >>> published = ledger.release(noise, 28, who="Ada", what="people over 50")
    >>> print(ledger.left)
    epsilon = 0.25 (add-remove, per record)
    >>> ledger.release(noise, 28, who="Ada", what="once more")
    Traceback (most recent call last):
    ...
    dp.BudgetSpentError: The release costs epsilon 0.75; 0.25 of 1.0 is left.
      hint: ask for less, or for a new budget from its owner
    """

    path: Path
    settings: BudgetSettings
    #: Digest of the last entry seen: entries that were there may not go.
    _seen: list[str] = field(default_factory=list, init=False, compare=False, repr=False)

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        adjacency: Adjacency,
        epsilon: float | None = None,
        delta: float = 0.0,
        rho: float | None = None,
        unit: str = "record",
        about: str = "",
    ) -> BudgetLedger:
        """Make a ledger; nothing is ever overwritten.

        Parameters
        ----------
        path
            A new file.
        adjacency, unit
            The neighbours, and who is protected.
        epsilon, delta
            What may be spent.
        rho
            The same as concentrated loss, in place of epsilon and delta.
        about
            Which data the budget is for.

        Examples
        --------
        >>> import tempfile
        >>> file = tempfile.mkdtemp() + "/budget.db"
        >>> BudgetLedger.create(file, rho=0.5, adjacency="replace").left.rho
        0.5
        """
        settings = BudgetSettings.of(
            epsilon=epsilon, delta=delta, rho=rho, adjacency=adjacency, unit=unit, about=about
        )
        return cls._made(Path(path), settings)

    @classmethod
    def _made(cls, target: Path, settings: BudgetSettings) -> BudgetLedger:
        if target.exists():
            raise _exists(target)
        try:
            with new_file(target, error=LedgerFileError) as draft:
                _fill(draft, settings)
        except (sqlite3.Error, OSError) as error:
            raise _unusable(target, error) from None
        return cls(target, settings)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> BudgetLedger:
        """Open a ledger, and check that it is whole.

        Parameters
        ----------
        path
            Its file.

        Raises
        ------
        LedgerFileError
            If it is no ledger, or an entry was changed.

        Examples
        --------
        >>> import tempfile
        >>> file = tempfile.mkdtemp() + "/budget.db"
        >>> made = BudgetLedger.create(file, epsilon=1, adjacency="replace", unit="person")
        >>> BudgetLedger.open(file) == made
        True
        """
        target = Path(path)
        with _database(target) as db:
            kind = db.execute("PRAGMA application_id").fetchone()[0]
            row = (
                kind == _APPLICATION
                and db.execute(
                    "SELECT content FROM dp_ledger WHERE name = 'settings'"
                ).fetchone()
            )
        if not row:
            raise LedgerFileError(
                Message(
                    "{target!r} is no ledger of a privacy budget.", target=Name(target.name)
                ),
                hint=Message("make one: dp.BudgetLedger.create, or ckm dp ledger create"),
            )
        ledger = cls(target, BudgetSettings.from_text(row[0]))
        ledger.verify()
        return ledger

    def spend(
        self, guarantee: Guarantee, *, who: str, what: str, run: RunState | None = None
    ) -> Entry:
        """Charge a release, before it is made.

        Parameters
        ----------
        guarantee
            What it costs.
        who, what
            Who releases, and what.
        run
            Of a run that may be interrupted: it is charged once, and of its copies one goes on.

        Returns
        -------
        Entry
            What was written.

        Raises
        ------
        BudgetSpentError
            If it costs more than what is left, or another copy of the run went on; then nothing
            is charged.
        LedgerFileError
            If the file was changed by other means since it was opened; nothing is charged.

        Examples
        --------
        >>> import tempfile
        >>> file = tempfile.mkdtemp() + "/budget.db"
        >>> ledger = BudgetLedger.create(file, epsilon=1, adjacency="replace")
        >>> cost = Guarantee(epsilon=0.25, adjacency="replace")
        >>> ledger.spend(cost, who="Ada", what="mean age").number
        1
        """
        who, what = checked_text(who, "who"), checked_text(what, "what")
        with _database(self.path) as db:
            db.execute("BEGIN IMMEDIATE")
            number, before, digest = self._verified(db)
            if run is not None:
                guarantee, what = run.charged(_entries(db), guarantee, what)
            price = self.settings.price(guarantee)
            after = _added(before, price)
            self._refuse(price, before, after)
            entry = Entry(
                number=number + 1,
                at=datetime.now(UTC).isoformat(timespec="milliseconds"),
                who=who,
                what=what,
                epsilon=amount(guarantee.epsilon),
                delta=amount(guarantee.delta),
                rho=amount(guarantee.rho),
                spent=(str(after[0]), str(after[1])),
                digest="",
            )
            entry = chained(entry, digest)
            marks = ", ".join("?" * 10)
            db.execute(f"INSERT INTO dp_entry ({_COLUMNS}) VALUES ({marks})", entry.row)  # noqa: S608
            db.execute("COMMIT")
        self._seen[:] = [entry.digest]
        return entry

    def release(self, mechanism: Releasing, answer: Any, /, *, who: str, what: str) -> Any:
        """Check an answer, charge the mechanism, then run it.

        Parameters
        ----------
        mechanism
            A noise, a choice, or noise on a place.
        answer
            The true answer.
        who, what
            Who releases, and what.

        Examples
        --------
        >>> import tempfile
        >>> from dp import Geometric, count
        >>> file = tempfile.mkdtemp() + "/budget.db"
        >>> ledger = BudgetLedger.create(file, epsilon=1, adjacency="add-remove")
        >>> noise = Geometric.calibrated(count(), epsilon=1)
        >>> isinstance(ledger.release(noise, 28, who="Ada", what="over 50"), int)
        True
        """
        _checked(mechanism, answer)
        self.spend(mechanism.guarantee, who=who, what=what)
        return mechanism.release(answer)

    def release_parts(
        self, mechanisms: Sequence[Releasing], answers: Sequence[Any], *, who: str, what: str
    ) -> list[Any]:
        """Release an answer for each part of the data; the parts together cost the largest.

        Parameters
        ----------
        mechanisms, answers
            One of each for every part. No unit may have records in two parts, and the data
            themselves may not decide what the parts are.
        who, what
            Who releases, and what.

        Examples
        --------
        >>> import tempfile
        >>> from dp import Geometric, count
        >>> file = tempfile.mkdtemp() + "/budget.db"
        >>> ledger = BudgetLedger.create(file, epsilon=1, adjacency="add-remove")
        >>> noise = Geometric.calibrated(count(), epsilon=0.25)
        >>> found = ledger.release_parts([noise] * 3, [5, 8, 2], who="Ada", what="by region")
        >>> len(found), ledger.left.epsilon
        (3, 0.75)
        """
        if len(mechanisms) != len(answers):
            raise DPError(Message("Each part needs one mechanism and one answer."))
        pairs = list(zip(mechanisms, answers, strict=True))
        for mechanism, answer in pairs:
            _checked(mechanism, answer)
        parts = [mechanism.guarantee for mechanism in mechanisms]
        cost = parallel(parts, adjacency=self.settings.adjacency)
        self.spend(cost, who=who, what=what)
        return [mechanism.release(answer) for mechanism, answer in pairs]

    def allot(
        self,
        path: str | os.PathLike[str],
        *,
        who: str,
        epsilon: float | None = None,
        delta: float = 0.0,
        rho: float | None = None,
        about: str = "",
    ) -> BudgetLedger:
        """Make a ledger whose whole budget this one pays for, for a team that keeps its own.

        Parameters
        ----------
        path
            A new file.
        who
            Who allots it.
        epsilon, delta, rho, about
            As for `create`.

        Examples
        --------
        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> office = BudgetLedger.create(folder + "/office.db", epsilon=1, adjacency="replace")
        >>> office.allot(folder + "/health.db", epsilon=0.75, who="Ada").left.epsilon
        0.75
        >>> office.left.epsilon
        0.25
        """
        target, own = Path(path), self.settings
        adjacency, unit, about = own.adjacency, own.unit, about or own.about
        part = BudgetSettings.of(
            epsilon=epsilon, delta=delta, rho=rho, adjacency=adjacency, unit=unit, about=about
        )
        if target.exists():
            raise _exists(target)
        promise = part.guarantee(*part.limits)
        self.spend(promise, who=who, what=f"budget of {target.name}")
        return self._made(target, part)

    def entries(self) -> tuple[Entry, ...]:
        """Return all entries in order.

        Examples
        --------
        >>> import tempfile
        >>> file = tempfile.mkdtemp() + "/budget.db"
        >>> BudgetLedger.create(file, epsilon=1, adjacency="replace").entries()
        ()
        """
        with _database(self.path) as db:
            return _entries(db)

    @property
    def spent(self) -> Guarantee:
        """What all releases so far promise together."""
        return self.settings.guarantee(*self._sums())

    @property
    def left(self) -> Guarantee:
        """What can still be spent."""
        pairs = zip(self.settings.limits, self._sums(), strict=True)
        first, second = (ARITHMETIC.subtract(limit, total) for limit, total in pairs)
        return self.settings.guarantee(first, second)

    def verify(self, *, head: str | None = None) -> str:
        """Check every entry and all sums; return the digest of the last.

        Parameters
        ----------
        head
            A digest noted before; the ledger must still hold the entry that had it. Only this
            notices when the last entries are gone.

        Raises
        ------
        LedgerFileError
            If an entry was changed, put in or taken out.

        Examples
        --------
        >>> import tempfile
        >>> file = tempfile.mkdtemp() + "/budget.db"
        >>> len(BudgetLedger.create(file, epsilon=1, adjacency="replace").verify())
        64
        """
        with _database(self.path) as db:
            return self._verified(db, head=head)[2]

    def _verified(
        self, db: sqlite3.Connection, *, head: str | None = None
    ) -> tuple[int, tuple[Decimal, Decimal], str]:
        """Check settings, every entry and all sums; return number, sums, digest of the last."""
        row = db.execute("SELECT content FROM dp_ledger WHERE name = 'settings'").fetchone()
        if row is None or row[0] != self.settings.text:
            raise LedgerFileError(
                Message(
                    "The settings of {path!r} are not what was written.",
                    path=Name(self.path.name),
                ),
                hint=Message("restore the file from a copy; publish nothing on it until then"),
            )
        digest, digests = self.settings.digest, {self.settings.digest}
        number, sums = 0, (Decimal(0), Decimal(0))
        for number, entry in enumerate(_entries(db), start=1):
            price = self.settings.price(self._charged(entry))
            sums = _added(sums, price)
            is_right = (
                entry.number == number
                and entry == chained(entry, digest)
                and sums == (exact(entry.spent[0]), exact(entry.spent[1]))
                and all(s <= limit for s, limit in zip(sums, self.settings.limits, strict=True))
            )
            if not is_right:
                raise LedgerFileError(
                    Message(
                        "Entry {number} of {path!r} is not what was written.",
                        number=number,
                        path=Name(self.path.name),
                    ),
                    hint=Message(
                        "restore the file from a copy; publish nothing on it until then"
                    ),
                )
            digest = entry.digest
            digests.add(digest)
        if not digests.issuperset([*self._seen, *([] if head is None else [head])]):
            raise LedgerFileError(
                Message(
                    "{path!r} does not hold the entry of a digest noted before.",
                    path=Name(self.path.name),
                ),
                hint=Message("entries were removed, or it is another ledger"),
            )
        self._seen[:] = [digest]
        return number, sums, digest

    def _sums(self) -> tuple[Decimal, Decimal]:
        with _database(self.path) as db:
            return self._verified(db)[1]

    def _charged(self, entry: Entry) -> Guarantee:
        try:
            return Guarantee(
                epsilon=float(entry.epsilon),
                delta=float(entry.delta),
                rho=float(entry.rho),
                adjacency=self.settings.adjacency,
                unit=self.settings.unit,
            )
        except ValueError:
            raise LedgerFileError(
                Message(
                    "Entry {number} of {path!r} is not what was written.",
                    number=entry.number,
                    path=Name(self.path.name),
                )
            ) from None

    def _refuse(
        self,
        price: tuple[Decimal, Decimal],
        before: tuple[Decimal, Decimal],
        after: tuple[Decimal, Decimal],
    ) -> None:
        limits = self.settings.limits
        amounts = zip(price, before, after, limits, strict=True)
        # A budget of rho has one name; its second amounts are 0.
        for name, (cost, old, new, limit) in zip(self.settings.names, amounts, strict=False):
            if new > limit:
                remainder = ARITHMETIC.subtract(limit, old)
                raise BudgetSpentError(
                    Message(
                        "The release costs {name} {cost}; {left} of {limit} is left.",
                        name=Name(name),
                        cost=cost,
                        left=remainder,
                        limit=limit,
                    ),
                    hint=Message("ask for less, or for a new budget from its owner"),
                )


def _checked(mechanism: Releasing, answer: Any) -> None:
    """Refuse what cannot be released."""
    if not all(callable(getattr(mechanism, name, None)) for name in ("check", "release")):
        raise DPError(
            Message("A ledger cannot release {name}.", name=Shape(type(mechanism))),
            hint=Message(
                "take a noise, dp.Exponential or dp.PlanarLaplace, or charge its guarantee "
                "with spend"
            ),
        )
    mechanism.check(answer)


def _fill(draft: Path, settings: BudgetSettings) -> None:
    with contextlib.closing(sqlite3.connect(draft, isolation_level=None)) as db:
        db.execute(f"PRAGMA application_id = {_APPLICATION}")
        db.execute("PRAGMA synchronous = EXTRA")
        db.execute("BEGIN IMMEDIATE")
        for table in _TABLES:
            db.execute(table)
        db.execute("INSERT INTO dp_ledger VALUES ('settings', ?)", (settings.text,))
        db.execute("COMMIT")


def _exists(target: Path) -> LedgerFileError:
    return LedgerFileError(
        Message("A file {target!r} exists.", target=Name(target.name)),
        hint=Message("open it, or choose another name"),
    )


def _added(
    sums: tuple[Decimal, Decimal], price: tuple[Decimal, Decimal]
) -> tuple[Decimal, Decimal]:
    return ARITHMETIC.add(sums[0], price[0]), ARITHMETIC.add(sums[1], price[1])


def _entries(db: sqlite3.Connection) -> tuple[Entry, ...]:
    rows = db.execute(f"SELECT {_COLUMNS} FROM dp_entry ORDER BY number")  # noqa: S608
    return tuple(Entry.from_row(row) for row in rows)


@contextlib.contextmanager
def _database(path: Path) -> Iterator[sqlite3.Connection]:
    """Open an existing file for one operation; whatever is not committed is undone."""
    if not path.is_file():
        raise LedgerFileError(
            Message("There is no ledger {path!r}.", path=Name(path.name)),
            hint=Message("look at the path"),
        )
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=60, isolation_level=None)) as db:
            db.execute("PRAGMA synchronous = EXTRA")
            yield db
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter is of a damaged schema
        raise _unusable(path, error) from None


def _unusable(path: Path, error: Exception) -> DPError:
    number = error.errno if isinstance(error, OSError) else None
    reason = Text(os.strerror(number)) if number else None
    return LedgerFileError(
        Message(
            "The ledger {path!r} cannot be used{reason}.",
            path=Name(path.name),
            reason=Message(": {reason}", reason=reason) if reason else Message(),
        ),
        hint=Message(
            "look whether the file is whole, writable, and not locked by another program"
        ),
    )
