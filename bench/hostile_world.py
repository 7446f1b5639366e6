"""A real service with two workers, a ledger and tokens, and secrets in all that it has."""

from __future__ import annotations

import base64
import http.client
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.hostile_requests import Words
from bench.service import _JOB, cpu_s
from ckm.demo.register import job_seekers
from ckm.service.access.tokens import TokenFile
from ptable import NoiseSpec, solve
from tables import Secret

PERSONS, RARE = 60_007, 20
_SERVICE = """
schema = 1
[service]
id = "jobseekers"
title = "Job seekers"
workers = 2
port = 0
[data]
path = "people.parquet"
id = "person_id"
weight = "weight"
[keys]
secret = "secret.key"
[ptable]
path = "pt.parquet"
[hierarchies]
geo = ["region", "department"]
age_tree = { column = "age_group", tree = "ages.csv" }
[categories]
category = ["A", "B", "C", "D", "E"]
[[variable]]
name = "geo"
is_area = true
[[variable]]
name = "sex"
categories = { F = { en = "Women", fr = "Femmes" } }
[[variable]]
name = "category"
[[variable]]
name = "age_tree"
[[variable]]
name = "zone_2024"
[limits]
requests_per_hour = 1000000
requests_per_hour_researcher = 1000000
requests_per_hour_officer = 1000000
seconds = 5
[access]
mode = "tokens"
tokens = "tokens.json"
audit = "audit.log"
filters = "public"
accepts_reconstruction = "whoever may filter can reconstruct every true count"
[ledger]
path = "ledger.db"
official = ["job.toml"]
"""
_AGES = (
    "level,name\n@,young\n@@,15-24\n@@,25-34\n@,35-44\n@,old\n@@,45-54\n@@,55-64\n@@,65-70\n"
)
_NEVER = (
    "Traceback (most", "site-packages", "people.parquet", "secret.key", "ledger.db",
    "tokens.json", "pt.parquet", "root:x:", "zqxfolder", "/usr/lib/", "psycopg", "sqlite",
    "argon2", "ckm_prepared_", "RuntimeError", "TypeError", "KeyError", "OperationalError",
    "zqxnote",
)  # fmt: skip


@dataclass(slots=True, kw_only=True)
class World:
    """A service in a folder, and what nobody may learn of it."""

    folder: Path
    words: Words
    needles: list[bytes]
    originals: set[bytes]


def plant(folder: Path, *, seed: int) -> World:
    """Write the data and the files of a service, with secrets in all of them."""
    rng = np.random.Generator(np.random.PCG64(seed))
    people = job_seekers(rng, persons=PERSONS).people
    ids = [f"zqxperson{n:06d}" for n in range(PERSONS)]
    people = people.set_column(people.schema.names.index("person_id"), "person_id", [ids])
    zones = people["zone_2024"].cast(pa.string()).to_pylist()
    zones[:RARE] = [f"zqxzone{n:02d}x" for n in range(RARE)]
    people = people.set_column(people.schema.names.index("zone_2024"), "zone_2024", [zones])
    people = people.append_column("weight", [rng.choice([0.5, 1.5], PERSONS)])
    people = people.append_column("note", [[f"zqxnote{n}" for n in range(PERSONS)]])
    pq.write_table(people, folder / "people.parquet")
    secret = rng.bytes(32)
    Secret(secret).write(folder / "secret.key")
    solve(NoiseSpec(max_noise=5, variance=3.0, small=2)).write(folder / "pt.parquet")
    (folder / "ages.csv").write_text(_AGES)
    (folder / "job.toml").write_text(_JOB)
    (folder / "service.toml").write_text(_SERVICE)
    file = TokenFile(folder / "tokens.json")
    tokens = tuple(
        file.add(role=role, label="it") for role in ("researcher", "officer", "public")
    )
    poor = file.add(role="public", label="poor", requests_per_hour=30)
    gone = file.add(role="officer", label="gone")
    file.revoke(gone.split("_")[1])
    wrong = (gone, tokens[1][:-2] + "__", "ckm_" + "0" * 12 + "_" + "a" * 43, tokens[0][::-1])
    said = [secret.hex(), secret.hex().upper(), base64.b64encode(secret).decode().rstrip("=")]
    said += [base64.urlsafe_b64encode(secret).decode().rstrip("="), *_NEVER]
    said += [token.split("_", 2)[2] for token in (*tokens, poor, gone)]
    return World(
        folder=folder,
        words=Words(tokens=tokens, wrong=wrong, poor=poor, records=tuple(ids[:50])),
        needles=[*(text.encode() for text in said), secret],
        originals=_originals(people),
    )


def _originals(people: pa.Table) -> set[bytes]:
    """Return counts without noise that are too large to be anything else."""
    counts = {PERSONS}
    for names in (["sex"], ["category"], ["sex", "category"], ["age_group"]):
        counts |= set(
            people.group_by(names).aggregate([([], "count_all")])["count_all"].to_pylist()
        )
    return {str(count).encode() for count in counts if count >= 10_000}


class Service:
    """The process of the service; its log goes to a file."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "server.log"
        command = [sys.executable, "-m", "ckm", "serve", str(folder / "service.toml")]
        command += ["--log-format", "json"]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stderr=log, stdout=subprocess.DEVNULL)
        self.port = self._port()

    def _port(self) -> int:
        while self.process.poll() is None:
            told = re.search(r"serving at \S+:(\d+)", self.log.read_text())
            if told:
                return int(told[1])
            time.sleep(0.1)
        raise SystemExit(f"the service did not start: {self.log.read_text()}")

    @property
    def pids(self) -> list[int]:
        """The process and its workers."""
        pid = self.process.pid
        told = Path(f"/proc/{pid}/task/{pid}/children").read_text()
        return [pid, *(int(number) for number in told.split())]

    @property
    def cpu_s(self) -> float:
        """CPU seconds so far."""
        return sum(cpu_s(pid) for pid in self.pids)

    def get(self, path: str, token: str = "") -> tuple[int, bytes]:
        """Ask once."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        told = answer.status, answer.read()
        connection.close()
        return told

    def stop(self) -> int:
        """Stop the service; return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)
