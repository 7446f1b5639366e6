"""What a drawing in SVG says and where, for the tests of pictures."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

from footing.svg import text_width

SVG = "{http://www.w3.org/2000/svg}"
GOLDEN = Path(__file__).parent / "golden" / "pictures"


def root_of(svg):
    """Read a drawing."""
    return ET.fromstring(svg)  # noqa: S314


def texts(svg):
    """Give the texts of a drawing."""
    return [element.text or "" for element in root_of(svg).iter(SVG + "text")]


def cells(table):
    """Return the lines of an HTML table, header first."""
    root = ET.fromstring(table)  # noqa: S314
    return [[cell.text or "" for cell in line] for line in root.iter("tr")]


def spans(svg):
    """Give each text with its left and right end, its base line and its size."""
    places = []
    for element in root_of(svg).iter(SVG + "text"):
        size = float(element.get("font-size"))
        length = text_width(element.text, size, bold=element.get("font-weight") == "bold")
        shift = {"middle": length / 2, "end": length}.get(element.get("text-anchor"), 0.0)
        start = float(element.get("x")) - shift
        places.append((start, start + length, element.text, float(element.get("y")), size))
    return places


def hold_in_card(svg):
    """Check that no text and no shape leaves the card."""
    root = root_of(svg)
    left, top, wide, high = map(float, root.get("viewBox").split())
    assert (left, top, wide) == (0, 0, 760)
    texts_here = spans(svg)
    assert len(texts_here) > 3
    for start, end, words, base, size in texts_here:
        assert size >= 10
        assert start >= 0, words
        assert end <= wide, words
        assert size <= base <= high - 3, words
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


def hold_apart(svg):
    """Check that no text covers another; one fills four fifths of its size above its base."""
    lines = {}
    for span in spans(svg):
        lines.setdefault(round(span[3] // 20), []).append(span)
    for row, here in lines.items():
        near = [*here, *lines.get(row + 1, [])]
        for i, (left, right, words, base, size) in enumerate(here):
            for other_left, other_right, other, other_base, high in near[i + 1 :]:
                apart = other_base - 0.8 * high >= base or other_base <= base - 0.8 * size
                beside = other_left >= right or other_right <= left
                assert apart or beside, (words, other)


def hold_golden(name, svg):
    """Compare a drawing with the one that somebody looked at, to the byte."""
    assert svg + "\n" == (GOLDEN / f"{name}.svg").read_text(encoding="utf-8"), name


def luminance(colour):
    """Give the relative luminance of a colour, as WCAG defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first, second):
    """Give the contrast of two colours, as WCAG defines it."""
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)
