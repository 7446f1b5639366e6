"""What an engine is given: p-tables of counts, records, cells, secrets, hierarchies, lists."""

from __future__ import annotations

import warnings

import pyarrow as pa
import pytest

from ckm.engine.inputs import (
    as_hierarchy,
    find_categories,
    find_secret,
    given_cells,
    open_records,
    require_counts,
    require_enough,
)
from ckm.errors import ConfigError
from ptable import NoiseSpec, PTable, PTableWarning, solve
from tables import (
    DerivedVariable,
    Hierarchy,
    ReadOptions,
    Request,
    RequestError,
    Secret,
    SourceError,
)

PTABLE = solve(NoiseSpec(max_noise=2, variance=1.0))
ROUNDING = PTable(noise=[[0], [-1], [1]], upper=[[8], [8], [8]], key_range=8)
PEOPLE = pa.table({"id": [1, 2, 3], "age": [10, 20, 30], "sex": ["F", "M", "F"]})


@pytest.fixture
def tree(tmp_path):
    path = tmp_path / "zones.csv"
    path.write_text("code,parent\nA,\nA1,A\nA2,A\n")
    return path


# --- p-tables of counts -------------------------------------------------------------------


def test_a_p_table_of_counts_is_taken_in_silence():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        require_counts(PTABLE)
        require_counts(ROUNDING)


@pytest.mark.parametrize("given", ["pt.parquet", None, 5, {"max_noise": 2}])
def test_what_is_no_p_table_is_refused(given):
    with pytest.raises(ConfigError, match="must be a PTable, not"):
        require_counts(given)


def test_p_tables_with_steps_or_anchors_are_for_amounts():
    for spec in (
        NoiseSpec(max_noise=2, variance=0.8, step=2, anchors=(1, 2)),
        NoiseSpec(max_noise=2, variance=0.8, anchors=(1, 3)),
        NoiseSpec(max_noise=2, variance=0.8, step=2),
    ):
        with pytest.raises(ConfigError, match="one for magnitudes"):
            require_counts(solve(spec))


def test_noise_on_zeros_is_said_to_be_left_out_where_the_engine_is_made():
    table = solve(NoiseSpec(max_noise=2, variance=1.0, zero_bias=0.1))

    def make():
        require_counts(table)

    with pytest.warns(PTableWarning, match="noise for counts of 0") as warned:
        make()
    assert warned[0].filename == __file__


# --- tables of cells ----------------------------------------------------------------------


def test_columns_of_cells_are_named_with_the_trees_of_their_codes(tree):
    found = given_cells(
        ["zone", "sex"],
        count="n",
        cell_key="key",
        key_range=256,
        hierarchies={
            "zone": tree,
            "other": {"column": "place", "tree": tree},
            "geo": ["region", "town"],
        },
        labels=("Ensemble", "?"),
    )
    assert found.dimensions == ("zone", "sex")
    assert (found.count, found.cell_key, found.key_range) == ("n", "key", 256)
    assert set(found.trees) == {"zone", "place"}
    assert found.trees["zone"].parents["A1"] == "A"
    assert (found.total_label, found.missing_label) == ("Ensemble", "?")


def cells(cell_key="key"):
    return given_cells(
        ["sex"],
        count="n",
        cell_key=cell_key,
        key_range=None,
        hierarchies={},
        labels=("Total", "(missing)"),
    )


COUNTS, SUMS = Request(dimensions=["sex"]), Request(dimensions=["sex"], sums=["x"], top=2)


def test_tables_of_cells_have_neither_records_for_a_ledger_nor_amounts_for_sums():
    require_enough(cells(), {"a": COUNTS}, ptable=PTABLE, sketch=0)
    with pytest.raises(ConfigError, match="a table of cells has none") as caught:
        require_enough(cells(), {"a": COUNTS}, ptable=PTABLE, sketch=1)
    assert "ledger" in caught.value.hint
    with pytest.raises(ConfigError, match="noise of sums and means is made from records"):
        require_enough(cells(), {"a": COUNTS, "b": SUMS}, ptable=PTABLE, sketch=0)
    require_enough(None, {"a": SUMS}, ptable=PTABLE, sketch=5)


def test_cells_without_keys_have_no_noise_but_may_be_rounded():
    with pytest.raises(ConfigError, match="cell_key names its column"):
        require_enough(cells(None), {"a": COUNTS}, ptable=PTABLE, sketch=0)
    require_enough(cells(None), {"a": COUNTS}, ptable=ROUNDING, sketch=0)
    last = PTable(noise=[[0], [0], [-1, 1]], upper=[[8], [8], [4, 8]], key_range=8)
    with pytest.raises(ConfigError, match="cell_key names its column"):
        require_enough(cells(None), {"a": COUNTS}, ptable=last, sketch=0)


# --- records ------------------------------------------------------------------------------


def test_records_are_opened_with_further_columns_and_derived_variables():
    seen = []

    def further(source):
        seen.append(set(source.columns))
        return {"double": "2 * age"}

    band = DerivedVariable(name="band", of="age", bands=(0, 15, 25))
    with open_records(PEOPLE, columns=further, variables=[band]) as source:
        assert seen == [{"id", "age", "sex"}]
        assert {"double", "band"} <= set(source.columns)
        assert "band" in source.derived
        rows = source.fetch(f"SELECT double FROM {source.relation} ORDER BY 1", {})
        assert [row[0] for row in rows] == [20, 40, 60]
    with open_records(PEOPLE, columns=lambda _: {}) as source:
        assert set(source.columns) == {"id", "age", "sex"}
        assert source.cells is None


