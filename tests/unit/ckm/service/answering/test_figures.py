"""Percentages, differences, indices, ranks, rates and zones: from published numbers alone."""

from __future__ import annotations

import io
import json

import numpy as np
import openpyxl
import pandas as pd
import pytest

from ckm.config.problems import JobError
from ckm.config.service.service import read_service
from ckm.formats import FORMATS
from ckm.service.answering.figures import _ranks
from ckm.service.answering.query import query_of_request
from risk.inference.public_margins import PublicMargin
from tests.strategies import worked_ptable
from tests.unit.ckm.service.conftest import RULES, Served, cells_of, write_service

DATA = "/tables/jobseekers/data"
MADE = "&figure={}"
BY_SEX = f"{DATA}?valuecodes[geo]=*&codelist[geo]=geo.region&valuecodes[sex]=F,M"
RATE = """
[[rate]]
name = "long"
title = { en = "Rate of D", fr = "Taux de D" }
per = 1000
variable = "category"
numerator = ["D"]
denominator = ["A", "B", "C", "D"]
"""


@pytest.fixture(scope="module")
def margins(tmp_path_factory):
    """Return a service that tells margins and has a rate."""
    folder = tmp_path_factory.mktemp("margins")
    path = write_service(folder, more=RULES + RATE)
    path.write_text(path.read_text().replace("[service]", "[service]\nfigure_margins = 95", 1))
    limits = read_service(path).limits.changed(requests_per_hour=10**9)
    opened = Served(path, tmp_path_factory.mktemp("jobs"), limits=limits)
    yield opened
    opened.close()


def figures_of(answer):
    """Return categories → the numbers of each measure."""
    assert answer.status_code == 200, answer.text
    cells = {}
    for (*codes, measure), number in cells_of(answer).items():
        cells.setdefault(tuple(codes), {})[measure] = number
    return cells


def test_percentages_are_quotients_of_the_numbers_of_the_same_service(margins, web):
    counts = cells_of(web.get(BY_SEX.replace("F,M", "*")))
    plain = {codes[:2]: number for codes, number in counts.items()}
    shares = figures_of(margins.web.get(BY_SEX + "&figure=share&of=sex"))
    assert len(shares) > 10
    assert {sex for _, sex in shares} == {"F", "M"}
    for (region, sex), own in shares.items():
        assert own["count"] == plain[region, sex]
        ratio = 100 * plain[region, sex] / plain[region, "Total"]
        assert own["share"] == pytest.approx(ratio, abs=1e-6)
        assert own["share_low"] <= own["share"] <= own["share_high"]


def test_margins_are_those_of_the_published_pair(margins):
    shares = figures_of(margins.web.get(BY_SEX.replace("F,M", "*") + "&figure=share&of=sex"))
    margin = PublicMargin.of(worked_ptable())
    for (region, sex), own in shares.items():
        if sex == "Total":
            assert (own["share_low"], own["share_high"]) == (100, 100)
            continue
        low, high = margin.ratios([own["count"]], [shares[region, "Total"]["count"]])
        assert own["share_low"] == pytest.approx(100 * low[0])
        assert own["share_high"] == pytest.approx(100 * high[0])


def test_without_the_opt_in_there_are_figures_and_no_margins(web):
    shares = figures_of(web.get(BY_SEX + "&figure=share&of=sex"))
    assert {measure for own in shares.values() for measure in own} == {"count", "share"}


def test_shares_of_the_whole_table_are_the_default(web):
    counts = cells_of(web.get(DATA + "?valuecodes[sex]=*&valuecodes[category]=*"))
    plain = {codes[:2]: number for codes, number in counts.items()}
    shares = figures_of(
        web.get(DATA + "?valuecodes[sex]=F&valuecodes[category]=A&figure=share")
    )
    assert shares["F", "A"]["share"] == pytest.approx(
        100 * plain["F", "A"] / plain["Total", "Total"], abs=1e-6
    )


def test_differences_and_indices_are_against_a_category_that_need_not_be_shown(margins):
    counts = cells_of(margins.web.get(DATA + "?valuecodes[category]=*"))
    base = DATA + "?valuecodes[category]=B,C&of=category&base=A"
    for (code,), own in figures_of(margins.web.get(base + "&figure=difference")).items():
        difference = counts[code, "count"] - counts["A", "count"]
        assert own["difference"] == difference
        assert own["difference_low"] <= difference <= own["difference_high"]
        assert own["difference_high"] - own["difference_low"] < 20
    for (code,), own in figures_of(margins.web.get(base + "&figure=index")).items():
        ratio = 100 * counts[code, "count"] / counts["A", "count"]
        assert own["index"] == pytest.approx(ratio, abs=1e-5)
        assert own["index_low"] <= own["index"] <= own["index_high"]
    itself = DATA + "?valuecodes[category]=A&of=category&base=A&figure="
    own = figures_of(margins.web.get(itself + "difference"))["A",]
    assert (own["difference"], own["difference_low"], own["difference_high"]) == (0, 0, 0)


