"""The specification as one convex problem, stated to cvxpy and solved by Clarabel.

Unknown is ``P[i, j]``, the probability that a count of ``i`` is published as ``j``:

    maximise    Σ_ij -P[i, j] ln P[i, j]
    subject to  Σ_j P[i, j] = 1                    every row is a distribution
                Σ_j (j - i) P[i, j] = m_i          its noise has no bias, or the declared one
                Σ_j (j - i)² P[i, j] = V_i + m_i²  its variance; ≤ where that is a bound
                P[i, i] = s_i                      how often a count stays; ≥ or ≤ as a bound
                P[i, j] ≤ P[i, j + 1]              where the shape rises; ≥ where it falls
                P[i, j] = P[i, 2 i - j]            where noise is symmetric
                P[i, j] ≥ p_i                      the least probability

over the published counts within reach. The solver finds the entropy to about eight digits and a
probability to four or five; the duals of the moments are where `ptable.solver.dual` starts to
polish.

The only module that imports cvxpy, when a table is solved.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.metadata import version
from importlib.util import find_spec, module_from_spec
from itertools import pairwise
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from footing.messages import Argument, Message, mark, said
from ptable.errors import PTableError

if TYPE_CHECKING:
    import cvxpy as cp
    from numpy.typing import NDArray

    from ptable.solver.joint import Joint, Linear
    from ptable.solver.row import RowProblem

#: Somebody's own constraints on the matrix of probabilities, its rows and its columns.
Own: TypeAlias = "Callable[[Any, NDArray[np.int64], NDArray[np.int64]], Any]"
_Float: TypeAlias = "NDArray[np.float64]"
_Int: TypeAlias = "NDArray[np.int64]"

#: Rows do not touch each other: so many probabilities at a time are soonest solved.
_MAX_PROBABILITIES = 2_500
_RELATIONS = {"exact": "=", "at-least": "≥", "at-most": "≤"}
#: What each line of the program says, in words.
_WORDS = {
    "distribution": mark("every row is a distribution"),
    "mean": mark("noise has no bias, or the one declared"),
    "variance": mark("the variance asked for"),
    "stay": mark("how often a count is published as it is"),
    "shape": mark("probabilities rise to the peak and fall beyond"),
    "symmetry": mark("noise and its opposite are equally likely"),
    "floor": mark("the least probability"),
    "variance ceiling": mark("the greatest variance of a row"),
    "variance floor": mark("the least variance of a row, against averaging"),
    "posterior": mark("the probability of one sensitive count, against guessing it"),
    "posterior of the set": mark("the probability of a sensitive count, against knowing it"),
    "best guess of one count": mark("what is guessed for a published count"),
    "best guess": mark("the share of sensitive counts that the best guesses get right"),
    "ratio": mark("the odds of a sensitive count against the next, whatever the prior"),
    "excess over a neighbour": mark("what a count shows and its neighbour does not"),
    "neighbours": mark("the most of it, against differencing by one record"),
    "distance to the target": mark("the distance of each probability to the target"),
    "loss": mark("what the entropy may cost"),
}
_LOSSES = {
    "least-deviation": "Σ_ij w_i |j - i| P[i, j]",
    "least-variance": "Σ_ij w_i (j - i)² P[i, j]",
    "least-hellinger": "Σ_ij w_i ½ (√j - √i)² P[i, j]",
    "distance-to": "Σ_ij w_i ½ D[i, j]",
}
LINEAR = {
    "threads": 1,
    "random_seed": 0,
    "dual_feasibility_tolerance": 1e-9,
    "primal_feasibility_tolerance": 1e-9,
}
#: Constraints of cvxpy that are linear where both sides are.
_AFFINE = {"Equality", "Inequality", "NonNeg", "NonPos", "Zero"}
TIGHT = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-9)


def load_cvxpy() -> ModuleType:
    """Import cvxpy without `scipy.stats`, which takes as long as all the rest of it.

    cvxpy takes one function from there, for the entropy of quantum states. While it is imported
    a module stands in its place, which imports it for whoever calls that or takes another name.
    """
    name = "scipy.stats"
    spec = None if {"cvxpy", name} & sys.modules.keys() else find_spec(name)
    if spec is None:
        return import_module("cvxpy")
    stand_in = module_from_spec(ModuleSpec(name, None, is_package=True))
    stand_in.__path__ = spec.submodule_search_locations or []

    def load(attribute: str) -> Any:
        if sys.modules.get(name) is stand_in:
            del sys.modules[name]
        return getattr(import_module(name), attribute)

    def entropy(*args: Any, **kwargs: Any) -> Any:
        return load("entropy")(*args, **kwargs)

    stand_in.__dict__.update(entropy=entropy, __getattr__=load)
    sys.modules[name] = stand_in
    try:
        return import_module("cvxpy")
    finally:
        if sys.modules.get(name) is stand_in:
            del sys.modules[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of the program: a formula, and what cvxpy gets.

    Parameters
    ----------
    name
        What the line is about, such as ``"mean"``.
    formula
        The constraint as a paper prints it.
    constraint
        The constraint on all places at once.
    rows
        Which rows the line constrains, where it has one constraint for each; else empty.
    scales
        What each of these constraints was divided by.
    """

    name: str
    formula: str
    constraint: cp.Constraint
    rows: _Int
    scales: _Float


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """The probabilities that may be above 0, one after the other, row by row.

    Parameters
    ----------
    rows
        The constraints on every row.
    row
        Of each probability the place of its row.
    noise
        Of each probability the noise, in steps.
    """

    rows: tuple[RowProblem, ...]
    row: _Int
    noise: _Float

    @classmethod
    def of(cls, rows: Sequence[RowProblem]) -> Support:
        """List the probabilities of some rows."""
        return cls(
            rows=tuple(rows),
            row=np.repeat(np.arange(len(rows)), [len(row.noise) for row in rows]),
            noise=np.concatenate([np.array(row.noise, dtype=np.float64) for row in rows]),
        )

    @property
    def starts(self) -> _Int:
        """Where each row starts, and the end."""
        sizes = [len(row.noise) for row in self.rows]
        return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])

    def sums(self, numbers: _Float, among: _Int | None = None) -> Any:
        """Give the matrix of ``Σ_j numbers[i, j] P[i, j]``, for all rows or some."""
        from scipy.sparse import csr_array

        places = np.arange(len(numbers))
        matrix = csr_array((numbers, (self.row, places)), shape=(len(self.rows), len(numbers)))
        return matrix if among is None else matrix[among]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the solver said of some rows.

    Parameters
    ----------
    status
        In cvxpy's words; ``"failed"`` where the solver gave up.
    laws
        Per row the probabilities; none where the solver has no answer.
    multipliers
        Per row the prices of mean, variance and, where it is constrained, of staying.
    """

    status: str
    laws: tuple[_Float, ...] = ()
    multipliers: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """Rows of greatest entropy as a problem of cvxpy.

    Parameters
    ----------
    support
        The probabilities that may be above 0.
    probabilities
        The variable: ``P`` on its support.
    lines
        The constraints.
    problem
        All of it.
    """

    support: Support
    probabilities: cp.Variable
    lines: tuple[Line, ...]
    problem: cp.Problem = field(repr=False)

    @classmethod
    def of(cls, rows: Sequence[RowProblem]) -> Statement:
        """State that every row has the greatest entropy its constraints leave.

        Parameters
        ----------
        rows
            The constraints on each row; where a peak may lie anywhere, its place is settled.
        """
        cp = load_cvxpy()

        support = Support.of(rows)
        P = cp.Variable(len(support.noise), name="P")  # noqa: N806
        lines = tuple(_lines(support, P))
        entropy = cp.sum(cp.entr(P))
        problem = cp.Problem(cp.Maximize(entropy), [line.constraint for line in lines])
        return cls(support=support, probabilities=P, lines=lines, problem=problem)

    def solve(self) -> Answer:
        """Let Clarabel solve it; an answer that is no use says so in its status."""
        status = solved(self.problem, "CLARABEL")
        values = self.probabilities.value
        if values is None or not np.isfinite(values).all():
            return Answer(status=status)
        starts = self.support.starts
        laws = tuple(values[first:stop] for first, stop in pairwise(starts))
        return Answer(status=status, laws=laws, multipliers=self._multipliers())

    def _multipliers(self) -> tuple[tuple[float, ...], ...]:
        """Read the prices of the moments off the duals, in the units of the noise."""
        places = {"mean": 0, "variance": 1, "stay": 2}
        prices = np.zeros((len(self.support.rows), len(places)))
        for line in self.lines:
            dual = line.constraint.dual_value
            if line.name in places and dual is not None:
                sign = 1.0 if "≥" in line.formula else -1.0
                prices[line.rows, places[line.name]] = sign * np.atleast_1d(dual) / line.scales
        return tuple(
            tuple(price[: 2 + (row.p_stay is not None)].tolist())
            for row, price in zip(self.support.rows, prices, strict=True)
        )

    def __str__(self) -> str:
        """Print the program as a paper does, with its sizes."""
        return printed(
            "maximise", "Σ_ij -P[i, j] ln P[i, j]", self.lines, self.support, self.problem
        )


def printed(
    verb: str, objective: str, lines: Sequence[Line], support: Support, problem: cp.Problem
) -> str:
    """Print a program: what is optimised, subject to what, and how large it is."""
    heads = ["subject to", *[""] * (len(lines) - 1)]
    widths = max(len(line.formula) for line in lines)
    text = [f"{verb:<12}{objective}"]
    for head, line in zip(heads, lines, strict=True):
        words = said(_WORDS[line.name]) if line.name in _WORDS else line.name
        text.append(f"{head:<12}{line.formula:<{widths}}  {line.constraint.size:>6}  {words}")
    text.append(
        f"{'':<12}P[i, j] = 0 "
        + said(Message("beyond the largest noise, below 0 and on forbidden counts"))
    )
    metrics = problem.size_metrics
    n_constraints = metrics.num_scalar_eq_constr + metrics.num_scalar_leq_constr
    sizes = Message(
        "{rows} rows, {probabilities} probabilities, {constraints} constraints",
        rows=len(support.rows),
        probabilities=len(support.noise),
        constraints=n_constraints,
    )
    return "\n".join([*text, f"{'':<12}{sizes}"])


def _lines(support: Support, P: cp.Variable) -> Iterator[Line]:  # noqa: N803
    """Give the constraints line by line; what no row asks for is not there."""
    rows, v = support.rows, support.noise
    every = np.arange(len(rows))
    one = np.ones(len(rows))
    yield _line("distribution", "Σ_j P[i, j] = 1", support.sums(np.ones_like(v)) @ P == 1)
    means = np.array([float(row.mean) for row in rows])
    yield Line(
        name="mean",
        formula="Σ_j (j - i) P[i, j] = m_i" if means.any() else "Σ_j (j - i) P[i, j] = 0",
        constraint=support.sums(v) @ P == means,
        rows=every,
        scales=one,
    )
    moments = np.array([float(row.second_moment) for row in rows])
    for relation in ("=", "≤"):
        among = _where(relation == ("≤" if row.at_most else "=") for row in rows)
        if among.size:
            spread = support.sums(v**2 / moments[support.row], among) @ P  # in units of V_i
            yield Line(
                name="variance",
                formula=f"Σ_j (j - i)² P[i, j] {relation} V_i{' + m_i²' * bool(means.any())}",
                constraint=spread == 1 if relation == "=" else spread <= 1,
                rows=among,
                scales=moments[among],
            )
    starts = support.starts
    for rule, relation in _RELATIONS.items():
        among = _where(row.p_stay is not None and row.p_stay_rule == rule for row in rows)
        if among.size:
            stays = P[[int(starts[k]) + int(rows[k].stays_at or 0) for k in among]]
            goals = np.array([float(rows[k].p_stay or 0) for k in among])
            constraints = {"=": stays == goals, "≥": stays >= goals, "≤": stays <= goals}
            yield Line(
                name="stay",
                formula=f"P[i, i] {relation} s_i",
                constraint=constraints[relation],
                rows=among,
                scales=np.ones(len(among)),
            )
    pairs = [
        (start + low, start + high)
        for start, row in zip(starts.tolist(), rows, strict=False)
        for low, high in row.rising_pairs
    ]
    if pairs:
        lows, highs = map(list, zip(*pairs, strict=True))
        yield _line("shape", "P[i, j] ≤ P[i, j ± 1]", P[lows] <= P[highs])
    mirrored = [
        (start + place, start + len(row.noise) - 1 - place)
        for start, row in zip(starts.tolist(), rows, strict=False)
        if row.symmetric
        for place in range(len(row.noise) // 2)
    ]
    if mirrored:
        lefts, rights = map(list, zip(*mirrored, strict=True))
        yield _line("symmetry", "P[i, j] = P[i, 2 i - j]", P[lefts] == P[rights])
    floors = np.array([float(row.floor) for row in rows])
    floor = "p_i" if floors.any() else "0"
    at_least = P >= floors[support.row]  # noqa: SIM300, as a paper says it
    yield _line("floor", f"P[i, j] ≥ {floor}", at_least)


def _line(name: str, formula: str, constraint: cp.Constraint) -> Line:
    nothing = np.array([], dtype=np.int64)
    return Line(
        name=name, formula=formula, constraint=constraint, rows=nothing, scales=np.array([])
    )


def _where(flags: Iterator[bool]) -> _Int:
    return np.flatnonzero(np.fromiter(flags, dtype=np.bool_))


def solved(problem: cp.Problem, solver: str, **options: Any) -> str:
    """Solve a problem of cvxpy; give its status, and ``"failed"`` where the solver gave up."""
    cp = load_cvxpy()

    with warnings.catch_warnings():  # what is inaccurate is polished, or said by the status
        warnings.simplefilter("ignore")
        try:
            problem.solve(solver=solver, **options)
        except (cp.SolverError, ArithmeticError, ValueError):
            return "failed"
    return str(problem.status)


def answers(rows: Sequence[RowProblem]) -> Iterator[tuple[RowProblem, Answer]]:
    """Solve rows, some at a time; give each with its own answer."""
    for part in _parts(rows):
        answer = Statement.of(part).solve()
        for place, row in enumerate(part):
            yield (
                row,
                Answer(
                    status=answer.status,
                    laws=answer.laws[place : place + 1],
                    multipliers=answer.multipliers[place : place + 1],
                ),
            )


def _parts(rows: Sequence[RowProblem]) -> Iterator[list[RowProblem]]:
    part: list[RowProblem] = []
    size = 0
    for row in rows:
        if part and size + len(row.noise) > _MAX_PROBABILITIES:
            yield part
            part, size = [], 0
        part.append(row)
        size += len(row.noise)
    if part:
        yield part


def programs(solver: str) -> Mapping[str, str]:
    """Name the programs that solve, with their versions."""
    cp = load_cvxpy()

    packages = {"Clarabel": "clarabel", "HiGHS": "highspy"}
    return {"cvxpy": cp.__version__, solver: version(packages[solver])}


@dataclass(frozen=True, slots=True, kw_only=True)
class JointAnswer:
    """What a solver said of all rows together.

    Parameters
    ----------
    status
        In cvxpy's words; ``"failed"`` where the solver gave up.
    values
        The unknowns of `Joint`, in its order; None where there is no answer.
    multipliers
        The duals of each line, in its order; not negative for inequalities.
    """

    status: str
    values: _Float | None = None
    multipliers: tuple[_Float, ...] = ()

    @property
    def is_solved(self) -> bool:
        """Whether there is an answer that is worth a look."""
        return self.values is not None and self.status.startswith("optimal")


@dataclass(frozen=True, slots=True, kw_only=True)
class JointStatement:
    """A design by limits as a problem of cvxpy.

    Parameters
    ----------
    joint
        Its unknowns and constraints.
    probabilities, auxiliaries
        The variables; the latter None where no limit needs them.
    lines
        Each line with the constraint that cvxpy gets.
    own
        Somebody's own constraints.
    problem
        All of it.
    """

    joint: Joint
    probabilities: cp.Variable
    auxiliaries: cp.Variable | None
    lines: tuple[tuple[Linear, cp.Constraint], ...]
    own: tuple[cp.Constraint, ...]
    problem: cp.Problem = field(repr=False)

    @classmethod
    def of(cls, joint: Joint, *, own: Own | None = None) -> JointStatement:
        """State the least loss within the limits, or, with a budget, the greatest entropy."""
        cp = load_cvxpy()

        P = cp.Variable(len(joint.entries), nonneg=True, name="P")  # noqa: N806
        T = None  # noqa: N806
        unknowns = P
        if joint.extras:
            T = cp.Variable(len(joint.extras), nonneg=True, name="T")  # noqa: N806
            unknowns = cp.hstack([P, T])
        lines = tuple((line, _constraint(line, unknowns, joint.size)) for line in joint.lines())
        extra = _own_constraints(joint, P, own)
        if joint.costs is None or joint.budget is not None:
            goal = cp.Maximize(cp.sum(cp.entr(P)))
        else:
            goal = cp.Minimize(joint.costs @ unknowns)
        problem = cp.Problem(goal, [*(constraint for _, constraint in lines), *extra])
        return cls(
            joint=joint,
            probabilities=P,
            auxiliaries=T,
            lines=lines,
            own=extra,
            problem=problem,
        )

    @property
    def is_linear(self) -> bool:
        """Whether HiGHS can solve it."""
        return is_linear(self.problem)

    def solve(self) -> JointAnswer:
        """Solve by HiGHS what is linear, and by Clarabel what is not."""
        if self.is_linear:
            status = solved(self.problem, "HIGHS", **LINEAR)
        else:
            status = solved(self.problem, "CLARABEL", **TIGHT)
        values = self.probabilities.value
        if values is None or not np.isfinite(values).all():
            return JointAnswer(status=status)
        if self.auxiliaries is not None:
            values = np.concatenate([values, self.auxiliaries.value])
        duals = [
            np.zeros(len(line.goal))
            if constraint.dual_value is None
            else np.atleast_1d(np.asarray(constraint.dual_value, dtype=np.float64))
            for line, constraint in self.lines
        ]
        return JointAnswer(status=status, values=values, multipliers=tuple(duals))

    def is_feasible(self) -> bool:
        """Say whether any table keeps the limits, whatever it loses."""
        cp = load_cvxpy()

        question = cp.Problem(cp.Minimize(0), self.problem.constraints)
        if is_linear(question):
            return solved(question, "HIGHS", **LINEAR) == "optimal"
        return solved(question, "CLARABEL") == "optimal"

    def violation(self, transition: _Float) -> float:
        """Say by how much a table breaks somebody's own constraints, at most."""
        self.probabilities.value = transition
        return max((float(np.max(one.violation())) for one in self.own), default=0.0)

    def __str__(self) -> str:
        """Print the program as a paper does, with its sizes."""
        return _printed_joint(self)


