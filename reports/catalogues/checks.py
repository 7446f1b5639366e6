"""The checks of a release: their rules and results in words."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from reports.catalogues.wording import Sentence
from reports.i18n.languages import mark

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reports.catalogues.wording import Kind

__all__ = ["CHECKS", "CheckWords"]


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


_SIGNED: Mapping[str, Kind] = MappingProxyType({"least": "signed", "most": "signed"})
_COUNTS: Mapping[str, Kind] = MappingProxyType(
    dict.fromkeys(
        ("cells", "repeats", "differing", "over", "limited", "tried", "marks", "small"), "count"
    )
)
_FIGURES: Mapping[str, Kind] = MappingProxyType(
    {**_COUNTS, "mean": "amount", "ratio": "amount", "aad": "amount"}
)
_CHANCE: Mapping[str, Kind] = MappingProxyType({"probability": "probability"})
_TINY: Mapping[str, Kind] = MappingProxyType({"residual": "tiny"})

#: Name of a check → its words.
CHECKS: Mapping[str, CheckWords] = MappingProxyType(
    {
        "noise-bound": CheckWords(
            name=mark("Bounds of the noise"),
            public=mark("No count was changed by more than the method allows."),
            rule=Sentence(
                mark("All noise lies between %(least)s and %(most)s."),
                _SIGNED,
            ),
            found=Sentence(mark("It lies between %(least)s and %(most)s."), _SIGNED),
        ),
        "small-counts": CheckWords(
            name=mark("Small counts"),
            public=mark("No count is published that the method forbids."),
            rule=Sentence(mark("No published count lies in 1 to %(small)s."), _COUNTS),
            found=Sentence(mark("Cells with a forbidden count: %(cells)s."), _COUNTS),
            rule_of_nothing=mark("The method forbids no small count."),
        ),
        "zeros-kept": CheckWords(
            name=mark("Zeros"),
            public=mark("A cell without anybody is published as 0."),
            rule=Sentence(mark("Every original 0 is published as 0.")),
            found=Sentence(mark("Zeros published as something else: %(cells)s."), _COUNTS),
        ),
        "noise-mean": CheckWords(
            name=mark("Mean of the noise"),
            public=mark("Counts change on average as the method prescribes."),
            rule=Sentence(
                mark("The mean is at most %(z)s standard errors from the designed one.")
            ),
            found=Sentence(
                mark("Mean %(mean)s over %(cells)s cells: %(z)s standard errors."),
                MappingProxyType({**_FIGURES, "z": "amount"}),
            ),
        ),
        "noise-variance": CheckWords(
            name=mark("Variance of the noise"),
            public=mark("The changes are as large as designed, on average."),
            rule=Sentence(
                mark("The variance is at most %(z)s standard errors from the designed one.")
            ),
            found=Sentence(
                mark(
                    "Drawn over designed %(ratio)s over %(cells)s cells: %(z)s standard errors."
                ),
                MappingProxyType({**_FIGURES, "z": "amount"}),
            ),
        ),
        "noise-distribution": CheckWords(
            name=mark("Distribution of the noise"),
            public=mark("The changes follow the designed distribution."),
            rule=Sentence(
                mark(
                    "A bound on the p-value of the noise against its design is %(p)s or more. "
                    "It holds for any number of cells, and allows for the number of rows "
                    "tested."
                ),
                MappingProxyType({"p": "tiny"}),
            ),
            found=Sentence(
                mark(
                    "χ² = %(chi2)s with %(df)s degrees of freedom over %(cells)s cells, "
                    "p-value %(p)s; smallest p-value of %(rows)s rows of the p-table: "
                    "%(least)s, not adjusted for their number."
                ),
                MappingProxyType(
                    {
                        "chi2": "amount",
                        "df": "count",
                        "cells": "count",
                        "p": "probability",
                        "rows": "count",
                        "least": "probability",
                    }
                ),
            ),
            found_otherwise=Sentence(
                mark("A χ² test does not apply to %(cells)s cells; the bound alone decides."),
                _COUNTS,
            ),
        ),
        "same-records": CheckWords(
            name=mark("Same records, same count"),
            public=mark("Cells about the same people have the same published count."),
            rule=Sentence(mark("Cells with the same records have the same published count.")),
            found=Sentence(
                mark("Cells repeated: %(repeats)s; with a different count: %(differing)s."),
                _COUNTS,
            ),
        ),
        "keys": CheckWords(
            name=mark("Record keys"),
            public=mark("The random keys of the method are of good quality."),
            rule=Sentence(mark("Record keys are distinct and evenly spread.")),
            found=Sentence(mark("The tests of the keys were run before the release.")),
        ),
        "certificate": CheckWords(
            name=mark("Certificate of the p-table"),
            public=mark("The table of changes satisfies its specification."),
            rule=Sentence(
                mark("No constraint of the p-table is missed by more than %(residual)s."),
                _TINY,
            ),
            found=Sentence(mark("Largest residual: %(residual)s."), _TINY),
        ),
        "posterior": CheckWords(
            name=mark("Certainty about one count"),
            public=mark(
                "What a published count tells of a small true count stays within the limit of "
                "the office."
            ),
            rule=Sentence(
                mark("P(X = i | X′ = j) is at most %(probability)s for every sensitive i."),
                _CHANCE,
            ),
            found=Sentence(mark("Largest probability: %(probability)s."), _CHANCE),
        ),
        "posterior-set": CheckWords(
            name=mark("Certainty about the sensitive counts"),
            public=mark(
                "How surely a published count tells that a true count is small stays within "
                "the limit of the office."
            ),
            rule=Sentence(
                mark("P(X is sensitive | X′ = j) is at most %(probability)s for every j."),
                _CHANCE,
            ),
            found=Sentence(mark("Largest probability: %(probability)s."), _CHANCE),
        ),
        "attacks": CheckWords(
            name=mark("Attacks"),
            public=mark(
                "Attacks for which the office set a limit succeed no more often than it allows."
            ),
            rule=Sentence(mark("No attack succeeds more often than its limit allows.")),
            found=Sentence(
                mark("Attacks with a limit: %(limited)s of %(tried)s; above it: %(over)s."),
                _COUNTS,
            ),
            found_otherwise=Sentence(mark("Attacks above their limit: %(over)s."), _COUNTS),
        ),
        "utility": CheckWords(
            name=mark("Utility"),
            public=mark("Published counts stay as close to true ones as the office requires."),
            rule=Sentence(
                mark("The mean absolute deviation of a cell is at most %(aad)s."),
            ),
            found=Sentence(mark("Mean absolute deviation: %(aad)s."), _FIGURES),
        ),
        "public-scan": CheckWords(
            name=mark("Disclosure scan of the public report"),
            public=mark("This page holds nothing that must stay inside the office."),
            rule=Sentence(mark("The public report holds nothing that must stay inside.")),
            found=Sentence(mark("Places that the scan marked: %(marks)s."), _COUNTS),
        ),
    }
)
