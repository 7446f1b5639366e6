"""The report of a release: written with it, and made again from what it keeps."""

import hashlib
import html
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import ckm.release.pages.rerender
from ckm.cli import app
from ckm.config import JobError, read_job
from ckm.errors import CheckFailedError, ReleaseError
from ckm.release.files.manifest import METHODS, manifest_text
from ckm.release.files.output_folder import only_writer, resolve_target
from ckm.release.pages.numbers import read_facts
from ckm.release.pages.report_pages import hidden_texts
from ckm.release.pages.rerender import remake_report
from ckm.release.perturbed import release
from ptable import NoiseSpec, PTable, solve

ROOT = Path(__file__).resolve().parents[4]
SECRET = "a secret of sixteen bytes or more"  # noqa: S105

JOB = """
schema = 1
title = "People (made up)"
[data]
path = "people.parquet"
id = "person_id"
[keys]
secret = "secret.key"
[ptable]
path = "pt.parquet"
[[table]]
name = "places"
dimensions = ["place", "sex"]
"""
REPORT = """
[report]
id = "2027-03"
date = 2027-03-15
contact = "statistics@example.org"
ptable_label = "PT-2027-A"
"""
STRICT = "[report.limits]\naad = 0.01\n"
GRANTED = """
[[report.exceptions]]
what = "The limit on deviations"
who = "The head"
when = 2027-02-01
why = "Made up"
check = "utility"
"""


@pytest.fixture(scope="session")
def ptable():
    return solve(NoiseSpec(max_noise=2, variance=1.0))


@pytest.fixture(scope="session")
def ground(tmp_path_factory, ptable):
    """Make what every test begins with, and a release of it in ``done``."""
    folder = tmp_path_factory.mktemp("ground")
    rng = np.random.default_rng(7)
    n = 300
    people = {
        "person_id": [f"person-{i}" for i in range(n)],
        "place": rng.choice(["North", "South", "<script>alert(1)</script>"], n).tolist(),
        "sex": rng.choice(["F", "M"], n).tolist(),
    }
    pq.write_table(pa.table(people), folder / "people.parquet")
    ptable.write(folder / "pt.parquet")
    (folder / "secret.key").write_text(SECRET)
    (folder / "secret.key").chmod(0o600)
    write(folder, JOB + REPORT)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("CKM_SECRET", raising=False)
        made(folder, "done")
    return folder


@pytest.fixture
def folder(tmp_path, ground, monkeypatch):
    shutil.copytree(ground, tmp_path, dirs_exist_ok=True, ignore=lambda *_: ["done"])
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CKM_SECRET", raising=False)
    return tmp_path


@pytest.fixture
def out(ground, folder):
    """Return a copy of the release of the job as it is, for tests of what is done with it."""
    return shutil.copytree(ground / "done", folder / "out")


def write(folder, text):
    (folder / "job.toml").write_text(text, encoding="utf-8")


def made(folder, name="out", **options):
    release(read_job(folder / "job.toml"), folder / name, **options)
    return folder / name


def run(*args):
    environment = {"CKM_LOG_FORMAT": "text"}
    return CliRunner(env=environment).invoke(app, [str(arg) for arg in args])


def bytes_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# --- written with the release ------------------------------------------------------------


def test_a_release_writes_both_editions_in_both_languages(out):
    for name in ("public/report.en.html", "public/report.fr.html"):
        page = (out / name).read_text(encoding="utf-8")
        for shown in ("2027-03", "statistics@example.org", "PT-2027-A"):
            assert shown in page
    assert "PT-2027-A" in (out / "internal" / "report-internal.fr.html").read_text("utf-8")
    assert 'lang="fr"' in (out / "public" / "report.fr.html").read_text("utf-8")


def test_titles_and_labels_stand_in_the_language_of_each_page(folder):
    title = 'title = { en = "People of a place", fr = "Habitants d\'un lieu" }'
    text = JOB.replace('title = "People (made up)"', title) + REPORT
    text = text.replace(
        'name = "places"\n',
        'name = "places"\ntitle = { en = "People by sex", fr = "Habitants par sexe" }\n',
    )
    text += '[[variable]]\nname = "sex"\nlabels = { en = "Gender", fr = "Genre" }\n'
    write(folder, text)
    out = made(folder)
    words = {
        "en": ("People of a place", "People by sex", "Gender (sex)"),
        "fr": ("Habitants d'un lieu", "Habitants par sexe", "Genre (sex)"),
    }
    for page in ("public/report", "internal/report-internal"):
        for own, other in (("en", "fr"), ("fr", "en")):
            shown = html.unescape((out / f"{page}.{own}.html").read_text(encoding="utf-8"))
            assert [word for word in words[own] if word not in shown] == []
            assert [word for word in words[other] if word in shown] == []
    for edition in ("--public", "--internal"):
        assert run("report", out, edition).exit_code == 0  # made again from what was kept


