"""The cube: one scan for all tables, whatever its plan."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tables import (
    DataError,
    DataWarning,
    HashedKeys,
    Hierarchy,
    KeyQualityError,
    Request,
    RequestError,
    Secret,
    SourceError,
    StoredKeys,
    cube,
    open_source,
    record_groups,
)
from tables.cells.cube import _part_of, all_cells, cell_table, finest_cells
from tests.environments.spark_support import require_same
from tests.strategies import (
    HIERARCHIES,
    TREE,
    as_arrow,
    coded,
    decode,
    nested,
    plain,
    tabulate_directly,
)

KEYS = StoredKeys(column="key", key_range=256)
SECRET = Secret(bytes(16))


def tabulate(data, requests, **options):
    with open_source(data, threads=1) as source:
        return [decode(cells) for cells in cube(source, KEYS, requests, **options)]


def keyed(**columns):
    size = len(next(iter(columns.values())))
    key = pa.array([(37 * n) % 256 for n in range(size)], pa.uint8())
    return pa.table({**columns, "key": key})


@pytest.mark.slow
def test_very_many_tables_are_tabulated_together():
    columns = {f"c{n}": [n, 1, 2] for n in range(80)}
    wishes = [Request(dimensions=[f"c{n}", f"c{(n + 1) % 80}"]) for n in range(80)]
    seen = []
    found = tabulate(keyed(**columns), wishes, progress=seen.append)
    for number in (0, 59, 60, 79):
        assert found[number] == tabulate(keyed(**columns), [wishes[number]])[0]
    assert seen == sorted(seen)
    assert all(0 <= share <= 1 for share in seen)


@pytest.mark.slow
def test_very_many_filters_are_applied_together():
    data = keyed(x=list(range(100)), y=["a", "b"] * 50)
    wishes = [Request(dimensions=["y"], where=f"x < {n}") for n in range(100)]
    found = tabulate(data, [*wishes, Request(dimensions=["y"])])
    assert [cells.get(("Total",), (0,))[0] for cells in found] == list(range(101))


def test_very_many_dimensions_are_refused_and_24_are_not():
    names = [f"c{n}" for n in range(25)]
    data = keyed(**{name: [1, 2] for name in names})
    (found,) = tabulate(data, [Request(dimensions=names[:24], margins=[[]])])
    assert len(found) == 3
    with pytest.raises(RequestError, match="at most 24 dimensions"):
        Request(dimensions=names)


def test_combinations_beyond_64_bits_are_kept_apart():
    rng = np.random.default_rng(7)
    names = [f"c{n}" for n in range(6)]
    columns = {name: rng.permutation(5000) for name in names}
    request = Request(dimensions=names, margins=[["c0"], []], discrete=names)
    (found,) = tabulate(keyed(**columns), [request])
    assert len(found) == 5000 + 5000 + 1
    assert found[("Total",) * 6][0] == 5000


@pytest.mark.parametrize("where", [None, "x > 5"])
@pytest.mark.parametrize("dimensions", [[], ["x"], ["x", "y"]])
def test_no_record_gives_no_cell(dimensions, where):
    empty = pa.table({"x": pa.array([], pa.int64()), "y": pa.array([], pa.string())})
    empty = empty.append_column("key", pa.array([], pa.uint8()))
    assert tabulate(empty, [Request(dimensions=dimensions, where=where)]) == [{}]
    one = keyed(x=[1], y=["a"])
    assert tabulate(one, [Request(dimensions=dimensions, where="x > 5")]) == [{}]


def test_all_problems_of_all_requests_come_together():
    wishes = {
        "a": Request(dimensions=["regoin", "x"], where="age > 5"),
        "b": Request(dimensions=["y"], where="x = 'a'", weight="y"),
    }
    from tables.request import require_fit

    with (
        open_source(keyed(x=[1], y=["a"], region=["b"])) as source,
        pytest.raises(RequestError) as caught,
    ):
        require_fit(wishes, source)
    for part in ("'regoin'", "did you mean 'region'", "'age'", "'x', an integer", "weight 'y'"):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("weights", "problem"),
    [
        ([1.0, None], "Some records have no weight in 'w'"),
        ([1.0, float("nan")], "Some records have no weight in 'w'"),
        ([1.0, -0.5], "not finite and non-negative in 'w'"),
        ([1.0, float("inf")], "not finite and non-negative in 'w'"),
    ],
)
def test_weights_that_are_none_are_refused(weights, problem):
    with pytest.raises(DataError, match=problem):
        tabulate(keyed(x=[1, 2], w=weights), [Request(dimensions=["x"], weight="w")])


def test_weights_of_zero_and_whole_numbers_are_weights():
    data = keyed(x=["a", "a", "b"], w=[0, 3, 0])
    (found,) = tabulate(data, [Request(dimensions=["x"], weight="w")])
    assert {name: c[2] for name, c in found.items()} == {("a",): 3, ("b",): 0, ("Total",): 3}


@pytest.mark.parametrize("weight", [4.25e22, 4.25e30, 4.25e300])
def test_weights_too_large_to_add_exactly_are_refused_without_showing_one(weight):
    with pytest.raises(DataError, match=r"'w' are too large.*less than 10\*\*22") as caught:
        tabulate(keyed(x=[1, 2], w=[1.0, weight]), [Request(dimensions=["x"], weight="w")])
    assert "4.25" not in str(caught.value)
    assert "4.25" not in str(caught.value.__context__)


@pytest.mark.parametrize("options", [{"weight": "w"}, {"sums": ["w"]}])
def test_numbers_too_small_to_add_are_warned_of_by_name(options):
    with pytest.warns(DataWarning, match="'w' are nearer to zero than 5e-16"):
        tabulate(keyed(x=[1, 2], w=[1e-17, 0.0]), [Request(dimensions=["x"], **options)])
    tabulate(keyed(x=[1, 2], w=[1e-17, 1e-9]), [Request(dimensions=["x"], **options)])


@pytest.mark.parametrize("column", ["x", "y"])
def test_a_category_with_a_reserved_name_is_refused_with_a_way_out(column):
    data = keyed(x=["Total", "a"], y=["(missing)", "a"])
    with pytest.raises(RequestError, match=rf"'{column}' has a category called") as caught:
        tabulate(data, [Request(dimensions=[column])])
    assert "_label" in str(caught.value)
    wish = Request(dimensions=["x", "y"], total_label="All", missing_label="n/a")
    assert tabulate(data, [wish])[0]["All", "All"][0] == 2
    with pytest.raises(RequestError, match="two different texts"):
        Request(dimensions=["x"], total_label="n/a", missing_label="n/a")


# --- against a second way to tabulate -----------------------------------------------------

PATHS = {
    "sex": plain("sex"),
    "age": plain("age"),
    "geo": nested("region", "department"),
    "zone": coded("zone", TREE),
}


def population(size=90, seed=3):
    rng = np.random.default_rng(seed)
    columns = {
        "sex": ["F", "M", None],
        "age": [0, 1, 2, 30, None],
        "region": ["11", "24", None],
        "department": ["01", "02", None],
        "zone": [*TREE.leaves, None],
    }
    drawn = {name: rng.integers(0, len(codes), size) for name, codes in columns.items()}
    return [
        {name: columns[name][drawn[name][n]] for name in columns}
        | {"id": n, "weight": int(n % 4), "key": (37 * n + 11) % 256}
        for n in range(size)
    ]


RECORDS = population()


def source_of(records=None):
    return open_source(as_arrow(RECORDS if records is None else records, 256), threads=1)


def wish(*dimensions, **options):
    return Request(dimensions=dimensions, hierarchies=HIERARCHIES, **options)


WISHES = {
    "all": [(wish("sex", "geo", "zone", weight="weight"), lambda _: True)],
    "parts of another": [
        (wish("sex", "age"), lambda _: True),
        (wish("sex"), lambda _: True),
        (wish("age", "sex", weight="weight"), lambda _: True),
        (wish(), lambda _: True),
    ],
    "apart": [(wish("sex", "age"), lambda _: True), (wish("zone"), lambda _: True)],
    "one filter": [
        (wish("age", where="sex = 'F'"), lambda r: r["sex"] == "F"),
        (wish("geo", where="sex = 'F'"), lambda r: r["sex"] == "F"),
        (wish(where="sex = 'F'"), lambda r: r["sex"] == "F"),
    ],
    "two filters": [
        (wish("age", where="sex = 'F'"), lambda r: r["sex"] == "F"),
        (wish("age", "zone", where="age >= 2"), lambda r: (r["age"] or 0) >= 2),
        (wish("age", where="age >= 2"), lambda r: (r["age"] or 0) >= 2),
    ],
    "filter and none": [
        (wish("age", where="sex = 'F'", weight="weight"), lambda r: r["sex"] == "F"),
        (wish("age", "sex"), lambda _: True),
        (wish(where="region is missing"), lambda r: r["region"] is None),
    ],
}


@pytest.mark.parametrize("name", WISHES)
def test_tables_of_one_scan_are_those_of_a_direct_tabulation(name):
    with source_of() as source:
        found = cube(source, KEYS, [request for request, _ in WISHES[name]])
    for cells, (request, keep) in zip(found, WISHES[name], strict=True):
        paths = [PATHS[dimension] for dimension in request.dimensions]
        wanted = tabulate_directly(RECORDS, paths, key_range=256, where=keep)
        cells_by_name = decode(cells)
        assert {n: c[:2] for n, c in cells_by_name.items()} == {
            n: c[:2] for n, c in wanted.items()
        }
        assert (cells.weight is None) == (request.weight is None)
        if request.weight is None:
            continue
        assert {n: c[2] for n, c in cells_by_name.items()} == {
            n: float(c[2]) for n, c in wanted.items()
        }
        heavy = [{**record, "weight": int(record["weight"] > 0)} for record in RECORDS]
        wanted = tabulate_directly(heavy, paths, key_range=256, where=keep)
        numbers = dict(zip(cells_by_name, cells.weighted_count.tolist(), strict=True))
        assert numbers == {n: int(c[2]) for n, c in wanted.items()}


def test_one_table_may_have_a_weight_and_another_one_more():
    data = keyed(x=["a", "a", "b"], v=[1, 0, 5], w=[2.5, 1.0, 0.0])
    requests = [Request(dimensions=["x"], weight=weight) for weight in ("v", "w", None)]
    found = tabulate(data, requests)
    assert [cells["a",][2] for cells in found] == [1, 3.5, None]
    assert [cells["Total",][2] for cells in found] == [6, 3.5, None]


def test_very_many_columns_take_several_scans_that_report_their_shares():
    """Of 63 columns DuckDB tells no more apart in one statement."""
    columns = {f"c{n}": [n, 1, 2] for n in range(70)}
    parts = (range(24), range(24, 48), range(48, 70), range(2))
    requests = [Request(dimensions=[f"c{n}" for n in part], margins=[[]]) for part in parts]
    shares = []
    found = tabulate(keyed(**columns), requests, progress=shares.append)
    assert all(0 <= share <= 1 for share in shares)
    for part, cells in zip(parts, found, strict=True):
        names = {tuple(str(columns[f"c{n}"][row]) for n in part) for row in range(3)}
        assert cells.keys() == names | {("Total",) * len(part)}
        assert cells[("Total",) * len(part)][:2] == (3, 111)


def test_the_share_of_a_scan_is_told_as_that_of_all():
    told = []
    for done in range(3):
        for share in (0.0, 0.5, 1.0):
            _part_of(told.append, done, 3)(share)
    assert told == pytest.approx([0, 1 / 6, 1 / 3, 1 / 3, 1 / 2, 2 / 3, 2 / 3, 5 / 6, 1])


# --- sums ---------------------------------------------------------------------------------


def test_each_table_has_the_sums_and_the_largest_that_it_asked_for():
    data = keyed(x=list("aab"), pay=[5, 7, 1], tax=[1, 2, -4], w=[1, 2, 3])
    requests = [
        Request(dimensions=["x"], sums=["pay"], top=1),
        Request(dimensions=["x"], sums=["tax", "pay"], top=2),
        Request(dimensions=["x"], sums=["pay"], weight="w"),
        Request(dimensions=["x"]),
    ]
    with open_source(data) as source:
        found = [cells.magnitudes for cells in cube(source, KEYS, requests)]
    assert [None if f is None else list(f) for f in found] == [
        ["pay"],
        ["tax", "pay"],
        ["pay"],
        None,
    ]
    assert found[0]["pay"].top.tolist() == [[7], [1], [7]]
    assert found[1]["pay"].top.tolist() == [[7, 5], [1, 0], [7, 5]]
    assert found[1]["tax"].total.tolist() == [3, -4, -1]
    assert found[2]["pay"].total.tolist() == [19, 3, 22]
    assert found[2]["pay"].raw_total.tolist() == [12, 1, 13]
    assert found[2]["pay"].top.shape == (3, 0)


def test_records_without_a_value_stop_a_sum_unless_passed_over():
    data = keyed(x=list("ab"), pay=[5, None])
    with pytest.raises(DataError, match="Some records have no value in 'pay'") as caught:
        tabulate(data, [Request(dimensions=["x"], sums=["pay"])])
    assert caught.value.hint == (
        'leave them out: where = "pay is not missing"; a table of sums, without means and '
        'quantiles, may pass over them instead: missing_values = "skip"'
    )
    tabulate(data, [Request(dimensions=["x"], sums=["pay"], where="x = 'a'")])
    request = Request(dimensions=["x"], sums=["pay"], missing_values="skip")
    with open_source(data) as source:
        (cells,) = cube(source, KEYS, [request])
    assert cells.magnitudes["pay"].total.tolist() == [5, 0, 5]
    assert cells.magnitudes["pay"].records.tolist() == [1, 0, 1]


# --- cells as a file, as a statement, as groups -------------------------------------------


def test_the_cells_of_a_table_are_sorted_and_have_all_that_it_is_made_of():
    data = keyed(x=["b", "a", "b", "a"], y=[2, 1, 1, 1], w=[0.0, 2.0, 1.5, 1.0])
    data = data.append_column("z", pa.array([1, 1, 2, 1]))
    requests = [
        Request(dimensions=["y"], where="z >= 1"),
        Request(dimensions=["x"]),
        Request(dimensions=["x", "y"], weight="w"),
    ]
    with open_source(data) as source:
        cells = cell_table(source, KEYS, requests)
    assert cells.to_pylist() == [
        {"y": y, "x": x, "z": z, "count": n, "cell_key": key, "w": w, "w_n": w_n}
        for y, x, z, n, key, w, w_n in (
            (1, "a", 1, 2, 37 + 111, 3.0, 2),
            (1, "b", 2, 1, 74, 1.5, 1),
            (2, "b", 1, 1, 0, 0.0, 0),
        )
    ]
    assert cells.schema.metadata == {b"key_range": b"256"}


def test_the_cells_of_sums_have_contributors_and_the_largest_of_any_table():
    data = pa.table(
        {"id": range(4), "x": list("aabb"), "pay": [5, -7, 0, 1], "tax": [1, 1, 1, 1]}
    )
    keys = HashedKeys(column="id", secret=SECRET)
    requests = [
        Request(dimensions=["x"], sums=["pay"], top=1),
        Request(dimensions=[], sums=["tax", "pay"], top=2),
    ]
    with open_source(data) as source:
        cells = cell_table(source, keys, requests)
    assert cells.drop_columns("cell_key").to_pylist() == [
        {"x": "a", "count": 2, "pay": -2, "pay_n": 2, "pay_1": -7, "pay_2": 5}
        | {"tax": 2, "tax_n": 2, "tax_1": 1, "tax_2": 1},
        {"x": "b", "count": 2, "pay": 1, "pay_n": 1, "pay_1": 1, "pay_2": 0}
        | {"tax": 2, "tax_n": 2, "tax_1": 1, "tax_2": 1},
    ]
    assert set(cells.schema.metadata) == {b"key_range", b"ckm_record_key_version"}
    assert int(cells.schema.metadata[b"key_range"]) == 2**64


@pytest.mark.parametrize("where", [None, "age >= 1"])
def test_one_statement_gives_the_cells_of_all_levels(where):
    """A bit of g stands for each column, the first highest, that is summed over."""
    request = wish("sex", "geo", weight="weight", where=where)
    parameters = {"mine": 1}
    with source_of() as source:
        statement, key_range = all_cells(source, KEYS, request, parameters)
        assert parameters.pop("mine") == 1
        rows = source.arrow(statement, parameters).to_pylist()
        (cells,) = cube(source, KEYS, [request])
    assert key_range == 256
    found = {}
    for row in rows:
        shown = [row["g"] & bit == 0 for bit in (4, 2, 1)]
        codes = [row[f"d{n}"] for n in range(3)]
        name = tuple(
            "Total" if not is_shown else "(missing)" if code is None else code
            for code, is_shown in zip(codes, shown, strict=True)
        )
        assert name not in found
        found[name] = (row["n"], row["key"], float(row["w0"]))
    assert found == decode(cells)
    assert sum(row["w0_n"] for row in rows if row["g"] == 7) == cells.weighted_count[-1]


def test_no_record_gives_no_cell_at_any_level():
    with source_of([]) as source:
        statement, _ = all_cells(source, KEYS, wish("sex"), {})
        assert source.arrow(statement).num_rows == 0


def test_groups_of_records_are_those_that_no_table_tells_apart():
    requests = [
        wish("sex", "zone"),
        wish("geo", where="sex = 'F'"),
        wish("sex", where="age >= 2"),
        wish(where="sex = 'F'"),
    ]
    keeps = [
        lambda _: True,
        lambda r: r["sex"] == "F",
        lambda r: (r["age"] or 0) >= 2,
        lambda r: r["sex"] == "F",
    ]
    with source_of() as source:
        found = record_groups(source, requests, most=1000)
        tables = cube(source, KEYS, requests)
    seen = {
        (r["sex"], r["zone"], r["region"], r["department"], *(keep(r) for keep in keeps))
        for r in RECORDS
    }
    assert {len(is_in) for is_in, _ in found} == {len(seen)}
    wanted, groups = [], []
    for request, keep in zip(requests, keeps, strict=True):
        paths = [PATHS[dimension] for dimension in request.dimensions]
        wanted.append(
            [(True, *(path(r)[0] for path in paths)) if keep(r) else (False,) for r in RECORDS]
        )
    for (is_in, ranks), cells in zip(found, tables, strict=True):
        names = [
            list(zip(*(labels[rank] for labels in axis.labels), strict=True))
            for axis, rank in zip(cells.axes, ranks, strict=True)
        ]
        groups.append(
            [
                (True, *(name[n] for name in names)) if inside else (False,)
                for n, inside in enumerate(is_in)
            ]
        )
        for rank in ranks:
            assert ((rank == -1) == ~is_in).all()
    assert set(zip(*groups, strict=True)) == set(zip(*wanted, strict=True))


def test_more_groups_than_wanted_are_none():
    requests = [Request(dimensions=["x"])]
    for most, number in ((2, None), (3, 3), (4, 3)):
        with open_source(keyed(x=[1, 2, 3, 3])) as source:
            found = record_groups(source, requests, most=most)
        assert (None if found is None else len(found[0][0])) == number
    with open_source(keyed(x=[1, 2])) as source:
        ((is_in, ranks),) = record_groups(source, [Request(dimensions=[])], most=1)
    assert (is_in.tolist(), ranks) == ([True], ())


# --- categories ---------------------------------------------------------------------------


def test_categories_keep_the_order_in_which_they_came_and_new_ones_come_behind():
    levels = pd.Categorical(["mid", "low", None, "high"], ["low", "mid", "high", "never"])
    data = pd.DataFrame({"level": levels, "key": [1, 2, 3, 4]})
    request = Request(dimensions=["level"])
    with open_source(data) as source:
        (cells,) = cube(source, KEYS, [request])
        assert cells.axes[0].labels[0].tolist() == ["Total", "low", "mid", "high", "(missing)"]
    with open_source(data) as source:
        known = {"level": pa.table({"level": ["new", "mid", "extra"]})}
        (axis,), block, key_range = finest_cells(source, KEYS, request, extra_values=known)
    assert axis.labels[0].tolist() == [
        "Total",
        "low",
        "mid",
        "high",
        "extra",
        "new",
        "(missing)",
    ]
    assert (block.codes[0].tolist(), block.count.tolist()) == ([0, 1, 2, 5], [1, 1, 1, 1])
    assert key_range == 256


def test_cells_beside_some_values_are_those_of_their_records():
    data = keyed(x=["a", "b", None, "c", "a"], y=[1, 1, 2, 2, 2])
    request = Request(dimensions=["x", "y"], margins="none", where="y < 3")
    beside = pa.table({"x": pa.array(["a", None], pa.string())})
    known = {"x": pa.table({"x": ["z", "a"]})}
    with open_source(data) as source:
        axes, block, _ = finest_cells(source, KEYS, request, extra_values=known, beside=beside)
    assert axes[0].labels[0].tolist() == ["Total", "a", "z", "(missing)"]
    names = [axes[0].labels[0][1:][code] for code in block.codes[0]]
    assert list(zip(names, block.codes[1], block.key, strict=True)) == [
        ("a", 0, 0),
        ("a", 1, 148),
        ("(missing)", 1, 74),
    ]


def test_look_alike_categories_are_warned_of_by_the_first_five_pairs():
    many = [f"{n}{blank}" for n in range(6) for blank in ("", " ")]
    with pytest.warns(DataWarning, match="6 categories look like another") as caught:
        tabulate(keyed(x=many), [Request(dimensions=["x"])])
    assert str(caught[0].message.inside) == "; ".join(["nothing / U+0020"] * 5) + "; …"
    with pytest.warns(DataWarning, match="5 categories look like another") as caught:
        tabulate(keyed(x=many[:10]), [Request(dimensions=["x"])])
    assert "…" not in str(caught[0].message.inside)


@pytest.mark.parametrize(
    ("where", "column"),
    [
        ("x = 'e\u0301' and y = 'c' and z = 'f'", "x"),
        ("x = 'b' and y = 'd ' and z = 'f'", "y"),
        ("y = 'c' and z = 'g '", "z"),
    ],
)
def test_a_filter_s_text_that_no_category_of_its_column_is_but_one_looks_alike(where, column):
    data = keyed(x=["\u00e9", "b"], y=["c", "d"], z=["f", "g"])
    with pytest.raises(DataError, match=f"A filter compares '{column}' with a text that no"):
        tabulate(data, [Request(dimensions=["x"], where=where)])


def test_levels_that_do_not_nest_are_warned_of():
    data = keyed(region=["1", "2", "2"], town=["a", "a", "b"])
    nested = {"geo": Hierarchy(columns=("region", "town"))}
    with pytest.warns(DataWarning, match="'town' that lie in more than one of 'region': 1"):
        tabulate(data, [Request(dimensions=["geo"], hierarchies=nested)])


@pytest.mark.parametrize("where", [None, "y <> 'q'"])
def test_sketches_of_small_cells_hold_the_keys_of_their_records(where):
    data = pa.table(
        {"id": range(40), "x": [0] * 30 + [1] * 5 + [2] * 2 + [3, 4, 4], "y": list("pq") * 20}
    )
    keys = HashedKeys(column="id", secret=SECRET)
    with open_source(data) as source:
        (cells,) = cube(source, keys, [Request(dimensions=["x"], where=where)], sketch=2)
    n_small = 0
    for cell in np.flatnonzero(cells.sketch.is_small):
        members = cells.sketch.member_key[cells.sketch.member_cell == cell]
        if len(members) == cells.count[cell]:
            n_small += 1
            assert sum(map(int, members)) % 2**64 == cells.cell_key[cell]
    assert n_small == (cells.count <= 2).sum() > 1


def test_known_counts_are_those_of_all_records_or_none():
    data = keyed(x=list(range(120)) * 2, y=["a"] * 120 + ["b"] * 120)
    with pytest.raises(DataError, match="120 values"):
        tabulate(data, [Request(dimensions=["x"], where="x < 50")])
    wide = keyed(x=list(range(110)) * 6, y=["a"] * 330 + ["b"] * 330)
    (found,) = tabulate(wide, [Request(dimensions=["x"], where="y = 'a'")])
    assert len(found) == 111


# --- weights ------------------------------------------------------------------------------


def test_weights_that_are_none_are_counted_for_the_terminal_alone():
    data = keyed(x=[1] * 5, w=[1.0, -2.0, -1.0, 0.0, 5.0])
    with pytest.raises(DataError) as caught:
        tabulate(data, [Request(dimensions=["x"], weight="w")])
    assert caught.value.inside == "2 of 5 records"
    assert "2 of 5" not in str(caught.value)
    data = keyed(x=[1] * 3, w=[-1, None, 0])
    with pytest.raises(DataError, match="no weight in 'w'") as caught:
        tabulate(data, [Request(dimensions=["x"], weight="w")])
    assert caught.value.inside == "1 of 3 records"


def test_a_sound_source_is_looked_at_once():
    """A weight that was sound stays sound: its records are read once."""
    data = keyed(x=["a", "b"], w=[1.5, 2.5])
    with open_source(data) as source:
        for _ in range(2):
            cube(source, KEYS, [Request(dimensions=["x"], weight="w")])
            assert source.sound["weight", "w"] is True


@pytest.mark.parametrize(("weight", "is_refused"), [(5e21, True), (4.9e21, False)])
def test_weights_whose_sum_may_reach_a_limit_are_refused_at_it(weight, is_refused):
    """Two records of the largest weight make 10**22."""
    data = keyed(x=[1, 2], w=[1.0, weight])
    if is_refused:
        with pytest.raises(DataError, match="too large"):
            tabulate(data, [Request(dimensions=["x"], weight="w")])
    else:
        (found,) = tabulate(data, [Request(dimensions=["x"], weight="w")])
        assert found["2",][2] == weight


def test_missing_keys_count_as_0_where_they_are_tolerated():
    data = pa.table({"x": [1, 1, 2], "key": pa.array([7, None, None], pa.uint8())})
    with pytest.raises(KeyQualityError, match="have no 'key'"):
        tabulate(data, [Request(dimensions=["x"])])
    (found,) = tabulate(data, [Request(dimensions=["x"])], tolerate_missing_keys=True)
    assert {name: cell[:2] for name, cell in found.items()} == {
        ("1",): (2, 7),
        ("2",): (1, 0),
        ("Total",): (3, 7),
    }


# --- what runs together -------------------------------------------------------------------


def test_several_threads_may_use_one_source_and_several():
    rng = np.random.default_rng(8)
    data = keyed(x=rng.integers(0, 50, 20_000), y=rng.integers(0, 3, 20_000))
    wishes = [Request(dimensions=["x", "y"]), Request(dimensions=["y"], where="x < 25")]
    wanted = tabulate(data, wishes)
    barrier = threading.Barrier(4)

    def work(source):
        barrier.wait()
        return [decode(cells) for cells in cube(source, KEYS, wishes)]

    with open_source(data) as one, open_source(data) as other, ThreadPoolExecutor(4) as pool:
        for found in pool.map(work, [one, one, other, other]):
            assert found == wanted


@pytest.mark.slow
def test_little_memory_changes_no_cell(tmp_path):
    rng = np.random.default_rng(9)
    size = 250_000
    table = pa.table(
        {
            "id": rng.permutation(size),
            "x": rng.integers(0, 50_000, size),
            "y": rng.integers(0, 4, size),
        }
    )
    path = tmp_path / "people.parquet"
    pq.write_table(table, path)
    keys = HashedKeys(column="id", secret=SECRET)
    wish = Request(dimensions=["x", "y"], margins=[["y"], []])
    found = []
    for memory_limit, threads in (("15MB", 1), ("4GB", 2)):  # the lesser spills to disk
        with open_source(path, memory_limit=memory_limit, threads=threads) as source:
            found.append(cube(source, keys, [wish])[0])
    one, other = found
    assert np.array_equal(one.count, other.count)
    assert np.array_equal(one.cell_key, other.cell_key)
    assert all(map(np.array_equal, one.ranks, other.ranks))
    assert one.count.sum() == 3 * size


def test_memory_that_is_too_little_says_so():
    rng = np.random.default_rng(10)
    size = 400_000
    table = pa.table({"x": rng.permutation(size).astype(str), "key": np.zeros(size, np.uint8)})
    with (
        open_source(table, memory_limit="1MB", threads=1) as source,
        pytest.raises(SourceError, match="does not fit into the memory") as caught,
    ):
        cube(source, KEYS, [Request(dimensions=["x"])])
    assert "raise memory_limit" in str(caught.value)


def test_cells_do_not_show_themselves():
    data = pd.DataFrame({"x": ["MARKER", "b"], "key": [77, 78]})
    with open_source(data) as source:
        (cells,) = cube(source, KEYS, [Request(dimensions=["x"])])
        shown = repr(cells) + str(cells) + repr(cells.axes) + repr(cells.axes[0].levels)
        shown += repr(source)
    assert "MARKER" not in shown
    assert "77" not in shown
    assert "array" not in shown


def test_the_largest_contributions_are_the_same_where_they_are_read_apart(monkeypatch):
    """As on Spark, which keeps them of few records alone."""
    rng = np.random.default_rng(1)
    n = 2000
    records = pa.table(
        {
            "id": [f"p{i}" for i in range(n)],
            "a": rng.integers(0, 9, n),
            "b": pa.array([None if x < 0.1 else "xyz"[int(x * 3)] for x in rng.random(n)]),
            "v": np.where(rng.random(n) < 0.2, 0, np.round(rng.normal(100, 500, n), 2)),
            "w": rng.random(n) * 3,
        }
    )
    requests = [
        Request(dimensions=["a", "b"], sums=["v"], top=2, weight="w"),
        Request(dimensions=["b"], sums=["v"], top=2, weight="w", where="a > 3"),
        Request(dimensions=["a"]),
        Request(dimensions=["a"], sums=["v"], top=3),
        Request(dimensions=["a"], sums=["v"], top=2, where="a > 99"),
        Request(dimensions=[], sums=["v"], top=6),
    ]
    keys = HashedKeys(column="id", secret=Secret(bytes(16)))
    with open_source(records) as source:
        at_once = cube(source, keys, requests)
        monkeypatch.setattr(source, "packs", False)
        statements, ask = [], source.arrow
        monkeypatch.setattr(
            source, "arrow", lambda sql, *a, **k: statements.append(sql) or ask(sql, *a, **k)
        )
        require_same(at_once, cube(source, keys, requests))
    assert sum("JOIN" in sql for sql in statements) == 5  # of four groupings, and the total
