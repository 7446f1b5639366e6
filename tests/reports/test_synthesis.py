"""The page about synthetic records: its words, its names, its pictures."""

import json
import math
import re
from dataclasses import replace
from statistics import fmean
from typing import get_args

import pytest
from lxml import html as parser

from reports import ReportError, make_report
from reports.catalogues import synthesis as words
from reports.catalogues.synthesis import GUARANTEES, TELLING, say_guarantee
from reports.i18n.languages import words_of
from synth.evaluation.evaluate import _MEASURED, CONTROLS
from synth.guarantee import Guarantee, Status
from tests.reports import facts as made


def test_every_figure_group_and_control_has_words_and_no_other_has():
    assert set(words.GROUPS) == set(_MEASURED)
    assert list(words.GROUPS) == list(dict.fromkeys(f.group for f in words.FIGURES.values()))
    assert tuple(words.CONTROLS) == CONTROLS
    assert {figure.good for figure in words.FIGURES.values()} == set(words.GOOD)
    assert set(words.GOOD) == set(get_args(words.Good))


@pytest.mark.parametrize(
    "change",
    [
        {"name": "tvd9"},
        {"controls": {"nobody": 1.0}},
        {"value": None, "reason": "because"},
        {"value": float("nan")},
    ],
)
def test_names_without_words_and_numbers_that_are_none_are_refused(change):
    facts = made.synthesis(1)
    ((name, figures),) = facts.figures.items()
    bad = replace(facts, figures={name: (replace(figures[0], **change), *figures[1:])})
    with pytest.raises(ReportError):
        make_report(bad, language="en")


def test_the_lines_and_bands_of_a_sweep_are_those_of_the_folds_in_its_json():
    """Read the drawing back by its own axes, and compute it anew from the folds."""
    report = make_report(made.swept(), language="en")
    tree = parser.fromstring(report.html)
    measures = {m["name"]: m for m in json.loads(report.to_json())["measures"]}
    drawn = tree.xpath("//div[@class='panels']//svg")
    assert len(drawn) == 5 + 1  # and the legend
    assert not tree.xpath("//svg//rect[@class='drawn']")  # no bars
    for svg, name in zip(drawn[:5], TELLING, strict=False):
        across, up = (axis(svg, anchor) for anchor in ("middle", "end"))
        lines = {}
        for s in measures[name]["spreads"]:
            lines.setdefault(s["line"], []).append((s["epsilon"], s["values"]))
        curves = svg.xpath(".//*[local-name()='path'][starts-with(@class, 'curve')]")
        bands = svg.xpath(".//*[local-name()='path'][starts-with(@class, 'band')]")
        assert (len(curves), len(bands)) == (3, 2)
        means = sorted(tuple(fmean(v) for _, v in points) for points in lines.values())
        found = sorted(tuple(up(y) for _, y in places(curve)) for curve in curves)
        assert found == [pytest.approx(line, abs=2e-3) for line in means]
        ends = sorted(
            (*(max(v) for _, v in points), *(min(v) for _, v in points[::-1]))
            for points in lines.values()
            if len(points) > 1
        )
        banded = sorted(tuple(up(y) for _, y in places(band)) for band in bands)
        assert banded == [pytest.approx(line, abs=2e-3) for line in ends]
        x = [
            place[0] for place in places(curves[0] if len(places(curves[0])) > 1 else curves[1])
        ]
        assert [across(one) for one in x] == pytest.approx([-1, 0, math.log10(8)], abs=0.02)


def places(path):
    """Give the corners of a path."""
    return [tuple(map(float, pair.split())) for pair in path.get("d")[1:].split("L")]


