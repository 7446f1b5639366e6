"""Rival methods on one bench: the true records, the true engine, and honest figures."""

from __future__ import annotations

import csv
import json
import tempfile
from contextlib import ExitStack, contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from pydantic import ValidationError

from ckm.cli import app
from ckm.comparison.bench import open_bench
from ckm.comparison.compare_methods import OWN, compare_methods, own_trial
from ckm.comparison.method_facts import comparison_of_methods, method_facts, methods_csv
from ckm.comparison.other_records import swapped_trial, synthetic_trial
from ckm.config import JobError, read_job
from ckm.config.comparison.comparanda import read_comparanda
from ckm.config.comparison.method_settings import (
    DEFAULTS,
    KINDS,
    Experiment,
    MethodChoice,
    choose_methods,
)
from ckm.engine.protection import Protection
from ckm.errors import ConfigError
from ckm.release.job_inputs import load_ptable, load_secret, open_engine, silent
from reports import make_report
from reports.catalogues.comparison import CRITERIA, DETAILS, METHODS
from reports.facts.methods import CriterionFact
from reports.pages.methods import rating_of
from risk.criteria.result import MEANINGS
from synth import Category, Certificate, Schema, Whole

JOB = """
schema = 1
[data]
path = "people.parquet"
id = "person_id"
[keys]
secret = "secret.key"
[ptable]
max_noise = 3
variance = 1.5
small = 1
[hierarchies]
geo = ["region", "town"]
[[table]]
name = "towns"
dimensions = ["geo", "sex"]
[[table]]
name = "ages"
dimensions = ["geo", "age", "sex"]
measures = ["count", "sum:income"]
where = "age <> 'a9'"
"""
FEW = ("exact", "rounding", "random-rounding", "cell-key")


