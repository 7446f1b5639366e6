"""A commune in two regions, or without its region, does not pass unremarked."""

import warnings

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from ckm import Engine
from ckm.cli import app
from ptable import NoiseSpec, solve
from tables import DataWarning, Hierarchy, Request, Secret, StoredKeys, cube, open_source

NOISE = "ptable = { max_noise = 2, variance = 1.0 }\nkeys = { secret = 'secret.key' }"
JOB = """
schema = 1
data = {{ path = "people.parquet", id = "id" }}
{method}
hierarchies = {{ geo = ["region", "town"] }}
[[table]]
name = "all"
dimensions = ["geo"]
[[table]]
name = "women"
dimensions = ["geo", "sex"]
"""
TWO = "Categories of 'town' that lie in more than one of 'region': 1."
NONE = "Categories of 'town' with records that have no value of 'region': 2."


def people(*, is_nested=False):
    town = np.arange(400) % 8
    region = np.array([f"R{t // 4}" for t in town], object)
    if not is_nested:
        region[[0, 8]] = "R1"  # two records of town 0
        region[[1, 2]] = None  # one of town 1 and of town 2
    return pd.DataFrame(
        {
            "id": np.arange(400),
            "region": region,
            "town": [f"secret town {t}" for t in town],
            "sex": np.where(np.arange(400) // 8 % 2, "F", "M"),
        }
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.key").write_text("0123456789abcdef0123456789abcdef")
    (tmp_path / "secret.key").chmod(0o600)
    return tmp_path


def told(*words):
    done = CliRunner().invoke(app, [*words])
    assert done.exit_code == 0, done.stderr
    return done.stderr


@pytest.mark.parametrize(
    ("method", "command"),
    [
        (NOISE, ["check", "job.toml"]),
        (NOISE, ["release", "job.toml", "-o", "out"]),
        ("suppression = { threshold = 3 }", ["check", "job.toml"]),
        ("suppression = { threshold = 3 }", ["suppress", "job.toml", "-o", "out"]),
        ("rounding = { base = 5 }", ["release", "job.toml", "-o", "out"]),
    ],
)
def test_columns_that_do_not_nest_are_named_with_a_number(folder, method, command):
    (folder / "job.toml").write_text(JOB.format(method=method))
    people().to_parquet("people.parquet")
    said = " ".join(told(*command).split())
    assert said.count(TWO) == 1
    assert said.count(NONE) == 1
    assert "secret town" not in said


def test_columns_that_nest_are_not_spoken_of(folder):
    (folder / "job.toml").write_text(JOB.format(method=NOISE))
    people(is_nested=True).to_parquet("people.parquet")
    assert "Categories of" not in told("check", "job.toml")


def engine_of(frame, **options):
    return Engine(
        frame,
        id="id",
        secret=Secret(bytes(16)),
        ptable=solve(NoiseSpec(max_noise=2, variance=1.0)),
        hierarchies={"geo": ["region", "town"]},
        **options,
    )


def warnings_of(act):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        act()
    return [str(one.message) for one in caught if issubclass(one.category, DataWarning)]


@pytest.mark.parametrize("label", ["(missing)", "unknown"])
def test_an_engine_warns_once_of_all_its_tables(label):
    with engine_of(people(), missing_label=label) as engine:
        told = warnings_of(lambda: [engine.tabulate(["geo"]), engine.tabulate(["geo", "sex"])])
    assert [text.partition(". ")[0] + "." for text in told] == [TWO, NONE]


def test_a_service_warns_when_it_makes_its_records_ready():
    with engine_of(people()) as engine:
        told = warnings_of(lambda: engine.prepare(["geo", "sex"]))
    assert [text.partition(". ")[0] + "." for text in told] == [TWO, NONE]


def test_an_engine_of_nested_columns_says_nothing():
    with engine_of(people(is_nested=True)) as engine:
        assert warnings_of(lambda: engine.tabulate(["geo"])) == []


def test_each_level_is_looked_at_and_declared_ones_are_not():
    frame = pd.DataFrame(
        [("A", "1", "x"), ("A", "2", "x"), ("B", "1", "y"), (None, "3", "z"), ("B", None, "z")],
        columns=["a", "b", "c"],
    ).assign(key=1)
    hierarchies = {"geo": Hierarchy(columns=("a", "b", "c"))}
    declared = {"geo": [("A", "1", "x"), ("A", "2", "x"), ("B", "1", "y")]}
    keys = StoredKeys(column="key", key_range=256)

    def cautions(**options):
        request = Request(dimensions=["geo"], hierarchies=hierarchies, **options)
        with open_source(frame) as source:
            told = warnings_of(lambda: cube(source, keys, [request]))
        return [text.partition(".")[0] for text in told]

    assert cautions() == [
        "Categories of 'b' that lie in more than one of 'a': 1",
        "Categories of 'b' with records that have no value of 'a': 1",
        "Categories of 'c' that lie in more than one of 'b': 1",
        "Categories of 'c' with records that have no value of 'b': 1",
    ]
    assert cautions(where="c <> 'z'", categories=declared) == []
