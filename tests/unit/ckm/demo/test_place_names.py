"""The places of the demonstration have names of their own, centres and boundaries."""

import json
from itertools import pairwise

import numpy as np

from ckm.demo.place_map import place_map
from ckm.demo.place_names import place_names
from ckm.service.answering.polygons import are_inside, sides_of

PLACES = [
    (f"{region:02d}", f"{department:02d}", f"{department:02d}{commune:03d}")
    for region in range(1, 14)
    for department in range(1, 8)
    for commune in range(1, 4)
]

LAND = place_map(PLACES)
NAMES = place_names(PLACES, LAND.centres)


def test_every_place_has_a_name_of_its_own_in_both_languages():
    lines = NAMES
    assert len(lines) == 13 + 13 * 7 + len(PLACES)
    for place in (0, 1, 2):
        words = [line[place] for line in lines]
        assert len(set(words)) == len(words)


def test_codes_are_those_of_the_service_and_some_have_former_names():
    lines = {line[0]: line for line in NAMES}
    assert {"01", "01/01", "01/01/01001"} <= set(lines)
    assert any(line[3] for line in lines.values())


def test_boundaries_hold_their_own_centre_and_no_other():
    features = json.loads(LAND.to_geojson())["features"]
    assert [one["properties"]["code"] for one in features] == [place[2] for place in PLACES]
    points = np.array([LAND.centres[place] for place in PLACES])
    for at, feature in enumerate(features):
        inside = are_inside(sides_of(feature["geometry"]), points)
        assert np.flatnonzero(inside).tolist() == [at]


def test_neighbours_share_their_boundary_and_the_last_region_lies_overseas():
    sides = {}
    for place, outline in LAND.outlines.items():
        for one, other in pairwise(outline):
            sides.setdefault(frozenset((one, other)), []).append(place)
    assert {len(own) for own in sides.values()} == {1, 2}
    assert any(own[0][0] != own[-1][0] for own in sides.values())  # of two regions
    west = {region: LAND.centres[region,][0] for region, _, _ in PLACES}
    assert west["13"] < min(x for region, x in west.items() if region != "13") - 300
