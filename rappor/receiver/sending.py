"""The bytes in which reports reach a receiver: each with a token, together with a digest."""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from footing.messages import Message
from rappor.client.client import identifiers
from rappor.encoded import Reports
from rappor.errors import RapporError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rappor.client.bloom import Clients
    from rappor.client.permanent import SecretKey
    from rappor.parameters import Parameters

TOKEN_BYTES = 16
_FORMAT = "rappor-sending"
_VERSION = 1
_LONGEST_HEADER = 4096
_DIGEST_BYTES = hashlib.sha256().digest_size

Reason = Literal[
    "format", "truncated", "length", "parameters", "metric", "period", "report", "full"
]


class RefusedError(RapporError):
    """A sending that is refused whole: nothing of it is counted.

    Parameters
    ----------
    problem
        Why, in a sentence.
    reason
        The same in a word that a program knows.

    Examples
    --------
    >>> RefusedError(Message("The period is another."), reason="period").reason
    'period'
    """

    code = "rappor-refused"

    def __init__(self, problem: str, *, reason: Reason) -> None:
        self.reason: Reason = reason
        super().__init__(problem)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sending:
    """Reports with their tokens.

    Parameters
    ----------
    tokens
        One a report.
    reports
        The reports.
    """

    tokens: Sequence[bytes]
    reports: Reports


def tokens_of(
    clients: Clients,
    *,
    secret: SecretKey,
    parameters: Parameters,
    metric: str,
    period: str,
) -> list[bytes]:
    """Give what tells a receiver that a client has answered in a period.

    Tokens of two periods, and of two questions, have nothing in common for whoever lacks the
    secret.

    Parameters
    ----------
    clients
        Their names, or one empty name where each has a secret of its own.
    secret
        That of the permanent responses.
    parameters, metric, period
        Of the collection.

    Examples
    --------
    >>> from tables import Secret
    >>> from rappor import Parameters
    >>> coin = Parameters.basic(2, f=0.5, p=0.25, q=0.75)
    >>> question = {"secret": Secret(bytes(16)), "parameters": coin, "metric": "m"}
    >>> one, two = tokens_of(["ann", "bob"], period="2027-03", **question)
    >>> len(one), one == two
    (16, False)
    """
    key = secret.derive(f"rappor token:{parameters.fingerprint}:{metric}:{period}")
    return [hmac.digest(key, name, "sha256")[:TOKEN_BYTES] for name in identifiers(clients)]


def pack_sending(
    reports: Reports, tokens: Sequence[bytes], *, metric: str, period: str
) -> bytes:
    """Write reports with their tokens, to be sent to a receiver.

    Parameters
    ----------
    reports
        The reports.
    tokens
        One a report, of `tokens_of`.
    metric, period
        Of the collection.

    Examples
    --------
    >>> from rappor import Parameters
    >>> coin = Parameters.basic(2, f=0.5, p=0.25, q=0.75)
    >>> reports = Reports.from_texts(["01"], [0], parameters=coin)
    >>> body = pack_sending(reports, [bytes(16)], metric="m", period="2027-03")
    >>> unpack_sending(body, parameters=coin, metric="m", period="2027-03").reports == reports
    True
    """
    if len(tokens) != len(reports) or any(len(token) != TOKEN_BYTES for token in tokens):
        raise RapporError(Message("Each report needs a token of 16 bytes."))
    header = {
        "format": _FORMAT,
        "version": _VERSION,
        "fingerprint": reports.parameters.fingerprint,
        "metric": metric,
        "period": period,
    }
    records = np.empty(len(reports), _record(reports.parameters))
    records["token"] = np.frombuffer(b"".join(tokens), "V16")
    records["cohort"], records["bits"] = reports.cohorts, reports.packed
    body = json.dumps(header).encode() + b"\n" + records.tobytes()
    return body + hashlib.sha256(body).digest()


def unpack_sending(body: bytes, *, parameters: Parameters, metric: str, period: str) -> Sending:
    """Read what a client or a relay sent.

    Parameters
    ----------
    body
        The bytes.
    parameters, metric, period
        Of the collection, now.

    Raises
    ------
    RefusedError
        If it is none, truncated, of another collection, or any report is not as it must be.

    Examples
    --------
    >>> from rappor import Parameters
    >>> coin = Parameters.basic(2, f=0.5, p=0.25, q=0.75)
    >>> unpack_sending(b"no", parameters=coin, metric="m", period="2027")
    Traceback (most recent call last):
        ...
    rappor.receiver.sending.RefusedError: The body is no sending of reports.
    """
    line, mark, _ = body[:_LONGEST_HEADER].partition(b"\n")
    try:
        header = json.loads(line)
        is_ours = header["format"] == _FORMAT and header["version"] == _VERSION
        own = tuple(header[name] for name in ("fingerprint", "metric", "period"))
    except (ValueError, KeyError, TypeError, RecursionError):
        is_ours, own = False, ("", "", "")
    if not (mark and is_ours):
        raise RefusedError(Message("The body is no sending of reports."), reason="format")
    reasons: tuple[Reason, ...] = ("parameters", "metric", "period")
    expected = (parameters.fingerprint, metric, period)
    for reason, mine, theirs in zip(reasons, expected, own, strict=True):
        if mine != theirs:
            raise RefusedError(_ANOTHER[reason], reason=reason)
    content, digest = body[:-_DIGEST_BYTES], body[-_DIGEST_BYTES:]
    start = len(line) + 1
    if len(content) < start or hashlib.sha256(content).digest() != digest:
        raise RefusedError(
            Message("The body was cut off or changed on its way."), reason="truncated"
        )
    form = _record(parameters)
    size = len(content) - start
    if not size or size % form.itemsize:
        raise RefusedError(
            Message("The body holds no whole number of reports."), reason="length"
        )
    records = np.frombuffer(content, form, offset=start)
    try:
        reports = Reports(
            cohorts=records["cohort"], packed=records["bits"], parameters=parameters
        )
    except RapporError:
        raise RefusedError(
            Message("A report is none of this collection: its cohort or its bits."),
            reason="report",
        ) from None
    return Sending(tokens=[token.tobytes() for token in records["token"]], reports=reports)


_ANOTHER = {
    "parameters": Message("The reports were made with other parameters."),
    "metric": Message("The reports answer another question."),
    "period": Message("The reports are of another period than the present one."),
}


def _record(parameters: Parameters) -> np.dtype[np.void]:
    width = -(-parameters.n_bits // 8)
    return np.dtype([("token", "V16"), ("cohort", "<u4"), ("bits", "u1", (width,))])
