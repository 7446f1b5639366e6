"""From a specification to a certified p-table: stated to cvxpy, solved, polished, proved.

`ptable.solver.statement` states all rows as one convex problem. From the solver's answer
Newton's method on the dual of each row goes on to fifty, which do not depend on where it began;
they become integers, and the certificate proves these.
"""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from importlib.metadata import version
from inspect import getdoc
from time import perf_counter
from typing import Self

from footing.messages import Argument, Message, Name, joined, said
from ptable.design.spec import NoiseSpec
from ptable.design.stack import StackedSpec
from ptable.errors import InfeasibleError, InternalError, PTableError, PTableWarning
from ptable.proof.certificate import Certificate, SolverRecord, certify
from ptable.proof.limits import LimitsCertificate, kept_of, sparse
from ptable.solver.dual import maximise
from ptable.solver.feasibility import Feasibility, RowFeasibility, feasible
from ptable.solver.joint import Joint, limits_of
from ptable.solver.limited import solve_limited
from ptable.solver.row import RowProblem
from ptable.solver.statement import Answer, JointStatement, Own, Statement, answers
from ptable.solver.statement import programs as versions
from ptable.solver.thresholds import UnitRow, apportion
from ptable.solver.unimodal import best_peak, shaped
from ptable.solver.variance_range import ResolvedRow, resolve
from ptable.table import PTable

logger = logging.getLogger(__name__)

_KEY_RANGE = 2**32
_MAX_NAMED = 6
#: A probability nearer to its bound than so many key units must not be rounded across it.
_NEAR_BOUND = 16
_SOLVER = "Clarabel"
#: A row whose probabilities polishing moves by more was not solved.
_NOT_SOLVED = 1e-3
#: Smaller distances are the arithmetic's: they are not told apart.
_LEAST_DISTANCE = -15


def solve(
    spec: NoiseSpec | StackedSpec,
    *,
    progress: Callable[[int, int], None] | None = None,
    constraints: Own | None = None,
) -> PTable:
    """Build the p-table of greatest entropy that satisfies a specification.

    With limits, the one that loses least within them.

    Parameters
    ----------
    spec
        What the noise must satisfy.
    progress
        Called with the number of finished rows and of all rows.
    constraints
        Called with ``P``, a cvxpy expression of all probabilities, and the original and the
        published counts that its rows and columns belong to, as arrays of the shapes
        ``(rows, 1)`` and ``(1, columns)``; gives a list of constraints of cvxpy, which hold
        beside the others. Rows are then solved together. The certificate holds its docstring,
        or else its name.

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
    All rows are one convex problem, `ptable.solver.statement`, stated to cvxpy and solved by
    Clarabel; Newton's method polishes each row to fifty digits, which prove themselves.
    Row ``i`` maximises ``-Σ p ln p`` over the laws on the publishable counts within reach,
    with ``Σ p = 1``, ``Σ v p = 0`` and ``Σ v² p`` equal to, or at most, the variance.

    Examples
    --------
    >>> from ptable import NoiseSpec
    >>> table = solve(NoiseSpec(max_noise=2, variance=1.0))
    >>> table.transition[1].round(4)
    array([0.3981, 0.3058, 0.1942, 0.1019, 0.    ])
    """
    _refuse_infeasible(spec, feasible(spec))
    if limits_of(spec) is not None or constraints is not None:
        return _solve_together(spec, constraints)
    _warn_relaxed(resolve(spec))
    if progress is not None:
        return build(spec, progress=progress)
    return _solved_before(spec, repr(spec))


def polished(spec: NoiseSpec | StackedSpec) -> PTable:
    """Build the p-table of `solve` by Newton's method alone, for a look that keeps nothing.

    The integers are the same and so is their proof; what its certificate lacks is the solver's
    own answer, whose import takes most of a second.

    Examples
    --------
    >>> from ptable import NoiseSpec
    >>> spec = NoiseSpec(max_noise=2, variance=1.0)
    >>> polished(spec) == solve(spec)
    True
    """
    _refuse_infeasible(spec, feasible(spec))
    if limits_of(spec) is not None:
        return _solve_together(spec, None)
    _warn_relaxed(resolve(spec))
    return build(spec, starts=_Starts.without_solver)


@lru_cache(maxsize=64)
def _solved_before(spec: NoiseSpec | StackedSpec, wording: str) -> PTable:
    """Solve what was not solved in this process: a p-table is its specification's alone."""
    del wording  # 2 and 2.0 are equal and are written in different ways
    return build(spec)


