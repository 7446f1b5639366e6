"""Public names that a package imports when they are first used, not when it is."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["lazy"]


def lazy(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package, see PEP 562.

    Parameters
    ----------
    package
        The package's name.
    homes
        Public name → the module that defines it.

    Examples
    --------
    >>> lazy("footing", {"new_file": "footing.files"})("new_file").__module__
    'footing.files'
    """

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return get
