"""Which cells of amounts are sensitive: a contributor could be estimated from their total.

Conditions are judged on the true amounts, inside. A cell keeps its answer in every table,
because it depends on the contributors alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np

from ckm.errors import ConfigError, MagnitudeError
from footing.checks import is_number, require_integer
from footing.messages import Argument, Message, Name, said

if TYPE_CHECKING:
    from collections.abc import Iterable

    from footing.arrays import Flags, Floats
    from tables.magnitudes.amounts import Magnitudes


@dataclass(frozen=True, slots=True, kw_only=True)
class FewContributors:
    """Cells with fewer contributors than a least number; empty cells are not sensitive.

    Parameters
    ----------
    least
        The number of contributors from which a cell is not sensitive, at least 2.

    Examples
    --------
    >>> FewContributors(least=3).n_top
    0
    """

    least: int
    n_top: ClassVar[int] = 0  # how many of the largest contributors it looks at

    def __post_init__(self) -> None:
        object.__setattr__(self, "least", _whole("least", self.least, 2))

    def holds(self, magnitudes: Magnitudes) -> Flags:
        """Tell which cells are sensitive.

        Parameters
        ----------
        magnitudes
            The amounts.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from tables import Request, StoredKeys, cube, open_source
        >>> key = pa.array(range(4), pa.uint8())
        >>> turnover = [5.0, 5.0, 4.0, 1.0]
        >>> firms = pa.table({"town": [*"ABBB"], "turnover": turnover, "key": key})
        >>> request = Request(dimensions=["town"], sums=["turnover"], top=6)
        >>> with open_source(firms) as source:
        ...     (cells,) = cube(source, StoredKeys(column="key"), [request])
        >>> FewContributors(least=3).holds(cells.magnitudes["turnover"]).tolist()
        [True, False, False]
        """
        few = magnitudes.contributors < self.least
        return np.asarray(few & (magnitudes.contributors > 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Dominance:
    """Cells whose `n` largest contributors hold more than a share of the total: the nk rule.

    Parameters
    ----------
    n
        How many contributors, at least 1.
    percent
        The share, in per cent, from above 0 to below 100.
    weighted
        Whether the total is the weighted one, for weights that nobody knows.

    Notes
    -----
    ``x_1 + ... + x_n > k / 100 X``.

    References
    ----------
    Handbook on Statistical Disclosure Control, 2nd ed., chapter 4: sensitivity rules.

    Examples
    --------
    >>> Dominance(n=2, percent=85).n_top
    2
    """

    n: int
    percent: float
    weighted: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", _whole("n", self.n, 1))
        object.__setattr__(self, "percent", _percent("percent", self.percent))

    @property
    def n_top(self) -> int:
        """How many of the largest contributors the condition looks at.

        Examples
        --------
        >>> Dominance(n=2, percent=85).n_top
        2
        """
        return self.n

    def holds(self, magnitudes: Magnitudes) -> Flags:
        """Tell which cells are sensitive.

        Parameters
        ----------
        magnitudes
            The amounts, none negative.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from tables import Request, StoredKeys, cube, open_source
        >>> key = pa.array(range(4), pa.uint8())
        >>> turnover = [9.0, 1.0, 5.0, 5.0]
        >>> firms = pa.table({"town": [*"AABB"], "turnover": turnover, "key": key})
        >>> request = Request(dimensions=["town"], sums=["turnover"], top=6)
        >>> with open_source(firms) as source:
        ...     (cells,) = cube(source, StoredKeys(column="key"), [request])
        >>> Dominance(n=1, percent=80).holds(cells.magnitudes["turnover"]).tolist()
        [True, False, False]
        """
        total, top = _parts(magnitudes, self.n, weighted=self.weighted)
        return np.asarray(100 * top.sum(axis=1) > self.percent * total)


@dataclass(frozen=True, slots=True, kw_only=True)
class PPercent:
    """Cells in which the second largest contributor can estimate the largest too well.

    Parameters
    ----------
    percent
        The nearness of the estimate, in per cent of the largest contributor, from above 0 to
        below 100.
    weighted
        Whether the total is the weighted one, for weights that nobody knows.

    Notes
    -----
    ``X - x_1 - x_2 < p / 100 x_1``: the p % rule.

    References
    ----------
    Handbook on Statistical Disclosure Control, 2nd ed., chapter 4: sensitivity rules.

    Examples
    --------
    >>> PPercent(percent=10).n_top
    2
    """

    percent: float
    weighted: bool = False
    n_top: ClassVar[int] = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "percent", _percent("percent", self.percent))

    def holds(self, magnitudes: Magnitudes) -> Flags:
        """Tell which cells are sensitive.

        Parameters
        ----------
        magnitudes
            The amounts, none negative.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from tables import Request, StoredKeys, cube, open_source
        >>> key = pa.array(range(6), pa.uint8())
        >>> turnover = [90.0, 9.0, 1.0, 5.0, 5.0, 1.0]
        >>> firms = pa.table({"town": [*"AAABBB"], "turnover": turnover, "key": key})
        >>> request = Request(dimensions=["town"], sums=["turnover"], top=6)
        >>> with open_source(firms) as source:
        ...     (cells,) = cube(source, StoredKeys(column="key"), [request])
        >>> PPercent(percent=10).holds(cells.magnitudes["turnover"]).tolist()
        [True, False, False]
        """
        return _estimated(magnitudes, self.percent / 100, weighted=self.weighted)


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorPosterior:
    """Cells in which what was known within `prior` per cent becomes known too well.

    Parameters
    ----------
    posterior
        The nearness of the estimate after publication, ``p``, in per cent.
    prior
        The nearness of everybody's estimate before it, ``q``, in per cent, above `posterior`.
    weighted
        Whether the total is the weighted one, for weights that nobody knows.

    Notes
    -----
    ``q (X - x_1 - x_2) < p x_1``: the p-q rule. With q = 100 it is the p % rule.

    References
    ----------
    Handbook on Statistical Disclosure Control, 2nd ed., chapter 4: sensitivity rules.

    Examples
    --------
    >>> PriorPosterior(posterior=10, prior=50).n_top
    2
    """

    posterior: float
    prior: float
    weighted: bool = False
    n_top: ClassVar[int] = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "posterior", _percent("posterior", self.posterior))
        object.__setattr__(self, "prior", _percent("prior", self.prior, most=100.0))
        if self.posterior >= self.prior:
            raise ConfigError(
                Message(
                    "posterior must be below prior, not {posterior:g} with {prior:g}.",
                    posterior=self.posterior,
                    prior=self.prior,
                )
            )

    def holds(self, magnitudes: Magnitudes) -> Flags:
        """Tell which cells are sensitive.

        Parameters
        ----------
        magnitudes
            The amounts, none negative.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from tables import Request, StoredKeys, cube, open_source
        >>> key = pa.array(range(6), pa.uint8())
        >>> turnover = [80.0, 9.0, 11.0, 50.0, 20.0, 11.0]
        >>> firms = pa.table({"town": [*"AAABBB"], "turnover": turnover, "key": key})
        >>> request = Request(dimensions=["town"], sums=["turnover"], top=6)
        >>> with open_source(firms) as source:
        ...     (cells,) = cube(source, StoredKeys(column="key"), [request])
        >>> rule = PriorPosterior(posterior=10, prior=50)
        >>> rule.holds(cells.magnitudes["turnover"]).tolist()
        [True, False, False]
        """
        return _estimated(magnitudes, self.posterior / self.prior, weighted=self.weighted)


Condition: TypeAlias = FewContributors | Dominance | PPercent | PriorPosterior


def sensitive_cells(magnitudes: Magnitudes, conditions: Iterable[Condition]) -> Flags:
    """Tell which cells are sensitive under any of several conditions, or named.

    Parameters
    ----------
    magnitudes
        The amounts.
    conditions
        The conditions; without any, only named cells are sensitive.

    Raises
    ------
    MagnitudeError
        If a condition needs more of the largest contributors than there are, or amounts that
        are not negative.

    Notes
    -----
    Unless `weighted`, totals are unweighted, as if the weights were known: the answer to be
    expected of a neighbour who knows that a record stands for ten.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from tables import Request, StoredKeys, cube, open_source
    >>> key = pa.array(range(7), pa.uint8())
    >>> turnover = [5.0, 5.0, 4.0, 3.0, 90.0, 9.0, 1.0]
    >>> firms = pa.table({"town": [*"ABBBCCC"], "turnover": turnover, "key": key})
    >>> request = Request(dimensions=["town"], sums=["turnover"], top=6)
    >>> with open_source(firms) as source:
    ...     (cells,) = cube(source, StoredKeys(column="key"), [request])
    >>> conditions = [FewContributors(least=2), PPercent(percent=5)]
    >>> sensitive_cells(cells.magnitudes["turnover"], conditions).tolist()
    [True, False, True, False]
    """
    is_sensitive = np.zeros(len(magnitudes), np.bool_)
    for condition in conditions:
        is_sensitive |= condition.holds(magnitudes)
    is_sensitive |= magnitudes.named
    return is_sensitive & (magnitudes.contributors > 0)


def _estimated(magnitudes: Magnitudes, share: float, *, weighted: bool) -> Flags:
    total, top = _parts(magnitudes, 2, weighted=weighted)
    return np.asarray(total - top[:, 0] - top[:, 1] < share * top[:, 0])


def _parts(magnitudes: Magnitudes, n: int, *, weighted: bool) -> tuple[Floats, Floats]:
    """Give totals and the largest values of every cell, or refuse."""
    top, _ = largest_contributions(magnitudes, n, of="condition")
    if bool((magnitudes.low < 0).any()):
        raise MagnitudeError(
            Message(
                "The variable {variable!r} has negative values; dominance, p % and p-q are "
                "rules for amounts that are not negative.",
                variable=Name(magnitudes.variable),
            ),
            hint=Message("use FewContributors alone, or tabulate gains and losses apart"),
        )
    return magnitudes.total if weighted else magnitudes.raw_total, top


def largest_contributions(magnitudes: Magnitudes, n: int, *, of: str) -> tuple[Floats, Floats]:
    """Give the largest values of every cell and their weights, 0 where there are fewer."""
    n_top = magnitudes.top.shape[1]
    if n_top < n and bool((magnitudes.contributors > n_top).any()):
        raise MagnitudeError(
            Message(
                "The {of} needs the {number} largest contributors of {variable!r}; there "
                "are {held}.",
                of=said(of),
                number=n,
                variable=Name(magnitudes.variable),
                held=n_top,
            ),
            hint=Message("ask the aggregation for as many as the noise's n_top says"),
        )
    lacking = ((0, 0), (0, max(n - n_top, 0)))
    values, weights = (
        np.pad(part[:, :n], lacking) for part in (magnitudes.top, magnitudes.top_weight)
    )
    return values, weights


def _whole(name: str, value: object, least: int) -> int:
    return require_integer(value, name, error=ConfigError, minimum=least)


def _percent(name: str, value: object, *, most: float = 99.999999) -> float:
    if not is_number(value, above=0, maximum=most):
        raise ConfigError(
            Message(
                "{name} must be a per cent above 0 and below 100, not {value!r}.",
                name=Name(name),
                value=Argument(value),
            )
        )
    return float(value)  # type: ignore[arg-type]
