"""Primary suppression: which cells tell too much, and how wide a reader must be kept away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ckm.errors import ConfigError
from footing.arrays import Flags, Floats, Integers
from footing.messages import Argument, Message, Shape


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Amounts:
    """What rules read of one variable over the cells of a table; see `tables.magnitudes`.

    Parameters
    ----------
    total
        The sum over each cell, weighted where there are weights.
    contributors
        How many records in it are not 0.
    is_signed
        Whether sums are of absolute values.
    top, top_weight
        Their largest values, one column each, falling, and the weights of these.
    records
        How many have a value, zeros among them.
    asked
        The largest contribution of one who asked for protection.

    Examples
    --------
    >>> two = Amounts(total=np.array([5.0]), contributors=np.array([2]))
    >>> primary_cells([Frequency(least=3)], amounts=two).is_primary
    array([ True])
    """

    total: Floats
    contributors: Integers
    is_signed: bool = False
    top: Any = None
    top_weight: Any = None
    records: Any = None
    asked: Any = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Contributions:
    """What contributors know of cells, and what the rules ask for against them.

    A contributor of a cell knows its value but for the rest, so that the rules are applied to
    the rest: without him, for an outsider of it, and with one less in a rule of dominance.

    Parameters
    ----------
    number
        Contributors of every cell.
    first, second
        The largest contribution to every cell, and the second.
    lower, upper
        How far below and above its value every cell must seem possible, in four lines: to a
        contributor of other cells; to the largest of its own; to another one of its own; and
        to the second largest, less by as much as another one gave less.
    held
        Numbers of holdings, finest cells and what each gave to each, where holdings attack.

    Examples
    --------
    The largest of 100, 4 and 1 may not tell that of 4 within 50 %, nor this one the largest:

    >>> from types import SimpleNamespace
    >>> given = SimpleNamespace(
    ...     total=np.array([105.0]),
    ...     contributors=np.array([3]),
    ...     top=np.array([[100.0, 4.0]]),
    ...     top_weight=np.ones((1, 2)),
    ... )
    >>> found = primary_cells([Percent(p=50)], amounts=given).contributions
    >>> found.upper.ravel(), found.levels(0, 4.0)
    (array([45.,  1.,  0., 49.]), (49.0, 49.0))
    """

    number: Integers
    first: Floats
    second: Floats
    lower: Floats
    upper: Floats
    held: tuple[Integers, Integers, Floats] | None = None

    def levels(self, cell: int, own: float) -> tuple[float, float]:
        """Return how far below and above a cell must seem possible to who gave so much to it.

        Parameters
        ----------
        cell
            The cell.
        own
            What he gave to it.

        Examples
        --------
        See `Contributions`.
        """
        lower, upper = self.lower[:, cell].tolist(), self.upper[:, cell].tolist()
        if own <= 0:
            return lower[0], upper[0]
        if own >= self.first[cell]:
            return lower[1], upper[1]
        less = float(self.second[cell]) - own
        return max(lower[2], lower[3] - less), max(upper[2], upper[3] - less)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Primary:
    """Cells that must not be published, and the protection that they need.

    Parameters
    ----------
    is_primary
        Which cells.
    lower, upper
        How far below and above its value a reader must believe each cell possible; 0 for the
        others.
    floor
        What a reader knows every cell to be at least: 1 for counts, as zeros are published.
    ceiling
        What a reader knows every cell to be at most.
    contributions
        What contributors know; None where only outsiders are thought of.

    Examples
    --------
    >>> found = primary_cells([Frequency(least=3)], counts=[2, 9])
    >>> found, found.lower, found.upper, found.floor
    (Primary(1 of 2 cells), array([1., 0.]), array([1., 0.]), array([1., 1.]))
    """

    is_primary: Flags
    lower: Floats
    upper: Floats
    floor: Floats | float = 0.0
    ceiling: Floats | float = np.inf
    contributions: Contributions | None = None

    def __repr__(self) -> str:
        return f"Primary({int(self.is_primary.sum())} of {len(self.is_primary)} cells)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Frequency:
    """A cell of fewer than `least` contributors is unsafe; an empty one is not.

    Parameters
    ----------
    least
        The least number of contributors of a safe cell.
    margin
        The protection that an amount needs on both sides, in percent of it.

    Notes
    -----
    A count needs an interval that reaches from one less than it up to `least`, so that a
    reader sees neither how many there are nor that the cell is small. A reader knows that a
    hidden count is no 0, so that a count of 1 has nothing below it.

    Examples
    --------
    >>> Frequency(least=5).on_counts(np.array([0, 1, 5])).upper
    array([0., 4., 0.])
    """

    least: int
    margin: float = 10.0

    def __post_init__(self) -> None:
        if self.least < 1:
            raise ConfigError(
                Message("least must be 1 or more, not {least}.", least=Argument(self.least))
            )
        if not self.margin > 0:
            raise ConfigError(
                Message("margin must be above 0 percent, not {margin:g}.", margin=self.margin)
            )

    def on_counts(self, counts: NDArray[Any]) -> Primary:
        """Apply the rule to counts.

        Parameters
        ----------
        counts
            Of every cell.

        Examples
        --------
        >>> Frequency(least=3).on_counts(np.array([1, 3])).is_primary
        array([ True, False])
        """
        is_primary = (counts > 0) & (counts < self.least)
        return Primary(
            is_primary=is_primary,
            lower=np.where(is_primary, 1.0, 0.0),
            upper=np.where(is_primary, self.least - counts.astype(np.float64), 0.0),
        )

    def on_amounts(self, amounts: Amounts) -> Primary:
        """Apply the rule to the contributors of amounts.

        Parameters
        ----------
        amounts
            Of every cell.

        Examples
        --------
        >>> from types import SimpleNamespace
        >>> given = SimpleNamespace(total=np.array([50.0]), contributors=np.array([2]))
        >>> Frequency(least=3).on_amounts(given).lower
        array([5.])
        """
        is_primary = (amounts.contributors > 0) & (amounts.contributors < self.least)
        need = np.where(is_primary, amounts.total * self.margin / 100, 0.0)
        return Primary(is_primary=is_primary, lower=need, upper=need)

    def rest(self, amounts: Amounts, kind: int) -> Floats:
        """Return what must be kept, line by line of `Contributions`."""
        # who gave least of three or more leaves nearly all
        is_short = (amounts.contributors == 2) | (kind != 2)
        remainder = [amounts, _without(amounts, 0), _without(amounts, 1), None][kind]
        if remainder is None:
            return np.zeros(len(amounts.total))
        total = np.where(is_short, remainder.total, amounts.total)
        return np.where(self.on_amounts(amounts).is_primary, total * self.margin / 100, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dominance:
    """A cell whose `n` largest contributions are more than `k` percent of it is unsafe.

    Parameters
    ----------
    n
        How many contributors are taken together.
    k
        Their largest share of a safe cell, in percent.

    Notes
    -----
    With ``t`` the `n` largest contributions together and ``X`` the total: unsafe if
    ``t > (k / 100) X``. The interval must reach to ``(100 / k) t``, the least total of which
    they are a safe share, and as far below.

    References
    ----------
    Hundepool et al. (2024), Handbook on Statistical Disclosure Control, 2nd edition, chapter
    on magnitude tables: sensitivity rules and their protection levels.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> given = SimpleNamespace(
    ...     total=np.array([100.0]),
    ...     contributors=np.array([9]),
    ...     top=np.array([[60.0, 30.0]]),
    ...     top_weight=np.ones((1, 2)),
    ... )
    >>> Dominance(n=2, k=75).on_amounts(given).upper
    array([20.])
    """

    n: int
    k: float

    def __post_init__(self) -> None:
        if self.n < 1 or not 0 < self.k < 100:
            raise ConfigError(
                Message(
                    "Dominance needs n of 1 or more and k between 0 and 100, not {number} and "
                    "{k:g}.",
                    number=Argument(self.n),
                    k=self.k,
                )
            )

    def on_amounts(self, amounts: Amounts) -> Primary:
        """Apply the rule to amounts.

        Parameters
        ----------
        amounts
            Of every cell, with `n` of the largest contributions or more.

        Examples
        --------
        >>> from types import SimpleNamespace
        >>> given = SimpleNamespace(
        ...     total=np.array([100.0]), top=np.array([[60.0]]), top_weight=np.ones((1, 1))
        ... )
        >>> Dominance(n=1, k=75).on_amounts(given).is_primary
        array([False])
        """
        together = _largest(amounts, self.n)
        is_primary = together > self.k / 100 * amounts.total
        need = np.where(is_primary, 100 / self.k * together - amounts.total, 0.0)
        return Primary(is_primary=is_primary, lower=need, upper=need)

    def rest(self, amounts: Amounts, kind: int) -> Floats:
        """Return what must be kept, line by line of `Contributions`."""
        if kind == 0 or (kind == 2 and self.n > 2):
            return 100 / self.k * _largest(amounts, self.n) - amounts.total
        if self.n == 1 or kind == 2 or (kind == 3 and self.n > 2):
            return np.zeros(len(amounts.total))
        remainder = _without(amounts, 0 if kind == 1 else 1)
        return 100 / self.k * _largest(remainder, self.n - 1) - remainder.total


@dataclass(frozen=True, slots=True, kw_only=True)
class Percent:
    """A cell is unsafe from which one contributor may tell another within `p` percent.

    Parameters
    ----------
    p
        How near, in percent of the largest contribution.
    q
        How near contributors were before, in percent; 100 is the p % rule, less the (p, q) one.

    Notes
    -----
    With ``x1`` and ``x2`` the two largest contributions and ``X`` the total: unsafe if
    ``X - x1 - x2 < (p / q) x1``. The interval must reach to ``X + (p / q) x1 - (X - x1 - x2)``
    and as far below.

    References
    ----------
    Hundepool et al. (2024), as for `Dominance`.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> given = SimpleNamespace(
    ...     total=np.array([110.0]),
    ...     contributors=np.array([9]),
    ...     top=np.array([[60.0, 45.0]]),
    ...     top_weight=np.ones((1, 2)),
    ... )
    >>> Percent(p=10).on_amounts(given).upper
    array([1.])
    """

    p: float
    q: float = 100.0

    def __post_init__(self) -> None:
        if not 0 < self.p <= self.q <= 100:
            raise ConfigError(
                Message(
                    "The p-percent rule needs 0 < p <= q <= 100, not {p:g} and {q:g}.",
                    p=self.p,
                    q=self.q,
                )
            )

    def on_amounts(self, amounts: Amounts) -> Primary:
        """Apply the rule to amounts.

        Parameters
        ----------
        amounts
            Of every cell, with 2 of the largest contributions or more.

        Examples
        --------
        >>> from types import SimpleNamespace
        >>> given = SimpleNamespace(
        ...     total=np.array([0.0]), top=np.zeros((1, 2)), top_weight=np.zeros((1, 2))
        ... )
        >>> Percent(p=10).on_amounts(given).is_primary
        array([False])
        """
        largest = _largest(amounts, 1)
        rest = np.maximum(amounts.total - _largest(amounts, 2), 0.0)
        need = self.p / self.q * largest - rest
        is_primary = (
            need > 1e-12 * amounts.total
        )  # what is left of a sum of floats is no amount
        need = np.where(is_primary, need, 0.0)
        return Primary(is_primary=is_primary, lower=need, upper=need)

    def rest(self, amounts: Amounts, kind: int) -> Floats:
        """Return what must be kept, line by line of `Contributions`."""
        remainder = [amounts, _without(amounts, 0), None, _without(amounts, 1)][kind]
        if remainder is None:
            return np.zeros(len(amounts.total))
        largest = _largest(remainder, 1)
        return self.p / self.q * largest - np.maximum(remainder.total - largest, 0.0)


def _largest(amounts: Amounts, n: int) -> Floats:
    """Sum the `n` largest contributions; a record of weight w stands for w contributors."""
    top, weight = np.asarray(amounts.top, np.float64), np.asarray(amounts.top_weight)
    if top.ndim != 2 or top.shape != weight.shape or top.shape[1] < n:
        raise ConfigError(
            Message(
                "The rule needs the {number} largest contributions of every cell.", number=n
            ),
            hint=Message("tabulate the amounts with as many"),
        )
    if not np.isfinite(top).all() or (top < 0).any() or (weight < 0).any():
        raise ConfigError(
            Message("Rules of dominance need contributions that are not negative."),
            hint=Message("apply the rules to the sums of absolute values"),
        )
    if ((weight > 0) & (weight < 1)).any():
        raise ConfigError(
            Message(
                "Rules of dominance need weights of 1 or more: a contributor stands for "
                "himself."
            ),
            hint=Message("raise lower weights to 1, or leave the weight out"),
        )
    before = np.cumsum(weight, axis=1) - weight
    units: Floats = (top * np.clip(n - before, 0, weight)).sum(axis=1)
    return units


def primary_cells(
    rules: Sequence[Any],
    *,
    counts: ArrayLike | None = None,
    amounts: Amounts | None = None,
) -> Primary:
    """Find the cells that at least one rule calls unsafe, with the most protection asked for.

    Parameters
    ----------
    rules
        The rules.
    counts
        The counts of the cells, for a table of counts.
    amounts
        The amounts of the cells, for a table of amounts.

    Raises
    ------
    ConfigError
        If there is no rule, none or both of `counts` and `amounts` are given, or a rule of
        dominance meets counts.

    Examples
    --------
    >>> primary_cells([Frequency(least=3)], counts=[0, 1, 2, 3]).is_primary
    array([False,  True,  True, False])
    """
    if not rules or (counts is None) == (amounts is None):
        raise ConfigError(
            Message("Primary suppression needs a rule, and either counts or amounts.")
        )
    numbers = np.asarray(counts if amounts is None else amounts.total, np.float64)
    if not np.isfinite(numbers).all() or (numbers < 0).any():
        raise ConfigError(
            Message(
                "Primary suppression needs counts or totals that are finite and not negative."
            ),
            hint=Message("apply the rules to the sums of absolute values"),
        )
    parts = []
    for rule in rules:
        if amounts is not None:
            parts.append(rule.on_amounts(amounts))
        elif isinstance(rule, Frequency):
            parts.append(rule.on_counts(np.asarray(counts)))
        else:
            raise ConfigError(
                Message("The rule {name} needs amounts, not counts.", name=Shape(type(rule))),
                hint=Message("counts have one rule: Frequency"),
            )
    is_primary = np.logical_or.reduce([part.is_primary for part in parts])
    lower = np.maximum.reduce([part.lower for part in parts])
    upper = np.maximum.reduce([part.upper for part in parts])
    return Primary(
        is_primary=is_primary,
        lower=lower,
        upper=upper,
        floor=np.minimum(numbers, 1.0) if amounts is None else 0.0,
        contributions=_contributions(rules, numbers, amounts, need=(lower, upper)),
    )


def _contributions(
    rules: Sequence[Any],
    numbers: Floats,
    amounts: Amounts | None,
    *,
    need: tuple[Floats, Floats],
) -> Contributions:
    number = (numbers if amounts is None else amounts.contributors).astype(np.int64)
    inside = np.stack([number > 0, number > 1, number > 1, number > 1])
    top = np.asarray(getattr(amounts, "top", None))
    if amounts is None or top.ndim != 2:  # a person knows of no cell but where nobody else is
        first = np.minimum(numbers, 1.0) if amounts is None else numbers * (number == 1)
        return Contributions(
            number=number,
            first=first,
            second=np.where(number > 1, first, 0.0),
            lower=inside * need[0],
            upper=inside * need[1],
        )
    levels = np.stack(
        [np.maximum.reduce([rule.rest(amounts, kind) for rule in rules]) for kind in range(4)]
    )
    # levels of the rest are never above those of the whole
    levels = np.where(inside & (levels > 1e-12 * numbers), np.minimum(levels, need[1]), 0.0)
    first = _largest(amounts, 1)
    second = _largest(amounts, 2) - first if top.shape[1] > 1 else np.zeros(len(first))
    return Contributions(number=number, first=first, second=second, lower=levels, upper=levels)


def _without(amounts: Amounts, place: int) -> Amounts:
    """Take one contributor out of cells: the largest, or the second."""
    top, weight = np.asarray(amounts.top, np.float64), np.array(amounts.top_weight, float)
    before = np.cumsum(weight, axis=1) - weight
    shares = np.clip(np.minimum(before + weight, place + 1) - np.maximum(before, place), 0, 1)
    return Amounts(
        total=np.maximum(amounts.total - (top * shares).sum(axis=1), 0.0),
        contributors=amounts.contributors,
        top=top,
        top_weight=weight - shares,
    )
