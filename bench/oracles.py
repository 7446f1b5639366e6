"""Frequency oracles: error of all counts, beside pure-ldp where CKM_PURE_LDP has it.

CKM_PURE_LDP names an interpreter with pure-ldp, scikit-learn, statsmodels and xxhash below 4.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, get_args

import numpy as np

from bench.measure import Line, arguments, report
from rappor import Candidates, decode, encode
from rappor.client.simulate import population
from rappor.oracles import Oracle, oracle, oracle_variance
from tables.secret import Secret

_EPSILON = 1.0
_PEER = Path(__file__).parent / "peers" / "oracles.py"


def ours(name: Oracle, populations: Any) -> tuple[float, float, float]:
    """Give the error of counts, root mean square, and CPU seconds: of all, and of encoding."""
    started, squares, encoding = time.process_time(), [], 0.0
    for number, held in enumerate(populations):
        shape = oracle(name, len(held), epsilon=_EPSILON)
        rng = np.random.default_rng(number)
        codes = np.repeat(np.arange(len(held)), held)
        names: Any = [*range(len(held))]
        values: Any = codes
        if not shape.is_numbered:
            names = [f"v{place}" for place in names]
            values = [names[code] for code in codes.tolist()]
        encoded = time.process_time()
        reports = encode(
            values,
            [*range(len(codes))],
            parameters=shape,
            secret=Secret(rng.bytes(32)),
            metric="m",
            rng=rng,
        )
        encoding += time.process_time() - encoded
        found = decode(reports.sum(), Candidates.of(names, parameters=shape))
        squares.append((found.estimates - held) ** 2)
    return math.sqrt(np.mean(squares)), time.process_time() - started, encoding


def theirs(populations: Any) -> dict[str, dict[str, float]]:
    """Give the same of pure-ldp; nothing where it is not."""
    python = os.environ.get("CKM_PURE_LDP")
    if python is None:
        print("pure-ldp left out: CKM_PURE_LDP names no interpreter that has it")
        return {}
    with tempfile.NamedTemporaryFile(suffix=".npy") as file:
        np.save(file.name, populations)
        command = [python, str(_PEER), file.name, str(_EPSILON)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = map(json.loads, done.stdout.splitlines())
    return {line["name"]: line for line in found}


def main() -> None:
    """Run the benchmark."""
    given = arguments(__doc__ or "", values=100, clients=20_000, populations=5)
    rng = np.random.default_rng(2027)
    populations = np.array(
        [
            population("zipf", n_values=given.values, n_clients=given.clients, rng=rng)
            for _ in range(given.populations)
        ]
    )
    peers, lines = theirs(populations), []
    for name in get_args(Oracle):
        ours(name, populations[:1] // 100)  # what loads at first use is loaded
        error, cpu, encoding = ours(name, populations)
        peer = peers.get(name)
        rare = math.sqrt(given.clients * oracle_variance(name, given.values, epsilon=_EPSILON))
        what = f"{name}, error of a count (formula {rare:.0f})"
        them = ("pure-ldp", peer["error"]) if peer else ("", None)
        lines.append(Line(what, error, "clients", *them))
        them = ("pure-ldp", peer["cpu"]) if peer else ("", None)
        lines.append(Line(f"{name}, encode and decode", cpu, "CPU s", *them))
        lines.append(
            Line(
                f"{name}, encode",
                encoding,
                "CPU s",
                peer="pure-ldp" if peer else "",
                theirs=peer["encoding"] if peer else None,
                goal=3 if peer else None,
            )
        )
    report(f"Oracles, {given.values} values, epsilon {_EPSILON:g}", lines)


if __name__ == "__main__":
    main()
