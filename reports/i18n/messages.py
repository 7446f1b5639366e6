"""What commands and the engine say, in another language.

A `Message` is said by its template and its values. A text that is none (a word, or what the
operating system says) is looked up as it stands; what is not there stays English.
"""

import gettext
import re
from functools import cache

from footing.messages import Message
from reports.i18n.languages import LOCALE

#: Where templates and texts are looked up.
DOMAINS = ("commands-help", "messages-ckm", "messages-core", "messages-dp")
#: A hole of a template: its name, and how its value is written.
HOLE = re.compile(r"\{(\w+)(?:![rs])?(?::[^{}]*)?\}")
_IN_FRENCH = str.maketrans({",": "\xa0", ".": ",", "%": "\xa0%"})


class _Catalogue(gettext.GNUTranslations):
    """The messages of a file, all of them."""

    def texts(self) -> dict[str, str]:
        texts: dict[str, str] = self._catalog  # type: ignore[attr-defined]
        return {message: text for message, text in texts.items() if message}


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


def translated(message: str, language: str) -> str:
    """Translate a message of a command or of the engine; what is not known stays English."""
    if language == "en":
        return message
    texts = _texts(language)
    if isinstance(message, Message):
        return message.in_words(
            texts.get, number=_with_signs, text=lambda text: texts.get(text, text)
        )
    return texts.get(message, message)


def _with_signs(number: str) -> str:
    """Write a number with French signs."""
    return number.translate(_IN_FRENCH)
