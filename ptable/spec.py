"""What the noise of a p-table must satisfy, row by row."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ptable.errors import InfeasibleError, PTableError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Monotone", "NoiseSpec", "RowProblem", "VarianceRule"]

VarianceRule: TypeAlias = Literal["exact", "at-most", "nearest"]
Monotone: TypeAlias = Literal["none", "left"]

_RULES = ("exact", "at-most", "nearest")
_MONOTONE = ("none", "left")
#: The probability of a single key: what integer thresholds can hold at least.
_ONE_KEY = 2.0**-32


@dataclass(frozen=True, slots=True, kw_only=True)
class RowProblem:
    """The constraints on one row, in exact numbers.

    Parameters
    ----------
    count
        The original count of the row.
    noise
        The values the noise may take, ascending.
    variance
        The variance asked for.
    floor
        The least probability of every noise value.
    n_left
        Over how many leading noise values the probabilities may not fall; 0 for none.
    at_most
        Whether the variance is an upper bound.

    Examples
    --------
    >>> NoiseSpec(max_noise=2, variance=1.05).row(1)
    RowProblem(count=1, noise=(-1, 0, 1, 2), variance=Fraction(21, 20), floor=Fraction(0, 1), \
n_left=0, at_most=False)
    """

    count: int
    noise: tuple[int, ...]
    variance: Fraction
    floor: Fraction
    n_left: int
    at_most: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseSpec:
    """State what the noise of a p-table must satisfy.

    Noise always has mean zero, never leads to a negative count, and leaves zeros alone.

    Parameters
    ----------
    max_noise
        The largest noise in either direction, ``D``.
    variance
        The variance of the noise, ``V``; one number, or one per count 1, 2, ...
    small
        Counts ``1..small`` are never published (``js``).
    monotone
        ``"left"`` keeps the probabilities from falling between the most negative noise and
        no noise, wherever the count itself may be published; one word, or one per count.
    variance_rule
        ``"exact"``: the variance is met; ``"at-most"``: it is an upper bound; ``"nearest"``:
        rows that cannot reach it take the nearest variance they can reach, with a warning.
    min_probability
        The least probability of every publishable count within reach.

    Examples
    --------
    >>> spec = NoiseSpec(max_noise=5, variance=3.0, small=2)
    >>> spec.last_count
    8
    >>> spec.row(1).noise
    (-1, 2, 3, 4, 5)
    """

    max_noise: int
    variance: float | tuple[float, ...]
    small: int = 0
    monotone: Monotone | tuple[Monotone, ...] = "none"
    variance_rule: VarianceRule = "exact"
    min_probability: float = 0.0

    def __post_init__(self) -> None:
        problems = _integer_problems(self.max_noise, self.small)
        if problems:
            raise _refusal(problems)
        object.__setattr__(self, "max_noise", int(self.max_noise))
        object.__setattr__(self, "small", int(self.small))
        problems = self._normalise_variance()
        problems += self._normalise_monotone()
        if self.variance_rule not in _RULES:
            problems.append(
                f"variance_rule must be one of {_RULES}, not {self.variance_rule!r}"
            )
        problems += self._normalise_floor()
        if problems:
            raise _refusal(problems)
        self._refuse_impossible()

    def _refuse_impossible(self) -> None:
        """Refuse what no row could satisfy, whatever the other settings."""
        if self.max_noise < self.small + 1:
            raise InfeasibleError(
                f"max_noise must be at least small + 1 = {self.small + 1}, not "
                f"{self.max_noise}: a count of {self.small + 1} can only go down to 0 when "
                f"1..{self.small} may not be published.",
                hint=f"use max_noise={self.small + 1} or more",
            )
        largest = max(_as_tuple(self.variance))
        if largest > self.max_noise**2:
            raise InfeasibleError(
                f"No p-table has max_noise {self.max_noise} and variance {largest:g}: single "
                f"rows reach at most {self.max_noise**2}, and all rows together at most "
                f"{self.max_noise}.",
                hint="feasible(spec) gives the variances that each row can reach",
            )

    def _normalise_variance(self) -> list[str]:
        values = _as_tuple(self.variance)
        wrong = [
            value
            for value in values
            if isinstance(value, (bool, str))
            or not hasattr(value, "__float__")
            or not 0 < float(value) < math.inf
        ]
        if wrong:
            return [f"variance must be a finite number above 0, not {wrong[0]!r}"]
        if not hasattr(self.variance, "__iter__"):
            object.__setattr__(self, "variance", float(self.variance))
            return []
        if len(values) != self.last_count:
            return [self._wrong_length("variance", len(values))]
        object.__setattr__(self, "variance", tuple(float(value) for value in values))
        return []

    def _normalise_monotone(self) -> list[str]:
        values = _as_tuple(self.monotone)
        wrong = [
            value for value in values if not isinstance(value, str) or value not in _MONOTONE
        ]
        if wrong:
            return [f"monotone must be one of {_MONOTONE}, not {wrong[0]!r}"]
        if not isinstance(self.monotone, str):
            if len(values) != self.last_count:
                return [self._wrong_length("monotone", len(values))]
            object.__setattr__(self, "monotone", values)
        return []

    def _normalise_floor(self) -> list[str]:
        value = self.min_probability
        limit = 1 / (2 * self.max_noise + 1)
        if (
            isinstance(value, bool)
            or not hasattr(value, "__float__")
            or not 0 <= float(value) < limit
        ):
            problem = (
                f"min_probability must lie in [0, {limit:.4g}), because a row has up to "
                f"{2 * self.max_noise + 1} noise values, not {value!r}"
            )
            return [problem]
        if 0 < float(value) < _ONE_KEY:
            return [f"min_probability must be 0 or be at least one key in 2**32, not {value!r}"]
        object.__setattr__(self, "min_probability", float(value))
        return []

    def _wrong_length(self, name: str, length: int) -> str:
        return (
            f"{name} must be one value or {self.last_count} values, one for each count "
            f"1..{self.last_count}, not {length}"
        )

    @property
    def last_count(self) -> int:
        """The count of the last row, which serves every larger count too.

        Examples
        --------
        >>> NoiseSpec(max_noise=2, variance=1.0).last_count
        2
        """
        return self.max_noise + (self.small + 1 if self.small else 0)

    def row(self, count: int) -> RowProblem:
        """Give the constraints on the row of a count between 1 and `last_count`.

        Parameters
        ----------
        count
            The original count.

        Examples
        --------
        >>> NoiseSpec(max_noise=2, variance=1.0, small=1).row(2).noise
        (-2, 0, 1, 2)
        """
        if not 1 <= count <= self.last_count:
            raise PTableError(f"count must lie in 1..{self.last_count}, not {count}.")
        lowest = max(0, count - self.max_noise)
        noise = tuple(
            published - count
            for published in range(lowest, count + self.max_noise + 1)
            if not 1 <= published <= self.small
        )
        variance = (
            self.variance[count - 1] if isinstance(self.variance, tuple) else self.variance
        )
        monotone = self.monotone if isinstance(self.monotone, str) else self.monotone[count - 1]
        constrained = monotone == "left" and count > self.small
        return RowProblem(
            count=count,
            noise=noise,
            variance=Fraction(repr(variance)),
            floor=Fraction(repr(self.min_probability)),
            n_left=sum(v <= 0 for v in noise) if constrained else 0,
            at_most=self.variance_rule == "at-most",
        )

    def rows(self) -> tuple[RowProblem, ...]:
        """Give the constraints on every row from count 1 on.

        Examples
        --------
        >>> [row.count for row in NoiseSpec(max_noise=3, variance=1.0).rows()]
        [1, 2, 3]
        """
        return tuple(self.row(count) for count in range(1, self.last_count + 1))

    @classmethod
    def r_ptable(
        cls,
        max_noise: int,
        variance: float,
        *,
        small: int = 0,
        monotone: bool | Sequence[bool] = True,
        exact: bool = False,
    ) -> NoiseSpec:
        """Replay the settings of R's ptable 1.0.0: at most `variance`, monotone, 1e-8 floor.

        Parameters
        ----------
        max_noise, variance, small
            ``D``, ``V`` and ``js``.
        monotone
            ``mono``; one value, or one per count.
        exact
            Whether the variance must be met (``optim = 4``) or is an upper bound.

        Examples
        --------
        >>> NoiseSpec.r_ptable(2, 1.0).variance_rule
        'at-most'
        """
        words: Monotone | tuple[Monotone, ...]
        if isinstance(monotone, bool):
            words = "left" if monotone else "none"
        else:
            words = tuple("left" if value else "none" for value in monotone)
        return cls(
            max_noise=max_noise,
            variance=variance,
            small=small,
            monotone=words,
            variance_rule="exact" if exact else "at-most",
            min_probability=1e-8,
        )

    def to_dict(self) -> dict[str, Any]:
        """Give the fields as plain values, ready for JSON.

        Examples
        --------
        >>> NoiseSpec(max_noise=2, variance=1.0).to_dict()["variance"]
        1.0
        """
        return {
            "max_noise": self.max_noise,
            "variance": _plain(self.variance),
            "small": self.small,
            "monotone": _plain(self.monotone),
            "variance_rule": self.variance_rule,
            "min_probability": self.min_probability,
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> NoiseSpec:
        """Build a specification from what `to_dict` gave.

        Parameters
        ----------
        fields
            The fields by name.

        Examples
        --------
        >>> spec = NoiseSpec(max_noise=2, variance=(1.0, 0.5))
        >>> NoiseSpec.from_dict(spec.to_dict()) == spec
        True
        """
        return cls(**fields)


def _integer_problems(max_noise: object, small: object) -> list[str]:
    return [
        f"{name} must be an integer of at least {least}, not {value!r}"
        for name, value, least in (("max_noise", max_noise, 1), ("small", small, 0))
        if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least
    ]


def _refusal(problems: list[str]) -> PTableError:
    return PTableError(
        "The specification cannot be used: " + "; ".join(problems) + ".",
        hint="feasible(spec) gives the variances that each row can reach",
    )


def _as_tuple(value: Any) -> tuple[Any, ...]:
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        return (value,)
    return tuple(value)


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