def test_ranks_are_within_a_level_and_have_a_range(margins):
    url = DATA + "?valuecodes[geo]=*&figure=rank&of=geo"
    ranks = figures_of(margins.web.get(url))
    regions = [own for (code,), own in ranks.items() if code == "Total"]
    assert regions[0]["rank"] == 1
    for own in ranks.values():
        assert own["rank_low"] <= own["rank"] <= own["rank_high"]
    codelist = margins.web.get("/codelists/geo.region").json()["values"]
    own = [ranks[value["code"],] for value in codelist]
    assert min(one["rank"] for one in own) == 1
    largest = max(own, key=lambda one: one["count"])
    assert largest["rank"] == 1


def test_a_rate_is_of_declared_categories(margins):
    counts = cells_of(margins.web.get(DATA + "?valuecodes[sex]=*&valuecodes[category]=*"))
    rates = figures_of(margins.web.get(DATA + "?valuecodes[sex]=*&figure=long"))
    for (sex,), own in rates.items():
        whole = sum(counts[sex, code, "count"] for code in "ABCD")
        assert own["long"] == pytest.approx(1000 * counts[sex, "D", "count"] / whole, abs=1e-4)
        assert set(own) == {"long", "long_low", "long_high"}
        assert own["long_low"] <= own["long"] <= own["long_high"]
    document = margins.web.get(DATA + "?valuecodes[sex]=*&figure=long&lang=fr").json()
    labels = document["dimension"]["ContentsCode"]["category"]["label"]
    assert labels["long"] == "Taux de D"
    assert margins.web.get(DATA + "?valuecodes[category]=*&figure=long").status_code == 400


def test_a_zone_is_the_sum_of_published_counts_of_its_areas(margins):
    counts = cells_of(margins.web.get(DATA + "?valuecodes[geo]=*&valuecodes[sex]=*"))
    codes = [v["code"] for v in margins.web.get("/codelists/geo.department").json()["values"]]
    chosen = ",".join(codes[:3])
    url = f"{DATA}?valuecodes[geo]={chosen},Total&valuecodes[sex]=*&zone=My%20area"
    zones = figures_of(margins.web.get(url))
    assert {area for area, _ in zones} == {"Total", "My area"}
    margin = PublicMargin.of(worked_ptable())
    for sex in ("F", "M", "Total"):
        parts = [counts[code, sex, "count"] for code in codes[:3]]
        own = zones["My area", sex]
        assert own["count"] == sum(parts)
        low, high = margin.sums([sum(parts)], margin.squares(parts).sum(axis=0))
        assert (own["count_low"], own["count_high"]) == (low[0], high[0])
    shares = figures_of(margins.web.get(url + "&figure=share&of=sex"))
    assert shares["My area", "F"]["share"] == pytest.approx(
        100 * zones["My area", "F"]["count"] / zones["My area", "Total"]["count"], abs=1e-5
    )


def test_zones_of_a_body_stand_beside_areas(margins):
    codes = [v["code"] for v in margins.web.get("/codelists/geo.region").json()["values"]]
    body = {
        "dimensions": ["geo"],
        "select": {"geo": [codes[0]]},
        "zones": {"North": codes[:2], "South": codes[2:4]},
        "figure": "share",
    }
    cells = figures_of(margins.web.post("/requests", json=body))
    assert list(cells) == [(codes[0],), ("North",), ("South",)]
    assert cells["North",]["share_low"] <= cells["North",]["share"]


