"""Layouts by name: which one a file has, what is read, written, lost and refused."""

import math
import subprocess
import sys

import numpy as np
import pytest

from ptable import NoiseSpec, PTable, PTableError, solve
from ptable.dialects import DIALECTS, detect, read_tables, write_tables

INTERVALS = ["i,j,p,v,p_int_lb,p_int_ub,type", "1,0,.5,-1,0,.5,all", "1,2,.5,1,.5,1,all"]


@pytest.fixture
def file(tmp_path):
    def write(content, name="pt.csv"):
        path = tmp_path / name
        text = content if isinstance(content, str) else "\n".join(content) + "\n"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def small():
    return PTable(
        noise=[[0], [-1, 1], [-1, 0, 1]], upper=[[100], [50, 100], [25, 75, 100]], key_range=100
    )


# --- recognising -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "dialect"),
    [
        ("pcv,ckey,pvalue\n1,0,0\n1,1,0\n", "ons"),
        ("PCV;CKEY;PVALUE\n1;0;0\n1;1;0\n", "ons"),
        ("cell_value,cell_key,perturbation\n1,0-1,0\n", "cantabular"),
        ("i,v,upper\n1,0,8\n", "frame"),
        ("i,v,p_int_ub\n1,0,1\n", "r-ptable"),
        ("i,diff,kum_p_o\n1,0,1\n", "r-ptable"),
        ("i;v;p_int_ub\n1;0;1\n", "tau-argus"),
        ("i;v;p_int_lb;p_int_ub\n1;0;0;1\n", "sas"),
        ("1,0\n1,0\n", "superstar"),
        ("V1,v2\n1,0\n", "superstar"),
        (",V1,V2\nkey,1,0\n", None),
        ('"",V1,V2\n1,1,0\n', "superstar"),
        ("-1,0,1\n0,.5,1\n", "destatis"),
        ("i,-1,0,1\n0,0,1,1\n1,0.25,0.5,1\n", "destatis"),
        ("i;-1;0;1\n1;0,25;0,5;1\n", "destatis"),
        ("i,-1,0,1\n0,0,1,1\n1,0,1,1\n", "superstar"),
        ("a,b\n1,2\n", None),
        ("hello", None),
        ("1,2", None),
        ("1,2\nx,y\n", None),
        ("pcv,pvalue\n1,2\n", None),
        ("cell_value,perturbation\n1,2\n", None),
        ("i,v\n1,2\n", None),
    ],
)
def test_a_layout_is_recognised_by_its_content(file, content, dialect):
    path = file(content)
    if dialect is not None:
        assert detect(path) == dialect
        return
    with pytest.raises(
        PTableError, match=r"'pt\.csv' is in no layout that is known: its first"
    ):
        detect(path)


@pytest.mark.parametrize("header", ["pcv,ckey", "cell_value,cell_key"])
def test_a_list_of_keys_without_noise_is_told_what_it_lacks(file, header):
    with pytest.raises(PTableError, match="has no column 'pvalue'"):
        read_tables(file(f"{header}\n1,0\n"))


def test_our_own_files_are_recognised_by_their_names(file, small, tmp_path):
    for name in ("pt.parquet", "pt.json", "pt.JSON"):
        write_tables(small, tmp_path / name)
        assert detect(tmp_path / name) == "ckm"
        assert read_tables(tmp_path / name) == {"all": small}
    assert detect(file("1,0\n1,0\n", "pt.pert")) == "superstar"
    assert tuple(sorted(DIALECTS)) == DIALECTS
    assert {"ckm", "r-ptable", "ons"} <= set(DIALECTS)


def test_missing_files_and_folders_are_refused(tmp_path):
    for read in (read_tables, detect):
        for path in (tmp_path / "missing.csv", tmp_path):
            with pytest.raises(PTableError, match="There is no file"):
                read(path)


