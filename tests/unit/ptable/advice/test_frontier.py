"""The frontier: certified points, losses that fall, designs on it or above."""

from dataclasses import replace
from itertools import pairwise

import pytest

from ptable import Limits, Mechanism, NoiseSpec, PTable, PTableError, solve
from ptable.advice.frontier import (
    Frontier,
    designs_of_the_field,
    frontier,
    frontier_spec,
    frontiers,
    measure,
)
from ptable.proof.limits import worst_of
from ptable.solver.joint import Joint
from ptable.solver.statement import JointStatement

TEXTBOOK = [0.0, *(1 / (i * (i + 1)) for i in range(1, 300))]
LONG_TAIL = [0.0, *(i**-1.3 for i in range(1, 300))]
OWN = solve(NoiseSpec(max_noise=2, variance=1.5))


@pytest.fixture(scope="module")
def line() -> Frontier:
    spec = frontier_spec(OWN, priors=[TEXTBOOK, LONG_TAIL], variance_floor=0.5)
    others = {
        "less": solve(NoiseSpec(max_noise=2, variance=1.2)),
        "rounding": Mechanism.rounding(3).build(),
        "again": OWN,
    }
    return frontier(spec, own=OWN, designs=others, n_points=12)


def test_a_frontier_has_a_dozen_points_and_each_is_proven(line):
    assert line.is_complete
    assert len(line.points) >= 12
    for point in line.points:
        point.table.certificate.check(point.table)
        assert point.table.key_range == 2**32
        assert line.exposure(point.figures) <= point.limit + 1e-12
        assert (
            point.bound - 1e-9
            <= point.figures.loss
            <= max(1.01 * point.bound, point.bound + 1e-3)
        )


def test_losses_fall_along_the_frontier(line):
    for strict, loose in pairwise(line.points):
        assert strict.limit < loose.limit
        assert loose.bound <= strict.bound + 1e-7
        assert loose.figures.loss <= 1.01 * strict.bound + 1e-7


def test_a_design_that_keeps_the_limits_lies_on_the_frontier_or_above(line):
    own = line.own
    assert own.exceeds == ()
    assert own.least <= own.figures.loss
    assert own.alike <= own.figures.loss
    below = [p for p in line.points if p.limit <= line.exposure(own.figures)]
    assert min(p.bound for p in below) <= own.figures.loss


def test_what_a_design_could_be_is_a_point_that_is_as_safe_or_as_near(line):
    own = line.own
    safe, near = line.as_safe(own), line.as_near(own)
    assert line.exposure(safe.figures) <= line.exposure(own.figures)
    assert safe.figures.loss < own.figures.loss
    assert near.figures.loss <= own.figures.loss
    assert line.exposure(near.figures) < line.exposure(own.figures)


def test_designs_say_which_limits_they_do_not_keep(line):
    exceeded = {one.name: one.exceeds for one in line.designs}
    assert "again" not in exceeded  # the own design has one place
    assert {"bias", "neighbours", "p_stay"} <= set(exceeded["rounding"])
    rounding = next(one for one in line.designs if one.name == "rounding")
    assert rounding.alike is None


def test_nothing_tells_less_than_the_strictest_limit(line):
    assert line.least_posterior < line.points[0].limit
    for change, is_feasible in ((-0.001, False), (0.001, True)):
        limits = replace(line.spec.limits, posterior=line.least_posterior + change)
        joint = Joint.of(replace(line.spec, limits=limits))
        assert JointStatement.of(joint).is_feasible() == is_feasible


def test_figures_are_those_that_are_proved_of_the_table_itself(line):
    point = line.points[3]
    units = {i: point.table.units(i) for i in range(point.table.n_rows)}
    exact = {
        one.name: float(one.value)
        for one in worst_of(Joint.of(point.table.spec), units, point.table.key_range)
    }
    assert point.figures.posterior == pytest.approx(exact["posterior"], abs=1e-12)
    assert point.figures.neighbours == pytest.approx(exact["neighbours"], abs=1e-12)
    assert point.figures.loss == pytest.approx(point.table.certificate.limits.loss, rel=1e-9)
    assert point.figures.largest_variance == pytest.approx(exact["variance_ceiling"])


def test_whoever_stops_early_has_both_ends():
    spec = frontier_spec(OWN, priors=[TEXTBOOK], variance_floor=0.5)
    steps = frontiers(spec, own=OWN, n_points=12)
    early = [next(steps) for _ in range(3)][-1]
    assert not early.is_complete
    assert len(early.points) == 3
    assert early.own.least is not None
    assert early.points[0].limit < early.least_posterior + 0.01


def test_limits_of_a_design_without_any_are_that_nothing_gets_worse():
    own = solve(NoiseSpec(max_noise=3, variance=2.5, small=1))
    spec = frontier_spec(own, priors=[TEXTBOOK])
    figures = measure(own, spec)
    limits = spec.limits
    assert (spec.max_noise, spec.small) == (3, 1)
    assert limits.variance_ceiling == 2.5
    assert limits.variance_floor == 2.0
    assert 0 <= limits.neighbours[1] - figures.neighbours < 1e-4
    assert 0 <= limits.p_stay - figures.p_stay < 1e-4
    weak = solve(NoiseSpec(max_noise=2, variance=1.0))
    assert frontier_spec(weak, priors=[TEXTBOOK]).limits.variance_floor == 1.0


def test_a_mechanism_of_rows_in_turn_is_measured_over_all_of_them():
    spec = frontier_spec(OWN, priors=[TEXTBOOK])
    figures = measure(Mechanism.random_rounding(3).build(), spec)
    assert figures.p_stay == 1.0
    assert figures.least_variance == 0.0
    assert figures.largest_variance == pytest.approx(2.0)
    assert figures.bias == pytest.approx(0, abs=1e-8)


def test_the_designs_of_the_field_are_those_of_the_presets():
    names = set(designs_of_the_field())
    assert {"insee", "eurostat-census", "abs-tablebuilder", "ons-10-5"} <= names
    assert "destatis-example" in names


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"against": "ratio"}, "There is no frontier against 'ratio'"),
        ({"n_points": 1}, "n_points"),
    ],
)
def test_what_is_no_frontier_is_refused(options, words):
    spec = frontier_spec(OWN, priors=[TEXTBOOK])
    with pytest.raises(PTableError, match=words):
        frontier(spec, **options)


def test_a_frontier_needs_an_objective_and_a_prior():
    entropy = NoiseSpec(max_noise=3, variance=2.0, limits=Limits(priors=(TEXTBOOK,)))
    with pytest.raises(PTableError, match="an objective that loses"):
        frontier(entropy)
    magnitudes = PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8, step=2)
    with pytest.raises(PTableError, match="not for magnitudes"):
        measure(magnitudes, frontier_spec(OWN, priors=[TEXTBOOK]))
