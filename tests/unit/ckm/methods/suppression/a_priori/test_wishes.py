"""What an office says of single cells: in files of tau-ARGUS and rtauargus, and in the job."""

import csv
import json
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ckm.config import JobError, read_job
from ckm.errors import CheckFailedError, ConfigError
from ckm.methods.suppression import Primary
from ckm.methods.suppression.a_priori.cell_names import CellNames
from ckm.methods.suppression.a_priori.files import SAFE, UNSAFE, read_lines
from ckm.methods.suppression.a_priori.wishes import Wishes
from ckm.methods.suppression.primary import Contributions
from ckm.methods.suppression.ways_out import subtracted
from ckm.release.suppressed import release_true_numbers
from tables import Hierarchy, Request, StoredKeys, cube, open_source

#: records of each region and branch, and what each of them earns
PEOPLE = {
    ("N", "a"): (12, 10),
    ("N", "b"): (1, 40),
    ("N", "c"): (9, 10),
    ("S", "a"): (11, 10),
    ("S", "b"): (10, 10),
    ("S", "c"): (8, 100),
    ("W", "a"): (7, 10),
    ("W", "b"): (13, 10),
    ("W", "c"): (6, 100),
}
JOB = """
schema = 1
[data]
path = "people.parquet"
id = "id"
[suppression]
threshold = 3
{rules}
[[table]]
name = "work"
dimensions = ["region", "branch"]
measures = {measures}
{more}
"""


@pytest.fixture
def folder(tmp_path):
    write_people(tmp_path, PEOPLE)
    return tmp_path


def write_people(folder, people):
    cells = [(r, b, x) for (r, b), (n, x) in people.items() for _ in range(n)]
    region, branch, pay = zip(*cells, strict=True)
    records = {"id": list(range(len(cells))), "region": region, "branch": branch, "pay": pay}
    pq.write_table(
        pa.table({k: list(v) for k, v in records.items()}), folder / "people.parquet"
    )


def hidden(folder, rules="", measures='["count"]', *, more="", out="out", column="count"):
    """Release, and return the cells that are not shown."""
    (folder / "job.toml").write_text(JOB.format(rules=rules, measures=measures, more=more))
    release_true_numbers(read_job(folder / "job.toml"), folder / out)
    (folder / out / "internal" / "pattern.parquet").unlink()  # as if nobody had seen it
    with (folder / out / "public" / "work.csv").open(newline="") as file:
        return {
            row["region"] + row["branch"] for row in csv.DictReader(file) if not row[column]
        }


def cells_file(folder, text, name="cells.hst", more=""):
    (folder / name).write_text(text)
    return f'[[suppression.cells]]\npath = "{name}"\ntable = "work"\n{more}'


def test_costs_may_be_the_square_root_of_a_variable_that_no_table_shows(folder):
    assert hidden(folder, 'costs = "sqrt:pay"') == {"Na", "Nb", "Wa", "Wb"}
    with (folder / "out/public/work.csv").open(newline="") as file:
        assert csv.DictReader(file).fieldnames == ["region", "branch", "count"]
    with pytest.raises(Exception, match="'wealth'"):
        hidden(folder, 'costs = "sqrt:wealth"', out="o4")


def test_the_cheapest_cells_are_hidden_beside_the_unsafe_one(folder):
    assert hidden(folder) == {"Nb", "Nc", "Sb", "Sc"}


def test_a_cell_to_keep_is_published_and_others_are_hidden(folder):
    keep = 'keep = [{ region = "S", branch = "b" }]'
    found = hidden(folder, keep)
    assert found == {"Nb", "Nc", "Wb", "Wc"}
    assert json.loads((folder / "out/internal/manifest.json").read_text())["suppression"][
        "keep"
    ]


def test_a_preferred_cell_is_hidden_before_others(folder):
    assert hidden(folder, 'prefer = [{ region = "W", branch = "b" }]') == {
        "Nb",
        "Nc",
        "Wb",
        "Wc",
    }


def test_costs_may_be_those_of_another_measure(folder):
    measures = '["count", "sum:pay"]'
    by_pay = hidden(folder, 'costs = "sum:pay"', measures)
    by_count = hidden(folder, 'costs = "count"', measures, out="o3", column="sum_pay")
    assert by_pay == {"Na", "Nb", "Wa", "Wb"}
    assert by_count == {"Nb", "Nc", "Sb", "Sc"}


def test_all_responses_have_one_pattern(folder):
    measures = '["count", "sum:pay", "mean:pay"]'
    patterns = [
        hidden(folder, "", measures, out=c, column=c) for c in ("count", "sum_pay", "mean_pay")
    ]
    assert patterns[0] == patterns[1] == patterns[2]


