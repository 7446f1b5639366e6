"""Limits on what an intruder learns: what a p-table must guarantee, over all rows together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, TypeAlias, get_args

from footing.checks import is_integer, is_number, problems_of
from footing.messages import Argument, Message, Name, joined
from footing.serialisation import set_fields
from ptable.errors import PTableError

Objective: TypeAlias = Literal[
    "entropy", "least-deviation", "least-variance", "least-hellinger", "distance-to"
]
OBJECTIVES: tuple[str, ...] = get_args(Objective)

_FLOOR = 2.0
_PROBABILITIES = ("posterior", "posterior_set", "p_stay")
#: Sensitive counts, and the largest share of them that is guessed right.
Guess: TypeAlias = "tuple[tuple[int, ...], float]"
#: What a prior is compared to 1 with.
_SUM = 1e-9
#: Of longer priors the shares of larger counts are added up.
_KEPT = 200


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Limits:
    """Say what an intruder may learn from one published count, at most.

    Every limit is linear in the probabilities, and ties the rows together. `NoiseSpec` takes
    them beside ``max_noise`` and ``small``; what is None is no limit.

    Parameters
    ----------
    sensitive
        The counts that nobody may infer, 1 and more in a row; ``1..max(small, 2)`` where None.
    posterior
        The largest probability of one sensitive count given any published one. Against
        guessing a small count.
    posterior_set
        The largest probability that a count is sensitive, given any published one. Against
        knowing that a count is small.
    best_guess
        The largest share of sensitive counts that one guess per published count gets right.
        Against guessing each cell of a table. One number, or one for each class of sensitive
        counts, ``{(1, 2): 0.8, (3, 4): 0.7}``: what gets right who knows that a count is in it.
    variance_floor
        The least variance of every row, one number or one per row. Against averaging, sums
        of cells and reconstruction. Where None, 2, or the variance of the specification if
        that is less, as far as a row can have it.
    variance_ceiling
        The greatest variance of every row. An optimum parks noise in few rows otherwise.
        Where None, the variance of the specification; a row that cannot have so little takes
        the least it can.
    neighbours
        ``(ε, δ)``: between positive counts that differ by one record, in both directions,
        ``Σ_j max(0, P[i, j] - e^ε P[i ± 1, j]) ≤ δ``. Against differencing. This is no
        differential privacy: the step from an empty cell shows.
    ratio
        How many times likelier any published count may be from a sensitive count than from
        the next larger one. It limits odds whatever the prior.
    p_stay
        The largest probability that a count is published as it is, where the specification
        has no ``p_stay`` of its own. Against reading published counts as true.
    priors
        What an intruder may believe beforehand: the share of cells of count 0, 1, 2, ..., or
        anything with ``.at(counts)``. Every limit on a posterior holds under each of them; the
        first weighs what is lost.
    zeros_in_prior
        Whether posteriors count empty cells. By default they do not: many of them make the
        limit void where 0 is published, and whoever knows that a cell is not empty leaves
        them out.
    is_peaked
        Whether full rows, which no edge cuts, rise to no noise and fall from there.

    Examples
    --------
    >>> Limits(posterior=0.7, priors=([0.0, 0.5, 0.3, 0.2],)).neighbours
    (1.0, 0.05)
    """

    sensitive: tuple[int, ...] | None = None
    posterior: float | None = 0.75
    posterior_set: float | None = None
    best_guess: float | tuple[Guess, ...] | None = None
    variance_floor: float | tuple[float, ...] | None = None
    variance_ceiling: float | tuple[float, ...] | None = None
    neighbours: tuple[float, float] | None = (1.0, 0.05)
    ratio: float | None = None
    p_stay: float | None = 0.5
    priors: tuple[Any, ...] = ()
    zeros_in_prior: bool = False
    is_peaked: bool = True

    def __post_init__(self) -> None:
        problems = self._normalise_sensitive() + self._normalise_numbers()
        try:
            priors = tuple(self.priors)
        except TypeError:
            problems.append(Message("priors must be a sequence of priors"))
        else:
            if priors and all(is_number(share) for share in priors):
                problems.append(Message("priors must be a sequence of priors, not one prior"))
            object.__setattr__(self, "priors", priors)
        for name in ("zeros_in_prior", "is_peaked"):
            if not isinstance(getattr(self, name), bool):
                problems.append(Message("{name} must be True or False", name=Name(name)))
        if not problems and not self.priors:
            needs = [
                name
                for name in ("posterior", "posterior_set", "best_guess")
                if getattr(self, name) is not None
            ]
            if needs:
                problems.append(
                    Message("{names} needs priors: there are none", names=Name.each(needs))
                )
        if problems:
            raise refusal(problems)

    def _normalise_sensitive(self) -> list[str]:
        if self.sensitive is None:
            return []
        counts: tuple[Any, ...] = tuple(self.sensitive)
        fits = counts and all(is_integer(count) and count >= 1 for count in counts)
        if not fits or list(counts) != list(range(int(counts[0]), int(counts[-1]) + 1)):
            return [
                Message(
                    "sensitive must be counts from 1 on in a row, such as range(1, 5), not "
                    "{counts!r}",
                    counts=Argument(self.sensitive),
                )
            ]
        object.__setattr__(self, "sensitive", tuple(map(int, counts)))
        return []

    def _normalise_numbers(self) -> list[str]:
        problems: list[str] = []
        for name in _PROBABILITIES:
            value = getattr(self, name)
            if value is not None:
                problems += problems_of(value, name, above=0, maximum=1)
        if self.ratio is not None:
            problems += problems_of(self.ratio, "ratio", minimum=1)
        problems += self._normalise_guesses()
        return problems + self._normalise_variances() + self._normalise_neighbours()

    def _normalise_guesses(self) -> list[str]:
        option: Any = self.best_guess
        if option is None:
            return []
        if is_number(option):
            return problems_of(option, "best_guess", above=0, maximum=1)
        try:
            pairs = option.items() if isinstance(option, Mapping) else option
            guesses = tuple((tuple(some), limit) for some, limit in pairs)
        except (TypeError, ValueError):
            guesses = ()
        if not guesses or not all(_is_class(some) for some, _ in guesses):
            return [
                Message(
                    "best_guess must be one number, or one for each class of two or more "
                    "sensitive counts in a row, such as (1, 2)"
                )
            ]
        problems = [
            problem
            for _, limit in guesses
            for problem in problems_of(limit, "best_guess", above=0, maximum=1)
        ]
        if not problems:
            plain = tuple((tuple(map(int, some)), float(limit)) for some, limit in guesses)
            object.__setattr__(self, "best_guess", plain)
        return problems

    @property
    def guesses(self) -> tuple[Guess, ...]:
        """Each class of sensitive counts with the largest share of it that is guessed right.

        Examples
        --------
        >>> Limits(sensitive=(1, 2), best_guess=0.9, priors=([0, 1],)).guesses
        (((1, 2), 0.9),)
        """
        if self.best_guess is None:
            return ()
        if isinstance(self.best_guess, tuple):
            return self.best_guess
        return ((self.sensitive or (), self.best_guess),)

    def _normalise_variances(self) -> list[str]:
        problems: list[str] = []
        for name in ("variance_floor", "variance_ceiling"):
            option = getattr(self, name)
            if option is None:
                continue
            is_single = is_number(option)
            values = (option,) if is_single else tuple(option)
            for value in values:
                problems += problems_of(value, name, minimum=0)
            if not problems:
                plain = tuple(map(float, values))
                object.__setattr__(self, name, plain[0] if is_single else plain)
        return problems

    def _normalise_neighbours(self) -> list[str]:
        if self.neighbours is None:
            return []
        pair: tuple[Any, ...] = tuple(self.neighbours)
        if len(pair) != 2:
            return [Message("neighbours must be a pair of epsilon and delta")]
        problems = [
            *problems_of(pair[0], "epsilon of neighbours", minimum=0),
            *problems_of(pair[1], "delta of neighbours", minimum=0, maximum=1),
        ]
        if not problems:
            object.__setattr__(self, "neighbours", (float(pair[0]), float(pair[1])))
        return problems

    def fitted(self, *, small: int, reach: int, last: int) -> Self:
        """Settle what depends on the specification: sensitive counts, and priors by count.

        Parameters
        ----------
        small
            The largest count that is never published.
        reach
            The largest noise.
        last
            The count of the last row.
        """
        sensitive = self.sensitive or tuple(range(1, max(small, 2) + 1))
        needed = min(last, sensitive[-1] + 2 * reach)
        problems: list[str] = [
            Message("best_guess is for sensitive counts, 1 to {last}", last=sensitive[-1])
            for some, _ in (self.best_guess if isinstance(self.best_guess, tuple) else ())
            if not set(some) <= set(sensitive)
        ]
        priors = []
        for place, prior in enumerate(self.priors):
            shares, problem = _shares(prior, last=last, needed=needed)
            priors.append(shares)
            if problem:
                problems.append(
                    Message("priors[{place}] {problem}", place=place, problem=problem)
                )
        if problems:
            raise refusal(problems)
        return replace(self, sensitive=sensitive, priors=tuple(priors))

    def __repr__(self) -> str:
        """Name what differs from the defaults, and no share of a prior: it stems from data."""
        shown = [
            f"{name}={value!r}" for name, value in self.to_dict().items() if name != "priors"
        ]
        return f"Limits({', '.join([*shown, f'priors: {len(self.priors)}'])})"

    def to_dict(self) -> dict[str, Any]:
        """Give the fields as plain values; those left alone are missing.

        Examples
        --------
        >>> Limits(posterior=None, ratio=2.0).to_dict()
        {'posterior': None, 'ratio': 2.0}
        """
        return set_fields(self)

    @classmethod
    def from_dict(cls, options: Mapping[str, Any]) -> Self:
        """Build limits from what `to_dict` gave.

        Examples
        --------
        >>> limits = Limits(posterior=None, ratio=2.0)
        >>> Limits.from_dict(limits.to_dict()) == limits
        True
        """
        return cls(**options)


def refusal(problems: Sequence[str]) -> PTableError:
    """Say which limits cannot be used."""
    return PTableError(
        Message("The limits cannot be used: {problems}.", problems=joined("; ", problems)),
        hint=Message("the docstring of Limits says what each of them takes"),
    )


def _shares(prior: Any, *, last: int, needed: int) -> tuple[tuple[float, ...], Message | None]:
    """Give the share of each count, all large ones at the end, or what is wrong with them."""
    kept = max(last + 1, _KEPT)
    if hasattr(prior, "at"):
        shares = [float(share) for share in prior.at(list(range(kept)))]
        shares.append(max(0.0, 1 - math.fsum(shares)))
    else:
        try:
            values = list(prior)
        except TypeError:
            return (), Message("must be shares by count, or have at(counts)")
        if not all(is_number(share, minimum=0) for share in values):
            return (), Message("must be shares of 0 or more, without a missing one")
        shares = [float(share) for share in values[:kept]]
        if values[kept:]:
            shares.append(math.fsum(map(float, values[kept:])))
    if len(shares) <= needed:
        return (), Message(
            "ends at a count of {last}: its shares must go to {needed}, from where published "
            "counts may stem",
            last=len(shares) - 1,
            needed=needed,
        )
    gaps = [count for count in range(1, needed + 1) if not shares[count] > 0]
    if gaps:
        return (), Message(
            "has no share for a count of {count}: a prior by counts is smoothed first, as by "
            "one share for neighbouring counts that are 50 cells together",
            count=gaps[0],
        )
    total = math.fsum(shares)
    if not total < math.inf:
        return (), Message("must have a finite sum")
    if abs(total - 1) > _SUM:
        shares = [share / total for share in shares]
    return tuple(shares), None


def _is_class(some: Sequence[Any]) -> bool:
    """Tell whether these are two counts or more in a row: one alone is always guessed."""
    fits = len(some) > 1 and all(is_integer(count) and count >= 1 for count in some)
    return bool(fits) and list(some) == list(range(int(some[0]), int(some[-1]) + 1))


def default_floor(variance: float | None) -> float:
    """Give the least variance of a row where nothing else is asked for."""
    return _FLOOR if variance is None else min(_FLOOR, variance)
