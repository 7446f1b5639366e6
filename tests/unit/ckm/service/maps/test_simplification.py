"""Boundaries are simplified once for both neighbours, so that nothing lies between them."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

from ckm.errors import ConfigError
from ckm.service.maps.simplification import build_map
from ckm.service.maps.topology import Topology, path_of, read_topology
from tests.unit.ckm.service.maps.areas import winding_areas

LIMIT = 300_000


def surface(ring):
    x, y = np.array(ring).T
    return (x * np.roll(y, -1) - np.roll(x, -1) * y).sum() / 2


def area_of(rings):
    return abs(sum(map(surface, rings)))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    path = tmp_path_factory.mktemp("map") / "areas.geojson"
    codes = winding_areas(path, across=8, bends=9)
    return codes, build_map(path, code="code", max_bytes=LIMIT)


def test_every_area_keeps_its_code_and_nearly_its_surface(built):
    codes, found = built
    topology = found.topology
    assert list(topology.areas) == codes
    assert found.too_small == ()
    before, after = found.n_vertices
    assert after < before
    single = topology.outlines(np.arange(len(codes)))
    sizes = [area_of(single[place]) for place in range(len(codes))]
    width, height = topology.size
    assert sum(sizes) == pytest.approx(width * height, rel=0.05)
    assert min(sizes) > width * height / len(codes) / 4


def test_neighbours_have_the_same_line_between_them(built):
    codes, found = built
    used = Counter(
        step if step >= 0 else ~step
        for rings in found.topology.areas.values()
        for ring in rings
        for step in ring
    )
    inner, outer = 2 * 8 * 7, 4 * 8 - 4
    assert Counter(used.values()) == {2: inner, 1: outer}
    whole = found.topology.outlines(np.zeros(len(codes), np.int64))
    assert len(whole[0]) == 1  # no hole or sliver is left between the areas
    single = found.topology.outlines(np.arange(len(codes)))
    assert area_of(whole[0]) == pytest.approx(sum(map(area_of, single.values())))


def test_areas_of_a_group_are_drawn_without_the_lines_between_them(built):
    codes, found = built
    columns = np.array([int(code[3:]) for code in codes])
    halves = found.topology.outlines((columns >= 4).astype(np.int64))
    assert [len(rings) for rings in halves.values()] == [1, 1]
    one = found.topology.outlines(np.where(columns == 0, 0, -1))
    assert set(one) == {0}
    path = path_of(halves[0])
    assert path.startswith("m")
    assert path.count("m") == path.count("z") == 1


def test_a_map_is_read_as_it_was_written(built, tmp_path):
    _, found = built
    path = tmp_path / "areas.topojson"
    path.write_text(json.dumps(found.topology.to_json()))
    again = read_topology(path)
    assert again.areas == found.topology.areas
    assert all(
        np.array_equal(a, b) for a, b in zip(again.arcs, found.topology.arcs, strict=True)
    )
    assert again.to_json()["arcs"] == found.topology.to_json()["arcs"]


def test_an_island_a_hole_and_a_second_part_are_kept(tmp_path):
    def square(x, y, side):
        corners = [(x, y), (x + side, y), (x + side, y + side), (x, y + side), (x, y)]
        return [[100 * x, 100 * y] for x, y in corners]  # metres

    lake = square(20, 20, 10)
    features = [
        ("outer", [[square(0, 0, 60), lake[::-1]], [square(80, 0, 15)]]),
        ("island", [[lake]]),
        ("nothing", None),
    ]
    document = {
        "features": [
            {
                "properties": {"id": name},
                "geometry": polygons and {"type": "MultiPolygon", "coordinates": polygons},
            }
            for name, polygons in features
        ]
    }
    path = tmp_path / "areas.geojson"
    path.write_text(json.dumps(document))
    found = build_map(path, code="id", max_bytes=LIMIT)
    assert found.too_small == ("nothing",)
    outlines = found.topology.outlines(np.array([0, 1]))
    assert len(outlines[0]) == 3
    assert len(outlines[1]) == 1
    scale = (1000 / 95) ** 2
    assert area_of(outlines[1]) == pytest.approx(100 * scale, rel=0.03)
    assert abs(sum(map(surface, outlines[0]))) == pytest.approx(3725 * scale, rel=0.03)
    together = found.topology.outlines(np.array([0, 0]))
    assert len(together[0]) == 2  # the lake is filled, with no line around it


def test_degrees_shrink_towards_the_poles_and_metres_do_not(tmp_path):
    path = tmp_path / "areas.geojson"
    winding_areas(path, across=3)
    text = path.read_text()
    assert build_map(path, code="code", max_bytes=LIMIT).topology.size[0] > 990
    north = json.loads(text)
    for feature in north["features"]:
        for ring in feature["geometry"]["coordinates"]:
            for place in ring:
                place[1] += 58.5  # the middle is at 60 degrees
    path.write_text(json.dumps(north))
    width, height = build_map(path, code="code", max_bytes=LIMIT).topology.size
    assert width / height == pytest.approx(0.5, abs=0.02)


def test_the_finest_grid_is_taken_that_keeps_to_the_limit(tmp_path):
    path = tmp_path / "areas.geojson"
    winding_areas(path, across=6, bends=20)
    sizes = []
    for limit in (LIMIT, 3200, 2700):
        found = build_map(path, code="code", max_bytes=limit)
        assert found.n_sent <= limit
        sizes.append(max(found.topology.size))
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < sizes[0]
    with pytest.raises(ConfigError, match="the coarsest takes"):
        build_map(path, code="code", max_bytes=50)


def feature(kind, coordinates):
    """Return a file of one feature."""
    geometry = {"type": kind, "coordinates": coordinates}
    return json.dumps({"features": [{"properties": {"code": "1"}, "geometry": geometry}]})


WRONG = {
    "{": "no GeoJSON",
    "[]": "no GeoJSON",
    '{"features": []}': "no polygon",
    '{"features": [{"properties": {"nom": "x"}}]}': "no code in 'code'",
    '{"features": [3]}': "no code",
    feature("Point", [1, 2]): "no polygon",
    feature("Polygon", [[["a"]]]): "no numbers",
    feature("Polygon", [[[1, 2], [float("inf"), 3], [4, 5], [1, 2]]]): "no numbers",
}


@pytest.mark.parametrize(("content", "said"), WRONG.items(), ids=lambda text: text[:40])
def test_a_file_that_is_no_map_is_named(tmp_path, content, said):
    path = tmp_path / "areas.geojson"
    path.write_text(content)
    with pytest.raises(ConfigError, match=said):
        build_map(path, code="code", max_bytes=LIMIT)


@pytest.mark.parametrize(
    "change",
    [
        {"type": "FeatureCollection"},
        {"transform": {"scale": [0.1, 0.1], "translate": [0, 0]}},
        {"arcs": [[[0, 0]]]},
        {"arcs": [[[0, 0], [9999, 1]]]},
        {"arcs": [[[0, 0], [-1, 1]]]},
        {"arcs": []},
        {"objects": {}},
        {"objects": {"areas": {"geometries": [{"id": "1", "arcs": [[[999]]]}]}}},
    ],
)
def test_a_file_that_is_no_topology_of_ours_is_refused(built, tmp_path, change):
    document = built[1].topology.to_json() | change
    path = tmp_path / "areas.topojson"
    path.write_text(json.dumps(document))
    with pytest.raises(ConfigError, match="no TopoJSON of areas"):
        read_topology(path)
    with pytest.raises(ConfigError, match="no TopoJSON of areas"):
        read_topology(tmp_path / "nothing.topojson")
    assert isinstance(built[1].topology, Topology)