def build(
    spec: NoiseSpec | StackedSpec,
    *,
    starts: Callable[[Sequence[RowProblem]], _Starts] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> PTable:
    """Solve and prove the rows of a feasible specification, one by one."""
    began = perf_counter()
    rows = resolve(spec)
    alike = {_alike(row): _settled(row) for row in reversed(rows)}
    begins = (starts or _Starts.of)([row.problem for row in alike.values() if row.law is None])
    solutions: dict[RowProblem, _Solution] = {}
    for problem, row in alike.items():
        solutions[problem] = _solve_row(row, begins)
        if progress is not None:
            progress(len(solutions), len(alike))
    in_order = [solutions[_alike(row)] for row in rows]
    zero = [] if rows[0].problem.count == 0 else [{0: _KEY_RANGE}]
    bare = PTable.from_units(
        [*zero, *(solution.units for solution in in_order)],
        key_range=_KEY_RANGE,
        step=spec.step,
        anchors=None if spec.anchors is None else (0, *spec.anchors),
    )
    certificate = certify(
        spec,
        bare,
        [(solution.multipliers, solution.peak) for solution in in_order],
        solver=begins.programs,
        record=begins.record(),
    )
    table = bare.with_proof(spec, certificate)
    _require_proof(table, certificate)
    logger.info(
        "p-table solved",
        extra={"rows": len(rows), "seconds": round(perf_counter() - began, 3)},
    )
    return table


def _solve_together(spec: NoiseSpec | StackedSpec, own: Own | None) -> PTable:
    """Build a table whose rows are tied together."""
    began = perf_counter()
    joint = Joint.of(spec)
    answer = solve_limited(joint, own=own)
    zero = [] if joint.rows[0].count == 0 else [{0: _KEY_RANGE}]
    bare = PTable.from_units([*zero, *answer.units.values()], key_range=_KEY_RANGE)
    proof = LimitsCertificate(
        objective=joint.objective,
        loss=0.0,
        bound=None,
        least=answer.least,
        worst=(),
        margin=answer.margin,
        budget=answer.budget,
        entropy=0.0,
        entropy_bound=0.0,
        solver_entropy=answer.solver_entropy,
        loss_multipliers=sparse(answer.loss_multipliers),
        entropy_multipliers=sparse(answer.entropy_multipliers),
        kept=kept_of(replace(joint, closed=answer.closed)),
        own="" if own is None else str(getdoc(own) or getattr(own, "__name__", "own")),
        violation=answer.violation,
    )
    programs = {name: text for one in answer.statuses for name, text in versions(one).items()}
    certificate = certify(
        spec,
        bare,
        [(None, None)] * len(joint.rows),
        solver={**programs, "numpy": version("numpy")},
        record=SolverRecord(
            solver=", ".join(answer.statuses),
            status=", ".join(dict.fromkeys(answer.statuses.values())),
            distance=0.0,
        ),
        limits=proof,
    )
    table = bare.with_proof(spec, certificate)
    _require_proof(table, certificate)
    logger.info(
        "p-table solved",
        extra={"rows": len(joint.rows), "seconds": round(perf_counter() - began, 3)},
    )
    return table


def program(spec: NoiseSpec | StackedSpec) -> str:
    """Print a specification as the convex problem that cvxpy gets, with its sizes.

    Parameters
    ----------
    spec
        What the noise must satisfy.

    Examples
    --------
    >>> from ptable import NoiseSpec
    >>> print(program(NoiseSpec(max_noise=2, variance=1.0)).splitlines()[0])
    maximise    Σ_ij -P[i, j] ln P[i, j]
    """
    _refuse_infeasible(spec, feasible(spec))
    if limits_of(spec) is not None:
        return str(JointStatement.of(Joint.of(spec)))
    resolved = [_settled(row) for row in resolve(spec)]
    distinct = {_alike(row): row for row in reversed(resolved)}
    lines = [str(Statement.of([row.problem for row in resolved]))]
    if twins := len(resolved) - len(distinct):
        lines.append(
            Message(
                "rows that are the same problem as another: {number}",
                number=twins,
            )
        )
    if single := sum(row.law is not None for row in distinct.values()):
        lines.append(
            Message(
                "rows with one distribution alone, known in fractions: {number}", number=single
            )
        )
    names = (f"{name} {number}" for name, number in versions(_SOLVER).items())
    lines.append(Message("stated and solved by {programs}", programs=Name.each(names)))
    return "\n".join(map(str, lines))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Solution:
    """The optimum of a row and its integers."""

    units: dict[int, int]
    multipliers: tuple[float, ...] | None
    peak: int | None


def _alike(row: ResolvedRow) -> RowProblem:
    """Give what rows of different counts share when they are the same problem."""
    return replace(row.problem, count=-1)


def _require_proof(table: PTable, certificate: Certificate) -> None:
    """Hold a new table against its own certificate; nobody can have changed it yet."""
    try:
        certificate.check(table)
    except PTableError as error:
        _, _, off = error.problem.partition(": ")
        raise InternalError(
            Message("No integers near enough to the optimum were found: {off}", off=said(off)),
            hint=Message("a variance a little further from the ends of the reach works"),
        ) from None


def _settled(row: ResolvedRow) -> ResolvedRow:
    """Settle where the peak lies, where it may lie anywhere: what is left is convex."""
    problem, peak, distribution = row.problem, row.peak, row.law
    if not problem.unimodal:
        return row
    if distribution is None:
        peak, distribution, multipliers = best_peak(problem)
        distribution = (
            distribution if multipliers is None else None
        )  # with a peak there, it may be the only one
    return replace(row, problem=shaped(problem, peak), peak=peak, law=distribution)


def _solve_row(row: ResolvedRow, starts: _Starts) -> _Solution:
    """Polish what the solver found for a row; at the end of its reach it has one law."""
    problem, distribution, multipliers = row.problem, row.law, None
    if distribution is None:
        best = maximise(problem, start=starts.multipliers(problem))
        distribution, multipliers = best.law, best.multipliers
        starts.compare(problem, distribution)
    return _Solution(
        units=_in_units(problem, distribution, multipliers),
        multipliers=multipliers,
        peak=None if row.peak is None else problem.noise[row.peak],
    )


@dataclass(slots=True)
class _Starts:
    """What the solver found for each row, and how far polishing moved it."""

    answers: dict[RowProblem, Answer]
    programs: dict[str, str]
    distance: float = 0.0
    unsolved: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, rows: Sequence[RowProblem]) -> Self:
        programs = {"numpy": version("numpy")}
        if rows:
            programs = {**versions(_SOLVER), **programs}
        return cls(answers=dict(answers(rows)), programs=programs)

    @classmethod
    def without_solver(cls, rows: Sequence[RowProblem]) -> Self:
        """Leave all rows to Newton's method, which begins by itself."""
        del rows
        return cls(answers={}, programs={"numpy": version("numpy")})

    def multipliers(self, problem: RowProblem) -> tuple[float, ...] | None:
        answer = self.answers.get(problem)
        return answer.multipliers[0] if answer and answer.multipliers else None

    def compare(self, problem: RowProblem, law: Sequence[Fraction]) -> None:
        """Note how far the polished law is from the solver's, or that this is of no use."""
        if problem not in self.answers:
            return
        distance = math.inf
        for other in self.answers[problem].laws:
            distance = max(abs(float(p) - q) for p, q in zip(law, other.tolist(), strict=True))
        if distance > _NOT_SOLVED:
            self.unsolved.append(problem.count)
        else:
            self.distance = max(self.distance, distance)

    def record(self) -> SolverRecord | None:
        statuses = {answer.status for answer in self.answers.values()}
        if not statuses:
            return None
        if self.unsolved:
            logger.warning(
                Message("rows solved without the convex solver"),
                extra={"rows": len(self.unsolved)},
            )
        size = math.ceil(math.log10(self.distance)) if self.distance > 0 else _LEAST_DISTANCE
        return SolverRecord(
            solver=_SOLVER,
            status=", ".join(sorted(statuses, key=lambda word: (word == "optimal", word))),
            distance=float(f"1e{max(size, _LEAST_DISTANCE)}"),
            unsolved=tuple(sorted(self.unsolved)),
        )