# --- reading -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dialect": "excel"}, "dialect must be one of cantabular, ckm"),
        ({"boundary": "[]"}, r"boundary must be '\[\)' or '\(\]'"),
        ({"key_range": 1}, "key_range must be an integer from 2"),
        ({"key_range": True}, "key_range must be an integer"),
        ({"digits": 13}, "digits must be an integer from 1 to 12"),
        ({"key_range": 3}, r"no multiple of 1/3(.|\n)*without key_range"),
        ({"large_counts": "first"}, "large_counts must be"),
        ({"large_counts": "cycle:9"}, "large_counts must be"),
        ({"small_n": 5}, "'r-ptable' has no use for small_n"),
        ({"dialect": "ons"}, "no column 'pcv'"),
        ({"dialect": "frame"}, "no column 'upper'"),
        ({"dialect": "superstar"}, "one line per key"),
        ({"dialect": "destatis"}, "different whole noise"),
        ({"dialect": "ckm", "digits": 8}, "'ckm' has no use for digits"),
    ],
)
def test_options_that_do_not_fit_are_refused(file, options, words):
    with pytest.raises(PTableError, match=words):
        read_tables(file(INTERVALS), **options)


OPTIONS = {
    "boundary": {"boundary": "(]", "key_range": 4},
    "key_range": {"key_range": 4},
    "digits": {"digits": 4},
    "large_counts": {"large_counts": "cycle:2"},
    "anchors": {"anchors": True},
    "small_n": {"small_n": 1},
}
DECIMALS = {"boundary", "key_range", "digits", "large_counts"}
TAKEN = {
    "cantabular": {"key_range", "large_counts"},
    "ckm": set(),
    "destatis": DECIMALS,
    "frame": {"key_range", "large_counts", "anchors"},
    "ons": {"key_range", "large_counts"},
    "r-ptable": DECIMALS | {"anchors"},
    "sas": DECIMALS | {"anchors"},
    "superstar": {"key_range", "large_counts", "small_n"},
    "tau-argus": DECIMALS | {"anchors"},
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_each_layout_takes_the_options_that_mean_something_in_it(tmp_path, dialect):
    table = PTable(noise=[[0], [-1, 1]], upper=[[4], [2, 4]], key_range=4)
    path = tmp_path / ("pt.json" if dialect == "ckm" else "pt.txt")
    write_tables(table, path, dialect=dialect)
    for name, options in OPTIONS.items():
        try:
            read_tables(path, dialect=dialect, **options)
            refusal = ""
        except PTableError as error:
            refusal = str(error)
        is_refused = f"The layout '{dialect}' has no use for {name}" in refusal
        assert is_refused == (name not in TAKEN[dialect]), (name, refusal)
        if is_refused:
            taken = ", ".join(sorted(TAKEN[dialect]))
            assert refusal.endswith(
                f"hint: it takes {taken}" if taken else "hint: leave it out"
            )


# --- writing -----------------------------------------------------------------------------


def same_noise(table, other):
    """Compare noise by count and key, on keys that fall on every side of every threshold."""
    keys = math.lcm(table.key_range, other.key_range)
    assert keys <= 2**64
    edges = {0, keys - 1}
    for t in (table, other):
        for row in t.upper:
            for end in row[:-1]:
                edges |= {end * keys // t.key_range, end * keys // t.key_range - 1}
    picked = np.array(sorted(edges), dtype=np.uint64)
    counts = table.counts.tolist() if table.anchors else range(2200)
    for count in counts:
        where = np.full(len(picked), count)
        ours = table.lookup(where, picked, key_range=keys) * other.step
        theirs = other.lookup(where, picked, key_range=keys) * table.step
        assert (ours == theirs).all(), count


@pytest.mark.slow
@pytest.mark.parametrize("dialect", sorted(set(DIALECTS) - {"ckm"}))
def test_a_table_of_whole_bytes_keeps_its_noise_in_every_layout(tmp_path, dialect):
    table = PTable(
        noise=[[0], [-1, 1], [-2, 0, 3]],
        upper=[[256], [100, 256], [1, 200, 256]],
        key_range=256,
    )
    losses = write_tables(table, tmp_path / "pt.txt", dialect=dialect)
    again = PTable.read(tmp_path / "pt.txt", dialect=dialect)
    same_noise(table, again)
    kept = again.key_range == 256
    expected = (
        "the key range, 256, is not kept: it reads back as 100000000, with the same noise"
    )
    assert kept or losses[0].startswith(expected)
    assert len(losses) == (not kept)


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["last", "cycle:2", "cycle:5"])
def test_rules_for_large_counts_reach_the_tools_that_repeat_columns(tmp_path, rule):
    rng = np.random.default_rng(5)
    noise = [[0], *([int(v) for v in rng.integers(0, 9, 4)] for _ in range(9))]
    upper = [[4], *[[1, 2, 3, 4]] * 9]
    table = PTable(noise=noise, upper=upper, key_range=4, large_counts=rule)
    for dialect in ("ons", "superstar"):
        losses = write_tables(table, tmp_path / dialect, dialect=dialect)
        assert not [loss for loss in losses if "noise is that of other rows" in loss]
        same_noise(table, PTable.read(tmp_path / dialect))
    losses = write_tables(table, tmp_path / "frame.csv", dialect="frame")
    assert bool(losses) == (rule != "last")
    if losses:
        assert f"'{rule}', is not kept: from count" in losses[0]


def test_a_rule_that_a_layout_cannot_hold_is_refused_or_named(tmp_path):
    noise = [[0], *([n % 7, n % 5] for n in range(1, 10))]
    table = PTable(noise=noise, upper=[[2], *[[1, 2]] * 9], key_range=2, large_counts="cycle:7")
    with pytest.raises(PTableError, match=r"SmallN 10 cannot hold(.|\n)*small_n=7"):
        write_tables(table, tmp_path / "pt.pert")
    (loss,) = write_tables(table, tmp_path / "pt.pert", small_n=7)
    assert loss.startswith("the key range, 2, is not kept: it reads back as 256, with the same")
    (again,) = read_tables(tmp_path / "pt.pert", small_n=7).values()
    same_noise(table, again)
    losses = write_tables(table, tmp_path / "pt.csv", dialect="ons")
    (loss,) = losses
    assert loss.endswith(
        "'cycle:7', is not kept: from count 751 on the noise is that of other rows"
    )


def test_our_own_tables_keep_every_threshold_where_digits_are_not_asked_for(tmp_path):
    table = solve(NoiseSpec(max_noise=3, variance=1.5, small=1))
    for dialect in ("r-ptable", "destatis", "frame"):
        path = tmp_path / f"{dialect}.csv"
        assert write_tables(table, path, dialect=dialect) == (
            "the specification and the certificate are not kept",
        )
        assert PTable.read(path) == table
        if dialect != "frame":
            assert PTable.read(path, key_range=2**32) == table


def test_losses_of_rounding_are_the_largest_that_occur(tmp_path):
    table = solve(NoiseSpec(max_noise=3, variance=1.5, small=1))
    losses = write_tables(table, tmp_path / "pt.txt", dialect="tau-argus")
    again = PTable.read(tmp_path / "pt.txt")
    assert again.key_range == 10**8
    moves = [
        abs(a / 2**32 - b / 10**8)
        for row, other in zip(table.upper, again.upper, strict=True)
        for a, b in zip(row, other, strict=True)
    ]
    means = [
        abs(
            sum(v * n for v, n in table.units(count).items()) / 2**32
            - sum(v * n for v, n in again.units(count).items()) / 10**8
        )
        for count in table.counts.tolist()
    ]
    assert 0 < max(moves) <= 5e-9
    assert losses[0].startswith(
        f"probabilities are rounded: thresholds move by at most {max(moves):.2g}"
    )
    assert f"mean noise moves by at most {max(means):.2g} and" in losses[0]
    assert losses[1:] == (
        "the key range, 4294967296, is not kept: it reads back as 100000000",
        "the specification and the certificate are not kept",
    )


def test_intervals_that_rounding_removes_are_counted(tmp_path):
    table = PTable(
        noise=[[0], [-1, 0, 1]], upper=[[10**6], [3, 10**6 - 3, 10**6]], key_range=10**6
    )
    losses = write_tables(table, tmp_path / "pt.csv", dialect="r-ptable", digits=4)
    assert "2 intervals are too narrow to be kept, at most 6e-06 of a row's keys" in losses[0]


def test_a_table_of_odd_keys_is_rounded_to_twelve_digits_and_says_so(tmp_path):
    table = PTable(noise=[[0], [-1, 1]], upper=[[3], [1, 3]], key_range=3)
    losses = write_tables(table, tmp_path / "pt.csv", dialect="r-ptable")
    assert losses[0].startswith("probabilities are rounded: thresholds move by at most 3.3e-13")
    assert PTable.read(tmp_path / "pt.csv").units(1)[-1] == 333333333333


@pytest.mark.parametrize("dialect", ["cantabular", "superstar"])
def test_what_does_not_fit_into_256_keys_is_refused(tmp_path, dialect):
    thirds = PTable(noise=[[0], [-1, 1]], upper=[[3], [1, 3]], key_range=3)
    with pytest.raises(
        PTableError,
        match=r"256 keys cannot hold(.|\n)*quantise\(256\), or convert with --keys 256",
    ):
        write_tables(thirds, tmp_path / "pt.txt", dialect=dialect)
    assert list(tmp_path.iterdir()) == []


def test_tables_that_a_layout_cannot_hold_are_refused(tmp_path, small):
    halves = PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8, step=2)
    anchored = PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8, anchors=(0, 2))
    for table, dialect, words in (
        (halves, "ons", "not tables for magnitudes"),
        (halves, "destatis", "not tables for magnitudes"),
        (anchored, "cantabular", "not tables for magnitudes"),
        ({"even": small, "odd": small}, "ckm", "holds one p-table, not 2, of types even, odd"),
        ({"even": small, "odd": small}, "ons", "holds one p-table"),
        ({}, "ckm", r"holds one p-table, not 0\."),
        ({"small_cells": small, "odd": small}, "tau-argus", "a file of its own"),
        *(
            ({kind: small}, "r-ptable", "a plain word")
            for kind in ("a,b", "a;b", 'a"b', "a\tb")
        ),
        *(({kind: small}, "r-ptable", "a plain word") for kind in ("", " a", "a\n", 5, None)),
        ({}, "r-ptable", "at least one"),
    ):
        name = "pt.json" if dialect == "ckm" else "pt.txt"
        with pytest.raises(PTableError, match=words):
            write_tables(table, tmp_path / name, dialect=dialect)
    assert list(tmp_path.iterdir()) == []


