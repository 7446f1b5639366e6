"""Sentences for people, made from data: a template, and what stands in its holes.

A message is its English text, and remembers what it was made from. So it can stand wherever a
text can (in an error, a warning, a list of problems), and another language is looked up by the
template and filled with the values: nothing is read back from finished words.
"""

import enum
import logging
import math
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from numbers import Integral, Number
from pathlib import PurePath
from string import Formatter
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from footing.addresses import Address, without_passwords

if TYPE_CHECKING:
    import numpy as np

#: What is shown in place of a value of no kind, which may be that of a record.
_MASK = "…"
_MOST_SIGNS = 24
_ADDRESS = re.compile(r"://|@|=")
_SETTING = re.compile(r"=\s*[\[(]?$")


class Name(str):
    """A name that a person declared or may type: a column, an option, a file, a code of a job.

    Examples
    --------
    >>> print(Message("No column {column!r}.", column=Name("depp")))
    No column 'depp'.
    """

    __slots__ = ()

    @classmethod
    def each(cls, names: Iterable[object]) -> list[Self]:
        """Return each of some names as one."""
        return [cls(name) for name in names]


class Argument:
    """What a caller gave for a parameter, as Python writes it; never what a record holds.

    Examples
    --------
    >>> print(Message("k must be an integer, not {value!r}.", value=Argument("many")))
    k must be an integer, not 'many'.
    """

    def __init__(self, value: object) -> None:
        self.value = value


class Shape:
    """The shape of a value, never the value: its type, its dimensions, the forms of its signs.

    Examples
    --------
    >>> print(Message("A code looks like {code!r}.", code=Shape("Paris 14e")))
    A code looks like 'Aaaaa 99a'.
    >>> print(Message("The answer has {answer}.", answer=Shape(3.5)))
    The answer has float.
    """

    def __init__(self, value: object) -> None:
        if isinstance(value, str):
            signs = "".join(map(_sign_class, value[:_MOST_SIGNS]))
            self._text = signs + (_MASK if len(value) > _MOST_SIGNS else "")
        elif isinstance(value, type):
            self._text = value.__name__
        elif isinstance(value, tuple) and all(isinstance(size, int) for size in value):
            self._text = str(value)  # of an array
        elif type(value).__module__.startswith("numpy.dtype"):
            self._text = str(value)
        else:
            self._text = type(value).__name__

    def __str__(self) -> str:
        return self._text


def _sign_class(sign: str) -> str:
    if sign.isalpha():
        return "A" if sign.isupper() else "a"
    if sign.isnumeric():
        return "9"
    is_shown = sign == " " or (sign.isprintable() and not sign.isspace())
    return sign if is_shown else f"U+{ord(sign):04X}"


class Text(str):
    """Words that were not made from data: of the operating system, or of a place not yet here.

    They are looked up as they stand.
    """

    __slots__ = ()


class Message(str):
    """A sentence or a part of one, from a template with named holes.

    A hole is of a kind that its value's type tells. No kind takes what a record holds: a plain
    text is refused by the types, and where it comes all the same it is masked, with a warning
    (which stops a test, and no release).

    Parameters
    ----------
    template
        English, a literal, so that it is found when messages are collected. Holes are those of
        `str.format`: ``{count:,}``, ``{column!r}``. Without values it is taken as it is, and
        without a template it is empty.
    values
        For each hole a `Name`, an `Argument`, a `Shape`, a number, a path or an address (which
        shows no password), a member of an enumeration, a `Message`, or a list of these.

    Examples
    --------
    >>> problem = Message("At most {most:,} of {what}.", most=5000, what=Message("rows"))
    >>> print(problem)
    At most 5,000 of rows.
    >>> french = {"At most {most:,} of {what}.": "Au plus {most:,} {what}.", "rows": "lignes"}
    >>> problem.in_words(french.get, number=lambda text: text.replace(",", " "))
    'Au plus 5 000 lignes.'
    """

    __slots__ = ("template", "values")

    template: str
    values: dict[str, Any]

    def __new__(cls, template: str = "", /, **values: "Value") -> Self:
        """Make the English text."""
        return cls._made(template, values)

    @classmethod
    def _made(cls, template: str, values: dict[str, Any]) -> Self:
        message = super().__new__(cls, _filled(template, values, _ENGLISH))
        message.template = template
        message.values = values
        return message

    def in_words(
        self,
        gettext: Callable[[str], str | None],
        *,
        number: Callable[[str], str] = str,
        text: Callable[[str], str] = str,
    ) -> str:
        """Say it in another language.

        Parameters
        ----------
        gettext
            Looks a template up; what it does not know stays English.
        number
            Changes the signs of a number from English ones.
        text
            Says a text that was not made from data.
        """
        language = _Language(gettext, number, text)
        return _filled(language.look_up(self.template), self.values, language)

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON keeps of it: its English, its template, and what is in its holes.

        Examples
        --------
        >>> Message("No column {column!r}.", column=Name("depp")).to_dict()["values"]
        {'column': 'depp'}
        """
        values = {name: _to_data(value) for name, value in self.values.items()}
        return {"message": str.__str__(self), "template": self.template, "values": values}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the message that `to_dict` was of."""
        values = {name: _from_data(value) for name, value in data["values"].items()}
        return cls._made(data["template"], values)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._made, (self.template, self.values)  # noqa: SLF001


