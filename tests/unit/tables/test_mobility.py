"""What trips give away: beside brute force, closed forms, and people made to be found."""

from __future__ import annotations

import datetime as dt
import hashlib
import math

import numpy as np
import pyarrow as pa
import pytest

from tables import DataError, RequestError, open_source
from tables.mobility import (
    TripColumns,
    count_trips,
    draw_points,
    hourly_points,
    period_start,
)

MONDAY = dt.datetime(2027, 3, 1)  # noqa: DTZ001
PLANE = TripColumns(person="who", time="at", x="x", y="y")
NAMED = TripColumns(person="who", time="at", place="where")


def counted(trips, columns=NAMED, **changed):
    given = {"metres": [100], "hours": [1], "most_persons": 1000, "seed": 1} | changed
    with open_source(trips) as source:
        return count_trips(source, columns, **given)


def md5(text):
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def visits(*listed):
    """Make trips of who, hours since Monday, and where."""
    who, after, where = zip(*listed, strict=True)
    at = [MONDAY + dt.timedelta(hours=hours) for hours in after]
    return pa.table({"who": list(who), "at": at, "where": list(where)})


@pytest.mark.parametrize("seed", [1, 2])
def test_points_tell_whom_brute_force_says(seed):
    rng = np.random.default_rng(seed)
    n, hours, metres = 400, 2, 100
    who = rng.integers(0, 12, n)
    seconds = rng.integers(0, 12 * 3600, n)
    x, y = rng.integers(-150, 150, (2, n)).astype(float)
    at = [MONDAY + dt.timedelta(seconds=int(s)) for s in seconds]
    trips = pa.table({"who": who, "at": at, "x": x, "y": y})
    _, (grain,) = counted(trips, PLANE, metres=[metres], hours=[hours], seed=seed)
    start = int(MONDAY.replace(tzinfo=dt.UTC).timestamp()) + 200_000 * 604_800
    cells = (x // metres).astype(int) * 2**32 + (y // metres).astype(int)
    slots = (start + seconds) // (hours * 3600)
    trace = {
        p: {(int(c), int(s)) for w, c, s in zip(who, cells, slots, strict=True) if w == p}
        for p in range(12)
    }
    found = {known: [0, 0] for known in range(2, 9)}
    for number, (p, own) in enumerate(sorted(trace.items()), start=1):
        drawn = sorted(own, key=lambda at, n=number: md5(f"{seed} {n} {at[0]} {at[1]}"))
        others = [other for q, other in trace.items() if q != p]
        for known, pair in found.items():
            if len(drawn) >= known:
                pair[0] += 1
                pair[1] += not any(set(drawn[:known]) <= other for other in others)
    assert grain["alone"][hours] == {known: pair[::-1] for known, pair in found.items()}
    assert 0 < found[2][1] < found[2][0]


def test_the_share_told_apart_is_that_of_the_closed_form():
    common, own, persons = 9, 3, 300
    rows = [(f"p{p}", h, "square") for p in range(persons) for h in range(common)]
    rows += [(f"p{p}", 20 + h, f"home {p}") for p in range(persons) for h in range(own)]
    _, (grain,) = counted(visits(*rows))
    for known in range(2, 9):
        expected = 1 - math.comb(common, known) / math.comb(common + own, known)
        alone, base = grain["alone"][1][known]
        assert base == persons
        assert alone / base == pytest.approx(expected, abs=4 * 0.5 / persons**0.5)


def test_people_alike_are_never_told_apart_and_people_apart_always():
    alike = [(p, h, f"place {h}") for p in "ab" for h in range(9)]
    apart = [("c", h, f"other {h}") for h in range(4)]
    _, (grain,) = counted(visits(*alike, *apart))
    assert grain["alone"][1][2] == [1, 3]
    assert grain["alone"][1][4] == [1, 3]
    assert grain["alone"][1][5] == [0, 2]  # whoever has fewer points is left out


def test_homes_are_of_nights_and_work_is_of_weekdays_elsewhere():
    rows = []
    for p, home, work in (
        ("a", "h1", "w1"),
        ("b", "h1", "w1"),
        ("c", "h1", "w2"),
        ("d", "h2", "w2"),
    ):
        rows += [(p, 24 * d + h, home) for d in range(7) for h in (23, 2, 12)]
        rows += [(p, 24 * d + h, work) for d in range(5) for h in (9,)]
        rows += [(p, 24 * d + h, "club") for d in (5, 6) for h in range(9, 17)]  # a weekend
    rows += [("e", 2, "h2")]  # no work shows
    _, (grain,) = counted(visits(*rows))
    assert [grain[name] for name in ("home", "work", "both")] == [(1, 4), (0, 4), (2, 4)]
    assert grain["usual_crowd"] == 1
    _, (alike,) = counted(visits(*rows[:26], *(("z", *row[1:]) for row in rows[:26])))
    assert (alike["both"], alike["usual_crowd"]) == ((0, 2), 2)


def test_a_last_move_is_foretold_by_moves_from_where_somebody_was():
    round_trip = [("a", h, "xyz"[h % 3]) for h in range(12)]
    to_and_fro = [("b", h, ["hub", f"away {h}"][h % 2]) for h in range(11)]
    stays = [("c", h, "x") for h in range(5)]
    _, (grain,) = counted(visits(*round_trip, *to_and_fro, *stays))
    assert grain["foretold"] == (2, 2)
    assert grain["usual"] == (1, 2)  # b comes to the hub most; of a's places none leads


def test_friends_share_places_in_time_and_strangers_of_one_habit_do_not():
    rows = [(p, 24 * d + 10, f"place {d}") for p in ("a", "b") for d in range(4)]
    rows += [("c", 24 * d + 11, f"place {d}") for d in range(4)]  # an hour late
    rows += [("d", 24 * d + 20, "den") for d in range(28)]
    _, (grain,) = counted(visits(*rows))
    assert [n for n, _ in grain["met"]] == [2, 2, 2, 2, 0]
    assert grain["met_by_chance"] == [(0, 4)] * 5


def test_neighbours_of_one_habit_share_as_much_by_chance():
    rows = [(p, 24 * d + 2, "house") for p in ("a", "b") for d in range(28)]
    _, (grain,) = counted(visits(*rows))
    assert grain["met"][0] == grain["met_by_chance"][0] == (2, 2)
    assert counted(visits(("a", 1, "x"), ("b", 1, "x")))[1][0]["met_by_chance"] == []  # one day


def test_rows_that_are_no_points_are_counted_and_left_out():
    nan = float("nan")
    at = [MONDAY] * 8
    at[1] = None
    trips = pa.table(
        {
            "who": ["a", "a", None, "a", "a", "a", "a", "b"],
            "at": pa.array(at, pa.timestamp("us")),
            "x": [0.0, 0.0, 0.0, nan, math.inf, 1e12, 0.0, 7.0],
            "y": [0.0] * 8,
        }
    )
    counts, _ = counted(trips, PLANE)
    assert counts == {
        "rows": 8,
        "without": 3,
        "outside": 2,
        "repeated": 1,
        "points": 2,
        "persons": 2,
        "persons_once": 2,
        "days": 1,
        "sampled": 2,
    }


def test_clocks_are_those_that_people_live_by():
    at = [dt.datetime(2027, 7, 1, 21, 30, tzinfo=dt.UTC)] * 2  # 23:30 in Paris: a night
    at += [dt.datetime(2027, 7, 1, 7, 30, tzinfo=dt.UTC)] * 2  # 9:30 there
    trips = pa.table({"who": ["a", "b"] * 2, "at": at, "where": ["h", "h", "w", "w"]})
    paris = TripColumns(person="who", time="at", place="where", zone="Europe/Paris")
    assert counted(trips, paris)[1][0]["both"] == (0, 2)
    utc = TripColumns(person="who", time="at", place="where", zone="UTC")
    assert counted(trips, utc)[1][0]["both"] == (0, 0)


@pytest.mark.parametrize("latitude", [0.0, 48.85, -60.0])
@pytest.mark.parametrize("is_along", [True, False])
def test_cells_of_degrees_are_as_wide_as_high(latitude, is_along):
    kilometre = 1000 / 111_195
    wide = kilometre / math.cos(math.radians(latitude)) if is_along else kilometre
    steps = np.arange(40) * 0.3 * wide  # three or four homes a kilometre
    trips = pa.table(
        {
            "who": [f"p{i}" for i in range(40)] * 2,
            "at": [MONDAY + dt.timedelta(hours=2)] * 40
            + [MONDAY + dt.timedelta(hours=10)] * 40,
            "lon": np.concatenate([2 + steps * is_along, [90.0] * 40]),
            "lat": np.concatenate([latitude + steps * (not is_along), [10.0] * 40]),
        }
    )
    columns = TripColumns(person="who", time="at", x="lon", y="lat", in_degrees=True)
    (grain,) = counted(trips, columns, metres=[1000])[1]
    assert grain["work"] == (0, 40)
    assert grain["usual_crowd"] in {3, 4}


def test_the_order_of_rows_and_threads_do_not_matter():
    rng = np.random.default_rng(3)
    rows = [
        (f"p{rng.integers(30)}", int(rng.integers(200)), f"w{rng.integers(9)}")
        for _ in range(900)
    ]
    trips = visits(*rows)
    shuffled = trips.take(rng.permutation(len(rows)))
    given = {"metres": [1], "hours": [1, 24], "most_persons": 11, "seed": 4}
    with open_source(trips, threads=1) as one, open_source(shuffled, threads=3) as other:
        assert count_trips(one, NAMED, **given) == count_trips(other, NAMED, **given)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"x": "x"}, "two coordinates, or a place"),
        ({}, "two coordinates, or a place"),
        ({"x": "x", "y": "y", "place": "w"}, "two coordinates, or a place"),
        ({"place": "w", "zone": "Europe/Pari"}, "no time zone 'Europe/Pari'"),
        ({"place": "w", "zone": "../../etc/passwd"}, "no time zone"),
    ],
)
def test_columns_that_do_not_go_together_are_refused(columns, said):
    with pytest.raises(RequestError, match=said):
        TripColumns(person="who", time="at", **columns)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"time": "where"}, "no times of a day"),
        ({"time": "nowhere"}, "'nowhere' is not in the data"),
        ({"person": "nobody"}, "'nobody' is not in the data"),
        ({"zone": "UTC"}, "have no offset"),
        ({"place": None, "x": "where", "y": "where"}, "are no numbers"),
    ],
)
def test_columns_of_other_kinds_are_refused_in_words(changed, said):
    trips = visits(("MARKER", 1, "MARKER"))
    columns = {"person": "who", "time": "at", "place": "where"} | changed
    with pytest.raises(RequestError, match=said) as error:
        counted(trips, TripColumns(**columns))
    assert "MARKER" not in str(error.value)


