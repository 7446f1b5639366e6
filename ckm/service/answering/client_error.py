"""What a caller got wrong, as words that a page and a program both can show."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any, ClassVar

from ckm.errors import CkmError
from ckm.service.answering.words.messages import Phrase, say

if TYPE_CHECKING:
    from collections.abc import Sequence

_LONGEST = 200
_STATUS = {
    "no_table": 404,
    "no_codelist": 404,
    "no_job": 404,
    "not_found": 404,
    "method_not_allowed": 405,
    "slow_request": 408,
    "too_large": 413,
    "bad_body": 422,
    "no_token": 401,
    "no_filters": 403,
    "wrong_token": 401,
    "stale_form": 403,
    "too_many_attempts": 429,
    "not_allowed": 403,
    "too_many_requests": 429,
    "busy": 503,
    "ledger_full": 503,
    "too_slow": 503,
    "internal": 500,
}


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

    def __init__(self, key: str, *, known: Sequence[str] = (), **filled: Any) -> None:
        self.key = key
        self.filled = {name: _short(value) for name, value in filled.items()}
        wanted = str(filled.get("name", ""))[:_LONGEST]
        close = difflib.get_close_matches(wanted, list(known)[:1000], n=1) if wanted else []
        self.suggestion = close[0] if close else None
        super().__init__(self.words("en"))

    @property
    def status(self) -> int:
        """The status code of HTTP."""
        return _STATUS.get(self.key, 400)

    def words(self, language: str) -> str:
        """Return what is wrong."""
        return say(self.key, language, **self.filled)


def _short(value: object) -> object:
    """Cut a text that a caller sent, and take out what steers terminals and pages."""
    if isinstance(value, Phrase):
        short = {name: _short(text) for name, text in value.filled.items()}
        return Phrase(key=value.key, filled=short)
    if not isinstance(value, str):
        return value
    text = "".join(sign if sign.isprintable() else "�" for sign in value[:_LONGEST])
    return text + ("…" if len(value) > _LONGEST else "")
