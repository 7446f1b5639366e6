"""From a specification to a certified p-table.

A convex solver treats all rows in one problem; its answer starts Newton's method on each row's
dual, which reaches the optimum even where the solver stops short or fails.
"""

from __future__ import annotations

import logging
import math
import warnings
from fractions import Fraction
from importlib.metadata import version
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from ptable.certificate import certify
from ptable.dual import maximise
from ptable.errors import InfeasibleError, InternalError, PTableError, PTableWarning
from ptable.faces import resolve
from ptable.feasibility import feasible
from ptable.table import PTable
from ptable.thresholds import UnitRow, apportion

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from ptable.certificate import Certificate
    from ptable.faces import ResolvedRow
    from ptable.feasibility import Feasibility, RowFeasibility
    from ptable.spec import NoiseSpec

__all__ = ["solve"]

logger = logging.getLogger(__name__)

_KEY_RANGE = 2**32
_MOST_NAMED = 6


def solve(spec: NoiseSpec, *, progress: Callable[[int, int], None] | None = None) -> PTable:
    """Build the p-table of greatest entropy that satisfies a specification.

    Parameters
    ----------
    spec
        What the noise must satisfy.
    progress
        Called with the number of finished rows and of all rows.

    Returns
    -------
    PTable
        With its specification and certificate.

    Raises
    ------
    InfeasibleError
        Where a row cannot be met; names the rows, their reach and a setting that works.

    Warns
    -----
    PTableWarning
        Under ``variance_rule="nearest"``, naming the rows that took another variance.

    Notes
    -----
    Row ``i`` maximises ``-Σ p ln p`` over the laws on the publishable counts within reach,
    with ``Σ p = 1``, ``Σ v p = 0`` and ``Σ v² p`` equal to, or at most, the variance.

    Examples
    --------
    >>> from ptable import NoiseSpec
    >>> table = solve(NoiseSpec(max_noise=2, variance=1.0))
    >>> table.transition[1].round(4)
    array([0.3981, 0.3058, 0.1942, 0.1019, 0.    ])
    """
    began = perf_counter()
    answer = feasible(spec)
    _refuse_infeasible(spec, answer)
    resolved = resolve(spec)
    _warn_relaxed(resolved)
    inside = [row for row in resolved if row.law is None]
    guesses = _solve_together(inside)
    rows: list[dict[int, int]] = [{0: _KEY_RANGE}]
    multipliers: list[tuple[float, float] | None] = []
    distances: list[float] = []
    for row in resolved:
        guess = guesses.get(row.problem.count)
        law, prices = _best_law(row, guess)
        if guess is not None:
            distances.append(float(np.abs(guess - [float(p) for p in law]).max()))
        rows.append(_in_units(row, law, prices))
        multipliers.append(prices)
        if progress is not None:
            progress(len(multipliers), len(resolved))
    bare = PTable.from_units(rows, key_range=_KEY_RANGE)
    certificate = certify(
        spec,
        bare,
        multipliers,
        solver=_programs(),
        solver_distance=max(distances, default=None),
    )
    table = bare.with_proof(spec, certificate)
    _require_proof(table, certificate)
    logger.info(
        "p-table solved",
        extra={"rows": len(resolved), "seconds": round(perf_counter() - began, 3)},
    )
    return table


def _require_proof(table: PTable, certificate: Certificate) -> None:
    """Hold a new table against its own certificate; nobody can have changed it yet."""
    try:
        certificate.check(table)
    except PTableError as error:
        _, _, off = error.problem.partition(": ")
        raise InternalError(
            f"No integers near enough to the optimum were found: {off}",
            hint="a variance a little further from the ends of the reach works",
        ) from None


def _best_law(
    row: ResolvedRow, guess: NDArray[np.float64] | None
) -> tuple[tuple[Fraction, ...], tuple[float, float] | None]:
    if row.law is not None:
        return row.law, None
    start = None if guess is None else _multipliers(row, guess)
    best = maximise(row.problem, start=start)
    return best.law, best.multipliers


def _in_units(
    row: ResolvedRow, law: tuple[Fraction, ...], prices: tuple[float, float] | None
) -> dict[int, int]:
    """Turn a law into key units; where the variance is not binding, keep the law's own."""
    problem, variance = row.problem, row.problem.variance
    is_binding = prices is not None and prices[1] != 0
    if problem.at_most and prices is not None and not is_binding:
        squares = (p * v * v for p, v in zip(law, problem.noise, strict=True))
        variance = sum(squares, Fraction(0))
    wanted = UnitRow(
        noise=problem.noise,
        law=law,
        variance=variance,
        floor=problem.floor,
        n_left=problem.n_left,
        at_most=problem.at_most and is_binding,
    )
    return dict(zip(problem.noise, apportion(wanted, total=_KEY_RANGE), strict=True))


