"""Projects: their filters are accounted for as long as the file is kept."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import subprocess
import sys
from dataclasses import replace

import pytest

from ckm.config.problems import JobError
from ckm.config.service.sections import RECONSTRUCTION
from ckm.config.service.service import read_service
from ckm.errors import ConfigError
from ckm.service.access import projects as projects_file
from ckm.service.access.projects import Projects
from ckm.service.access.tokens import TokenFile
from ckm.service.answering.filtered_sets import FilteredSet
from ckm.service.answering.messages import ClientError
from ckm.service.http.app import make_app
from ckm.service.process.server import open_table_service, rehearse_service
from tests.unit.ckm.service.conftest import RULES, Web, write_service

ACCESS = """
[access]
filters = "researcher"
tokens = "tokens.json"
projects = "projects.sqlite"
audit = "audit.jsonl"
"""
DATA = "/tables/jobseekers/data"
LIMITS = "\n[limits]\nleast_variance = 0.82\n"
ONE = "category in ('A','B','C') or sex = 'F'"
OTHER = "category in ('A','B') or (sex = 'F' and category <> 'C')"  # one of both is left enough


def a_set(number):
    return FilteredSet(
        categories="c",
        data="",
        population="",
        levels={},
        names=("x",),
        inside=(str(number),),
        areas="",
    )


def most(limit):
    """Let a project have so many sets."""

    def admissible(known, asked):
        new = [one for one in asked if one not in known]
        return new if len(known) + len(new) <= limit else None

    return admissible


@pytest.fixture
def path(tmp_path):
    return tmp_path / "projects.sqlite"


def test_a_project_keeps_what_it_got_over_a_restart_and_may_ask_for_it_again(path):
    one, two = Projects(path), Projects(path)
    assert one.take("a", [a_set(1)], judge=most(1))
    assert not two.take("a", [a_set(2)], judge=most(1))
    assert two.take("b", [a_set(2)], judge=most(1))
    for projects in (one, two):
        projects.close()
    again = Projects(path)
    assert again.take("a", [a_set(1)], judge=most(0))
    assert not again.take("a", [a_set(1), a_set(2)], judge=most(1))
    assert path.stat().st_mode & 0o777 == 0o600


def test_others_write_while_one_is_judged_who_is_then_judged_anew(path):
    one, two = Projects(path), Projects(path)
    seen = []

    def judge(known, asked):
        if not seen:
            assert two.take("a", [a_set(1)], judge=most(1))
        seen.append(len(known))
        return most(1)(known, asked)

    assert not one.take("a", [a_set(2)], judge=judge)
    assert seen == [0, 1]


@pytest.mark.slow
def test_of_processes_that_ask_at_once_no_more_is_answered_than_there_is_room_for(path):
    code = (
        "import sys; from pathlib import Path\n"
        "from ckm.service.access.projects import Projects\n"
        "from tests.unit.ckm.service.access.test_projects import a_set, most\n"
        "projects = Projects(Path(sys.argv[1]))\n"
        "mine = [a_set(int(sys.argv[2]) + n) for n in range(40)]\n"
        "print(sum(projects.take('a', [one], judge=most(50)) for one in mine))"
    )
    Projects(path).close()
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(path), str(100 * n)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in range(2)
    ]
    assert sum(int(process.communicate(timeout=120)[0]) for process in started) == 50


def test_where_nothing_can_be_written_there_is_no_answer(path, caplog, monkeypatch):
    hurried = replace(projects_file._PROJECTS, wait_s=0.1)
    monkeypatch.setattr(projects_file, "_PROJECTS", hurried)
    projects = Projects(path)
    assert projects.take("a", [a_set(1)], judge=most(9))
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(ClientError) as caught:
            projects.take("a", [a_set(2)], judge=most(9))
        assert caught.value.status == 503
        assert "projects failed" in caplog.text
        assert projects.take("a", [a_set(1)], judge=most(9))  # nothing is to be written
    assert projects.take("a", [a_set(2)], judge=most(9))


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_file_that_is_deleted_or_replaced_under_a_service_is_no_account(path, is_replaced):
    projects, other = Projects(path), path.with_name("other.sqlite")
    assert projects.take("a", [a_set(1)], judge=most(9))
    Projects(other).close()
    path.unlink()
    if is_replaced:
        other.rename(path)
    with pytest.raises(ClientError):
        projects.take("a", [a_set(2)], judge=most(9))


@pytest.fixture
def opened(tmp_path):
    """Open the service, again and again; its tokens are made once."""
    write_service(tmp_path, more=RULES + ACCESS + LIMITS, persons=2000)
    file = TokenFile(tmp_path / "tokens.json")
    owners = {
        "alone": {"role": "researcher"},
        "first": {"role": "researcher", "project": "study"},
        "second": {"role": "researcher", "project": "study"},
        "officer": {"role": "officer", "project": "study"},
        "stranger": {"role": "public"},
        "other": {"role": "public", "project": "study"},
    }
    tokens = {name: file.add(label=name, **more) for name, more in owners.items()}

    @contextlib.contextmanager
    def make(*, rules=None, limits=None, **access):
        service = read_service(tmp_path / "service.toml")
        service = service.changed(
            access=service.access.changed(**access),
            rules=service.rules.changed(**rules or {}),
            limits=service.limits.changed(**limits or {}),
        )
        with open_table_service(service) as table_service:
            web = Web(make_app(table_service))

            def get(who, where, *, address=DATA, **more):
                params = {"valuecodes[geo]": "Total", "filter": where, **more}
                headers = {"Authorization": f"Bearer {tokens[who]}"}
                return web.get(address, params=params, headers=headers)

            yield get

    return make


def test_what_would_tell_a_project_too_much_is_refused_over_its_life(opened, tmp_path, caplog):
    with opened() as get:
        assert get("first", ONE).status_code == 200
        refused = get("second", OTHER)
        assert refused.status_code == 403
        told = refused.json()
        assert told["reason"] == "project_spent"
        assert told["type"] == "urn:ckm:problem:project_spent"
        assert "without a filter" in told["try"][0]
        french = get("second", OTHER, lang="fr").json()
        assert "demandez sans filtre" in french["try"][0]
        assert "project study" in {vars(record).get("account") for record in caplog.records}
        assert get("alone", OTHER).status_code == 200  # another project, which it is new to
        assert get("alone", ONE).status_code == 403  # remembered, and refused all the same
        page = get("alone", ONE, address="/", **{"codelist[geo]": "geo.region"})
        assert page.status_code == 403
        assert "by itself would tell too much" in page.text  # by region: for any project
        page = get("second", OTHER, address="/")
        assert "Together with the filtered tables" in page.text
        job = get("alone", ONE, outputFormat="csv")
        assert job.status_code == 403
        for where in (ONE, OTHER):
            assert get("officer", where).status_code == 200
    with opened() as get:
        assert get("second", ONE).status_code == 200
        assert get("second", OTHER).status_code == 403
        assert get("second", "category in ('A')", **{"valuecodes[category]": "A"}).is_success
    lines = [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text().splitlines()]
    assert sum(line["outcome"] == "project_spent" for line in lines) == 6


def test_a_filter_that_tells_too_much_by_itself_is_not_blamed_on_the_project(opened):
    with opened(limits={"least_variance": 0.99}) as get:
        for lang, words in (("en", "by itself would tell"), ("fr", "à lui seul, en dirait")):
            refused = get("alone", ONE, lang=lang)
            assert refused.status_code == 403
            assert refused.json()["reason"] == "filter_alone"
            assert words in refused.text
        page = get("alone", ONE, address="/", **{"codelist[geo]": "geo.region"})
        assert "by itself would tell too much" in page.text
        assert "your project got" not in page.text


def test_all_who_are_public_are_one_project(opened):
    with opened(filters="public") as get:
        assert get("stranger", ONE).status_code == 200
        assert get("other", OTHER).status_code == 403
        assert get("first", OTHER).status_code == 200


def test_a_refusal_depends_on_the_shape_alone(opened, tmp_path):
    """Other people with the same categories: the same answers and refusals."""
    wheres = [ONE, OTHER, "sex = 'F' or category = 'D'", "category <> 'E'"]
    outcomes = []
    for seed in (3, 4):
        for name in ("secret.key", "pt.parquet", "projects.sqlite"):
            (tmp_path / name).unlink(missing_ok=True)
        write_service(tmp_path, more=RULES + ACCESS + LIMITS, persons=2000, seed=seed)
        with opened() as get:
            outcomes.append([get("alone", where).status_code for where in wheres])
    assert outcomes[0] == outcomes[1]
    assert set(outcomes[0]) == {200, 403}


def test_no_rule_tells_of_filtered_counts_that_were_not_accounted(opened):
    """All 2,000 are enough for the rule, and those of the filters are not."""
    with opened(rules={"minimum_population": 1950}) as get:
        assert get("first", ONE).json()["reason"] == "minimum_population"
        assert get("second", OTHER).json()["reason"] == "project_spent"


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"no database at all, but long enough" * 99, "damaged"), (None, "cannot be written")],
)
def test_a_file_that_cannot_be_used_is_named_before_anybody_is_answered(
    opened, tmp_path, path, content, words
):
    if content is None:
        path.mkdir(mode=0o700)
    else:
        path.write_bytes(content)
        path.chmod(0o600)
    with pytest.raises(ConfigError, match=words) as caught:
        rehearse_service(read_service(tmp_path / "service.toml"), quick=True)
    assert "projects.sqlite" in str(caught.value)
    if content is not None:
        assert "from a backup" in str(caught.value)
        path.chmod(0o644)
        with pytest.raises(JobError, match="can be read by others"):
            read_service(tmp_path / "service.toml")


@pytest.mark.parametrize("mode", ["open", "tokens"])
@pytest.mark.parametrize("role", ["public", "researcher"])
def test_filters_below_officers_need_an_account_or_the_words(tmp_path, mode, role):
    file = write_service(tmp_path, more=RULES)
    text = f'{file.read_text()}[access]\nmode = "{mode}"\nfilters = "{role}"\ntokens = "t"\n'
    file.write_text(text)
    with pytest.raises(JobError) as caught:
        read_service(file)
    assert ("no account is kept" in str(caught.value)) == ((mode, role) != ("open", "public"))
    file.write_text(text + f'accepts_reconstruction = "{RECONSTRUCTION}"\n')
    assert "can reconstruct" in " ".join(read_service(file).cautions)
    if (mode, role) != ("open", "public"):
        file.write_text(text + 'projects = "p"\n')
        assert "by itself" in " ".join(read_service(file).cautions)
