"""What is said to protect cells that cannot be protected does protect them."""

from dataclasses import replace

import numpy as np
import pytest

from ckm.methods.suppression import Percent, Problem, audit, primary_cells
from ckm.methods.suppression.secondary.search import UnprotectedError, suppress
from ckm.methods.suppression.ways_out import way_out
from tests.unit.ckm.methods.suppression.suppression_support import Given, with_margins


def line(*cells, kept=(), within=np.inf, **given):
    """Two lines of the same cells, whose column totals and totals may be kept."""
    parts = [list(c) for c in cells]
    relations, values = with_margins([[sum(p) for p in parts]] * 2)
    columns = [*parts, [x for part in parts for x in part]]
    both = [[*p, *p] for p in [columns[-1], *columns[:-1]]]
    amounts = Given.of(*both, *[columns[-1], *columns[:-1]] * 2)
    primary = primary_cells([Percent(p=10)], amounts=amounts)
    primary = replace(primary, ceiling=values * (1 + within))
    mask = np.isin(np.arange(len(values)), kept) if kept else None
    return Problem(relations=relations, values=values, primary=primary, kept=mask, **given)


def unprotected(problem):
    with pytest.raises(UnprotectedError) as found:
        suppress(problem)
    return found.value.cells


def test_kept_cells_of_the_same_sums_are_named():
    problem = line((1000, 1), (50, 60, 70), (40, 30, 50), kept=[2, 3, 4, 6, 7])
    cells = unprotected(problem)
    hint = way_out(problem, cells, primary_of=None)
    assert hint == "hide cells that are kept: 3 of them stand in a sum with these"
    open_ = line((1000, 1), (50, 60, 70), (40, 30, 50), kept=[2, 3])
    assert suppress(open_).audit().is_safe


def test_less_known_beforehand_is_tried_and_how_much_is_told():
    def known(times):
        return line((1000, 1), (500, 60), (400, 30), within=0.02 * times).primary

    problem = line((1000, 1), (500, 60), (400, 30), within=0.02)
    hint = way_out(problem, unprotected(problem), primary_of=known)
    assert hint == "prior 5 times as wide would do: take readers to know less"
    for times, is_enough in ((2, False), (5, True)):
        wider = replace(problem, primary=known(times))
        if is_enough:
            suppress(wider)
        else:
            unprotected(wider)


@pytest.mark.parametrize("method", ["exact", "sequential"])
@pytest.mark.parametrize("within", [0.05, 0.08, 0.1])
def test_a_cell_that_readers_know_to_be_no_larger_is_not_taken_for_protected(method, within):
    """Of 1,001 within 5 %, nobody believes 1,101, however far other cells may move."""
    problem = line((1000, 1), (500, 5), (400, 30), within=within)
    seen = audit(problem, np.ones(12, bool))
    needed = problem.value + problem.primary.upper
    narrow = np.flatnonzero(problem.primary.is_primary & (seen.high < needed - 1e-3))
    assert seen.under_protected.tolist() == narrow.tolist()
    assert bool(narrow.size) == (within < 0.1)
    if narrow.size:
        with pytest.raises(UnprotectedError):
            suppress(problem, method=method)
    else:
        assert suppress(problem, method=method).audit().is_safe


def test_lower_levels_are_tried_and_their_share_is_told():
    problem = line((1000, 1), (500, 60), (400, 30), within=0.04)
    hint = way_out(problem, unprotected(problem), primary_of=None)
    assert hint == "20% of the protection asked for would do: lower the levels of the rules"
