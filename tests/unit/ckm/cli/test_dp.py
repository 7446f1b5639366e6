"""``ckm dp``: costs, noise, meaning, budgets."""

from __future__ import annotations

import math
import re
import sqlite3
import string

import pytest
from click.testing import CliRunner

from ckm.cli import app
from ckm.cli.dp.meaning import LANGUAGES, explained
from dp import BudgetLedger, Guarantee
from dp import meaning as meaning_of


def run(*args):
    return CliRunner(env={"CKM_LOG_FORMAT": "text"}).invoke(app, ["dp", *map(str, args)])


def cells(result):
    """Return the table of a command as a dictionary."""
    assert result.exit_code == 0, result.stderr
    lines = [line.partition("  ") for line in result.stdout.splitlines() if "  " in line]
    return {name.strip(): value.strip() for name, _, value in lines}


@pytest.mark.slow
def test_the_reference_run_of_the_calculator():
    found = cells(run("budget", "-s", 60000, "-b", 64, "-n", "1.0", "-e", 15))
    assert found["sampling rate"] == "0.107 %"
    assert found["noise multiplier"] == "1"
    assert found["steps"] == "14,070"
    assert found["epsilon"].startswith("0.6112 ")
    assert found["delta"] == "1e-05"


@pytest.mark.slow
def test_the_spelling_of_the_first_calculator_is_understood():
    found = cells(
        run("budget", "-s", 100, "-b", 10, "--noise_multiplier", 2, "-e", 1, "-d", 1e-3)
    )
    assert found["steps"] == "10"


@pytest.mark.slow
def test_orders_can_be_given():
    run_ = ("budget", "-s", 60000, "-b", 64, "-n", 1, "-e", 15)
    assert "(order 13)" in run(*run_, "-a", "8 13 20").stdout
    assert "(order 9)" in run(*run_, "-a", "8", "-a", "9").stdout
    refused = run(*run_, "-a", "many")
    assert refused.exit_code == 2
    assert run(*run_, "-a", "0.5 2").exit_code == 2


@pytest.mark.slow
def test_weak_points_are_told_on_stderr():
    result = run("budget", "-s", 1000, "-b", 64, "-n", 1, "-e", 1, "-d", 0.01)
    assert result.exit_code == 0
    assert "divisor" in result.stderr
    assert "delta" in result.stderr


def test_no_noise_is_no_privacy():
    assert cells(run("budget", "-s", 100, "-b", 10, "-n", 0, "-e", 1))["epsilon"].startswith(
        "inf "
    )


@pytest.mark.parametrize(
    "args",
    [
        ("-s", 10, "-b", 64, "-n", 1, "-e", 1),
        ("-s", 100, "-b", 10, "-n", -1, "-e", 1),
        ("-s", 100, "-b", 10, "-n", "nan", "-e", 1),
        ("-s", 100, "-b", 10, "-n", 1, "-e", 0),
        ("-s", 100, "-b", 10, "-n", 1, "-e", 1, "-d", 1),
        ("-s", 100, "-b", 10, "-n", 1),
    ],
)
def test_what_is_no_run_is_refused_with_a_reason(args):
    result = run("budget", *args)
    assert result.exit_code == 2
    assert "error" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.slow
def test_the_noise_for_a_budget_brings_the_budget():
    run_ = ("-s", 1000, "-b", 100, "-e", 2)
    noise = cells(run("noise", *run_, "--epsilon", 2))["noise multiplier"]
    back = cells(run("budget", *run_, "-n", noise))
    assert 1.99 < float(back["epsilon"].split()[0]) <= 2


def test_meaning_in_both_languages():
    english = run("meaning", "--epsilon", 1, "--delta", 1e-5)
    assert english.exit_code == 0
    assert (
        "the odds that one person is in the data change by a factor of 5.44" in english.stdout
    )
    assert "but for a chance of" in english.stdout
    pure = run("meaning", "--epsilon", 1).stdout
    assert "the odds that one person is in the data change by a factor of 2.72" in pure
    assert "the odds of any statement about one person change by a factor of 7.39" in pure
    assert "50 % becomes 73.11 % at most" in pure
    assert "50 % becomes 88.08 % at most" in pure
    french = run("meaning", "--epsilon", 1, "--lang", "fr", "--adjacency", "replace")
    assert "73,11 %" in french.stdout
    assert "personne" in french.stdout
    assert "person)" not in french.stdout


def test_the_meaning_for_places_is_about_two_places_and_their_distance():
    """Nothing holds of any statement about a place: two far apart are told apart."""
    for language, said in (("en", "two places one kilometre apart"), ("fr", "deux lieux")):
        more = ("--adjacency", "distance", "--unit", "kilometre", "--lang", language)
        text = run("meaning", "--epsilon", 1, *more).stdout
        assert text.count(said) == 2
        assert not any(word in text for word in ("any statement", "toute affirmation"))


def test_the_meaning_of_rho_is_at_a_delta():
    assert run("meaning", "--rho", 0.1, "--delta", 1e-6).exit_code == 0
    assert run("meaning", "--rho", 0.1).exit_code == 2
    assert run("meaning").exit_code == 2


