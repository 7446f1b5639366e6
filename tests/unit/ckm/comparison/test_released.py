"""The job's own method in a comparison: exactly what ``ckm release`` makes of the job."""

from __future__ import annotations

import hashlib
import logging

import numpy as np
import pandas as pd
import pytest

from ckm.comparison.bench import open_bench
from ckm.comparison.compare_methods import OWN, compare_methods
from ckm.comparison.method_facts import comparison_of_methods, method_facts, standing_of
from ckm.comparison.released import released_tables
from ckm.config import read_job
from ckm.config.comparison.method_settings import Experiment, choose_methods
from ckm.release.job_inputs import load_secret, silent
from ckm.release.opening import JOB_METHODS, JobMethod
from ckm.release.perturbed import release
from reports import make_report
from reports.facts.methods import CriterionFact, MethodFact
from tests.unit.ckm.methods.test_method import opened_toy

DATA = """
schema = 1
[data]
path = "firms.parquet"
id = "firm"
[keys]
secret = "secret.key"
"""
TABLES = """
[hierarchies]
nuts = ["region", "county"]
[[table]]
name = "turnover"
dimensions = ["nuts", "size"]
measures = ["count", "sum:turnover"]
[[table]]
name = "branches"
dimensions = ["branch", "nuts"]
measures = ["sum:turnover"]
"""
RULES = """
[suppression]
threshold = 3
p_percent = 15.0
dominance = { n = 2, percent = 80.0 }
holding = "holding"
"""
NOISE = """
[ptable]
max_noise = 3
variance = 1.5
small = 1
"""
COUNTS = """
[[table]]
name = "sizes"
dimensions = ["county", "size"]
[[table]]
name = "branches"
dimensions = ["county", "branch"]
"""
QUICK = Experiment(persons=5)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng, n = np.random.default_rng(7), 150
    county = rng.integers(0, 4, n)
    firms = {
        "firm": [f"MARKER-{i}" for i in range(n)],
        "holding": [f"H{i // 2}" for i in range(n)],
        "region": [f"r{c // 2}" for c in county],
        "county": [f"c{c}" for c in county],
        "size": rng.choice(["s", "m", "l"], n, p=[0.7, 0.25, 0.05]),
        "branch": rng.choice([*"abcde"], n),
        "turnover": np.rint(rng.lognormal(4, 1.5, n)) + 1,
    }
    pd.DataFrame(firms).to_parquet(tmp_path / "firms.parquet")
    (tmp_path / "secret.key").write_text("a secret of some length")
    (tmp_path / "secret.key").chmod(0o600)
    monkeypatch.delenv("CKM_SECRET", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def job_of(folder, text):
    (folder / "job.toml").write_text(text)
    return read_job(folder / "job.toml")


def hidden_in(folder, name, column):
    """Return the cells of a released table that hold no number."""
    table = pd.read_csv(folder / "out" / "public" / f"{name}.csv", dtype={column: float})
    cells = table[table[column].isna()]
    return {tuple(map(str, row)) for row in cells.iloc[:, :3].to_numpy()[:, : _wide(table)]}


def _wide(table):
    return sum(not pd.api.types.is_numeric_dtype(kind) for kind in table.dtypes)


def hidden_on_bench(job):
    """Return the cells that the job's own method hides on its bench."""
    from contextlib import ExitStack

    from ckm.comparison.compare_methods import own_trial

    found = {}
    with (
        open_bench(job, QUICK, secret=load_secret(job), progress=silent) as bench,
        ExitStack() as stack,
    ):
        for name, answer in own_trial(bench, stack).planned().items():
            axes = zip(answer.axes, answer.ranks, strict=True)
            texts = [np.array(t, object)[rank] for a, rank in axes for t in a.labels]
            rows = zip(*(column[~answer.is_shown] for column in texts), strict=True)
            found[name] = {tuple(map(str, row)) for row in rows}
    return found


def require_as_released(folder, job):
    """Hold a comparison to a release of the same job: the same cells are hidden."""
    own = released_tables(job)
    release(job, folder / "out")
    on_bench = hidden_on_bench(job)
    for name, table in job.tables.items():
        column = "count" if "count" in table.measures else "sum_turnover"
        hidden = hidden_in(folder, name, column)
        assert hidden == on_bench[name]
        told = {each.hidden for each in own.measures if each.table == name}
        assert told == {len(hidden)}
    assert own.hidden > 0
    assert own.stopped == ""
    return own


def test_dominance_p_percent_and_holdings_hide_what_a_release_hides(folder):
    own = require_as_released(folder, job_of(folder, DATA + RULES + TABLES))
    sums = [each for each in own.measures if each.measure == "sum:turnover"]
    assert all(0 < each.lost < 1 for each in sums)
    assert all(each.change == 0 for each in own.measures)


def test_rules_that_differ_hide_other_cells(folder):
    loose = released_tables(job_of(folder, DATA + RULES.replace("15.0", "1.0") + TABLES))
    strict = released_tables(job_of(folder, DATA + RULES.replace("15.0", "60.0") + TABLES))
    assert loose.hidden < strict.hidden


def test_linked_tables_are_hidden_together(folder):
    rules = "[suppression]\nthreshold = 4\n"
    own = require_as_released(folder, job_of(folder, DATA + rules + COUNTS))
    alone = COUNTS.partition('[[table]]\nname = "branches"')[0]
    by_itself = released_tables(job_of(folder, DATA + rules + alone))
    of_sizes = sum(each.hidden for each in own.measures if each.table == "sizes")
    assert of_sizes >= by_itself.hidden


def test_files_of_what_is_known_beforehand_are_read(folder):
    (folder / "known.csv").write_text("county,size,status\nc0,s,unsafe\n")
    known = '[[suppression.cells]]\npath = "known.csv"\ntable = "sizes"\n'
    rules = "[suppression]\nthreshold = 2\n" + known
    job = job_of(folder, DATA + rules + COUNTS)
    require_as_released(folder, job)
    assert ("c0", "s") in hidden_on_bench(job)["sizes"]


def test_rounding_is_that_of_a_release(folder):
    job = job_of(folder, DATA + "[rounding]\nbase = 5\n" + COUNTS)
    own = released_tables(job)
    release(job, folder / "out")
    rounded = pd.read_csv(folder / "out" / "public" / "sizes.csv")
    true = pd.read_csv(folder / "out" / "internal" / "audit-sizes.csv")
    moved = (true["published"] - true["original"]).abs().mean()
    assert len(rounded)
    (told,) = (each.change for each in own.measures if each.table == "sizes")
    assert told == pytest.approx(moved)


LEDGER = '[ledger]\npath = "ledger.db"\n'


def digest(folder):
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.iterdir()
        if path.is_file()
    }


