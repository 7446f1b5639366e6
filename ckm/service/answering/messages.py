"""What callers are told, in English and in French: words, mistakes of theirs, refusals.

The words stand in ``messages.toml`` with the signs of a keyboard; `typeset` puts in the
apostrophes and the spaces of print.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from ckm.errors import CkmError
from ckm.formats import words
from ckm.formats.about import noise_said
from footing.data_files import read_data

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckm.config.service.service import Service
    from ckm.service.answering.variables import Variable
    from ckm.service.rules.shape import Finding
    from ptable.lookup import MarginOfError

LANGUAGES = words.LANGUAGES

_NO_BREAK, _NARROW = "\N{NO-BREAK SPACE}", "\N{NARROW NO-BREAK SPACE}"

_LONGEST = 200
_OWN = read_data("ckm.service.answering", "messages.toml")


def typeset(text: str, language: str) -> str:
    r"""Put the apostrophes and the spaces of print into a text."""
    text = text.replace("'", "\N{RIGHT SINGLE QUOTATION MARK}")
    if language != "fr":
        return text
    text = re.sub(r" ([:»])", _NO_BREAK + r"\1", text).replace("« ", "«" + _NO_BREAK)
    return re.sub(r" ([;!?])", _NARROW + r"\1", text)


#: Key → English, French, as in print. Braces are filled in.
WORDS: dict[str, tuple[str, str]] = {
    key: (typeset(english, "en"), typeset(french, "fr"))
    for key, (english, french) in (words.WORDS | words.in_both(_OWN)).items()
}


def notice_of(service: Service, language: str) -> str:
    """Return what stands on every page and in every answer; empty where nothing has to."""
    return say(service.method, language) if service.access.accepts_reconstruction else ""


def noise_notes(margin: MarginOfError | None, language: str) -> tuple[str, ...]:
    """Say how far counts may lie from the true ones, where that is told."""
    return () if margin is None else (say("noise", language, **noise_said(margin)),)


def audit_notice(service: Service, language: str) -> str:
    """Return what of a service was audited, in words; empty where nothing was.

    That an open service was not audited is for its operator: `Service.cautions` says so.
    """
    if service.audit.report is None:
        return ""
    keys = ["audited" if service.audit.areas is None else "audited_areas"]
    keys += ["unaudited_filters"] if service.access.has_accounts else []
    return " ".join(say(key, language) for key in keys)


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    r"""Words that stand within others, in the language of those.

    Parameters
    ----------
    key, filled
        As for `say`.
    """

    key: str
    filled: Mapping[str, object] = field(default_factory=dict)


def say(key: str, language: str, **filled: object) -> str:
    """Return words in a language."""
    values = {
        name: say(value.key, language, **value.filled) if isinstance(value, Phrase) else value
        for name, value in filled.items()
    }
    return WORDS[key][LANGUAGES.index(language)].format(**values)


class ClientError(CkmError):
    """A request that cannot be answered as it stands.

    Parameters
    ----------
    key
        One of the words of the service.
    known
        Names that exist, for a hint.
    filled
        What stands in the braces of the words.
    """

    code: ClassVar[str] = "ckm-request"

    def __init__(self, key: str, *, choices: Sequence[str] = (), **filled: Any) -> None:
        self.key = key
        self.filled = {name: _short(value) for name, value in filled.items()}
        word = str(filled.get("name", ""))[:_LONGEST]
        close = difflib.get_close_matches(word, list(choices)[:1000], n=1) if word else []
        self.suggestion = close[0] if close else None
        super().__init__(self.words("en"))

    @property
    def status(self) -> int:
        """The status code of HTTP."""
        return int(_OWN.get(self.key, {}).get("status", 400))

    def words(self, language: str) -> str:
        """Return what is wrong."""
        return say(self.key, language, **self.filled)


def bad_request(key: str, **filled: object) -> ClientError:
    """Return the mistake of a request that is none, and why."""
    return ClientError("bad_request", detail=Phrase(key=key, filled=filled))


def _short(value: object) -> object:
    """Cut a text that a caller sent, and take out what steers terminals and pages."""
    if isinstance(value, Phrase):
        short = {name: _short(text) for name, text in value.filled.items()}
        return Phrase(key=value.key, filled=short)
    if not isinstance(value, str):
        return value
    text = "".join(sign if sign.isprintable() else "�" for sign in value[:_LONGEST])
    return text + ("…" if len(value) > _LONGEST else "")


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
        text = f"{value:g}"
        return text if language == "en" else text.replace(".", ",")
    return value
