"""Public names that a package imports when they are first used, not when it is."""

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

from footing.messages import Message, Name


def lazy(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and the `__dir__` of a package, see PEP 562."""

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(
                Message(
                    "module {package!r} has no attribute {name!r}",
                    package=Name(package),
                    name=Name(name),
                )
            )
        value = getattr(importlib.import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted(homes)

    return get, names
