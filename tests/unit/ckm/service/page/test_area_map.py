"""A map beside a table of areas: whose shape is drawn, in which shade, and what is refused."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from ckm.config.problems import JobError
from ckm.config.service import boundaries
from ckm.config.service.service import read_service
from ckm.errors import ConfigError
from ckm.service.page.area_map import _by_code, area_map
from tests.unit.ckm.service.conftest import SERVICE, Served, cells_of, write_service
from tests.unit.ckm.service.page.test_page import page, texts

COMMUNES = "/?codelist[geo]=geo.commune"
PATHS = "//figure[@class='map']//*[name()='path']"


def square(code, west, south=60.0, size=1.0, **more):
    east, north = west + size, south + size
    ring = [[west, south], [east, south], [east, north], [west, north], [west, south]]
    geometry = {"type": "Polygon", "coordinates": [ring]} | more
    return {"type": "Feature", "properties": {"code": code}, "geometry": geometry}


def described(*features):
    return {"type": "FeatureCollection", "features": list(features)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("mapped")
    path = write_service(made)
    text = path.read_text().replace("is_area = true", 'is_area = true\nboundaries = "a.json"')
    path.write_text(text)
    return made


@pytest.fixture(scope="module")
def mapped(folder, served, tmp_path_factory):
    """Serve boundaries of all communes but the first, and of one that is none."""
    codes = served.web.get("/codelists/geo.commune").json()["values"]
    known = ["x", *sorted(own(value["code"]) for value in codes)[1:]]
    squares = [square(code, place * 0.1) for place, code in enumerate(known)]
    (folder / "a.json").write_text(json.dumps(described(*squares)))
    opened = Served(folder / "service.toml", tmp_path_factory.mktemp("jobs"))
    yield opened
    opened.close()


def own(code):
    return code.rpartition("/")[2]


def tips(tree, css):
    found = tree.xpath(f"{PATHS}[@class='{css}']/*[name()='title']")
    return dict(tip.text_content().split(": ") for tip in found)


def test_a_table_of_areas_has_a_map_with_its_numbers_and_none_else(mapped):
    query = "codelist[geo]=geo.commune&valuecodes[sex]=M"
    answer = mapped.web.get(f"/tables/jobseekers/data?{query}")
    numbers = {own(geo): number for (geo, *_), number in cells_of(answer).items()}
    tree = page(mapped.web.get(f"{COMMUNES}&codelist[sex]=sex&valuecodes[sex]=M"))
    shown = [tips(tree, f"s{shade}") for shade in range(1, 6)]
    drawn = {code: int(number) for part in shown for code, number in part.items()}
    first = min(
        own(v["code"]) for v in mapped.web.get("/codelists/geo.commune").json()["values"]
    )
    assert drawn == {code: n for code, n in numbers.items() if code != first}
    ends = [(min(n), max(n)) for part in shown if (n := list(map(int, part.values())))]
    assert len(ends) == 5
    assert all(low <= high < after for (low, high), (after, _) in pairwise(ends))
    sizes = [len(part) for part in shown]
    assert max(sizes) < 2.5 * min(sizes)
    withheld = json.loads(answer.content)["extension"]["blocked"]["category"]["geo"]
    assert len(withheld) > 5
    assert tips(tree, "withheld").keys() == set(map(own, withheld)) - {first}
    (unknown,) = tree.xpath(f"{PATHS}[@class='none']")
    assert not len(unknown)
    (told,) = texts(tree, "//figure[@class='map']//*[name()='desc']")
    assert f"The largest number: {max(drawn, key=drawn.get)} ({max(drawn.values())})" in told
    (title,) = texts(tree, "//figure[@class='map']//*[@id='map-title']")
    assert title.endswith("Men")


@pytest.mark.parametrize(
    "other",
    [
        "/?codelist[geo]=geo.department",
        COMMUNES + "&codelist[sex]=sex",
        COMMUNES + "&valuecodes[ContentsCode]=*",
        "/?codelist[sex]=sex",
    ],
)
def test_tables_of_other_levels_and_of_more_columns_have_none(mapped, other):
    assert not page(mapped.web.get(other)).xpath(PATHS)


def test_the_office_is_told_what_does_not_fit_together(mapped):
    summary = area_map(mapped.answerer.variables.values()).summary
    match = re.fullmatch(
        r"(\d+) areas of level 'commune' are on the map; 1 areas without a boundary: (\S+);"
        r" 1 unknown codes: x",
        summary,
    )
    assert match
    assert int(match[1]) == len(mapped.web.get("/codelists/geo.commune").json()["values"]) - 1


def test_boundaries_of_no_area_are_refused(folder, mapped):
    offer = mapped.answerer.variables["geo"].offer
    known = offer.rings
    offer._rings = {"x": known["x"]}
    try:
        with pytest.raises(ConfigError, match="No boundary is that of an area: 'x'"):
            area_map(mapped.answerer.variables.values())
    finally:
        offer._rings = known


def test_a_code_that_two_areas_end_with_is_that_of_neither():
    areas = SimpleNamespace(
        ranks=lambda _: np.arange(4),
        own=["", "1", "1", "2"].__getitem__,
        codes=["Total", "A/1", "B/1", "B/2"],
    )
    assert _by_code(areas, 0) == {"2": 3, "A/1": 1, "B/1": 2, "B/2": 3}


def test_codes_that_two_levels_have_are_those_of_the_broader_one(served):
    geo = served.answerer.variables["geo"]
    known = [set(_by_code(geo, level)) for level in range(3)]
    both = sorted(known[1] & known[2])[:2]
    rings = dict.fromkeys(both, (((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 0.0)),))
    names = ("own", "ranks", "codes", "level_names", "name")
    offer = SimpleNamespace(rings=rings, boundary_code="code")
    areas = SimpleNamespace(offer=offer, **{name: getattr(geo, name) for name in names})
    assert area_map([areas]).summary.startswith("2 areas of level 'region'")


def test_shapes_are_drawn_as_wide_as_they_are_and_no_finer_than_can_be_seen():
    from ckm.service.page.area_map import _drawn

    fine = [(place / 1000, 0.0) for place in range(1000)]
    ring = (*fine, (1.0, 0.0), (1.0, 1.0), (0.0, 1.0), (0.0, 0.0))
    hole = ((0.4, 0.4), (0.6, 0.4), (0.6, 0.6), (0.4, 0.4))
    tiny = ((2.0, 1.0), (2.0001, 1.0), (2.0, 1.0001), (2.0, 1.0))
    (whole, dot), (wide, high) = _drawn([(ring, hole), (tiny,)])
    assert (wide, high) == pytest.approx((420, 210), rel=1e-3)
    assert (whole.count("M"), dot.count("M")) == (2, 1)
    assert whole.count(" ") < 2 * 420 + 20
    (_, _), (wide, high) = _drawn([((tuple((x, y + 60) for x, y in ring)),), (tiny,)])
    assert wide / high == pytest.approx(2 * 0.86 / 60, rel=0.02)  # cos 30.5° in the middle


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("no JSON", "must be a GeoJSON FeatureCollection"),
        ({"type": "FeatureCollection"}, "must be a GeoJSON FeatureCollection"),
        (described(square("1", 0.0) | {"geometry": None}), "must be a GeoJSON"),
        (
            described({"properties": {"name": "a"}, "geometry": None}),
            "boundary_code; it has 'name'",
        ),
        (described(square("1", 0, type="Point")), "a Point, neither Polygon nor MultiPolygon"),
        (described(square("1", 0, coordinates=[[]])), "must be a GeoJSON"),
        (described(square("1", 0, coordinates=[[[10**400, 0]]])), "must be a GeoJSON"),
        (described(square("1", 250_000.0)), "no longitudes and latitudes"),
        (described(square(1, 0), square("1", 5)), "have the code '1' twice"),
    ],
)
def test_bad_boundaries_are_named(folder, document, words):
    text = document if isinstance(document, str) else json.dumps(document)
    (folder / "bad.json").write_text(text)
    toml = (folder / "service.toml").read_text().replace("a.json", "bad.json")
    (folder / "bad.toml").write_text(toml)
    with pytest.raises(JobError, match=words):
        read_service(folder / "bad.toml")


def test_boundaries_that_are_huge_or_of_no_areas_are_named(folder, monkeypatch):
    monkeypatch.setattr(boundaries, "_MAX_BYTES", 10)
    (folder / "bad.json").write_text(json.dumps(described(square("1", 0))))
    toml = SERVICE.replace("is_area = true", 'boundaries = "bad.json"')
    (folder / "bad.toml").write_text(toml)
    with pytest.raises(JobError, match="larger than") as caught:
        read_service(folder / "bad.toml")
    assert "has boundaries and is no area" in str(caught.value)
