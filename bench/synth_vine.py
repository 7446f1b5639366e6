"""Made-up firms whose amounts hang together in their tails, and what each method keeps of that.

python -m bench.synth_vine --seeds 5 --epsilons 1 4 --methods tables vine

Amounts have a t-copula with few degrees of freedom and heavy tails; codes shift them, follow
from them, or do neither. Every column is declared as an office would after a questionnaire:
names, lists of codes, bounds. ``chosen`` was looked at while the method was made.
"""

from __future__ import annotations

import argparse
import time
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

import synth
from bench.measure import in_process, show
from synth.evaluation.measures import margins
from synth.evaluation.records import encode

if TYPE_CHECKING:
    from footing.arrays import Floats

DELTA = 1e-5
_TAIL = (0.95, 0.99)


def firms(kind: str, records: int, seed: int) -> tuple[pd.DataFrame, synth.Schema]:
    """Return firms of 13 columns, eight of them amounts, with their schema."""
    return {"chosen": _chosen, "unseen": _unseen}[kind](records, np.random.default_rng(seed))


def _t_uniforms(
    correlation: Floats, *, freedom: float, records: int, rng: np.random.Generator
) -> Floats:
    from scipy.stats import t

    normal = rng.multivariate_normal(np.zeros(len(correlation)), correlation, records)
    scaled = normal / np.sqrt(rng.chisquare(freedom, (records, 1)) / freedom)
    return np.asarray(t.cdf(scaled, freedom))


def _chosen(records: int, rng: np.random.Generator) -> tuple[pd.DataFrame, synth.Schema]:
    from scipy.stats import lognorm, pareto

    loads = np.array([0.9, 0.85, 0.8, 0.75, 0.6, 0.5, 0.85, 0.3])
    correlation = np.outer(loads, loads)
    np.fill_diagonal(correlation, 1.0)
    u = _t_uniforms(correlation, freedom=3.0, records=records, rng=rng)
    sector = rng.choice(12, records, p=np.arange(12, 0, -1) / 78)
    lift = np.exp(rng.normal(0, 0.6, (12, 8)))[sector]
    amounts = np.column_stack(
        [
            pareto.ppf(u[:, 0], 1.5) * 200,
            lognorm.ppf(u[:, 1], 1.4) * 8,
            lognorm.ppf(u[:, 2], 1.6) * 90,
            pareto.ppf(u[:, 3], 2.0) * 60,
            lognorm.ppf(u[:, 4], 1.8) * 20,
            np.where(u[:, 5] < 0.4, 0, pareto.ppf((u[:, 5] - 0.4).clip(0) / 0.6, 1.5) * 30),
            lognorm.ppf(u[:, 6], 1.5) * 150,
            u[:, 7] * 60,
        ]
    )
    amounts[:, :7] *= lift[:, :7]
    whole = np.floor(amounts).astype(np.int64)
    size = np.searchsorted([2, 5, 10, 20, 50, 250], whole[:, 1], side="right")
    form = np.where(rng.random(records) < 0.15 + 0.12 * size, 1, 0) + 2 * (
        rng.random(records) < 0.1
    )
    region = (rng.choice(13, records) * (sector % 3 + 1)) % 13
    exports = np.where(whole[:, 5] > 0, "yes", "no")
    names = ("turnover", "employees", "wages", "investment", "energy", "abroad", "costs", "age")
    frame = pd.DataFrame(dict(zip(names, whole.T, strict=True)))
    frame["sector"] = [f"S{one:02d}" for one in sector]
    frame["size"] = [f"size {one}" for one in size]
    frame["form"] = [f"form {one}" for one in form]
    frame["region"] = [f"R{one:02d}" for one in region]
    frame["exports"] = exports
    return frame, _schema(frame, names)


def _unseen(records: int, rng: np.random.Generator) -> tuple[pd.DataFrame, synth.Schema]:
    from scipy.stats import lognorm, pareto

    near = np.abs(np.subtract.outer(np.arange(7), np.arange(7)))
    correlation = 0.55 + 0.35 * 0.6**near
    np.fill_diagonal(correlation, 1.0)
    u = _t_uniforms(correlation, freedom=4.0, records=records, rng=rng)
    own = rng.random(records)
    branch = rng.choice(9, records, p=np.arange(9, 0, -1) / 45)
    shift = np.linspace(-0.8, 0.8, 9)[branch]
    logs = [pareto.ppf(u[:, 0], 1.5) * 300, lognorm.ppf(u[:, 1], 1.2) * 12]
    logs += [lognorm.ppf(u[:, k], 1.0 + 0.2 * k) * 50 for k in range(2, 6)]
    logs += [
        np.where(u[:, 6] < 0.25, 0, lognorm.ppf((u[:, 6] - 0.25).clip(0) / 0.75, 1.7) * 40)
    ]
    amounts = np.column_stack([*logs, own * 90 + 5])
    amounts[:, 0] *= np.exp(shift)
    amounts[:, 2] *= np.exp(-shift)
    whole = np.floor(amounts).astype(np.int64)
    turnover = np.log1p(whole[:, 0])
    district = rng.choice(20, records)
    class_ = np.searchsorted([10, 20, 50, 100], whole[:, 1], side="right")
    is_group = rng.random(records) < 1 / (1 + np.exp(8.5 - turnover))
    status = np.where(rng.random(records) < 0.7, branch % 3, rng.choice(3, records))
    names = ("sales", "staff", "payroll", "stock", "rent", "debt", "research", "founded")
    frame = pd.DataFrame(dict(zip(names, whole.T, strict=True)))
    frame["branch"] = [f"B{one}" for one in branch]
    frame["class"] = [f"class {one}" for one in class_]
    frame["status"] = [f"status {one}" for one in status]
    frame["district"] = [f"D{one:02d}" for one in district]
    frame["group"] = np.where(is_group, "yes", "no")
    return frame, _schema(frame, names)


