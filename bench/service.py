"""The service under load on loopback: first tables, roll-ups, repeats, eight clients at once.

A real process serves a made-up register; CPU seconds are those of the server's process, from
the system's own account. The bare query groups the same Parquet file by the same columns and
counts, without keys, noise, rules or HTTP.

    python -m bench.service --persons 5000000
"""

import http.client
import itertools
import json
import os
import queue
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import quote

import duckdb
import numpy as np

from bench.measure import arguments
from tables import Secret

_SERVICE = """
schema = 1
[service]
title = "Benchmark"
port = 0
figure_margins = 95
[data]
path = "people.parquet"
id = "person_id"
[keys]
secret = "secret.key"
[ptable]
path = "pt.parquet"
[hierarchies]
geo = ["region", "department"]
[[variable]]
name = "geo"
is_area = true
[[variable]]
name = "age"
[[variable]]
name = "category"
[limits]
requests_per_hour = 1000000
[access]
filters = "public"
accepts_reconstruction = "whoever may filter can reconstruct every true count"
[rules]
mean_cell_size = false
sparsity_a = false
sparsity_b = false
"""
# Flagging does all the work of refusing, and answers every request.
_LEDGER = """
[ledger]
path = "ledger.db"
policy = "flag"
official = ["job.toml"]
"""
_JOB = """
schema = 1
[data]
path = "people.parquet"
id = "person_id"
[keys]
secret = "secret.key"
[ptable]
path = "pt.parquet"
[ledger]
path = "ledger.db"
[[table]]
name = "categories"
dimensions = ["category"]
"""
_TICKS = os.sysconf("SC_CLK_TCK")


class Client:
    """One connection that is kept open."""

    def __init__(self, port: int) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def get(self, query: str) -> tuple[int, float, int]:
        """Return status, seconds and bytes."""
        started = time.perf_counter()
        self.connection.request("GET", f"/tables/data/data?{query}")
        answer = self.connection.getresponse()
        size = len(answer.read())
        return answer.status, time.perf_counter() - started, size


def require(status: int) -> None:
    if status != 200:
        raise SystemExit(f"the service answered {status}")


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def memory_mb(pid: int, line: str) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(rf"{line}:\s+(\d+)", status)[1]) * 1024 / 1e6


def criterion(**codes: str) -> str:
    return "&".join(
        f"valuecodes[{name}]={quote(code, safe='')}" for name, code in codes.items()
    )


def level(name: str, rest: str) -> str:
    return f"codelist[geo]=geo.{name}&valuecodes[geo]=*&{rest}"


FIRST = {
    "department,age,category": level("department", criterion(age="*", category="*")),
    "age,category": criterion(age="*", category="*"),
    "region,age": level("region", criterion(age="*")),
}


def first_tables(client: Client, pid: int, data: Path) -> dict[str, str]:
    """Every table asked for once, in a service that filters so that no cube is at hand."""
    bare = duckdb.connect()
    told = {}
    for place, (columns, query) in enumerate(FIRST.items()):
        ours, wall, theirs = [], [], []
        for age in range(15 + 3 * place, 18 + 3 * place):
            # another filter, so another table, nearly as large
            before = cpu_s(pid)
            status, seconds, _ = client.get(f"{query}&filter=" + quote(f"age >= {age}"))
            require(status)
            ours.append(cpu_s(pid) - before)
            wall.append(seconds)
            before = time.process_time()
            bare.sql(
                f"SELECT {columns}, count(*) FROM '{data}' WHERE age >= {age} GROUP BY ALL"
            ).fetchall()
            theirs.append(time.process_time() - before)
        mine, other = statistics.median(ours), statistics.median(theirs)
        told[f"first: {columns}"] = (
            f"CPU {mine:.3f} s, bare {other:.3f} s, ratio {mine / other:.2f};"
            f" wall {statistics.median(wall):.3f} s"
        )
    return told


def many(client: Client, pid: int, name: str, queries: list[str]) -> dict[str, str]:
    times = []
    before = cpu_s(pid)
    for query in queries:
        status, seconds, _ = client.get(query)
        require(status)
        times.append(seconds * 1000)
    return {f"{name}, {len(queries)} requests": in_words(times, cpu_s(pid) - before)}


def in_words(times: list[float], cpu: float) -> str:
    return (
        f"median {statistics.median(times):.1f} ms, 95 % {np.quantile(times, 0.95):.1f} ms,"
        f" CPU {1000 * cpu / len(times):.1f} ms each"
    )


def derived(client: Client, pid: int, name: str, queries: list[str]) -> dict[str, str]:
    """Ask for tables, and for their percentages with margins; turn by turn, as load changes."""
    ways = {
        "table": [f"{query}&lang=fr" for query in queries],  # in no memory yet
        "of one variable": [f"{q}&figure=share&of={last_variable(q)}" for q in queries],
        "of all": [f"{query}&figure=share" for query in queries],
    }
    spent = dict.fromkeys(ways, 0.0)
    for place in range(0, len(queries), 20):
        for way, addresses in ways.items():
            before = cpu_s(pid)
            for address in addresses[place : place + 20]:
                require(client.get(address)[0])
            spent[way] += cpu_s(pid) - before
    own = 1000 * spent.pop("table") / len(queries)
    told = [
        f"{way} + {100 * (1000 * s / len(queries) / own - 1):.0f} %" for way, s in spent.items()
    ]
    return {f"percentages, {name}": f"CPU beside {own:.1f} ms of the table: {', '.join(told)}"}


