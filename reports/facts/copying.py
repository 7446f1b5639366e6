"""Facts made of what an object has under the same names."""

from dataclasses import fields
from enum import Enum
from typing import Any, TypeVar

_Fact = TypeVar("_Fact")


def fact_of(kind: type[_Fact], /, *sources: object, **extra: Any) -> _Fact:
    """Make a fact of the attributes of objects that its fields are named after."""
    attributes: dict[str, Any] = {}
    for field in fields(kind):  # type: ignore[arg-type]
        values = (
            getattr(source, field.name) for source in sources if hasattr(source, field.name)
        )
        for value in values:
            if not callable(value):
                attributes.setdefault(
                    field.name, str(value) if isinstance(value, Enum) else value
                )
    return kind(**attributes | extra)