def is_linear(problem: cp.Problem) -> bool:
    """Say whether a problem is a linear program as it stands."""
    return all(arg.is_affine() for arg in problem.objective.args) and all(
        type(one).__name__ in _AFFINE and all(arg.is_affine() for arg in one.args)
        for one in problem.constraints
    )


def _constraint(line: Linear, unknowns: cp.Expression, size: int) -> cp.Constraint:
    from scipy.sparse import csr_array

    matrix = csr_array((line.weight, (line.row, line.place)), shape=(len(line.goal), size))
    sums = matrix @ unknowns
    return sums == line.goal if line.relation == "=" else sums <= line.goal


def _own_constraints(
    joint: Joint, probabilities: cp.Variable, own: Own | None
) -> tuple[cp.Constraint, ...]:
    """Ask for somebody's own constraints on the matrix of all probabilities."""
    if own is None:
        return ()
    cp = load_cvxpy()
    from scipy.sparse import csr_array

    n_rows = joint.last + 1
    n_columns = max(j for _, j in joint.entries) + 1
    places = [i * n_columns + j for i, j in joint.entries]
    spread = csr_array(
        (np.ones(len(places)), (places, np.arange(len(places)))),
        shape=(n_rows * n_columns, len(places)),
    )
    fixed = np.zeros(n_rows * n_columns)
    fixed[0] = joint.rows[0].count > 0
    matrix = cp.reshape(spread @ probabilities + fixed, (n_rows, n_columns), order="C")
    i, j = np.arange(n_rows)[:, None], np.arange(n_columns)[None, :]
    try:
        constraints = own(matrix, i, j)
    except Exception as error:
        raise PTableError(
            Message(
                "constraints(P, i, j) failed: {error}", error=Argument(type(error).__name__)
            ),
            hint=Message(
                "P has the shape {shape}: counts 0 to {last} by published counts from 0",
                shape=Argument(matrix.shape),
                last=joint.last,
            ),
        ) from error
    constraints = [constraints] if isinstance(constraints, cp.Constraint) else constraints
    if not isinstance(constraints, Sequence) or not all(
        isinstance(one, cp.Constraint) and one.is_dcp() for one in constraints
    ):
        raise PTableError(
            Message("constraints(P, i, j) must give a list of convex constraints of cvxpy."),
            hint=Message("for example lambda P, i, j: [P[1, 0] <= 0.3]"),
        )
    return tuple(constraints)


