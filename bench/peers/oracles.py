"""Errors of pure-ldp's frequency oracles, by an interpreter that has it: lines of JSON."""

from __future__ import annotations

import json
import math
import sys
import time
from typing import Any

import numpy as np
from pure_ldp.frequency_oracles import (
    DEClient,
    DEServer,
    HadamardResponseClient,
    HadamardResponseServer,
    LHClient,
    LHServer,
    UEClient,
    UEServer,
)


def pair(name: str, d: int, epsilon: float) -> tuple[Any, Any]:
    """Give a client and a server; values are numbered from 1."""
    if name == "grr":
        return DEClient(epsilon, d), DEServer(epsilon, d)
    if name == "oue":
        return UEClient(epsilon, d, use_oue=True), UEServer(epsilon, d, use_oue=True)
    if name == "olh":
        return LHClient(epsilon, d, use_olh=True), LHServer(epsilon, d, use_olh=True)
    server = HadamardResponseServer(epsilon, d)
    return HadamardResponseClient(epsilon, d, server.get_hash_funcs()), server


def main() -> None:
    """Run all oracles on the populations of a file."""
    populations = np.load(sys.argv[1])
    epsilon = float(sys.argv[2])
    for name in ("grr", "oue", "olh", "hadamard"):
        started, squares, encoding = time.process_time(), [], 0.0
        for number, held in enumerate(populations):
            np.random.seed(number)  # noqa: NPY002 (its own source of chance)
            client, server = pair(name, len(held), epsilon)
            values = (np.repeat(np.arange(len(held)), held) + 1).tolist()
            encoded = time.process_time()
            reports = [client.privatise(value) for value in values]
            encoding += time.process_time() - encoded
            for report in reports:
                server.aggregate(report)
            found = server.estimate_all(range(1, len(held) + 1), suppress_warnings=True)
            squares.append((np.asarray(found) - held) ** 2)
        error = math.sqrt(np.mean(squares))
        cpu = time.process_time() - started
        print(
            json.dumps({"name": name, "error": error, "cpu": cpu, "encoding": encoding}),
            flush=True,
        )


main()
