"""Published tables: nothing in them but what was published."""

from __future__ import annotations

import csv
import io
import re
import xml.etree.ElementTree as ET
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ckm
from ckm.engine.published_table import (
    block_size,
    encodings,
    grid_size,
    measure_columns,
    open_categories,
    publish,
    published_numbers,
    round_to_unit,
    shows_grid,
    unhidden,
)
from ptable import PTable
from tables import CodeTree, Hierarchy, Request, RequestError, StoredKeys, cube, open_source
from tests.strategies import published

SVG = "{http://www.w3.org/2000/svg}"
#: Counts of 1 become 0, counts of 2 become 3, all others stay.
PTABLE = PTable(noise=[[0], [-1], [1], [0]], upper=[[256], [256], [256], [256]], key_range=256)


def tabulate(columns, dimensions, *, empty_cells="auto", measures=("count",), **options):
    size = len(next(iter(columns.values())))
    data = pa.table({**columns, "key": pa.array(np.arange(size) % 256, pa.uint8())})
    wish = {name: options.pop(name) for name in ("margins", "where") if name in options} | {
        "measures": measures,
        "empty_cells": empty_cells,
    }
    with ckm.Engine(
        data,
        record_key="key",
        ptable=PTABLE,
        mix=False,
        checks="skip",
        allow_empty=True,
        **options,
    ) as engine:
        return engine.tabulate(dimensions, **wish)


RARE = ["common"] * 5 + ["MARKER"] + ["double"] * 2


@pytest.mark.parametrize("empty_cells", ["auto", "drop", "grid"])
def test_a_category_whose_every_count_became_zero_leaves_no_trace(empty_cells, tmp_path):
    sex = ["F", "F", "M", "F", "M", "M", "F", "F"]
    table = tabulate({"x": RARE, "sex": sex}, ["x", "sex"], empty_cells=empty_cells)
    assert "MARKER" not in {name for cell in published(table) for name in cell}
    arrow = table.to_arrow()
    assert arrow["x"].chunk(0).dictionary.to_pylist() == ["Total", "common", "double"]
    assert "MARKER" not in set(table.to_pandas()["x"])
    for name in ("t.csv", "t.parquet"):
        table.write(tmp_path / name)
        assert b"MARKER" not in (tmp_path / name).read_bytes()
    assert "MARKER" not in repr(table) + table._repr_html_()


def test_a_dropped_table_holds_no_zero():
    rng = np.random.default_rng(3)
    columns = {"x": rng.integers(0, 100, 300), "y": rng.integers(0, 3, 300)}
    columns["w"] = 1 + rng.random(300)
    table = tabulate(columns, ["x", "y"], measures=["weighted", "count"], weight="w")
    assert min(published(table).values()) > 0
    assert min(published(table, "weighted").values()) > 0


def test_a_grid_of_seen_categories_tells_nothing_about_who_is_in_a_zero():
    table = tabulate(
        {"x": RARE, "sex": ["F", "F", "M", "F", "M", "M", "F", "F"]},
        ["x", "sex"],
        empty_cells="grid",
    )
    assert published(table) == {
        ("Total", "Total"): 8,
        ("Total", "F"): 5,
        ("Total", "M"): 3,
        ("common", "Total"): 5,
        ("common", "F"): 3,
        ("common", "M"): 3,
        ("double", "Total"): 3,
        ("double", "F"): 3,
        ("double", "M"): 0,
    }


def test_a_declared_grid_holds_every_combination_seen_or_not():
    columns = {"x": ["a", "a", "a"], "sex": ["F", "F", "F"]}
    categories = {"x": ["b", "a"], "sex": ["M", "F"]}
    found = published(tabulate(columns, ["x", "sex"], categories=categories))
    assert list(found.items()) == [
        (("Total", "Total"), 3),
        (("Total", "M"), 0),
        (("Total", "F"), 3),
        (("b", "Total"), 0),
        (("b", "M"), 0),
        (("b", "F"), 0),
        (("a", "Total"), 3),
        (("a", "M"), 0),
        (("a", "F"), 3),
    ]
    part = tabulate(columns, ["x", "sex"], categories=categories, margins=[["x"]])
    assert published(part) == {c: n for c, n in found.items() if c[0] != "Total"}
    dropped = tabulate(columns, ["x", "sex"], categories=categories, empty_cells="drop")
    assert published(dropped) == {c: n for c, n in found.items() if n}
    assert dropped.to_arrow()["x"].chunk(0).dictionary.to_pylist() == ["Total", "a"]


