"""Fit a peer of `synth` to codes, by an interpreter that has it; draw as many records.

Arguments: the codes (.npy), their sizes as JSON, where the drawn codes go (.npy), the method,
epsilon, delta, seed and the most CPU seconds. Prints a line of JSON. Settings are the authors'.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd


def of_dpmm(method: str, codes: Any, sizes: Any, budget: dict[str, float], seed: int) -> Any:
    """Fit AIM, MST or PrivBayes of dpmm with the defaults of its models, in one process."""
    from dpmm.models.aim import AIMGM
    from dpmm.models.mst import MSTGM
    from dpmm.models.priv_bayes import PrivBayesGM

    kind = {"aim": AIMGM, "mst": MSTGM, "priv-bayes": PrivBayesGM}[method]
    names = [f"c{place}" for place in range(len(sizes))]
    domain = dict(zip(names, sizes, strict=True))
    model = kind(n_jobs=1, domain=domain, **budget)
    model.set_random_state(np.random.RandomState(seed))
    model.set_domain(domain)
    model.fit(pd.DataFrame(codes, columns=names))
    return model.generate(n_records=len(codes))[names].to_numpy()


def of_mbi(_: str, codes: Any, sizes: Any, budget: dict[str, float], seed: int) -> Any:
    """Fit AIM of mbi's folder `mechanisms` as its command line does, all pairs asked for."""
    from aim import AIM
    from mbi import Dataset, Domain

    names = tuple(f"c{place}" for place in range(len(sizes)))
    domain = Domain(names, tuple(sizes))
    data = Dataset(dict(zip(names, codes.T, strict=True)), domain)
    pairs = [(pair, 1.0) for pair in combinations(names, 2) if domain.size(pair) <= 10_000]
    mechanism = AIM(**budget, prng=np.random.default_rng(seed))
    found = mechanism.run(data, pairs, num_synth_rows=len(codes))[1].to_dict()
    return np.column_stack([np.asarray(found[name]) for name in names])


def main() -> None:
    """Fit, draw, save."""
    source, sizes, target, peer, epsilon, delta, seed, most = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_CPU, (int(most), int(most) + 5))
    codes = np.load(source)
    package, _, method = peer.partition(" ")
    fit = {"dpmm": of_dpmm, "mbi": of_mbi}[package]
    lines, sys.stdout = sys.stdout, sys.stderr  # they print as they go
    budget = {"epsilon": float(epsilon), "delta": float(delta)}
    started = time.process_time()
    drawn = fit(method, codes, json.loads(sizes), budget, int(seed))
    spent = time.process_time() - started
    np.save(target, np.asarray(drawn, np.int64))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    print(json.dumps({"cpu": spent, "peak": peak}), file=lines)


main()
