"""Measurement of one call in a process of its own: CPU seconds, peak memory."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

DATA = Path(__file__).parent / "results"
LINES = "CKM_BENCH_LINES"  # the file that `python -m bench` collects lines in
COLUMNS = ["what", "ours", "unit", "peer", "peer's", "ratio", "goal", "met"]


@dataclass(frozen=True, slots=True)
class Line:
    """A figure and a peer's; the goal is on their ratio, or on ours where there is no peer."""

    name: str
    ours: float
    unit: str
    peer: str = ""
    theirs: float | None = None
    goal: float | None = None
    is_least: bool = False

    def row(self) -> list[object]:
        """Return the line of the table."""
        ratio = self.ours / self.theirs if self.theirs else None
        figure, goal, met = ratio if self.theirs else self.ours, "", ""
        if self.goal is not None and figure is not None:
            sign = "≥" if self.is_least else "≤"
            goal = f"{sign} {self.goal:.3g}{' times' if self.theirs else ''}"
            is_met = figure >= self.goal if self.is_least else figure <= self.goal
            met = "yes" if is_met else "no"
        numbers = [self.ours, self.unit, self.peer, self.theirs, ratio, goal, met]
        return [self.name, *("" if number is None else number for number in numbers)]


def report(title: str, lines: list[Line]) -> None:
    """Print lines, and hand them to `python -m bench`."""
    print_table(title, COLUMNS, [line.row() for line in lines])
    _hand_over(lines)


def _hand_over(lines: list[Line]) -> None:
    if collected := os.environ.get(LINES):
        with Path(collected).open("a") as file:
            file.writelines(json.dumps(asdict(line)) + "\n" for line in lines)


def arguments(text: str, **defaults: int | str) -> argparse.Namespace:
    """Parse the sizes of a benchmark from the command line, and names of its parts."""
    parser = argparse.ArgumentParser(description=text)
    for name, value in defaults.items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    return parser.parse_args()


def drawn_records(name: str, columns: str, *, rows: int) -> str:
    """Write records whose columns DuckDB draws from one seed, once; return their path."""
    import duckdb

    DATA.mkdir(exist_ok=True)
    path = DATA / f"{name}_{rows}.parquet"
    if not path.exists():
        with duckdb.connect() as connection:
            connection.execute("SET threads=1; SELECT setseed(0.5)")
            connection.execute(
                f"COPY (SELECT {columns} FROM range({rows})) TO '{path}' (FORMAT parquet)"
            )
    return str(path)


def best_cpu(call: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Return the least CPU seconds, user and system of all threads, of several calls."""
    best, answer = float("inf"), None
    for _ in range(repeats):
        started = time.process_time()
        answer = call()
        best = min(best, time.process_time() - started)
    return best, answer


def peak_mb() -> float:
    """Return the peak resident memory of this process in MB (10**6 bytes)."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024 / 1e6
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def in_process(function: Callable[..., dict[str, Any]], *given: Any) -> dict[str, Any]:
    """Run a function of a benchmark in a fresh process and return its answer."""
    module = function.__module__
    if module == "__main__":
        module = f"bench.{Path(sys.argv[0]).stem}"
    with tempfile.NamedTemporaryFile("r", suffix=".json") as answer:
        code = (
            "import json, sys, importlib; "
            f"f = getattr(importlib.import_module({module!r}),"
            f" {function.__name__!r}); "
            "json.dump(f(*json.loads(sys.argv[1])), open(sys.argv[2], 'w'))"
        )
        subprocess.run(
            [sys.executable, "-c", code, json.dumps(given), answer.name],
            check=True,
            cwd=Path(__file__).parent.parent,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
            stdout=subprocess.DEVNULL,
        )
        result: dict[str, Any] = json.load(answer)
        return result


def best_of_turns(*calls: tuple[Any, ...], turns: int) -> list[dict[str, Any]]:
    """Run functions in turn, each in fresh processes, and keep the least of every figure."""
    answers = [[in_process(*call) for call in calls] for _ in range(turns)]
    return [
        {name: min(one[name] for one in column) for name in column[0]}
        for column in zip(*answers, strict=True)
    ]


def in_r(script: str, *given: object) -> dict[str, Any] | None:
    """Run a script of `bench/peers`; None where R or a package of it is missing."""
    if not (program := shutil.which("Rscript")):
        return None
    path = Path(__file__).parent / "peers" / script
    command = [program, str(path), *map(str, given)]
    places = {"R_LIBS": str(DATA / "R"), **os.environ}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=places)
    if done.returncode:
        print(f"{script}: {done.stderr.strip()[-300:]}", file=sys.stderr)
        return None
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def show(
    title: str,
    columns: list[str],
    rows: list[list[object]],
    *,
    ours: str = "CPU s",
    theirs: str = "",
    goal: str = "",
) -> None:
    """Print a table; hand over a line per row of the columns named, and of our peak memory."""
    print_table(title, columns, rows)
    lines = []
    for row in rows:
        cells: dict[str, Any] = dict(zip(columns, row, strict=True))
        words = []
        for name, value in cells.items():
            if isinstance(value, float):
                break
            words.append(value if isinstance(value, str) else f"{name} {value:,}")
        label = ": ".join(filter(None, [title.partition(" (")[0], ", ".join(words)]))
        if isinstance(cells.get(ours), float):
            beside = (theirs, cells.get(theirs or None), cells.get(goal or None))
            lines.append(Line(label, cells[ours], "CPU s", *beside))
        if isinstance(cells.get("peak MB"), float):
            lines.append(
                Line(f"{label}, peak", cells["peak MB"], "MB", goal=cells.get("goal MB"))
            )
    _hand_over(lines)


def print_table(title: str, columns: list[str], rows: list[list[object]]) -> None:
    """Print a table."""
    texts = [
        [
            f"{v:.3g}" if isinstance(v, float) else f"{v:,}" if isinstance(v, int) else str(v)
            for v in row
        ]
        for row in rows
    ]
    widths = [max(len(c), *(len(t[i]) for t in texts)) for i, c in enumerate(columns)]
    print(f"\n{title}\n")
    print("  ".join(c.rjust(w) for c, w in zip(columns, widths, strict=True)))
    for text in texts:
        print("  ".join(t.rjust(w) for t, w in zip(text, widths, strict=True)))
    sys.stdout.flush()
