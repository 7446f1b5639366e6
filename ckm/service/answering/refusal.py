"""A table that is not published: why, and what to try instead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ckm.service.answering.words.messages import say, typeset

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckm.service.answering.variables import Variable
    from ckm.service.rules.finding import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a table or an area is not published, in both languages.

    Parameters
    ----------
    reason
        The rule's name.
    dimension
        The variable it speaks of.
    detail
        Language → the reason in words.
    tries
        Language → what to try instead.
    """

    reason: str
    dimension: str | None
    detail: Mapping[str, str]
    tries: Mapping[str, tuple[str, ...]]

    def to_json(self, language: str) -> dict[str, Any]:
        """Return the refusal as JSON values.

        Parameters
        ----------
        language
            ``"en"`` or ``"fr"``.
        """
        return {
            "status": "blocked",
            "reason": self.reason,
            "dimension": self.dimension,
            "detail": self.detail[language],
            "try": list(self.tries[language]),
        }


def explained(finding: Finding, variables: Mapping[str, Variable]) -> Refusal:
    """Put a finding into words."""
    detail, tries = {}, {}
    for language in ("en", "fr"):
        labels = {name: v.offer.labels[language] for name, v in variables.items()}
        filled = {
            name: _listed(value, labels, language)
            if isinstance(value, tuple)
            else _shown(value, language)
            for name, value in finding.filled.items()
        }
        if finding.dimension is not None:
            filled["dimension"] = labels[finding.dimension]
        detail[language] = say(finding.rule, language, **filled)
        tries[language] = tuple(say(key, language, **filled) for key in finding.tries)
    return Refusal(reason=finding.rule, dimension=finding.dimension, detail=detail, tries=tries)


def _listed(names: Sequence[str], labels: Mapping[str, str], language: str) -> str:
    """Name variables as readers know them, in quotes."""
    quoted = "“{}”" if language == "en" else typeset("« {} »", language)
    return ", ".join(quoted.format(labels.get(name, name)) for name in names)


def _shown(value: object, language: str) -> object:
    if isinstance(value, int):
        return f"{value:,}" if language == "en" else f"{value:,}".replace(",", "\u202f")
    if isinstance(value, float):
        shown = f"{value:g}"
        return shown if language == "en" else shown.replace(".", ",")
    return value