def last_variable(query: str) -> str:
    return str(re.findall(r"valuecodes\[(\w+)\]", query)[-1])


def mixed(rng: np.random.Generator, size: int) -> list[str]:
    """Make different requests: margins, single areas, selections, filters."""
    made: dict[str, None] = {}
    ages = [f"[range({a},{b})]" for a, b in itertools.combinations(range(15, 70, 3), 2)]
    while len(made) < size:
        kind = int(rng.integers(6))
        area = f"{int(rng.integers(1, 14)):02d}"
        age = ages[int(rng.integers(len(ages)))]
        category = "ABCDE"[int(rng.integers(5))]
        made[
            (
                level("region", criterion(age=age, category="*")),
                level("department", criterion(age=age)),
                criterion(geo=area, age=age, category="*"),
                criterion(age=age, category=category + ",Total"),
                level("region", criterion(category="*"))
                + "&filter="
                + quote(f"age > {rng.integers(15, 69)}"),
                level("department", criterion(category="*"))
                + "&filter="
                + quote(f"age < {rng.integers(20, 69)} and category <> '{category}'"),
            )[kind]
        ] = None
    return list(made)


def clients(port: int, pid: int, queries: list[str], *, number: int) -> dict[str, str]:
    waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
    for query in queries:
        waiting.put(query)
    times: list[float] = []
    statuses: list[int] = []

    def work() -> None:
        client = Client(port)
        while True:
            try:
                query = waiting.get_nowait()
            except queue.Empty:
                return
            status, seconds, _ = client.get(query)
            times.append(seconds * 1000)
            statuses.append(status)

    before, started = cpu_s(pid), time.perf_counter()
    threads = [threading.Thread(target=work) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wall = time.perf_counter() - started
    if set(statuses) != {200}:
        raise SystemExit(f"the service answered {sorted(set(statuses))}")
    words = in_words(times, cpu_s(pid) - before)
    return {
        f"{number} clients, {len(times)} requests": f"{words}, {len(times) / wall:.0f} a second"
    }


def main() -> None:
    given = arguments(__doc__ or "", persons=5_000_000)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = make(folder, given.persons)
        told = []
        for ledger in ("", _LEDGER):
            (folder / "job.toml").write_text(_JOB)
            (folder / "service.toml").write_text(_SERVICE + ledger)
            told.append(serve(folder, data))
        size = sum(file.stat().st_size for file in folder.glob("ledger.db*")) / 1e6
    for figure, without in told[0].items():
        print(f"{figure}\n    without a ledger: {without}")
        print(f"    with a ledger:    {told[1][figure]}")
    print(f"the ledger's files: {size:.0f} MB; load {os.getloadavg()[0]:.1f}")


def serve(folder: Path, data: Path) -> dict[str, str]:
    command = [sys.executable, "-m", "ckm", "serve", str(folder / "service.toml")]
    command += ["--log-format", "json"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        port = wait_for(server)
        threading.Thread(target=server.stderr.read, daemon=True).start()
        return measure(port, server.pid, data)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(60)


def measure(port: int, pid: int, data: Path) -> dict[str, str]:
    client = Client(port)
    told = {"start": f"CPU {cpu_s(pid):.1f} s, resident {memory_mb(pid, 'VmRSS'):.0f} MB"}
    told |= first_tables(client, pid, data)
    client.get(level("department", criterion(age="*", category="*")))
    plain = [q for q in mixed(np.random.default_rng(7), 200) if "filter" not in q][:100]
    told |= many(client, pid, "rolled up", plain)
    told |= many(client, pid, "repeated exactly", plain)
    told |= derived(client, pid, "rolled up", plain)
    ten = level("department", criterion(age="[range(15,40)]", category="*"))
    filtered = [f"{ten}&filter=" + quote(f"age <= {age}") for age in range(60, 70)]
    told |= many(client, pid, "13,000 cells", filtered)
    told |= derived(client, pid, "13,000 cells", filtered)
    told |= clients(port, pid, mixed(np.random.default_rng(8), 200), number=8)
    now, peak = memory_mb(pid, "VmRSS"), memory_mb(pid, "VmHWM")
    told["memory"] = f"resident {now:.0f} MB, at its peak {peak:.0f} MB"
    told["cells"] = routes(port)
    return told


def routes(port: int) -> str:
    """Tell how often cells were at hand, rolled up or scanned."""
    figures = http.client.HTTPConnection("127.0.0.1", port)
    figures.request("GET", "/metrics")
    answer = figures.getresponse().read().decode()
    return ", ".join(re.findall(r"^ckm_cells_(\w+ \d+)", answer, re.MULTILINE))


def make(folder: Path, persons: int) -> Path:
    import pyarrow.parquet as pq

    from ckm.demo.register import job_seekers
    from ptable import NoiseSpec, solve

    people = job_seekers(np.random.Generator(np.random.PCG64(1)), persons=persons).people
    pq.write_table(people, folder / "people.parquet", compression="zstd")
    solve(NoiseSpec(max_noise=5, variance=3.0, small=2)).write(folder / "pt.parquet")
    Secret(bytes(range(32))).write(folder / "secret.key")
    return folder / "people.parquet"


def wait_for(server: "subprocess.Popen[str]") -> int:
    for line in server.stderr:
        event = json.loads(line)
        if event["event"] == "serving":
            return int(event["message"].rpartition(":")[2])
    raise SystemExit("the service did not start")


if __name__ == "__main__":
    main()
