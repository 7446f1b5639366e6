"""The words of decoded reports: corrections, parameters, and what looks wrong."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from reports.i18n.languages import mark

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CORRECTIONS", "PARAMETERS", "SUSPICIONS"]

#: Name of a correction → its words.
CORRECTIONS: Mapping[str, str] = MappingProxyType(
    {
        "benjamini-hochberg": mark(
            "Benjamini–Hochberg: of the candidates found, a share of %(alpha)s at most is "
            "expected to be false."
        ),
        "benjamini-yekutieli": mark(
            "Benjamini–Yekutieli: of the candidates found, a share of %(alpha)s at most is "
            "expected to be false, whatever the dependence of the tests."
        ),
        "bonferroni": mark(
            "Bonferroni: the chance that any candidate is found that nobody reported is "
            "%(alpha)s at most."
        ),
        "holm": mark(
            "Holm: the chance that any candidate is found that nobody reported is %(alpha)s at "
            "most."
        ),
        "none": mark(
            "No correction: each candidate that nobody reported is found with a chance of "
            "%(alpha)s."
        ),
    }
)
#: Name of a parameter → its words.
PARAMETERS: Mapping[str, str] = MappingProxyType(
    {
        "k": mark("bits of a report"),
        "h": mark("bits a value sets"),
        "m": mark("cohorts"),
        "f": mark("noise of the permanent response"),
        "p": mark("chance of a 1 where the permanent response is 0"),
        "q": mark("chance of a 1 where the permanent response is 1"),
        "hash": mark("hash function"),
    }
)
#: Name of a suspicion → its words.
SUSPICIONS: Mapping[str, str] = MappingProxyType(
    {
        "too-few-ones": mark(
            "Bits that are 1 less often than noise alone makes them: %(found)s. The clients "
            "have other parameters, or their source of chance is broken."
        ),
        "too-many-ones": mark(
            "Bits that are 1 more often than any values make them: %(found)s. The clients have "
            "other parameters, or their source of chance is broken."
        ),
        "silent-cohorts": mark(
            "Cohorts without a report: %(found)s. They were left out; clients may draw their "
            "cohorts wrongly."
        ),
        "unbalanced-cohorts": mark(
            "The cohorts differ in size by more than chance. Clients choose them unevenly, or "
            "some send several reports: then the intervals are too narrow."
        ),
        "light-reports": mark(
            "Reports have fewer ones than any values give them. Some were made with other "
            "parameters."
        ),
        "heavy-reports": mark(
            "Reports have more ones than any values give them. Some were made with other "
            "parameters."
        ),
    }
)