@pytest.mark.slow
def test_an_hst_file_says_safe_unsafe_protected_and_costs(folder):
    """As of tau-ARGUS: codes in the order of the table, a word, and numbers."""
    assert hidden(folder, more=cells_file(folder, "N,b,s\n")) == set()
    found = hidden(folder, more=cells_file(folder, "N;b;s\nW;c;u\nS;b;p\n"), out="o2")
    assert "Wc" in found
    assert not found & {"Nb", "Sb"}
    found = hidden(
        folder, more=cells_file(folder, "S,b,c,900\nS,a,c,900\nS,c,c,900\n"), out="o3"
    )
    assert found == {"Nb", "Nc", "Wb", "Wc"}


def test_own_levels_are_those_that_the_audit_finds(folder):
    assert hidden(folder, more=cells_file(folder, "N,b,pl,1,9\n")) != {"Nb"}
    lines = (folder / "out/internal/audit-work.csv").read_text().splitlines()
    (line,) = [line.split(",") for line in lines if line.startswith("N,b,")]
    assert float(line[6]) >= 10
    assert "TotalTotal" in hidden(folder, more=cells_file(folder, "N,b,pl,1,99\n"), out="o2")


def test_a_data_frame_has_the_columns_of_rtauargus(folder):
    frame = (
        "region,branch,is_secret_prim,cost\nN,b,FALSE,NA\nS,a,TRUE,\n,b,FALSE,1\nTotal,a,,2\n"
    )
    found = hidden(folder, more=cells_file(folder, frame, "cells.csv"))
    assert {"Nb", "Sa"} <= found  # what a rule finds unsafe stays so
    frame = "branch,region,status,lower,upper\nb,N,safe,,\nc,S,unsafe,3,4\n"
    found = hidden(folder, more=cells_file(folder, frame, "cells.csv"), out="o2")
    assert "Sc" in found
    assert "Nb" not in found


@pytest.mark.parametrize(
    ("text", "name", "said"),
    [
        (
            "N,b,u\nN,z,u\nQ,a,s\n",
            "c.hst",
            r"2 cells that are not there: line 2 of 'c.hst'; ",
        ),
        ("region,branch,status\nX,a,u\n", "c.csv", r"line 2 of 'c.csv'"),
        (
            "N,b,u\nN,b,q\n",
            "c.hst",
            r"Line 2 of 'c.hst' needs 2 codes and then s, u, p, c or pl",
        ),
        ("N,b,c,-3\n", "c.hst", "no number of 0 or more"),
        ("N,b,pl,3\n", "c.hst", "Line 1 of 'c.hst' needs"),
        ("N,b,u\nN,b,s\n", "c.hst", r"Line 2 of 'c.hst' says another thing of a cell than"),
        ("N,b,u\nN,b,p\n", "c.hst", r"Line 2 of 'c.hst' says another thing of a cell than"),
        ("N,b,c,0\nN,b,c,9\n", "c.hst", r"Line 2 of 'c.hst' says another thing of a cell than"),
        ("N,b,pl,5,5\nN,b,pl,5,0\n", "c.hst", r"Line 2 of 'c.hst' says another"),
        ("N,b,u,s\n", "c.hst", "Line 1 of 'c.hst' needs 2 codes"),
        (
            "region,branch,status,is_secret_prim\nN,a,safe,TRUE\n",
            "c.csv",
            "Line 2 of 'c.csv' says two things",
        ),
        ("region,branch,status,status\nN,a,u,s\n", "c.csv", "has 'status' twice"),
        ("region,branch,status\nN,a\n", "c.csv", "has 2 fields, and the header 3"),
        ("region,branch,status\nN,a,s,u\n", "c.csv", "has 4 fields, and the header 3"),
        ("region,branch,status\nN,a,odd\n", "c.csv", "a status other than"),
        ("place,status\nN,a\n", "c.csv", "needs columns of their categories, region, branch"),
    ],
)
def test_what_cannot_be_meant_is_named_and_nothing_is_written(folder, text, name, said):
    with pytest.raises(ConfigError, match=said):
        hidden(folder, more=cells_file(folder, text, name))
    assert not (folder / "out").exists()


def test_categories_of_a_csv_of_cells_are_texts_with_their_blanks(tmp_path):
    (tmp_path / "c.csv").write_text("region,status ,cost\n N, u, 3\nN ,s,\n")
    lines = list(read_lines(tmp_path / "c.csv", dimensions=["region"], columns=["region"]))
    assert [(line.named["region"], line.status) for line in lines] == [
        (" N", UNSAFE),
        ("N ", SAFE),
    ]
    assert lines[0].cost == 3


