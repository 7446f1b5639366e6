"""k-anonymity, l-diversity and t-closeness of records as they are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from risk.anonymity.distances import equal_distances, ordered_distances
from risk.anonymity.groups import as_pandas, columns_of, group_numbers
from risk.errors import RiskError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

    Distance = Literal["equal", "ordered"]

__all__ = ["Anonymity", "Diversity", "audit_anonymity"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Diversity:
    """Hold what groups tell of a sensitive column; for inside use only.

    Parameters
    ----------
    distinct
        Per group the number of sensitive categories.
    entropy
        Per group the exponential of the entropy of its categories: how many equally frequent
        ones would have the same.
    largest
        Per group the number of records with its most frequent category.
    excluded
        Per group how many categories of the whole file do not occur.
    distance
        Per group the earth mover's distance of its categories from those of the whole file.
    counts
        Per group and category present: group, then records, most frequent first.

    Examples
    --------
    >>> records = {"zone": ["A", "A", "B", "B"], "ill": ["x", "x", "x", "y"]}
    >>> found = audit_anonymity(records, quasi_identifiers=["zone"], sensitive="ill")
    >>> found.diversity.distinct
    array([1, 2])
    """

    distinct: NDArray[np.int64]
    entropy: NDArray[np.float64]
    largest: NDArray[np.int64]
    excluded: NDArray[np.int64]
    distance: NDArray[np.float64]
    counts: tuple[NDArray[np.int64], NDArray[np.int64]]

    @property
    def l_distinct(self) -> int:
        """The least number of sensitive categories in a group.

        Examples
        --------
        >>> records = {"zone": ["A", "A"], "ill": ["x", "y"]}
        >>> audit_anonymity(
        ...     records, quasi_identifiers=["zone"], sensitive="ill"
        ... ).diversity.l_distinct
        2
        """
        return int(self.distinct.min())

    @property
    def l_entropy(self) -> float:
        """The largest l for which entropy l-diversity holds; not a whole number as a rule.

        Examples
        --------
        >>> records = {"zone": ["A", "A"], "ill": ["x", "y"]}
        >>> audit_anonymity(
        ...     records, quasi_identifiers=["zone"], sensitive="ill"
        ... ).diversity.l_entropy
        2.0
        """
        return float(self.entropy.min())

    @property
    def t(self) -> float:
        """The largest distance of a group: t-closeness holds for every t not below it.

        Examples
        --------
        >>> records = {"zone": ["A", "A", "B", "B"], "ill": ["x", "x", "y", "y"]}
        >>> audit_anonymity(records, quasi_identifiers=["zone"], sensitive="ill").diversity.t
        0.5
        """
        return float(self.distance.max())

    @property
    def n_homogeneous(self) -> int:
        """How many groups have one sensitive category: who is in it is known to have it.

        Examples
        --------
        >>> records = {"zone": ["A", "A", "B", "B"], "ill": ["x", "x", "x", "y"]}
        >>> audit_anonymity(
        ...     records, quasi_identifiers=["zone"], sensitive="ill"
        ... ).diversity.n_homogeneous
        1
        """
        return int((self.distinct == 1).sum())

    def least_c(self, l: int) -> float:  # noqa: E741  (the letter of the literature)
        """Find the bound that c must exceed for recursive (c, l)-diversity.

        Parameters
        ----------
        l
            From 1 on.

        Returns
        -------
        float
            The largest ``r_1 / (r_l + ... + r_m)`` of a group, where ``r`` are the numbers of
            records per category, most frequent first; infinite where a group has fewer than
            `l` categories.

        Examples
        --------
        >>> records = {"zone": ["A"] * 4, "ill": ["x", "x", "x", "y"]}
        >>> audit_anonymity(
        ...     records, quasi_identifiers=["zone"], sensitive="ill"
        ... ).diversity.least_c(2)
        3.0
        """
        if l < 1:
            raise RiskError(f"l must be at least 1, not {l}.")
        group, n = self.counts
        starts = np.searchsorted(group, np.arange(len(self.largest)))
        rank = np.arange(len(group)) - starts[group]
        tail = np.bincount(group, np.where(rank >= l - 1, n, 0), minlength=len(starts))
        if (tail == 0).any():
            return math.inf
        return float((self.largest / tail).max())

    def __repr__(self) -> str:
        return "Diversity(…)"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Anonymity:
    """Hold the audit of quasi-identifiers and perhaps a sensitive column; for inside use only.

    Parameters
    ----------
    sizes
        Records per group, a group being a combination of quasi-identifiers that occurs.
    groups
        The combinations, one line per group.
    disclosed
        Per group its only sensitive category, or an empty text where it has several or where
        there is no sensitive column.
    diversity
        What groups tell of the sensitive column; None without one.

    Examples
    --------
    >>> records = {"age": ["18-30", "18-30", "60+", "60+"], "ill": ["x", "y", "z", "z"]}
    >>> found = audit_anonymity(records, quasi_identifiers=["age"], sensitive="ill")
    >>> found
    Anonymity(…)
    >>> found.k, found.diversity.l_distinct, found.disclosed
    (2, 1, ('', 'z'))
    """

    sizes: NDArray[np.int64]
    groups: pd.DataFrame
    disclosed: tuple[Any, ...]
    diversity: Diversity | None

    @property
    def k(self) -> int:
        """The size of the smallest group; nobody is identified with more than ``1 / k``.

        Examples
        --------
        >>> audit_anonymity({"age": [1, 1, 2]}, quasi_identifiers=["age"]).k
        1
        """
        return int(self.sizes.min())

    @property
    def n_unique(self) -> int:
        """How many records are alone with their quasi-identifiers.

        Examples
        --------
        >>> audit_anonymity({"age": [1, 1, 2]}, quasi_identifiers=["age"]).n_unique
        1
        """
        return int((self.sizes == 1).sum())

    @property
    def expected_identified(self) -> float:
        """How many records a random choice within each group identifies: one per group.

        Examples
        --------
        >>> audit_anonymity({"age": [1, 1, 2]}, quasi_identifiers=["age"]).expected_identified
        2.0
        """
        return float(len(self.sizes))

    def n_at_risk(self, k: int) -> int:
        """Count the records in groups of fewer than k.

        Parameters
        ----------
        k
            The size wanted.

        Examples
        --------
        >>> audit_anonymity({"age": [1, 1, 2]}, quasi_identifiers=["age"]).n_at_risk(3)
        3
        """
        return int(self.sizes[self.sizes < k].sum())

    def to_frame(self) -> pd.DataFrame:
        """Give one line per group, quasi-identifiers included.

        Examples
        --------
        >>> found = audit_anonymity({"age": [1, 1, 2]}, quasi_identifiers=["age"])
        >>> found.to_frame()["n_records"].tolist()
        [2, 1]
        """
        frame = self.groups.copy()
        frame["n_records"] = self.sizes
        if self.diversity is not None:
            for name in ("distinct", "entropy", "largest", "excluded", "distance"):
                frame[name] = getattr(self.diversity, name)
            frame["disclosed"] = list(self.disclosed)
        return frame

    def __repr__(self) -> str:
        return "Anonymity(…)"


def audit_anonymity(
    frame: Any,
    *,
    quasi_identifiers: Sequence[str],
    sensitive: str | None = None,
    distance: Distance = "equal",
    order: Sequence[Any] | None = None,
) -> Anonymity:
    """Compute k-anonymity, and l-diversity and t-closeness of a sensitive column.

    Parameters
    ----------
    frame
        pandas, polars or Arrow records, or a mapping of columns.
    quasi_identifiers
        Columns an intruder may know; missing is a category of its own.
    sensitive
        The column to protect; missing is a category of its own.
    distance
        Between two sensitive categories: ``"equal"``, all 1 apart; or ``"ordered"``, as far
        as their ranks among the ``m`` categories of the file, over ``m - 1``.
    order
        The categories in order, for texts with ``distance="ordered"``; numbers and ordered
        categories have their own. Missing comes last.

    Notes
    -----
    Entropy l-diversity holds where ``- sum p ln p >= ln l`` in every group, recursive
    (c, l)-diversity where ``r_1 < c (r_l + ... + r_m)``.

    References
    ----------
    P. Samarati, L. Sweeney (1998); A. Machanavajjhala et al. (2007), l-diversity, ACM TKDD 1;
    N. Li, T. Li, S. Venkatasubramanian (2007), t-closeness, ICDE.

    Examples
    --------
    >>> records = {"age": [1, 1, 2, 2], "pay": [3, 4, 5, 6]}
    >>> found = audit_anonymity(
    ...     records, quasi_identifiers=["age"], sensitive="pay", distance="ordered"
    ... )
    >>> found.k, round(found.diversity.t, 3)
    (2, 0.333)
    """
    if not quasi_identifiers:
        raise RiskError("The audit needs at least one quasi-identifier.")
    if distance not in {"equal", "ordered"}:
        raise RiskError(f"distance must be 'equal' or 'ordered', not {distance!r}.")
    table = as_pandas(frame)
    columns = columns_of(table, quasi_identifiers)
    numbers, first = group_numbers([column.codes for column in columns])
    groups = table[list(quasi_identifiers)].iloc[first].reset_index(drop=True)
    sizes = np.bincount(numbers)
    if sensitive is None:
        return Anonymity(
            sizes=sizes, groups=groups, disclosed=("",) * len(sizes), diversity=None
        )
    (column,) = columns_of(table, [sensitive])
    codes, categories = column.codes, column.categories
    if distance == "ordered":
        codes, categories = _ordered(column.codes, column, order)
    n_categories = len(categories)
    pairs, n = np.unique(numbers * n_categories + codes, return_counts=True)
    group, category = pairs // n_categories, pairs % n_categories
    share = n / sizes[group]
    whole = np.bincount(codes, minlength=n_categories) / len(codes)
    measure = ordered_distances if distance == "ordered" else equal_distances
    distinct = np.bincount(group)
    by_size = np.lexsort((-n, group))
    start = np.searchsorted(group, np.arange(len(sizes)))
    disclosed = tuple(
        categories[c] if d == 1 else ""
        for c, d in zip(category[start].tolist(), distinct.tolist(), strict=True)
    )
    return Anonymity(
        sizes=sizes,
        groups=groups,
        disclosed=disclosed,
        diversity=Diversity(
            distinct=distinct,
            entropy=np.exp(np.bincount(group, -share * np.log(share))),
            largest=n[by_size][start],
            excluded=n_categories - distinct,
            distance=measure(group, category, counts=n, whole=whole),
            counts=(group[by_size], n[by_size]),
        ),
    )


def _ordered(
    codes: NDArray[np.int64], column: Any, order: Sequence[Any] | None
) -> tuple[NDArray[np.int64], tuple[Any, ...]]:
    """Renumber the categories in the order given."""
    if order is None:
        if not column.has_order:
            raise RiskError(
                "The sensitive categories have no order of their own.",
                hint="give order=[…], or distance='equal'",
            )
        return codes, column.categories
    known = [c for c in column.categories if c is not None]
    if len(set(order)) != len(order) or not set(known) <= set(order):
        raise RiskError("order must name every sensitive category of the file once.")
    kept = [c for c in order if c in set(known)]
    labels = kept + [None] * (len(column.categories) - len(known))
    place = np.array([labels.index(c) for c in column.categories])
    return place[codes], tuple(labels)
