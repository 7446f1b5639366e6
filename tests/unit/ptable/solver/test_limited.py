"""Tables by limits: the optimum of an independent program, kept by whole keys, with proof."""

import math
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import linprog

from ptable import InfeasibleError, Limits, NoiseSpec, PTable, PTableError, quantise, solve
from ptable.advice.figures import cautions, figures
from ptable.errors import InternalError
from ptable.proof.limits import worst_of
from ptable.solver import limited
from ptable.solver.joint import Joint
from ptable.solver.limited import (
    _STEP,
    _beyond,
    _cap_column,
    _change,
    _cleaned,
    _floored,
    _longer,
    _rank,
    _refuse,
    _spread,
    _thirds,
    solve_limited,
)
from ptable.solver.row import RowProblem
from ptable.solver.solve import program
from ptable.solver.statement import JointAnswer


def shares(decay, n=400):
    weights = [0.0, *(decay(i) for i in range(1, n))]
    return tuple(weight / sum(weights) for weight in weights)


HEAVY = shares(lambda i: i**-1.3)
TEXTBOOK = shares(lambda i: 1 / (i * (i + 1)))
PRIORS = (HEAVY, TEXTBOOK)


def independent_optimum(spec, loss):  # noqa: C901  (written without a helper of ours)
    """State the limits a second time, as dense rows for scipy."""
    limits, reach, small = spec.limits, spec.max_noise, spec.small
    sensitive = limits.sensitive
    last = max(reach + (small + 1 if small else 0), sensitive[-1] + 2 * reach)
    width = last + reach + 1
    places = {
        (i, j): k
        for k, (i, j) in enumerate(
            (i, j)
            for i in range(1, last + 1)
            for j in range(max(0, i - reach), i + reach + 1)
            if not 1 <= j <= small
        )
    }
    pairs = [(i, i + 1) for i in range(1, last + 1)]
    pairs += [(k, i) for i, k in pairs]
    n = len(places)
    extra = {(i, k, j): n + m for m, (i, k, j) in enumerate(
        (i, k, j) for i, k in pairs for j in range(width + 1)
    )}  # fmt: skip
    size = n + len(extra)

    def at(i, j):
        return places.get((last, j - 1) if i > last else (i, j))

    equal, goals, below, bounds = [], [], [], []

    def row(entries):
        line = np.zeros(size)
        for place, weight in entries:
            if place is not None:
                line[place] += weight
        return line

    for i in range(1, last + 1):
        mine = [(j, places[i, j]) for j in range(width) if (i, j) in places]
        equal += [row((k, 1) for _, k in mine), row((k, j - i) for j, k in mine)]
        goals += [1, 0]
        below += [row((k, (j - i) ** 2) for j, k in mine)]
        bounds += [spec.variance]
        below += [row((k, -((j - i) ** 2)) for j, k in mine)]
        bounds += [-limits.variance_floor]
        if (i, i) in places:
            below.append(row([(places[i, i], 1)]))
            bounds.append(limits.p_stay)
        if len(mine) == 2 * reach + 1:
            for v in range(reach):
                below += [
                    row([(places[i, i + v + 1], 1), (places[i, i + v], -1)]),
                    row([(places[i, i - v - 1], 1), (places[i, i - v], -1)]),
                ]
                bounds += [0, 0]
    epsilon, delta = limits.neighbours
    for i, k in pairs:
        for j in range(width + 1):
            if at(i, j) is not None:
                terms = [(at(i, j), 1), (at(k, j), -math.exp(epsilon)), (extra[i, k, j], -1)]
                below.append(row(terms))
                bounds.append(0)
        below.append(row((extra[i, k, j], 1) for j in range(width + 1)))
        bounds.append(delta)
    for prior in PRIORS:
        for j in range(sensitive[-1] + reach + 1):
            origins = [(k, at(k, j)) for k in range(1, last + 1) if at(k, j) is not None]
            for some in [*((i,) for i in sensitive), sensitive]:
                tau = limits.posterior if len(some) == 1 else limits.posterior_set
                if tau is not None:
                    below.append(row((p, prior[k] * ((k in some) - tau)) for k, p in origins))
                    bounds.append(0)
    weight = {i: HEAVY[i] for i in range(1, last)} | {last: sum(HEAVY[last:])}
    cost = row((k, weight[i] * loss(i, j)) for (i, j), k in places.items())
    answer = linprog(cost, np.array(below), bounds, np.array(equal), goals, method="highs")
    assert answer.status == 0
    return answer.fun


