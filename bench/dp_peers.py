"""Examples as OpenDP and Tumult publish them: same question and epsilon, error, lines, CPU.

Members of a library, as in Tumult's tutorial, with counts, means, sums and quantiles as in both
guides; and amounts with bounds from a questionnaire. OpenDP is the library that draws the noise
here, too, used as its guide does. CKM_TUMULT names an interpreter that has tmlt.analytics;
where it is not, its lines are left out, and that is said.
"""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench.measure import Line, arguments, report

EPSILON = 1.0
SHARES = (0.25, 0.5, 0.75)
FEW = 200
#: Of a plan with one question, as the page has it; each further one is a line.
_PLAN_LINES = 12
TENTHS = (0.1, 0.25, 0.5, 0.75, 0.9)
LEVELS = tuple(f"level-{n}" for n in range(1, 10))
_PEER = Path(__file__).parent / "peers" / "tumult.py"


def members(rows: int) -> dict[str, Any]:
    """Make up members: age, level of education, books borrowed, and an amount."""
    rng = np.random.default_rng(2027)
    return {
        "id": np.arange(rows),
        "age": rng.integers(5, 95, rows),
        "level": rng.choice(LEVELS, rows, p=np.arange(9, 0, -1) / 45),
        "books": np.minimum(rng.geometric(0.05, rows), 1_000),
        "amount": np.exp(rng.normal(9.5, 1.3, rows)).clip(0, 1e7).round(2),
    }


# --- what is asked, and what is right


def _quantiles(column: str, shares: tuple[float, ...]) -> Callable[..., float]:
    """Give the error of quantiles: root mean square of their ranks, in points of a hundred."""

    def error(data: dict[str, Any], answer: Any) -> float:
        below = np.searchsorted(np.sort(data[column]), np.asarray(answer), side="right")
        least = np.searchsorted(np.sort(data[column]), np.asarray(answer), side="left")
        aim = np.array(shares) * len(data[column])
        off = np.maximum(np.maximum(least - aim, aim - below), 0) / len(data[column])
        return float(100 * np.sqrt(np.mean(off**2)))

    return error


def _off(truth: Callable[[dict[str, Any]], Any]) -> Callable[..., float]:
    def error(data: dict[str, Any], answer: Any) -> float:
        return float(np.sqrt(np.mean((np.asarray(answer) - np.asarray(truth(data))) ** 2)))

    return error


def _by_level(data: dict[str, Any], values: Any) -> list[float]:
    return [float(np.sum(values[data["level"] == level])) for level in LEVELS]


ASKED: dict[str, tuple[str, Callable[..., float]]] = {
    "count": ("members", _off(lambda data: len(data["id"]))),
    "counts by level": ("members", _off(lambda d: _by_level(d, np.ones(len(d["id"]))))),
    "mean age": ("years", _off(lambda data: data["age"].mean())),
    "mean of skewed books": ("books", _off(lambda data: data["books"].mean())),
    "sums of books by level": ("books", _off(lambda data: _by_level(data, data["books"]))),
    "quartiles of age": ("% of rank", _quantiles("age", SHARES)),
    "quantiles of amounts": ("% of rank", _quantiles("amount", TENTHS)),
    "median of few amounts": ("% of rank", _quantiles("amount", (0.5,))),
}


def asked_of(name: str, data: dict[str, Any]) -> dict[str, Any]:
    """Give the members that a question is asked of."""
    return {k: v[:FEW] for k, v in data.items()} if "few" in name else data


# --- here: a line of a plan each


