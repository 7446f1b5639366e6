"""The panels: bars, figures and flags of every count."""

import re
from fractions import Fraction
from functools import cache

import pandas as pd
import pytest

from ptable import Mechanism, NoiseSpec, PTable, solve
from ptable.pictures.facts import row_facts
from ptable.pictures.panels import distributions
from tests.drawings import (
    SVG,
    cells,
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


def test_panels_give_mean_variance_and_stay():
    header, *lines = cells(distributions(magnitude()).table)
    assert header[:4] == ["count", "mean", "variance", "stays, percent"]
    row = row_facts(magnitude(), 1)
    assert row.mean == Fraction(-20 - 10 + 6 + 24, 160)
    assert row.variance == Fraction(4 * 10 + 10 + 6 + 16 * 6, 640) - row.mean**2
    assert lines[1][1:4] == ["0", f"{float(row.variance):.4g}", "20.00"]
    assert lines[1][4:6] == ["\N{MINUS SIGN}0.5", "+1"]


def test_rows_that_are_not_as_asked_are_flagged_in_words():
    with pytest.warns(match="variance"):
        table = solved(max_noise=5, variance=6.0, variance_rule="nearest")
    picture = distributions(table)
    assert "not as asked" in texts(picture.svg)
    assert "Count 1: variance 5 instead of 6." in picture.description
    assert picture.svg.count("stroke-dasharray") == 1
    fine = distributions(solved(max_noise=5, variance=3.0))
    assert "stroke-dasharray" not in fine.svg
    assert cells(fine.table)[2][-1] == "none"


def test_a_steep_row_is_cut_and_named_instead_of_flattening_the_others(small):
    words = texts(distributions(small).svg)
    assert "73 %" in words
    assert "Probability, from 0 to 58 %" in words


def test_the_height_of_bars_is_their_probability():
    table = PTable.from_units([{0: 8}, {-1: 4, 0: 3, 1: 1}], key_range=8)
    root = root_of(distributions(table).svg)
    heights = {}
    for path in root.iter(SVG + "path"):
        heights.setdefault(path.get("fill"), []).extend(
            map(float, re.findall(r"v-([\d.]+)h", path.get("d")))
        )
    assert heights["#5c93c5"] == [64.0, 16.0]
    assert heights["#153d7c"] == [48.0]


def test_the_reference_tables_of_magnitudes_show_their_true_variance(shared):
    frame = pd.read_csv(shared / "reference" / "ptable" / "num_D5_V200_s4_i135.csv")
    rows, uppers, anchors = [], [], []
    for count, lines in frame.groupby("i"):
        anchors.append(int(count))
        rows.append(tuple(round(4 * v) for v in lines["v"]))
        uppers.append(tuple(round(end * 10**8) for end in lines["p_int_ub"]))
    table = PTable(
        noise=tuple(rows), upper=tuple(uppers), key_range=10**8, step=4, anchors=tuple(anchors)
    )
    lines = cells(distributions(table).table)[1:]
    assert [line[2] for line in lines] == ["0", "0.9124", "2", "2"]


GOLDEN = {
    "anchors": lambda: PTable.from_units(
        [{0: 8}, *[{-1: 4, 1: 4}] * 4], key_range=8, anchors=[0, 1, 10**6, 10**9, 10**12]
    ),
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
    picture = distributions(GOLDEN[name]())
    hold_golden(f"panels-{name}", picture.svg)
    hold_in_card(picture.svg)
    hold_apart(picture.svg)