def _schema(frame: pd.DataFrame, amounts: tuple[str, ...]) -> synth.Schema:
    """Declare lists of codes, and bounds a thousand times the 99th percentile."""
    columns: list[synth.Category | synth.Whole] = []
    for name in frame.columns:
        if name in amounts:
            top = 10 ** int(np.ceil(np.log10(1000 * np.quantile(frame[name], 0.99))))
            is_years = name in ("age", "founded")
            columns.append(synth.Whole(name=name, low=0, high=100 if is_years else top))
            if not is_years:
                frame[name] = frame[name].clip(upper=top)
        else:
            columns.append(synth.Category(name=name, values=tuple(sorted(set(frame[name])))))
    return synth.Schema(columns=tuple(columns))


def tail_error(
    real: pd.DataFrame, made: pd.DataFrame, names: list[str], *, at: float
) -> tuple[float, float]:
    """Return how far shares of joint extremes are off, and how large they are, pair by pair.

    The share is P(both above their quantile) / (1 - quantile), each file by its own quantiles.
    """
    from scipy.stats import rankdata

    def shares(frame: pd.DataFrame) -> Floats:
        tops = {c: rankdata(frame[c], method="average") > at * len(frame) for c in names}
        pairs = combinations(names, 2)
        return np.array([(tops[a] & tops[b]).mean() / (1 - at) for a, b in pairs])

    truth = shares(real)
    return float(np.abs(shares(made) - truth).mean()), float(truth.mean())


def quality(real: pd.DataFrame, made: pd.DataFrame) -> dict[str, float]:
    """Return what is kept: tails, rank correlations, tables."""
    amounts = [
        str(c) for c in real if real[c].dtype.kind in "iuf" and c not in ("age", "founded")
    ]
    first, second = encode(real, made)
    figures = {f"tail{at:g}": tail_error(real, made, amounts, at=at)[0] for at in _TAIL}
    both = encode(real[amounts], made[amounts])
    return {
        **figures,
        "spearman": float(margins.correlation_change(first, second) or 0),
        "spearman amounts": float(margins.correlation_change(*both, diagonal=False) or 0),
        "one": margins.table_distances(first, second, ways=1).mean,
        "pairs": margins.table_distances(first, second, ways=2).mean,
        "triples": margins.table_distances(first, second, ways=3, most_tables=100).mean,
    }


def measured(kind: str, method: str, epsilon: float, seed: int) -> dict[str, float]:
    """Make firms, fit, draw, and compare."""
    frame, schema = firms(kind, 20_000, 100 + seed)
    if method == "bootstrap":
        made = frame.sample(len(frame), replace=True, random_state=seed)
        return {**quality(frame, made), "cpu": 0.0}
    near = "replace" if method == "copula" else "add-remove"
    budget = synth.Budget(epsilon=epsilon, delta=DELTA, adjacency=near)  # type: ignore[arg-type]
    started = time.process_time()
    maker = synth.Synthesizer(schema=schema, method=method)
    model = maker.fit(frame, budget, noise=synth.SimulatedNoise(seed=seed))
    made = model.sample(len(frame), rng=np.random.default_rng(1000 + seed))
    spent = time.process_time() - started
    return {**quality(frame, made), "cpu": spent}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epsilons", type=float, nargs="+", default=(1.0,))
    parser.add_argument("--kinds", nargs="+", default=("chosen", "unseen"))
    parser.add_argument(
        "--methods", nargs="+", default=("bootstrap", "tables", "copula", "vine")
    )
    given = parser.parse_args()
    for kind in given.kinds:
        rows: list[list[object]] = []
        titles: list[str] = []
        for epsilon in given.epsilons:
            for method in given.methods:
                found = [
                    in_process(measured, kind, method, epsilon, s) for s in range(given.seeds)
                ]
                titles = list(found[0])
                means = [f"{np.mean([one[key] for one in found]):.4f}" for key in titles]
                rows.append([epsilon, method, *means])
        show(f"firms, {kind}", ["epsilon", "method", *titles], rows)


if __name__ == "__main__":
    main()
