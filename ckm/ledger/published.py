"""What a ledger tells without its secret: the list of published tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckm.ledger.definition import Definition
from ckm.ledger.storage.store import open_store

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator


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