def test_beliefs_before_are_ones_own():
    """Table of the thesis: 10 % at epsilon 1 becomes 23.20 % at most."""
    said = run("meaning", "--epsilon", 1, "--prior", 0.1).stdout
    assert "10 % becomes 23.2 % at most" in said
    assert "10 % becomes 45.09 % at most" in said
    assert run("meaning", "--epsilon", 1, "--prior", 1.5).exit_code == 2


@pytest.mark.parametrize(
    ("adjacency", "epsilon"),
    [("add-remove", 0.5493), ("replace", 1.0986), ("local", 1.0986)],
)
def test_an_epsilon_is_found_by_what_may_be_believed(adjacency, epsilon):
    """ln 3 takes a belief of 0.1 to 0.25: 1/9 to 1/3; it is never rounded up."""
    asked = ("--prior", 0.1, "--at-most", 0.25, "--adjacency", adjacency)
    said = run("meaning", *asked).stdout
    assert said.startswith(f"Epsilon {epsilon}:")
    assert "10 % becomes 25 % at most" in said


@pytest.mark.parametrize(
    "args",
    [
        ("--at-most", 0.25),
        ("--at-most", 0.25, "--prior", 0.1, "--epsilon", 1),
        ("--at-most", 0.25, "--prior", 0.1, "--delta", 1e-6),
        ("--at-most", 0.05, "--prior", 0.1),
        ("--at-most", 1, "--prior", 0.1),
        ("--at-most", "nan", "--prior", 0.1),
    ],
)
def test_beliefs_that_give_no_epsilon_are_refused(args):
    refused = run("meaning", *args)
    assert refused.exit_code == 2
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize("language", ["en", "fr"])
@pytest.mark.parametrize(
    ("adjacency", "said", "n_panels"),
    [
        ("add-remove", ("23.20 %", "45.09 %"), 4),
        ("replace", ("23.20 %",), 4),
        ("zero-out", ("23.20 %", "45.09 %"), 4),
        ("local", ("23.20 %",), 3),
        ("distance", ("23.20 %",), 3),
    ],
)
def test_a_page_has_the_beliefs_their_pictures_and_the_table(
    tmp_path, language, adjacency, said, n_panels
):
    file = tmp_path / "meaning.html"
    asked = ("--epsilon", 1, "--prior", 0.1, "--adjacency", adjacency, "--unit", "metre")
    made = run("meaning", *asked, "--lang", language, "-o", file)
    assert made.exit_code == 0, made.stderr
    page = file.read_text(encoding="utf-8")
    (verdict,) = re.findall(r'class="verdict">(.*?)</p>', page, re.DOTALL)
    for number in said:
        point = "," if language == "fr" else "."
        assert number.replace(".", point).replace(" ", "\xa0") in verdict
    assert page.count("<svg") == n_panels
    # A count has noise, and a respondent's answer or a place none of this kind.
    assert ("±" in page) == (adjacency not in {"local", "distance"})
    assert run("meaning", *asked, "-o", file).exit_code == 2  # nothing is overwritten


def test_a_page_with_a_delta_has_twice_the_factor_and_says_that_it_may_fail(tmp_path):
    file = tmp_path / "meaning.html"
    made = run("meaning", "--epsilon", 1, "--delta", 1e-5, "--prior", 0.5, "-o", file)
    assert made.exit_code == 0, made.stderr
    page = file.read_text(encoding="utf-8")
    most = 2 * math.e / (2 * math.e + 1)
    assert f"{100 * most:.2f}" in page
    assert "which is not δ" in page
    assert "but for a chance of" in page


def test_a_page_of_the_largest_and_the_least_epsilon_is_made(tmp_path):
    for number, epsilon in enumerate((0, 1e-9, 800)):
        file = tmp_path / f"{number}.html"
        assert run("meaning", "--epsilon", epsilon, "-o", file).exit_code == 0
        assert "nan" not in file.read_text(encoding="utf-8").lower().replace("finance", "")


def test_the_table_of_beliefs():
    lines = run("meaning", "--table").stdout.splitlines()
    assert len(lines) == 15
    assert "twice epsilon" in lines[-1]
    printed = "50 % 50.25 51.25 52.50 54.98 62.25 73.11 88.08 95.26"
    assert " ".join(lines[7].split()) == printed


def fields(text):
    return sorted(name for _, name, _, _ in string.Formatter().parse(text) if name)


