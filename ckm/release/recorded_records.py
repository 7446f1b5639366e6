"""Records on their way into the ledger, by a method that publishes none of their cells.

A swap writes other records, and private tables bound what each unit contributes. Neither shows
the sets of records that a job shows; but whoever publishes these by another method, too, tells
more than either.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from ckm.ledger.ledger import list_published
from ckm.ledger.storage.store import has_ledger
from ckm.ledger.watch import Watch
from ckm.release.job_inputs import opened_ledger, read_secret
from footing.messages import Message
from tables import HashedKeys, StoredKeys, cube

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from ckm.config.job.ledger import RecordsLedger
    from ckm.ledger.protection import CellProtection
    from tables import Request
    from tables.source.source import Source


class RecordsGate:
    """Lets records pass when the ledger has them, or none of them.

    Parameters
    ----------
    watch
        Sees the records on their way; None without a ledger.
    rules
        What the file says of the ledger.
    secret
        The file of the secret.
    """

    def __init__(
        self, watch: Watch | None, rules: RecordsLedger | None, secret: Path | None
    ) -> None:
        self._watch, self._rules, self._secret = watch, rules, secret

    def add(
        self,
        source: Source,
        requests: Mapping[str, Request],
        protection: CellProtection,
        *,
        column: str | None = None,
    ) -> None:
        """Digest the sets of records of some tables, which are told apart by a column."""
        if self._watch is None or self._rules is None:
            return
        keys = self._keys(self._rules, column)
        source.require(keys.column)
        width = self._watch.width(requests)
        tables_of_cells = cube(source, keys, list(requests.values()), sketch=width)
        for (name, request), cells in zip(requests.items(), tables_of_cells, strict=True):
            self._watch.add_table(name, request, cells, where=None, protection=protection)

    def _keys(self, rules: RecordsLedger, column: str | None) -> HashedKeys | StoredKeys:
        if rules.record_key is not None:
            return StoredKeys(column=rules.record_key, key_range=rules.key_range)
        secret = read_secret(
            self._secret, problem=Message("A ledger is sealed with the secret.")
        )
        return HashedKeys(column=str(rules.id or column), secret=secret)

    def compare(self) -> None:
        """Refuse records that another method protected."""
        if self._watch is not None and self._rules is not None:
            self._watch.require_one_method(self._rules.second_method)

    def publish(self, *, is_paid: bool = False) -> None:
        """Record the tables; what `is_paid` for is not refused any more."""
        if self._watch is not None and self._rules is not None:
            second_method = "flag" if is_paid else self._rules.second_method
            self._watch.publish(policy="flag", second_method=second_method)


@contextlib.contextmanager
def opened_gate(
    rules: RecordsLedger | None, *, secret: Path | None = None, is_kept: bool = True
) -> Iterator[RecordsGate]:
    """Open the ledger that a file names for the time of a block, if it names one.

    `secret` is the file of the secret where the section of the ledger names none.
    """
    own = secret if rules is None or rules.secret is None else rules.secret
    with opened_ledger(rules, secret=own, is_kept=is_kept) as ledger:
        watch = None
        if ledger is not None and rules is not None:
            watch = Watch(ledger, history=rules.history, also=rules.also)
        yield RecordsGate(watch, rules, own)


def methods_beside(rules: RecordsLedger) -> list[str]:
    """Return the methods of all tables that the same readers know; no record is looked at."""
    if not has_ledger(rules.target):
        return []
    histories = {rules.history, *rules.also}
    entries = list_published(rules.target)
    return sorted({one.definition.method for one in entries if one.history in histories})