def test_a_declared_hierarchy_shows_empty_paths_and_codes():
    paths = [["1", "x"], ["1", "y"], ["2", "x"]]
    columns = {"region": ["1"] * 3, "area": ["x"] * 3, "zone": ["B1"] * 3}
    hierarchies = {
        "geo": Hierarchy(columns=("region", "area")),
        "zone": Hierarchy(
            columns=("zone",), tree=CodeTree({"A": None, "B": None, "B1": "B", "B2": "B"})
        ),
    }
    found = tabulate(columns, ["geo"], hierarchies=hierarchies, categories={"geo": paths})
    assert published(found) == {
        ("Total", "Total"): 3,
        ("1", "Total"): 3,
        ("1", "x"): 3,
        ("1", "y"): 0,
        ("2", "Total"): 0,
        ("2", "x"): 0,
    }
    found = tabulate(columns, ["zone"], hierarchies=hierarchies)
    assert published(found) == {
        ("Total",): 3,
        ("A",): 0,
        ("B",): 3,
        ("B1",): 3,
        ("B2",): 0,
    }


def test_a_grid_beyond_reason_is_refused():
    names = [f"c{n}" for n in range(9)]
    columns = {name: np.arange(10) for name in names}
    with pytest.raises(ckm.ReleaseError, match="at most 40,000,000 are written") as caught:
        tabulate(columns, names, empty_cells="grid", margins="none")
    assert 'empty_cells = "drop"' in str(caught.value)


@pytest.mark.parametrize(("most", "is_refused"), [(12, False), (11, True)])
def test_a_grid_may_be_as_large_as_allowed(monkeypatch, most, is_refused):
    monkeypatch.setattr("ckm.engine.published_table._MAX_GRID", most)
    cells = cells_of(GROUPS, ["x", "y"], where="x is not missing")
    if is_refused:
        with pytest.raises(ckm.ReleaseError, match="The full grid has 12 cells; at most 11"):
            laid_out(cells, cells.count, empty_cells="grid")
    else:
        assert laid_out(cells, cells.count, empty_cells="grid").n_rows == 12


@pytest.mark.parametrize("empty_cells", ["auto", "drop", "grid"])
@pytest.mark.parametrize("where", [None, "x > 5"])
def test_a_table_without_records_is_a_table(empty_cells, where):
    empty = {"x": pa.array([], pa.int64())}
    for columns in (empty, {"x": [1, 2, 3]}):
        if where is None and columns is not empty:
            continue
        table = tabulate(columns, ["x"], empty_cells=empty_cells, where=where)
        assert published(table) in ({}, {("Total",): 0})
        total = tabulate(columns, [], empty_cells=empty_cells, where=where)
        assert published(total) == ({} if empty_cells == "drop" else {(): 0})
        assert list(table.to_pandas().columns) == ["x", "count"]


@pytest.mark.parametrize(
    ("dimensions", "wanted"),
    [
        (["count"], ["count", "count_published"]),
        (["Count"], ["Count", "count_published"]),
        (
            ["count", "count_published"],
            ["count", "count_published", "count_published_published"],
        ),
        (
            ["pcv", "ckey", "cell_key", "weighted"],
            ["pcv", "ckey", "cell_key", "weighted", "count"],
        ),
    ],
)
def test_dimensions_called_like_a_measure_keep_their_names_and_values(dimensions, wanted):
    columns = {name: ["a", "a", "a", "b", "b", "b"] for name in dimensions}
    table = tabulate(columns, dimensions)
    assert list(table.columns) == wanted
    cell = ("a",) * len(dimensions)
    arrow = table.to_arrow()
    rows = zip(*(arrow[name].to_pylist() for name in wanted), strict=True)
    assert (*cell, 3) in set(rows)


def test_measures_keep_apart_whose_columns_would_be_called_alike_beside_a_dimension():
    measures = ("sum:x_published", "sum:x", "count")
    assert measure_columns(measures, ["Sum_x"]) == {
        "sum_x_published": "sum:x_published",
        "sum_x_published_published": "sum:x",
        "count": "count",
    }


