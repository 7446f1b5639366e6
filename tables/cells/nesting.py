"""What the columns of a hierarchy hold that whoever nested them may not expect."""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import TYPE_CHECKING

from tables.errors import DataWarning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tables.cells.axes import Axis
    from tables.source.source import Source


def warn_of_nesting(source: Source, axis: Axis, *, missing_label: str) -> None:
    """Warn once of levels with categories in several of the level above, or in none of it.

    Their number is told, and none of them.

    Parameters
    ----------
    source
        Where the records are; it remembers what was said.
    axis
        The categories of a dimension.
    missing_label
        What stands for a missing category.
    """
    for text in _cautions(axis, missing_label=missing_label):
        mark = ("nesting", text)
        if mark not in source.sound:
            source.sound[mark] = True
            warnings.warn(DataWarning(text), stacklevel=2)


def _cautions(axis: Axis, *, missing_label: str) -> Iterator[str]:
    """Say which levels do not nest; what was declared is as somebody wants it."""
    if axis.is_declared or len(axis.columns) != len(axis.levels) - 1:
        return
    for depth, (above, column) in enumerate(pairwise(axis.columns), start=1):
        ranks = axis.levels[len(axis.columns) - 1 - depth].ranks
        parts = [labels[ranks] for labels in axis.labels[: depth + 1]]
        parents: dict[str, set[tuple[str, ...]]] = {}
        apart: set[str] = set()  # without a value of the level above
        for *path, code in zip(*parts, strict=True):
            if code != missing_label and path[-1] != missing_label:
                parents.setdefault(code, set()).add(tuple(path))
            elif code != missing_label:
                apart.add(code)
        if several := sum(len(paths) > 1 for paths in parents.values()):
            yield (
                f"Categories of {column!r} that lie in more than one of {above!r}: "
                f"{several:,}. Each is published once in each of them."
            )
        if apart:
            yield (
                f"Categories of {column!r} with records that have no value of {above!r}: "
                f"{len(apart):,}. These records are published apart from the others."
            )
