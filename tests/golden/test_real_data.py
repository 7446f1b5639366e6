"""Public microdata, as awkward as they came, against a direct tabulation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import ckm
from tables import (
    Hierarchy,
    Request,
    Secret,
    StoredKeys,
    check_keys,
    cube,
    draw_keys,
    open_source,
)
from tests.strategies import (
    MISSING,
    decode,
    nested,
    plain,
    published,
    tabulate_directly,
    worked_ptable,
)

SECRET = Secret(bytes(range(32)))


@pytest.fixture(scope="module")
def keyed(shared, tmp_path_factory):
    """The national file with a drawn key beside every record; it has no identifier."""
    path = tmp_path_factory.mktemp("acs") / "keyed.parquet"
    with open_source(shared / "data" / "acs_national_2019.parquet") as source:
        draw_keys(source, path=path)
    return path


@pytest.fixture(scope="module")
def people(keyed):
    """The same records as plain Python rows, NaN and null alike as None."""
    columns = pq.read_table(keyed).to_pydict()

    def clean(value):
        if not isinstance(value, float):
            return value
        return None if math.isnan(value) else int(value) if value.is_integer() else value

    names = [name for name in columns if name != "record_key"]
    rows = zip(*([clean(v) for v in columns[name]] for name in names), strict=True)
    keys = columns["record_key"]
    return [
        dict(zip(names, row, strict=True))
        | {"key": key, "weight": row[names.index("WGTP")] or 0}
        for row, key in zip(rows, keys, strict=True)
    ]


def compare(path, people, dimensions, **options):
    with open_source(path) as source:
        wish = Request(dimensions=dimensions, **options)
        (cells,) = cube(source, StoredKeys(column="record_key"), [wish])
    found = {name: numbers[:2] for name, numbers in decode(cells).items()}
    wanted = tabulate_directly(people, [plain(d) for d in dimensions], key_range=2**64)
    assert found == {name: numbers[:2] for name, numbers in wanted.items()}
    return wanted


@pytest.mark.slow
def test_the_national_file_and_all_margins_are_those_of_a_direct_tabulation(keyed, people):
    wanted = compare(keyed, people, ["PUMA", "AGEP", "SEX", "RAC1P"])
    assert wanted["Total", "Total", "Total", "Total"][0] == 27_253


@pytest.mark.slow
@pytest.mark.parametrize("column", ["MSP", "NOC", "EDU", "PINCP_DECILE", "INDP_CAT", "DVET"])
def test_missing_categories_are_a_category_with_its_true_key(keyed, people, column):
    wanted = compare(keyed, people, ["SEX", column])
    has_missing = any(person[column] is None for person in people)
    assert (("Total", MISSING) in wanted) == has_missing


def test_areas_nest_in_their_state(keyed, people):
    records = [
        {"state": p["PUMA"][:2], "PUMA": p["PUMA"], "key": p["key"], "weight": 0}
        for p in people
    ]
    wanted = tabulate_directly(records, [nested("state", "PUMA")], key_range=2**64)
    table = pq.read_table(keyed, columns=["PUMA", "record_key"])
    table = table.append_column("state", pc.utf8_slice_codeunits(table["PUMA"], 0, 2))
    hierarchies = {"geo": Hierarchy(columns=("state", "PUMA"))}
    with open_source(table) as source:
        wish = Request(dimensions=["geo"], hierarchies=hierarchies)
        (cells,) = cube(source, StoredKeys(column="record_key"), [wish])
    found = {name: numbers[:2] for name, numbers in decode(cells).items()}
    assert found == {name: numbers[:2] for name, numbers in wanted.items()}


def test_drawn_keys_pass_their_own_check(keyed):
    """False alarm: at most 2e-9, one repetition and one uniformity test."""
    with open_source(keyed) as source:
        assert check_keys(source, StoredKeys(column="record_key")).is_sound


def test_a_release_of_overlapping_tables_agrees_wherever_tables_share_a_cell(keyed):
    with ckm.Engine(
        keyed, record_key="record_key", secret=SECRET, ptable=worked_ptable()
    ) as engine:
        dimensions = ["PUMA", "SEX", "RAC1P", "MSP"]
        whole = published(engine.tabulate(dimensions))
        requests = {
            "+".join(part): ckm.TableRequest(dimensions=part)
            for length in (0, 1, 2, 3)
            for part in itertools.combinations(dimensions, length)
        }
        for table in engine.tabulate_all(requests).values():
            names = list(table.dimensions)
            cells = published(table) if names else {(): published(table)[()]}
            for cell, count in cells.items():
                labels = dict(zip(names, cell, strict=True))
                assert whole[tuple(labels.get(d, "Total") for d in dimensions)] == count
        female = published(engine.tabulate(["PUMA"], where="SEX = 2"))
    assert female[("Total",)] == whole["Total", "2", "Total", "Total"]


def test_adult_and_its_margins_are_those_of_a_direct_tabulation(shared):
    table = pq.read_table(shared / "data" / "adult_train.parquet")
    names = table.column_names
    dimensions = [n for n in names if n.replace("-", "_") in {"workclass", "sex", "race"}]
    assert len(dimensions) == 3
    rng = np.random.default_rng(20270301)
    keys = rng.integers(0, 1_000_003, table.num_rows)
    table = table.append_column("key", pa.array(keys))
    rows = table.select([*dimensions, "key"]).to_pylist()
    wanted = tabulate_directly(
        [row | {"weight": 0} for row in rows],
        [plain(d) for d in dimensions],
        key_range=1_000_003,
    )
    with open_source(table) as source:
        stored = StoredKeys(column="key", key_range=1_000_003)
        (cells,) = cube(source, stored, [Request(dimensions=dimensions)])
    found = {name: numbers[:2] for name, numbers in decode(cells).items()}
    assert found == {name: numbers[:2] for name, numbers in wanted.items()}


@pytest.mark.slow
def test_cells_of_the_national_file_are_published_as_its_records_are(keyed, tmp_path):
    """One office passes cells on, another has them and the same secret, and no record."""
    requests = {
        "areas": ckm.TableRequest(
            dimensions=["PUMA", "SEX", "RAC1P"], measures=["count", "weighted"]
        ),
        "ages": ckm.TableRequest(dimensions=["AGEP", "SEX"], where="RAC1P = 1"),
    }
    options = {"ptable": worked_ptable(), "secret": SECRET, "weight": "PWGTP"}
    with_records = ckm.Engine(keyed, record_key="record_key", **options)
    cells = with_records.cells(requests)
    pq.write_table(cells, tmp_path / "cells.parquet")
    names = cells.column_names[: cells.column_names.index("count")]
    engine = ckm.Engine(tmp_path / "cells.parquet", cells=names, cell_key="cell_key", **options)
    found = engine.tabulate_all(requests)
    for name, wanted in with_records.tabulate_all(requests).items():
        assert found[name].to_arrow().equals(wanted.to_arrow())
