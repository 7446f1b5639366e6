"""The drawing board: where texts, legends and notes go."""

import re
from itertools import pairwise

import pytest

from footing.svg import clean, clip, text_width
from ptable.pictures.svg import HATCH, INK, MARGIN, MUTED, Drawing
from tests.drawings import SVG, hold_apart, hold_golden, hold_in_card, root_of, spans, texts


def test_spaces_that_do_not_break_keep_figures_and_signs_together():
    assert clean("a\xa0:\u202f b\n c\t") == "a\xa0:\u202f b c"
    drawing = Drawing("A title")
    drawing.note("mot " * 28 + "fin\xa0: 12\xa0%")
    lines = texts(drawing.finish("x"))[1:]
    assert len(lines) > 1
    assert all("fin\xa0:" in line for line in lines if "fin" in line or ":" in line)
    assert all("12\xa0%" in line for line in lines if "12" in line or "%" in line)


@pytest.mark.parametrize("room", [0, -5, 1])
def test_a_text_without_room_becomes_a_mark(room):
    assert clip("label", room, 10) == "…"
    assert clip("", room, 10) == ("" if room >= 0 else "…")


def test_a_drawing_of_nothing_still_says_what_it_is():
    root = root_of(Drawing("Nothing").finish("Nothing to see."))
    assert [root[0].text, root[1].text] == ["Nothing", "Nothing to see."]


def test_a_title_that_is_too_long_is_cut_above_and_kept_in_words():
    title = "W" * 200
    root = root_of(Drawing(title).finish("x"))
    assert root.find(SVG + "title").text == title
    (heading,) = root.iter(SVG + "text")
    assert heading.text.endswith("…")
    assert heading.get("font-weight") == "bold"
    room = 760 - 2 * MARGIN
    assert room - 20 < text_width(heading.text, 15, bold=True) <= room


def test_a_note_takes_as_many_lines_as_it_needs_and_the_card_grows():
    drawing = Drawing("Notes")
    before = drawing.y
    drawing.note("one")
    assert drawing.y == before + 19
    words = [f"word{n}" for n in range(60)]
    drawing.note(" ".join(words))
    svg = drawing.finish("x")
    lines = spans(svg)[1:]
    assert " ".join(text for _, _, text, *_ in lines).split() == ["one", *words]
    bases = [base for *_, base, _ in lines]
    assert {b - a for a, b in pairwise(bases[1:])} == {15}
    # a line is as long as it can be: the next word would not have fitted
    for (_, end, *_), (_, _, after, *_) in pairwise(lines[1:]):
        assert end <= 760 - MARGIN
        assert end + text_width(" " + after.split()[0], 11) > 760 - MARGIN
    assert float(root_of(svg).get("height")) == bases[-1] + MARGIN
    assert {e.get("fill") for e in root_of(svg).iter(SVG + "text")} == {INK, MUTED}
    hold_in_card_of_two(svg)


def hold_in_card_of_two(svg):
    high = float(root_of(svg).get("height"))
    assert all(base <= high - 3 for *_, base, _ in spans(svg))


def test_words_that_fill_a_line_to_its_end_stay_in_it():
    drawing = Drawing("Notes")
    drawing.room = text_width("one two", 11)
    drawing.note("one two three")
    assert texts(drawing.finish("x"))[1:] == ["one two", clip("three", drawing.room, 11)]


def test_one_word_wider_than_the_card_is_cut():
    drawing = Drawing("Wide")
    drawing.note("short " + "W" * 300 + " end")
    lines = texts(drawing.finish("x"))[1:]
    assert lines[0] == "short"
    assert lines[1].endswith("…")
    assert lines[2] == "end"


def test_an_empty_note_writes_nothing():
    drawing = Drawing("Empty")
    drawing.note("")
    assert texts(drawing.finish("x")) == ["Empty"]


def test_an_axis_that_would_leave_the_card_begins_further_left():
    drawing = Drawing("Axes")
    drawing.axis(100, "short")
    drawing.axis(740, "published minus count")
    drawing.axis(5, "W" * 200)
    short, late, long = spans(drawing.finish("x"))[1:]
    assert short[0] == 100
    assert late[1] == pytest.approx(760 - MARGIN, abs=0.01)
    assert long[2].endswith("…")
    assert long[1] <= 760 - MARGIN + 0.01


def test_a_legend_begins_a_new_line_where_there_is_no_room():
    drawing = Drawing("Legend")
    entries = [(f"#{n}{n}{n}{n}{n}{n}", f"class number {n}") for n in range(9)]
    entries += [("outline", "as it is"), (HATCH, "never")]
    drawing.legend("Probability", entries)
    svg = drawing.finish("x")
    hold_in_card(svg)
    hold_apart(svg)
    words = texts(svg)
    assert words[1:] == ["Probability", *(name for _, name in entries)]
    bases = [base for *_, base, _ in spans(svg)[1:]]
    assert sorted(set(bases)) == [60, 79]
    boxes = [r for r in root_of(svg).iter(SVG + "rect") if r.get("height") == "12"]
    assert len(boxes) == 11
    for box, (start, _, _, base, _) in zip(boxes, spans(svg)[2:], strict=True):
        assert start - float(box.get("x")) == pytest.approx(20)
        assert float(box.get("y")) == base - 10
    outline = boxes[9]
    assert (outline.get("fill"), outline.get("stroke")) == ("#ffffff", INK)
    assert re.fullmatch(r"url\(#p[0-9a-f]{10}-h\)", boxes[10].get("fill"))
    # each entry ends 10 before the next begins
    first, second = spans(svg)[2:4]
    assert second[0] - first[1] == pytest.approx(30, abs=0.02)


def test_a_legend_without_heading_begins_at_the_margin():
    drawing = Drawing("Legend")
    drawing.legend("", [("#000000", "W" * 300)])
    box = next(
        r for r in root_of(drawing.finish("x")).iter(SVG + "rect") if r.get("width") == "14"
    )
    assert float(box.get("x")) == MARGIN
    assert texts(drawing.finish("x"))[1].endswith("…")


def test_ids_follow_from_what_is_shown_and_from_nothing_else():
    first, again, other = (Drawing(t).finish("d") for t in ("One", "One", "Two"))
    assert first == again
    ids = [re.findall(r'id="(p[0-9a-f]{10})-', svg) for svg in (first, other)]
    assert len(set(ids[0])) == 1
    assert ids[0] != ids[1]
    assert "\0" not in first


def test_a_card_with_all_that_a_board_can_do_looks_as_it_did():
    drawing = Drawing("A card")
    drawing.axis(120, "an axis")
    drawing.y += 30
    drawing.legend("Shades", [("#cfe9f9", "few"), ("outline", "as is"), (HATCH, "never")])
    drawing.note("A remark below.")
    hold_golden("card", drawing.finish("A card with a legend and a remark."))
