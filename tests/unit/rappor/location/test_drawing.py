"""Maps: what is withheld shows no number, in no form."""

import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from rappor.errors import RapporError, ReportFileError
from rappor.location.areas import Grid
from rappor.location.drawing import cells_of, read_shapes, to_geojson, to_svg
from rappor.location.map import LevelMap
from rappor.location.zones import Zones

DEGREES = Zones.of_grid(
    Grid(west=2, south=48, east=4, north=50, levels=(0, 1)), in_degrees=True
)
TOWNS = Zones.of_rows(["region", "town"], [["N", "a<b"], ["S", "c"]])


def level(shares, is_shown):
    shares = np.array(shares)
    return LevelMap(
        shares=shares,
        errors=np.full(shares.size, 0.01),
        low=shares - 0.02,
        high=shares + 0.02,
        is_shown=np.array(is_shown),
    )


GRID_MAP = [
    level([1.0], [True]),
    level([0.7777, 0.1234, 0.2, -0.1], [True, False, True, False]),
]
TOWN_MAP = [level([0.9, 0.1], [True, True]), level([0.9, 0.1234], [True, False])]


def test_geojson_has_every_cell_and_no_number_of_a_withheld_one():
    text = to_geojson(GRID_MAP, DEGREES)
    features = json.loads(text)["features"]
    assert len(features) == 5
    withheld = [f["properties"] for f in features if f["properties"]["withheld"]]
    assert [f["code"] for f in withheld] == ["r0c1", "r1c1"]
    assert all(f["share"] is f["low"] is f["high"] is None for f in withheld)
    assert "0.1234" not in text
    ring = features[1]["geometry"]["coordinates"][0]
    assert ring == [[2, 48], [3, 48], [3, 49], [2, 49], [2, 48]]


def test_coordinates_in_metres_need_a_named_system():
    grid = Grid(west=0, south=0, east=1000, north=1000, levels=(0, 1))
    named = json.loads(to_geojson(GRID_MAP, Zones.of_grid(grid, epsg=2154)))
    assert named["crs"]["properties"]["name"].endswith("EPSG::2154")
    with pytest.raises(RapporError, match="GeoJSON needs degrees"):
        to_geojson(GRID_MAP, Zones.of_grid(grid))


def test_a_picture_is_svg_with_words_and_shows_no_withheld_share():
    for levels, zones in ((GRID_MAP, DEGREES), (TOWN_MAP, TOWNS)):
        text = to_svg(levels, zones, title="Where & when")
        root = ET.fromstring(text)  # noqa: S314 (ours)
        assert root.tag.endswith("svg")
        assert "Where &amp; when" in text
        assert "withheld" in text
        assert "12.34" not in text
        assert "are shown" in root.find("{*}desc").text
    assert "90.00%" in text
    assert "a&lt;b" in text


def test_declared_areas_are_drawn_where_their_shapes_lie(tmp_path):
    square = {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 0]]]}
    several = {"type": "MultiPolygon", "coordinates": [square["coordinates"]]}
    rows = [("a<b", square), ("c", several)]
    features = [{"properties": {"insee": code}, "geometry": shape} for code, shape in rows]
    file = tmp_path / "towns.geojson"
    file.write_text(json.dumps({"features": features}))
    shapes = read_shapes(file, field="insee")
    assert to_svg(TOWN_MAP, TOWNS, shapes=shapes).count("<path") == 1
    geometries = [
        f["geometry"]
        for f in json.loads(to_geojson(TOWN_MAP, TOWNS, shapes=shapes))["features"]
    ]
    assert geometries == [None, None, square, several]
    with pytest.raises(RapporError, match="shape"):
        to_svg(TOWN_MAP, TOWNS, shapes={"z": square})
    for text in ("{}", "[", json.dumps({"features": [{"properties": {}, "geometry": square}]})):
        file.write_text(text)
        with pytest.raises(ReportFileError, match="GeoJSON"):
            read_shapes(file, field="insee")


def test_cells_are_named_by_level_and_code():
    cells = cells_of(TOWN_MAP, TOWNS)
    assert [(c.level, c.code, c.is_withheld) for c in cells[1]] == [
        ("town", "a<b", False),
        ("town", "c", True),
    ]
