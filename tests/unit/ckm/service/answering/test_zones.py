"""Zones of the office are populations; polygons are turned into areas."""

from __future__ import annotations

import csv
import json

import lxml.html
import pyarrow.parquet as pq
import pytest

from ckm.config.problems import JobError
from ckm.config.service.service import read_service
from ckm.errors import ConfigError
from ckm.service.process.server import rehearse_service
from tests.unit.ckm.service.conftest import Served, cells_of, write_service

DATA = "/tables/jobseekers/data"


def with_zones(folder, *, areas=None, level="department"):
    """Write a service with a zone of the office, names and centres of its departments."""
    path = write_service(folder)
    table = pq.read_table(folder / "people.parquet")
    regions, departments = (table[name].to_pylist() for name in ("region", "department"))
    pairs = sorted(set(zip(regions, departments, strict=True)))
    chosen = areas if areas is not None else [code for _, code in pairs[:2]]
    with (folder / "places.csv").open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(["code", "en", "fr", "former", "x", "y"])
        for place, (region, code) in enumerate(pairs):
            name = "Évry" if place == 0 else f"Place {place}"
            old = "Corbeil | Essonnes-Vieille" if place == 0 else ""
            y = 1 if place < 3 else 1 + place % 7
            lines.writerow([f"{region}/{code}", name, name, old, place, y])
    text = path.read_text().replace('name = "geo"\n', 'name = "geo"\ncodelist = "places.csv"\n')
    listed = ", ".join(repr(code) for code in chosen).replace("'", '"')
    zone = (
        f'[[zone]]\nname = "basin"\ntitle = {{ en = "Basin", fr = "Bassin" }}\n'
        f'level = "{level}"\nareas = [{listed}]\n'
    )
    path.write_text(text + zone)
    return path, pairs


@pytest.fixture(scope="module")
def zoned(tmp_path_factory):
    path, pairs = with_zones(tmp_path_factory.mktemp("zoned"))
    opened = Served(path, tmp_path_factory.mktemp("jobs"))
    yield opened, pairs
    opened.close()


def test_an_official_zone_has_the_numbers_of_a_batch_of_the_same_records(zoned):
    served, pairs = zoned
    found = cells_of(served.web.get(f"{DATA}?population=basin&valuecodes[sex]=*"))
    codes = ", ".join(f"'{code}'" for _, code in pairs[:2])
    table = served.engine.tabulate(
        ["sex"], margins="all", where=f"department in ({codes})"
    ).to_pandas()
    batch = dict(zip(table["sex"], table["count"], strict=True))
    assert {sex: number for (sex, _), number in found.items()} == batch
    labels = served.web.get("/tables/jobseekers/metadata?lang=fr").json()["extension"]
    assert {"code": "basin", "label": "Bassin"} in labels["populations"]


def test_a_polygon_names_the_areas_whose_centre_it_holds(zoned):
    served, pairs = zoned
    ring = [[-0.5, 0], [2.5, 0], [2.5, 2], [-0.5, 2], [-0.5, 0]]
    body = {"polygon": {"type": "Polygon", "coordinates": [ring]}, "level": "department"}
    answer = served.web.post("/zones", json=body)
    assert answer.status_code == 200, answer.text
    codes = [area["code"] for area in answer.json()["areas"]]
    assert codes == [f"{region}/{code}" for region, code in pairs[:3]]
    assert answer.json()["areas"][0]["label"] == "Évry"
    zone = served.web.get(f"{DATA}?valuecodes[geo]={','.join(codes)}&zone=Drawn")
    parts = served.web.get(f"{DATA}?valuecodes[geo]={','.join(codes)}")
    assert sum(cells_of(parts).values()) == cells_of(zone)["Drawn", "count"]


@pytest.mark.parametrize(
    ("polygon", "said"),
    [
        ([[[90, 0], [91, 0], [91, 1], [90, 0]]], "centre of no area"),
        ([[[0, 0], [4, 4], [4, 0], [0, 4], [0, 0]]], "crosses itself"),
    ],
)
def test_a_polygon_of_nobody_or_one_that_crosses_itself_is_named(zoned, polygon, said):
    served, _ = zoned
    body = {"polygon": {"type": "Polygon", "coordinates": polygon}, "level": "department"}
    answer = served.web.post("/zones", json=body)
    assert answer.status_code == 400
    assert said in answer.json()["detail"]


def test_a_million_vertices_are_too_large_a_request(zoned):
    served, _ = zoned
    ring = "[" + ",".join(["[0,0]"] * 1_000_000) + "]"
    text = '{"polygon": {"type": "Polygon", "coordinates": [' + ring + "]}}"
    headers = {"Content-Type": "application/json"}
    assert served.web.post("/zones", content=text, headers=headers).status_code == 413


RING = [[-0.5, 0], [2.5, 0], [2.5, 2], [-0.5, 2], [-0.5, 0]]
POLYGON = json.dumps({"type": "Polygon", "coordinates": [RING]})
LEVEL = {"polygon-level": "department", "lang": "en"}