def test_the_public_pages_hold_nothing_that_must_stay_inside(folder, ptable):
    out = made(folder)
    facts = read_facts(out / "internal" / "report.json")
    hidden = [*hidden_texts(facts), SECRET, "people.parquet", str(folder), "person_id"]
    assert ptable.id in hidden
    for path in (out / "public").glob("report*"):
        text = path.read_text("utf-8")
        assert [word for word in hidden if word in text] == []
    assert ptable.id in (out / "internal" / "report.json").read_text("utf-8")


@pytest.mark.slow
def test_two_runs_give_the_same_public_bytes(folder):
    one, two = made(folder, "one", threads=1), made(folder, "two", threads=2)
    assert bytes_of(one / "public") == bytes_of(two / "public")


def test_the_manifests_list_the_pages_with_their_hashes(out):
    public = json.loads((out / "public" / "manifest.json").read_bytes())
    internal = json.loads((out / "internal" / "manifest.json").read_bytes())
    pages = ["en.html", "fr.html", "json"]
    expected = {"public": ["html", "fr.html", *pages], "internal": pages}
    for part, files in (("public", public["report"]), ("internal", internal["report"])):
        assert [file["file"].partition(".")[2] for file in files] == expected[part]
        for file in files:
            content = (out / part / file["file"]).read_bytes()
            assert hashlib.sha256(content).hexdigest() == file["sha256"]
    assert {file["file"] for file in public["report"]} <= {
        file["file"] for file in internal["public"]
    }


def test_languages_can_be_chosen(folder):
    write(folder, JOB + REPORT + 'languages = ["fr", "fr"]\n')
    out = made(folder)
    assert sorted(p.name for p in (out / "public").glob("report*")) == [
        "report.fr.html",
        "report.json",
    ]


def test_a_failed_check_stops_the_release_with_exit_code_1(folder):
    write(folder, JOB + STRICT)
    result = run("release", "job.toml", "-o", "out")
    assert result.exit_code == 1
    told = " ".join(result.stderr.split())
    assert "The release check 'utility' failed in 'places'. Its rule: The mean absolute" in told
    assert "Nothing was published." in told
    assert "[[report.exceptions]]" in result.stderr
    assert not (folder / "out").exists()
    assert not [path for path in folder.iterdir() if path.name.startswith(".out")]


@pytest.mark.slow
def test_a_failed_check_does_not_tell_the_noise_of_a_single_cell(folder):
    lonely = '[[table]]\nname = "one"\ndimensions = ["sex"]\nmargins = [[]]\n'
    lonely += 'where = "sex = \'F\'"\nempty_cells = "drop"\n'
    text = JOB[: JOB.index("[[table]]")] + lonely + "[report.limits]\naad = 0\n"
    texts = []
    for number in range(8):  # whatever the noise is, the words are the same
        (folder / "secret.key").write_text(SECRET + str(number))
        write(folder, text)
        result = run("release", "job.toml", "-o", "out", "--force")
        if result.exit_code == 1:
            texts.append(result.stderr.splitlines()[-2:])
    assert len(texts) > 2
    assert all(text == texts[0] for text in texts)


def test_a_failed_check_under_force_leaves_the_old_release(folder, out):
    before = bytes_of(out / "public")
    write(folder, JOB + STRICT)
    assert run("release", "job.toml", "-o", "out", "--force").exit_code == 1
    assert bytes_of(out / "public") == before


@pytest.mark.slow
@pytest.mark.parametrize("way", ["warn", "exception"])
def test_a_failed_check_that_is_accepted_is_published_and_told(folder, way):
    text = JOB + STRICT + (GRANTED if way == "exception" else "")
    if way == "warn":
        text = text.replace('secret = "secret.key"', 'secret = "secret.key"\nchecks = "warn"')
    write(folder, text)
    result = run("release", "job.toml", "-o", "out")
    assert result.exit_code == 0
    assert "The release check 'utility' failed" in result.stderr
    facts = read_facts(folder / "out" / "internal" / "report.json")
    assert [check.name for check in facts.checks if check.outcome == "failed"] == ["utility"]
    assert "The release check 'utility' failed" in facts.warnings[0]
    assert [entry.who for entry in facts.exceptions] == ["The head"] * (way == "exception")


@pytest.mark.slow
@pytest.mark.parametrize("leak", ["secret", "hash", "folder"])
def test_a_planted_leak_stops_even_a_release_that_warns(folder, leak, ptable):
    marker = {"secret": SECRET, "hash": ptable.id, "folder": str(folder)}[leak]
    text = JOB.replace("People (made up)", f"People {marker}")
    write(folder, text.replace("[keys]", '[keys]\nchecks = "warn"'))
    with pytest.raises(CheckFailedError, match="public-scan") as caught:
        made(folder)
    assert marker not in str(caught.value)
    assert not (folder / "out").exists()


