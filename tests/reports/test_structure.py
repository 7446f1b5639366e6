"""Every page, as a reader of its structure meets it."""

import gettext
import re
from dataclasses import replace
from functools import cache
from itertools import pairwise

import pytest
from lxml import html as parser

from reports import make_report
from reports.charts.bars import Bar, Bars, rows
from reports.i18n.languages import Words
from tests.reports import facts as made

LANGUAGES = ("en", "fr")
PAGES = {
    "internal": lambda language: make_report(
        made.release(), edition="internal", language=language, links=LINKS
    ),
    "public": lambda language: make_report(
        made.release(), edition="public", language=language, links=LINKS
    ),
    "index": lambda language: make_report(made.index(), language=language, links=LINKS),
    "comparison": lambda language: make_report(
        made.comparison(), language=language, links=LINKS
    ),
    "decoding": lambda language: make_report(made.decoding(), language=language, links=LINKS),
    "ordered": lambda language: make_report(
        made.ordered_decoding(), language=language, links=LINKS
    ),
    "exposure": lambda language: make_report(made.exposure(), language=language, links=LINKS),
    "release-frontier": lambda language: make_report(
        made.release_with_frontier(), edition="internal", language=language, links=LINKS
    ),
    "comparison-frontier": lambda language: make_report(
        made.comparison_with_frontier(), language=language, links=LINKS
    ),
    "frontier": lambda language: make_report(made.frontier(), language=language, links=LINKS),
    "mobility": lambda language: make_report(made.mobility(), language=language, links=LINKS),
    "suppression": lambda language: make_report(
        made.suppression(), language=language, links=LINKS
    ),
    "suppressed": lambda language: make_report(
        made.public_suppression(), language=language, links=LINKS
    ),
    "synthesis": lambda language: make_report(made.synthesis(), language=language, links=LINKS),
    "swept": lambda language: make_report(made.swept(), language=language, links=LINKS),
    "meaning": lambda language: make_report(made.meaning(), language=language, links=LINKS),
    "study": lambda language: make_report(made.study(), language=language, links=LINKS),
    "sweep": lambda language: make_report(made.sweep(), language=language, links=LINKS),
    "audits": lambda language: make_report(made.audits(), language=language, links=LINKS),
    "card": lambda language: make_report(made.card(), language=language, links=LINKS),
    "full": lambda language: make_report(
        made.release(), edition="internal", language=language, is_full=True
    ),
    "quiet": lambda language: make_report(made.quiet(), edition="internal", language=language),
}
LINKS = {"en": "report.en.html", "fr": "report.fr.html"}


@cache
def read(page, language):
    """Make a page and read it, once; nobody changes what was read."""
    root = parser.document_fromstring(PAGES[page](language).html)
    root.set("data-language", language)
    return root


@pytest.fixture(
    params=[(page, language) for page in PAGES for language in LANGUAGES],
    ids=lambda p: f"{p[0]}-{p[1]}",
)
def tree(request):
    return read(*request.param)


def test_a_page_says_its_language_and_has_one_title(tree):
    assert tree.get("lang") == tree.get("data-language")
    assert len(tree.findall(".//h1")) == 1
    assert tree.findtext(".//title").strip(" –")


def test_no_level_of_headings_is_skipped(tree):
    levels = [int(node.tag[1]) for node in tree.iter("h1", "h2", "h3", "h4", "h5", "h6")]
    assert levels[0] == 1
    assert len(levels) > 3
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))
    assert all("".join(n.itertext()).strip() for n in tree.iter("h1", "h2", "h3"))


def test_every_table_has_a_caption_and_headings_with_a_scope(tree):
    for table in tree.iter("table"):
        assert table.findtext("caption").strip()
        assert all(cell.get("scope") for cell in table.iter("th"))
        heads = table.findall("thead/tr/th")
        assert all("".join(cell.itertext()).strip() for cell in heads)
        for row in table.findall("tbody/tr"):
            assert len(row) == len(heads)
            assert row[0].tag == "th"
            assert all("".join(cell.itertext()).strip() for cell in row[1:] if cell.tag == "td")


def test_every_table_scrolls_inside_a_named_place_that_takes_the_focus(tree):
    """But for those that are printed alone, and never shown."""
    for table in tree.xpath("//table[not(ancestor::section[@class='paper'])]"):
        around = table.getparent()
        assert around.get("tabindex") == "0"
        assert tree.get_element_by_id(around.get("aria-labelledby")).text.strip()


def test_the_page_of_an_audit_ends_with_what_it_looked_at_folded_and_says_when():
    tree = parser.document_fromstring(PAGES["exposure"]("en").html)
    (digests,) = tree.xpath("//main//details[last()]//table[@id='digests']")
    told = made.exposure().digests
    assert [code.text for code in digests.iter("code")] == list(told.values())
    assert "1 March 2027" in tree.text_content()


def test_every_picture_has_a_title_a_description_and_its_data(tree):
    for picture in tree.iter("svg"):
        assert picture.get("role") == "img"
        title, description = picture[0], picture[1]
        assert title.text.strip()
        assert len(description.text.strip()) > 20
        assert picture.get("aria-labelledby") == f"{title.get('id')} {description.get('id')}"
        figure = picture.xpath("ancestor::figure")[0]
        assert figure.findall(".//table")


