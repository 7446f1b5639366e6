"""Patterns of ``ckm compare``: what an outsider's program makes of them; no code of ours."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

from ckm.comparison.suppression import SuppressionMethod
from risk.criteria.coded import CodedRecords, CubeRequest

LEAST = 5


def lines(records, request, joint, places):
    """Tell, cell by cell of a table, which joint cells it adds up."""
    for at in np.ndindex(*records.shape(request)):
        said = [
            (places.index(p), i)
            for p, i in zip(request.dimensions, at, strict=True)
            if i < records.sizes[p]  # else a total
        ]
        yield at, tuple(all(cell[k] == i for k, i in said) for cell in joint)


@pytest.mark.parametrize(
    "tables",
    [[(0, 1), (0, 2)], [(0, 1), (0, 2), (1, 2)], [(0, 1, 2)]],
    ids=["two", "three", "cube"],
)
def test_what_is_said_of_a_pattern_is_what_an_outsider_finds(tables):
    rng = np.random.default_rng(4)
    drawn = [rng.choice(k, 140, p=rng.dirichlet(np.full(k, 2.0))) for k in (4, 3, 2)]
    records = CodedRecords(np.stack(drawn, axis=1))
    planned = [CubeRequest(dimensions=table) for table in tables]
    method = SuppressionMethod(
        records, planned, least=LEAST, search="sequential", limit_s=60, others="refused"
    )
    joint = list(itertools.product(*map(range, records.sizes)))
    told, hidden = {}, {}
    for request in planned:
        answer, counts = method.publish(request), records.counts(request)
        for at, line in lines(records, request, joint, [0, 1, 2]):
            (hidden if np.isnan(answer[at]) else told)[line] = counts[at]
            assert np.isnan(answer[at]) or answer[at] == counts[at]
    assert not {*told} & {*hidden}
    known = {
        "A_eq": np.array([*told], float),
        "b_eq": [*told.values()],
        "A_ub": -np.array([*hidden], float),  # zeros are published
        "b_ub": -np.ones(len(hidden)),
    }
    n_small = n_exact = 0
    for line, count in hidden.items():
        ends = [linprog(sign * np.array(line, float), **known) for sign in (1, -1)]
        low, high = ends[0].fun, np.inf if ends[1].status == 3 else -ends[1].fun
        n_exact += high - low < 1e-6
        if count < LEAST:
            n_small += 1
            assert low <= max(count - 1, 1) + 1e-6
            assert high >= LEAST - 1e-6
    facts = method.facts()
    assert n_small == facts["primary"] > 3
    assert n_exact == facts["exact"] == facts["under_protected"] == 0