@pytest.mark.slow
@pytest.mark.parametrize("form", ["hex:{}", "{}", "{:.16}"])
def test_a_secret_in_digits_is_found_in_the_texts_of_the_job(folder, form):
    digits = "7f3a5c" * 11
    (folder / "secret.key").write_text(f"hex:{digits}")
    write(folder, JOB + REPORT.replace("PT-2027-A", form.format(digits.upper())))
    with pytest.raises(CheckFailedError, match=r"out of: ptable_label$"):
        made(folder)


@pytest.mark.parametrize("leak", ["secret", "hash"])
def test_a_leak_that_only_the_manifest_shows_is_found(folder, leak, ptable):
    marker = {"secret": SECRET, "hash": ptable.id[:12]}[leak]
    write(folder, JOB + f'[output]\ntotal_label = "All {marker}"\n')
    with pytest.raises(CheckFailedError, match="the public manifest would hold") as caught:
        made(folder)
    assert marker not in str(caught.value)
    assert "columns" in str(caught.value)


def test_a_table_that_is_called_like_its_folder_is_no_leak(folder):
    (folder / "jobseekers").mkdir()
    text = JOB.replace('"places"', '"jobseekers"')
    for name in ("people.parquet", "secret.key", "pt.parquet"):
        text = text.replace(f'"{name}"', f'"../{name}"')
    (folder / "jobseekers" / "job.toml").write_text(text)
    assert run("release", "jobseekers/job.toml", "-o", "out").exit_code == 0


def test_hostile_names_are_shown_as_they_stand_and_run_nowhere(out):
    facts = read_facts(out / "internal" / "report.json")
    assert any(fact.value == "<script>alert(1)</script>" for fact in facts.utility)
    for page in out.rglob("*.html"):
        assert "<script" not in page.read_text("utf-8")


def test_designs_are_compared_with_that_of_the_release(folder):
    (folder / "designs.toml").write_text('[designs.r5]\nmechanism = "rounding"\nbase = 5\n')
    write(folder, JOB + REPORT + 'designs = "designs.toml"\n')
    facts = read_facts(made(folder) / "internal" / "report.json")
    assert [(d.name, d.chosen) for d in facts.scenarios.designs] == [
        ("PT-2027-A", True),
        ("r5", False),
    ]
    with pytest.raises(ReleaseError, match=r"holds '\w+.toml', which the job reads"):
        release(read_job(folder / "job.toml"), folder, force=True)


def test_a_broken_file_of_designs_is_told_before_anything_is_read(folder):
    (folder / "designs.toml").write_text('[designs.r5]\nmechanism = "smell"\n')
    write(folder, JOB + REPORT + 'designs = "designs.toml"\n')
    told = []
    with pytest.raises(JobError, match=r"designs\.toml"):
        made(folder, progress=lambda *step: told.append(step))
    assert told == []
    (folder / "empty.toml").touch()
    write(folder, JOB + REPORT + 'designs = "empty.toml"\n')
    assert "ckm demo makes one" in run("release", "job.toml", "-o", "out").stderr
    assert run("release", "job.toml", "-o", "out", "--dry-run").exit_code == 2


def test_a_hierarchy_from_fine_to_broad_is_told(folder):
    people = pq.read_table(folder / "people.parquet")
    north = [place == "North" for place in people["place"].to_pylist()]
    pq.write_table(people.append_column("north", pa.array(north)), folder / "people.parquet")
    for columns, is_told in ((["place", "north"], True), (["north", "place"], False)):
        table = '[[table]]\nname = "geo"\ndimensions = ["geo"]\n'
        begin = JOB.partition("[[table]]")[0]
        write(folder, f"{begin}[hierarchies]\ngeo = {columns}\n{table}")
        result = run("check", "job.toml")
        assert ("'place', 'north' has one category of the next" in result.stderr) is is_told


@pytest.mark.slow
def test_warnings_of_the_release_stand_in_its_report(folder):
    write(
        folder, JOB + '[[table]]\nname = "none"\ndimensions = ["sex"]\nwhere = "sex = \'X\'"\n'
    )
    facts = read_facts(made(folder) / "internal" / "report.json")
    of_filter, of_zeros = facts.warnings
    assert "Readers learn that none count some records alone" in of_filter
    assert of_zeros.startswith("Table 'none' publishes nothing but zeros")


