"""The service and its ledger: what is recorded, refused, flagged, shared with batch jobs."""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from ckm.cli import app
from ckm.config import read_job
from ckm.config.service.sections import RECONSTRUCTION
from ckm.config.service.service import read_service
from ckm.ledger import Definition, Ledger, LedgerError, ThinDifferenceError, list_published
from ckm.release.perturbed import release
from ckm.service.answering.messages import Refusal
from ckm.service.answering.query import query_of_request
from ckm.service.http.app import make_app
from ckm.service.process.server import open_table_service
from tables import RequestError, Secret
from tests.unit.ckm.service.conftest import SECRET, Web, for_filters, write_service

LEDGER = """
[rules]
judge_filters = false
[ledger]
path = "ledger.db"
official = []
"""

JOB = """
schema = 1
[data]
path = "people.parquet"
id = "person_id"
[keys]
secret = "secret.key"
[ptable]
path = "pt.parquet"
[ledger]
path = "ledger.db"
[[table]]
name = "batch"
dimensions = ["sex", "category"]
"""


def alone(folder, number=0):
    """Return a filter that leaves out one person."""
    people = pq.read_table(folder / "people.parquet").to_pandas()
    columns = ["commune", "age_group", "category", "sex"]
    sizes = people.groupby(columns).size()
    texts = [
        f"{c} = '{v}'" for c, v in zip(columns, sizes[sizes == 1].index[number], strict=True)
    ]
    return f"not ({' and '.join(texts)})"


@pytest.fixture
def folder(tmp_path):
    write_service(tmp_path, more=LEDGER, persons=3000)
    return tmp_path


@pytest.fixture
def opened(folder):
    """Open the service, again and again."""
    stacks = []

    def make(text=None, **changes):
        if text is not None:
            path = folder / "service.toml"
            path.write_text(path.read_text() + text)
        service = for_filters(read_service(folder / "service.toml"))
        context = open_table_service(service.changed(**changes))
        stacks.append(context)
        return context.__enter__()

    yield make
    for context in stacks:
        context.__exit__(None, None, None)


def ask(table_service, dimensions, *, rules=None, **options):
    query = query_of_request(table_service.variables, dimensions=dimensions, **options)
    settings = None if rules is None else table_service.answerer.settings.changed(**rules)
    return table_service.answerer.answer(query, settings=settings)


def reason(answer):
    return None if answer.refusal is None else answer.refusal.reason


ACCEPTED = f"""
[access]
filters = "public"
accepts_reconstruction = "{RECONSTRUCTION}"
"""


@pytest.fixture
def planned(folder):
    """Plan the tables of the office, which filters may come near; return the service file."""
    more = '[[table]]\nname = "communes"\ndimensions = ["commune"]\n'
    (folder / "job.toml").write_text(JOB + more)
    path = folder / "service.toml"
    text = path.read_text().replace("official = []", 'official = ["job.toml"]')
    path.write_text(text + ACCEPTED)
    return path


@pytest.mark.slow
def test_what_callers_ask_cannot_keep_an_official_table_from_release(folder, planned):
    """Small cells too, which the job compares and the service does not."""
    people = pq.read_table(folder / "people.parquet").to_pandas()
    sizes = people.groupby("commune").size()
    nine = sizes[sizes == 9].index[0]
    other = people.drop_duplicates(["commune", "category", "age_group", "sex"], keep=False)
    other = other[other.commune != nine].iloc[0]
    joined = f"commune = '{nine}' or (commune = '{other.commune}' and sex = '{other.sex}'"
    joined += f" and category = '{other.category}' and age_group = '{other.age_group}')"
    with open_table_service(read_service(planned)) as table_service:
        web = Web(make_app(table_service))
        address = "/tables/jobseekers/data"
        hostile = [alone(folder, number) for number in range(5)]
        told = [
            web.get(address, params={"valuecodes[sex]": "*", "filter": where})
            for where in [*hostile, "category <> 'E'"]
        ]
        assert [answer.status_code for answer in told] == [403] * 5 + [200]
        assert {answer.json()["reason"] for answer in told[:5]} == {"thin_difference"}
        assert reason(ask(table_service, [], where=joined, rules=OPEN)) == "thin_difference"
        before = len(recorded(folder))
        done = CliRunner().invoke(
            app, ["release", str(folder / "job.toml"), "-o", str(folder / "out")]
        )
        assert done.exit_code == 0, done.output
        assert len(recorded(folder)) == before  # they were there since the start
        params = {"valuecodes[sex]": "*", "valuecodes[category]": "*"}
        assert web.get(address, params=params).status_code == 200
    with open_table_service(read_service(planned)):
        pass
    assert len(recorded(folder)) == before + 1


