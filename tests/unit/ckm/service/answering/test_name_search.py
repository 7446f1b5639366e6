"""Categories are found by any part of a name, without accents, in little time."""

from types import SimpleNamespace

import numpy as np

from ckm.service.answering.name_search import NameSearch, plain


def variable(names, former=None):
    codes = [f"{n:05d}" for n in range(len(names))]
    return SimpleNamespace(
        codes=codes,
        offer=SimpleNamespace(former=former or {}),
        ranks=lambda: np.arange(len(names)),
        label=lambda rank, _: names[rank],
        own=lambda rank: codes[rank],
    )


def test_accents_case_and_hyphens_do_not_matter():
    names = [
        "Ensemble",
        "Saint-Étienne",
        "L\N{RIGHT SINGLE QUOTATION MARK}Haÿ-les-Roses",
        "Évry",
        "Nevry",
    ]
    search = NameSearch(variable(names), "fr")
    assert search.find("saint etienne") == [1]
    assert search.find("HAY") == [2]
    assert search.find("l'hay") == [2]
    assert search.find("évr") == [3, 4]


def test_names_that_begin_so_come_first_then_words_then_parts():
    names = ["Total", "Villeparis", "Fort Paris", "Paris"]
    assert NameSearch(variable(names), "en").find("par") == [3, 2, 1]


def test_codes_and_former_names_find_too_and_nothing_finds_nothing():
    search = NameSearch(variable(["Total", "Évry-Courcouronnes"], {"00001": ("Évry",)}), "fr")
    assert search.find("00001") == [1]
    assert search.find("evry") == [1]
    assert search.find("  ") == []
    assert search.find("xyz") == []
    assert search.find("\n") == []


def test_plain_text_of_other_scripts_stays():
    assert plain("Łódź") == "łodz"
    assert plain("大阪") == "大阪"


def test_one_letter_among_sixty_thousand_gives_each_area_once():
    generator = np.random.default_rng(1)
    letters = np.array(list("abcdefghilmnoprstuv"))
    names = ["".join(generator.choice(letters, 9)) for _ in range(6000)]
    found = NameSearch(variable(names), "en").find("a")
    assert len(found) == len(set(found)) == sum("a" in name for name in names)
