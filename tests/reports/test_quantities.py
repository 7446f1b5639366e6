"""Lists of figures look alike on every page; bars are as long as their numbers."""

import re
from xml.etree import ElementTree as ET

import pytest

from footing.svg import Board, Grid
from reports.charts.bars import Bar, Bars, bars_of_table, columns, rows
from reports.facts.quantity import Quantity
from reports.facts.service import Chart
from reports.i18n.languages import words_of
from reports.pages.common import quantities
from reports.parts import Cell

LABELS = {"id": "a", "title": "t", "description": "d"}


def shapes(svg, shape, css):
    root = ET.fromstring(svg)  # noqa: S314
    name = "{http://www.w3.org/2000/svg}" + shape
    return [e for e in root.iter(name) if e.get("class") == css]


def test_a_figure_is_written_as_its_kind_says_in_the_language_of_the_page():
    figures = [Quantity("batch size", 12_000, "count"), Quantity("steps", None)]
    for language, name, text in (
        ("en", "batch size", "12,000"),
        ("fr", "taille des lots", "12\u202f000"),
    ):
        table = quantities(words_of(language), figures).table("t", "c")
        assert table.rows == ((name, text), (table.rows[1][0], "–"))
        assert [column.is_number for column in table.columns] == [False, True]


def test_what_a_figure_says_stands_below_its_name_and_a_note_below_its_value():
    figure = Quantity("Rows", 3, "count", note="of 4", meaning="all that were read")
    ((name, value),) = quantities(words_of("en"), [figure]).table("t", "c").rows
    assert name == Cell(text="Rows", small="all that were read")
    assert value == Cell(text="3", small="of 4")


def test_a_bar_of_a_negative_number_ends_where_the_others_begin():
    chart = Chart(names=("up", "down"), panels=(("", (30, -10)),), n_bars=2)
    (svg,) = bars_of_table(words_of("en"), chart, title="Change")
    up, down = (
        {n: float(v) for n, v in b.items() if n != "class"}
        for b in shapes(svg, "rect", "drawn")
    )
    assert up["width"] == pytest.approx(3 * down["width"])
    assert down["width"] > 0
    assert down["x"] + down["width"] == up["x"]


def test_two_candidates_of_one_name_have_two_bars():
    bars = [Bar(name="x", number=n, low=n - 1, high=n + 1) for n in (3, 5)]
    data = Bars(**LABELS, filled="found", outlined="not found")
    svg = columns(words_of("en"), data, [(bar.name, [bar]) for bar in bars])
    assert len(shapes(svg, "rect", "drawn")) == 2 + 1  # and one in the legend


def test_a_value_without_a_bar_leaves_its_place_empty():
    data = Bars(**LABELS, filled="f", outlined="o")
    groups = [("a", [Bar(name="a", number=1)]), ("b", []), ("c", [Bar(name="c", number=2)])]
    svg = columns(words_of("en"), data, groups)
    assert all(f">{name}<" in svg for name in "abc")


def test_a_legend_explains_the_looks_there_are():
    data = Bars(**LABELS, filled="found", outlined="not found")
    bars = [Bar(name="x", number=2, low=1, high=3)]
    svg = rows(words_of("en"), data, bars, are_dots=True)
    assert ">found<" in svg
    assert "not found" not in svg


def test_a_legend_without_room_goes_on_below_and_the_drawing_grows():
    words, long = words_of("en"), "W" * 40
    bars = [Bar(name="x", number=2), Bar(name="y", number=1, is_filled=False)]
    heights = [
        float(re.search(r'height="([\d.]+)"', rows(words, data, bars))[1])
        for data in (
            Bars(**LABELS, filled="f", outlined="o"),
            Bars(**LABELS, filled=long, outlined=long),
        )
    ]
    assert heights[1] == heights[0] + 19


def test_neighbours_of_one_shade_are_one_shape():
    board = Board()
    Grid((0, 0), (10, 5)).fill(
        board, [{0: 1, 1: 1, 3: 1}, {1: 0}], [{"css": "a"}, {"css": "b"}]
    )
    svg = board.document("t", "d", ids=("a", "b"))
    assert re.findall(r' d="([^"]*)" class="(.)"', svg) == [
        ("M10 5h10v5h-10z", "a"),
        ("M0 0h20v5h-20zM30 0h10v5h-10z", "b"),
    ]
