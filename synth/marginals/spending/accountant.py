"""What was paid for what, and an accountant that refuses the rest."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from footing.checks import require_number
from synth.errors import OverspentError, SynthError

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Spend:
    """One look at the confidential records, and its price.

    Parameters
    ----------
    what
        ``"margin"``, ``"choice"`` or ``"table"``.
    columns
        The columns that were counted; of a choice, those that were chosen.
    sensitivity
        How far one unit moves the answer: in l2 for counts, in size for scores.
    scale
        Scale of the noise.
    rho
        The price, in zero-concentrated differential privacy.

    Examples
    --------
    >>> Spend(what="margin", columns=(0,), sensitivity=1.0, scale=10.0, rho=0.005).rho
    0.005
    """

    what: str
    columns: tuple[int, ...]
    sensitivity: float
    scale: float
    rho: float

    def record(self) -> dict[str, Any]:
        """Return the spend as plain values.

        Examples
        --------
        >>> spend = Spend(what="margin", columns=(0,), sensitivity=1.0, scale=10.0, rho=0.005)
        >>> spend.record()["columns"]
        [0]
        """
        return {
            "what": self.what,
            "columns": list(self.columns),
            "sensitivity": self.sensitivity,
            "scale": self.scale,
            "rho": self.rho,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Spend:
        """Return the spend that `record` describes.

        Parameters
        ----------
        record
            Plain values.

        Examples
        --------
        >>> spend = Spend(what="margin", columns=(0,), sensitivity=1.0, scale=10.0, rho=0.005)
        >>> Spend.from_record(spend.record()) == spend
        True
        """
        return cls(
            what=str(record["what"]),
            columns=tuple(int(column) for column in record["columns"]),
            sensitivity=float(record["sensitivity"]),
            scale=float(record["scale"]),
            rho=float(record["rho"]),
        )


@dataclass(slots=True)
class PrivacyAccountant:
    """A budget in rho. A spend is noted before the records are looked at.

    Parameters
    ----------
    rho
        What may be spent in all.

    Examples
    --------
    >>> accountant = PrivacyAccountant(0.01)
    >>> cost = Spend(what="margin", columns=(0,), sensitivity=1.0, scale=10.0, rho=0.005)
    >>> accountant.pay(cost)
    >>> round(accountant.spent, 9)
    0.005
    """

    rho: float
    spends: list[Spend] = field(default_factory=list)

    def __post_init__(self) -> None:
        way = "dp.rho_of_epsilon(1, delta=1e-5) is 0.0306"
        require_number(self.rho, "rho", error=SynthError, hint=way, above=0)

    @property
    def spent(self) -> float:
        """What was paid so far, rounded upwards."""
        return _sum_up(spend.rho for spend in self.spends)

    def pay(self, spend: Spend) -> None:
        """Note a spend, or refuse it.

        Parameters
        ----------
        spend
            What is about to be measured.

        Raises
        ------
        OverspentError
            If less than its price is left.
        """
        total = _sum_up([*(one.rho for one in self.spends), spend.rho])
        if not (spend.rho > 0 and total <= self.rho):
            raise OverspentError(
                f"A {spend.what} costs rho {spend.rho:g}; {self.rho - self.spent:g} of "
                f"{self.rho:g} is left.",
            )
        self.spends.append(spend)


def _sum_up(prices: Any) -> float:
    """Return the sum, never below the exact one: `math.fsum` rounds to nearest."""
    total = math.fsum(prices)
    return math.nextafter(total, math.inf) if total else 0.0
