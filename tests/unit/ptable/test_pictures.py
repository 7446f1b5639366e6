import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from footing.svg import clean, clip, text_width
from ptable import Mechanism, NoiseSpec, PTable, PTableError, solve
from ptable.pictures import Picture, distributions, heatmap, perturbation
from ptable.pictures.bars import DOWN, UP, ZERO, on_noise
from ptable.pictures.facts import never_published, row_facts, row_of
from ptable.pictures.matrix import SHADES, on_shade
from ptable.pictures.svg import INK, MUTED, Drawing
from ptable.pictures.words import percent
from tests.strategies import examples

VIEWS = (heatmap, distributions, perturbation)
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "<script>alert('x')</script> \"&amp;\" \0\x1b\ud800\uffff\u202e ]]> " + "W" * 300


@cache
def _solved(**options):
    return solve(NoiseSpec(**options))


def _rounding():
    rows = [
        {0: 5} if i % 5 == 0 else {-(i % 5): 5 - i % 5, 5 - i % 5: i % 5} for i in range(11)
    ]
    return PTable.from_units(rows, key_range=5, large_counts="cycle:5", label="rounding")


@cache
def _keys(n_rows=750, n_keys=64):
    chance = np.random.default_rng(1)
    count = np.repeat(np.arange(1, n_rows + 1), n_keys)
    noise = np.round(chance.normal(0, 1.6, len(count))).astype(int)
    noise = np.clip(noise, -np.minimum(count, 5), 5)
    lines = {"pcv": count, "ckey": np.tile(np.arange(n_keys), n_rows), "pvalue": noise}
    return PTable.from_key_table(pd.DataFrame(lines), large_counts="cycle:250")


def _magnitude():
    rows = [{0: 40}, {-2: 10, -1: 10, 0: 8, 1: 6, 4: 6}, {-7: 10, -1: 10, 0: 10, 3: 10}]
    return PTable.from_units(rows, key_range=40, step=4, anchors=[0, 1, 500])


@cache
def _many_rows():
    return PTable.from_units([{0: 8}] * 3000, key_range=8)


TABLES = {
    "D=1": lambda: _solved(max_noise=1, variance=0.5),
    "D=2": lambda: _solved(max_noise=2, variance=1.0),
    "D=5, small=2": lambda: _solved(max_noise=5, variance=3.0, small=2),
    "D=50": lambda: _solved(max_noise=50, variance=45.0),
    "D=300": lambda: Mechanism.discrete_laplace(0.02, max_noise=300).build(),
    "rounding": _rounding,
    "750 rows of 64 keys": _keys,
    "rows of 16384 keys": lambda: _shuffled(16384),
    "magnitudes": _magnitude,
    "halves": lambda: PTable.from_units([{0: 4}, {-1: 2, 1: 2}], key_range=4, step=2),
    "single row": lambda: PTable.from_units([{0: 8}], key_range=8, label=HOSTILE),
    "noise on zeros": lambda: PTable.from_units([{0: 7, 3: 1}, {-1: 3, 1: 5}], key_range=8),
    "huge noise": lambda: PTable.from_units([{0: 8}, {-1: 7, 10**6: 1}], key_range=8),
    "wide anchors": lambda: PTable.from_units(
        [{0: 8}, {-(10**9): 4, 10**9: 4}], key_range=8, anchors=[0, 10**12]
    ),
    "many rows": _many_rows,
}


@cache
def _shuffled(n_keys):
    noise = np.random.default_rng(2).integers(-3, 4, n_keys).tolist()
    uppers = tuple(range(1, n_keys + 1))
    rows = ((0,) * n_keys, (0,) * n_keys, (0,) * n_keys, tuple(noise))
    return PTable(noise=rows, upper=(uppers,) * 4, key_range=n_keys)


@cache
def _table(name):
    return TABLES[name]()


@cache
def _drawn(name, view):
    return view(_table(name))


@pytest.fixture(params=TABLES)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def small():
    return _solved(max_noise=5, variance=3.0, small=2)