LOSSES = {
    "least-variance": lambda i, j: (j - i) ** 2,
    "least-deviation": lambda i, j: abs(j - i),
    "least-hellinger": lambda i, j: (math.sqrt(j) - math.sqrt(i)) ** 2 / 2,
}
LIMITS = Limits(
    posterior=0.8, posterior_set=0.97, priors=PRIORS, variance_floor=1.0, p_stay=0.5
)


@pytest.fixture(scope="module")
def table():
    spec = NoiseSpec(
        max_noise=5, variance=3.0, small=2, limits=LIMITS, objective="least-variance"
    )
    return solve(spec)


@pytest.mark.parametrize("small", [0, 2])
@pytest.mark.parametrize("objective", LOSSES)
def test_nothing_within_the_limits_loses_less_says_an_independent_program(objective, small):
    limits = replace(LIMITS, neighbours=(1.0, 0.1))
    spec = NoiseSpec(max_noise=4, variance=3.0, small=small, limits=limits, objective=objective)
    proof = solve(spec).certificate.limits
    assert proof.bound == pytest.approx(independent_optimum(spec, LOSSES[objective]), rel=1e-7)
    assert proof.least - proof.bound < 1e-6
    assert proof.loss <= 1.01 * proof.bound
    assert proof.entropy_bound - proof.solver_entropy < 1e-5


def test_every_limit_is_kept_by_whole_keys(table):
    joint = Joint.of(table.spec)
    units = {count: table.units(count) for count in table.counts.tolist() if count}
    worst = {one.name: one for one in worst_of(joint, units, 2**32)}
    assert worst.keys() == {
        *("posterior", "posterior_set", "neighbours", "p_stay"),
        *("variance_floor", "variance_ceiling"),
    }
    assert all(one.is_met for one in worst.values())
    assert float(worst["posterior"].value) == pytest.approx(0.8, abs=1e-4)
    assert table.certificate.largest_bias == 0
    transition = table.transition
    for prior in PRIORS:  # once more, in floats
        origins = np.array(prior[: table.n_rows])[:, None] * transition
        origins[0] = 0
        shown = origins[:, : 2 + 5 + 1].sum(axis=0)
        best = np.divide(origins[1:3, : 2 + 5 + 1], shown, where=shown > 0, out=None)
        assert best[:, shown > 0].max() <= 0.8


def test_a_table_by_limits_is_read_back_with_its_proof(table, tmp_path):
    for name in ("t.json", "t.parquet"):
        table.write(tmp_path / name)
        again = PTable.read(tmp_path / name)
        assert (again, again.spec, again.certificate) == (
            table,
            table.spec,
            table.certificate,
        )


def test_tables_by_limits_keep_to_the_ceiling_that_a_row_can_have():
    limits = Limits(posterior=0.9, priors=PRIORS, variance_floor=1.0, neighbours=None)
    spec = NoiseSpec(
        max_noise=5, variance=3.0, small=3, limits=limits, objective="least-variance"
    )
    rows = solve(spec).certificate.rows
    assert "it cannot have less" in rows[1].note  # 2 (3 + 1 - 2) = 4
    assert rows[1].variance == pytest.approx(4, abs=0.005)


REACH = [(5, 3.0, 0, 0.35), (5, 3.0, 2, 0.2), (8, 6.5, 4, 0.25)]


