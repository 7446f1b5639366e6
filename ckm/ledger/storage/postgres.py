"""A ledger in PostgreSQL, for several servers. A connection that is lost is opened again."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from ckm.ledger.errors import LedgerError
from ckm.ledger.storage.store import Database
from footing.messages import Message, Name

_LOCK = 0x636B6D4C
_BUSY = "55P03"


class Postgres(Database):
    """The tables of a ledger in a database.

    Parameters
    ----------
    url
        The database.
    timeout_s
        How long to wait for it, and for another writer.
    create
        Make the tables if there are none; None takes the database as it is.
    is_quick
        Writers do not wait for those of the ledger, nor for the disk.
    """

    _mark = "%s"
    _number = "BIGINT PRIMARY KEY"
    _bytes = "BYTEA"

    def __init__(
        self,
        url: str,
        *,
        timeout_s: float = 30.0,
        create: bool | None = None,
        is_quick: bool = False,
    ) -> None:
        super().__init__()
        self._url = url
        self._is_quick = is_quick
        self._timeout_s = timeout_s
        self._is_writing = False
        self._connect()
        try:
            if create is not None and not self.is_made:
                self._make_or_raise(create=create)
        except BaseException:
            self.close()
            raise

    @property
    def is_made(self) -> bool:
        """Whether the tables of a ledger are there."""
        (name,) = self.fetch("SELECT to_regclass('ckm_ledger_entry')::text")[0]
        return name is not None

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Let nobody else write; commit at the end, or take everything back."""
        with self._lock:
            try:
                with super().writing():
                    yield
            finally:
                self._is_writing = False

    def _make_or_raise(self, *, create: bool) -> None:
        if not create:
            raise LedgerError(
                Message("There is no ledger in the database."),
                hint=Message("look at the address, or publish a table first"),
            )
        with self.writing():
            self._make()

    def _connect(self) -> None:
        try:
            import psycopg
        except ImportError:
            raise LedgerError(
                Message("A ledger in PostgreSQL needs the package psycopg."),
                hint=Message("in the project's folder: pip install '.[postgres]'"),
            ) from None
        self._errors = (psycopg.Error,)
        wait_ms = int(self._timeout_s * 1000)
        with self._explained():
            self._connection = psycopg.connect(
                self._url,
                autocommit=True,
                connect_timeout=max(int(self._timeout_s), 2),
                tcp_user_timeout=wait_ms,
                keepalives_idle=30,
                fallback_application_name="ckm",
            )
            self._connection.execute(f"SET lock_timeout = {wait_ms}")
            is_waiting = "off" if self._is_quick else "on"
            self._connection.execute(f"SET synchronous_commit = {is_waiting}")
            # A server that lost its power must not hold the lock for hours.
            self._connection.execute(f"SET idle_in_transaction_session_timeout = {4 * wait_ms}")

    def run(self, sql: str, values: Sequence[object] = ()) -> Any:
        """Run a statement; outside a transaction, again on a new connection if need be."""
        with self._lock:
            try:
                return super().run(sql, values)
            except LedgerError:
                if self._is_writing or not self._connection.closed:
                    raise
            self._connect()
            return super().run(sql, values)

    def _begin(self) -> None:
        # Whoever waited for the lock must see what was written meanwhile.
        self.run("BEGIN ISOLATION LEVEL READ COMMITTED")
        self._is_writing = True
        try:
            self.run("SELECT pg_advisory_xact_lock(?)", (_LOCK + self._is_quick,))
        except LedgerError:
            with contextlib.suppress(LedgerError):
                self.run("ROLLBACK")
            raise

    def _explain(self, error: BaseException) -> LedgerError:
        state = getattr(error, "sqlstate", None)
        if state == _BUSY:
            return LedgerError(
                Message("The ledger is busy: another server has been writing too long."),
                hint=Message("try again; nothing was published"),
            )
        return LedgerError(
            Message(
                "The ledger's database cannot be used ({state}).",
                state=Name(state or type(error).__name__),
            ),
            hint=Message(
                "look at the server, the address and the permissions; nothing was published"
            ),
        )
