"""The words of the page on which designs of noise are tried."""

from reports.catalogues.wording import WordLists

_WORDS = WordLists("explorer")
TEXTS, PRIORS = _WORDS.texts("texts"), _WORDS.texts("priors")
