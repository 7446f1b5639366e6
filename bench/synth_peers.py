"""Synthetic records beside AIM, MST and PrivBayes, fully run, on the same codes of public bins.

CKM_DPMM names an interpreter that has dpmm 0.1.9, CKM_MBI one that has mbi with its folder
`mechanisms` on the path (see bench/peers/README.md). Each fit is one process of one thread; its
row is printed and kept in bench/results, so that a run that was cut off goes on; with `--again`
ours are taken anew. The k-marginal score is that of NIST: 1000 (1 - distance of pairs).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from bench.measure import DATA, in_process, show
from bench.synth import DELTA, World, measured

ROWS = DATA / "synth_peers.jsonl"
FILES = ("compas", "adult", "acs12", "acs24", "firms", "persons")
PEERS = {"dpmm mst": "CKM_DPMM", "dpmm aim": "CKM_DPMM", "dpmm priv-bayes": "CKM_DPMM",
         "mbi aim": "CKM_MBI"}  # fmt: skip
FIGURES = ("two", "three", "auc", "cpu", "peak")
_SCRIPT = Path(__file__).parent / "peers" / "synth_peers.py"
_ALONE = {"NPROC": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
          "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}  # fmt: skip


def of_peer(name: str, peer: str, epsilon: float, seed: int, most: int) -> dict[str, Any]:
    """Fit a peer, draw and evaluate once; say why where it did not come to an end."""
    world = World(name)
    codes = world.encode(world.train)
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder) / f"{which}.npy") for which in ("codes", "drawn")]
        np.save(paths[0], codes)
        command = [os.environ[PEERS[peer]], str(_SCRIPT), paths[0], json.dumps(world.sizes),
                   paths[1], peer, str(epsilon), str(DELTA), str(seed), str(most)]  # fmt: skip
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env={**os.environ, **_ALONE}
        )
        if done.returncode:
            late = done.returncode in {-24, -9}
            last = (done.stderr.strip().splitlines() or [""])[-1][:100]
            return {"ended": f"not in {most} CPU s" if late else last}
        found = json.loads(done.stdout.splitlines()[-1])
        drawn = np.load(paths[1])
    frame = world.decode(drawn, np.random.default_rng(1000 + seed))
    _, two, three = world.distances(frame)
    return {"two": two, "three": three, "auc": world.auc(frame), **found}


def _kept() -> dict[tuple[Any, ...], dict[str, Any]]:
    """Return the rows on file, the last of each key."""
    texts = ROWS.read_text().splitlines() if ROWS.exists() else []
    rows = [json.loads(text) for text in texts]
    return {(row["file"], row["epsilon"], row["method"], row["seed"]): row for row in rows}


def table(rows: list[dict[str, Any]]) -> list[list[object]]:
    """Return a line for each file, epsilon and method: means over the seeds."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["file"], row["epsilon"], row["method"]), []).append(row)
    lines: list[list[object]] = []
    for key, some in groups.items():
        if "ended" in some[0]:
            lines.append([*map(str, key), some[0]["ended"], *[""] * 5])
            continue
        two, three, auc, cpu, peak = (np.mean([row[f] for row in some]) for f in FIGURES)
        texts = (f"{two:.4f}", f"{three:.4f}", f"{1000 * (1 - two):.0f}", f"{auc:.3f}")
        lines.append([*map(str, key), *texts, f"{cpu:.1f}", f"{peak:.0f}"])
    return lines


def main() -> None:
    """Measure what is not on file yet, and show all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", choices=FILES, nargs="+", default=FILES, help="Which data.")
    parser.add_argument(
        "--epsilons", type=float, nargs="+", default=(1.0, 0.1, 0.5, 4.0), help="Budgets."
    )
    parser.add_argument(
        "--methods", nargs="+", default=("synth", *PEERS), help="Ours and peers."
    )
    parser.add_argument("--seeds", type=int, default=3, help="Of ours; peers have one.")
    parser.add_argument("--most", type=int, default=1500, help="CPU seconds of a peer's fit.")
    parser.add_argument("--again", action="store_true", help="Measure ours anew.")
    given = parser.parse_args()
    DATA.mkdir(exist_ok=True)
    for epsilon in given.epsilons:
        for file in given.files:
            for method in given.methods:
                for seed in range(given.seeds if method == "synth" else 1):
                    _measure(file, epsilon, method, seed, given)
    rows = sorted(_kept().values(), key=lambda row: (row["file"], row["epsilon"]))
    titles = ["file", "epsilon", "method", "pairs", "triples", "k-marginal", "AUC", "CPU s"]
    titles.append("MB")
    show(f"synthetic records, delta {DELTA}", titles, table(rows))


def _measure(file: str, epsilon: float, method: str, seed: int, given: Any) -> None:
    is_ours = method == "synth"
    if (file, epsilon, method, seed) in _kept() and not (is_ours and given.again):
        return
    if is_ours:
        found = in_process(measured, file, epsilon, seed)
    elif os.environ.get(PEERS[method]):
        found = of_peer(file, method, epsilon, seed, given.most)
    else:
        return
    row = {"file": file, "epsilon": epsilon, "method": method, "seed": seed, **found}
    print(row, flush=True)
    with ROWS.open("a") as rows:
        rows.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
