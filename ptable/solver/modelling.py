"""cvxpy without what it imports for one function that no table needs."""

from __future__ import annotations

import sys
import threading
from types import ModuleType
from typing import Any

_STATS = "scipy.stats"
_IMPORTING = threading.Lock()


def load_cvxpy() -> Any:
    """Import cvxpy.

    Notes
    -----
    cvxpy takes `entropy` from `scipy.stats` for atoms of quantum theory. Importing that
    takes two thirds of the time; here it is imported when the function is called.

    Examples
    --------
    >>> load_cvxpy().__name__
    'cvxpy'
    """
    with _IMPORTING:
        if "cvxpy" not in sys.modules and _STATS not in sys.modules:
            _import_without_stats()
    import cvxpy

    return cvxpy


def _import_without_stats() -> None:
    instead = ModuleType(_STATS)
    instead.entropy = _entropy  # type: ignore[attr-defined]
    sys.modules[_STATS] = instead
    try:
        import cvxpy  # noqa: F401
    except ImportError:  # a version that takes more of it: the next import finds it all
        for name in [name for name in sys.modules if name.partition(".")[0] == "cvxpy"]:
            del sys.modules[name]
    finally:
        if sys.modules.get(_STATS) is instead:
            del sys.modules[_STATS]


def _entropy(*arguments: Any, **options: Any) -> Any:
    from scipy.stats import entropy

    return entropy(*arguments, **options)
