"""The words of the frontier of designs by limits."""

from reports.catalogues.wording import WordLists

_WORDS = WordLists("frontier")
SENTENCES, PICTURES = _WORDS.sentences("sentences"), _WORDS.pictures()
ATTACKS, ATTACK_NAMES = _WORDS.sentences("attacks"), _WORDS.texts("attack-names")
LOSSES, AGAINST = _WORDS.texts("losses"), _WORDS.texts("against")
PRIORS, LIMITS = _WORDS.texts("priors"), _WORDS.texts("limits")
DOCUMENTED = _WORDS.texts("documented")
