"""What every measure of utility means and is called, its unit, and why it may be missing.

The texts stand in ``measures.toml``.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from footing.files import read_data

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    found, names = {}, {}
    for symbol, entry in _TEXTS["measures"].items():
        found[symbol], names[symbol] = (entry["unit"], entry["definition"]), entry["name"]
    for symbol, entry in _TEXTS["deviations"].items():
        name, unit, formula = entry["name"], entry["unit"], entry["definition"]
        found[symbol], names[symbol] = (unit, formula), name
        found[f"{symbol}_mean"] = (unit, f"mean of {formula}")
        names[f"{symbol}_mean"] = f"{name}: mean"
        for label, q in QUANTILES.items():
            found[f"{symbol}_{label}"] = unit, f"quantile {q:g} of {formula}, type 7"
            called = _QUANTILE_NAMES.get(label, f"quantile {q:g}")
            names[f"{symbol}_{label}"] = f"{name}: {called}"
    return found, names


_DEFINITIONS, _ALL_NAMES = _all()

#: Symbol of a measure → its unit and its definition.
DEFINITIONS: Mapping[str, tuple[str, str]] = MappingProxyType(_DEFINITIONS)

#: Symbol of a measure → what it is called.
NAMES: Mapping[str, str] = MappingProxyType(_ALL_NAMES)

#: Why a measure has no number.
REASONS = frozenset(_TEXTS["reasons"])