@pytest.mark.slow
@pytest.mark.parametrize(("reach", "variance", "small", "saved"), REACH)
def test_at_equal_limits_much_variance_is_saved(reach, variance, small, saved):
    """Worst posterior of 1 and of the set, δ at ε = 1 and staying as for greatest entropy."""
    fields = {"max_noise": reach, "small": small}
    sensitive = range(1, max(small, 2) + 1)
    free = Limits(
        sensitive=sensitive,
        posterior=1.0,
        posterior_set=1.0,
        neighbours=(1.0, 1.0),
        p_stay=0.999,
        variance_floor=0.0,
        priors=PRIORS,
    )
    greatest = solve(NoiseSpec(**fields, variance=variance, variance_rule="nearest"))
    joint = Joint.of(NoiseSpec(**fields, limits=free))
    last = int(greatest.counts[-1])
    units = {row.count: greatest.units(min(row.count, last)) for row in joint.rows}
    worst = {one.name: float(one.value) + 1e-6 for one in worst_of(joint, units, 2**32)}
    limits = replace(
        free,
        posterior=worst["posterior"],
        posterior_set=worst["posterior_set"],
        neighbours=(1.0, worst["neighbours"]),
        p_stay=max(row.get(0, 0) for row in units.values()) / 2**32 + 1e-6,
    )
    table = solve(
        NoiseSpec(**fields, variance=variance, limits=limits, objective="least-variance")
    )
    rows = table.certificate.rows
    for prior in PRIORS:
        mean = sum(
            share * rows[min(count, len(rows)) - 1].variance
            for count, share in enumerate(prior)
            if count
        )
        assert mean <= (1 - saved) * variance
    assert max(row.variance for row in rows if not row.note) <= variance


def test_without_a_loss_the_greatest_entropy_within_the_limits_is_taken():
    limits = replace(LIMITS, neighbours=(1.0, 0.2))
    spec = NoiseSpec(max_noise=4, variance=2.0, limits=limits)
    tied = solve(spec).certificate
    assert tied.limits.bound is None
    assert tied.limits.entropy == pytest.approx(tied.limits.entropy_bound, abs=1e-4)
    loose = replace(LIMITS, posterior=1.0, posterior_set=None, neighbours=None, is_peaked=False)
    free = solve(replace(spec, limits=replace(loose, p_stay=None))).certificate
    alone = solve(NoiseSpec(max_noise=4, variance=2.0, variance_rule="at-most")).certificate
    # without a limit that binds rows are those of greatest entropy
    for row, other in zip(free.rows[:4], alone.rows, strict=True):
        assert row.entropy == pytest.approx(other.entropy, abs=1e-4)


def test_a_target_is_approached():
    target = solve(NoiseSpec(max_noise=4, variance=2.0))
    spec = NoiseSpec(
        max_noise=4,
        variance=2.0,
        limits=replace(LIMITS, posterior=0.8, neighbours=(1.0, 0.2)),
        objective="distance-to",
        target=target,
    )
    table = solve(spec)
    proof = table.certificate.limits
    assert 0 < proof.bound < proof.loss < proof.bound + 0.01
    assert NoiseSpec.from_dict(spec.to_dict()) == spec


@pytest.mark.slow
def test_limits_that_nothing_keeps_are_answered_by_the_nearest_that_something_does():
    limits = Limits(posterior=0.4, priors=PRIORS)
    spec = NoiseSpec(max_noise=3, variance=2.5, limits=limits, objective="least-variance")
    with pytest.raises(InfeasibleError, match="No p-table keeps all of these limits") as caught:
        solve(spec)
    words = caught.value.hint
    least = float(words.partition("posterior ")[2].split(";")[0])
    assert solve(replace(spec, limits=replace(limits, posterior=least)))
    with pytest.raises(InfeasibleError):
        solve(replace(spec, limits=replace(limits, posterior=least - 0.002)))


def test_a_sensitive_count_that_hardly_ever_stays_is_not_stated_to_stay():
    limits = Limits(posterior=0.9, priors=PRIORS, neighbours=None, p_stay=0.4)
    spec = NoiseSpec(max_noise=4, small=1, limits=limits, objective="least-variance")
    assert solve(spec).certificate.limits.loss > 0


def test_rows_that_have_no_law_at_all_are_named_without_a_variance():
    limits = Limits(posterior=0.9, priors=PRIORS)
    with pytest.raises(InfeasibleError, match=r"small 0 and these limits\. Out of reach"):
        solve(NoiseSpec(max_noise=2, p_stay=0.99, symmetric=True, min_probability=0.1,
                        limits=limits))  # fmt: skip


