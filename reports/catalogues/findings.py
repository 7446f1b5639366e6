"""What a comparison of designs found, in sentences whose numbers come from it."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from reports.catalogues.wording import Sentence
from reports.languages import mark

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reports.catalogues.wording import Kind

__all__ = ["FINDINGS"]

_KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        **dict.fromkeys(
            ("designs", "cells", "tables", "refused", "count", "threshold", "others"), "count"
        ),
        **dict.fromkeys(("probability", "least", "most", "other_probability"), "probability"),
        **dict.fromkeys(("loss", "other_loss", "ratio", "aad", "other_aad"), "amount"),
    }
)

#: Name of a finding → its sentence.
FINDINGS: Mapping[str, Sentence] = MappingProxyType(
    {
        "compared": Sentence(
            mark(
                "%(designs)s designs were compared on %(tables)s tables with %(cells)s cells."
            ),
            _KINDS,
        ),
        "refused": Sentence(
            mark("Designs of which no p-table exists: %(refused)s."),
            _KINDS,
        ),
        "most-risk": Sentence(
            mark(
                "“%(design)s” reveals most: somebody who sees one published count names a "
                "sensitive original count with probability %(probability)s."
            ),
            _KINDS,
        ),
        "least-risk": Sentence(
            mark(
                "“%(design)s” reveals least: the largest probability of naming a sensitive "
                "original count is %(probability)s."
            ),
            _KINDS,
        ),
        "most-loss": Sentence(
            mark("“%(design)s” costs most: its loss of utility is %(loss)s."),
            _KINDS,
        ),
        "least-loss": Sentence(
            mark("“%(design)s” costs least: its loss of utility is %(loss)s."),
            _KINDS,
        ),
        "certain": Sentence(
            mark(
                "With “%(design)s”, some published counts give the original away for certain."
            ),
            _KINDS,
        ),
        "hides-sensitive": Sentence(
            mark("“%(design)s” never publishes a sensitive count."),
            _KINDS,
        ),
        "dominated": Sentence(
            mark(
                "“%(design)s” is beaten on both sides by “%(other)s”: more is revealed and "
                "more is lost."
            ),
            _KINDS,
        ),
        "forbidding-pays": Sentence(
            mark(
                "Forbidding sensitive values lowers the largest probability from "
                "%(other_probability)s (“%(other)s”) to %(probability)s (“%(design)s”), and "
                "changes the loss from %(other_loss)s to %(loss)s."
            ),
            _KINDS,
        ),
        "chosen": Sentence(
            mark(
                "The release uses “%(design)s”: largest probability %(probability)s, loss "
                "%(loss)s."
            ),
            _KINDS,
        ),
        "recommended": Sentence(
            mark(
                "Of the designs whose largest probability is at most %(most)s, “%(design)s” "
                "loses least: probability %(probability)s, loss %(loss)s."
            ),
            _KINDS,
        ),
        "none-recommended": Sentence(
            mark("No design has a largest probability of at most %(most)s."),
            _KINDS,
        ),
    }
)
