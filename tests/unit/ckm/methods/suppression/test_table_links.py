"""The list of links between tables, for an office to confirm."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ckm.config import read_job
from ckm.methods.suppression.table_links import link_sentences, table_links
from ckm.release.run import ReleaseRun
from reports.facts.suppression import DimensionLinkFact, TableLinkFact

JOB = """
schema = 1
data = { path = "people.parquet", id = "id" }
suppression = { threshold = 3, largest_hidden_share = 1.0, links = [LINKS] }
[hierarchies]
geo = ["region", "town"]
broad = { tree = "broad.csv", column = "branch" }
other = { tree = "other.csv", column = "branch" }
[[table]]
name = "first"
dimensions = ["geo", "branch"]
[[table]]
name = "second"
dimensions = ["region", "broad"]
[[table]]
name = "third"
dimensions = ["sector", "other"]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("links")
    rng = np.random.default_rng(1)
    n = 400
    region = rng.integers(1, 3, n)
    branch = rng.choice(["a1", "a2", "b1", "b2"], n)
    records = {
        "id": range(n),
        "region": [f"R{r}" for r in region],
        "town": [f"R{r}T{t}" for r, t in zip(region, rng.integers(1, 4, n), strict=True)],
        "branch": branch.tolist(),
        "sector": [b[0].upper() for b in branch],
    }
    pq.write_table(pa.table(records), folder / "people.parquet")
    (folder / "broad.csv").write_text("code,parent\na,\na1,a\na2,a\nb,\nb1,b\nb2,b\n")
    (folder / "other.csv").write_text("code,parent\n1,\na1,1\nb1,1\n2,\na2,2\nb2,2\n")
    return folder


def job(folder, links=""):
    (folder / "job.toml").write_text(JOB.replace("LINKS", links))
    return read_job(folder / "job.toml")


def test_links_are_told_by_names_code_trees_and_records(folder):
    """A column is part of a tree over it; sectors are branches, by the records."""
    steps = []
    plan = job(folder, '{ tables = ["third", "first"] }')
    run = ReleaseRun(plan, is_kept=False)
    run.rehearse(step=lambda event, text: steps.append((event, text)))
    (first, second, third) = [str(text) for event, text in steps if event == "links"]
    told = {text.partition(" (")[0]: text for text in (first, second, third)}
    one = told["linked: first and second have 15 cells in common"]
    assert "region is part of geo" in one
    assert "branch is part of broad" in one
    other = next(text for text in told.values() if "second and third" in text)
    assert "broad and other group one column otherwise" in other
    both = next(text for text in told.values() if "first and third" in text)
    assert both.endswith(", confirmed")
    assert "branch is finer than sector" in both


def test_many_links_are_left_to_the_overview():
    links = [
        TableLinkFact(tables=("a", f"t{i}"), cells=9, dimensions=(), is_confirmed=False)
        for i in range(20)
    ]
    sentences = [str(text) for text in link_sentences(links, ())]
    assert len(sentences) == 13
    assert sentences[-1] == "8 more pairs of tables are linked: see the overview"


def test_one_column_grouped_otherwise_is_said_so():
    (text,) = link_sentences(
        [
            TableLinkFact(
                tables=("a", "b"),
                cells=1,
                dimensions=(DimensionLinkFact(first="x", second="y", nesting="other"),),
                is_confirmed=False,
            )
        ],
        (),
    )
    assert str(text).endswith("(x and y group one column otherwise)")


def test_tables_without_a_common_cell_are_not_listed():
    number = np.arange(3)
    facts = table_links(
        {"a": None, "b": None}, {}, numbers=[number, number + 9], groups=[(), ()], links=()
    )
    assert facts == ()


def test_the_overview_lists_the_links_of_a_release(folder):
    from ckm.release.suppressed import release_true_numbers

    release_true_numbers(job(folder), folder / "out", force=True)
    facts = json.loads((folder / "out/internal/overview.json").read_text())
    assert next(tuple(link["tables"]) for link in facts["links"]) == ("first", "second")
    assert "linked" not in (folder / "out/public/overview.json").read_text()