def ours(data: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    """Give each question as a plan, answered with fresh noise at each call."""
    import pyarrow as pa

    from dp import Plan, Question, TablePlan
    from dp.aggregates.release import _answered
    from tables import contributions, open_source

    levels = {"level": LEVELS}
    books: dict[str, Any] = {"column": "books", "lower": 0, "upper": 1_000, "step": 1}
    age: dict[str, Any] = {"column": "age", "lower": 0, "upper": 120, "step": 1}
    asked: dict[str, tuple[dict[str, Any], Question]] = {
        "count": ({}, Question(kind="units")),
        "counts by level": (levels, Question(kind="units")),
        "mean age": ({}, Question(kind="mean", **age)),
        "mean of skewed books": ({}, Question(kind="mean", **books)),
        "sums of books by level": (levels, Question(kind="sum", **books)),
        "quartiles of age": ({}, Question(kind="quantiles", **age, at=SHARES)),
        "quantiles of amounts": (
            {},
            Question(kind="quantiles", column="amount", lower=0, upper=1e7, at=TENTHS),
        ),
        "median of few amounts": (
            {},
            Question(kind="quantiles", column="amount", lower=0, upper=1e7, at=(0.5,)),
        ),
    }

    def answer(name: str, by: dict[str, Any], question: Question) -> Callable[[], Any]:
        records = pa.table(asked_of(name, data))
        table = TablePlan(name="t", by=by, questions=(question,))
        plan = Plan(unit="id", protects="person", epsilon=EPSILON, tables=(table,))

        def run() -> Any:
            with open_source(records, threads=1) as source:
                found = contributions(
                    source,
                    unit="id",
                    by=by,
                    groups_per_unit=1,
                    rows_per_group=1,
                    readings=[question.reading] if question.reading else [],
                )
            return _answered(plan, table, found).answers[0].values.ravel()

        return run

    return {name: answer(name, *one) for name, one in asked.items()}


# --- OpenDP, as its guide does: a function each


def opendp_count(dp: Any, data: dict[str, Any]) -> Any:
    context = dp.Context.compositor(
        data=data["id"].tolist(),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=EPSILON),
        split_evenly_over=1,
        domain=dp.vector_domain(dp.atom_domain(T=int)),
    )
    return context.query().count().laplace().release()


def opendp_counts_by_level(dp: Any, data: dict[str, Any]) -> Any:
    space = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
    counts = space >> dp.t.then_count_by_categories(list(LEVELS), null_category=False)
    noisy = dp.binary_search_chain(
        lambda scale: counts >> dp.m.then_laplace(scale), d_in=1, d_out=EPSILON
    )
    return noisy(data["level"].tolist())


def opendp_mean(dp: Any, data: dict[str, Any], column: str, bounds: tuple[int, int]) -> Any:
    context = dp.Context.compositor(
        data=data[column].tolist(),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=EPSILON),
        split_evenly_over=2,
        domain=dp.vector_domain(dp.atom_domain(T=int)),
    )
    total = context.query().clamp(bounds).sum().laplace().release()
    return total / max(1, context.query().count().laplace().release())


def opendp_mean_age(dp: Any, data: dict[str, Any]) -> Any:
    return opendp_mean(dp, data, "age", (0, 120))


def opendp_mean_of_skewed_books(dp: Any, data: dict[str, Any]) -> Any:
    return opendp_mean(dp, data, "books", (0, 1_000))


def opendp_sums_of_books_by_level(dp: Any, data: dict[str, Any]) -> Any:
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    total = space >> dp.t.then_clamp((0, 1_000)) >> dp.t.then_sum()
    noisy = dp.binary_search_chain(
        lambda scale: total >> dp.m.then_laplace(scale), d_in=1, d_out=EPSILON
    )
    return [noisy(data["books"][data["level"] == level].tolist()) for level in LEVELS]


def opendp_quantiles(
    dp: Any, data: dict[str, Any], column: str, candidates: Any, shares: tuple[float, ...]
) -> Any:
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    values = data[column].astype(float).tolist()

    def quantile(share: float) -> Any:
        make = dp.m.then_private_quantile
        return dp.binary_search_chain(
            lambda scale: (
                space
                >> make(dp.max_divergence(), candidates=candidates, alpha=share, scale=scale)
            ),
            d_in=1,
            d_out=EPSILON / len(shares),
        )

    return [quantile(share)(values) for share in shares]


