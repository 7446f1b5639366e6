"""The proof that a p-table is what its specification asks for, checkable without a solver.

A row's multipliers bound the entropy of every law that satisfies the row (weak duality), so the
distance between that bound and the entropy of the integers says how far from optimal they are.
Only where a peak may lie anywhere are the other places solved again, by Newton's method.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

from footing.messages import Enumeration, Message, Name, joined, said
from footing.serialisation import set_fields
from footing.svg import html_table, safe
from ptable.design.spec import NoiseSpec
from ptable.design.stack import StackedSpec
from ptable.errors import PTableError
from ptable.lookup import moments
from ptable.proof.limits import LimitsCertificate
from ptable.solver.dual import dual_bound, residual_at
from ptable.solver.joint import Joint
from ptable.solver.row import RowProblem
from ptable.solver.thresholds import mean_units
from ptable.solver.unimodal import bound_over_peaks, entropy, shaped
from ptable.solver.variance_range import ResolvedRow, resolve
from ptable.table import PTable

_FIGURE_TOLERANCE = 1e-9
_LARGEST_GAP = 1e-6
_LARGEST_RESIDUAL = 1e-9
_LARGEST_FIGURE = 1e300
#: How far the integers of a probability may be from it, in units: no search needs more.
_MAX_UNITS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCertificate:
    """The figures of one row, computed from its integers and multipliers.

    Parameters
    ----------
    count
        The original count of the row.
    requested_variance, variance
        Asked for, and achieved by the integers.
    bias
        The mean noise of the integers.
    variance_drift
        What turning probabilities into integers changed in the variance.
    entropy, entropy_bound
        Of the integers, and the most that any law can have with the same variance and the
        row's other constraints.
    residual
        By how much the law of the multipliers misses a constraint.
    min_probability
        The least probability of an allowed published count.
    multipliers
        The prices of mean, variance and, where it is constrained, of staying; None where only
        one law exists.
    place
        ``"inside"`` the reachable variances, or at the ``"least"`` or ``"greatest"``.
    note
        Why the row differs from the request; empty when it does not.
    requested_bias
        The mean noise asked for, as near as integers come: 0 unless a bias is declared.
    stay_excess
        How far the probability of staying is from the one asked for, on the wrong side of a
        bound; 0 where nothing is asked.
    shape_excess
        By how much integers fall, rise or differ where the shape forbids it, as a probability.
    peak
        The noise value of the peak, in steps, where one was chosen.

    Examples
    --------
    >>> from ptable import NoiseSpec, solve
    >>> row = solve(NoiseSpec(max_noise=2, variance=1.0)).certificate.rows[0]
    >>> row.bias, row.variance, row.gap < 1e-9
    (0.0, 1.0, True)
    """

    count: int
    requested_variance: float
    variance: float
    bias: float
    variance_drift: float
    entropy: float
    entropy_bound: float
    residual: float
    min_probability: float
    multipliers: tuple[float, ...] | None
    place: str
    note: str
    requested_bias: float = 0.0
    stay_excess: float = 0.0
    shape_excess: float = 0.0
    peak: int | None = None

    @property
    def gap(self) -> float:
        """How much entropy the integers may lack at most.

        Examples
        --------
        >>> from ptable import NoiseSpec, solve
        >>> solve(NoiseSpec(max_noise=2, variance=2.0)).certificate.rows[0].gap < 1e-8
        True
        """
        return self.entropy_bound - self.entropy


@dataclass(frozen=True, slots=True, kw_only=True)
class SolverRecord:
    """What a solver contributed, as the program that built the table noted it.

    Parameters
    ----------
    solver
        Its name.
    status
        What it said of its answer, in cvxpy's words; the worst of several.
    distance
        The largest change of a probability from its answer to the polished one, rounded up to
        a power of ten.
    unsolved
        The counts whose rows it did not solve, or not well: Newton's method did, from a start
        of its own.

    Examples
    --------
    >>> from ptable import NoiseSpec, solve
    >>> record = solve(NoiseSpec(max_noise=2, variance=1.0)).certificate.record
    >>> record.solver, record.status, record.unsolved
    ('Clarabel', 'optimal', ())
    """

    solver: str
    status: str
    distance: float
    unsolved: tuple[int, ...] = ()

    def __str__(self) -> str:
        if not self.unsolved and not self.distance:
            return Message(
                "{solver} said {status!r}", solver=Name(self.solver), status=Name(self.status)
            )
        if not self.unsolved:
            return Message(
                "{solver} said {status!r}; polishing moved no probability by more than "
                "{distance:.0e}",
                solver=Name(self.solver),
                status=Name(self.status),
                distance=self.distance,
            )
        return Message(
            "{solver} said {status!r}; the rows of counts {counts} are solved without it",
            solver=Name(self.solver),
            status=Name(self.status),
            counts=Enumeration(", ", self.unsolved),
        )

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> SolverRecord:
        """Build a record from plain values, each of which must be of its own kind."""
        record = cls(**{**fields, "unsolved": tuple(fields.get("unsolved", ()))})
        words: tuple[object, ...] = (record.solver, record.status)
        if (
            not all(isinstance(word, str) and word.isprintable() for word in words)
            or not _is_figure(record.distance)
            or not all(type(count) is int for count in record.unsolved)
        ):
            raise PTableError(Message("The certificate does not say what the solver did."))
        return record


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """What a p-table was asked for, what it achieves and how far from optimal it may be.

    Parameters
    ----------
    rows
        One entry per count from 1 on.
    variance_rule
        The rule of the specification.
    solver
        Programs that took part, with versions.
    record
        What the solver contributed; None where no row needed one, and in files of before.
    limits
        What proves a table by limits, whose rows are solved together.

    Examples
    --------
    >>> from ptable import NoiseSpec, solve
    >>> solve(NoiseSpec(max_noise=2, variance=1.0)).certificate.largest_bias
    0.0
    """

    rows: tuple[RowCertificate, ...]
    variance_rule: str | tuple[str, ...]
    solver: Mapping[str, str]
    record: SolverRecord | None = None
    limits: LimitsCertificate | None = None

    @property
    def largest_bias(self) -> float:
        """How far the mean noise of a row is from the one asked for, at most.

        Examples
        --------
        >>> from ptable import NoiseSpec, solve
        >>> solve(NoiseSpec(max_noise=3, variance=1.0)).certificate.largest_bias
        0.0
        """
        return max(abs(row.bias - row.requested_bias) for row in self.rows)

    @property
    def largest_drift(self) -> float:
        """The largest change of a variance by turning probabilities into integers.

        Examples
        --------
        >>> from ptable import NoiseSpec, solve
        >>> solve(NoiseSpec(max_noise=3, variance=1.0)).certificate.largest_drift < 2**-31
        True
        """
        return max(abs(row.variance_drift) for row in self.rows)

    @property
    def largest_gap(self) -> float:
        """The largest entropy that a row may lack.

        Examples
        --------
        >>> from ptable import NoiseSpec, solve
        >>> solve(NoiseSpec(max_noise=3, variance=1.0)).certificate.largest_gap < 1e-8
        True
        """
        return max(row.gap for row in self.rows)

    @property
    def largest_residual(self) -> float:
        """The largest violation of a constraint by the law of the multipliers.

        Examples
        --------
        >>> from ptable import NoiseSpec, solve
        >>> solve(NoiseSpec(max_noise=3, variance=1.0)).certificate.largest_residual < 1e-12
        True
        """
        return max(row.residual for row in self.rows)

    @property
    def relaxed(self) -> tuple[RowCertificate, ...]:
        """The rows that differ from the request.

        Examples
        --------
        >>> from ptable import NoiseSpec, solve
        >>> solve(NoiseSpec(max_noise=3, variance=1.0)).certificate.relaxed
        ()
        """
        return tuple(row for row in self.rows if row.note)

    @property
    def fewest_outcomes(self) -> RowCertificate:
        """The row with the fewest effective outcomes, ``exp(entropy)``; 2 is a fair coin.

        Examples
        --------
        >>> from ptable import NoiseSpec, solve
        >>> row = solve(NoiseSpec(max_noise=10, variance=10.0)).certificate.fewest_outcomes
        >>> row.count, round(math.exp(row.entropy), 2)
        (1, 1.36)
        """
        return min(self.rows, key=lambda row: row.entropy)

    def summary(self) -> str:
        """Say in a few lines what the p-table achieves.

        Examples
        --------
        >>> from ptable import NoiseSpec, solve
        >>> certificate = solve(NoiseSpec(max_noise=2, variance=1.0)).certificate
        >>> certificate.summary().splitlines()[0]
        "2 rows, variance rule 'exact': every row as requested"
        """
        verdict, least = "every row as requested", self.fewest_outcomes
        if self.relaxed:
            verdict = f"{len(self.relaxed)} rows differ from the request"
        lines = [
            f"{len(self.rows)} rows, variance rule {self.variance_rule!r}: {verdict}",
            f"largest bias {self.largest_bias:.3g}, variance drift {self.largest_drift:.3g}",
            f"largest entropy gap {self.largest_gap:.3g}, residual {self.largest_residual:.3g}",
            f"fewest effective outcomes {math.exp(least.entropy):.3g} (count {least.count})",
        ]
        lines += [f"count {row.count}: {row.note}" for row in self.relaxed]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        figures = ("requested_variance", "variance", "bias", "gap", "residual")
        lines = (
            (str(row.count), *(f"{getattr(row, name):.6g}" for name in figures), row.note)
            for row in self.rows
        )
        heads = ("count", *(name.replace("_", " ") for name in figures), "note")
        words = "<br>".join(map(safe, self.summary().splitlines()))
        return f"<div>{html_table('Certificate', heads, lines)}<p>{words}</p></div>"

    def check(self, table: PTable) -> None:
        """Recompute every figure from the integers and multipliers; raise when one is off.

        Parameters
        ----------
        table
            The p-table, with its specification.

        Raises
        ------
        PTableError
            Naming the figures that are off.

        Examples
        --------
        >>> from ptable import NoiseSpec, solve
        >>> table = solve(NoiseSpec(max_noise=2, variance=1.0))
        >>> table.certificate.check(table)
        """
        if not isinstance(table.spec, NoiseSpec | StackedSpec):
            raise PTableError(Message("A p-table without a specification cannot be checked."))
        again = certify(
            table.spec,
            table,
            [(row.multipliers, row.peak) for row in self.rows],
            solver=self.solver,
            record=self.record,
            limits=self.limits,
        )
        off = _differences(self, again) + _failures(again)
        if again.limits is None:
            off += _breaches(table.spec, table)
        else:
            joint, units = Joint.of(table.spec), _units_of(table, table.spec)
            off += again.limits.failures(joint, units, table.key_range)
        if off:
            raise PTableError(
                Message(
                    "The certificate does not fit the p-table: {off}.",
                    off=joined("; ", off[:5]),
                ),
                hint=Message(
                    "the file or object was changed after it was built; build it again"
                ),
            )

    def to_dict(self) -> dict[str, Any]:
        """Give the fields as plain values, ready for JSON.

        Examples
        --------
        >>> from ptable import NoiseSpec, solve
        >>> solve(NoiseSpec(max_noise=2, variance=1.0)).certificate.to_dict()["variance_rule"]
        'exact'
        """
        content = set_fields(self)
        # The text of a file never changes: these two stand first in it.
        first = {name: content.pop(name) for name in ("record", "limits") if name in content}
        return first | content

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Certificate:
        """Build a certificate from what `to_dict` gave.

        Parameters
        ----------
        fields
            The fields by name.

        Examples
        --------
        >>> from ptable import NoiseSpec, solve
        >>> certificate = solve(NoiseSpec(max_noise=2, variance=1.0)).certificate
        >>> Certificate.from_dict(certificate.to_dict()) == certificate
        True
        """
        rows = tuple(map(_plain_row, fields["rows"]))
        rule = fields["variance_rule"]
        rule = rule if isinstance(rule, str) else tuple(rule)
        solver = _programs(fields["solver"])
        record = fields.get("record")
        record = None if record is None else SolverRecord.from_dict(record)
        limits = fields.get("limits")
        limits = None if limits is None else LimitsCertificate.from_dict(limits)
        return cls(rows=rows, variance_rule=rule, solver=solver, record=record, limits=limits)


def is_of_this_form(fields: Mapping[str, Any]) -> bool:
    """Tell whether the fields of a stored certificate are those that this program writes."""
    own = {"rows", "variance_rule", "solver"}
    row = set(RowCertificate.__dataclass_fields__)
    return own <= set(fields) <= own | {"record", "limits"} and all(
        set(fields_of_row) == row for fields_of_row in fields["rows"]
    )


def prove_again(table: PTable, fields: Mapping[str, Any]) -> Certificate:
    """Prove a p-table whose certificate another version of this program wrote.

    Every figure follows from the integers, the specification and the multipliers. These are
    taken from the file, where they are no more than a claim: wrong ones give a wider gap, which
    `Certificate.check` refuses.

    Parameters
    ----------
    table
        The p-table, with its specification.
    fields
        The certificate as it is stored.

    Raises
    ------
    PTableError
        If the table has no specification, or the parts that are needed are not there.
    """
    if not isinstance(table.spec, NoiseSpec | StackedSpec):
        raise PTableError(Message("A p-table without a specification cannot be checked."))
    rows = [(row["multipliers"], row.get("peak")) for row in fields["rows"]]
    figures = [figure for multipliers, _ in rows for figure in multipliers or ()]
    figures += [peak for _, peak in rows if peak is not None]
    if not all(map(_is_figure, figures)):
        raise PTableError(
            Message("The certificate holds something else than figures in its rows.")
        )
    limits = fields.get("limits")
    certificate = certify(
        table.spec,
        table,
        [(multipliers and tuple(multipliers), peak) for multipliers, peak in rows],
        solver=_programs(fields["solver"]),
        limits=None if limits is None else LimitsCertificate.from_dict(limits),
    )
    certificate.check(table)
    return certificate


def _programs(solver: Mapping[str, Any]) -> dict[str, str]:
    """Give the programs of a stored certificate, every one of which must be a text."""
    if not all(
        isinstance(text, str) and text.isprintable() for text in (*solver, *solver.values())
    ):
        raise PTableError(Message("The certificate does not say which programs took part."))
    return dict(solver)


def _is_figure(value: Any) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return -_LARGEST_FIGURE < value < _LARGEST_FIGURE


def _plain_row(fields: Mapping[str, Any]) -> RowCertificate:
    """Build the certificate of a row, whose every field must be of its own kind."""
    multipliers = fields["multipliers"]
    row = RowCertificate(**{**fields, "multipliers": multipliers and tuple(multipliers)})
    figures = [*(row.multipliers or ()), *(() if row.peak is None else (row.peak,))]
    words = []
    for name, field in RowCertificate.__dataclass_fields__.items():
        if field.type in {"int", "float"}:
            figures.append(getattr(row, name))
        elif field.type == "str":
            words.append(getattr(row, name))
    if not all(map(_is_figure, figures)) or any(type(word) is not str for word in words):
        raise PTableError(
            Message("The certificate holds something else than figures in its rows.")
        )
    return row


def certify(
    spec: NoiseSpec | StackedSpec,
    table: PTable,
    solutions: Sequence[tuple[tuple[float, ...] | None, int | None]],
    *,
    solver: Mapping[str, str],
    record: SolverRecord | None = None,
    limits: LimitsCertificate | None = None,
) -> Certificate:
    """Compute the certificate of a p-table from its integers and multipliers."""
    counts = spec.counts
    n_rows = table.n_rows - (counts[0] != 0)
    if not len(counts) == len(solutions) == n_rows:
        raise PTableError(
            Message(
                "The specification asks for {number} rows, the p-table has {n_rows} and "
                "the certificate {number_2}.",
                number=len(counts),
                n_rows=n_rows,
                number_2=len(solutions),
            )
        )
    if limits is None:
        resolved = resolve(spec)
        rows = tuple(
            _certify_row(row, table.units(row.problem.count), table.key_range, *solution)
            for row, solution in zip(resolved, solutions, strict=True)
        )
    else:
        joint, units = Joint.of(spec), _units_of(table, spec)
        limits = limits.again(joint, units, table.key_range)
        rows = tuple(
            _certify_limited(joint, row, units[row.count], table.key_range)
            for row in joint.rows
        )
    return Certificate(
        rows=rows,
        variance_rule=(spec.variance_rule if isinstance(spec, NoiseSpec) else "by part"),
        solver=dict(solver),
        record=record,
        limits=limits,
    )


def _units_of(table: PTable, spec: NoiseSpec | StackedSpec) -> dict[int, dict[int, int]]:
    return {count: table.units(count) for count in spec.counts}


def _certify_limited(
    joint: Joint, problem: RowProblem, units: Mapping[int, int], total: int
) -> RowCertificate:
    """Compute the figures of a row that is solved together with the others."""
    bias, variance = moments(units, total)
    low, high = joint.variance_limits(problem)
    ordered = [units.get(v, 0) for v in problem.noise]
    spread = entropy([Fraction(n, total) for n in units.values()])
    note = ""
    if high > problem.variance:
        note = Message(
            "variance {variance:.6g} instead of {asked:.6g}: it cannot have less",
            variance=float(variance),
            asked=float(problem.variance),
        )
    return RowCertificate(
        count=problem.count,
        requested_variance=float(problem.variance),
        variance=float(variance),
        bias=float(bias),
        variance_drift=float(max(variance - high, low - variance, Fraction(0))),
        entropy=spread,
        entropy_bound=spread,
        residual=0.0 if set(units) <= set(problem.noise) else math.inf,
        min_probability=float(Fraction(min(ordered), total)),
        multipliers=None,
        place="together",
        note=note,
        requested_bias=float(
            Fraction(mean_units(problem.mean, problem.noise, total=total), total)
        ),
        stay_excess=float(_stay_excess(problem, ordered, total)),
        shape_excess=_wrong_way(problem, ordered) / total,
    )


def _certify_row(
    row: ResolvedRow,
    units: Mapping[int, int],
    total: int,
    multipliers: tuple[float, ...] | None,
    peak: int | None,
) -> RowCertificate:
    problem, step = row.problem, row.problem.step
    if peak is not None and not (problem.unimodal and peak in problem.noise):
        raise PTableError(
            Message(
                "The certificate of count {count} has a peak out of reach.", count=problem.count
            )
        )
    place = None if peak is None else problem.noise.index(peak)
    bias, variance = moments(units, total)
    moment = variance + bias**2
    goal = problem.second_moment
    if row.law is not None:
        bound, residual = entropy(row.law), 0.0
    elif multipliers is None:
        is_end = problem.unimodal and place is not None
        bound = bound_over_peaks(problem, None, place) if is_end else math.inf
        residual = 0.0 if is_end else math.inf
    else:
        solved = shaped(problem, place) if problem.unimodal else problem
        residual = residual_at(solved, multipliers)
        if problem.at_most and multipliers[1] == 0:
            goal = moment
        if not problem.at_most:  # what the integers changed in the variance is told apart
            solved = replace(solved, variance=moment - problem.mean**2)
        bound = dual_bound(solved, multipliers)
        if problem.unimodal and place is not None:
            bound = max(bound, bound_over_peaks(problem, multipliers, place))
    outside = set(units) - set(problem.noise)
    ordered = [units.get(v, 0) for v in problem.noise]
    return RowCertificate(
        count=problem.count,
        requested_variance=float(row.requested / step**2),
        variance=float(variance / step**2),
        bias=float(bias / step),
        variance_drift=float((moment - goal) / step**2),
        entropy=entropy([Fraction(n, total) for n in units.values()]),
        entropy_bound=bound,
        residual=math.inf if outside else residual,
        min_probability=float(Fraction(min(ordered), total)),
        multipliers=multipliers,
        place=row.place,
        note=row.note,
        requested_bias=float(
            Fraction(mean_units(problem.mean, problem.noise, total=total), total) / step
        ),
        stay_excess=float(_stay_excess(problem, ordered, total)),
        shape_excess=_wrong_way(problem, ordered) / total,
        peak=peak,
    )


def _stay_excess(problem: RowProblem, ordered: Sequence[int], total: int) -> Fraction:
    place = problem.stays_at
    if place is None or problem.p_stay is None:
        return Fraction(0)
    excess = Fraction(ordered[place], total) - problem.p_stay
    if problem.p_stay_rule == "exact":
        return abs(excess)
    return max(Fraction(0), -excess if problem.p_stay_rule == "at-least" else excess)


def _wrong_way(problem: RowProblem, ordered: Sequence[int]) -> int:
    """Give the largest number of units by which a row breaks its shape."""
    worst = max((ordered[low] - ordered[high] for low, high in problem.rising_pairs), default=0)
    if problem.symmetric:
        worst = max(worst, _uneven(ordered))
    if problem.unimodal:
        worst = max(worst, _dip(ordered))
    return max(worst, 0)


def _uneven(ordered: Sequence[int]) -> int:
    return max(abs(a - b) for a, b in zip(ordered, reversed(ordered), strict=True))


def _dip(ordered: Sequence[int]) -> int:
    """Give the units by which numbers fall before their peak or rise after it."""
    top = max(range(len(ordered)), key=ordered.__getitem__)
    before = (low - high for low, high in pairwise(ordered[: top + 1]))
    after = (low - high for high, low in pairwise(ordered[top:]))
    return max(0, *before, *after)


def _differences(stored: Certificate, again: Certificate) -> list[str]:
    off: list[str] = []
    for left, right in zip(stored.rows, again.rows, strict=True):
        for name in RowCertificate.__dataclass_fields__:
            ours, theirs = getattr(left, name), getattr(right, name)
            if isinstance(ours, float):
                same = math.isclose(
                    ours, theirs, rel_tol=_FIGURE_TOLERANCE, abs_tol=_FIGURE_TOLERANCE
                )
            else:
                same = ours == theirs
            if not same:
                off.append(
                    Message("{name} of count {count}", name=Name(name), count=left.count)
                )
    if stored.limits is not None and again.limits is not None:
        ours, theirs = stored.limits.to_dict(), again.limits.to_dict()
        off += [
            Message("{name} of the limits", name=Name(name))
            for name in ours.keys() | theirs.keys()
            if not _is_close(ours.get(name), theirs.get(name))
        ]
    if stored.variance_rule != again.variance_rule:
        off.append("variance_rule")
    return off


def _is_close(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(_is_close, ours, theirs))
    if isinstance(ours, float) and isinstance(theirs, float):
        return math.isclose(ours, theirs, rel_tol=_FIGURE_TOLERANCE, abs_tol=_FIGURE_TOLERANCE)
    return bool(ours == theirs)


def breaches(table: PTable) -> tuple[str, ...]:
    """Name what the integers of a p-table do against its specification, without a certificate.

    Quantised p-tables keep their specification and have no certificate: what few keys cannot
    hold is then named, too.
    """
    spec = table.spec
    if not isinstance(spec, NoiseSpec | StackedSpec):
        raise PTableError(Message("A p-table without a specification cannot be checked."))
    counts = spec.counts
    if tuple(table.counts.tolist()) != tuple(dict.fromkeys((0, *counts))):
        return (Message("its counts are not those of its specification"),)
    problems = _breaches(spec, table)
    for count in counts:
        problem, units = spec.row(count), table.units(count)
        if not set(units) <= set(problem.noise):
            problems.append(Message("the noise of count {count} is out of reach", count=count))
        drift = sum(n * v for v, n in units.items()) - problem.mean * table.key_range
        if abs(drift) > max(map(abs, problem.noise), default=0):
            problems.append(Message("the mean noise of count {count} is off", count=count))
    return tuple(problems)


def _breaches(spec: NoiseSpec | StackedSpec, table: PTable) -> list[str]:
    """Name what the integers themselves may not do, whatever the figures say."""
    problems: list[str] = []
    rows = resolve(spec)
    if rows[0].problem.count != 0 and set(table.units(0)) != {0}:
        problems.append(Message("the noise of count 0 is not 0"))
    if table.large_counts != "last":
        problems.append(Message("counts beyond the last row do not all take the last row"))
    if table.step != spec.step:
        problems.append(Message("the step of the noise is another one"))
    for row in rows:
        problem, units = row.problem, table.units(row.problem.count)
        ordered = [units.get(v, 0) for v in problem.noise]
        squares = [v * v for v in problem.noise]
        slack = _MAX_UNITS * sum(squares)
        goal = problem.second_moment * table.key_range
        excess = sum(n * v for n, v in zip(ordered, squares, strict=True)) - goal
        if excess > slack or (excess < -slack and not problem.at_most):
            problems.append(
                Message("the variance drift of count {count} is too large", count=problem.count)
            )
        if _wrong_way(problem, ordered) > 2 * _MAX_UNITS:
            problems.append(
                Message(
                    "the shape of count {count} is not the one asked for", count=problem.count
                )
            )
        if problem.symmetric and _uneven(ordered):
            problems.append(
                Message("the row of count {count} is not symmetric", count=problem.count)
            )
        if min(ordered) < math.floor(problem.floor * table.key_range):
            problems.append(
                Message(
                    "the least probability of count {count} is too small", count=problem.count
                )
            )
        if _stay_excess(problem, ordered, table.key_range) * table.key_range > 1:
            problems.append(
                Message(
                    "the probability of staying of count {count} is off", count=problem.count
                )
            )
    return problems


def _failures(certificate: Certificate) -> list[str]:
    return [
        Message(
            "{what} of count {count} is {size:.3g}", what=said(what), count=row.count, size=size
        )
        for row in certificate.rows
        for what, size, limit in (
            (Message("the bias"), abs(row.bias - row.requested_bias), 0.0),
            (Message("the entropy gap"), abs(row.gap), _LARGEST_GAP),
            (Message("the residual"), row.residual, _LARGEST_RESIDUAL),
        )
        if not size <= limit
    ]
