"""The commands speak French where they are asked to, and English costs nothing more."""

import re
import subprocess
import sys

import pytest
from babel.messages.pofile import read_po
from click.testing import CliRunner

from ckm.cli.app import app
from ckm.cli.terminal.console import Terminal
from ckm.cli.terminal.exit_codes import Failure
from footing.checks import require_number
from footing.errors import ExplainedError
from reports.i18n.languages import LOCALE
from reports.i18n.messages import DOMAINS, HOLE, _Form, _texts, translated
from tests.messages import commands

FOLDER = LOCALE / "fr" / "LC_MESSAGES"
SAMPLES = ("'alpha'", "3", "'bêta'", "0.25", "'x', 'y'", "7", "'z'", "12", "'k'", "5")


def run(*args, **environment):
    settings = {"CKM_LOG_FORMAT": "text", "CKM_LANG": None, "LC_ALL": None, **environment}
    return CliRunner(env=settings).invoke(app, [str(arg) for arg in args])


def entries():
    for domain in DOMAINS:
        with (FOLDER / f"{domain}.po").open("rb") as stream:
            yield from (one for one in read_po(stream) if one.id and one.string)


def filled(text, like=None):
    """Put samples into the holes, in the order that they have in the English."""
    names = list(dict.fromkeys(HOLE.findall(like or text)))
    return HOLE.sub(lambda hole: SAMPLES[names.index(hole[1]) % len(SAMPLES)], text)


def test_a_message_has_its_own_translation_and_not_that_of_another():
    wrong = {
        one.id: translated(filled(one.id), "fr")
        for one in entries()
        if translated(filled(one.id), "fr") != filled(one.string, one.id)
    }
    assert not wrong


def test_what_messages_nested_in_messages_cost_is_bounded(monkeypatch):
    looked, values = [], _Form.values
    monkeypatch.setattr(_Form, "values", lambda *a: looked.append(0) or values(*a))
    translated("a 'b'", "fr")
    forms = len(looked)  # what is looked at for one part
    form = "posterior must be below prior, not {0} with {1}."
    within = form.replace("{0}", "").replace("{1}", "") * 12
    for message in (form.format(within, within), "a: " * 3000, "- " * 3000, "x, y; " * 99):
        looked.clear()
        assert translated(message, "fr")
        assert len(looked) <= 2000 * forms
    assert translated("error: " * 80, "fr").startswith("erreur")


@pytest.mark.parametrize(
    ("message", "said"),
    [
        # "{0} must be {1}{2}, not {3}": what stands in two places is cut where both are known
        ("base must be an integer of at least 2, not 1.", "un entier d'au moins 2, et non 1"),
        # a form of few words does not take a message from the form that says all of it
        ("The file 'p.csv' is no p-table: it is empty.", "de perturbation : il est vide"),
        # every part of a list is said, not the last one alone; values stay as they are
        ("No oracle: beta is missing; line 3, count 1.", "beta manque ; ligne 3, effectif 1"),
        ("Fewer than 554,844", "Moins de 554 844"),
        (
            "noise moves 12.3% of the records to others of 14 codes, before it is smoothed",
            "12,3 % d",
        ),
        ("No oracle: 'it is empty' is missing; line 3.", ": 'it is empty' manque"),
    ],
)
def test_of_several_forms_the_one_that_leaves_the_least_english_is_taken(message, said):
    plain = re.sub("[\xa0\u202f]", " ", translated(message, "fr"))
    assert said in plain.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")


def test_a_message_is_said_by_its_template_and_nothing_is_looked_for(monkeypatch):
    from reports.i18n import messages

    def read_back(*_):
        raise AssertionError("a message was read back from its words")

    looked_up = []
    texts = messages._texts("fr")

    class Counted(dict):
        def get(self, template):
            looked_up.append(template)
            return texts.get(template)

    monkeypatch.setattr(messages, "_by_form", read_back)
    monkeypatch.setattr(messages, "_texts", lambda _: Counted())
    with pytest.raises(ExplainedError) as caught:
        require_number(1.5, "base", minimum=0, maximum=1)
    said = translated(caught.value.problem, "fr")
    assert said == "base doit être un nombre compris entre 0 et 1, et non 1,5."
    # Once for the sentence and for each message in it, however many messages there are.
    assert len(looked_up) <= 6


