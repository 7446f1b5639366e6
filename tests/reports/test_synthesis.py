"""The page about synthetic records: its words, its names, its pictures."""

import re
from dataclasses import replace

import pytest

from reports import ReportError, synthesis_report
from reports.catalogues import synthesis as words
from synth.evaluation.catalogue import GROUPS, MEASURES
from synth.evaluation.controls import CONTROLS
from tests.reports import facts as made


def test_every_figure_group_and_control_has_words_and_no_other_has():
    assert list(words.FIGURES) == list(MEASURES)
    assert tuple(words.GROUPS) == GROUPS
    assert tuple(words.CONTROLS) == CONTROLS
    for name, measure in MEASURES.items():
        assert words.FIGURES[name].group == measure.group, name
        assert words.FIGURES[name].good == measure.direction, name


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
        synthesis_report(bad, language="en")
    with pytest.raises(ReportError, match="needs SynthesisFacts"):
        synthesis_report(made.comparison(), language="en")


def test_each_control_has_a_shape_of_its_own_beside_the_bar():
    html = synthesis_report(made.synthesis(1), language="en").html
    picture = re.search(r'<figure id="distances-0".*?</svg>', html, re.DOTALL).group()
    legend = ["Bootstrap", "Unseen records", "Independent columns"]
    assert all(f">{word}<" in picture for word in legend)
    assert picture.count("<circle") == 6 + 1
    assert "<script" not in html


def test_hostile_names_of_sets_and_columns_stay_texts():
    facts = made.synthesis(1)
    ((_, figures),) = facts.figures.items()
    name = "<script>alert(1)</script>"
    html = synthesis_report(
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
    html = synthesis_report(facts, language="en").html
    assert "No conclusion was drawn." in html
    assert "There is nothing to draw." in html
