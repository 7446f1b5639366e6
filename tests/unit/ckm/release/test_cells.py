"""Jobs whose data are cells: one office counts, another protects, and numbers stay the same."""

import tomllib

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import ckm
from ckm.cli import app
from ckm.errors import ConfigError
from ptable import Mechanism, NoiseSpec, solve
from tables import Secret

HEAD = """
schema = 1
[data]
path = "people.parquet"
id = "id"
weight = "w"
"""
NOISE = """
[keys]
secret = "secret.key"
[ptable]
max_noise = 2
variance = 1.0
"""
TABLES = """
[hierarchies]
geo = ["region", "commune"]
[[table]]
name = "places"
dimensions = ["geo", "sex"]
measures = ["count", "weighted"]
[[table]]
name = "ages"
dimensions = ["age"]
where = "job <> 'a'"
"""
AMOUNTS = """
[suppression]
threshold = 3
dominance = { n = 3, percent = 80.0 }
p_percent = 10.0
[[table]]
name = "income"
dimensions = ["region", "job"]
measures = ["count", "sum:income", "mean:income"]
"""


def run(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(7)
    region, n = rng.integers(1, 4, 400), 400
    people = {
        "id": np.arange(n),
        "region": [f"R{r}" for r in region],
        "commune": [f"C{c}" for c in region * 10 + rng.integers(1, 6, n)],
        "sex": rng.choice(["F", "M", None], n),
        "age": rng.integers(0, 90, n) // 10,
        "job": rng.choice([*"abcdef"], n, p=[0.3, 0.3, 0.2, 0.1, 0.05, 0.05]),
        "income": np.rint(rng.gamma(0.5, 400000, n)) / 100,
        "w": rng.integers(0, 5, n) / 4,
    }
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CKM_SECRET", raising=False)
    pq.write_table(pa.table(people), "people.parquet")
    (tmp_path / "secret.key").write_text("a secret that is used by nobody")
    (tmp_path / "secret.key").chmod(0o600)
    return tmp_path


def passed_on(folder, job):
    """Write a job, let its cells be written, and write the job of who gets them."""
    (folder / "counting.toml").write_text(job)
    result = run("job", "cells", "counting.toml", "-o", "cells.parquet")
    assert result.exit_code == 0, result.output
    (folder / "people.parquet").rename(folder / "away.parquet")
    section = result.stdout.strip()
    (folder / "protecting.toml").write_text(
        "schema = 1\n" + section + job[job.index("\n[", 20) :]
    )
    (folder / "away.parquet").rename(folder / "people.parquet")
    return tomllib.loads(section)["data"]


def same_files(folder, command):
    for job in ("counting", "protecting"):
        result = run(*command, f"{job}.toml", "-o", job)
        assert result.exit_code == 0, result.output
    names = {path.name for path in (folder / "counting" / "public").glob("*.csv")}
    assert len(names) == folder.joinpath("counting.toml").read_text().count("[[table]]")
    for name in names:
        one, two = ((folder / job / "public" / name) for job in ("counting", "protecting"))
        assert one.read_text() == two.read_text()


@pytest.mark.slow
def test_a_release_of_cells_is_that_of_their_records(folder):
    data = passed_on(folder, HEAD + NOISE + TABLES)
    assert data["cells"] == ["region", "commune", "sex", "age", "job"]
    assert (folder / "cells.parquet").stat().st_mode & 0o077 == 0
    made = pq.read_schema("cells.parquet")
    assert "id" not in made.names
    assert made.metadata[b"ckm_record_key_version"] == b"2"
    same_files(folder, ["release"])


def test_suppression_of_cells_hides_what_it_hides_of_their_records(folder):
    job = HEAD.replace('weight = "w"\n', "") + AMOUNTS
    data = passed_on(folder, job)
    assert "cell_key" not in data
    same_files(folder, ["suppress"])
    cells = pq.read_table("cells.parquet").drop_columns("income_3")
    pq.write_table(cells, "cells.parquet")
    result = run("suppress", "protecting.toml", "-o", "again")
    assert result.exit_code != 0
    assert "needs the 3 largest contributions" in result.output


def test_a_frequency_table_with_totals_is_rounded_and_its_designs_compared(folder):
    """No record, no key, no secret."""
    people = pq.read_table("people.parquet")
    cells = people.group_by(["region", "age"]).aggregate([([], "count_all")])
    table = cells.rename_columns(["region", "age", "n"])
    totals = table.group_by("age").aggregate([("n", "sum")]).rename_columns(["age", "n"])
    totals = totals.append_column("region", pa.array(["Total"] * len(totals)))
    table = pa.concat_tables([table, totals.select(["region", "age", "n"])])
    pyarrow.csv.write_csv(table, "table.csv")
    Mechanism.rounding(5).build().write("five.parquet")
    data = '[data]\npath = "table.csv"\ncells = ["region", "age"]\ncount = "n"\n'
    tables = '[[table]]\nname = "ages"\ndimensions = ["region", "age"]\n'
    noise = '[ptable]\npath = "five.parquet"\n'
    (folder / "job.toml").write_text(f"schema = 1\n{data}{noise}{tables}")
    result = run("release", "job.toml", "-o", "out")
    assert result.exit_code == 0, result.output
    rounded = pyarrow.csv.read_csv("out/public/ages.csv")
    assert len(rounded) == 4 * 10
    assert not any(n % 5 for n in rounded["count"].to_pylist())
    assert "keys" not in (folder / "out" / "internal" / "manifest.json").read_text()
    (folder / "designs.toml").write_text("[grid]\nmax_noise = [2]\nvariance = [1.0]\n")
    result = run("compare", "job.toml", "designs.toml", "-o", "map.csv")
    assert result.exit_code == 0, result.output
    (folder / "job.toml").write_text(f"schema = 1\n{data}{NOISE}{tables}")
    result = run("check", "--quick", "job.toml")
    assert result.exit_code == 2
    assert "cell_key names its column" in result.output


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            'cell_key = "cell_key"',
            'cell_key = "cell_key"\nid = "id"',
            "beside the keys of records",
        ),
        ('cell_key = "cell_key"', 'cell_key = "cell_key"\nengine = "spark"', "by duckdb"),
        ('cells = ["region"', 'cells = ["place"', "'place'"),
        ("[ptable]", '[ledger]\npath = "ledger.db"\n[ptable]', "A ledger compares the records"),
        ('"weighted"]', '"sum:w_n"]', "weighted"),
    ],
)
def test_what_needs_records_is_refused_before_a_row_is_read(folder, old, new, said):
    passed_on(folder, HEAD + NOISE + TABLES)
    job = (folder / "protecting.toml").read_text()
    assert old in job
    (folder / "protecting.toml").write_text(job.replace(old, new))
    result = run("check", "--quick", "protecting.toml")
    assert result.exit_code == 2
    assert said in result.output