def test_a_floor_above_what_a_row_can_vary_names_the_row_and_a_floor():
    limits = Limits(posterior=0.9, priors=PRIORS, variance_floor=7.0)
    with pytest.raises(InfeasibleError, match="row of count 1 cannot vary by more than 4"):
        solve(NoiseSpec(max_noise=4, limits=limits, objective="least-variance"))


def test_a_floor_above_the_ceiling_names_both():
    limits = Limits(posterior=0.9, priors=PRIORS, variance_floor=2.0)
    spec = NoiseSpec(max_noise=4, variance=1.6, limits=limits)
    with pytest.raises(InfeasibleError, match=r"floor is 2, above the ceiling of 1\.6"):
        solve(spec)
    assert solve(replace(spec, variance=2.5))


def test_rows_of_two_outcomes_whose_thirds_do_not_divide_the_keys_get_a_key_elsewhere():
    """Counts 1 and 2 go to 0 or 3, in thirds, and 2**32 is no multiple of three."""
    limits = Limits(posterior=0.97, priors=PRIORS, neighbours=None, p_stay=None, ratio=4.0,
                    posterior_set=0.97, variance_floor=0.5)  # fmt: skip
    spec = NoiseSpec(
        max_noise=7, variance=2.877, small=2, limits=limits, objective="least-deviation"
    )
    table = solve(spec)
    first = table.units(1)
    assert {v for v, n in first.items() if n > 100} == {-1, 2}
    assert sum(first.values()) == 2**32
    assert sum(v * n for v, n in first.items()) == 0
    assert len(first) == 3


@pytest.mark.parametrize(
    ("change", "name"),
    [({"ratio": 6.0}, "ratio"), ({"best_guess": 0.8}, "best_guess")],
)
def test_further_limits_are_kept(change, name):
    limits = replace(LIMITS, posterior=0.9, posterior_set=None, neighbours=None, **change)
    spec = NoiseSpec(max_noise=4, variance=3.0, limits=limits, objective="least-variance")
    worst = {one: (value, limit) for one, value, limit in solve(spec).certificate.limits.worst}
    value, limit = worst[name]
    assert value <= limit == change[name]


def test_guesses_are_limited_class_by_class():
    classes = {(1, 2): 0.78, (3, 4): 0.65}
    limits = replace(LIMITS, sensitive=range(1, 5), posterior=0.9, posterior_set=None)
    limits = replace(limits, neighbours=None, best_guess=classes)
    spec = NoiseSpec(max_noise=4, variance=3.0, limits=limits, objective="least-variance")
    table = solve(spec)
    worst = {one: value for one, value, _ in table.certificate.limits.worst}
    for (low, high), limit in classes.items():
        reached = []
        for prior in PRIORS:
            joint = np.array(prior[low : high + 1])[:, None] * table.transition[low : high + 1]
            reached.append(joint.max(axis=0).sum() / sum(prior[low : high + 1]))
        assert max(reached) == pytest.approx(worst[f"best_guess {low}-{high}"])
        assert max(reached) <= limit
    assert NoiseSpec.from_dict(spec.to_dict()) == spec


@pytest.mark.parametrize(
    "options",
    [
        {"symmetric": True},
        {"zero_bias": 0.2},
        {"monotone": "left"},
        {"p_stay": 0.4},
        {"small": 1, "positive_bias": 0.5},
    ],
)
def test_limits_combine_with_the_other_options(options):
    limits = Limits(
        posterior=0.97,
        priors=PRIORS,
        variance_floor=0.3,
        neighbours=(1.0, 0.95),
        p_stay=0.95,
        zeros_in_prior="zero_bias" in options,
    )
    spec = NoiseSpec(
        max_noise=4, variance=3.0, limits=limits, objective="least-variance", **options
    )
    table = solve(spec)
    assert table.certificate.limits.loss <= 1.01 * table.certificate.limits.bound
    if "p_stay" in options:
        assert abs(table.transition[3, 3] - 0.4) < 1e-9


def unlikely_to_stay(P, i, j):  # noqa: N803
    """At most a tenth of twos stay."""
    assert P.shape == (len(i), j.shape[1])
    return [P[2, 2] <= 0.1]


