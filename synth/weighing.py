"""The total of survey weights: measured apart, and a model that comes to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from synth.marginals.model import TableModel
from synth.marginals.spending import Spend, calls_of
from synth.schema.coding import grid_numbers
from synth.schema.columns import Numeric
from synth.schema.rules.constraints import identities_of

if TYPE_CHECKING:
    import pandas as pd

    from footing.arrays import Floats, Integers
    from synth.marginals.measuring import Neighbours, NoiseSource
    from synth.marginals.spending import Call
    from synth.methods import CodeModel
    from synth.schema.schema import Schema

#: The share of the budget for the total.
SHARE = 0.01
_MOST = 2**20  # a record counts as this at most: sums stay exact on the lattice of the noise
_STANDS_OUT = 4.0  # scales of its noise, from which on a total says something
_FARTHEST = 1.5  # how many times the total of the model; what is farther has too wide bins


def weight_of(schema: Schema) -> Numeric | None:
    """Return the column of weights, if a model has more than one code of it."""
    if schema.weight is None or schema.weight in identities_of(schema):
        return None
    column = schema.column(schema.weight)
    return column if isinstance(column, Numeric) and column.domain_size > 1 else None


def with_total(
    engine: CodeModel,
    records: pd.DataFrame,
    schema: Schema,
    *,
    rho: float,
    neighbours: Neighbours,
    noise: NoiseSource,
) -> tuple[CodeModel, list[Call]]:
    """Return a model whose weights come to a noisy total, and what that total cost.

    A weight counts as its distance from the lower bound, cut off where noise would come to
    outweigh what is lost, as far as the model knows, which was paid for.
    """
    column = weight_of(schema)
    if column is None or not isinstance(engine, TableModel):
        return engine, []
    place, low = schema.names.index(column.name), column.bounds[0]
    ends = np.array(column.grid.cells(), np.int64) - low
    counts = engine.records * engine.chances(place)
    values = np.append(ends.mean(axis=1), np.zeros(len(counts) - len(ends)))
    most = _cut_off(counts, ends[:, 1], values, scale=neighbours.counting(rho).scale)
    step = -(-most // _MOST)
    how = neighbours.counting(rho, most=most // step)
    amounts = np.clip(grid_numbers(records[column.name], column) - low, 0, most) // step
    total = int(noise.add(np.array([amounts.sum()], np.int64), how)[0]) * step
    expected = float(counts @ values)
    is_near = expected / _FARTHEST < total < expected * _FARTHEST
    if total > _STANDS_OUT * how.scale * step and is_near:
        engine = engine.tilted(place, values, mean=total / engine.records)
    return engine, calls_of([Spend.of("total", how, columns=(place,))], schema.names)


def _cut_off(counts: Floats, ends: Integers, values: Floats, *, scale: float) -> int:
    """Return the end of a cell where loss and noise are least together."""
    limits = np.unique(ends[ends > 0])
    loss = [
        float(counts @ np.maximum(values - top, 0)) + scale * top for top in limits.tolist()
    ]
    return int(limits[int(np.argmin(loss))])
