"""How often an attack succeeds on those who were there, beside those who were not."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberShares:
    """Shares of success, with their intervals and what a guarantee allows.

    Parameters
    ----------
    members, members_low, members_high
        The share of records that were trained on, and its interval.
    others, others_low, others_high
        The same of records that were not: what can be had without them.
    ceiling
        What the guarantee allows for members, given the share of the others.
    """

    members: float
    members_low: float
    members_high: float
    others: float
    others_low: float
    others_high: float
    ceiling: float | None

    @property
    def is_above(self) -> bool:
        """Whether the attack succeeds on members more often than the guarantee allows."""
        return self.ceiling is not None and self.members_low > self.ceiling
