"""What a service says of the noise where its office opts in."""

from __future__ import annotations

import csv
import io

import pytest

from ckm.formats import FORMATS
from tests.unit.ckm.service.conftest import cells_of

DATA = (
    "/tables/jobseekers/data?valuecodes[sex]=*&valuecodes[geo]=*&codelist[geo]=geo.department"
)
PAGE = "/?codelist[sex]=sex&codelist[category]=category"
# worked_ptable has the margins 2, 2 and 3: see its test.
NOTES = {
    "en": "Each count lies within ±2 of the true one, and within ±2 with a probability of 95 %"
    " or more. A difference of 3 or less between two counts can come from the noise alone."
    " Counts below 10 are of low reliability: ±2 is more than 20 % of them.",
    "fr": "Un écart de 3 ou moins entre deux effectifs peut venir du seul bruit.",
}


@pytest.mark.parametrize("language", ["en", "fr"])
def test_page_answers_and_metadata_say_how_far_counts_lie_from_the_true_ones(told, language):
    for url in (DATA, "/tables/jobseekers/metadata?"):
        notes = told.get(f"{url}&lang={language}").json()["note"]
        assert any(NOTES[language] in note for note in notes)
    assert NOTES[language] in told.get(f"{PAGE}&lang={language}").text
    weighted = f"{PAGE}&valuecodes[ContentsCode]=weighted&lang={language}"
    assert NOTES[language] not in told.get(weighted).text


def test_small_counts_are_of_low_reliability_in_sdmx_and_nothing_else_changes(told, web):
    def observations(client):
        text = client.get(f"{DATA}&outputformat=sdmx-csv").text
        return list(csv.DictReader(io.StringIO(text, newline="")))

    plain, marked = observations(web), observations(told)
    assert {row["OBS_STATUS"] for row in plain} == {"A"}
    low = [int(row["OBS_VALUE"]) < 10 for row in marked]
    assert 0 < sum(low) < len(low)
    assert [row["OBS_STATUS"] == "U" for row in marked] == low
    for row in (*plain, *marked):
        del row["OBS_STATUS"], row["COMMENT_DSET"]
    assert plain == marked
    assert cells_of(told.get(DATA)) == cells_of(web.get(DATA))


def test_every_format_that_holds_notes_holds_this_one(told, web):
    wordless = {"csv", "csv-labels"}
    for name in FORMATS:
        url = f"{DATA}&outputformat={name}"
        same = told.get(url).content == web.get(url).content
        assert same == (name in wordless), name
