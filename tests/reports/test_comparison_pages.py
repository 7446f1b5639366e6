"""Pages of comparisons: one recommendation, slides beside measurement, few printed pages."""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import replace
from itertools import pairwise

import pytest

from ckm.comparison.method_facts import conclusion_of
from reports import make_report
from reports.catalogues.comparison import CRITERIA, METHODS, SLIDES
from reports.charts.curves import Design, Points, points
from reports.facts.methods import CriterionFact, MethodFact, MethodFacts
from reports.i18n.languages import words_of
from reports.pages.methods import disagreement, standing
from reports.plots import comparison_plot
from tests.reports import facts as made

CHROMIUM = os.environ.get("CKM_CHROMIUM") or shutil.which("chromium")
BEST = {name: float(words.better == "more") for name, words in CRITERIA.items()}


def method(kind, change=1.0, simple="yes", **shares):
    return MethodFact(
        name=kind,
        kind=kind,
        simple=simple,
        mean_change=change,
        mean_loss=change,
        records=900,
        criteria=tuple(
            CriterionFact(name=n, share=s, base=200) for n, s in (BEST | shares).items()
        ),
    )


def facts(*methods):
    return MethodFacts(
        methods=methods,
        tables=(("place", "sex"),),
        geography="place",
        target="sex",
        records=900,
        all_records=900,
        drawn="all",
        persons=200,
        seed=1,
        conclusion=conclusion_of(methods),
    )


EXACT = method("exact", 0.0)
SWAPPED = method("swapping", 1.1, "no", found_by_differencing=0.65)
AGAIN = method("random-rounding-fresh", 0.5, same_answer=0.7)
HIDDEN = method("suppression-refused", 0.0, cells_lost=0.3)
OPEN = method("rounding", 0.4, decentral=None)
BEHIND = method("cell-key-ledger", 2.04, on_demand=0.14, additive=0.3)
FAR = method("synthetic", 9.0)
EVERY = (EXACT, SWAPPED, AGAIN, HIDDEN, OPEN, FAR, BEHIND)


def report(*methods, language="en", **options):
    page = replace(
        made.comparison(),
        scenarios=replace(made.comparison().scenarios, designs=()),
        methods=facts(*methods),
    )
    return make_report(page, language=language, **options)


def test_the_recommendation_follows_from_the_numbers_of_the_page():
    found = report(*EVERY)
    methods = json.loads(found.to_json())["methods"]
    shares = {m["name"]: {c["name"]: c for c in m["criteria"]} for m in methods["methods"]}
    change = {m["name"]: m["mean_change"] for m in methods["methods"]}
    whole = ("same_answer", "same_by_another_route", "decentral")
    steady = [
        name
        for name, of in shares.items()
        if name != "exact"
        and {of[n]["share"] for n in whole} == {1}
        and of["cells_lost"]["share"] == 0
    ]
    keep = [n for n in steady if shares[n]["found_by_differencing"]["share"] == 0]
    best, least = min(keep, key=change.get), min(steady, key=change.get)
    assert (len(keep), best, least) == (2, "cell-key-ledger", "swapping")
    said = methods["conclusion"]
    assert said["recommended"]["method"] == best
    assert (said["recommended"]["keep"], said["recommended"]["tried"]) == (2, 6)
    for sentence in (
        f"Recommended: {METHODS[best]}.",
        "none of the 200 persons tested. Of the methods that meet these three rules (2 of 6)",
        f"“{METHODS[least]}” changes counts less, by {change[least]:.3f} on average, but the",
        "two tables discloses 130 of the 200 persons.",
        f"from the original one by {change[best]:.3f} persons or other units on average; in",
        "; in 70.0\N{NO-BREAK SPACE}% of the lines",
        "86.0\N{NO-BREAK SPACE}% are not shown",
    ):
        assert sentence in found.html, sentence


@pytest.mark.parametrize(
    ("methods", "words"),
    [
        (
            (EXACT, SWAPPED, AGAIN),
            "fewest are disclosed with Target record swapping: 130 of 200.",
        ),
        ((EXACT, AGAIN, HIDDEN, OPEN), "of the 3 tested, none gives the same answer"),
    ],
)
def test_where_no_method_keeps_the_rules_none_is_recommended(methods, words):
    page = report(*methods).html
    assert "No method is recommended" in page
    assert words in page
    assert "Cost:" not in page
    assert conclusion_of([EXACT]) == {}


