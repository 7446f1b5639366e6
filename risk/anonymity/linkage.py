"""Linkage: from what is known of a person to what is not."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footing.messages import Message
from risk.anonymity.groups import as_pandas, columns_of, group_numbers
from risk.errors import RiskError


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Links:
    """Hold what linking two files by quasi-identifiers gives; for inside use only.

    Parameters
    ----------
    n_records
        Records of the file attacked.
    n_unique
        How many of them are alone with their quasi-identifiers in that file.
    n_matched
        How many have at least one record of the other file with the same ones.
    n_unique_in_both
        How many are alone with theirs in both files, so that there is one link.
    n_known_alike
        How many records of the other file have the quasi-identifiers of one alone in the first.
    expected_correct
        The expected number of correct links when every matched record is linked to one of the
        records alike, at random.
    n_correct_unique
        How many of the links between records alone in both files are correct; None without
        identities.
    """

    n_records: int
    n_unique: int
    n_matched: int
    n_unique_in_both: int
    n_known_alike: int
    expected_correct: float
    n_correct_unique: int | None

    def __repr__(self) -> str:
        return "Links(…)"


def link(
    released: Any,
    known: Any,
    *,
    quasi_identifiers: Sequence[str],
    identity: str | None = None,
) -> Links:
    """Link a released file with one an intruder knows, by columns that both have.

    A released record with ``m`` records alike in the known file is linked correctly with
    probability ``1 / m`` if its own is among them, else never.
    """
    import pandas as pd

    if not quasi_identifiers:
        raise RiskError(Message("Linking needs at least one quasi-identifier."))
    names = list(quasi_identifiers) + ([identity] if identity else [])
    left, right = as_pandas(released), as_pandas(known)
    columns_of(left, names)
    columns_of(right, names)
    n_left = len(left)
    both = {
        name: pd.concat(
            [left[name].astype(object), right[name].astype(object)], ignore_index=True
        )
        for name in names
    }
    columns = columns_of(both, names)
    groups, first = group_numbers([c.codes for c in columns[: len(quasi_identifiers)]])
    here, there = groups[:n_left], groups[n_left:]
    n_here = np.bincount(here, minlength=len(first))[here]
    n_there = np.bincount(there, minlength=len(first))[here]
    is_single = (n_here == 1) & (n_there == 1)
    is_among = n_there > 0
    if identity:
        is_among &= _own_is_alike(columns[-1].codes, groups, n_left)
    return Links(
        n_records=n_left,
        n_unique=int((n_here == 1).sum()),
        n_matched=int((n_there > 0).sum()),
        n_unique_in_both=int(is_single.sum()),
        n_known_alike=int(n_there[n_here == 1].sum()),
        expected_correct=float((1 / n_there[is_among]).sum()),
        n_correct_unique=int((is_single & is_among).sum()) if identity else None,
    )


def _own_is_alike(
    identities: NDArray[np.int64], groups: NDArray[np.int64], n_left: int
) -> NDArray[np.bool_]:
    """Tell which left records have their own right record in their group."""
    right = identities[n_left:]
    if len(np.unique(right)) < len(right):
        raise RiskError(Message("The identity must be unique in the known file; some repeat."))
    group_of = np.full(int(identities.max()) + 1, -1, dtype=np.int64)
    group_of[right] = groups[n_left:]
    is_alike: NDArray[np.bool_] = group_of[identities[:n_left]] == groups[:n_left]
    return is_alike
