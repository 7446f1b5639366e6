"""The engines by name. Each is imported when it is used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from synth.errors import SynthError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from synth.fitted import CodeModel

#: Of each method: what fits codes, and what reads a model that it wrote.
METHODS = {
    "tables": (
        "synth.marginals.engine:fit_codes",
        "synth.marginals.model:TableModel.from_json",
    ),
    "histogram": (
        "synth.baselines.engines:fit_histogram",
        "synth.baselines.engines:CopulaModel.from_json",
    ),
    "copula": (
        "synth.baselines.engines:fit_copula",
        "synth.baselines.engines:CopulaModel.from_json",
    ),
    "priv-bayes": (
        "synth.baselines.networks.network_engines:fit_priv_bayes",
        "synth.baselines.networks.network_engines:NetworkModel.from_json",
    ),
    "priv-bayes-legacy": (
        "synth.baselines.networks.network_engines:fit_priv_bayes_legacy",
        "synth.baselines.networks.network_engines:NetworkModel.from_json",
    ),
    "copula-shirley": (
        "synth.baselines.copulas.vine_engines:fit_copula_shirley",
        "synth.baselines.copulas.vine_engines:VineModel.from_json",
    ),
    "vine": (
        "synth.baselines.copulas.vine_engines:fit_vine_without_privacy",
        "synth.baselines.copulas.vine_engines:VineModel.from_json",
    ),
}

#: Methods that are not differentially private as claimed: they take a `Claim`, no `Budget`.
UNPROTECTED = ("copula-shirley", "priv-bayes-legacy", "vine")

#: Methods weaker here than they could be: a comparison with them flatters the default.
WEAKER = {
    **dict.fromkeys(
        ("priv-bayes", "priv-bayes-legacy"),
        "a network of degree 3 whatever the budget: at small budgets it is far worse than "
        "independent columns; --set degree=1 comes closer to them",
    ),
    "copula-shirley": "its defaults (families, encoder, bins of the schema) are not those of "
    "the best published figures",
}

#: By which calls each column was counted, where not by a margin.
COUNTED_BY = {"priv-bayes": "table"}

_SETTINGS = {
    "tables": "synth.marginals.settings:Settings",
    "priv-bayes": "synth.baselines.settings:NetworkSettings",
    "priv-bayes-legacy": "synth.baselines.settings:NetworkSettings",
    "copula-shirley": "synth.baselines.settings:ThesisSettings",
    "vine": "synth.baselines.settings:VineSettings",
}


def is_unprotected(method: str) -> bool:
    """Tell whether a method is not differentially private as claimed."""
    return method in UNPROTECTED


def fitter_of(method: str) -> Callable[..., Any]:
    """Return what fits codes."""
    fitter: Callable[..., Any] = _named(METHODS[_known(method)][0])
    return fitter


def reader_of(method: str) -> Callable[[str], CodeModel]:
    """Return what reads a model of a method."""
    reader: Callable[[str], CodeModel] = _named(METHODS[_known(method)][1])
    return reader


def settings_of(method: str, given: Mapping[str, Any]) -> Any:
    """Return the settings of a method; None where nothing is given."""
    _known(method)
    if not given:
        return None
    if method not in _SETTINGS:
        raise SynthError(f"The method {method!r} has no settings.")
    kind = _named(_SETTINGS[method])
    unknown = sorted({*given} - {*kind.__dataclass_fields__})
    if unknown:
        raise SynthError(
            f"The method {method!r} has no setting {unknown[0]!r}.",
            hint=f"it has {', '.join(kind.__dataclass_fields__)}",
        )
    try:
        return kind(**given)
    except TypeError:
        raise SynthError(f"A setting of the method {method!r} is of the wrong type.") from None


def _known(method: str) -> str:
    if method not in list(METHODS):  # what is no text cannot be looked up
        raise SynthError(f"Unknown method {method!r}.", hint=f"known: {', '.join(METHODS)}")
    return method


def _named(place: str) -> Any:
    module, _, path = place.partition(":")
    found: Any = import_module(module)
    for name in path.split("."):
        found = getattr(found, name)
    return found
