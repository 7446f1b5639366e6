"""The constraints on one row of a p-table, in exact numbers."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, Self, TypeAlias

Rule: TypeAlias = Literal["exact", "at-least", "at-most"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowProblem:
    """The constraints on one row, in exact numbers; noise is counted in steps.

    Parameters
    ----------
    count
        The original count of the row.
    noise
        The values the noise may take, ascending.
    variance
        The variance asked for, in squared steps.
    floor
        The least probability of every noise value.
    at_most
        Whether the variance is an upper bound.
    nearest
        Whether the nearest variance in reach will do.
    n_left
        Over how many leading noise values the probabilities may not fall; 0 for none.
    n_right
        Over how many trailing noise values the probabilities may not rise; 0 for none.
    unimodal
        Whether the probabilities must rise to a peak, wherever it is, and fall from there.
    symmetric
        Whether a noise and its negative must be equally likely.
    p_stay
        The probability of no noise; None where it is free or the count may not be published.
    p_stay_rule
        Whether `p_stay` is met exactly or is a bound.
    mean
        The mean of the noise, in steps; zero but for counts whose bias is declared.
    step
        How many steps make one unit.
    """

    count: int
    noise: tuple[int, ...]
    variance: Fraction
    floor: Fraction = Fraction(0)
    at_most: bool = False
    nearest: bool = False
    n_left: int = 0
    n_right: int = 0
    unimodal: bool = False
    symmetric: bool = False
    p_stay: Fraction | None = None
    p_stay_rule: Rule = "exact"
    mean: Fraction = Fraction(0)
    step: int = 1

    @property
    def second_moment(self) -> Fraction:
        """The mean of the squared noise that gives the variance."""
        return self.variance + self.mean**2

    @property
    def stays_at(self) -> int | None:
        """The place of no noise whose probability is constrained, or None."""
        return None if self.p_stay is None else self.noise.index(0)

    def with_peak(self, place: int) -> Self:
        """Ask for a peak at one noise value instead of any."""
        return replace(self, unimodal=False, n_left=place + 1, n_right=len(self.noise) - place)

    @property
    def rising_pairs(self) -> tuple[tuple[int, int], ...]:
        """The neighbouring places of which the first may not be the likelier."""
        size = len(self.noise)
        left = ((place, place + 1) for place in range(self.n_left - 1))
        right = ((place, place - 1) for place in range(size - self.n_right + 1, size))
        return (*left, *right)
