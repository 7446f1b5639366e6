"""What a comparison of designs found, in sentences whose numbers come from it.

The rules behind the findings are in `risk.risk_map.findings`.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from reports.catalogues.wording import Sentence
from reports.i18n.languages import mark

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reports.catalogues.wording import Kind

__all__ = ["FINDINGS"]

_COUNTS = (
    "designs", "tables", "listed", "distinct", "record_sets", "original", "published",
    "published_more", "share_pct", "cost_pct",
)  # fmt: skip
_PROBABILITIES = ("risk", "other_risk", "probability", "other_probability", "least", "most")
_KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        **dict.fromkeys(_COUNTS, "count"),
        **dict.fromkeys(_PROBABILITIES, "probability"),
        **dict.fromkeys(("loss", "other_loss"), "amount"),
    }
)
_MESSAGES = {
    # the conclusion
    "conclusion-forbidding": mark(
        "By all rules below, the choice is “%(design)s”: noise from cell keys that never "
        "publishes a sensitive count. It loses %(loss)s, and no published count points to a "
        "sensitive original with a probability above %(risk)s."
    ),
    "conclusion-rounding": mark(
        "By all rules below, the choice is “%(design)s”: rounding, without chance. It loses "
        "%(loss)s, and no published count points to a sensitive original with a probability "
        "above %(risk)s."
    ),
    "conclusion-none": mark("None of the %(designs)s designs keeps all rules below."),
    # rule by rule
    "least-loss": mark(
        "Without any rule, “%(design)s” loses least of %(designs)s designs, %(loss)s; a "
        "published count points to a sensitive original with a probability of up to %(risk)s."
    ),
    "least-loss-posterior": mark(
        "First rule: no published count points to a sensitive original with a probability "
        "above %(limit)s. Designs that keep it: %(designs)s. “%(design)s” loses least: "
        "%(loss)s."
    ),
    "none-left-posterior": mark(
        "First rule: no published count points to a sensitive original with a probability "
        "above %(limit)s. None of the %(designs)s designs keeps it."
    ),
    "least-loss-certain": mark(
        "Second rule: beside the same cell with one record more, no larger share of the "
        "sensitive originals than %(limit)s is certain to be sensitive. Designs left: "
        "%(designs)s. “%(design)s” loses least: %(loss)s."
    ),
    "none-left-certain": mark(
        "Second rule: beside the same cell with one record more, no larger share of the "
        "sensitive originals than %(limit)s is certain to be sensitive. None of the "
        "%(designs)s designs keeps it."
    ),
    "least-loss-same-answer": mark(
        "Third rule: the same question has the same answer, without a list of all answers "
        "given. Designs left: %(designs)s. “%(design)s” loses least: %(loss)s."
    ),
    "none-left-same-answer": mark(
        "Third rule: the same question has the same answer, without a list of all answers "
        "given. None of the %(designs)s designs keeps it."
    ),
    "least-loss-threshold": mark(
        "Fourth rule: no sensitive count is published. Designs left: %(designs)s. "
        "“%(design)s” loses least: %(loss)s."
    ),
    "none-left-threshold": mark(
        "Fourth rule: no sensitive count is published. None of the %(designs)s designs keeps "
        "it."
    ),
    # what speaks for and against
    "rounding-certain": mark(
        "Rounding without chance can be undone: with “%(design)s” and the same cell with one "
        "record more, a share of %(probability)s of the sensitive originals is known exactly. "
        "An original of %(original)s is, when it is published as %(published)s and with one "
        "record more as %(published_more)s."
    ),
    "random-rounding-answers": mark(
        "Random rounding needs a memory: with “%(design)s”, drawn afresh at each request, "
        "%(share_pct)s %% of the cells would get another answer the second time, and the mean "
        "of many answers is the original."
    ),
    "random-rounding-certain": mark(
        "Random rounding shows what no single count does: with “%(design)s” and the same cell "
        "with one record more, a share of %(probability)s of the sensitive originals is "
        "certain to be sensitive, as when the one is published as %(published)s and the other "
        "as %(published_more)s."
    ),
    "random-rounding-keyed": mark(
        "Drawn from cell keys instead, “%(design)s” keeps all rules and loses less than "
        "“%(other)s”: %(loss)s instead of %(other_loss)s. It is then a cell key method with "
        "another p-table."
    ),
    "sensitive-published": mark(
        "Designs that publish sensitive counts: %(designs)s. Such a published count stands for "
        "a sensitive original with a probability from %(least)s (“%(least_design)s”) to "
        "%(most)s (“%(most_design)s”)."
    ),
    "price-of-forbidding": mark(
        "Never to publish a sensitive count costs %(cost_pct)s %% more loss at the same noise: "
        "“%(design)s” loses %(loss)s, “%(other)s” %(other_loss)s. The most that a published "
        "count tells goes from %(other_risk)s to %(risk)s."
    ),
    "one-record-more": mark(
        "No noise hides that a large count changed: one record more changes what is published "
        "with probability %(probability)s under “%(design)s”, and %(other_probability)s under "
        "“%(other)s”. What helps is a look at what was published before."
    ),
    # what it rests on
    "cells": mark(
        "The %(tables)s tables show %(listed)s cells that hold somebody. A cell that two "
        "tables show counts once: %(distinct)s are distinct."
    ),
    "record-sets": mark("These cells hold %(record_sets)s different sets of records."),
}

#: Name of a finding → its sentence.
FINDINGS: Mapping[str, Sentence] = MappingProxyType(
    {name: Sentence(message, _KINDS) for name, message in _MESSAGES.items()}
)
