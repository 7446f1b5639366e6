"""Twenty mistakes of a first hour: message, exit code and way out, in both languages."""

import os
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from ckm.cli import app

PEOPLE = pd.DataFrame(
    {
        "person": [f"p{number:03}" for number in range(96)],
        "sex": ["F", "M"] * 48,
        "region": ["01", "01", "02"] * 32,
        "income": [round(1000 + number * 1.37, 2) for number in range(96)],
        "age": [20, 30, 40] * 32,
        "w": [1.25] * 96,
    }
)
FIRST = ("people.csv", "sex", "--id", "person", "-o", "tables")
WEIGHTED = (*FIRST, "--weight", "w")


def written(people=PEOPLE, name="people.csv", **options):
    people.to_csv(name, index=False, **options)


def changed(**columns):
    return PEOPLE.assign(**columns)


def other_ledger():
    written()
    assert run(*FIRST[:-1], "first").exit_code == 0
    Path("secret.key").unlink()


def readable_secret():
    written()
    Path("secret.key").write_text("hex:" + "ab" * 32)
    Path("secret.key").chmod(0o644)


def full_output():
    written()
    Path("tables").mkdir()
    Path("tables", "mine.txt").write_text("mine")


def incomes():
    number = pd.Series(range(960))
    many = {"person": "p" + number.astype(str), "income": 1000 + number * 1.37}
    written(pd.DataFrame(many))


def two_files():
    written(PEOPLE[:48], "a.csv")
    written(PEOPLE[48:].rename(columns={"sex": "Sex"}), "b.csv")


def workbook():
    places = [n if n % 2 else "A" for n in range(96)]
    changed(region=places, day=pd.Timestamp("2027-01-01")).to_excel("p.xlsx", index=False)


#: What is there, what was typed, the exit code, and what is said in English and in French.
MISTAKES = {
    "a decimal comma": (
        lambda: written(sep=";", decimal=","), WEIGHTED, 2,
        ("Column 'w'", "shape '9,99'", "--decimal ,"), ("La colonne 'w'", "--decimal ,"),
    ),
    "thousands with a blank": (
        lambda: written(changed(w="1 234")), WEIGHTED, 2,
        ("shape '9 999'", "without a separator of thousands"), ("sans séparateur de milliers",),
    ),
    "an identifier with missing values": (
        lambda: written(changed(person=PEOPLE.person.where(PEOPLE.index > 3))), FIRST, 1,
        ("Some records have no 'person'", "give every record one"),
        ("à chaque enregistrement",),
    ),
    "identifiers that repeat": (
        lambda: written(changed(person=PEOPLE.person.where(PEOPLE.index > 40, "p001"))),
        FIRST, 1,
        ("identifiers repeat another", "tells records apart?"), ("en répètent un autre",),
    ),
    "a dimension misspelt": (
        written, ("people.csv", "regoin", *FIRST[2:]), 2,
        ("Column 'regoin' is not in the data", "did you mean 'region'?"),
        ("est pas dans les données", "vouliez-vous dire 'region'"),
    ),
    "files with different columns": (
        two_files, ("*.csv", *FIRST[1:]), 3,
        ("'b.csv' has no 'sex', which 'a.csv' has", "one program"),
        ("a pas 'sex', que 'a.csv'", "réécrire"),
    ),
    "a spreadsheet column of numbers and texts": (
        workbook, ("p.xlsx", "region", *FIRST[2:]), 2,
        ("'region' of 'p.xlsx' holds cells of several kinds: numbers beside texts", "types ="),
        ("cellules de plusieurs sortes", "nombres à côté de textes"),
    ),
    "a negative weight": (
        lambda: written(changed(w=[-1.0] + [1.0] * 95)), WEIGHTED, 3,
        ("Some weights are not finite and non-negative in 'w'", "repair them"),
        ("poids", "les corriger"),
    ),
    "a table of the identifier alone": (
        lambda: written(PEOPLE[["sex"]]),
        ("people.csv", "sex", "--id", "sex", "-o", "tables"), 2,
        ("Column 'sex' tells persons apart", "groups of people"), ("distingue les personnes",),
    ),
    "a secret in the folder of the tables": (
        written, (*FIRST, "--secret", "tables/secret.key"), 2,
        ("must not lie in the folder of the tables",),
        ("ne doit pas se trouver dans le dossier",),
    ),
    "a secret that others can read": (
        readable_secret, FIRST, 2,
        ("'secret.key' can be read by others", "chmod 600"), ("être lu par", "chmod 600"),
    ),
    "an output that exists": (
        full_output, FIRST, 2,
        ("'tables' exists and is not empty", "--force"), ("est pas vide", "--force"),
    ),
    "a ledger of another secret": (
        other_ledger, ("people.csv", "region", "--id", "person", "-o", "more"), 2,
        ("made with another secret", "use that secret"), ("autre secret", "employer ce secret"),
    ),
    "wide data with the region as identifier": (
        lambda: written(pd.DataFrame({"region": ["01", "02"], "F": [3, 4], "M": [5, 6]})),
        ("people.csv", "region", "F", "--id", "region", "-o", "tables"), 2,
        ("Column 'region' tells persons apart",), ("La colonne 'region' distingue",),
    ),
    "totals among the records": (
        lambda: written(changed(sex=PEOPLE.sex.where(PEOPLE.index > 9, "Total"))), FIRST, 2,
        ("a category called 'Total'", "if they are totals in the data"),
        ("nommée 'Total'", "si ce sont des totaux"),
    ),
    "a text in latin-1": (
        lambda: written(changed(region="Île"), encoding="latin-1"), FIRST, 3,
        ("not a text in UTF-8", "iconv"), ("pas un texte en UTF-8", "iconv"),
    ),
    "incomes as rows of a table": (
        incomes, ("people.csv", "income", *FIRST[2:]), 3,
        ("Column 'income' cannot be a dimension", "bands"),
        ("ne peut être une dimension", "tranches"),
    ),
    "a folder that is not there": (
        written, (*FIRST[:-1], "nowhere/tables"), 2,
        ("There is no folder", "make it first"), ("y a pas de dossier", "créer"),
    ),
    "a filter of a number as text": (
        written, (*FIRST, "--where", "age >= '30'"), 2,
        ("compares 'age', an integer column, with a text", "without quotes"),
        ("(texte)", "sans apostrophes"),
    ),
    "an empty extract": (
        lambda: written(PEOPLE[:0]), FIRST, 3,
        ("has no record", "is it the extract that was meant?"),
        ("aucun enregistrement", "extrait"),
    ),
}  # fmt: skip