def test_what_is_called_unsafe_is_not_published_by_a_key_or_for_another_measure(folder):
    unsafe = cells_file(folder, "S,a,u\n", more='measure = "count"\n')
    with pytest.raises(ConfigError, match=r"Line 1 of 'cells.hst' says"):
        hidden(folder, 'keep = [{ region = "S", branch = "a" }]', more=unsafe)
    kept = cells_file(folder, "S,a,p\n", "p.hst", 'measure = "sum:pay"\n')
    with pytest.raises(ConfigError, match=r"Line 1 of 'p.hst' says"):
        hidden(folder, measures='["count", "sum:pay"]', more=unsafe + kept)
    assert not (folder / "out").exists()


def test_an_unsafe_cell_that_is_called_safe_may_be_kept(folder):
    keep, safe = 'keep = [{ region = "N", branch = "b" }]', cells_file(folder, "N,b,s\n")
    with pytest.raises(CheckFailedError, match="unsafe, and are to be kept"):
        hidden(folder, keep)
    assert "Nb" not in hidden(folder, keep, more=safe)


def test_levels_of_0_on_both_sides_are_those_of_the_rules(folder):
    zero = cells_file(folder, "N,b,pl,0,0\nS,a,u\nS,a,pl,0,0\n")
    plain = cells_file(folder, "S,a,u\n", "u.hst")
    assert hidden(folder, more=zero) == hidden(folder, more=plain, out="o2") > {"Nb", "Sa"}


def test_a_cell_that_one_measure_keeps_is_published_for_all(folder):
    kept = cells_file(folder, "S,b,p\n", more='measure = "sum:pay"')
    assert not hidden(folder, "", '["count", "sum:pay"]', more=kept) & {"Sb"}
    assert "Sb" in hidden(folder, "", '["count", "sum:pay"]', out="o2")


def test_cells_of_hierarchies_are_named_by_code_or_by_columns():
    records = {
        "region": [*"AABB"],
        "town": ["x", "y", "x", "z"],
        "key": pa.array(range(4), pa.uint8()),
    }
    request = Request(
        dimensions=["geo"], hierarchies={"geo": Hierarchy(columns=("region", "town"))}
    )
    with open_source(pa.table(records)) as source:
        (cells,) = cube(source, StoredKeys(column="key"), [request])
    names = CellNames(cells, ["geo"])
    labels = [
        (region, town)
        for region, town in zip(*(t[cells.ranks[0]] for t in cells.axes[0].labels), strict=True)
    ]
    for named, place in (
        ({"geo": "A"}, ("A", "Total")),
        ({"region": "B"}, ("B", "Total")),
        ({"region": "B", "town": "x"}, ("B", "x")),
        ({"geo": "y"}, ("A", "y")),
        ({"geo": ""}, ("Total", "Total")),
        ({}, ("Total", "Total")),
    ):
        assert labels[names.find(named)] == place
    assert names.find({"geo": "x"}) is None  # two towns
    assert names.find({"region": "A", "town": "z"}) is None
    assert names.columns == ("geo", "region", "town")


def test_cells_of_the_job_that_are_not_there_are_named(folder):
    with pytest.raises(ConfigError, match=r"not there: cell 1 of keep; cell 1 of prefer"):
        hidden(folder, 'keep = [{ region = "Q" }]\nprefer = [{ sex = "F" }]')


@pytest.mark.parametrize("rules", ["", 'unknown = "ignore"'])
def test_what_is_said_of_cells_that_are_not_there_is_ignored_where_that_is_asked(
    folder, rules, caplog
):
    text = "Q,a,u\nW,b,c,0.01\nN,z,pl,1,2\n"
    own = "" if rules else 'unknown = "ignore"'
    more = cells_file(folder, text, more=own)
    assert hidden(folder, rules, more=more) == {"Nb", "Nc", "Wb", "Wc"}
    assert "2 lines of 'cells.hst' are of cells that are not there" in caplog.text
    strict = cells_file(folder, text, more='unknown = "refuse"')
    with pytest.raises(ConfigError, match=r"not there: line 1 of 'cells.hst'; line 3"):
        hidden(folder, rules, more=strict, out="o2")


def test_entries_of_cells_that_are_not_there_are_ignored_where_that_is_asked(folder):
    rules = 'unknown = "ignore"\nkeep = [{ region = "Q" }]\nprefer = [{ sex = "F" }]'
    assert hidden(folder, rules) == hidden(folder, out="o2")


