"""CPU seconds of answers about feasibility, of nearest requests and of goals, to D = 30."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench.measure import best_cpu, show
from ptable import NoiseSpec, feasible
from ptable.advice.advice import advise, conflicts
from ptable.advice.alternatives import alternatives
from ptable.design.goal import Goal
from ptable.solver.reach import forget

if TYPE_CHECKING:
    from collections.abc import Callable

REQUESTS: dict[str, dict[str, Any]] = {
    "blocked": {"variance": 1.0, "small": 10},
    "left": {"variance": 25.0, "monotone": "left"},
    "both": {"variance": 12.0, "monotone": "both"},
    "both, p_stay": {"variance": 12.0, "monotone": "both", "p_stay": 0.4},
    "p_stay": {"variance": 12.0, "small": 3, "p_stay": 0.95},
    "unimodal": {"variance": 40.0, "monotone": "unimodal"},
    "floor": {"variance": 1.0, "min_probability": 0.01},
}
GOALS: dict[str, dict[str, Any]] = {
    "free": {"p_stay": 0.4},
    "blocked": {"p_stay": 0.2, "small": 4},
    "left, floor": {"p_stay": 0.2, "small": 2, "monotone": "left", "min_probability": 1e-4},
    "both": {"p_stay": 0.9, "monotone": "both"},
    "unimodal": {"p_stay": 0.2, "small": 2, "monotone": "unimodal"},
}


def cold(call: Callable[[], Any]) -> Callable[[], Any]:
    """Make a call that knows nothing from the calls before it."""

    def run() -> Any:
        forget()
        return call()

    return run


def main() -> None:
    rows: list[list[object]] = []
    for max_noise in (10, 30):
        for name, fields in REQUESTS.items():
            spec = NoiseSpec(max_noise=max_noise, **fields | _fitting(fields, max_noise))
            reach, _ = best_cpu(cold(lambda spec=spec: feasible(spec)), 3)
            spent, found = best_cpu(cold(lambda spec=spec: alternatives(spec)), 3)
            rows.append([max_noise, name, reach, spent, len(found)])
    show("A request", ["D", "kind", "feasible s", "alternatives s", "found"], rows)
    rows = []
    for max_noise in (10, 30):
        for name, fields in GOALS.items():
            goal = Goal(max_noise=max_noise, **fields)
            spent, found = best_cpu(
                cold(lambda goal=goal: (conflicts(goal), advise(goal))[1]), 3
            )
            rows.append([max_noise, name, spent, len(found)])
    show("A goal", ["D", "kind", "seconds", "found"], rows)


def _fitting(fields: dict[str, Any], max_noise: int) -> dict[str, Any]:
    """Keep a request outside the reach whatever the largest noise."""
    small = {"small": min(fields["small"], max_noise - 1)} if "small" in fields else {}
    return {"variance": min(fields["variance"], max_noise**2 / 2), **small}


if __name__ == "__main__":
    main()
