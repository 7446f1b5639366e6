"""The API over HTTP: its shape, its errors, its languages, its limits."""

from __future__ import annotations

import errno
import json
import time
from types import SimpleNamespace

import numpy as np
import pytest

from ckm.errors import FormatError
from ckm.formats import FORMATS
from ckm.service.access.tokens import TokenFile
from ckm.service.http.app import make_app
from ckm.service.http.request_parsing import address_of, is_local
from ckm.service.table_service import TableService
from tables import SourceError
from tests.unit.ckm.service.conftest import Web, cells_of

DATA = "/tables/jobseekers/data"
LONG = " or ".join(["sex='F'"] * 101)
STARS = ",".join("?" * 51)


def problem(answer, status, key):
    """Check that an answer is a documented problem."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    told = answer.json()
    assert told["status"] == status
    assert told["type"] == f"urn:ckm:problem:{key}"
    assert told["title"]
    assert told["detail"]
    return told


@pytest.fixture
def special(served, tmp_path):
    """Make a client of the same data with another configuration."""
    desks = []

    def make(*, limits=None, access=None, address="203.0.113.9", **changes):
        service = served.service
        service = service.changed(
            limits=service.limits.changed(**(limits or {})),
            access=service.access.changed(**(access or {})),
            **changes,
        )
        desks.append(TableService(service, served.answerer, folder=tmp_path / str(len(desks))))
        return Web(make_app(desks[-1]), address=address)

    yield make
    for table_service in desks:
        table_service.close()


# --- descriptions -------------------------------------------------------------------------


def test_the_table_its_variables_and_its_lists_are_described_in_both_languages(web):
    listed = web.get("/tables?lang=fr").json()
    (table,) = listed["tables"]
    assert (table["id"], table["label"]) == ("jobseekers", "Demandeurs d'emploi")
    assert web.get("/tables?query=nothing").json()["page"]["totalElements"] == 0
    assert web.get("/tables/jobseekers").json()["label"] == "Job seekers"
    told = web.get("/tables/jobseekers/metadata", headers={"Accept-Language": "de, fr;q=0.9"})
    assert told.headers["content-language"] == "fr"
    document = told.json()
    sex = document["dimension"]["sex"]
    assert sex["category"]["label"] == {"Total": "Ensemble", "F": "Femmes", "M": "Hommes"}
    assert sex["extension"]["eliminationValueCode"] == "Total"
    assert document["id"][-1] == "ContentsCode"
    for name in document["id"]:
        for entry in document["dimension"][name]["extension"].get("codelists", []):
            found = web.get(f"/codelists/{entry['id']}?lang=fr").json()
            assert {v["code"] for v in found["values"]} <= set(
                document["dimension"][name]["category"]["index"]
            )
    assert web.get("/codelists/geo.region?lang=fr").json()["label"] == "Lieu: Région"
    config = web.get("/config").json()
    assert config["maxDataCells"] == 5000
    assert set(config["dataFormats"]) == set(FORMATS)
    assert web.get("/health").json() == {"status": "ok"}


def test_every_category_of_the_metadata_can_be_asked_for(web):
    document = web.get("/tables/jobseekers/metadata").json()
    for name, dimension in document["dimension"].items():
        criterion = {
            "selection": [
                {"variableCode": name, "valueCodes": list(dimension["category"]["index"])}
            ]
        }
        answer = web.post(DATA, json=criterion)
        assert answer.status_code == 200, (name, answer.text)


# --- tables -------------------------------------------------------------------------------


def test_get_and_post_and_a_request_give_the_same_numbers(web):
    one = web.get(f"{DATA}?valuecodes[sex]=*&valuecodes[category]=A,[range(B,D)]")
    selection = [
        {"variableCode": "sex"},
        {"variableCode": "category", "valueCodes": ["A", "range(B,D)"]},
    ]
    two = web.post(DATA, json={"selection": selection})
    three = web.post(
        "/requests",
        json={
            "dimensions": ["sex", "category"],
            "select": {"category": ["A", "B", "C", "D"]},
        },
    )
    assert one.status_code == two.status_code == three.status_code == 200
    assert cells_of(one) == cells_of(two) == cells_of(three)
    assert len(cells_of(one)) == 12


@pytest.mark.parametrize("name", list(FORMATS))
def test_every_format_is_written_with_its_type(web, name):
    answer = web.get(f"{DATA}?valuecodes[sex]=*&outputformat={name}")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == FORMATS[name].media_type
    assert answer.content


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("text/csv", "text/csv"),
        ("application/pdf, text/csv;q=0.5", "text/csv"),
        ("text/csv;q=0.3, application/vnd.apache.parquet", "application/vnd.apache.parquet"),
        ("application/json", "application/vnd.json-stat2+json"),
        ("text/html,application/xhtml+xml,*/*;q=0.8", "application/vnd.json-stat2+json"),
        ("text/csv;q=0, */*;q=0.1", "application/vnd.json-stat2+json"),
        ("", "application/vnd.json-stat2+json"),
    ],
)
def test_the_header_accept_names_a_format_where_no_name_does(web, accept, kind):
    body = {"dimensions": ["sex"]}
    headers = {"Accept": accept}
    told = web.post("/requests", json=body, headers=headers)
    assert told.headers["content-type"].split(";")[0] == kind
    assert "Accept," in told.headers["vary"]
    told = web.get(f"{DATA}?valuecodes[sex]=*", headers=headers)
    assert told.headers["content-type"].split(";")[0] == kind
    named = web.post("/requests", json=body | {"format": "px"}, headers=headers)
    assert named.headers["content-type"] == FORMATS["px"].media_type


@pytest.mark.parametrize("accept", ["application/pdf", "text/csv;q=0", "image/*"])
def test_a_media_type_that_no_format_has_is_refused_with_those_that_are_there(web, accept):
    for ask in (
        lambda: web.post("/requests", json={"dimensions": ["sex"]}, headers={"Accept": accept}),
        lambda: web.get(f"{DATA}?valuecodes[sex]=*&lang=fr", headers={"Accept": accept}),
    ):
        told = ask()
        assert told.status_code == 406
        assert told.json()["type"] == "urn:ckm:problem:not_acceptable"
        assert "text/csv" in told.json()["detail"]


def test_an_answer_that_the_caller_has_is_not_sent_again(web):
    for url in (f"{DATA}?valuecodes[sex]=*", "/tables/jobseekers/metadata", "/config"):
        first = web.get(url)
        again = web.get(url, headers={"If-None-Match": f'"x", W/{first.headers["etag"]}'})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == first.headers["etag"]


def test_stub_and_heading_order_the_variables(web):
    query = "valuecodes[sex]=F&valuecodes[category]=A"
    for order, wanted in (
        ("stub=category&heading=sex", ["category", "sex"]),
        ("stub=sex", ["sex", "category"]),
        ("heading=category", ["category", "sex"]),
    ):
        assert web.get(f"{DATA}?{query}&{order}").json()["id"][:2] == wanted


def test_measures_are_chosen_as_contents(web):
    both = web.get(f"{DATA}?valuecodes[sex]=F&valuecodes[ContentsCode]=*").json()
    assert both["dimension"]["ContentsCode"]["category"]["index"] == {
        "count": 0,
        "weighted": 1,
    }
    plain = web.get(f"{DATA}?valuecodes[sex]=F").json()
    assert plain["dimension"]["ContentsCode"]["category"]["index"] == {"count": 0}
    assert plain["value"][0] == both["value"][0]


def test_withheld_areas_are_named_in_the_table_and_counted_by_reason(web):
    answer = web.get(f"{DATA}?valuecodes[geo]=*&valuecodes[sex]=*")
    document = answer.json()
    assert document["extension"]["blocked"]["category"]["geo"]
    assert "minimum_population=" in answer.headers["ckm-withheld"]
    assert not set(document["extension"]["blocked"]["category"]["geo"]) & set(
        document["dimension"]["geo"]["category"]["index"]
    )


def test_a_refusal_says_why_and_what_to_try_in_both_languages(web):
    url = f"{DATA}?valuecodes[geo]=*&valuecodes[category]=*&valuecodes[zone_2024]=*"
    told = problem(web.get(url + "&lang=fr"), 403, "maximum_cells")
    assert told["reason"] == "maximum_cells"
    assert told["try"] == ["choisissez moins de modalités ou moins de variables"]
    assert "cells" in problem(web.get(url), 403, "maximum_cells")["detail"]


def test_a_large_table_becomes_a_job_of_its_owner(web):
    criterion = {"dimensions": ["geo", "zone_2024"], "margins": "none", "format": "csv"}
    asked = web.post("/requests", json=criterion)
    assert asked.status_code == 202, asked.text
    place = asked.headers["location"]
    for _ in range(600):
        told = web.get(place).json()
        if told["status"] not in {"queued", "running"}:
            break
        time.sleep(0.05)
    assert told["status"] in {"done", "blocked"}, told
    if told["status"] == "done":
        assert web.get(place + "/result").headers["content-type"].startswith("text/csv")
    else:
        assert told["refusal"]["reason"]
    stranger = Web(web.app, address="198.51.100.1")
    problem(stranger.get(place), 404, "no_job")
    assert web.ask("DELETE", place).status_code == 204
    assert web.get(place).json()["status"] == "cancelled"
    problem(web.get(place + "/result"), 404, "no_job")


def test_a_small_table_can_be_a_job_too(web):
    asked = web.post("/requests", json={"dimensions": ["sex"], "wait": False})
    place = asked.headers["location"]
    for _ in range(600):
        if web.get(place).json()["status"] == "done":
            break
        time.sleep(0.05)
    direct = web.post("/requests", json={"dimensions": ["sex"]})
    assert web.get(place + "/result").content == direct.content


# --- what is wrong ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "url", "status", "key"),
    [
        ("GET", "/nothing", 404, "not_found"),
        ("GET", "/tables/other", 404, "no_table"),
        ("GET", "/tables/other/data", 404, "no_table"),
        ("GET", "/tables/other/metadata", 404, "no_table"),
        ("GET", "/codelists/other", 404, "no_codelist"),
        ("GET", "/requests/other", 404, "no_job"),
        ("DELETE", "/requests/../../etc/passwd", 404, "not_found"),
        ("PUT", "/tables", 405, "method_not_allowed"),
        ("GET", "/tables?lang=de", 400, "bad_parameter"),
        ("GET", "/tables?pageSize=0", 400, "bad_parameter"),
        ("GET", "/tables?pageNumber=²", 400, "bad_parameter"),
        ("GET", f"{DATA}?valuecode[sex]=F", 400, "bad_parameter"),
        ("GET", f"{DATA}?valuecodes[sexe]=F", 400, "no_variable"),
        ("GET", f"{DATA}?valuecodes[sex]=X", 400, "no_category"),
        ("GET", f"{DATA}?valuecodes[sex]=", 400, "nothing_selected"),
        ("GET", f"{DATA}?valuecodes[sex]=top(x)", 400, "bad_expression"),
        ("GET", f"{DATA}?valuecodes[sex]={STARS}", 400, "too_many_patterns"),
        ("GET", f"{DATA}?filter={LONG}", 400, "bad_filter"),
        ("GET", f"{DATA}?valuecodes[sex]=F&valuecodes[sex]=M", 400, "repeated"),
        ("GET", f"{DATA}?valuecodes[sex]=F&VALUECODES[sex]=M", 400, "repeated"),
        ("GET", f"{DATA}?codelist[sex]=geo", 400, "bad_codelist"),
        ("GET", f"{DATA}?outputvalues[sex]=both", 400, "bad_parameter"),
        ("GET", f"{DATA}?outputformat=exe", 400, "bad_format"),
        ("GET", f"{DATA}?filter=weight>1", 400, "bad_filter"),
        ("GET", f"{DATA}?filter=", 400, "bad_filter"),
        ("GET", f"{DATA}?valuecodes[ContentsCode]=sum", 400, "no_category"),
        ("GET", "/metrics", 403, "not_allowed"),
        ("POST", DATA, 422, "bad_body"),
        ("POST", "/requests", 422, "bad_body"),
    ],
)
def test_what_is_wrong_is_a_problem_with_a_name(web, method, url, status, key):
    problem(web.ask(method, url), status, key)


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"\xff",
        b'{"selection": NaN}',
        b'{"selection": [], "selection": []}',
        b"[" * 60_000,
        b'{"selection": [{"variableCode": "\\ud800"}]}',
        b'{"selection": [{"variableCode": 1}]}',
        b'{"selection": [{"variableCode": null}]}',
        b'{"other": 1}',
        b"[]",
        b"null",
        b'{"selection": [{"variableCode": "sex", "valueCodes": [null]}]}',
    ],
)
def test_bodies_that_are_no_selection_are_told(web, body):
    problem(web.post(DATA, content=body), 422, "bad_body")


def test_a_misspelt_name_is_suggested(web):
    told = problem(web.get(f"{DATA}?valuecodes[categori]=A"), 400, "no_variable")
    assert told["suggestion"] == "category"


def test_headers_of_safety_are_on_every_answer(web):
    for url in ("/tables", "/nothing", DATA, "/openapi.json"):
        headers = web.get(url).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "server" not in headers


# --- limits and access --------------------------------------------------------------------


def test_requests_beyond_the_budget_wait(special):
    web = special(limits={"requests_per_hour": 2})
    first = web.get(f"{DATA}?valuecodes[sex]=F")
    assert (first.headers["ratelimit-limit"], first.headers["ratelimit-remaining"]) == (
        "2",
        "1",
    )
    assert web.get("/tables/jobseekers/metadata").status_code == 200
    assert web.get(f"{DATA}?valuecodes[sex]=X").status_code == 400  # mistakes count
    refused = web.get(f"{DATA}?valuecodes[sex]=F")
    problem(refused, 429, "too_many_requests")
    assert int(refused.headers["retry-after"]) > 3000
    assert Web(web.app, address="198.51.100.7").get(DATA).status_code == 200
    nets = [Web(web.app, address=f"2001:db8::{n}") for n in range(3)]
    assert [net.get(DATA).status_code for net in nets] == [200, 200, 429]


def test_large_requests_are_refused_before_they_are_read(special):
    web = special(limits={"request_bytes": 1024})
    problem(web.post(DATA, content=b"x" * 2000), 413, "too_large")

    async def pieces():
        for _ in range(50):
            yield b" " * 100

    problem(web.post(DATA, content=pieces()), 413, "too_large")
    flood = {f"x-{n}": "y" for n in range(200)}
    problem(web.get("/tables", headers=flood), 400, "bad_request")
    many = "&".join(f"valuecodes[v{n}]=1" for n in range(300))
    problem(web.get(f"{DATA}?{many}"), 400, "bad_request")


def test_with_tokens_only_their_owners_are_answered(special, tmp_path):
    file = TokenFile(tmp_path / "tokens.json")
    token = file.add(role="officer", label="A")
    web = special(access={"mode": "tokens", "tokens": file.path})
    for headers in (
        {},
        {"Authorization": "Bearer x"},
        {"Authorization": f"Basic {token}"},
        {"Authorization": "Bearer "},
    ):
        answer = web.get("/tables", headers=headers)
        problem(answer, 401, "no_token")
        assert answer.headers["www-authenticate"].startswith("Bearer")
    mine = {"Authorization": f"Bearer {token}"}
    assert web.get("/tables", headers=mine).status_code == 200
    assert "ckm_requests_total" in web.get("/metrics", headers=mine).text
    assert web.get("/health").status_code == 200
    file.revoke(token.split("_")[1])
    problem(web.get("/tables", headers=mine), 401, "no_token")


def test_the_configuration_tells_each_caller_the_requests_of_an_hour(special, tmp_path):
    file = TokenFile(tmp_path / "tokens.json")
    tokens = {role: file.add(role=role, label=role) for role in ("public", "researcher")}
    tokens["own"] = file.add(role="researcher", label="own", requests_per_hour=77)
    web = special(access={"tokens": file.path}, limits={"requests_per_hour": 1000})
    for name, limit in (("public", 1000), ("researcher", 5000), ("own", 77)):
        told = web.get("/config", headers={"Authorization": f"Bearer {tokens[name]}"})
        assert told.json()["maxCallsPerTimeWindow"] == limit
    assert web.get("/config").json()["maxCallsPerTimeWindow"] == 1000


def test_researchers_may_have_larger_tables(special, served, tmp_path):
    file = TokenFile(tmp_path / "tokens.json")
    token = file.add(role="researcher", label="A")
    web = special(
        access={"tokens": file.path}, limits={"cells_researcher": 10**7, "concurrent_scans": 1}
    )
    url = f"{DATA}?valuecodes[geo]=*&valuecodes[zone_2024]=*"
    problem(web.get(url), 403, "maximum_cells")
    answer = web.get(url, headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 200 or answer.json()["reason"] != "maximum_cells"


def test_figures_are_for_this_machine_and_for_officers(special):
    assert "# TYPE" in special(address="127.0.0.1").get("/metrics").text


def test_other_web_sites_may_ask_where_the_file_says_so(special, web):
    origin = {"Origin": "https://office.example"}
    allowed = special(access={"origins": ("https://office.example",)}).get(
        "/tables", headers=origin
    )
    assert allowed.headers["access-control-allow-origin"] == "https://office.example"
    assert "access-control-allow-origin" not in web.get("/tables", headers=origin).headers


def test_the_audit_log_tells_who_asked_for_which_shape_and_no_number(special, tmp_path):
    web = special(access={"audit": tmp_path / "audit.log"})
    web.get(f"{DATA}?valuecodes[sex]=*&filter=" + "category <> 'E'")
    web.get(f"{DATA}?valuecodes[sex]=X")
    web.get(f"{DATA}?valuecodes[geo]=*&valuecodes[zone_2024]=*")
    lines = [json.loads(line) for line in (tmp_path / "audit.log").read_text().splitlines()]
    assert [line["outcome"] for line in lines] == [
        "published",
        "mistake: no_category",
        "maximum_cells",
    ]
    assert lines[0]["variables"] == {"sex": 3}
    assert lines[0]["where"] == "category <> 'E'"
    assert lines[0]["who"] == "address 203.0.113.9"


def test_no_table_leaves_where_the_audit_log_cannot_be_written(special, tmp_path, monkeypatch):
    web = special(access={"audit": tmp_path / "audit.log"})

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("ckm.service.access.audit_log.os.write", full)
    for url in (f"{DATA}?valuecodes[sex]=*", f"{DATA}?valuecodes[sex]=X"):
        problem(web.get(url), 503, "busy")
    problem(web.get("/?codelist[sex]=sex"), 503, "busy")
    assert web.get("/tables").status_code == 200  # nothing is noted of it
    monkeypatch.undo()
    assert web.get(f"{DATA}?valuecodes[sex]=*").status_code == 200


def test_what_costs_a_caller_nothing_leaves_nothing_in_the_audit_log(special, tmp_path):
    path = tmp_path / "audit.log"
    web = special(access={"audit": path}, limits={"requests_per_hour": 2})
    for url in ("/nothing", "/tables?lang=de", "/requests/" + "A" * 22, "/tables/other"):
        web.get(url)
    for _ in range(5):
        web.get(f"{DATA}?valuecodes[sex]=X")
    assert len(path.read_text().splitlines()) <= 2


def test_a_format_that_cannot_hold_a_table_is_the_callers_to_change(special, monkeypatch):
    def fail(*_args, **_kwargs):
        raise FormatError("A label of J00000017 cannot stand there.")

    monkeypatch.setattr("ckm.service.table_service.render", fail)
    web = special()
    for form in ("px", "sdmx-csv"):
        if form in FORMATS:
            answer = web.get(f"{DATA}?valuecodes[sex]=F&outputformat={form}")
            told = problem(answer, 400, "unfit_format")
            assert form in answer.text
            assert "J00000017" not in answer.text
    page = web.get("/?codelist[sex]=sex&outputFormat=px")
    assert page.status_code == 400
    job = web.post("/requests", json={"dimensions": ["sex"], "format": "px", "wait": False})
    while (told := web.get(job.headers["location"]).json())["status"] in {"queued", "running"}:
        time.sleep(0.01)
    assert (told["status"], told["error"]) == ("failed", "unfit_format")


def test_a_scan_without_enough_memory_is_answered_as_busy(special, served, monkeypatch, caplog):
    def fail(*_args, **_kwargs):
        raise SourceError("The work does not fit into the memory.")

    monkeypatch.setattr(served.answerer.cubes._prepared, "scan", fail)
    url = f"{DATA}?valuecodes[age_tree]=*&valuecodes[zone_2024]=*&filter=category in ('A', 'D')"
    problem(special().get(url), 503, "busy")
    assert "scan failed" in caplog.text


def test_a_fault_of_ours_says_nothing_of_itself(special, served, monkeypatch, caplog):
    web = special()

    def fail(*_args, **_kwargs):
        raise RuntimeError("record J00000017 has key 12345")

    monkeypatch.setattr(served.answerer, "answer", fail)
    problem(web.get(f"{DATA}?valuecodes[sex]=F"), 500, "internal")
    assert "J00000017" not in caplog.text
    assert "RuntimeError" in [getattr(r, "error", "") for r in caplog.records]


def test_the_api_describes_itself(web):
    document = web.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    data = document["paths"]["/tables/{table_id}/data"]
    assert {"200", "400", "403", "404", "413", "429", "500"} <= set(data["get"]["responses"])
    names = [p["name"] for p in data["get"]["parameters"]]
    assert {"valuecodes", "codelist", "outputvalues", "outputFormat", "lang"} <= set(names)
    body = document["paths"]["/requests"]["post"]["requestBody"]["content"]["application/json"]
    assert body["examples"]["table"]["value"]["dimensions"] == ["sex"]


def test_an_address_is_a_caller_and_of_version_six_its_network():
    def found(host):
        request = SimpleNamespace(client=SimpleNamespace(host=host), headers={})
        return address_of(request), is_local(request)

    assert found("127.0.0.1") == ("127.0.0.1", True)
    assert found("::1") == ("::/64", True)
    assert found("::ffff:127.0.0.1") == ("127.0.0.1", True)
    assert found("::ffff:203.0.113.9") == ("203.0.113.9", False)
    assert found("::2") == ("::/64", False)
    assert found("2001:db8:0:7::9") == found("2001:db8:0:7:1::") == ("2001:db8:0:7::/64", False)
    assert found("fe80::1%eth0") == ("fe80::/64", False)
    assert found("x" * 200) == ("x" * 100, False)


def test_a_service_escapes_formulas_in_csv_where_its_file_says_so(special, served, monkeypatch):
    monkeypatch.setattr("ckm.formats.csv_text._FORMULA", ("F",))  # the data have no other
    job = served.service.job
    escaping = special(job=job.changed(output=job.output.changed(csv_formulas="escape")))
    for form, before, after in (("csv", '"F",', '"\'F",'), ("sdmx-csv", ",F,", ",F,")):
        url = f"{DATA}?valuecodes[sex]=F,M&outputformat={form}"
        kept = special().get(url).text
        assert before in kept
        assert escaping.get(url).text == kept.replace(before, after)


def test_answers_and_metadata_have_one_form_of_categories(web):
    told = web.get("/tables/jobseekers/metadata").json()
    for query in ("valuecodes[sex]=*", "valuecodes[category]=*"):
        answer = web.get(f"{DATA}?{query}").json()
        for name in answer["id"]:
            category = answer["dimension"][name]["category"]
            assert category["label"].keys() == category["index"].keys()
            assert sorted(category["index"].values()) == list(range(len(category["index"])))
            described = told["dimension"][name]["category"]
            assert category["label"].items() <= described["label"].items()
            assert type(category["index"]) is type(described["index"]) is dict


def test_requests_of_the_r_package_pxweb_are_answered(web):
    """The package asks for metadata, then posts, with code lists in the address."""
    metadata = web.get("/tables/jobseekers/metadata?lang=en&outputFormat=json-stat2").json()
    assert {"version", "class", "label", "id", "dimension"} <= metadata.keys()
    assert "value" not in metadata
    assert (
        metadata["extension"]["px"].items()
        >= {"tableid": "jobseekers", "language": "en"}.items()
    )
    for name in metadata["id"]:
        assert {"label", "category", "extension"} <= metadata["dimension"][name].keys()
    table = web.get("/tables/jobseekers?lang=en").json()
    wanted = {"language", "id", "label", "updated", "firstPeriod", "lastPeriod", "links"}
    assert wanted | {"variableNames"} <= table.keys()

    selection = [
        {"variableCode": "geo", "valueCodes": ["*"]},
        {"variableCode": "sex", "valueCodes": ["F", "M"]},
        {"variableCode": "ContentsCode", "valueCodes": ["count"]},
    ]
    lists = {"codelist[geo]": "geo.region", "outputValues[geo]": "aggregated"}
    plain = {"lang": "en", "outputFormat": "json-stat2"}
    headers = {"Accept": "application/json", "Content-Type": "application/json"}
    beside = web.post(
        DATA, params=plain | lists, json={"selection": selection}, headers=headers
    )
    assert beside.status_code == 200, beside.text
    selection[0]["codelist"] = "geo.region"
    within = web.post(DATA, params=plain, json={"selection": selection}, headers=headers)
    assert cells_of(beside) == cells_of(within)
    document = beside.json()
    assert len(document["value"]) == np.prod(document["size"])
    regions = {v["code"] for v in web.get("/codelists/geo.region").json()["values"]}
    assert set(document["dimension"]["geo"]["category"]["index"]) <= regions


def test_what_an_address_adds_to_a_body_belongs_to_it(web):
    body = {"selection": [{"variableCode": "sex"}]}
    for query in ("codelist[geo]=geo.region", "valuecodes[sex]=F", "outputvalues[sex]=x"):
        problem(web.post(f"{DATA}?{query}", json=body), 400, "bad_parameter")


# --- HEAD, and codes with commas ----------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/tables",
        "/tables/jobseekers",
        "/tables/jobseekers/metadata",
        "/codelists/sex",
        "/config",
        "/openapi.json",
        "/health",
        f"{DATA}?valuecodes[sex]=*",
        f"{DATA}?valuecodes[sex]=nobody",
        f"{DATA}?filter=sex='F'",
        "/nowhere",
        "/static/page.css",
        "/requests/nothing",
    ],
)
def test_head_is_answered_as_get_is_without_a_body(web, path):
    read, head = web.get(path), web.ask("HEAD", path)
    counted = {"ratelimit", "ratelimit-remaining", "ratelimit-reset"}
    assert head.status_code == read.status_code
    assert {k: v for k, v in head.headers.items() if k not in counted} == {
        k: v for k, v in read.headers.items() if k not in counted
    }
    assert "HEAD" in web.ask("PATCH", path).headers.get("allow", "HEAD")


def test_head_knows_what_a_caller_has_already_and_counts_as_a_request(web):
    table = web.get(f"{DATA}?valuecodes[sex]=*")
    same = web.ask(
        "HEAD", f"{DATA}?valuecodes[sex]=*", headers={"If-None-Match": table.headers["etag"]}
    )
    assert same.status_code == 304
    left = [int(answer.headers["ratelimit-remaining"]) for answer in (table, same)]
    assert left[1] == left[0] - 1


def test_only_what_can_be_read_has_head(web):
    assert web.ask("HEAD", "/requests").status_code == 405
