"""What commands and the engine say, in another language: told by the form of a message.

A message is made where it is raised, in English, its values already in it. Here the form that
it was made from is found again, such as ``No column {0}.``, and filled in another language.
What has no form here stays English.
"""

from __future__ import annotations

import gettext
import re
from dataclasses import dataclass
from functools import cache

from reports.i18n.languages import LOCALE

#: Where the forms are looked up.
DOMAINS = ("commands-help", "messages-ckm", "messages-core", "messages-dp")
#: The place of a value.
HOLE = re.compile(r"\{(\d+)\}")
#: A form with fewer letters says too little of what may stand in its places.
_TELLING = 6
#: No longer part is looked up, and of one message no more parts: values are foreign texts.
_LONGEST, _MOST_PARTS = 1000, 100
_CODE = r"(?:'[^'\n]*'|[^ \n']+)"
_CODES = f"({_CODE}(?:, {_CODE})*)"
_QUOTED = re.compile("'[^']*'")
#: Words in a value that no form has.
_ENGLISH = re.compile("[a-z]{2} [a-z]{2}")
#: Where a message may consist of two, and what may stand before one.
_CUT = re.compile(r"^\s*-\s|(?<=[.:;?!\]]) |^[\w.]+,? ")


@dataclass(frozen=True, slots=True)
class _Form:
    """The form of messages: what stands between its places, and its translation."""

    literals: tuple[str, ...]
    longest: str
    weight: int
    codes: re.Pattern[str] | None
    text: str

    def values(self, message: str) -> tuple[str, ...] | None:
        """Return what stands in the places, each as short as can be, from the left."""
        if self.longest not in message:
            return None
        if self.codes is not None:
            match = self.codes.fullmatch(message)
            return match and match.groups()
        first, *literals, last = self.literals
        start, end = len(first), len(message) - len(last)
        is_it = message.startswith(first) and message.endswith(last) and start <= end
        if not is_it or ("\n" in message and "\n" not in "".join(self.literals)):
            return None
        found = []
        for literal in literals:  # the first place will do: nothing is tried twice
            place = message.find(literal, start, end)
            if place < 0:
                return None
            found.append(message[start:place])
            start = place + len(literal)
        return (*found, message[start:end])


class _Catalogue(gettext.GNUTranslations):
    """The messages of a file, all of them."""

    def texts(self) -> dict[str, str]:
        found: dict[str, str] = self._catalog  # type: ignore[attr-defined]
        return {one: text for one, text in found.items() if one}


@dataclass(frozen=True, slots=True)
class _Messages:
    """The messages of a language: those without places, and the forms, most telling first."""

    fixed: dict[str, str]
    forms: tuple[_Form, ...]

    def say(self, message: str, known: dict[str, str | None] | None = None) -> str:
        """Translate what is known of a message; what was looked up is in `known`."""
        known = {} if known is None else known
        if len(known) >= _MOST_PARTS:
            return message
        found = self._whole(message, known)
        if found is not None:
            return found
        if "\n" in message:
            return "\n".join(map(self.say, message.split("\n")))
        for cut in _CUT.finditer(message):
            parts = message[: cut.start()], message[cut.end() :]
            said = [self._whole(part, known) for part in parts]
            if any(said):
                first, second = (
                    one or self.say(part, known) for one, part in zip(said, parts, strict=True)
                )
                return first + cut[0] + second
        return message

    def _whole(self, message: str, known: dict[str, str | None]) -> str | None:
        if message not in known:
            if len(known) >= _MOST_PARTS:
                return None
            known[message] = None
            if len(message) <= _LONGEST:
                known[message] = self._look_up(message, known)
        return known[message]

    def _look_up(self, message: str, known: dict[str, str | None]) -> str | None:
        if message in self.fixed:
            return self.fixed[message]
        if " " not in message or _QUOTED.fullmatch(message):
            return None
        found = None
        for form in self.forms:
            if (given := form.values(message)) is not None:
                values = [self.say(value, known) for value in given]
                filled = HOLE.sub(lambda hole: values[int(hole[1])], form.text)  # noqa: B023
                same = [v for v in values if v in given and "'" not in v]
                if not any(map(_ENGLISH.search, same)):
                    return filled
                found = found or filled
        return found


def _form(message: str, text: str) -> _Form:
    literals = HOLE.split(message)[::2]
    weight = sum(map(str.isalpha, "".join(literals)))
    codes = None if weight >= _TELLING else re.compile(_CODES.join(map(re.escape, literals)))
    return _Form(tuple(literals), max(literals, key=len), weight, codes, text)


@cache
def _messages(language: str) -> _Messages:
    texts: dict[str, str] = {}
    for domain in DOMAINS:
        file = LOCALE / language / "LC_MESSAGES" / f"{domain}.mo"
        if file.is_file():
            with file.open("rb") as stream:
                texts |= _Catalogue(stream).texts()
    forms = [_form(message, text) for message, text in texts.items() if HOLE.search(message)]
    forms.sort(key=lambda form: (-form.weight, -sum(map(len, form.literals))))
    return _Messages({m: text for m, text in texts.items() if not HOLE.search(m)}, tuple(forms))


def translated(message: str, language: str) -> str:
    """Translate a message of a command or of the engine; what is not known stays English."""
    return message if language == "en" else _messages(language).say(message)