def test_keys_of_cells_go_with_cells_alone(folder):
    (folder / "job.toml").write_text(HEAD + 'cell_key = "w"\n' + NOISE + TABLES)
    assert "go with cells alone" in run("check", "--quick", "job.toml").output


def test_an_engine_of_cells_answers_no_requests_on_the_fly_and_sums_nothing(tmp_path):
    ptable = solve(NoiseSpec(max_noise=2, variance=1.0))
    cells = pa.table({"sex": ["F"], "count": [9], "k": pa.array([1], pa.uint8()), "pay": [1.0]})
    cells = cells.append_column("pay_n", pa.array([9]))
    options = {"secret": Secret(bytes(16)), "ptable": ptable}
    engine = ckm.Engine(cells, cells=["sex"], cell_key="k", **options)
    with pytest.raises(ConfigError, match="need records"):
        engine.prepare(["sex"])
    with pytest.raises(ConfigError, match="noise of sums"):
        engine.tabulate(["sex"], measures=["sum:pay"])
    keyless = ckm.Engine(cells, cells=["sex"], **options)
    request = ckm.TableRequest(dimensions=["sex"])
    for call in (keyless.stream, lambda one, _: keyless.tabulate_all({"": one})):
        with pytest.raises(ConfigError, match="cell_key names its column"):
            call(request, tmp_path)
    with pytest.raises(ConfigError, match="one of id, record_key"):
        ckm.Engine(cells, cells=["sex"], record_key="k", **options)
    with pytest.raises(ConfigError, match="not cells"):
        ckm.Engine("cells.parquet", cells=["sex"], cell_key="k", engine="spark", **options)