def test_names_decide_where_no_layout_is_named(tmp_path, small):
    with pytest.raises(PTableError, match=r"\.parquet or \.json, not '\.csv'(.|\n)*r-ptable"):
        write_tables(small, tmp_path / "pt.csv")
    for name in ("pt.json", "pt.Parquet"):
        with pytest.raises(PTableError, match="would mislead"):
            write_tables(small, tmp_path / name, dialect="r-ptable")
    with pytest.raises(PTableError, match=r"\.parquet or \.json, not '\.csv'"):
        write_tables(small, tmp_path / "pt.csv", dialect="ckm")
    with pytest.raises(PTableError, match="dialect must be one of cantabular, ckm"):
        write_tables(small, tmp_path / "pt.csv", dialect="excel")
    assert list(tmp_path.iterdir()) == []
    assert write_tables(small, tmp_path / "pt.parquet") == ()
    assert detect(tmp_path / "pt.parquet") == "ckm"
    assert read_tables(tmp_path / "pt.parquet") == {"all": small}
    for name, dialect in (("pt.parquet", None), ("pt.txt", "frame")):
        write_tables(small, tmp_path / name, dialect=dialect, overwrite=True)
        with pytest.raises(PTableError, match="exists already"):
            write_tables(small, tmp_path / name, dialect=dialect)
        write_tables(small, tmp_path / name, dialect=dialect, overwrite=True)


