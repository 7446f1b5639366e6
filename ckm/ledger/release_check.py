"""The gate between the draft of a release and its readers: what the ledger says of it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ckm.ledger.errors import ManyCountsError, ThinDifferenceError
from ckm.ledger.watch import Watch
from footing.addresses import Address
from footing.messages import Message, Name

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ckm.config.job.ledger import JobLedger
    from ckm.ledger import Ledger, SecondMethod, ThinPair
    from ckm.ledger.ledger import Policy


logger = logging.getLogger(__name__)
#: The history of jobs that name none.
PUBLIC = "public"


class ReleaseCheck:
    """Lets the tables of a release pass when the ledger has them, or none of them.

    Parameters
    ----------
    ledger
        The open ledger; None lets everything pass.
    rules
        What the job says of it.

    Attributes
    ----------
    watch
        Sees the tables on their way out; None without a ledger.
    record
        What the internal manifest says of the ledger; its entries once the tables passed.
    """

    def __init__(self, ledger: Ledger | None, rules: JobLedger | None) -> None:
        self.watch: Watch | None = None
        self._is_strict = rules is None or rules.policy == "refuse"
        self._second_method: Policy = "refuse" if rules is None else rules.second_method
        self._history = PUBLIC if rules is None else rules.history
        self._maximum_numbers = None if rules is None else rules.maximum_numbers
        self._flagged: tuple[ThinPair, ...] = ()
        self.record: dict[str, Any] | None = None
        if ledger is not None and rules is not None:
            self.watch = Watch(ledger, history=rules.history, also=rules.also)
            self.record = {
                **_named(rules.target),
                "history": rules.history,
                "policy": rules.policy,
                "second_method": rules.second_method,
                "threshold": rules.threshold,
                "smallest": rules.smallest,
                "maximum_numbers": rules.maximum_numbers,
                "entries": {},
            }

    def compare(self) -> tuple[str, ...]:
        """Compare the tables with those that were published.

        Tells what to warn of, table by table: for inside use, and no log.
        """
        if self.watch is None:
            return ()
        seconds = self.watch.require_one_method(self._second_method)
        _warn_of_second_methods(seconds)
        apart = self._not_compared(self.watch)
        self._count_appearances(self.watch)
        pairs = self.watch.check()
        if pairs and self._is_strict:
            raise ThinDifferenceError(pairs)
        self._flagged = pairs
        new = (
            Message(
                '{nearness}; it was published, for policy = "flag".', nearness=_nearness(pair)
            )
            for pair in pairs
        )
        near = tuple(dict.fromkeys([*new, *map(_reminder, self.watch.standing())]))
        _warn_of_differences(near)
        return (*apart, *map(_flagged, seconds), *near)

    def _not_compared(self, watch: Watch) -> tuple[Message, ...]:
        """Warn where a history of its own takes tables out of the comparison."""
        others = [] if self._history == PUBLIC else watch.other_histories()
        if not others:
            return ()
        text = Message(
            "The tables of history {history!r} are not compared with those of {others} in the "
            "same ledger, and may differ from these by one person: right only where no reader "
            "sees both. Name histories that readers know in also.",
            history=Name(self._history),
            others=Name.each(others),
        )
        logger.warning("%s", text, extra={"event": "history of its own"})
        return (text,)

    def _count_appearances(self, watch: Watch) -> None:
        """Tell in how many counts a record is, over all releases; refuse too many."""
        counts = watch.n_counts_with_a_record()
        logger.info(
            "%s",
            Message(
                "a record is in up to {counts:,} published counts of the ledger and this "
                "release: averaging leaves at least {share:.1%} of the variance of their noise",
                counts=counts,
                share=1 / max(counts, 1),
            ),
            extra={"event": "counts of a record", "is_step": True, "counts": counts},
        )
        if self._maximum_numbers is not None and counts > self._maximum_numbers:
            raise ManyCountsError(counts, maximum=self._maximum_numbers)
        self.record = {**(self.record or {}), "counts_of_a_record": counts}

    def publish(self) -> None:
        """Record the tables; only then may anybody see them."""
        if self.watch is not None:
            self.watch.publish(allowed=self._flagged, second_method=self._second_method)
        if self.record is not None and self.watch is not None:
            entries = {name: list(numbers) for name, numbers in self.watch.numbers().items()}
            self.record = {**self.record, "entries": entries, "head": self.watch.head}


def _warn_of_second_methods(seconds: Sequence[SecondMethod]) -> None:
    """Tell the log how many pairs of tables tell the same records in two ways."""
    if seconds:
        logger.warning(
            "%s",
            Message(
                "{number} pairs of tables protect the same records in two ways, which tell "
                "more of them together than each by itself",
                number=len(seconds),
            ),
            extra={"event": "second method", "pairs": len(seconds)},
        )


def _flagged(second: SecondMethod) -> Message:
    if second.is_of_two_noises:
        return Message(
            "{second} Readers can average two noises of these cells; it was published, for "
            "second_ptable = true in [[report.exceptions]].",
            second=second.words,
        )
    return Message(
        '{second} It was published, for second_method = "flag".', second=second.words
    )


def _warn_of_differences(texts: Sequence[str]) -> None:
    """Tell the log how many pairs of tables have thin differences."""
    if texts:
        logger.warning(
            "%s",
            Message(
                "{number} pairs of tables have cells that differ by too few records; the "
                "internal report names the tables",
                number=len(texts),
            ),
            extra={"event": "thin difference", "pairs": len(texts)},
        )


def _named(target: Path | str) -> dict[str, str]:
    """Name a ledger: its file, or its database without server and user."""
    if isinstance(target, str):
        return {"database": urlsplit(Address(target).masked).path.strip("/")}
    return {"file": target.name}


def _reminder(pair: ThinPair) -> Message:
    return Message(
        "{nearness}; it was published before, as entry {entry}, and the difference stands.",
        nearness=_nearness(pair),
        entry=pair.cell.entry,
    )


def _nearness(pair: ThinPair) -> Message:
    number = pair.published.entry
    entry = Message("of this release")
    if number is not None:
        entry = Message("(entry {number} of the ledger)", number=number)
    return Message(
        "Table {table!r} has cells that differ by too few records from cells of table "
        "{published!r} {entry}",
        table=Name(pair.cell.table),
        published=Name(pair.published.table),
        entry=entry,
    )
