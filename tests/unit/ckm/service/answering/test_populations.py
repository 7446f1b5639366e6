"""Populations that a service declares: whose tables can be asked for, wherever one asks."""

from __future__ import annotations

import io
import json
import re
from contextlib import contextmanager

import pyarrow.parquet as pq
import pytest
from lxml import html

from ckm.config.service.service import read_service
from ckm.errors import ConfigError
from ckm.ledger import list_published
from ckm.service.answering.filtered_sets import FilteredSets
from ckm.service.answering.messages import ClientError
from ckm.service.answering.query import query_of_request
from ckm.service.http.app import make_app
from ckm.service.process.server import open_table_service, rehearse_service
from ckm.service.table_service import TableService
from tests.unit.ckm.service.answering.test_answer import OPEN, asked, batch, numbers
from tests.unit.ckm.service.conftest import SERVICE, Served, Web, cells_of, write_service

DATA = "/tables/jobseekers/data"
YOUNG = "age < 30"


def population(name, where, title='{ en = "Under 30", fr = "Moins de 30 ans" }'):
    return f'[[population]]\nname = "{name}"\ntitle = {title}\nwhere = "{where}"\n'


DECLARED = population("young", YOUNG) + population(
    "outside", "zone_2015 = 'outside' and sex = 'F'", '"Women outside"'
)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("populations")
    opened = Served(write_service(folder, more=DECLARED), folder / "jobs")
    yield opened
    opened.close()


@pytest.fixture
def public(served, tmp_path):
    """Ask as somebody who may not filter."""
    access = served.service.access.changed(filters="officer")
    service = TableService(
        served.service.changed(access=access), served.answerer, folder=tmp_path
    )
    yield Web(make_app(service))
    service.close()


def test_filters_within_a_population_are_accounted_and_its_tables_are_not(served):
    limits = served.service.limits.changed(least_variance=0.75)
    sets = FilteredSets(
        served.answerer.planner,
        served.answerer.variables,
        service=served.service.changed(limits=limits),
    )
    where = "category <> 'A' or sex = 'F'"
    everybody, young = (
        sets.of(asked(served.answerer, ["geo"], where=where, population=name, margins="none"))
        for name in (None, "young")
    )
    assert sets.admissible([], everybody) == everybody
    assert sets.admissible(everybody, everybody) == []
    assert sets.admissible(everybody, young) is None  # as if the others were known
    assert sets.of(asked(served.answerer, ["geo"], population="young")) == []


# --- numbers ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["young", "outside"])
@pytest.mark.parametrize("filtered", [None, "category <> 'A'"])
@pytest.mark.parametrize("dimensions", [[], ["sex"], ["geo", "category"]])
def test_a_population_has_the_numbers_of_its_batch_job(served, name, filtered, dimensions):
    """Over columns that are not offered, and beside a filter."""
    answerer, rules = served.answerer, OPEN.changed(maximum_cells=10**7)
    query = asked(answerer, dimensions, where=filtered, population=name)
    answer = answerer.answer(query, settings=rules)
    where = served.service.populations[name].where + (f" and {filtered}" if filtered else "")
    direct = batch(served.engine, answerer.variables, dimensions, where=where)["count"]
    shown = {key: number for key, number in numbers(answer.table).items() if number}
    assert shown == direct
    assert len(direct) > (dimensions == ["geo", "category"])


def test_rules_look_at_the_counts_of_the_population(served):
    rules = OPEN.changed(minimum_population=2000)
    told = [
        served.answerer.answer(asked(served.answerer, ["sex"], population=name), settings=rules)
        for name in (None, "young")
    ]
    assert [answer.refusal and answer.refusal.reason for answer in told] == [
        None,
        "minimum_population",
    ]


def test_a_filter_cannot_name_a_membership(served):
    with pytest.raises(ClientError, match="filter is wrong"):
        served.answerer.answer(
            asked(served.answerer, ["sex"], where="`ckm populations` = '11'")
        )


# --- who asks, and where ------------------------------------------------------------------


def test_everybody_may_ask_for_a_population_in_every_way(public):
    found = public.get(DATA, params={"valuecodes[sex]": "*", "population": "young"})
    assert found.json()["label"] == "Job seekers (Under 30)"
    everybody = cells_of(public.get(DATA, params={"valuecodes[sex]": "*"}))
    young = cells_of(found)
    assert young != everybody
    body = {"selection": [{"variableCode": "sex", "valueCodes": ["*"]}]}
    assert cells_of(public.post(DATA, params={"population": "young"}, json=body)) == young
    for wait in (True, False):
        asked_for = {"dimensions": ["sex"], "population": "young", "wait": wait}
        answer = public.post("/requests", json=asked_for)
        if not wait:
            answer = _result(public, answer)
        assert {key[:1]: n for key, n in cells_of(answer).items()} == {
            key[:1]: n for key, n in young.items()
        }
    for kind, wanted in (
        ("px", 'MATRIX="jobseekers-young"'),
        ("sdmx-csv", "CKM:jobseekers-young("),
    ):
        file = public.get(DATA, params={"population": "young", "outputFormat": kind})
        assert wanted in file.text
    refused = public.get(
        DATA, params={"valuecodes[sex]": "*", "population": "young", "filter": "sex = 'F'"}
    )
    assert refused.status_code == 403