def named(text: str) -> "Name | Message":
    """Return what is called by a name, or by words that are a message.

    Examples
    --------
    >>> type(named("epsilon")).__name__, type(named(Message("a bound"))).__name__
    ('Name', 'Message')
    """
    return text if isinstance(text, Message) else Name(text)


def said(text: str) -> "Text | Message":
    """Return a message as it is, and another text as one that is looked up."""
    return text if isinstance(text, Message) else Text(text)


def joined(between: str, texts: Iterable[str]) -> Message:
    """Put messages in a line, or one below the other.

    Examples
    --------
    >>> print(joined("; ", [Message("take fewer"), Message("wait")]))
    take fewer; wait
    """
    return Message("{texts}", texts=Enumeration(between, map(said, texts)))


def logged(record: logging.LogRecord) -> str:
    """Return what a log is told, with its data where it was given a message alone.

    Examples
    --------
    >>> record = logging.makeLogRecord({"msg": "%s", "args": (Message("all {n}", n=2),)})
    >>> logged(record).template
    'all {n}'
    """
    args = record.args
    if record.msg == "%s" and isinstance(args, tuple) and isinstance(args[0], Message):
        return args[0]
    return record.msg if isinstance(record.msg, Message) else record.getMessage()


def data_of(text: str) -> dict[str, Any]:
    """Return what JSON has of a text: of a message its template and values, too."""
    return text.to_dict() if isinstance(text, Message) else {"message": text}


def mark(template: str) -> str:
    """Give a template back as it is, so that it is found when messages are collected."""
    return template


class Enumeration:
    """Some values in a line, with something else than a comma between them.

    Parameters
    ----------
    between
        A literal, such as ``"; "`` or ``" and "``.
    values
        As for a `Message`.

    Examples
    --------
    >>> print(Message("Take {one}.", one=Enumeration(" or ", Name.each("ab"))))
    Take a or b.
    """

    def __init__(self, between: str, values: "Iterable[_One]") -> None:
        self.between, self.values = between, list(values)


_Number: TypeAlias = "int | float | Decimal | np.integer[Any] | np.floating[Any]"
_One: TypeAlias = (
    "Name | Argument | Shape | _Number | Message | Text | PurePath | Address | enum.Enum | None"
)
#: What may stand in a hole. (A `Sequence` would let a text in, which is one of texts.)
Value: TypeAlias = (
    "_One | Enumeration | tuple[_One, ...] | list[Name] | list[Message] | list[Argument]"
    " | list[int] | list[float] | list[_One]"
)


@dataclass(frozen=True, slots=True)
class _Shown:
    """An argument that went through JSON: how Python wrote it."""

    representation: str
    text: str

    def __repr__(self) -> str:
        return self.representation

    def __str__(self) -> str:
        return self.text


def _to_data(value: object) -> Any:
    """Return what is in a hole, masked, in kinds that JSON can tell apart."""
    data: Any
    match value:
        case Argument(value=Message() | int() | float() as inner):
            data = _to_data(inner)
        case Argument(value=inner):
            data = {
                "argument": _without_passwords(repr(inner)),
                "text": _without_passwords(str(inner)),
            }
        case Message():
            data = value.to_dict()
        case Text():
            data = {"text": _without_passwords(str(value))}
        case Enumeration(between=between, values=values):
            data = {"between": between, "values": [_to_data(one) for one in values]}
        case list() | tuple():
            data = [_to_data(one) for one in value]
        case Number():
            data = _number(value)
        case _:
            data = _without_passwords(_shown(value))
    return data


