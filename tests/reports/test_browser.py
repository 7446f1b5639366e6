"""The pages in a browser: accessible, narrow, dark, printed, without scripts."""

from dataclasses import replace
from pathlib import Path
from shutil import which

import pytest

from ckm.comparison.explorer import explorer_facts
from reports import make_report
from reports.explorer import explorer_page
from reports.i18n.languages import LANGUAGES
from tests.reports import facts as made

CHROMIUM = which("chromium") or which("chromium-browser") or which("google-chrome")
api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
axe = pytest.importorskip(
    "axe_playwright_python.sync_playwright", reason="axe for playwright is not installed"
)
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here"),
    pytest.mark.slow,
]
NAMES = ("internal", "full", "public", "comparison", "decoding", "quiet", "hostile")
#: Pages of the other tools: once in a language each, as axe takes its time.
TOOLS = ("synthesis", "swept", "study", "sweep", "audits", "card", "meaning")
LINKS = {"en": "report.en.html", "fr": "report.fr.html"}
WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 320, "height": 800}
QUANTILES = ("min", "q10", "median", "q90", "max")
RULES = {
    "runOnly": {
        "type": "tag",
        "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"],
    },
    "resultTypes": ["violations"],  # of all else, one element a rule is enough
}
# Contrast costs more than all else together, and the words of a page do not change it.
COLOURS = ("color-contrast", "link-in-text-block")
BUT_COLOURS = RULES | {"rules": {name: {"enabled": False} for name in COLOURS}}
COLOURS_ALONE = RULES | {"runOnly": {"type": "rule", "values": list(COLOURS)}}


def small():
    """Give a release with every part of a page and few lines in each, as axe takes its time."""
    facts = made.release()
    names = {"aad", "rmad_pct", "gap_mean", "rcv_pct", *(f"d1_{q}" for q in QUANTILES)}
    groups = {}
    few = list(dict.fromkeys(fact.group for fact in facts.utility))[:2]
    for fact in facts.utility:
        if fact.name in names and fact.cells in {"all", "small"} and fact.group in few:
            groups.setdefault((fact.group, fact.name, fact.cells), []).append(fact)
    risk = facts.risk
    return replace(
        facts,
        checks=facts.checks[8:],
        tables=facts.tables[:2],
        utility=tuple(fact for several in groups.values() for fact in several[:1]),
        noise=replace(
            facts.noise,
            transition=tuple(row[:7] for row in facts.noise.transition[:3]),
            sizes=facts.noise.sizes[:3],
        ),
        risk=replace(risk, posteriors=risk.posteriors[:3], worst=risk.worst[:2]),
        scenarios=made.scenarios(3),
    )


def small_comparison():
    facts = made.comparison()
    names = [design.name for design in facts.scenarios.designs[:3]]
    return replace(
        facts,
        scenarios=made.scenarios(3),
        by_table={table: designs[:3] for table, designs in list(facts.by_table.items())[:1]},
        sets=tuple(fact for fact in facts.sets if fact.design in names),
        posteriors={name: facts.posteriors[name][:3] for name in names},
        utility={name: facts.utility[name][:4] for name in names[:2]},
    )


def hostile():
    facts = small()
    bad = (
        "<script>alert('x')</script> & \"q\" " + "w" * 300 + " \u202e\u05d0\u05d1 \u0645\u0631"
    )
    return replace(
        facts,
        title=bad,
        id=bad,
        tables=tuple(replace(table, name=bad + str(n)) for n, table in enumerate(facts.tables)),
    )


