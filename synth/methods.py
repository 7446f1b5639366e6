"""The engines by name. Each is imported when it is used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from synth.errors import SynthError

if TYPE_CHECKING:
    from collections.abc import Callable

    from synth.fitted import CodeModel

__all__ = ["METHODS", "fitter_of", "reader_of"]

#: Of each method: what fits codes, and what reads a model that it wrote.
METHODS = {
    "tables": ("synth.engine:fit_codes", "synth.model:TableModel.from_json"),
    "histogram": (
        "synth.baselines.engines:fit_histogram",
        "synth.baselines.engines:CopulaModel.from_json",
    ),
    "copula": (
        "synth.baselines.engines:fit_copula",
        "synth.baselines.engines:CopulaModel.from_json",
    ),
}


def fitter_of(method: str) -> Callable[..., Any]:
    """Return what fits codes.

    Parameters
    ----------
    method
        The name of the method.

    Examples
    --------
    >>> fitter_of("tables").__name__
    'fit_codes'
    """
    fitter: Callable[..., Any] = _named(method, 0)
    return fitter


def reader_of(method: str) -> Callable[[str], CodeModel]:
    """Return what reads a model of a method.

    Parameters
    ----------
    method
        The name of the method.

    Examples
    --------
    >>> reader_of("tables").__name__
    'from_json'
    """
    reader: Callable[[str], CodeModel] = _named(method, 1)
    return reader


def _named(method: str, place: int) -> Any:
    if method not in METHODS:
        raise SynthError(f"Unknown method {method!r}.", hint=f"known: {', '.join(METHODS)}")
    module, _, path = METHODS[method][place].partition(":")
    found: Any = import_module(module)
    for name in path.split("."):
        found = getattr(found, name)
    return found
