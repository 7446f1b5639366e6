"""What every measure of utility means and is called, its unit, and why it may be missing.

The texts stand in ``measures.toml``.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import SupportsFloat, SupportsInt

from footing.data_files import read_data
from footing.messages import Message, Name
from risk.errors import RiskError

#: The quantiles of a summary of deviations, by name.
QUANTILES: Mapping[str, float] = MappingProxyType(
    {
        "min": 0.0,
        **{f"q{tenth}0": tenth / 10 for tenth in (1, 2, 3, 4)},
        "median": 0.5,
        **{f"q{tenth}0": tenth / 10 for tenth in (6, 7, 8, 9)},
        "q95": 0.95,
        "q99": 0.99,
        "max": 1.0,
    }
)

#: The bounds of the cumulative tables of D2 and D3, below the open one.
LEVELS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)

_QUANTILE_NAMES = {"min": "minimum", "median": "median", "max": "maximum"}
_TEXTS = read_data("risk.utility", "measures.toml")


def _all() -> tuple[dict[str, tuple[str, str]], dict[str, str]]:
    definitions, names = {}, {}
    for symbol, entry in _TEXTS["measures"].items():
        definitions[symbol], names[symbol] = (entry["unit"], entry["definition"]), entry["name"]
    for symbol, entry in _TEXTS["deviations"].items():
        name, unit, formula = entry["name"], entry["unit"], entry["definition"]
        definitions[symbol], names[symbol] = (unit, formula), name
        definitions[f"{symbol}_mean"] = (unit, f"mean of {formula}")
        names[f"{symbol}_mean"] = f"{name}: mean"
        for label, q in QUANTILES.items():
            definitions[f"{symbol}_{label}"] = unit, f"quantile {q:g} of {formula}, type 7"
            called = _QUANTILE_NAMES.get(label, f"quantile {q:g}")
            names[f"{symbol}_{label}"] = f"{name}: {called}"
    return definitions, names


_DEFINITIONS, _ALL_NAMES = _all()

#: Symbol of a measure → its unit and its definition.
DEFINITIONS: Mapping[str, tuple[str, str]] = MappingProxyType(_DEFINITIONS)

#: Symbol of a measure → what it is called.
NAMES: Mapping[str, str] = MappingProxyType(_ALL_NAMES)

#: Why a measure has no number.
REASONS = frozenset(_TEXTS["reasons"])


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
            raise RiskError(
                Message("Measure {name!r} is not in the catalogue.", name=Name(self.name))
            )
        if self.value is not None and not math.isfinite(self.value):
            raise RiskError(
                Message("Measure {name!r} must be a finite number.", name=Name(self.name)),
                hint=Message("leave the value None and give the reason"),
            )
        if (self.value is None) != bool(self.reason):
            raise RiskError(
                Message(
                    "Measure {name!r} must have either a value or a reason.",
                    name=Name(self.name),
                )
            )
        if self.reason and self.reason not in REASONS:
            raise RiskError(
                Message(
                    "The reason {reason!r} is not in the catalogue.", reason=Name(self.reason)
                ),
                hint=Message("add it to REASONS, so that reports have it in every language"),
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