def test_a_published_table_travels_as_arrow_and_comes_back_from_files(tmp_path):
    nasty = ["a,b", 'say "x"', "line\nbreak", "é漢😀", "", "=1+1", " a ", "NULL", "nan"]
    table = tabulate({"x": np.repeat(nasty, 3)}, ["x"])
    wanted = published(table)
    assert {name for (name,) in wanted} == {"Total", *nasty}
    assert pl.DataFrame(table).height == len(wanted)
    assert pa.table(table).equals(table.to_arrow())
    table.write(tmp_path / "t.parquet")
    frame = pq.read_table(tmp_path / "t.parquet").to_pylist()
    assert {(r["x"],): r["count"] for r in frame} == wanted
    table.write(tmp_path / "t.csv")
    with (tmp_path / "t.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {(r["x"],): int(r["count"]) for r in rows} == wanted
    assert isinstance(table.to_pandas(), pd.DataFrame)


def test_files_appear_whole_or_not_at_all_and_are_not_overwritten(tmp_path):
    table = tabulate({"x": ["a"] * 3}, ["x"])
    file = tmp_path / "t.csv"
    table.write(file)
    first = file.read_bytes()
    with pytest.raises(ckm.ReleaseError, match=r"'t\.csv' exists"):
        table.write(file)
    table.write(file, overwrite=True)
    assert file.read_bytes() == first
    with pytest.raises(ckm.ReleaseError, match=r"ends in \.csv, .*\.parquet"):
        table.write(tmp_path / "t.xls")
    with pytest.raises(ckm.ReleaseError, match="There is no folder"):
        table.write(tmp_path / "absent" / "t.csv")
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


def test_a_table_is_the_same_in_every_order_of_the_records(tmp_path):
    rng = np.random.default_rng(5)
    values = rng.choice(["b", "a", "Z", "10", "9"], 200)
    files = []
    for number in range(2):
        order = rng.permutation(200)
        data = pa.table({"x": values[order], "key": pa.array((order % 256).astype(np.uint8))})
        with ckm.Engine(
            data, record_key="key", ptable=PTABLE, mix=False, checks="skip"
        ) as engine:
            engine.tabulate(["x"]).write(tmp_path / f"{number}.csv")
        files.append((tmp_path / f"{number}.csv").read_bytes())
    assert files[0] == files[1]


def test_a_missing_category_of_a_declared_grid_shows_only_through_published_counts():
    names = ["F"] * 40 + ["M"] * 40 + [None]
    people = pa.table({"sex": names, "key": pa.array(range(81), pa.uint8())})
    hiding = PTable.from_units([{0: 256}, {-1: 256}, {0: 256}], key_range=256)
    with ckm.Engine(
        people,
        record_key="key",
        mix=False,
        ptable=hiding,
        categories={"sex": ["F", "M", "X"]},
        checks="skip",
    ) as engine:
        table = engine.tabulate(["sex"])
    assert table.to_pandas()["sex"].tolist() == ["Total", "F", "M", "X"]


def test_labels_of_totals_and_missing_categories_can_be_chosen():
    people = pa.table(
        {"sex": ["Total", "F", None] * 20, "key": pa.array(range(60), pa.uint8())}
    )
    keep = PTable.from_units([{0: 256}, {0: 256}], key_range=256)
    options = {"record_key": "key", "mix": False, "ptable": keep, "checks": "skip"}
    with (
        ckm.Engine(people, **options) as engine,
        pytest.raises(RequestError, match="total_label"),
    ):
        engine.tabulate(["sex"])
    with ckm.Engine(people, **options, total_label="All", missing_label="?") as engine:
        found = engine.tabulate(["sex"]).to_pandas()["sex"].tolist()
    assert found == ["All", "F", "Total", "?"]


def possible_counts(counts, weighted, step, unit_of):
    """Return for each cell the original counts that its two published numbers allow."""
    found = {}
    for cell, count in counts.items():
        shown, half = weighted[cell], unit_of(weighted[cell] / count) / 2
        found[cell] = []
        for n in range(max(1, count - 5), count + 6):
            low, high = (shown - half) * n / count, (shown + half) * n / count
            if np.floor((high + 1e-6) / step) >= np.ceil((low - 1e-6) / step):
                found[cell].append(n)  # some sum of weights fits
    return found


def unit_near(mean):
    """Return a rounding unit that an attacker infers from the published mean weight."""
    exponent = np.floor(np.log10(mean))
    return min(u * 10**exponent for u in (1, 2, 5, 10) if u * 10**exponent >= mean * 0.9)


@pytest.mark.parametrize(
    ("mean", "step"),
    [(1, 1), (1.5, 2), (2, 2), (2.5, 5), (5, 5), (6, 10), (30, 50), (0.15, 0.2), (0.3, 0.5)],
)
def test_a_weighted_count_is_rounded_to_1_2_or_5_times_a_power_of_ten(mean, step):
    sizes = np.arange(3, 60)
    cells = np.repeat(sizes, sizes)
    columns = {"x": cells, "w": np.full(len(cells), float(mean))}
    table = tabulate(columns, ["x"], measures=["weighted"], weight="w", margins="none")
    found = published(table, "weighted")
    for size in sizes:
        steps = found[(str(size),)] / step
        assert steps == pytest.approx(round(steps))
        assert abs(steps - size * mean / step) < 0.5 + 1e-6
    assert len({round(value / step) % 10 for value in found.values()}) == 10  # no coarser step


@pytest.mark.parametrize("step", [1, 10, 100, 250])
@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("rounds", [False, True])
def test_rounded_weighted_counts_do_not_give_the_original_counts_away(rounds, step, zeros):
    rng = np.random.default_rng(11)
    columns = {"x": rng.integers(0, 400, 8000), "w": step * rng.integers(1, 6, 8000)}
    if zeros:
        columns["w"][rng.random(8000) < 0.7] = 0
    options = {"weight": "w", "round_weighted": rounds}
    table = tabulate(columns, ["x"], measures=["count", "weighted"], **options)
    counts = {cell: count for cell, count in published(table).items() if count > 5}
    # The least unit that the rounding can have taken, whatever the share of zeros.
    unit_of = (lambda mean: max(unit_near(mean), step)) if rounds else (lambda _: 0.0)
    allowed = possible_counts(counts, published(table, "weighted"), step, unit_of)
    identified = sum(len(candidates) == 1 for candidates in allowed.values()) / len(allowed)
    left = sum(map(len, allowed.values())) / (11 * len(allowed))
    if rounds:
        assert identified == 0
        assert left > (0.7 if zeros else 0.95)
    else:  # the attack must succeed where the defence is off
        assert identified > (0.1 if zeros else 0.3)


@pytest.mark.parametrize(
    ("mean", "unit"), [(1.0, 1), (1.5, 2), (37.0, 50), (189.0, 200), (600.0, 1000), (0.3, 0.5)]
)
def test_weighted_counts_are_rounded_to_about_one_mean_weight(mean, unit):
    table = tabulate(
        {"x": [1] * 40, "w": [mean] * 40}, ["x"], measures=["count", "weighted"], weight="w"
    )
    counts, weighted = published(table), published(table, "weighted")
    for cell, count in counts.items():
        assert abs(weighted[cell] - mean * count) <= unit / 2 + 1e-9
        assert weighted[cell] == pytest.approx(round(weighted[cell] / unit) * unit, abs=1e-12)


@pytest.mark.parametrize(
    "request_",
    [{"dimensions": ["id"]}, {"dimensions": ["geo"]}, {"dimensions": ["x"], "where": "id = 4"}],
)
def test_what_tells_persons_apart_is_no_dimension_and_no_filter(request_):
    people = pa.table({"id": range(40), "x": [0, 1] * 20})
    table = PTable.from_units([{0: 256}, {0: 256}], key_range=256)
    options = {
        "ptable": table,
        "hierarchies": {"geo": ["x", "id"]},
        "secret": ckm.Secret(bytes(16)),
    }
    with (
        ckm.Engine(people, id="id", **options) as engine,
        pytest.raises(RequestError, match="'id' tells persons apart"),
    ):
        engine.tabulate(**request_)


def drawn(table, **options):
    """Return what a plot shows: its title, and the widths of bars and numbers of its data."""
    picture = table.plot(**options)
    root = ET.fromstring(picture.svg)  # noqa: S314
    bars = [float(bar.get("width")) for bar in root.iter(f"{SVG}rect")]
    (data,) = pd.read_html(io.StringIO(picture.table), keep_default_na=False)
    return picture, bars, data


def test_bars_of_a_plot_are_as_long_as_published_numbers_and_totals_are_left_out():
    sex, age = ["F"] * 30 + ["M"] * 50, (["<b>"] * 4 + ["old"] * 6) * 8
    table = tabulate({"age": age, "sex": sex}, ["age", "sex"])
    picture, bars, data = drawn(table)
    assert data["F"].tolist() == [12, 18]
    assert data["M"].tolist() == [20, 30]
    assert [bar / bars[0] for bar in bars] == pytest.approx(
        [1, 18 / 12, 20 / 12, 2.5], rel=1e-3
    )
    assert "&lt;b&gt;" in picture._repr_html_()
    assert "<b>" not in picture._repr_html_()
    assert drawn(table, total_label="old")[2].columns.tolist() == ["age", "Total", "F", "M"]


def test_cells_that_are_missing_from_a_table_get_no_bar():
    table = tabulate({"x": [5] * 8 + [6] * 4, "y": [1, 2] * 4 + [1] * 4}, ["x", "y"])
    _, bars, data = drawn(table)
    assert data["count"].tolist() == [4, 4, 4]
    assert len(bars) == 3


def test_a_plot_of_many_cells_shows_the_largest_and_says_so():
    sizes = [3 + (7 * n) % 45 for n in range(45)]
    table = tabulate({"x": np.repeat(np.arange(45), sizes)}, ["x"])
    picture, bars, data = drawn(table, language="fr")
    assert data["count"].tolist() == sorted(sizes)[:-13:-1]
    assert len(bars) == 12
    assert "Les 12 lignes aux plus grands nombres, sur 45." in picture.svg
    title = re.search('class="t strong">(.*?)<', picture.svg)[1]
    assert float(re.search(r'viewBox="0 0 ([\d.]+)', picture.svg)[1]) > 6 * len(title)


def test_panels_of_a_plot_stand_two_beside_each_other():
    table = tabulate({"x": [1, 2, 2] * 24, "y": ["a", "b", "c", "d"] * 18}, ["x", "y"])
    places = re.findall(r'<svg x="([^"]*)" y="([^"]*)"', drawn(table)[0].svg)
    assert [x for x, _ in places] == ["0", "420", "0", "420"]
    assert places[0][1] == places[1][1] != places[2][1]


def test_every_class_of_a_plot_has_its_look_there_and_reaches_nothing_else():
    picture, _, _ = drawn(tabulate({"x": [1, 2] * 9, "y": [1] * 9 + [2] * 9}, ["x", "y"]))
    style = re.search("<style>(.*?)</style>", picture.svg)[1]
    assert "var(" not in style
    selectors = ",".join(re.findall(r"(?:^|\})([^{}]+)\{", style)).split(",")
    assert all(one.strip().startswith(".ckm-plot .") for one in selectors)
    for name in {
        n for names in re.findall('class="([^"]*)"', picture.svg) for n in names.split()
    }:
        assert name == "ckm-plot" or f".ckm-plot .{name} {{" in style
    assert " id=" not in picture.svg  # of two plots in a notebook, each has its own title


def test_what_bars_cannot_show_is_refused():
    table = tabulate({"x": [1, 2] * 9}, ["x"])
    with pytest.raises(ckm.CkmError, match="'sum' is no measure"):
        table.plot("sum")
    for numbers in (np.array([1.0, 2.0, -1.0]), np.ma.masked_equal([1.0, 2.0, 3.0], 3)):
        shown = replace(table, measures={"sum": numbers})
        with pytest.raises(ckm.CkmError, match="published and not negative"):
            shown.plot()


def test_a_printed_table_shows_its_first_rows_and_none_that_is_hidden():
    sexes = ["F\n\x1b[31m", "é", "a longer one"] * 10
    table = ckm.PublishedTable(
        dimensions={"sex": (np.arange(30, dtype=np.int32), sexes)},
        measures={
            "count": np.ma.array(np.arange(30) + 60_000, mask=np.arange(30) == 2),
            "weighted": np.arange(30) * 1.5,
        },
    )
    lines = str(table).splitlines()
    assert lines[0].split() == ["sex", "count", "weighted"]
    assert lines[1].split() == [r"F\n\x1b[31m", "60000", "0.0"]
    assert lines[3].split() == ["a", "longer", "one", "3.0"]
    assert "60002" not in str(table)
    assert len({len(line) for line in lines[:21]}) == 1
    assert lines[21:] == ["…", "[30 cells, not checked by a release]"]
    assert repr(table) == "PublishedTable(sex, count, weighted; 30 cells)"


@pytest.mark.parametrize("rows", [0, 1])
def test_tables_without_rows_or_dimensions_can_be_printed(rows):
    codes = np.zeros(rows, np.int32)
    table = ckm.PublishedTable(
        dimensions={"sex": (codes, ["F"] * rows)}, measures={"count": codes.astype(np.int64)}
    )
    assert str(table).splitlines()[-1] == f"[{rows} cells, not checked by a release]"
    bare = ckm.PublishedTable(dimensions={}, measures={"count": np.array([3])})
    assert str(bare) == "count\n    3\n[1 cells, not checked by a release]"


def test_a_printed_table_shows_no_trace_of_what_is_not_published():
    assert "MARKER" not in str(tabulate({"x": RARE}, ["x"]))


def test_a_frame_of_polars_has_the_rows_of_one_of_pandas():
    table = tabulate({"x": RARE}, ["x"])
    assert table.to_polars().rows() == list(
        table.to_pandas().itertuples(index=False, name=None)
    )


# --- from cells to rows, without an engine ------------------------------------------------

GROUPS = {
    "x": ["a", "a", "b", "b", "c", None],
    "y": ["u", "v", "u", "u", "v", "v"],
    "w": [1.5, 0.0, 2.0, 4.0, 0.5, 1.0],
}


def cells_of(columns, dimensions, **request):
    size = len(next(iter(columns.values())))
    data = pa.table({**columns, "key": pa.array(np.arange(size) % 251, pa.uint8())})
    with open_source(data) as source:
        (cells,) = cube(
            source, StoredKeys(column="key"), [Request(dimensions=dimensions, **request)]
        )
    return cells


def named(cells):
    """Give the categories of every cell, in order."""
    columns = [axis.labels[0][rank] for axis, rank in zip(cells.axes, cells.ranks, strict=True)]
    return list(zip(*columns, strict=True))


def laid_out(cells, counts, *, empty_cells="drop", measures=("count",), **options):
    given = {"measures": measures, "empty_cells": empty_cells, "round_weighted": True} | options
    return publish(cells, np.asarray(counts), **given)


def test_rows_stand_in_the_order_of_their_categories_totals_first():
    cells = cells_of(GROUPS, ["x", "y"])
    order = np.random.default_rng(1).permutation(len(cells))
    mixed = replace(
        cells, ranks=tuple(rank[order] for rank in cells.ranks), count=cells.count[order]
    )
    wanted = {name: n + 1 for n, name in enumerate(named(cells))}
    counts = [wanted[name] for name in named(mixed)]
    for empty_cells in ("drop", "grid"):
        shown = published(laid_out(mixed, counts, empty_cells=empty_cells))
        assert {cell: n for cell, n in shown.items() if n} == wanted
        texts = ["Total", "(missing)", "a", "b", "c"]
        ranks = [(texts.index(x), ["Total", "u", "v"].index(y)) for x, y in shown]
        at = {rank: n for n, rank in enumerate(ranks)}
        assert at[0, 0] < at[0, 1] < at[0, 2] < at[2, 0] < at[2, 1] < at[3, 0]


def test_tables_of_more_combinations_than_a_word_counts_are_in_order_too():
    rng = np.random.default_rng(2)
    columns = {f"c{n}": [f"{v:02}" for v in rng.permutation(60)] for n in range(11)}
    cells = cells_of(columns, list(columns), margins="none", discrete=list(columns))
    assert np.prod([float(axis.size) for axis in cells.axes]) > 2**62
    order = rng.permutation(60)
    cells = replace(cells, ranks=tuple(rank[order] for rank in cells.ranks))
    counts = np.where(np.arange(60) % 7, 5, 0)
    rows = list(published(laid_out(cells, counts)))
    kept = {name for name, count in zip(named(cells), counts.tolist(), strict=True) if count}
    assert rows == sorted(kept)


def test_a_grid_of_some_margins_has_every_combination_of_these_in_order():
    cells = cells_of(GROUPS, ["x", "y"], margins=[["y"]], where="x is not missing")
    shown = published(laid_out(cells, cells.count, empty_cells="grid"))
    wanted = [("Total", y) for y in "uv"] + [(x, y) for x in "abc" for y in "uv"]
    assert list(shown) == wanted
    assert list(shown.values()) == [3, 2, 1, 1, 2, 0, 0, 1]
    assert grid_size(cells) == 8
    assert [block_size(cells, levels) for levels in cells.level_sets] == [6, 2]


def test_a_grid_of_all_margins_counts_every_combination():
    cells = cells_of(GROUPS, ["x", "y"], where="x is not missing")
    assert grid_size(cells) == 4 * 3
    table = laid_out(cells, cells.count, empty_cells="grid")
    assert table.n_rows == 12
    assert sum(published(table).values()) == 4 * 5
    assert laid_out(cells_of(GROUPS, []), [6], empty_cells="grid").n_rows == 1


@pytest.mark.parametrize("margins", ["all", [["x"], []]])
def test_a_large_grid_has_every_combination_in_order(margins):
    columns = {
        "x": [f"{n % 15:02}" for n in range(99)],
        "y": [f"{n % 13:02}" for n in range(99)],
    }
    cells = cells_of(columns, ["x", "y"], margins=margins)
    table = laid_out(cells, cells.count, empty_cells="grid")
    shown = published(table)
    counted = dict(zip(named(cells), cells.count.tolist(), strict=True))
    assert {cell: n for cell, n in shown.items() if n} == counted
    assert len(shown) == (16 * 14 if margins == "all" else 15 * 13 + 15 + 1)
    assert list(shown) == sorted(shown, key=lambda cell: [(x != "Total", x) for x in cell])


def test_a_table_lists_its_empty_cells_where_asked_or_where_all_is_declared():
    found, declared = (
        cells_of(GROUPS, ["y"], categories=given) for given in ({}, {"y": ["u", "v", "z"]})
    )
    both = cells_of(GROUPS, ["y", "x"], categories={"y": ["u", "v", "z"]})
    told = {
        word: [shows_grid(cells, word) for cells in (found, declared, both)]
        for word in ("grid", "drop", "auto")
    }
    assert told == {
        "grid": [True, True, True],
        "drop": [False, False, False],
        "auto": [False, True, False],
    }


def test_where_nobody_is_a_grid_has_zeros_and_no_masked_number():
    cells = cells_of(GROUPS, ["y"], categories={"y": ["u", "v", "z"]})
    amounts = {
        "sum:i": np.array([5.0, 6.0, 11.0]),
        "mean:i": np.ma.array([2.5, 3.5, 0.0], mask=[0, 0, 1]),
    }
    table = laid_out(cells, cells.count, empty_cells="auto", amounts=amounts)
    assert list(table.measures) == ["count", "sum_i", "mean_i"]
    lines_ = {line["y"]: line for line in table.to_arrow().to_pylist()}
    assert lines_["z"] == {"y": "z", "count": 0, "sum_i": 0.0, "mean_i": None}
    names = [name for (name,) in named(cells)]
    assert [lines_[name]["sum_i"] for name in names] == [5.0, 6.0, 11.0]
    assert [lines_[name]["mean_i"] for name in names] == [2.5, 3.5, None]
    assert table.measures["mean_i"].data.tolist().count(0.0) == 2


def test_a_sum_that_is_not_zero_shows_its_cell_beside_a_count_of_zero():
    cells = cells_of(GROUPS, ["x"], margins="none")
    counts = np.zeros(len(cells), np.int64)
    sums = np.where(np.arange(len(cells)) == 1, 7.0, 0.0)
    for empty_cells in ("drop", "grid"):
        for measure in ("sum:i", "mean:i"):
            table = laid_out(cells, counts, empty_cells=empty_cells, amounts={measure: sums})
            shown = [name for name, *_ in published(table)]
            wanted = [named(cells)[1][0]] if measure == "sum:i" else []
            assert shown == wanted
            assert list(table.dimensions["x"][1]) == wanted


def test_a_grid_hides_what_the_records_alone_tell_of_unless_a_number_shows_it():
    cells = cells_of(GROUPS, ["x", "y"], categories={"y": ["u", "v"]})
    shows = np.array([name == ("b", "u") for name in named(cells)])
    flags = open_categories(cells.axes, cells.ranks, shows)
    texts = [
        axis.labels[0][flag].tolist() for axis, flag in zip(cells.axes, flags, strict=True)
    ]
    assert texts == [["Total", "b"], ["Total", "u", "v"]]
    kept = unhidden(cells.ranks, flags)
    wanted = [x in ("Total", "b") for x, _ in named(cells)]
    assert kept.tolist() == wanted
    assert unhidden([], []).tolist() == [True]
    every = [np.ones_like(flag) for flag in flags]
    assert unhidden(cells.ranks, every).all()


def test_unused_categories_are_not_coded():
    (axis,) = cells_of(GROUPS, ["x"]).axes
    texts = axis.labels[0].tolist()
    is_used = np.array([text in ("c", "Total") for text in texts])
    codes, names = encodings(axis, is_used)["x"]
    assert names == ["Total", "c"]
    assert codes.dtype == np.int32
    assert [names[codes[texts.index(text)]] for text in ("c", "Total")] == ["c", "Total"]


def test_weighted_counts_are_rounded_where_the_cells_know_how_many_weights_count():
    cells = cells_of(GROUPS, ["y"], weight="w")
    counts = cells.count + 1
    exact = counts * cells.weight / cells.count
    both = ["count", "weighted"]
    plain = published_numbers(cells, counts, measures=both, round_weighted=False)
    assert plain["weighted"].tolist() == pytest.approx(exact.tolist())
    unknown = replace(cells, weighted_count=None)
    assert published_numbers(unknown, counts, measures=both, round_weighted=True)[
        "weighted"
    ].tolist() == pytest.approx(exact.tolist())
    rounded = published_numbers(cells, counts, measures=["weighted"], round_weighted=True)
    mean = cells.weight / cells.weighted_count
    assert rounded["weighted"].tolist() == round_to_unit(exact, mean).tolist()
    assert list(rounded) == ["weighted"]
    bare = replace(cells, weight=None)
    found = published_numbers(bare, counts, measures=both, round_weighted=True)
    assert {name: values.tolist() for name, values in found.items()} == {
        "count": counts.tolist()
    }


@pytest.mark.parametrize(
    ("number", "mean", "rounded"),
    [
        (37.4, 1.0, 37.0),
        (37.4, 1.5, 38.0),
        (37.4, 2.0, 38.0),
        (37.4, 2.1, 35.0),
        (37.4, 5.0, 35.0),
        (37.4, 5.1, 40.0),
        (37.4, 10.0, 40.0),
        (37.4, 0.3, 37.5),
        (0.375, 0.02, 0.38),
        (0.371, 0.01, 0.37),
        (3740.0, 120.0, 3800.0),
        (0.0, 0.0, 0.0),
        (5.0, 0.0, 5.0),
    ],
)
def test_units_are_1_2_or_5_times_a_power_of_ten_and_no_less_than_the_mean(
    number, mean, rounded
):
    assert round_to_unit(np.array([number]), np.array([mean])).tolist() == [rounded]


def test_columns_of_measures_give_way_to_dimensions_of_their_names():
    dimensions = {"Count": 0, "sum_x": 1, "sum_x_published": 2, "y": 3}
    assert measure_columns(["count", "sum:x", "weighted"], dimensions) == {
        "count_published": "count",
        "sum_x_published_published": "sum:x",
        "weighted": "weighted",
    }


def test_pieces_of_a_table_are_its_rows_in_order():
    cells = cells_of(GROUPS, ["x", "y"])
    table = laid_out(cells, np.arange(1, len(cells) + 1))
    assert table.n_rows > 9
    for size in (1, 4, table.n_rows, 100):
        parts = list(table.pieces(size))
        assert [part.n_rows for part in parts[:-1]] == [size] * (len(parts) - 1)
        assert pa.concat_tables(part.to_arrow() for part in parts).to_pydict() == (
            table.to_arrow().to_pydict()
        )
    changed = table.mapped(lambda t: replace(t, measures={"n": t.measures["count"]}))
    assert changed.columns == ("x", "y", "n")
    assert table.columns == ("x", "y", "count")


def test_a_table_is_read_by_whoever_reads_arrow():
    table = laid_out(cells_of(GROUPS, ["y"]), [2, 3, 5])
    assert pa.table(table).to_pydict() == table.to_arrow().to_pydict()
    assert pa.types.is_dictionary(table.to_arrow()["y"].type)
    assert table.to_polars()["y"].to_list() == table.to_arrow()["y"].to_pylist()


def test_a_notebook_shows_twenty_rows_without_an_index():
    many = cells_of(
        {"x": [f"c{n:02}" for n in range(30)]}, ["x"], margins="none", discrete=["x"]
    )
    page = laid_out(many, np.full(30, 4))._repr_html_()
    assert page.count("<tr>") == 20
    assert "<th></th>" not in page
    text = str(laid_out(many, np.full(30, 4))).splitlines()
    assert len(text) == 1 + 20 + 1 + 1
    assert text[-1] == "[30 cells, not checked by a release]"
    exact = str(laid_out(cells_of({"x": list("abc")}, ["x"], margins="none"), [1, 2, 33]))
    assert (
        exact == "x  count\na      1\nb      2\nc     33\n[3 cells, not checked by a release]"
    )


def test_tables_are_given_by_name_and_show_no_number():
    table = laid_out(cells_of(GROUPS, ["y"]), [77, 78, 155])
    assert "77" not in repr(table)
    assert repr(table) == "PublishedTable(y, count; 3 cells)"
    assert table != replace(table)
    with pytest.raises(TypeError):
        ckm.PublishedTable({}, {})
    with pytest.raises(FrozenInstanceError):
        table.measures = {}
