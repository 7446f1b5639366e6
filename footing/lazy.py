"""Public names that a package imports when they are first used, and those it had before."""

import importlib
import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from footing.messages import Message, Name


def lazy(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and the `__dir__` of a package, see PEP 562."""

    def get(name: str) -> Any:
        if name not in homes:
            raise _missing(package, name)
        value = getattr(importlib.import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted(homes)

    return get, names


def renamed(package: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package some of whose names have others now: old → new."""

    def get(name: str) -> Any:
        if name not in names:
            raise _missing(package, name)
        text = Message(
            "{name!r} of {package!r} is called {new_name!r} now.",
            name=Name(name),
            package=Name(package),
            new_name=Name(names[name]),
        )
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        return getattr(sys.modules[package], names[name])

    return get


def moved(
    package: str, homes: Mapping[str, str], otherwise: Callable[[str], Any] | None = None
) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package some of whose names are in their modules alone now.

    Parameters
    ----------
    package
        Its name.
    homes
        Name → module.
    otherwise
        What answers for other names.
    """

    def get(name: str) -> Any:
        if name not in homes:
            if otherwise is not None:
                return otherwise(name)
            raise _missing(package, name)
        text = Message(
            "{name!r} of {package!r} is in {module!r} alone from the next version on.",
            name=Name(name),
            package=Name(package),
            module=Name(homes[name]),
        )
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        return getattr(importlib.import_module(homes[name]), name)

    return get


def moved_module(old: str, new: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module all of whose names are in another now."""

    def get(name: str) -> Any:
        if name.startswith("__"):
            raise _missing(old, name)
        value = getattr(importlib.import_module(new), name)
        text = Message("{old!r} is called {new!r} now.", old=Name(old), new=Name(new))
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        return value

    return get


def _missing(package: str, name: str) -> AttributeError:
    return AttributeError(
        Message(
            "module {package!r} has no attribute {name!r}",
            package=Name(package),
            name=Name(name),
        )
    )
