"""The words of decoded reports: corrections, parameters, and what looks wrong."""

from __future__ import annotations

from reports.catalogues.word_lists import WordLists

_WORDS = WordLists("decoding")
CORRECTIONS = _WORDS.texts("corrections")
PARAMETERS = _WORDS.texts("parameters")
SUSPICIONS = _WORDS.texts("suspicions")