def test_figures_without_a_limit_are_shown_inside_and_no_checks_in_public(out):
    facts = read_facts(out / "internal" / "report.json")
    open_ones = {check.name for check in facts.checks if check.outcome == "no limit"}
    assert open_ones == {"posterior", "posterior-set", "attacks", "utility"}
    shown = [check for check in facts.checks if check.name in open_ones - {"attacks"}]
    assert all(check.found and not check.allowed for check in shown)
    inside = (out / "internal" / "report-internal.en.html").read_text(encoding="utf-8")
    assert (
        "the office set no limit for 4 checks; disclosure from all tables together was"
        in inside
    )
    page = (out / "public" / "report.en.html").read_text(encoding="utf-8")
    made_ones = len(facts.checks) - len(open_ones)
    assert f"All {made_ones} checks passed." in page
    assert "limit of the office" not in page, "nobody decided a limit"
    assert "The office decided" not in page
    footer = page.partition("<footer")[2]
    assert "public-files-hold-no-original" not in re.sub(r"<[^>]*>", "", "<" + footer)
    assert 'data-assurance-case="public-files-hold-no-original' in page
    assert "Parts need not add up to their total" in page
    assert "no limit set" not in page
    assert "set no limit" not in page


@pytest.mark.slow
def test_noise_of_two_outcomes_is_named_by_the_check_the_log_and_the_report(folder):
    write(folder, JOB.replace('path = "pt.parquet"', "max_noise = 10\nvariance = 10.0"))
    words = "two outcomes or hardly more: count 1 becomes 0 (91%) or 11 (9%)"
    quick = run("check", "job.toml", "--quick")
    assert (quick.exit_code, words in quick.stderr) == (0, True)
    assert run("check", "job.toml").stderr.count(words) == 1
    done = run("release", "job.toml", "-o", "out")
    assert (done.exit_code, done.stderr.count(words)) == (0, 1)
    (warning,) = read_facts(folder / "out/internal/report.json").warnings
    assert words in warning
    assert "A variance of 8.7 is the nearest smaller one" in warning
    for page in (folder / "out/public").glob("report.*"):
        assert "outcomes" not in page.read_text(encoding="utf-8"), page


@pytest.mark.parametrize(
    ("language", "words"), [("en", "Weighted counts"), ("fr", "Effectifs pondérés")]
)
def test_the_public_page_explains_weighted_counts_where_there_are_some(
    folder, out, language, words
):
    def page(out):
        return (out / "public" / f"report.{language}.html").read_text(encoding="utf-8")

    assert words not in page(out)
    people = pq.read_table(folder / "people.parquet")
    weight = pa.array([1.5] * people.num_rows)
    pq.write_table(people.append_column("weight", weight), folder / "people.parquet")
    text = JOB.replace('id = "person_id"', 'id = "person_id"\nweight = "weight"')
    write(folder, text + 'measures = ["count", "weighted"]\n')
    assert words in page(made(folder, "other"))


def test_the_public_page_tells_how_far_counts_lie_off_only_where_the_job_says_so(folder, out):
    def page(out, language):
        text = (out / "public" / f"report.{language}.html").read_text(encoding="utf-8")
        return " ".join(html.unescape(text).split())

    hidden = "The size of the largest changes, and how often they occur, is not published"
    assert hidden in page(out, "en")
    assert 'id="precision"' not in page(out, "fr")
    write(folder, JOB + REPORT + "[output]\npublish_noise = true\n")
    told = made(folder, "told")  # its own scan finds nothing either
    assert hidden not in page(told, "en")
    assert "within ±2 of the true one" in page(told, "en")
    assert "the variance of the changes is 1 or less" in page(told, "en")
    assert cells_of(page(told, "fr"), "precision")[3:6] == ["10", "±2", "20"]
    assert json.loads((told / "public/report.json").read_text())["margin"]["largest"] == 2


def test_tables_are_linked_to_their_files(out):
    text = (out / "public" / "report.en.html").read_text(encoding="utf-8")
    links = re.findall(r'href="\./([^"]*)"', text)
    assert sorted(links) == ["places.csv", "places.parquet"]
    assert all((out / "public" / name).is_file() for name in links)


