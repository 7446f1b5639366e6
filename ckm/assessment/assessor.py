"""Take in the cells of a release table by table, and give the facts of its report."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckm.assessment.amounts import NEAR, amount_fact, deviation_fact, exposed_cells
from ckm.assessment.grouping import margins_of
from ckm.assessment.noise.applied import Design, applied_table
from ckm.assessment.observed import ObservedCells, ObservedTable, drawn_places
from ckm.assessment.utility import all_measures, table_measures
from ckm.engine.cell_histogram import CountHistogram, CountHistogramBuilder
from ckm.engine.magnitudes import MagnitudeNoise
from ckm.engine.magnitudes.noise.alike import CountNoise
from ckm.engine.protection import Protected
from ckm.engine.published_table import grid_size, published_numbers, shows_grid
from ptable import PTable
from reports.facts.copying import fact_of
from reports.facts.release import AmountFact, DominatedFact, MeasureFact
from risk.attacks.dominated import average_dominated
from risk.utility.pairs import Pairs
from tables.magnitudes.amounts import Magnitudes

_MIXED_RANGE = 2**32
_LARGEST_GRID = 2**53
_PIECE = 1 << 20  # rows of a streamed table that are read at a time


class Assessor:
    """Measure what a release does to its tables while their cells go by.

    Parameters
    ----------
    ptable
        The p-table of the release.
    is_mixed
        Whether cell keys are mixed with a secret before the lookup.
    sensitive
        The sensitive original counts.
    total_label
        What totals are called.
    noises
        Variable → the noise of its sums.
    """

    def __init__(
        self,
        ptable: PTable,
        *,
        is_mixed: bool,
        sensitive: Sequence[int] = (1, 2, 3, 4),
        total_label: str = "Total",
        noises: Mapping[str, MagnitudeNoise] | None = None,
    ) -> None:
        self.noises = noises or {}
        self.amounts: list[AmountFact] = []
        self.ptable = ptable
        self.is_mixed = is_mixed
        self.sensitive = tuple(sensitive)
        self.tables: dict[str, ObservedTable] = {}
        self._total_label = total_label
        self._counter = CountHistogramBuilder()
        self._design: Design | None = None
        self._exposed: dict[str, list[tuple[NDArray[Any], ...]]] = {}

    def add(self, protected: Protected) -> None:
        """Take in one table; what is kept of it stays in the process."""
        name, request = protected.name, protected.request
        cells, published = protected.cells, protected.counts
        design = self._applied(cells.key_range)
        is_cell = cells.count > 0
        size = min(grid_size(cells), _LARGEST_GRID)
        is_new = self._counter.add(
            name, cells, where=request.where, empty_cells=request.empty_cells
        )
        empty = size - len(cells)
        shown_empty = empty if shows_grid(cells, request.empty_cells) else 0
        margins = margins_of(cells)
        pairs = Pairs(original=cells.count, published=published)
        if "weighted" in request.measures and cells.weight is not None:
            numbers = published_numbers(
                cells, published, measures=("weighted",), round_weighted=True
            )
            self.amounts.append(deviation_fact(name, "", cells.weight, numbers["weighted"]))
        own = ObservedCells(
            count=cells.count,
            noise=pairs.noise,
            key=cells.cell_key,
            is_finest=margins.is_finest,
        )
        self.tables[name] = ObservedTable(
            name=name,
            cells=own,
            empty=empty,
            margins=int((~margins.is_finest).sum()),
            appeared=_appeared(protected) + int((published[~is_cell] > 0).sum()),
            is_new=is_new,
            utility=table_measures(
                name,
                cells,
                pairs,
                ptable=design.table,
                places=drawn_places([own], is_mixed=self.is_mixed),
                margins=margins,
                empty=shown_empty,
                total_label=self._total_label,
                threshold=max(self.sensitive),
            ),
        )
        for variable, sums in protected.sums.items():
            self._add_sums(name, (cells.magnitudes or {})[variable], variable, sums)

    def _add_sums(
        self, name: str, magnitudes: Magnitudes, variable: str, sums: NDArray[np.float64]
    ) -> None:
        """Take in the sums of a variable in a table."""
        counts = self.tables[name].cells
        fact = amount_fact(
            name,
            magnitudes,
            sums,
            noise=self.noises[variable],
            counts=(counts.count, counts.published),
            count_noise=CountNoise(ptable=self.ptable, secret=None),
        )
        self.amounts.append(fact)
        self._note_exposed(variable, magnitudes, sums)

    def _note_exposed(
        self, variable: str, magnitudes: Magnitudes, published: NDArray[np.float64]
    ) -> None:
        """Keep who dominates which cells, and what these tell of the amount."""
        exposed = exposed_cells(magnitudes, published)
        if exposed is not None and magnitudes.first_keys.shape[1]:
            here = exposed.places
            entry = magnitudes.first_keys[here, 0], magnitudes.key[here], exposed.estimates
            self._exposed.setdefault(variable, []).append(entry)

    def dominated(self) -> tuple[DominatedFact, ...]:
        """Attack the contributors who dominate several cells of all tables."""
        facts = []
        for variable, parts in self._exposed.items():
            who, sets, estimates = map(np.concatenate, zip(*parts, strict=True))
            dominated_cells = average_dominated(who, sets, estimates, percent=100 * NEAR)
            facts.append(fact_of(DominatedFact, dominated_cells, variable=variable))
        return tuple(facts)

    @property
    def design(self) -> Design:
        """The p-table as it was applied."""
        return self._design or self._applied(_MIXED_RANGE)

    @property
    def everything(self) -> ObservedCells:
        """The cells of all tables, those that several show as often."""
        return ObservedCells.together([table.cells for table in self.tables.values()])

    @property
    def distinct(self) -> ObservedCells:
        """The cells of all tables together: what several of them show comes once."""
        tables = self.tables.values()
        return ObservedCells.together([table.cells.take(table.is_new) for table in tables])

    @property
    def count_histogram(self) -> CountHistogram:
        """How many cells have each original count, by table and for all together."""
        return self._counter.result()

    def utility(self) -> tuple[MeasureFact, ...]:
        """Give what users lose: all tables together first, then each."""
        measures: list[MeasureFact] = []
        if len(self.tables) > 1:
            parts = [table.cells.take(table.is_new) for table in self.tables.values()]
            cells = ObservedCells.together(parts)
            histogram = self.count_histogram.together.as_listed()
            measures += all_measures(
                "",
                Pairs(original=cells.count, published=cells.published),
                ptable=self.design.table,
                places=drawn_places(parts, is_mixed=self.is_mixed),
                empty=histogram.within(0, 0).n_cells,
                threshold=max(self.sensitive),
            )
        return (*measures, *(fact for table in self.tables.values() for fact in table.utility))

    def _applied(self, key_range: int) -> Design:
        if self._design is None:
            keys = _MIXED_RANGE if self.is_mixed else key_range
            self._design = Design.of(applied_table(self.ptable, key_range=keys))
        return self._design


def _appeared(protected: Protected) -> int:
    """Count numbers that are not 0 and come from no published count, or from no amount."""
    first = protected.before_additivity
    table = protected.table if first is None else first
    numbers = np.zeros(len(table.measures), np.int64)
    for piece in table.pieces(_PIECE):
        numbers += [int(np.count_nonzero(values)) for values in piece.measures.values()]
    masks = [m.contributors > 0 for m in (protected.cells.magnitudes or {}).values()]
    some = np.any([protected.counts != 0, *masks], axis=0)
    return max(0, int(numbers.max(initial=0)) - int(np.count_nonzero(some)))
