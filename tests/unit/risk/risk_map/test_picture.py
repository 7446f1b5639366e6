"""Pictures of designs that nobody vouches for."""

import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from footing.svg import text_width
from ptable import Mechanism, PTableError
from risk.errors import RiskError
from risk.risk_map.map import risk_utility_map
from risk.risk_map.picture import designs_picture

_PLACE = re.compile(r"(%\(\w+\)s|%%)")


def rng():
    return np.random.default_rng(2026)


HOSTILE = {
    "script": "<script>alert('x')</script>]]> &amp; \"",
    "long": "W" * 300,
    "words": "a name of many words " * 20,
    "arabic": "\u0645\u0631\u062d\u0628\u0627",
    "hebrew": "\u05e9\u05dc\u05d5\u05dd",
    "turned": "\u202e\u2066safe\0\x1b\ud800",
    "empty": "",
    "zero width": "\u200b",
    "percent": "%(designs)s %s 100%",
}


def _drawn(places, front, **options):
    return designs_picture(places, front, risk="q_worst", utility="aad", **options)


@pytest.mark.parametrize("width", [320, 760])
def test_a_hostile_name_of_a_design_is_only_text(width):
    places = {name: (1.0 + n, 1.0 - n / 10) for n, name in enumerate(HOSTILE.values())}
    picture = _drawn(places, list(places), width=width)
    page = f"<div>{picture.in_page('a')}{picture.table}</div>"
    root = ET.fromstring(page)  # noqa: S314  (our own text)
    assert "<script" not in page
    assert not re.search(r"[\0\x1b\ud800\u202e\u2066]", page)
    assert len(list(root.iter("tr"))) == len(HOSTILE) + 1
    assert "%(designs)s %s 100%" in page
    for text in root.iter("{http://www.w3.org/2000/svg}text"):
        size, bold = float(text.get("font-size")), text.get("font-weight") == "bold"
        length = text_width(text.text, size, bold=bold)
        shift = {"middle": length / 2, "end": length}.get(text.get("text-anchor"), 0.0)
        assert 0 <= float(text.get("x")) - shift <= width - length, text.text


def test_names_that_run_from_right_to_left_leave_the_order_of_the_others():
    names = [HOSTILE["arabic"], HOSTILE["hebrew"], "plain"]
    picture = _drawn(dict(zip(names, [(1, 3), (2, 2), (3, 1)], strict=True)), names)
    for name in names[:2]:
        assert f"\u200e{name}\u200e; " in picture.svg
    assert "3 plain." in picture.svg


@pytest.mark.parametrize(
    ("places", "front", "words"),
    [
        ({}, [], "there is no design"),
        ({"a": (float("nan"), 1.0)}, [], "'a' needs two finite numbers"),
        ({"a": (1.0, float("inf"))}, [], "'a' needs two finite numbers"),
        ({"a": (1.0, 1e305)}, [], "'a' needs two finite numbers"),
        ({"a": (1.0, 1.0)}, ["b"], "the front has 'b'"),
    ],
)
def test_a_picture_of_designs_without_figures_is_refused(places, front, words):
    with pytest.raises(RiskError, match=words):
        _drawn(places, front)


def test_a_picture_of_an_unknown_figure_is_refused():
    with pytest.raises(RiskError, match="there is no figure 'risk'"):
        designs_picture({"a": (1, 1)}, [], risk="risk", utility="aad")


@pytest.mark.parametrize(
    "places",
    [
        {"a": (0, 0)},
        {"a": (0.0, 0.0), "b": (0.0, 0.0)},
        {"a": (5e-324, 5e-324)},
        {"a": (9e299, 1.0), "b": (-9e299, 1.0)},
        {"a": (-5.0, -1e-9), "b": (1e-9, 0.0)},
        {"a": (-7.0, -7.0)},
        {f"n{n}": (n % 37, n % 53) for n in range(2000)},
    ],
)
def test_every_finite_place_is_within_the_frame(places):
    picture = _drawn(places, list(places))
    root = ET.fromstring(picture.svg)  # noqa: S314  (our own text)
    boxes = [r for r in root.iter("{http://www.w3.org/2000/svg}rect") if r.get("width") == "8"]
    assert len(boxes) == len(places)
    for box in boxes:
        assert 56 <= float(box.get("x")) <= 760
        assert 50 <= float(box.get("y")) <= 440
    assert "nan" not in picture.svg
    assert "inf" not in picture.svg.replace("Infeasible", "")
    assert picture.svg.count("<path") < 40


def _loud(text):
    return "".join(part if part[:1] == "%" else part.upper() for part in _PLACE.split(text))


def test_a_map_whose_designs_were_all_refused_has_no_picture():
    found = risk_utility_map({"no": {"max_noise": 1, "variance": 3.0}}, {"t": [1]}, rng=rng())
    with pytest.raises(RiskError, match="No design has both"):
        found.picture()


def test_the_picture_speaks_the_language_it_is_given():
    designs = {"r3": Mechanism.rounding(3), "r5": Mechanism.rounding(5)}
    found = risk_utility_map(designs, {"t": [1, 2, 3, 8, 9]}, rng=rng(), n_draws=0)
    picture = found.picture(words=_loud, decimal_mark=",")
    assert "WORST POSTERIOR OF A SENSITIVE COUNT" in picture.svg
    assert "0,2" in picture.svg
    assert not re.search(r"\d\.\d", re.sub(r"<[^>]*>", " ", picture.svg))
    assert picture.data_heading == "DATA OF THE PICTURE"


@pytest.mark.parametrize("mark", ["", ";", None, ".."])
def test_a_decimal_mark_is_a_point_or_a_comma(mark):
    with pytest.raises(PTableError, match="decimal_mark must be"):
        _drawn({"a": (1, 1)}, [], decimal_mark=mark)


def test_words_must_be_a_function():
    with pytest.raises(PTableError, match="words must be a function"):
        _drawn({"a": (1, 1)}, [], words={})