def test_official_tables_that_are_thin_against_each_other_are_named_at_the_start(
    folder, planned, capsys
):
    job = folder / "job.toml"
    where = alone(folder).replace("'", "\\u0027")
    more = f'[[table]]\nname = "most"\ndimensions = ["sex"]\nwhere = "{where}"\n'
    job.write_text(job.read_text() + more)
    with (
        pytest.raises(ThinDifferenceError) as refusal,
        open_table_service(read_service(planned)),
    ):
        pass
    assert "most" not in str(refusal.value)
    assert {(pair.cell.table, pair.published.table) for pair in refusal.value.pairs} == {
        ("most", "batch")
    }
    assert recorded(folder) == []
    job.write_text(job.read_text().replace('.db"\n', '.db"\npolicy = "flag"\n'))
    with open_table_service(read_service(planned)):
        pass
    assert len(recorded(folder)) == 3


def recorded(folder):
    return list(list_published(folder / "ledger.db"))


def batch(folder, where=None, out="out"):
    text = JOB if where is None else f'{JOB}where = "{where}"\n'
    (folder / "job.toml").write_text(text)
    return release(read_job(folder / "job.toml"), folder / out)


@pytest.mark.slow
def test_a_batch_release_refuses_what_the_service_is_asked(folder, opened):
    batch(folder)
    table_service = opened()
    refused = ask(table_service, ["sex"], where=alone(folder))
    assert reason(refused) == "thin_difference"
    assert refused.table is None
    assert refused.refusal.to_json("fr")["try"]
    assert reason(ask(table_service, ["sex"])) is None
    assert [entry.definition.name for entry in recorded(folder)] == ["batch", "jobseekers"]


@pytest.mark.slow
def test_an_answer_of_the_service_refuses_a_batch_release(folder, opened):
    table_service = opened()
    assert reason(ask(table_service, ["sex", "category"])) is None
    with pytest.raises(ThinDifferenceError) as refusal:
        batch(folder, alone(folder))
    assert "in 1 table" in str(refusal.value)
    assert not (folder / "out").exists()
    batch(folder)
    assert len(recorded(folder)) == 2


@pytest.mark.slow
def test_the_same_table_of_both_has_the_same_sets(folder, opened):
    batch(folder)
    table_service = opened()
    ask(table_service, ["sex", "category"])
    with Ledger.open(folder / "ledger.db", secret=Secret(SECRET), create=False) as ledger:
        entries = [ledger._histories.record(entry.number) for entry in recorded(folder)]
    assert len(entries) == 2
    assert len(entries[0]) > 10
    assert len(entries[1]) == 0  # nothing that the batch release has not


def test_a_repetition_is_answered_and_recorded_once_also_after_a_restart(folder, opened):
    for table_service in (opened(), opened()):
        for _ in range(2):
            assert reason(ask(table_service, ["sex"], where="category <> 'E'")) is None
    (entry,) = recorded(folder)
    assert entry.definition.where == "category <> 'E'"
    assert entry.definition.dimensions == ("sex",)


def test_who_is_counted_tells_tables_apart(folder, opened):
    """Women by category is another table than men by category, though its cells are alike."""
    table_service = opened()
    sexes = query_of_request(
        table_service.variables, dimensions=["sex"], select={"sex": ["F", "M"]}
    )
    (chosen,) = sexes.selections
    base = query_of_request(table_service.variables, dimensions=["category"])
    for rank in chosen.ranks:
        query = replace(base, within=(replace(chosen, ranks=(rank,)),))
        assert reason(table_service.answerer.answer(query)) is None
    assert [entry.definition.where for entry in recorded(folder)] == [
        'sex in ["F"]',
        'sex in ["M"]',
    ]


@pytest.mark.slow
def test_the_routes_of_cells_do_not_matter(folder, opened):
    """A table that is rolled up is recorded as one that is scanned."""
    first, second = opened(), opened()
    ask(first, ["geo", "sex", "category"], rules={"sparsity_a": None, "sparsity_b": None})
    for table_service in (first, second):
        assert (
            reason(ask(table_service, ["sex", "category"], where=alone(folder)))
            == "thin_difference"
        )
    assert first.answerer.cubes.routes["rolled"] >= 0
    assert second.answerer.cubes.routes["scanned"] == 1


@pytest.mark.parametrize("way", ["scanned", "rolled"])
def test_what_is_left_without_a_selected_category_is_compared(folder, opened, way):
    """Women and the total were published: so are men, whom nobody selected."""
    table_service = opened()
    if way == "rolled":
        table_service.answerer.cubes.find(
            {"geo": 0, "sex": 0, "category": 0, "age_tree": 0}, where=frozenset()
        )
    assert reason(ask(table_service, ["sex"], select={"sex": ["F", "Total"]})) is None
    text = alone(folder)
    for number in range(100):
        text = alone(folder, number)
        if "sex = 'M'" in text:
            break
    assert reason(ask(table_service, [], where=f"sex = 'M' and {text}")) == "thin_difference"
    assert (table_service.answerer.cubes.routes["rolled"] > 0) == (way == "rolled")


