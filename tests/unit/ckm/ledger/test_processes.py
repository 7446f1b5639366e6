"""Several programs at one ledger, and programs that die while they write."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ckm.ledger import Ledger, list_published
from tables import open_source
from tests.unit.ckm.ledger.process import SECRET, entry, register

ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture(params=["sqlite", "postgresql"])
def target(request, tmp_path):
    if request.param == "sqlite":
        return str(tmp_path / "ledger.db")
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    return request.getfixturevalue("postgres_url")


def start(target, policy, filters):
    return subprocess.Popen(
        [sys.executable, "-m", "tests.unit.ckm.ledger.process", target, policy, *filters],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
    )


def lines_of(program):
    return [line.split(" ", 1) for line in program.stdout.read().splitlines()]


def go(*programs):
    for program in programs:
        assert program.stdout.readline() == "ready\n"
    for program in programs:
        program.stdin.write("go\n")
        program.stdin.flush()


@pytest.mark.slow
@pytest.mark.parametrize("answers", [1, 4, 9, 17])
def test_a_killed_program_loses_no_entry_that_it_answered(target, answers):
    filters = [f"number > {12 * n}" for n in range(60)]
    program = start(target, "flag", filters)
    go(program)
    answered = [program.stdout.readline().split(" ", 1)[1].strip() for _ in range(answers)]
    program.kill()  # in the middle of writing the next
    answered += [where for _, where in lines_of(program)]
    program.wait()
    program.stdin.close()
    program.stdout.close()
    assert len(answered) < len(filters), "the program was too fast to be killed"
    recorded = [entry.definition.name for entry in list_published(target)]
    assert recorded[: len(answered)] == answered
    assert len(recorded) <= len(answered) + 1
    with open_source(register()) as source, Ledger.open(target, secret=SECRET) as ledger:
        for where in recorded:
            assert ledger.is_known(entry(ledger, source, where).definition)
        assert list(ledger.audit()) == []  # every entry can still be read
        assert ledger.check([entry(ledger, source, f"{recorded[-1]} or number = 0")])


@pytest.mark.slow
def test_of_two_programs_with_one_thin_difference_one_is_refused(target):
    """Each pair of filters differs by one record; whoever comes first publishes."""
    mine = [f"number > {10 * n}" for n in range(20)]
    theirs = [f"number > {10 * n + 1}" for n in range(20)]
    programs = [start(target, "refuse", mine), start(target, "refuse", theirs)]
    go(*programs)
    outcomes = {}
    for program in programs:
        outcomes |= {where: word for word, where in lines_of(program)}
        assert program.wait() == 0
        program.stdin.close()
        program.stdout.close()
    for one, other in zip(mine, theirs, strict=True):
        assert {outcomes[one], outcomes[other]} == {"answered", "refused"}
    recorded = {entry.definition.name for entry in list_published(target)}
    assert recorded == {where for where, word in outcomes.items() if word == "answered"}
    with Ledger.open(target, secret=SECRET) as ledger:
        assert list(ledger.audit()) == []


@pytest.mark.slow
def test_threads_share_a_ledger(target):
    filters = [f"number > {12 * n}" for n in range(24)]
    with open_source(register()) as source, Ledger.open(target, secret=SECRET) as ledger:
        entries = [entry(ledger, source, where) for where in filters]
        threads = [
            threading.Thread(target=ledger.publish, args=([one],), kwargs={"policy": "flag"})
            for one in entries
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert {e.definition.name for e in list_published(target)} == set(filters)
        assert all(ledger.is_known(one.definition) for one in entries)


def test_a_second_program_sees_what_the_first_published(target):
    with (
        open_source(register()) as source,
        Ledger.open(target, secret=SECRET) as first,
        Ledger.open(target, secret=SECRET) as second,
    ):
        first.publish([entry(first, source, "number > 0")])
        assert second.check([entry(second, source, "number > 1")])
        assert second.is_known(entry(second, source, "number > 0").definition)
        second.publish([entry(second, source, "number > 100")])
        assert first.check([entry(first, source, "number > 101")])
