"""Laws of cells as input: what is published of them is what is published of their records."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import ckm
from tables import DataError, Secret
from tests.strategies import (
    HIERARCHIES,
    MAY_BE_TINY,
    MISSING,
    TREE,
    as_arrow,
    coded,
    examples,
    plain,
    populations,
    published,
    stored_range,
    tabulate_directly,
    worked_ptable,
)

pytestmark = [MAY_BE_TINY, pytest.mark.filterwarnings("ignore:A category of")]

COLUMNS = ("sex", "age", "region", "department", "zone")
REQUESTS = {
    "geo": ckm.TableRequest(dimensions=["geo", "sex"], measures=["count", "weighted"]),
    "zone": ckm.TableRequest(dimensions=["zone", "age"], where="region = '11'"),
}


def engine(data, **options):
    return ckm.Engine(
        data,
        secret=Secret(bytes(range(16))),
        ptable=worked_ptable(),
        hierarchies=HIERARCHIES,
        checks="skip",
        threads=1,
        weight="weight",
        **options,
    )


def whole_cube(records, key_range):
    """Every cell and every margin of all columns, added up by other code than ours."""
    paths = [*map(plain, COLUMNS[:-1]), coded("zone", TREE)]
    cells = tabulate_directly(records, paths, key_range=key_range)
    heavy = [r | {"weight": int(r["weight"] > 0)} for r in records]
    weighted = tabulate_directly(heavy, paths, key_range=key_range)
    named = zip(*cells, strict=True)
    columns = {
        name: pa.array([None if text == MISSING else text for text in texts], pa.string())
        for name, texts in zip(COLUMNS, named, strict=True)
    }
    return pa.table(
        columns
        | {
            "count": [count for count, _, _ in cells.values()],
            "cell_key": pa.array([key for _, key, _ in cells.values()], pa.uint64()),
            "weight": pa.array([float(w) for _, _, w in cells.values()], pa.float64()),
            "weight_n": [int(n) for _, _, n in weighted.values()],
        }
    )


@pytest.mark.slow
@settings(max_examples=examples(20), deadline=None)
@given(populations(), st.data())
def test_cells_give_the_numbers_of_their_records_with_and_without_margins(drawn, data):
    records, key_range = drawn
    assume(0 < len(records) == len({r["key"] for r in records}))
    with_records = engine(
        as_arrow(records, key_range), record_key="key", key_range=stored_range(key_range)
    )
    wanted = with_records.tabulate_all(REQUESTS)
    cube = whole_cube(records, key_range)
    passed_on = with_records.cells(REQUESTS)
    assert int(passed_on.schema.metadata[b"key_range"]) == key_range
    for cells in (cube, passed_on):
        order = data.draw(st.permutations(range(cells.num_rows)))
        options = {"cells": COLUMNS, "cell_key": "cell_key", "key_range": key_range}
        found = engine(cells.take(order), **options).tabulate_all(REQUESTS)
        for name, table in wanted.items():
            for measure in table.measures:
                assert published(found[name], measure) == published(table, measure)


@settings(max_examples=examples(20), deadline=None)
@given(populations(), st.data())
def test_a_cube_with_one_number_changed_is_refused(drawn, data):
    """Whichever it is, of a cell or a margin: some other row no longer fits."""
    records, key_range = drawn
    assume(records)
    cube = whole_cube(records, key_range)
    column = data.draw(st.sampled_from(["count", "cell_key", "weight", "weight_n"]))
    row = data.draw(st.integers(0, cube.num_rows - 1))
    numbers = cube[column].to_pylist()
    numbers[row] = (numbers[row] + 1) % key_range
    place = cube.schema.get_field_index(column)
    changed = cube.set_column(place, column, pa.array(numbers, cube[column].type))
    given = engine(changed, cells=COLUMNS, cell_key="cell_key", key_range=key_range)
    with pytest.raises(DataError):
        given.tabulate_all(REQUESTS)
