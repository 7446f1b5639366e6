"""A ledger holds every variable to the noise that its sums were published with."""

from __future__ import annotations

import sqlite3

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ckm
from ckm.config import read_job
from ckm.engine.magnitudes import MagnitudeNoise
from ckm.ledger import Definition, Ledger, LedgerError, Watch
from ckm.release.perturbed import release
from tables import open_source
from tests.strategies import worked_ptable
from tests.unit.ckm.ledger.process import SECRET, entry, register
from tests.unit.ckm.ledger.test_writer import Callers

PEOPLE = pa.table(
    {
        "id": range(90),
        "sex": ["F", "M", "F"] * 30,
        "area": ["a", "b"] * 45,
        "income": [2000.0 + n for n in range(90)],
        "hours": [20.0 + n % 17 for n in range(90)],
        "w": [1.0 + n % 4 for n in range(90)],
    }
)
ANOTHER = "is in the ledger with another noise of sums"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.db"


def publish(path, noise, *, variable="income", dimension="sex", weight=None, data=""):
    """Publish one table of sums beside a ledger."""
    secret = ckm.Secret(bytes(32))
    magnitudes = None if noise is None else {variable: noise}
    with (
        Ledger.open(path, secret=secret) as ledger,
        ckm.Engine(
            PEOPLE,
            id="id",
            secret=secret,
            ptable=worked_ptable(),
            magnitudes=magnitudes,
            weight=weight,
        ) as engine,
    ):
        watch = Watch(ledger, data=data)
        measures = ["count"] if noise is None else ["count", f"sum:{variable}"]
        request = ckm.TableRequest(dimensions=[dimension], measures=measures)
        engine.tabulate_all({"t": request}, watch=watch)
        watch.publish()


def noises_in(path):
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT name, content FROM ckm_ledger").fetchall()
    return {name: content for name, content in rows if name.startswith("amount ")}


@pytest.mark.parametrize(
    "other",
    [
        {"spread": 0.2},
        {"signed": True},
        {"jitter": False},
        {"rules": "cellkey"},
        {"base": "range"},
    ],
)
@pytest.mark.parametrize("dimension", ["sex", "area"])
@pytest.mark.parametrize("data", ["", "2027-03"])
def test_a_variable_with_another_noise_is_refused_in_old_and_new_tables(
    path, other, dimension, data
):
    publish(path, MagnitudeNoise.start(), data=data)
    with pytest.raises(LedgerError, match=ANOTHER):
        publish(path, MagnitudeNoise.start(**other), dimension=dimension, data=data)
    publish(path, MagnitudeNoise.start(), dimension=dimension, data=data)
    assert len(noises_in(path)) == 1


@pytest.mark.slow
def test_other_decimals_variables_weights_and_periods_are_no_other_noise(path):
    publish(path, MagnitudeNoise.start())
    publish(path, MagnitudeNoise.start(decimals=-3))
    assert len(noises_in(path)) == 1
    publish(path, MagnitudeNoise.start(spread=0.3), variable="hours")
    publish(path, MagnitudeNoise.start(spread=0.3), weight="w")
    publish(path, MagnitudeNoise.start(spread=0.3, period="2028"))
    assert len(noises_in(path)) == 4
    for weight, period in (("w", ""), (None, "2028")):
        with pytest.raises(LedgerError, match=ANOTHER):
            publish(path, MagnitudeNoise.start(period=period), weight=weight)


@pytest.mark.slow
def test_a_ledger_from_before_is_taken_as_it_is_and_holds_the_first_noise(path):
    publish(path, None)
    assert noises_in(path) == {}  # as ledgers were before they knew of sums
    publish(path, MagnitudeNoise.start())
    with pytest.raises(LedgerError, match=ANOTHER):
        publish(path, MagnitudeNoise.start(spread=0.2))
    publish(path, None)


def test_a_known_table_that_gets_sums_is_held_to_their_noise(path):
    publish(path, None, data="2027-03")
    publish(path, MagnitudeNoise.start(), data="2027-03")
    assert len(noises_in(path)) == 1


def test_what_is_not_published_holds_nobody(path):
    secret = ckm.Secret(bytes(32))
    with (
        Ledger.open(path, secret=secret) as ledger,
        ckm.Engine(PEOPLE, id="id", secret=secret, ptable=worked_ptable()) as engine,
    ):
        watch = Watch(ledger)
        request = ckm.TableRequest(dimensions=["sex"], measures=["sum:income"])
        engine.tabulate_all({"t": request}, watch=watch)
        watch.check()
    assert noises_in(path) == {}
    publish(path, MagnitudeNoise.start(spread=0.3))


def test_one_watch_does_not_take_two_noises_of_a_variable(path):
    with Ledger.open(path, secret=SECRET) as ledger:
        watch = Watch(ledger)
        watch.add_noise_identity({"income": "A"})
        watch.add_noise_identity({"income": "A", "hours": "A"})
        with pytest.raises(LedgerError, match=ANOTHER):
            watch.add_noise_identity({"income": "B"})
        watch.publish()
        assert len(noises_in(path)) == 2


def test_the_ledger_names_neither_variables_nor_settings(path):
    publish(path, MagnitudeNoise.start(), variable="income")
    publish(path, MagnitudeNoise.start(), variable="hours")
    assert len(set(noises_in(path).values())) == 2  # equal noises do not show
    assert b"income" not in path.read_bytes()


def test_of_those_who_publish_together_one_noise_of_a_variable_gets_in(path):
    with open_source(register(), threads=1) as source, Ledger.open(path, secret=SECRET) as one:
        sets = entry(one, source, None)
        with Callers(one) as callers:
            callers.publish("first", sets, noises={"income": "A"})
            callers.publish("second", sets, noises={"income": "B"})
            callers.publish("third", sets, noises={"income": "A", "hours": "B"})
        assert callers.outcomes["first"] == callers.outcomes["third"] == ()
        assert isinstance(callers.outcomes["second"], LedgerError)
        assert ANOTHER in str(callers.outcomes["second"])
        assert len(noises_in(path)) == 2
        with Ledger.open(path, secret=SECRET) as two:  # another program
            two.publish([], noises={"spend": "A"})
        with pytest.raises(LedgerError, match=ANOTHER):
            one.publish([], noises={"spend": "B"})
        assert one.numbers(Definition(name="nothing")) == ()


JOB = """
schema = 1
[data]
path = "people.parquet"
id = "id"
[keys]
secret = "secret.key"
[ptable]
max_noise = 2
variance = 1.0
[report]
languages = ["en"]
[ledger]
path = "ledger.db"
[[magnitude]]
name = "income"
spread = {spread}
[[table]]
name = "sexes"
dimensions = ["sex"]
measures = ["count", "sum:income"]
"""


@pytest.mark.slow
def test_a_release_with_another_spread_is_refused_before_it_is_made(tmp_path):
    pq.write_table(PEOPLE, tmp_path / "people.parquet")
    secret = tmp_path / "secret.key"
    secret.write_text("a secret of sixteen bytes or more")
    secret.chmod(0o600)
    job = tmp_path / "job.toml"
    job.write_text(JOB.format(spread=0.15))
    release(read_job(job), tmp_path / "one")
    release(read_job(job), tmp_path / "again")
    job.write_text(JOB.format(spread=0.2))
    for options in ({}, {"dry_run": True}):
        with pytest.raises(LedgerError, match=ANOTHER) as refusal:
            release(read_job(job), tmp_path / "two", **options)
        assert "go back to those settings" in str(refusal.value)
        assert "income" not in str(refusal.value)
    assert not (tmp_path / "two").exists()
