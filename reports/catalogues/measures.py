"""What measures of utility and figures of a map are called: `risk` names and defines them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reports.catalogues.wording import Kind
    from reports.i18n.languages import Words


def measure_name(words: Words, name: str) -> str:
    """Say what a measure is called, with its unit where that is percent."""
    from risk.utility import DEFINITIONS, NAMES

    if name not in NAMES:
        return name
    return _with_unit(words.say(NAMES[name]), DEFINITIONS[name][0])


def figure_name(words: Words, name: str) -> str:
    """Say what a figure of a map is called, with its unit where that is percent."""
    from risk.risk_map.catalogue import FIGURES

    return _with_unit(words.say(FIGURES[name].words), FIGURES[name].unit)


def _with_unit(name: str, unit: str) -> str:
    return f"{name}, %" if unit == "%" else name


def kind_of(unit: str) -> Kind:
    """Tell how a number of a unit is written."""
    if unit in {"cells", "requests"}:
        return "count"
    if unit in {"ratio", "correlation"}:
        return "ratio"
    return "probability" if unit == "probability" else "amount"