def pages(language):
    return {
        "internal": make_report(small(), edition="internal", language=language, links=LINKS),
        "full": make_report(small(), edition="internal", language=language, is_full=True),
        "public": make_report(made.release(), edition="public", language=language, links=LINKS),
        "comparison": make_report(small_comparison(), language=language, links=LINKS),
        "decoding": make_report(made.decoding(), language=language, links=LINKS),
        "exposure": make_report(made.exposure(), language=language, links=LINKS),
        "frontier": make_report(made.frontier(), language=language, links=LINKS),
        "mobility": make_report(made.mobility(), language=language, links=LINKS),
        "synthesis": make_report(made.synthesis(1), language=language, links=LINKS),
        "swept": make_report(made.swept(), language=language, links=LINKS),
        "meaning": make_report(made.meaning(), language=language, links=LINKS),
        "study": make_report(made.study(), language=language, links=LINKS),
        "sweep": make_report(made.sweep(), language=language, links=LINKS),
        "audits": make_report(made.audits(), language=language, links=LINKS),
        "card": make_report(made.card(), language=language, links=LINKS),
        "quiet": make_report(made.quiet(), edition="internal", language=language),
        "hostile": make_report(hostile(), edition="internal", language=language),
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("pages")
    for language in LANGUAGES:
        for name, report in pages(language).items():
            report.write(place / f"{name}.{language}.html")
    return place


@pytest.fixture(scope="module")
def browser():
    with api.sync_playwright() as play:
        started = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


def opened(browser, file: Path, **settings):
    page = browser.new_context(**settings).new_page()
    page.goto(file.as_uri())
    return page


def unfolded(browser, file: Path):
    """Open a page on a wide screen, in light, with all that it folds away."""
    page = opened(browser, file, viewport=WIDE, color_scheme="light")
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
    return page


def violations(page, rules, *, width):
    """Return what axe finds, after a look whether it looked at all; nothing is cut off."""
    found = axe.Axe().run(page, options=rules).response
    assert len(found["passes"]) > (0 if rules is COLOURS_ALONE else 15)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    return [(v["id"], v["nodes"][0]["html"][:120]) for v in found["violations"]]


@pytest.mark.parametrize("name", NAMES)
def test_axe_finds_nothing_in_light_and_in_the_dark(browser, folder, name):
    page = unfolded(browser, folder / f"{name}.en.html")
    # The colours of a hostile page are those of the page it is made from.
    rules = BUT_COLOURS if name == "hostile" else RULES
    assert violations(page, rules, width=1280) == []
    if name in {"internal", "public", "comparison", "decoding"}:
        page.emulate_media(color_scheme="dark")
        assert violations(page, COLOURS_ALONE, width=1280) == []
    page.context.close()


@pytest.mark.parametrize("name", TOOLS)
def test_axe_finds_nothing_on_the_pages_of_the_other_tools(browser, folder, name):
    place = TOOLS.index(name)
    page = unfolded(browser, folder / f"{name}.{('en', 'fr')[place % 2]}.html")
    if place % 2:
        page.emulate_media(color_scheme="dark")
    assert violations(page, RULES, width=1280) == []
    page.context.close()


@pytest.mark.parametrize("name", NAMES)
def test_axe_finds_nothing_in_french_and_on_a_narrow_screen(browser, folder, name):
    page = unfolded(browser, folder / f"{name}.fr.html")
    assert violations(page, BUT_COLOURS, width=1280) == []
    if name in {"internal", "public", "hostile"}:
        page.set_viewport_size(NARROW)  # which changes no colour, see the style sheet
        assert violations(page, BUT_COLOURS, width=320) == []
    page.context.close()


@pytest.mark.parametrize("name", ["internal", "public", "hostile"])
def test_a_page_says_all_without_scripts_and_asks_the_network_for_nothing(
    browser, folder, name
):
    page = browser.new_context(java_script_enabled=False).new_page()
    asked, said = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("dialog", lambda _: said.append("dialog"))
    page.goto((folder / f"{name}.en.html").as_uri())
    assert len(asked) == 1
    assert said == []
    assert page.locator("h2").count() >= 7
    page.locator("nav.contents a").last.click()
    assert page.url.count("#") == 1
    page.context.close()


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_full_page_prints_with_everything_open(browser, folder, language):
    page = opened(browser, folder / f"full.{language}.html")
    assert not page.locator("#measure-definitions").is_visible()
    page.emulate_media(media="print")
    assert page.locator("#measure-definitions").is_visible()
    page.context.close()


@pytest.mark.parametrize("name", TOOLS)
def test_a_page_of_a_tool_fits_a_narrow_screen(browser, folder, name):
    page = opened(browser, folder / f"{name}.fr.html", viewport={"width": 320, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    page.context.close()


def test_a_card_prints_on_one_page_and_gives_its_numbers_as_files(browser, folder):
    page = opened(browser, folder / "card.fr.html")
    with page.expect_download() as found:
        page.locator("a[download='card.csv']").click()
    assert "epsilon,0.9987" in Path(found.value.path()).read_text(encoding="utf-8")
    page.emulate_media(media="print")
    assert page.pdf(prefer_css_page_size=True).count(b"/Type /Page\n") == 1
    page.context.close()


@pytest.mark.parametrize(
    ("name", "most", "n_pictures"),
    [("swept", 3, 6), ("study", 4, 6), ("sweep", 3, 4), ("audits", 4, 4), ("meaning", 3, 4)],
)
def test_a_sweep_a_study_and_an_audit_print_on_few_pages_with_few_pictures(
    browser, folder, name, most, n_pictures
):
    page = opened(browser, folder / f"{name}.fr.html", viewport={"width": 400, "height": 800})
    assert page.locator("main svg").count() == n_pictures
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    widths = page.locator(".panel svg").evaluate_all("all => all.map(s => s.clientWidth)")
    assert min(widths) >= 280  # no letter is smaller than drawn
    page.emulate_media(media="print")
    assert page.pdf(prefer_css_page_size=True).count(b"/Type /Page\n") <= most
    page.context.close()


def test_nothing_of_a_title_runs_and_nothing_of_it_leaves_its_place(browser, folder):
    page = opened(browser, folder / "hostile.en.html")
    assert page.locator("script").count() == 0
    assert "alert('x')" in page.locator("h1").inner_text()
    page.context.close()


def test_a_report_shows_in_a_notebook_without_touching_its_page(browser, tmp_path):
    shown = pages("en")["internal"]._repr_html_()
    notebook = tmp_path / "notebook.html"
    notebook.write_text(
        f"<!DOCTYPE html><title>n</title><h1 id='mine'>Notebook</h1>{shown}<p id='after'>x</p>",
        encoding="utf-8",
    )
    page = opened(browser, notebook)
    assert page.locator("h1").count() == 1
    assert page.locator("#after").is_visible()
    assert page.evaluate("getComputedStyle(document.body).maxWidth") == "none"
    inside = page.frame_locator("iframe")
    assert inside.locator("h1").inner_text() == made.release().title
    page.context.close()


@pytest.mark.parametrize("language", LANGUAGES)
def test_bars_of_the_internal_page_fit_a_telephone_with_what_stands_beside_them(
    browser, folder, language
):
    page = opened(
        browser, folder / f"internal.{language}.html", viewport={"width": 400, "height": 800}
    )
    over = page.locator("#by-size .picture, #posterior-bars .picture").evaluate_all(
        "all => all.map(one => one.scrollWidth - one.clientWidth)"
    )
    assert over == [0] * len(over)
    assert len(over) >= 2
    page.context.close()


@pytest.mark.parametrize("language", LANGUAGES)
def test_on_the_page_of_designs_a_slider_moves_what_is_said(browser, tmp_path, language):
    facts, _ = explorer_facts(None, {}, name_of_own="", has_field=False)
    file = tmp_path / "designs.html"
    file.write_text(explorer_page(facts, language=language), encoding="utf-8")
    page = opened(browser, file, viewport=WIDE, color_scheme="light")
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text))
    # The preset of the demonstration: published 0, original 1, with 80.3 %.
    verdict, least = page.locator("#verdict"), page.locator("#least")
    assert "80" in verdict.text_content()
    page.locator("#least", has_not_text="…").wait_for()
    before = least.text_content()
    page.locator("#noise").fill("8")
    page.locator("#variance").fill("6.5")
    page.locator("#least", has_not_text="…").wait_for()
    assert "80" not in verdict.text_content()
    assert least.text_content() != before
    assert "--max-noise 8 --variance 6.5 --small 2" in page.locator("#command").text_content()
    assert page.locator("#frontier circle").count() == 1
    page.locator("#noise").fill("1")  # one step cannot pass over two blocked counts
    assert page.locator("#small-value").text_content() == "1"
    assert violations(page, RULES if language == "en" else BUT_COLOURS, width=1280) == []
    page.set_viewport_size(NARROW)
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    assert errors == []
    page.context.close()
