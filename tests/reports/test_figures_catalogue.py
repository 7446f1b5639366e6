"""The French of measures and figures is complete.

A new English text is added to ``reports/locale/fr/LC_MESSAGES/figures.po`` by hand; then
``pybabel compile -D figures -d reports/locale`` writes the file that programs read.
"""

import gettext
import io
import re
from pathlib import Path

import pytest
from babel.messages.mofile import read_mo, write_mo
from babel.messages.pofile import read_po

from risk.risk_map.catalogue import FIGURES
from risk.utility import DEFINITIONS, NAMES, REASONS
from risk.utility.catalogue import QUANTILES

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "reports" / "locale" / "fr" / "LC_MESSAGES"
PLACE = re.compile(r"%\((\w+)\)s|(%%)")


def _words_of_catalogues():
    return {
        *(text for unit_and_text in DEFINITIONS.values() for text in unit_and_text),
        *NAMES.values(),
        *REASONS,
        *(
            text
            for figure in FIGURES.values()
            for text in (figure.words, figure.unit, figure.definition)
        ),
    }


@pytest.fixture(scope="module")
def catalogue():
    with (FOLDER / "figures.po").open("rb") as file:
        return read_po(file, locale="fr", domain="figures", abort_invalid=True)


@pytest.fixture(scope="module")
def french():
    with (FOLDER / "figures.mo").open("rb") as file:
        return gettext.GNUTranslations(file).gettext


# --- the file of words -----------------------------------------------------------------


def test_every_english_text_is_in_the_catalogue_and_no_other(catalogue):
    wanted = _words_of_catalogues()
    assert len(wanted) > 200
    found = {message.id for message in catalogue if message.id}
    assert sorted(wanted - found) == []
    assert sorted(found - wanted) == []
    assert not catalogue.obsolete


def test_every_text_is_translated_and_keeps_its_places(catalogue):
    assert not catalogue.fuzzy
    for message in catalogue:
        if not message.id:
            continue
        assert message.string.strip(), message.id
        assert not message.fuzzy, message.id
        places = sorted(PLACE.findall(message.id))
        assert sorted(PLACE.findall(message.string)) == places, message.id
        assert not list(message.check(catalogue)), message.id


def test_the_same_english_words_are_left_only_where_they_are_french(catalogue):
    same = {m.id for m in catalogue if m.id and m.id == m.string}
    left = {re.sub(r"%\(\w+\)s", "", text).strip() for text in same}
    formulas = {DEFINITIONS[name][1] for name in ("rv_pct", "gap_ratio", "rcv_pct")}
    others = {text for text in left - formulas if re.search("[a-z]{4}", text)}
    assert others == set()


def test_french_typography_keeps_punctuation_with_its_word(catalogue):
    for message in catalogue:
        if message.id:
            assert not re.search(r"[^\S\xa0][:%»](?!\()", message.string), message.string
            assert not re.search(r"[^\S\u202f][;?!]", message.string), message.string
            assert not re.search(r"\w[:;?!]", message.string), message.string
            assert not re.search(r"\d\.\d", message.string), message.string


def test_the_compiled_file_is_that_of_the_words(catalogue):
    fresh = io.BytesIO()
    write_mo(fresh, catalogue)
    fresh.seek(0)
    with (FOLDER / "figures.mo").open("rb") as file:
        compiled = {message.id: message.string for message in read_mo(file) if message.id}
    assert compiled == {message.id: message.string for message in read_mo(fresh) if message.id}
    assert len(compiled) == len([message for message in catalogue if message.id])


def test_every_name_tells_one_measure_from_all_others(french):
    for words in (lambda text: text, french):
        assert len({words(name) for name in NAMES.values()}) == len(NAMES) == len(DEFINITIONS)
        figures = [words(figure.words) for figure in FIGURES.values()]
        assert len(set(figures)) == len(figures)
    assert NAMES.keys() == DEFINITIONS.keys()


def test_a_name_means_the_same_among_measures_and_figures():
    same = {name for name in FIGURES if name in NAMES} - {"bias_mean"}
    assert len(same) > 8
    for name in same:
        assert FIGURES[name].words == NAMES[name]
        assert FIGURES[name].unit == DEFINITIONS[name][0]


def test_no_definition_leans_on_the_one_before_it():
    texts = [text for _, text in DEFINITIONS.values()]
    texts += [figure.definition for figure in FIGURES.values()]
    assert not [text for text in texts if "the same" in text]
    assert len(QUANTILES) * 3 < len(texts)
