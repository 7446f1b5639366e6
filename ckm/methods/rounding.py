"""Rounding of true counts, all or the small ones, so that all tables add up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
        settings, (groups, sizes) = self.settings, data.groups_and_sizes()
        sums, leaf, sizes = _sums_of_groups(
            tables, groups, sizes, is_merged=settings.counts == "small"
        )
        counts = np.concatenate([table.count for table in tables])
        if settings.counts == "small":
            _require_sums(sums, sizes, counts)
        multiples = round_counts(
            sums,
            counts,
            leaf=leaf,
            base=settings.base,
            bound=settings.bound,
            exact=settings.exact,
            limit_s=settings.limit_s,
            small=sizes if settings.counts == "small" else None,
        )
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
        small = ", small counts" if self.settings.counts == "small" else ""
        return CellProtection(
            method="rounding",
            settings=f"base {base}, bound {bound}{small}",
            numbers=np.asarray(protected.counts, np.int64),
        )

    def statement(self) -> Statement:
        """Say which counts are rounded."""
        is_small = self.settings.counts == "small"
        return Statement(
            words="small-rounding" if is_small else "rounding", notes=self._notes()
        )

    def _notes(self) -> tuple[str, ...]:
        """Say how far numbers lie from the true counts, and to which side."""
        if not self._counts:
            return ()
        changes = self.changes()
        deviation = Message(
            "numbers lie up to {largest} from the true counts, {mean:.2f} on average, and are "
            "{bias:+.2f} off on average",
            largest=changes["largest"],
            mean=changes["mean"],
            bias=changes["bias"],
        )
        each = [
            Message("{count} by {bias:+.2f}", count=count, bias=bias)
            for count, bias in changes["bias_of_small"].items()
        ]
        small = Message("true counts are published off on average: {each}", each=each)
        return (deviation, small) if changes["bias_of_small"] else (deviation,)

    def changes(self) -> dict[str, Any]:
        """Tell how far numbers moved, and how far they are off on average: inside use only.

        By true count, for the smallest: what a count of 1 is published as on average, less 1.
        """
        pairs = list(self._counts.values())
        original = np.concatenate([cells.count for cells, _ in pairs])
        off = np.concatenate([own for _, own in pairs]) - original
        distance = np.abs(off)
        some = original > 0
        bias = {
            int(count): round(float(off[original == count].mean()), 3)
            for count in range(1, min(self.settings.base, 10))
            if (original == count).any()
        }
        return {
            "changed": int((distance > 0).sum()),
            "largest": int(distance.max(initial=0)),
            "mean": round(float(distance[some].mean()), 3) if some.any() else 0.0,
            "bias": round(float(off[some].mean()), 3) if some.any() else 0.0,
            "bias_of_small": bias,
        }

    def record(self, folder: Path) -> InternalRecord:
        """Write what lies behind every number, and tell how far numbers moved."""
        if not self._counts:
            raise InternalError(Message("Rounded tables are recorded, and none was rounded."))
        files = []
        for name, (cells, own) in self._counts.items():
            path = folder / f"audit-{name}.csv"
            _beside_originals(cells, own, self.settings).write(path)
            files.append(plain(record_file(path, name=path.name)))
        changes = self.changes()
        method = {"rounding": plain(self.settings), "changes": changes}
        return InternalRecord(method=method, inside={"inside": files})


def _sums_of_groups(
    tables: Sequence[Cells], groups: Sequence[Groups], sizes: Integers, *, is_merged: bool
) -> tuple[TableSums, Integers, Integers]:
    """Add up the groups of records that every cell of every table holds, in a fixed order.

    The second is, for each group, a finest cell of a table that holds it, the third how many
    records it has. Groups of the same cells are merged where that is asked for.
    """
    from scipy import sparse

    grids = [Grid.of(cells) for cells in tables]
    leaves = np.stack(finest_cells(grids, groups))
    places = np.flatnonzero((leaves >= 0).any(axis=0))
    places = places[np.lexsort(leaves[::-1, places])]
    leaves, sizes = leaves[:, places], sizes[places]
    if is_merged and places.size:
        is_new = np.append(True, (np.diff(leaves, axis=1) != 0).any(axis=0))
        sizes = np.add.reduceat(sizes, np.flatnonzero(is_new))
        leaves = leaves[:, is_new]
    starts = np.cumsum([0, *map(len, grids)])[:-1]
    table = (leaves >= 0).argmax(axis=0)
    first = starts[table] + np.take_along_axis(leaves, table[np.newaxis], axis=0)[0]
    parts = [by_group(grid, leaf) for grid, leaf in zip(grids, leaves, strict=True)]
    matrix = sparse.vstack(parts).tocsr().astype(np.float64)
    return TableSums(matrix=matrix, inner=np.arange(len(first))), first, sizes


def _require_sums(sums: TableSums, sizes: Integers, counts: Integers) -> None:
    """Refuse groups that are not what cells hold: records without a key are in no cell."""
    if (np.rint(sums.matrix @ sizes).astype(np.int64) != counts).any():
        raise ConfigError(
            Message("Some records have no key, and are in no cell."),
            hint=Message(
                'small counts are rounded where every record has one: checks = "stop"'
            ),
        )


def _beside_originals(
    cells: Cells, published: Integers, settings: RoundingSettings
) -> PublishedTable:
    """Put true counts and how far possible ones reach beside what is published; inside use."""
    numbers = {"original": cells.count, "published": published}
    if settings.counts == "all":
        least, most = kept_within(published, cells.count, base=settings.base)
        numbers |= {"least": least, "most": most}
    dimensions = {
        name: (codes[rank], texts)
        for axis, rank in zip(cells.axes, cells.ranks, strict=True)
        for name, (codes, texts) in encodings(axis, np.ones(axis.size, bool)).items()
    }
    measures = {n + "_count" * (n in dimensions): values for n, values in numbers.items()}
    return PublishedTable(dimensions=dimensions, measures=measures)