def test_hostile_names_are_names():
    name = 'a"; DROP TABLE x; --'
    trips = visits(("a", 1, "x"), ("b", 2, "x")).rename_columns([name, "at", "where'"])
    columns = TripColumns(person=name, time="at", place="where'")
    assert counted(trips, columns)[0]["persons"] == 2


def test_a_file_without_points_is_refused():
    trips = visits(("a", 1, "x")).slice(0, 0)
    with pytest.raises(DataError, match="No row has"):
        counted(trips)


def drawn(table, *, hours=24, key="abc", **columns):
    with open_source(table) as source:
        batches = draw_points(source, TripColumns(**columns), hours=hours, key=key, rows=7)
        return [row for batch in batches for row in batch.to_pylist()]


def test_one_point_of_each_person_and_period_is_drawn_by_the_key():
    day = dt.datetime(2027, 3, 1)  # noqa: DTZ001
    times = [day + dt.timedelta(hours=3 * n) for n in range(24)] * 2
    table = pa.table(
        {
            "who": ["ann"] * 24 + ["bob"] * 24,
            "at": times,
            "x": [float(n) for n in range(48)],
            "y": [0.0] * 47 + [None],
            "where": [f"p{n}" for n in range(48)],
        }
    )
    columns = {"person": "who", "time": "at", "x": "x", "y": "y"}
    rows = drawn(table, **columns)
    assert [row["who"] for row in rows] == ["ann", "bob"] * 3  # periods in order
    starts = [period_start(row["period"], hours=24) for row in rows]
    assert starts[::2] == [day + dt.timedelta(days=n) for n in range(3)]
    assert rows == drawn(table, **columns)
    assert rows == drawn(table.take(list(range(47, -1, -1))), **columns)
    assert rows != drawn(table, key="other", **columns)
    for place, row in enumerate(rows):  # each of a period's own points
        number = row["x"] - (24 if row["who"] == "bob" else 0)
        assert number // 8 == place // 2
    names = drawn(table, person="who", time="at", place="where")
    assert [row["place"][0] for row in names] == ["p"] * 6
    assert len(drawn(table, hours=168, **columns)) == 2  # the first of March was a Monday
    with pytest.raises(RequestError, match="letters and digits"):
        drawn(table, key="'", **columns)


def test_sampled_persons_are_followed_by_the_last_point_of_each_hour():
    day = dt.datetime(2027, 3, 1)  # noqa: DTZ001
    times = [day + dt.timedelta(minutes=20 * n) for n in range(6)]
    table = pa.table(
        {"who": ["ann"] * 6, "at": times, "x": [float(n) for n in range(6)], "y": [0.0] * 6}
    )
    columns = TripColumns(person="who", time="at", x="x", y="y")
    with open_source(table) as source:
        counts, points = hourly_points(source, columns, most_persons=5, seed=1)
        assert points.column("x").to_pylist() == [2.0, 5.0]
        assert points.column("person").to_pylist() == [0, 0]
        assert counts["points"] == 6
    empty = table.slice(0, 0)
    with open_source(empty) as source, pytest.raises(DataError, match="No row"):
        hourly_points(source, columns, most_persons=5, seed=1)
