"""Lists of words in TOML files beside the modules, and sentences with places for numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from footing.data_files import read_data
from footing.messages import Message, Name, said
from reports.errors import ReportError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reports.i18n.languages import Words

#: How a number is written; see `reports.i18n.numbers`.
Kind: TypeAlias = Literal[
    "count",
    "signed",
    "share",
    "percent",
    "hundredths",
    "probability",
    "amount",
    "ratio",
    "plain",
    "tiny",
]

_PLACE = re.compile(r"%\((\w+)\)s")

_Entry = TypeVar("_Entry")


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

    def say(
        self,
        words: Words,
        values: Mapping[str, float | str] = MappingProxyType({}),
        *,
        of: str = "a page",
    ) -> str:
        """Say it in a language."""
        missing = [place for place in self.places if place not in values]
        if missing:
            raise ReportError(
                Message(
                    "The words of {of} need the number {number!r}, which is missing.",
                    of=said(of),
                    number=Name(missing[0]),
                ),
                hint=Message("give {places!r}", places=Name.each(self.places)),
            )
        texts = {
            place: written(words, values[place], self.kinds.get(place, "plain"))
            for place in self.places
        }
        return words.say(self.message, **texts)


@dataclass(frozen=True, slots=True)
class Meaning:
    """A name, and a sentence on what it is."""

    name: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Picture:
    """What a picture says: part, such as its title, → sentence."""

    parts: Mapping[str, Sentence]

    def say(self, words: Words, ident: str, /, **values: float | str) -> dict[str, Any]:
        """Say it in a language, for the class of `Labels` whose fields the parts are."""
        texts = {part: sentence.say(words, values) for part, sentence in self.parts.items()}
        return {"id": ident, **texts}


def written(words: Words, value: float | str, kind: Kind) -> str:
    """Write a number as its kind says; a text stays as it is."""
    if isinstance(value, str):
        return value
    return str(getattr(words.numbers, kind)(value))


class WordLists:
    """The lists of one file, each a table of names.

    A sentence is a text, or a table of its ``text``, the ``kinds`` of its numbers, where they
    are not those of the file, and its ``claim`` of docs/explanation/assurance.md.

    Parameters
    ----------
    name
        Of the file, without its suffix.
    """

    def __init__(self, name: str) -> None:
        self._lists = read_data("reports.catalogues", f"{name}.toml")
        self._kinds = self._lists.get("kinds", {})

    def texts(self, name: str) -> Mapping[str, str]:
        """Give a list of texts; texts without a name are names themselves."""
        entries = self._lists[name]
        return MappingProxyType(
            entries if isinstance(entries, dict) else {text: text for text in entries}
        )

    def sentences(self, name: str) -> Mapping[str, Sentence]:
        """Give a list of sentences."""
        entries = self._lists[name]
        return MappingProxyType({key: self._sentence(entry) for key, entry in entries.items()})

    def entries(self, name: str, kind: Callable[..., _Entry]) -> Mapping[str, _Entry]:
        """Give a list of entries of several fields; a table among these is a sentence."""
        return MappingProxyType(
            {
                key: kind(**{field: self._value(value) for field, value in entry.items()})
                for key, entry in self._lists[name].items()
            }
        )

    def pictures(self) -> Mapping[str, Picture]:
        """Give the words of pictures."""
        return MappingProxyType(
            {
                name: Picture({part: self._sentence(text) for part, text in entry.items()})
                for name, entry in self._lists["pictures"].items()
            }
        )

    def _value(self, value: Any) -> Any:
        if isinstance(value, dict):
            return self._sentence(value)
        return tuple(value) if isinstance(value, list) else value

    def _sentence(self, entry: str | Mapping[str, Any]) -> Sentence:
        if isinstance(entry, str):
            return Sentence(entry, self._kinds)
        return Sentence(entry["text"], {**self._kinds, **entry.get("kinds", {})})