@pytest.mark.parametrize("additive", [False, True])
def test_the_same_answer_in_every_table_is_claimed_only_where_it_is_given(folder, additive):
    write(folder, JOB + "[output]\nadditive = true\n" * additive)
    out = made(folder)
    text = " ".join((out / "public/report.en.html").read_text(encoding="utf-8").split())
    assert ("has the same answer in every table of this release" in text) != additive
    assert "at any time" not in text


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", "The method forbids no small count."),
        ("fr", "interdit aucun petit effectif."),
    ],
)
def test_a_method_without_forbidden_counts_is_worded_so_and_inside_alone(out, language, words):
    inside = (out / "internal" / f"report-internal.{language}.html").read_text("utf-8")
    assert words in inside
    assert not re.search("in 1 to 0|entre 1 et 0", inside)
    assert words not in (out / "public" / f"report.{language}.html").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_every_warning_of_a_release_stands_in_its_report_once(folder):
    noisy = PTable(noise=[[0, 1], [-1, 1]], upper=[[4, 8], [4, 8]], key_range=8)
    (folder / "pt.parquet").unlink()
    noisy.write(folder / "pt.parquet")
    text = JOB + '[hierarchies]\nunused = ["sex"]\n'
    write(folder, text.replace("[keys]", '[keys]\nchecks = "warn"'))
    for out in ("one", "two"):  # not only once per process
        facts = read_facts(made(folder, out) / "internal" / "report.json")
        for words in (
            "'unused' is a dimension of no table",
            "has no certificate",
            "has noise for counts of 0",
        ):
            assert len([text for text in facts.warnings if words in text]) == 1, words
    assert run("release", "job.toml", "-o", "three").exit_code == 0
    assert read_facts(folder / "three/internal/report.json").warnings == facts.warnings


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[report]\ndate = "2027-03-15"', "[report] date must be a date without quotes"),
        ("[report]\ndates = 2027-03-15", "did you mean 'date'?"),
        ('[report]\nlanguages = ["de"]', "[report] languages"),
        ("[report]\nsensitive = 0", "[report] sensitive must be at least 1"),
        ('[report]\ndesigns = "nowhere.toml"', "designs 'nowhere.toml' does not exist"),
        ("[report.limits]\nposterior = 2", "[report.limits] posterior must be at most 1"),
        ("[report.limits]\naad = -1", "[report.limits] aad must be at least 0"),
        ("[report.limits]\nattacks = {differencin = 0.9}", "did you mean 'differencing'?"),
        ("[report.limits]\nattacks = {differencing = 7}", "must be at most 1"),
        ('[[report.exceptions]]\nwhat = "a"', "[[report.exceptions]] number 1: who is missing"),
        (GRANTED.replace('"utility"', '"utilit"'), "did you mean 'utility'?"),
        (GRANTED.replace('"utility"', '"public-scan"'), "cannot be allowed to fail"),
        ("report = 3", "[report] must be a table of keys and values"),
    ],
)
def test_problems_of_the_section_are_told_with_their_place(folder, text, problem):
    write(folder, text + JOB if text.startswith("report =") else JOB + text)
    with pytest.raises(JobError) as caught:
        read_job(folder / "job.toml")
    assert problem in str(caught.value)


# --- made again ---------------------------------------------------------------------------


def test_the_pages_are_the_same_without_data_and_secret(folder, out):
    before = {path: path.read_bytes() for path in out.rglob("report*.html")}
    for name in ("people.parquet", "secret.key", "pt.parquet", "job.toml"):
        (folder / name).unlink()
    for path in before:
        path.unlink()
    public = run("report", "out")
    internal = run("report", "out", "--internal")
    assert (public.exit_code, internal.exit_code) == (0, 0)
    assert {path: path.read_bytes() for path in out.rglob("report*.html")} == before
    assert public.stdout.splitlines() == [
        "out/public/report.en.html",
        "out/public/report.fr.html",
    ]
    assert "report.en.html: unchanged" in run("report", "out").stderr


@pytest.mark.slow
def test_the_numbers_are_the_same_too(folder, out):
    for edition in ("public", "internal"):
        result = run("report", "out", f"--{edition}", "-o", f"{edition}.json")
        assert result.exit_code == 0
        assert (folder / f"{edition}.json").read_bytes() == (
            out / edition / "report.json"
        ).read_bytes()


def test_pages_in_a_folder_link_to_the_tables_from_there(folder, out):
    assert run("report", "out", "--lang", "en", "-o", "pages").exit_code == 0
    page = folder / "pages" / "report.en.html"
    links = re.findall(r'href="([^"#]*\.csv)"', page.read_text("utf-8"))
    assert [(page.parent / link).resolve() for link in links] == [
        (out / "public" / "places.csv").resolve()
    ]


@pytest.mark.usefixtures("out")
def test_one_page_to_pass_on_names_the_files_and_links_to_none(folder):
    (folder / "a b").mkdir()
    assert run("report", "out", "--lang", "en", "-o", "a b/page.html").exit_code == 0
    text = (folder / "a b" / "page.html").read_text("utf-8")
    assert "places.csv" in text
    assert all(link.startswith("#") for link in re.findall(r'href="([^"]*)"', text))


@pytest.mark.usefixtures("out")
def test_the_language_of_pages_is_not_that_of_messages(folder):
    told = run("report", "out", "--lang", "fr", "-o", "fr.html").stderr
    assert "the files are those" in told
    told = run("--lang", "fr", "report", "out", "--lang", "en", "-o", "en.html").stderr
    assert "les fichiers sont ceux" in told
    for language in ("fr", "en"):
        assert f'lang="{language}"' in (folder / f"{language}.html").read_text("utf-8")
    assert "Langue des pages" in run("report", "--help", "--lang", "fr").stdout


@pytest.mark.usefixtures("out")
def test_a_page_goes_where_it_is_asked_for(folder):
    assert run("report", "out", "--lang", "fr", "-o", "page.html").exit_code == 0
    assert 'lang="fr"' in (folder / "page.html").read_text("utf-8")
    assert run("report", "out", "--internal", "-o", "pages").exit_code == 0
    assert sorted(p.name for p in (folder / "pages").iterdir()) == [
        "report-internal.en.html",
        "report-internal.fr.html",
    ]
    refused = run("report", "out", "-o", "both.html")
    assert refused.exit_code == 2
    assert "choose one with --lang" in refused.stderr


