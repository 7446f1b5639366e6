"""Methods that spend more than they claim, and what is to be said of them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from footing.checks import is_number
from footing.messages import Argument, Message, Name
from synth.errors import SynthError

_ROUNDING = 1 + 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a published method says it spends. It is no budget: nothing holds the method to it.

    Neighbours are data sets of one size that differ in one record.

    Parameters
    ----------
    epsilon
        The epsilon of the publication; 0 for no noise; None for a method that claims nothing.

    Examples
    --------
    >>> Claim(epsilon=1).epsilon
    1.0
    """

    epsilon: float | None = None

    def __post_init__(self) -> None:
        if self.epsilon is not None:
            if not is_number(self.epsilon, minimum=0):
                raise SynthError(
                    Message(
                        "The epsilon of a claim is a finite number from 0, not {epsilon!r}.",
                        epsilon=Argument(self.epsilon),
                    ),
                    hint=Message("0 stands for no noise at all"),
                )
            object.__setattr__(self, "epsilon", float(self.epsilon))


def words_of(account: Mapping[str, Any]) -> str:
    """Say what a method promises that spends more than it claims: nothing."""
    claimed, epsilon = account["claimed"], account["epsilon"]
    parts = [
        Message("{part} unbounded", part=Name(part))
        if price is None
        else Message("{part} {price:g}", part=Name(part), price=price)
        for part, price in account["parts"].items()
    ]
    bound = (
        Message("no bound") if epsilon is None else Message("{spent:g} spent", spent=epsilon)
    )
    if claimed is None:
        return Message(
            "{account}: NOT differentially private: {bound} ({parts})",
            account=Argument(account["label"]),
            bound=bound,
            parts=parts,
        )
    return Message(
        "{account}: NOT differentially private as claimed: epsilon {claimed:g} "
        "claimed, {bound} ({parts})",
        account=Argument(account["label"]),
        claimed=claimed,
        bound=bound,
        parts=parts,
    )


def wrong_account(account: Mapping[str, Any]) -> list[str]:
    """Return what does not add up in an account."""
    prices = [
        math.inf if price is None else float(price) for price in account["parts"].values()
    ]
    epsilon = math.inf if account["epsilon"] is None else float(account["epsilon"])
    if not prices or not math.fsum(prices) <= epsilon * _ROUNDING:
        return ["The account states less than the sum of its parts."]
    return []
