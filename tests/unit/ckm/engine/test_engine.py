"""The engine under everything that users hand to it."""

from __future__ import annotations

import dataclasses
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
from tables.source.source import Source
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


# --- what a small engine answers ----------------------------------------------------------

TOWNS = pd.DataFrame(
    {
        "id": range(12),
        "sex": ["F", "M"] * 6,
        "town": ["a1", "a1", "a2", "b1", "b1", "b1"] * 2,
        "region": ["a", "a", "a", "b", "b", "b"] * 2,
        "age": [*range(20, 80, 5)],
        "income": [10.0, 200.0, 35.0, 4.0, 900.0, 61.0, 7.0, 88.0, 15.0, 23.0, 3.0, 440.0],
        "hours": [34.0, 35.0, 36.0] * 4,
        "w": [1.5, 2.5, 2.0] * 4,
    }
)


@pytest.fixture(scope="module")
def small():
    with small_engine() as engine:
        yield engine


def small_engine(**options):
    given = {"id": "id", "secret": SECRET, "ptable": PTABLE, "weight": "w"}
    return ckm.Engine(TOWNS, **(given | options))


SUMS = ckm.TableRequest(dimensions=["sex"], measures=["count", "sum:income", "mean:income"])
COUNTS = ckm.TableRequest(dimensions=["town", "sex"])


def test_an_engine_shows_what_it_was_made_of_and_no_secret(small):
    assert small.ptable is PTABLE
    assert small.files == ()
    assert small.labels == {}
    page = small._repr_html_()
    for words in ("id, sex, town", "HashedKeys of", "<td>w</td>", "<td>yes</td>", "stop"):
        assert words in page
    with small_engine(weight=None, record_key="id", id=None, key_range=64, mix=False) as other:
        page = other._repr_html_()
        assert "StoredKeys of" in page
        assert "none" in page
        assert "<td>no</td>" in page
    assert repr(small).startswith("Engine(")


def test_an_engine_is_closed_with_its_block_and_where_it_cannot_be_made(monkeypatch):
    closed, close = [], Source.close
    monkeypatch.setattr(Source, "close", lambda source: closed.append(source) or close(source))
    with small_engine() as engine:
        assert engine.tabulate([]).n_rows == 1
    with pytest.raises(SourceError, match="cannot be read"):
        engine.tabulate(["sex"])
    for wrong in ({"weight": "ww"}, {"magnitudes": {"incme": ckm.MagnitudeNoise.start()}}):
        before = len(closed)
        with pytest.raises(RequestError, match="is not in the data"):
            small_engine(**wrong)
        assert len(closed) == before + 1


def test_sums_of_a_single_value_are_refused_wherever_they_are_asked_for(tmp_path):
    request = ckm.TableRequest(dimensions=["x"], measures=["sum:one"])
    frame = people(x=["a", "b"] * 9, one=[7.0] * 18)
    with ckm.Engine(frame, id="id", secret=SECRET, ptable=PTABLE) as engine:
        for ask in (
            lambda: engine.tabulate_all({"t": request}),
            lambda: engine.stream(request, tmp_path),
            lambda: engine.cautions_of_sums({"t": request}),
        ):
            with pytest.raises(ckm.MagnitudeError, match="'one' has one value or two"):
                ask()


def test_tables_one_after_the_other_tell_their_cells_sums_and_progress(small):
    told, requests = [], {"counts": COUNTS, "sums": SUMS}
    tables = small.protect_tables(requests, progress=lambda *event: told.append(event))
    seen = {protected.name: protected for protected in tables}
    assert {name: protected.request for name, protected in seen.items()} == requests
    made = small.tabulate_all(requests)
    for name, protected in seen.items():
        assert made[name].to_arrow().equals(protected.table.to_arrow())
        assert protected.counts.tolist() == small.protect(protected.cells)["count"].tolist()
    assert not seen["counts"].sums
    assert list(seen["sums"].sums) == ["income"]
    assert len(seen["sums"].sums["income"]) == len(seen["sums"].cells) == 3
    assert told[0] == ("keys", 0, 1)
    assert ("keys", 1, 1) in told
    assert told[-1] == ("protect", 2, 2)
    assert [done for stage, done, _ in told if stage == "protect"] == [0, 1, 2]
    assert [t for t in told if t[0] == "scan"][-1] == ("scan", 100, 100)
    assert (
        small.tabulate_all({"counts": COUNTS})["counts"]
        .to_arrow()
        .equals(made["counts"].to_arrow())
    )


