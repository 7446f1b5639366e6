"""Take in the cells of a release table by table, and give the facts of its report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ckm.assess.applied import Design, applied_table
from ckm.assess.grouping import margins_of
from ckm.assess.observed import ObservedCells, ObservedTable
from ckm.assess.utility import all_measures, table_measures
from ckm.published import grid_size, shows_grid
from risk.errors import RiskError
from risk.histogram import Histogram
from risk.utility.pairs import Pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ckm.published import PublishedTable
    from ckm.request import TableRequest
    from ptable import PTable
    from reports.facts import MeasureFact
    from tables import Cells

__all__ = ["Assessor"]

_MIXED_RANGE = 2**32
_LARGEST_GRID = 2**53


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

    Examples
    --------
    >>> import pyarrow as pa
    >>> from ckm import Engine, Secret, TableRequest
    >>> from ptable import NoiseSpec, solve
    >>> people = pa.table({"id": range(90), "sex": ["F", "M", "F"] * 30})
    >>> table = solve(NoiseSpec(max_noise=2, variance=1.0))
    >>> assessor = Assessor(table, is_mixed=True)
    >>> with Engine(people, id="id", secret=Secret(bytes(16)), ptable=table) as engine:
    ...     request = {"people": TableRequest(dimensions=["sex"])}
    ...     tables = engine.tabulate_all(request, observe=assessor.observe)
    >>> assessor.tables["people"].margins
    1
    """

    def __init__(
        self,
        ptable: PTable,
        *,
        is_mixed: bool,
        sensitive: Sequence[int] = (1, 2, 3, 4),
        total_label: str = "Total",
    ) -> None:
        self.ptable = ptable
        self.is_mixed = is_mixed
        self.sensitive = tuple(sensitive)
        self.tables: dict[str, ObservedTable] = {}
        self._total_label = total_label
        self._design: Design | None = None

    def observe(
        self,
        name: str,
        request: TableRequest,
        cells: Cells,
        published: NDArray[np.int64],
        table: PublishedTable,
    ) -> None:
        """Take in one table; what is kept of it stays in the process.

        Parameters
        ----------
        name, request
            The table.
        cells, published
            Its cells and their published counts.
        table
            What is published of them.
        """
        design = self._applied(cells.key_range)
        held = cells.count > 0
        size = min(grid_size(cells), _LARGEST_GRID)
        empty = size - len(cells)
        shown_empty = empty if shows_grid(cells, request.empty_cells) else 0
        margins = margins_of(cells)
        pairs = Pairs(original=cells.count, published=published)
        self.tables[name] = ObservedTable(
            name=name,
            cells=ObservedCells(
                count=cells.count,
                noise=pairs.noise,
                key=cells.cell_key,
                is_finest=margins.is_finest,
            ),
            empty=empty,
            shown_empty=shown_empty,
            margins=int((~margins.is_finest).sum()),
            appeared=_appeared(table, published) + int((published[~held] > 0).sum()),
            grid=_histogram(cells.count, size),
            shown=_histogram(cells.count, len(cells) + shown_empty),
            utility=table_measures(
                name,
                cells,
                pairs,
                ptable=design.table,
                margins=margins,
                empty=shown_empty,
                total_label=self._total_label,
                threshold=max(self.sensitive),
            ),
        )

    @property
    def design(self) -> Design:
        """The p-table as it was applied."""
        return self._design or self._applied(_MIXED_RANGE)

    @property
    def everything(self) -> ObservedCells:
        """The cells of all tables together."""
        return ObservedCells.together([table.cells for table in self.tables.values()])

    def utility(self) -> tuple[MeasureFact, ...]:
        """Give what users lose: all tables together first, then each."""
        found: list[MeasureFact] = []
        if len(self.tables) > 1:
            cells = self.everything
            found += all_measures(
                "",
                Pairs(original=cells.count, published=cells.published),
                ptable=self.design.table,
                empty=sum(table.shown_empty for table in self.tables.values()),
                threshold=max(self.sensitive),
            )
        return (*found, *(fact for table in self.tables.values() for fact in table.utility))

    def histograms(self, *, only_shown: bool = False) -> dict[str, Histogram]:
        """Give, for each table that has cells, how many have each original count.

        Parameters
        ----------
        only_shown
            Leave out empty cells that a table does not list. For figures of risk they count:
            who misses a cell in a table does not know whether it is empty.
        """
        found = {
            name: table.shown if only_shown else table.grid
            for name, table in self.tables.items()
        }
        return {name: histogram for name, histogram in found.items() if histogram is not None}

    def _applied(self, key_range: int) -> Design:
        if self._design is None:
            keys = _MIXED_RANGE if self.is_mixed else key_range
            self._design = Design.of(applied_table(self.ptable, key_range=keys))
        return self._design


def _appeared(table: PublishedTable, published: NDArray[np.int64]) -> int:
    """Count numbers that are not 0 and come from no published count."""
    shown = max((int(np.count_nonzero(v)) for v in table.measures.values()), default=0)
    return max(0, shown - int(np.count_nonzero(published)))


def _histogram(counts: NDArray[np.int64], size: int) -> Histogram | None:
    try:
        return Histogram.of(counts, grid_size=size)
    except RiskError:  # no cell at all
        return None
