"""The engine under everything that users hand to it."""

from __future__ import annotations

import multiprocessing
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import ckm
from ptable import PTable
from tables import (
    DataError,
    KeyQualityError,
    KeyQualityWarning,
    RequestError,
    Secret,
    SourceError,
    TablesError,
)
from tests.strategies import published, worked_ptable

SECRET = Secret(bytes(range(16)))
PTABLE = worked_ptable()
ROUNDING = PTable(noise=[[0], [0]], upper=[[256], [256]], key_range=256)


def people(**columns):
    size = len(next(iter(columns.values())))
    return pd.DataFrame({"id": range(size), **columns})


def tabulate(data, dimensions, *, ptable=PTABLE, **options):
    wish = {
        name: options.pop(name)
        for name in ("margins", "where", "measures", "empty_cells")
        if name in options
    }
    keys = {} if "record_key" in options else {"id": "id", "secret": SECRET}
    with ckm.Engine(data, ptable=ptable, **keys, **options) as engine:
        return engine.tabulate(dimensions, **wish)


# --- what makes an engine -----------------------------------------------------------------


def test_an_engine_needs_one_kind_of_key():
    for keys in ({}, {"id": "id", "record_key": "key"}):
        with pytest.raises(ckm.ConfigError, match="need one of id, record_key") as caught:
            ckm.Engine(people(x=[1]), ptable=PTABLE, secret=SECRET, **keys)
        assert 'hint: id = "person_id"' in str(caught.value)


def test_an_engine_needs_a_secret_unless_it_replays_stored_keys(monkeypatch, tmp_path):
    monkeypatch.delenv("CKM_SECRET", raising=False)
    data = pa.table({"id": [1], "key": pa.array([5], pa.uint8())})
    for keys in ({"id": "id"}, {"record_key": "key"}, {"id": "id", "mix": False}):
        with pytest.raises(ckm.ConfigError, match="A secret is needed") as caught:
            ckm.Engine(data, ptable=PTABLE, **keys)
        assert "ckm keys secret" in str(caught.value)
    ckm.Engine(data, ptable=PTABLE, record_key="key", mix=False).close()
    SECRET.write(tmp_path / "s.key")
    monkeypatch.setenv("CKM_SECRET", "hex:" + bytes(range(16)).hex())
    frame = people(x=["a", "b"] * 20)
    wanted = published(tabulate(frame, ["x"]))
    for secret in (None, tmp_path / "s.key", str(tmp_path / "s.key")):
        with ckm.Engine(frame, id="id", secret=secret, ptable=PTABLE) as engine:
            assert published(engine.tabulate(["x"])) == wanted


