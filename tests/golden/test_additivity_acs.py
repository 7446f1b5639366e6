"""Additivity of tables that the engine makes of real records."""

import numpy as np
import pandas as pd
import pytest

from ckm import Engine
from ckm.engine.request import TableRequest
from ckm.methods.additivity.effect import measure_restoration
from ckm.methods.additivity.equations import TableSums
from ckm.methods.additivity.restore import restore_additivity
from ptable import NoiseSpec, PTable, solve
from tables import CodeTree, Secret

DIMENSIONS = ["area", "SEX", "MSP", "job"]


@pytest.fixture(scope="module")
def tabulate(shared, tmp_path_factory):
    """Publish a table of the survey with a hierarchy in columns and one in a code tree."""
    frame = pd.read_parquet(shared / "data" / "acs_national_2019.parquet")
    frame = frame.assign(STATE=frame["PUMA"].str[:2], NUMBER=range(len(frame)))
    jobs = sorted(set(frame["INDP_CAT"].dropna().astype(str)))
    frame["JOB"] = frame["INDP_CAT"].astype("string").fillna("none")
    groups = {code: f"group {place % 4}" for place, code in enumerate(jobs)}
    parents = {"all": None} | {f"group {n}": "all" for n in range(4)} | groups | {"none": "all"}
    tree = CodeTree(parents)
    file = tmp_path_factory.mktemp("tree") / "jobs.csv"
    lines = [f"{code},{parent or ''}" for code, parent in parents.items()]
    file.write_text("\n".join(["code,parent", *lines]) + "\n", encoding="utf-8")

    def published(ptable):
        engine = Engine(
            frame,
            id="NUMBER",
            secret=Secret(bytes(range(16))),
            ptable=ptable,
            hierarchies={
                "area": ["STATE", "PUMA"],
                "job": {"column": "JOB", "tree": str(file)},
            },
        )
        with engine:
            request = TableRequest(dimensions=DIMENSIONS, margins="all")
            return engine.tabulate_all({"t": request})["t"]

    return published, {"job": tree}


def test_exact_counts_add_up_along_every_margin_that_was_read(tabulate):
    published, trees = tabulate
    exact = published(PTable(noise=[[0]], upper=[[2**32]], key_range=2**32))
    counts = exact.measures["count"]
    sums = TableSums.of_table(exact, trees=trees)
    assert len(counts) > 5_000
    assert len(sums.inner) < 0.6 * len(counts)
    assert (sums.matrix @ counts[sums.inner] == counts).all()


@pytest.mark.slow
def test_published_counts_add_up_again_and_lose_nothing_by_it(tabulate):
    published, trees = tabulate
    exact = published(PTable(noise=[[0]], upper=[[2**32]], key_range=2**32))
    truth = exact.to_pandas().set_index(list(exact.dimensions))["count"]
    table = published(solve(NoiseSpec(max_noise=5, variance=3.0)))
    restored = restore_additivity(table, trees=trees)
    numbers = restored.measures["count"]
    sums = TableSums.of_table(table, trees=trees)
    assert (sums.matrix @ numbers[sums.inner] == numbers).all()
    assert (sums.matrix @ table.measures["count"][sums.inner] != table.measures["count"]).any()
    was = table.to_pandas().set_index(list(table.dimensions))["count"]
    now = restored.to_pandas().set_index(list(table.dimensions))["count"]
    original = truth.reindex(was.index)
    large = original >= 50
    assert ((now - original)[large] ** 2).mean() < ((was - original)[large] ** 2).mean()
    effect = measure_restoration(
        table, original.to_numpy().astype(np.int64), max_noise=5, trees=trees
    )
    assert effect.width is None
    assert effect.gap[1] == 0
