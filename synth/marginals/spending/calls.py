"""Every look at the confidential records, with all that is needed to reckon its price again."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from dp import Adjacency, DiscreteGaussian, Sensitivity
from synth.errors import CertificateError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from synth.marginals.spending.accountant import Spend

_LAWS = {
    "margin": "discrete Gaussian",
    "table": "discrete Gaussian",
    "ranks": "discrete Gaussian",
    "choice": "exponential",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a mechanism.

    Parameters
    ----------
    what
        What was asked for.
    columns
        Of which columns; none for a choice among all.
    law
        ``"discrete Gaussian"``, ``"exponential"``, or ``"geometric above a threshold"``.
    sensitivity
        How far one unit moves the answer: in l2 for the first, in l1 for the others.
    scale
        Scale of the noise.
    rho, delta
        The price.
    threshold, keys
        Of the last law: from which noisy count on a value is shown, and how many values of
        its own one unit can have.

    Examples
    --------
    >>> call = Call(
    ...     what="margin",
    ...     columns=("age",),
    ...     law="discrete Gaussian",
    ...     sensitivity=1,
    ...     scale=5,
    ...     rho=0.02,
    ... )
    >>> call.price()
    (0.02, 0.0)
    """

    what: str
    columns: tuple[str, ...]
    law: str
    sensitivity: float
    scale: float
    rho: float
    delta: float = 0.0
    threshold: float = 0.0
    keys: int = 0

    def price(self) -> tuple[float, float]:
        """Reckon rho and delta from sensitivity and scale, whatever the call states.

        Raises
        ------
        CertificateError
            If nothing is known of the law.
        """
        if not (0 < self.sensitivity < math.inf and 0 < self.scale < math.inf):
            raise CertificateError("A call states no positive sensitivity and scale.")
        if self.law == "discrete Gaussian":
            whole = Sensitivity(
                l1=self.sensitivity, l2=self.sensitivity, adjacency=Adjacency.ADD_REMOVE
            )
            return DiscreteGaussian(sensitivity=whole, scale=self.scale).guarantee.rho, 0.0
        ratio = self.sensitivity / self.scale
        if self.law == "exponential":
            return (2 * ratio) ** 2 / 8, 0.0
        if self.law == "geometric above a threshold" and self.keys >= 1:
            # One of the keys of one unit shows through, each with a count of `keys` at most.
            slip = self.keys * math.exp(-(self.threshold - self.keys) / self.scale)
            return ratio**2 / 2, slip
        raise CertificateError(f"Nothing is known of the mechanism {self.law!r}.")

    def record(self) -> dict[str, Any]:
        """Return the call as plain values."""
        found = asdict(self)
        found["columns"] = list(self.columns)
        return {name: value for name, value in found.items() if value or name == "columns"}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Call:
        """Return the call that `record` describes.

        Parameters
        ----------
        record
            Plain values.

        Examples
        --------
        >>> call = Call(
        ...     what="margin",
        ...     columns=("age",),
        ...     law="exponential",
        ...     sensitivity=1,
        ...     scale=5,
        ...     rho=0.02,
        ... )
        >>> Call.from_record(call.record()) == call
        True
        """
        known = {one.name for one in fields(cls)}
        if not record.keys() <= known:
            raise CertificateError("A call has an entry that nobody knows.")
        texts = [record["what"], record["law"], *record["columns"]]
        numbers = [
            value for name, value in record.items() if name not in ("what", "law", "columns")
        ]
        if not all(isinstance(text, str) for text in texts) or not all(
            isinstance(number, (int, float)) and not isinstance(number, bool)
            for number in numbers
        ):
            raise CertificateError("An entry of a call is of the wrong type.")
        return cls(**{**record, "columns": tuple(record["columns"])})


def calls_of(spends: Sequence[Spend], names: Sequence[str]) -> list[Call]:
    """Return the spends of an engine as calls."""
    return [
        Call(
            what=spend.what,
            columns=tuple(names[column] for column in spend.columns),
            law=_LAWS[spend.what],
            sensitivity=spend.sensitivity,
            scale=spend.scale,
            rho=spend.rho,
        )
        for spend in spends
    ]
