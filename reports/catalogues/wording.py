"""A sentence with places for numbers, and how each of them is written."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeAlias

from reports.errors import ReportError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reports.i18n.languages import Words

#: How a number is written; see `reports.i18n.numbers`.
Kind: TypeAlias = Literal[
    "count", "signed", "share", "probability", "amount", "ratio", "plain", "tiny"
]

_PLACE = re.compile(r"%\((\w+)\)s")


@dataclass(frozen=True, slots=True)
class Sentence:
    """English words, and the kinds of the numbers in them.

    Parameters
    ----------
    message
        The words, with places such as ``%(cells)s``.
    kinds
        Name of a place → how its number is written; ``"plain"`` where nothing is said.
    """

    message: str
    kinds: Mapping[str, Kind] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def places(self) -> tuple[str, ...]:
        """The names of the numbers it needs."""
        return tuple(_PLACE.findall(self.message))

    def say(self, words: Words, values: Mapping[str, float | str], *, of: str) -> str:
        """Say it in a language."""
        missing = [place for place in self.places if place not in values]
        if missing:
            raise ReportError(
                f"The words of {of} need the number {missing[0]!r}, which is missing.",
                hint=f"give {', '.join(map(repr, self.places))}",
            )
        texts = {
            place: written(words, values[place], self.kinds.get(place, "plain"))
            for place in self.places
        }
        return words.say(self.message, **texts)


def written(words: Words, value: float | str, kind: Kind) -> str:
    """Write a number as its kind says; a text stays as it is."""
    if isinstance(value, str):
        return value
    return str(getattr(words.numbers, kind)(value))
