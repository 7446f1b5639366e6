"""Random records, and a second way to tabulate them that shares no code with ours."""

from __future__ import annotations

import itertools
import os
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import strategies as st

from ptable import PTable
from tables import CodeTree, Hierarchy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tables import Cells

Record = dict[str, Any]
Path: TypeAlias = "Callable[[Record], list[tuple[str, ...]]]"

TOTAL, MISSING = "Total", "(missing)"

#: Ranges of record keys: full words, bytes, 18 decimals, a prime and one just below 2**63.
KEY_RANGES = (2**64, 256, 10**18, 1_000_003, 2**63 - 25)

#: Drawn numbers may all be too small to be added up, which is told, and right.
MAY_BE_TINY = pytest.mark.filterwarnings("ignore:All .* nearer to zero")

#: Examples of a property test, as a multiple of the number that it names; see `tests.conftest`.
SHARES = {"quick": 0.25, "many": 0.5, "long": 20.0}


def examples(number: int) -> int:
    """Return how many examples the chosen profile draws of a test that names `number`."""
    share = SHARES[os.environ.get("CKM_HYPOTHESIS_PROFILE", "quick")]
    return max(2, round(number * share))


#: A ragged tree: C is a leaf at the first level, A2 has a single child.
TREE = CodeTree(
    {
        "all": None,
        "A": "all",
        "A1": "A",
        "A2": "A",
        "A2x": "A2",
        "B": "all",
        "B1": "B",
        "B2": "B",
        "C": "all",
    }
)

HIERARCHIES = {
    "geo": Hierarchy(columns=("region", "department")),
    "zone": Hierarchy(columns=("zone",), tree=TREE),
}


def worked_ptable() -> PTable:
    """Return the p-table of the worked example: D = 2, V = 1, two-digit cumulative rows."""
    rows = {0: [(0, 1.0)], 1: list(zip((-1, 0, 1, 2), (0.37, 0.73, 0.90, 1.0), strict=True))}
    rows[2] = list(zip((-2, -1, 0, 1, 2), (0.06, 0.31, 0.69, 0.94, 1.0), strict=True))
    lines = [(i, v, upper) for i, row in rows.items() for v, upper in row]
    return PTable.from_frame(pd.DataFrame(lines, columns=["i", "v", "p_int_ub"]))


# --- the second way -----------------------------------------------------------------------


def plain(column: str) -> Path:
    """Read a record's categories of a plain dimension, finest first."""
    return lambda record: [(_text(record[column]),), (TOTAL,)]


def nested(*columns: str) -> Path:
    """Read a record's categories of nested columns, broad to fine, finest first."""

    def path(record: Record) -> list[tuple[str, ...]]:
        labels = [_text(record[column]) for column in columns]
        lengths = range(len(columns), -1, -1)
        return [(*labels[:n], *[TOTAL] * (len(columns) - n)) for n in lengths]

    return path


def coded(column: str, tree: CodeTree) -> Path:
    """Read a record's code and its ancestors."""

    def path(record: Record) -> list[tuple[str, ...]]:
        code = record[column]
        total = tree.root or TOTAL
        if code is None:
            return [(MISSING,), (total,)]
        labels = []
        while code is not None:
            labels.append((str(code),))
            code = tree.parents[code]
        return labels if tree.root else [*labels, (TOTAL,)]

    return path


def _text(category: object) -> str:
    return MISSING if category is None else str(category)


def tabulate_directly(
    records: Iterable[Record],
    paths: Sequence[Path],
    *,
    key_range: int,
    where: Callable[[Record], bool] = lambda _: True,
) -> dict[tuple[str, ...], tuple[int, int, Fraction]]:
    """Count records, sum keys modulo `key_range` and weights, for cells and margins."""
    cells: dict[tuple[str, ...], tuple[int, int, Fraction]] = {}
    for record in filter(where, records):
        for labels in itertools.product(*(path(record) for path in paths)):
            cell = tuple(itertools.chain.from_iterable(labels))
            count, key, weight = cells.get(cell, (0, 0, Fraction(0)))
            cells[cell] = (
                count + 1,
                (key + record["key"]) % key_range,
                weight + Fraction(record["weight"]),
            )
    return cells


def decode(cells: Cells) -> dict[tuple[str, ...], tuple[int, int, float | None]]:
    """Write cells in the form of `tabulate_directly`; a repeated cell fails."""
    columns = [
        labels[ranks]
        for axis, ranks in zip(cells.axes, cells.ranks, strict=True)
        for labels in axis.labels
    ]
    names = list(zip(*columns, strict=True)) if columns else [()] * len(cells)
    assert len(set(names)) == len(names), "a cell appears twice"
    weights = [None] * len(cells) if cells.weight is None else cells.weight.tolist()
    numbers = zip(cells.count.tolist(), cells.cell_key.tolist(), weights, strict=True)
    return dict(zip(names, numbers, strict=True))


def published(table: Any, measure: str = "count") -> dict[tuple[str, ...], Any]:
    """Write a published table as cell → number; a repeated cell fails."""
    arrow = table.to_arrow()
    columns = [arrow[name].to_pylist() for name in table.dimensions]
    names = list(zip(*columns, strict=True)) if columns else [()] * arrow.num_rows
    assert len(set(names)) == len(names), "a cell appears twice"
    return dict(zip(names, arrow[measure].to_pylist(), strict=True))


# --- random records -----------------------------------------------------------------------


@st.composite
def populations(draw: st.DrawFn, *, max_size: int = 40) -> tuple[list[Record], int]:
    """Draw records with their keys, and the range of the keys."""
    key_range = draw(st.sampled_from(KEY_RANGES))
    keys = st.one_of(st.integers(0, key_range - 1), st.just(key_range - 1))
    record = st.fixed_dictionaries(
        {
            "sex": st.sampled_from(["F", "M", None]),
            "age": st.sampled_from([0, 1, 2, 30, None]),
            "region": st.sampled_from(["11", "24", None]),
            "department": st.sampled_from(["01", "02", None]),
            "zone": st.sampled_from([*TREE.leaves, None]),
            "weight": st.decimals(0, 10**6, places=3),
            "key": keys,
        }
    )
    records = draw(st.lists(record, max_size=max_size))
    return [{"id": number, **r} for number, r in enumerate(records)], key_range


def as_arrow(records: Sequence[Record], key_range: int) -> pa.Table:
    """Write records as an Arrow table whose key column holds the keys exactly."""
    kinds: Mapping[str, pa.DataType] = {
        "id": pa.int64(),
        "sex": pa.string(),
        "age": pa.int64(),
        "region": pa.string(),
        "department": pa.string(),
        "zone": pa.string(),
        "weight": pa.decimal128(12, 3),
    }
    columns: dict[str, pa.Array] = {
        name: pa.array([r[name] for r in records], kind) for name, kind in kinds.items()
    }
    keys = [r["key"] for r in records]
    if key_range == 10**18:
        decimals = [Decimal(key).scaleb(-18) for key in keys]
        columns["key"] = pa.array(decimals, pa.decimal128(18, 18))
    else:
        columns["key"] = pa.array(np.array(keys, np.uint64))
    return pa.table(columns)


def stored_range(key_range: int) -> int | None:
    """Return the `key_range` to give for keys written by `as_arrow`."""
    return None if key_range in {2**64, 10**18} else key_range
