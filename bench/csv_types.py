"""CSV: reading and typing all records, beside DuckDB's own reader of all records.

``python -m bench.csv_types --rows 5000000``: twelve columns of integers, decimals, texts and
dates; CPU seconds of whole processes' threads, in one run.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb

from bench.measure import Line, arguments, best_of_turns, report
from tables import open_source

_COLUMNS = (
    "i AS id, (i * 7919) % 100 AS age, CASE WHEN i % 2 = 0 THEN 'F' ELSE 'M' END AS sex, "
    "'R' || lpad((i % 97)::VARCHAR, 3, '0') AS region, "
    "lpad(((i * 31) % 95)::VARCHAR, 2, '0') AS dep, "
    "(hash(i) % 5000000 / 100)::DECIMAL(9,2) AS income, "
    "(hash(i + 1) % 30000 / 10000)::DECIMAL(6,4) AS weight, "
    "DATE '1950-01-01' + ((i * 13) % 20000)::INTEGER AS born, "
    "['clerk', 'farmer', 'teacher, primary', 'retired', 'none'][1 + (i % 5)::INTEGER] AS job, "
    "(i * 104729) % 1000000 AS firm, hash(i) / 1.8e19 AS score, (i % 7)::INTEGER AS size"
)
_NUMBERS = ("income", "weight", "score")
_GOAL = 1.5


def ours(file: str) -> dict[str, Any]:
    """Open a file, and read all its records, decimals as numbers."""
    started = time.process_time()
    with open_source(file) as source:
        opened = time.process_time() - started
        numbers = ", ".join(f"{source.number_sql(name)} AS {name}" for name in _NUMBERS)
        source.fetch(f"CREATE TABLE t AS SELECT * REPLACE ({numbers}) FROM {source.relation}")
    return {"opened": opened, "cpu": time.process_time() - started}


def theirs(file: str) -> dict[str, Any]:
    """Read all records by DuckDB's own reader, which looks at all of them for types."""
    connection = duckdb.connect(config={"preserve_insertion_order": False})
    started = time.process_time()
    connection.execute(f"CREATE TABLE t AS FROM read_csv('{file}', sample_size=-1)")
    return {"cpu": time.process_time() - started}


def main() -> None:
    sizes = arguments("CSV: reading and typing", rows=5_000_000, turns=1)
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "people.csv")
        duckdb.sql(
            f"COPY (SELECT {_COLUMNS} FROM range({sizes.rows}) t(i)) TO '{file}' (HEADER)"
        )
        mine, other = best_of_turns((ours, file), (theirs, file), turns=sizes.turns)
    about = f"{sizes.rows:,} records of 12 columns"
    report(
        "CSV",
        [
            Line(
                f"{about}: opened, typed and read",
                mine["cpu"],
                "CPU s",
                "DuckDB read_csv",
                other["cpu"],
                _GOAL,
            ),
            Line(f"{about}: opened and typed", mine["opened"], "CPU s"),
        ],
    )


if __name__ == "__main__":
    main()
