"""What clients have spent: their distinct values and the reports of each."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import math
import os
import sqlite3
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np

from rappor.accounting import epsilon_after
from rappor.client.client import bloom_filter, identifiers
from rappor.errors import CapError, MismatchError, RapporError, ReportFileError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from _typeshed import StrPath
    from numpy.typing import NDArray

    from footing.arrays import Flags
    from rappor.client.bloom import Clients, Values
    from rappor.client.permanent import SecretKey
    from rappor.parameters import Parameters

_SLACK = 1 + 1e-12
_HELD = 32766  # places for values in a statement of SQLite


class ValueLedger:
    """What one client's reports have cost, value by value. It stays with the client.

    Every distinct value has a permanent response of its own, so the losses of different
    values add up. The sum bounds the loss between two histories that change at the same
    times; *when* a value changes is protected by the instantaneous noise alone, and many
    reports show it.

    Parameters
    ----------
    parameters
        The parameters of the collection.
    key
        32 bytes that hide the values in the ledger's memory, from `permanent_key`.
    cap
        Largest total loss; a report beyond it is refused.

    Examples
    --------
    >>> from rappor import Parameters
    >>> paper = Parameters(n_bits=128, n_hashes=2, n_cohorts=16, f=0.5, p=0.5, q=0.75)
    >>> ledger = ValueLedger(paper, key=bytes(32), cap=6)
    >>> for place in ["home", "work", "home"]:
    ...     ledger.record(place, cohort=3)
    >>> ledger.distinct, round(ledger.epsilon, 3), round(ledger.bound, 3)
    (2, 3.091, 8.789)
    """

    __slots__ = ("_key", "_reports", "cap", "parameters")

    def __init__(self, parameters: Parameters, *, key: bytes, cap: float | None = None) -> None:
        if cap is not None and not cap > 0:
            raise RapporError(f"cap must be above 0, not {cap!r}.")
        self.parameters, self.cap, self._key = parameters, cap, key
        self._reports: dict[str, int] = {}

    def __repr__(self) -> str:
        return f"ValueLedger(epsilon={self.epsilon:.4g}, cap={self.cap})"

    def __reduce__(self) -> NoReturn:
        msg = "A ledger holds a key and cannot be pickled; store to_dict()."
        raise TypeError(msg)

    @property
    def distinct(self) -> int:
        """Number of distinct values reported; values with the same bits are one."""
        return len(self._reports)

    @property
    def epsilon(self) -> float:
        """Loss of all reports so far."""
        return self._total(self._reports)

    @property
    def bound(self) -> float:
        """Loss of the values seen so far, if they were reported for ever."""
        return self.distinct * self.parameters.epsilon_permanent if self.distinct else 0.0

    def would_cost(self, value: object, *, cohort: int) -> float:
        """Give the total loss after one more report.

        Parameters
        ----------
        value
            What would be reported.
        cohort
            The client's cohort.

        Examples
        --------
        >>> from rappor import Parameters
        >>> coin = Parameters.basic(1, f=0.5, p=0.0, q=1.0)
        >>> round(ValueLedger(coin, key=bytes(32)).would_cost(True, cohort=0), 4)
        1.0986
        """
        name = self._name(value, cohort)
        return self._total(self._reports | {name: self._reports.get(name, 0) + 1})

    def record(self, value: object, *, cohort: int) -> None:
        """Count one report, before it is sent.

        Parameters
        ----------
        value
            What is reported.
        cohort
            The client's cohort.

        Raises
        ------
        CapError
            If the total loss would pass the cap; the report must not be sent.

        Examples
        --------
        >>> from rappor import Parameters
        >>> coin = Parameters.basic(2, f=0.5, p=0.0, q=1.0)
        >>> ledger = ValueLedger(coin, key=bytes(32), cap=2.5)
        >>> ledger.record(0, cohort=0)
        >>> try:
        ...     ledger.record(1, cohort=0)
        ... except RapporError as error:
        ...     print(error.problem)
        This report would bring the loss to 4.394, above the cap of 2.5.
        """
        cost = self.would_cost(value, cohort=cohort)
        if self.cap is not None and cost > self.cap * _SLACK:
            raise CapError(
                f"This report would bring the loss to {cost:.4g}, above the cap of "
                f"{self.cap:g}.",
                hint="do not send it; report a coarser value, or nothing",
            )
        name = self._name(value, cohort)
        self._reports[name] = self._reports.get(name, 0) + 1

    def to_dict(self) -> dict[str, Any]:
        """Give what a client stores between two reports; it holds no value.

        Examples
        --------
        >>> from rappor import Parameters
        >>> coin = Parameters.basic(2, f=0.5, p=0.0, q=1.0)
        >>> sorted(ValueLedger(coin, key=bytes(32)).to_dict())
        ['cap', 'fingerprint', 'reports']
        """
        return {
            "fingerprint": self.parameters.fingerprint,
            "cap": self.cap,
            "reports": dict(sorted(self._reports.items())),
        }

    @classmethod
    def from_dict(
        cls, fields: Mapping[str, Any], *, parameters: Parameters, key: bytes
    ) -> ValueLedger:
        """Go on with what `to_dict` gave.

        Parameters
        ----------
        fields
            What was stored.
        parameters, key
            As when it was made.

        Raises
        ------
        RapporError
            If it was made with other parameters or is damaged.

        Examples
        --------
        >>> from rappor import Parameters
        >>> coin = Parameters.basic(2, f=0.5, p=0.0, q=1.0)
        >>> ledger = ValueLedger(coin, key=bytes(32))
        >>> ledger.record(0, cohort=0)
        >>> again = ValueLedger.from_dict(ledger.to_dict(), parameters=coin, key=bytes(32))
        >>> again.epsilon == ledger.epsilon
        True
        """
        try:
            fingerprint, cap = fields["fingerprint"], fields["cap"]
            reports = {str(name): number for name, number in fields["reports"].items()}
        except (KeyError, TypeError, AttributeError):
            raise ReportFileError("What was stored is no ledger.") from None
        if fingerprint != parameters.fingerprint:
            raise MismatchError("The ledger was kept for other parameters.")
        if any(type(number) is not int or number < 1 for number in reports.values()):
            raise ReportFileError(
                "The ledger holds a number of reports that is no whole number above 0."
            )
        made = cls(parameters, key=key, cap=cap)
        made._reports = reports
        return made

    def _name(self, value: object, cohort: int) -> str:
        row = bloom_filter([value], np.array([cohort]), parameters=self.parameters)
        packed: NDArray[np.uint8] = np.packbits(row)
        return hmac.digest(self._key, packed.tobytes(), hashlib.sha256).hex()

    def _total(self, reports: Mapping[str, int]) -> float:
        return math.fsum(epsilon_after(self.parameters, reports=t) for t in reports.values())


def usual_cap(parameters: Parameters) -> float:
    """Give the loss that a design means for a client: one value for ever, or one report."""
    permanent = parameters.epsilon_permanent
    return permanent if math.isfinite(permanent) else parameters.epsilon_one


class ClientLedger:
    """What the reports of many clients have cost each of them, for whoever encodes for all.

    All metrics and parameters of one secret add up. Clients and values are keyed hashes: the
    file names nobody to whoever lacks the secret. Use it in a ``with`` block, which holds the
    file alone; what was charged is undone unless `commit` was called.

    Parameters
    ----------
    path
        A file, made with mode 0600 if there is none; None keeps the ledger in memory.
    secret
        The secret that the permanent responses derive from.
    """

    def __init__(self, path: StrPath | None, *, secret: SecretKey) -> None:
        self._path, self._secret = path, secret
        self._key = secret.derive("rappor ledger of clients")
        self._db: sqlite3.Connection | None = None
        #: Clients for whom a report was beyond the cap, and the most that any has spent.
        self.over: set[bytes] = set()
        self.most = 0.0

    def __enter__(self) -> Self:
        if self._path is not None:
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
        try:
            self._db = sqlite3.connect(
                self._path or ":memory:", timeout=60, isolation_level=None
            )
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("CREATE TABLE IF NOT EXISTS kept (secret BLOB PRIMARY KEY)")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS spent (client BLOB, value BLOB, reports INTEGER, "
                "loss REAL, PRIMARY KEY (client, value)) WITHOUT ROWID"
            )
            mark = self._hash(b"secret")
            known = [row[0] for row in self._db.execute("SELECT secret FROM kept")]
            if not known:
                self._db.execute("INSERT INTO kept VALUES (?)", (mark,))
        except sqlite3.DatabaseError:
            self._close()
            raise ReportFileError(
                f"The ledger of clients {self._name()!r} cannot be read, or another process "
                "holds it.",
                hint="wait for the other command, or name another file",
            ) from None
        if known not in ([], [mark]):
            self._close()
            raise MismatchError(
                f"The ledger of clients {self._name()!r} was kept with another secret.",
                hint="use that secret; a new one costs every client its loss again",
            )
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def charge(
        self,
        values: Values,
        clients: Clients,
        *,
        parameters: Parameters,
        metric: str,
        cap: float,
    ) -> Flags:
        """Count a report of each value; tell which keep their client within the cap."""
        from rappor.client.permanent import cohorts_of

        if not cap > 0:  # a NaN fails this too, and would refuse nothing
            raise RapporError(f"cap must be above 0, not {cap!r}.")
        names = identifiers(clients)
        places = cohorts_of(names, secret=self._secret, n_cohorts=parameters.n_cohorts)
        rows = np.packbits(bloom_filter(values, places, parameters=parameters), axis=1)
        about = f"{metric}\0{parameters.fingerprint}\0".encode()
        who = {name: self._hash(b"client" + name) for name in set(names)}
        spent, counts = self._held([*who.values()])

        @cache
        def loss_of(reports: int) -> float:
            return epsilon_after(parameters, reports=reports)

        kept, changed = np.ones(len(names), bool), {}
        for place, (name, row) in enumerate(zip(names, rows, strict=True)):
            client = who[name]
            one = (client, self._hash(b"value" + about + row.tobytes()))
            before = counts.get(one, 0)
            after = spent[client] + loss_of(before + 1) - loss_of(before)
            if after > cap * _SLACK:
                self.over.add(client)
                kept[place] = False
                continue
            spent[client], counts[one] = after, before + 1
            changed[one] = (*one, before + 1, loss_of(before + 1))
            self.most = max(self.most, after)
        self._opened().executemany(
            "INSERT OR REPLACE INTO spent VALUES (?, ?, ?, ?)", sorted(changed.values())
        )
        return kept

    def commit(self) -> None:
        """Keep what was charged: before the reports leave, so that no failure hides one."""
        self._opened().execute("COMMIT")
        self._opened().execute("BEGIN IMMEDIATE")

    def _held(
        self, clients: list[bytes]
    ) -> tuple[dict[bytes, float], dict[tuple[bytes, bytes], int]]:
        """Return what some clients have spent, and the reports of each of their values."""
        spent, counts = dict.fromkeys(clients, 0.0), {}
        for start in range(0, len(clients), _HELD):
            part = clients[start : start + _HELD]
            marks = ",".join("?" * len(part))
            query = f"SELECT * FROM spent WHERE client IN ({marks})"  # noqa: S608 (no value)
            for client, value, reports, loss in self._opened().execute(query, part):
                spent[client] += loss
                counts[client, value] = reports
        return spent, counts

    def _hash(self, text: bytes) -> bytes:
        return hashlib.blake2b(text, key=self._key, digest_size=16).digest()

    def _opened(self) -> sqlite3.Connection:
        if self._db is None:
            raise RapporError("A ledger of clients is used in a with block.")
        return self._db

    def _close(self) -> None:
        if self._db is not None:
            with contextlib.suppress(sqlite3.DatabaseError):
                self._db.execute("ROLLBACK")
            self._db.close()
            self._db = None

    def _name(self) -> str:
        return "in memory" if self._path is None else Path(self._path).name