def _in_units(
    problem: RowProblem,
    distribution: tuple[Fraction, ...],
    multipliers: tuple[float, ...] | None,
) -> dict[int, int]:
    """Turn a law into key units; where the variance is not binding, keep the law's own."""
    is_binding = multipliers is not None and multipliers[1] != 0
    fields = asdict(problem) | {"at_most": problem.at_most and is_binding}
    if problem.at_most and multipliers is not None and not is_binding:
        squares = (p * v * v for p, v in zip(distribution, problem.noise, strict=True))
        fields["variance"] = sum(squares, Fraction(0)) - problem.mean**2
    row = UnitRow(**fields, law=distribution, held=_held(problem, distribution, multipliers))
    return dict(zip(problem.noise, apportion(row, total=_KEY_RANGE), strict=True))


def _held(
    problem: RowProblem, distribution: Sequence[Fraction], multipliers: tuple[float, ...] | None
) -> tuple[int, int] | None:
    """Say whether the probability of staying is prescribed, and which way to round it.

    A bound without a price is prescribed too where the law touches it: rounding would cross it.
    """
    place = problem.stays_at
    if place is None or problem.p_stay is None:
        return None
    is_free = multipliers is not None and not multipliers[2] and problem.p_stay_rule != "exact"
    if is_free and abs(distribution[place] - problem.p_stay) * _KEY_RANGE > _NEAR_BOUND:
        return None
    return place, {"exact": 0, "at-least": 1, "at-most": -1}[problem.p_stay_rule]