def test_anybody_may_add_constraints_of_his_own(table):
    plain = NoiseSpec(max_noise=4, variance=3.0)
    own = solve(plain, constraints=unlikely_to_stay)
    assert own.transition[2, 2] <= 0.1 + 1e-7
    assert own.certificate.limits.own == "At most a tenth of twos stay."
    assert np.abs(own.transition[:5] @ own.targets - np.arange(5)).max() < 1e-9
    both = solve(replace(table.spec, small=0), constraints=unlikely_to_stay)
    assert both.transition[2, 2] <= 0.1 + 1e-6
    assert both.certificate.limits.violation < 1e-6


@pytest.mark.parametrize(
    ("constraints", "problem"),
    [
        (lambda p, *_: [p[99, 0] <= 1], "failed: IndexError"),
        (lambda *_: True, "must give a list"),
        (lambda p, *_: [p[1, 0] * p[1, 1] <= 0.1], "must give a list of convex"),
    ],
)
def test_constraints_that_are_none_are_refused(constraints, problem):
    with pytest.raises(PTableError, match=problem):
        solve(NoiseSpec(max_noise=2, variance=1.0), constraints=constraints)


def test_a_changed_multiplier_limit_or_key_is_found_out(table):
    proof = table.certificate
    lower = replace(
        proof.limits,
        loss_multipliers=tuple(line[:0] for line in proof.limits.loss_multipliers),
    )
    with pytest.raises(PTableError, match="does not fit"):
        replace(proof, limits=lower).check(table)
    tighter = replace(table.spec, limits=replace(table.spec.limits, posterior=0.7))
    with pytest.raises(PTableError, match=r"posterior is 0\.79"):
        proof.check(table.with_proof(tighter, proof))
    rows = [table.units(count) for count in range(table.n_rows)]
    rows[3] = {**rows[3], 0: rows[3][0] + 2**28, 1: rows[3][1] - 2**28}
    with pytest.raises(PTableError, match="does not fit"):
        proof.check(PTable.from_units(rows).with_proof(table.spec, proof))


def test_what_works_row_by_row_refuses_rows_that_are_tied(table):
    with pytest.raises(PTableError, match="tied together"):
        figures(table.spec)
    with pytest.raises(PTableError, match="not put into fewer keys"):
        quantise(table, 256)
    assert cautions(table.spec, proof=table.certificate) == ()


def test_the_program_of_limits_is_printed_with_its_sizes(table):
    text = program(table.spec)
    assert text.startswith("minimise    Σ_ij w_i (j - i)² P[i, j]\n")
    for formula in (
        "π_i P[i, j] ≤ τ Σ_k π_k P[k, j]",
        "Σ_{i in S} π_i P[i, j] ≤ τ Σ_k π_k P[k, j]",
        "Σ_j T[i, k, j] ≤ δ",
        "Σ_j (j - i)² P[i, j] ≥ F_i",
    ):
        assert formula in text
    assert "12 rows, 109 probabilities, 224 auxiliaries" in text


# --- steps from probabilities to keys --------------------------------------------------------


def tied(max_noise=2, **options):
    limits = Limits(priors=(TEXTBOOK,), posterior=0.9, neighbours=None)
    limits = replace(limits, **options.pop("limits", {}))
    spec = {"variance": 1.0, "limits": limits, "objective": "least-variance", **options}
    return Joint.of(NoiseSpec(max_noise=max_noise, **spec))


def test_the_solvers_of_both_programs_are_told_with_what_they_said():
    table = solve_limited(tied(variance=2.0, limits={"posterior": 0.95}))
    assert table.statuses == {"HiGHS": "optimal", "Clarabel": "optimal"}
    assert table.least > 0


def test_the_largest_floor_is_that_of_the_row_that_can_vary_least():
    with pytest.raises(InfeasibleError, match="count 1 cannot vary by more than 2") as caught:
        solve_limited(tied(variance=None, limits={"variance_floor": 2.5}))
    hint = "use a variance_floor of at most 1.998, or one per row"
    assert caught.value.hint == hint
    limits = {"variance_floor": 2.5, "zeros_in_prior": True, "priors": ((1.0, *TEXTBOOK[1:]),)}
    with pytest.raises(InfeasibleError, match="row of count 1") as caught:
        solve_limited(tied(variance=None, zero_bias=0.5, limits=limits))
    assert caught.value.hint == hint  # zeros have no floor


