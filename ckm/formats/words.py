"""The words that files say of every table, in English and in French.

Batch jobs and services say the same, so that the same table is the same file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LANGUAGES", "MISSING", "WORDS", "category_labels", "say"]

LANGUAGES = ("en", "fr")
MISSING = "(missing)"  # the code of missing categories, where a job names no other

#: Key → English, French.
WORDS: dict[str, tuple[str, str]] = {
    "total": ("Total", "Ensemble"),
    MISSING: ("(missing)", "(non renseigné)"),
    "count": ("Count", "Effectif"),
    "weighted": ("Weighted count", "Effectif pondéré"),
    "sum": ("{}, sum", "{}, somme"),
    "mean": ("{}, mean", "{}, moyenne"),
    "weighted_sum": ("{}, weighted sum", "{}, somme pondérée"),
    "weighted_mean": ("{}, weighted mean", "{}, moyenne pondérée"),
    "no_mean": ("No mean", "Pas de moyenne"),
    "amounts": (
        (
            "Sums carry noise in proportion to their largest contribution; where the published"
            " count is 0 the sum is 0. Means are published sums divided by published counts;"
            " there is none where the published count is 0."
        ),
        (
            "Les sommes portent un bruit proportionnel à leur plus grande contribution"
            "\N{NARROW NO-BREAK SPACE}; là où l'effectif publié est 0, la somme est 0. Les"
            " moyennes sont les sommes publiées divisées par les effectifs publiés"
            "\N{NARROW NO-BREAK SPACE}; il n'y en a pas là où l'effectif publié est 0."
        ),
    ),
    "suppression": (
        (
            "Some numbers are suppressed to protect what they tell of a few. All others are the"
            " original ones."
        ),
        (
            "Certaines valeurs sont supprimées pour protéger ce qu'elles disent de"
            " quelques-uns. Toutes les autres sont les valeurs d'origine."
        ),
    ),
    "additive": (
        (
            "Small noise protects these counts, and they were then changed again until the"
            " table adds up. The same cell may have another number in another table."
        ),
        (
            "Un léger bruit protège ces effectifs, qui ont ensuite été ajustés pour que le"
            " tableau soit additif. Une même case peut avoir une autre valeur dans un autre"
            " tableau."
        ),
    ),
    "additive_page": (
        (
            "The counts of each table were changed a second time, until its parts add up to"
            " its totals. What this page says of the protection and of the checks holds before"
            " that step: after it, the same people may have another count in another table."
        ),
        (
            "Les effectifs de chaque tableau ont été modifiés une seconde fois, jusqu'à ce que"
            " la somme des parties soit égale aux totaux. Ce que cette page dit de la"
            " protection et des contrôles vaut avant cette étape\N{NARROW NO-BREAK SPACE};"
            " ensuite, les mêmes personnes peuvent avoir un autre effectif dans un autre"
            " tableau."
        ),
    ),
    "withheld": ("Not published", "Non publié"),
    "suppressed": ("Suppressed", "Secret statistique"),
    "method": (
        (
            "Small noise protects these counts. The same cell is the same number in every"
            " table; parts need not add up to their total."
        ),
        (
            "Un léger bruit protège ces effectifs. Une même case a la même valeur dans tous"
            " les tableaux\N{NARROW NO-BREAK SPACE}; la somme des parties peut différer du"
            " total."
        ),
    ),
}


def say(key: str, language: str) -> str:
    """Return words in a language.

    Parameters
    ----------
    key
        One of `WORDS`.
    language
        ``"en"`` or ``"fr"``.

    Examples
    --------
    >>> say("count", "fr")
    'Effectif'
    """
    return WORDS[key][LANGUAGES.index(language)]


def category_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """Return the labels of a column's categories; none where they only repeat the codes.

    Parameters
    ----------
    labels
        Category → label, for every category of the column.

    Examples
    --------
    >>> category_labels({"Total": "Total", "F": "F"})
    {}
    >>> category_labels({"Total": "Total", "F": "Women"})
    {'Total': 'Total', 'F': 'Women'}
    """
    said = any(label != category for category, label in labels.items())
    return dict(labels) if said else {}
