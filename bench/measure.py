"""Measurement of one call in a process of its own: CPU seconds, peak memory."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

DATA = Path(__file__).parent / "results"


def arguments(text: str, **defaults: int) -> argparse.Namespace:
    """Parse the sizes of a benchmark from the command line."""
    parser = argparse.ArgumentParser(description=text)
    for name, value in defaults.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    return parser.parse_args()


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


def show(title: str, columns: list[str], rows: list[list[object]]) -> None:
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