def write(folder, job=JOB, n=240):
    rng = np.random.default_rng(5)
    town = rng.integers(0, 6, n)
    people = {
        "person_id": [f"MARKER-{i}" for i in range(n)],
        "home": [f"h{i // 2}" for i in range(n)],
        "region": [f"r{t // 3}" for t in town],
        "town": [f"t{t}" for t in town],
        "sex": rng.choice(["F", "M"], n),
        "age": [f"a{a}" for a in rng.integers(0, 4, n)],
        "income": rng.integers(1, 99, n),
    }
    pq.write_table(pa.table(people), folder / "people.parquet")
    (folder / "secret.key").write_text("a secret of some length")
    (folder / "secret.key").chmod(0o600)
    (folder / "job.toml").write_text(job)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.delenv("CKM_SECRET", raising=False)
    write(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@contextmanager
def bench_of(job, *, households=(), **changed):
    experiment, secret = Experiment(**{"persons": 9, **changed}), load_secret(job)
    with open_bench(
        job, experiment, secret=secret, households=households, progress=silent
    ) as bench:
        yield bench


def sample_of(job, **changed):
    with bench_of(job, **changed) as bench:
        return bench.sample


def run(*args):
    return CliRunner(env={"CKM_LOG_FORMAT": "text"}).invoke(app, [str(arg) for arg in args])


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rivals")
    write(
        folder, JOB.replace("where = \"age <> 'a9'\"", "")
    )  # so that tables have the same cells
    job = read_job(folder / "job.toml")
    return compare_methods(job, experiment=Experiment(persons=30))


@pytest.mark.slow
def test_every_method_is_tried_and_every_criterion_measured(found):
    beside = [name for name in DEFAULTS if name != "cell-key"]  # which is the job's own
    assert [result.choice.name for result in found.results] == [OWN, *beside]
    assert [result.reason for result in found.results] == [""] * len(found.results)
    for result in found.results:
        assert {c.name for c in result.criteria.measured} == set(MEANINGS)
        if not result.choice.name.startswith("suppression"):
            assert all(c.base for c in result.criteria.measured), result.choice.name


@pytest.mark.slow
def test_the_control_keeps_everything_and_gives_everybody_away(found):
    exact = found.result("exact")
    shares = {c.name: c.share for c in exact.criteria.measured}
    assert shares == {
        **dict.fromkeys(MEANINGS, 1.0),
        "sure_but_wrong": 0.0,
        "cells_lost": 0.0,
    }
    assert exact.mean_change == 0.0


@pytest.mark.slow
def test_figures_tell_the_methods_apart(found):
    share = {r.choice.name: r.criteria.share for r in found.results}
    assert share["random-rounding"]("same_answer") < 1
    assert share["random-rounding-keyed"]("same_answer") == 1
    assert share["random-rounding-keyed"]("decentral") == 1
    assert share[OWN]("additive") < share["cell-key-additive"]("additive") == 1
    rounded = share["controlled-rounding"]  # of true counts, all tables together
    assert rounded("additive") == rounded("same_answer") == 1
    assert rounded("same_by_another_route") < share["rounding"]("same_by_another_route")
    assert found.result("controlled-rounding").mean_change > 0
    assert share[OWN]("found_by_differencing") > 0.3
    assert share["cell-key-ledger"]("found_by_differencing") < 0.1
    assert share["suppression"]("on_demand") == 0
    assert share["suppression-alone"]("on_demand") > 0
    assert share["suppression"]("cells_lost") > 0
    assert found.result("suppression").mean_change == 0
    assert found.result("suppression").facts["exact"] == 0
    assert 0 < found.result("swapping").facts["moved_records"] <= 1


def counts_of(answer):
    """Give what is published, by the labels of every cell."""
    axes = zip(answer.axes, answer.ranks, strict=True)
    columns = [np.array(texts, object)[rank] for axis, rank in axes for texts in axis.labels]
    return dict(zip(zip(*columns, strict=True), answer.published.tolist(), strict=True))


def test_the_first_row_is_the_engine_to_the_last_count(folder):
    job = read_job("job.toml")
    with bench_of(job) as bench, ExitStack() as stack:
        trial = own_trial(bench, stack)
        planned, again = trial.planned(), trial.again()
        answered = trial.ask(bench.questions.requests)
    assert counts_of(planned["towns"]) == counts_of(again["towns"])
    with open_engine(job, load_ptable(job)) as engine:
        table = engine.tabulate(["geo", "sex"]).to_pandas()
        area = engine.tabulate(["sex"], where="town = 't3'").to_pandas()
    expected = {tuple(row[:-1]): row[-1] for row in table.to_numpy().tolist()}
    found = counts_of(planned["towns"])
    assert {cell: n for cell, n in found.items() if n} == expected
    code = [label[-1] for label in bench.sample.dimensions["geo"].labels[0]].index("t3")
    asked = counts_of(answered[f"area-{code}"])
    assert asked == {(sex,): n for sex, n in area.to_numpy().tolist()}


def test_a_ledger_refuses_what_differs_by_one_person_and_is_asked_in_turn(folder):
    own = JOB.replace("[[table]]", '[ledger]\npath = "ledger.db"\n[[table]]', 1)
    (folder / "job.toml").write_text(own)
    job = read_job("job.toml")
    with bench_of(job) as bench, ExitStack() as stack:
        trial = own_trial(bench, stack)
        planned = trial.planned()
        answered = trial.ask(bench.questions.requests)
        plain = own_trial(bench_without_ledger(bench), stack).planned()
    assert counts_of(planned["towns"]) == counts_of(plain["towns"])
    refused = [name for name, answer in answered.items() if answer is None]
    assert {name for name in answered if name.startswith("without-")} <= set(refused)
    assert not {name for name in refused if name.startswith("slice-towns")}
    assert not (folder / "ledger.db").exists()


def bench_without_ledger(bench):
    from dataclasses import replace

    return replace(bench, job=bench.job.changed(ledger=None))


def sizes_by_label(sample):
    geo = sample.dimensions["geo"]
    return {label: int((geo.codes[0] == c).sum()) for c, label in enumerate(geo.labels[0])}


def test_a_sample_of_areas_keeps_their_cells_whole(folder):
    job = read_job("job.toml")
    whole, some = sample_of(job), sample_of(job, records=130)
    assert (whole.drawn, some.drawn) == ("all", "areas")
    assert len(some) <= 130
    assert some.n_records == len(whole) == 240
    sizes = sizes_by_label(whole)
    assert all(n in {0, sizes[label]} for label, n in sizes_by_label(some).items())


def test_records_are_drawn_one_by_one_where_areas_are_too_large(folder):
    job = read_job("job.toml")
    few = sample_of(job, records=40)
    assert (few.drawn, len(few)) == ("records", 40)
    assert (few.record_keys == sample_of(job, records=40).record_keys).all()
    assert (few.record_keys != sample_of(job, records=40, seed=2).record_keys).any()


def test_row_order_does_not_show_in_the_sample(folder):
    job = read_job("job.toml")
    before = sample_of(job, records=100)
    table = pq.read_table("people.parquet")
    order = np.random.default_rng(3).permutation(table.num_rows)
    pq.write_table(table.take(order), "people.parquet")
    after = sample_of(job, records=100)
    assert (before.dimensions["geo"].codes[0] == after.dimensions["geo"].codes[0]).all()
    assert (before.record_keys == after.record_keys).all()


def test_nothing_of_the_records_is_left_behind(folder, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(folder))
    tempfile.tempdir = None
    before = set(folder.rglob("*"))
    try:
        with bench_of(read_job("job.toml")) as bench:
            file = bench.file
            assert file.exists()
            assert bench.folder.stat().st_mode & 0o077 == 0
    finally:
        tempfile.tempdir = None
    assert not file.exists()
    assert set(folder.rglob("*")) == before


@pytest.mark.slow
def test_more_areas_than_can_be_tried_are_sampled(folder):
    table = pq.read_table("people.parquet")
    alone = pa.array([f"x{i}" for i in range(table.num_rows)])
    pq.write_table(table.set_column(3, "town", alone), "people.parquet")
    job = read_job("job.toml")
    sample = sample_of(job, most_areas=50)
    assert len(np.unique(sample.dimensions["geo"].codes[0])) == 50
    found = compare_methods(
        job, choose_methods({}, only=FEW), experiment=Experiment(most_areas=50, persons=9)
    )
    assert all(result.criteria is not None for result in found.results)


def test_one_dimension_is_compared_without_areas(folder):
    one = JOB.partition("[hierarchies]")[0] + '[[table]]\nname = "s"\ndimensions = ["sex"]\n'
    (folder / "job.toml").write_text(one)
    found = compare_methods(
        read_job("job.toml"),
        choose_methods({}, only=(*FEW, "swapping", "suppression")),
        experiment=Experiment(persons=9),
    )
    assert method_facts(found).geography == ""
    assert found.result("exact").criteria.share("found_by_differencing") == 1
    assert found.result("exact").criteria.share("decentral") is None
    assert "areas" in found.result("swapping").reason
    page = make_report(comparison_of_methods(found, title=""), language="en").html
    assert "No dimension tells areas." in page
    assert "not measured" in page


@pytest.mark.slow
def test_methods_are_compared_at_equal_protection(folder):
    only = ("rounding", "random-rounding-keyed", "cell-key", "cell-key-additive")
    (folder / "equal.toml").write_text("[experiment]\nmost_found = 0.5\npersons = 9\n")
    wanted = read_comparanda("equal.toml", only=only)
    job = read_job("job.toml")
    options = {"experiment": wanted.experiment, "named": wanted.named}
    found = compare_methods(job, wanted.methods, **options)
    share = {r.choice.name: r.criteria.share("small_counts_found") for r in found.results}
    assert all(share[name] <= 0.5 for name in only[:3])
    for name, least in (("rounding", "base"), ("cell-key", "variance")):
        chosen = found.result(name).choice
        weaker = [v for v in chosen.settings.strength[1] if v < chosen.parameters[least]]
        assert chosen.settings.strength[0] == least
        if weaker:  # the next weaker one lets more be found
            before = chosen.settings.changed(**{least: weaker[-1]})
            tried = {name: MethodChoice(name=name, settings=before)}
            again = compare_methods(job, tried, experiment=Experiment(persons=9))
            assert again.results[1].criteria.share("small_counts_found") > 0.5
    assert found.result("cell-key-additive").choice == DEFAULTS["cell-key-additive"]
    page = make_report(comparison_of_methods(found, title=""), language="en").html
    assert "Compared at equal protection" in page


def test_a_protection_that_no_strength_reaches_is_told(folder):
    found = compare_methods(
        read_job("job.toml"),
        choose_methods({}, only=("swapping",)),
        experiment=Experiment(persons=9, most_found=0.01),
    )
    assert "lets no more than 1%" in found.results[1].reason


def test_data_without_records_are_refused(folder):
    pq.write_table(pq.read_table("people.parquet").slice(0, 0), "people.parquet")
    result = run("compare", "job.toml")
    assert result.exit_code == 3
    assert "There are no records." in result.stderr


def test_synthetic_records_are_counted_by_the_categories_of_the_bench(folder):
    pq.write_table(pq.read_table("people.parquet").drop(["person_id"]), "made.parquet")
    (folder / "methods.toml").write_text('[methods.synthetic]\npath = "made.parquet"\n')
    wanted = read_comparanda("methods.toml", only=("exact", "synthetic"))
    found = compare_methods(
        read_job("job.toml"), wanted.methods, experiment=Experiment(persons=9)
    )
    made = found.result("synthetic")
    assert made.mean_change == 0
    assert made.facts == {"left_out": 0.0, "size": 1.0}
    assert made.criteria.share("found_by_differencing") == 0


def test_synthetic_records_of_unknown_categories_are_left_out_and_said(folder):
    made = pq.read_table("people.parquet").drop(["person_id"]).to_pylist()
    for row in made[:60]:
        row["sex"] = "neither"
    pq.write_table(pa.Table.from_pylist(made), "made.parquet")
    job = read_job("job.toml")
    with bench_of(job) as bench:
        trial = synthetic_trial(bench, folder / "made.parquet")
        planned = trial.planned()["towns"]
    assert trial.facts() == {"left_out": 0.25, "size": 0.75}
    assert counts_of(planned)["Total", "Total", "Total"] == 180


@pytest.mark.slow
def test_records_of_a_synthesizer_are_compared_and_fit_the_hierarchy(folder):
    values = {
        "region": "r0 r1",
        "town": "t0 t1 t2 t3 t4 t5",
        "sex": "F M",
        "age": "a0 a1 a2 a3",
    }
    columns = [
        *(Category(name=name, values=some.split()) for name, some in values.items()),
        Whole(name="income", low=0, high=99, bins=10),
    ]
    Schema(
        columns=columns,
        rules=["if town in ('t0', 't1', 't2') then region == 'r0'",
               "if town in ('t3', 't4', 't5') then region == 'r1'"],
        ignored=["person_id", "home"],
    ).write("schema.json")  # fmt: skip
    fit = "synth fit people.parquet --schema schema.json --epsilon 2 --delta 1e-6 -o model.json"
    made = run(*fit.split())
    assert made.exit_code == 0, made.output
    sample = "synth sample model.json -n 240 --seed 1 -o made.parquet"
    made = run(*sample.split())
    assert made.exit_code == 0, made.output
    paper = Certificate.read("made.parquet.certificate.json")
    assert paper.verify(data="made.parquet", schema=Schema.read("schema.json")) == []
    (folder / "methods.toml").write_text('[methods.synthetic]\npath = "made.parquet"\n')
    wanted = read_comparanda("methods.toml", only=("exact", "synthetic"))
    found = compare_methods(
        read_job("job.toml"), wanted.methods, experiment=Experiment(persons=9)
    )
    result = found.result("synthetic")
    assert result.facts == {"left_out": 0.0, "size": 1.0}
    assert result.mean_change > 0
    assert result.criteria.share("found_by_differencing") == 0
    assert result.guarantee.status == "private"
    assert found.result("exact").guarantee is None
    assert ',guarantee,"epsilon 2 at delta 1e-06, add-remove, per' in methods_csv(found)
    page = make_report(comparison_of_methods(found, title=""), language="en").html
    assert "Differentially private by its certificate: epsilon 2 at delta" in page
    (folder / "made.parquet.certificate.json").unlink()
    compared = run("compare", "job.toml", "methods.toml", "--methods", "synthetic")
    assert compared.exit_code == 0, compared.output
    assert "synthetic: no certificate: nothing is known of its privacy" in compared.stdout


def test_a_household_moves_as_a_whole_and_only_its_place_changes(folder):
    job = read_job("job.toml")
    with bench_of(job, households=["home"]) as bench:
        facts = swapped_trial(bench, k=3, rate=0.2, seed=1).facts()
        before, after = (
            pq.read_table(file).to_pandas()
            for file in (bench.file, bench.file.parent / "swapped.parquet")
        )
    assert 0.2 <= facts["moved_households"] <= 1
    assert 0 < facts["moved_records"] <= 1
    places = ["region", "town", "ckm_code_0"]
    kept = [name for name in before.columns if name not in places]
    assert before[kept].equals(after[kept])
    assert (before.town != after.town).any()
    assert before.town.value_counts().equals(after.town.value_counts())
    codes = before.groupby("town").ckm_code_0.first()
    assert (after.town.map(codes) == after.ckm_code_0).all()
    assert (after.town.str[1:].astype(int) // 3 == after.region.str[1:].astype(int)).all()


@pytest.mark.slow
def test_the_page_has_words_for_every_method_and_detail(found):
    facts = method_facts(found)
    assert {method.kind for method in facts.methods} <= set(METHODS)
    assert {name for method in facts.methods for name in method.facts} <= set(DETAILS)
    assert list(CRITERIA) == list(MEANINGS)
    assert {label.partition("-")[0] for label in METHODS} == {
        kind.partition("-")[0] for kind in (*KINDS, "as-released")
    }


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "fr"])
def test_the_page_shows_shares_with_their_base_and_no_record(found, language):
    report = make_report(comparison_of_methods(found, title=""), language=language)
    assert report.edition == "internal"
    assert "MARKER" not in report.html
    assert "nan" not in report.html.lower().replace("nanc", "").replace("maintenant", "")
    assert report.html.count("<tr>") > 2 * len(DEFAULTS)
    assert ("sur 30" if language == "fr" else "of 30") in report.html


