"""The printed rows of the published comparison, with all families, and what each costs.

python -m bench.synth_baselines
"""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path

import numpy as np

from synth.baselines import copula_shirley, dp_copula, priv_bayes

TOY = Path(__file__).resolve().parents[1] / "tests/unit/synth/baselines/toy.py"


def main() -> None:
    spec = importlib.util.spec_from_file_location("toy", TOY)
    if spec is None or spec.loader is None:
        raise SystemExit("The toy data are missing.")
    toy = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(toy)
    data = toy.toy_data()
    rng = np.random.default_rng
    fits = {
        "CS eps=0": lambda: copula_shirley(data, epsilon=0, rng=rng(1)),
        "CS eps=1": lambda: copula_shirley(data, epsilon=1, rng=rng(1)),
        "CS eps=0.1": lambda: copula_shirley(data, epsilon=0.1, rng=rng(1)),
        "DP-Copula eps=1": lambda: dp_copula(data, epsilon=1, domains=None, rng=rng(1)),
        "DP-Copula string ranks": lambda: dp_copula(
            data, epsilon=1, domains=None, defects=["string-ranks"], rng=rng(1)
        ),
        "PrivBayes eps=1": lambda: priv_bayes(data, epsilon=1, domains=None, rng=rng(1)),
        "PrivBayes legacy": lambda: priv_bayes(
            data, epsilon=1, domains=None, is_legacy=True, rng=rng(1)
        ),
    }
    show("data", toy.correlations(data), 0.0)
    for name, fit in fits.items():
        start = time.process_time()
        drawn = fit().sample(len(data), rng(2))
        show(name, toy.correlations(drawn), time.process_time() - start)


def show(name: str, row: dict[str, float], seconds: float) -> None:
    figures = " ".join(f"{pair} {value:+.3f}" for pair, value in row.items())
    print(f"{name:24} {figures}  {seconds:.1f} CPU s")


if __name__ == "__main__":
    main()
