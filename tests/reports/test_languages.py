"""Both languages are complete, and the compiled messages are those of today."""

import gettext
import io
import re

import pytest
from babel.messages.pofile import read_po
from lxml import html as parser

from reports import ReportError, make_report
from reports.catalogues.release import REFERENCES
from reports.i18n.languages import LANGUAGES, LOCALE, words_of
from reports.i18n.numbers import Numbers
from tests import messages as messages_module
from tests.messages import catalogues, compiled, extracted, messages_in, updated
from tests.reports import facts as made

OTHERS = [language for language in LANGUAGES if language != "en"]
FOLDERS = [LOCALE / language / "LC_MESSAGES" for language in OTHERS]
PO_FILES = sorted(file for folder in FOLDERS for file in folder.glob("*.po"))
#: Numbered, of `%`, and of templates of messages, with what is done to the value.
PLACES = re.compile(r"%\((\w+)\)|(?<!\{)\{(\w+(?:![rs])?(?::[^{}]*)?)\}")


def catalog(file):
    with file.open("rb") as stream:
        return read_po(stream, locale=file.parents[1].name)


def messages(file):
    return [message for message in catalog(file) if message.id]


def singles(words):
    return list(words) if isinstance(words, tuple) else [words]


@pytest.mark.slow
@pytest.mark.parametrize("language", OTHERS)
def test_the_translations_have_every_message_of_today_and_no_other(language):
    for domain, today in catalogues().items():
        file = LOCALE / language / "LC_MESSAGES" / f"{domain}.po"
        assert len(today) > 300
        assert {m.id for m in messages(file)} == {m.id for m in today if m.id}
        # ... and are as the command writes them.
        fresh = read_po(io.BytesIO(updated(language, domain, today).encode()), locale=language)
        assert {m.id: m.string for m in fresh} == {m.id: m.string for m in catalog(file)}


@pytest.mark.parametrize("file", PO_FILES, ids=lambda file: file.name)
def test_every_message_is_translated(file):
    found = messages(file)
    waiting = [message.id for message in found if not all(singles(message.string))]
    assert not waiting, waiting
    assert not any(message.fuzzy for message in found)
    assert not catalog(file).obsolete
    assert not [(m.id, [*map(str, wrong)]) for m, wrong in catalog(file).check()]


@pytest.mark.parametrize("file", PO_FILES, ids=lambda file: file.name)
def test_a_translation_has_the_places_of_its_message(file):
    for message in messages(file):
        wanted = sorted({max(place) for place in PLACES.findall(singles(message.id)[-1])})
        for translation in filter(None, singles(message.string)):
            found = sorted({max(place) for place in PLACES.findall(translation)})
            assert found == wanted or set(wanted) - set(found) == {"n"}, message.id
            for original in singles(message.id):
                assert (original[:1] == " ") == (translation[:1] == " "), message.id
                ends = {original[-1:], translation[-1:]}
                assert original == "No." or len(ends) == 1 or not ends & set(".:?!")


@pytest.mark.parametrize(
    "file", [file for file in PO_FILES if "/fr/" in file.as_posix()], ids=lambda file: file.name
)
def test_french_has_its_own_spaces_and_apostrophes(file):
    for message in messages(file):
        for translation in singles(message.string):
            wrong = r" [;:!?»]|« |\w'\w| %(?!\()|\u00a0[;!?]|\u202f[:»%]"
            assert not re.search(wrong, translation), translation


@pytest.mark.parametrize("file", PO_FILES, ids=lambda file: file.name)
def test_compiled_messages_are_those_of_the_source(file):
    def content(data):
        catalog = gettext.GNUTranslations(io.BytesIO(data))._catalog
        return {key: text for key, text in catalog.items() if key}

    kept = content(file.with_suffix(".mo").read_bytes())
    assert kept
    assert kept == content(compiled(file))


def words_in(html):
    tree = parser.document_fromstring(html)
    for node in tree.xpath(
        "//*[@lang!='fr' and not(self::html)] | //style | //title | //code | //bdi"
    ):
        node.drop_tree()
    return {text.strip() for text in tree.itertext() if text.strip()}


