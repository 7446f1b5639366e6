"""What ``import ckm`` costs beside ``import pandas, duckdb``, and what commands cost."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.measure import Line, arguments, report

IMPORTS = "import ckm", "import pandas, duckdb", 1.3
_UNCOMPILED = "PYTHONDONTWRITEBYTECODE"  # what is installed has been compiled
COMMANDS = {"--help": 0.3, "check demo/job.toml --quick": 1.5, "demo --out again --force": 6.0}


def cpu_of(*words: str, folder: str = ".") -> float:
    """Return the CPU seconds of a Python process."""
    before = os.times()
    root = str(Path(__file__).parent.parent)
    subprocess.run(
        [sys.executable, *words],
        check=True,
        cwd=folder,
        env={
            **{name: value for name, value in os.environ.items() if name != _UNCOMPILED},
            "PYTHONPATH": root,
            "CKM_LANG": "en",
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    after = os.times()
    return (after.children_user - before.children_user) + (
        after.children_system - before.children_system
    )


def main() -> None:
    """Run the benchmark, the two imports in turn."""
    given = arguments(__doc__ or "", repeats=9)
    ours, peer, goal = IMPORTS
    empty = min(cpu_of("-c", "pass") for _ in range(given.repeats))
    pairs = [(cpu_of("-c", ours), cpu_of("-c", peer)) for _ in range(given.repeats + 1)][1:]
    mine, theirs = (min(column) - empty for column in zip(*pairs, strict=True))
    lines = [Line(ours, mine, "CPU s", peer, theirs, goal)]
    with tempfile.TemporaryDirectory() as folder:
        cpu_of("-m", "ckm", "demo", folder=folder)
        for command, goal in COMMANDS.items():
            words, turns = ["-m", "ckm", *command.split()], max(2, given.repeats // 3)
            spent = min(cpu_of(*words, folder=folder) for _ in range(turns))
            lines.append(Line(f"ckm {command}", spent, "CPU s", goal=goal))
    report("Start, CPU seconds of a fresh process; imports less an empty one", lines)


if __name__ == "__main__":
    main()
