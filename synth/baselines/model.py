"""What every baseline returns: a label, an account of what it spends, and samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from footing.arrays import Integers
from footing.checks import Limits, require_integer, require_number
from footing.messages import Argument, Message, said
from synth.baselines.coded import CodedColumn
from synth.errors import OverspentError, SynthError


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class BaselineModel:
    """A fitted baseline.

    Parameters
    ----------
    label
        The name of the method, with what it does not promise.
    account
        What it really cost.
    draw
        Makes records from a number and a generator.
    details
        What else is worth knowing: folds, collisions of codes, the vine.

    Examples
    --------
    >>> from synth.baselines.copulas.dp_copula import dp_copula
    >>> rng = np.random.default_rng(1)
    >>> model = dp_copula({"sex": ["F", "M"] * 50}, epsilon=1, domains={"sex": "FM"}, rng=rng)
    >>> model.label, model.sample(7, rng).shape
    ('DP-Copula', (7, 1))
    """

    label: str
    account: Account
    draw: Callable[[int, np.random.Generator], pd.DataFrame]
    details: Mapping[str, Any] = field(default_factory=dict)

    def sample(self, n: int, rng: np.random.Generator | None = None) -> pd.DataFrame:
        """Draw synthetic records.

        Parameters
        ----------
        n
            How many.
        rng
            A generator; without one the operating system's randomness is used.

        Examples
        --------
        >>> from synth.baselines.copulas.dp_copula import dp_copula
        >>> model = dp_copula({"sex": ["F"] * 9}, epsilon=1, domains={"sex": ["F"]})
        >>> model.sample(2)["sex"].tolist()
        ['F', 'F']
        """
        size = require_integer(n, "n", error=SynthError, minimum=1)
        return self.draw(size, np.random.default_rng(rng))

    @property
    def folds(self) -> Mapping[str, Integers]:
        """The records that each step saw, where there are several.

        Examples
        --------
        >>> from synth.baselines.copulas.dp_copula import dp_copula
        >>> dp_copula({"a": ["F"]}, epsilon=1, domains={"a": ["F"]}).folds
        {}
        """
        folds: Mapping[str, Integers] = self.details.get("folds", {})
        return folds

    def __repr__(self) -> str:
        return f"BaselineModel({self.label!r}, {self.account})"


_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """One look at the records.

    Parameters
    ----------
    part
        ``"margins"``, ``"dependence"``, ``"encoders"`` or ``"bins"``.
    what
        What was looked at.
    epsilon
        The price; infinite where nothing bounds it.
    delta
        The delta of (epsilon, delta).

    Examples
    --------
    >>> Charge(part="margins", what="age", epsilon=0.5).delta
    0.0
    """

    part: str
    what: str
    epsilon: float
    delta: float = 0.0


@dataclass(slots=True)
class Account:
    """The charges of a method; all of the same records, so they add up.

    Neighbours are data sets of one size that differ in one record.

    Parameters
    ----------
    claimed
        The epsilon that whoever published the method says it costs.
    limit
        The most it may cost; None for methods that are reported, not bounded.

    Examples
    --------
    >>> account = Account(claimed=1.0)
    >>> account.pay(Charge(part="margins", what="age", epsilon=1.0))
    >>> account.pay(Charge(part="margins", what="sex", epsilon=1.0))
    >>> account.spent("margins"), account.is_private
    (2.0, True)
    """

    claimed: float
    limit: float | None = None
    charges: list[Charge] = field(default_factory=list)

    def pay(self, charge: Charge) -> None:
        """Note a charge before the records are looked at, or refuse it.

        Parameters
        ----------
        charge
            It.

        Raises
        ------
        OverspentError
            If it exceeds the limit; nothing is noted then.

        Examples
        --------
        >>> account = Account(claimed=1.0, limit=1.0)
        >>> account.pay(Charge(part="dependence", what="vine", epsilon=math.inf))
        Traceback (most recent call last):
        ...
        synth.OverspentError: vine costs epsilon inf; 1 of 1 is left.
        """
        if not charge.epsilon > 0:
            raise SynthError(
                Message(
                    "A charge must be positive, not {epsilon}.",
                    epsilon=Argument(charge.epsilon),
                )
            )
        total = math.fsum([*(one.epsilon for one in self.charges), charge.epsilon])
        if self.limit is not None and not total <= self.limit * (1 + _ROUNDING):
            remainder = max(0.0, self.limit - self.spent())
            raise OverspentError(
                Message(
                    "{what} costs epsilon {epsilon:g}; {left:g} of {limit:g} is left.",
                    what=said(charge.what),
                    epsilon=charge.epsilon,
                    left=remainder,
                    limit=self.limit,
                )
            )
        self.charges.append(charge)

    def spent(self, part: str | None = None) -> float:
        """Return the sum of the charges.

        Parameters
        ----------
        part
            Only those of a part; all by default.

        Examples
        --------
        >>> Account(claimed=1.0).spent()
        0.0
        """
        return math.fsum(one.epsilon for one in self.charges if part in {None, one.part})

    @property
    def delta(self) -> float:
        """The sum of the deltas.

        Examples
        --------
        >>> Account(claimed=1.0).delta
        0.0
        """
        return math.fsum(one.delta for one in self.charges)

    @property
    def is_private(self) -> bool:
        """Whether the whole has a finite epsilon.

        Examples
        --------
        >>> Account(claimed=1.0).is_private
        True
        """
        return math.isfinite(self.spent())

    @property
    def is_as_claimed(self) -> bool:
        """Whether it costs no more than was claimed.

        Examples
        --------
        >>> Account(claimed=1.0).is_as_claimed
        True
        """
        return self.spent() <= self.claimed * (1 + _ROUNDING)

    def by_part(self) -> Mapping[str, float | str]:
        """Return the sum of every part, or ``"unbounded"``.

        Examples
        --------
        >>> account = Account(claimed=1.0)
        >>> account.pay(Charge(part="dependence", what="vine", epsilon=math.inf))
        >>> account.by_part()
        {'dependence': 'unbounded'}
        """
        parts = dict.fromkeys(one.part for one in self.charges)
        sums = {part: self.spent(part) for part in parts}
        return {part: one if math.isfinite(one) else "unbounded" for part, one in sums.items()}

    def label(self, name: str) -> str:
        """Return the name of a method, and that it does not keep to its claim if so."""
        return name if self.is_as_claimed else f"{name}, NOT DP as claimed"

    def __str__(self) -> str:
        parts = ", ".join(
            f"{part} {one if isinstance(one, str) else f'{one:g}'}"
            for part, one in self.by_part().items()
        )
        if self.is_as_claimed:
            return f"epsilon {self.spent():g} ({parts})"
        return f"NOT DP as claimed: epsilon {self.claimed:g} claimed; {parts}"


def charge_bins(account: Account, columns: Sequence[CodedColumn]) -> None:
    """Note the columns whose values were read from the records: nothing bounds that."""
    for column in columns:
        if not column.is_declared:
            account.pay(Charge(part="bins", what=column.name, epsilon=math.inf))


def checked_epsilon(epsilon: Any, *, may_be_zero: bool = False) -> float:
    """Return a budget that makes sense."""
    least: Limits = {"minimum": 0} if may_be_zero else {"above": 0}
    way = (
        Message("0, for no noise, is for the published methods alone") if epsilon == 0 else None
    )
    return require_number(epsilon, "epsilon", error=SynthError, hint=way, **least)
