"""Release the counts of a job by controlled rounding: multiples of a base that add up."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np

from ckm.additivity.equations import TableSums
from ckm.additivity.round_counts import kept_within, round_counts
from ckm.engine.published_table import PublishedTable, encodings, publish
from ckm.release.files.manifest import ROUNDING_KIND, record_file, write_manifest
from ckm.release.suppressed import OriginalsRun
from ckm.suppression.grid import Grid
from ckm.suppression.linked import by_group
from ckm.suppression.relations import finest_cells

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ckm.release.files.manifest import TableRecord
    from ckm.suppression.original_cells import Groups, Originals
    from footing.arrays import Integers
    from reports.facts.release import FileFact
    from tables import Cells


class RoundingRun(OriginalsRun):
    """A release by controlled rounding."""

    kind, event = ROUNDING_KIND, "rounding complete"

    def fill(self, public: Path, internal: Path, opened: Originals) -> list[TableRecord]:
        """Round all tables together; write them and what lies behind every number."""
        inputs, rules = self.inputs.record(self.progress), dict(self.job.rounding or ())
        found = opened.cells(progress=self.progress)
        self.progress("rounding", 0, 1)
        sums, leaf = _sums_of_groups(list(found.values()), opened.groups(of_one=True))
        counts = np.concatenate([cells.count for cells in found.values()])
        rounded = round_counts(sums, counts, leaf=leaf, **rules)
        tables: list[TableRecord] = []
        audited: list[FileFact] = []
        ends = np.cumsum([len(cells) for cells in found.values()])[:-1]
        for own, (name, cells) in zip(np.split(rounded, ends), found.items(), strict=True):
            self.progress("writing", len(tables), len(found))
            empty = self.job.tables[name].empty_cells
            shown = publish(
                cells, own, measures=["count"], empty_cells=empty, round_weighted=False
            )
            tables.append(self.write_table(public, name, shown))
            path = internal / f"audit-{name}.csv"
            _beside_originals(cells, own, base=rules["base"]).write(path)
            audited.append(record_file(path, name=path.name))
        self.inputs.require_rest()
        manifest = self.public_manifest(tables, method="rounding")
        write_manifest(public / "manifest.json", manifest)
        moved = np.abs(rounded - counts)
        told = {"changed": int((moved > 0).sum()), "largest": int(moved.max(initial=0))}
        self.write_internal_manifest(
            internal,
            tables,
            inputs,
            job={"file": self.job.path.name},
            method={"rounding": rules, "changes": told},
            inside={"inside": [asdict(file) for file in audited]},
        )
        return tables


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
    kept = np.flatnonzero(first >= 0)
    parts = [by_group(grid, leaf) for grid, leaf in zip(grids, leaves, strict=True)]
    matrix = sparse.vstack(parts).tocsr()[:, kept].astype(np.float64)
    return TableSums(matrix=matrix, inner=np.arange(len(kept))), first[kept]


def _beside_originals(cells: Cells, rounded: Integers, *, base: int) -> PublishedTable:
    """Put true counts and how far possible ones reach beside what is published; inside use."""
    least, most = kept_within(rounded, cells.count, base=base)
    numbers = {"original": cells.count, "published": rounded, "least": least, "most": most}
    dimensions = {
        name: (codes[rank], texts)
        for axis, rank in zip(cells.axes, cells.ranks, strict=True)
        for name, (codes, texts) in encodings(axis, np.ones(axis.size, bool)).items()
    }
    measures = {n + "_count" * (n in dimensions): values for n, values in numbers.items()}
    return PublishedTable(dimensions=dimensions, measures=measures)
