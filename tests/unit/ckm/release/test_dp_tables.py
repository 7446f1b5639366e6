"""`ckm dp release`: from a plan to files, charged once, whole or not at all."""

from __future__ import annotations

import contextlib
import json
import math
import pathlib
import re
import shutil
import sqlite3
import zipfile

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from lxml import html as parser
from pyarrow import csv, feather

from ckm.cli import app
from ckm.config.dp_plan import read_dp_plan
from ckm.config.problems import JobError
from ckm.release.dp_tables import records_of
from dp import BudgetLedger
from tables import contributions, open_source

#: What lies beside the tables.
PAGES = {f"{name}.html" for name in ("index", "index.fr", "report.en", "report.fr")} | {
    "certificate.json"
}
PLAN = """\
schema = 1
[data]
path = "people.parquet"
[privacy]
unit = "id"
epsilon = 1.0
delta = 1e-6
people = 1000
[ledger]
path = "budget.db"
who = "Ada"
[[table]]
name = "sex"
by = { sex = ["F", "M"] }
ask = [
  { kind = "units" },
  { kind = "sum", column = "age" },
  { kind = "top", column = "sector", categories = ["a", "b"], k = 1 },
  { kind = "left-out" },
]
[[table]]
name = "found"
by = { town = "find" }
ask = [{ kind = "rows" }]
[output]
formats = ["csv", "parquet"]
title = "People"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    people = {
        "id": np.arange(2000),
        "sex": rng.choice(["F", "M"], 2000),
        "age": rng.integers(0, 100, 2000),
        "sector": rng.choice(["a", "b"], 2000, p=[0.9, 0.1]),
        "town": ["large"] * 1998 + ["lone", "lone"],
    }
    pq.write_table(pa.table(people), "people.parquet")
    (tmp_path / "plan.toml").write_text(PLAN)
    BudgetLedger.create(
        "budget.db", epsilon=1.5, delta=1e-5, adjacency="add-remove", unit="person"
    )
    return tmp_path


def run(*words):
    return CliRunner().invoke(app, ["dp", "release", *words])


@pytest.mark.slow
def test_a_release_writes_tables_pages_and_a_certificate_and_is_charged_once(folder):
    result = run("plan.toml", "-o", "out")
    assert result.exit_code == 0, result.output
    names = {path.name for path in (folder / "out").iterdir()}
    tables = {f"{name}.{kind}" for name in ("sex", "found") for kind in ("csv", "parquet")}
    assert names == tables | PAGES
    rows = (folder / "out" / "sex.csv").read_text().splitlines()
    assert rows[0] == '"sex","statistic","value","lower","upper"'
    assert [row.split(",")[:2] for row in rows[1:4]] == [
        ['"F"', '"units"'],
        ['"F"', '"sum age"'],
        ['"F"', '"top sector: a"'],
    ]
    assert "lone" not in (folder / "out" / "found.csv").read_text()
    told = json.loads((folder / "out" / "certificate.json").read_text())
    assert told["guarantee"]["epsilon"] == 1
    assert told["found"]["sex"]["sum age"]["bounds"][1] == 127
    assert len(told["found"]["sex"]["left-out"]) == 2
    entries = BudgetLedger.open("budget.db").entries()
    assert [entry.what for entry in entries] == ["sex, found"]
    assert told["ledger"]["digest"] == entries[0].digest
    page = (folder / "out" / "report.en.html").read_text()
    assert "and the error that was expected, at 95" in page
    assert "units: the threshold" in page
    assert "Ranks follow from the rows of all categories" in page
    first = parser.document_fromstring((folder / "out" / "index.html").read_bytes())
    targets = {link.removeprefix("./") for link in first.xpath("//@href") if link[0] != "#"}
    assert targets == names - {"index.html"}
    cells = first.xpath("//table[@id='first-rows-a']/tbody/tr[1]/*")
    assert [cell.text_content() for cell in cells][:2] == ["F", "units"]
    assert "dp-release" in first.xpath("string(//footer/@data-assurance-case)")
    french = (folder / "out" / "report.fr.html").read_text()
    assert "bornes de somme age" in french
    assert "Bornes trouvées pour somme age" in french
    assert "lone" not in french

    again = run("plan.toml", "-o", "out")
    assert again.exit_code == 2
    assert "exists and is not empty" in again.output
    spent = run("plan.toml", "-o", "more")
    assert spent.exit_code == 1
    assert "left is epsilon = 0.5" in spent.output
    assert not (folder / "more").exists()
    assert len(BudgetLedger.open("budget.db").entries()) == 1


@pytest.mark.slow
def test_a_dry_run_tells_cost_and_errors_and_opens_no_data(folder):
    (folder / "people.parquet").write_bytes(b"no data at all")
    result = run("plan.toml", "-o", "out", "--dry-run")
    assert result.exit_code == 0, result.output
    assert "threshold" in result.output
    assert "all together: epsilon = 1, delta = 1e-06" in result.output
    assert not (folder / "out").exists()
    assert BudgetLedger.open("budget.db").entries() == ()
    assert run("plan.toml", "-o", "out").exit_code != 0
    assert BudgetLedger.open("budget.db").entries() == ()


def test_nothing_is_charged_where_a_column_does_not_fit(folder):
    (folder / "plan.toml").write_text(PLAN.replace('"sector"', '"trade"'))
    result = run("plan.toml", "-o", "out")
    assert result.exit_code == 2
    assert "Column 'trade' is not in the data" in result.output
    assert not (folder / "out").exists()
    assert BudgetLedger.open("budget.db").entries() == ()


def test_a_delta_too_large_for_the_people_is_warned_of(folder):
    (folder / "plan.toml").write_text(PLAN.replace("people = 1000", "people = 1_000_000"))
    assert "is not below 1 / people" in run("plan.toml", "-o", "out", "--dry-run").output


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("epsilon = 1.0", "epsilon = 0.0", "epsilon"),
        ("delta = 1e-6", "", "need a delta"),
        ('kind = "units"', 'kind = "median"', "Unknown question 'median'"),
        ("k = 1", "k = 3", "k exceeds"),
        ('"parquet"]', '"parkett"]', "format 'parkett' is unknown"),
        ('"parquet"]', '"px"]', "does not hold every text that may be found"),
        ('"find"', '"all"', "by"),
        ('title = "People"', 'titel = "People"', "titel"),
        ("[output]", 'where = "age ="\n[output]', "where|filter"),
        ("delta = 1e-6", "rho = 0.1", "in place of epsilon"),
    ],
)
def test_what_is_wrong_in_a_plan_is_told_before_anything_is_opened(folder, old, new, said):
    (folder / "plan.toml").write_text(PLAN.replace(old, new))
    with pytest.raises(JobError, match=said):
        read_dp_plan("plan.toml")


@pytest.mark.slow
def test_every_format_holds_what_noise_makes_of_any_data(folder):
    table = pq.read_table("people.parquet").to_pydict() | {
        "town": [f"t{n}" for n in range(2000)]
    }
    table["sex"] = ["F", 'a\x07"=1+1\n', "", "\ufffe"] * 500
    pq.write_table(pa.table(table), "people.parquet")
    formats = '["csv", "csv", "parquet", "xlsx"]'
    plan = PLAN.replace('["csv", "parquet"]', formats).replace('["F", "M"]', '"find"')
    (folder / "plan.toml").write_text(plan)
    result = run("plan.toml", "-o", "out")
    assert result.exit_code == 0, result.output
    assert pq.read_table("out/found.parquet").num_rows == 0
    assert pq.read_table("out/sex.parquet")["sex"].to_pylist().count("\ufffe") == 4


ODD = [
    (99, "F", 5, 1e308, "a", "big"),
    (98, "M", -(2**62), -math.inf, "z", "big"),
    *[(97, "X", None, math.nan, None, None)] * 50,
    *[(None, "F", 5, 5.0, "a", "big")] * 3,
    *[(96, "F", 5, 5e-324, "a" * 10_000, f"\x07=1+1 {n}") for n in range(40)],
]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_nothing_that_is_written_or_said_depends_on_records_but_by_noise(
    folder, kind, monkeypatch
):
    """Where all noise is the same whatever it goes on, so is every byte."""
    monkeypatch.setattr(
        "dp.mechanisms.noise.add_noise", lambda _law, values, **_: np.zeros_like(values)
    )
    monkeypatch.setattr("dp.mechanisms.choice.choose_largest", lambda _scores, **_: 0)
    plan = PLAN.replace("people.parquet", f"people.{kind}").replace('"parquet"]', '"xlsx"]')
    (folder / "plan.toml").write_text(plan.replace('"age" },', '"age" },' + MORE))
    plain = [(n, "FM"[n % 2], n, 1.0 * n, "ab"[n % 2], "big") for n in range(20)]
    names = ("id", "sex", "age", "wage", "sector", "town")
    types = (pa.int64(), pa.string(), pa.int64(), pa.float64(), pa.string(), pa.string())
    outcomes = []
    for rows in (plain, plain + ODD, plain[:1]):
        columns = zip(zip(*rows, strict=True), types, strict=True)
        table = pa.table([pa.array(c, t) for c, t in columns], names=list(names))
        (pq.write_table if kind == "parquet" else csv.write_csv)(table, f"people.{kind}")
        (folder / "budget.db").unlink()
        BudgetLedger.create(
            "budget.db", epsilon=1, delta=1e-5, adjacency="add-remove", unit="person"
        )
        result = run("plan.toml", "-o", "out")
        assert result.exit_code == 0, result.output
        said = {"said": result.output.encode()} | {p.name: content(p) for p in sorted_in("out")}
        outcomes.append({name: TIMES.sub(b"", text) for name, text in said.items()})
        shutil.rmtree("out")
    assert outcomes[0] == outcomes[1] == outcomes[2]


TIMES = re.compile(rb"\d{4}-\d\d-\d\dT[\d:.+]+")
MORE = """
  { kind = "mean", column = "wage" },
  { kind = "quantiles", column = "wage", lower = 0, upper = 9, at = [0.5] },
  { kind = "histogram", column = "age", edges = [0, 18, 99] },
