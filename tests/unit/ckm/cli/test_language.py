"""The commands speak French where they are asked to, and English costs nothing more."""

import re
import subprocess
import sys

import pytest
from click.testing import CliRunner

from ckm.cli.app import app
from ckm.cli.terminal.console import Terminal
from ckm.cli.terminal.exit_codes import Failure
from ckm.config import JobError, read_job
from footing.checks import require_number
from footing.errors import ExplainedError
from reports.i18n.messages import HOLE, _texts, translated
from tests.messages import commands


def run(*args, **environment):
    settings = {"CKM_LOG_FORMAT": "text", "CKM_LANG": None, "LC_ALL": None, **environment}
    return CliRunner(env=settings).invoke(app, [str(arg) for arg in args])


def test_a_message_is_said_by_its_template_and_nothing_is_looked_for(monkeypatch):
    from reports.i18n import messages

    looked_up = []
    texts = messages._texts("fr")

    class Counted(dict):
        def get(self, template):
            looked_up.append(template)
            return texts.get(template)

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


def test_a_rule_is_translated_after_the_key_that_breaks_it(tmp_path):
    (tmp_path / "job.toml").write_text(
        'schema = 1\n[ptable]\nmax_noise = 2\nvariance = "x"\n'
        '[[table]]\nname = "a"\ndimensions = ["sex", 5]\ntitle = ""\n'
    )
    with pytest.raises(JobError) as caught:
        read_job(tmp_path / "job.toml")
    said = {translated(problem.line(), "fr") for problem in caught.value.problems}
    assert said >= {
        "[ptable] variance doit être un nombre, ou une liste de nombres, un par ligne.",
        "[[table]] 'a': dimensions, élément 2, doit être un texte entre guillemets.",
    }


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