def test_compare_without_designs_shows_the_methods(folder):
    result = run("compare", "job.toml", "--methods", ",".join(FEW))
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("Your method, cell keys, as it would be released. Risk:")
    for name in FEW:
        assert name in result.stdout
    assert "MARKER" not in result.output
    assert "240" not in result.output  # how many records there are stays inside files


@pytest.mark.slow
def test_compare_writes_the_methods_to_every_kind_of_file(folder):
    for name in ("m.html", "m.json", "m.csv", "m.svg"):
        done = run("compare", "job.toml", "--methods", "exact, rounding", "-o", name)
        assert (done.exit_code, done.stdout) == (0, f"{name}\n"), done.stderr
        assert "MARKER" not in (folder / name).read_text()
        assert (folder / name).stat().st_mode & 0o077 == 0
    numbers = json.loads((folder / "m.json").read_text())["methods"]
    assert [method["name"] for method in numbers["methods"]] == [OWN, "exact", "rounding"]
    assert numbers["summed"] == ["ages"]
    assert [one["table"] for one in numbers["released"]] == ["towns", "ages", "ages"]
    with (folder / "m.csv").open() as file:
        lines = [line for line in csv.DictReader(file) if line["name"] == "additive"]
    assert [line["method"] for line in lines] == [OWN, "exact", "rounding"]
    assert lines[1]["number"] == "1.0"
    assert int(lines[0]["base"]) > 0


