"""What the certificate beside synthetic records promises, in one line."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

from footing.messages import Message
from footing.serialisation import plain_fields
from reports.facts.synthesis import GuaranteeFact
from synth.certificate import Certificate
from synth.claims import words_of
from synth.errors import CertificateError

Status = Literal["private", "unprotected", "simulated", "wrong", "other data", "absent"]
_SIMULATED = "simulated"
_ADJACENCIES = ("add-remove", "replace")


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee:
    """What is promised for a set of synthetic records.

    Parameters
    ----------
    status
        ``"private"``: a certificate that is right belongs to the records. ``"unprotected"``:
        its method is not differentially private as claimed. ``"simulated"``: its noise had a
        seed. ``"wrong"``: something in it is not right. ``"other data"``: it is of another
        file. ``"absent"``: there is none.
    certificate
        The name of the file.
    method
        How the records were made.
    epsilon, delta
        The guarantee; None where there is none.
    adjacency
        Which tables are neighbours.
    unit, most_records
        Who is protected, and how many records one has at most.
    claimed, spent
        What the publication of an unprotected method claims, and what it really spends; None
        where nothing is claimed, and where nothing bounds it.
    words
        What a method is that spends more than it claims, or what is wrong.

    Examples
    --------
    >>> Guarantee(status="private", epsilon=1.0, delta=1e-6, adjacency="replace").text
    "epsilon 1 at delta 1e-06, replace, per 'record' with 1 record at most"
    """

    status: Status
    certificate: str = ""
    method: str = ""
    epsilon: float | None = None
    delta: float | None = None
    adjacency: str = ""
    unit: str = "record"
    most_records: int = 1
    claimed: float | None = None
    spent: float | None = None
    words: str = ""

    @property
    def text(self) -> str:
        """The guarantee as a line; no epsilon in it is one that the records do not have.

        What came from the file is foreign: signs that steer a terminal are written as escapes.
        """
        line = self._line()
        return "".join(
            c if c.isprintable() else c.encode("unicode_escape").decode() for c in line
        )

    def fact(self) -> GuaranteeFact:
        """Return it as a page says it.

        Examples
        --------
        >>> Guarantee(status="absent").fact().name
        'absent'
        """
        from reports.facts.synthesis import GuaranteeFact

        terms = {"epsilon": self.epsilon, "delta": self.delta, "claimed": self.claimed}
        numbers = {**terms, "spent": self.spent, "most": self.most_records}
        values = {name: number for name, number in numbers.items() if number is not None}
        name: str = self.status
        if self.status == "private":
            name = self.adjacency
        elif self.status == "unprotected" and self.claimed is not None:
            name = "unbounded" if self.spent is None else "overspent"
        return GuaranteeFact(name=name, values={**values, "unit": self.unit})

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values.

        Examples
        --------
        >>> Guarantee.from_dict(Guarantee(status="absent").to_dict()).status
        'absent'
        """
        return plain_fields(self)

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Guarantee:
        """Read what `to_dict` gave.

        Parameters
        ----------
        record
            Plain values.

        Raises
        ------
        CertificateError
            If it is something else.

        Examples
        --------
        >>> Guarantee.from_dict({"status": "certain"})
        Traceback (most recent call last):
        ...
        synth.CertificateError: This is no guarantee.
        """
        kinds = {one.name: str(one.type) for one in fields(cls)}
        try:
            fits = record["status"] in get_args(Status) and all(
                _fits(value, kinds[name]) for name, value in record.items()
            )
            guarantee = cls(**record) if fits else None
        except (KeyError, TypeError, AttributeError):
            guarantee = None
        if guarantee is None or (
            guarantee.status == "private" and guarantee.adjacency not in _ADJACENCIES
        ):
            raise CertificateError(Message("This is no guarantee."))
        return guarantee

    def _line(self) -> str:
        if self.status == "absent":
            return "no certificate: nothing is known of its privacy"
        if self.status == "other data":
            return f"the certificate {self.certificate!r} is of other data: it promises nothing"
        if self.status == "unprotected":
            return self.words
        if self.status == "wrong":
            return f"the certificate is not right: {self.words}"
        if self.status == "simulated":
            return "the noise was simulated: NOT PRIVATE"
        records = f"{self.most_records} record{'s' * (self.most_records != 1)} at most"
        return (
            f"epsilon {self.epsilon:.4g} at delta {self.delta:g}, {self.adjacency}, per "
            f"{self.unit!r} with {records}"
        )


def beside(data: str | os.PathLike[str]) -> Path:
    """Return where the certificate of synthetic records lies, or will."""
    file = Path(data)
    place = file.with_name(f"{file.name}.certificate.json")
    earlier = file.with_name(f"{file.stem}.certificate.json")
    return earlier if earlier.is_file() and not place.is_file() else place


def guarantee_beside(data: str | os.PathLike[str]) -> Guarantee:
    """Read the certificate beside synthetic records and say what it promises for them.

    Parameters
    ----------
    data
        The file of records.

    Examples
    --------
    >>> guarantee_beside("made.parquet").status
    'absent'
    """
    paper = beside(data)
    if not paper.is_file():
        return Guarantee(status="absent")
    try:
        return guarantee_of(Certificate.read(paper), data=data, name=paper.name)
    except CertificateError as error:
        return Guarantee(status="wrong", certificate=paper.name, words=error.problem)


def guarantee_of(
    certificate: Certificate, *, data: str | os.PathLike[str] | None = None, name: str = ""
) -> Guarantee:
    """Say what a certificate promises."""
    facts = certificate.facts
    common: dict[str, Any] = {"certificate": name, "method": str(facts.get("method"))}
    if certificate.is_unprotected:
        # Said before all else: whatever else is wrong, nobody may take it for private.
        account = facts.get("account")
        account = account if isinstance(account, dict) else {}
        return Guarantee(
            status="unprotected",
            words=_unprotected(facts),
            claimed=_number(account.get("claimed")),
            spent=_number(account.get("epsilon")),
            **common,
        )
    if data is not None and not certificate.is_of(data):
        return Guarantee(status="other data", **common)
    wrong = certificate.verify()
    if problems := [one for one in wrong if _SIMULATED not in one]:
        return Guarantee(status="wrong", words=problems[0], **common)
    if wrong:
        return Guarantee(status="simulated", **common)
    total, unit = facts["total"], facts["unit"]
    return Guarantee(
        status="private",
        epsilon=float(total["epsilon"]),
        delta=float(total["delta"]),
        adjacency=str(facts["adjacency"]),
        unit=str(unit["name"]),
        most_records=int(unit["most_records"]),
        **common,
    )


def _number(value: object) -> float | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) else None  # type: ignore[arg-type]


def _fits(value: object, kind: str) -> bool:
    if "float" in kind:
        return value is None or _number(value) is not None
    return isinstance(value, int if kind == "int" else str)


def _unprotected(facts: dict[str, Any]) -> str:
    try:
        return words_of(facts["account"])
    except (AttributeError, KeyError, TypeError, ValueError):
        return f"{facts.get('method')}: NOT differentially private as claimed"