"""


def sorted_in(folder):
    return sorted(pathlib.Path(folder).iterdir())


def content(file):
    """What a file says, but for the time that stands in it."""
    if file.suffix == ".xlsx":
        with zipfile.ZipFile(file) as parts:
            return b"".join(map(parts.read, sorted(parts.namelist())))
    if file.name != "certificate.json":
        return file.read_bytes()
    told = json.loads(file.read_text())
    told["ledger"].pop("digest")
    told["files"] = [one for one in told["files"] if "xlsx" not in str(one)]
    return json.dumps(told).encode()


def test_a_plan_of_rho_with_filters_is_released(folder):
    plan = PLAN[: PLAN.rindex("[[table]]")].replace("epsilon = 1.0", "rho = 0.1")
    plan = plan.replace("by = { sex", "where = \"sector = 'b' and age < 200\"\nby = { sex")
    (folder / "plan.toml").write_text(plan)
    BudgetLedger.create("rho.db", rho=0.1, adjacency="add-remove", unit="person")
    (folder / "plan.toml").write_text(plan.replace("budget.db", "rho.db"))
    result = run("plan.toml", "-o", "out")
    assert result.exit_code == 0, result.output
    assert BudgetLedger.open("rho.db").left.rho == 0
    told = json.loads((folder / "out" / "certificate.json").read_text())
    assert told["guarantee"]["rho"] == 0.1
    assert told["plan"]["tables"][0]["where"] == "sector = 'b' and age < 200"
    units = float((folder / "out" / "sex.csv").read_text().splitlines()[1].split(",")[2])
    assert 40 < units < 170  # of 1,000 of each sex one in ten


def test_a_dry_run_speaks_french(folder):
    (folder / "plan.toml").write_text(PLAN.replace("people = 1000\n", ""))
    said = run("plan.toml", "-o", "out", "--dry-run", "--lang", "fr", "--log-format", "text")
    assert said.exit_code == 0
    for words in ("bornes de sum age", "clés", "unités, seuil", "en tout\N{NO-BREAK SPACE}:"):
        assert words in said.output
    assert "ne promet quelque chose que si" in said.output


DECLARED = PLAN[: PLAN.rindex("[[table]]")] + "[output]\n"
EVERY = ["csv-labels", "parquet", "xlsx", "json-stat2", "px", "sdmx-csv", "sdmx-csv-1", "csvw"]


@pytest.mark.slow
def test_a_plan_with_declared_keys_writes_every_format_that_a_release_has(folder):
    (folder / "plan.toml").write_text(DECLARED + f"formats = {json.dumps(EVERY)}\n")
    result = run("plan.toml", "-o", "out")
    assert result.exit_code == 0, result.output
    ends = ("labels.csv", "parquet", "xlsx", "json", "px", "sdmx.csv", "sdmx1.csv", "csv")
    names = {path.name for path in (folder / "out").iterdir()}
    files = {f"sex.{end}" for end in ends} | {"sex.csv-metadata.json"}
    assert names - files == PAGES
    assert files <= names
    told = json.loads((folder / "out" / "certificate.json").read_text())
    assert {file["file"] for file in told["files"]} == files
    cube = json.loads((folder / "out" / "sex.json").read_text())
    assert cube["id"][:2] == ["sex", "statistic"]


def test_a_format_that_cannot_hold_a_table_is_refused_before_anything_is_charged(folder):
    plan = DECLARED.replace('by = { sex = ["F", "M"] }', 'by = { sex = ["F", ""] }')
    (folder / "plan.toml").write_text(plan + 'formats = ["sdmx-csv"]\n')
    for words in (("--dry-run",), ("-o", "out")):
        result = run("plan.toml", *words)
        assert result.exit_code == 2, result.output
        assert "SDMX has no empty category" in result.output
    assert BudgetLedger.open("budget.db").entries() == ()


def test_a_plan_has_its_price_before_there_is_a_ledger(folder):
    (folder / "budget.db").unlink()
    without = PLAN.replace('[ledger]\npath = "budget.db"\nwho = "Ada"\n', "")
    for plan in (PLAN, without):
        (folder / "plan.toml").write_text(plan)
        priced = run("plan.toml", "--dry-run")
        assert priced.exit_code == 0, priced.output
        assert "all together: epsilon = 1, delta = 1e-06" in priced.stdout
        assert "there is no ledger yet" in priced.stderr
        refused = run("plan.toml", "-o", "out")
        assert refused.exit_code == 2
        assert "no ledger" in refused.stderr
    assert run("plan.toml").exit_code == 2
    assert not (folder / "out").exists()


def test_a_dry_run_tells_cells_and_intervals_of_quantiles(folder):
    more = '{ kind = "quantiles", column = "age", lower = 0, upper = 10_000_000, at = [0.5] },'
    (folder / "plan.toml").write_text(PLAN.replace('{ kind = "units" },', more))
    said = run("plan.toml", "--dry-run").stdout
    assert "3.1 per cent of its values at most, or 0.01; none is wider than 20971.5" in said
    assert "0.5, among 1,000 rows: from the quantile" in said


def _feather(frame):
    feather.write_feather(pa.Table.from_pandas(frame, preserve_index=False), "people.arrow")


def _two_files(frame):
    frame[:900].to_csv("a.csv", index=False)
    frame[900:].to_csv("b.csv", index=False)


def _duckdb(frame):
    with duckdb.connect("people.duckdb") as db:
        db.register("frame", frame)
        db.execute("CREATE TABLE persons AS FROM frame")


def _sqlite(frame):
    with contextlib.closing(sqlite3.connect("people.sqlite")) as db:
        frame.to_sql("persons", db, index=False)


#: What "Your data" lists: how it is written, and what the plan says.
KINDS = {
    "parquet": (lambda f: f.to_parquet("people.parquet"), 'path = "people.parquet"'),
    "csv with a decimal comma": (
        lambda f: f.to_csv("people.csv", sep=";", decimal=",", index=False),
        'path = "people.csv"\ndecimal = ","',
    ),
    "a list of files": (_two_files, 'path = ["a.csv", "b.csv"]'),
    "compressed tabs": (
        lambda f: f.to_csv("people.tsv.gz", sep="\t", index=False),
        'path = "people.tsv.gz"',
    ),
    "arrow": (_feather, 'path = "people.arrow"'),
    "duckdb": (_duckdb, 'path = "people.duckdb"\ntable = "persons"'),
    "sqlite": (_sqlite, 'database = "sqlite:///people.sqlite"\ntable = "persons"'),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_plan_reads_what_the_page_on_data_lists(folder, kind):
    table = pq.read_table("people.parquet")
    ages = table["age"].to_numpy() + 0.5
    sexes = np.array(table["sex"].to_pylist())
    write, place = KINDS[kind]
    write(table.to_pandas().assign(age=ages))
    plan = DECLARED.replace('path = "people.parquet"', place)
    asked = '{ kind = "sum", column = "age", lower = 0, upper = 100, step = 0.5 },'
    (folder / "plan.toml").write_text(plan.replace('{ kind = "sum", column = "age" },', asked))
    job = read_dp_plan("plan.toml")
    with records_of(job) as source:
        asked = job.plan.tables[0]
        found = contributions(
            source,
            unit="id",
            by=asked.by,
            groups_per_unit=1,
            rows_per_group=1,
            readings=[q.reading for q in asked.questions if q.reading],
        )
    assert found.rows.tolist() == [(sexes == sex).sum() for sex in "FM"]
    totals = dict(zip(found.readings[0].groups, found.readings[0].totals, strict=True))
    assert [totals[n] / 2 for n in (0, 1)] == [ages[sexes == sex].sum() for sex in "FM"]


@pytest.mark.slow
def test_tables_that_are_joined_by_unit_move_no_farther_than_one_table(folder):
    """The recipe of the page: a view whose rows are of one unit each, neighbours replayed."""
    rng = np.random.default_rng(8)
    jobs = {"id": rng.integers(0, 40, 90), "pay": rng.integers(0, 100, 90)}
    homes = {"id": np.arange(40), "region": rng.choice(["N", "S"], 40)}
    counts = []
    for out in (-1, 7):
        with duckdb.connect("many.duckdb") as db:
            db.execute("CREATE OR REPLACE TABLE jobs (id INT, pay INT)")
            db.execute("CREATE OR REPLACE TABLE homes (id INT, region TEXT)")
            for name, columns in (("jobs", jobs), ("homes", homes)):
                frame = pa.table(columns).to_pandas()
                frame = frame[frame["id"] != out]
                db.execute(f"INSERT INTO {name} FROM frame")
            db.execute(
                "CREATE OR REPLACE VIEW joined AS SELECT id, region, pay FROM jobs JOIN homes "
                "USING (id)"
            )
        with open_source("many.duckdb", table="joined") as source:
            found = contributions(
                source,
                unit="id",
                by={"region": ["N", "S"]},
                groups_per_unit=1,
                rows_per_group=50,
                readings=[{"column": "pay", "limits": (0, 100)}],
            )
        counts.append((found.units, found.rows))
    own = int((jobs["id"] == 7).sum())
    moved = [np.abs(a - b) for a, b in zip(*counts, strict=True)]
    assert own > 0
    assert [part.sum() for part in moved] == [1, own]