def _texts(svg):
    return [element.text or "" for element in ET.fromstring(svg).iter(SVG + "text")]  # noqa: S314


def _cells(table):
    """Return the lines of an HTML table, header first."""
    root = ET.fromstring(table)  # noqa: S314
    return [[cell.text or "" for cell in line] for line in root.iter("tr")]


# --- what every picture keeps ----------------------------------------------------------


@pytest.mark.parametrize("view", VIEWS)
def test_a_picture_is_small_complete_and_says_what_it_shows(name, view):
    picture = _drawn(name, view)
    assert len(picture.svg.encode()) < 300_000
    assert len(picture.table.encode()) < 400_000
    root = ET.fromstring(picture.svg)  # noqa: S314
    allowed = {"svg", "title", "desc", "defs", "pattern", "rect", "path", "text"}
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= allowed
    assert root.get("role") == "img"
    ids = {element.get("id"): element for element in root.iter() if element.get("id")}
    labels = [ids[name].text for name in root.get("aria-labelledby").split()]
    assert labels[0]
    assert labels[1] == picture.description
    links = re.findall(r"url\(#([^)]*)\)", picture.svg)
    assert set(links) <= set(ids)
    assert not re.search(r"href|style=|https?://(?!www\.w3\.org/2000/svg)", picture.svg)
    assert len(_cells(picture.table)) > 1


@pytest.mark.slow
@pytest.mark.parametrize("view", VIEWS)
def test_no_text_and_no_shape_leaves_the_card(name, view):
    root = ET.fromstring(_drawn(name, view).svg)  # noqa: S314
    left, top, wide, high = map(float, root.get("viewBox").split())
    assert (left, top, wide) == (0, 0, 760)
    n_texts = 0
    for element in root.iter(SVG + "text"):
        size = float(element.get("font-size"))
        assert size >= 10
        length = text_width(element.text, size, bold=element.get("font-weight") == "bold")
        shift = {"middle": length / 2, "end": length}.get(element.get("text-anchor"), 0.0)
        start = float(element.get("x")) - shift
        assert start >= 0, element.text
        assert start + length <= wide, element.text
        assert size <= float(element.get("y")) <= high - 3, element.text
        n_texts += 1
    assert n_texts > 3
    for element in root.iter(SVG + "rect"):
        if "x" in element.attrib:
            assert float(element.get("x")) >= 0
            assert float(element.get("x")) + float(element.get("width")) <= wide
            assert float(element.get("y")) + float(element.get("height")) <= high
    for element in root.iter(SVG + "path"):
        for x, y in re.findall(r"M(-?[\d.]+) (-?[\d.]+)", element.get("d")):
            if element.get("stroke-width") not in {None, "1"} or "l" not in element.get("d"):
                assert -1.01 <= float(x) <= wide
                assert -1.01 <= float(y) <= high


