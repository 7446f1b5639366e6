"""Codes with any signs, by every way in which they can be asked for."""

from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.unit.ckm.service.conftest import SECRET, Served

CODES = [
    *("I,9", "J,10", "A/1", "B?2", "C#3", "D%4", "E+5", "F&6", "G;7", "[x]", "e[1,2]", "(a"),
    *("K", " K", "K ", "\u00a0K"),
]
DATA = "/tables/data/data"
SERVICE = """
schema = 1
[service]
title = "Codes"
[data]
path = "people.parquet"
id = "id"
[keys]
secret = "secret.key"
[ptable]
max_noise = 2
variance = 0.5
[[variable]]
name = "v"
is_area = true
[[variable]]
name = "year"
role = "time"
"""


@pytest.fixture(scope="module")
def web(tmp_path_factory):
    folder = tmp_path_factory.mktemp("codes")
    n = 50 * len(CODES)
    codes = [CODES[i % len(CODES)] for i in range(n)]
    years = [str(2025 + i % 7 % 2) for i in range(n)]
    people = pa.table({"id": range(n), "v": codes, "year": years})
    pq.write_table(people, folder / "people.parquet")
    (folder / "secret.key").write_text(SECRET.hex())
    (folder / "secret.key").chmod(0o600)
    (folder / "service.toml").write_text(SERVICE)
    opened = Served(folder / "service.toml", folder / "made")
    yield opened.web
    opened.close()


@pytest.mark.parametrize("code", CODES)
def test_any_code_in_brackets_selects_its_category_as_in_a_body(web, code):
    body = {"selection": [{"variableCode": "v", "valueCodes": [code]}]}
    answers = [
        web.post(DATA, json=body),
        web.get(f"{DATA}?valuecodes[v]=" + quote(f"[{code}]", safe="")),
    ]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].json()["value"] == answers[1].json()["value"]
    assert list(answers[1].json()["dimension"]["v"]["category"]["index"]) == [code]


def selected(web, text):
    answer = web.get(f"{DATA}?valuecodes[v]=" + quote(text, safe=""))
    assert answer.status_code == 200, answer.text
    return list(answer.json()["dimension"]["v"]["category"]["index"])


def test_blanks_of_codes_in_an_address_are_those_of_categories(web):
    for code in ("K", " K", "K ", "\u00a0K"):
        assert selected(web, code) == [code]
        assert selected(web, f"range({code},{code})") == [code]
    assert set(selected(web, "K, K")) == {"K", " K"}
    assert selected(web, "[ K*]") == [" K"]
    assert set(selected(web, "A/1, C#3")) == {"A/1", "C#3"}  # no code begins with a blank here
    assert selected(web, " top( 1 )") == selected(web, "top(1)")


@pytest.mark.parametrize("first", CODES)
def test_two_areas_with_any_codes_stand_side_by_side(web, first):
    second = "A/1" if first != "A/1" else "I,9"
    pairs = (f"[{first}],[{second}]", f"{first},{second}")
    queries = [f"compare={quote(text, safe='')}" for text in pairs]
    queries += [f"compare={quote(first, safe='')}&compare={quote(second, safe='')}"]
    tables = [web.get(f"/?{query}").text for query in queries]
    for text in tables:
        assert 'class="error"' not in text
        assert "<caption>" in text
    assert tables[0] == tables[1] == tables[2]


def test_the_page_says_how_a_code_with_a_comma_is_written(web):
    tree = web.get("/?codelist[v]=v&valuecodes[v]=Q9*").text
    assert "a code with a comma in brackets: [I,9]" in tree


def test_the_variable_of_times_is_one_in_metadata_and_in_every_format_that_knows_it(web):
    assert web.get("/tables/data/metadata").json()["role"]["time"] == ["year"]
    table = web.get("/tables/data").json()
    assert (table["firstPeriod"], table["lastPeriod"]) == ("2025", "2026")
    years = f"{DATA}?codelist[year]=year.categories&valuecodes[year]=*&outputFormat="
    assert web.get(years + "json-stat2").json()["role"]["time"] == ["year"]
    px = web.get(years + "px").text
    assert 'TIMEVAL("year")=TLIST(A1),"2025","2026";' in px
    assert 'VARIABLE-TYPE("year")="T";' in px
    header = web.get(years + "sdmx-csv").text.splitlines()[0]
    assert header.split(",")[3] == "TIME_PERIOD"
    with_total = web.get(f"{DATA}?valuecodes[year]=*&outputFormat=sdmx-csv").text
    assert with_total.splitlines()[0].split(",")[3] == "year"