def run(*words, language="en"):
    environment = {"CKM_LANG": language, "CKM_LOG": "text", "COLUMNS": "400"}
    return CliRunner(env=environment).invoke(app, ["protect", *words])


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CKM_SECRET", raising=False)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_of_the_first_hour_is_told_with_a_way_out_in_both_languages(mistake):
    prepare, words, code, english, french = MISTAKES[mistake]
    prepare()
    for language, sentences in (("en", english), ("fr", french)):
        done = run(*words, language=language)
        assert (done.exit_code, done.stdout) == (code, "")
        for sentence in sentences:
            assert sentence in done.stderr
        assert {"en": "error:", "fr": "erreur"}[language] in done.stderr
        assert "Traceback" not in done.stderr
        assert not Path("tables", "public").exists()


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-8"])
def test_marks_and_codes_that_look_like_missing_values_are_read_as_they_are(encoding):
    written(changed(region=PEOPLE.region.where(PEOPLE.index > 30, "NA")), encoding=encoding)
    assert run("people.csv", "region", "--id", "person", "-o", "tables").exit_code == 0
    rows = Path("tables/public/by_region.csv").read_text().splitlines()
    assert [row.split(",")[0].strip('"') for row in rows] == [
        "region",
        "Total",
        "01",
        "02",
        "NA",
    ]


def test_value_labels_of_spss_leave_the_codes():
    pyreadstat = pytest.importorskip("pyreadstat")
    coded = changed(sex=[0.0, 1.0] * 48)
    labels = {"sex": {0.0: "Men", 1.0: "Women"}}
    pyreadstat.write_sav(coded, os.fspath("people.sav"), variable_value_labels=labels)
    assert run("people.sav", "sex", "--id", "person", "-o", "tables").exit_code == 0
    text = Path("tables/public/by_sex.csv").read_text()
    assert [line.split(",")[0].strip('"') for line in text.splitlines()][:2] == ["sex", "Total"]
