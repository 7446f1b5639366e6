"""CPU seconds of p-tables by rows and by limits, of a frontier, of a first solve and an import.

    python -m bench.limits --persons 400000

Limits: the posterior of one count at most a little above the least that is feasible, floor 2,
ceiling V, δ ≤ .05 at ε = 1, two priors; least variance, then greatest entropy.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from bench.imports import cpu_of
from bench.measure import Line, arguments, best_cpu, in_process, report

#: By rows: D and the goal.
ROWS = {10: 0.1, 30: 0.3, 50: 1.0}
#: By limits: D, V, js, the largest posterior, and the goal.
LIMITED = (
    (5, 3.0, 2, 0.8, 2.0),
    (8, 6.5, 4, 0.75, 2.0),
    (15, 6.0, 2, 0.75, 2.0),
    (30, 10.0, 2, 0.75, 10.0),
)
_FIRST = """
from ptable import Limits, NoiseSpec, solve
prior = [0.0, *(1 / (i * (i + 1)) for i in range(1, 200))]
limits = Limits(posterior=0.8, priors=[prior])
solve(NoiseSpec(max_noise=5, variance=3.0, small=2, limits=limits, objective="least-variance"))
"""
_FIRST_ROWS = "from ptable import NoiseSpec, solve; solve(NoiseSpec(max_noise=5, variance=3.0))"


def by_rows(max_noise: int) -> dict[str, Any]:
    """Solve a table of the greatest entropy, imports aside."""
    from ptable import NoiseSpec, solve

    solve(NoiseSpec(max_noise=2, variance=1.0))
    spec = NoiseSpec(max_noise=max_noise, variance=0.3 * max_noise)
    return {"CPU s": best_cpu(lambda: solve(spec), 3)[0]}


def by_limits(max_noise: int, variance: float, small: int, posterior: float) -> dict[str, Any]:
    """Solve a table by limits under two priors, imports aside."""
    from ckm.config.job.limits import TEXTBOOK
    from ptable import Limits, NoiseSpec, solve

    solve(NoiseSpec(max_noise=2, variance=1.0))
    heavy = [0.0, *(i**-1.3 for i in range(1, 400))]
    spec = NoiseSpec(
        max_noise=max_noise,
        variance=variance,
        small=small,
        objective="least-variance",
        limits=Limits(posterior=posterior, priors=(heavy, TEXTBOOK)),
    )
    return {"CPU s": best_cpu(lambda: solve(spec), 2)[0]}


def of_demonstration(persons: int) -> dict[str, Any]:
    """Draw the frontier of the demonstration, its prior counted from six tables."""
    from ckm.comparison.frontier import plan_of_job
    from ckm.demo.demo import make_demo
    from ptable.advice.frontier import designs_of_the_field, frontier

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "demo"
        make_demo(folder, persons=persons)
        started = time.process_time()
        plan = plan_of_job(folder / "job.toml", limits={}, objective=None)
        line = frontier(plan.spec, own=plan.own, designs=designs_of_the_field())
        return {"CPU s": time.process_time() - started, "points": len(line.points)}


def main() -> None:
    """Run the benchmark."""
    sizes = arguments(str(__doc__), persons=400_000)
    lines = []
    for max_noise, goal in ROWS.items():
        spent = in_process(by_rows, max_noise)["CPU s"]
        lines.append(Line(f"by rows, D = {max_noise}", spent, "CPU s", goal=goal))
    for *design, goal in LIMITED:
        spent = in_process(by_limits, *design)["CPU s"]
        name = "by limits, D = {}, V = {:g}, js = {}, two priors".format(*design)
        lines.append(Line(name, spent, "CPU s", goal=goal))
    if sizes.persons:
        drawn = in_process(of_demonstration, sizes.persons)
        name = f"frontier of the demonstration, {drawn['points']} points"
        lines.append(Line(name, drawn["CPU s"], "CPU s", goal=60.0))
    for name, code, most in (
        ("first solve of a process, by rows", _FIRST_ROWS, 3.0),
        ("first solve of a process, by limits", _FIRST, 3.0),
        ("import ptable", "import ptable", None),
    ):
        spent = min(cpu_of("-c", code) for _ in range(3))
        lines.append(Line(name, spent, "CPU s", goal=most))
    report("P-tables by rows and by limits", lines)


if __name__ == "__main__":
    main()
