"""Budgets: one file for all processes of a service, whatever befalls it."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from ckm.errors import ConfigError
from ckm.service.access import rate_limits as budget_file
from ckm.service.access.rate_limits import Rates
from ckm.service.answering.messages import ClientError
from tests.unit.ckm.service.conftest import write_service
from tests.unit.ckm.service.process.test_processes import Process

URL = "/tables/jobseekers/data?valuecodes[sex]=*"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budgets.db"


def test_all_who_share_a_file_count_together_and_a_restart_keeps_the_count(path):
    one, two = Rates(path), Rates(path)
    assert [rates.take("a", limit=3).remaining for rates in (one, two, one)] == [2, 1, 0]
    assert not two.take("a", limit=3).is_allowed
    one.close()
    two.close()
    again = Rates(path)
    assert not again.take("a", limit=3).is_allowed
    assert again.take("b", limit=3).remaining == 2
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_day_has_a_budget_beside_the_hour_and_both_are_told():
    now = [1e9]
    rates = Rates(clock=lambda: now[0])
    first = rates.take("a", limit=2, per_day=3)
    assert first.headers() == {
        "RateLimit-Policy": '"hour";q=2;w=3600, "day";q=3;w=86400',
        "RateLimit": '"hour";r=1;t=3600, "day";r=2;t=86400',
        "RateLimit-Limit": "2",
        "RateLimit-Remaining": "1",
        "RateLimit-Reset": "3600",
    }
    rates.take("a", limit=2, per_day=3)
    refused = rates.take("a", limit=2, per_day=3)
    assert not refused.is_allowed
    assert refused.headers()["Retry-After"] == "3600"
    now[0] += 3600
    assert rates.take("a", limit=2, per_day=3).headers()["RateLimit"] == (
        '"hour";r=1;t=3600, "day";r=0;t=82800'
    )
    day = rates.take("a", limit=2, per_day=3)
    assert (day.is_allowed, day.headers()["Retry-After"]) == (False, "82800")
    # What the day refuses does not use up the hour.
    assert '"hour";r=1' in day.headers()["RateLimit"]


def test_a_clock_that_was_wrong_locks_nobody_out(path):
    now = [2e9]
    rates = Rates(path, clock=lambda: now[0])
    rates.take("a", limit=1)
    now[0] = 1e9
    allowed = rates.take("a", limit=1)
    assert (allowed.is_allowed, allowed.reset_s) == (True, 3600)


def test_looking_takes_nothing(path):
    rates = Rates(path)
    assert [rates.take("a", limit=1, cost=0).remaining for _ in range(3)] == [1, 1, 1]
    with sqlite3.connect(path) as other:
        assert other.execute("SELECT count(*) FROM ckm_used").fetchone() == (0,)


def test_a_file_of_many_callers_is_bounded_and_keeps_those_who_asked_most(monkeypatch, path):
    monkeypatch.setattr(budget_file, "_MAX_ROWS", 100)
    rates = Rates(path)
    for _ in range(5):
        rates.take("busy", limit=5)
    for number in range(1500):
        rates.take(f"caller {number}", limit=5)
    with sqlite3.connect(path) as other:
        (rows,) = other.execute("SELECT count(*) FROM ckm_used").fetchone()
    assert rows < 700
    assert not rates.take("busy", limit=5).is_allowed


def test_windows_that_are_over_are_forgotten():
    now = [1e9]
    rates = Rates(clock=lambda: now[0])
    for number in range(1500):
        now[0] += 10
        rates.take(f"caller {number}", limit=5)
    (rows,) = rates._database.fetch("SELECT count(*) FROM ckm_used")[0]
    assert rows <= 360 + 500


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"no database " * 1000, "damaged"),
        (b"SQLite format 3\0" + b"\xff" * 5000, "damaged"),
        (None, "cannot be written"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_a_way_out(path, content, words):
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=words) as caught:
        Rates(path)
    assert "budgets.db" in str(caught.value)
    assert "hint" in str(caught.value)


def test_a_torn_file_is_noticed_before_the_service_starts(path):
    rates = Rates(path)
    for number in range(2000):
        rates.take(f"caller {number}", limit=5)
    rates.close()
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ConfigError, match="damaged"):
        Rates(path)


def test_another_database_is_left_alone(path):
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE published (x)")
    before = path.read_bytes()
    with pytest.raises(ConfigError, match="no file of budgets"):
        Rates(path)
    assert path.read_bytes() == before


def test_where_nothing_can_be_counted_nobody_is_answered(path, caplog):
    rates = Rates(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(ClientError) as caught:
        rates.take("a", limit=1)
    assert caught.value.key == "busy"
    assert "budgets failed" in caplog.text
    other.execute("ROLLBACK")
    other.close()
    assert rates.take("a", limit=1).is_allowed


@pytest.mark.parametrize("change", ["until = 'never'", "used = 'none'", "used = x'00'"])
def test_where_no_numbers_are_written_nobody_is_answered(path, change):
    rates = Rates(path)
    rates.take("a", limit=9)
    with sqlite3.connect(path) as other:
        other.execute(f"UPDATE ckm_used SET {change}")
    for cost in (0, 1):
        with pytest.raises(ClientError) as caught:
            rates.take("a", limit=9, cost=cost)
        assert caught.value.status == 503


@pytest.mark.slow
def test_processes_that_count_at_once_lose_nothing(path):
    code = (
        "import sys; from pathlib import Path\n"
        "from ckm.service.access.rate_limits import Rates\n"
        "rates = Rates(Path(sys.argv[1]))\n"
        "print(sum(rates.take('a', limit=500).is_allowed for _ in range(200)))"
    )
    Rates(path).close()
    run = [sys.executable, "-c", code, str(path)]
    started = [subprocess.Popen(run, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    allowed = [int(process.communicate(timeout=60)[0]) for process in started]
    assert sum(allowed) == 500
    assert Rates(path).take("a", limit=500, cost=0).remaining == 0


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="workers of POSIX")
def test_workers_keep_one_budget_tell_it_truly_and_find_it_again_after_a_restart(tmp_path):
    write_service(tmp_path, persons=3000)
    text = (tmp_path / "service.toml").read_text()
    text = text.replace("[service]", "[service]\nworkers = 2")
    text += '[limits]\nrequests_per_hour = 20\n[access]\nbudgets = "budgets.db"\n'
    (tmp_path / "two.toml").write_text(text)
    server = Process(tmp_path / "two.toml")
    with ThreadPoolExecutor(8) as pool:  # of several connections, so that both are asked
        answers = list(pool.map(lambda _: server.get(URL), range(30)))
    assert server.stop() == 0
    good = [answer for answer in answers if answer.status_code == 200]
    left = sorted(int(answer.headers["ratelimit-remaining"]) for answer in good)
    assert left == list(range(20))
    refused = [answer for answer in answers if answer.status_code == 429]
    assert len(refused) == 10
    assert all(3500 < int(answer.headers["retry-after"]) <= 3600 for answer in refused)
    assert {answer.headers["ratelimit-limit"] for answer in answers} == {"20"}
    again = Process(tmp_path / "two.toml")
    try:
        assert again.get(URL).status_code == 429
    finally:
        again.stop()


@pytest.mark.slow
def test_a_service_with_a_damaged_file_of_budgets_does_not_start(tmp_path):
    write_service(tmp_path, persons=1000)
    path = tmp_path / "service.toml"
    path.write_text(path.read_text() + '[access]\nbudgets = "budgets.db"\n')
    (tmp_path / "budgets.db").write_bytes(b"x" * 10_000)
    command = [sys.executable, "-m", "ckm", "serve", str(path), "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "damaged" in done.stderr
