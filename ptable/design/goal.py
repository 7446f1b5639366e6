"""What a p-table is wanted for, where not every option is settled."""

import contextlib
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, get_args

from footing.checks import is_number, problems_of
from footing.messages import Argument, Message, joined
from ptable.design.spec import Monotone, NoiseSpec
from ptable.errors import InfeasibleError, PTableError
from ptable.solver.integer.rounding import exact


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """Say what a p-table is wanted for, where not every option is settled.

    Parameters
    ----------
    max_noise
        The largest noise, ``D``.
    small
        Counts ``1..small`` are never published.
    p_stay
        About how often a large count is published as it is; None for no wish.
    tolerance
        By how much that may be missed.
    variance
        The variance, or the least and the greatest that will do; None for no wish.
    monotone, symmetric, min_probability
        As in `NoiseSpec`; they are kept.

    Examples
    --------
    >>> Goal(max_noise=5, small=4, p_stay=0.4).tolerance
    0.05
    """

    max_noise: int
    small: int = 0
    p_stay: float | None = None
    tolerance: float = 0.05
    variance: float | tuple[float, float] | None = None
    monotone: Monotone = "none"
    symmetric: bool = False
    min_probability: float = 0.0

    def __post_init__(self) -> None:
        problems = [
            *problems_of(self.max_noise, "max_noise", is_whole=True, minimum=1),
            *problems_of(self.small, "small", is_whole=True, minimum=0),
            *problems_of(self.tolerance, "tolerance", above=0, below=1),
        ]
        if self.p_stay is not None:
            problems += problems_of(self.p_stay, "p_stay", minimum=0, below=1)
        if self.monotone not in get_args(Monotone):
            problems.append(
                Message(
                    "monotone must be one of {get_args}", get_args=Argument(get_args(Monotone))
                )
            )
        variance: Any = self.variance
        ends: tuple[Any, ...] = (
            variance if isinstance(variance, tuple) else (variance, variance)
        )
        if variance is not None and not (
            len(ends) == 2
            and all(is_number(end, above=0) for end in ends)
            and float(ends[0] or 0) <= float(ends[1] or 0)
        ):
            problems.append(
                Message(
                    "variance must be above 0, or two such numbers, rising, not {variance!r}",
                    variance=Argument(self.variance),
                )
            )
        if problems:
            raise PTableError(
                Message(
                    "The goal cannot be used: {problems}.",
                    problems=joined("; ", problems),
                ),
                hint=Message("for example Goal(max_noise=5, small=2, p_stay=0.4)"),
            )
        with contextlib.suppress(InfeasibleError):  # what is out of reach is to be explained
            NoiseSpec(**self.fields(), variance=0.5)

    @property
    def variance_range(self) -> tuple[Fraction, Fraction | None]:
        """The least and the greatest variance that will do.

        Examples
        --------
        >>> Goal(max_noise=2, variance=(0.5, 1.0)).variance_range
        (Fraction(1, 2), Fraction(1, 1))
        """
        if self.variance is None:
            return Fraction(0), None
        ends = self.variance if isinstance(self.variance, tuple) else (self.variance,) * 2
        low, high = map(exact, ends)
        return low, high

    def fields(self) -> dict[str, Any]:
        """Give what every table for the goal has in common.

        Examples
        --------
        >>> Goal(max_noise=2, small=1).fields()["small"]
        1
        """
        names = ("max_noise", "small", "monotone", "symmetric", "min_probability")
        return {name: getattr(self, name) for name in names}