def test_a_page_loads_nothing_and_runs_nothing(tree):
    assert not list(tree.iter("script", "link", "img", "iframe", "object", "embed", "base"))
    for node in tree.iter():
        for name, value in node.attrib.items():
            assert not name.startswith("on")
            if node.tag != "a" and name != "xmlns":
                assert not re.search(r"https?:|//|data:image|url\(", value, re.IGNORECASE)
    assert not re.search(r"url\(|@import|https?:", tree.findtext(".//style"))
    policy = tree.xpath("//meta[@http-equiv='Content-Security-Policy']")[0].get("content")
    assert policy.startswith("default-src 'none'")


def test_ids_are_unique_and_links_within_the_page_lead_somewhere(tree):
    ids = tree.xpath("//@id")
    assert len(ids) == len(set(ids))
    targets = [link[1:] for link in tree.xpath("//a/@href") if link.startswith("#")]
    assert len(targets) > 4
    assert set(targets) <= set(ids)
    for names in tree.xpath("//@aria-labelledby"):
        assert set(names.split()) <= set(ids)


def test_no_number_of_a_page_is_none(tree):
    text = " ".join(tree.find("body").itertext())
    assert not re.search(r"\b(nan|NaN|inf|Infinity|undefined)\b", text)


def test_the_other_language_lies_beside_the_page(tree):
    links = tree.xpath("//a[@hreflang]")
    own = tree.get("lang")
    assert [link.get("href") for link in links] in (
        [],
        [f"report.{'en' if own == 'fr' else 'fr'}.html"],
    )


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_order_of_the_internal_page_is_that_of_its_contents(language):
    tree = read("internal", language)
    wanted = [
        "decision", "checks", "noise", "utility", "risk", "scenarios", "reproduction",
        "definitions",
    ]  # fmt: skip
    assert tree.xpath("//main/h2/@id") == wanted
    assert tree.xpath("//nav[@class='contents']//a/@href") == [f"#{name}" for name in wanted]


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_internal_page_says_so_at_its_top_at_its_foot_and_on_each_printed_page(language):
    word = {"en": "INTERNAL", "fr": "INTERNE"}[language]
    for page in ("internal", "comparison", "decoding", "sweep", "audits", "quiet"):
        tree = read(page, language)
        assert tree.findtext(".//header//strong") == word
        assert tree.findtext(".//footer//strong") == word
        assert tree.findtext(".//style").count(f'content: "{word}"') == 2


def test_what_is_signed_holds_no_name_of_a_program():
    from reports.catalogues.release import DEMANDS, PARAMETERS
    from risk.utility import DEFINITIONS

    tree = parser.document_fromstring(PAGES["internal"]("en").html)
    for folded in tree.xpath("//details"):
        folded.drop_tree()
    text = tree.text_content()
    names = [name for name in (*DEMANDS, *PARAMETERS, *DEFINITIONS) if "_" in name]
    assert [name for name in names if name in text] == []
    assert "Largest change of a count, D" in text


def test_a_figure_that_is_not_defined_is_said_in_words_with_its_reason():
    page = read("full", "en").text_content()
    assert "not defined" in page
    assert "a dimension has one category" in page


@pytest.mark.slow
def test_tables_pass_sixty_and_measures_a_thousand():
    many = made.utility() * 5
    facts = replace(made.release(), tables=made.tables(60), utility=many)
    tree = parser.document_fromstring(
        make_report(facts, edition="internal", language="en", is_full=True).html
    )
    assert len(tree.xpath("//table[@id='tables']/tbody/tr")) == 60
    assert len(tree.xpath("//table[@id='measures']/tbody/tr")) == len(many) > 1000


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("most", [0.6, 1.0, 1.5, 2.0, 8.0])
def test_a_bar_is_as_long_as_its_share_on_an_axis_that_holds_the_largest(language, most):
    words = Words(language, gettext.NullTranslations())
    bars = Bars(id="a", title="t", description="d", across="share", upwards="count")
    numbers = {"1–4": most, "5–9": most / 2, "10 or more": 0.0}
    lines = [Bar(name=name, number=number) for name, number in numbers.items()]
    svg = rows(words, bars, lines, are_shares=True, write=words.numbers.percent)
    root = parser.fragment_fromstring(svg)
    drawn = [float(r.get("width")) for r in root.iter("rect") if r.get("class") == "drawn"]
    at = [
        float(p.get("d").split()[0][1:]) for p in root.iter("path") if p.get("class") == "grid"
    ]
    texts = [text.text_content() for text in root.iter("text")]
    percents = [float(re.sub(r"[^0-9.]", "", t.replace(",", "."))) for t in texts if "%" in t]
    whole = (at[-1] - at[0]) / (percents[-1] / 100)
    assert drawn == pytest.approx([most * whole, most / 2 * whole, 0], abs=0.2)
    assert percents[-1] >= 100 * most


@pytest.mark.parametrize(
    ("language", "words"), [("en", "counted once"), ("fr", "une seule fois")]
)
def test_a_suppression_says_where_a_list_has_fewer_cells_than_the_tables(language, words):
    facts = made.suppression()
    cells = sum(level.cells for level in facts.levels)
    for number, is_told in ((cells, False), (cells - 1, True)):
        measures = tuple(replace(fact, cells=number) for fact in facts.measures)
        page = make_report(replace(facts, measures=measures), language=language)
        assert (words in page.html) is is_told
