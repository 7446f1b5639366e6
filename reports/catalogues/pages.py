"""The headings of pages, the terms that they define, and the words of decoded reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from footing.data_files import read_data
from reports.catalogues.wording import WordLists

if TYPE_CHECKING:
    from collections.abc import Collection

    from reports.i18n.languages import Words

_PAGES = read_data("reports.catalogues", "pages.toml")
TERMS: tuple[tuple[str, str], ...] = tuple((t["name"], t["meaning"]) for t in _PAGES["terms"])

_WORDS = WordLists("decoding")
CORRECTIONS = _WORDS.texts("corrections")
PARAMETERS = _WORDS.texts("parameters")
SUSPICIONS = _WORDS.texts("suspicions")
DECODED = _WORDS.sentences("sentences")


def headings(words: Words, page: str, *, without: Collection[str] = ()) -> dict[str, str]:
    """Name the parts of a page, in their order."""
    parts = _PAGES[page].items()
    return {part: words.say(heading) for part, heading in parts if part not in without}