@pytest.mark.parametrize("name", ["pt.json", "pt.csv"])
def test_a_dry_run_tells_the_losses_and_writes_nothing(tmp_path, name):
    solved = solve(NoiseSpec(max_noise=2, variance=1.0))
    dialect = "r-ptable" if name == "pt.csv" else None
    losses = write_tables(solved, tmp_path / name, dialect=dialect, dry_run=True)
    assert losses == (
        ("the specification and the certificate are not kept",) if dialect else ()
    )
    assert list(tmp_path.iterdir()) == []


def test_digits_and_columns_are_written_as_asked(tmp_path, small):
    for dialect, options, line in (
        ("r-ptable", {"digits": 1}, "1,0,0.5,-1,0,0.5,all"),
        ("sas", {"digits": 3}, "1;0;0.500;-1;0.000;0.500"),
    ):
        write_tables(small, tmp_path / dialect, dialect=dialect, **options)
        assert line in (tmp_path / dialect).read_text().splitlines()
    with pytest.raises(PTableError, match="digits must be an integer from 1 to 12"):
        write_tables(small, tmp_path / "pt.csv", dialect="sas", digits=0)
    eighths = PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8)
    losses = write_tables(eighths, tmp_path / "pt.pert", small_n=40)
    assert (tmp_path / "pt.pert").read_text().partition("\n")[0].count(",") == 39
    assert [loss[:13] for loss in losses] == ["the key range"]


