"""The bars over the keys: which noise falls to which key."""

import re
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from ptable import Mechanism, NoiseSpec, PTable, solve
from ptable.pictures.bars import DOWN, UP, ZERO, _pieces_of, on_noise, perturbation
from ptable.pictures.svg import INK
from tests.drawings import (
    SVG,
    cells,
    contrast,
    hold_apart,
    hold_golden,
    hold_in_card,
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


@cache
def shuffled(n_keys):
    noise = np.random.default_rng(2).integers(-3, 4, n_keys).tolist()
    uppers = tuple(range(1, n_keys + 1))
    rows = ((0,) * n_keys, (0,) * n_keys, (0,) * n_keys, tuple(noise))
    return PTable(noise=rows, upper=(uppers,) * 4, key_range=n_keys)


def test_colours_of_noise_carry_readable_text_and_tell_its_sign_and_size():
    for reach in (1, 2, 5, 50):
        for noise in range(-reach, reach + 1):
            assert contrast(*on_noise(noise, reach)) >= 4.5
    colours = [on_noise(v, 5)[0] for v in range(-5, 6)]
    assert colours == [*reversed(DOWN), ZERO, *UP]
    assert [on_noise(v, 10)[0] for v in (1, 2, 3, 8, 9, 10)] == [
        UP[0],
        UP[0],
        UP[1],
        UP[3],
        UP[4],
        UP[4],
    ]
    assert on_noise(3, 3)[0] == UP[-1]


def test_bars_follow_the_keys_of_the_table():
    table = PTable(noise=[[0], [1, -1, 1]], upper=[[8], [2, 7, 8]], key_range=8)
    picture = perturbation(table)
    assert cells(picture.table)[2:] == [
        ["1 and more", "0", "0.25", "+1"],
        ["1 and more", "0.25", "0.875", "\N{MINUS SIGN}1"],
        ["1 and more", "0.875", "1", "+1"],
    ]
    root = root_of(picture.svg)
    box = [r for r in root.iter(SVG + "rect") if r.get("stroke-width") == "0.8"][-1]
    start, length = float(box.get("x")), float(box.get("width"))
    found = {}
    for path in root.iter(SVG + "path"):
        if path.get("stroke-width") == "26":
            runs = re.findall(r"M([\d.]+) [\d.]+h([\d.]+)", path.get("d"))
            found[path.get("stroke")] = [
                tuple(
                    (float(x) - base) / length for x, base in zip(run, (start, 0), strict=True)
                )
                for run in runs
            ]
    assert found[DOWN[-1]][0] == pytest.approx((0.25, 0.625), abs=0.002)
    assert found[UP[-1]][0] == pytest.approx((0, 0.25), abs=0.002)
    assert found[UP[-1]][1] == pytest.approx((0.875, 0.125), abs=0.002)


def test_shuffled_keys_are_told_from_sorted_ones(small):
    assert (
        "In every row the noise rises or falls with the key." in perturbation(small).description
    )
    table = PTable(noise=[[0], [1, -1, 1]], upper=[[8], [2, 6, 8]], key_range=8)
    assert "The keys of count 1 are shuffled." in perturbation(table).description


def test_intervals_finer_than_the_picture_are_sampled_and_said():
    table = shuffled(16384)
    picture = perturbation(table)
    assert any(text.startswith("Drawn from 1000 samples") for text in texts(picture.svg))
    lines = cells(picture.table)[1:]
    drawn = [int(line[3].replace("\N{MINUS SIGN}", "-")) for line in lines[3:]]
    keys = [(2 * part + 1) * 16384 // 2000 for part in range(1000)]
    assert drawn == table.lookup([3] * 1000, keys, key_range=16384).tolist()


@pytest.mark.parametrize(
    ("n_pieces", "width"), [(1000, Fraction(1, 4000)), (1001, Fraction(1, 1000))]
)
def test_a_row_is_drawn_as_it_is_up_to_a_thousand_pieces(n_pieces, width):
    noise = tuple(n % 3 for n in range(n_pieces))
    widths = [1 if n % 2 == 0 else 3 for n in range(n_pieces)]
    widths[-1] += 4000 - sum(widths)
    upper = tuple(np.cumsum(widths).tolist())
    table = PTable(noise=((0,), noise), upper=((4000,), upper), key_range=4000)
    assert _pieces_of(table, 1)[0][:2] == (0, width)


def test_the_row_for_large_counts_is_drawn_before_all_others():
    last = shuffled(900)
    table = PTable(
        noise=(*last.noise, *last.noise[3:] * 8),
        upper=(*last.upper, *last.upper[3:] * 8),
        key_range=900,
    )
    picture = perturbation(table)
    assert cells(picture.table)[-1][0] == "11 and more"
    assert "Rows 7 to 10 are not drawn." in picture.description


def test_sign_shows_without_colour():
    table = PTable.from_units([{0: 8}, {-1: 4, 1: 4}], key_range=8)
    root = root_of(perturbation(table).svg)
    marks = [path for path in root.iter(SVG + "path") if path.get("stroke") == INK]
    heights = [float(y) for m in marks for y in re.findall(r"M[\d.]+ ([\d.]+)", m.get("d"))]
    assert len(heights) == 2
    assert heights[0] - heights[1] == 26 - 5


GOLDEN = {
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
    picture = perturbation(GOLDEN[name]())
    hold_golden(f"bars-{name}", picture.svg)
    hold_in_card(picture.svg)
    hold_apart(picture.svg)