def test_an_unsafe_cell_is_not_kept_unless_it_is_called_safe(folder):
    keep = 'keep = [{ region = "N", branch = "b" }]'
    with pytest.raises(CheckFailedError, match=r"unsafe, and are to be kept\.") as no:
        hidden(folder, keep)
    assert no.value.places.rows == (("work", "region=N, branch=b", "unsafe"),)


def test_kept_cells_that_leave_an_unsafe_one_alone_are_named(folder):
    keep = 'keep = [{ region = "N", branch = "a" }, { region = "N", branch = "c" }, {}]'
    with pytest.raises(CheckFailedError, match="cannot be protected") as no:
        hidden(folder, f'{keep[:-1]}, {{ region = "N" }}]')
    assert no.value.places.rows == (("work", "region=N, branch=b", "unsafe"),)
    assert "hide cells that are kept: " in no.value.hint
    assert "Nb" in hidden(folder, keep)


def test_what_is_left_without_another_table_is_told_by_its_name():
    left = [(np.array([4, 1, 2, 7]), np.array([1, -1, -1, 1]))]
    tables = [("all", np.array([3, 4])), ("women", np.array([1, 2]))]
    found = subtracted(SimpleNamespace(left=left), np.array([7]), tables)
    assert found.startswith("what is left of them without the cells of table 'women' is small")
    assert subtracted(SimpleNamespace(left=left), np.array([4, 7]), tables) is None


@pytest.mark.parametrize(
    ("rules", "more", "said"),
    [
        ('costs = "sum:pay"', "", "costs are no measure 'sum:pay' that all tables show"),
        ('costs = "weighted"', "", "costs are no measure"),
        ('previous = "nowhere"', "", "is no folder of a release"),
        ("", '[[suppression.cells]]\npath = "job.toml"\ntable = "wrk"', "did you mean 'work'"),
        ("", '[[suppression.cells]]\npath = "a.hst"\ntable = "work"', "'a.hst' does not exist"),
        (
            "",
            '[[suppression.cells]]\npath = "job.toml"\ntable = "work"\nmeasure = "sum:pay"',
            "the table does not show 'sum:pay'",
        ),
    ],
)
def test_keys_that_name_nothing_are_found_before_a_row_is_read(folder, rules, more, said):
    with pytest.raises(JobError, match=said):
        hidden(folder, rules, more=more)


@pytest.mark.slow
def test_the_pattern_of_last_year_is_preferred(folder):
    first = hidden(folder, 'keep = [{ region = "S", branch = "b" }]', out="2026")
    assert first == {"Nb", "Nc", "Wb", "Wc"}
    later = dict(PEOPLE) | {("W", "b"): (16, 10), ("E", "a"): (9, 10)}
    write_people(folder, later)
    assert hidden(folder, out="anew") != first
    assert hidden(folder, 'previous = "2026"', out="2027") == first
    read = json.loads((folder / "2027/internal/manifest.json").read_text())
    assert "2026/public/work.parquet" in json.dumps(read["inputs"])
    assert hidden(folder, 'previous = "2026"\npreferred_cost = 1.0', out="o4") != first


def test_a_release_without_the_tables_is_no_pattern(folder):
    (folder / "2026" / "public").mkdir(parents=True)
    with pytest.raises(ConfigError, match="has no table of this job"):
        hidden(folder, 'previous = "2026"')


def test_an_own_level_holds_against_contributors_of_other_cells_and_no_rule_asks_for_more():
    known = Contributions(
        number=np.array([3, 3, 3]),
        first=np.ones(3),
        second=np.ones(3),
        lower=np.full((4, 3), 5.0),
        upper=np.full((4, 3), 5.0),
    )
    rule = Primary(
        is_primary=np.array([True, True, False]),
        lower=np.array([6.0, 6, 0]),
        upper=np.array([6.0, 6, 0]),
        contributions=known,
    )
    wish = Wishes.none(3)
    wish.lower[0], wish.upper[0], wish.status[2] = 2.0, 9.0, UNSAFE
    found = wish.primary(rule, np.array([50, 60, 70]), margin=10.0)
    assert found.is_primary.all()
    assert found.lower.tolist() == [2, 6, 7]
    assert found.upper.tolist() == [9, 6, 7]
    assert found.contributions.lower[0].tolist() == [2, 5, 7]
    assert found.contributions.upper[0].tolist() == [9, 5, 7]
    assert found.contributions.lower[1].tolist() == [2, 5, 5]
    assert wish.primary(rule, np.array([-50, 0, -70]), margin=10.0).upper.tolist() == [9, 6, 7]
