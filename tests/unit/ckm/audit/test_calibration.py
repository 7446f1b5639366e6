"""Who is sure is right as often as said: simulated populations, with seeds."""

from __future__ import annotations

import itertools

import numpy as np

from ckm.audit.advice import redrawn
from ckm.audit.audit import Auditor
from ckm.audit.query_space import QuerySpace
from ptable import NoiseSpec, solve
from risk.reconstruction.joint_cells import JointCells
from risk.reconstruction.lattice import FoundZeros, Lattice, Shown

SIZES = (30, 2, 6, 5)


def population(rng):
    """Draw counts that vary more than those of independent variables; show up to three."""
    means = np.ones(())
    for size in SIZES:
        means = np.multiply.outer(means, rng.dirichlet(np.ones(size)))
    joint = rng.poisson(rng.gamma(0.5, 2 * 3000 * means))
    groups = [[np.arange(size), np.zeros(size, int)] for size in SIZES]
    tables = [t for t in itertools.product((0, 1), repeat=4) if sum(t)]
    lattice, cells = Lattice(groups, tables), JointCells.of(joint)
    shown = {
        table: Shown(published=true, is_shown=np.ones(true.shape, bool))
        for table, true in cells.sums(lattice).items()
    }
    return QuerySpace(
        variables=("a", "b", "c", "d"),
        level_names=(("a",), ("b",), ("c",), ("d",)),
        lattice=lattice,
        shown=shown,
        parents={},
        mandatory=frozenset(),
        attributes=(1, 2, 3),
        joint=cells,
        n_areas=1,
        n_areas_drawn=1,
    )


def test_who_is_sure_is_right_as_often_as_said():
    """At 90 % sure, no more than 10 % are wrong, but for three standard deviations."""
    ptable = solve(NoiseSpec(max_noise=3, variance=1.5, small=1))
    zeros, sure, wrong = FoundZeros(), 0, 0
    for seed in range(5):
        space = population(np.random.default_rng(seed))
        auditor = Auditor(small=2, confidence=0.9, ptable=ptable)
        drawn, attacker = redrawn(space, auditor, ptable, seed=seed)
        whole = attacker.audit(drawn).whole
        zeros += whole.zeros
        sure, wrong = sure + whole.together.sure, wrong + whole.together.sure_wrong
    assert wrong <= 0.1 * sure + 3 * np.sqrt(0.09 * sure)
    assert zeros.named > 50
    assert zeros.right > zeros.named / 2
    assert zeros.sure_wrong <= 0.1 * zeros.sure + 3 * np.sqrt(0.09 * zeros.sure)
