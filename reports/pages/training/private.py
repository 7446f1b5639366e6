"""What pages of private training share: samplers, neighbours and accounts in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports.catalogues.training import ACCOUNTS, ADJACENCIES, SAMPLINGS, UNITS

if TYPE_CHECKING:
    from reports.i18n.languages import Words


def sampler(words: Words, name: str) -> str:
    """Say how batches are drawn.

    Parameters
    ----------
    words
        The language.
    name
        A name of the catalogue.

    Examples
    --------
    >>> from reports.i18n.languages import words_of
    >>> sampler(words_of("en"), "poisson")
    'Poisson batches'
    """
    return words.say(SAMPLINGS[name])


def neighbours(words: Words, name: str) -> str:
    """Say what the neighbours are.

    Parameters
    ----------
    words
        The language.
    name
        A name of the catalogue.

    Examples
    --------
    >>> from reports.i18n.languages import words_of
    >>> neighbours(words_of("en"), "replace")
    'one unit replaced'
    """
    return words.say(ADJACENCIES[name])


def scheme(words: Words, sampling: str, adjacency: str) -> str:
    """Say both, as they have to stand beside every epsilon.

    Parameters
    ----------
    words
        The language.
    sampling, adjacency
        Names of the catalogue; the first may be empty.

    Examples
    --------
    >>> from reports.i18n.languages import words_of
    >>> scheme(words_of("en"), "poisson", "zero-out")
    'Poisson batches, one unit blanked'
    """
    if not sampling:
        return neighbours(words, adjacency)
    return words.say(
        "%(batches)s, %(neighbours)s",
        batches=sampler(words, sampling),
        neighbours=neighbours(words, adjacency),
    )


def account(words: Words, name: str) -> str:
    """Say how an epsilon was counted; a name of others stays as it is.

    Parameters
    ----------
    words
        The language.
    name
        A name of the catalogue, or any text.

    Examples
    --------
    >>> from reports.i18n.languages import words_of
    >>> account(words_of("en"), "renyi"), account(words_of("en"), "mine 1.0")
    ('Rényi orders, tight conversion', 'mine 1.0')
    """
    method, comma, rest = name.partition(", ")
    known = words.say(ACCOUNTS[method]) if method in ACCOUNTS else method
    return f"{known}{comma}{rest}"


def unit_of(words: Words, name: str) -> str:
    """Say who is protected; a unit of the office stays as it is.

    Parameters
    ----------
    words
        The language.
    name
        The unit.

    Examples
    --------
    >>> from reports.i18n.languages import words_of
    >>> unit_of(words_of("fr"), "person"), unit_of(words_of("fr"), "dossier")
    ('personne', 'dossier')
    """
    return words.say(UNITS[name]) if name in UNITS else name


def delta(words: Words, value: float) -> str:
    """Write a delta; powers of ten without a factor.

    Parameters
    ----------
    words
        The language.
    value
        The delta.

    Examples
    --------
    >>> from reports.i18n.languages import words_of
    >>> delta(words_of("en"), 1e-5), delta(words_of("fr"), 2.5e-6)
    ('10⁻⁵', '2,5 × 10⁻⁶')
    """
    text = words.numbers.tiny(value)
    start = words.numbers.tiny(1e-5).partition(" × ")[0]
    return text.removeprefix(f"{start} × ")


def epsilon(words: Words, value: float | None) -> str:
    """Write an epsilon; None is infinite.

    Parameters
    ----------
    words
        The language.
    value
        The epsilon.

    Examples
    --------
    >>> from reports.i18n.languages import words_of
    >>> epsilon(words_of("en"), 1.5), epsilon(words_of("en"), None)
    ('1.500', '∞')
    """
    return "\N{INFINITY}" if value is None else words.numbers.amount(value)
