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


#: Stands in a table of old names for all names of a module.
EVERY = "*"


def moved(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package or module for old names: it warns, and answers.

    Parameters
    ----------
    package
        Its name.
    homes
        Old name, or `EVERY` → the module where it is now, and behind a colon its name there,
        where that is another.

    Examples
    --------
    >>> get = moved("shapes", {"Root": "math:sqrt", EVERY: "cmath"})
    >>> with warnings.catch_warnings(action="ignore"):
    ...     get("Root")(9), get("e")
    (3.0, 2.718281828459045)
    """

    def get(name: str) -> Any:
        home = homes.get(name, "" if name.startswith("__") else homes.get(EVERY, ""))
        if not home:
            raise _missing(package, name)
        module, _, other = home.partition(":")
        value = getattr(importlib.import_module(module), other or name)
        text = Message(
            "{old!r} is called {new!r} now.",
            old=Name(f"{package}.{name}"),
            new=Name(f"{module}.{other or name}"),
        )
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        return value

    return get


def moved_module(old: str, new: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module all of whose names are in another now."""
    return moved(old, {EVERY: new})


def _missing(package: str, name: str) -> AttributeError:
    return AttributeError(
        Message(
            "module {package!r} has no attribute {name!r}",
            package=Name(package),
            name=Name(name),
        )
    )
