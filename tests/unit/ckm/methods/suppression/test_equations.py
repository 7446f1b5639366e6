"""Variables that belong together: what a table's columns tell of one that it does not show."""

import csv
import json
import logging

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ckm.config import JobError, read_job
from ckm.engine.request import TableRequest
from ckm.errors import ConfigError
from ckm.methods.suppression.equations import Equation, implied_sums, known_equations
from ckm.release.suppressed import release_true_numbers
from tables import open_source


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("turnover = costs + profit", "turnover = costs + profit"),
        ("profit = turnover - costs", "turnover = costs + profit"),
        ("costs = turnover \N{MINUS SIGN} profit", "turnover = costs + profit"),
        ("a-b = c", "a-b = c"),
        ("c - b = a - d", "a + b = c + d"),
    ],
)
def test_an_equation_is_the_same_however_it_is_written(text, written):
    equation = Equation.parse(text)
    assert str(equation) == written
    assert equation.terms == Equation.parse(written).terms


@pytest.mark.parametrize("text", ["a", "a + b", "a = b = c", "a = a + b", "a = b +", "= b"])
def test_what_is_no_equation_is_refused(text):
    with pytest.raises(ConfigError, match="cannot be read"):
        Equation.parse(text)


def firms(n=40, seed=5):
    rng = np.random.default_rng(seed)
    costs = np.rint(rng.gamma(2.0, 50, n))
    profit = np.rint(rng.gamma(1.0, 20, n))
    return {
        "id": np.arange(n),
        "region": rng.choice(["N", "S", "W"], n).tolist(),
        "branch": rng.choice(["a", "b"], n).tolist(),
        "costs": costs,
        "profit": profit,
        "turnover": costs + profit,
        "sales": costs + profit,
        "jobs": rng.integers(1, 30, n),
    }


def equations_of(records, summed, links=()):
    with open_source(pa.table(records)) as source:
        return known_equations(source, summed, links)


def test_records_show_which_variables_belong_together():
    summed = ["costs", "profit", "turnover", "jobs"]
    (found,) = equations_of(firms(), summed)
    assert (str(found), found.status, found.is_exact) == (
        "turnover = costs + profit", "seen", True
    )  # fmt: skip


def test_two_names_of_one_variable_are_told_once_and_what_follows_is_not():
    found = equations_of(firms(), ["costs", "profit", "turnover", "sales"])
    assert len(found) == 2
    assert sorted(len(equation.weights) for equation in found) == [2, 3]


@pytest.mark.parametrize("change", ["one record", "a gap"])
def test_an_equation_that_one_record_breaks_is_none(change):
    records = firms()
    profit = records["profit"].tolist()
    profit[7] = profit[7] + 1 if change == "one record" else None
    assert not equations_of(records | {"profit": profit}, ["costs", "profit", "turnover"])


def test_a_variable_of_zeros_belongs_to_no_equation():
    records = firms() | {"profit": np.zeros(40)}
    assert not equations_of(records | {"turnover": records["costs"] + 1}, ["profit", "jobs"])


def test_what_is_denied_implies_nothing():
    both = TableRequest(dimensions=["region"], measures=["sum:costs", "mean:turnover"])
    equation = Equation.parse("turnover = costs + profit")
    assert implied_sums([equation], {"t": both}) == {"t": ("profit",)}
    denied = Equation(weights=equation.weights, status="denied")
    assert implied_sums([denied], {"t": both}) == {}


JOB = """
schema = 1
data = { path = "firms.parquet", id = "id" }
[suppression]
p_percent = 10.0
coalition = 0
largest_hidden_share = 1.0
[[suppression.links]]
tables = ["costs", "turnover"]
LINKS
[[table]]
name = "turnover"
dimensions = ["region"]
measures = ["sum:turnover"]
[[table]]
name = "costs"
dimensions = ["region", "branch"]
measures = ["sum:costs", "sum:profit"]
"""


