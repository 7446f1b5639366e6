"""The French of measures, figures and pictures is complete.

A new English text is added to ``reports/locale/fr/LC_MESSAGES/figures.po`` by hand; then
``pybabel compile -D figures -d reports/locale`` writes the file that programs read.
"""

import gettext
import io
import re
from pathlib import Path

import pytest
from babel.messages.extract import extract_from_file
from babel.messages.mofile import read_mo, write_mo
from babel.messages.pofile import read_po

from footing.svg import text_width
from ptable import Mechanism, NoiseSpec, PTable, solve
from ptable.pictures import distributions, heatmap, perturbation
from risk.risk_map.catalogue import FIGURES
from risk.utility import DEFINITIONS, NAMES, REASONS
from risk.utility.catalogue import QUANTILES

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "reports" / "locale" / "fr" / "LC_MESSAGES"
DRAWN = sorted((ROOT / "ptable" / "pictures").glob("*.py"))
PLACE = re.compile(r"%\((\w+)\)s|(%%)")


def _words_of_pictures():
    return {
        message
        for file in DRAWN
        for _, message, _, _ in extract_from_file("python", file, keywords={"words": None})
    }


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
    wanted = _words_of_pictures() | _words_of_catalogues()
    assert len(_words_of_pictures()) > 80
    assert len(_words_of_catalogues()) > 200
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
    assert others == {"variance"}


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


# --- pictures in French ----------------------------------------------------------------


def _texts(picture):
    svg = re.findall(r"<(?:text|title|desc)[^>]*>([^<]*)", picture.svg)
    cells = re.findall(r"<(?:th|td|caption)[^>]*>([^<]*)", picture.table)
    return [*svg, *cells, picture.description, picture.data_heading]


def _tables():
    with pytest.warns(match="variance"):
        near = solve(NoiseSpec(max_noise=5, variance=6.0, variance_rule="nearest"))
    rows = [{0: 40}, {-2: 10, -1: 10, 0: 8, 1: 6, 4: 6}, {-7: 10, -1: 10, 0: 10, 3: 10}]
    return {
        "small": solve(NoiseSpec(max_noise=5, variance=3.0, small=2)),
        "near": near,
        "wide": solve(NoiseSpec(max_noise=50, variance=45.0)),
        "cycle": Mechanism.random_rounding(7).build(),
        "magnitudes": PTable.from_units(rows, key_range=40, step=4, anchors=[0, 1, 500]),
        "far": PTable.from_units([{0: 8}, {0: 6, 200: 1, 201: 1}], key_range=8),
        "long": PTable.from_units([{0: 4}, {-1: 1, 0: 2, 1: 1}] * 40, key_range=4),
        "halves": PTable.from_units([{0: 4}, {-1: 2, 2: 2}], key_range=4, step=2),
        "many": Mechanism.rounding(5, threshold=70).build(),
        "shuffled": PTable(noise=[[0], [1, -1, 1]], upper=[[8], [2, 6, 8]], key_range=8),
    }


@pytest.fixture(scope="module")
def tables():
    return _tables()


def _pictures(tables, **options):
    for table in tables.values():
        for view in (heatmap, distributions, perturbation):
            yield view(table, **options)


#: What stays in a text whose words are all between « and »: figures, signs and symbols.
_FIGURES = re.compile(r"\de-\d|[\d\s.,:;<>+%()…\N{MINUS SIGN}-]")


@pytest.mark.slow
def test_no_english_word_goes_past_the_translation(tables):
    def words(text):
        return f"«{text}»"

    n_texts = 0
    for picture in _pictures(tables, words=words, width=2000):
        for text in _texts(picture):
            lone = re.sub(r"&\w+;", "", text)
            while "«" in lone:  # words may hold words
                shorter = re.sub(r"«[^«»]*»", "", lone)
                if shorter == lone:
                    break  # a sentence broken into lines
                lone = shorter
            if "«" in lone or "»" in lone:
                continue
            assert not _FIGURES.sub("", lone), text
            n_texts += 1
        assert "%(" not in picture.svg + picture.table
    assert n_texts > 1000


@pytest.mark.slow
def test_pictures_ask_for_every_word_and_never_for_a_figure(tables):
    asked = set()

    def words(text):
        asked.add(text)
        return text

    list(_pictures(tables, words=words))
    list(_pictures({}, words=words, decimal_mark=","))
    known = _words_of_pictures() | _words_of_catalogues()
    assert asked <= known
    never = {
        # Each takes a table of its own; all others are asked for.
        "; ",
        "%(picture)s: %(ptable)s",
        "%(ranges)s and %(more)s more ranges",
        (
            "Drawn from %(samples)s samples, as the intervals are finer than the picture: "
            "count %(counts)s."
        ),
        "And %(more)s more; see the marked panels.",
        "one row, for count %(first)s",
        "Row %(first)s is not drawn.",
        "The keys of counts %(counts)s are shuffled.",
    }
    assert _words_of_pictures() - asked <= never


@pytest.mark.slow
@pytest.mark.parametrize("width", [320, 760])
def test_french_pictures_stay_within_their_card(tables, french, width):
    n_texts = 0
    options = {"words": french, "decimal_mark": ",", "width": width}
    for picture in _pictures(tables, **options):
        for place, size, rest, text in re.findall(
            r'<text x="([\d.-]+)" y="[\d.]+" font-size="([\d.]+)"([^>]*)>([^<]*)', picture.svg
        ):
            words = text.replace("&#x27;", "'").replace("&lt;", "<").replace("&gt;", ">")
            length = text_width(words, float(size), bold="bold" in rest)
            shift = length / 2 if '"middle"' in rest else length if '"end"' in rest else 0
            assert float(place) - shift >= 0, words
            assert float(place) - shift + length <= width, words
            n_texts += 1
    assert n_texts > 500


@pytest.mark.slow
def test_french_pictures_write_decimals_with_a_comma(tables, french):
    for picture in _pictures(tables, words=french, decimal_mark=","):
        for text in _texts(picture):
            assert not re.search(r"\d\.\d", text), text
    text = "".join(_texts(heatmap(tables["magnitudes"], words=french, decimal_mark=",")))
    assert "+1,75" in text


@pytest.mark.slow
def test_english_is_what_stands_in_the_code(tables):
    for plain, same in zip(
        _pictures(tables), _pictures(tables, words=gettext.gettext), strict=True
    ):
        assert plain == same


@pytest.mark.slow
def test_a_translation_that_loses_a_place_still_gives_a_picture(tables):
    for picture in _pictures(tables, words=lambda text: re.sub(r"%\(\w+\)s|%%", "", text)):
        assert "%(" not in picture.svg