def test_both_languages_have_the_same_sentences_with_the_same_places():
    english, french = LANGUAGES["en"], LANGUAGES["fr"]
    assert english.keys() == french.keys()
    for name in english:
        # French leaves out the unit where "une unité" says it.
        assert set(fields(french[name])) <= set(fields(english[name])), name
        assert set(fields(english[name])) - set(fields(french[name])) <= {"unit"}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "adjacency", ["add-remove", "replace", "zero-out", "local", "distance"]
)
def test_every_kind_of_guarantee_can_be_said(language, adjacency):
    facts = meaning_of(Guarantee(epsilon=0.5, delta=1e-6, adjacency=adjacency))
    lines = explained(facts, adjacency=adjacency, unit="metre", language=language)
    assert all(lines)
    assert not any("{" in line for line in lines)
    is_any = any("any statement" in line or "toute affirmation" in line for line in lines)
    assert is_any == (adjacency != "distance")
    twice = any("counts twice" in line or "compte double" in line for line in lines)
    assert twice == (adjacency in {"add-remove", "zero-out"})
    is_about_members = any("members" in line or "membres" in line for line in lines)
    assert is_about_members == (adjacency not in {"local", "distance"})


def test_a_budget_is_made_spent_shown_and_verified(tmp_path):
    file = tmp_path / "budget.db"
    made = run("ledger", "create", file, "--epsilon", 1, "--unit", "person", "--about", "2027")
    assert made.exit_code == 0, made.stderr
    spend = ("ledger", "spend", file, "--unit", "person", "--who", "Ada", "--what", "mean age")
    first = run(*spend, "--epsilon", 0.75)
    assert first.exit_code == 0, first.stderr
    assert "0.25" in first.stderr
    refused = run(*spend, "--epsilon", 0.5)
    assert refused.exit_code == 1
    assert "0.25" in refused.stderr
    shown = run("ledger", "show", file)
    assert "Ada" in shown.stdout
    assert "left:  epsilon = 0.25 (add-remove, per person)" in shown.stdout
    assert "2027" in shown.stdout
    head = run("ledger", "verify", file)
    assert len(head.stdout.strip()) == 64
    assert run("ledger", "verify", file, "--head", head.stdout.strip()).exit_code == 0
    assert run("ledger", "verify", file, "--head", "0" * 64).exit_code == 1


def test_a_ledger_is_paid_for_by_another(tmp_path):
    office, health, taxes = (tmp_path / f"{name}.db" for name in ("office", "health", "taxes"))
    assert run("ledger", "create", office, "--epsilon", 1, "--unit", "person").exit_code == 0
    part = ("--unit", "person", "--out-of", office, "--who", "Ada")
    made = run("ledger", "create", health, "--epsilon", 0.75, *part)
    assert made.exit_code == 0, made.stderr
    assert "left in office.db: epsilon = 0.25" in made.stderr
    assert run("ledger", "create", taxes, "--epsilon", 0.5, *part).exit_code == 1
    other = ("--unit", "household", "--out-of", office, "--who", "Ada")
    assert run("ledger", "create", taxes, "--epsilon", 0.25, *other).exit_code == 2
    assert not taxes.exists()
    assert [one.what for one in BudgetLedger.open(office).entries()] == ["budget of health.db"]


def test_what_several_ledgers_spent_adds_up(tmp_path):
    files = [tmp_path / "survey.db", tmp_path / "register.db"]
    for file, epsilon in zip(files, (0.5, 0.25), strict=True):
        run("ledger", "create", file, "--epsilon", 1)
        spend = ("ledger", "spend", file, "--who", "Bob", "--what", "mean age")
        assert run(*spend, "--epsilon", epsilon).exit_code == 0
    shown = run("ledger", "show", *files).stdout
    assert "together, spent: epsilon = 0.75 (add-remove, per record)" in shown
    assert "together" not in run("ledger", "show", files[0]).stdout


def test_ledgers_that_have_no_sum_are_told(tmp_path):
    for name, cost in (("a", ("--rho", 1)), ("b", ("--epsilon", 1, "--delta", 1e-6))):
        file = tmp_path / f"{name}.db"
        run("ledger", "create", file, *cost)
        assert run("ledger", "spend", file, *cost, "--who", "A", "--what", "w").exit_code == 0
    refused = run("ledger", "show", tmp_path / "a.db", tmp_path / "b.db")
    assert refused.exit_code == 2
    assert "no sum" in refused.stderr


def test_a_changed_ledger_is_told(tmp_path):
    file = tmp_path / "budget.db"
    run("ledger", "create", file, "--rho", 1)
    run("ledger", "spend", file, "--rho", 0.5, "--who", "Ada", "--what", "a table")
    with sqlite3.connect(file) as db:
        db.execute("UPDATE dp_entry SET rho = '0.1'")
    db.close()
    result = run("ledger", "verify", file)
    assert result.exit_code == 1
    assert "not what was written" in result.stderr
    assert (
        run("ledger", "spend", file, "--rho", 0.1, "--who", "A", "--what", "w").exit_code == 2
    )


def test_what_is_no_ledger_is_refused(tmp_path):
    for verb in ("show", "verify"):
        assert run("ledger", verb, tmp_path / "absent.db").exit_code == 2
    assert run("ledger", "create", tmp_path / "b.db").exit_code == 2
    assert not list(tmp_path.iterdir())


def test_help_has_examples():
    for verb in ((), ("budget",), ("noise",), ("meaning",), ("ledger",)):
        assert "ckm dp" in run(*verb, "--help").stdout
