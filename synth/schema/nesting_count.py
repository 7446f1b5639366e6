"""Whether columns nest whose lists of values look so: two noisy counts for each pair.

What a pair of lists looks like is public. How many records have a code that does not lie in
their code of the other column is confidential, and is counted with noise, at a price.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from footing.arrays import AnyIntegers
from synth.marginals.measuring import Neighbours, NoiseSource
from synth.marginals.spending import Call, Spend, calls_of
from synth.schema.nesting import Parents, nested_looking, nests_of
from synth.schema.schema import Schema

#: The share of the budget for all pairs together.
SHARE = 0.02
_MOST_WRONG = 0.01  # of the records, of columns that nest
_NOISE = 2.0  # scales of noise that are allowed besides
_NEVER = 0.1
#: Who declared what was counted.
COUNTED = "counted in the records, at a price"


def undeclared_nests(schema: Schema) -> list[Parents]:
    """Return the columns that look nested, of which neither parents nor a rule says anything.

    Examples
    --------
    >>> from synth import Category
    >>> region = Category(name="region", values=["A", "B"])
    >>> town = Category(name="town", values=["A1", "A2", "B1", "B2"])
    >>> [one.label for one in undeclared_nests(Schema(columns=[region, town]))]
    ['town in region']
    >>> undeclared_nests(Schema(columns=[region, town], parents=[]))
    []
    """
    if schema.parents is not None:
        return []
    rules = [{*rule.columns} for rule in schema.rules]
    return [
        one
        for one in nested_looking(schema.columns)
        if not any({one.child, one.parent} <= columns for columns in rules)
    ]


def count_nests(
    codes: AnyIntegers,
    schema: Schema,
    proposals: Sequence[Parents],
    *,
    rho: float,
    neighbours: Neighbours,
    noise: NoiseSource,
) -> tuple[Schema, list[Call]]:
    """Return a schema with the parents of columns that nest in the records, and what it cost.

    Each record is in one of two cells of a pair, or in none where a code is missing: a record
    moves a count by one. Columns nest where at most 1 % of the records say otherwise, as far
    as noise lets it be seen.
    """
    how = neighbours.counting(rho / len(proposals) * (1 - 1e-9))
    accepted, spends = [], []
    names = schema.names
    for one in proposals:
        (nest,) = nests_of([one], schema.columns)
        is_wrong = nest.contradictions(codes)
        is_placed = nest.above[codes[:, nest.child]] >= 0
        is_placed &= codes[:, nest.parent] < nest.values
        counts = np.array([np.sum(is_placed & ~is_wrong), np.sum(is_wrong)], np.int64)
        right, wrong = (int(count) for count in noise.add(counts, how))
        spends.append(Spend.of("nesting", how, columns=(nest.child, nest.parent)))
        most = min(_MOST_WRONG * right + _NOISE * how.scale, _NEVER * right)
        if wrong <= most:
            accepted.append(replace(one, declared_by=COUNTED))
    return replace(schema, parents=tuple(accepted)), calls_of(spends, names)
