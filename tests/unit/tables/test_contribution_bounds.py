"""What a unit contributes: bounded, by its own rows alone, and whatever its values are."""

from __future__ import annotations

import datetime as dt
import math

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tables import ReadOptions, RequestError, TablesError, open_source
from tables.contribution_bounds import Reading, contributions
from tests.strategies import examples

LOW, HIGH = -3, 40
TEXTS = ReadOptions(text=True, is_lenient=True)
READINGS = (
    Reading(column="x", limits=(LOW, HIGH), cuts=(0, 10)),
    Reading(column="x", limits=(-(2**32), 2**32 - 1), digits=0),
    Reading(column="x", limits=(0, 31), digits=1, widest=3),
    Reading(column="c", categories=("a", "b")),
)

values = st.one_of(
    st.integers(-100, 100).map(float),
    st.sampled_from([math.nan, math.inf, -math.inf, 1e300, -0.0, None]),
)
rows = st.tuples(
    st.sampled_from(["F", "M", "X", None]), values, st.sampled_from(["a", "b", "c", None])
)


def read(records, *, by=None, groups=1, rows_per_group=1, readings=READINGS):
    names = ("id", "sex", "x", "c")
    kinds = (pa.int64(), pa.string(), pa.float64(), pa.string())
    columns = list(zip(*records, strict=True)) or [[], [], [], []]
    arrays = [pa.array(c, k) for c, k in zip(columns, kinds, strict=True)]
    with open_source(pa.table(arrays, names=list(names)), threads=1) as source:
        return contributions(
            source,
            unit="id",
            by={"sex": ["F", "M"]} if by is None else by,
            groups_per_unit=groups,
            rows_per_group=rows_per_group,
            readings=readings,
        )


def by_bin(found, place):
    keys = np.array([found.keys[group] for group in found.readings[place].groups])
    one = found.readings[place]
    numbers = zip(one.counts, one.totals, strict=True)
    cells = {(*key, int(b)): pair for key, b, pair in zip(keys, one.bins, numbers, strict=True)}
    assert len(cells) == len(one.counts)
    return cells


@pytest.fixture
def same_salt(monkeypatch):
    monkeypatch.setattr("secrets.randbits", lambda bits: 3 * bits)


@pytest.mark.slow
@settings(max_examples=examples(60), deadline=None)
@given(
    others=st.lists(st.tuples(st.integers(1, 4), rows), max_size=12),
    own=st.lists(rows, max_size=8),
    most=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    is_found=st.booleans(),
)
def test_a_unit_more_moves_no_number_farther_than_its_bounds(others, own, most, is_found):
    patch = pytest.MonkeyPatch()
    patch.setattr("secrets.randbits", lambda _bits: 12345)
    groups, per_group = most
    bounds = {"groups": groups, "rows_per_group": per_group}
    by = {"sex": None} if is_found else None
    without = read([(i, *row) for i, row in others], by=by, **bounds)
    records = [(i, *row) for i, row in others] + [(9, *row) for row in own]
    found = read(records, by=by, **bounds)
    patch.undo()
    before = dict(zip(without.keys, zip(without.units, without.rows, strict=True), strict=True))
    moved = {
        key: (units - before.get(key, (0, 0))[0], n - before.get(key, (0, 0))[1])
        for key, units, n in zip(found.keys, found.units, found.rows, strict=True)
    }
    changed = [pair for pair in moved.values() if pair != (0, 0)]
    assert len(changed) <= groups
    assert all(units == 1 and 1 <= n <= per_group for units, n in changed)
    extra, cut = np.subtract(found.left_out, without.left_out)
    assert 0 <= extra <= 1
    assert 0 <= cut <= groups
    for place, reading in enumerate(READINGS):
        old, new = by_bin(without, place), by_bin(found, place)
        assert old.keys() <= new.keys()
        steps = {key: np.subtract(new[key], old.get(key, (0, 0))) for key in new}
        assert sum(n for n, _ in steps.values()) <= groups * per_group
        by_group: dict[str, int] = {}
        for (sex, _), (n, total) in steps.items():
            by_group[sex] = by_group.get(sex, 0) + n
            assert abs(total) <= n * max(map(abs, reading.limits))
        assert all(n <= per_group for n in by_group.values())


def test_where_no_bound_binds_all_is_counted_exactly():
    rng = np.random.default_rng(4)
    n = 300
    sex, c = rng.choice(["F", "M"], n), rng.choice(["a", "b", "c"], n)
    x = rng.integers(-20, 60, n)
    found = read(
        list(zip(rng.integers(0, 40, n).tolist(), sex, x.astype(float), c, strict=True)),
        groups=2,
        rows_per_group=n,
    )
    assert found.left_out == (0, 0)
    assert found.keys == (("F",), ("M",))
    for sex_, rows_ in zip("FM", found.rows, strict=True):
        here = sex == sex_
        assert rows_ == here.sum()
        clamped = np.clip(x[here], LOW, HIGH)
        cells = {b: pair for (s, b), pair in by_bin(found, 0).items() if s == sex_}
        inside = np.digitize(clamped, [0, 10])
        assert cells == {
            b: ((inside == b).sum(), clamped[inside == b].sum()) for b in np.unique(inside)
        }
        letters = {b: pair[0] for (s, b), pair in by_bin(found, 3).items() if s == sex_}
        assert letters == {0: (c[here] == "a").sum(), 1: (c[here] == "b").sum()}


def test_infinity_is_the_bound_and_nan_is_no_value():
    found = read(
        [(1, "F", math.inf, "a"), (2, "F", -math.inf, "a"), (3, "F", math.nan, "a")],
        readings=READINGS[:1],
    )
    assert found.rows.tolist() == [3, 0]
    assert by_bin(found, 0) == {("F", 0): (1, LOW), ("F", 2): (1, HIGH)}