def test_settings_of_numbers_and_labels_reach_the_tables():
    with small_engine(round_weighted=False, total_label="All", missing_label="?") as engine:
        table = engine.tabulate(["sex"], measures=["count", "weighted"], empty_cells="grid")
    lines = {line["sex"]: line for line in table.to_arrow().to_pylist()}
    assert set(lines) == {"All", "F", "M"}
    for sex, line in lines.items():
        part = TOWNS if sex == "All" else TOWNS[TOWNS.sex == sex]
        assert line["weighted"] == pytest.approx(line["count"] * part.w.mean())
    with small_engine() as rounded:
        other = rounded.tabulate(["sex"], measures=["weighted"])
    assert not any(n % 1 for n in other.to_pandas()["weighted"])


def test_records_made_ready_give_the_cells_of_tables(small):
    ready = small.prepare(["sex", "town"])
    assert ready is not None
    table = published(small.tabulate(["sex"]))
    built = small._fitter.fit({"": ckm.TableRequest(dimensions=["sex"])})
    (cells,) = small._cells([*built.values()], None)
    found = small.protect(cells, measures=["count"])
    assert list(found) == ["count"]
    names = cells.axes[0].labels[0][cells.ranks[0]]
    kept = {(n,): c for n, c in zip(names, found["count"].tolist(), strict=True) if c}
    assert kept == table
    each = small.protect_each([cells, cells], measures=["count"])
    assert [part["count"].tolist() for part in each] == [found["count"].tolist()] * 2


def test_cells_of_one_office_are_protected_by_another_as_its_records_would_be(small):
    wish = {"t": ckm.TableRequest(dimensions=["town", "sex"])}
    exported = small.cells(wish)
    assert set(exported.column_names) == {"town", "sex", "count", "cell_key"}
    assert sum(exported["count"].to_pylist()) == 12
    made = ckm.Engine(
        exported,
        cells=["town", "sex"],
        count="count",
        cell_key="cell_key",
        secret=SECRET,
        ptable=PTABLE,
    )
    with made as other:
        assert (
            other.tabulate_all(wish)["t"]
            .to_arrow()
            .equals(small.tabulate_all(wish)["t"].to_arrow())
        )
        with pytest.raises(ckm.ConfigError, match="need records, and the data are cells"):
            other.prepare(["sex"])
        with pytest.raises(ckm.ConfigError, match="compares the records of cells"):
            other.validate(wish, sketch=3)


def test_cells_without_keys_are_rounded_without_a_secret(monkeypatch, tmp_path):
    monkeypatch.delenv("CKM_SECRET", raising=False)
    half = PTable(noise=[[0], [-1], [1], [0]], upper=[[8]] * 4, key_range=8)
    table = pa.table({"sex": ["F", "M"], "count": [1, 2]})
    with ckm.Engine(table, cells=["sex"], ptable=half) as engine:
        assert published(engine.tabulate(["sex"])) == {("Total",): 3, ("M",): 3}
    with pytest.raises(ckm.ConfigError, match="cell_key names its column"):
        ckm.Engine(table, cells=["sex"], ptable=PTABLE).tabulate(["sex"])
    request = ckm.TableRequest(dimensions=["sex"])
    with pytest.raises(ckm.ConfigError, match="cell_key names its column"):
        ckm.Engine(table, cells=["sex"], ptable=PTABLE).stream(request, tmp_path)