def test_what_nothing_keeps_is_answered_by_what_is_near_and_a_solver_that_gave_up_by_itself(
    monkeypatch,
):
    joint = tied()
    monkeypatch.setattr(limited, "nearest_limits", lambda *_, **__: ("posterior 0.91",))
    for status in ("infeasible", "infeasible_inaccurate", "failed"):
        with pytest.raises(InfeasibleError, match="No p-table keeps all") as caught:
            _refuse(joint, JointAnswer(status=status), None)
        assert caught.value.hint == "one of these is enough, all else as it is: posterior 0.91"
    monkeypatch.setattr(limited, "nearest_limits", lambda *_, **__: ())
    with pytest.raises(InfeasibleError) as caught:
        _refuse(joint, JointAnswer(status="infeasible"), None)
    assert caught.value.hint.startswith("no single limit is in the way")
    with pytest.raises(InternalError, match="The solver gave up: unbounded"):
        _refuse(joint, JointAnswer(status="unbounded"), None)


def test_prices_lose_the_noise_of_floats_and_those_of_inequalities_their_sign():
    prices = np.array([1e-14, -1e-14, 0.5, -0.5])
    for relation, cleaned in (("=", [0, 0, 0.5, -0.5]), ("≤", [0, 0, 0.5, 0])):
        assert _cleaned(SimpleNamespace(relation=relation), prices).tolist() == cleaned


def test_tails_that_get_no_key_are_closed_unless_they_have_a_floor():
    joint = tied(max_noise=12)
    tails = {(i, j) for i, j in joint.entries if abs(j - i) > 9}  # 4 and 5 deviations
    assert tails
    assert _beyond(joint, None) == tails
    law = np.zeros(len(joint.entries))
    law[joint.place[20, 31]] = 1e-6
    assert _beyond(joint, law) == tails - {(20, 31)}
    law[joint.place[20, 31]] = 1.0 / 11**2 * 4  # a variance of 4
    assert _beyond(joint, law) == {(i, j) for i, j in tails if i != 20}
    floored = tied(max_noise=12, min_probability=1e-9)
    assert _beyond(floored, None) == frozenset()
    assert _floored(floored) == set(floored.entries)
    assert _floored(joint) == set()


def test_a_tail_grows_where_its_end_still_has_keys():
    joint = tied(max_noise=20)
    closed = frozenset((i, j) for i, j in joint.entries if abs(j - i) > 9)
    trial = replace(joint, closed=closed)
    law = np.zeros(len(trial.entries))
    for i, v, p in ((1, 9, 1e-8), (2, 9, 1e-5), (30, 9, 1e-8), (31, -9, 1e-8), (32, 9, 1e-12)):
        law[trial.place[i, i + v]] = p
    steps = range(10, 10 + _STEP)
    assert _longer(trial, law) == {  # a sensitive count needs more: a few keys tell it
        *((2, 2 + v) for v in steps),
        *((30, 30 + v) for v in steps),
        *((31, 31 - v) for v in steps),
    }


def test_what_a_sensitive_count_hardly_ever_shows_is_closed_and_stays_closed(monkeypatch):
    def of(trial, *, own):
        assert own is None
        law = [1e-8 if ends in {(1, 0), (3, 1)} else 0.2 for ends in trial.entries]
        answer = JointAnswer(status="optimal", values=np.array(law))
        return SimpleNamespace(solve=lambda: answer)

    monkeypatch.setattr(limited, "JointStatement", SimpleNamespace(of=of))
    for options, closed in (({}, {(1, 0)}), ({"min_probability": 1e-9}, set())):
        answer, trial = _spread(tied(**options), frozenset(), None)
        assert answer.is_solved
        assert trial.closed == closed
    plain = Joint.of(NoiseSpec(max_noise=2, variance=1.0))
    assert _spread(plain, frozenset(), None)[1].closed == frozenset()


