"""What is public before anything is measured: rules, published tables, what matters."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from synth.errors import SynthError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["Published", "Rule", "coarse_table", "patterns_of", "workload_weights"]

Columns = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Rule:
    """Combinations of codes that no record has, and none shall have.

    Parameters
    ----------
    columns
        Their columns, ascending.
    forbidden
        A truth value for each combination, one axis a column.

    Examples
    --------
    A child is not married:

    >>> rule = Rule(columns=(0, 1), forbidden=np.array([[False, True], [False, False]]))
    >>> int(rule.forbidden.sum())
    1
    """

    columns: Columns
    forbidden: NDArray[np.bool_]

    def __post_init__(self) -> None:
        _check_columns(self.columns, np.ndim(self.forbidden))
        object.__setattr__(self, "forbidden", np.asarray(self.forbidden, bool))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Published:
    """A table that is public already. To use it costs nothing.

    Parameters
    ----------
    columns
        Its columns, ascending.
    counts
        Its counts, one axis a column.
    deviation
        Standard deviation of the noise that it was published with, 0 for none.

    Examples
    --------
    >>> Published(columns=(2,), counts=np.array([10, 20])).deviation
    0.0
    """

    columns: Columns
    counts: NDArray[np.float64]
    deviation: float = 0.0

    def __post_init__(self) -> None:
        _check_columns(self.columns, np.ndim(self.counts))
        counts = np.asarray(self.counts, np.float64)
        if not np.isfinite(counts).all() or not 0 <= self.deviation < np.inf:
            raise SynthError("A published table has finite counts and a finite deviation.")
        object.__setattr__(self, "counts", counts)


def patterns_of(column: int, *, size: int, rules: Sequence[Rule]) -> NDArray[np.int64]:
    """Return equal numbers for codes that all rules treat alike."""
    kinds = np.zeros(size, np.int64)
    for rule in rules:
        if column in rule.columns:
            axis = rule.columns.index(column)
            rows = np.moveaxis(rule.forbidden, axis, 0).reshape(size, -1)
            _, kind = np.unique(rows, axis=0, return_inverse=True)
            _, kinds = np.unique(kinds * size + kind.ravel(), return_inverse=True)
    return kinds


def coarse_table(
    table: NDArray[np.float64], groups: Sequence[NDArray[np.int64]]
) -> NDArray[np.float64]:
    """Sum a table over the groups of each axis."""
    for axis, group in enumerate(groups):
        moved = np.moveaxis(table, axis, 0)
        summed = np.zeros((int(group.max()) + 1, *moved.shape[1:]))
        np.add.at(summed, group, moved)
        table = np.moveaxis(summed, 0, axis)
    return table


def workload_weights(
    columns: int, *, workload: Mapping[Columns, float] | None = None, label: int | None = None
) -> dict[Columns, float]:
    """Return the weight of each table that the model should get right."""
    if workload is None:
        pairs = combinations(range(columns), 2)
        return {pair: 2.0 if label in pair else 1.0 for pair in pairs}
    weights: dict[Columns, float] = {}
    for given, weight in workload.items():
        one = tuple(sorted(set(given)))
        if len(one) < 2 or not 0 <= one[0] <= one[-1] < columns or not 0 < weight < 1e6:
            raise SynthError(
                f"A table of the workload has 2 or more of the columns 0 to {columns - 1} and "
                f"a positive weight, not {given} with {weight:g}.",
            )
        for part in dict.fromkeys([one, *combinations(one, 2)]):
            weights[part] = weights.get(part, 0.0) + float(weight)
    return weights


def _check_columns(columns: Columns, axes: int) -> None:
    if len(columns) != axes or list(columns) != sorted(set(columns)) or not columns:
        raise SynthError(
            f"Columns are ascending, one for each axis of the table; {columns} has {axes} axes."
        )