def test_cells_that_do_not_add_up_are_refused_with_their_keys():
    half = PTable(noise=[[0], [-1], [1], [0]], upper=[[8]] * 4, key_range=8)
    table = pa.table({"sex": ["F", "M", "Total"], "count": [1, 2, 4]})
    with (
        ckm.Engine(table, cells=["sex"], ptable=half) as engine,
        pytest.raises(DataError, match="sum"),
    ):
        engine.check_keys()


def test_a_request_is_validated_with_the_needs_of_a_ledger_and_without_a_record(small):
    small.validate({"t": COUNTS, "s": SUMS})
    small.validate({"t": COUNTS}, sketch=4)
    data = pa.table({"key": pa.array([1, 2], pa.uint8()), "sex": ["F", "M"]})
    with ckm.Engine(data, record_key="key", secret=SECRET, ptable=PTABLE) as narrow:
        narrow.validate({"t": ckm.TableRequest(dimensions=["sex"])})
        with pytest.raises(ValueError, match=r"(?i)key"):
            narrow.validate({"t": ckm.TableRequest(dimensions=["sex"])}, sketch=4)


def test_keys_are_checked_once_and_nobody_at_all_is_told(small):
    assert small.check_keys() is small.check_keys()
    empty = TOWNS.head(0)
    with (
        ckm.Engine(empty, id="id", secret=SECRET, ptable=PTABLE) as engine,
        pytest.raises(DataError),
    ):
        engine.check_keys()


def test_sums_of_amounts_that_hardly_vary_are_named_for_the_office(small):
    alike = ckm.TableRequest(dimensions=["sex"], measures=["sum:hours"])
    (said,) = small.cautions_of_sums({"t": alike, "u": SUMS})
    assert said.startswith("Table 't': in all cells, amounts of 'hours'")
    assert small.cautions_of_sums({"t": COUNTS}) == []


def test_counts_of_cells_are_those_before_protection(small):
    found = small.count_histogram({"t": ckm.TableRequest(dimensions=["sex"])})
    assert found.listed == 3
    somebody = found.tables["t"].within(1, None)
    assert dict(zip(somebody.counts.tolist(), somebody.cells.tolist(), strict=True)) == {
        6: 2,
        12: 1,
    }


def test_what_needs_the_whole_table_is_not_streamed(tmp_path):
    wish = ckm.TableRequest(dimensions=["sex"], measures=["median:income"])
    with (
        small_engine(weight=None) as engine,
        pytest.raises(ckm.ConfigError, match="in all values of its records at once"),
    ):
        engine.stream(wish, tmp_path)


def test_named_cells_have_the_same_sums_in_a_streamed_table(tmp_path):
    wish = ckm.TableRequest(dimensions=["town", "sex"], measures=["count", "sum:income"])
    noise = ckm.MagnitudeNoise.start(sensitive=())
    named = dataclasses.replace(noise, named_cells=({"sex": "F"},))
    with small_engine(magnitudes=named) as engine, small_engine(magnitudes=noise) as plain:
        whole = engine.tabulate_all({"": wish})[""].to_arrow()
        (piece,) = engine.stream(wish, tmp_path, most=1).pieces(10**6)
        assert piece.to_arrow().equals(whole)
        assert not plain.tabulate_all({"": wish})[""].to_arrow().equals(whole)


def test_a_streamed_table_tells_its_progress(small, tmp_path):
    told = []
    table = small.stream(
        COUNTS,
        tmp_path,
        most=4,
        progress=lambda *event: told.append(event),
    )
    assert table.n_rows == small.tabulate_all({"": COUNTS})[""].n_rows
    assert told[-1] == ("scan", 100, 100)
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)


def test_an_office_can_accept_a_continuous_dimension():
    frame = people(x=np.arange(150) + 0.5)
    with ckm.Engine(frame, id="id", secret=SECRET, ptable=PTABLE) as engine:
        with pytest.raises((DataError, RequestError)):
            engine.tabulate(["x"])
        engine._allow_continuous(["x"])
        assert engine.tabulate(["x"]).n_rows > 1
