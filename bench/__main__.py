"""Run every benchmark, one after another."""

from __future__ import annotations

import subprocess
import sys

ALL = (
    "imports",
    "ptable_rows",
    "advise",
    "scan",
    "quantise",
    "marginals",
    "cube",
    "magnitudes",
    "sums",
    "largest",
    "ledger",
    "spill",
    "streamed",
    "utility",
    "risk_map",
    "assess",
    "lp_audit",
    "swapping",
    "additivity",
    "suppression",
    "service",
    "hostile",
    "reconstruction",
    "audit",
    "rappor_decode",
    "rappor",
    "dpsgd",
    "synth_baselines",
    "synth",
)

if __name__ == "__main__":
    for name in sys.argv[1:] or ALL:
        subprocess.run([sys.executable, "-m", f"bench.{name}"], check=True)