def _result(web, answer):
    assert answer.status_code == 202
    place = answer.headers["location"]
    while (told := web.get(place).json())["status"] in {"queued", "running"}:
        pass
    assert told["status"] == "done"
    return web.get(f"{place}/result")


@pytest.mark.parametrize(
    ("method", "url", "options"),
    [
        ("GET", DATA, {"params": {"population": "yuong"}}),
        ("POST", DATA, {"params": {"population": "yuong"}, "json": {"selection": []}}),
        ("POST", "/requests", {"json": {"dimensions": [], "population": "yuong"}}),
        ("POST", "/requests", {"json": {"population": "yuong", "wait": False}}),
    ],
)
def test_an_unknown_population_is_told_at_once_with_the_known_ones(
    public, method, url, options
):
    told = public.ask(method, url, **options)
    assert told.status_code == 400
    assert told.json()["type"] == "urn:ckm:problem:no_population"
    assert "young, outside" in told.json()["detail"]
    assert told.json()["suggestion"] == "young"


def test_the_populations_are_described(public):
    for language, label in (("en", "Under 30"), ("fr", "Moins de 30 ans")):
        told = public.get("/tables/jobseekers/metadata", params={"lang": language}).json()
        assert told["extension"]["populations"][0] == {"code": "young", "label": label}
    api = public.get("/openapi.json").json()["paths"]["/tables/{table_id}/data"]
    for method in ("get", "post"):
        (said,) = [p for p in api[method]["parameters"] if p["name"] == "population"]
        assert said["schema"]["enum"] == ["young", "outside"]


def test_files_and_the_audit_log_name_the_population(served, tmp_path):
    log = tmp_path / "audit.log"
    access = served.service.access.changed(audit=log)
    service = TableService(
        served.service.changed(access=access), served.answerer, folder=tmp_path
    )
    params = {"valuecodes[sex]": "*", "population": "young"}
    web = Web(make_app(service))
    answer = web.get(DATA, params={**params, "outputFormat": "parquet", "lang": "fr"})
    service.close()
    assert 'filename="jobseekers-young-sex.parquet"' in answer.headers["content-disposition"]
    assert "(Moins de 30 ans)" in str(pq.read_schema(io.BytesIO(answer.content)).metadata)
    assert json.loads(log.read_text().splitlines()[-1])["population"] == "young"


# --- the page -----------------------------------------------------------------------------


def test_the_page_offers_the_populations_and_says_whose_table_it_is(public):
    start = html.document_fromstring(public.get("/").text)
    options = start.xpath("//select[@name='population']/option")
    assert [(o.get("value"), o.text) for o in options] == [
        ("", "Whole population"),
        ("young", "Under 30"),
        ("outside", "Women outside"),
    ]
    answer = public.get("/?codelist[sex]=sex&population=young&lang=fr")
    tree = html.document_fromstring(answer.text)
    assert tree.xpath("//select[@name='population']/option[@selected]/@value") == ["young"]
    assert "Moins de 30 ans" in tree.xpath("string(//section[.//table]/p[1])")
    (link,) = tree.xpath("//a[@id='permalink']/@href")
    assert "population=young" in link
    files = tree.xpath("//ul[@class='downloads']//a")
    assert all("population=young" in one.get("href") for one in files)
    assert files[0].get("download") == "jobseekers-young-sex.csv"
    wanted = cells_of(public.get(DATA, params={"valuecodes[sex]": "*", "population": "young"}))
    shown = [float(cell.get("data-n")) for cell in tree.xpath("//table//td")]
    assert sorted(shown) == sorted(wanted.values())
    alone = html.document_fromstring(public.get("/?population=young").text)
    assert len(alone.xpath("//table//td")) == 1


def test_an_unknown_population_is_told_beside_its_field(public):
    answer = public.get("/?codelist[sex]=sex&population=nobody")
    assert answer.status_code == 400
    tree = html.document_fromstring(answer.text)
    assert tree.xpath("//section[@id='problems']//a/@href") == ["#population"]
    assert tree.xpath("//select[@id='population']/@aria-invalid") == ["true"]


def test_where_none_is_declared_nothing_is_offered(tmp_path):
    with open_table_service(read_service(write_service(tmp_path))) as service:
        web = Web(make_app(service))
        assert "population" not in web.get("/").text
        answer = web.get("/?population=young")
        assert answer.status_code == 400
        assert 'href="#population"' not in answer.text


