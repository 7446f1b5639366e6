"""What no choice of secondary cells costs less than."""

import numpy as np
import pytest

from ckm.errors import CheckFailedError
from ckm.methods.suppression import suppress
from ckm.methods.suppression.secondary.least_cost import least_cost
from tests.unit.ckm.methods.suppression.attack_support import SHAPES, Drawn
from tests.unit.ckm.methods.suppression.suppression_support import cheapest
from tests.unit.ckm.methods.suppression.test_suppression import random_problem


@pytest.mark.parametrize("seed", range(8))
def test_no_choice_costs_less_than_the_bound(seed):
    rng = np.random.default_rng(seed)
    tables = (random_problem(rng, (2, 4), least=4, mean=4) for _ in range(50))
    problem = next(t for t in tables if t.primary.is_primary.any() and t.is_open.sum() <= 12)
    least = least_cost(problem)
    assert 0 <= least <= cheapest(problem) * (1 + 1e-9)


def test_no_choice_against_contributors_costs_less_than_the_bound():
    shares = []
    for seed in range(6):
        table = Drawn(np.random.default_rng(seed), SHAPES[seed % len(SHAPES)])
        problem = table.problem(coalition=1)
        try:
            suppression = suppress(problem, method="exact", limit_s=2.0)
        except CheckFailedError:  # somebody knows too much, whatever is hidden
            continue
        # with the demands that the search came upon, as the search itself has it
        least = least_cost(suppression.problem)
        assert least >= least_cost(problem) - 1e-9
        assert least <= suppression.cost * (1 + 1e-9)
        shares.append(least / max(suppression.cost, 1.0))
    assert len(shares) > 3
    assert max(shares) > 0.3


def test_a_sequential_search_tells_what_part_of_its_cost_is_proven():
    problem = random_problem(np.random.default_rng(3), (5, 6), mean=4)
    found = suppress(problem, method="sequential")
    assert found.has_bound
    assert 0 < found.least <= suppress(problem, method="exact").cost * (1 + 1e-9)
    assert found.gap == pytest.approx(1 - found.least / found.cost)
