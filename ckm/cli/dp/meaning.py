"""What an epsilon means, in plain words, English and French."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from reports.i18n.numbers import Numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    from dp import Meaning, Shift

__all__ = ["LANGUAGES", "explained"]

# claim dp-meaning
_ENGLISH = {
    "promise": "Epsilon {epsilon}: any set of results is at most {odds} times as likely with "
    "one of the data compared below as with the other.",
    "promise-delta": "Epsilon {epsilon}, delta {delta}: the chance of any set of results "
    "with one of the data compared below is at most {odds} times that with the other, plus "
    "{delta}.",
    "and": "; ",
    "but": ", but for a chance of {chance}",
    "who": "By the reckoning of somebody who knows all other data, or whose belief about them "
    "does not depend on this one:",
    "member-add-remove": "the odds that one {unit} is in the data",
    "member-replace": "the odds that it is one {unit} and not another that is in the data",
    "member-zero-out": "the odds that the values of one {unit} were used",
    "about": "the odds of any statement about one {unit}",
    "about-distance": "the odds of one of two places one {unit} apart against the other",
    "place": "place",
    "shift": "- {what} change by a factor of {factor} at most{but}. A belief of {beliefs}.",
    "belief": "{prior} becomes {most} at most and {least} at least",
    "twice": "A value that is changed is taken out and another put in: that counts twice.",
    "rate": "Who tells members from others and is wrong about {wrong} of the others finds "
    "{right} of the members at most.",
    "advantage": "The rates of right and of wrong alarms lie {advantage} apart at most; 0 "
    "would be guessing, 100 % knowing.",
    "premium": "An insurer who sets premiums by the results asks {premium} at most of one "
    "{unit}, on average over the noise, where it would ask 2,000 with the other of the data "
    "compared.",
    "facts": "Facts about the population are not hidden: what holds of most people can be "
    "learnt without any one of them, and what follows about one {unit} from the others as "
    "well.",
    "repeat": "Each further release on the same data adds to epsilon.",
    "add-remove": "Compared are data with and without the {unit}.",
    "replace": "Compared are data with the {unit} and with another in its place; their "
    "number is public.",
    "zero-out": "Compared are data with the {unit} and with its values blank; their number "
    "is public.",
    "local": "Compared are any two values of one respondent.",
    "distance": "Compared are two places one {unit} apart; at several times that distance "
    "epsilon counts as many times.",
}
# claim dp-meaning
_FRENCH = {
    "promise": "Epsilon {epsilon} : tout ensemble de résultats est au plus {odds} fois plus "
    "probable avec l'un des jeux de données comparés ci-dessous qu'avec l'autre.",
    "promise-delta": "Epsilon {epsilon}, delta {delta} : la probabilité de tout ensemble de "
    "résultats avec l'un des jeux de données comparés ci-dessous vaut au plus {odds} fois "
    "celle avec l'autre, plus {delta}.",
    "and": " ; ",
    "but": ", sauf avec une probabilité d'au plus {chance}",
    "who": "Selon le calcul de qui connaît toutes les autres données, ou dont l'opinion sur "
    "elles ne dépend pas de celles-ci :",
    "member-add-remove": "la cote de la présence d'une unité ({unit}) dans les données",
    "member-replace": "la cote de la présence d'une unité ({unit}) plutôt que d'une autre",
    "member-zero-out": "la cote de l'utilisation des valeurs d'une unité ({unit})",
    "about": "la cote de toute affirmation sur une unité ({unit})",
    "about-distance": "la cote de l'un de deux lieux à une distance de 1 {unit} contre l'autre",
    "place": "lieu",
    "shift": "- {what} change au plus d'un facteur {factor}{but}. Une croyance de {beliefs}.",
    "belief": "{prior} devient {most} au plus et {least} au moins",
    "twice": "Changer une valeur, c'est la retirer et en mettre une autre : cela compte "
    "double.",
    "rate": "Qui distingue les membres des autres en se trompant sur {wrong} des autres "
    "retrouve au plus {right} des membres.",
    "advantage": "Les taux d'alertes justes et fausses diffèrent d'au plus {advantage} ; 0 "
    "serait deviner, 100 % savoir.",
    "premium": "Un assureur qui fixe ses primes d'après les résultats demande à une unité, "
    "en moyenne sur le bruit, {premium} au plus là où il demanderait 2 000 avec l'autre des "
    "jeux de données comparés.",
    "facts": "Les faits sur la population ne sont pas cachés : ce qui vaut pour la plupart "
    "s'apprend sans aucune personne en particulier, de même que ce qui découle des autres "
    "sur une unité.",
    "repeat": "Toute autre publication sur les mêmes données s'ajoute à epsilon.",
    "add-remove": "On compare les données avec et sans l'unité ({unit}).",
    "replace": "On compare les données avec l'unité ({unit}) et avec une autre à sa place ; "
    "leur nombre est public.",
    "zero-out": "On compare les données avec l'unité ({unit}) et avec ses valeurs effacées ; "
    "leur nombre est public.",
    "local": "On compare deux réponses quelconques d'un même répondant.",
    "distance": "On compare deux lieux distants de 1 {unit} ; à une distance plusieurs fois "
    "plus grande, epsilon compte autant de fois.",
}
LANGUAGES = {"en": _ENGLISH, "fr": _FRENCH}
_PREMIUM = 2000
_LARGEST = 700.0
_FRENCH_UNITS = {
    "answer": "réponse",
    "enterprise": "entreprise",
    "household": "ménage",
    "kilometre": "kilomètre",
    "metre": "mètre",
    "person": "personne",
    "record": "enregistrement",
}
#: Neighbours between which a value that changes counts twice.
_TWICE = {"add-remove", "zero-out"}


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

    Notes
    -----
    Each sentence is a theorem; docs/dp.md has the proofs.

    Examples
    --------
    >>> from dp import Guarantee
    >>> from dp import meaning as meaning_of
    >>> facts = meaning_of(Guarantee(epsilon=1, adjacency="add-remove"))
    >>> lines = explained(facts, adjacency="add-remove", unit="person", language="en")
    >>> lines[3][:74]
    '- the odds of any statement about one person change by a factor of 7.39 at'
    """
    words, numbers = LANGUAGES[language], Numbers(language)
    unit = _FRENCH_UNITS.get(unit, unit) if language == "fr" else unit

    def share(value: float) -> str:
        return f"{numbers.plain(round(100 * value, 2))} %"

    def factor(value: float) -> str:
        return _finite(value, lambda finite: numbers.plain(round(finite, 2)))

    def shifted(shift: Shift, what: str) -> str:
        chance = numbers.tiny(shift.chance)
        return words["shift"].format(
            what=words[what].format(unit=unit),
            factor=factor(shift.factor),
            but=words["but"].format(chance=chance) if shift.chance else "",
            beliefs=words["and"].join(
                words["belief"].format(prior=share(p), most=share(most), least=share(least))
                for p, least, most in shift.beliefs
            ),
        )

    lift = math.exp(meaning.epsilon) if meaning.epsilon <= _LARGEST else math.inf
    lines = [
        words["promise-delta" if meaning.delta else "promise"].format(
            epsilon=numbers.plain(meaning.epsilon),
            delta=numbers.tiny(meaning.delta),
            odds=factor(lift),
        ),
        words["who"],
    ]
    if meaning.membership:
        lines.append(shifted(meaning.membership, f"member-{adjacency}"))
    is_place = adjacency == "distance"
    lines.append(shifted(meaning.value, "about-distance" if is_place else "about"))
    if adjacency in _TWICE:
        lines.append(words["twice"])
    if meaning.membership:
        lines += [
            words["rate"].format(wrong=share(wrong), right=share(right))
            for wrong, right in meaning.rates
        ]
    lines.append(words["advantage"].format(advantage=share(meaning.advantage)))
    if not meaning.delta:
        premium = _finite(_PREMIUM * lift, numbers.count)
        who = words["place"] if is_place else unit
        lines.append(words["premium"].format(premium=premium, unit=who))
    if not is_place:
        lines.append(words["facts"].format(unit=unit))
    lines += [words[name].format(unit=unit) for name in ("repeat", adjacency)]
    return lines


def _finite(value: float, say: Callable[[float], str]) -> str:
    return say(value) if math.isfinite(value) else "\N{INFINITY}"
