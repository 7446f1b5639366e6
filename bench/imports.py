"""What ``import ckm`` costs beside ``import pandas, duckdb``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from bench.measure import arguments, show

GOAL = 1.3


def cpu_of(statement: str) -> float:
    """Return the CPU seconds of a Python process that runs one statement."""
    before = os.times()
    subprocess.run(
        [sys.executable, "-c", statement], check=True, cwd=Path(__file__).parent.parent
    )
    after = os.times()
    return (after.children_user - before.children_user) + (
        after.children_system - before.children_system
    )


def main() -> None:
    """Run the benchmark, the two in turn."""
    given = arguments(__doc__ or "", repeats=9)
    peer, ours = "import pandas, duckdb", "import ckm"
    empty = min(cpu_of("pass") for _ in range(given.repeats))
    pairs = [(cpu_of(peer) - empty, cpu_of(ours) - empty) for _ in range(given.repeats + 1)][1:]
    ratios = sorted(b / a for a, b in pairs)
    show(
        "Import cost, CPU seconds of a fresh process less those of an empty one",
        [peer, ours, "median ratio", "goal"],
        [[min(a for a, _ in pairs), min(b for _, b in pairs), ratios[len(ratios) // 2], GOAL]],
    )


if __name__ == "__main__":
    main()
