"""A scan of designs: all feasible ones solved, all others refused with their true reach.

The reach of refused rows is confirmed by a linear program in floating point (HiGHS).
"""

import itertools
import sys
import time

import numpy as np
from scipy.optimize import linprog

from ptable import InfeasibleError, NoiseSpec, RowFeasibility, feasible, solve

SIXTY = list(itertools.product((2, 5, 10, 15, 20), (0.5, 1.0, 2.0, 3.0), (0, 1, 2)))
WIDE = list(
    itertools.product(range(2, 51), (0.5, 1.0, 2.0, 3.0, 5.0, "D/2", "0.9 D", "D"), range(5))
)


def confirmed(row: RowFeasibility) -> bool:
    """Return whether a linear program finds the same reach."""
    noise = np.array(row.problem.noise, dtype=float)
    for sign, ours in ((1, row.variance_min), (-1, row.variance_max)):
        if ours is None:
            return False
        answer = linprog(
            sign * noise**2, A_eq=np.stack([np.ones_like(noise), noise]), b_eq=[1, 0]
        )
        if not abs(sign * answer.fun - ours) <= 1e-6 * max(1.0, ours):
            return False
    return True


def scan(settings: list[tuple[int, float | str, int]]) -> None:
    solved = refused = impossible = 0
    slowest = (0.0, "")
    drift = gap = 0.0
    began = time.process_time()
    for max_noise, asked, small in settings:
        shares = {"D/2": 0.5, "0.9 D": 0.9, "D": 1.0}
        variance = shares[asked] * max_noise if isinstance(asked, str) else asked
        try:
            spec = NoiseSpec(max_noise=max_noise, variance=variance, small=small)
        except InfeasibleError:
            impossible += 1
            continue
        start = time.process_time()
        answer = feasible(spec)
        if answer.ok:
            certificate = solve(spec).certificate
            if certificate is None or certificate.largest_bias:
                raise SystemExit(f"{spec} is not solved as asked")
            drift = max(drift, certificate.largest_drift)
            gap = max(gap, certificate.largest_gap)
            solved += 1
            spent = time.process_time() - start, f"D={max_noise} V={variance:g} js={small}"
            slowest = max(slowest, spent)
            continue
        refused += 1
        for row in answer.rows:
            if not row.is_feasible and not confirmed(row):
                raise SystemExit(f"{spec}: another reach of count {row.count}")
    print(
        f"{len(settings)} settings: {solved} solved, {refused} refused with a confirmed reach, "
        f"{impossible} refused at once; {time.process_time() - began:.1f} CPU s, the slowest "
        f"{slowest[0]:.2f} ({slowest[1]}); largest variance drift {drift:.1e}, entropy gap "
        f"{gap:.1e}"
    )


def main() -> None:
    solve(NoiseSpec(max_noise=2, variance=1.0))  # the solver's import does not count
    scan(SIXTY)
    if "--wide" in sys.argv:
        scan(WIDE)


if __name__ == "__main__":
    main()