@pytest.mark.usefixtures("out")
def test_a_report_is_no_pdf_and_makes_no_folder_of_that_name(folder):
    refused = run("report", "out", "-o", "report.pdf")
    assert refused.exit_code == 2
    assert "in a browser" in refused.stderr
    assert not (folder / "report.pdf").exists()


def test_the_internal_edition_does_not_go_into_the_public_folder(folder, out):
    (folder / "link").symlink_to(out / "public", target_is_directory=True)
    for place in ("out/public", "out/public/x.json", "link/page.html", "out/public/sub"):
        refused = run("report", "out", "--internal", "--lang", "en", "-o", place)
        assert refused.exit_code == 2
        assert "does not go into public/" in refused.stderr
    assert not list((out / "public").glob("*internal*"))


def test_a_page_that_differs_stays_without_force(out):
    page = out / "public" / "report.en.html"
    before = page.read_bytes()
    page.write_text("mine")
    refused = run("report", "out")
    assert refused.exit_code == 2
    assert "replace it with --force" in refused.stderr
    assert page.read_text() == "mine"
    assert run("report", "out", "--force").exit_code == 0
    assert page.read_bytes() == before


@pytest.mark.slow
def test_a_language_that_is_added_is_listed_and_the_release_stays_ours(folder):
    write(folder, JOB + REPORT + 'languages = ["en"]\n')
    out = made(folder)
    assert run("report", "out", "--lang", "fr").exit_code == 0
    public = json.loads((out / "public" / "manifest.json").read_bytes())
    assert "report.fr.html" in [file["file"] for file in public["report"]]
    english = out / "public" / "report.en.html"
    assert "report.fr.html" not in english.read_text("utf-8")  # what is released stays
    assert run("report", "out").exit_code == 2
    assert run("report", "out", "--force").exit_code == 0
    assert "report.fr.html" in english.read_text("utf-8")
    assert run("release", "job.toml", "-o", "out", "--force").exit_code == 0


@pytest.mark.parametrize(
    ("part", "name", "action"),
    [
        ("public", "places.csv", "change"),
        ("public", "places.parquet", "remove"),
        ("public", "manifest.json", "change"),
        ("public", "report.json", "change"),
        ("internal", "report.json", "change"),
    ],
)
def test_a_file_that_is_not_the_released_one_is_named(folder, out, part, name, action):
    path = out / part / name
    if action == "remove":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes() + b" ")
    result = run("report", "out", "-o", "elsewhere")
    assert result.exit_code == 1
    assert f"{part}/{name} ({'missing' if action == 'remove' else 'changed'})" in result.stderr
    assert not (folder / "elsewhere").exists()


def test_a_dry_run_writes_nothing(out):
    (out / "public" / "report.fr.html").unlink()
    result = run("report", "out", "--dry-run")
    assert result.exit_code == 0
    assert "report.fr.html: would be written" in result.stderr
    assert result.stdout == ""
    assert not (out / "public" / "report.fr.html").exists()


def test_a_folder_that_is_no_release_is_told(folder):
    (folder / "empty").mkdir()
    for name in ("empty", "nowhere", "job.toml"):
        result = run("report", name)
        assert result.exit_code == 2
        assert "is not a release of ckm" in result.stderr


def test_an_old_release_without_numbers_is_told_with_a_way_out(out):
    manifest = json.loads((out / "internal" / "manifest.json").read_bytes())
    del manifest["report"]
    (out / "internal" / "manifest.json").write_text(json.dumps(manifest))
    (out / "internal" / "report.json").unlink()
    result = run("report", "out")
    assert result.exit_code == 2
    assert "was made without a report" in result.stderr
    assert "ckm release internal/job.toml makes one, without place" in result.stderr


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b"{",
        b'{"edition": "public"}',
        b'{"edition": "internal"}',
        b'{"edition": "internal", "id": 3}',
        b"[" * 100_000,
        b'{"edition": "internal", "id": "\\ud800"}',
    ],
)
def test_numbers_that_are_none_are_refused(tmp_path, content):
    path = tmp_path / "report.json"
    path.write_bytes(content)
    with pytest.raises(ReleaseError, match="is not the report of a release"):
        read_facts(path)


def test_numbers_that_are_not_finite_are_refused(out):
    path = out / "internal" / "report.json"
    text = path.read_text("utf-8")
    for spoilt in ("NaN", "Infinity", '"three"', "null"):
        changed = text.replace('"published": ', f'"published": {spoilt}, "x": ', 1)
        assert changed != text
        path.write_text(changed, encoding="utf-8")
        with pytest.raises(ReleaseError, match="is not the report of a release"):
            read_facts(path)


