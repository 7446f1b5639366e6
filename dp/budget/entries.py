"""What a ledger holds: its settings, and entries that are chained by digests.

Amounts are decimal numbers as people write them, so that three times 0.1 fits into 0.3.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields, replace
from decimal import Context, Decimal, Inexact, InvalidOperation
from typing import Any

from dp.adjacency import Adjacency, common
from dp.checking import checked_delta, checked_epsilon, checked_positive
from dp.errors import BudgetSpentError, DPError, LedgerFileError
from dp.guarantee import Guarantee
from footing.messages import Message, Name
from footing.serialisation import canonical

_LONGEST = 500
_RUN = re.compile(r"\(run (?P<run>\w+)(?: \w+ (?P<state>\w+))?\)$")
#: Sums of floats written as decimals have fewer digits than this, so none is ever rounded.
ARITHMETIC = Context(prec=1200, traps=[Inexact, InvalidOperation])


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One charge.

    Parameters
    ----------
    number
        From 1, without gaps.
    at
        When it was charged, in UTC.
    who, what
        Who released, and what.
    epsilon, delta, rho
        What the release costs.
    spent
        The sums up to and with this entry: epsilon and delta, or rho and 0.
    digest
        Of this entry and the one before.

    Examples
    --------
    >>> Entry.from_row((1, "2027-01-01", "Ada", "ages", "1", "0", "inf", "1", "0", "")).who
    'Ada'
    """

    number: int
    at: str
    who: str
    what: str
    epsilon: str
    delta: str
    rho: str
    spent: tuple[str, str]
    digest: str

    @classmethod
    def from_row(cls, row: Sequence[Any]) -> Entry:
        """Return the entry of a row of the table."""
        *head, first, second, digest = row
        values = (*head, (first, second), digest)
        return cls(**{f.name: value for f, value in zip(fields(cls), values, strict=True)})

    @property
    def row(self) -> tuple[Any, ...]:
        """The row of the table."""
        *fields, amounts, digest = astuple(self)
        return (*fields, *amounts, digest)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """A run that is paid for once, and the state in which one copy of it goes on.

    Parameters
    ----------
    run
        A name that no other run has.
    state
        From now on; a word that nobody had before.
    held
        The states that the file of the run holds: it goes on when the last one is among them.
    does
        What becomes of the run: ``"resumed"`` or ``"finished"``.

    Examples
    --------
    >>> RunState(run="a1", state="f3").charged(
    ...     (), Guarantee(rho=1, adjacency="replace"), "model"
    ... )[1]
    'model (run a1 begun f3)'
    """

    run: str
    state: str
    held: Sequence[str] = ()
    does: str = "resumed"

    def charged(
        self, entries: Sequence[Entry], guarantee: Guarantee, what: str
    ) -> tuple[Guarantee, str]:
        """Return what is to be charged, which is nothing for a run that is paid, and for what.

        Parameters
        ----------
        entries
            Of the ledger.
        guarantee, what
            What the whole run costs, and what it is.
        """
        price = tuple(amount(getattr(guarantee, name)) for name in ("epsilon", "delta", "rho"))
        matches = [(one, _RUN.search(one.what)) for one in entries]
        own = [(one, match) for one, match in matches if match and match["run"] == self.run]
        if not any((one.epsilon, one.delta, one.rho) == price for one, _ in own):
            return guarantee, f"{what} (run {self.run} begun {self.state})"
        last, match = own[-1]
        if (match["state"] or "") not in self.held:
            raise BudgetSpentError(
                Message(
                    "Another copy of this run went on: entry {number} of the ledger.",
                    number=last.number,
                ),
                hint=Message("go on with that copy, or begin anew, which is paid for anew"),
            )
        nothing = replace(guarantee, epsilon=0.0, delta=0.0, rho=math.inf)
        return nothing, f"{what} (run {self.run} {self.does} {self.state})"


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetSettings:
    """What may be spent, and against which neighbours.

    Parameters
    ----------
    names
        What is counted: epsilon and delta, or rho alone.
    amounts
        As much of each.
    adjacency, unit
        The neighbours, and who is protected.
    about
        Which data the budget is for.

    Examples
    --------
    >>> BudgetSettings.of(epsilon=1, adjacency="replace").names
    ('epsilon', 'delta')
    """

    names: tuple[str, ...]
    amounts: tuple[str, ...]
    adjacency: Adjacency
    unit: str
    about: str

    @classmethod
    def of(
        cls,
        *,
        adjacency: Adjacency,
        epsilon: float | None = None,
        delta: float = 0.0,
        rho: float | None = None,
        unit: str = "record",
        about: str = "",
    ) -> BudgetSettings:
        """Return checked settings.

        Parameters
        ----------
        adjacency, unit
            The neighbours, and who is protected.
        epsilon, delta
            What may be spent.
        rho
            The same as concentrated loss.
        about
            Which data the budget is for.
        """
        if (epsilon is None) == (rho is None):
            raise DPError(
                Message("A budget is an epsilon (with a delta or without), or a rho."),
                hint=Message("give one of the two"),
            )
        names: tuple[str, ...]
        amounts: tuple[str, ...]
        if rho is not None:
            names, amounts = ("rho",), (amount(checked_positive(rho, "rho")),)
        else:
            names = ("epsilon", "delta")
            chance = checked_delta(delta, may_be_zero=True)
            amounts = (amount(checked_epsilon(epsilon or 0.0)), amount(chance))
        guarantee = Guarantee(epsilon=0, adjacency=adjacency, unit=unit)
        about = checked_text(about, "about") if about else ""
        return cls(
            names=names, amounts=amounts, adjacency=guarantee.adjacency, unit=unit, about=about
        )

    @classmethod
    def from_text(cls, text: str) -> BudgetSettings:
        """Read what `text` wrote."""
        try:
            fields = json.loads(text)
            fields |= {name: tuple(fields[name]) for name in ("names", "amounts")}
            return cls(**fields | {"adjacency": Adjacency(fields["adjacency"])})
        except (ValueError, KeyError, TypeError):
            raise LedgerFileError(
                Message("The settings of the ledger cannot be read.")
            ) from None

    @property
    def text(self) -> str:
        """All of it as one line."""
        return canonical(self)

    @property
    def digest(self) -> str:
        """Where the chain of entries begins."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def limits(self) -> tuple[Decimal, Decimal]:
        """What may be spent; the second is 0 for rho."""
        first, *rest = (exact(text) for text in self.amounts)
        return first, rest[0] if rest else Decimal(0)

    def price(self, guarantee: Guarantee) -> tuple[Decimal, Decimal]:
        """Return what a release costs in the currency of this budget.

        Parameters
        ----------
        guarantee
            What it promises.
        """
        common([(self.adjacency, self.unit), (guarantee.adjacency, guarantee.unit)])
        if self.names == ("rho",):
            if not math.isfinite(guarantee.concentrated):
                raise DPError(
                    Message("The budget is a rho; the release has none."),
                    hint=Message("state rho (Gaussian noise) or a pure epsilon"),
                )
            return exact(amount(guarantee.concentrated)), Decimal(0)
        if not math.isfinite(guarantee.epsilon):
            raise DPError(
                Message("The budget is an epsilon and a delta; the release states rho alone."),
                hint=Message("state it at a delta: guarantee.at(1e-6)"),
            )
        return exact(amount(guarantee.epsilon)), exact(amount(guarantee.delta))

    def guarantee(self, first: Decimal, second: Decimal) -> Guarantee:
        """Return amounts of this budget as a guarantee.

        Parameters
        ----------
        first, second
            Epsilon and delta, or rho and nothing.
        """
        if self.names == ("rho",):
            return Guarantee(rho=float(first), adjacency=self.adjacency, unit=self.unit)
        return Guarantee(
            epsilon=float(first),
            delta=float(second),
            adjacency=self.adjacency,
            unit=self.unit,
        )


def amount(value: float) -> str:
    """Write a number with all its digits."""
    return repr(float(value))


def exact(text: str) -> Decimal:
    """Read a decimal number."""
    try:
        number = Decimal(text)
    except (InvalidOperation, TypeError, ValueError):
        raise LedgerFileError(Message("An amount in the ledger is no number.")) from None
    if not number.is_finite() or number < 0:
        raise LedgerFileError(Message("An amount in the ledger is no number from 0."))
    return number


def chained(entry: Entry, before: str) -> Entry:
    """Return the entry with the digest that it has after another."""
    content = json.dumps([before, *entry.row[:-1]], ensure_ascii=True)
    return replace(entry, digest=hashlib.sha256(content.encode()).hexdigest())


def checked_text(text: str, name: str) -> str:
    """Return a line of words for the ledger."""
    words = text.strip()
    if not words or len(words) > _LONGEST or not words.isprintable():
        raise DPError(
            Message(
                "{name} must be a line of 1 to {longest} printable characters.",
                name=Name(name),
                longest=_LONGEST,
            )
        )
    return words
