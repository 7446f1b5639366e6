"""Where a row's requested variance lies: inside its reach, at an end, or outside.

At an end the constraints leave a single law, a face of the feasible set without interior, and
multipliers would be infinite; the law is then known in fractions and needs no solver.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

from footing.messages import Message
from ptable.design.spec import NoiseSpec
from ptable.design.stack import StackedSpec
from ptable.solver.reach import Place, meets, nearest_bound, place_in, reaches, variance_bounds
from ptable.solver.row import RowProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedRow:
    """A row with the variance it is really solved for.

    Parameters
    ----------
    problem
        The row; its variance is the requested one or the nearest in reach.
    requested
        The variance asked for.
    place
        Where the variance lies in the row's reach.
    law
        The only law there is, when the variance is at an end.
    peak
        The place of that law's peak, where the row may have one anywhere.
    note
        Why the row differs from the request; empty when it does not.
    """

    problem: RowProblem
    requested: Fraction
    place: Place
    law: tuple[Fraction, ...] | None
    note: str
    peak: int | None = None


def resolve(spec: NoiseSpec | StackedSpec) -> tuple[ResolvedRow, ...]:
    """Place every row of a specification; rows out of reach go to the nearest end."""
    return tuple(map(resolve_row, spec.rows()))


def resolve_row(problem: RowProblem) -> ResolvedRow:
    """Place a row; see `resolve`."""
    bounds = variance_bounds(problem)
    if bounds is None:
        raise AssertionError(
            Message(
                "No noise of mean zero exists for the row of count {count}.",
                count=problem.count,
            )
        )
    place = place_in(problem, bounds)
    end = bounds[place == "greatest"]
    if place == "inside" and problem.unimodal and not reaches(problem):
        end = nearest_bound(problem)
        place = "least" if end.value > problem.variance else "greatest"
    if place == "inside":
        return ResolvedRow(
            problem=problem, requested=problem.variance, place=place, law=None, note=""
        )
    note = ""
    if not (meets(problem, bounds) and reaches(problem)):
        reach, goal = (float(v / problem.step**2) for v in (end.value, problem.variance))
        note = f"variance {reach:.6g} instead of {goal:.6g}"
    return ResolvedRow(
        problem=replace(problem, variance=end.value),
        requested=problem.variance,
        place=place,
        law=end.law,
        note=note,
        peak=end.peak,
    )