@pytest.mark.parametrize(
    ("limit", "zeros", "left"),
    [(0.4, False, 66), (0.4, True, 71), (0.5, False, 99), (0.6, False, 100), (1.0, False, 100)],
)
def test_a_sensitive_count_keeps_as_many_keys_as_its_posterior_allows(limit, zeros, left):
    joint = tied(limits={"zeros_in_prior": zeros})
    units = {1: {-1: 100, 0: 7}, 2: {-2: 100, -1: 7}}
    prior = [4 / 2**32, 0.5, 0.5]  # zeros are as many as 8 keys of a count are
    _cap_column(joint, units, (0, [1, 2], [1], prior), limit)
    assert units == {1: {-1: left, 0: 7}, 2: {-2: 100, -1: 7}}


def test_a_symmetric_row_gets_what_it_lacks_in_the_middle_or_on_both_sides():
    even = RowProblem(count=5, noise=(-2, -1, 1, 2), variance=Fraction(2), symmetric=True)
    units = {5: {-2: 3, -1: 9, 1: 9, 2: 3}}
    assert _change(tied(), even, units, (4, 0, None)) == {1: 2, -1: 2}
    whole = replace(even, noise=(-1, 0, 1))
    assert _change(tied(), whole, {5: {-1: 1, 0: 5, 1: 1}}, (3, 0, None)) == {0: 3}


@pytest.mark.parametrize(("lacking", "tilt"), [(3, 0), (5, -2), (1, 2), (-2, 1), (0, 4)])
def test_a_row_gets_few_keys_that_mend_its_sum_and_its_mean(lacking, tilt):
    row = RowProblem(count=1, noise=(-1, 0, 2), variance=Fraction(1))
    change = _change(tied(), row, {1: {-1: 400, 0: 500, 2: 200}}, (lacking, tilt, None))
    assert sum(change.values()) == lacking
    assert sum(v * n for v, n in change.items()) == tilt
    assert max(map(abs, change.values())) <= 9


def test_a_change_ranks_by_how_much_it_disturbs():
    row = RowProblem(count=3, noise=(-1, 0, 1), variance=Fraction(1))
    keys = {-1: 10, 0: 20, 1: 10}
    assert _rank(row, keys, {0: 2}, None) == pytest.approx(0.1)
    assert _rank(row, keys, {0: 2, 1: -3}, None) == pytest.approx(0.3)
    assert _rank(row, keys, {0: 2}, Fraction(5)) == pytest.approx(0.1 + 5e-6)
    assert _rank(row, keys, {1: 2}, Fraction(-5)) == pytest.approx(0.2 + 7e-6)
    peaked = replace(row, n_left=2, n_right=2)
    assert _rank(peaked, keys, {0: -16}, None) == pytest.approx(0.8 + 2 * (10 - 4 - 4))
    assert _rank(peaked, keys, {0: -12}, None) == pytest.approx(0.6)


def test_a_third_value_is_offered_first_where_other_counts_have_keys():
    joint = tied()
    row = joint.rows[0]
    assert row.noise == (-1, 0, 1, 2)
    units = {1: dict.fromkeys(row.noise, 100), 2: {0: 1}, 3: {-1: 0}}  # both published as 2
    offers = list(_thirds(joint, row, units, [0, 1]))
    assert offers[:5] == [(0, 0), (1, 1), (1, -1), (1, 2), (1, -2)]
    assert max(amount for _, amount in offers) == 11
    assert {v for v, _ in offers} == set(row.noise)


def test_a_third_value_has_room_under_the_ratio():
    joint = tied(max_noise=8, limits={"ratio": 2.0, "sensitive": (1,), "posterior": None})
    row = joint.rows[0]
    roomy = {5, 6, 8}
    beside = {v - 1: 52 if v in roomy else 50 for v in row.noise}
    crowded = {v - 2: 0 if v in roomy else 1000 for v in row.noise}
    units = {1: dict.fromkeys(row.noise, 100), 2: beside, 3: crowded}
    _, *offers = _thirds(joint, row, units, [0, 1])
    # twice 52 are four keys more than it has
    assert offers == [
        (v, sign * n) for v in sorted(roomy) for n in (1, 2, 3, 4) for sign in (1, -1)
    ]
