"""The words of the service: both languages say all of it, as print has it."""

from __future__ import annotations

import re
import string

import pytest

from ckm.service.answering.messages import WORDS, ClientError, Phrase, say
from tables.filtering.filters import _EXPECTED, _KIND_WORDS

PLACES = string.Formatter()


def places(text):
    return {name for _, name, _, _ in PLACES.parse(text) if name}


@pytest.mark.parametrize("key", WORDS)
def test_both_languages_say_the_same_things_and_end_alike(key):
    english, french = WORDS[key]
    assert places(english) == places(french)
    assert english[-1:] == french[-1:] or not {english[-1], french[-1]} & set(".:?!")
    if "{" not in english[0] + french[0]:
        assert english[0].isupper() == french[0].isupper()


@pytest.mark.parametrize("key", WORDS)
def test_words_have_the_signs_and_spaces_of_print(key):
    english, french = WORDS[key]
    for text in (english, french):
        assert not re.search(r"['\"]|!r|  ", text), text
    assert not re.search(r"[ \w][;:!?»]|«[^\u00a0]| %", french), french
    assert not re.search(r"[\u00a0\u202f«»]", english), english


def test_every_reason_against_a_filter_has_words():
    assert {f"filter_{name}" for name in _EXPECTED} <= set(WORDS)
    assert {f"filter_is_{kind}" for kind in _KIND_WORDS} <= set(WORDS)


FILTERS = {
    "": "il est vide.",
    "sex = 'F": "il est illisible à partir du caractère 7.",
    "sex": "il faut une comparaison telle que « >= » au caractère 4.",
    "sex = 'F' sex": "il faut « and », « or » ou la fin au caractère 11.",
    "(sex = 'F'": "il faut une parenthèse fermante au caractère 11.",
    "sex in 'F'": "il faut une parenthèse ouvrante au caractère 8.",
    "sex in ('F' 'M')": "il faut une virgule ou une parenthèse fermante au caractère 13.",
    "sex is F": "il faut « missing » au caractère 8.",
    "sex between 'A' or": "il faut « and » au caractère 17.",
    "not = 3": "il faut un nom au caractère 5.",
    "sex =": "il faut un nombre, ou un texte entre apostrophes, au caractère 6.",
    "weight > 1": "il n’y a pas de « weight » sur quoi filtrer.",  # noqa: RUF001
    "sex = 1": "« sex » est un texte, et est comparé à un nombre.",
    "sex = true": "« sex » est un texte, et est comparé à « true » ou « false ».",
    "(" * 60 + "sex = 'F'": "il imbrique plus de 50 niveaux.",
    "x" * 20_001: "il a plus de 20000 caractères.",
}


@pytest.mark.parametrize("where", FILTERS, ids=[where[:20] for where in FILTERS])
def test_what_is_wrong_with_a_filter_is_said_in_both_languages(served, where):
    with pytest.raises(ClientError) as caught:
        served.answerer.planner.filter_variables(where)
    french = re.sub(r"[\u00a0\u202f]", " ", caught.value.words("fr"))
    assert french == f"Le filtre est erroné : {FILTERS[where]}"
    assert caught.value.words("en").startswith("The filter is wrong: ")
    assert "{" not in caught.value.words("en")


def test_what_a_caller_sent_is_cut_within_phrases_too():
    phrase = Phrase(key="filter_unknown", filled={"column": "x" * 500 + "\x1b"})
    told = ClientError("bad_filter", detail=phrase).words("en")
    assert len(told) < 300
    assert "\x1b" not in told


def test_phrases_within_phrases_are_said_in_the_language_of_the_whole():
    inner = Phrase(key="filter_expected", filled={"position": 1, "expected": "§"})
    assert say("bad_filter", "fr", detail=inner).endswith("il faut § au caractère 1.")
