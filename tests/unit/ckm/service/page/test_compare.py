"""Two areas side by side: another layout of a table that is asked for as any other."""

from __future__ import annotations

from itertools import pairwise
from urllib.parse import urlencode

import pytest

from tests.unit.ckm.service.conftest import cells_of
from tests.unit.ckm.service.page.test_page import WITHHELD, follow, page, table, texts

SEX = {"Total": "Total", "F": "Women", "M": "Men"}
DATA = "/tables/jobseekers/data?outputformat=json-stat2"


def compare(*codes, sexes=""):
    pairs = [("compare", code) for code in codes]
    return f"/?{urlencode(pairs)}&codelist[sex]=sex{sexes}"


def counts(web, *codes):
    wanted = cells_of(web.get(f"{DATA}&valuecodes[geo]={','.join(codes)}&valuecodes[sex]=*"))
    return {(geo, SEX[sex]): number for (geo, sex, _), number in wanted.items()}


@pytest.mark.parametrize("address", [compare("04", "01"), compare("04,01")])
def test_two_areas_stand_side_by_side_in_the_order_asked_for(web, address):
    tree, true = page(web.get(address)), counts(web, "01", "04")
    headings = ["Sex", "04", "01", "04 (%)", "01 (%)", "Difference"]
    assert texts(tree, "//thead//th") == headings
    shown = table(tree)
    for sex in SEX.values():
        one, other = true["04", sex], true["01", sex]
        assert (shown[sex, "04"], shown[sex, "01"]) == (one, other)
        assert shown[sex, "Difference"] == one - other
        assert shown[sex, "01 (%)"] == pytest.approx(other / true["01", "Total"])
    assert "of the published total" in tree.text_content()
    assert "within the noise" not in tree.text_content()  # nobody said how large it is
    again = page(follow(web, tree, "//a[@id='permalink']/@href"))
    assert table(again) == shown
    (file,) = tree.xpath("//a[contains(@href, 'json-stat2')]/@href")
    assert {geo for geo, *_ in cells_of(web.get(file[1:]))} == {"01", "04"}
    falling = page(follow(web, tree, "//thead/tr/th[6]/a/@href"))
    assert texts(falling, "//thead//th") == headings


def test_shares_are_of_the_rows_where_no_total_is_shown(web):
    shown = table(page(web.get(compare("04", "01", sexes=".categories"))))
    assert sum(shown[sex, "04 (%)"] for sex in ("Women", "Men")) == pytest.approx(1)
    alone = page(web.get("/?compare=04,01"))
    assert texts(alone, "//thead//th") == ["04", "01", "Difference"]


def test_small_differences_are_within_the_noise_where_it_is_published(told):
    areas = [code for code, *_ in cells_of(told.get(f"{DATA}&codelist[geo]=geo.department"))]
    found = set()
    for one, other in pairwise(areas[1:13]):
        address = compare(one, other)
        for cell in page(told.get(address)).xpath("//tbody/tr/td[5]"):
            is_marked = "within the noise" in cell.text_content()
            assert is_marked == (abs(float(cell.get("data-n"))) <= 3)
            found.add(is_marked)
    assert found == {True, False}


def test_a_withheld_area_is_named_and_the_way_out_is_a_table_without_it(web):
    withheld = page(web.get(WITHHELD)).xpath("//section[@id='withheld']//p")
    area = next(t.text_content().split("; ")[0] for t in withheld if "; " in t.text_content())
    codes = web.get("/codelists/geo").json()["values"]
    code = next(v["code"] for v in codes if v["code"].endswith(area.strip()))
    tree = page(web.get(compare("04", code, sexes=".categories")))
    assert texts(tree, "//thead//th") == ["Sex", "04", "04 (%)"]
    assert texts(tree, "//tfoot//span")[0].startswith(f"Not published: {area.strip()}")
    for href in tree.xpath("//section[@id='withheld']//ul/li/a/@href"):
        assert "compare" not in page(web.get(href[1:])).xpath("//a[@id='permalink']/@href")[0]


def test_ticking_two_areas_offers_to_compare_them(web):
    ticked = "/?codelist[geo]=geo&valuecodes[geo]=04&valuecodes[geo]=01&codelist[sex]=sex"
    link = "//a[starts-with(., 'Compare the two areas')]/@href"
    tree = page(follow(web, page(web.get(ticked)), link))
    assert texts(tree, "//thead//th")[1:3] == ["04", "01"]
    assert not tree.xpath(link)
    assert not page(web.get(ticked + "&valuecodes[geo]=02")).xpath(link)
    names = ("compare-1", "compare-2")
    chosen = [tree.xpath(f"string(//*[@id='{n}']/option[@selected]/@value)") for n in names]
    values = [tree.xpath(f"string(//*[@id='{n}']/@value)") for n in names]
    assert ["04", "01"] in (chosen, values)


@pytest.mark.parametrize(
    ("codes", "words"),
    [
        (["04"], "Choose two different areas"),
        (["04", "04"], "Choose two different areas"),
        (["04", "01", "02"], "Choose two different areas"),
        (["04", "no such place"], "has no category"),
        (["04", "*"], "has no category"),
    ],
)
def test_what_cannot_be_compared_is_a_mistake(web, codes, words):
    tree = page(web.get(compare(*codes)), status=400)
    assert words in texts(tree, "//section[@id='problems']//li")[0]


def test_empty_choices_of_the_form_compare_nothing(web):
    address = "/?compare=&compare=&codelist[sex]=sex"
    assert table(page(web.get(address))) == table(page(web.get("/?codelist[sex]=sex")))
