"""The page without a browser: what it says, what it refuses, what cannot get into it."""

from __future__ import annotations

import csv
import io
import re
from urllib.parse import quote, urljoin

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import html

from ckm.config.service.service import read_service
from ckm.formats import FORMATS
from ckm.service.access.tokens import TokenFile
from ckm.service.http.app import make_app
from ckm.service.table_service import TableService
from reports.charts.bars import bars_of_table
from reports.facts.service import Chart
from reports.i18n.languages import words_of
from tests.strategies import examples
from tests.unit.ckm.service.conftest import SECRET, Served, Web, cells_of
from tests.unit.ckm.service.http.test_fuzz import HOSTILE

TWO = "/?codelist[sex]=sex&codelist[category]=category"
MANY = "/?codelist[geo]=geo&codelist[category]=category&codelist[zone_2024]=zone_2024"
BY = "\N{MULTIPLICATION SIGN}"
WITHHELD = "/?codelist[geo]=geo.commune&codelist[sex]=sex.categories"


def page(answer, status=200):
    """Return the page as a tree, after a look at what every page must have."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["referrer-policy"] == "no-referrer"
    tree = html.document_fromstring(answer.text)
    assert len(tree.xpath("//h1")) == 1
    idents = tree.xpath("//@id")
    assert len(idents) == len(set(idents))
    assert all(script.text is None for script in tree.xpath("//script"))
    assert not tree.xpath("//@style | //@*[starts-with(name(), 'on')] | //style")
    for target in tree.xpath("//a/@href[starts-with(., '#')]"):
        assert target[1:] in idents, target
    for field in tree.xpath(
        "//select | //input[not(@type='hidden') and not(@type='checkbox')]"
    ):
        assert tree.xpath("//label[@for=$name]", name=field.get("id"))
    return tree


def texts(tree, path):
    return [" ".join(node.text_content().split()) for node in tree.xpath(path)]


def table(tree):
    """Return the table: heads and column → the number as it was copied into the page."""
    names = texts(tree, "//table/thead//th")
    found = {}
    for row in tree.xpath("//table/tbody/tr"):
        heads = tuple(texts(row, "./th"))
        for name, cell in zip(names[len(heads) :], row.xpath("./td"), strict=True):
            found[(*heads, name)] = float(cell.get("data-n"))
    return found


def follow(web, tree, path):
    (href,) = tree.xpath(path)
    return web.get(urljoin("/", href))


# --- tables -------------------------------------------------------------------------------


def test_the_start_offers_every_variable_and_shows_no_table(web):
    tree = page(web.get("/"))
    assert texts(tree, "//legend") == [
        "Place", "Sex", "category", "age_tree", "zone_2024", "My area", "Layout and filter",
    ]  # fmt: skip
    assert not tree.xpath("//table")
    assert texts(tree, "//fieldset[legend='Place']//option") == [
        "Not in the table", "All levels", "Region", "department", "commune",
    ]  # fmt: skip


def test_the_page_shows_the_numbers_of_the_api(web):
    shown = table(page(web.get(TWO)))
    told = web.get("/tables/jobseekers/data?valuecodes[sex]=*&valuecodes[category]=*")
    names = {"Total": "Total", "F": "Women", "M": "Men"}
    wanted = {(names[sex], c): n for (sex, c, _), n in cells_of(told).items()}
    assert shown == wanted
    assert len(shown) == 18


def test_categories_of_a_variable_that_is_not_shown_say_who_is_counted(web):
    within = page(web.get("/?codelist[category]=category&codelist[sex]=&valuecodes[sex]=F"))
    where = page(web.get("/?codelist[category]=category&filter=sex = 'F'"))
    assert table(within) == table(where)
    assert table(within) != table(page(web.get("/?codelist[category]=category")))
    assert "Only counted: Sex \N{EN DASH} Women" in " ".join(texts(within, "//main"))
    alone = page(web.get("/?codelist[sex]=&valuecodes[sex]=F"))
    assert set(table(alone).values()) == {table(within)["Total", "Count"]}


def test_areas_above_the_level_that_is_shown_stand_for_their_parts(web):
    tree = page(web.get("/?codelist[geo]=geo.department&valuecodes[geo]=04"))
    listed = web.get("/tables/jobseekers/metadata").json()["dimension"]["geo"]["category"]
    parts = {code for code in listed["index"] if re.fullmatch(r"04/\d+", code)}
    shown = {heads[0] for heads in table(tree)}
    assert shown == {listed["label"][code] for code in parts}
    assert shown
    with_total = page(web.get("/?codelist[geo]=geo.region&valuecodes[geo]=Total"))
    assert "Total" in {heads[0].split()[0] for heads in table(with_total)}
    assert len(table(with_total)) > 2


def test_levels_in_a_table_are_named(web):
    tree = page(web.get("/?codelist[geo]=geo&valuecodes[geo]=04&valuecodes[geo]=04/27"))
    assert texts(tree, "//tbody/tr/th") == ["04 Region", "27 department"]
    assert texts(page(web.get("/?codelist[geo]=geo.region&codelist[sex]=sex")), "//h2")[0] == (
        f"Place (Region) {BY} Sex"
    )
    tree = page(
        web.get("/?codelist[age_tree]=age_tree&valuecodes[age_tree]=young,25-34&lang=fr")
    )
    assert texts(tree, "//tbody/tr/th") == ["young Niveau 1", "25-34 Niveau 2"]
    assert "Niveau 2" in texts(tree, "//fieldset[legend='age_tree']//option")
    tree = page(web.get("/?codelist[age_tree]=age_tree.1"))
    assert texts(tree, "//thead//th")[0] == "age_tree (Level 1)"


def test_a_column_sorts_the_whole_table_up_and_down(web):
    tree = page(web.get(f"{WITHHELD}&heading=sex"))
    up = page(follow(web, tree, "//thead/tr/th[2]/a/@href"))
    assert up.xpath("//thead/tr/th[2]/@aria-sort") == ["ascending"]
    numbers = [float(n) for n in up.xpath("//tbody/tr/td[1]/@data-n")]
    assert numbers == sorted(numbers)
    down = page(follow(web, up, "//thead/tr/th[2]/a/@href"))
    assert down.xpath("//thead/tr/th[2]/@aria-sort") == ["descending"]
    most = [float(n) for n in down.xpath("//tbody/tr/td[1]/@data-n")]
    assert most == sorted(most, reverse=True)
    assert most[0] > numbers[-1]


def test_all_rows_of_a_long_table_are_on_its_pages(web):
    seen, url = {}, WITHHELD
    tree = page(web.get(url))
    n_pages = int(texts(tree, "//ul[@class='pages']/li")[-1])
    assert n_pages > 1
    for number in range(n_pages):
        part = table(tree)
        assert part
        assert not seen.keys() & part.keys()
        seen |= part
        if number < n_pages - 1:
            here = "//ul[@class='pages']/li[strong]/following-sibling::li[1]/a/@href"
            tree = page(follow(web, tree, here))
    told = web.get(
        "/tables/jobseekers/data?codelist[geo]=geo.commune&codelist[sex]=sex.categories"
    )
    assert sorted(seen.values()) == sorted(cells_of(told).values())


def test_numbers_and_the_variable_across_can_be_chosen(web):
    tree = page(web.get(TWO + "&heading=sex&valuecodes[ContentsCode]=*"))
    assert texts(tree, "//thead//th")[:3] == [
        "category",
        "Total, Count",
        "Total, Weighted count",
    ]
    plain = page(web.get(TWO + "&valuecodes[ContentsCode]=weighted"))
    assert texts(plain, "//table/caption")[0].startswith("Weighted count")


@pytest.mark.parametrize(
    ("codes", "chosen"),
    [("", "Count"), ("&valuecodes[ContentsCode]=weighted", "Weighted count")],
)
def test_the_number_that_is_shown_is_the_one_chosen_in_the_form(web, codes, chosen):
    tree = page(web.get(TWO + codes))
    (field,) = tree.xpath("//select[@name='valuecodes[ContentsCode]']")
    assert texts(field, ".//option[@selected]") == [chosen]


@pytest.mark.parametrize("name", list(FORMATS))
def test_every_format_can_be_downloaded(web, name):
    tree = page(web.get(TWO))
    assert len(tree.xpath("//ul[@class='downloads']//a")) == len(FORMATS)
    path = f"//ul[@class='downloads']//a[contains(@href, 'outputFormat={name}')]/@href"
    href = next(h for h in tree.xpath(path) if h.endswith(f"={name}") or f"={name}&" in h)
    answer = web.get(urljoin("/", href))
    assert answer.headers["content-type"] == FORMATS[name].media_type
    direct = web.get(
        f"/tables/jobseekers/data?codelist[sex]=sex&codelist[category]=category&outputFormat={name}"
    )
    assert answer.content == direct.content


def test_a_file_holds_the_numbers_of_the_page(web):
    query = f"{TWO}&codelist[age_tree]=&valuecodes[age_tree]=young"
    lines = csv.DictReader(io.StringIO(web.get(f"{query}&outputFormat=csv").text))
    numbers = [float(line["count"]) for line in lines]
    assert numbers == list(table(page(web.get(query))).values())


def test_the_permanent_link_leads_to_the_same_table(web):
    for url in (TWO, WITHHELD, TWO + "&filter=sex = 'F' and category in ('A','B')&lang=fr"):
        tree = page(web.get(url))
        again = page(follow(web, tree, "//a[@id='permalink']/@href"))
        assert table(again) == table(tree)
        assert again.xpath("//a[@id='permalink']/@href") == tree.xpath(
            "//a[@id='permalink']/@href"
        )
        assert again.xpath("/html/@lang") == tree.xpath("/html/@lang")


def test_the_form_holds_what_was_asked(web):
    url = "/?codelist[geo]=geo.region&valuecodes[sex]=M&codelist[sex]=&filter=category = 'A'"
    tree = page(web.get(url))
    assert texts(tree, "//fieldset[legend='Place']//option[@selected]") == ["Region"]
    assert tree.xpath("//input[@checked]/@value") == ["M"]
    assert tree.xpath("//input[@id='filter']/@value") == ["category = 'A'"]
    sent = [("codelist[geo]", "geo.region"), ("valuecodes[sex]", "M")]
    sent += [("codelist[sex]", ""), ("codelist[category]", ""), ("valuecodes[geo]", "")]
    sent += [("find[geo]", ""), ("heading", ""), ("filter", "category = 'A'")]
    assert table(page(web.get("/", params=sent))) == table(tree)


def test_categories_are_found_without_a_script(web):
    tree = page(web.get("/?find[geo]=0600"))
    found = tree.xpath("//fieldset[legend='Place']//input[@type='checkbox']/@value")
    assert {"06001", "06002"} <= {code.rpartition("/")[2] for code in found}
    assert "categories found." in " ".join(texts(tree, "//fieldset[legend='Place']"))
    assert not tree.xpath("//table")


def test_french_is_a_link_or_a_wish_away(web):
    tree = page(web.get(TWO))
    french = page(follow(web, tree, "//a[@hreflang='fr']/@href"))
    wished = page(web.get(TWO, headers={"Accept-Language": "fr-CH, en;q=0.5"}))
    for other in (french, wished):
        assert other.xpath("/html/@lang") == ["fr"]
        assert "Ensemble" in texts(other, "//thead//th")
        assert [*table(other).values()] == [*table(tree).values()]
    assert french.xpath("//form[@id='form']//input[@name='lang']/@value") == ["fr"]


# --- refusals and withheld areas ----------------------------------------------------------


def test_a_refusal_says_why_and_offers_tables_that_the_shape_rules_allow(web):
    for url, reason in (
        (MANY, "cells"),
        ("/?codelist[geo]=geo.region&filter=category = 'A' and category = 'B'", "persons"),
    ):
        tree = page(web.get(url), 403)
        assert not tree.xpath("//table")
        assert reason in " ".join(texts(tree, "//*[@class='why']"))
        hrefs = tree.xpath("//ul[@class='tries']//a/@href")
        assert hrefs
        for href in hrefs:
            assert "at most 5,000" not in web.get(urljoin("/", href)).text
    french = page(web.get(MANY + "&lang=fr"), 403)
    assert "cases" in " ".join(texts(french, "//*[@class='why']"))


def test_a_download_that_is_refused_is_a_page_that_says_so(web):
    tree = page(web.get(f"{MANY}&outputFormat=csv"), 403)
    assert "not published" in " ".join(texts(tree, "//h2"))


def test_withheld_areas_are_named_with_the_reason_and_what_to_try(web):
    tree = page(web.get(WITHHELD))
    listed = " ".join(texts(tree, "//section[@id='withheld']"))
    told = web.get(
        "/tables/jobseekers/data?codelist[geo]=geo.commune&codelist[sex]=sex.categories"
    ).json()
    areas = told["extension"]["blocked"]["category"]["geo"]
    assert areas
    assert all(code.rpartition("/")[2] in listed for code in areas)
    assert "Fewer than 10 persons" in listed
    coarser = page(follow(web, tree, "//section[@id='withheld']//ul/li[1]/a/@href"))
    assert len(table(coarser)) > 10


# --- what is wrong ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "status", "field", "words"),
    [
        ("valuecodes[sex]=X", 400, "v2", "no category “X”"),
        ("codelist[sex]=geo", 400, "v2", "no code list"),
        ("codelist[sexe]=sexe", 400, None, "Did you mean “sex”?"),
        ("valuecode[sex]=F", 400, None, "unknown or wrong"),
        ("codelist[sex]=sex&filter=sex", 400, "filter", "The filter is wrong"),
        ("codelist[sex]=sex&filter=person_id='J1'", 400, "filter", "The filter is wrong"),
        ("codelist[sex]=sex&filter=sex='F') or (sex='M'", 400, "filter", "The filter is wrong"),
        ("codelist[sex]=sex&heading=weight", 400, None, "no variable “weight”"),
        ("codelist[sex]=sex&valuecodes[ContentsCode]=sum", 400, None, "no category “sum”"),
        ("codelist[sex]=sex&outputFormat=exe", 400, None, "format “exe” is unknown"),
        ("codelist[sex]=sex&lang=de", 400, None, "“lang” is unknown or wrong"),
        ("valuecodes[sex]=top(x)", 400, "v2", "cannot be read"),
        ("valuecodes[geo]=" + ",".join(f"*{n}" for n in range(60)), 400, "v1", "50 patterns"),
        ("&".join(["valuecodes[sex]=F"] * 1001), 400, None, "more than 1000 parameters"),
    ],
)
def test_what_is_wrong_is_said_beside_a_link_to_the_field(web, query, status, field, words):
    tree = page(web.get("/?" + query), status)
    said = " ".join(texts(tree, "//section[@role='alert']"))
    assert words in said
    links = tree.xpath("//section[@role='alert']//a/@href")
    assert links == ([] if field is None else [f"#{field}"])
    assert tree.xpath("//form")
    assert not tree.xpath("//table")


def test_everything_wrong_is_said_at_once(web):
    tree = page(web.get("/?valuecodes[sex]=X&valuecodes[category]=Y&filter=sex"), 400)
    assert len(tree.xpath("//section[@role='alert']//li")) == 3


def test_parameters_that_others_add_to_links_do_no_harm(web):
    assert table(page(web.get(TWO + "&utm_source=letter"))) == table(page(web.get(TWO)))


FIELDS = (
    "codelist[sex]", "valuecodes[sex]", "valuecodes[geo]", "find[geo]", "filter", "heading",
    "lang", "sort", "rows", "outputFormat", "valuecodes[ContentsCode]", "codelist[geo]",
)  # fmt: skip
ATTACKS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'><svg/onload=alert(1)>",
    "javascript:alert(1)",
    "</title><script>alert(1)</script>",
    "{{ 7 * 7 }}{% include 'style.css' %}",
    "\x00\x1b[31m\u202e",
    "x" * 10_000,
)


@pytest.mark.parametrize("attack", ATTACKS, ids=range(len(ATTACKS)))
@pytest.mark.parametrize("field", [*FIELDS, "<b>[sex]", "codelist[<b>]"])
def test_nothing_sent_becomes_part_of_the_page(web, field, attack):
    answer = web.get("/", params=[("codelist[category]", "category"), (field, attack)])
    assert answer.status_code in {200, 400, 403}
    if answer.headers["content-type"].startswith("text/html"):
        tree = page(answer, answer.status_code)
        assert len(tree.xpath("//script")) == 1
        assert not tree.xpath("//img | //svg[@onload] | //b")
        assert not tree.xpath("//a/@href[starts-with(., 'javascript')]")
        assert "49" not in tree.xpath("//title")[0].text
        assert "\x00" not in answer.text
        assert "\x1b" not in answer.text
    for name, text in answer.headers.items():
        assert "alert" not in name + text


parts = st.sampled_from(
    (*HOSTILE, *ATTACKS, "F", "*", "geo", "sex", "geo.commune", "Total", "")
)
pairs = st.lists(
    st.tuples(st.sampled_from(FIELDS) | parts, parts | st.text(max_size=30)), max_size=6
)


@pytest.mark.slow
@given(pairs)
@settings(max_examples=examples(150), deadline=None)
def test_any_address_gets_a_documented_page_or_a_file(served, sent):
    query = "&".join(f"{quote(n)}={quote(t)}" for n, t in sent)
    answer = served.web.get(f"/?{query}")
    assert answer.status_code in {200, 400, 403}
    assert SECRET.hex() not in answer.text
    assert "J0000" not in re.sub(r"J00000001", "", answer.text)
    if answer.headers["content-type"].startswith("text/html"):
        page(answer, answer.status_code)


def test_the_page_is_read_alone(web):
    for method in ("PUT", "PATCH", "DELETE"):
        assert web.ask(method, "/").status_code == 405
    assert web.ask("HEAD", "/").status_code == 200


# --- what helps readers -------------------------------------------------------------------


def test_the_start_offers_tables_that_work(web):
    tree = page(web.get("/"))
    assert texts(tree, "//ul[@aria-labelledby='starts-name']//a")[:3] == [
        f"Place (Region) {BY} Sex", f"Place (Region) {BY} category", f"Sex {BY} category",
    ]  # fmt: skip
    for href in tree.xpath("//ul[@aria-labelledby='starts-name']//a/@href"):
        assert table(page(web.get(urljoin("/", href))))
    french = page(web.get("/?lang=fr"))
    hrefs = french.xpath("//ul[@aria-labelledby='starts-name']//a/@href")
    assert hrefs
    assert all("lang=fr" in href for href in hrefs)
    assert not page(web.get("/?filter=sex="), 400).xpath("//*[@id='starts-name']")


def test_the_start_keeps_to_the_rules(served, tmp_path):
    rules = served.service.rules.changed(mandatory=("category",))
    table_service = TableService(
        served.service.changed(rules=rules), served.answerer, folder=tmp_path / "jobs"
    )
    tree = page(Web(make_app(table_service)).get("/"))
    starts = texts(tree, "//ul[@aria-labelledby='starts-name']//a")
    assert starts
    assert all("category" in name for name in starts)
    table_service.close()


def test_withheld_areas_are_named_in_the_table_and_no_rule_by_its_key(web):
    tree = page(web.get(WITHHELD))
    (foot,) = texts(tree, "//tfoot")
    listed = texts(tree, "//section[@id='withheld']//p")
    assert foot.startswith("Not published: ")
    assert foot.split(": ")[1].split("; ")[0] in " ".join(listed)
    for answer in (web.get(WITHHELD), web.get(MANY)):
        assert not re.search(
            r"Rule:|maximum_|minimum_",
            " ".join(texts(page(answer, answer.status_code), "//body")),
        )


def test_a_category_that_stands_in_the_row_above_is_marked(web):
    tree = page(web.get(TWO + "&codelist[age_tree]=age_tree.1&heading=age_tree"))
    marks = [
        ["again" in (head.get("class") or "") for head in row.xpath("./th")]
        for row in tree.xpath("//tbody/tr")
    ]
    assert marks == [[place % 6 > 0, False] for place in range(18)]


@pytest.mark.parametrize(
    ("query", "n_bars", "words"),
    [
        ("codelist[geo]=geo.commune", [12], "Count: the 12 largest of"),
        ("codelist[geo]=geo.region", [13], "Count: all but totals, in the order"),
        ("codelist[sex]=sex&valuecodes[sex]=F&codelist[category]=category", [5], ""),
        ("codelist[sex]=sex.categories&codelist[geo]=geo.region&heading=geo", [], "no chart"),
        ("codelist[sex]=sex&codelist[geo]=geo&valuecodes[geo]=Total&heading=geo", [], "alike"),
        ("codelist[sex]=sex&valuecodes[sex]=F&codelist[geo]=geo.region&heading=geo", [13], ""),
        ("codelist[sex]=sex&valuecodes[sex]=F", [], ""),
        (TWO[2:], [2] * 5, "Count: all but totals, in the order of the table. All charts have"),
        ("codelist[sex]=sex&codelist[geo]=geo.commune", [12, 12], "Count: the 12 largest of"),
    ],
)
def test_tables_of_every_size_have_a_chart_or_a_reason(web, query, n_bars, words):
    answer = web.get("/?" + query)
    tree = page(answer)
    drawings = tree.xpath("//figure//*[local-name()='svg']")
    assert [len(d.xpath(".//*[local-name()='rect']")) for d in drawings] == n_bars
    assert words in " ".join(texts(tree, "//main"))
    assert ("no chart" in answer.text) is (words in {"no chart", "alike"})


NAMES = "//figure//*[local-name()='text'][@text-anchor='end']/text()"


def test_the_chart_draws_the_largest_numbers_of_all_pages(web):
    tree = page(web.get("/?codelist[geo]=geo.commune&sort=-2"))
    assert tree.xpath(NAMES) == texts(tree, "//tbody/tr/th")[:12]
    (said,) = texts(tree, "//section[@aria-labelledby='chart-name']/p")
    n, rest = map(
        int, re.fullmatch(r"Count: .* of (\d+), .* the (\d+) smaller .*", said).groups()
    )
    assert n == rest + 12
    other = page(web.get("/?codelist[geo]=geo.commune&sort=1"))
    assert set(other.xpath(NAMES)[:11]) <= set(texts(tree, "//tbody/tr/th")[:15])


def test_few_bars_stand_in_the_order_of_the_table_with_their_numbers(web):
    tree = page(web.get("/?codelist[category]=category&sort=-2"))
    heads, numbers = texts(tree, "//tbody/tr/th")[1:], texts(tree, "//tbody/tr/td")[1:]
    assert tree.xpath(NAMES) == heads
    written = tree.xpath("//figure//*[local-name()='text'][not(@text-anchor)]/text()")
    assert written == ["Count", *numbers]


def test_small_multiples_have_a_panel_for_each_category_of_the_shortest_variable(web):
    tree = page(web.get("/?codelist[sex]=sex&codelist[geo]=geo.commune&heading=geo"))
    titles = texts(tree, "//figure//*[local-name()='title']")
    assert [title.rpartition(": ")[2] for title in titles] == ["Women", "Men"]
    shown = table(
        page(
            web.get(
                "/?codelist[sex]=sex.categories&codelist[geo]=geo.commune&heading=geo&sort=-3"
            )
        )
    )
    largest = [place for place, *_ in shown]
    assert tree.xpath(NAMES)[:12] == [*dict.fromkeys(largest)][:12]


def test_margins_of_error_are_told_and_drawn_where_they_can_be_seen(told):
    assert "The margin of error is ±" in page(told.get(TWO)).text_content()
    both = page(told.get(TWO + "&valuecodes[ContentsCode]=*"))  # not of weighted counts
    assert "The margin of error is ±" not in both.text_content()
    for numbers, n_lines in (((12, 30), 2), ((12_000, 30_000), 0)):
        chart = Chart(names=("a", "b"), panels=(("", numbers),), n_bars=2)
        (drawn,) = bars_of_table(words_of("en"), chart, title="Sex", margin=4)
        assert drawn.count('class="halo"') == n_lines
        assert max(map(float, re.findall('<text x="([0-9.]+)"', drawn))) < 400


def test_files_are_named_after_their_table(web):
    tree = page(web.get(TWO))
    assert tree.xpath("//a[text()='CSV']/@download") == ["jobseekers-sex-category.csv"]
    answer = follow(web, tree, "//a[text()='CSVW (ZIP)']/@href")
    assert 'filename="jobseekers-sex-category.zip"' in answer.headers["content-disposition"]


def test_an_example_of_a_filter_works_as_it_stands(web):
    tree = page(web.get("/"))
    (example, *_) = texts(tree, "//*[@id='filter-hint']/code")
    assert example == "sex in ('F', 'M')"
    assert table(page(web.get(f"{TWO}&filter={quote(example)}")))


def test_a_search_lists_what_it_finds_and_what_is_ticked_alone(web):
    tree = page(web.get("/?find[geo]=0600&codelist[geo]=&valuecodes[geo]=04"))
    names = texts(tree, "//fieldset[@id='v1']//label[@class='tick']")
    assert "04" in names
    assert len(names) == 3
    assert all("0600" in name for name in names if name != "04")


# --- beside the page ----------------------------------------------------------------------


def test_style_and_script_are_kept_by_browsers_until_they_change(web):
    tree = page(web.get("/"))
    for href in tree.xpath("//link[@rel='stylesheet']/@href | //script/@src"):
        answer = web.get("/" + href)
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]
        assert answer.headers["content-type"].startswith(("text/css", "text/javascript"))
        plain = web.get("/" + href.partition("?")[0])
        assert plain.headers["cache-control"] == "no-cache"
    assert web.get("/static/..%2fstyle.css").status_code == 404
    assert web.get("/static/service.html").status_code == 404


def test_a_page_that_the_browser_has_is_not_sent_again(web):
    first = web.get(TWO)
    again = web.get(TWO, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.fixture
def special(served, tmp_path):
    """Make a client of the same data with another configuration."""
    desks = []

    def make(*, limits=None, access=None):
        service = served.service.changed(
            limits=served.service.limits.changed(**(limits or {})),
            access=served.service.access.changed(**(access or {})),
        )
        desks.append(TableService(service, served.answerer, folder=tmp_path / str(len(desks))))
        return Web(make_app(desks[-1]))

    yield make
    for table_service in desks:
        table_service.close()


def test_looking_at_the_form_costs_nothing_and_tables_have_a_budget(special):
    web = special(limits={"requests_per_hour": 2})
    for _ in range(5):
        page(web.get("/"))
    for _ in range(2):
        page(web.get(TWO))
    answer = web.get(TWO)
    tree = page(answer, 429)
    assert answer.headers["retry-after"]
    assert "used up your 2 requests" in " ".join(texts(tree, "//section[@role='alert']"))


def test_who_has_no_token_sees_nothing_of_the_table(special, tmp_path):
    file = TokenFile(tmp_path / "tokens.json")
    token = file.add(role="researcher", label="one")
    web = special(access={"mode": "tokens", "tokens": file.path})
    wrong = {"/?codelist[zz]=x": 401, "/?compare=a,b": 401, "/?lang=zz": 400}
    for url, status in ({"/": 401, TWO: 401} | wrong).items():
        answer = web.get(url)
        tree = page(answer, status)
        assert not tree.xpath("//form | //table")
        assert "Women" not in answer.text
    page(web.get(TWO, headers={"Authorization": f"Bearer {token}"}))


# --- figures ------------------------------------------------------------------------------


def test_percentages_ranks_and_numbers_are_links_above_the_table(web):
    tree = page(web.get(TWO))
    views = {a.text: a.get("href") for a in tree.xpath("//nav[@class='views']//a")}
    assert set(views) == {"% of the row", "% of the column", "% of the whole", "Rank"}
    shares = page(web.get(views["% of the row"].replace("./", "/", 1)))
    assert shares.xpath("string(//nav[@class='views']//strong)") == "% of the row"
    cells = [cell.text.strip() for cell in shares.xpath("//table//td")]
    assert all(text.endswith("\N{NO-BREAK SPACE}%") for text in cells)
    files = shares.xpath("//ul[@class='downloads']//a/@href")
    assert all("figure=share" in href for href in files)
    assert "persons" not in shares.xpath("string(//caption)")


def test_a_total_beside_its_parts_says_why_they_do_not_add_up(web):
    words = "Why do the parts not add up to their total?"
    assert words in web.get(TWO).text
    assert words not in web.get("/?codelist[sex]=sex.categories").text


def test_files_and_the_link_stand_above_the_table(web):
    text = web.get(TWO).text
    assert text.index('class="downloads"') < text.index("<table")
    assert text.index('id="permalink"') < text.index("<table")


def test_areas_that_are_ticked_are_added_up_under_a_name(web):
    address = "/?codelist[geo]=geo.region&valuecodes[geo]=01&valuecodes[geo]=02"
    tree = page(web.get(f"{address}&zone=My <b>area</b>"))
    assert [head.text for head in tree.xpath("//tbody//th")] == ["My <b>area</b>"]
    assert tree.xpath("//input[@id='zone']/@value") == ["My <b>area</b>"]
    assert "consists of 2 areas: 01; 02." in " ".join(tree.xpath("//main//p//text()")).strip()
    assert tree.xpath("//table//a[@class='sort']")[0].text == "Place"  # of no level
    numbers = [int(cell.get("data-n")) for cell in page(web.get(address)).xpath("//tbody//td")]
    assert tree.xpath("//tbody//td/@data-n") == [str(sum(numbers))]
    assert web.get("/?codelist[geo]=geo&zone=Mine").status_code == 400


def test_where_margins_are_told_the_page_says_them_in_words(tmp_path, service_file):
    about = read_service(service_file).about.changed(figure_margins=95)
    opened = Served(service_file, tmp_path, about=about)
    shares = page(opened.web.get(f"{TWO}&figure=share&of=sex"))
    ranges = [small.text for small in shares.xpath("//small[@class='range']")]
    assert ranges
    assert all(" to " in text and text.endswith("%") for text in ranges)
    french = page(opened.web.get(f"{TWO}&figure=share&of=sex&lang=fr"))
    assert " à " in french.xpath("string(//small[@class='range'])")
    opened.close()


@pytest.mark.parametrize(
    ("kind", "base", "label"),
    [("difference", "geo=", "Total"), ("index", "sex=F", "Women"), ("index", "geo=02", "02")],
)
def test_the_page_compares_with_a_category_that_is_chosen(web, kind, base, label):
    tree = page(web.get("/?codelist[geo]=geo.region&codelist[sex]=sex&sort=2"))
    (form,) = tree.xpath("//form[@class='against']")
    (value,) = [
        one
        for one in form.xpath(".//select[@name='against']//option/@value")
        if one == base or (base == "geo=" and one == "geo=Total")
    ]
    fields = dict(zip(form.xpath("./input/@name"), form.xpath("./input/@value"), strict=True))
    answer = web.get("/", params={**fields, "figure": kind, "against": value})
    found = page(answer)
    assert found.xpath("string(//select[@id='against']/optgroup/option[@selected])") == label
    variable, code = value.split("=")
    told = web.get(
        "/tables/jobseekers/data?codelist[geo]=geo.region&valuecodes[geo]=*"
        f"&valuecodes[sex]=*&figure={kind}&of={variable}&base={code}"
    )
    wanted = [number for (_, _, name), number in cells_of(told).items() if name == kind]
    assert [float(n) for n in found.xpath("//tbody//td/@data-n")] == wanted
    assert f"of={variable}&base={code}" in found.xpath("string(//a[@id='permalink']/@href)")
    notes = " ".join(found.xpath("//ul[@class='notes']//text()"))
    assert f"“{label}”" in notes  # a name, and no code


def test_a_base_of_no_variable_is_named(web):
    answer = web.get("/?codelist[sex]=sex&figure=index&against=nothing")
    assert answer.status_code == 400
    assert "against" in answer.text