def test_categories_that_were_not_selected_are_not_published(folder, opened):
    table_service = opened()
    assert reason(ask(table_service, ["sex"], select={"sex": ["F"]})) is None
    for number in range(100):
        text = alone(folder, number)
        if "sex = 'M'" in text:
            break
    assert reason(ask(table_service, ["sex"], where=text, select={"sex": ["M"]})) is None
    assert (
        reason(ask(table_service, ["sex"], where=text, select={"sex": ["M", "Total"]})) is None
    )
    assert reason(ask(table_service, ["sex"])) == "thin_difference"


def test_margins_that_were_not_asked_for_are_not_published(folder, opened):
    table_service = opened()
    text = alone(folder)
    answer = ask(table_service, ["sex", "category"], margins=[["sex"]], where=text, rules=OPEN)
    assert reason(answer) is None
    (entry,) = recorded(folder)
    with Ledger.open(folder / "ledger.db", secret=Secret(SECRET), create=False) as ledger:
        sets = ledger._histories.record(entry.number)
        names = {sets.name(n).words for n in range(len(sets))}
    assert "sex=F, category=Total" in names
    assert "sex=Total, category=Total" not in names
    assert reason(ask(table_service, [])) is None


OPEN = {
    "sparsity_a": None,
    "sparsity_b": None,
    "mean_cell_size": None,
    "minimum_population": None,
}


def test_withheld_areas_are_not_recorded(folder, opened):
    table_service = opened()
    answer = ask(table_service, ["geo", "sex"], rules={"minimum_population": 60})
    assert answer.withheld
    (entry,) = recorded(folder)
    with Ledger.open(folder / "ledger.db", secret=Secret(SECRET), create=False) as ledger:
        sets = ledger._histories.record(entry.number)
    shown = {"/".join(t for _, t in sets.name(n).categories[:3]) for n in range(len(sets))}
    codes = set(answer.withheld)
    assert len(shown) > 3
    assert not {text.replace("/Total", "") for text in shown} & codes


def test_a_table_that_the_rules_refuse_is_not_recorded(folder, opened):
    table_service = opened()
    answer = ask(table_service, ["sex"], rules={"minimum_population": 10**6})
    assert answer.refusal is not None
    assert recorded(folder) == []


def test_a_flag_answers_and_tells_the_log_without_cells(folder, opened, caplog):
    table_service = opened('policy = "flag"\n')
    ask(table_service, ["sex"])
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            flagged = ask(table_service, ["sex"], where=alone(folder))
            assert flagged.table is not None
            assert flagged.flag.reason == "thin_difference"
    (line,) = [r for r in caplog.records if r.message == "thin difference published"]
    assert line.entries == [1]
    assert len(recorded(folder)) == 2


@pytest.mark.slow
def test_small_cells_are_not_compared_unless_the_service_says_so(folder, opened):
    assert read_service(folder / "service.toml").ledger.smallest == 10
    table_service = opened()
    where = "commune = '01001'"
    people = pq.read_table(folder / "people.parquet").to_pandas()
    sizes = people.groupby("commune").size()
    commune = sizes[(sizes > 2) & (sizes < 9)].index[0]
    where = f"commune = '{commune}'"
    ages = people[people.commune == commune].age_group.iloc[0]
    assert reason(ask(table_service, [], where=where, rules=OPEN)) is None
    part = f"{where} and not (age_group = '{ages}')"
    assert reason(ask(table_service, [], where=part, rules=OPEN)) is None
    path = folder / "service.toml"
    path.write_text(path.read_text().replace("ledger.db", "strict.db") + "smallest = 1\n")
    strict = opened()
    near = people[people.commune == commune].groupby("age_group").size()
    age = near[near <= 2].index[0]
    assert reason(ask(strict, [], where=where, rules=OPEN)) is None
    part = f"{where} and not (age_group = '{age}')"
    assert reason(ask(strict, [], where=part, rules=OPEN)) == "thin_difference"


def test_a_ledger_that_fails_gives_no_answer_and_a_problem(folder, opened, monkeypatch, caplog):
    table_service = opened()
    web = Web(make_app(table_service))

    def fail(*_):
        raise LedgerError("The ledger 'ledger.db' cannot be written: the disk is full.")

    monkeypatch.setattr("ckm.ledger.storage.store._Sqlite.insert", fail)
    told = web.get("/tables/jobseekers/data?valuecodes[sex]=*")
    assert told.status_code == 503
    assert "value" not in told.json()
    assert "disk is full" in " ".join(str(r.__dict__) for r in caplog.records)
    monkeypatch.undo()
    assert recorded(folder) == []
    assert web.get("/tables/jobseekers/data?valuecodes[sex]=*").status_code == 200
    assert len(recorded(folder)) == 1


