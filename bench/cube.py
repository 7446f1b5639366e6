"""Protected cubes beside DuckDB's own cubes of bare counts, first and next tables.

A first table opens the file, checks the record keys and tabulates, in a fresh process that has
imported and warmed up before; so does DuckDB, without keys. Next tables sum a stored 64-bit key
beside every count, mix keys and look the noise up. Both read the same Parquet file with the
same DuckDB and return Arrow. Peak memory is what a process takes beyond its imports.
"""

from __future__ import annotations

from typing import Any

from bench.measure import (
    DATA,
    Line,
    arguments,
    best_cpu,
    best_of_turns,
    drawn_records,
    in_r,
    peak_mb,
    report,
)

COLUMNS = {
    "a": 331,
    "b": 101,
    "c": 2,
    "e": 11,
    **dict(zip([f"d{axis}" for axis in range(8)], (15, 10, 8, 6, 5, 5, 4, 4), strict=True)),
}
NEXT = {  # dimensions, goal of CPU
    "3 dimensions": (["a", "b", "c"], 1.3),
    "4 dimensions": (["a", "b", "c", "e"], 1.3),
    "3 dimensions with texts": (["region", "town", "c"], 1.3),
}
FIRST = {
    "stored keys": ("key", 2.0),
    "integers": ("number", 4.0),
    "texts": ("name", 8.0),
}
EIGHT = [f"d{axis}" for axis in range(8)]
MEMORY_GOAL = 2.0
PTABLE = DATA / "cube_ptable.parquet"


def write_records(rows: int) -> str:
    """Write records with uniform categories, 64-bit keys and two identifiers."""
    drawn = ", ".join(f"floor(random()*{n})::INT {name}" for name, n in COLUMNS.items())
    number = "(range * 7919 + 13) % 1000000007"  # a prime: no two are equal
    return drawn_records(
        "cubes",
        f"{drawn}, 'R' || lpad(floor(random()*20)::INT::VARCHAR, 2, '0') region, "
        "'town ' || floor(random()*500)::INT town, hash(range * 7 + 1) \"key\", "
        f"{number} number, 'P' || lpad(({number})::VARCHAR, 11, '0') \"name\"",
        rows=rows,
    )


def write_ptable() -> None:
    """Solve the p-table outside of what is measured."""
    from ptable import NoiseSpec, solve

    DATA.mkdir(exist_ok=True)
    solve(NoiseSpec(max_noise=5, variance=3.0, small=2)).write(PTABLE, overwrite=True)


def run_duckdb(path: str, dimensions: list[str], repeats: int) -> dict[str, Any]:
    """Time DuckDB's cube of counts, with default settings, on a fresh connection or warm."""
    import duckdb

    duckdb.connect().sql("SELECT 1 GROUP BY CUBE (1)").to_arrow_table()
    before, connection = peak_mb(), duckdb.connect()
    listed = ", ".join(dimensions)
    sql = f"SELECT {listed}, count(*) n FROM '{path}' GROUP BY CUBE ({listed})"
    seconds, answer = best_cpu(lambda: connection.sql(sql).to_arrow_table(), repeats)
    return {"cpu": seconds, "cells": answer.num_rows, "peak": peak_mb() - before}


def run_ours(path: str, dimensions: list[str], key: str, repeats: int) -> dict[str, Any]:
    """Time a first protected table, or with `repeats` over 1 the next ones."""
    import duckdb

    import ckm
    from ptable import PTable

    table = PTable.read(PTABLE)
    keys: dict[str, Any] = {"record_key": key} if key == "key" else {"id": key}

    def opened(data: object) -> ckm.Engine:
        return ckm.Engine(data, **keys, secret=ckm.Secret(bytes(range(32))), ptable=table)

    few = duckdb.connect().sql(f"SELECT * FROM '{path}' LIMIT 100").to_arrow_table()
    opened(few).tabulate(dimensions[:1]).to_arrow()
    before, warm = peak_mb(), opened(path) if repeats > 1 else None
    if warm:
        warm.check_keys()

    def call() -> Any:
        return (warm or opened(path)).tabulate(dimensions).to_arrow()

    seconds, answer = best_cpu(call, repeats)
    return {"cpu": seconds, "cells": answer.num_rows, "peak": peak_mb() - before}


def compare(name: str, ours: tuple[Any, ...], goal: float | None, *, turns: int) -> list[Line]:
    """Measure a cube in turn with DuckDB's, as a line of CPU and one of memory."""
    _, path, dimensions, _, repeats = ours
    mine, bare = best_of_turns(ours, (run_duckdb, path, dimensions, repeats), turns=turns)
    peer = "DuckDB's CUBE"
    return [
        Line(name, mine["cpu"], "CPU s", peer, bare["cpu"], goal),
        Line(f"{name}, peak", mine["peak"], "MB", peer, bare["peak"], MEMORY_GOAL),
    ]


def beside_r(name: str, cpu: Line, peak: Line, rows: int) -> list[Line]:
    """Set the cube of eight dimensions beside packages of R, with keys between 0 and 1."""
    import duckdb

    path, listed = DATA / f"cubes_{rows}.csv", ", ".join(EIGHT)
    duckdb.sql(
        f"COPY (SELECT {listed}, key / 18446744073709551616.0 rkey "
        f"FROM '{write_records(rows)}') TO '{path}'"
    )
    lines = []
    for package, peer in (("ckm", "INSEE's ckm"), ("cellKey", "cellKey")):
        if found := in_r("cube.R", package, path):
            lines.append(Line(name, cpu.ours, "CPU s", peer, found["cpu"], 1.0))
            lines.append(Line(f"{name}, peak", peak.ours, "MB", peer, found["peak"], 1.0))
        else:
            lines.append(Line(name, cpu.ours, "CPU s", f"{peer} (not here)"))
    return lines


def main() -> None:
    """Run the benchmark."""
    given = arguments(__doc__ or "", rows=10_000_000, repeats=7, turns=3, eight=100_000)
    write_ptable()
    lines = []
    for rows in (given.rows // 2, given.rows):
        path, size = write_records(rows), f"{rows / 1e6:g} M records"
        for kind, (key, goal) in FIRST.items():
            name = f"first table of {size} from {kind}"
            ours = (run_ours, path, ["a", "b", "c"], key, 1)
            lines += compare(name, ours, goal, turns=given.turns)
    for shape, (dimensions, goal) in NEXT.items():
        name, ours = f"next table, {shape}", (run_ours, path, dimensions, "key", given.repeats)
        lines += compare(f"{name}, {size}", ours, goal, turns=1)
    ours = (run_ours, write_records(given.eight), EIGHT, "key", 1)
    name = f"8 dimensions, {given.eight:,} records"
    lines += compare(name, ours, 1.0, turns=given.turns)
    lines += beside_r(name, lines[-2], lines[-1], given.eight)
    report("Protected cubes beside bare ones", lines)


if __name__ == "__main__":
    main()