def test_a_manifest_that_points_outside_is_refused(out):
    path = out / "internal" / "manifest.json"
    manifest = json.loads(path.read_bytes())
    manifest["public"][0]["file"] = "../../people.parquet"
    path.write_text(json.dumps(manifest))
    with pytest.raises(ReleaseError, match="is not a release of ckm"):
        remake_report(out)


def test_a_failure_while_writing_leaves_no_draft_and_the_old_page(out, monkeypatch):
    page = out / "public" / "report.en.html"
    page.write_text("old")

    def fail(*_args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    result = run("report", "out", "--force")
    assert result.exit_code == 2
    assert "No space left" in result.stderr
    assert page.read_text() == "old"
    assert not list(out.rglob(".*"))


def listed_as_they_are(out):
    """Whether both manifests list every page and the public manifest with its true hash."""
    public = json.loads((out / "public" / "manifest.json").read_bytes())
    internal = json.loads((out / "internal" / "manifest.json").read_bytes())
    lists = [("public", public["report"]), ("public", internal["public"])]
    lists += [("internal", internal["report"])]
    return all(
        hashlib.sha256((out / part / file["file"]).read_bytes()).hexdigest() == file["sha256"]
        for part, files in lists
        for file in files
    )


@pytest.mark.slow
@pytest.mark.parametrize("edition", ["public", "internal"])
@pytest.mark.parametrize("survived", [0, 2])
def test_a_kill_while_pages_are_made_again_is_healed_by_the_next_run(
    folder, out, edition, survived
):
    # As if an earlier version of ckm had made the pages: other words, listed as they are.
    for page in out.rglob("*.html"):
        page.write_text("older words")
    for path in (out / "public" / "manifest.json", out / "internal" / "manifest.json"):
        manifest = json.loads(path.read_bytes())
        for file in [*manifest["report"], *manifest.get("public", ())]:
            for place in ("public", "internal"):
                if (out / place / file["file"]).is_file() and file["file"] != "report.json":
                    raw = (out / place / file["file"]).read_bytes()
                    if file["file"] != "manifest.json" or place == "public":
                        file |= {"bytes": len(raw), "sha256": hashlib.sha256(raw).hexdigest()}
        path.write_bytes(manifest_text(manifest).encode())
    assert listed_as_they_are(out)
    code = (
        "import os, signal\n"
        "from pathlib import Path\n"
        "from ckm.release.pages.rerender import remake_report\n"
        "really, left = Path.replace, [%d]\n"
        "def replace(self, target):\n"
        "    if not left[0]:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    left[0] -= 1\n"
        "    return really(self, target)\n"
        "Path.replace = replace\n"
        "remake_report('out', edition=%r, force=True)\n"
    )
    process = subprocess.run(
        [sys.executable, "-c", code % (survived, edition)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
        stderr=subprocess.DEVNULL,
    )
    assert process.returncode == -signal.SIGKILL
    result = run("report", "out", f"--{edition}", "--force")
    assert result.exit_code == 0, result.stderr
    assert listed_as_they_are(out)
    assert not list(out.rglob(".*"))
    assert run("report", "out", f"--{edition}").exit_code == 0


def test_pages_that_are_the_same_leave_every_file_alone(folder):
    write(folder, JOB + REPORT + 'languages = ["fr", "en"]\n')
    out = made(folder)
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()}
    for edition in ("public", "internal"):
        result = run("report", "out", f"--{edition}")
        assert result.stderr.count(": unchanged") == 2
    after = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()}
    assert before == after


def test_a_page_that_somebody_changed_is_not_listed_as_released(out):
    (out / "public" / "report.en.html").write_text("mine")
    (out / "public" / "report.fr.html").unlink()
    before = (out / "public" / "manifest.json").read_bytes()
    assert run("report", "out", "--lang", "fr").exit_code == 0
    assert (out / "public" / "manifest.json").read_bytes() == before


def test_a_report_waits_for_no_release_and_says_so(out):
    (out / "public" / "report.fr.html").unlink()
    with only_writer(resolve_target(out)):
        refused = run("report", "out")
        assert refused.exit_code == 2
        assert "Another process is writing 'out'" in refused.stderr
        assert run("report", "out", "--lang", "en").exit_code == 0  # nothing to write
    assert run("report", "out").exit_code == 0


def test_a_draft_that_a_kill_left_does_not_stand_in_the_way_of_a_release(folder, out):
    (out / "public" / ".report.fr.0a1b2c3d.tmp.html").write_text("half")
    made(folder, force=True)
    assert not list(out.rglob(".*"))