@pytest.mark.parametrize(
    ("said", "shares", "way"),
    [
        ("yes", (1.0, 0.99, 0.0), ("", "less", "less")),
        ("yes*", (1.0, 0.5, 0.0), ("", "", "less")),
        ("no", (1.0, 0.99, 0.0), ("more", "", "")),
        ("no*", (1.0, 0.99, 0.0), ("more", "", "")),
        ("yes", (None,), ("",)),
    ],
)
def test_slides_and_measurement_disagree_where_they_do(monkeypatch, said, shares, way):
    monkeypatch.setitem(SLIDES["swapping"], "additive", said)
    found = (disagreement(method("swapping", additive=share), "additive") for share in shares)
    assert tuple(found) == way


def test_less_is_better_for_differencing_and_simple_is_declared():
    assert disagreement(method("rounding", found_by_differencing=0.01), "found_by_differencing")
    assert not disagreement(method("rounding"), "found_by_differencing")
    assert disagreement(method("rounding", simple="no"), "simple") == "less"
    assert disagreement(method("swapping", simple="yes"), "simple") == "more"


def test_each_disagreement_is_marked_and_explained_by_what_was_measured():
    steady = method("cell-key", found_by_differencing=0.9, parts_below_totals=0.9, additive=0.2)
    afresh = replace(
        AGAIN, criteria=method("", same_answer=0.7, found_by_differencing=0.1).criteria
    )
    page = report(steady, afresh).html
    assert page.count("≠ ") == 5
    reasons = page.split("All other cells have the same number in both tables")
    assert "(found: 90.0\N{NO-BREAK SPACE}%)" in reasons[0].rpartition("<li>")[2]
    reasons = page.split("Numbers drawn anew protect the one person often")
    assert "(found: 10.0\N{NO-BREAK SPACE}%)" in reasons[0].rpartition("<li>")[2]


def test_methods_are_drawn_by_small_counts_found_and_loss_those_that_hide_cells_too():
    none = replace(OPEN, mean_loss=2.0, criteria=method("", small_counts_found=None).criteria)
    assert (
        "persons disclosed by differencing two tables"
        in comparison_plot(facts(EXACT, none), language="en").svg
    )
    svg = comparison_plot(facts(EXACT, HIDDEN, replace(OPEN, mean_loss=2.0)), language="en").svg
    drawn = [METHODS[m.kind][:10] in svg for m in (EXACT, HIDDEN, OPEN)]
    assert drawn == [False, True, True]
    svg = comparison_plot(facts(*EVERY), language="en").svg
    assert svg.count('class="home"') == 2  # the recommended one, and the legend


def test_the_legend_draws_the_recommended_method_as_on_the_map():
    signs = comparison_plot(facts(*EVERY), language="en").svg.split("<text")
    own = {words: sign for sign, words in pairwise(signs) if "<circle" in sign}
    signs = {
        re.search(r">([^<]+)<", words)[1]: re.findall(r'<circle [^>]*class="(\w+)"', sign)
        for words, sign in own.items()
    }
    assert signs["recommended"] == ["home", "drawn"]
    assert signs["not on the frontier"] == ["designed"]


@pytest.mark.parametrize(("kind", "has_ledger", "found", "is_told"), [
    ("as-released-noise", False, 3.0, True),
    ("as-released-noise", True, 3.0, False),
    ("as-released-noise", False, 0.0, False),
    ("as-released-suppression", False, 3.0, False),
])  # fmt: skip
def test_a_ledger_is_named_where_a_job_has_none_and_persons_are_disclosed(
    kind, has_ledger, found, is_told
):
    own = method(kind)
    figures = {"method": kind, "found": found, "persons": 200, "change": 1.0, "lost": 0.0}
    compared = replace(facts(own), standing={"own-none-small": figures}, has_ledger=has_ledger)
    told = " ".join(standing(words_of("en"), compared))
    assert f"with and without one person, disclose {found:.0f} of the 200 persons" in told
    assert ("the second of two such tables is refused" in told) == is_told