def test_a_refusal_over_http_names_no_cell_and_is_noted(folder, opened):
    table_service = opened()
    web = Web(make_app(table_service))
    assert web.get("/tables/jobseekers/data?valuecodes[sex]=*").status_code == 200
    options = {"params": {"valuecodes[sex]": "*", "filter": alone(folder)}}
    for _ in range(2):
        told = web.get("/tables/jobseekers/data", **options)
        assert told.status_code == 403
        assert told.json()["reason"] == "thin_difference"
        assert told.json()["try"]
        assert "entry" not in told.text
    assert 'outcome="thin_difference"} 2' in table_service.metrics.text()


def test_a_refusal_counts_once_and_leaves_what_was_published_before(folder, opened):
    """Two refusals an hour: a third new table is not looked at, thin or not."""
    table_service = opened("[limits]\nrequests_per_hour = 100\n")
    web = Web(make_app(table_service))
    address = "/tables/jobseekers/data"
    by_sex = {"valuecodes[sex]": "*"}
    assert web.get(address, params=by_sex).status_code == 200

    def refused(number):
        told = web.get(address, params={**by_sex, "filter": alone(folder, number)})
        return told.status_code, told.json().get("reason")

    for number in (0, 1, 0, 1, 1):
        assert refused(number) == (403, "thin_difference")
    for params in ({**by_sex, "filter": alone(folder, 2)}, {"valuecodes[category]": "*"}):
        told = web.get(address, params=params)
        assert told.status_code == 429
        assert "no new ones" in told.text
    assert refused(0) == (403, "thin_difference")
    for kind in ("csv", "json-stat2"):
        assert web.get(address, params={**by_sex, "outputFormat": kind}).status_code == 200


def test_a_remembered_answer_was_recorded_before(folder, opened):
    table_service = opened()
    query = query_of_request(table_service.variables, dimensions=["sex"])
    caller = table_service.recognise(token=None, address="203.0.113.9")
    for kind in ("csv", "csv", "json-stat2"):
        made = table_service.serve(query, format=kind, language="en", caller=caller)
        assert not isinstance(made, Refusal)
    assert len(recorded(folder)) == 1


def test_a_service_whose_keys_do_not_tell_records_apart_does_not_start(folder):
    people = pq.read_table(folder / "people.parquet")
    rng = np.random.default_rng(5)
    keys = rng.integers(0, 256, people.num_rows)
    pq.write_table(people.append_column("rkey", [keys]), folder / "people.parquet")
    path = folder / "service.toml"
    path.write_text(
        path.read_text().replace('id = "person_id"', 'record_key = "rkey"\nkey_range = 256')
    )
    with (
        pytest.raises(RequestError, match="tell records apart"),
        open_table_service(read_service(path)),
    ):
        pass


def test_an_entry_names_no_category_that_it_does_not_show(folder, opened):
    table_service = opened()
    ask(table_service, ["geo"], select={"geo": ["01"]}, rules=OPEN)
    (entry,) = recorded(folder)
    with Ledger.open(folder / "ledger.db", secret=Secret(SECRET), create=False) as ledger:
        sets = ledger._histories.record(entry.number)
    ((_, labels),) = sets.axes
    assert {text for texts in labels for text in texts} == {"01", "Total"}
    assert Definition.read(entry.definition.text).name == "jobseekers"


@pytest.mark.slow
def test_a_full_ledger_takes_no_new_table_and_serves_those_it_has(opened):
    path = "/tables/jobseekers/data?valuecodes[sex]=F,M"
    table_service = opened()
    web = Web(make_app(table_service))
    first = web.get(path)
    assert first.status_code == 200
    limits = table_service.service.limits.changed(ledger_sets=2)
    web = Web(make_app(opened(limits=limits)))
    assert web.get(path).content == first.content
    answer = web.get("/tables/jobseekers/data?valuecodes[category]=A,B")
    assert answer.status_code == 503
    assert answer.json()["type"] == "urn:ckm:problem:ledger_full"
    assert web.get(path).status_code == 200


@pytest.mark.slow
def test_what_the_office_rounded_is_not_answered_with_noise(folder, opened):
    rounded = JOB.replace('[ptable]\npath = "pt.parquet"', "[rounding]\nbase = 5")
    (folder / "job.toml").write_text(rounded)
    release(read_job(folder / "job.toml"), folder / "out")
    answer = ask(opened(), ["sex"])
    assert reason(answer) == "second_method"
    assert reason(ask(opened('second_method = "flag"\n'), ["sex"])) is None
