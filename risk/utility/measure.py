"""One number of a report, with all that a reader needs beside it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import SupportsFloat, SupportsInt

from risk.errors import RiskError
from risk.utility.catalogue import DEFINITIONS, REASONS


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A number with its definition, its unit and the size of its base.

    Parameters
    ----------
    name
        A name of the catalogue.
    value
        The number; None where it is not defined.
    base
        How many cells, lines or groups it is computed from.
    reason
        Why there is no number, one of `REASONS`; empty where there is one.

    Examples
    --------
    >>> aad = Measure(name="aad", value=0.5, base=12)
    >>> aad.unit, aad.definition
    ('counts', 'Σ|d| / number of cells; INSEE calls it MAD')
    """

    name: str
    value: float | None
    base: int
    reason: str = ""

    def __post_init__(self) -> None:
        if self.name not in DEFINITIONS:
            raise RiskError(f"Measure {self.name!r} is not in the catalogue.")
        if self.value is not None and not math.isfinite(self.value):
            raise RiskError(
                f"Measure {self.name!r} must be a finite number.",
                hint="leave the value None and give the reason",
            )
        if (self.value is None) != bool(self.reason):
            raise RiskError(f"Measure {self.name!r} must have either a value or a reason.")
        if self.reason and self.reason not in REASONS:
            raise RiskError(
                f"The reason {self.reason!r} is not in the catalogue.",
                hint="add it to REASONS, so that reports have it in every language",
            )

    @property
    def unit(self) -> str:
        """What the number counts.

        Examples
        --------
        >>> Measure(name="rmad_pct", value=4.2, base=100).unit
        '%'
        """
        return DEFINITIONS[self.name][0]

    @property
    def definition(self) -> str:
        """The formula in words.

        Examples
        --------
        >>> Measure(name="euclid", value=3.0, base=100).definition
        '√Σd²'
        """
        return DEFINITIONS[self.name][1]


def defined(name: str, value: SupportsFloat, *, base: SupportsInt) -> Measure:
    """Make a measure that has a value, in plain Python numbers."""
    return Measure(name=name, value=float(value), base=int(base))


def undefined(name: str, reason: str, *, base: int = 0) -> Measure:
    """Make a measure that has no value, and say why."""
    return Measure(name=name, value=None, base=int(base), reason=reason)
