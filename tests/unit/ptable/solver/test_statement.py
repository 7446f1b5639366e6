"""The specification as a problem of cvxpy: what it says, finds and prints."""

import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest

from ptable import Limits, NoiseSpec
from ptable.solver import statement
from ptable.solver.dual import maximise
from ptable.solver.joint import Joint
from ptable.solver.row import RowProblem
from ptable.solver.solve import program
from ptable.solver.statement import JointAnswer, JointStatement, Statement, answers, solved

SPECS = {
    "plain": NoiseSpec(max_noise=5, variance=3.0),
    "blocked": NoiseSpec(max_noise=5, variance=3.0, small=2),
    "bound": NoiseSpec.r_ptable(5, 3.0, small=2),
    "left": NoiseSpec(
        max_noise=5, variance=3.0, small=2, monotone="left", min_probability=1e-8
    ),
    "stay": NoiseSpec(max_noise=6, variance=4.0, p_stay=0.3),
    "stay at least": NoiseSpec(
        max_noise=7, variance=3.0, small=1, p_stay=0.4, p_stay_rule="at-least"
    ),
    "stay at most": NoiseSpec(
        max_noise=7, variance=3.0, small=1, p_stay=0.1, p_stay_rule="at-most"
    ),
    "symmetric": NoiseSpec(max_noise=5, variance=0.9, symmetric=True),
    "zeros": NoiseSpec(max_noise=5, variance=2.0, zero_bias=0.2),
}


PRIOR = tuple(0.0 if i == 0 else 1 / (i * (i + 1)) for i in range(40))


def tied(objective="least-variance"):
    """Tie a few rows together by a limit."""
    limits = Limits(priors=(PRIOR,), posterior=0.8, neighbours=None)
    return Joint.of(NoiseSpec(max_noise=2, variance=2.0, limits=limits, objective=objective))


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_the_solver_finds_laws_and_prices_near_the_polished_ones(spec):
    """Entropy is flat at its top: eight digits of it are four of a probability."""
    for row, answer in answers(spec.rows()):
        assert answer.status == "optimal"
        best = maximise(row)
        assert answer.laws[0] == pytest.approx([float(p) for p in best.law], abs=3e-4)
        assert answer.multipliers[0] == pytest.approx(best.multipliers, abs=3e-2)


def test_rows_are_solved_some_at_a_time_in_their_order(monkeypatch):
    rows = NoiseSpec(max_noise=4, variance=1.5).rows()
    together = dict(answers(rows))
    monkeypatch.setattr(statement, "_MAX_PROBABILITIES", 10)
    apart = dict(answers(rows))
    assert list(apart) == list(together) == list(rows)
    for row in rows:
        assert apart[row].laws[0] == pytest.approx(together[row].laws[0], abs=1e-4)
    assert list(answers([])) == []


def test_what_has_no_solution_says_so():
    row = RowProblem(count=1, noise=(-1, 0, 1), variance=Fraction(2))
    (_, answer), *_ = answers([row])
    assert "infeasible" in answer.status
    assert answer.laws == answer.multipliers == ()


@pytest.mark.parametrize("error", [cp.SolverError, ValueError, ZeroDivisionError])
def test_a_solver_that_gives_up_is_told_from_one_that_answers(error, monkeypatch):
    stated = Statement.of(NoiseSpec(max_noise=2, variance=1.0).rows())

    def give_up(*_, **__):
        raise error("no step was possible")

    monkeypatch.setattr(cp.Problem, "solve", give_up)
    assert solved(stated.problem, "CLARABEL") == "failed"
    assert stated.solve().laws == ()


def test_the_statement_is_a_convex_program_that_anybody_may_change():
    stated = Statement.of(NoiseSpec(max_noise=3, variance=1.0).rows()[-1:])
    assert stated.problem.is_dcp()
    law = stated.probabilities
    other = cp.Problem(stated.problem.objective, [*stated.problem.constraints, law[3] <= 0.3])
    assert solved(other, "CLARABEL") == "optimal"
    assert law.value[3] == pytest.approx(0.3, abs=1e-6)
    assert (np.arange(-3, 4) ** 2) @ law.value == pytest.approx(1, abs=1e-6)


def test_a_program_is_printed_as_a_paper_does_with_its_sizes():
    text = program(NoiseSpec(max_noise=2, variance=1.0))
    first, *constraints, sizes, programs = text.splitlines()
    assert first == "maximise    Σ_ij -P[i, j] ln P[i, j]"
    assert [line[12:42].split("  ")[0] for line in constraints] == [
        "Σ_j P[i, j] = 1",
        "Σ_j (j - i) P[i, j] = 0",
        "Σ_j (j - i)² P[i, j] = V_i",
        "P[i, j] ≥ 0",
        "P[i, j] = 0 beyond the largest",
    ]
    assert sizes.strip() == "2 rows, 9 probabilities, 15 constraints"
    assert programs.startswith("stated and solved by cvxpy ")