# --- populations that differ by few -------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("few")
    write_service(folder, persons=1000)
    return folder


@pytest.fixture(scope="module")
def people(folder):
    return pq.read_table(folder / "people.parquet").to_pandas()


def rewritten(folder, more):
    (folder / "service.toml").write_text(SERVICE + more)
    return read_service(folder / "service.toml")


def refused(folder, more):
    """Return what a service is refused for at its check, which is what its start does."""
    with pytest.raises(ConfigError) as caught:
        rehearse_service(rewritten(folder, more))
    return caught.value.problem.splitlines()


def test_populations_that_differ_by_few_records_are_named_all_at_once(folder, people):
    n_oldest = int((people.age >= 64).sum())
    assert 2 < n_oldest < 40
    more = (
        f"[rules]\nminimum_population = {n_oldest + 1}\n"
        + population("young_women", "sex = 'F' and age < 30")
        + population("most", "age < 64")
        + population("women", "sex = 'F'")
        + population("women_too", "not sex = 'M'")
        + population("most_women", "sex = 'F' and age < 64")
        + population("nobody", "age < 0")
    )
    limit = f"fewer than {n_oldest + 1} records."
    assert refused(folder, more) == [
        f"[[population]] 'nobody' has {limit}",
        f"[[population]] all records and 'most' differ by {limit}",
        f"[[population]] 'women' and 'women_too' differ by {limit}",
        f"[[population]] 'women' and 'most_women' differ by {limit}",
        f"[[population]] 'women_too' and 'most_women' differ by {limit}",
    ]
    only = f"[rules]\nminimum_population = {n_oldest}\n" + population("most", "age < 64")
    with pytest.raises(ConfigError, match=r"needs \[ledger\]"):
        rehearse_service(rewritten(folder, only))
    with (
        pytest.raises(ConfigError, match=r"needs \[ledger\]"),
        open_table_service(rewritten(folder, only)),
    ):
        pass
    rehearse_service(rewritten(folder, only + '[ledger]\npath = "ledger.db"\nofficial = []\n'))


def test_without_the_rule_the_threshold_of_the_ledger_is_the_limit(folder, people):
    columns = ["commune", "age"]
    sizes = people.groupby(columns).size()
    commune, age = sizes[sizes == 3].index[0]
    more = "[rules]\nminimum_population = false\n"
    more += population("most", f"not (commune = '{commune}' and age = {age})")
    ledger = '[ledger]\npath = "ledger.db"\nthreshold = 3\nofficial = []\n'
    assert "differ by fewer than 4 records" in refused(folder, ledger + more)[0]
    rehearse_service(rewritten(folder, ledger.replace("= 3", "= 2") + more))


# --- the ledger ---------------------------------------------------------------------------

LEDGER = """
[rules]
sparsity_a = false
sparsity_b = false
mean_cell_size = false
minimum_population = false
[ledger]
path = "ledger.db"
official = []
"""


@contextmanager
def opened(folder, more):
    with open_table_service(rewritten(folder, LEDGER + more)) as service:

        def ask(dimensions, name=None):
            query = query_of_request(service.variables, dimensions=dimensions, population=name)
            answer = service.answerer.answer(query)
            return answer.refusal and answer.refusal.reason

        yield ask


def test_the_ledger_tells_populations_apart_by_their_filter(tmp_path):
    write_service(tmp_path, persons=3000)
    for where, n_tables in (("age < 30", 1), ("age < 40", 2), ("age < 30", 2)):
        with opened(tmp_path, population("young", where)) as ask:
            assert ask(["sex"], "young") is None
        assert len(list(list_published(tmp_path / "ledger.db"))) == n_tables
    with opened(tmp_path, population("young", "age < 30")) as ask:
        assert ask(["sex"]) is None
    known = list(list_published(tmp_path / "ledger.db"))
    assert len(known) == 3
    assert [bool(re.search("age < ", str(table))) for table in known].count(True) == 2


def test_the_ledger_has_the_filters_of_a_population_and_of_its_caller_apart(tmp_path):
    write_service(tmp_path, persons=3000)
    declared = population("ends", "age < 30 or age > 60")
    with open_table_service(rewritten(tmp_path, LEDGER + declared)) as service:
        query = asked(service.answerer, ["sex"], where="category <> 'A'", population="ends")
        assert service.answerer.answer(query).table
    (known,) = list_published(tmp_path / "ledger.db")
    assert known.definition.where == "(age < 30 or age > 60) and (category <> 'A')"


def test_thin_differences_between_populations_are_found(tmp_path):
    """Of the people of a place nearly all are in the population."""
    write_service(tmp_path, persons=3000)
    with opened(tmp_path, population("most", "age < 66")) as ask:
        assert ask(["geo"]) is None
        assert ask(["geo"], "most") == "thin_difference"