def opendp_quartiles_of_age(dp: Any, data: dict[str, Any]) -> Any:
    return opendp_quantiles(dp, data, "age", list(map(float, range(121))), SHARES)


# The best candidates that we know for such bounds: rising by 3 per cent from 1.
_RISING = [0.0, *np.geomspace(1, 1e7, 546).tolist()]


def opendp_quantiles_of_amounts(dp: Any, data: dict[str, Any]) -> Any:
    return opendp_quantiles(dp, data, "amount", _RISING, TENTHS)


def opendp_median_of_few_amounts(dp: Any, data: dict[str, Any]) -> Any:
    return opendp_quantiles(dp, data, "amount", _RISING, (0.5,))


def theirs(data: dict[str, Any]) -> tuple[dict[str, Callable[[], Any]], dict[str, int]]:
    """Give OpenDP's answers, and the lines that its user writes for each."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    shared = {
        opendp_mean_age: opendp_mean,
        opendp_mean_of_skewed_books: opendp_mean,
        opendp_quartiles_of_age: opendp_quantiles,
        opendp_quantiles_of_amounts: opendp_quantiles,
        opendp_median_of_few_amounts: opendp_quantiles,
    }
    calls: dict[str, Callable[[], Any]] = {}
    lines: dict[str, int] = {}
    for name in ASKED:
        function: Any = globals()[f"opendp_{name.replace(' ', '_')}"]
        calls[name] = partial(function, dp, asked_of(name, data))
        lines[name] = sum(
            bool(line.strip()) and not line.strip().startswith("#")
            for line in inspect.getsource(shared.get(function, function)).splitlines()[1:]
        )
    return calls, lines


def tumult(data: dict[str, Any], runs: int) -> dict[str, dict[str, Any]]:
    """Give Tumult's answers of so many runs, where an interpreter has it."""
    python = os.environ.get("CKM_TUMULT")
    if python is None:
        print("Tumult left out: CKM_TUMULT names no interpreter with tmlt.analytics")
        return {}
    import pyarrow as pa
    import pyarrow.parquet as pq

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "members.parquet"
        pq.write_table(pa.table(data), file)
        command = [python, str(_PEER), str(file), str(EPSILON), str(runs)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {line["name"]: line for line in map(json.loads, done.stdout.splitlines())}


def main() -> None:
    """Ask all questions of all, and print errors, lines and CPU."""
    given = arguments(__doc__ or "", rows=10_000, runs=40)
    data = members(given.rows)
    here, (there, written) = ours(data), theirs(data)
    third = tumult(data, max(3, given.runs // 8))
    lines = []
    for name, (unit, error) in ASKED.items():
        figures, part = [], asked_of(name, data)
        for call in (here[name], there[name]):
            call()  # what loads at first use is loaded
            started = time.process_time()
            answers = [call() for _ in range(given.runs)]
            cpu = (time.process_time() - started) / given.runs
            off = np.sqrt(np.mean([error(part, answer) ** 2 for answer in answers]))
            figures.append((float(off), cpu))
        (own, seconds), (others, their_seconds) = figures
        lines.append(Line(f"{name}: error", own, unit, "OpenDP", others))
        lines.append(Line(f"{name}: CPU", 1000 * seconds, "ms", "OpenDP", 1000 * their_seconds))
        plan = _PLAN_LINES + ("level" in name)
        lines.append(Line(f"{name}: written", plan, "lines", "OpenDP", written[name]))
        if name in third:
            answers, cpu = third[name]["answers"], third[name]["cpu"]
            off = np.sqrt(np.mean([error(part, answer) ** 2 for answer in answers]))
            lines.append(Line(f"{name}: error", own, unit, "Tumult", float(off)))
            lines.append(Line(f"{name}: CPU", 1000 * seconds, "ms", "Tumult", 1000 * cpu))
    report(f"Published examples, {given.rows:,} members, epsilon {EPSILON:g}", lines)


if __name__ == "__main__":
    main()
