"""Checks and writes: whoever comes first does both for all who wait, in one transaction."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ckm.ledger.errors import LedgerError, SecondMethodError, ThinDifferenceError
from ckm.ledger.record_sets.index import Pending
from ckm.ledger.second_method import refused_methods
from ckm.ledger.storage.settings import new_noises, settings_of_methods
from footing.messages import Message

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from ckm.ledger.record_sets.histories import Histories
    from ckm.ledger.second_method import SecondMethod
    from ckm.ledger.storage.record import Record, ThinPair
    from ckm.ledger.storage.store import Database, Row


def _not_written() -> LedgerError:
    return LedgerError(
        Message("The ledger could not be written."),
        hint=Message("nothing was published; try again"),
    )


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class Submission:
    """Tables that one caller wants checked and recorded, all or none.

    Parameters
    ----------
    records, rows
        The tables, and their sealed form.
    history, also
        The history they belong to, and others that their readers know.
    allowed
        Thin differences that refuse nothing, or None where none refuses.
    allows_second
        Whether records may be published by another method, too.
    allows_second_noise
        Whether with another noise, too.
    most
        How many thin differences are named.
    noises
        What the ledger keeps of the noise of amounts in the tables.
    new
        Those of them that it does not have yet.
    fresh
        The places of the tables that are not recorded yet.
    pairs
        The thin differences, the first of them.
    error
        Why nothing of it is recorded; until it is written, that it was not.
    is_done
        Whether there is an answer.
    """

    records: Sequence[Record]
    rows: Sequence[Row]
    history: str
    also: Sequence[str]
    most: int
    allowed: Collection[ThinPair] | None = None
    allows_second: bool = True
    allows_second_noise: bool = False
    noises: Mapping[str, str] = field(default_factory=dict)
    new: dict[str, str] = field(default_factory=dict)
    fresh: list[int] = field(default_factory=list)
    pairs: list[ThinPair] = field(default_factory=list)
    error: LedgerError | SecondMethodError | ThinDifferenceError | None = field(
        default_factory=_not_written
    )
    is_done: bool = False


class Writer:
    """Writes submissions, each checked against all before it.

    Threads may share it. Waiting for the disk takes longer than the rest, so that those who
    come meanwhile are written together, with one wait for all.

    Parameters
    ----------
    store
        The database.
    histories
        What was recorded.
    threshold
        The largest difference that counts.
    """

    def __init__(self, store: Database, histories: Histories, *, threshold: int) -> None:
        self._store = store
        self._histories = histories
        self._threshold = threshold
        self._lock = threading.Lock()
        self._waiting: deque[Submission] = deque()

    def refresh(self) -> None:
        """Take in what others recorded."""
        with self._lock:
            self._histories.refresh()

    def check(self, submission: Submission) -> tuple[ThinPair, ...]:
        """Find the thin differences of a submission; record nothing."""
        with self._lock:
            self._histories.refresh()
            self._judge([submission])
        return _answer(submission)

    def second_methods(self, submission: Submission) -> tuple[SecondMethod, ...]:
        """Find what a submission publishes in another way; record nothing."""
        with self._lock:
            self._histories.refresh()
            accepted = Pending(self._histories.width)
            return tuple(self._histories.second_methods(submission, accepted=accepted))

    def write(self, submission: Submission) -> tuple[ThinPair, ...]:
        """Check a submission and record it; return when it is on disk."""
        self._waiting.append(submission)
        with self._lock:
            if not submission.is_done:  # else somebody wrote it with their own
                self._write_all([self._waiting.popleft() for _ in range(len(self._waiting))])
        return _answer(submission)

    def _write_all(self, group: Sequence[Submission]) -> None:
        """Record a group, or nothing of it."""
        error: LedgerError | None = _not_written()
        try:
            self._histories.refresh()
            self._judge(group)
            if any(submission.fresh or submission.new for submission in group):
                self._commit(group)
            error = None
        except LedgerError as problem:
            error = problem
        finally:
            for submission in group:
                if error is not None:
                    submission.error = LedgerError(error.problem, hint=error.hint)
                submission.is_done = True

    def _commit(self, group: Sequence[Submission]) -> None:
        with self._store.writing():
            has_noises = any(submission.noises for submission in group)
            if self._histories.refresh() or has_noises:  # another program wrote meanwhile
                self._judge(group)
            rows = [s.rows[place] for s in group for place in s.fresh]
            chained = self._histories.chained(rows)
            for row in chained:
                self._store.insert(row)
            new = {name: text for s in group for name, text in s.new.items()}
            records = [s.records[place] for s in group for place in s.fresh]
            if any(len(record.labels) for record in records):
                new |= settings_of_methods()
            self._histories.write_head(chained, new)
        for row, record in zip(chained, records, strict=True):
            self._histories.take(row, record)

    def _judge(self, group: Sequence[Submission]) -> None:
        """Check every submission against what is recorded and those accepted before it."""
        accepted = Pending(self._histories.width)
        has_noises = any(submission.noises for submission in group)
        earlier = self._store.settings() if has_noises else {}
        for submission in group:
            submission.fresh, submission.pairs, submission.error = [], [], None
            submission.new = {}
            try:
                new = new_noises(submission.noises, earlier=earlier)
                fresh, pairs = self._histories.compare(
                    submission, accepted=accepted, threshold=self._threshold
                )
            except LedgerError as error:
                submission.error = error
                continue
            if not submission.allows_second and (
                seconds := refused_methods(
                    self._histories.second_methods(submission, accepted=accepted),
                    allows_second_noise=submission.allows_second_noise,
                )
            ):
                submission.error = SecondMethodError(seconds)
                continue
            if submission.allowed is not None:
                refused = [pair for pair in pairs if pair not in submission.allowed]
                if refused:
                    submission.error = ThinDifferenceError(refused)
                    continue
            submission.fresh, submission.pairs, submission.new = fresh, pairs, new
            earlier |= new
            if submission is not group[-1]:
                for place in fresh:
                    accepted.add(submission.records[place], submission.history)


def _answer(submission: Submission) -> tuple[ThinPair, ...]:
    if submission.error is not None:
        raise submission.error
    return tuple(submission.pairs)
