"""Additivity restored in a release: what is published, what is said, what is refused."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from ckm.cli import app
from ckm.config import JobError, read_job
from ckm.errors import ReleaseError
from ckm.methods.additivity.restore import restore_additivity
from ckm.release.files.manifest import METHODS
from ckm.release.perturbed import release
from ptable import Mechanism, NoiseSpec, solve
from ptable.lookup import rounding_base

JOB = """
schema = 1
[data]
path = "people.parquet"
id = "person_id"
[keys]
secret = "secret.key"
[ptable]
path = "pt.parquet"
[hierarchies]
geo = ["region", "commune"]
job = "jobs.csv"
[output]
additive = true
[report]
contact = "office"
[[table]]
name = "places"
dimensions = ["geo", "sex"]
[[table]]
name = "jobs"
dimensions = ["job", "sex"]
empty_cells = "drop"
"""


@pytest.fixture(scope="module")
def ptable():
    return solve(NoiseSpec(max_noise=4, variance=3.0, small=1))


@pytest.fixture
def folder(tmp_path, ptable, monkeypatch):
    rng = np.random.default_rng(3)
    n = 500
    region = rng.integers(1, 4, n)
    people = {
        "person_id": [f"MARKER-{i}" for i in range(n)],
        "region": [f"R{r}" for r in region],
        "commune": [f"R{r}C{c}" for r, c in zip(region, rng.integers(1, 9, n), strict=True)],
        "sex": rng.choice(["F", "M"], n).tolist(),
        "job": rng.choice(["a1", "a2", "b1", "b2", "b3"], n).tolist(),
        "income": np.rint(rng.gamma(2, 1500, n)).tolist(),
    }
    pq.write_table(pa.table(people), tmp_path / "people.parquet")
    ptable.write(tmp_path / "pt.parquet")
    (tmp_path / "jobs.csv").write_text(
        "code,parent\nall,\nA,all\nB,all\na1,A\na2,A\nb1,B\nb2,B\nb3,B\n"
    )
    (tmp_path / "secret.key").write_text("MARKER-a secret of sixteen bytes or more")
    (tmp_path / "secret.key").chmod(0o600)
    (tmp_path / "job.toml").write_text(JOB)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shown(out, name):
    return pd.read_parquet(out / "public" / f"{name}.parquet")


def manifest(out, part):
    return json.loads((out / part / "manifest.json").read_text(encoding="utf-8"))


@pytest.mark.slow
def test_published_tables_add_up_and_without_the_key_they_do_not(folder):
    release(read_job("job.toml"), "out")
    (folder / "job.toml").write_text(JOB.replace("additive = true", ""))
    release(read_job("job.toml"), "noisy")
    gaps = {}
    for out in ("out", "noisy"):
        table = shown(folder / out, "places").set_index(["region", "commune", "sex"])["count"]
        gap = 0
        for (region, commune, sex), number in table.items():
            if sex == "Total":
                parts = [table.get((region, commune, s), 0) for s in ("F", "M")]
                gap += abs(number - sum(parts))
            if commune == "Total" and region != "Total":
                rows = table.xs(sex, level="sex").xs(region, level="region")
                gap += abs(number - rows.drop("Total").sum())
            if region == "Total":
                rows = table.xs(sex, level="sex").xs("Total", level="commune")
                gap += abs(number - rows.drop("Total").sum())
        gaps[out] = gap
    assert gaps["out"] == 0
    assert gaps["noisy"] > 20
    jobs = shown(folder / "out", "jobs").set_index(["job", "sex"])["count"]
    assert jobs["B", "F"] == sum(jobs[code, "F"] for code in ("b1", "b2", "b3"))
    assert jobs["all", "Total"] == jobs["A", "Total"] + jobs["B", "Total"]


@pytest.mark.slow
def test_the_numbers_are_those_of_the_function_on_the_noisy_table(folder):
    release(read_job("job.toml"), "out")
    (folder / "job.toml").write_text(JOB.replace("additive = true", ""))
    seen = {}
    from ckm.release.job_inputs import load_ptable, open_engine

    job = read_job("job.toml")
    with open_engine(job, load_ptable(job)) as engine:
        seen = engine.tabulate_all(dict(job.tables))
    again = restore_additivity(seen["places"]).to_pandas()
    pd.testing.assert_frame_equal(
        again, shown(folder / "out", "places"), check_dtype=False, check_categorical=False
    )


@pytest.mark.slow
def test_the_internal_edition_tells_what_was_changed(folder):
    release(read_job("job.toml"), "out")
    told = manifest(folder / "out", "internal")["additivity"]
    assert set(told) == {"places", "jobs"}
    places = told["places"]
    assert 0 < places["changed"] <= places["cells"]
    assert places["largest"] >= 1
    assert places["effect"]["gap"][0] > 0.5
    assert places["effect"]["gap"][1] == pytest.approx(0, abs=1e-6)
    assert places["effect"]["width"][1] > places["effect"]["width"][0]
    page = (folder / "out" / "internal" / "report-internal.en.html").read_text()
    assert "Additivity of table" in page
    assert f"{places['changed']:,} of {places['cells']:,} numbers changed" in page


@pytest.mark.slow
def test_figures_of_the_change_are_right(folder, ptable):
    """Compare with figures computed from files alone."""
    release(read_job("job.toml"), "out")
    (folder / "job.toml").write_text(JOB.replace("additive = true", ""))
    release(read_job("job.toml"), "noisy")
    people = pd.read_parquet("people.parquet")
    after, before = (shown(folder / out, "places") for out in ("out", "noisy"))
    keys = ["region", "commune", "sex"]
    assert after[keys].astype(str).equals(before[keys].astype(str))
    counts = []
    for row in before[keys].astype(str).itertuples(index=False):
        part = people
        for column, value in zip(keys, row, strict=True):
            part = part if value == "Total" else part[part[column] == value]
        counts.append(len(part))
    told = manifest(folder / "out", "internal")["additivity"]["places"]
    held = np.array(counts) > 0
    for place, table in enumerate((before, after)):
        off = np.abs(table["count"].to_numpy() - counts)[held]
        assert told["deviation"][place] == pytest.approx(off.mean())
        assert told["read_right"][place] == pytest.approx((off == 0).mean())
    moved = np.abs(after["count"] - before["count"])
    assert told["changed"] == (moved > 0).sum()
    assert told["largest"] == moved.max()


@pytest.mark.slow
def test_everybody_is_told_that_a_cell_may_differ_between_tables(folder):
    done = CliRunner().invoke(
        app, ["release", "job.toml", "-o", "out", "--format", "json-stat2", "--format", "px"]
    )
    assert done.exit_code == 0, done.output
    public = folder / "out" / "public"
    assert manifest(folder / "out", "public")["method"] == METHODS["additive"]
    for name in ("places.json", "places.px", "jobs.json"):
        text = (public / name).read_text(encoding="utf-8")
        assert "another number in another table" in " ".join(text.split()).replace('" "', "")
    english = (public / "report.en.html").read_text()
    french = (public / "report.fr.html").read_text()
    assert "another count in another table" in english
    assert "Why totals need not add up" not in english
    assert "un autre effectif dans un autre" in french
    for path in public.iterdir():
        assert b"MARKER" not in path.read_bytes()


@pytest.mark.slow
def test_without_the_key_nothing_is_said_of_it(folder):
    (folder / "job.toml").write_text(JOB.replace("additive = true", ""))
    release(read_job("job.toml"), "out")
    english = (folder / "out" / "public" / "report.en.html").read_text()
    assert "Why totals need not add up" in english
    assert "another count in another table" not in english
    assert "additivity" not in manifest(folder / "out", "internal")


@pytest.mark.slow
def test_the_report_can_be_made_again(folder):
    release(read_job("job.toml"), "out")
    before = (folder / "out" / "public" / "report.en.html").read_bytes()
    done = CliRunner().invoke(app, ["report", "out"])
    assert done.exit_code == 0, done.output
    assert (folder / "out" / "public" / "report.en.html").read_bytes() == before


@pytest.mark.slow
def test_a_release_can_be_replaced(folder):
    release(read_job("job.toml"), "out")
    first = {p.name: p.read_bytes() for p in (folder / "out" / "public").iterdir()}
    release(read_job("job.toml"), "out", force=True)
    assert {p.name: p.read_bytes() for p in (folder / "out" / "public").iterdir()} == first


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("additive = true", 'additive = "yes"', "true or false"),
        (
            'dimensions = ["geo", "sex"]',
            'dimensions = ["geo", "sex"]\nmeasures = ["count", "sum:income"]',
            "table 'places' shows 'sum:income'",
        ),
        (
            'id = "person_id"',
            'id = "person_id"\nweight = "income"',
            None,
        ),
    ],
)
def test_what_additivity_does_not_go_with_is_refused(folder, old, new, word):
    assert old in JOB
    (folder / "job.toml").write_text(JOB.replace(old, new))
    if word is None:
        assert read_job("job.toml").output.additive
        return
    with pytest.raises(JobError, match=word):
        read_job("job.toml")
    assert CliRunner().invoke(app, ["release", "job.toml", "-o", "out"]).exit_code == 2
    assert not (folder / "out").exists()


@pytest.mark.slow
def test_a_table_without_records_and_one_without_margins_are_published(folder):
    text = JOB.replace('dimensions = ["geo", "sex"]', 'dimensions = ["sex"]\nmargins = "none"')
    text = text.replace('empty_cells = "drop"', "where = \"sex = 'X'\"")
    (folder / "job.toml").write_text(text)
    release(read_job("job.toml"), "out")
    told = manifest(folder / "out", "internal")["additivity"]
    assert told["places"]["changed"] == 0
    assert told["jobs"]["effect"] is None


@pytest.mark.slow
def test_a_dimension_that_is_called_count_keeps_its_name(folder):
    people = pq.read_table("people.parquet")
    names = ["count" if name == "sex" else name for name in people.column_names]
    pq.write_table(people.rename_columns(names), "people.parquet")
    (folder / "job.toml").write_text(JOB.replace('"sex"', '"count"'))
    release(read_job("job.toml"), "out")
    assert "count_published" in shown(folder / "out", "places")
    assert manifest(folder / "out", "internal")["additivity"]["places"]["changed"] > 0


def test_a_table_that_cannot_add_up_is_refused_by_name(folder, monkeypatch):
    import ckm.methods.additivity.release_step

    def refuse(*_args, **_named):
        raise ReleaseError("No such table.")

    monkeypatch.setattr(ckm.methods.additivity.release_step, "restore_additivity", refuse)
    with pytest.raises(ReleaseError, match="'places' cannot be made to add up"):
        release(read_job("job.toml"), "out")
    assert not (folder / "out").exists()


@pytest.mark.parametrize("ties", ["up", "even"])
def test_rounded_tables_add_up_in_multiples_of_their_base(folder, ties):
    Mechanism.rounding(4, ties=ties).build().write(folder / "pt.parquet", overwrite=True)
    release(read_job("job.toml"), "out")
    table = shown(folder / "out", "places")
    assert (table["count"] % 4 == 0).all()
    sums = table[(table["commune"] != "Total") & (table["sex"] != "Total")]["count"].sum()
    assert (table["commune"] == "Total").any()
    assert sums == table["count"].max()
    told = manifest(folder / "out", "internal")["additivity"]["places"]
    assert told["changed"] > 0
    assert told["effect"] is None
    english = (folder / "out" / "public" / "report.en.html").read_text()
    assert "Use the published total" in english
    assert "Do not add up published cells" not in english


def test_a_base_is_found_where_every_count_is_rounded_and_only_there(ptable):
    assert rounding_base(Mechanism.rounding(5, threshold=10).build()) == 5
    assert rounding_base(Mechanism.random_rounding(3).build()) == 3
    assert rounding_base(Mechanism.small_count_rounding(3).build()) == 1
    assert rounding_base(ptable) == 1
