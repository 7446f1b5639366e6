"""Facts made of what an object has under the same names."""

from __future__ import annotations

from dataclasses import fields
from enum import Enum
from typing import Any, TypeVar

_Fact = TypeVar("_Fact")


def fact_of(kind: type[_Fact], /, *sources: object, **given: Any) -> _Fact:
    """Make a fact of the attributes of objects that its fields are named after.

    Parameters
    ----------
    kind
        The data class of the fact.
    sources
        Where fields are looked up, in this order. A member of an enumeration becomes its text;
        methods do not count. A field that no object has keeps its default.
    given
        Fields that have another value.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from reports.facts.decoding import SuspicionFact
    >>> source = SimpleNamespace(name="light-reports", found=3, cohort=7)
    >>> fact_of(SuspicionFact, source, bit=-1)
    SuspicionFact(name='light-reports', found=3, cohort=7, bit=-1)
    """
    found: dict[str, Any] = {}
    for field in fields(kind):  # type: ignore[arg-type]
        values = (
            getattr(source, field.name) for source in sources if hasattr(source, field.name)
        )
        for value in values:
            if not callable(value):
                found.setdefault(field.name, str(value) if isinstance(value, Enum) else value)
    return kind(**found | given)
