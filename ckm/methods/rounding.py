"""Controlled rounding: true counts to multiples of a base that add up over all tables."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np

from ckm.engine.protection import Protected
from ckm.engine.published_table import PublishedTable, encodings, publish
from ckm.engine.request_fitting import raise_together, table_measures
from ckm.errors import ConfigError, InternalError
from ckm.ledger.protection import CellProtection
from ckm.methods.additivity.equations import TableSums
from ckm.methods.additivity.round_counts import kept_within, round_counts
from ckm.methods.internal_files import record_file
from ckm.methods.method import InternalRecord, Statement
from ckm.methods.suppression.grid import Grid
from ckm.methods.suppression.linked import by_group
from ckm.methods.suppression.relations import finest_cells
from footing.messages import Message, Name
from footing.serialisation import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from ckm.engine.request import TableRequest
    from ckm.methods.settings import RoundingSettings
    from ckm.methods.suppression.original_cells import Groups, Originals
    from footing.arrays import Integers
    from footing.progress import Progress
    from tables import Cells


class ControlledRounding:
    """Rounds the counts of all tables together.

    Parameters
    ----------
    settings
        The base, and how far from true counts.
    """

    def __init__(self, settings: RoundingSettings) -> None:
        self.settings = settings
        self._counts: dict[str, tuple[Cells, Integers]] = {}

    def require(self, tables: Mapping[str, TableRequest]) -> None:
        """Refuse tables that show more than counts."""
        raise_together(
            [
                ConfigError(
                    Message(
                        "Table {name!r} shows {measure!r}, and rounding is for counts.",
                        name=Name(name),
                        measure=Name(measure),
                    ),
                    hint=Message("publish it in a job with noise or suppression"),
                )
                for name, measure in table_measures(tables)
                if measure != "count"
            ]
        )

    def protect(
        self,
        data: Originals,
        requests: Mapping[str, TableRequest],
        *,
        progress: Progress | None = None,
    ) -> Iterator[Protected]:
        """Round all tables together, and give one after the other."""
        cells = data.cells(progress=progress)
        if progress is not None:
            progress("rounding", 0, 1)
        tables = list(cells.values())
        sums, leaf = _sums_of_groups(tables, data.groups(of_one=True))
        counts = np.concatenate([table.count for table in tables])
        multiples = round_counts(sums, counts, leaf=leaf, **asdict(self.settings))
        ends = np.cumsum([len(table) for table in tables])[:-1]
        parts = zip(cells.items(), np.split(multiples, ends), strict=True)
        self._counts = {name: (table, own) for (name, table), own in parts}
        for name, (table, own) in self._counts.items():
            published_table = publish(
                table,
                own,
                measures=["count"],
                empty_cells=requests[name].empty_cells,
                round_weighted=False,
            )
            yield Protected(
                name=name,
                request=requests[name],
                cells=table,
                table=published_table,
                counts=own,
            )

    def cell_protection(self, protected: Protected) -> CellProtection:
        """Return the published counts, which another rounding must not contradict."""
        base, bound = self.settings.base, self.settings.bound
        return CellProtection(
            method="rounding",
            settings=f"base {base}, bound {bound}",
            numbers=np.asarray(protected.counts, np.int64),
        )

    def statement(self) -> Statement:
        """Say that counts are rounded."""
        return Statement(words="rounding")

    def record(self, folder: Path) -> InternalRecord:
        """Write what lies behind every number, and tell how far numbers moved."""
        if not self._counts:
            raise InternalError(Message("Rounded tables are recorded, and none was rounded."))
        files = []
        for name, (cells, own) in self._counts.items():
            path = folder / f"audit-{name}.csv"
            _beside_originals(cells, own, base=self.settings.base).write(path)
            files.append(plain(record_file(path, name=path.name)))
        distances = [np.abs(own - cells.count) for cells, own in self._counts.values()]
        distance = np.concatenate(distances)
        changes = {
            "changed": int((distance > 0).sum()),
            "largest": int(distance.max(initial=0)),
        }
        method = {"rounding": plain(self.settings), "changes": changes}
        return InternalRecord(method=method, inside={"inside": files})


def _sums_of_groups(
    tables: Sequence[Cells], groups: Sequence[Groups]
) -> tuple[TableSums, Integers]:
    """Add up the groups of records that every cell of every table holds.

    The second is, for each group, a finest cell of a table that holds it.
    """
    from scipy import sparse

    grids = [Grid.of(cells) for cells in tables]
    leaves, start = finest_cells(grids, groups), 0
    first = np.full(len(leaves[0]), -1)
    for grid, leaf in zip(grids, leaves, strict=True):
        first = np.where((first < 0) & (leaf >= 0), start + leaf, first)
        start += len(grid)
    places = np.flatnonzero(first >= 0)
    parts = [by_group(grid, leaf) for grid, leaf in zip(grids, leaves, strict=True)]
    matrix = sparse.vstack(parts).tocsr()[:, places].astype(np.float64)
    return TableSums(matrix=matrix, inner=np.arange(len(places))), first[places]


def _beside_originals(cells: Cells, multiples: Integers, *, base: int) -> PublishedTable:
    """Put true counts and how far possible ones reach beside what is published; inside use."""
    least, most = kept_within(multiples, cells.count, base=base)
    numbers = {"original": cells.count, "published": multiples, "least": least, "most": most}
    dimensions = {
        name: (codes[rank], texts)
        for axis, rank in zip(cells.axes, cells.ranks, strict=True)
        for name, (codes, texts) in encodings(axis, np.ones(axis.size, bool)).items()
    }
    measures = {n + "_count" * (n in dimensions): values for n, values in numbers.items()}
    return PublishedTable(dimensions=dimensions, measures=measures)
