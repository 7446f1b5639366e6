"""The first page of a release: all its tables and files, whatever protected them."""

import json
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lxml import html as parser

from ckm.config import read_job
from ckm.errors import CheckFailedError
from ckm.formats import FORMATS
from ckm.release.pages.report_pages import LeakCheck
from ckm.release.perturbed import release
from reports import make_report
from reports.pages.release.released_tables import FILE_KINDS
from tests.reports import facts as made

JOB = """
schema = 1
title = { en = "People (made up)", fr = "Personnes (fictives)" }
[data]
path = "people.parquet"
id = "id"
[output]
language = ["en", "fr"]
formats = ["csv", "csv-labels", "xlsx"]
[report]
contact = "statistics@example.org"
[[table]]
name = "places"
title = { en = "People by place and sex", fr = "Personnes selon le lieu et le sexe" }
dimensions = ["place", "sex"]
"""
ROUNDING = "[rounding]\nbase = 3\nbound = 2\n"
SUPPRESSION = "[suppression]\nthreshold = 5\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("index")
    places = ["North"] * 20 + ["South"] * 23 + ["East"] * 2
    people = {"id": list(range(45)), "place": places, "sex": ["F", "M", "M", "F", "M"] * 9}
    pq.write_table(pa.table(people), folder / "people.parquet")
    for name, method in {"rounded": ROUNDING, "hidden": SUPPRESSION}.items():
        (folder / f"{name}.toml").write_text(JOB + method, encoding="utf-8")
        release(read_job(folder / f"{name}.toml"), folder / name)
    return folder


def page(public, name):
    return parser.document_fromstring((public / name).read_bytes())


@pytest.mark.parametrize("method", ["rounded", "hidden"])
def test_the_first_page_leads_to_every_file_of_a_release_by_links_that_are_relative(
    folder, method
):
    public = folder / method / "public"
    links = {
        link
        for name in ("index.html", "index.fr.html")
        for link in page(public, name).xpath("//@href")
    }
    targets = {unquote(link.removeprefix("./")) for link in links if not link.startswith("#")}
    assert targets == {path.name for path in public.iterdir()}
    places = {link[1:] for link in links if link.startswith("#")}
    assert places <= {*page(public, "index.html").xpath("//@id")}


def test_the_first_page_shows_the_first_rows_as_they_are_published(folder):
    public = folder / "rounded" / "public"
    first = (public / "places.csv").read_text().splitlines()[1]
    cells = page(public, "index.html").xpath("//table[@id='first-rows-a']/tbody/tr[1]/*")
    assert [cell.text_content() for cell in cells] == [
        text.strip('"') for text in first.split(",")
    ]
    french = page(public, "index.fr.html")
    assert french.xpath("string(//h1)") == "Personnes (fictives)"
    assert "Personnes selon le lieu et le sexe" in french.xpath("string(//table[@id='tables'])")


def test_the_first_page_of_a_suppression_says_that_numbers_are_left_out(folder):
    text = page(folder / "hidden" / "public", "index.html").text_content()
    assert "Some numbers are left out" in text
    assert "public-files-hold-no-original" not in text
    assert "were changed" in page(folder / "rounded" / "public", "index.html").text_content()


def test_the_public_manifest_lists_the_first_pages(folder):
    manifest = json.loads((folder / "rounded" / "public" / "manifest.json").read_bytes())
    assert [file["file"] for file in manifest["report"]] == ["index.html", "index.fr.html"]


def test_a_first_page_that_would_hold_the_secret_is_not_written():
    facts = made.index()
    leaks = LeakCheck(made.release().public(), hidden=["methods@office.example"]).about(facts)
    with pytest.raises(CheckFailedError, match="public page"):
        leaks.require_clean_page(make_report(facts, language="en"))


def test_every_format_of_a_release_has_a_kind_on_its_pages():
    ends = [end for kind in FORMATS.values() for end in kind.suffixes]
    ends += [f".csv{kind.sidecar}" for kind in FORMATS.values() if kind.sidecar]
    assert {*ends} == {*FILE_KINDS}