def test_cells_are_taken_where_they_are_declared():
    table = pa.table({"sex": ["F", "M", "Total"], "n": [2, 1, 3], "key": [4, 2, 6]})
    given = given_cells(
        ["sex"],
        count="n",
        cell_key="key",
        key_range=8,
        hierarchies={},
        labels=("Total", "(missing)"),
    )
    with open_records(table, cells=given) as source:
        assert source.cells is given


def test_a_source_is_closed_where_something_after_it_fails():
    opened = []

    def fails(source):
        opened.append(source)
        raise KeyError("stop")

    with pytest.raises(KeyError, match="stop"):
        open_records(PEOPLE, columns=fails)
    with pytest.raises(Exception, match=r".") as caught:
        opened[0].fetch("SELECT 1", {})
    assert not isinstance(caught.value, AssertionError)
    wrong = DerivedVariable(name="band", of="absent", bands=(0, 15))
    with pytest.raises(RequestError, match="absent"):
        open_records(PEOPLE, variables=[wrong])


def test_options_of_reading_reach_the_file(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("id;age\n1;2,5\n")
    with open_records(path, options=ReadOptions(decimal=",")) as source:
        assert set(source.columns) == {"id", "age"}
    with pytest.raises(SourceError, match="positive integer"):
        open_records(PEOPLE, threads=0)
    with pytest.raises(SourceError, match="like '3GB'"):
        open_records(PEOPLE, memory_limit="lots")


def test_what_spark_cannot_tabulate_is_refused_before_it_starts(tmp_path):
    with pytest.raises(ConfigError, match="must be 'duckdb' or 'spark', not 'polars'"):
        open_records(PEOPLE, engine="polars")
    for data, given in ((PEOPLE, None), (str(tmp_path), cells()), (["a", "b"], None)):
        with pytest.raises(ConfigError, match="Spark tabulates Parquet files"):
            open_records(data, engine="spark", cells=given)
    with pytest.raises(RequestError, match="declared for CSV files"):
        open_records(str(tmp_path), engine="spark", options=ReadOptions(decimal=","))


def test_spark_refuses_data_in_memory_without_quoting_them():
    marked = pa.table({"id": ["MARKER"]})
    with pytest.raises(ConfigError, match="Spark tabulates Parquet files") as caught:
        open_records(marked, engine="spark", options=ReadOptions(decimal=","))
    assert "MARKER" not in str(caught.value)


# --- secrets ------------------------------------------------------------------------------


def test_a_secret_is_itself_that_of_a_file_or_that_of_the_environment(monkeypatch, tmp_path):
    own, other = Secret(bytes(range(16))), Secret(bytes(range(1, 17)))
    own.write(tmp_path / "s.key")
    monkeypatch.setenv("CKM_SECRET", "hex:" + bytes(range(1, 17)).hex())
    assert find_secret(own, is_needed=False) is own
    assert find_secret(tmp_path / "s.key", is_needed=False)._value == own._value
    assert find_secret(str(tmp_path / "s.key"), is_needed=True)._value == own._value
    assert find_secret(None, is_needed=True)._value == other._value
    assert find_secret(None, is_needed=False) is None
    for empty in ("", None):
        if empty is None:
            monkeypatch.delenv("CKM_SECRET")
        else:
            monkeypatch.setenv("CKM_SECRET", empty)
        with pytest.raises(ConfigError, match="A secret is needed") as caught:
            find_secret(None, is_needed=True)
        assert "CKM_SECRET" in caught.value.hint


# --- hierarchies and categories -----------------------------------------------------------


def test_a_hierarchy_is_a_list_of_columns_a_tree_of_a_column_or_itself(tree):
    nested = Hierarchy(columns=("a", "b"))
    assert as_hierarchy("x", nested) is nested
    assert as_hierarchy("x", ["a", "b"]) == as_hierarchy("x", ("a", "b")) == nested
    for path in (tree, str(tree)):
        found = as_hierarchy("zone", path)
        assert (found.columns, found.tree.parents["A2"]) == (("zone",), "A")
    found = as_hierarchy("x", {"column": "zone", "tree": tree})
    assert (found.columns, found.tree.parents["A2"]) == (("zone",), "A")


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"column": "zone"}, "'x' needs 'column' and 'tree'"),
        ({"column": "zone", "tree": "t.csv", "more": 1}, "'x' needs 'column' and 'tree'"),
        (5, "'x' is a list of columns or the file"),
        (None, "'x' is a list of columns or the file"),
    ],
)
def test_what_is_no_hierarchy_is_refused(given, problem):
    with pytest.raises(ConfigError, match=problem):
        as_hierarchy("x", given)


def test_categories_are_a_list_or_those_of_a_file(tmp_path, tree):
    listed = ["F", "M"]
    assert find_categories("sex", listed) is listed
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    one.write_text("zone\nA1\nA2\n")
    two.write_text("a,b\nx,y\n")
    assert list(find_categories("zone", one)) == ["A1", "A2"]
    coded = as_hierarchy("zone", tree)
    assert list(find_categories("zone", str(one), nested=coded)) == ["A1", "A2"]
    nested = Hierarchy(columns=("a", "b"))
    assert [tuple(row) for row in find_categories("place", two, nested=nested)] == [("x", "y")]
    for odd in (5, None, {"F": 1}):
        with pytest.raises(ConfigError, match="'sex' are a list or a file"):
            find_categories("sex", odd)