def test_a_comparison_writes_no_ledger_where_there_is_none(folder):
    job = job_of(folder, DATA + NOISE + LEDGER + COUNTS)
    before = digest(folder)
    compare_methods(job, choose_methods({}, only=("exact",)), experiment=QUICK)
    assert digest(folder) == before


def test_a_comparison_reads_the_ledger_and_leaves_it_as_it_is(folder):
    job = job_of(folder, DATA + NOISE + LEDGER + COUNTS)
    release(job, folder / "out")
    before = digest(folder)
    found = compare_methods(job, choose_methods({}, only=("exact",)), experiment=QUICK)
    own = found.result(OWN)
    assert own.released.has_ledger
    assert own.released.stopped == ""
    assert own.choice.kind == "as-released"
    assert digest(folder) == before


def test_what_the_ledger_would_refuse_is_told_and_nothing_is_published(folder):
    release(job_of(folder, DATA + NOISE + LEDGER + COUNTS), folder / "out")
    people = pd.read_parquet(folder / "firms.parquet")
    people.drop(index=[3]).to_parquet(folder / "firms.parquet")
    job, before = read_job(folder / "job.toml"), digest(folder)
    found = compare_methods(job, choose_methods({}, only=("exact",)), experiment=QUICK)
    assert "differ" in found.result(OWN).released.stopped
    page = make_report(comparison_of_methods(found, title=""), language="en").html
    assert "ckm release would stop now and publish nothing:" in page
    assert digest(folder) == before