@pytest.mark.parametrize(
    ("spec", "formula"),
    [
        ("bound", "Σ_j (j - i)² P[i, j] ≤ V_i"),
        ("bound", "P[i, j] ≥ p_i"),
        ("bound", "P[i, j] ≤ P[i, j ± 1]"),
        ("stay", "P[i, i] = s_i"),
        ("stay at least", "P[i, i] ≥ s_i"),
        ("stay at most", "P[i, i] ≤ s_i"),
        ("symmetric", "P[i, j] = P[i, 2 i - j]"),
        ("zeros", "Σ_j (j - i) P[i, j] = m_i"),
    ],
)
def test_what_is_asked_for_is_in_the_program_and_nothing_else(spec, formula):
    assert formula in program(SPECS[spec])
    assert formula not in program(SPECS["plain"])


def test_rows_with_one_law_and_rows_that_are_the_same_are_told():
    text = program(
        NoiseSpec(max_noise=6, variance=5.5, monotone="unimodal", variance_rule="nearest")
    )
    assert "rows with one distribution alone" in text
    assert "P[i, j] ≤ P[i, j ± 1]" in text


def test_rows_that_are_tied_go_to_the_solver_of_their_kind_which_may_give_up(monkeypatch):
    solvers = []

    def give_up(problem, solver, **_):
        solvers.append((problem, solver))
        return "failed"

    monkeypatch.setattr(statement, "solved", give_up)
    linear = JointStatement.of(tied())
    greatest = JointStatement.of(replace(tied(), budget=1.0))
    round_ = JointStatement.of(tied(), own=lambda p, *_: [cp.sum_squares(p[1]) <= 1])
    assert [one.is_linear for one in (linear, greatest, round_)] == [True, False, False]
    for one in (linear, greatest, round_):
        assert one.solve() == JointAnswer(status="failed")
        assert not one.is_feasible()
    assert [solver for _, solver in solvers] == [
        *("HIGHS", "HIGHS"),  # the least loss, and whether there is any table
        *("CLARABEL", "HIGHS"),  # entropy is not linear, its constraints are
        *("CLARABEL", "CLARABEL"),
    ]
    assert [problem for problem, _ in solvers[::2]] == [
        one.problem for one in (linear, greatest, round_)
    ]


def test_the_constraints_of_somebody_are_held_against_a_table_that_he_did_not_solve():
    joint = tied()
    law = np.zeros(len(joint.entries))
    law[joint.place[1, 1]], law[joint.place[2, 2]] = 0.5, 0.3
    own = JointStatement.of(joint, own=lambda p, *_: [p[1, 1] <= 0.2, p[2, 2] <= 0.1])
    assert own.violation(law) == pytest.approx(0.3)
    assert own.violation(np.zeros_like(law)) == 0
    assert JointStatement.of(joint).violation(law) == 0.0


@pytest.mark.parametrize(
    ("objective", "first", "last"),
    [
        (
            "least-variance",
            "minimise    Σ_ij w_i (j - i)² P[i, j]",
            "then the greatest entropy",
        ),
        ("entropy", "maximise    Σ_ij -P[i, j] ln P[i, j]", "            6 rows, 29 probabil"),
    ],
)
def test_a_program_of_tied_rows_is_printed_with_its_sizes(objective, first, last):
    stated = JointStatement.of(tied(objective), own=lambda p, *_: [p[1, 1] <= 0.2])
    head, *lines, end = str(stated).splitlines()
    assert head == first
    assert lines[0].startswith("subject to  Σ_j P[i, j] = 1")
    assert any("π_i P[i, j] ≤ τ Σ_k π_k P[k, j]" in line for line in lines)
    assert any(line.strip() == "and 1 constraints of your own" for line in lines)
    assert end.startswith(last)
    assert "own" not in str(JointStatement.of(tied(objective)))


@pytest.mark.slow
def test_the_solver_is_imported_when_a_table_is_solved_and_not_before():
    code = (
        "import sys; from ptable import NoiseSpec, feasible, solve\n"
        "import ptable.solver.statement\n"
        "spec = NoiseSpec(max_noise=2, variance=1.0)\n"
        "feasible(spec)\n"
        "assert not {'cvxpy', 'clarabel', 'scipy'} & set(sys.modules)\n"
        "solve(spec)\n"
        "assert {'cvxpy', 'clarabel'} <= set(sys.modules)\n"
        # Nor is what cvxpy takes one function from, which is there for whoever asks.
        "assert 'scipy.stats' not in sys.modules\n"
        "from cvxpy.atoms import quantum_rel_entr as atom\n"
        "assert round(sys.modules[atom.__module__].entropy([1, 1]), 4) == 0.6931\n"
        "from scipy import stats\n"
        "assert stats.norm.cdf(0) == 0.5 and stats is sys.modules['scipy.stats']\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
