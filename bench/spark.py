"""The same cells, and the same release, of some M rows from DuckDB and from Spark.

Spark's seconds are those of its Java machine, on two cores, and of Python, of workers too. The
first answer, or release, holds the compilation of plans (and that of cells the start of
Spark), the best of the others does not.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from bench.cube import write_records
from bench.measure import arguments, drawn_records, in_process, show

SHAPES: dict[str, tuple[list[str], str, list[str]]] = {
    "stored keys, 66,862 cells": (["a", "b", "c"], "stored", []),
    "hashed identifiers, 66,862 cells": (["a", "b", "c"], "hashed", []),
    "hashed identifiers, 40 cells by text": (["region", "c"], "hashed", []),
    "the same, two sums and the 3 largest": (["region", "c"], "hashed", ["a", "e"]),
}


JOB = """
schema = 1
[data]
path = "{path}"
id = "person"
weight = "w"
{engine}
[keys]
secret = "secret.key"
[ptable]
path = "pt.parquet"
[ledger]
path = "ledger.db"
[[magnitude]]
unit = {{ en = "euros", fr = "euros" }}
period = "2027"
[[table]]
name = "places"
dimensions = ["region", "sex", "age"]
measures = ["count", "weighted"]
[[table]]
name = "communes"
dimensions = ["commune", "sex"]
[[table]]
name = "incomes"
dimensions = ["region", "status"]
measures = ["count", "weighted", "sum:income", "mean:income"]
"""


def write_people(rows: int) -> str:
    """Write persons with a text that tells them apart, a weight of six decimals, an income."""
    income = "round(exp(7.5 + 0.8 * sqrt(-2 * ln(random())) * cos(6.28318 * random())), 2)"
    return drawn_records(
        "people",
        "'P' || lpad((range * 7919 % 1000000007)::VARCHAR, 11, '0') person, "
        "'R' || floor(random()*20)::INT region, floor(random()*500)::INT commune, "
        "floor(random()*2)::INT sex, floor(random()*18)::INT age, "
        f"floor(random()*4)::INT status, {income} income, round(0.5 + 2 * random(), 6) w",
        rows=rows,
    )


def run_release(path: str, engine: str, repeats: int) -> dict[str, Any]:
    """Time releases of three tables with weights, a sum, a mean, a ledger and reports."""
    from ckm.config import read_job
    from ckm.release.perturbed import release
    from ptable import NoiseSpec, solve
    from tables.spark.session import open_session

    lines = "" if engine == "duckdb" else 'engine = "spark"\nmaster = "local[2]"'
    begun, spent = _clock(), []
    if lines:
        open_session("local[2]")
    start = _clock() - begun
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        solve(NoiseSpec(max_noise=5, variance=3.0)).write(folder / "pt.parquet")
        (folder / "secret.key").write_text("a secret of sixteen bytes or more")
        (folder / "secret.key").chmod(0o600)
        (folder / "job.toml").write_text(JOB.format(path=path, engine=lines))
        for number in range(repeats + 1):
            (folder / "ledger.db").unlink(missing_ok=True)
            begun = _clock()
            release(read_job(folder / "job.toml"), folder / str(number))
            spent.append(_clock() - begun)
        files = sorted((folder / "0" / "public").glob("*.csv"))
        digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    return {"start": start, "first": spent[0], "best": min(spent[1:]), "digest": digest}


def _clock() -> float:
    """Return the CPU seconds of this process and of all that it started, which are Spark's."""
    parents, ticks = dict[str, str](), dict[str, int]()
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it ended meanwhile
            fields = file.read_text().rpartition(")")[2].split()
            parents[file.parent.name] = fields[1]
            ticks[file.parent.name] = sum(map(int, fields[11:15]))
    ours = {str(os.getpid())}
    while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return sum(ticks[pid] for pid in ours) / os.sysconf("SC_CLK_TCK")


def run(path: str, shape: str, engine: str, repeats: int) -> dict[str, Any]:
    """Time an engine, the check of the keys included in the first answer."""
    from tables import HashedKeys, Request, Secret, StoredKeys, check_keys, cube, open_source
    from tables.spark.spark import open_spark

    begun = _clock()
    dimensions, keys, sums = SHAPES[shape]
    of_keys = HashedKeys(column="key", secret=Secret(bytes(32)))
    by = StoredKeys(column="key") if keys == "stored" else of_keys
    opened = open_source(path) if engine == "duckdb" else open_spark(path, master="local[2]")
    wish = Request(dimensions=dimensions, sums=sums, top=3 if sums else 0)
    spent, digest = [], 0
    with opened as source:
        for number in range(repeats + 1):
            started, wall = _clock() if number else begun, time.perf_counter()
            if number == 0:
                started = begun
                check_keys(source, by, action="warn" if keys == "hashed" else "stop")
            (cells,) = cube(source, by, [wish])
            spent.append((_clock() - started, time.perf_counter() - wall))
            digest = int(cells.cell_key.sum()) ^ int(cells.count.sum())
            for amounts in (cells.magnitudes or {}).values():
                digest ^= int(amounts.total.sum()) ^ int(amounts.key.sum())
    best = min(spent[1:])
    return {"first": spent[0][0], "best": best[0], "wall": best[1], "digest": digest}


def show_release(rows: int, repeats: int) -> None:
    """Measure a release by both engines."""
    path = write_people(rows)
    ours, theirs = (
        in_process(run_release, path, engine, repeats) for engine in ("duckdb", "spark")
    )
    if ours["digest"] != theirs["digest"]:
        raise SystemExit("the releases of the engines differ")
    ratio = theirs["best"] / ours["best"]
    show(
        f"A release of {rows:,} persons by DuckDB and by Spark on two cores (CPU s)",
        ["release", "DuckDB", "Spark", "ratio", "Spark's first", "start of Spark"],
        [
            [
                "three tables",
                ours["best"],
                theirs["best"],
                ratio,
                theirs["first"],
                theirs["start"],
            ]
        ],
    )


def main() -> None:
    """Run the benchmark."""
    given = arguments(__doc__ or "", rows=5_000_000, repeats=3)
    show_release(given.rows, given.repeats)
    path = write_records(given.rows)
    rows: list[list[object]] = []
    for shape in SHAPES:
        ours, theirs = (
            in_process(run, path, shape, engine, given.repeats)
            for engine in ("duckdb", "spark")
        )
        if ours["digest"] != theirs["digest"]:
            raise SystemExit(f"{shape}: the engines differ")
        ratio = theirs["best"] / ours["best"]
        rows.append(
            [shape, ours["best"], theirs["best"], ratio, theirs["first"], theirs["wall"]]
        )
    show(
        f"Cells of {given.rows:,} rows by DuckDB and by Spark on two cores (CPU s)",
        ["shape", "DuckDB", "Spark", "ratio", "Spark's first", "Spark's wall"],
        rows,
    )


if __name__ == "__main__":
    main()
