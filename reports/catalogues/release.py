"""The words of a release: checks, attacks, priors and references."""

from dataclasses import dataclass

from reports.catalogues.wording import Meaning, Sentence, WordLists


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckWords:
    """What a check is called, asks and finds.

    Parameters
    ----------
    name
        Its name on a page.
    public
        What it asks, without any number.
    rule, found
        What it asks and what it found, with the numbers of `allowed` and `found`.
    rule_of_nothing
        What it asks where all numbers of `allowed` are 0; empty where `rule` says it as well.
    found_otherwise
        What it found where a number of `found` does not exist.
    """

    name: str
    public: str
    rule: Sentence
    found: Sentence
    rule_of_nothing: str = ""
    found_otherwise: Sentence | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackWords:
    """What an attack is called, assumes and wins, and the names of its references."""

    name: str
    assumption: str
    target: str
    references: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A source: authors and year, where it appeared, the language of its title, its address."""

    short: str
    text: str
    language: str = "en"
    link: str = ""


_WORDS = WordLists("release")
CHECKS = _WORDS.entries("checks", CheckWords)
ATTACKS = _WORDS.entries("attacks", AttackWords)
ATTACK_SETTINGS = _WORDS.texts("attack_settings")
BASES, PARAMETERS = _WORDS.texts("bases"), _WORDS.texts("parameters")
DEMANDS = _WORDS.texts("demands")
PARAMETER_VALUES = _WORDS.texts("parameter_values")
KEY_FIGURES = _WORDS.entries("key_figures", Meaning)
PRIORS = _WORDS.texts("priors")
OWN_PRIORS = _WORDS.texts("own_priors")
PICTURES, NOTES = _WORDS.pictures(), _WORDS.sentences("notes")
REFERENCES = _WORDS.entries("references", Reference)
