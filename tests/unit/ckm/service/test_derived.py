"""A service whose variables are made of columns: asked for, filtered by, and the same noise."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from ckm.cli import app
from ckm.config import JobError
from ckm.config.service.service import read_service
from tests.unit.ckm.service.conftest import Served, cells_of, write_service

DATA = "/tables/jobseekers/data"
MADE = """
[[variable]]
name = "age10"
of = "age"
width = 10
start = 15
end = 65
labels = { en = "Age", fr = "Âge" }
categories = { "65+" = { en = "65 and over", fr = "65 ans ou plus" } }
[[variable]]
name = "looking"
of = "category"
recode = { A = "active", B = "active", C = "active" }
other = "other"
[[population]]
name = "young"
title = "Young"
where = "age10 = '15–24'"
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("derived")
    opened = Served(write_service(folder, more=MADE), folder / "jobs")
    yield opened
    opened.close()


def asked(served, *variables, **more):
    selected = {f"valuecodes[{name}]": "*" for name in variables}
    answer = served.web.get(DATA, params={**selected, "outputFormat": "json-stat2", **more})
    assert answer.status_code == 200, answer.text
    return {codes[:-1]: number for codes, number in cells_of(answer).items()}


def test_bands_and_recodes_are_offered_in_their_order_with_their_words(served):
    found = asked(served, "age10")
    assert [code for (code,) in found] == [
        "Total",
        *("15–24", "25–34", "35–44", "45–54", "55–64", "65+"),
    ]
    metadata = served.web.get("/tables/jobseekers/metadata", params={"lang": "fr"}).text
    assert "65 ans ou plus" in metadata
    params = {"valuecodes[age10]": "*", "outputFormat": "json-stat2", "lang": "fr"}
    assert (
        "age10\u00a0: age par tranches de 10."
        in served.web.get(DATA, params=params).json()["note"]
    )
    assert [code for (code,) in asked(served, "looking")] == ["Total", "active", "other"]


def test_a_filter_by_a_band_is_a_cell_of_the_table_by_bands(served):
    by_age = asked(served, "age10", "sex")
    for where in ("age10 = '15–24'", "age10 in ('15–24')"):
        inside = asked(served, "sex", filter=where)
        for (sex,), count in inside.items():
            assert count == by_age["15–24", sex]
    assert asked(served, "sex", population="young") == asked(
        served, "sex", filter="age10 = '15–24'"
    )


@pytest.mark.parametrize(
    ("where", "english"),
    [
        ("age10 = '15-24'", "“age10” has no such category."),
        ("age10 >= '15–24'", "can be listed, and not compared by order."),
    ],
)
def test_a_filter_by_no_category_is_told_in_both_languages(served, where, english):
    params = {"valuecodes[sex]": "*", "filter": where}
    answer = served.web.get(DATA, params={**params, "lang": "en"})
    assert answer.status_code == 400
    assert english in answer.text
    french = served.web.get(DATA, params={**params, "lang": "fr"})
    assert "age10" in french.text
    assert english not in french.text


def test_what_does_not_fit_stops_the_service_before_it_opens(tmp_path):
    path = write_service(tmp_path, more=MADE.replace("end = 65", 'end = 65\nopen = "none"'))
    done = CliRunner().invoke(app, ["check", str(path)])
    assert done.exit_code == 3
    assert "holds values outside the bands of 'age10'" in done.stderr
    path.write_text(path.read_text().replace("width = 10", "width = 7"))
    with pytest.raises(JobError, match="Bands of 7 do not reach"):
        read_service(path)
