"""What commands and the engine say, in another language.

A `Message` is said by its template and its values. Of a text that is none (one that went
through a file or a log, or that an older place made) the form that it was made from is found
again, such as ``No column {0}.``, and filled in another language. What has no form here stays
English.
"""

import gettext
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain

from footing.messages import Message
from reports.i18n.languages import LOCALE


@dataclass(frozen=True, slots=True)
class _Said:
    """A text, and how many letters of it stay English."""

    text: str
    left: int = 0


#: Where the forms are looked up.
DOMAINS = ("commands-help", "messages-ckm", "messages-core", "messages-dp")
#: The place of a value: its number or name, and how it is written.
HOLE = re.compile(r"\{(\w+)(?:![rs])?(?::[^{}]*)?\}")
#: A form with fewer letters says too little of what may stand in its places.
_TELLING = 6
_CODE = r"(?:'[^'\n]*'|[^ \n']+)"
_CODES = f"({_CODE}(?:, {_CODE})*)"
_QUOTED = re.compile("'[^']*'")
#: What names a file, line or section before what is wrong there.
_PLACE = re.compile(
    r"\s*- |[a-z_]+: (?=[a-z_]+ (?:must|has|is) )|\S+\.\w+:(?:\d+:)? "
    r"|\[+[\w.-]+\]+ (?:(?:'[^']*'|number \d+): )?"
)
#: Where a message may consist of two, and what may stand before one.
_CUT = re.compile(r"(?<=[.:;?!\]]) |^[\w.]+,?(?: entry \d+,)? ")
_SIGN, _SPACE = re.compile("[;:,] "), re.compile(r"(?<=\w)(?= )")
_SIGNS = {";": _Said("\u202f;"), ":": _Said("\xa0:"), ",": _Said(",")}
_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?%")
_IN_FRENCH = str.maketrans({",": "\xa0", ".": ",", "%": "\xa0%"})
#: Longer messages are not cut within a line: it takes long, and they hold texts of others.
_MOST_CUT = 600
#: No longer part is looked up, no more parts of one message, and none nested more deeply.
_LONGEST, _MOST_PARTS, _DEEPEST = 1000, 2000, 50


@dataclass(frozen=True, slots=True)
class _Form:
    """The form of messages: what stands between its places, and its translation."""

    literals: tuple[str, ...]
    longest: str
    weight: int
    codes: re.Pattern[str] | None
    names: tuple[str, ...]
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
        holes = []
        for literal in literals:  # the first place will do: nothing is tried twice
            place = message.find(literal, start, end)
            if place < 0:
                return None
            holes.append(message[start:place])
            start = place + len(literal)
        return (*holes, message[start:end])


class _Catalogue(gettext.GNUTranslations):
    """The messages of a file, all of them."""

    def texts(self) -> dict[str, str]:
        catalogue: dict[str, str] = self._catalog  # type: ignore[attr-defined]
        return {one: text for one, text in catalogue.items() if one}


