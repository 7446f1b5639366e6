"""Columns with many numbers in few bins, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from synth.baselines.coded import CodedColumn


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Binned:
    """Codes of few bins.

    Parameters
    ----------
    codes
        One row per record.
    sizes
        How many bins each column has.
    members
        Per column the bin of each value.
    """

    codes: NDArray[np.int64]
    sizes: tuple[int, ...]
    members: tuple[NDArray[np.int64], ...]

    def spread(
        self, drawn: NDArray[np.int64], rng: np.random.Generator
    ) -> list[NDArray[np.int64]]:
        """Turn bins into values, each value of a bin alike."""
        found = []
        for k, bin_of in enumerate(self.members):
            order = np.argsort(bin_of, kind="stable")
            start = np.searchsorted(bin_of[order], np.arange(self.sizes[k]))
            many = np.bincount(bin_of, minlength=self.sizes[k])
            within = (rng.random(len(drawn)) * many[drawn[:, k]]).astype(np.int64)
            found.append(order[start[drawn[:, k]] + within])
        return found


def bin_columns(columns: Sequence[CodedColumn], *, most: int = 20) -> Binned:
    """Put numbers of many values into bins of equal width."""
    members = []
    for column in columns:
        bin_of = np.arange(column.size)
        if column.is_numeric and column.size > most:
            known = [value for value in column.domain if value is not None]
            numbers = np.array(known, dtype=np.float64)
            edges = np.linspace(numbers[0], numbers[-1], most + 1)[1:-1]
            raw = np.searchsorted(edges, numbers, side="left")
            if len(known) < column.size:
                raw = np.append(raw, most)
            _, bin_of = np.unique(raw, return_inverse=True)  # bins without values are left out
        members.append(np.asarray(bin_of, dtype=np.int64))
    return Binned(
        codes=np.column_stack(
            [bin_of[one.codes] for bin_of, one in zip(members, columns, strict=True)]
        ),
        sizes=tuple(int(bin_of.max()) + 1 for bin_of in members),
        members=tuple(members),
    )
