"""The page draws a map of shares and rates by area, of what its table shows."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import lxml.html
import numpy as np
import pytest
from click.testing import CliRunner

from ckm.cli import app
from ckm.config.problems import JobError
from ckm.config.service.service import read_service
from ckm.errors import ConfigError
from ckm.service.answering.answer import Answerer
from ckm.service.maps.area_map import AreaMap
from ckm.service.page.drawn_map import class_edges
from tests.unit.ckm.service.answering.test_documentation import RATE
from tests.unit.ckm.service.answering.test_zones import with_zones
from tests.unit.ckm.service.conftest import Served, cells_of
from tests.unit.ckm.service.maps.areas import winding_areas

SHARES = "./?codelist[geo]=geo.department&codelist[sex]=sex&figure=share&of=sex"
RATES = "./?codelist[geo]=geo.department&figure=first"
ELSEWHERE = "elsewhere"


def draw_map(folder, pairs, *, name="code"):
    """Write a map of departments, and of one more area that is none."""
    across = int(np.ceil(np.sqrt(len(pairs) + 1)))
    winding_areas(folder / "areas.geojson", across=across, name=name)
    document = json.loads((folder / "areas.geojson").read_text())
    codes = [*(f"{region}/{code}" for region, code in pairs), ELSEWHERE]
    features = document["features"][: len(codes)]
    for feature, code in zip(features, codes, strict=True):
        feature["properties"][name] = code
    (folder / "areas.geojson").write_text(json.dumps({"features": features}))
    words = ["service", "map", folder / "areas.geojson", "--code", name]
    words += ["-o", folder / "areas.topojson"]
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)


@pytest.fixture(scope="module")
def mapped(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mapped")
    path, pairs = with_zones(folder)
    done = draw_map(folder, pairs, name="insee")
    assert done.exit_code == 0, done.output
    text = path.read_text().replace(
        'codelist = "places.csv"\n', 'codelist = "places.csv"\nmap = "areas.topojson"\n'
    )
    text = text.replace('id = "jobseekers"', 'id = "jobseekers"\nfigure_margins = 95', 1)
    path.write_text(text + RATE)
    opened = Served(path, tmp_path_factory.mktemp("jobs"))
    yield opened, pairs
    opened.close()


def page(served, address):
    answer = served.web.get(address)
    assert answer.status_code == 200, answer.text[:500]
    return lxml.html.fromstring(answer.content)


def drawing(tree):
    """Return the drawing of the map; None where there is none."""
    found = tree.xpath('//section[@class="map"]//svg[@role="img"]')
    return found[0] if found else None


def shapes(tree):
    """Return what is said of each area of the map → how it looks."""
    looks = {}
    for path in drawing(tree).xpath('./*[local-name()="path"]'):
        said = path.xpath('string(./*[local-name()="title"])')
        looks[said] = path.get("class"), path.get("fill")
    return looks


def test_a_table_of_shares_by_area_has_a_map_of_its_published_figures(mapped):
    served, _ = mapped
    tree = page(served, f"{SHARES}&lang=en")
    api = served.web.get(
        "/tables/jobseekers/data?codelist[geo]=geo.department&valuecodes[geo]=*"
        "&valuecodes[sex]=F&figure=share&of=sex"
    )
    cells = cells_of(api)
    labels = api.json()["dimension"]["geo"]["category"]["label"]
    told = {
        labels[code]: f"{cells[code, 'F', 'share']:.1f}"
        for code, _, measure in cells
        if measure == "share" and cells[code, "F", measure] is not None
    }
    said = [text for text in shapes(tree) if text]
    assert {text.partition(" – ")[0] for text in said} == set(told)
    assert len(said) > 10
    rows = {
        row.xpath("string(th)"): " ".join(row.xpath("string(td[2])").split())
        for row in tree.xpath('//table[@id="table"]/tbody/tr')
    }
    for text in said:
        name, _, figure = text.partition(" – ")
        assert figure.startswith(told[name])
        plain = " ".join(figure.replace("(", "").replace(")", "").split())
        assert plain == rows[name]  # as its row has it


def test_areas_whose_margin_is_wider_than_their_class_are_hatched(mapped):
    served, _ = mapped
    tree = page(served, f"{SHARES}&lang=en")
    texts = [
        " ".join(li.text_content().split()) for li in tree.xpath('//ul[@class="map-legend"]/li')
    ]
    edges = [
        tuple(map(float, text.removesuffix(" %").split(" to ")))
        for text in texts
        if " to " in text
    ]
    assert len(edges) > 1
    assert "Hatched: the margin is wider than the class" in texts
    n_hatched = 0
    for said, (css, fill) in shapes(tree).items():
        if not said:
            assert css.split()[0] == "map-none"
            continue
        numbers = re.findall(r"\d+(?:\.\d+)?", said.partition(" – ")[2])
        figure, low, high = map(float, numbers)
        look = int(re.search(r"map-(\d)", fill or css)[1])
        assert edges[look][0] - 0.06 <= figure <= edges[look][1] + 0.06
        wider = high - low - (edges[look][1] - edges[look][0])
        assert (wider > 0) == bool(fill) or 0 < wider < 2.01  # ends are rounded outwards
        n_hatched += bool(fill)
    assert n_hatched


@pytest.mark.parametrize("language", ["en", "fr"])
def test_a_map_has_a_title_a_description_and_a_way_to_its_table(mapped, language):
    served, _ = mapped
    tree = page(served, f"{SHARES}&lang={language}")
    svg = drawing(tree)
    for name in svg.get("aria-labelledby").split():
        assert "".join(svg.xpath(f'.//*[@id="{name}"]//text()')).strip()
    (section,) = tree.xpath('//section[@class="map"]')
    assert section.xpath('.//a[@href="#table-name"]')
    assert tree.xpath('//*[@id="table-name"]')
    word = {"en": "hatched", "fr": "hachur"}[language]
    assert word in section.text_content().lower()
    ids = tree.xpath("//@id")
    assert len(ids) == len(set(ids))


def test_the_map_is_of_the_column_that_the_table_is_sorted_by(mapped):
    served, _ = mapped
    first = set(shapes(page(served, f"{SHARES}&lang=en")))
    fourth = page(served, f"{SHARES}&lang=en&sort=-4")
    assert set(shapes(fourth)) != first
    heading = fourth.xpath('//section[@class="map"]/p')[0].text_content()
    assert "Men" in heading


def test_every_area_of_the_map_has_the_code_that_ticks_it(mapped):
    served, _ = mapped
    tree = page(served, f"{SHARES}&lang=en")
    paths = drawing(tree).xpath('./*[local-name()="path"][@data-code]')
    variable = served.table_service.variables["geo"]
    assert len(paths) > 10
    for path in paths:
        rank = variable.chosen(path.get("data-code"))
        said = path.xpath('string(./*[local-name()="title"])')
        assert said.startswith(f"{variable.label(rank, 'en')} – ")


def test_a_rate_and_a_coarser_level_have_a_map_of_the_same_file(mapped):
    served, _ = mapped
    assert len(shapes(page(served, RATES))) > 10
    regions = page(served, RATES.replace("geo.department", "geo.region"))
    n_regions = len(served.table_service.variables["geo"].ranks(2))
    assert 3 < len(shapes(regions)) <= n_regions + 1


OTHERS = {
    "counts": "codelist[geo]=geo.department&codelist[sex]=sex",
    "ranks": "codelist[geo]=geo.department&figure=rank&of=geo",
    "finer": "codelist[geo]=geo.commune&codelist[sex]=sex&figure=share&of=sex",
    "no areas": "codelist[category]=category&codelist[sex]=sex&figure=share&of=sex",
    "two variables in rows": f"{SHARES[3:]}&codelist[category]=category&heading=category",
    "zone": f"{SHARES[3:]}&valuecodes[geo]=11&zone=Mine",
}


@pytest.mark.parametrize("query", OTHERS.values(), ids=OTHERS)
def test_other_tables_have_no_map(mapped, query):
    answer = mapped[0].web.get(f"./?{query}")
    assert answer.status_code in {200, 403}
    assert drawing(lxml.html.fromstring(answer.content)) is None


def test_without_margins_there_is_no_map(mapped, tmp_path):
    served, _ = mapped
    service = served.service.changed(about=served.service.about.changed(figure_margins=None))
    opened = Served(service.path, tmp_path, about=service.about)
    try:
        assert drawing(page(opened, SHARES)) is None
    finally:
        opened.close()


def test_many_areas_are_drawn_by_their_looks_alone(mapped, monkeypatch):
    served, _ = mapped
    many = shapes(page(served, f"{SHARES}&lang=en"))
    monkeypatch.setattr("ckm.service.page.drawn_map._MAX_SINGLE", 3)
    few = shapes(page(served, f"{SHARES}&lang=fr"))
    assert set(few) == {""}
    tree = page(served, f"{SHARES}&lang=fr")
    assert len(drawing(tree).xpath('./*[local-name()="path"]')) <= 11 < len(many)


def test_a_page_with_a_map_is_sent_compressed_to_strangers(mapped, monkeypatch):
    served, _ = mapped
    monkeypatch.setattr("ckm.service.page.routes._LARGE", 1000)
    plain = served.web.get(SHARES, headers={"Accept-Encoding": "identity"})
    packed = served.web.get(SHARES, headers={"Accept-Encoding": "gzip, br"})
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.content == plain.content  # the client unpacks it
    assert int(packed.headers["content-length"]) < len(plain.content) / 2
    assert "Accept-Encoding" in packed.headers["vary"]
    assert packed.headers["etag"] != plain.headers["etag"]


def test_a_category_that_callers_do_not_know_of_is_land_without_a_number(mapped):
    served, pairs = mapped
    area_map = served.answerer.area_map
    variable = served.table_service.variables["geo"]
    assert area_map.n_known == len(pairs)
    place = list(area_map.topology.areas).index(ELSEWHERE)
    assert [area_map.ranks(level)[place] for level in (0, 1, 2)] == [-1, -1, -1]
    hidden = variable.is_listed.copy()
    rank = variable.rank(f"{pairs[3][0]}/{pairs[3][1]}")
    hidden[rank] = False
    other = AreaMap(area_map.topology, replace(variable, is_listed=hidden))
    assert other.ranks(1)[3] == -1
    assert other.ranks(2)[3] == -1  # nor is it drawn as a part of its region
    assert area_map.ranks(1)[3] == rank


def test_a_map_that_is_none_or_of_other_areas_keeps_the_service_from_starting(mapped, tmp_path):
    served, _ = mapped
    service = served.service
    offer = service.variables["geo"]

    def opened(path):
        variables = {**service.variables, "geo": offer.changed(map=path)}
        return Answerer(service.changed(variables=variables), served.engine)

    (tmp_path / "broken").write_text("{}")
    with pytest.raises(ConfigError, match="no TopoJSON"):
        opened(tmp_path / "broken")
    other = json.loads(offer.map.read_text())
    for geometry in other["objects"]["areas"]["geometries"]:
        geometry["id"] = "x" + geometry["id"]
    (tmp_path / "other").write_text(json.dumps(other))
    with pytest.raises(ConfigError, match="No area of the map 'other'"):
        opened(tmp_path / "other")
    text = service.path.read_text()
    wrong = service.path.parent / "wrong.toml"
    wrong.write_text(
        text.replace('map = "areas.topojson"\n', "").replace(
            'name = "sex"\n', 'name = "sex"\nmap = "areas.topojson"\n'
        )
    )
    with pytest.raises(JobError, match="no variable of areas"):
        read_service(wrong)


def test_the_command_says_what_became_of_the_boundaries(tmp_path):
    done = draw_map(tmp_path, [("1", "2"), ("1", "3"), ("2", "4")])
    assert done.exit_code == 0
    assert "4 areas" in done.output
    assert "bytes at most" in done.output
    again = draw_map(tmp_path, [("1", "2")])
    assert again.exit_code == 2  # the map is there
    assert "exists" in again.output


@pytest.mark.parametrize(
    ("figures", "edges"),
    [
        ([0.0, 50, 100], [0, 20, 40, 60, 80, 100]),
        ([12.31, 12.35, 12.38, 12.4, 12.47], None),
        ([5.0, 5.0, 5.0], None),
        ([0.0, 0.0, 0.0, 0.0, 33.3], None),
        ([50.0, 50.0, 50.0, 50.0, 50.0, 49.99999, 50.00001], None),
    ],
)
def test_classes_hold_all_figures_and_are_as_round_as_they_can_be(figures, edges):
    found = class_edges(np.array(figures))
    assert (np.diff(found) > 0).all()
    assert found[0] <= min(figures)
    assert max(figures) <= found[-1]
    assert edges is None or found.tolist() == edges