def test_noise_of_a_job_is_that_of_its_release_to_the_last_count(folder):
    job = job_of(folder, DATA + NOISE + COUNTS)
    own = released_tables(job)
    release(job, folder / "out")
    published = pd.read_csv(folder / "out" / "public" / "sizes.csv")
    firms = pd.read_parquet(folder / "firms.parquet")
    shown = published[(published.county != "Total") & (published["size"] != "Total")]
    true = firms.groupby(["county", "size"]).size()
    (told,) = (each for each in own.measures if each.table == "sizes")
    margins = [firms.groupby("county").size(), firms.groupby("size").size()]
    assert told.cells == len(true) + sum(map(len, margins)) + 1
    inner = shown.set_index(["county", "size"])["count"].reindex(true.index, fill_value=0)
    assert told.change * told.cells >= (inner - true).abs().sum() - 1e-9


def test_a_method_that_is_added_is_compared_without_another_file(folder, monkeypatch):
    toy = JobMethod("ckm-toy", "toy complete", opened_toy)
    monkeypatch.setitem(JOB_METHODS, "rounding", toy)
    job = job_of(folder, DATA + "[rounding]\nbase = 7\n" + COUNTS)
    found = compare_methods(job, choose_methods({}, only=("rounding",)), experiment=QUICK)
    own = found.result(OWN)
    assert own.reason == ""
    assert 0 < own.released.mean_change < 7
    assert own.criteria.mean_change == pytest.approx(own.released.mean_change)
    assert own.criteria.share("on_demand") == 0


@pytest.mark.parametrize("language", ["en", "fr"])
def test_the_page_begins_with_the_method_of_the_job(folder, language, caplog):
    job = job_of(folder, DATA + RULES + TABLES)
    with caplog.at_level(logging.INFO):
        found = compare_methods(
            job, choose_methods({}, only=("exact", "rounding")), experiment=QUICK
        )
    facts = method_facts(found)
    assert next(iter(facts.standing)).startswith("own")
    assert {one.table for one in facts.released} == {"turnover", "branches"}
    page = make_report(comparison_of_methods(found, title=""), language=language).html
    first = page.partition('class="verdict">')[2]
    words = ("Votre méthode, suppression", "Your method, suppression")
    assert first.startswith(words[language == "en"])
    assert "MARKER" not in page + caplog.text


BEST = dict.fromkeys(
    ("same_answer", "same_by_another_route", "parts_below_totals", "additive", "on_demand",
     "decentral"), 1.0,
)  # fmt: skip


def method(name, loss, small, found, **shares):
    given = {**BEST, "found_by_differencing": found, "sure_but_wrong": 0.0, "cells_lost": 0.0}
    given |= {"small_counts_found": small, **shares}
    return MethodFact(
        name=name,
        kind=name,
        mean_change=loss,
        mean_loss=loss,
        criteria=tuple(CriterionFact(name=n, share=s, base=200) for n, s in given.items()),
    )


def test_what_is_better_by_all_is_named_and_else_what_each_costs():
    own, worse = method("job", 2.0, 0.4, 0.5), method("a", 3.0, 0.5, 0.6)
    safer, nearer = method("b", 3.0, 0.2, 0.1), method("c", 1.0, 0.6, 0.9)
    both = method("d", 1.5, 0.4, 0.1)
    assert list(standing_of([own, worse, both, safer], None)) == ["own", "beaten"]
    said = standing_of([own, worse, safer, nearer], None)
    assert list(said) == ["own", "safer", "nearer"]
    assert (said["safer"]["method"], said["nearer"]["method"]) == ("b", "c")
    assert (said["safer"]["loss"], said["safer"]["own_loss"]) == (3.0, 2.0)
    assert list(standing_of([own, worse], None)) == ["own", "none-better"]
    assert list(standing_of([MethodFact(name="job", kind="x", reason="No.")], None)) == [
        "own-not-tried"
    ]