class _Messages:
    """The messages of a language: those without places, and the forms, most telling first."""

    def __init__(self, fixed: dict[str, str], forms: tuple[_Form, ...]) -> None:
        self.fixed, self.forms = fixed, forms
        self.clear()

    def clear(self) -> None:
        """Forget what was said."""
        self._known: dict[str, _Said] = {}
        self._by_form: dict[str, list[_Said]] = {}
        self._depth = 0

    def say(self, message: str) -> _Said:
        """Choose the translation that leaves the fewest letters in English."""
        if message not in self._known:
            self._known[message] = _Said(message, _letters(message))
            if self._depth < _DEEPEST and len(self._known) < _MOST_PARTS:
                self._depth += 1
                options = [
                    *self._whole(message),
                    *self._in_parts(message),
                    self._known[message],
                ]
                self._known[message] = min(options, key=lambda one: one.left)
                self._depth -= 1
        return self._known[message]

    def _whole(self, message: str) -> list[_Said]:
        """Give the translations by the forms that all of a message has."""
        if len(message) > _LONGEST or len(self._by_form) >= _MOST_PARTS:
            return self._by_form.get(message, [])
        if message not in self._by_form:
            self._by_form[message] = []  # a form of places alone ends here
            self._by_form[message] = list(self._filled(message))
        return self._by_form[message]

    def _filled(self, message: str) -> Iterator[_Said]:
        if message in self.fixed:
            yield _Said(self.fixed[message])
        elif _NUMBER.fullmatch(message):  # readers would take the comma for a decimal one
            yield _Said(message.translate(_IN_FRENCH))
        elif " " in message and not _QUOTED.fullmatch(message):
            for form in self.forms:
                if (holes := form.values(message)) is not None:
                    values = dict(zip(form.names, map(self.say, holes), strict=True))
                    text = HOLE.sub(lambda hole: values[hole[1]].text, form.text)  # noqa: B023
                    yield _Said(text, sum(value.left for value in values.values()))

    def _in_parts(self, message: str) -> Iterator[_Said]:
        """Give the translations of lines, and of parts of which one is known."""
        if "\n" in message:
            yield _joined(map(self.say, message.split("\n")), "\n")
            return
        if place := _PLACE.match(message):
            yield _joined([_Said(place[0]), self.say(message[place.end() :])])
        if len(message) <= _MOST_CUT:
            for cut in chain(_CUT.finditer(message), _SIGN.finditer(message)):
                parts = message[: cut.start()], message[cut.end() :]
                if any(map(self._whole, parts)):
                    first, second = map(self.say, parts)
                    sign = self.say(cut[0][:-1]) if cut.re is _CUT else _SIGNS[cut[0][0]]
                    yield _joined([first, sign, _Said(cut[0][-1]), second])
            for place in _SPACE.finditer(message):  # "an integer" before " of at least 1"
                start = self.fixed.get(message[: place.start()])
                if start is not None:
                    yield _joined([_Said(start), self.say(message[place.start() :])])


def _joined(parts: Iterable[_Said], between: str = "") -> _Said:
    items = list(parts)
    return _Said(between.join(one.text for one in items), sum(one.left for one in items))


def _letters(text: str) -> int:
    """Count the letters outside of quotes."""
    return sum(map(str.isalpha, _QUOTED.sub("", text)))


def _form(message: str, text: str) -> _Form:
    literals, names = HOLE.split(message)[::2], HOLE.findall(message)
    weight = _letters("".join(literals))
    is_telling = weight >= _TELLING or "hint:" in message
    codes = None if is_telling else re.compile(_CODES.join(map(re.escape, literals)))
    return _Form(tuple(literals), max(literals, key=len), weight, codes, tuple(names), text)


@cache
def _texts(language: str) -> dict[str, str]:
    """Read the messages of all domains."""
    texts: dict[str, str] = {}
    for domain in DOMAINS:
        file = LOCALE / language / "LC_MESSAGES" / f"{domain}.mo"
        if file.is_file():
            with file.open("rb") as stream:
                texts |= _Catalogue(stream).texts()
    return texts


@cache
def _messages(language: str) -> _Messages:
    texts = _texts(language)
    forms = [_form(message, text) for message, text in texts.items() if HOLE.search(message)]
    forms.sort(key=lambda form: (-form.weight, -sum(map(len, form.literals))))
    return _Messages({m: text for m, text in texts.items() if not HOLE.search(m)}, tuple(forms))


def translated(message: str, language: str) -> str:
    """Translate a message of a command or of the engine; what is not known stays English."""
    if language == "en":
        return message
    if isinstance(message, Message):
        return message.in_words(
            _texts(language).get, number=_with_signs, text=lambda text: _by_form(text, language)
        )
    return _by_form(message, language)


def _with_signs(number: str) -> str:
    """Write a number with French signs."""
    return number.translate(_IN_FRENCH)


def _by_form(message: str, language: str) -> str:
    messages = _messages(language)
    messages.clear()
    return messages.say(message).text
