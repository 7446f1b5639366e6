"""The catalogue has what DCAT-AP requires, and each of its addresses answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckm.config.service.service import read_service
from ckm.formats import FORMATS
from ckm.service.access.tokens import TokenFile
from ckm.service.answering.catalogue import catalogue_of
from ckm.service.http.app import make_app
from ckm.service.table_service import TableService
from tests.unit.ckm.service.answering.test_documentation import ABOUT
from tests.unit.ckm.service.conftest import Served, Web, write_service

# From the SHACL shapes of DCAT-AP 3.0.0 (github.com/SEMICeu/DCAT-AP, file
# releases/3.0.0/html/shacl/shapes.ttl): properties with sh:minCount 1, those with
# sh:maxCount 1, and the paths that :DateOrDateTimeDataType_Shape checks.
REQUIRED = {
    "dcat:Catalog": {"dct:description", "dct:publisher", "dct:title"},
    "dcat:Dataset": {"dct:description", "dct:title"},
    "dcat:Distribution": {"dcat:accessURL"},
    "dcat:DataService": {"dct:title", "dcat:endpointURL"},
    "foaf:Agent": {"foaf:name"},
}
ONCE = {
    "dct:publisher",
    "dct:license",
    "dct:issued",
    "dct:modified",
    "dct:accessRights",
    "dcat:mediaType",
    "foaf:homepage",
}
DATES = {"dct:issued", "dct:modified"}
NODES = {"dcat:accessURL", "dcat:downloadURL", "dcat:endpointURL", "dcat:endpointDescription"}

JOB = """
schema = 1
[data]
path = "people.parquet"
id = "person_id"
weight = "weight"
[keys]
secret = "secret.key"
[ptable]
path = "pt.parquet"
[hierarchies]
geo = ["region", "department", "commune"]
[ledger]
path = "ledger.db"
[[table]]
name = "places"
title = { en = "Places by sex", fr = "Lieux par sexe" }
dimensions = ["geo", "sex"]
[[table]]
name = "kinds"
dimensions = ["category", "sex"]
measures = ["count", "weighted"]
margins = [["sex"]]
[[table]]
name = "young"
dimensions = ["sex"]
where = "age < 40"
[[table]]
name = "unoffered"
dimensions = ["age_group"]
[[table]]
name = "filtered"
dimensions = ["sex"]
where = "age < 50"
"""
MORE = """
[[population]]
name = "under_40"
title = { en = "Under 40", fr = "Moins de 40 ans" }
where = "age < 40"
[ledger]
path = "ledger.db"
official = ["job.toml"]
"""


@pytest.fixture(scope="module")
def official(tmp_path_factory):
    """A service with official tables, opened without its ledger, and its catalogue."""
    folder = tmp_path_factory.mktemp("official")
    path = write_service(folder, more=MORE)
    (folder / "job.toml").write_text(JOB)
    path.write_text(
        path.read_text().replace('contact = "office', ABOUT.strip() + '\ncontact = "office')
    )
    opened = Served(path, tmp_path_factory.mktemp("jobs"), ledger=None)
    document = catalogue_of(
        read_service(path),
        variables=opened.table_service.variables,
        measures=opened.table_service.measures,
        permits=lambda query: not opened.answerer.refuses_shape(query),
    )
    yield opened, document
    opened.close()


def nodes_of(value):
    """Give every object of a document that has a type of its own."""
    if isinstance(value, dict):
        if str(value.get("@type", "")).split(":")[0] in {"dcat", "foaf", "vcard"}:
            yield value
        for name, inner in value.items():
            if name != "@context":
                yield from nodes_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from nodes_of(inner)


def require_dcat_ap(document):
    """Check what DCAT-AP requires of every class, and that names have a declared prefix."""
    kinds = set()
    for node in nodes_of(document):
        kinds.add(node["@type"])
        missing = REQUIRED.get(node["@type"], set()) - set(node)
        assert not missing, (node["@type"], missing)
        for name, value in node.items():
            if name.startswith("@"):
                continue
            assert name.split(":")[0] in document["@context"], name
            assert value not in ([], {}, "", None), name
            assert name not in ONCE or not isinstance(value, list), name
            if name in DATES:
                assert value["@type"] == "xsd:date"
            if name in NODES:
                assert set(value) == {"@id"}
                assert value["@id"]
            if name in {"dct:title", "dct:description"} and isinstance(value, list):
                assert [one["@language"] for one in value] == ["en", "fr"]
    assert set(REQUIRED) <= kinds
    own = {node["@id"] for node in nodes_of(document) if "@id" in node}
    for node in nodes_of(document):
        for name in ("dcat:accessService", "dcat:servesDataset"):
            links = node.get(name, [])
            for link in links if isinstance(links, list) else [links]:
                assert link["@id"] in own


def test_the_catalogue_of_a_service_has_what_dcat_ap_requires(web):
    answer = web.get("/catalogue?lang=fr")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("application/ld+json")
    require_dcat_ap(answer.json())
    (dataset,) = answer.json()["dcat:dataset"]
    assert dataset["dcat:contactPoint"]["vcard:hasEmail"]["@id"] == "mailto:office@example.org"
    address = dataset["dcat:distribution"][0]["dcat:accessURL"]["@id"]
    assert web.get(address).status_code == 200
    again = web.get("/catalogue?lang=fr", headers={"If-None-Match": answer.headers["etag"]})
    assert again.status_code == 304


def test_each_official_table_that_can_be_asked_for_is_a_data_set(official):
    document = official[1]
    require_dcat_ap(document)
    titles = {
        dataset["dct:identifier"]: [one["@value"] for one in dataset["dct:title"]]
        for dataset in document["dcat:dataset"]
    }
    assert titles == {
        "jobseekers": ["Job seekers", "Demandeurs d'emploi"],
        "places": ["Places by sex", "Lieux par sexe"],
        "kinds": ["kinds", "kinds"],
        "young": ["young", "young"],
    }
    assert document["dct:license"]["@id"].startswith("https://creativecommons.org")
    assert document["dct:issued"]["@value"] == "2024-01-15"
    assert document["dct:modified"]["@value"] == "2024-03-31"


def test_every_distribution_is_answered_in_its_format(official):
    opened, document = official
    prefix = "https://tables.example.org/seekers"
    n_formats = 0
    for dataset in document["dcat:dataset"][1:]:
        for one in dataset["dcat:distribution"]:
            address = one["dcat:downloadURL"]["@id"]
            assert address.startswith(prefix)
            answer = opened.web.get(address.removeprefix(prefix))
            assert answer.status_code == 200, (one["dct:title"], answer.text)
            media = answer.headers["content-type"].split(";")[0]
            assert one["dcat:mediaType"]["@id"].endswith(f"/{media}")
            n_formats += 1
    assert n_formats == 3 * len(FORMATS)


def test_official_tables_of_other_noise_are_no_data_sets(official):
    opened, _ = official
    service = read_service(opened.service.path)
    (job,) = service.official
    for change in (
        {"ptable": Path("other.parquet")},
        {"output": job.output.changed(additive=True)},
        {"hierarchies": {"geo": ["region"]}, "table": job.table[:1]},
    ):
        service._official = (job.changed(**change),)
        document = catalogue_of(
            service,
            variables=opened.table_service.variables,
            measures=("count",),
            permits=lambda _: True,
        )
        assert len(document["dcat:dataset"]) == 1, change


def test_a_service_for_holders_of_tokens_alone_shows_its_catalogue_to_them(official, tmp_path):
    opened, _ = official
    file = TokenFile(tmp_path / "tokens.json")
    token = file.add(role="public", label="it")
    access = opened.service.access.changed(mode="tokens", tokens=file.path)
    table_service = TableService(
        opened.service.changed(access=access), opened.answerer, folder=tmp_path / "jobs"
    )
    web = Web(make_app(table_service))
    assert web.get("/catalogue").status_code == 401
    answer = web.get("/catalogue", headers={"Authorization": f"Bearer {token}"})
    rights = answer.json()["dcat:dataset"][0]["dct:accessRights"]["@id"]
    assert rights.endswith("/RESTRICTED")
    table_service.close()