def test_areas_that_are_not_published_are_left_out_of_a_zone_and_named(margins):
    codes = [v["code"] for v in margins.web.get("/codelists/geo.commune").json()["values"]]
    chosen = ",".join(codes)
    plain = margins.web.get(f"{DATA}?valuecodes[geo]={chosen}")
    assert "CKM-Withheld" in plain.headers
    summed = margins.web.get(f"{DATA}?valuecodes[geo]={chosen}&zone=All")
    assert summed.headers["CKM-Withheld"] == plain.headers["CKM-Withheld"]
    assert figures_of(summed)["All",]["count"] == sum(cells_of(plain).values())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("valuecodes[sex]=*&figure=mean", "no figure"),
        ("valuecodes[sex]=*&figure=share&of=geo", "no variable"),
        ("valuecodes[sex]=*&figure=index&of=sex", "need a base"),
        ("valuecodes[sex]=*&figure=rank", "one variable"),
        ("valuecodes[sex]=*&figure=index&of=sex&base=X", "no category"),
        ("valuecodes[sex]=*&of=sex", "unknown or wrong"),
        ("valuecodes[sex]=*&valuecodes[ContentsCode]=*&figure=share", "one measure"),
        ("valuecodes[sex]=*&zone=X", "made of areas"),
        ("valuecodes[geo]=Total&zone=X", "has no area"),
        ("valuecodes[geo]=*&zone=X", "lies in another"),
        ("valuecodes[geo]=*&codelist[geo]=geo.region&zone=", "1 to 100"),
        ("valuecodes[geo]=*&codelist[geo]=geo.region&zone=Total", "name of an area"),
    ],
)
def test_what_is_wrong_is_named(margins, words, said):
    answer = margins.web.get(f"{DATA}?{words}")
    assert answer.status_code == 400
    assert said in answer.json()["detail"]


def test_every_format_has_figures_and_their_notes(margins):
    url = BY_SEX + "&figure=share&of=sex"
    for name in FORMATS:
        for language in ("en", "fr"):
            answer = margins.web.get(f"{url}&outputformat={name}&lang={language}")
            assert answer.status_code == 200, (name, answer.text)
    notes = " ".join(margins.web.get(url).json()["note"])
    assert "95 % of cases or more" in notes
    assert "Percentages are of the published total over: Sex." in notes


@pytest.mark.parametrize(
    ("words", "english", "french"),
    [
        ("share&of=sex", "Percentage", "Pourcentage"),
        ("share&of=geo", "Percentage", "Pourcentage"),
        ("share", "Percentage", "Pourcentage"),
        ("difference&of=sex&base=F", "Difference", "Écart"),
        ("index&of=sex&base=F", "Index", "Indice"),
        ("rank&of=geo", "Rank", "Rang"),
        ("long", "Rate of D", "Taux de D"),
        ("count", "Count", "Effectif"),
    ],
)
def test_files_hold_the_figures_of_the_api_in_both_languages(margins, words, english, french):
    """Percentages of rows, columns and the total, and all other figures: CSV, Parquet, XLSX."""
    url = f"{BY_SEX}&figure={words}"
    numbers = list(figures_of(margins.web.get(url)).values())
    names = list(numbers[0])
    for language, label in (("en", english), ("fr", french)):
        document, csv, parquet, book = (
            margins.web.get(f"{url}&lang={language}&outputformat={form}")
            for form in ("json-stat2", "csv", "parquet", "xlsx")
        )
        words_of = document.json()["dimension"]["ContentsCode"]["category"]["label"]
        assert label in words_of.values()
        frames = [
            pd.read_csv(io.BytesIO(csv.content))[names],
            pd.read_parquet(io.BytesIO(parquet.content))[names],
        ]
        for frame in frames:
            assert frame.to_dict("records") == numbers
        page = openpyxl.load_workbook(io.BytesIO(book.content)).active
        sheet = [list(row) for row in page.iter_rows(values_only=True)]
        heading = next(row for row in sheet if any(label in str(cell) for cell in row))
        assert any(str(cell).startswith(label) for cell in heading)
        rows = sheet[sheet.index(heading) + 1 :][: len(numbers)]
        assert [row[-len(names) :] for row in rows] == [list(own.values()) for own in numbers]


def test_an_answer_with_figures_is_cached_apart_from_the_table(margins):
    plain, shares = margins.web.get(BY_SEX), margins.web.get(BY_SEX + "&figure=share")
    assert plain.content != shares.content
    assert margins.web.get(BY_SEX).content == plain.content
    assert margins.web.get(BY_SEX + "&figure=share").content == shares.content


def test_figures_pass_the_rules_of_the_table_that_they_are_made_of(margins):
    """A rate shows its variable to the rules, though not to readers."""
    codes = [v["code"] for v in margins.web.get("/codelists/geo.commune").json()["values"]]
    chosen = ",".join(codes)
    table = margins.web.get(f"{DATA}?valuecodes[geo]={chosen}&valuecodes[category]=A,B,C,D")
    rate = margins.web.get(f"{DATA}?valuecodes[geo]={chosen}&figure=long")
    assert rate.headers["CKM-Withheld"] == table.headers["CKM-Withheld"]