def axis(svg, anchor):
    """Give what turns a coordinate into a number, from two labels; across, its logarithm."""
    at = "x" if anchor == "middle" else "y"
    found = svg.xpath(f".//*[local-name()='text'][@text-anchor='{anchor}']")
    known = [
        (float(t.get(at)) - (4 if at == "y" else 0), float(t.text))
        for t in found
        if re.fullmatch(r"[\d.]+", t.text or "")
    ]
    (first, low), *_, (last, high) = known
    if at == "x":
        low, high = math.log10(low), math.log10(high)
    return lambda place: low + (place - first) / (last - first) * (high - low)


def test_a_sweep_of_more_ways_than_lines_can_tell_apart_lists_the_others_in_its_table():
    facts = made.swept()
    ways = [f"way {n}" for n in range(8)]
    first = facts.measures[1]
    spreads = tuple(
        replace(first.spreads[0], line=way, mean=n / 10) for n, way in enumerate(ways)
    )
    html = make_report(
        replace(facts, measures=(replace(first, spreads=spreads, leads=()),)), language="en"
    ).html
    legend = re.search(r'id="by-way-legend-desc">([^<]*)<', html).group(1)
    assert [way in legend for way in ways] == [True] * 6 + [False] * 2
    assert all(f">{way}<" in html for way in ways)
    assert "2 more are in the table" in html


def test_sets_of_records_are_dots_of_their_own_beside_the_controls():
    html = make_report(made.synthesis(2), language="en").html
    picture = re.search(r'<svg[^>]*aria-labelledby="picture-0-title.*?</svg>', html).group()
    assert picture.count('class="mark m') == 2
    assert [f'class="limit l{n}"' in picture for n in range(3)] == [True] * 3
    legend = re.search(r'id="by-way-legend-desc">([^<]*)<', html).group(1)
    controls = "Bootstrap, Unseen records, Independent columns"
    assert legend == f"census-eps1, census-eps2, {controls}"


def test_hostile_names_of_sets_and_columns_stay_texts():
    facts = made.synthesis(1)
    ((_, figures),) = facts.figures.items()
    name = "<script>alert(1)</script>"
    html = make_report(
        replace(
            facts,
            title=name,
            synthetic={name: 3},
            figures={name: tuple(replace(f, subject=name) for f in figures)},
            findings={name: facts.findings["census-eps1"]},
        ),
        language="fr",
    ).html
    assert "<script" not in html


def test_a_page_without_figures_says_so():
    facts = replace(made.synthesis(1), figures={}, findings={}, synthetic={})
    html = make_report(facts, language="en").html
    assert "No conclusion was drawn." in html
    assert "There is nothing to draw." in html


def test_every_guarantee_has_words_and_only_the_private_ones_state_an_epsilon():
    found = [
        Guarantee(status="private", epsilon=1.5, delta=1e-6, adjacency="add-remove"),
        Guarantee(status="private", epsilon=1.5, delta=1e-6, adjacency="replace"),
        Guarantee(status="unprotected", claimed=2.5, spent=21.0, words="x"),
        Guarantee(status="unprotected", claimed=2.5, words="x"),
        Guarantee(status="unprotected", words="x"),
        *(
            Guarantee(status=status)
            for status in ("simulated", "wrong", "other data", "absent")
        ),
    ]
    assert {one.status for one in found} == set(get_args(Status))
    assert sorted(one.fact().name for one in found) == sorted(GUARANTEES)
    for one in found:
        for language in ("en", "fr"):
            text = say_guarantee(words_of(language), one.fact())
            assert bool(re.search("1[.,]5", text)) == (one.status == "private")
            is_denied = bool(re.match("NOT |Nothing |PAS |Rien ", text))
            assert is_denied == (one.status != "private")
        assert Guarantee.from_dict(one.to_dict()) == one


def test_a_page_tells_what_is_promised_of_each_set():
    html = make_report(made.synthesis(2), language="en").html
    assert "epsilon 1 at delta 1.0 × 10⁻⁶. One unit of neighbours is replaced" in html
    assert "NOT differentially private as claimed: epsilon 1 was claimed, and nothing" in html