def _printed_joint(stated: JointStatement) -> str:
    joint = stated.joint
    if joint.costs is None:
        heads = [f"{'maximise':<12}Σ_ij -P[i, j] ln P[i, j]"]
    else:
        heads = [f"{'minimise':<12}{_LOSSES[joint.objective]}"]
    width = max(len(line.formula) for line, _ in stated.lines)
    for place, (line, _) in enumerate(stated.lines):
        head = "" if place else "subject to"
        words = said(_WORDS.get(line.name, line.name))
        heads.append(f"{head:<12}{line.formula:<{width}}  {len(line.goal):>6}  {words}")
    if stated.own:
        heads.append(f"{'':<12}{Message('and {n} constraints of your own', n=len(stated.own))}")
    heads.append(
        f"{'':<12}P[i, j] = 0 "
        + said(Message("beyond the largest noise, below 0 and on forbidden counts"))
    )
    sizes = Message(
        "{rows} rows, {probabilities} probabilities, {auxiliaries} auxiliaries, "
        "{constraints} constraints",
        rows=len(joint.rows),
        probabilities=len(joint.entries),
        auxiliaries=len(joint.extras),
        constraints=sum(len(line.goal) for line, _ in stated.lines),
    )
    heads.append(f"{'':<12}{sizes}")
    if joint.costs is not None:
        heads.append(
            Message("then the greatest entropy that loses at most a hundredth more than that")
        )
    return "\n".join(map(str, heads))
