"""Polygons hold points by the even–odd rule; what is none is named."""

import numpy as np
import pytest

from ckm.service.answering.messages import ClientError
from ckm.service.answering.polygons import MAX_VERTICES, are_inside, sides_of

SQUARE = [[0, 0], [4, 0], [4, 4], [0, 4], [0, 0]]
HOLE = [[1, 1], [1, 3], [3, 3], [3, 1], [1, 1]]
BOW = [[0, 0], [4, 4], [4, 0], [0, 4], [0, 0]]


def polygon(*rings):
    return {"type": "Polygon", "coordinates": list(rings)}


def held(document, *points):
    return are_inside(sides_of(document), np.array(points, float)).tolist()


def test_a_hole_is_outside_and_several_polygons_are_one():
    points = ((0.5, 0.5), (2, 2), (5, 5), (3.5, 2))
    assert held(polygon(SQUARE, HOLE), *points) == [True, False, False, True]
    far = [[[x + 10, y] for x, y in SQUARE]]
    both = {"type": "MultiPolygon", "coordinates": [[SQUARE], far]}
    assert held(both, (2, 2), (12, 2), (8, 2)) == [True, True, False]
    feature = {"type": "Feature", "geometry": polygon(SQUARE)}
    assert held({"type": "FeatureCollection", "features": [feature]}, (2, 2)) == [True]


def test_neighbours_share_no_point_and_leave_none_out():
    right = polygon([[x + 4, y] for x, y in SQUARE])
    line = [(4, y / 4) for y in range(1, 16)]
    inside = np.array([held(polygon(SQUARE), *line), held(right, *line)])
    assert (inside.sum(axis=0) == 1).all()


def test_points_are_held_as_a_reference_says():
    generator = np.random.default_rng(45)
    angles = np.sort(generator.random(40)) * 2 * np.pi
    star = np.column_stack([np.cos(angles), np.sin(angles)]) * generator.uniform(
        0.3, 1, (40, 1)
    )
    ring = [*star.tolist(), star[0].tolist()]
    points = generator.uniform(-1, 1, (2000, 2))
    # of a star around the origin: inside is nearer than the side in that direction
    turn = np.mod(np.arctan2(points[:, 1], points[:, 0]), 2 * np.pi)
    at = np.searchsorted(angles, turn) % 40
    a, b = star[at - 1], star[at]
    side = (b[:, 0] - a[:, 0]) * (points[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (
        points[:, 0] - a[:, 0]
    )
    origin = (b[:, 0] - a[:, 0]) * -a[:, 1] - (b[:, 1] - a[:, 1]) * -a[:, 0]
    assert held(polygon(ring), *points) == (np.sign(side) == np.sign(origin)).tolist()


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (polygon(BOW), "crosses itself"),
        (polygon(SQUARE, BOW), "crosses itself"),
        (polygon(SQUARE[:-1]), "is open"),
        (polygon(SQUARE[:3]), "four positions"),
        (polygon(), "four positions"),
        ({"type": "MultiPolygon", "coordinates": []}, "four positions"),
        ({"type": "MultiPolygon", "coordinates": [3]}, "four positions"),
        (polygon([[0, 0], [1, "x"], [1, 1], [0, 0]]), "two numbers"),
        (polygon([[0, 0], [1, True], [1, 1], [0, 0]]), "two numbers"),
        (polygon([[0, 0], [1, 1e300], [1, 1], [0, 0]]), "two numbers"),
        (polygon([[0], [1], [1], [0]]), "two numbers"),
        ({"type": "Point", "coordinates": [0, 0]}, "Polygon or a MultiPolygon"),
        ({"type": "Polygon"}, "Polygon or a MultiPolygon"),
        ({"type": "Feature", "geometry": None}, "Polygon or a MultiPolygon"),
        ({"type": "FeatureCollection", "features": []}, "one feature"),
        ([], "Polygon or a MultiPolygon"),
        (polygon([[n, n % 2] for n in range(MAX_VERTICES + 2)]), "vertices"),
        (polygon([[0, 0]] * 1_000_000), "vertices"),
    ],
)
def test_what_is_no_polygon_is_named(document, said):
    with pytest.raises(ClientError, match=said):
        sides_of(document)
