"""The words of an evaluation of synthetic records, and of what is promised of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from footing.messages import Message, Name
from reports.catalogues.wording import WordLists
from reports.errors import ReportError

if TYPE_CHECKING:
    from reports.catalogues.wording import Kind
    from reports.facts.synthesis import GuaranteeFact
    from reports.i18n.languages import Words

#: Where the good values of a figure are: low, high, at one half, or near that of the holdout.
Good: TypeAlias = Literal["low", "high", "half", "holdout"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureWords:
    """The name of a figure, what it is, its group, where it is good and how it is written."""

    name: str
    meaning: str
    group: str
    good: Good
    kind: Kind = "ratio"


_WORDS = WordLists("synthesis")
GOOD = _WORDS.texts("directions")
GROUPS = _WORDS.texts("groups")
CONTROLS = _WORDS.texts("controls")
REASONS = _WORDS.texts("reasons")
FIGURES = _WORDS.entries("figures", FigureWords)
#: Figures in the order in which they are drawn and concluded from.
TELLING = (
    "tvd2", "class_auc", "number_rmse", "ks_mean", "spearman_change_pairs", "detection_auc",
    "mia_mean", "domias", "cramer_change", "tvd1", "tvd3",
)  # fmt: skip
#: In the name of each way whose claim does not hold.
UNPROTECTED = "NOT DP as claimed"
CONCLUSIONS = _WORDS.sentences("conclusions")
GUARANTEES = _WORDS.sentences("guarantees")


def say_guarantee(words: Words, fact: GuaranteeFact) -> str:
    """Say what is promised."""
    if fact.name not in GUARANTEES:
        raise ReportError(
            Message("There are no words for the guarantee {name!r}.", name=Name(fact.name))
        )
    return GUARANTEES[fact.name].say(
        words, fact.values, of=Message("the guarantee {name!r}", name=Name(fact.name))
    )