OTHERS = {
    "exposure": lambda language: make_report(made.exposure(), language=language),
    "frontier": lambda language: make_report(made.frontier(), language=language),
    "mobility": lambda language: make_report(made.mobility(), language=language),
    "suppression": lambda language: make_report(made.suppression(), language=language),
    "suppressed": lambda language: make_report(made.public_suppression(), language=language),
    "swept": lambda language: make_report(made.swept(), language=language),
    "meaning": lambda language: make_report(made.meaning(), language=language),
    "study": lambda language: make_report(made.study(), language=language),
    "sweep": lambda language: make_report(made.sweep(), language=language),
    "audits": lambda language: make_report(made.audits(), language=language),
    "card": lambda language: make_report(made.card(), language=language),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", ["internal", "public", "comparison", "decoding", "synthesis", *OTHERS]
)
def test_no_sentence_of_the_french_page_is_that_of_the_english_one(page):
    def made_in(language):
        if page == "comparison":
            return make_report(made.comparison(), language=language)
        if page == "decoding":
            return make_report(made.decoding(), language=language)
        if page in OTHERS:
            return OTHERS[page](language)
        if page == "synthesis":
            return make_report(made.synthesis(), language=language)
        return make_report(made.release(), edition=page, language=language)

    same = words_in(made_in("en").html) & words_in(made_in("fr").html)
    own = (
        str(made.release())
        + str(made.comparison())
        + str(made.decoding())
        + str(made.synthesis())
        + str(
            (
                made.swept(),
                made.meaning(),
                made.study(),
                made.sweep(),
                made.audits(),
                made.card(),
                made.exposure(),
                made.frontier(),
                made.suppression(),
                "region, branch",
            )
        )
    )
    kept = {
        text for text in same
        if re.search(r"[a-z]{3}", text) and text not in own and len(text.split()) > 1
    }  # fmt: skip
    left = {text for text in kept if not is_office_text(text, own)}
    assert left <= from_figures(), left


def is_office_text(text, own):
    if any(text.rstrip(".") == source.short for source in REFERENCES.values()):
        return True
    return all(word.strip(",;:()…") in own or word in {"ε", "="} for word in text.split())


def from_figures():
    """Give the formulas, which are the same in every language."""
    file = LOCALE / "fr" / "LC_MESSAGES" / "figures.po"
    return {message.id for message in messages(file) if message.id == message.string}


def test_an_unknown_language_is_refused():
    with pytest.raises(ReportError, match="no language 'de'"):
        words_of("de")
    with pytest.raises(ReportError, match="take one of 'en', 'fr'"):
        make_report(made.release(), edition="public", language="de")


def test_dates_and_numbers_follow_the_language():
    facts = made.release()
    english = make_report(facts, edition="internal", language="en").html
    french = make_report(facts, edition="internal", language="fr").html
    assert "15 March 2027" in english
    assert "15 mars 2027" in french
    assert "394,871" in english
    assert "394\u202f871" in french
    assert "0.512" in english
    assert "0,512" in french


def test_every_source_of_messages_is_read(monkeypatch):
    monkeypatch.setattr(messages_module, "_METHODS", [("pages/release/*.py", "python")])
    found = extracted()
    assert "What was checked" in found
    words = [m for m in found if any("catalogues" in place for place, _ in m.locations)]
    assert len(words) > 100
    assert any(message.auto_comments for message in words)
    first, *others = updated("fr", "reports", found).splitlines()
    assert first == "# Translations of reports: Français."
    assert not [line for line in others if "POT-Creation-Date" in line]


def test_words_carry_the_claim_of_their_entry_and_codes_are_no_words():
    entry = {
        "low": {"text": "low", "kinds": {"n": "count"}, "claim": "c"},
        "high": ["up", "on"],
    }
    assert list(messages_in(entry)) == [("low", "c"), ("up", ""), ("on", "")]


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0 %"), (0.0004, "< 0.1 %"), (0.255, "25.5 %"), (0.9999, "> 99.9 %"), (1, "100 %")],
)
def test_only_none_is_0_percent_and_only_all_is_100(share, text):
    assert Numbers("en").share(share).replace("\xa0", " ") == text


def test_ratios_and_dates_are_written_for_readers():
    assert Numbers("en").ratio(0.99871) == "0.9987"
    assert Numbers("en").ratio(-1e-6).replace("\xa0", " ") == "> −0.0001"
    assert Numbers("fr").date("2027-03-15") == "15 mars 2027"
    assert Numbers("en").date("spring 2027") == "spring 2027"