@pytest.mark.slow
def test_designs_and_methods_stand_on_one_page(folder):
    both = '[designs.r]\nmechanism = "rounding"\nbase = 3\n[methods]\nonly = ["rounding"]\n'
    (folder / "both.toml").write_text(both)
    assert run("compare", "job.toml", "both.toml", "-o", "both.html").exit_code == 0
    page = (folder / "both.html").read_text()
    assert 'id="methods"' in page
    assert 'id="scenarios"' in page
    refused = run("compare", "job.toml", "both.toml", "-o", "both.csv")
    assert refused.exit_code == 2
    assert "one CSV" in refused.stderr


def test_designs_alone_say_nothing_of_methods(folder):
    (folder / "d.toml").write_text('[designs.r]\nmechanism = "rounding"\nbase = 3\n')
    wanted = read_comparanda("d.toml")
    assert (list(wanted.designs), dict(wanted.methods)) == (["r"], {})


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["--methods", "roundin"], 2, "There is no method 'roundin'."),
        (["--methods", " , "], 2, "names no method"),
        (["--geography", "nowhere"], 2, "geography must be a dimension"),
        (["--target", "nothing"], 2, "target must be a dimension"),
        (["--geography", "sex", "--target", "sex"], 2, "are both 'sex'"),
        (["--sample", "0"], 2, "0 is not in the range"),
    ],
)
def test_options_that_make_no_sense_are_refused(folder, args, code, words):
    result = run("compare", "job.toml", *args)
    assert result.exit_code == code, result.output
    assert words in result.stderr


