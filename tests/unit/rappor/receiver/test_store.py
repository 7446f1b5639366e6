"""A receiver counts each client once a period, and keeps sums alone of what is over."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from rappor.client.client import encode
from rappor.errors import MismatchError, RapporError, ReportFileError
from rappor.parameters import Parameters
from rappor.receiver.sending import RefusedError, pack_sending, tokens_of
from rappor.receiver.store import Receipt, Receiver, period_counts
from tables.secret import Secret

SECRET = Secret(b"a secret for the tests of receivers")
COIN = Parameters(n_bits=12, n_hashes=2, n_cohorts=4, f=0.5, p=0.25, q=0.75)
DAY = 86_400.0
ROOT = Path(__file__).resolve().parents[4]


class Clock:
    now = 20_000 * DAY

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def receiver(folder, clock, **changes):
    settings = {"parameters": COIN, "metric": "page", "period": "day"} | changes
    return Receiver(folder, clock=clock, **settings)


def reports_of(names):
    return encode(["a"] * len(names), names, parameters=COIN, secret=SECRET, metric="page")


def body(names, period, reports=None):
    reports = reports_of(names) if reports is None else reports
    where = {"metric": "page", "period": period}
    tokens = tokens_of(names, secret=SECRET, parameters=COIN, **where)
    return pack_sending(reports, tokens, **where)


def receipt(accepted, repeated=0, beyond=0):
    return Receipt(accepted=accepted, repeated=repeated, beyond=beyond)


def test_each_client_counts_once_a_period_and_sums_are_those_of_its_first_report(
    tmp_path, clock
):
    names = [f"c{i}" for i in range(50)]
    reports = reports_of(names)
    with receiver(tmp_path / "r", clock) as takes:
        assert takes.take([body(names, takes.period, reports)]) == [receipt(50)]
        assert takes.take([body(names, takes.period)]) == [receipt(0, 50)]
        twice = [body(["x", "x", "y"], takes.period), body(["y", "z"], takes.period)]
        assert takes.take(twice) == [receipt(2, 1), receipt(1, 1)]
        assert not period_counts(tmp_path / "r", now=clock.now)  # not before it is over
        clock.now += DAY
        assert takes.roll()
        assert not takes.roll()
        assert takes.take([body(names, takes.period)]) == [receipt(50)]  # a new period
    (counts,) = period_counts(tmp_path / "r", now=clock.now).values()
    assert counts.total == 53
    three = counts.ones - reports.sum().ones
    assert (three >= 0).all()
    both = period_counts(tmp_path / "r", is_unfinished_too=True, now=clock.now)
    assert [counts.total for counts in both.values()] == [53, 50]


def test_a_sending_that_is_refused_leaves_those_beside_it(tmp_path, clock):
    with receiver(tmp_path / "r", clock) as takes:
        good = body(["a", "b"], takes.period)
        answers = takes.take([good[:-1], good, body(["c"], "1999-01-01"), b"junk"])
        assert [getattr(a, "reason", a) for a in answers] == [
            "truncated", receipt(2), "period", "format",
        ]  # fmt: skip
        assert isinstance(answers[0], RefusedError)


def test_a_limit_of_clients_holds_and_repeats_do_not_count_against_it(tmp_path, clock):
    with receiver(tmp_path / "r", clock, most=3) as takes:
        assert takes.take([body(["a", "b"], takes.period)]) == [receipt(2)]
        assert takes.take([body(["a", "c", "d", "e"], takes.period)]) == [receipt(1, 1, 2)]


def test_a_restart_remembers_who_answered_and_the_end_of_a_period_forgets(tmp_path, clock):
    folder = tmp_path / "r"
    with receiver(folder, clock) as takes:
        takes.take([body(["a"], takes.period)])
    key = (folder / "clients.db").read_bytes()
    with receiver(folder, clock) as takes:
        assert takes.take([body(["a", "b"], takes.period)]) == [receipt(1, 1)]
        clock.now += DAY
        takes.roll()
    assert period_counts(folder, now=clock.now)["2024-10-04"].total == 2
    assert key != (folder / "clients.db").read_bytes()
    clock.now += DAY
    with receiver(folder, clock) as takes:  # over while it was closed
        assert takes.take([body(["a"], takes.period)]) == [receipt(1)]
    assert len(period_counts(folder, is_unfinished_too=True, now=clock.now)) == 3


def test_what_stays_holds_no_token_no_order_and_no_key(tmp_path, clock):
    folder = tmp_path / "r"
    tokens = tokens_of(
        ["a", "b"], secret=SECRET, parameters=COIN, metric="page", period="2024-10-04"
    )
    with receiver(folder, clock) as takes:
        takes.take([body(["a", "b"], takes.period)])
        files = b"".join(file.read_bytes() for file in folder.iterdir())
        assert not any(token in files for token in tokens)
        hashes = [takes._hash(token) for token in tokens]
        assert all(one in (folder / "clients.db").read_bytes() for one in hashes)
        key = takes._key
        clock.now += DAY
        takes.roll()
        files = b"".join(file.read_bytes() for file in folder.iterdir())
        assert key not in files
        assert not any(one in files for one in hashes)
    assert (folder / "clients.db").stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_clock_that_is_put_back_opens_no_period_again(tmp_path, clock):
    with receiver(tmp_path / "r", clock) as takes:
        takes.take([body(["a"], takes.period)])
        period = takes.period
        clock.now -= 2 * DAY
        assert not takes.roll()
        assert takes.take([body(["a", "b"], period)]) == [receipt(1, 1)]
    with receiver(tmp_path / "r", clock) as takes:
        assert takes.period == period


def test_folders_of_others_are_refused(tmp_path, clock):
    folder = tmp_path / "r"
    with (
        receiver(folder, clock) as takes,
        pytest.raises(ReportFileError, match="Another receiver"),
        receiver(folder, clock),
    ):
        pass
    with receiver(folder, clock) as takes:
        takes.take([body(["a"], takes.period)])
    other = Parameters(n_bits=12, n_hashes=2, n_cohorts=4, f=0.25, p=0.25, q=0.75)
    for changes in ({"metric": "site"}, {"period": "week"}, {"parameters": other}):
        with pytest.raises(MismatchError), receiver(folder, clock, **changes):
            pass
    (folder / "clients.db").unlink()
    with pytest.raises(ReportFileError, match="counted twice"), receiver(folder, clock):
        pass
    folder.chmod(0o755)
    with pytest.raises(ReportFileError, match="owner"), receiver(folder, clock):
        pass
    with pytest.raises(ReportFileError, match="no collection"):
        period_counts(tmp_path)
    for changes in ({"metric": " "}, {"period": "minute"}, {"most": 0}):
        with pytest.raises(RapporError):
            receiver(folder, clock, **changes)


_KILLED = """
import os, signal, sys, threading, time
from pathlib import Path
from tests.unit.rappor.receiver.test_store import Clock, body, receiver
folder, start = Path(sys.argv[1]), int(sys.argv[2])
with receiver(folder, Clock()) as takes:
    print("ready", flush=True)
    n = start
    while True:
        names = [f"c{i}" for i in range(n, n + 40)]
        takes.take([body(names, takes.period)])
        n += 40
        print(n, flush=True)
"""


@pytest.mark.slow
def test_a_kill_neither_loses_what_was_acknowledged_nor_counts_it_twice(tmp_path, clock):
    folder, sent = tmp_path / "r", 0
    for turn in range(2):
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(_KILLED), str(folder), str(sent)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )
        assert process.stdout.readline() == "ready\n"
        for _ in range(3 + turn):
            sent = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)  # within the next transaction
        lines = [int(line) for line in process.communicate()[0].split()]
        sent = lines[-1] if lines else sent
        with receiver(folder, clock) as takes:
            total = int(takes._numbers[:, 0].sum())
            # What was acknowledged is there; at most one more transaction, whole.
            assert total in {sent, sent + 40}
            names = [f"c{i}" for i in range(sent + 40)]
            assert takes.take([body(names, takes.period)]) == [
                receipt(sent + 40 - total, total)
            ]
        sent += 40
