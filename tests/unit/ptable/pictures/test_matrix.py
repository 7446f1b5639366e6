"""The heat map: what its cells hold, and where they are."""

import re
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from ptable import Mechanism, NoiseSpec, PTable, solve
from ptable.pictures.matrix import SHADES, heatmap, on_shade
from tests.drawings import (
    SVG,
    cells,
    contrast,
    hold_apart,
    hold_golden,
    hold_in_card,
    luminance,
    root_of,
    texts,
)


@cache
def solved(**options):
    return solve(NoiseSpec(**options))


@pytest.fixture(scope="module")
def small():
    return solved(max_noise=5, variance=3.0, small=2)


def magnitude():
    rows = [{0: 40}, {-2: 10, -1: 10, 0: 8, 1: 6, 4: 6}, {-7: 10, -1: 10, 0: 10, 3: 10}]
    return PTable.from_units(rows, key_range=40, step=4, anchors=[0, 1, 500])


def rounding():
    rows = [
        {0: 5} if i % 5 == 0 else {-(i % 5): 5 - i % 5, 5 - i % 5: i % 5} for i in range(11)
    ]
    return PTable.from_units(rows, key_range=5, large_counts="cycle:5", label="rounding")


@cache
def keys_of(n_rows=750, n_keys=64):
    chance = np.random.default_rng(1)
    noise = np.round(chance.normal(0, 1.6, (n_rows, n_keys))).astype(int)
    most = np.minimum(np.arange(1, n_rows + 1), 5)[:, None]
    noise = np.clip(noise, -most, 5)
    rows = ((0,) * n_keys, *map(tuple, noise.tolist()))
    ends = (tuple(range(1, n_keys + 1)),) * (n_rows + 1)
    return PTable(noise=rows, upper=ends, key_range=n_keys, large_counts="cycle:250")


@cache
def many_rows():
    return PTable.from_units([{0: 8}] * 3000, key_range=8)


def test_shades_keep_their_order_in_grey_and_carry_readable_text():
    levels = [luminance(shade) for shade in ("#ffffff", *SHADES)]
    assert all(light > 1.25 * dark for light, dark in pairwise(levels))
    assert all(contrast(on_shade(i), shade) >= 4.5 for i, shade in enumerate(SHADES))


def test_the_heat_map_holds_every_probability(small):
    header, *lines = cells(heatmap(small).table)
    assert header == ["count", *map(str, range(14))]
    assert [line[0] for line in lines] == [*"01234567", "8 and more"]
    for line, row in zip(lines, small.transition, strict=True):
        for text, p in zip(line[1:], row, strict=True):
            if text == "<0.01":
                assert 0 < p < 1e-4
            elif text.startswith(">"):
                assert p > 0.9999
            else:
                assert float(text) == pytest.approx(100 * p, abs=0.006)
                assert (p == 0) == (text == "0")


def test_numbers_stand_in_the_cells_where_there_is_room(small):
    words = texts(heatmap(small).svg)
    assert "73" in words
    assert "<1" in words
    assert "Numbers in cells are percent." in words
    wide = texts(heatmap(solved(max_noise=50, variance=45.0)).svg)
    assert "<1" not in wide
    assert "Numbers in cells are percent." not in wide


def test_values_that_never_occur_are_hatched_and_said(small):
    assert "Never published: 1 to 2." in heatmap(small).description
    assert "never published" in texts(heatmap(small).svg)
    assert "Never published: 1 to 4, 6 to 9." in heatmap(rounding()).description
    plain = heatmap(solved(max_noise=2, variance=1.0))
    assert "ever published" not in plain.svg
    assert plain.svg.count("url(#") == 0


