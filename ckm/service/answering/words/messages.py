"""The words of the service, in English and in French.

They stand in ``messages.toml`` with the signs of a keyboard; `typeset` puts in the apostrophes
and the spaces of print.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ckm.formats import words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckm.config.service.service import Service

__all__ = ["LANGUAGES", "WORDS", "Phrase", "say", "typeset"]

LANGUAGES = words.LANGUAGES

_NO_BREAK, _NARROW = "\N{NO-BREAK SPACE}", "\N{NARROW NO-BREAK SPACE}"


def typeset(text: str, language: str) -> str:
    r"""Put the apostrophes and the spaces of print into a text."""
    text = text.replace("'", "\N{RIGHT SINGLE QUOTATION MARK}")
    if language != "fr":
        return text
    text = re.sub(r" ([:»])", _NO_BREAK + r"\1", text).replace("« ", "«" + _NO_BREAK)
    return re.sub(r" ([;!?])", _NARROW + r"\1", text)


#: Key → English, French, as in print. Braces are filled in.
WORDS: dict[str, tuple[str, str]] = {
    key: (typeset(english, "en"), typeset(french, "fr"))
    for key, (english, french) in {
        **words.WORDS,
        **words.read_words("ckm.service.answering.words", "messages.toml"),
    }.items()
}


def notice_of(service: Service, language: str) -> str:
    """Return what stands on every page and in every answer; empty where nothing has to."""
    return say(service.method, language) if service.access.accepts_reconstruction else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    r"""Words that stand within others, in the language of those.

    Parameters
    ----------
    key, filled
        As for `say`.
    """

    key: str
    filled: Mapping[str, object] = field(default_factory=dict)


def say(key: str, language: str, **filled: object) -> str:
    """Return words in a language."""
    said = {
        name: say(value.key, language, **value.filled) if isinstance(value, Phrase) else value
        for name, value in filled.items()
    }
    return WORDS[key][LANGUAGES.index(language)].format(**said)