def _refuse_infeasible(spec: NoiseSpec | StackedSpec, answer: Feasibility) -> None:
    infeasible_rows = [
        row
        for row in answer.rows
        if row.variance_min is None or not (row.is_feasible or row.problem.nearest)
    ]
    if not infeasible_rows:
        return
    names = joined("; ", [_reach(row) for row in infeasible_rows[:_MAX_NAMED]])
    more = (
        Message("; and {number} more rows", number=len(infeasible_rows) - _MAX_NAMED)
        if len(infeasible_rows) > _MAX_NAMED
        else Message()
    )
    problem = Message(
        "No p-table has {value}. Out of reach: {named}{more}.",
        value=_asked(spec),
        named=names,
        more=more,
    )
    hint = answer.advice
    if all(row.variance_min is not None for row in infeasible_rows):
        # At the upper end of its reach a row has two outcomes; below a limit it has its best.
        if all(row.problem.variance > (row.variance_max or 0) for row in infeasible_rows):
            other = Message(", or variance_rule='at-most', where these rows have less")
        else:
            other = Message(", or variance_rule='nearest' for the nearest variance of each row")
        hint = Message("{advice}{other}", advice=said(answer.advice), other=other)
    raise InfeasibleError(problem, rows=tuple(infeasible_rows), hint=hint)


def _asked(spec: NoiseSpec | StackedSpec) -> Message:
    """Repeat the request in a few words."""
    if isinstance(spec, StackedSpec):
        return Message("the noise of these {number} parts", number=len(spec.parts))
    if spec.variance is None:
        return Message(
            "max_noise {max_noise}, small {small} and these limits",
            max_noise=Argument(spec.max_noise),
            small=spec.small,
        )

    def say(value: object, word: Message) -> Message:
        return (
            Message("{word} per row", word=said(word))
            if isinstance(value, tuple)
            else Message("{value}", value=Argument(value))
        )

    rule = say(spec.variance_rule, Message("a rule"))
    max_noise = say(spec.max_noise, Message("a value"))
    variance = (
        Message("a variance per row")
        if isinstance(spec.variance, tuple)
        else Message("{variance:g}", variance=spec.variance)
    )
    return Message(
        "max_noise {max_noise}, small {small} and variance {variance} ({rule})",
        max_noise=max_noise,
        small=spec.small,
        variance=variance,
        rule=rule,
    )


def _reach(row: RowFeasibility) -> Message:
    if row.variance_min is None or row.variance_max is None:
        return Message(
            "count {count} reaches no variance ({binding})",
            count=row.count,
            binding=said(row.binding),
        )
    gap = Message()
    if row.variance_min <= row.requested <= row.variance_max:
        gap = Message(", but not {requested:.6g}", requested=row.requested)
    return Message(
        "count {count} reaches {variance_min:.6g} to {variance_max:.6g}{gap} ({binding})",
        count=row.count,
        variance_min=row.variance_min,
        variance_max=row.variance_max,
        gap=gap,
        binding=said(row.binding),
    )


def _warn_relaxed(rows: Sequence[ResolvedRow]) -> None:
    relaxed = [row for row in rows if row.note]
    if relaxed:
        names = [
            Message("count {count}: {note}", count=row.problem.count, note=said(row.note))
            for row in relaxed[:_MAX_NAMED]
        ]
        rest = len(relaxed) - _MAX_NAMED
        warnings.warn(
            Message(
                "Some rows cannot have the requested variance and took the nearest one: "
                "{named}{more}.",
                named=joined("; ", names),
                more=Message("; and {number} more", number=rest) if rest > 0 else Message(),
            ),
            PTableWarning,
            stacklevel=3,
        )
