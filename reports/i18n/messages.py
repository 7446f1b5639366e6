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
from typing import TYPE_CHECKING

from reports.i18n.languages import LOCALE

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Where the forms are looked up.
DOMAINS = ("commands-help", "messages-ckm", "messages-core", "messages-dp")
#: The place of a value.
HOLE = re.compile(r"\{(\d+)\}")
#: A form with fewer letters says too little of what may stand in its places.
_TELLING = 6
_CODE = r"(?:'[^'\n]*'|[^ \n']+)"
_ANY, _CODES = "(.*?)", f"({_CODE}(?:, {_CODE})*)"
_QUOTED = re.compile("'[^']*'")
#: What names a file, line or section before what is wrong there.
_PLACE = re.compile(r"\s*- |\S+\.\w+:(?:\d+:)? |\[+[\w.-]+\]+ (?:(?:'[^']*'|number \d+): )?")
#: Words in a value that no form has.
_ENGLISH = re.compile(r"^[^']*[a-z]{2,} [a-z]{2,}[^']*$")
#: Where a message may consist of two, and what may stand before one.
_CUT = re.compile(r"(?<=[.:;?!\]]) |^[\w.]+,?(?: entry \d+,)? ")


@dataclass(frozen=True, slots=True)
class _Form:
    """The form of messages, as a pattern, and its translation."""

    pattern: re.Pattern[str]
    longest: str
    weight: int
    text: str


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

    def say(self, message: str) -> tuple[str, bool]:
        """Translate what is known of a message; False where words of it stay English."""
        found, is_complete = self._whole(message)
        if is_complete:
            return found, True
        if "\n" in message:
            return self._joined(message.split("\n"), "\n")
        if place := _PLACE.match(message):
            rest, is_complete = self.say(message[place.end() :])
            return place[0] + rest, is_complete
        for cut in _CUT.finditer(message):
            parts = message[: cut.start()], message[cut.end() :]
            if any(self._whole(part)[1] for part in parts):
                between, _ = self._whole(cut[0][:-1])
                return self._joined(parts, between + cut[0][-1])
        return found, not _ENGLISH.search(message)

    def _joined(self, parts: Sequence[str], between: str) -> tuple[str, bool]:
        said = [self.say(part) for part in parts]
        return between.join(text for text, _ in said), all(known for _, known in said)

    def _whole(self, message: str) -> tuple[str, bool]:
        """Translate a message by one form, which leaves as little English as one can."""
        if message in self.fixed:
            return self.fixed[message], True
        found = message
        if " " not in message or _QUOTED.fullmatch(message):
            return found, False
        for form in self.forms:
            if form.longest in message and (match := form.pattern.fullmatch(message)):
                values = [self.say(value) for value in match.groups()]
                filled = HOLE.sub(lambda hole: values[int(hole[1])][0], form.text)  # noqa: B023
                if all(known for _, known in values):
                    return filled, True
                found = filled if found == message else found
        return found, False


def _form(message: str, text: str) -> _Form:
    literals = HOLE.split(message)[::2]
    weight = sum(map(str.isalpha, "".join(literals)))
    is_telling = weight >= _TELLING or "hint:" in message
    hole = _ANY if is_telling else _CODES
    flags = re.DOTALL if "\n" in message else re.NOFLAG
    pattern = re.compile(hole.join(map(re.escape, literals)), flags)
    return _Form(pattern, max(literals, key=len), weight, text)


@cache
def _messages(language: str) -> _Messages:
    texts: dict[str, str] = {}
    for domain in DOMAINS:
        file = LOCALE / language / "LC_MESSAGES" / f"{domain}.mo"
        if file.is_file():
            with file.open("rb") as stream:
                texts |= _Catalogue(stream).texts()
    forms = [_form(message, text) for message, text in texts.items() if HOLE.search(message)]
    forms.sort(key=lambda form: (-form.weight, -len(form.pattern.pattern)))
    return _Messages({m: text for m, text in texts.items() if not HOLE.search(m)}, tuple(forms))


def translated(message: str, language: str) -> str:
    """Translate a message of a command or of the engine; what is not known stays English."""
    return message if language == "en" else _messages(language).say(message)[0]