def _number(value: Any) -> Any:
    """Return a number, maybe of numpy or a Decimal, as JSON has it."""
    if isinstance(value, bool):
        return value
    number = int(value) if isinstance(value, Integral) else float(value)
    return number if math.isfinite(number) else {"number": str(number)}


def _from_data(data: Any) -> Any:
    if isinstance(data, list):
        return [_from_data(one) for one in data]
    if not isinstance(data, dict):
        return Name(data) if isinstance(data, str) else data
    if "template" in data:
        return Message.from_dict(data)
    if "between" in data:
        return Enumeration(data["between"], map(_from_data, data["values"]))
    if "argument" in data:
        return Argument(_Shown(data["argument"], data["text"]))
    return float(data["number"]) if "number" in data else Text(data["text"])


def text_of(warning: Warning | str) -> str:
    """Return the message of a warning, with all that it was made from, or its text."""
    if isinstance(warning, Warning) and warning.args and isinstance(warning.args[0], Message):
        return warning.args[0]
    return str(warning)


@dataclass(frozen=True, slots=True)
class _Language:
    """How templates, numbers and texts are said."""

    gettext: Callable[[str], str | None]
    number: Callable[[str], str]
    text: Callable[[str], str]

    def look_up(self, template: str) -> str:
        return (template and self.gettext(template)) or template

    def say(self, value: object, conversion: str, spec: str) -> str:
        """Write what stands in a hole."""
        if isinstance(value, Message):
            words = _filled(self.look_up(value.template), value.values, self)
            return _converted(words, conversion, spec)
        if isinstance(value, list | tuple | Enumeration):
            series = value if isinstance(value, Enumeration) else Enumeration(", ", value)
            each = [self.say(one, conversion, spec) for one in series.values]
            return self.look_up(series.between).join(each)
        if isinstance(value, Argument):
            return self._argument(value.value, conversion, spec)
        if isinstance(value, Number):
            return self.number(_converted(value, conversion, spec))
        if isinstance(value, Text):
            words = self.text(_without_passwords(str(value)))
            return _converted(words, conversion, spec)
        return _without_passwords(_converted(_shown(value), conversion, spec))

    def _argument(self, value: object, conversion: str, spec: str) -> str:
        if isinstance(value, Message):
            return self.say(value, conversion, spec)
        if isinstance(value, Number) and not isinstance(value, bool):
            return self.number(_converted(value, conversion, spec))
        # Nothing is cut before it is masked: half an address is none.
        text = _without_passwords(repr(value) if conversion == "r" else str(value))
        return format(text, spec)


def _shown(value: object) -> str:
    """Return what of a value without numbers or words is shown: nothing, if it has no kind."""
    if isinstance(value, Address):
        return value.masked
    if isinstance(value, Name | PurePath | Shape | enum.Enum) or value is None:
        return str(value)
    kind = type(value).__name__
    warnings.warn(f"A message was given a {kind} of no kind.", RuntimeWarning, stacklevel=6)
    return _MASK


def _converted(value: object, conversion: str, spec: str) -> str:
    if conversion == "r":
        value = repr(value)
    elif conversion == "s" or not spec:
        value = str(value)
    return format(value, spec)


def _without_passwords(text: str) -> str:
    """Mask what stands in quotes of its own, and a bare word that may be an address."""
    if " " in text or text[:1] in {"'", '"'} or not _ADDRESS.search(text):
        return without_passwords(text)
    if "'" in text or '"' in text:
        address = Address(text)
        return address.masked if address.has_password else without_passwords(text)
    return without_passwords(f"'{text}'")[1:-1]


_ENGLISH = _Language(lambda template: template, str, str)


@lru_cache(maxsize=1024)
def _parts(template: str) -> list[tuple[str, str | None, str, str]]:
    parts = Formatter().parse(template)
    return [(text, name, spec or "", how or "") for text, name, spec, how in parts]


def _filled(template: str, values: dict[str, Any], language: _Language) -> str:
    if not values:
        return template
    filled = []
    for literal, name, spec, conversion in _parts(template):
        filled.append(literal)
        if name is not None:
            is_setting = _SETTING.search(literal) is not None  # it is typed as it stands
            target = _ENGLISH if is_setting and isinstance(values[name], Number) else language
            filled.append(target.say(values[name], conversion, spec))
    return "".join(filled)
