"""What holds for every p-table, whatever its specification."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ptable import NoiseSpec, PTable, feasible, solve
from tests.strategies import examples


@st.composite
def specifications(draw):
    small = draw(st.integers(0, 3))
    fields = {
        "max_noise": draw(st.integers(small + 1, 9)),
        "small": small,
        "monotone": draw(st.sampled_from(["none", "left"])),
        "variance_rule": draw(st.sampled_from(["exact", "at-most"])),
        "min_probability": draw(st.sampled_from([0.0, 1e-8, 1e-3])),
    }
    reach = feasible(NoiseSpec(variance=0.5, **fields)).rows
    assume(all(row.variance_min is not None for row in reach))
    low = max(row.variance_min for row in reach)
    high = min(row.variance_max for row in reach)
    assume(low < high)
    share = draw(st.floats(0.0, 1.0))
    variance = round(low + share * (high - low), draw(st.integers(1, 6)))
    assume(low <= variance <= high and variance > 0)
    return NoiseSpec(variance=variance, **fields)


@pytest.mark.slow
@settings(max_examples=examples(60))
@given(specifications())
def test_rows_are_unbiased_bounded_and_as_varied_as_asked(spec):
    table = solve(spec)
    assert table.n_rows == spec.last_count + 1
    assert (table.transition.sum(axis=1) == 1).all()
    for problem, proof in zip(spec.rows(), table.certificate.rows, strict=True):
        units = table.units(problem.count)
        assert sum(units.values()) == 2**32
        assert sum(v * n for v, n in units.items()) == 0
        assert set(units) <= set(problem.noise)
        assert min(units.get(v, 0) for v in problem.noise) >= int(problem.floor * 2**32)
        left = [units.get(v, 0) for v in problem.noise[: problem.n_left]]
        assert all(low <= high + 2 for low, high in pairwise(left))
        variance = float(problem.variance)
        if spec.variance_rule == "exact":
            # a few noise values leave only coarse steps, as do laws next to an end or a floor:
            # each value then keeps its probability to a unit
            free = sum(n > problem.floor * 2**32 + 64 for n in units.values())
            roomy = proof.place == "inside" and free > 5
            coarse = sum(v * v for v in problem.noise) / 2**32
            assert abs(proof.variance - variance) <= (2**-31 if roomy else max(coarse, 2e-8))
        elif proof.place == "inside":
            assert proof.variance <= variance + 1e-15
        assert abs(proof.gap) < 1e-7


@settings(max_examples=examples(40))
@given(specifications(), st.integers(0, 2**32 - 1))
def test_no_law_with_the_same_moments_has_more_entropy(spec, seed):
    table = solve(spec)
    rng = np.random.default_rng(seed)
    for problem in spec.rows():
        noise = np.array(problem.noise)
        units = table.units(problem.count)
        law = np.array([units.get(v, 0) / 2**32 for v in problem.noise])
        if problem.n_left or len(noise) < 5:
            continue
        basis = np.linalg.svd(np.vander(noise, 3).T)[2][3:]
        step = rng.normal(size=len(basis)) @ basis
        floor = float(problem.floor)
        with np.errstate(divide="ignore"):
            room = np.where(step < 0, (law - floor) / -step, np.inf).min()
        if room > 1e-6:
            other = law + room * rng.uniform() * step
            assert _entropy(other) <= _entropy(law) + 1e-8


@settings(max_examples=examples(25))
@given(specifications())
def test_a_table_survives_a_round_trip_through_files(tmp_path_factory, spec):
    table = solve(spec)
    folder = tmp_path_factory.mktemp("ptable")
    for name in ("pt.parquet", "pt.json"):
        table.write(folder / name)
        again = PTable.read(folder / name)
        assert again == table
        assert again.id == table.id
        assert (again.spec, again.certificate) == (table.spec, table.certificate)


def _entropy(law):
    return -math.fsum(p * math.log(p) for p in law if p > 0)
