"""One JSON document has a table and all that is known of it, in every language."""

from __future__ import annotations

import datetime as dt

import pytest

from ckm.config.problems import JobError
from ckm.config.service.service import read_service
from tests.unit.ckm.service.conftest import Served, cells_of, write_service

DATA = "/tables/jobseekers/data"

ABOUT = """
issued = 2024-01-15
updated = 2024-03-31
revision = { en = "Ages were corrected.", fr = "Les âges ont été corrigés." }
licence = "https://creativecommons.org/licenses/by/4.0/"
address = "https://tables.example.org/seekers/"
figure_margins = 95
"""
SEX = """
definition = { en = "As registered.", fr = "Selon le registre." }
source = { en = "Registry", fr = "État civil" }
contact = "registry@example.org"
updated = 2024-02-29
revision = { en = "None yet.", fr = "Aucune." }
"""
RATE = """
[[rate]]
name = "first"
title = { en = "In A, per 100", fr = "En A, pour 100" }
variable = "category"
numerator = ["A"]
denominator = ["Total"]
definition = { en = "Those in A by all.", fr = "Ceux de A rapportés à tous." }
contact = "rates@example.org"
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """A client of a service whose file says all that it can."""
    path = write_service(tmp_path_factory.mktemp("told"), more=RATE)
    text = path.read_text().replace('contact = "office', ABOUT.strip() + '\ncontact = "office')
    path.write_text(text.replace('name = "sex"\n', 'name = "sex"\n' + SEX.strip() + "\n"))
    opened = Served(path, tmp_path_factory.mktemp("jobs"))
    yield opened.web
    opened.close()


def test_a_table_is_one_document_with_all_that_is_known_of_it(told):
    document = told.get(f"{DATA}?lang=en&valuecodes[sex]=*&valuecodes[geo]=*").json()
    assert document["source"] == "An office"
    assert document["updated"].startswith("2024-03-31")
    assert document["extension"]["contact"] == [{"raw": "office@example.org"}]
    assert document["extension"]["issued"] == "2024-01-15"
    assert document["extension"]["revision"] == "Ages were corrected."
    assert document["link"]["license"] == [
        {"href": "https://creativecommons.org/licenses/by/4.0/"}
    ]
    assert any("Parts do not add up" in note for note in document["note"])
    sex = document["dimension"]["sex"]
    assert sex["note"] == ["As registered."]
    assert sex["extension"] == {
        "elimination": True,
        "eliminationValueCode": "Total",
        "source": "Registry",
        "contact": [{"raw": "registry@example.org"}],
        "updated": "2024-02-29",
        "revision": "None yet.",
    }
    french = document["extension"]["translations"]["fr"]
    assert french["label"] == "Demandeurs d'emploi"
    assert french["source"] == "Un office"
    assert french["dimension"]["sex"]["label"] == "Sexe"
    assert french["dimension"]["sex"]["note"] == ["Selon le registre."]
    labels = french["dimension"]["sex"]["category"]["label"]
    assert labels["F"] == "Femmes"
    assert french["dimension"]["sex"]["extension"]["source"] == "État civil"
    assert french["extension"]["revision"] == "Les âges ont été corrigés."


def test_what_the_translations_say_is_what_the_document_in_that_language_says(told):
    query = "valuecodes[sex]=*&codelist[geo]=geo.region&valuecodes[geo]=*"
    english = told.get(f"{DATA}?lang=en&{query}").json()
    french = told.get(f"{DATA}?lang=fr&{query}").json()
    said = english["extension"]["translations"]["fr"]
    assert {said[key] == french[key] for key in ("label", "source", "note")} == {True}
    for name, one in said["dimension"].items():
        own = french["dimension"][name]
        assert name == "ContentsCode" or one["label"] == own["label"]
        labels = english["dimension"][name]["category"]["label"]
        assert labels | one.get("category", {}).get("label", {}) == own["category"]["label"]
        assert one.get("note") == own.get("note")


def test_a_table_without_totals_says_nothing_of_parts(told):
    document = told.get(f"{DATA}?lang=en&valuecodes[sex]=F,M").json()
    assert not any("Parts do not add up" in note for note in document["note"])


def test_a_rate_has_its_definition_and_contact_with_it(told):
    document = told.get(f"{DATA}?lang=en&valuecodes[sex]=*&figure=first").json()
    contents = document["dimension"]["ContentsCode"]
    assert contents["category"]["note"] == {"first": ["Those in A by all."]}
    assert contents["extension"]["measures"]["first"] == {
        "contact": [{"raw": "rates@example.org"}]
    }
    metadata = told.get("/tables/jobseekers/metadata?lang=fr").json()
    (rate,) = metadata["extension"]["rates"]
    assert rate["note"] == ["Ceux de A rapportés à tous."]
    assert metadata["dimension"]["sex"]["extension"]["revision"] == "Aucune."


def test_the_page_says_who_answers_for_the_service_and_for_a_variable(told):
    english, french = (told.get(f"/?lang={language}").text for language in ("en", "fr"))
    assert "Source: Registry. Contact: registry@example.org. Date: 2024-02-29." in english
    assert "Last revision: None yet." in english
    assert "Ages were corrected." in english
    assert "État civil" in french
    assert "Les âges ont été corrigés." in french
    for text in (english, french):
        licence = "https://creativecommons.org/licenses/by/4.0/"
        assert f'<a href="{licence}" rel="license">Licence</a>' in text


@pytest.mark.parametrize(
    "query",
    [
        "valuecodes[sex]=*",
        "valuecodes[sex]=M,F&outputFormat=json-stat2",
        "codelist[geo]=geo.department&valuecodes[geo]=*&valuecodes[sex]=F",
        "valuecodes[sex]=*&valuecodes[ContentsCode]=weighted,count",
        "valuecodes[sex]=*&valuecodes[category]=top(2)&figure=share&of=sex",
        "valuecodes[sex]=*&figure=difference&of=sex&base=F",
        "valuecodes[category]=*&filter=sex = 'F'",
        "valuecodes[sex]=*&figure=first",
        "",
    ],
)
def test_the_link_of_a_document_to_itself_answers_with_it(told, query):
    answer = told.get(f"{DATA}?lang=fr&{query}")
    (link,) = answer.json()["link"]["self"]
    prefix = "https://tables.example.org/seekers"
    assert link["href"].startswith(prefix + DATA)
    again = told.get(link["href"].removeprefix(prefix))
    assert again.status_code == 200, again.text
    assert cells_of(again) == cells_of(answer)
    assert again.content == answer.content


def test_a_table_that_a_body_alone_asks_for_has_no_link_to_itself(told):
    bodies = [
        {"dimensions": ["geo", "sex"], "margins": [["sex"]]},
        {"dimensions": ["geo"], "select": {"geo": ["Total"]}, "zones": {"North": ["11"]}},
    ]
    for body in bodies:
        answer = told.post("/requests", json=body)
        assert answer.status_code == 200, answer.text
        assert "self" not in answer.json()["link"]
    body = {"dimensions": ["sex", "category"], "margins": "all"}
    linked = told.post("/requests", json=body).json()["link"]["self"][0]["href"]
    assert "valuecodes%5Bsex%5D=%2A" in linked


def test_addresses_of_a_service_that_names_none_begin_at_its_root(web):
    document = web.get(f"{DATA}?valuecodes[sex]=*").json()
    assert document["link"]["self"][0]["href"].startswith(DATA)
    assert "license" not in document["link"]


@pytest.mark.parametrize("key", ["licence", "address"])
def test_an_address_that_is_none_is_refused(tmp_path, key):
    path = write_service(tmp_path, persons=100)
    path.write_text(
        path.read_text().replace('id = "jobseekers"', f'id = "jobseekers"\n{key} = "CC BY"', 1)
    )
    with pytest.raises(JobError, match=key):
        read_service(path)


def test_dates_of_a_service_are_read_as_dates(told, tmp_path):
    path = write_service(tmp_path, persons=100)
    path.write_text(
        path.read_text().replace('id = "jobs', 'issued = 2024-01-15\nid = "jobs', 1)
    )
    assert read_service(path).about.issued == dt.date(2024, 1, 15)