def test_another_secret_is_another_noise():
    frame = people(x=np.arange(2000) // 5)
    one = published(tabulate(frame, ["x"]))
    with ckm.Engine(frame, id="id", secret=Secret(b"x" * 16), ptable=PTABLE) as engine:
        assert published(engine.tabulate(["x"])) != one


def test_columns_that_do_not_exist_are_named_with_the_nearest():
    with pytest.raises(RequestError, match="Column 'person' is not in the data"):
        ckm.Engine(people(x=[1]), id="person", secret=SECRET, ptable=PTABLE)
    with pytest.raises(TablesError, match="did you mean 'region'"):
        tabulate(people(region=[1]), ["regoin"])
    with pytest.raises(TablesError, match="'X' is not in the data"):
        tabulate(people(x=[1]), ["X"])


@pytest.mark.parametrize(
    ("options", "error", "problem"),
    [
        ({"hierarchies": {"geo": 5}}, ckm.ConfigError, "list of columns or the file"),
        ({"hierarchies": {"geo": {"column": "x"}}}, ckm.ConfigError, "'column' and 'tree'"),
        ({"hierarchies": {"geo": []}}, RequestError, "lists its columns"),
        ({"hierarchies": {"geo": ["x", "x"]}}, RequestError, "each column once"),
        ({"hierarchies": {"x": "absent.csv"}}, RequestError, "cannot be read"),
        ({"categories": {"x": 5}}, ckm.ConfigError, "a list or a file"),
        ({"categories": {"x": "absent.csv"}}, SourceError, "No file matches"),
        ({"secret": "absent.key"}, SourceError, "cannot be read"),
        ({"threads": 0}, SourceError, "positive integer"),
        ({"memory_limit": "lots"}, SourceError, "like '3GB'"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(options, error, problem):
    with pytest.raises(error, match=problem):
        ckm.Engine(people(x=[1]), **{"id": "id", "secret": SECRET, "ptable": PTABLE} | options)


# --- the requests -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wish", "problem"),
    [
        ({"dimensions": ["x", "x"]}, "Column 'x' is asked for twice"),
        ({"dimensions": "x"}, r"dimensions is a list(?s:.*)hint: write \['x'\]"),
        (
            {"dimensions": ["x"], "measures": ["sum:income"]},
            "Column 'income' is not in the data",
        ),
        ({"dimensions": ["x"], "measures": []}, "each once, not none"),
        ({"dimensions": ["x"], "measures": ["count", "count"]}, "each once"),
        ({"dimensions": ["x"], "measures": ["weighted"]}, "needs a weight"),
        ({"dimensions": ["x"], "empty_cells": "keep"}, "'auto', 'grid' or 'drop'"),
        ({"dimensions": ["x"], "margins": "some"}, "'all', 'none' or a list"),
        ({"dimensions": ["x"], "margins": [["y"]]}, "Margin 'y'"),
        ({"dimensions": ["x"], "where": "x ="}, "at character"),
        ({"dimensions": ["x"], "where": "y = 1"}, "Column 'y'"),
    ],
)
def test_requests_that_make_no_sense_are_refused(wish, problem):
    with pytest.raises((ckm.ConfigError, RequestError), match=problem):
        tabulate(people(x=["a"]), wish.pop("dimensions"), **wish)


def test_the_problems_of_all_tables_are_shown_together():
    requests = {
        "one": ckm.TableRequest(dimensions=["regoin"]),
        "two": ckm.TableRequest(dimensions=["x"], where="age > 1", measures=["weighted"]),
        "fine": ckm.TableRequest(dimensions=["x"]),
    }
    with (
        ckm.Engine(people(x=[1], region=[2]), id="id", secret=SECRET, ptable=PTABLE) as engine,
        pytest.raises(ValueError, match="2 tables have problems") as caught,
    ):
        engine.validate(requests)
    assert "table 'one'" in str(caught.value)
    assert "table 'two'" in str(caught.value)
    assert "table 'fine'" not in str(caught.value)


def test_no_table_is_no_problem():
    with ckm.Engine(people(x=[1]), id="id", secret=SECRET, ptable=PTABLE) as engine:
        assert engine.tabulate_all({}) == {}


def test_one_column_as_a_plain_dimension_and_in_a_hierarchy_agrees():
    rng = np.random.default_rng(2)
    frame = people(region=rng.integers(1, 4, 500), area=rng.integers(1, 4, 500))
    with ckm.Engine(
        frame,
        id="id",
        secret=SECRET,
        ptable=PTABLE,
        hierarchies={"geo": ["region", "area"]},
    ) as engine:
        nested = published(engine.tabulate(["geo"]))
        plain = published(engine.tabulate(["region", "area"]))
    for (region, area), count in nested.items():
        assert plain[region, area] == count


# --- the bad-input table ------------------------------------------------------------------


def test_a_missing_category_has_the_noise_of_its_own_records():
    frame = people(x=["a"] * 40 + [None] * 40, y=["b"] * 80)
    table = published(tabulate(frame, ["x", "y"]))
    only = published(tabulate(frame, ["y"], where="x is missing"))
    assert table["(missing)", "b"] == table["(missing)", "Total"] == only["b",]


@pytest.mark.parametrize(
    "name", ["count", "pcv", "ckey", "cell_key", "weighted", "noise", "key"]
)
def test_a_variable_may_have_the_name_of_a_result(name):
    frame = people(**{name: ["a"] * 30 + ["b"] * 30})
    renamed = frame.rename(columns={name: "other"})
    assert published(tabulate(frame, [name]), tabulate(frame, [name]).columns[1]) == published(
        tabulate(renamed, ["other"])
    )


def test_p_tables_with_gaps_or_repeated_lines_are_refused():
    lines = [(i, v, u) for i in (1, 2) for v, u in ((-1, 0.5), (1, 1.0))]
    frame = pd.DataFrame(lines, columns=["i", "v", "p_int_ub"])
    PTable.from_frame(frame)
    for broken in (
        pd.concat([frame, frame.head(1)]),
        frame[frame["i"] != 1],
        frame[frame["p_int_ub"] < 1],
        frame.head(0),
        frame.assign(v=[-1, "x", -1, 1]),
        frame.assign(v=[-2, 1, -1, 1]),
    ):
        with pytest.raises(ValueError, match=r"p-table|integers only|at least one line"):
            PTable.from_frame(broken)
    keys = [(1, key, 0) for key in range(4)]
    by_key = pd.DataFrame(keys, columns=["pcv", "ckey", "pvalue"])
    for broken in (
        pd.concat([by_key, by_key.head(1)]),
        by_key[by_key["ckey"] != 2],
        by_key.head(0),
        by_key.assign(pvalue=0.5),
        by_key.assign(pvalue=-2),
    ):
        with pytest.raises(ValueError, match=r"."):
            PTable.from_key_table(broken)


def keyed(keys, **columns):
    return pa.table({"x": ["a"] * len(keys), "key": keys, **columns})


@pytest.mark.parametrize(
    ("keys", "key_range", "error", "problem"),
    [
        ([0, 4095], 256, KeyQualityError, r"outside \[0, 256\)"),
        ([-1, 5], 256, KeyQualityError, r"outside \[0, 256\)"),
        ([7] * 50, 256, KeyQualityError, "repeat another, more than chance explains"),
        ([0.5, 3.5], None, KeyQualityError, r"outside \[0, 1\)"),
        ([0.5, 3.5], 256, RequestError, "for which key_range has no meaning"),
        (["5", "6"], 256, RequestError, "must be integers, or decimals"),
        ([5, None], 256, KeyQualityError, "Some records have no 'key'"),
        ([5, 6], None, RequestError, "so their range is unknown"),
    ],
)
def test_record_keys_with_a_defect_are_refused(keys, key_range, error, problem):
    with pytest.raises(error, match=problem) as caught:
        tabulate(keyed(keys), ["x"], record_key="key", key_range=key_range, mix=False)
    assert "hint:" in str(caught.value)


@pytest.mark.parametrize("share", [0.4, 0.6])
def test_missing_keys_count_as_zero_only_when_accepted_and_then_warn(share):
    rng = np.random.default_rng(3)
    values = rng.integers(0, 256, 500)
    missing = np.arange(500) < share * 500
    data = keyed(pa.array(values, pa.int64(), mask=missing))
    options = {"record_key": "key", "key_range": 256, "mix": False, "ptable": ROUNDING}
    with pytest.raises(KeyQualityError, match="no 'key'"):
        tabulate(data, ["x"], **options)
    with pytest.warns(KeyQualityWarning, match=f"About {share:.0%}".replace("%", " %")):
        found = tabulate(data, ["x"], checks="warn", **options)
    assert published(found) == {("Total",): 500, ("a",): 500}


def test_an_engine_warns_about_its_keys_once():
    data = keyed([7] * 50)
    with ckm.Engine(
        data, record_key="key", key_range=256, mix=False, checks="warn", ptable=ROUNDING
    ) as engine:
        with pytest.warns(KeyQualityWarning) as warned:
            engine.tabulate(["x"])
        assert len(warned) == 2
        engine.tabulate(["x"])


@pytest.mark.parametrize("ids", [[1.5, 2.0], [True, False]])
def test_an_identifier_that_is_no_code_is_refused(ids):
    with pytest.raises(RequestError, match="must hold integers or texts"):
        tabulate(pd.DataFrame({"id": ids, "x": [1, 2]}), ["x"])


def test_an_identifier_of_texts_that_are_no_numbers_is_fine():
    frame = pd.DataFrame({"id": ["a-1", "é漢", "17"], "x": ["a"] * 3})
    assert published(tabulate(frame, ["x"], ptable=ROUNDING)) == {("Total",): 3, ("a",): 3}


def test_repeated_and_missing_identifiers_are_refused():
    with pytest.raises(KeyQualityError, match="identifiers repeat another"):
        tabulate(pd.DataFrame({"id": [1, 1], "x": [1, 2]}), ["x"])
    with pytest.raises(KeyQualityError, match="Some records have no 'id'"):
        tabulate(pd.DataFrame({"id": ["1", None], "x": [1, 2]}), ["x"])


@pytest.mark.parametrize("data", [[1], None, {"x": [1]}, 7, "absent.parquet"])
def test_data_that_are_no_table_are_refused(data):
    with pytest.raises(SourceError, match=r"Records cannot be read|No file matches"):
        ckm.Engine(data, id="id", secret=SECRET, ptable=PTABLE)


def test_empty_data_give_an_empty_table():
    empty = pa.table({"id": pa.array([], pa.int64()), "x": pa.array([], pa.string())})
    assert published(tabulate(empty, ["x"], allow_empty=True)) == {}
    declared = tabulate(empty, ["x"], categories={"x": ["a"]}, allow_empty=True)
    assert published(declared) == {("Total",): 0, ("a",): 0}


def test_undeclared_categories_are_refused_without_being_named():
    with pytest.raises(DataError, match="2 categories that are not declared") as caught:
        tabulate(people(x=["a", "MARKER", "MARKER2"]), ["x"], categories={"x": ["a"]})
    assert "MARKER" not in str(caught.value)


@pytest.mark.parametrize("word", ["Total", "(missing)"])
def test_a_category_with_a_reserved_name_is_refused(word):
    with pytest.raises(RequestError, match="the name kept for the") as caught:
        tabulate(people(x=[word, "a"]), ["x"])
    assert "hint:" in str(caught.value)


# --- several at once ----------------------------------------------------------------------


def crowd(seed=6):
    rng = np.random.default_rng(seed)
    return people(x=rng.integers(0, 300, 30_000), y=rng.integers(0, 5, 30_000))


def work(path):
    with ckm.Engine(path, id="id", secret=SECRET, ptable=PTABLE, threads=1) as engine:
        return published(engine.tabulate(["x", "y"]))


@pytest.mark.slow
def test_threads_share_an_engine_and_its_answers():
    wanted = published(tabulate(crowd(), ["x", "y"]))
    barrier = threading.Barrier(4)

    def ask(_):
        barrier.wait()
        return published(engine.tabulate(["x", "y"]))

    with (
        ckm.Engine(crowd(), id="id", secret=SECRET, ptable=PTABLE) as engine,
        ThreadPoolExecutor(4) as pool,
    ):
        assert all(found == wanted for found in pool.map(ask, range(4)))


@pytest.mark.slow
def test_processes_with_an_engine_each_agree(tmp_path):
    path = tmp_path / "people.parquet"
    pl.from_pandas(crowd()).write_parquet(path)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        one, other = pool.map(ask_in_process, [str(path)] * 2)
    assert one == other == work(path)


def ask_in_process(path):
    return work(path)


@pytest.mark.slow
def test_memory_and_threads_do_not_change_a_table():
    frame = crowd()
    wanted = published(tabulate(frame, ["x", "y"], threads=1))
    for options in ({"threads": 2}, {"memory_limit": "100MB"}, {"mix": True}):
        assert published(tabulate(frame, ["x", "y"], **options)) == wanted


def test_progress_tells_every_stage_in_order():
    told = []
    with ckm.Engine(crowd(), id="id", secret=SECRET, ptable=PTABLE) as engine:
        engine.tabulate_all(
            {"a": ckm.TableRequest(dimensions=["x"])},
            progress=lambda *event: told.append(event),
        )
    stages = [stage for stage, _, _ in told]
    assert list(dict.fromkeys(stages)) == ["keys", "scan", "protect"]
    assert all(0 <= done <= total for _, done, total in told)