@pytest.mark.slow
@pytest.mark.parametrize("view", VIEWS)
def test_no_text_covers_another(name, view):
    lines = {}
    root = ET.fromstring(_drawn(name, view).svg)  # noqa: S314
    for element in root.iter(SVG + "text"):
        size = float(element.get("font-size"))
        length = text_width(element.text, size, bold=element.get("font-weight") == "bold")
        shift = {"middle": length / 2, "end": length}.get(element.get("text-anchor"), 0.0)
        start = float(element.get("x")) - shift
        # A text fills four fifths of its size above its base line.
        span = (start, start + length, element.text, float(element.get("y")), 0.8 * size)
        lines.setdefault(round(span[3] // 20), []).append(span)
    for row, spans in lines.items():
        near = [*spans, *lines.get(row + 1, [])]
        for i, (left, right, words, base, _) in enumerate(spans):
            for other_left, other_right, other, other_base, high in near[i + 1 :]:
                apart = other_base - high >= base or other_base <= base - high
                beside = other_left >= right or other_right <= left
                assert apart or beside, (words, other)


@pytest.mark.parametrize("view", VIEWS)
def test_the_same_table_gives_the_same_bytes(small, view):
    again = PTable(noise=small.noise, upper=small.upper, certificate=small.certificate)
    assert view(small) == view(again)
    other = view(replace(small, label="Another")).svg
    prefix = re.compile(r'<title id="(p[0-9a-f]{10})-t">')
    assert prefix.search(other)[1] != prefix.search(view(small).svg)[1]


@pytest.mark.parametrize("view", VIEWS)
def test_no_picture_holds_the_identity_of_the_table(small, view):
    html = view(small)._repr_html_()
    assert not any(small.id[at : at + 8] in html for at in range(57))


@pytest.mark.parametrize("view", VIEWS)
def test_a_hostile_label_is_only_text(view):
    picture = view(PTable.from_units([{0: 8}, {-1: 4, 1: 4}], key_range=8, label=HOSTILE))
    root = ET.fromstring(picture.svg)  # noqa: S314
    assert "<script>alert('x')</script>" in root.find(SVG + "title").text
    assert "<script" not in picture._repr_html_()
    assert not re.search(r"[\0\x1b\ud800\uffff\u202e]", picture._repr_html_())
    assert any(text.endswith("…") for text in _texts(picture.svg))


_ROWS = st.lists(
    st.dictionaries(st.integers(-6, 9), st.integers(1, 9), min_size=1), min_size=1, max_size=6
)


@settings(max_examples=examples(40))
@given(_ROWS, st.sampled_from([1, 2, 3]), st.booleans(), st.data())
def test_any_table_can_be_drawn(rows, step, cycles, data):
    rows = [
        {max(v, -count * step): n for v, n in row.items()} for count, row in enumerate(rows)
    ]
    total = max(2, *(sum(row.values()) for row in rows))
    for row in rows:
        row[0] = row.get(0, 0) + total - sum(row.values())
    length = data.draw(st.integers(2, len(rows))) if cycles and len(rows) > 1 else 0
    rule = f"cycle:{length}" if length else "last"
    table = PTable.from_units(rows, key_range=total, step=step, large_counts=rule)
    for view in VIEWS:
        ET.fromstring(view(table).svg)  # noqa: S314


# --- colours ---------------------------------------------------------------------------


def _luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(first, second):
    low, high = sorted((_luminance(first), _luminance(second)))
    return (high + 0.05) / (low + 0.05)


def test_shades_keep_their_order_in_grey_and_carry_readable_text():
    levels = [_luminance(shade) for shade in ("#ffffff", *SHADES)]
    assert all(light > 1.25 * dark for light, dark in pairwise(levels))
    assert all(_contrast(on_shade(i), shade) >= 4.5 for i, shade in enumerate(SHADES))
    for reach in (1, 2, 5, 50):
        for noise in range(-reach, reach + 1):
            assert _contrast(*on_noise(noise, reach)) >= 4.5
    assert {on_noise(v, 5)[0] for v in range(-5, 6)} == {*DOWN, ZERO, *UP}
    assert min(_contrast(ink, "#ffffff") for ink in (INK, MUTED)) >= 4.5


# --- the heat map ----------------------------------------------------------------------


def test_the_heat_map_holds_every_probability(small):
    header, *lines = _cells(heatmap(small).table)
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
    texts = _texts(heatmap(small).svg)
    assert "73" in texts
    assert "<1" in texts
    assert "Numbers in cells are percent." in texts
    wide = _texts(heatmap(_solved(max_noise=50, variance=45.0)).svg)
    assert "<1" not in wide
    assert "Numbers in cells are percent." not in wide


def test_values_that_never_occur_are_hatched_and_said(small):
    assert "Never published: 1 to 2." in heatmap(small).description
    assert "never published" in _texts(heatmap(small).svg)
    assert "Never published: 1 to 4, 6 to 9." in heatmap(_rounding()).description
    plain = heatmap(_solved(max_noise=2, variance=1.0))
    assert "ever published" not in plain.svg
    assert plain.svg.count("url(#") == 0


def test_larger_counts_count_when_it_is_said_what_never_occurs():
    # Count 5 takes the last row and is published as 3, though no row drawn leads there.
    table = PTable.from_units([{0: 4}, {-1: 2, 1: 2}, {-2: 2, 2: 2}], key_range=4)
    assert not table.transition[:, 3].any()
    assert never_published(table, 0, 9) == set()


def test_cells_without_probability_are_left_white(small):
    root = ET.fromstring(heatmap(small).svg)  # noqa: S314
    area = 0.0
    for path in root.iter(SVG + "path"):
        if path.get("fill") in SHADES:
            boxes = re.findall(r"h([\d.]+)v([\d.]+)", path.get("d"))
            area += sum(float(wide) * float(high) for wide, high in boxes)
    frame = next(r for r in root.iter(SVG + "rect") if r.get("stroke") == "#777777")
    share = area / (float(frame.get("width")) * float(frame.get("height")))
    assert share == pytest.approx((small.transition > 0).mean(), rel=1e-2)


def test_rows_that_are_not_drawn_are_named():
    picture = heatmap(_keys())
    for note in (
        "Rows 41 to 750 are not drawn.",
        "Counts from 751 on take rows 501 to 750 in turn.",
    ):
        assert note in picture.description
        assert note in _texts(picture.svg)
    long = heatmap(_many_rows())
    assert "Rows 40 to 2998 are not drawn." in long.description
    assert _cells(long.table)[-1][0] == "2999 and more"


def test_magnitudes_are_drawn_by_noise_in_units():
    header, *lines = _cells(heatmap(_magnitude()).table)
    assert header[1] == "\N{MINUS SIGN}1.75"
    assert header[-1] == "+1.75"
    assert [line[0] for line in lines] == ["0", "1", "500 and more"]
    assert lines[1][header.index("+1")] == "15.00"


def test_far_noise_is_summed_in_columns_that_keep_no_noise_central():
    table = PTable.from_units([{0: 8}, {0: 6, 200: 1, 201: 1}], key_range=8)
    picture = heatmap(table)
    assert "Each column sums 3 neighbouring noise values." in _texts(picture.svg)
    header, _, line = _cells(picture.table)
    assert line[header.index("0")] == "75.00"
    assert line[header.index("+201")] == "25.00"


# --- the panels ------------------------------------------------------------------------


def test_panels_give_mean_variance_and_stay():
    header, *lines = _cells(distributions(_magnitude()).table)
    assert header[:4] == ["count", "mean", "variance", "stays, percent"]
    row = row_facts(_magnitude(), 1)
    assert row.mean == Fraction(-20 - 10 + 6 + 24, 160)
    assert row.variance == Fraction(4 * 10 + 10 + 6 + 16 * 6, 640) - row.mean**2
    assert lines[1][1:4] == ["0", f"{float(row.variance):.4g}", "20.00"]
    assert lines[1][4:6] == ["\N{MINUS SIGN}0.5", "+1"]


def test_rows_that_are_not_as_asked_are_flagged_in_words():
    with pytest.warns(match="variance"):
        table = _solved(max_noise=5, variance=6.0, variance_rule="nearest")
    picture = distributions(table)
    assert "not as asked" in _texts(picture.svg)
    assert "Count 1: variance 5 instead of 6." in picture.description
    assert picture.svg.count("stroke-dasharray") == 1
    fine = distributions(_solved(max_noise=5, variance=3.0))
    assert "stroke-dasharray" not in fine.svg
    assert _cells(fine.table)[2][-1] == "none"


def test_rows_of_foreign_tables_are_compared_with_the_last():
    table = PTable.from_units(
        [{0: 4}, {-1: 1, 0: 2, 1: 1}, {0: 4}, {0: 3, 1: 1}, {-1: 1, 0: 2, 1: 1}], key_range=4
    )
    flags = [[words for words, _ in row_facts(table, row).flags] for row in range(5)]
    assert flags == [[], [], ["variance differs"], ["variance differs", "mean is not 0"], []]
    assert row_facts(_rounding(), 2).flags == ()


def test_a_declared_bias_of_zeros_is_not_flagged():
    solved = _solved(max_noise=1, variance=0.5)
    rows = [{0: 7, 1: 1}, {-1: 2, 0: 4, 1: 2}]
    table = PTable.from_units(rows, key_range=8)
    assert [words for words, _ in row_facts(table, 0).flags][-1] == "mean is not 0"
    declared = table.with_proof(solved.spec, solved.certificate)
    assert row_facts(declared, 0).flags == ()


def test_a_steep_row_is_cut_and_named_instead_of_flattening_the_others(small):
    texts = _texts(distributions(small).svg)
    assert "73 %" in texts
    assert "Probability, from 0 to 58 %" in texts


def test_the_height_of_bars_is_their_probability():
    table = PTable.from_units([{0: 8}, {-1: 4, 0: 3, 1: 1}], key_range=8)
    root = ET.fromstring(distributions(table).svg)  # noqa: S314
    heights = {}
    for path in root.iter(SVG + "path"):
        heights.setdefault(path.get("fill"), []).extend(
            map(float, re.findall(r"v-([\d.]+)h", path.get("d")))
        )
    assert heights["#5c93c5"] == [64.0, 16.0]
    assert heights["#153d7c"] == [48.0]


# --- the bars over the keys ------------------------------------------------------------


def test_bars_follow_the_keys_of_the_table():
    table = PTable(noise=[[0], [1, -1, 1]], upper=[[8], [2, 7, 8]], key_range=8)
    picture = perturbation(table)
    assert _cells(picture.table)[2:] == [
        ["1 and more", "0", "0.25", "+1"],
        ["1 and more", "0.25", "0.875", "\N{MINUS SIGN}1"],
        ["1 and more", "0.875", "1", "+1"],
    ]
    root = ET.fromstring(picture.svg)  # noqa: S314
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
    table = _shuffled(16384)
    picture = perturbation(table)
    assert any(text.startswith("Drawn from 1000 samples") for text in _texts(picture.svg))
    lines = _cells(picture.table)[1:]
    drawn = [int(line[3].replace("\N{MINUS SIGN}", "-")) for line in lines[3:]]
    keys = [(2 * part + 1) * 16384 // 2000 for part in range(1000)]
    assert drawn == table.lookup([3] * 1000, keys, key_range=16384).tolist()


def test_the_row_for_large_counts_is_drawn_before_all_others():
    last = _shuffled(900)
    table = PTable(
        noise=(*last.noise, *last.noise[3:] * 8),
        upper=(*last.upper, *last.upper[3:] * 8),
        key_range=900,
    )
    picture = perturbation(table)
    assert _cells(picture.table)[-1][0] == "11 and more"
    assert "Rows 7 to 10 are not drawn." in picture.description


def test_sign_shows_without_colour():
    table = PTable.from_units([{0: 8}, {-1: 4, 1: 4}], key_range=8)
    root = ET.fromstring(perturbation(table).svg)  # noqa: S314
    marks = [path for path in root.iter(SVG + "path") if path.get("stroke") == INK]
    heights = [float(y) for m in marks for y in re.findall(r"M[\d.]+ ([\d.]+)", m.get("d"))]
    assert len(heights) == 2
    assert heights[0] - heights[1] == 26 - 5


# --- the drawing board -----------------------------------------------------------------


def test_spaces_that_do_not_break_keep_figures_and_signs_together():
    assert clean("a\xa0:\u202f b\n c\t") == "a\xa0:\u202f b c"
    drawing = Drawing("A title")
    drawing.note("mot " * 28 + "fin\xa0: 12\xa0%")
    lines = _texts(drawing.finish("x"))[1:]
    assert len(lines) > 1
    assert all("fin\xa0:" in line for line in lines if "fin" in line or ":" in line)
    assert all("12\xa0%" in line for line in lines if "12" in line or "%" in line)


@pytest.mark.parametrize("room", [0, -5, 1])
def test_a_text_without_room_becomes_a_mark(room):
    assert clip("label", room, 10) == "…"
    assert clip("", room, 10) == ("" if room >= 0 else "…")


def test_a_drawing_of_nothing_still_says_what_it_is():
    root = ET.fromstring(Drawing("Nothing").finish("Nothing to see."))  # noqa: S314
    assert [root[0].text, root[1].text] == ["Nothing", "Nothing to see."]


# --- figures in words ------------------------------------------------------------------


def test_a_probability_never_looks_like_zero_or_certainty_when_it_is_not():
    assert percent(Fraction(1, 2**32)) == "<1"
    assert percent(1 - Fraction(1, 2**32), 2) == ">99.99"
    assert (percent(Fraction(0)), percent(Fraction(1), 2)) == ("0", "100")


def test_the_row_of_a_count_is_the_one_that_lookup_takes():
    table = _keys(n_rows=260, n_keys=16)
    for count in (0, 1, 260, 261, 510, 511, 10_000):
        keys = np.arange(16)
        noise = table.lookup([count] * 16, keys, key_range=16)
        expected = table.lookup([row_of(table, count)] * 16, keys, key_range=16)
        assert (noise == expected).all()
    assert row_of(_magnitude(), 10**9) == 2
    with pytest.raises(PTableError, match="Count 2 has no row; there are rows for 0 to 1, 500"):
        row_of(_magnitude(), 2)


# --- files and notebooks ---------------------------------------------------------------


def test_a_picture_is_written_once_and_whole(small, tmp_path, monkeypatch):
    picture = heatmap(small)
    path = tmp_path / "picture.svg"
    picture.write(path)
    assert path.read_text(encoding="utf-8") == picture.svg + "\n"
    other = Picture(svg="<svg/>", description="", table="")
    with pytest.raises(PTableError, match="exists already"):
        other.write(path)
    monkeypatch.setattr("pathlib.Path.replace", _fail)
    with pytest.raises(OSError, match="full"):
        other.write(path, overwrite=True)
    monkeypatch.undo()
    assert path.read_text(encoding="utf-8") == picture.svg + "\n"
    other.write(path, overwrite=True)
    assert path.read_text(encoding="utf-8") == "<svg/>\n"
    assert [file.name for file in tmp_path.iterdir()] == ["picture.svg"]


def _fail(*_rest):
    raise OSError(28, "full")


def test_a_picture_is_not_written_where_it_cannot_be(small, tmp_path):
    (tmp_path / "folder.svg").mkdir()
    for name, words in (
        ("picture.png", "not '.png'"),
        ("none/picture.svg", "There is no folder"),
        ("folder.svg", "is a folder"),
    ):
        with pytest.raises(PTableError, match=words):
            heatmap(small).write(tmp_path / name, overwrite=True)


def test_notebooks_show_a_table_with_its_picture_and_data(name):
    html = _table(name)._repr_html_()
    assert "<caption>p-table</caption>" in html
    assert "<svg" in html
    assert "Probability in percent" in html
    assert len(html) < 300_000


@pytest.mark.slow
def test_every_reference_table_can_be_drawn(shared):
    paths = sorted((shared / "reference" / "ptable").glob("cnt_*.csv"))
    assert len(paths) > 20
    for path in paths:
        table = PTable.from_frame(pd.read_csv(path), digits=12, label=path.stem)
        for view in VIEWS:
            ET.fromstring(view(table).svg)  # noqa: S314
    modified = next(path for path in paths if "modified" in path.name)
    picture = perturbation(PTable.from_frame(pd.read_csv(modified)))
    assert "The keys of counts 1 to 8 are shuffled." in picture.description


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
    lines = _cells(distributions(table).table)[1:]
    assert [line[2] for line in lines] == ["0", "0.9124", "2", "2"]
