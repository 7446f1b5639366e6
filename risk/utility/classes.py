"""Sets of cells: classes of their original count, and groups that the caller names."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from risk.errors import RiskError
from risk.utility.pairs import Pairs

Classes: TypeAlias = "Mapping[str, tuple[int, int | None]]"

#: Name of a class → its least and its greatest original count; INSEE's small and large cells.
CLASSES: Classes = MappingProxyType({"small": (1, 20), "medium": (21, 50), "large": (51, None)})

_MAX_VALUES = 1000


def checked_classes(classes: Classes) -> Classes:
    """Check classes of counts and give them back."""
    problems = [
        f"{name!r} runs from {low} to {high}"
        for name, (low, high) in classes.items()
        if low < 0 or (high is not None and high < low)
    ]
    if "all" in classes:
        problems.append("'all' is the name of all cells")
    if problems:
        raise RiskError(
            "A class must run from a count of at least 0 to one no smaller: "
            + "; ".join(problems)
            + ".",
            hint="for example {'small': (1, 20), 'large': (51, None)}",
        )
    return classes


def class_cells(pairs: Pairs, classes: Classes) -> Iterator[tuple[str, Pairs]]:
    """Give all cells, and those of each class."""
    yield "all", pairs
    for name, (low, high) in classes.items():
        inside = pairs.o >= low
        if high is not None:
            inside &= pairs.o <= high
        yield name, pairs.take(inside)


def group_cells(
    groups: Mapping[str, ArrayLike], n_cells: int
) -> Iterator[tuple[str, str, NDArray[np.int64]]]:
    """Give the positions of the cells of every value of every group."""
    labels = {name: np.asarray(values).ravel() for name, values in groups.items()}
    problems = [
        f"{name!r} has {len(values)} labels for {n_cells} cells"
        for name, values in labels.items()
        if len(values) != n_cells
    ]
    if "all" in labels:
        problems.append("'all' is the name of all cells")
    coded = {}
    if not problems:
        coded = {name: _codes(values) for name, values in labels.items()}
        problems = [
            f"{name!r} has {len(values)} values, more than {_MAX_VALUES}"
            for name, (_, values) in coded.items()
            if len(values) > _MAX_VALUES
        ]
        problems += [
            f"{name!r} has missing labels" for name, (codes, _) in coded.items() if -1 in codes
        ]
    if problems:
        raise RiskError(
            "A group must give one label per cell: " + "; ".join(problems) + ".",
            hint="give aligned arrays of labels, with a word of their own for missing ones",
        )
    for name, (codes, values) in coded.items():
        order = np.argsort(codes, kind="stable")
        ends = np.cumsum(np.bincount(codes, minlength=len(values)))
        starts = [0, *ends[:-1].tolist()] if len(ends) else []
        for value, start, end in zip(values, starts, ends.tolist(), strict=True):
            yield name, value, order[start:end]


def _codes(labels: NDArray[np.generic]) -> tuple[NDArray[np.int64], list[str]]:
    """Give every label its number in the order of their values."""
    import pandas as pd

    codes, values = pd.factorize(labels)
    words = [str(value) for value in values]
    order = sorted(range(len(words)), key=lambda k: (_as_number(values[k]), words[k]))
    place = np.empty(len(words) + 1, dtype=np.int64)
    place[order] = np.arange(len(words))
    place[-1] = -1
    return place[codes], [words[k] for k in order]


def _as_number(value: object) -> float:
    """Sort whole numbers by size and before texts."""
    return float(value) if isinstance(value, (int, np.integer)) else float("inf")