def test_all_problems_of_a_file_of_methods_are_told_at_once(folder):
    (folder / "wrong.toml").write_text("""
method = 3
[methods]
only = "rounding"
[methods.rounding]
base = 1
bas = 3
[methods.strange]
[methods.synthetic]
path = "nowhere.parquet"
[methods.swapping]
rate = nan
[experiment]
persons = 0
place = "x"
""")
    with pytest.raises(JobError) as caught:
        read_comparanda("wrong.toml")
    text = str(caught.value)
    for words in (
        "Unknown key 'method'",
        "only is a list",
        "[methods.rounding] key 'bas' is unknown.",
        "hint: did you mean 'base'?",
        "[methods.rounding] base must be at least 2.",
        "There is no method 'strange'",
        "[methods.synthetic] path 'nowhere.parquet' does not exist.",
        "[methods.swapping] rate must be a finite number.",
        "[experiment] persons must be at least 1.",
        "[experiment] key 'place' is unknown.",
    ):
        assert words in text, words


@pytest.mark.parametrize("line", ["method = []", "simple = []", "base = {}", "keys = [[]]"])
def test_a_value_that_is_no_word_is_told_and_not_tripped_over(folder, line):
    (folder / "odd.toml").write_text(f"[methods.random-rounding]\n{line}\n")
    with pytest.raises(JobError, match="random-rounding"):
        read_comparanda("odd.toml")


