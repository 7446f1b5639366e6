"""What is promised of synthetic records, in words."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from reports.catalogues.wording import Sentence
from reports.errors import ReportError
from reports.i18n.languages import mark

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reports.facts.guarantees import GuaranteeFact
    from reports.i18n.languages import Words

__all__ = ["GUARANTEES", "say_guarantee"]

#: Name of what is promised → its words. No epsilon stands in one that the records do not have.
GUARANTEES: Mapping[str, Sentence] = MappingProxyType(
    {
        "add-remove": Sentence(
            # claim synth-zcdp
            mark(
                "Differentially private by its certificate: epsilon %(epsilon)s at delta "
                "%(delta)s. Neighbours have one unit more or less; a unit is a “%(unit)s” with "
                "at most %(most)s records."
            ),
            {"most": "count"},
        ),
        "replace": Sentence(
            # claim synth-zcdp
            mark(
                "Differentially private by its certificate: epsilon %(epsilon)s at delta "
                "%(delta)s. One unit of neighbours is replaced; a unit is a “%(unit)s” with at "
                "most %(most)s records."
            ),
            {"most": "count"},
        ),
        "unbounded": Sentence(
            mark(
                "NOT differentially private as claimed: epsilon %(claimed)s was claimed, and "
                "nothing bounds what the method spends."
            )
        ),
        "overspent": Sentence(
            mark(
                "NOT differentially private as claimed: epsilon %(claimed)s was claimed, and "
                "%(spent)s was spent."
            )
        ),
        "unprotected": Sentence(mark("NOT differentially private: nothing is promised.")),
        "simulated": Sentence(mark("NOT private: the noise came from a seed.")),
        "wrong": Sentence(
            mark("Nothing is promised: the certificate beside the file is not right.")
        ),
        "other data": Sentence(
            mark("Nothing is promised: the certificate beside the file is of other data.")
        ),
        "absent": Sentence(mark("Nothing is known: there is no certificate beside the file.")),
    }
)


def say_guarantee(words: Words, fact: GuaranteeFact) -> str:
    """Say what is promised.

    Parameters
    ----------
    words
        The language.
    fact
        What it is.

    Examples
    --------
    >>> from reports.facts.guarantees import GuaranteeFact
    >>> from reports.i18n.languages import words_of
    >>> say_guarantee(words_of("en"), GuaranteeFact(name="simulated"))
    'NOT private: the noise came from a seed.'
    """
    if fact.name not in GUARANTEES:
        raise ReportError(f"There are no words for the guarantee {fact.name!r}.")
    return GUARANTEES[fact.name].say(words, fact.values, of=f"the guarantee {fact.name!r}")