def test_rows_without_identifier_or_declared_key_are_left_out_before_anything_is_bounded():
    found = read(
        [(None, "F", 1.0, "a"), (1, "X", 1.0, "a"), (1, None, 1.0, "a"), (1, "M", 2.0, "a")]
    )
    assert found.rows.tolist() == [0, 1]
    assert found.left_out == (0, 0)


def test_found_keys_stand_in_order_and_what_is_cut_is_counted():
    records = [(1, sex, 1.0, "a") for sex in "FMX"] + [(2, "X", 1.0, "a")] * 5
    found = read(records, by={"sex": None}, groups=3, rows_per_group=2)
    assert found.keys == (("F",), ("M",), ("X",))
    assert found.rows.tolist() == [1, 1, 3]
    assert found.left_out == (0, 1)
    assert read(records, by={"sex": None}, groups=2).left_out == (1, 1)


def test_which_row_is_kept_depends_on_the_number_drawn_and_on_no_order(monkeypatch):
    kept = set()
    for salt in range(5):
        monkeypatch.setattr("secrets.randbits", lambda _bits, salt=salt: salt)
        records = [(1, "F", float(n), "a") for n in range(4)]
        both = [read(r, readings=READINGS[:1]).readings[0] for r in (records, records[::-1])]
        assert both[0].totals.tolist() == both[1].totals.tolist()
        kept.add(both[0].totals.tolist()[0])
    assert len(kept) > 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"by": {"at": None}}, "tells units or groups apart is .*; 'at' is time"),
        ({"by": {"town": None}}, "Column 'town' is not in the data"),
        ({"by": {"sex": ["F", "F"]}}, "stands twice"),
        ({"by": {"id": ["one"]}}, "cannot hold the declared key 'one'"),
        (
            {"by": {"x": ["1.5"]}},
            "Column 'x' is number, and cannot hold the declared key '1.5'",
        ),
        ({"readings": [Reading(column="c")]}, "holds numbers"),
        ({"readings": [Reading(column="at", categories=("1",))]}, "has categories"),
        ({"where": "age > 3"}, "Column 'age' is not in the data"),
        ({"where": "c > 3"}, "The filter compares 'c'"),
        ({"where": "c ="}, "filter"),
    ],
)
def test_columns_that_do_not_fit_are_refused_by_name(words, said):
    data = pa.table({"id": [1], "sex": ["F"], "x": [1.0], "c": ["a"], "at": [dt.time(1)]})
    known = {"unit": "id", "by": {}, "groups_per_unit": 1, "rows_per_group": 1}
    with open_source(data) as source, pytest.raises(TablesError, match=said):
        contributions(source, **known | words)


def counted(data, by, *categories, **words):
    with open_source(data, threads=1, options=TEXTS) as source:
        found = contributions(
            source,
            unit="id",
            by=by,
            groups_per_unit=2,
            rows_per_group=2,
            readings=[Reading(column=by_, categories=texts) for by_, texts in categories],
            **words,
        )
    return found.keys, found.rows.tolist(), [one.counts.tolist() for one in found.readings]


def test_whole_numbers_in_floating_point_tell_units_groups_and_categories_apart():
    odd = [math.nan, math.inf, -math.inf, 1e300, 2.5, None]
    data = pa.table(
        {
            "id": pa.array([1.0, 1.0, 2.0, -0.0, 0.0, 0.0, *odd, *([7.0] * 6)]),
            "edu": pa.array([3.0, 3.0, 3.0, 3.0, 3.0, 3.0, *([3.0] * 6), *odd], pa.float32()),
        }
    )
    both = (("edu", ("1", "3")),)
    assert counted(data, {"edu": None}, *both) == ((("3",),), [5], [[5]])
    assert counted(data, {"edu": ["3.0", "4"]}, *both)[:2] == ((("3",), ("4",)), [5, 0])


def test_a_filter_holds_before_anything_is_bounded():
    data = pa.table({"id": [1] * 5 + [2], "sex": list("FFFMMM"), "age": [1, 9, 1, 9, 9, 2]})
    found = counted(data, {"sex": ["F", "M"]}, where="age > 3 and sex in ('F', 'M')")
    assert found[:2] == ((("F",), ("M",)), [1, 2])


def test_texts_of_a_csv_file_are_numbers_where_they_read_as_such(tmp_path):
    file = tmp_path / "people.csv"
    file.write_text("id,sex,x\n1,F,7\n2,F,n/a\n3,F,nan\n4,F,inf\n5,01,1.5\n6,1,\n")
    with open_source(file, threads=1, options=TEXTS) as source:
        found = contributions(
            source,
            unit="id",
            by={"sex": ["F", "01"]},
            groups_per_unit=1,
            rows_per_group=1,
            readings=[Reading(column="x", limits=(0, 20), step=0.5)],
        )
    assert found.rows.tolist() == [4, 1]
    assert by_bin(found, 0) == {("F", 0): (1, 14), ("01", 0): (1, 3)}


def test_a_refusal_does_not_tell_what_an_enumeration_lists(tmp_path):
    file = str(tmp_path / "people.duckdb")
    with duckdb.connect(file) as base:
        base.execute("CREATE TABLE p (id INT, town ENUM('large', 'lone'))")
        base.execute("INSERT INTO p VALUES (1, 'lone')")
    assert counted(file, {"town": ["large", "lone", "new"]})[1] == [0, 1, 0]
    with open_source(file) as source, pytest.raises(RequestError) as told:
        contributions(
            source,
            unit="id",
            by={},
            groups_per_unit=1,
            rows_per_group=1,
            readings=[Reading(column="town")],
        )
    assert "lone" not in str(told.value)
