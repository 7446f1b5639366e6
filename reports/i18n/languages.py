"""The words of a page in a language: messages of gettext, and how numbers are written."""

import gettext
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from footing.messages import Argument, Message, Name
from reports.errors import ReportError
from reports.i18n.numbers import Numbers

#: Code of a language → its own name. English is the language of the source.
LANGUAGES = {"en": "English", "fr": "Français"}
#: Where messages are looked up, in this order.
DOMAINS = ("reports", "figures")
LOCALE = Path(__file__).parents[1] / "locale"


@dataclass(frozen=True, slots=True)
class Words:
    """Say a message in a language.

    Parameters
    ----------
    language
        Its code.
    translations
        Its messages.
    """

    language: str
    translations: gettext.NullTranslations

    @property
    def numbers(self) -> Numbers:
        """How numbers are written."""
        return Numbers(self.language)

    def say(self, message: str, /, **values: str) -> str:
        """Translate a message, and put values in their places."""
        text = self.translations.gettext(message) if message else ""
        return text % values if values else text

    def text(self, text: str | Mapping[str, str]) -> str:
        """Give a text of the office, which is one for all languages or has each by its code."""
        return text if isinstance(text, str) else text.get(self.language, text["en"])

    def say_many(self, one: str, many: str, number: int, /, **values: str) -> str:
        """Translate a message about a number of things, which is `n` in it."""
        text = self.translations.ngettext(one, many, number)
        return text % {"n": self.numbers.count(number), **values}

    def listed(self, items: Iterable[str]) -> str:
        """Put items in a line."""
        return self.say("; ").join(items)


@cache
def words_of(language: str) -> Words:
    """Give the words of a language."""
    if language not in LANGUAGES:
        raise ReportError(
            Message("There is no language {language!r}.", language=Argument(language)),
            hint=Message("take one of {codes!r}", codes=Name.each(LANGUAGES)),
        )
    translations: gettext.NullTranslations = gettext.NullTranslations()
    for domain in reversed(DOMAINS):
        file = LOCALE / language / "LC_MESSAGES" / f"{domain}.mo"
        if not file.is_file():
            continue
        with file.open("rb") as stream:
            messages = gettext.GNUTranslations(stream)
        messages.add_fallback(translations)
        translations = messages
    return Words(language, translations)
