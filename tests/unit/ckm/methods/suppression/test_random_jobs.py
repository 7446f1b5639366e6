"""Random jobs of eight shapes, attacked by programs that share no code with ours.

Outsiders, each contributor and each holding attack all tables of a job together; who attacks
counts knows that they are whole numbers.
"""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from ckm.config import read_job
from ckm.errors import CheckFailedError
from ckm.release.perturbed import release
from tests.unit.ckm.methods.suppression.linked_attack import LEAST, Attack, drawn, released

#: name → dimensions and filters of tables
SHAPES = {
    "hierarchies": [(["geo", "job"], ""), (["zones"], "")],
    "holdings": [(["geo", "job"], "")],
    "linked": [(["region", "job"], ""), (["region", "size"], ""), (["job", "size"], "")],
    "filtered": [(["region", "job"], ""), (["region", "job"], "M")],
    "giants": [(["region", "job"], ""), (["region", "size"], "")],
    "three-way": [(["region", "job", "size"], "")],
    "counts": [(["geo", "job"], ""), (["region", "size"], "")],
}
#: of a hundred draws, those of which somebody knows too much whatever is hidden
FEWEST_DONE = 0.9
BASE = 3


def giants(data):
    """Let one firm of ten have most of everything."""
    rng = np.random.default_rng(len(data["id"]))
    is_giant = rng.random(len(data["id"])) < 0.1
    return {**data, "turnover": np.where(is_giant, 1000 * data["turnover"], data["turnover"])}


def attacked(folder, shape, seed, *, most=30):
    """Release a job; return its unsafe cells, and those that somebody comes too near."""
    data, is_count = drawn(seed, least=16, most=most), shape == "counts"
    data = giants(data) if shape == "giants" else data
    measures = ("count",) if is_count else ("sum:turnover",)
    is_held = shape == "holdings"
    rules = ", holding = 'holding'" * is_held
    rows = released(folder, data, SHAPES[shape], measures=measures, rules=rules)
    attack = Attack(rows, data, measures[0].replace(":", "_"), holding=is_held)
    unsafe, failed = attack.failures()
    return unsafe, failed + (list(narrow_counts(attack, unsafe)) if is_count else [])


def narrow_counts(attack, unsafe):
    """Yield the small counts that whole numbers bound too closely."""
    rows = LinearConstraint(attack.lines[attack.use].astype(float), attack.low, attack.high)
    groups = Bounds(0, np.inf)
    for r in unsafe:
        need, goal = attack.needs(r, ()), attack.lines[r].astype(float)
        for sign, far in zip((-1, 1), need, strict=True):
            aim = attack.totals[r] + sign * far
            end = milp(
                -sign * goal, constraints=rows, bounds=groups, integrality=np.ones(len(goal))
            )
            if end.status == 0 and sign * (-sign * end.fun - aim) < -1e-6:
                yield r, sign, "whole", -sign * end.fun, aim


def check(folder, shape, seeds, **options):
    n_unsafe = n_done = 0
    for seed in seeds:
        (own := folder / str(seed)).mkdir()
        try:
            unsafe, failed = attacked(own, shape, seed, **options)
        except CheckFailedError:  # somebody knows too much, whatever is hidden
            assert not (own / "out").exists()
            continue
        assert failed == [], (shape, seed)
        n_unsafe, n_done = n_unsafe + len(unsafe), n_done + 1
    assert n_done >= FEWEST_DONE * len(seeds)
    return n_unsafe


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "seed"), [("counts", 5), ("giants", 1), ("three-way", 3), ("filtered", 2)]
)
def test_nobody_finds_an_unsafe_number_of_a_random_job(tmp_path, shape, seed):
    assert check(tmp_path, shape, [seed], most=22) > 2


@pytest.mark.long
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("part", range(3))
def test_nobody_finds_an_unsafe_number_of_many_random_jobs(tmp_path, shape, part):
    """Seven shapes, thirty jobs of each; seeds of every run are others."""
    first = int(np.random.default_rng().integers(10**6))
    assert check(tmp_path, shape, range(first, first + 10)) > 20


def rounded(folder, seed):
    """Round the counts of a job; return counts, published ones and lines of groups."""
    data = drawn(seed, least=16, most=60)
    pq.write_table(pa.table({k: list(v) for k, v in data.items()}), folder / "firms.parquet")
    (folder / "job.toml").write_text(
        f"""schema = 1
data = {{ path = "firms.parquet", id = "id" }}
rounding = {{ base = {BASE} }}
table = [{{ name = "t", dimensions = ["region", "job"] }}]
"""
    )
    release(read_job(folder / "job.toml"), folder / "out")
    rows = pq.read_table(folder / "out" / "public" / "t.parquet").to_pylist()
    groups = list(itertools.product(*(sorted(set(data[c])) for c in ("region", "job"))))
    truth = np.array(
        [np.sum((data["region"] == r) & (data["job"] == j)) for r, j in groups], float
    )
    names = [(row["region"], row["job"]) for row in rows]
    lines = [
        [all(n in {"Total", g} for n, g in zip(o, w, strict=True)) for w in groups]
        for o in names
    ]
    return truth, np.array([row["count"] for row in rows]), np.array(lines, float)


def check_rounding(folder, seeds):
    n_small = 0
    for seed in seeds:
        (own := folder / str(seed)).mkdir()
        truth, published, lines = rounded(own, seed)
        assert (published % BASE == 0).all()
        deviation = int(np.abs(published - lines @ truth).max())
        most = max(deviation, BASE - 1)
        rows = LinearConstraint(lines, published - most, published + most)
        for line in lines[(lines @ truth > 0) & (lines @ truth < LEAST)]:
            ends = [
                milp(sign * line, constraints=rows, bounds=Bounds(0), integrality=1 + 0 * truth)
                for sign in (1, -1)
            ]
            assert -ends[1].fun - ends[0].fun > 0.5, seed
            n_small += 1
    return n_small


@pytest.mark.slow
def test_rounding_leaves_small_counts_in_doubt(tmp_path):
    assert check_rounding(tmp_path, [4]) > 0


@pytest.mark.long
def test_rounding_leaves_small_counts_of_many_random_jobs_in_doubt(tmp_path):
    first = int(np.random.default_rng().integers(10**6))
    assert check_rounding(tmp_path, range(first, first + 30)) > 60
