"""What the difference of two published counts tells of the records between them."""

from __future__ import annotations

from dataclasses import dataclass

from risk.distributions.distribution import Law


@dataclass(frozen=True, slots=True, kw_only=True)
class SliverLaw:
    """Hold the law of a published difference beside the original one; for inside.

    Parameters
    ----------
    difference
        The original difference: the records of the sliver.
    law
        Of the published difference, see `risk.difference_law`.
    """

    difference: int
    law: Law

    @property
    def p_seen(self) -> float:
        """The probability that the published counts differ.

        Equal sets of records are always published alike, so where one set lies inside another
        this is the share of slivers that an intruder is certain about, without a single false
        alarm.
        """
        return 1 - float(self.law.at(0))

    @property
    def p_exact(self) -> float:
        """The probability that the published difference is the original one."""
        return float(self.law.at(self.difference))

    @property
    def accuracy(self) -> float:
        """How often an intruder is right who says "empty" exactly when no difference shows.

        Before seeing the counts, an empty sliver and this one are equally likely.
        """
        return (1 + self.p_seen) / 2
