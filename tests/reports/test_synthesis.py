"""The page about synthetic records: its words, its names, its pictures."""

import re
from dataclasses import replace
from typing import get_args

import pytest

from reports import ReportError, synthesis_report
from reports.catalogues import synthesis as words
from reports.catalogues.synthesis import GUARANTEES, say_guarantee
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
        assert Guarantee.from_record(one.record()) == one


def test_a_page_tells_what_is_promised_of_each_set():
    html = synthesis_report(made.synthesis(2), language="en").html
    assert "epsilon 1 at delta 1.0 × 10⁻⁶. One unit of neighbours is replaced" in html
    assert "NOT differentially private as claimed: epsilon 1 was claimed, and nothing" in html
