"""What a client has spent: its distinct values and the reports of each."""

from __future__ import annotations

import hashlib
import hmac
import math
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from footing.messages import Argument, Message
from rappor.accounting import epsilon_after
from rappor.client.client import bloom_filter
from rappor.errors import CapError, MismatchError, RapporError, ReportFileError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from rappor.parameters import Parameters

#: Caps are compared with sums of floating-point numbers.
SLACK = 1 + 1e-12


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
            raise RapporError(Message("cap must be above 0, not {cap!r}.", cap=Argument(cap)))
        self.parameters, self.cap, self._key = parameters, cap, key
        self._reports: dict[str, int] = {}

    def __repr__(self) -> str:
        return f"ValueLedger(epsilon={self.epsilon:.4g}, cap={self.cap})"

    def __reduce__(self) -> NoReturn:
        msg = Message("A ledger holds a key and cannot be pickled; store to_dict().")
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
        if self.cap is not None and cost > self.cap * SLACK:
            raise CapError(
                Message(
                    "This report would bring the loss to {cost:.4g}, above the cap of {cap:g}.",
                    cost=cost,
                    cap=self.cap,
                ),
                hint=Message("do not send it; report a coarser value, or nothing"),
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
            raise ReportFileError(Message("What was stored is no ledger.")) from None
        if fingerprint != parameters.fingerprint:
            raise MismatchError(Message("The ledger was kept for other parameters."))
        if any(type(number) is not int or number < 1 for number in reports.values()):
            raise ReportFileError(
                Message("The ledger holds a number of reports that is no whole number above 0.")
            )
        ledger = cls(parameters, key=key, cap=cap)
        ledger._reports = reports
        return ledger

    def _name(self, value: object, cohort: int) -> str:
        row = bloom_filter([value], np.array([cohort]), parameters=self.parameters)
        row_bytes: NDArray[np.uint8] = np.packbits(row)
        return hmac.digest(self._key, row_bytes.tobytes(), hashlib.sha256).hex()

    def _total(self, reports: Mapping[str, int]) -> float:
        return math.fsum(epsilon_after(self.parameters, reports=t) for t in reports.values())


def usual_cap(parameters: Parameters) -> float:
    """Give the loss that a design means for a client: one value for ever, or one report."""
    permanent = parameters.epsilon_permanent
    return permanent if math.isfinite(permanent) else parameters.epsilon_one