def test_noise_that_fails_is_no_table_refused(folder, monkeypatch):
    def fail(*_args, **_options):
        raise ConfigError("The p-table does not fit.")

    job = read_job("job.toml")
    with bench_of(job):
        pass  # it tabulates with an engine, too
    real = Protection.protect
    monkeypatch.setattr(
        Protection,
        "protect",
        lambda own, *args, **options: (
            real(own, *args, **options) if own.ptable.max_noise == 0 else fail()
        ),
    )
    found = compare_methods(
        job, choose_methods({}, only=("exact", "rounding")), experiment=Experiment(persons=9)
    )
    own, exact, rounding = found.results
    assert own.released.stopped == own.reason == "The p-table does not fit."
    assert (exact.reason, rounding.reason) == ("", "The p-table does not fit.")
    assert list(method_facts(found).standing) == ["own-not-tried"]


@pytest.mark.parametrize(
    "parameters",
    [{"base": True}, {"base": 5.0}, {"base": "5"}, {"epsilon": float("inf")}, {"base": None}],
)
def test_a_value_of_another_type_is_refused(parameters):
    with pytest.raises(ValidationError):
        KINDS["rounding"](**parameters)


def test_a_method_that_cannot_be_tried_says_why_and_the_others_go_on(folder):
    (folder / "m.toml").write_text('[methods.swapping]\nrisk = ["geo"]\n')
    result = run("compare", "job.toml", "m.toml", "--methods", "swapping,exact")
    assert result.exit_code == 0
    assert "swapping: risk names dimensions of areas" in result.stderr
    assert "exact" in result.stdout


@pytest.mark.parametrize(
    ("name", "share", "rating"),
    [
        ("additive", 1.0, "best"),
        ("additive", 0.9999, "part"),
        ("additive", 0.0, "worst"),
        ("cells_lost", 0.0, "best"),
        ("found_by_differencing", 1.0, "worst"),
        ("sure_but_wrong", 0.5, None),
        ("decentral", None, None),
    ],
)
def test_a_mark_says_no_more_than_the_share_beside_it(name, share, rating):
    assert rating_of(CriterionFact(name=name, share=share, base=7)) == rating


def test_areas_of_several_hierarchies_move_together(folder):
    nested = 'geo = ["region", "town"]\nterritory = ["region"]'
    more = '[[table]]\nname = "regions"\ndimensions = ["territory", "age"]\n'
    (folder / "job.toml").write_text(JOB.replace('geo = ["region", "town"]', nested) + more)
    with bench_of(read_job("job.toml")) as bench:
        assert bench.moving == ("territory",)
        swapped_trial(bench, k=3, rate=0.5, seed=1)
        after = pq.read_table(bench.file.parent / "swapped.parquet").to_pandas()
    assert (after.town.str[1:].astype(int) // 3 == after.region.str[1:].astype(int)).all()
