"""``ckm rappor location collect``, ``map`` and ``compare``: from trips to a map."""

from __future__ import annotations

import datetime as dt
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from ckm.cli import app
from rappor.location.trips import PlaceCounts

MONDAY = dt.datetime(2027, 3, 1)  # noqa: DTZ001
COLUMNS = ("--person", "who", "--time", "at", "--x", "x", "--y", "y")
GRID = ("--box", "0,0,16000,16000", "--levels", "1,2")
KEY = ("--secret", "secret.key")


def trips(persons=600, days=3, seed=1):
    """Make persons who sleep in one quarter of the box, most of them, and go out at times."""
    rng = np.random.default_rng(seed)
    home = rng.uniform(0, 8000, (persons, 2))
    rows = []
    for day in range(days):
        for hour in (2, 10, 19):
            at = MONDAY + dt.timedelta(days=day, hours=hour)
            away = rng.random(persons) < 0.1
            places = np.where(away[:, None], rng.uniform(0, 16_000, (persons, 2)), home)
            rows += [(f"MARKER-{p}", at, *places[p]) for p in range(persons)]
    who, at, x, y = zip(*rows, strict=True)
    names = [f"t{int(a // 8000)}{int(b // 8000)}" for a, b in zip(x, y, strict=True)]
    return pa.table({"who": who, "at": at, "x": x, "y": y, "town": names})


@pytest.fixture(scope="module")
def table():
    return trips()


@pytest.fixture
def folder(tmp_path, monkeypatch, table):
    pq.write_table(table, tmp_path / "trips.parquet")
    (tmp_path / "secret.key").write_text("ab" * 32 + "\n")
    (tmp_path / "secret.key").chmod(0o600)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*args):
    env = {"CKM_LOG_FORMAT": "text", "COLUMNS": "120"}
    return CliRunner(env=env).invoke(app, ["rappor", "location", *map(str, args)])


def test_trips_become_a_map_that_names_nobody(folder):
    design = ("--f", 0.1, "--p", 0.1, "--q", 0.9, "--cap", "inf", "--epsg", 2154)
    done = run("collect", "trips.parquet", *COLUMNS, *GRID, *KEY, *design, "-o", "places.json")
    assert done.exit_code == 0, done.output
    places = PlaceCounts.read(folder / "places.json")
    assert places.periods == ("2027-03-01", "2027-03-02", "2027-03-03")
    assert [sum(c.total for c in levels) for levels in places.counts] == [600] * 3
    drawn = run("map", "places.json", "-o", "map.geojson")
    assert drawn.exit_code == 0, drawn.output
    features = json.loads((folder / "map.geojson").read_text())["features"]
    assert len(features) == 4 + 16
    quarter = features[0]["properties"]
    assert quarter["code"] == "r0c0"
    # Nine in ten, and a quarter of the rest; five standard deviations off once in a million.
    deviation = (quarter["high"] - quarter["low"]) / (2 * 1.96)
    assert 0 < deviation < 0.04
    assert abs(quarter["share"] - 0.922) < 5 * deviation
    assert any(f["properties"]["withheld"] for f in features)
    picture = run(
        "map", "places.json", "--period", "2027-03-02", "-o", "map.svg", "--lang", "fr"
    )
    assert picture.exit_code == 0, picture.output
    text = (folder / "map.svg").read_text()
    assert "masqué" in text
    rows = run("map", "places.json", "-o", "map.csv")
    assert (folder / "map.csv").read_text().splitlines()[0].startswith("level,code,share")
    for told in (done, drawn, picture, rows):
        assert "MARKER" not in told.output
    for file in folder.glob("map.*"):
        assert "MARKER" not in file.read_text()


def test_the_cap_is_that_of_one_cell_and_holds_over_two_runs(folder):
    args = ("trips.parquet", *COLUMNS, *GRID, *KEY)
    first = run("collect", *args, "-o", "one.json")
    assert "is 2.197" in first.output
    assert "would have passed the cap" in first.output
    again = run("collect", *args, "-o", "two.json")
    totals = [
        sum(c.total for levels in PlaceCounts.read(folder / name).counts for c in levels)
        for name in ("one.json", "two.json")
    ]
    assert totals[1] < totals[0] < 1800
    assert "is 2.197" in again.output
    both = run("map", "one.json", "two.json")
    assert both.exit_code == 0, both.output


def test_declared_areas_are_named_by_their_codes(folder):
    lines = ["region,town", *(f"R{a},t{a}{b}" for a in "01" for b in "01")]
    (folder / "areas.csv").write_text("\n".join(lines) + "\n")
    args = ("--person", "who", "--time", "at", "--place", "town", "--areas", "areas.csv")
    done = run("collect", "trips.parquet", *args, *KEY, "--cap", "inf", "-o", "places.json")
    assert done.exit_code == 0, done.output
    drawn = run("map", "places.json", "-o", "map.json")
    assert drawn.exit_code == 0, drawn.output
    cells = json.loads((folder / "map.json").read_text())
    assert [cell["code"] for cell in cells[:2]] == ["R0", "R1"]
    assert not cells[0]["withheld"]


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ((*COLUMNS, *KEY), "need --box"),
        ((*COLUMNS, *KEY, "--box", "1,2,3"), "4 numbers"),
        ((*COLUMNS, *GRID, *KEY, "--hours", 7), "part of a day"),
        ((*COLUMNS, *GRID, *KEY, "--f", 0, "--p", 0, "--q", 1), "give no protection"),
        ((*COLUMNS, "--box", "0,0,1,1", *KEY), "in any of the cells"),
        ((*COLUMNS, *GRID, *KEY, "--metric", " "), "name the question"),
        ((*COLUMNS, *GRID, *KEY, "--ledger", "trips.parquet"), "file of its own"),
    ],
)
def test_collections_that_cannot_be_are_refused_and_charge_nobody(folder, args, says):
    done = run("collect", "trips.parquet", *args, "-o", "places.json")
    assert done.exit_code == 2, done.output
    assert says in done.output.replace("\n", " ")
    assert not (folder / "places.json").exists()


def test_ways_are_compared_on_ones_own_trips(folder):
    done = run(
        "compare", "trips.parquet", *COLUMNS, "--seed", 1, "--sample", 40, "--levels", "1,3",
        "-o", "ways.csv",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    lines = (folder / "ways.csv").read_text().splitlines()
    assert len(lines) == 8
    assert lines[1].startswith("names,none,,1.0,1.0,")
    assert (folder / "ways.csv").stat().st_mode & 0o777 == 0o600
    assert "MARKER" not in done.output
    refused = run("compare", "--seed", 1, "--person", "who")
    assert refused.exit_code == 2


@pytest.mark.slow
def test_ways_are_compared_on_simulated_people(folder):
    sizes = ("--sample", 30, "--days", 2, "--levels", "1,3", "--cap", 3)
    done = run("compare", "--seed", 1, *sizes, "--population", 2000, "-o", "ways.json")
    assert done.exit_code == 0, done.output
    content = json.loads((folder / "ways.json").read_text())
    assert [level["cells"] for level in content["map"]] == [4, 64]
    assert content["ways"][-1]["name"] == "RAPPOR"
    assert content["ways"][-1]["loss"] <= 3
    assert "map error" in done.output
    french = run("compare", "--seed", 1, "--sample", 12, "--days", 2)
    assert french.exit_code == 0, french.output
