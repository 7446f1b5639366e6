"""The words of a comparison: rival methods, their criteria, and what was found."""

from dataclasses import dataclass

from reports.catalogues.wording import WordLists


@dataclass(frozen=True, slots=True, kw_only=True)
class CriterionWords:
    """A criterion in words.

    Parameters
    ----------
    heading
        Short, for a column.
    meaning
        A sentence or two.
    better
        Whether a larger share is better, a smaller one, or neither.
    """

    heading: str
    meaning: str
    better: str = "more"


_WORDS = WordLists("comparison")
_SLIDES = _WORDS.texts("slides")
METHODS = _WORDS.texts("methods")
CRITERIA = _WORDS.entries("criteria", CriterionWords)
DETAILS = _WORDS.sentences("details")
DRAWN = _WORDS.sentences("drawn")
TRIALS, PICTURES = _WORDS.sentences("trials"), _WORDS.pictures()
FINDINGS, RECOMMENDED = _WORDS.sentences("findings"), _WORDS.sentences("recommended")
STANDING = _WORDS.sentences("standing")
ADVICE, DISAGREED = _WORDS.sentences("advice"), _WORDS.sentences("disagreed")
#: Kind of method → criterion → "yes" or "no", with a star where there are conditions.
SLIDES = {
    kind: dict(zip(_SLIDES["criteria"].split(), marks.split(), strict=True))
    for kind, marks in _SLIDES.items()
    if kind != "criteria"
}
