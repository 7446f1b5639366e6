"""Rival methods, the criteria of each, and details, in words."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from reports.catalogues.wording import Sentence
from reports.i18n.languages import mark

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CRITERIA", "DETAILS", "DRAWN", "METHODS", "CriterionWords"]

#: Name of a kind of method → what it is called.
METHODS: Mapping[str, str] = MappingProxyType(
    {
        "exact": mark("Exact counts, as the control"),
        "small-count-rounding-fresh": mark("Rounding of small counts, drawn afresh"),
        "small-count-rounding-cell": mark("Rounding of small counts, by cell keys"),
        "rounding": mark("Rounding, without chance"),
        "random-rounding-fresh": mark("Random rounding, drawn afresh"),
        "random-rounding-cell": mark("Random rounding, by cell keys"),
        "discrete-laplace-fresh": mark("Discrete Laplace noise, drawn afresh"),
        "discrete-laplace-cell": mark("Discrete Laplace noise, by cell keys"),
        "swapping": mark("Target record swapping"),
        "suppression-refused": mark("Suppression, tables not planned are refused"),
        "suppression-alone": mark("Suppression, every further table by itself"),
        "synthetic": mark("Synthetic records"),
        "cell-key": mark("Cell key method, the p-table of the job"),
        "cell-key-additive": mark("Cell key method, additivity restored"),
        "cell-key-ledger": mark("Cell key method behind the ledger"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CriterionWords:
    """A criterion in words.

    Parameters
    ----------
    heading
        Short, for a column.
    meaning
        A sentence or two.
    better
        Whether a larger share is better, a smaller one, or neither.
    """

    heading: str
    meaning: str
    better: str = "more"


#: Name of a criterion → its words, in the order of the page.
CRITERIA: Mapping[str, CriterionWords] = MappingProxyType(
    {
        "same_answer": CriterionWords(
            heading=mark("Same answer twice"),
            meaning=mark(
                "Every table was asked for again. The share of cells whose number stayed, a "
                "cell hidden both times among them. Answers that vary can be averaged."
            ),
        ),
        "same_by_another_route": CriterionWords(
            heading=mark("Same by another route"),
            meaning=mark(
                "The same cell as a margin of another table, or by a filter: the share of "
                "cells with the same number. Filters that were refused do not count."
            ),
        ),
        "parts_below_totals": CriterionWords(
            heading=mark("Parts within totals"),
            meaning=mark("The share of published parts that are no larger than their total."),
        ),
        "additive": CriterionWords(
            heading=mark("Adds up"),
            meaning=mark(
                "The share of wholly published lines whose parts add up to the total."
            ),
        ),
        "found_by_differencing": CriterionWords(
            heading=mark("Found by differencing"),
            meaning=mark(
                "A person's area was tabulated with and without her, as two zonings do whose "
                "difference is one person. The share of persons whose category this tells."
            ),
            better="less",
        ),
        "sure_but_wrong": CriterionWords(
            heading=mark("Wrongly named"),
            meaning=mark(
                "The share of these persons for whom the difference singles out another "
                "category: the intruder is sure and wrong. Neither good nor bad by itself."
            ),
            better="",
        ),
        "on_demand": CriterionWords(
            heading=mark("On demand"),
            meaning=mark(
                "Tables were asked for that nobody had planned. The share of their cells that "
                "were shown."
            ),
        ),
        "decentral": CriterionWords(
            heading=mark("Two offices alike"),
            meaning=mark(
                "Two offices made one table each, without knowing the other. The share of "
                "cells that both show alike."
            ),
        ),
        "cells_lost": CriterionWords(
            heading=mark("Cells lost"),
            meaning=mark(
                "The share of cells with records that the planned tables do not show."
            ),
            better="less",
        ),
    }
)

#: Name of a detail → its words.
DETAILS: Mapping[str, Sentence] = MappingProxyType(
    {
        "cells": Sentence(mark("Cells with records: %(number)s."), {"number": "count"}),
        "primary": Sentence(
            mark("Hidden because they are small: %(number)s."), {"number": "count"}
        ),
        "secondary": Sentence(
            mark("Hidden to protect these: %(number)s."), {"number": "count"}
        ),
        "exact": Sentence(
            mark("Hidden cells that the others give away exactly: %(number)s."),
            {"number": "count"},
        ),
        "under_protected": Sentence(
            mark("Small cells that are known more closely than the rule allows: %(number)s."),
            {"number": "count"},
        ),
        "narrowest": Sentence(
            mark(
                "The narrowest interval that a reader can compute of a hidden cell spans "
                "%(number)s counts."
            ),
            {"number": "plain"},
        ),
        "moved_households": Sentence(
            mark("Households that changed places: %(number)s."), {"number": "share"}
        ),
        "moved_records": Sentence(
            mark("Records that moved with them: %(number)s."), {"number": "share"}
        ),
        "at_risk": Sentence(mark("Households at risk: %(number)s."), {"number": "share"}),
        "not_moved": Sentence(
            mark("Households at risk that found nobody to change with: %(number)s."),
            {"number": "share"},
        ),
        "left_out": Sentence(
            mark("Synthetic records of other areas or categories, left out: %(number)s."),
            {"number": "share"},
        ),
        "size": Sentence(
            mark("Synthetic records for each record of the sample: %(number)s."),
            {"number": "plain"},
        ),
    }
)

#: How records were drawn → its words.
DRAWN: Mapping[str, Sentence] = MappingProxyType(
    {
        "all": Sentence(mark("Tried on all %(records)s records."), {"records": "count"}),
        "areas": Sentence(
            mark(
                "Tried on %(records)s of %(all)s records: all those of some areas, so that "
                "cells within areas are as small as they are; totals over areas are smaller "
                "than they are."
            ),
            {"records": "count", "all": "count"},
        ),
        "records": Sentence(
            mark(
                "Tried on %(records)s of %(all)s records, drawn one by one: all cells are "
                "smaller than they are."
            ),
            {"records": "count", "all": "count"},
        ),
    }
)
