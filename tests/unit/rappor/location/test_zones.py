"""Cells of a collection: grids and declared areas, their codes and their places."""

import numpy as np
import pytest

from rappor.errors import RapporError, ReportFileError
from rappor.location.areas import Grid
from rappor.location.zones import Zones

BOX = Grid(west=2, south=48, east=4, north=50, levels=(1, 2))
ROWS = [["N", "59", "Lille"], ["N", "62", "Arras"], ["S", "13", "Arles"]]


def test_points_and_codes_have_their_cells_and_others_none():
    zones = Zones.of_grid(BOX, in_degrees=True)
    assert zones.cells_at([2.1, 3.9, 5, np.nan], [48.1, 49.9, 49, 49]).tolist() == [
        0,
        15,
        -1,
        -1,
    ]
    assert zones.codes[1][15] == "r3c3"
    assert zones.box(1, 15) == (3.5, 49.5, 4.0, 50.0)
    towns = Zones.of_rows(["region", "department", "town"], ROWS)
    assert towns.cells_named(["Arles", "Nice"]).tolist() == [2, -1]
    assert towns.areas.upward(np.array([0, 1, 2]), to=0).tolist() == [0, 0, 1]
    assert towns.box(0, 0) is None
    with pytest.raises(RapporError, match="no coordinates"):
        towns.cells_at([1], [1])


@pytest.mark.parametrize(
    ("names", "rows"),
    [
        ([], []),
        (["a"], []),
        (["a"], [["x"], ["x"]]),
        (["a", "a"], [["x", "y"]]),
        (["a", "b"], [["x", ""]]),
        (["a", "b"], [["x"]]),
        (["a", "b", "c"], [["N", "1", "x"], ["S", "1", "y"]]),
    ],
)
def test_areas_that_do_not_nest_are_refused(names, rows, tmp_path):
    with pytest.raises(RapporError):
        Zones.of_rows(names, rows)
    file = tmp_path / "areas.csv"
    file.write_text("\n".join(",".join(row) for row in (names, *rows)))
    with pytest.raises(ReportFileError, match=r"areas\.csv"):
        Zones.read(file)


@pytest.mark.parametrize(
    ("box", "settings"),
    [
        ((170, 0, 190, 1), {"in_degrees": True}),
        ((0, 80, 1, 91), {"in_degrees": True}),
        ((0, 0, 1, 1), {"in_degrees": True, "epsg": 2154}),
        ((0, 0, 1, 1), {"epsg": 7}),
    ],
)
def test_degrees_beyond_the_globe_and_unknown_systems_are_refused(box, settings):
    west, south, east, north = box
    grid = Grid(west=west, south=south, east=east, north=north, levels=(1,))
    with pytest.raises(RapporError):
        Zones.of_grid(grid, **settings)


@pytest.mark.parametrize(
    "zones",
    [
        Zones.of_grid(BOX, in_degrees=True),
        Zones.of_grid(BOX, epsg=2154),
        Zones.of_rows(["region", "department", "town"], ROWS),
    ],
)
def test_zones_survive_a_file(zones):
    again = Zones.from_dict(zones.to_dict())
    assert again.to_dict() == zones.to_dict()
    assert (again.codes, again.names, again.epsg) == (zones.codes, zones.names, zones.epsg)