def test_what_is_internal_can_be_read_by_its_owner_alone(folder, out):
    assert run("report", "out", "--internal", "-o", "page.json").exit_code == 0
    assert run("report", "out", "--internal", "-o", "pages").exit_code == 0
    inside = [*(out / "internal").iterdir(), *(folder / "pages").iterdir()]
    modes = {path: path.stat().st_mode & 0o077 for path in [*inside, folder / "page.json"]}
    assert len(modes) == 9
    assert set(modes.values()) == {0}
    assert (out / "internal").stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_a_kill_while_the_report_is_written_leaves_no_release(folder):
    code = (
        "import os, signal\n"
        "from reports.report import Report\n"
        "from ckm.config import read_job\n"
        "from ckm.release import release\n"
        "Report.write = lambda self, path: os.kill(os.getpid(), signal.SIGKILL)\n"
        "release(read_job('job.toml'), 'out')\n"
    )
    process = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
        stderr=subprocess.DEVNULL,
    )
    assert process.returncode == -signal.SIGKILL
    assert not (folder / "out").exists()
    made(folder)


def test_the_help_has_examples():
    text = run("report", "--help").stdout
    assert "ckm report out/2027-03/ --public --lang fr" in text
    assert ckm.release.pages.rerender.__doc__


# --- words of the office -----------------------------------------------------------------

WORDS = """
[[variable]]
name = "sex"
labels = { en = "Sex", fr = "Sexe" }
categories = { F = { en = "Women", fr = "Femmes" } }
"""


def cells_of(page, ident):
    """The texts of the table with an id."""
    table = re.search(rf'<table[^>]*id="{ident}".*?</table>', page, re.DOTALL)
    if table is None:
        table = re.search(rf'id="{ident}".*?</table>', page, re.DOTALL)
    texts = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", table.group(), re.DOTALL)
    return [re.sub(r"<[^>]*>", "", text).strip() for text in texts]


@pytest.mark.slow
@pytest.mark.parametrize(("language", "sex", "women"), [
    ("en", "Sex (sex)", "Women (F)"),
    ("fr", "Sexe (sex)", "Femmes (F)"),
])  # fmt: skip
def test_the_internal_page_calls_categories_as_readers_know_them(folder, language, sex, women):
    write(folder, JOB + WORDS + REPORT)
    internal = made(folder, full=True) / "internal"
    page = internal / f"report-internal.{language}.html"
    shown = page.read_text(encoding="utf-8")
    for ident in ("variables", "measures"):
        texts = cells_of(shown, ident)
        joined = "|".join(texts)
        assert {sex, women} <= {*texts} or f"{sex}: {women}" in texts
        assert "F" not in texts
        assert "M" in texts or f"{sex}: M" in texts  # no word was given for it
        assert "North" in joined
    page.unlink()
    again = ("report", folder / "out", "--internal", "--lang", language)
    assert run(*again, "--full").exit_code == 0
    assert page.read_text(encoding="utf-8") == shown
    assert run(*again).exit_code == 2  # without the long lists it is another page
    assert run(*again, "--force").exit_code == 0
    assert women not in page.read_text(encoding="utf-8")


def text_of(page):
    return " ".join(re.sub("<[^>]+>", " ", html.unescape(page.read_text("utf-8"))).split())


@pytest.mark.slow
def test_a_bias_that_keeps_counts_positive_is_told_on_every_page(folder):
    noise = "max_noise = 5\nvariance = 3.0\npositive_bias = 0.8"
    text = (JOB + REPORT).replace('path = "pt.parquet"', noise)
    write(folder, text)
    out = made(folder, "positive")
    inside = text_of(out / "internal" / "report-internal.en.html")
    assert "The mean noise is +0.8 for count 1" in inside
    public = text_of(out / "public" / "report.en.html")
    assert "A count above 0 is not published as 0" in public
    assert "ups and downs" not in public
    assert "0.8" not in public
    manifest = json.loads((out / "public" / "manifest.json").read_text("utf-8"))
    assert manifest["method"] == METHODS["positive"]
    write(folder, text + "[output]\nstream = true\n")
    streamed = made(folder, "streamed") / "public"
    assert "A count above 0 is not published as 0" in text_of(streamed / "report.en.html")
    manifest = json.loads((streamed / "manifest.json").read_text("utf-8"))
    assert manifest["method"] == METHODS["positive"]
    write(folder, text + "[output]\nadditive = true\n")
    with pytest.raises(JobError, match="additive may take positive counts to 0"):
        read_job(folder / "job.toml")


@pytest.mark.slow
def test_a_row_on_nearly_two_points_is_told_by_check_and_report(folder):
    write(
        folder, (JOB + REPORT).replace('path = "pt.parquet"', "max_noise = 10\nvariance = 10.0")
    )
    said = "count 1 becomes 0 (91%) or 11 (9%), 1.4 effective outcomes. A variance of 8.7 is"
    result = run("check", folder / "job.toml", "--quick")
    assert said in " ".join(result.stderr.split())
    inside = text_of(made(folder, "two") / "internal" / "report-internal.en.html")
    assert said in inside
    assert "ups and downs" in text_of(folder / "two" / "public" / "report.en.html")
