import numpy as np

from ckm.methods.suppression import Change, Grid, Primary, Problem, Relations
from ckm.methods.suppression.secondary.cover import Cover
from ckm.methods.suppression.secondary.reverse_delete import reverse_delete

COUNTS = np.array([30, 12, 18, 11, 1, 10, 19, 11, 8])
#: cells of a square, of which each sum has two
SQUARE = np.array([4, 5, 7, 8])
TURNS = np.array([1.0, -1.0, -1.0, 1.0])
NEED = 5.0


def covered(*, most):
    """Cover a cell that may rise by `most` only, and hide all others for nothing."""
    is_primary = np.arange(len(COUNTS)) == 4
    problem = Problem(
        relations=Relations.of_grids([Grid.full([[-1, 0, 0], [-1, 0, 0]])]),
        values=COUNTS,
        primary=Primary(
            is_primary=is_primary,
            lower=np.zeros(len(COUNTS)),
            upper=np.where(is_primary, NEED, 0.0),
            ceiling=np.where(is_primary, COUNTS + most, np.inf),
        ),
    )
    cover = Cover(problem)
    cover.add(Change(cells=SQUARE, moves=TURNS))
    cover.hidden |= problem.is_open
    return cover


def test_what_a_program_met_by_its_tolerance_keeps_no_needless_cell_hidden():
    cover = covered(most=NEED * (1 - 1e-5))
    assert cover.open_demands().tolist() == [0]
    cover.claim(cover.changes[0], np.array([0]), 1)
    lighter = reverse_delete(cover)
    assert np.flatnonzero(lighter.hidden).tolist() == SQUARE.tolist()
    assert not lighter.open_demands().size
    assert lighter.claims


def test_what_nothing_meets_leaves_a_cover_as_it_is():
    cover = covered(most=NEED / 2)
    assert reverse_delete(cover) is cover
