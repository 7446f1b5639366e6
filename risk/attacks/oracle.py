"""What attacks ask, how answers and refusals are counted, and what an attack achieved."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from statistics import NormalDist
from typing import TYPE_CHECKING, Protocol, TypeAlias

from footing.checks import is_integer, problems_of
from footing.messages import Argument, Message, joined
from risk.errors import RiskError
from risk.wellformed import require_between, require_integers, require_whole

if TYPE_CHECKING:
    import pandas as pd

#: Categories of one attribute, by their place.
Group: TypeAlias = tuple[int, ...]
#: One published count per group, None where it was refused; None when all were.
Answers = Sequence[int | None] | None


def wilson(successes: int, trials: int, *, level: float = 0.95) -> tuple[float, float]:
    """Give Wilson's score interval of a share.

    Parameters
    ----------
    successes, trials
        How often something happened, and out of how many times.
    level
        The coverage, between 0 and 1.

    Returns
    -------
    tuple of float
        The lower and the upper end, both within 0 and 1.

    Notes
    -----
    The ends are the shares ``p`` that lie ``z sqrt(p (1 - p) / trials)`` away from the share
    that was seen.

    References
    ----------
    Wilson (1927), Probable inference, the law of succession, and statistical inference,
    Journal of the American Statistical Association 22.

    Examples
    --------
    >>> low, high = wilson(0, 100)
    >>> low, round(high, 4)
    (0.0, 0.037)
    """
    require_integers(
        Message("an interval"), successes=(successes, 0, None), trials=(trials, 1, None)
    )
    problems = problems_of(level, "level", above=0, below=1)
    if successes > trials:
        problems.append(
            Message(
                "successes must be at most trials = {trials}, not {successes}",
                trials=trials,
                successes=Argument(successes),
            )
        )
    if problems:
        raise RiskError(
            Message(
                "No interval of a share: {problems}.",
                problems=joined("; ", problems),
            )
        )
    z = NormalDist().inv_cdf((1 + level) / 2)
    share, scale = successes / trials, 1 + z**2 / trials
    centre = (share + z**2 / (2 * trials)) / scale
    half = z / scale * math.sqrt(share * (1 - share) / trials + z**2 / (4 * trials**2))
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == trials else min(1.0, centre + half)
    return low, high


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackResult:
    """What an attack achieved against an oracle.

    Parameters
    ----------
    name
        The attack.
    successes, trials
        How many targets it hit, out of how many.
    queries
        How many counts it asked for, refused ones included.
    refused
        How many of them the oracle refused.
    closed_form
        The probability of success by formula, where the attack was given what it needs.
    level
        The coverage of `interval`.

    Examples
    --------
    >>> result = AttackResult(name="averaging", successes=19, trials=20, queries=1240)
    >>> result.rate
    0.95
    >>> print(result.words)
    averaging: 19 of 20 targets (95.0 %, 95 % interval 76.4 to 99.1 %), 1240 queries, 0 refused
    """

    name: str
    successes: int
    trials: int
    queries: int
    refused: int = 0
    closed_form: float | None = None
    level: float = 0.95

    def __post_init__(self) -> None:
        wilson(self.successes, self.trials, level=self.level)
        require_integers(Message("a result"), queries=(self.queries, 0, None))
        if self.closed_form is not None:
            require_between(self.closed_form, name="closed_form", most=1.0)
        if not is_integer(self.refused, minimum=0, maximum=self.queries):
            raise RiskError(
                Message(
                    "refused must lie in 0..{queries}, the queries, not {refused}.",
                    queries=self.queries,
                    refused=Argument(self.refused),
                )
            )

    @property
    def rate(self) -> float:
        """The share of targets that were hit.

        Examples
        --------
        >>> AttackResult(name="guess", successes=1, trials=4, queries=0).rate
        0.25
        """
        return self.successes / self.trials

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval of the rate.

        Examples
        --------
        >>> AttackResult(name="guess", successes=4, trials=4, queries=0).interval[1]
        1.0
        """
        return wilson(self.successes, self.trials, level=self.level)

    @property
    def words(self) -> str:
        """The result in one line.

        Examples
        --------
        >>> AttackResult(name="a guess", successes=0, trials=9, queries=0).words[:21]
        'a guess: 0 of 9 targe'
        """
        low, high = self.interval
        text = (
            f"{self.name}: {self.successes} of {self.trials} targets ({self.rate:.1%}, "
            f"{self.level:.0%} interval {100 * low:.1f} to {high:.1%}), "
            f"{self.queries} queries, {self.refused} refused"
        )
        if self.closed_form is not None:
            text += f"; by formula {self.closed_form:.1%}"
        return text.replace("%", " %")

    def to_frame(self) -> pd.DataFrame:
        """Give the result as one line of a table.

        Examples
        --------
        >>> result = AttackResult(name="guess", successes=1, trials=4, queries=8)
        >>> result.to_frame()[["name", "rate", "queries"]].values.tolist()
        [['guess', 0.25, 8]]
        """
        import pandas as pd

        low, high = self.interval
        line = {
            "name": self.name,
            "successes": self.successes,
            "trials": self.trials,
            "rate": self.rate,
            "low": low,
            "high": high,
            "queries": self.queries,
            "refused": self.refused,
            "closed_form": self.closed_form,
        }
        return pd.DataFrame([line])


