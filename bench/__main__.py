"""Run every benchmark, one after another, and print one table of all figures.

With ``--quick`` those that take seconds, on fewer records: two minutes on two quiet cores.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.measure import COLUMNS, LINES, Line, print_table

#: Each with the sizes of a quick run; None: not in a quick run.
ALL: dict[str, str | None] = {
    "imports": "--repeats 3",
    "ptable_rows": "--largest 10",
    "advise": None,
    "limits": "--persons 0",
    "attacked_designs": None,
    "limits_saved": "--persons 20000",
    "scan": "",
    "quantise": "--largest 10",
    "marginals": "--rows 500000 --repeats 2",
    "csv_types": "--rows 1000000",
    "cube": "--rows 1000000 --repeats 3 --turns 1 --eight 10000",
    "magnitudes": "--rows 500000",
    "sums": "--rows 500000",
    "office": "--rows 200000",
    "dp_release": "--rows 1000000",
    "dp_peers": "--rows 2000 --runs 10",
    "largest": None,
    "ledger": None,
    "spill": None,
    "streamed": None,
    "utility": "--cells 100000",
    "risk_map": None,
    "assess": None,
    "lp_audit": None,
    "swapping": "--people 50000",
    "additivity": "--largest 1",
    "suppression": None,
    "service": None,
    "hostile": None,
    "reconstruction": None,
    "red_team": "--pairs 50",
    "audit": None,
    "oracles": "--populations 1",
    "rappor_decode": None,
    "rappor_paper": "--populations 20",
    "rappor": "--values 20000 --reports 1000000",
    "rappor_receiver": "--reports 100000",
    "dpsgd": None,
    "synth_baselines": None,
    "synth": None,
    "synth_amounts": None,
}


def lines_of(name: str, sizes: str, collected: Path) -> list[Line]:
    """Run a benchmark; give its lines, or one of its CPU seconds where it has none."""
    before = os.times()
    command = [sys.executable, "-m", f"bench.{name}", *sizes.split()]
    done = subprocess.run(command, env={**os.environ, LINES: str(collected)}, check=False)
    after = os.times()
    found = [Line(**json.loads(line)) for line in collected.read_text().splitlines()]
    collected.write_text("")
    if done.returncode:
        return [*found, Line(f"bench.{name} FAILED", float("nan"), "")]
    spent = sum(after[2:4]) - sum(before[2:4])
    return found or [Line(f"bench.{name}, all of it", spent, "CPU s")]


def main() -> None:
    """Run what is asked for and print the table."""
    is_quick = "--quick" in sys.argv
    chosen = [word for word in sys.argv[1:] if word != "--quick"] or list(ALL)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        collected = Path(folder) / "lines"
        collected.touch()
        for name in chosen:
            sizes = ALL.get(name) if is_quick else ""
            if sizes is not None:
                rows += [line.row() for line in lines_of(name, sizes, collected)]
    print_table(f"All figures; load {os.getloadavg()[0]:.1f}", COLUMNS, rows)
    if any(str(row[0]).endswith("FAILED") for row in rows):
        sys.exit(1)


if __name__ == "__main__":
    main()
