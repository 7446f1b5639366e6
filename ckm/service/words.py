"""The words of the service, in English and in French."""

from __future__ import annotations

from ckm.formats import words

__all__ = ["LANGUAGES", "WORDS", "say"]

LANGUAGES = words.LANGUAGES

#: Key → English, French. Braces are filled in.
WORDS: dict[str, tuple[str, str]] = {
    **words.WORDS,
    "measure": ("Measure", "Mesure"),
    "all_levels": ("All levels", "Tous les niveaux"),
    "both": ("Both", "Les deux"),
    "not_shown": ("Not in the table", "Pas dans le tableau"),
    "with_total": ("With the total", "Avec l'ensemble"),
    "without_total": ("Without the total", "Sans l'ensemble"),
    "automatic": ("Automatic", "Automatique"),
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
        "{dimension} has {found} categories; a table has at most {limit} of one variable.",
        "{dimension} a {found} modalités ; un tableau en a au plus {limit} par variable.",
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
        "Every table needs the variable {dimension}.",
        "Tout tableau doit comporter la variable {dimension}.",
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
        "Nearly all persons are in one category of {dimension}.",
        "Presque toutes les personnes ont la même modalité de {dimension}.",
    ),
    "mean_cell_size": (
        "The cells hold fewer than {limit} persons on average.",
        "Les cases comptent moins de {limit} personnes en moyenne.",
    ),
    "group_disclosure": (
        "In some group, all or nearly all persons are in one category of {dimension}.",
        "Dans un groupe, (presque) toutes les personnes ont la même modalité de {dimension}.",
    ),
    "too_fine_try": (
        "use fewer categories or a coarser level of {dimension}",
        "prenez moins de modalités ou un niveau moins fin de {dimension}",
    ),
    "larger_area_try": ("a larger kind of area", "des zones plus grandes"),
    "thin_difference": (
        "This table differs too little from one that was published.",
        "Ce tableau diffère trop peu d'un tableau déjà publié.",
    ),
    "thin_difference_try": (
        "use the categories and areas of the published tables",
        "utilisez les modalités et les zones des tableaux publiés",
    ),
    # --- problems of HTTP ---
    "not_found": ("There is nothing at this address.", "Il n'y a rien à cette adresse."),
    "no_table": ("There is no table {name!r}.", "Il n'y a pas de tableau {name!r}."),
    "no_codelist": (
        "There is no code list {name!r}.",
        "Il n'y a pas de nomenclature {name!r}.",
    ),
    "no_job": ("There is no such job.", "Il n'y a pas de telle demande."),
    "no_variable": (
        "The table has no variable {name!r}.",
        "Le tableau n'a pas de variable {name!r}.",
    ),
    "no_category": (
        "{variable!r} has no category {name!r}.",
        "{variable!r} n'a pas de modalité {name!r}.",
    ),
    "bad_expression": (
        "The selection {name!r} of {variable!r} cannot be read.",
        "La sélection {name!r} de {variable!r} est illisible.",
    ),
    "too_many_patterns": (
        "More than {limit} patterns select from {variable!r}; give codes, or fewer patterns.",
        "Plus de {limit} motifs choisissent dans {variable!r} ; donnez des codes, ou moins.",
    ),
    "nothing_selected": (
        "Nothing of {variable!r} is selected.",
        "Rien n'est sélectionné pour {variable!r}.",
    ),
    "repeated": ("{name!r} is given twice.", "{name!r} est donné deux fois."),
    "bad_codelist": (
        "{name!r} is no code list of {variable!r}.",
        "{name!r} n'est pas une nomenclature de {variable!r}.",
    ),
    "bad_format": (
        "The format {name!r} is unknown; known are {listed}.",
        "Le format {name!r} est inconnu ; sont connus {listed}.",
    ),
    "bad_parameter": (
        "The parameter {name!r} is unknown or wrong.",
        "Le paramètre {name!r} est inconnu ou erroné.",
    ),
    "bad_body": (
        "The body of the request cannot be read: {detail}",
        "Le corps de la requête est illisible : {detail}",
    ),
    "bad_request": ("The request is wrong: {detail}", "La requête est erronée : {detail}"),
    "bad_filter": ("The filter is wrong: {detail}", "Le filtre est erroné : {detail}"),
    "no_weight": (
        "There are no weighted counts here.",
        "Il n'y a pas d'effectifs pondérés ici.",
    ),
    "method_not_allowed": (
        "This method is not allowed here.",
        "Cette méthode n'est pas admise ici.",
    ),
    "slow_request": (
        "The request took too long to arrive.",
        "La requête a mis trop de temps à arriver.",
    ),
    "too_large": (
        "The request has more than {limit} bytes.",
        "La requête dépasse {limit} octets.",
    ),
    "no_token": (
        "A valid token is needed: Authorization: Bearer …",
        "Un jeton valide est nécessaire : Authorization: Bearer …",
    ),
    "not_allowed": ("Your role does not allow this.", "Votre rôle ne le permet pas."),
    "too_many_requests": (
        "You have used up your {limit} requests; wait {wait} seconds.",
        "Vous avez épuisé vos {limit} demandes ; attendez {wait} secondes.",
    ),
    "busy": (
        "The service is busy; try again soon.",
        "Le service est occupé ; réessayez bientôt.",
    ),
    "too_slow": (
        "The table took too long to find.",
        "Le tableau a pris trop de temps.",
    ),
    "stopping": (
        "The service was stopped before the table was found.",
        "Le service a été arrêté avant que le tableau ne soit prêt.",
    ),
    "gone": (
        "The connection was closed before the answer.",
        "La connexion a été fermée avant la réponse.",
    ),
    "too_many_bytes": (
        "The table has more than {limit} bytes.",
        "Le tableau dépasse {limit} octets.",
    ),
    "too_slow_try": (
        "ask for fewer variables, or for a larger kind of area",
        "demandez moins de variables ou des zones plus grandes",
    ),
    "internal": (
        "The service made a mistake; it has been noted.",
        "Le service a commis une erreur ; elle a été notée.",
    ),
}


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
    return WORDS[key][LANGUAGES.index(language)].format(**filled)
