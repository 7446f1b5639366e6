"""What attacks ask, and how answers and refusals are counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Protocol, TypeAlias

from footing.checks import is_integer
from risk.attacks.oracle.result import AttackResult
from risk.errors import RiskError
from risk.wellformed import require_whole

#: Categories of one attribute, by their place.
Group: TypeAlias = tuple[int, ...]
#: One published count per group, None where it was refused; None when all were.
Answers = Sequence[int | None] | None


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
                "A request needs groups, each of different places of categories from 0 on.",
                hint="groups=((0, 1), (2,)) asks for two counts",
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
                f"The oracle must answer with {n_groups} counts, one per group, not "
                f"{n_answers}.",
                hint="return None for a count that is refused",
            )
        # What is usual first: a test for `Integral` costs ten times that for the type itself.
        if not all(
            type(answer) is int or answer is None or isinstance(answer, Integral)
            for answer in answers
        ):
            raise RiskError(
                "The oracle must answer with whole numbers.",
                hint="return None for a count that is refused",
            )
        counts = [None if answer is None else int(answer) for answer in answers]
        self.refused += counts.count(None)
        return counts

    def ask_all(self, groups: tuple[Group, ...], *, line: int) -> list[int] | None:
        """Return one count per group; None where any of them was refused."""
        known = [answer for answer in self.ask(groups, line=line) if answer is not None]
        return known if len(known) == len(groups) else None

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