@pytest.fixture
def folder(tmp_path):
    """Firms in four cells, with costs and profit that make turnover."""
    cells = {
        ("N", "a"): [(90, 2), (4, 80), (45, 40), (45, 40)],
        ("N", "b"): [(50, 50), (40, 40), (45, 45), (30, 60)],
        ("S", "a"): [(50, 50), (40, 40), (45, 45), (60, 30)],
        ("S", "b"): [(100, 1), (1, 100), (55, 45), (50, 50)],
    }
    rows = [(*place, *own) for place, firms in cells.items() for own in firms]
    region, branch, costs, profit = zip(*rows, strict=True)
    records = {
        "id": range(len(rows)),
        "region": region,
        "branch": branch,
        "costs": costs,
        "profit": profit,
        "turnover": np.add(costs, profit),
    }
    pq.write_table(pa.table(records), tmp_path / "firms.parquet")
    return tmp_path


def released(folder, links="", out="out"):
    (folder / "job.toml").write_text(JOB.replace("LINKS", links))
    release_true_numbers(read_job(folder / "job.toml"), folder / out)
    with (folder / out / "public" / "costs.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if not row["sum_costs"]]
    manifest = json.loads((folder / out / "internal" / "manifest.json").read_text())
    return {(row["region"], row["branch"]) for row in rows}, manifest


DENIED = '[[suppression.links]]\nequation = "turnover = costs + profit"\nholds = false'
STATED = '[[suppression.links]]\nequation = "profit = turnover - costs"'


@pytest.mark.parametrize("links", ["", STATED])
def test_a_sum_that_the_columns_of_a_table_tell_is_protected_there(folder, caplog, links):
    """Turnover by branch is costs and profit; no rule was asked of it before."""
    with caplog.at_level(logging.WARNING):
        _, manifest = released(folder, links)
    (equation,) = manifest["equations"]
    assert equation["status"] == ("stated" if links else "seen")
    assert equation["tables"] == [["costs", "turnover"]]
    measures = {measure["measure"]: measure for measure in manifest["measures"]}
    assert measures["sum:turnover"]["cells"] == 9  # those of both tables
    is_asked = "turnover = costs + profit: readers are taken to know it" in caplog.text
    assert is_asked is not bool(links)
    page = (folder / "out/internal/overview.en.html").read_text()
    assert "turnover = costs + profit" in page
    assert ("to be confirmed" in page) is not bool(links)


def test_the_public_files_do_not_have_a_sum_that_is_protected_although_not_shown(folder):
    released(folder)
    with (folder / "out/public/costs.csv").open(newline="") as file:
        header = next(csv.reader(file))
    assert not [name for name in header if "turnover" in name]


def test_an_equation_that_the_office_denies_asks_for_nothing(folder, caplog):
    with caplog.at_level(logging.WARNING):
        _, manifest = released(folder, DENIED)
    (equation,) = manifest["equations"]
    assert (equation["status"], equation["tables"]) == ("denied", [])
    measures = {measure["measure"]: measure for measure in manifest["measures"]}
    assert measures["sum:turnover"]["cells"] == 3
    assert "taken to know" not in caplog.text


def test_an_equation_that_records_break_is_applied_all_the_same_and_told(folder, caplog):
    link = '[[suppression.links]]\nequation = "turnover = costs"\n' + STATED
    with caplog.at_level(logging.WARNING):
        _, manifest = released(folder, link)
    assert "Not all records fulfil costs = turnover" in caplog.text
    assert [each["is_exact"] for each in manifest["equations"]] == [False, True]


@pytest.mark.parametrize(
    ("links", "words"),
    [
        ('[[suppression.links]]\nequation = "a + b"', "cannot be read"),
        ('[[suppression.links]]\ntables = ["costs"]', "are two"),
        ('[[suppression.links]]\ntables = ["costs", "cost"]', "no table 'cost'"),
        ("[[suppression.links]]", "an equation, or two tables"),
        ('[[suppression.links]]\ntables = ["costs", "turnover"]\nholds = false', "are linked"),
    ],
)
def test_a_link_that_is_none_is_named(folder, links, words):
    (folder / "job.toml").write_text(JOB.replace("LINKS", links))
    with pytest.raises(JobError, match=words):
        read_job(folder / "job.toml")
