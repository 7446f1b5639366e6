"""``ckm rappor location audit``: pages, figures, and sentences where something is wrong."""

from __future__ import annotations

import datetime as dt
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from ckm.cli import app
from rappor.errors import RapporError
from rappor.location.audit import audit_trips
from tables import open_source
from tables.mobility import TripColumns

MONDAY = dt.datetime(2027, 3, 1)  # noqa: DTZ001
COLUMNS = ("--person", "who", "--time", "at", "--x", "x", "--y", "y")


def trips(persons=30, days=21, seed=1):
    """Make persons who sleep at home, work, and go somewhere in the evening."""
    rng = np.random.default_rng(seed)
    home, work, club = rng.uniform(0, 20_000, (3, persons, 2))
    rows = []
    for day in range(days):
        for hour, places in ((2, home), (10, work), (19, club)):
            here = np.flatnonzero(rng.random(persons) < 0.7)
            at = MONDAY + dt.timedelta(days=day, hours=hour)
            rows += [(f"MARKER-{p}", at, *places[p]) for p in here]
    who, at, x, y = zip(*rows, strict=True)
    return pa.table({"who": who, "at": at, "x": x, "y": y})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    pq.write_table(trips(), tmp_path / "trips.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*args):
    env = {"CKM_LOG_FORMAT": "text", "COLUMNS": "120"}
    return CliRunner(env=env).invoke(app, ["rappor", "location", "audit", *map(str, args)])


def test_a_page_and_its_figures_tell_no_person(folder):
    done = run("trips.parquet", *COLUMNS, "-o", "trips.json", "--metres", "250,4000")
    assert done.exit_code == 0, done.output
    found = json.loads((folder / "trips.json").read_text())
    assert found["persons"] == found["sampled"] == 30
    assert [grain["metres"] for grain in found["grains"]] == [250, 4000]
    known = found["grains"][0]["alone"]["1.0"]["4"]
    assert (known["n"], known["base"], known["high"]) == (30, 30, 1.0)
    assert known["low"] == pytest.approx(0.025 ** (1 / 30))  # of Clopper and Pearson
    assert found["grains"][0]["both"] == {"n": 30, "base": 30, "low": None, "high": None}
    page = run("trips.parquet", *COLUMNS, "-o", "trips.html", "--lang", "fr")
    assert page.exit_code == 0
    text = (folder / "trips.html").read_text()
    assert "Domicile et travail" in text
    for told in (done.output, page.output, text, json.dumps(found)):
        assert "MARKER" not in told
    assert (folder / "trips.html").stat().st_mode & 0o777 == 0o600


def test_the_sentences_are_in_the_language_of_the_terminal(folder):
    assert "Quatre points" in run("trips.parquet", *COLUMNS, "--lang", "fr").stdout
    assert "identify 100 %" in run("trips.parquet", *COLUMNS).stdout.replace("\xa0", " ")


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        (("--x", "east"), 2, "'east' is not in the data"),
        (("--metres", "9,x"), 2, "--metres must be numbers"),
        (("--hours", "6,1"), 2, "fine to coarse"),
        (("--hours", "nan"), 2, "hours must"),
        (("--zone", "Mars/Olympus"), 2, "no time zone"),
        (("--place", "who"), 2, "two coordinates, or a place"),
        (("-o", "trips.pdf"), 2, "must end in"),
        (("-o", "trips.parquet"), 2, "must end in"),
    ],
)
def test_what_cannot_be_asked_ends_with_a_sentence(folder, more, code, said):
    done = run("trips.parquet", *COLUMNS, *more)
    assert done.exit_code == code, done.output
    assert said in done.output
    assert "MARKER" not in done.output


@pytest.mark.parametrize("name", ["missing.parquet", "empty.parquet"])
def test_files_without_trips_end_with_a_sentence(folder, name):
    pq.write_table(trips().slice(0, 0), folder / "empty.parquet")
    done = run(name, *COLUMNS)
    assert done.exit_code == 3
    assert "bug" not in done.output


@pytest.mark.parametrize("changed", [{"confidence": 1}, {"metres": []}, {"hours": [0.5]}])
def test_grains_and_confidence_are_checked(changed):
    columns = TripColumns(person="who", time="at", x="x", y="y")
    with open_source(trips(2, 2)) as source, pytest.raises(RapporError):
        audit_trips(source, columns, **changed)


@pytest.mark.long
def test_intervals_hold_the_share_of_all_as_often_as_they_say():
    everybody = trips(300, 3)
    columns = TripColumns(person="who", time="at", x="x", y="y")
    given = {"metres": [3000], "hours": [24]}
    with open_source(everybody) as source:
        shares = [
            audit_trips(source, columns, **given, seed=seed).grains[0].alone[24][2]
            for seed in range(40)
        ]
    truth = np.mean([fact.n / fact.base for fact in shares])
    assert 0.05 < truth < 0.95
    held = []
    for seed in range(60):
        with open_source(everybody) as source:
            facts = audit_trips(source, columns, **given, most_persons=40, seed=100 + seed)
        fact = facts.grains[0].alone[24][2]
        held.append(fact.low <= truth <= fact.high)
    assert np.mean(held) >= 0.9


@pytest.mark.long
def test_a_million_points_take_bounded_memory(tmp_path):
    rng = np.random.default_rng(1)
    n, persons = 1_000_000, 12_000
    who = rng.integers(0, persons, n)
    spots = rng.normal(0, 5000, (persons, 4, 2))
    at = np.datetime64("2027-03-01", "us") + rng.integers(0, 28 * 86400, n).astype("m8[s]")
    x, y = (spots[who, rng.integers(0, 4, n)] + rng.normal(0, 20, (n, 2))).T
    pq.write_table(pa.table({"who": who, "at": at, "x": x, "y": y}), tmp_path / "t.parquet")
    with open_source(tmp_path / "t.parquet", memory_limit="2GB", threads=2) as source:
        columns = TripColumns(person="who", time="at", x="x", y="y")
        facts = audit_trips(source, columns)
    assert facts.points == n
    known = facts.grains[0].alone[1]
    assert known[4].n / known[4].base > 0.9