def _refuse_infeasible(spec: NoiseSpec, answer: Feasibility) -> None:
    lost = [
        row
        for row in answer.rows
        if row.variance_min is None or not (row.is_feasible or spec.variance_rule == "nearest")
    ]
    if not lost:
        return
    named = "; ".join(_reach(row) for row in lost[:_MOST_NAMED])
    more = f"; and {len(lost) - _MOST_NAMED} more rows" if len(lost) > _MOST_NAMED else ""
    wanted = "a variance per row" if isinstance(spec.variance, tuple) else f"{spec.variance:g}"
    problem = (
        f"No p-table has max_noise {spec.max_noise}, small {spec.small} and variance {wanted} "
        f"({spec.variance_rule}). Out of reach: {named}{more}."
    )
    hint = answer.advice
    if all(row.variance_min is not None for row in lost):
        hint += ", or variance_rule='nearest' for the nearest variance of each row"
    raise InfeasibleError(problem, rows=tuple(lost), hint=hint)


def _reach(row: RowFeasibility) -> str:
    if row.variance_min is None or row.variance_max is None:
        return f"count {row.count} reaches no variance ({row.binding})"
    return (
        f"count {row.count} reaches {row.variance_min:.6g} to {row.variance_max:.6g} "
        f"({row.binding})"
    )


def _warn_relaxed(resolved: Sequence[ResolvedRow]) -> None:
    relaxed = [row for row in resolved if row.note]
    if relaxed:
        named = "; ".join(
            f"count {row.problem.count}: {row.note}" for row in relaxed[:_MOST_NAMED]
        )
        more = f"; and {len(relaxed) - _MOST_NAMED} more" if len(relaxed) > _MOST_NAMED else ""
        warnings.warn(
            f"Some rows cannot have the requested variance and took the nearest one: "
            f"{named}{more}.",
            PTableWarning,
            stacklevel=3,
        )


def _solve_together(rows: Sequence[ResolvedRow]) -> dict[int, NDArray[np.float64]]:
    """Maximise the entropy of all rows in one convex problem; empty when that fails."""
    if not rows:
        return {}
    # heavy, and lookups must not load them
    import cvxpy
    from scipy import sparse

    cp: Any = cvxpy

    sizes = [len(row.problem.noise) for row in rows]
    ends = np.cumsum([0, *sizes])
    noise = np.concatenate([np.array(row.problem.noise, dtype=np.float64) for row in rows])
    owner = np.repeat(np.arange(len(rows)), sizes)
    columns = np.arange(len(noise))

    def moment(numbers: NDArray[np.float64]) -> Any:
        return sparse.csr_array((numbers, (owner, columns)), shape=(len(rows), len(noise)))

    variance = np.array([float(row.problem.variance) for row in rows])
    law = cp.Variable(len(noise))
    spread = moment(noise**2 / variance[owner]) @ law
    constraints = [
        moment(np.ones_like(noise)) @ law == 1,
        moment(noise) @ law == 0,
        spread <= 1 if rows[0].problem.at_most else spread == 1,
    ]
    floor = float(rows[0].problem.floor)
    if floor:
        constraints.append(law >= floor)
    climbs = [
        end + place
        for end, row in zip(ends.tolist(), rows, strict=False)
        for place in range(row.problem.n_left - 1)
    ]
    if climbs:
        constraints.append(law[climbs] <= law[[place + 1 for place in climbs]])
    problem = cp.Problem(cp.Maximize(cp.sum(cp.entr(law))), constraints)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            problem.solve(solver=cp.CLARABEL)
    except (cp.SolverError, ValueError, ArithmeticError):
        logger.info("the convex solver gave no answer; Newton's method starts cold")
        return {}
    if law.value is None or not np.isfinite(law.value).all():
        return {}
    parts = np.split(np.asarray(law.value, dtype=np.float64), ends[1:-1])
    return {row.problem.count: part for row, part in zip(rows, parts, strict=True)}


def _multipliers(row: ResolvedRow, law: NDArray[np.float64]) -> tuple[float, float] | None:
    """Read the multipliers off a law, whose logarithm is quadratic where no bound is active."""
    noise = np.array(row.problem.noise, dtype=np.float64)
    level = float(row.problem.floor) * 2 + 1e-6
    usable = law > level
    if row.problem.n_left:
        usable &= noise > 0
    if usable.sum() < 3:
        return None
    weight = np.sqrt(law[usable])
    design = np.vander(noise[usable], 3, increasing=True) * weight[:, None]
    answer = np.linalg.lstsq(design, np.log(law[usable]) * weight)[0]
    point = float(answer[1]), float(answer[2])
    return point if all(map(math.isfinite, point)) else None


def _programs() -> dict[str, str]:
    return {name: version(name) for name in ("cvxpy", "clarabel", "numpy")}