def looked(served, polygon, *, method="POST"):
    """Send a polygon to the page, as its form does; return the answer and its tree."""
    fields = {"polygon": polygon, **LEVEL}
    how = {"params": fields} if method == "GET" else {"data": fields}
    answer = served.web.ask(method, "/", **how)
    return answer, lxml.html.fromstring(answer.content)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_the_page_shows_the_areas_of_a_polygon_before_anything_is_counted(zoned, method):
    served, pairs = zoned
    answer, tree = looked(served, POLYGON, method=method)
    assert answer.status_code == 200
    assert not tree.xpath("//table")
    assert tree.xpath("//*[@id='held']//li/text()") == ["Évry", "Place 1", "Place 2"]
    codes = [f"{region}/{code}" for region, code in pairs[:3]]
    assert tree.xpath("//fieldset[@data-areas]//input[@checked]/@value") == codes
    # The form as it stands, with a name: the sum of the published numbers.
    form = [("codelist[geo]", "geo"), ("zone", "Mine"), ("polygon", "")]
    form += [("valuecodes[geo]", code) for code in codes]
    zone = lxml.html.fromstring(served.web.get("/", params=form).content)
    parts = cells_of(served.web.get(f"{DATA}?valuecodes[geo]={','.join(codes)}"))
    assert zone.xpath("//tbody//td/@data-n") == [str(sum(parts.values()))]


WRONG = {
    "{": "no JSON",
    "[" * 5000: "no JSON",
    '{"type": "Point", "coordinates": [1, 2]}': "Polygon or a MultiPolygon",
    POLYGON.replace("[2.5, 2]", "[-1, -1]").replace("[-0.5, 2]", "[2, 2]"): "crosses itself",
    POLYGON.replace("2.5", "-0.4"): "centre of no area",
    '{"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 1]]]}': "is open",
}


@pytest.mark.parametrize(("polygon", "said"), WRONG.items(), ids=lambda text: text[:30])
def test_what_is_wrong_with_a_polygon_is_said_at_its_field(zoned, polygon, said):
    served, _ = zoned
    answer, tree = looked(served, polygon)
    assert answer.status_code == 400
    assert said in tree.xpath("string(//*[@id='problems']//li)")
    assert tree.xpath("//*[@id='problems']//a/@href") == ["#polygon"]


def test_looking_at_a_polygon_costs_a_request_and_a_million_vertices_are_too_many(zoned):
    served, _ = zoned
    left = int(looked(served, POLYGON)[0].headers["ratelimit-remaining"])
    assert int(looked(served, POLYGON)[0].headers["ratelimit-remaining"]) == left - 1
    ring = "[" + ",".join(["[0,0]"] * 1_000_000) + "]"
    body = "polygon=" + ring
    assert served.web.ask("POST", "/", content=body).status_code == 413


def test_a_zone_is_not_called_as_an_area_in_any_language(zoned):
    served, pairs = zoned
    codes = ",".join(f"{region}/{code}" for region, code in pairs[:2])
    for name in ("Évry", "evry", "place 3", "Total", pairs[0][1]):
        answer = served.web.get(DATA, params={"valuecodes[geo]": codes, "zone": name})
        assert answer.status_code == 400, name
        assert "is the name of an area" in answer.json()["detail"]


def test_two_areas_are_compared_by_their_names(zoned):
    served, pairs = zoned
    tree = lxml.html.fromstring(served.web.get("/?compare=evry&compare=Place 4").content)
    assert tree.xpath("//input[@name='compare']/@value") == ["Évry", "Place 4"]
    heads = [text.strip() for text in tree.xpath("//thead//a/text()")]
    assert heads[:2] == ["Évry", "Place 4"]
    href = tree.xpath("string(//a[@id='permalink']/@href)")
    assert f"{pairs[4][0]}%2F{pairs[4][1]}" in href  # names may change, codes do not


def test_without_centres_or_with_a_level_that_is_none_the_answer_says_so(zoned, web):
    served, _ = zoned
    body = {"polygon": {"type": "Polygon", "coordinates": []}}
    assert "no centres" in web.post("/zones", json=body).json()["detail"]
    body["level"] = "country"
    assert "no level" in served.web.post("/zones", json=body).json()["detail"]


def test_areas_are_found_by_former_names_and_without_accents(zoned):
    served, _ = zoned
    for text in ("evr", "corb", "ESSONNES VIEILLE"):
        page = served.web.get("/", params={"find[geo]": text})
        assert "1 category found." in page.text
        assert "Évry" in page.text


def test_a_zone_without_a_ledger_is_named_as_a_zone(tmp_path):
    path, _ = with_zones(tmp_path)
    with pytest.raises(ConfigError, match=r"^\[\[zone\]\] needs \[ledger\]"):
        rehearse_service(read_service(path), quick=True)


def test_wrong_zones_are_named_in_the_service_file(tmp_path):
    path, _ = with_zones(tmp_path, areas=["01", "01"], level="departmen")
    with pytest.raises(JobError) as caught:
        read_service(path)
    said = str(caught.value)
    assert "'departmen' is no level of the area variable" in said
    assert "names an area twice" in said
    text = path.read_text()
    path.write_text(text[: text.index("areas = [")] + "areas = []\n")
    with pytest.raises(JobError, match="has no areas"):
        read_service(path)
    places = (tmp_path / "places.csv").read_text().replace(",0,1", ",zero,1", 1)
    (tmp_path / "places.csv").write_text(places)
    with pytest.raises(JobError, match="no pair of numbers"):
        read_service(path)
