"""All that a user of a protected table loses, measured at once."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from footing.messages import Message, Name
from risk.errors import RiskError
from risk.utility.classes import CLASSES, checked_classes, class_cells
from risk.utility.measures.additivity import additivity
from risk.utility.measures.association import association
from risk.utility.measures.deviations import deviations, distributions, summaries
from risk.utility.measures.distances import distances, ranks
from risk.utility.measures.noise import noise_distribution, zeros
from risk.utility.measures.significance import significance
from risk.utility.measures.variation import variation
from risk.utility.pairs import Pairs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd
    from numpy.typing import ArrayLike

    from ptable import PTable
    from risk.utility.catalogue import Measure
    from risk.utility.classes import Classes
    from risk.utility.measures.additivity import Additivity
    from risk.utility.measures.association import Association
    from risk.utility.measures.deviations import Distribution
    from risk.utility.measures.noise import NoiseDistribution


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A measure and the cells it is about.

    Parameters
    ----------
    group, value
        ``"parent"`` and a dimension, for the gaps of its totals; else both ``"all"``.
    cells
        The class of original counts; ``"all"`` for all of them.
    measure
        The number with its definition, unit and base.

    Examples
    --------
    >>> assess_utility([4, 2], [5, 2]).entries[0].measure.name
    'aad'
    """

    group: str
    value: str
    cells: str
    measure: Measure


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Utility:
    """What protection did to the use of a table; for inside, as it tells of the noise.

    Parameters
    ----------
    n_cells
        The number of cells.
    entries
        All measures, by group and class of counts.
    noise, distributions
        How many cells have each noise, and the cumulative tables of D1, D2 and D3.
    gaps
        Per dimension the gaps between totals and parts.
    association
        For a two-way table; None otherwise.

    Examples
    --------
    >>> assess_utility([4, 2, 0], [5, 2, 0])
    Utility(3 cells, 71 measures)
    """

    n_cells: int
    entries: tuple[Entry, ...]
    noise: NoiseDistribution
    distributions: tuple[Distribution, ...]
    gaps: Mapping[str, Additivity]
    association: Association | None

    def __repr__(self) -> str:
        names = {entry.measure.name for entry in self.entries}
        return f"Utility({self.n_cells} cells, {len(names)} measures)"

    def find(
        self, name: str, *, group: str = "all", value: str = "all", cells: str = "all"
    ) -> Measure:
        """Find one measure.

        Parameters
        ----------
        name
            The name of the measure.
        group, value, cells
            The group, its value and the class of counts.

        Examples
        --------
        >>> assess_utility([4, 60], [5, 60]).find("aad", cells="small").value
        1.0
        """
        key = (group, value, cells, name)
        for entry in self.entries:
            if (entry.group, entry.value, entry.cells, entry.measure.name) == key:
                return entry.measure
        raise RiskError(
            Message(
                "There is no measure {name!r} of {group!r} = {value!r}, cells {cells!r}.",
                name=Name(name),
                group=Name(group),
                value=Name(value),
                cells=Name(cells),
            ),
            hint=Message("to_frame() lists all of them"),
        )

    def to_frame(self) -> pd.DataFrame:
        """Give one line per measure; numbers that are not defined are missing.

        Examples
        --------
        >>> frame = assess_utility([4, 60], [5, 60]).to_frame()
        >>> frame.columns.tolist()
        ['group', 'value', 'cells', 'measure', 'number', 'unit', 'base', 'definition', 'reason']
        """
        import pandas as pd

        measures = [entry.measure for entry in self.entries]
        return pd.DataFrame(
            {
                "group": [entry.group for entry in self.entries],
                "value": [entry.value for entry in self.entries],
                "cells": [entry.cells for entry in self.entries],
                "measure": [m.name for m in measures],
                "number": pd.array([m.value for m in measures], dtype="Float64"),
                "unit": [m.unit for m in measures],
                "base": [m.base for m in measures],
                "definition": [m.definition for m in measures],
                "reason": [m.reason for m in measures],
            }
        )


def assess_utility(
    original: ArrayLike,
    published: ArrayLike,
    *,
    ptable: PTable | None = None,
    classes: Classes = CLASSES,
    parents: Mapping[str, ArrayLike] | None = None,
    threshold: int = 4,
) -> Utility:
    """Measure all that protection did to the use of a table.

    Parameters
    ----------
    original, published
        The counts of the same cells, in one order; whole numbers, 0 for empty cells. A
        two-way table of inner cells gives measures of association as well.
    ptable
        The p-table that made the noise, for bias, tests and expected gaps.
    classes
        Name → least and greatest original count.
    parents
        Name of a dimension → for each cell the position of its total along it, -1 for none.
    threshold
        The largest small count, for small counts published as 0.

    Examples
    --------
    >>> found = assess_utility([9, 4, 5], [9, 5, 5], parents={"sex": [-1, 0, 0]})
    >>> found.find("gap_mean", group="parent", value="sex").value
    -1.0
    """
    pairs = Pairs(original=original, published=published)
    checked_classes(classes)
    entries: list[Entry] = []
    for cells, part in class_cells(pairs, classes):
        entries += [
            Entry(group="all", value="all", cells=cells, measure=measure)
            for measure in _measures(part, ptable, threshold)
        ]
    gaps = {
        name: additivity(pairs, parent=parent, noise=ptable)
        for name, parent in (parents or {}).items()
    }
    for name, gap in gaps.items():
        entries += [
            Entry(group="parent", value=name, cells="all", measure=measure)
            for measure in gap.measures
        ]
    related = None
    if np.ndim(original) == 2:
        related = association(original, published)
        entries += [
            Entry(group="all", value="all", cells="all", measure=measure)
            for measure in related.measures
        ]
    return Utility(
        n_cells=pairs.n_cells,
        entries=tuple(entries),
        noise=noise_distribution(pairs),
        distributions=distributions(pairs),
        gaps=MappingProxyType(gaps),
        association=related,
    )


def _measures(pairs: Pairs, ptable: PTable | None, threshold: int) -> Iterator[Measure]:
    yield from deviations(pairs, ptable=ptable)
    yield from zeros(pairs, threshold=threshold)
    yield from summaries(pairs)
    yield from distances(pairs)
    yield from variation(pairs)
    yield from ranks(pairs)
    yield from significance(pairs, ptable=ptable)