@pytest.mark.slow
def test_every_template_of_the_program_has_its_french_with_the_same_holes():
    texts = _texts("fr")
    packages = [one for group in commands.DOMAINS.values() for one in group]
    templates = commands.made_from_data(packages)
    assert len(templates) > 1500
    for template, file in templates.items():
        if file.startswith("reports/pages/"):
            continue  # its words are those of pages
        assert template in texts, (file, template)
        holes = {hole[0] for hole in HOLE.finditer(template)}
        assert {hole[0] for hole in HOLE.finditer(texts[template])} == holes, template


@pytest.mark.parametrize(
    ("message", "french"),
    [
        ("[ptable] variance must be a number.", "[ptable] variance doit être un nombre."),
        ("small, entry 2, must be at least 1.", "small, élément 2, doit être au moins 1."),
        (
            "[[table]] 'a': title must not be empty.",
            "[[table]] 'a': title ne doit pas être vide.",
        ),
    ],
)
def test_a_rule_is_translated_after_the_key_that_breaks_it(message, french):
    assert translated(message, "fr") == french


@pytest.mark.parametrize(
    ("environment", "word"),
    [
        ({"LANG": "fr_FR.UTF-8"}, "Afficher"),
        ({"LANG": "fr_FR.UTF-8", "LC_ALL": "C"}, "Show"),
        ({"LANG": "en_GB.UTF-8", "LC_MESSAGES": "fr_BE"}, "Afficher"),
        ({"LANG": "fr_FR.UTF-8", "CKM_LANG": "en"}, "Show"),
        ({"LANG": "", "LC_ALL": "POSIX"}, "Show"),
    ],
)
def test_the_language_comes_from_the_environment_unless_it_is_named(environment, word):
    assert f"{word} " in run("--help", **environment).stdout
    assert "Afficher" in run("demo", "--help", "--lang", "fr", **environment).stdout
    assert "Afficher" in run("--lang=fr", "demo", "-h", "--lang", "en", **environment).stdout


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (
            ["relase"],
            2,
            ("La commande 'relase' n'existe pas. Vouliez-vous dire 'release' ?", "voir"),
        ),
        (["check", "gone.toml"], 2, ("'gone.toml'", "ne peut pas être lu", "Aucun fichier")),
        (["release"], 2, ("Il manque l'argument 'JOB.toml'.",)),
        (["demo", "--persons", "5"], 2, ("Valeur incorrecte pour '--persons' : 5 n'est pas",)),
        (["demo", "--persons", "x"], 2, ("'x' n'est pas un entier valide.",)),
        (
            ["ptable", "build", "--max-noise", 2, "--variance", 60, "-o", "pt.parquet"],
            4,
            ("Aucune table de perturbation n'a max_noise 2 et variance 60",),
        ),
    ],
)
def test_errors_are_french_with_the_same_exit_code(tmp_path, monkeypatch, words, code, said):
    monkeypatch.chdir(tmp_path)
    french, english = run(*words, LANG="fr_FR.UTF-8"), run(*words, LANG="C")
    assert french.exit_code == english.exit_code == code
    plain = re.sub("[\xa0\u202f]", " ", french.stderr)
    plain = plain.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    assert not [text for text in said if text not in plain]
    same = set(french.stderr.splitlines()) & set(english.stderr.splitlines())
    assert not same


def test_spaces_before_signs_are_no_escapes(capsys):
    Terminal("text").failure(Failure(exit=2, code="x", message="at most 5\xa0%, not \x9b1m"))
    assert capsys.readouterr().err == "error: at most 5\xa0%, not \\x9b1m\n"


def test_each_problem_of_a_job_is_said_in_its_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    job = 'schema = 1\ntitel = "x"\n[ptable]\nmax_noise = "a"\n[[table]]\nmargins = 5\n'
    (tmp_path / "job.toml").write_text(job)
    french = run("check", "job.toml", LANG="fr").stderr.splitlines()
    english = run("check", "job.toml", LANG="C").stderr.splitlines()
    assert len(french) == len(english) > 5
    assert not set(french) & set(english)
    assert not [line for line in french if " must " in line or " is " in line or "hint" in line]


def test_json_stays_english_for_scripts():
    done = run("relase", "--lang", "fr", CKM_LOG_FORMAT="json")
    assert "No such command" in done.stderr


@pytest.mark.slow
def test_no_catalogue_is_opened_in_english():
    code = (
        "import sys\n"
        "sys.addaudithook(lambda event, args: event == 'open' and str(args[0]).endswith('.mo')"
        " and print('opened'))\n"
        "from ckm.cli import main\nmain()"
    )
    for language, opened in (("en", False), ("fr", True)):
        done = subprocess.run(
            [sys.executable, "-c", code, "demo", "--help", "--lang", language],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert ("opened" in done.stdout) is opened
