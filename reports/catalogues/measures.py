"""What measures of utility and figures of a map are called: `risk` names and defines them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reports.catalogues.wording import Kind
    from reports.i18n.languages import Words


def measure_name(words: Words, name: str) -> str:
    """Say what a measure is called, with its unit where that is percent.

    Parameters
    ----------
    words
        The language.
    name
        Of `risk.utility.DEFINITIONS`; one without words keeps its name.

    Examples
    --------
    >>> from reports.i18n.languages import words_of
    >>> measure_name(words_of("en"), "d1_q90")
    'absolute deviation (D1): quantile 0.9'
    >>> measure_name(words_of("fr"), "changed_pct")
    'cellules modifiées, %'
    """
    from risk.utility import DEFINITIONS, NAMES

    if name not in NAMES:
        return name
    return _with_unit(words.say(NAMES[name]), DEFINITIONS[name][0])


def figure_name(words: Words, name: str) -> str:
    """Say what a figure of a map is called, with its unit where that is percent.

    Parameters
    ----------
    words
        The language.
    name
        Of `risk.risk_map.catalogue.FIGURES`.

    Examples
    --------
    >>> from reports.i18n.languages import words_of
    >>> figure_name(words_of("en"), "differencing")
    'success of differencing'
    """
    from risk.risk_map.catalogue import FIGURES

    return _with_unit(words.say(FIGURES[name].words), FIGURES[name].unit)


def _with_unit(name: str, unit: str) -> str:
    return f"{name}, %" if unit == "%" else name


def kind_of(unit: str) -> Kind:
    """Tell how a number of a unit is written.

    Parameters
    ----------
    unit
        Of a measure or a figure, in English.

    Examples
    --------
    >>> kind_of("cells"), kind_of("probability"), kind_of("%")
    ('count', 'probability', 'amount')
    """
    if unit in {"cells", "requests"}:
        return "count"
    if unit in {"ratio", "correlation"}:
        return "ratio"
    return "probability" if unit == "probability" else "amount"