@dataclass(frozen=True, slots=True, kw_only=True)
class CountRequest:
    """Ask for the published counts of groups of categories of one attribute.

    Parameters
    ----------
    groups
        Per count asked for, the categories that it covers, by their place in the attribute.
    line
        Which line of the table, such as an area, the counts are for.

    Examples
    --------
    The first two categories, the third, and all of them, in the line 4:

    >>> request = CountRequest(groups=((0, 1), (2,), (0, 1, 2)), line=4)
    >>> len(request.groups)
    3
    """

    groups: tuple[Group, ...]
    line: int = 0

    def __post_init__(self) -> None:
        wrong = [
            group
            for group in self.groups
            if not group
            or not all(is_integer(place, minimum=0) for place in group)
            or len(set(group)) < len(group)
        ]
        if not self.groups or wrong:
            raise RiskError(
                Message(
                    "A request needs groups, each of different places of categories from 0 on."
                ),
                hint=Message("groups=((0, 1), (2,)) asks for two counts"),
            )
        require_whole(self.line, name="line")


class Oracle(Protocol):
    """Anything that answers a `CountRequest` under the rules that users live under.

    It returns one published count per group, or None for a count that it refuses. It refuses
    a whole request by returning None, or by raising a ValueError or a PermissionError.

    Examples
    --------
    >>> def oracle(request):
    ...     return [10 * len(group) for group in request.groups]
    >>> oracle(CountRequest(groups=((0,), (0, 1))))
    [10, 20]
    """

    def __call__(self, request: CountRequest, /) -> Answers:
        """Publish one count per group of the request, or refuse."""


@dataclass(slots=True)
class Analyst:
    """Put the requests of an attack to an oracle; count queries, refusals and successes."""

    attack: str
    oracle: Oracle
    closed_form: float | None = None
    queries: int = 0
    refused: int = 0
    successes: int = 0

    def ask(self, groups: tuple[Group, ...], *, line: int = 0) -> list[int | None]:
        """Return one count per group, None where it was refused."""
        n_groups = len(groups)
        self.queries += n_groups
        try:
            answers = self.oracle(CountRequest(groups=groups, line=line))
        except RiskError:
            raise  # the request does not fit the oracle: a mistake, not a rule
        except (ValueError, PermissionError):
            answers = None
        if answers is None:
            answers = [None] * n_groups
        n_answers = len(answers) if hasattr(answers, "__len__") else "one"
        if n_answers != n_groups:
            raise RiskError(
                Message(
                    "The oracle must answer with {n_groups} counts, one per group, not "
                    "{n_answers}.",
                    n_groups=n_groups,
                    n_answers=Argument(n_answers),
                ),
                hint=Message("return None for a count that is refused"),
            )
        # What is usual first: a test for `Integral` costs ten times that for the type itself.
        if not all(
            type(answer) is int or answer is None or isinstance(answer, Integral)
            for answer in answers
        ):
            raise RiskError(
                Message("The oracle must answer with whole numbers."),
                hint=Message("return None for a count that is refused"),
            )
        counts = [None if answer is None else int(answer) for answer in answers]
        self.refused += counts.count(None)
        return counts

    def ask_all(self, groups: tuple[Group, ...], *, line: int) -> list[int] | None:
        """Return one count per group; None where any of them was refused."""
        numbers = [answer for answer in self.ask(groups, line=line) if answer is not None]
        return numbers if len(numbers) == len(groups) else None

    def result(self, *, trials: int) -> AttackResult:
        """Return what the attack came to."""
        return AttackResult(
            name=self.attack,
            successes=self.successes,
            trials=trials,
            queries=self.queries,
            refused=self.refused,
            closed_form=self.closed_form,
        )
