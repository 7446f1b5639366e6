"""Every text and number that is in facts, with its place."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache

_PLAIN = (str, int, float, type(None))


def walk(facts: object, place: str = "") -> Iterator[tuple[str, object]]:
    """Give every text and number of facts with its place, from the first to the last."""
    # What is next lies on top: no generator for each level, as there are 100,000 of numbers.
    rest = [(place, facts)]
    while rest:
        place, value = rest.pop()
        if isinstance(value, _PLAIN):  # most of all, and quick to tell
            yield place, value
        elif is_dataclass(value) and not isinstance(value, type):
            names = reversed(_names(type(value)))
            rest += [(f"{place}.{name}".strip("."), getattr(value, name)) for name in names]
        elif isinstance(value, Mapping):
            for key in reversed(value):
                rest += [(f"{place}[{key!r}]", value[key]), (f"{place}, a name", key)]
        elif isinstance(value, (tuple, list)):
            last = len(value) - 1
            rest += [(f"{place}[{last - n}]", part) for n, part in enumerate(reversed(value))]
        else:
            yield place, value


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(member.name for member in fields(kind))
