"""Published tables that the workers of a Spark cluster make and write; no cell comes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ckm.engine.key_mixing import mix_key
from ckm.engine.perturbation import perturb
from ckm.engine.published_table import measure_columns, published_numbers
from ckm.errors import ConfigError
from tables import Cells
from tables.cells.axes import encode
from tables.cells.cube import all_cells
from tables.magnitudes.limbs import from_limbs, limbs_of
from tables.spark.spark import SparkSource
from tables.spark.types import RESERVED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ckm.engine.protection import Protection
    from ckm.engine.request import TableRequest
    from ptable import PTable
    from tables import Request, Source
    from tables.keys import RecordKeys

_MIX_KEY = "mix_key"  # a parameter of bytes, and a column: it goes as data, never in a text


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class _Publisher:
    """Makes published rows of cells; workers have it, so it holds no secret."""

    columns: tuple[str, ...]
    measures: Mapping[str, str]
    ptable: PTable
    key_range: int
    rounds_weighted: bool
    labels: tuple[str, str]

    def __call__(self, rows: pa.Table) -> pa.Table:
        has_weight = rows.num_columns > len(self.columns) + 3 + (_MIX_KEY in rows.column_names)
        weight, weighted = None, None
        if has_weight:
            weight, weighted = from_limbs(limbs_of(rows["w0"])), rows["w0_n"].to_numpy()
        cells = Cells(
            axes=(),
            ranks=(),
            count=rows["n"].to_numpy().astype(np.int64),
            cell_key=rows["key"].to_numpy().astype(np.uint64),
            key_range=self.key_range,
            weight=weight,
            weighted_count=weighted,
            level_sets=(),
        )
        key = rows[_MIX_KEY][0].as_py() if _MIX_KEY in rows.column_names else None
        published = perturb(cells, ptable=self.ptable, secret=key)
        numbers = published_numbers(
            cells,
            published,
            measures=list(self.measures.values()),
            round_weighted=self.rounds_weighted,
        )
        totals = rows["g"].to_numpy().astype(np.int64)
        shown = {
            name: self._texts(rows[f"d{place}"], name, totals >> last - place & 1)
            for last in [len(self.columns) - 1]
            for place, name in enumerate(self.columns)
        }
        shown |= {name: pa.array(numbers[m]) for name, m in self.measures.items()}
        return pa.table(shown).filter(pa.array(published > 0))

    def _texts(self, values: pa.ChunkedArray, column: str, is_total: np.ndarray) -> pa.Array:
        """Spell categories out as a table of this machine would."""
        texts, codes = encode(values, column)
        if set(texts) & set(self.labels):
            raise ValueError(RESERVED)
        total, missing = self.labels
        words = pa.array([*texts, missing, total], pa.string())
        codes = np.where(codes < 0, len(texts), codes)
        return words.take(pa.array(np.where(is_total, len(texts) + 1, codes)))


def write_distributed(
    source: Source,
    keys: RecordKeys,
    request: TableRequest,
    built: Request,
    place: str,
    *,
    protection: Protection,
    tolerates_missing_keys: bool,
    progress: Callable[[float], None] | None,
) -> int:
    """Tabulate, protect and write a table by the workers; return how many rows it has."""
    columns = tuple(built.columns)
    if not isinstance(source, SparkSource) or _needs_axes(request, built):
        raise ConfigError(
            "Workers of Spark write counts and weighted counts of tables with dimensions, "
            "without sums, declared categories, code trees and empty cells.",
            hint='leave them out, open the data with engine = "spark", or use tabulate',
        )
    sql, parameters, key_range = all_cells(
        source, keys, built, tolerate_missing_keys=tolerates_missing_keys
    )
    if protection.mixes and protection.secret is not None:
        sql = f"SELECT *, ${_MIX_KEY} AS {_MIX_KEY} FROM ({sql})"  # noqa: S608  (ours)
        parameters[_MIX_KEY] = mix_key(protection.secret)
    wanted = [m for m in ("count", "weighted") if m in request.measures]
    measures = measure_columns(wanted, dict.fromkeys(columns))
    kinds = dict.fromkeys(columns, "STRING")
    kinds |= {n: "BIGINT" if m == "count" else "DOUBLE" for n, m in measures.items()}
    publisher = _Publisher(
        columns=columns,
        measures=measures,
        ptable=protection.ptable,
        key_range=key_range,
        rounds_weighted=protection.rounds_weighted,
        labels=(built.total_label, built.missing_label),
    )
    return source.write(
        sql,
        parameters,
        place,
        change=publisher,
        columns=kinds,
        order=columns,
        progress=progress,
    )


def _needs_axes(request: TableRequest, built: Request) -> bool:
    """Tell whether a table depends on more than its cells, one by one."""
    return bool(
        not built.dimensions
        or built.categories
        or request.variables
        or request.quantiles
        or request.empty_cells == "grid"
        or any(nested.tree is not None for nested in built.hierarchies.values())
    )
