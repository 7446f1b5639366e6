"""Totals and quantiles of synthetic amounts with heavy tails, from bounds of a questionnaire.

Settings were chosen on the files named below as ``develop``; what is reported is ``report``.

    python -m bench.synth_amounts --worlds report
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

import synth
from bench.measure import show

#: Name → shape of the amounts, a share of zeros, and how many columns stand beside.
WORLDS = {
    "develop": {
        "pareto 1.3, zeros": ("pareto", 1.3, 0.3, 1),
        "pareto 2, five columns": ("pareto", 2.0, 0.0, 4),
        "lognormal 1.8": ("lognormal", 1.8, 0.1, 3),
    },
    "report": {
        "pareto 1.5, two columns": ("pareto", 1.5, 0.0, 1),
        "pareto 1.5, five columns": ("pareto", 1.5, 0.0, 4),
        "pareto 1.5, zeros": ("pareto", 1.5, 0.2, 2),
    },
}
RECORDS, FILES, SEEDS, DELTA = 20_000, 4, 5, 1e-5
_BOUND = 1000  # times p99
_LIMITS = {"clipped": 0.05, "total": 0.1, "p50": 0.1, "p90": 0.1, "p99": 0.25}


def firms(shape: str, power: float, zeros: float, others: int, *, seed: int) -> pd.DataFrame:
    """Return records with one amount, some categories and a number."""
    rng = np.random.default_rng(seed)
    sector = rng.choice(6, RECORDS, p=[0.3, 0.25, 0.2, 0.1, 0.1, 0.05])
    if shape == "pareto":
        amount = 100 * (rng.pareto(power, RECORDS) + 1)
    else:
        amount = 1000 * rng.lognormal(0, power, RECORDS)
    amount *= np.array([1, 1, 1.5, 2, 0.7, 3])[sector] if others > 1 else 1
    amount = np.where(rng.random(RECORDS) < zeros, 0, np.rint(amount)).astype(np.int64)
    staff = np.minimum(np.ceil(np.sqrt(amount / 50) * rng.lognormal(0, 0.4, RECORDS)), 999)
    columns = {
        "amount": amount,
        "sector": np.array(list("abcdef"))[sector],
        "region": rng.choice(list("NESWC"), RECORDS),
        "staff": staff.astype(np.int64),
        "legal": np.array(["one", "two"])[(rng.random(RECORDS) < 0.3).astype(int)],
    }
    return pd.DataFrame({name: columns[name] for name in list(columns)[: others + 1]})


def schema_of(frame: pd.DataFrame, *, is_declared: bool) -> synth.Schema:
    """Return names, types and bounds of a questionnaire."""
    high = int(_BOUND * frame["amount"].quantile(0.99))
    columns: list[Any] = []
    for name in frame.columns:
        if name == "amount":
            columns.append(synth.Whole(name=name, low=0, high=high, outside="clip"))
        elif name == "staff":
            columns.append(synth.Whole(name=name, low=0, high=999))
        else:
            columns.append(
                synth.Category(name=name, values=tuple(sorted(frame[name].unique())))
            )
    amounts = (synth.Amount(column="amount"),) if is_declared else None
    return synth.Schema(columns=tuple(columns), amounts=amounts)


def fitted(
    frame: pd.DataFrame, schema: synth.Schema, *, seed: int, epsilon: float
) -> dict[str, float]:
    """Fit once; return figures of the amount over the true ones, and whether it warned."""
    model = synth.Synthesizer(schema=schema).fit(
        frame,
        synth.Budget(epsilon=epsilon, delta=DELTA),
        noise=synth.SimulatedNoise(seed=seed),
    )
    made = model.sample(RECORDS, rng=np.random.default_rng(1000 + seed))["amount"]
    real, cut = frame["amount"], float(frame["amount"].quantile(0.999))
    figures = {
        "clipped": made.clip(upper=cut).sum() / real.clip(upper=cut).sum(),
        "total": made.sum() / real.sum(),
    }
    figures |= {
        f"p{q}": made.quantile(q / 100) / max(real.quantile(q / 100), 1) for q in (50, 90, 99)
    }
    figures["warned"] = float(any(one["is_doubtful"] for one in model.report()["amounts"]))
    return {name: float(value) for name, value in figures.items()}


def rows_of(name: str, epsilon: float, *, is_declared: bool) -> Iterator[list[object]]:
    """Yield a row a kind of file: how many fits are near, and the farthest."""
    for title, world in WORLDS[name].items():
        runs = []
        for file in range(FILES):
            frame = firms(*world, seed=100 + file)
            schema = schema_of(frame, is_declared=is_declared)
            runs += [fitted(frame, schema, seed=seed, epsilon=epsilon) for seed in range(SEEDS)]
        results = pd.DataFrame(runs)
        off = (results - 1).abs()
        outside = ~results["total"].between(0.5, 2) & (results["warned"] == 0)
        cells = [
            f"{int((off[figure] <= limit).sum())}/{len(results)} "
            f"({results[figure].min():.2f}–{results[figure].max():.2f})"
            for figure, limit in _LIMITS.items()
        ]
        declared = ", declared" if is_declared else ""
        yield [title + declared, *cells, int(results["warned"].sum()), int(outside.sum())]


def main() -> None:
    """Print a row a kind of file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", choices=list(WORLDS), default="report")
    parser.add_argument("--epsilon", type=float, default=1.0)
    given = parser.parse_args()
    titles = ["file", "clipped ≤ 5 %", "total ≤ 10 %", "p50 ≤ 10 %", "p90 ≤ 10 %", "p99 ≤ 25 %"]
    rows = [
        row
        for is_declared in (False, True)
        for row in rows_of(given.worlds, given.epsilon, is_declared=is_declared)
    ]
    show(f"amounts, epsilon {given.epsilon:g}", [*titles, "warned", "outside, unwarned"], rows)


if __name__ == "__main__":
    main()