def test_several_types_go_to_one_file_and_come_back(tmp_path, small):
    odd = PTable(noise=[[0], [-1, 2]], upper=[[10], [4, 10]], key_range=10, step=2)
    tables = {"even": small, "odd": odd}
    losses = write_tables(tables, tmp_path / "pt.csv", dialect="r-ptable")
    again = read_tables(tmp_path / "pt.csv")
    assert list(again) == ["even", "odd"]
    same_noise(again["odd"], odd)
    (loss,) = losses
    assert loss.startswith("odd: the key range, 10, is not kept: it reads back as 100, with")
    assert write_tables({"odd": odd}, tmp_path / "odd.csv", dialect="r-ptable") == ()
    for table in read_tables(tmp_path / "pt.csv").values():
        assert table.large_counts == "last"


def test_anchors_of_whole_noise_are_written_with_a_warning(tmp_path):
    table = PTable(
        noise=[[0], [-1, 1], [-1, 1]],
        upper=[[10], [5, 10], [5, 10]],
        key_range=10,
        anchors=(0, 1, 5),
    )
    losses = write_tables(table, tmp_path / "pt.csv", dialect="r-ptable")
    assert losses == ("that only some counts have rows is not kept: read it with anchors=True",)
    assert read_tables(tmp_path / "pt.csv", anchors=True)["all"] == table


@pytest.mark.slow
def test_reading_and_writing_load_no_solver_and_no_data_frames(tmp_path):
    code = f"""
import sys
from ptable import PTable
from ptable.dialects import write_tables
table = PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8)
write_tables(table, {str(tmp_path / "pt.csv")!r}, dialect="frame")
PTable.read({str(tmp_path / "pt.csv")!r})
found = {{"pandas", "pyarrow", "scipy", "cvxpy", "highspy"}} & set(sys.modules)
assert not found, found
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("dialect", ["frame", "r-ptable", "tau-argus", "sas"])
def test_a_single_table_may_have_any_type(tmp_path, dialect):
    table = PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8)
    path = tmp_path / "pt.csv"
    write_tables({"special": table}, path, dialect=dialect)
    (again,) = read_tables(path).values()
    assert again.units(1).keys() == table.units(1).keys()


@pytest.mark.parametrize("tables", [5, None, {"a": 5}, {"a": None}])
def test_only_tables_are_written(tmp_path, tables):
    with pytest.raises(PTableError, match="tables must be a PTable"):
        write_tables(tables, tmp_path / "pt.csv", dialect="frame")
