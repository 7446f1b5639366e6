"""From a specification to a certified p-table, by Newton's method on the dual of each row."""

import logging
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from importlib.metadata import version
from time import perf_counter

from footing.messages import Argument, Message, joined, said
from ptable.design.spec import NoiseSpec
from ptable.design.stack import StackedSpec
from ptable.errors import InfeasibleError, InternalError, PTableError, PTableWarning
from ptable.proof.certificate import Certificate, certify
from ptable.solver.dual import maximise
from ptable.solver.feasibility import Feasibility, RowFeasibility, feasible
from ptable.solver.row import RowProblem
from ptable.solver.thresholds import UnitRow, apportion
from ptable.solver.unimodal import best_peak, shaped
from ptable.solver.variance_range import ResolvedRow, resolve
from ptable.table import PTable

logger = logging.getLogger(__name__)

_KEY_RANGE = 2**32
_MAX_NAMED = 6
#: A probability nearer to its bound than so many key units must not be rounded across it.
_NEAR_BOUND = 16


def solve(
    spec: NoiseSpec | StackedSpec, *, progress: Callable[[int, int], None] | None = None
) -> PTable:
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
    alike = {_alike(row): row for row in reversed(resolved)}
    solutions: dict[RowProblem, _Solution] = {}
    for problem, row in alike.items():
        solutions[problem] = _solve_row(row)
        if progress is not None:
            progress(len(solutions), len(alike))
    in_order = [solutions[_alike(row)] for row in resolved]
    zero = [] if resolved[0].problem.count == 0 else [{0: _KEY_RANGE}]
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
        solver={"numpy": version("numpy")},
    )
    table = bare.with_proof(spec, certificate)
    _require_proof(table, certificate)
    logger.info(
        "p-table solved",
        extra={"rows": len(resolved), "seconds": round(perf_counter() - began, 3)},
    )
    return table


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


def _solve_row(row: ResolvedRow) -> _Solution:
    """Solve a row; where its peak may lie anywhere, at the best place."""
    peak, problem = row.peak, row.problem
    distribution, multipliers = row.law, None
    if distribution is None:
        if problem.unimodal:
            peak, distribution, multipliers = best_peak(problem)
        else:
            best = maximise(problem)
            distribution, multipliers = best.law, best.multipliers
    if problem.unimodal:
        problem = shaped(problem, peak)
    return _Solution(
        units=_in_units(problem, distribution, multipliers),
        multipliers=multipliers,
        peak=None if peak is None else problem.noise[peak],
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
    lost = [
        row
        for row in answer.rows
        if row.variance_min is None or not (row.is_feasible or row.problem.nearest)
    ]
    if not lost:
        return
    names = joined("; ", [_reach(row) for row in lost[:_MAX_NAMED]])
    more = (
        Message("; and {number} more rows", number=len(lost) - _MAX_NAMED)
        if len(lost) > _MAX_NAMED
        else Message()
    )
    problem = Message(
        "No p-table has {value}. Out of reach: {named}{more}.",
        value=_asked(spec),
        named=names,
        more=more,
    )
    hint = answer.advice
    if all(row.variance_min is not None for row in lost):
        # At the upper end of its reach a row has two outcomes; below a limit it has its best.
        if all(row.problem.variance > (row.variance_max or 0) for row in lost):
            other = Message(", or variance_rule='at-most', where these rows have less")
        else:
            other = Message(", or variance_rule='nearest' for the nearest variance of each row")
        hint = Message("{advice}{other}", advice=said(answer.advice), other=other)
    raise InfeasibleError(problem, rows=tuple(lost), hint=hint)


def _asked(spec: NoiseSpec | StackedSpec) -> Message:
    """Repeat the request in a few words."""
    if isinstance(spec, StackedSpec):
        return Message("the noise of these {number} parts", number=len(spec.parts))

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


def _warn_relaxed(resolved: Sequence[ResolvedRow]) -> None:
    relaxed = [row for row in resolved if row.note]
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