def test_cells_without_probability_are_left_white(small):
    root = root_of(heatmap(small).svg)
    area = 0.0
    for path in root.iter(SVG + "path"):
        if path.get("fill") in SHADES:
            boxes = re.findall(r"h([\d.]+)v([\d.]+)", path.get("d"))
            area += sum(float(wide) * float(high) for wide, high in boxes)
    frame = next(r for r in root.iter(SVG + "rect") if r.get("stroke") == "#777777")
    share = area / (float(frame.get("width")) * float(frame.get("height")))
    assert share == pytest.approx((small.transition > 0).mean(), rel=1e-2)


def test_rows_that_are_not_drawn_are_named():
    picture = heatmap(keys_of())
    for note in (
        "Rows 41 to 750 are not drawn.",
        "Counts from 751 on take rows 501 to 750 in turn.",
    ):
        assert note in picture.description
        assert note in texts(picture.svg)
    long = heatmap(many_rows())
    assert "Rows 40 to 2998 are not drawn." in long.description
    assert cells(long.table)[-1][0] == "2999 and more"


def test_magnitudes_are_drawn_by_noise_in_units():
    header, *lines = cells(heatmap(magnitude()).table)
    assert header[1] == "\N{MINUS SIGN}1.75"
    assert header[-1] == "+1.75"
    assert [line[0] for line in lines] == ["0", "1", "500 and more"]
    assert lines[1][header.index("+1")] == "15.00"


def test_far_noise_is_summed_in_columns_that_keep_no_noise_central():
    table = PTable.from_units([{0: 8}, {0: 6, 200: 1, 201: 1}], key_range=8)
    picture = heatmap(table)
    assert "Each column sums 3 neighbouring noise values." in texts(picture.svg)
    header, _, line = cells(picture.table)
    assert line[header.index("0")] == "75.00"
    assert line[header.index("+201")] == "25.00"


@pytest.mark.parametrize(
    ("per_mille", "shade"),
    [
        (1, 1),
        (9, 1),
        (10, 2),
        (50, 3),
        (99, 3),
        (100, 4),
        (200, 5),
        (399, 5),
        (400, 6),
        (700, 7),
    ],
)
def test_a_probability_at_a_bound_has_the_darker_shade(per_mille, shade):
    law = {0: 1000 - per_mille, 1: per_mille}
    svg = heatmap(PTable.from_units([{0: 1000}, law], key_range=1000)).svg
    fills = {path.get("fill") for path in root_of(svg).iter(SVG + "path")}
    assert SHADES[shade] in fills


GOLDEN = {
    "blocked": lambda: PTable.from_units([{0: 8}, {-1: 4, 1: 4}, *[{0: 8}] * 66], key_range=8),
    "small": lambda: solved(max_noise=5, variance=3.0, small=2),
    "magnitudes": magnitude,
    "foreign": lambda: PTable.from_units(
        [{0: 4}, {0: 3, 1: 1}, {-1: 1, 0: 2, 1: 1}], key_range=4, label="foreign"
    ),
    "wide": lambda: PTable.from_units([{0: 8}, {0: 6, 200: 1, 201: 1}], key_range=8),
    "laplace": lambda: Mechanism.discrete_laplace(0.4, max_noise=8).build(),
    "halves": lambda: PTable.from_units([{0: 4}, {-1: 2, 1: 2}], key_range=4, step=2),
    "many": lambda: PTable.from_units(
        [{0: 8}, *[{-1: 2, 0: 4, 1: 2}] * 70, {-1: 3, 0: 2, 1: 3}], key_range=8
    ),
    "turns": lambda: PTable.from_units(
        [{0: 5}, {-1: 4, 4: 1}, {-2: 3, 3: 2}, {-3: 2, 2: 3}, {-4: 1, 1: 4}],
        key_range=5,
        large_counts="cycle:5",
    ),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_a_drawing_that_was_looked_at_stays_as_it_was(name):
    picture = heatmap(GOLDEN[name]())
    hold_golden(f"heatmap-{name}", picture.svg)
    hold_in_card(picture.svg)
    hold_apart(picture.svg)
