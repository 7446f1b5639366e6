"""What an epsilon means, in plain words, English and French."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from reports.numbers import Numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    from dp import Meaning

__all__ = ["LANGUAGES", "explained"]

_ENGLISH = {
    "promise": "Epsilon {epsilon}: whatever is published, and whatever else somebody knows, "
    "the odds of any statement about one {unit} change by a factor of {odds} at most.",
    "delta": "With a chance of {delta} at most this may fail (delta).",
    "belief": "Who held a statement about one {unit} to be {prior} likely can hold it to be "
    "{most} likely at most afterwards, and {least} at least.",
    "rate": "Who tells members from others and is wrong about {wrong} of the others finds "
    "{right} of the members at most.",
    "advantage": "Right and wrong alarms lie {advantage} apart at most; 0 would be guessing, "
    "100 % knowing.",
    "premium": "An insurer who learns from the results can raise the premium of one {unit}, "
    "2,000 without its answer, to {premium} at most by reason of that answer.",
    "facts": "Facts about the population are not hidden: what holds of most people can be "
    "learnt without any one of them.",
    "repeat": "Each further release on the same data adds to epsilon.",
    "add-remove": "Compared are data with and without the {unit}.",
    "replace": "Compared are data with the {unit} and with another in its place; their number "
    "is public.",
    "zero-out": "Compared are data with the {unit} and with its values blank; their number is "
    "public.",
    "local": "Compared are any two values of one respondent.",
    "distance": "Compared are two places; epsilon counts per {unit} between them.",
}
_FRENCH = {
    "promise": "Epsilon {epsilon} : quoi qu'on publie, et quoi que l'on sache par ailleurs, la "
    "cote de toute affirmation sur une unité ({unit}) change au plus d'un facteur {odds}.",
    "delta": "Avec une probabilité d'au plus {delta}, cela peut ne pas tenir (delta).",
    "belief": "Qui tenait une affirmation sur une unité pour probable à {prior} peut ensuite "
    "la tenir pour probable à {most} au plus, et à {least} au moins.",
    "rate": "Qui distingue les membres des autres en se trompant sur {wrong} des autres "
    "retrouve au plus {right} des membres.",
    "advantage": "Les taux d'alertes justes et fausses diffèrent d'au plus {advantage} ; 0 "
    "serait deviner, 100 % savoir.",
    "premium": "Un assureur qui lit les résultats peut, du fait de la réponse d'une unité, "
    "porter sa prime de 2 000 à {premium} au plus.",
    "facts": "Les faits sur la population ne sont pas cachés : ce qui vaut pour la plupart "
    "s'apprend sans aucune personne en particulier.",
    "repeat": "Toute autre publication sur les mêmes données s'ajoute à epsilon.",
    "add-remove": "On compare les données avec et sans l'unité ({unit}).",
    "replace": "On compare les données avec l'unité ({unit}) et avec une autre à sa place ; "
    "leur nombre est public.",
    "zero-out": "On compare les données avec l'unité ({unit}) et avec ses valeurs effacées ; "
    "leur nombre est public.",
    "local": "On compare deux réponses quelconques d'un même répondant.",
    "distance": "On compare deux lieux ; epsilon se compte par {unit} entre eux.",
}
LANGUAGES = {"en": _ENGLISH, "fr": _FRENCH}
_PREMIUM = 2000
_FRENCH_UNITS = {
    "answer": "réponse",
    "enterprise": "entreprise",
    "household": "ménage",
    "kilometre": "kilomètre",
    "metre": "mètre",
    "person": "personne",
    "record": "enregistrement",
}
#: With these neighbours there are no members to be found.
_NO_MEMBERS = {"local", "distance"}


def explained(meaning: Meaning, *, adjacency: str, unit: str, language: str) -> list[str]:
    """Return what a guarantee means, a sentence a line.

    Parameters
    ----------
    meaning
        The facts.
    adjacency, unit
        The neighbours, and who is protected.
    language
        ``"en"`` or ``"fr"``.

    Examples
    --------
    >>> from dp import Guarantee
    >>> from dp import meaning as meaning_of
    >>> facts = meaning_of(Guarantee(epsilon=1, adjacency="replace"))
    >>> lines = explained(facts, adjacency="replace", unit="person", language="en")
    >>> lines[1]
    'Who held a statement about one person to be 1 % likely can hold it to be 2.67 % likely at \
most afterwards, and 0.37 % at least.'
    """
    words, numbers = LANGUAGES[language], Numbers(language)
    unit = _FRENCH_UNITS.get(unit, unit) if language == "fr" else unit

    def share(value: float) -> str:
        return f"{numbers.plain(round(100 * value, 2))} %"

    lines = [
        words["promise"].format(
            epsilon=numbers.plain(meaning.epsilon),
            unit=unit,
            odds=_finite(meaning.odds_factor, lambda odds: numbers.plain(round(odds, 2))),
        )
    ]
    if meaning.delta:
        lines.append(words["delta"].format(delta=numbers.tiny(meaning.delta)))
    lines += [
        words["belief"].format(prior=share(p), most=share(most), least=share(least), unit=unit)
        for p, least, most in meaning.beliefs
    ]
    rates = () if adjacency in _NO_MEMBERS else meaning.rates
    lines += [
        words["rate"].format(wrong=share(wrong), right=share(right)) for wrong, right in rates
    ]
    lines.append(words["advantage"].format(advantage=share(meaning.advantage)))
    lines.append(
        words["premium"].format(
            premium=_finite(_PREMIUM * meaning.odds_factor, numbers.count), unit=unit
        )
    )
    lines += [words["facts"], words["repeat"], words[adjacency].format(unit=unit)]
    return lines


def _finite(value: float, say: Callable[[float], str]) -> str:
    return say(value) if math.isfinite(value) else "\N{INFINITY}"
