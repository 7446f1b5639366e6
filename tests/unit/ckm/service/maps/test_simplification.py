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


def moved(path, shifts):
    """Move areas of a file far away: code → x and y."""
    document = json.loads(path.read_text())
    for one in document["features"]:
        x, y = shifts.get(one["properties"]["code"], (0, 0))
        rings = one["geometry"]["coordinates"]
        one["geometry"]["coordinates"] = [[[a + x, b + y] for a, b in ring] for ring in rings]
    path.write_text(json.dumps(document))


OVERSEAS = {"007007": (-90.0, 20.0), "007006": (-90.0, 20.0), "000000": (40.0, -30.0)}


@pytest.fixture(scope="module")
def scattered(tmp_path_factory):
    path = tmp_path_factory.mktemp("scattered") / "areas.geojson"
    codes = winding_areas(path, across=8, bends=4)
    moved(path, OVERSEAS | {"000007": (1.5, 0.0)})  # an island near the main land
    return path, codes


def test_areas_far_from_the_main_land_stand_in_boxes_below_it(scattered):
    path, codes = scattered
    built = build_map(path, code="code", max_bytes=LIMIT)
    topology = built.topology
    assert [sorted(own) for own in topology.framed()] == [["007006", "007007"], ["000000"]]
    outlines = topology.outlines(np.arange(len(codes)))
    places = {code: np.array(outlines[at][0]) for at, code in enumerate(topology.areas)}
    inside = dict(zip(["007006", "007007", "000000"], [0, 0, 1], strict=True))
    lowest = max(own[:, 1].max() for code, own in places.items() if code not in inside)
    for code, box in inside.items():
        left, top, right, low = topology.frames[box]
        assert top > lowest
        assert left < places[code][:, 0].min() < places[code][:, 0].max() < right
        assert top < places[code][:, 1].min() < places[code][:, 1].max() < low
    assert max(right for _, _, right, _ in topology.frames) <= topology.size[0]
    assert max(low for *_, low in topology.frames) <= topology.size[1]
    # One area fills its box as two do theirs; the main land keeps its scale.
    assert np.ptp(places["000000"], axis=0).max() > np.ptp(places["007007"], axis=0).max()


def test_boxes_are_written_read_and_left_out_on_demand(scattered, tmp_path):
    path, _ = scattered
    boxed = build_map(path, code="code", max_bytes=LIMIT).topology
    (tmp_path / "boxed").write_text(boxed.to_text())
    again = read_topology(tmp_path / "boxed")
    assert again.frames == boxed.frames
    assert again.size == boxed.size
    for frames in ([[1, 2, 3]], [[0, 0, 9999, 1]], [[-1, 0, 1, 1]], [[0.5, 0, 1, 1]]):
        document = boxed.to_json() | {"frames": frames}
        (tmp_path / "boxed").write_text(json.dumps(document))
        with pytest.raises(ConfigError, match="no TopoJSON of areas"):
            read_topology(tmp_path / "boxed")
    plain = build_map(path, code="code", max_bytes=LIMIT, inset_distance=0).topology
    assert plain.frames == ()
    far = build_map(path, code="code", max_bytes=LIMIT, inset_distance=20).topology
    assert far.frames == ()
    near = build_map(path, code="code", max_bytes=LIMIT, inset_distance=0.02).topology
    assert "000007" in {code for own in near.framed() for code in own}


def test_each_box_has_a_middle_latitude_of_its_own(tmp_path):
    path = tmp_path / "areas.geojson"
    codes = winding_areas(path, across=4)
    moved(path, {"003003": (0.0, 57.0), "000000": (80.0, 0.0)})
    topology = build_map(path, code="code", max_bytes=LIMIT).topology
    outlines = topology.outlines(np.arange(len(codes)))
    shapes = dict(zip(topology.areas, outlines.values(), strict=True))
    near, far = (np.ptp(np.array(shapes[code][0]), axis=0) for code in ("000000", "003003"))
    assert far[0] / far[1] < 0.7 * near[0] / near[1]  # at 60 degrees half as wide


def test_of_many_groups_those_near_each_other_share_a_box(tmp_path):
    path = tmp_path / "areas.geojson"
    codes = winding_areas(path, across=6, scale=1000)
    moved(path, {code: (30_000 + 14_000 * at, -20_000) for at, code in enumerate(codes[:15])})
    frames = build_map(path, code="code", max_bytes=LIMIT).topology.frames
    assert 1 <= len(frames) <= 12
