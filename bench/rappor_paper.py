"""The experiment of the RAPPOR paper: what is found, and how far off, of a million clients.

The one program whose figures the pages on RAPPOR print (section 5.2 of the paper: 200
candidates, 100 of them held, exponential), beside the design that `solve` finds at its losses.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bench.measure import Line, arguments, report
from bench.rappor_decode import FITTED, population
from rappor import Goal, decode, solve
from rappor.parameters import Parameters

PAPER = next(design for design in FITTED if design.name == "paper 1,000,000")


def solved() -> Any:
    """Give the same collection with the parameters solved for the paper's two losses."""
    k, h, m = PAPER.shape
    f, p, q = PAPER.noise
    paper = Parameters(n_bits=k, n_hashes=h, n_cohorts=m, f=f, p=p, q=q)
    goal = Goal(
        epsilon_one=paper.epsilon_one,
        epsilon_permanent=paper.epsilon_permanent,
        population=PAPER.clients,
        n_candidates=PAPER.values + PAPER.extra,
    )
    best = solve(goal).parameters
    return replace(
        PAPER,
        shape=(best.n_bits, best.n_hashes, best.n_cohorts),
        noise=(best.f, best.p, best.q),
    )


def figures(design: Any, populations: int) -> dict[str, tuple[float, float]]:
    """Give mean and standard deviation of what is found, false and off, over populations."""
    rows = []
    for seed in range(populations):
        known, counts, held, _ = population(design, 2027 + seed)
        result = decode(counts, known)
        is_strict = result.p_values * len(held) <= result.alpha
        rows.append(
            {
                "found, Bonferroni": is_strict.sum(),
                "of these false": (is_strict & (held == 0)).sum(),
                "found, Benjamini-Hochberg": result.is_detected.sum(),
                "of those false": (result.is_detected & (held == 0)).sum(),
                "error of a count": np.sqrt(np.mean((result.estimates - held) ** 2)),
                "error of a plausible amount": np.sqrt(np.mean((result.plausible - held) ** 2)),
            }
        )
    return {
        name: (
            float(np.mean([row[name] for row in rows])),
            float(np.std([row[name] for row in rows])),
        )
        for name in rows[0]
    }


def main() -> None:
    """Run the experiment."""
    given = arguments(__doc__ or "", populations=200)
    lines = []
    for name, design in (("the paper's", PAPER), ("solved", solved())):
        for what, (mean, deviation) in figures(design, given.populations).items():
            unit = "clients" if "error" in what else "strings"
            lines.append(Line(f"{name}: {what} (sd {deviation:.1f})", mean, unit))
    report(f"The paper's experiment, {given.populations} populations", lines)


if __name__ == "__main__":
    main()
