"""The engine of tau-ARGUS, where `pytauargus` is installed, beside ours."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

from ckm.methods.suppression import Percent, Primary, Problem, audit, primary_cells
from ckm.methods.suppression.secondary.search import suppress
from tests.unit.ckm.methods.suppression.suppression_support import Given, with_margins

pytestmark = pytest.mark.skipif(
    find_spec("pytauargus") is None,
    reason="pytauargus is not installed: nothing to compare with",
)

#: In a process of its own, as it brings its own solver.
PROGRAM = """
import json, sys, tempfile
from pytauargus import protect
given = json.load(sys.stdin)
with tempfile.TemporaryDirectory() as folder:
    found = protect(
        given["records"], ["line", "column"], response="amount",
        safety_rules="P(20,1)", suppress="OPT(1,1)", workdir=folder,
    )
    cells = [found.engine.audit(0), found.tables[0].rows]
print("ANSWER" + json.dumps(cells, default=str))
"""


def drawn(seed):
    """Draw contributions to a table of four by four."""
    rng = np.random.default_rng(seed)
    cells = [
        [int(x) + 1 for x in rng.lognormal(3, 1.2, int(rng.integers(1, 7)))] for _ in range(16)
    ]
    every = np.empty((4, 4), object)
    for place, parts in enumerate(cells):
        every[place // 4, place % 4] = parts
    lines = [every, *(every[[r]] for r in range(4))]
    blocks = [block for line in lines for block in (line, *(line[:, [c]] for c in range(4)))]
    return every, [list(itertools.chain(*block.ravel())) for block in blocks]


def theirs(every, folder):
    """Run tau-ARGUS on the records: its audit, and its cells in the order of ours."""
    records = {"line": [], "column": [], "amount": []}
    for (row, column), parts in np.ndenumerate(every):
        for part in parts:
            records["line"].append("ABCD"[row])
            records["column"].append("wxyz"[column])
            records["amount"].append(part)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps({"records": records}),
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,  # it leaves its logs there
    )
    audited, rows = json.loads(done.stdout.partition("ANSWER")[2])
    return audited, rows


@pytest.mark.parametrize("seed", [3, 4, 8, 10])
def test_the_rule_the_cost_and_the_intervals_are_those_of_tau_argus(seed, tmp_path):
    every, cells = drawn(seed)
    audited, rows = theirs(every, tmp_path)
    relations, values = with_margins([[sum(parts) for parts in line] for line in every])
    assert [row["amount"] for row in rows] == values.tolist()
    primary = primary_cells([Percent(p=20)], amounts=Given.of(*cells))
    unsafe = np.array([row["status"] == "U" for row in rows])
    assert unsafe.any()
    assert unsafe.tolist() == primary.is_primary.tolist()
    need = np.array([row["upper"] for row in rows]) * unsafe
    assert np.abs(need - primary.upper).max() <= 1

    hidden = unsafe | np.array([row["status"] == "M" for row in rows])
    problem = Problem(
        relations=relations,
        values=values,
        primary=Primary(is_primary=unsafe, lower=need, upper=need),
    )
    seen = audit(problem, hidden)
    assert seen.is_safe
    low, high = (
        dict(zip(seen.cells, seen.low, strict=True)),
        dict(zip(seen.cells, seen.high, strict=True)),
    )
    for cell in audited:
        # theirs also knows that no value is more than a multiple of the truth
        assert low[cell["cell"]] <= cell["min"] + 1
        assert high[cell["cell"]] >= cell["max"] - 1
    ours = suppress(problem, method="exact")
    assert ours.is_optimal
    assert ours.cost <= problem.cost[hidden & ~unsafe].sum() + 1e-6
