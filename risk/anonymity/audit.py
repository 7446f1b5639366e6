"""k-anonymity, l-diversity and t-closeness of records as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from footing.messages import Message, Name
from risk.anonymity.diversity import Diversity, equal_distances, ordered_distances
from risk.anonymity.groups import as_pandas, columns_of, group_numbers
from risk.errors import RiskError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

    Distance = Literal["equal", "ordered"]


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
    """

    sizes: NDArray[np.int64]
    groups: pd.DataFrame
    disclosed: tuple[Any, ...]
    diversity: Diversity | None

    @property
    def k(self) -> int:
        """The size of the smallest group; nobody is identified with more than ``1 / k``."""
        return int(self.sizes.min())

    @property
    def n_unique(self) -> int:
        """How many records are alone with their quasi-identifiers."""
        return int((self.sizes == 1).sum())

    def to_frame(self) -> pd.DataFrame:
        """Give one line per group, quasi-identifiers included."""
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

    Notes
    -----
    Entropy l-diversity holds where ``- sum p ln p >= ln l`` in every group.

    References
    ----------
    P. Samarati, L. Sweeney (1998); A. Machanavajjhala et al. (2007), l-diversity, ACM TKDD 1;
    N. Li, T. Li, S. Venkatasubramanian (2007), t-closeness, ICDE.
    """
    if not quasi_identifiers:
        raise RiskError(Message("The audit needs at least one quasi-identifier."))
    if distance not in {"equal", "ordered"}:
        raise RiskError(
            Message(
                "distance must be 'equal' or 'ordered', not {distance!r}.",
                distance=Name(distance),
            )
        )
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
        ),
    )


def _ordered(
    codes: NDArray[np.int64], column: Any, order: Sequence[Any] | None
) -> tuple[NDArray[np.int64], tuple[Any, ...]]:
    """Renumber the categories in the order given."""
    if order is None:
        if not column.has_order:
            raise RiskError(
                Message("The sensitive categories have no order of their own."),
                hint=Message("give order=[…], or distance='equal'"),
            )
        return codes, column.categories
    categories = [c for c in column.categories if c is not None]
    if len(set(order)) != len(order) or not set(categories) <= set(order):
        raise RiskError(Message("order must name every sensitive category of the file once."))
    in_order = [c for c in order if c in set(categories)]
    labels = in_order + [None] * (len(column.categories) - len(categories))
    place = np.array([labels.index(c) for c in column.categories])
    return place[codes], tuple(labels)