def test_a_service_file_with_wrong_rates_or_margins_is_refused(tmp_path):
    path = write_service(
        tmp_path,
        more=RULES
        + RATE.replace('"long"', '"share"').replace('"category"', '"categoryy"')
        + '[[rate]]\nname = "no"\ntitle = "N"\nvariable = "sex"\nnumerator = []\n'
        + 'denominator = ["F"]\n',
    )
    text = path.read_text().replace("[service]", "[service]\nfigure_margins = 95", 1)
    path.write_text(text.replace('secret = "secret.key"', 'secret = "secret.key"\nmix = false'))
    with pytest.raises(JobError) as caught:
        read_service(path)
    said = str(caught.value)
    for words in ("'share' is taken", "'categoryy' is no variable", "both lists", "mixed keys"):
        assert words in said
    path.write_text(text.replace("figure_margins = 95", "figure_margins = 99"))
    with pytest.raises(JobError):
        read_service(path)


def test_a_table_of_figures_costs_little_more(margins):
    """Numbers are arrays: no cell is looked at by itself."""
    deriver = margins.answerer.deriver
    margin = PublicMargin.of(worked_ptable())
    counts = np.arange(60_000)
    low, high = margin.ratios(counts, counts + 100)
    assert deriver.margin == margin
    assert (low <= high).all()


def test_figures_stay_when_json_is_read_again(margins):
    document = json.loads(margins.web.get(BY_SEX + "&figure=share&of=sex").content)
    units = document["dimension"]["ContentsCode"]["category"]["unit"]
    assert units["share"]["label"] == "%"


def test_variables_say_what_they_mean_and_metadata_what_figures_there_are(tmp_path):
    path = write_service(tmp_path)
    text = path.read_text().replace(
        'name = "sex"\n', 'name = "sex"\ndefinition = { en = "As <said>.", fr = "Dite." }\n'
    )
    path.write_text(text)
    opened = Served(path, tmp_path)
    metadata = opened.web.get("/tables/jobseekers/metadata").json()
    assert metadata["dimension"]["sex"]["note"] == ["As <said>."]
    assert metadata["extension"]["figures"] == ["count", "share", "difference", "index", "rank"]
    assert metadata["extension"]["figureMargins"] is None
    assert "As &lt;said&gt;." in opened.web.get("/").text
    assert "Dite." in opened.web.get("/?lang=fr").text
    opened.close()


def test_ranks_of_few_rows_are_those_that_each_column_has_by_itself():
    generator, margin = np.random.default_rng(5), PublicMargin.of(worked_ptable())
    counts = generator.integers(0, 60, (12, 30))
    squares = margin.squares(counts)
    best, worst = margin.ranks(counts, squares)
    place = _ranks(counts)
    for column in range(counts.shape[1]):
        own = margin._beyond(counts[:, column].astype(float), squares[:, column])
        assert (best[:, column] == 1 + own[0]).all()
        assert (worst[:, column] == 12 - own[1]).all()
        above = (counts[:, column] > counts[:, column][:, np.newaxis]).sum(axis=1)
        assert (place[:, column] == 1 + above).all()


def test_a_zone_is_compared_with_an_area_that_it_holds(margins):
    codes = [v["code"] for v in margins.web.get("/codelists/geo.region").json()["values"]]
    url = f"{DATA}?valuecodes[geo]={codes[0]},{codes[1]}&zone=Both&of=geo&base={codes[0]}"
    own = figures_of(margins.web.get(url + "&figure=difference"))["Both",]
    second = cells_of(margins.web.get(f"{DATA}?valuecodes[geo]={codes[1]}"))
    assert own["difference"] == second[codes[1], "count"]


@pytest.mark.parametrize(
    "name", ["=1+1", "@x", "-a", "+a", "\t=a", "<b>", "a\u202eb", "x" * 101]
)
def test_a_zone_cannot_be_called_as_a_formula_or_out_of_all_bounds(margins, name):
    answer = margins.web.get(
        DATA, params={"valuecodes[geo]": "*", "codelist[geo]": "geo.region", "zone": name}
    )
    assert answer.status_code == 400
    assert "begins with a letter or a digit" in answer.json()["detail"]


def test_what_is_charged_to_a_project_is_all_that_a_figure_is_made_of(margins):
    deriver = margins.answerer.deriver
    variables = margins.answerer.variables
    query = query_of_request(
        variables, dimensions=["sex"], select={"sex": ["F"]}, where="1 = 1"
    )
    asked = deriver.derivation(query, figure="share")
    whole = margins.table_service._query_of(asked)
    assert whole.selections[0].ranks[0] == 0
    assert whole.where == query.where
