"""Laws of cell suppression over random tables with margins and hierarchies."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from ckm.config import read_job
from ckm.errors import CheckFailedError
from ckm.methods.suppression import Frequency, Grid, Problem, Relations, primary_cells
from ckm.methods.suppression.secondary.search import suppress
from ckm.release.suppressed import release_true_numbers
from tests.strategies import examples

FLAT, TWO_LEVELS = [-1, 0, 0, 0], [-1, 0, 0, 1, 1, 2, 2]


def rolled_up(inner, trees):
    values = inner
    for axis, tree in enumerate(trees):
        leaves = [c for c in range(len(tree)) if c not in tree]
        above = np.zeros((len(tree), len(leaves)), np.int64)
        for place, category in enumerate(leaves):
            at = category
            while at >= 0:
                above[at, place] = 1
                at = tree[at]
        values = np.moveaxis(np.tensordot(above, values, axes=(1, axis)), 0, axis)
    return values.ravel()


@st.composite
def problems(draw):
    trees = draw(st.lists(st.sampled_from([FLAT, TWO_LEVELS]), min_size=1, max_size=2))
    shape = [len(set(range(len(tree))) - set(tree)) for tree in trees]
    counts = st.one_of(st.integers(0, 4), st.integers(0, 40))
    size = int(np.prod(shape))
    inner = draw(st.lists(counts, min_size=size, max_size=size))
    values = rolled_up(np.array(inner).reshape(shape), trees)
    grid = Grid.full(trees)
    there = values > 0
    assume(there.any())
    grid = Grid(parents=grid.parents, ranks=tuple(rank[there] for rank in grid.ranks))
    values = values[there]
    return Problem(
        relations=Relations.of_grids([grid], values=values),
        values=values,
        primary=primary_cells([Frequency(least=draw(st.integers(2, 5)))], counts=values),
        coalition=draw(st.integers(0, 2)),
    )


@settings(max_examples=examples(40), deadline=None)
@given(problems(), st.sampled_from(["exact", "sequential"]))
def test_no_primary_cell_is_under_protected_and_published_cells_are_true(problem, method):
    found = suppress(problem, method=method)
    assert found.audit().is_safe
    assert found.hidden[problem.primary.is_primary].all()
    shown = found.masked()
    assert (shown.compressed() == problem.value[~found.hidden]).all()
    assert found.least <= found.cost + 1e-9


@settings(max_examples=examples(15), deadline=None)
@given(problems())
def test_no_choice_is_cheaper_than_the_exact_one(problem):
    exact = suppress(problem, method="exact")
    assert exact.is_optimal
    assert suppress(problem, method="sequential").cost >= exact.cost - 1e-6


@settings(max_examples=examples(25), deadline=None)
@given(problems())
def test_the_audit_holds_the_truth(problem):
    seen = suppress(problem, method="sequential").audit()
    values = problem.value[seen.cells]
    assert (seen.low <= values + 1e-6).all()
    assert (values <= seen.high + 1e-6).all()


REGIONS, SEXES, AGES = "abcd", "FM", "123"
FILTERS = {
    "": lambda _group: True,
    "sex = 'F'": lambda group: group["sex"] == "F",
    "sex = 'M'": lambda group: group["sex"] == "M",
    "age <> '1'": lambda group: group["age"] != "1",
    "region in ('a', 'b')": lambda group: group["region"] in "ab",
    "county = 'X'": lambda group: group["county"] == "X",
}
DIMENSIONS = ["region", "county", "group", "geo", "sex", "age"]


@st.composite
def jobs(draw):
    """Draw people, whose county and group their region tells, and two or three tables."""
    county = {region: draw(st.sampled_from("XY")) for region in REGIONS}
    group = {region: draw(st.sampled_from("PQR")) for region in REGIONS}
    groups = [
        {"region": r, "county": county[r], "group": group[r], "sex": s, "age": a}
        for r, s, a in itertools.product(REGIONS, SEXES, AGES)
    ]
    counts = draw(
        st.lists(
            st.one_of(st.integers(0, 2), st.integers(0, 12)), min_size=24, max_size=24
        ).filter(any)
    )
    tables = draw(
        st.lists(
            st.tuples(
                st.lists(
                    st.sampled_from(DIMENSIONS), min_size=1, max_size=2, unique=True
                ).filter(
                    lambda names: "geo" not in names or not {"region", "county"} & {*names}
                ),
                st.sampled_from(list(FILTERS)),
                st.sampled_from(["all", "none"]),
            ),
            min_size=2,
            max_size=3,
            unique_by=str,
        )
    )
    assume(
        all(
            sum(n for n, g in zip(counts, groups, strict=True) if FILTERS[where](g))
            for _, where, _ in tables
        )
    )
    return groups, counts, tables


def released(folder, groups, counts, tables):
    """Publish the tables of a job; none where that is refused."""
    frame = pd.DataFrame(groups).loc[np.repeat(np.arange(len(groups)), counts)]
    frame.assign(id=np.arange(len(frame))).to_parquet(folder / "people.parquet")
    text = """schema = 1
data = { path = "people.parquet", id = "id" }
suppression = { threshold = 3 }
hierarchies = { geo = ["county", "region"] }
"""
    for number, (dimensions, where, margins) in enumerate(tables):
        text += f"[[table]]\nname = 't{number}'\ndimensions = {dimensions}\n"
        text += f"margins = {margins!r}\n" + (f'where = "{where}"\n' if where else "")
    (folder / "job.toml").write_text(text)
    try:
        release_true_numbers(read_job(folder / "job.toml"), folder / "out")
    except CheckFailedError:
        assert not (folder / "out").exists()
        return None
    return [
        pd.read_parquet(folder / "out" / "public" / f"t{number}.parquet")
        for number in range(len(tables))
    ]


def known(groups, counts, tables, shown):
    """Give each cell of some tables as groups, with its true count and whether it is hidden."""
    for (_, where, _), frame in zip(tables, shown, strict=True):
        columns = [column for column in frame.columns if column != "count"]
        for row in frame.to_dict("records"):
            line = np.array(
                [
                    FILTERS[where](g) and all(row[c] in ("Total", g[c]) for c in columns)
                    for g in groups
                ],
                float,
            )
            yield line, int(line @ counts), pd.isna(row["count"])


@pytest.mark.slow
@settings(max_examples=examples(25), deadline=None)
@given(jobs())
def test_a_reader_of_all_tables_together_finds_no_small_count(job):
    """One program over the groups of people, which shares no code with what is tested."""
    groups, counts, tables = job
    with tempfile.TemporaryDirectory() as name:
        shown = released(Path(name), groups, counts, tables)
    if shown is None:
        return
    cells = list(known(groups, counts, tables, shown))
    told = [(line, count) for line, count, is_hidden in cells if not is_hidden]
    assert not any(0 < count < 3 for _, count in told)
    hidden = [line for line, _, is_hidden in cells if is_hidden]
    for line, count, _ in cells:
        if not 0 < count < 3:
            continue
        found = linprog(
            -line,
            A_eq=np.array([row for row, _ in told]) if told else None,
            b_eq=[number for _, number in told] if told else None,
            A_ub=-np.array(hidden),  # zeros are published, so that no hidden count is one
            b_ub=-np.ones(len(hidden)),
            bounds=(0, None),
        )
        assert found.status in (0, 3)
        assert found.status == 3 or -found.fun >= 3 - 1e-6
