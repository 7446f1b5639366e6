"""The words of the service, in English and in French.

They stand here with the signs of a keyboard; `typeset` puts in the apostrophes and the spaces
of print.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ckm.formats import words
from ckm.service.answering.words.error_messages import MISTAKES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckm.config.service.service import Service

__all__ = ["LANGUAGES", "WORDS", "Phrase", "say", "typeset"]

LANGUAGES = words.LANGUAGES

_NO_BREAK, _NARROW = "\N{NO-BREAK SPACE}", "\N{NARROW NO-BREAK SPACE}"


def typeset(text: str, language: str) -> str:
    r"""Put the apostrophes and the spaces of print into a text.

    Parameters
    ----------
    text
        The text, with straight apostrophes and plain spaces.
    language
        ``"en"`` or ``"fr"``.

    Examples
    --------
    >>> typeset("âge : « 15 » ; oui", "fr")
    'âge\xa0: «\xa015\xa0»\u202f; oui'
    """
    text = text.replace("'", "\N{RIGHT SINGLE QUOTATION MARK}")
    if language != "fr":
        return text
    text = re.sub(r" ([:»])", _NO_BREAK + r"\1", text).replace("« ", "«" + _NO_BREAK)
    return re.sub(r" ([;!?])", _NARROW + r"\1", text)


#: Key → English, French. Braces are filled in.
_PLAIN: dict[str, tuple[str, str]] = {
    **words.WORDS,
    "measure": ("Measure", "Mesure"),
    "all_levels": ("All levels", "Tous les niveaux"),
    "both": ("Both", "Les deux"),
    "not_shown": ("Not in the table", "Pas dans le tableau"),
    "with_total": ("With the total", "Avec l'ensemble"),
    "without_total": ("Without the total", "Sans l'ensemble"),
    "automatic": ("Automatic", "Automatique"),
    "role_public": ("the public", "le public"),
    "role_researcher": ("researcher", "chercheur ou chercheuse"),
    "role_officer": ("officer of the service", "responsable du service"),
    # --- refusals: what, and what to try instead ---
    "maximum_cells": (
        "The answer would have {found} cells; at most {limit} are given.",
        "La réponse compterait {found} cases ; {limit} au plus sont données.",
    ),
    "maximum_cells_try": (
        "choose fewer categories, or fewer variables",
        "choisissez moins de modalités ou moins de variables",
    ),
    "maximum_levels": (
        "The levels asked for have {found} combinations; that is too much at once.",
        "Les niveaux demandés ont {found} combinaisons ; c'est trop à la fois.",
    ),
    "maximum_levels_try": (
        "choose categories of one level of each variable",
        "choisissez des modalités d'un seul niveau de chaque variable",
    ),
    "maximum_categories": (
        "“{dimension}” has {found} categories; a table has at most {limit} of one variable.",
        "« {dimension} » a {found} modalités ; un tableau en a au plus {limit} par variable.",
    ),
    "maximum_categories_try": ("choose a coarser level", "choisissez un niveau moins fin"),
    "maximum_variables": (
        "The table and its filter have {found} variables; at most {limit} are allowed.",
        "Le tableau et son filtre ont {found} variables ; {limit} au plus sont admises.",
    ),
    "maximum_variables_try": ("leave a variable out", "retirez une variable"),
    "maximum_variables_small_areas": (
        "For small areas a table has at most {limit} variables, not {found}.",
        "Pour de petites zones, un tableau a au plus {limit} variables, et non {found}.",
    ),
    "maximum_variables_small_areas_try": (
        "choose a larger kind of area, or leave a variable out",
        "choisissez des zones plus grandes ou retirez une variable",
    ),
    "exclusive": (
        "A table has at most one of the variables {group}.",
        "Un tableau a au plus une des variables {group}.",
    ),
    "exclusive_try": ("keep one of them", "gardez-en une"),
    "mandatory": (
        "Every table needs the variable “{dimension}”.",
        "Tout tableau doit comporter la variable « {dimension} ».",
    ),
    "mandatory_try": ("add it", "ajoutez-la"),
    "minimum_population": (
        "Fewer than {limit} persons are counted.",
        "Moins de {limit} personnes sont comptées.",
    ),
    "minimum_population_try": (
        "choose a larger kind of area, or a wider filter",
        "choisissez des zones plus grandes ou un filtre plus large",
    ),
    "empty": ("No person is counted.", "Aucune personne n'est comptée."),
    "empty_try": ("choose a wider filter", "choisissez un filtre plus large"),
    "sparsity_a": (
        "Too many cells hold one person.",
        "Trop de cases comptent une personne.",
    ),
    "sparsity_b": (
        "Too many cells hold one or two persons.",
        "Trop de cases comptent une ou deux personnes.",
    ),
    "permille_zeros": ("Too many cells are empty.", "Trop de cases sont vides."),
    "permille_ones": (
        "Too many cells hold one person.",
        "Trop de cases comptent une personne.",
    ),
    "permille_dominant": (
        "Nearly all persons are in one category of “{dimension}”.",
        "Presque toutes les personnes ont la même modalité de « {dimension} ».",
    ),
    "mean_cell_size": (
        "The cells hold fewer than {limit} persons on average.",
        "Les cases comptent moins de {limit} personnes en moyenne.",
    ),
    "group_disclosure": (
        "In some group, all or nearly all persons are in one category of “{dimension}”.",
        (
            "Dans un groupe, (presque) toutes les personnes ont la même modalité de"
            " « {dimension} »."
        ),
    ),
    "too_fine_try": (
        "use fewer categories or a coarser level of “{dimension}”",
        "prenez moins de modalités ou un niveau moins fin de « {dimension} »",
    ),
    "thin_difference": (
        "This table differs too little from one that was published.",
        "Ce tableau diffère trop peu d'un tableau déjà publié.",
    ),
    "thin_difference_try": (
        "use the categories and areas of the published tables",
        "utilisez les modalités et les zones des tableaux publiés",
    ),
    "reconstruction": (
        (
            "Small noise was added to these counts, and it does not protect them: whoever may"
            " filter here can reconstruct the true counts from some hundred filtered tables."
            " The office that runs this service accepts that. The same cell is the same number"
            " in every table; parts need not add up to their total."
        ),
        (
            "Un léger bruit a été ajouté à ces effectifs, et il ne les protège pas : quiconque"
            " peut filtrer ici peut reconstituer les vrais effectifs à partir de quelques"
            " centaines de tableaux filtrés. L'organisme responsable de ce service l'accepte."
            " Une même case a la même valeur dans tous les tableaux ; la somme des parties peut"
            " différer du total."
        ),
    ),
    **MISTAKES,
}

#: The same, as in print.
WORDS: dict[str, tuple[str, str]] = {
    key: (typeset(english, "en"), typeset(french, "fr"))
    for key, (english, french) in _PLAIN.items()
}


def notice_of(service: Service, language: str) -> str:
    """Return what stands on every page and in every answer; empty where nothing has to.

    Parameters
    ----------
    service
        The service.
    language
        ``"en"`` or ``"fr"``.
    """
    return say(service.method, language) if service.access.accepts_reconstruction else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    r"""Words that stand within others, in the language of those.

    Parameters
    ----------
    key, filled
        As for `say`.

    Examples
    --------
    >>> say("bad_filter", "fr", detail=Phrase(key="filter_empty"))
    'Le filtre est erroné\xa0: il est vide.'
    """

    key: str
    filled: Mapping[str, object] = field(default_factory=dict)


def say(key: str, language: str, **filled: object) -> str:
    """Return words in a language.

    Parameters
    ----------
    key
        One of `WORDS`.
    language
        ``"en"`` or ``"fr"``.
    filled
        What stands in the braces.

    Examples
    --------
    >>> say("maximum_variables_try", "fr")
    'retirez une variable'
    """
    said = {
        name: say(value.key, language, **value.filled) if isinstance(value, Phrase) else value
        for name, value in filled.items()
    }
    return WORDS[key][LANGUAGES.index(language)].format(**said)
