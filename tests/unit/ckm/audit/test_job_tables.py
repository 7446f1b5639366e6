"""``ckm audit job.toml``: its cells are those of the release, and of the ledger before it."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from lxml import html as parser

from ckm.audit.job_tables import open_release
from ckm.cli import app
from ckm.config.read import read_job
from ckm.errors import ConfigError
from ckm.ledger import Definition
from ckm.ledger.ledger import Published
from ckm.release.job_inputs import opened_job
from tables import Secret
from tests.strategies import worked_ptable

HEAD = """
schema = 1
data = { path = "people.parquet", id = "id" }
keys = { secret = "secret.key" }
ptable = { path = "pt.parquet" }
[hierarchies]
geo = ["region", "town"]
[categories]
sex = ["F", "M", "X"]
"""
TABLES = {
    "places": 'dimensions = ["geo", "sex"]\nmargins = [["region"], ["sex"]]',
    "regions": 'dimensions = ["region", "age"]\nmargins = "none"',
    "zones": 'dimensions = ["zone", "sex"]',
    "adults": 'dimensions = ["sex"]\nwhere = "age >= 20"',
    "sums": 'dimensions = ["sex"]\nmeasures = ["sum:age"]',
}


def write_job(folder, tables=TABLES, *, more=""):
    rng = np.random.default_rng(4)
    town = rng.integers(0, 6, 400)
    people = {
        "region": np.char.add("R", (town // 3).astype(str)),
        "town": np.char.add("T", town.astype(str)),
        "zone": rng.integers(0, 4, 400).astype(str),
        "sex": rng.choice(["F", "M"], 400),
        "age": rng.integers(0, 40, 400),
    }
    pd.DataFrame({"id": range(400), **people}).to_parquet(folder / "people.parquet")
    if not (folder / "secret.key").exists():
        Secret(bytes(range(32))).write(folder / "secret.key")
        worked_ptable().write(folder / "pt.parquet")
    text = "".join(f'[[table]]\nname = "{name}"\n{of}\n' for name, of in tables.items())
    (folder / "job.toml").write_text(HEAD + more + text)
    return folder / "job.toml"


def numbers_of(space, table):
    """Return the counts of a table that are not 0, sorted: what a reader of the file has."""
    shown = space.shown[table]
    return sorted(shown.published[shown.is_shown & (shown.published > 0)].tolist())


def released(job):
    """Return the counts of the release, table by table and level by level."""
    found = {}
    with opened_job(job, is_kept=False) as opened:
        tables = {n: t for n, t in job.tables.items() if "count" in t.measures}
        for protected in opened.engine.protect_tables(tables):
            cells, counts = protected.cells, protected.counts
            for levels in cells.level_sets:
                here = counts > 0
                for axis, level, ranks in zip(cells.axes, levels, cells.ranks, strict=True):
                    here &= np.isin(ranks, axis.levels[level].ranks)
                found[protected.name, levels] = sorted(counts[here].tolist())
    return found


def test_the_cells_are_those_of_the_release(tmp_path):
    job = write_job(tmp_path)
    space, _, release = open_release(job)
    assert list(release.tables) == ["places", "regions", "zones", "adults"]
    assert release.left_out == {"sums": "it publishes no counts"}
    assert space.variables == ("geo", "sex", "age", "zone")
    everybody, adults = 2, 1
    wanted = {  # town, sex, age, zone at their finest are 0; region is 1 of geo
        ("places", (0, 0)): (0, 0, 1, 1, everybody),
        ("places", (1, 1)): (1, 1, 1, 1, everybody),
        ("places", (2, 0)): (2, 0, 1, 1, everybody),
        ("regions", (0, 0)): (1, 1, 0, 1, everybody),
        ("zones", (0, 0)): (2, 0, 1, 0, everybody),
        ("zones", (0, 1)): (2, 1, 1, 0, everybody),
        ("zones", (1, 1)): (2, 1, 1, 1, everybody),
        ("adults", (0,)): (2, 0, 1, 1, adults),
        ("adults", (1,)): (2, 1, 1, 1, adults),
    }
    assert set(space.shown) == set(wanted.values())
    counts = released(read_job(job))
    for (name, levels), table in wanted.items():
        assert numbers_of(space, table) == counts[name, levels]
    assert space.joint.n_records == 400


def test_tables_that_the_ledger_has_from_before_are_looked_at_too(tmp_path):
    ledger = '[ledger]\npath = "ledger.db"\npolicy = "flag"\n'
    first = write_job(tmp_path, {n: TABLES[n] for n in ("places", "adults")}, more=ledger)
    run = CliRunner().invoke(app, ["release", str(first), "-o", str(tmp_path / "out")])
    assert run.exit_code == 0, run.stderr
    both, _, before = open_release(write_job(tmp_path, {"adults": TABLES["adults"]}))
    assert list(before.tables) == ["adults"]
    tables = {n: TABLES[n] for n in ("adults", "zones")}
    whole, _, after = open_release(write_job(tmp_path, tables, more=ledger))
    assert list(after.tables) == ["adults", "zones", "places (ledger 1)"]
    assert len(whole.shown) == len(both.shown) + 4 + 2  # the sexes are a margin of both


@pytest.mark.parametrize(
    "strange",
    [
        {"dimensions": ("gone",)},
        {"dimensions": ("zone", "zone")},
        {"where": "sex = "},
        {"where": "id < 300"},
        {"margins": "chosen"},
        {"margins": "5"},
        {"margins": '["zone"]'},
        {"margins": "[[1]]"},
        {"margins": "[" * 100_000},
    ],
    ids=str,
)
def test_earlier_tables_that_cannot_be_built_are_left_out(tmp_path, monkeypatch, strange):
    ledger = '[ledger]\npath = "ledger.db"\n'
    job = write_job(tmp_path, {"adults": TABLES["adults"]}, more=ledger)
    told = Definition(**{"name": "\x1b[1mold", "dimensions": ("zone",)} | strange)
    entry = Published(number=7, history="public", published_at="", definition=told)
    monkeypatch.setattr("ckm.audit.job_tables.has_ledger", lambda _: True)
    monkeypatch.setattr("ckm.audit.job_tables.list_published", lambda _: [entry])
    release = open_release(job)[2]
    assert list(release.tables) == ["adults"]
    assert list(release.left_out) == ["?[1mold (ledger 7)"]


def test_axes_that_no_table_shows_together_are_never_multiplied(tmp_path, monkeypatch):
    job = write_job(tmp_path)
    space, auditor, _ = open_release(job)
    whole = auditor.audit(space)
    assert len(space.variables) == 4
    monkeypatch.setattr("risk.reconstruction.blocks.MAX_JOINT", 240)
    assert math.prod(space.lattice.shape) > 240
    assert auditor.audit(space) == whole
    sums = space.truth()
    noise = [one.published - sums[table] for table, one in space.shown.items()]
    inside = [n[s.is_shown] for n, s in zip(noise, space.shown.values(), strict=True)]
    assert max(abs(n).max() for n in inside) <= auditor.ptable.max_noise


def test_filters_that_a_service_would_refuse_are_audited(tmp_path):
    """They pass all records, nobody, the same ones; and a category is called Total."""
    filters = {"all": "age >= 0", "none": "age > 77", "some": "age >= 2", "same": "age > 1"}
    tables = {n: f'dimensions = ["sex"]\nwhere = "{of}"' for n, of in filters.items()}
    zones = {"zones": 'dimensions = ["zone", "sex"]'}
    job = write_job(tmp_path, {**zones, **tables}, more='[output]\ntotal_label = "_T"\n')
    people = pd.read_parquet(tmp_path / "people.parquet").replace({"zone": {"0": "Total"}})
    people.to_parquet(tmp_path / "people.parquet")
    space, auditor, release = open_release(job)
    assert list(release.tables) == ["zones", "all", "some", "same"]
    assert release.left_out == {"none": "no record passes its filter"}
    of_sex = {table: numbers_of(space, table) for table in space.shown if table[:2] == (1, 0)}
    assert auditor.audit(space).exposures
    assert len(of_sex) == 3
    assert len(set(map(tuple, of_sex.values()))) == 2


def test_a_job_without_counts_or_without_noise_is_named(tmp_path):
    with pytest.raises(ConfigError, match="publishes counts"):
        open_release(write_job(tmp_path, {"sums": TABLES["sums"]}))
    job = write_job(tmp_path, {"zones": TABLES["zones"]})
    noise = 'ptable = { path = "pt.parquet" }'
    job.write_text(job.read_text().replace(noise, "suppression = { threshold = 3 }"))
    with pytest.raises(ConfigError, match="has no noise"):
        open_release(job)


def test_the_command_names_the_tables_and_what_to_leave_out_without_what_a_service_needs(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("ckm.cli.serve._WEB", ("no_such_package",))
    job = write_job(tmp_path)
    page, audit = tmp_path / "audit.html", ["audit", str(job)]
    done = CliRunner().invoke(app, [*audit, "--small", "9", "--limit", "0", "-o", str(page)])
    assert done.exit_code == 1, done.stderr
    assert "left out: sums, as it publishes no counts" in done.stdout
    told = json.loads((tmp_path / "audit.json").read_text())
    assert told["release"] == ["places", "regions", "zones", "adults"]
    assert told["left_out"] == ["sums"]
    closed = {one["what"] for one in told["advice"][0]["options"]}
    assert closed == {
        "no table of geo (town), sex",
        "no table of geo (region), age",
        "no table of sex, zone",
        "no table of sex, population (age >= 20)",
    }
    assert "every earlier table of its ledger" in page.read_text()
    for option in (["--areas", "3"], ["-o", str(page)]):
        assert CliRunner().invoke(app, [*audit, *option]).exit_code == 2


def test_the_figures_have_the_cautions_of_the_page(tmp_path):
    alike = {"sums": 'dimensions = ["sex"]\nmeasures = ["count", "sum:hours"]'}
    job = write_job(tmp_path, {**TABLES, **alike})
    people = pd.read_parquet(tmp_path / "people.parquet")
    people["hours"] = 35 + people["age"] % 7
    people.to_parquet(tmp_path / "people.parquet")
    done = CliRunner().invoke(app, ["audit", str(job), "-o", str(tmp_path / "audit.html")])
    assert done.exit_code == 0, done.stderr
    told = json.loads((tmp_path / "audit.json").read_text())["cautions"]
    assert len(told) == 3
    assert told[0].startswith("It is an attack, not an upper bound")
    assert "amounts of 'hours' vary so little" in told[2]
    page = parser.fromstring((tmp_path / "audit.html").read_bytes()).text_content()
    assert all(text in page for text in told)


def test_a_release_is_held_to_its_audit(tmp_path):
    run = CliRunner()
    job = write_job(tmp_path, {"zones": TABLES["zones"], "regions": TABLES["regions"]})
    text = job.read_text()
    out = tmp_path / "out"

    def released(limits):
        job.write_text(text.replace("[[table]]", limits + "[[table]]", 1))
        return run.invoke(app, ["release", str(job), "-o", str(out), "--force"])

    page = out / "internal" / "report-internal.en.html"
    assert released("").exit_code == 0
    unseen = "disclosure from all tables together was not assessed"
    assert unseen in page.read_text()
    report = '[report]\naudit = "audit.json"\n[report.limits]\nall_tables = {}\n'
    told = tmp_path / "audit.json"
    audit = ["audit", str(job), "--small", "9", "-o", str(told), "--limit", "1"]
    assert run.invoke(app, audit).exit_code == 0
    share = json.loads(told.read_text())["largest_share"]
    assert 0 < share < 1
    done = released(report.format(share))
    assert done.exit_code == 0, done.stderr
    assert unseen not in page.read_text()
    figures = parser.document_fromstring(page.read_text())
    row = figures.xpath("//table[@id='key-figures']/tbody/tr[3]/td")
    attack, limit = (" ".join(cell.text_content().split()) for cell in row)
    assert attack.startswith(f"{100 * share:.1f} % of the counts from 1 to 9, by ")
    assert limit.startswith("✓ at most")
    assert "Largest share of the counts from 1 to 9 inferred" in page.read_text()
    done = released(report.format(share - 1e-3))
    assert done.exit_code == 1
    assert "all-tables" in done.stderr
    text = text.replace('dimensions = ["zone", "sex"]', 'dimensions = ["zone"]')
    done = released(report.format(1))
    assert done.exit_code == 2
    assert "is of other rules, variables, populations or tables" in done.stderr
    job.write_text(text.replace("[[table]]", "[report.limits]\nall_tables = 1\n[[table]]", 1))
    assert "needs an audit" in run.invoke(app, ["release", str(job), "-o", "x"]).stderr


def test_an_audit_that_was_cut_short_is_a_lower_bound_and_meets_no_limit(tmp_path):
    run = CliRunner()
    job, told = write_job(tmp_path), tmp_path / "audit.json"
    audit = ["audit", str(job), "-o", str(told), "--limit-cpu", "0.001", "--limit", "1"]
    done = run.invoke(app, audit)
    assert done.exit_code == 1
    assert "lower bound" in done.stderr
    assert "all figures are lower bounds" in done.stdout
    assert "CPU s and" in done.stderr  # what it would have cost
    figures = json.loads(told.read_text())
    assert set(figures["unfinished"]) >= {"fit", "bounds"}
    assert figures["is_lower_bound"]
    limits = '[report]\naudit = "audit.json"\n[report.limits]\nall_tables = 1\n'
    job.write_text(job.read_text().replace("[[table]]", limits + "[[table]]", 1))
    done = run.invoke(app, ["release", str(job), "-o", str(tmp_path / "out")])
    assert done.exit_code == 1
    assert "all-tables" in done.stderr


def test_a_release_is_held_to_its_occupied_zeros(tmp_path):
    """Where one of two ages is published unlike its zone, somebody is of the other age."""
    rng, run = np.random.default_rng(1), CliRunner()
    job = write_job(tmp_path, {"zones": 'dimensions = ["zone", "age"]'})
    told = tmp_path / "audit.json"
    people = pd.DataFrame({"id": range(300), "zone": rng.integers(0, 60, 300).astype(str)})
    people["age"] = rng.choice(["young", "old"], 300, p=[0.2, 0.8])
    people["region"], people["town"] = "R", "T"
    people.to_parquet(tmp_path / "people.parquet")
    text = job.read_text()
    assert run.invoke(app, ["audit", str(job), "-o", str(told)]).exit_code == 0
    figures = json.loads(told.read_text())
    share = figures["largest_zeros_share"]
    assert figures["zeros"]["n"] > figures["zeros"]["n_occupied"] > 0
    assert figures["zeros"]["right"] > 0
    for limit, code in ((share, 0), (share - 1e-6, 1)):
        limits = f'[report]\naudit = "audit.json"\n[report.limits]\noccupied_zeros = {limit}\n'
        job.write_text(text.replace("[[table]]", limits + "[[table]]", 1))
        done = run.invoke(app, ["release", str(job), "-o", str(tmp_path / f"out{code}")])
        assert done.exit_code == code, done.stderr
        assert ("occupied-zeros" in done.stderr) == bool(code)
        assert (
            run.invoke(app, ["audit", str(job), "-o", str(told), "--force"]).exit_code == code
        )


def test_a_release_that_puts_a_record_into_too_many_counts_is_refused(tmp_path):
    """Zone by sex has four combinations of levels, place by sex six: total and sex twice."""
    run = CliRunner()
    job = write_job(tmp_path, {"zones": TABLES["zones"], "geo": 'dimensions = ["geo", "sex"]'})
    text = job.read_text()
    for maximum, code in ((7, 1), (8, 0)):
        ledger = f'[ledger]\npath = "ledger.db"\nmaximum_numbers = {maximum}\n'
        job.write_text(text.replace("[[table]]", ledger + "[[table]]", 1))
        for command in (["check", str(job)], ["release", str(job), "-o", str(tmp_path / "o")]):
            done = run.invoke(app, command)
            assert done.exit_code == code, done.stderr
            said = "in up to 8 published counts"
            assert said in " ".join(done.stderr.split())
    manifest = json.loads((tmp_path / "o" / "internal" / "manifest.json").read_text())
    assert manifest["ledger"]["counts_of_a_record"] == 8
    internal = (tmp_path / "o" / "internal" / "report-internal.en.html").read_text()
    assert "Up to 8 published counts contain one record" in internal
    assert "Up to 8" not in (tmp_path / "o" / "public" / "report.en.html").read_text()


DERIVED = """
[[variable]]
name = "young"
of = "age"
bands = [0, 10, 25]
labels = { en = "Age", fr = "Âge" }
[[variable]]
name = "decade"
of = "age"
width = 10
start = 0
end = 40
[[variable]]
name = "broad"
of = "age"
bands = [0, 20]
[[variable]]
name = "part"
of = "zone"
recode = { "0" = "N", "1" = "N", "2" = "S", "3" = "S" }
"""
DERIVED_LEVELS = 'old = ["broad", "decade"]\n[categories]'


def test_variables_made_of_columns_are_audited_as_they_are_released(tmp_path):
    tables = {
        "bands": 'dimensions = ["young", "sex"]',
        "widths": 'dimensions = ["decade"]\nmargins = "none"',
        "nested": 'dimensions = ["region", "old"]\nmargins = "none"',
        "parts": 'dimensions = ["part"]\nwhere = "young = \'25+\'"',
    }
    path = write_job(tmp_path, tables, more=DERIVED)
    text = path.read_text().replace("[categories]", DERIVED_LEVELS, 1)
    path.write_text(text)
    space, _, release = open_release(path)
    assert list(release.tables) == list(tables)
    assert not release.left_out
    counts = released(read_job(path))
    wanted = sorted(counts.values())
    assert sorted(numbers_of(space, table) for table in space.shown) == wanted
    run = CliRunner().invoke(app, ["audit", str(path)])
    assert run.exit_code == 0, run.stderr