def test_why_something_was_not_tried_is_told_in_the_language_of_the_page():
    why = "A ledger is sealed with a secret, and the job has none."
    compared = made.comparison()
    refused = replace(compared.scenarios, refused={"D=5": why})
    left_out = replace(method("suppression-alone"), criteria=(), reason=why)
    methods = facts(method("exact"), left_out)
    for told in (replace(compared, scenarios=refused), replace(compared, methods=methods)):
        page = make_report(told, language="fr").html
        assert "Un registre est scellé" in page
        assert why not in page


def test_the_name_of_the_chosen_design_stays_off_its_ring():
    designs = [
        Design(
            number=str(n), name="ours", across=n, upwards=n, is_front=False, is_chosen=n == 2
        )
        for n in (1, 2, 3)
    ]
    data = Points(id="m", title="", description="", front="", other="", chosen="")
    svg = points(words_of("en"), data, designs)
    ring = re.search(r'<circle cx="([\d.]+)" cy="[\d.]+" r="9"', svg)
    name = re.search(r'<text x="([\d.]+)"[^>]*>2 ours<', svg)
    assert float(name[1]) - float(ring[1]) >= 13


def spread(*places):
    """Draw designs at some places, and give the text of the drawing."""
    designs = [
        Design(
            number=str(n), name=f"a design with a long name of its own, the {n}th of them",
            across=x, upwards=y, is_front=False, is_chosen=False,
        )
        for n, (x, y) in enumerate(places, start=1)
    ]  # fmt: skip
    data = Points(id="m", title="", description="", front="", other="", chosen="")
    return points(words_of("en"), data, designs)


def test_a_design_far_off_stands_at_the_edge_and_presses_no_others():
    svg = spread(*((10 + n, 0.1 * n) for n in range(8)), (900, 0.4))
    at = sorted(float(x) for x in re.findall(r'<circle cx="([\d.]+)" cy="[\d.]+" r="5"', svg))
    assert at[7] - at[0] > 300
    assert re.search(">9 \u2192 900[.0]*<", svg)
    even = spread(*((100 * n, 0.1 * n) for n in range(1, 10)))
    assert "\u2192" not in even


def test_names_on_the_map_are_whole_or_stand_below_it():
    svg = spread(*((10, 0.5 + n / 1000) for n in range(9)), (11, 0.1))
    assert "…" not in svg
    words = " ".join(re.findall(r">([^<>]+)</text>", svg))
    for n in range(1, 11):
        assert f"{n} a design with a long name of its own, the" in words
        assert f"the {n}th of them" in words


def test_long_lists_of_designs_wait_for_full():
    short, full = (
        make_report(made.comparison(), language="en", is_full=full).html
        for full in (False, True)
    )
    for ident in ("by-table-0", "posteriors-0", "variables-0", "measure-definitions"):
        assert f'id="{ident}"' in full
        assert f'id="{ident}"' not in short.replace('<p id="', "")


@pytest.fixture(scope="module")
def browser():
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium here")
    with api.sync_playwright() as play:
        yield play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "fr"])
def test_comparisons_print_on_few_pages_and_fit_a_telephone(browser, tmp_path, language):
    everything = [
        method(kind, n, found_by_differencing=0.9 / (n + 1), same_answer=0.7)
        for n, kind in enumerate(METHODS)
    ]
    pages = {
        6: report(*everything, BEHIND, language=language),
        5: make_report(made.comparison(), language=language),
    }
    for most, page in pages.items():
        (tmp_path / "page.html").write_text(page.html, encoding="utf-8")
        shown = browser.new_page(viewport={"width": 400, "height": 800})
        shown.goto((tmp_path / "page.html").as_uri())
        assert shown.pdf(prefer_css_page_size=True).count(b"/Type /Page\n") <= most
        wider = "e => e.scrollWidth > e.clientWidth + 1"
        assert (
            shown.evaluate(f"[...document.querySelectorAll('.scroll')].filter({wider}).length")
            == 0
        )
        labels = "getComputedStyle(document.querySelector('.wide td'), '::before').content"
        assert len(shown.evaluate(labels)) > 4
        shown.close()
