"""The words of private training: samplers, neighbours, accounts, choices, attacks, doubts."""

from dataclasses import dataclass
from typing import NamedTuple

from reports.catalogues.wording import Kind, Meaning, WordLists


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceWords:
    """A choice: its name, what follows from it, how it is written, whether by powers of ten."""

    name: str
    meaning: str = ""
    kind: Kind = "plain"
    is_log: bool = True


class Erratum(NamedTuple):
    """Where a source errs, what it prints, and what is right."""

    place: str
    printed: str
    right: str


_WORDS = WordLists("training")
SAMPLINGS = _WORDS.texts("samplings")
WAYS = _WORDS.texts("ways")
ADJACENCIES = _WORDS.texts("adjacencies")
NEIGHBOURS = _WORDS.texts("neighbours")
ACCOUNTS = _WORDS.texts("accounts")
WORTHS = _WORDS.texts("worths")
CHOICES = _WORDS.entries("choices", ChoiceWords)
TUNING = _WORDS.entries("tuning", Meaning)
ATTACKS = _WORDS.entries("attacks", Meaning)
INVERSIONS = _WORDS.entries("inversions", Meaning)
DOUBTS = _WORDS.texts("doubts")
UNITS = _WORDS.texts("units")
CARD_TEXTS = _WORDS.texts("card_texts")
STUDY, SWEEP, AUDITS, CARD = map(_WORDS.sentences, ("study", "sweep", "audits", "card"))
DP_TABLES, DP_ITEMS = _WORDS.sentences("dp_tables"), _WORDS.texts("dp_items")
DP_ERRORS = _WORDS.texts("dp_errors")
PICTURES = _WORDS.pictures()
ERRATA = _WORDS.entries("errata", Erratum)
