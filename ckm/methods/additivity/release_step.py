"""Additivity in a release: tables of noisy counts changed again until they add up.

It happens after the cell key method and uses nothing but the published table; the original
counts serve to measure, for inside use, what it changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ckm.engine.published_table import measure_columns, table_of
from ckm.errors import ReleaseError
from ckm.methods.additivity.effect import RestorationEffect, measure_restoration
from ckm.methods.additivity.restore import restore_additivity
from footing.messages import Message, Name, said
from footing.serialisation import plain_fields

if TYPE_CHECKING:
    from ckm.engine.protection import Protected
    from ckm.engine.published_table import PublishedTable
    from ckm.methods.settings import AdditivitySettings
    from footing.arrays import Integers


_MEASURE = "mean:original"  # one that decides of no row


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Change:
    """What restoring additivity changed in one table; for inside use only.

    Pairs are of the table before and after.

    Parameters
    ----------
    cells, changed, largest
        How many cells there are, how many have another number now, and the largest change.
    deviation
        The mean distance of a number from its original count, over cells with records.
    read_right
        The share of cells with records whose number is the original count.
    effect
        What `measure_restoration` finds; None for a table without records.

    Examples
    --------
    >>> Change(
    ...     cells=3,
    ...     changed=2,
    ...     largest=1,
    ...     deviation=(1.0, 0.7),
    ...     read_right=(0.3, 0.3),
    ...     effect=None,
    ... )
    Change(…)
    """

    cells: int
    changed: int
    largest: int
    deviation: tuple[float, float]
    read_right: tuple[float, float]
    effect: RestorationEffect | None

    def __repr__(self) -> str:
        return "Change(…)"


class Restorer:
    """Makes tables add up, and measures what that changed.

    Parameters
    ----------
    settings
        What decides which table is the nearest.
    with_effect
        Measure what an intruder finds out, which takes longer than all else.
    """

    def __init__(self, settings: AdditivitySettings, *, with_effect: bool = True) -> None:
        self.settings, self._with_effect = settings, with_effect
        self.changes: dict[str, Change] = {}

    def restore(self, protected: Protected) -> PublishedTable:
        """Return the nearest table of whole numbers, or of multiples, that adds up."""
        name, table = protected.name, protected.table
        (column,) = measure_columns(["count"], table.dimensions)
        trees = {
            dimension: t
            for dimension, t in self.settings.trees.items()
            if dimension in table.dimensions
        }
        counts, total = _originals(protected), self.settings.total_label
        base = self.settings.base
        if not table.n_rows:
            self.changes[name] = _change(counts, counts, counts, None)
            return table
        try:
            restored = restore_additivity(
                table,
                measure=column,
                base=base,
                trees=trees,
                total_label=total,
            )
        except ReleaseError as error:
            raise ReleaseError(
                Message(
                    "Table {name!r} cannot be made to add up: {problem}",
                    name=Name(name),
                    problem=said(error.problem),
                ),
                hint=Message(
                    "publish it in a job without [output] additive, or with empty_cells = "
                    '"grid" if all of its parts are 0'
                ),
            ) from None
        effect = None
        # Multiples tell less than least squares do.
        if self._with_effect and counts.any() and base == 1:
            effect = measure_restoration(
                table,
                counts,
                max_noise=self.settings.max_noise,
                measure=column,
                trees=trees,
                total_label=total,
            )
        before, after = (np.asarray(t.measures[column]) for t in (table, restored))
        self.changes[name] = _change(before, after, counts, effect)
        return restored

    def warnings(self) -> tuple[str, ...]:
        """Put into words, for the internal report, what was changed."""
        return tuple(_words(name, change) for name, change in self.changes.items())

    def to_dict(self) -> dict[str, Any]:
        """Return what was changed as JSON values, for the internal manifest."""
        return {name: plain_fields(change) for name, change in self.changes.items()}


def _originals(protected: Protected) -> Integers:
    """Return the original counts of a table in the order of its rows."""
    cells = protected.cells
    beside = table_of(
        cells,
        protected.counts,
        {"count": protected.counts, _MEASURE: cells.count.astype(np.float64)},
        empty_cells=protected.request.empty_cells,
    )
    (column,) = measure_columns([_MEASURE], protected.table.dimensions)
    return np.asarray(beside.measures[column]).astype(np.int64)


def _change(
    before: Integers, after: Integers, counts: Integers, effect: RestorationEffect | None
) -> Change:
    moved, is_cell = np.abs(after - before), counts > 0
    off = [np.abs(numbers - counts)[is_cell] for numbers in (before, after)]
    deviation = [float(part.mean()) if len(part) else 0.0 for part in off]
    right = [float((part == 0).mean()) if len(part) else 0.0 for part in off]
    return Change(
        cells=len(before),
        changed=int((moved > 0).sum()),
        largest=int(moved.max(initial=0)),
        deviation=(deviation[0], deviation[1]),
        read_right=(right[0], right[1]),
        effect=effect,
    )


def _words(name: str, change: Change) -> str:
    text = (
        f"Additivity of table {name!r} was restored after the noise: {change.changed:,} of "
        f"{change.cells:,} numbers changed, by at most {change.largest}. Their mean deviation "
        f"from the original counts went from {change.deviation[0]:.2f} to "
        f"{change.deviation[1]:.2f}, and {change.read_right[1]:.0%} of the numbers are the "
        f"original count, {change.read_right[0]:.0%} before."
    )
    effect = change.effect
    if effect is not None and effect.width is not None and effect.pinned is not None:
        text += (
            f" An inner cell may have {effect.width[1]:.1f} further counts on average, "
            f"{effect.width[0]:.1f} before; {effect.pinned[1]:.0%} may have one only, "
            f"{effect.pinned[0]:.0%} before."
        )
    return (
        text + " The same cell may have another number in another table. All other figures of "
        "this report are of the numbers before this step."
    )
