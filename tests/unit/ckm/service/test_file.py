"""The service file and the commands around it: every problem at once, with the way out."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ckm.cli.app import app
from ckm.config.problems import JobError
from ckm.config.section import schema_of
from ckm.config.service.rules import RuleSettings
from ckm.config.service.sections import RECONSTRUCTION
from ckm.config.service.service import Service, is_service_file, read_service
from tests.unit.ckm.service.conftest import write_service

ACCEPTED = f'accepts_reconstruction = "{RECONSTRUCTION}"\n'


@pytest.fixture
def file(tmp_path):
    return write_service(tmp_path, more="", persons=1000)


def problems(file, *changes, more=""):
    """Change the text of the file and return the problems that it has then."""
    text = file.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    file.write_text(text + more)
    with pytest.raises(JobError) as caught:
        read_service(file)
    return {problem.line(): problem.hint for problem in caught.value.problems}


def test_a_service_is_read_with_its_words_paths_and_defaults(file):
    service = read_service(file)
    assert service.about.title == {"en": "Job seekers", "fr": "Demandeurs d'emploi"}
    assert service.area == "geo"
    assert service.job.keys.secret == file.parent / "secret.key"
    assert service.variables["sex"].categories["F"]["fr"] == "Femmes"
    assert service.access.mode == "open"
    assert service.limits.per_hour("officer") > service.limits.per_hour("public")
    assert is_service_file(file)
    assert not is_service_file(file.parent / "nothing.toml")
    file.write_text('[[variable]]\nname = "sex"\n[output]\n')  # a job, its tables misspelt
    assert not is_service_file(file)


def test_a_service_never_solves_a_table_by_limits(file):
    """The command is for the job of its tables: a service has none, and no prior of its own."""
    by_limits = "[ptable]\nmax_noise = 5\nlimits = { posterior = 0.9 }\n"
    found = problems(file, ('[ptable]\npath = "pt.parquet"\n', by_limits))
    (hint,) = [hint for text, hint in found.items() if "a release never solves one" in text]
    assert hint.startswith("ckm ptable build job.toml -o pt.parquet")
    assert "in that job alone" in hint


def test_all_problems_are_told_at_once_with_hints(file):
    found = problems(
        file,
        ('title = { en = "Job seekers", fr = "Demandeurs d\'emploi" }\n', "titel = 1\n"),
        ("is_area = true", "is_areal = true"),
        more="[limits]\nseconds = 0\n[rules]\nsparsity_a = 3\n[acess]\nmode = 'open'\n",
    )
    assert found["[service] key 'titel' is unknown."] == "did you mean 'title'?"
    assert found["[[variable]] 'geo': key 'is_areal' is unknown."] == "did you mean 'is_area'?"
    assert "[service] title is missing." in found
    assert found["The key 'acess' is unknown."] == "did you mean 'access'?"
    assert any(line.startswith("[limits] seconds must be greater than 0") for line in found)
    assert any(line.startswith("[rules] sparsity_a") for line in found)


def test_contradictions_between_sections_are_told_at_once(file):
    found = problems(
        file,
        ('name = "category"', 'name = "sex"'),
        ("levels = { region", "levels = { regio"),
        more="""
[rules]
mandatory = ["geoo"]
small_areas = ["comune"]
[access]
mode = "tokens"
audit = "nowhere/audit.log"
[ledger]
path = "nowhere/ledger.db"
""",
    )
    assert "[[variable]] the name 'sex' occurs more than once." in found
    assert found["[categories] 'category' is no variable of the service."]
    assert found["[[variable]] 'geo': 'regio' is no level of it."] == "did you mean 'region'?"
    assert found["[rules] 'geoo' is no variable of the service."] == "did you mean 'geo'?"
    assert found["[rules] 'comune' is no level of the area variable."]
    assert any("file of tokens" in line for line in found)
    assert any("audit log" in line for line in found)
    assert any("[ledger]" in line for line in found)


def test_what_tells_persons_apart_is_no_variable(file):
    found = problems(file, more='[[variable]]\nname = "person_id"\n')
    assert any("tells persons apart" in line for line in found)


def test_populations_that_cannot_be_are_told_at_once(file):
    found = problems(
        file,
        more="""
[[population]]
name = "of age"
title = "Adults"
where = "age >= 18"
[[population]]
name = "young"
where = "age <"
[[population]]
name = "old"
title = { en = "Old", fr = "Vieux" }
where = "age > 'x'"
[[population]]
name = "old"
title = "Old"
where = "age > 60"
""",
    )
    assert any(
        line.startswith("[[population]] 'of age': name must be letters, digits")
        for line in found
    )
    assert "[[population]] 'young': title is missing." in found
    text = (
        file.read_text()
        .replace("of age", "adult")
        .replace('"young"', '"young"\ntitle = "Young"')
    )
    file.write_text(text)
    assert problems(file).keys() == {
        "[[population]] 'young': The filter needs a number or a quoted text at character 6.",
        "[[population]] the name 'old' occurs more than once.",
    }


def test_the_columns_of_populations_are_checked_without_a_look_at_the_rows(file, capsys):
    file.write_text(
        file.read_text()
        + '[[population]]\nname = "a"\ntitle = "A"\nwhere = "statu = 1"\n'
        + '[[population]]\nname = "b"\ntitle = "B"\nwhere = "age = \'x\'"\n'
        + '[[population]]\nname = "c"\ntitle = "C"\nwhere = "person_id = \'J1\'"\n'
    )
    assert run("check", file, "--quick") == 2
    said = capsys.readouterr().err
    assert "[[population]] 'a': Column 'statu' is not in the data" in said
    assert "[[population]] 'b': The filter compares 'age'" in said
    assert "[[population]] 'c': Column 'person_id' tells persons apart" in said


def test_a_code_list_comes_from_a_file(file):
    (file.parent / "sex.csv").write_text("code,en,fr\nF,Women,Femmes\nM,,\n", encoding="utf-8")
    text = file.read_text()
    start = text.index("categories = { F")
    line = text[start : text.index("\n", start)]
    file.write_text(text.replace(line, 'codelist = "sex.csv"'))
    categories = read_service(file).variables["sex"].categories
    assert categories == {"F": {"en": "Women", "fr": "Femmes"}, "M": {"en": "M", "fr": "M"}}
    (file.parent / "sex.csv").write_text("code;en\n")
    assert any("codelist must be a CSV file" in line for line in problems(file))


def test_the_rules_of_the_file_have_the_defaults_of_the_rules():
    given = schema_of(Service)["$defs"]["RuleSettings"]["properties"]
    own = {name: list(v) if isinstance(v, tuple) else v for name, v in RuleSettings()}
    assert {name: rule.get("default") for name, rule in given.items()} == own
    assert schema_of(Service)["properties"]["rules"]


def run(*arguments):
    with pytest.raises(SystemExit) as caught:
        app(list(map(str, arguments)))
    return caught.value.code


def test_check_looks_at_a_service_as_at_a_job(file, capsys):
    assert run("check", file, "--log-format", "text") == 0
    assert "is a sound service" in capsys.readouterr().err
    text = file.read_text()
    file.write_text(text.replace('name = "zone_2024"', 'name = "zone_2025"'))
    assert run("check", file) == 2
    told = capsys.readouterr().err
    assert "[[variable]] 'zone_2025': Column 'zone_2025' is not in the data" in told
    assert "sound" not in told


def test_an_office_is_told_what_it_opens(file, capsys):
    assert run("check", file, "--quick", "--log-format", "text") == 0
    told = " ".join(capsys.readouterr().err.split())
    assert "without [ledger] requests are not compared" in told
    assert "may filter" not in told
    ledger = '[ledger]\npath = "ledger.db"\n'
    bare = file.read_text()
    file.write_text(bare + ledger)
    assert run("check", file, "--quick", "--log-format", "text") == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "does not say which tables of the office come first" in told
    assert "official = [] says that there are none" in told
    file.write_text(bare + ledger + "official = []\n")
    for command in (["check", file, "--quick"], ["serve", file, "--dry-run"]):
        assert run(*command, "--log-format", "text") == 0
        told = " ".join(capsys.readouterr().err.split())
        assert "are not compared" not in told
        assert "[ledger] reserves nothing" in told


@pytest.mark.parametrize(
    ("lines", "who"),
    [
        (
            f'filters = "researcher"\ntokens = "t.json"\n{ACCEPTED}',
            "every researcher with a token",
        ),
        (
            f'mode = "tokens"\nfilters = "public"\ntokens = "t.json"\n{ACCEPTED}',
            "everybody with a token",
        ),
        (f'filters = "public"\n{ACCEPTED}', "everybody"),
        ('filters = "officer"\ntokens = "t.json"', None),
        ('filters = "researcher"', None),  # nobody can be one
    ],
)
def test_an_office_is_told_who_can_reconstruct_the_counts(file, lines, who):
    file.write_text(f"{file.read_text()}[access]\n{lines}\n")
    told = [text for text in read_service(file).cautions if "reconstruct" in text]
    assert [text.partition(" may filter")[0] for text in told] == ([] if who is None else [who])


def test_an_open_service_does_not_let_the_public_filter_unless_it_accepts_reconstruction(
    file, capsys
):
    """Some hundred filtered tables give the true counts: the file has to say so itself."""
    assert read_service(file).access.filters == "officer"
    text = file.read_text() + '[access]\nfilters = "public"\n'
    for more in ("", "accepts_reconstruction = true\n", 'accepts_reconstruction = "yes"\n'):
        file.write_text(text + more)
        for command in (["check", file, "--quick"], ["serve", file, "--dry-run"]):
            assert run(*command, "--log-format", "text") == 2
            told = " ".join(capsys.readouterr().err.split())
            assert RECONSTRUCTION in told
    file.write_text(text + ACCEPTED)
    assert run("serve", file, "--dry-run") == 0
    assert read_service(file).access.accepts_reconstruction


OFFICE = """
schema = 1
[data]
path = "people.parquet"
id = "person_id"
[keys]
secret = "secret.key"
[ptable]
path = "pt.parquet"
[ledger]
path = "ledger.db"
[[table]]
name = "batch"
dimensions = ["sex", "category"]
"""


def test_a_ledger_beside_callers_who_filter_needs_official_tables(file):
    store = '[ledger]\npath = "ledger.db"\n'
    for access in ('tokens = "t.json"', f'filters = "public"\n{ACCEPTED}'):
        text = f"{file.read_text()}[access]\n{access}\n{store}"
        with pytest.raises(JobError) as caught:
            read_service(_written(file, text))
        (problem,) = caught.value.problems
        assert "reserves nothing" in problem.line()
        assert 'official = ["job.toml"]' in problem.hint
        (file.parent / "job.toml").write_text(OFFICE)
        (job,) = read_service(_written(file, f'{text}official = ["job.toml"]\n')).official
        assert list(job.tables) == ["batch"]


@pytest.mark.parametrize(
    ("job", "told"),
    [
        (None, "does not exist"),
        (OFFICE.replace("ledger.db", "other.db"), "names another ledger or history, or none"),
        (OFFICE.replace('.db"', '.db"\nhistory = "x"'), "another ledger or history, or none"),
        (OFFICE.replace('[ledger]\npath = "ledger.db"\n', ""), "another ledger or history"),
        (OFFICE.replace("name =", "nam ="), "official 'job.toml': "),
    ],
)
def test_what_is_wrong_with_an_official_job_is_told_with_the_rest(file, job, told):
    if job is not None:
        (file.parent / "job.toml").write_text(job)
    more = '[ledger]\npath = "ledger.db"\nofficial = ["job.toml"]\n'
    assert any(told in line for line in problems(file, more=more))


def test_check_looks_at_official_tables_too(file, capsys):
    more = '[ledger]\npath = "ledger.db"\nofficial = ["job.toml"]\n'
    path = _written(file, file.read_text() + more)
    for text, code, told in (
        (OFFICE, 0, "needs; tables: batch"),
        (OFFICE.replace('"category"]', '"catgory"]'), 2, "catgory"),
    ):
        (file.parent / "job.toml").write_text(text)
        assert run("check", path, "--quick", "--log-format", "text") == code
        assert told in " ".join(capsys.readouterr().err.split())


def _written(file, text):
    path = file.parent / "changed.toml"
    path.write_text(text)
    return path


def test_serve_has_a_dry_run(file, capsys):
    assert run("serve", file, "--dry-run") == 0
    assert "no request was answered" in capsys.readouterr().err


def test_tokens_are_made_listed_and_taken_back(file, capsys):
    assert run("token", "add", file, "--label", "A") == 2
    file.write_text(file.read_text() + '[access]\nmode = "tokens"\ntokens = "tokens.json"\n')
    assert run("token", "add", file, "--label", "A", "--role", "officer", "--dry-run") == 0
    assert not (file.parent / "tokens.json").exists()
    capsys.readouterr()
    assert run("token", "add", file, "--label", "A", "--role", "officer") == 0
    token = capsys.readouterr().out.strip()
    public, secret = token.split("_")[1], token.split("_", 2)[2]
    assert run("token", "list", file) == 0
    shown = capsys.readouterr().out
    assert public in shown
    assert "officer" in shown
    assert secret not in shown
    assert run("token", "revoke", file, public) == 0
    assert run("token", "revoke", file, public) == 2


@pytest.mark.slow
def test_without_the_extra_serve_says_what_to_install(file):
    code = (
        "import sys; sys.modules['starlette'] = None\n"
        "import importlib.util as u\n"
        "find = u.find_spec\n"
        "u.find_spec = lambda n, *a: None if n in ('starlette', 'uvicorn') else find(n, *a)\n"
        "from ckm.cli.app import app; app(sys.argv[1:])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "serve", str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "pip install '.[web]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_command_line_loads_no_web_server():
    code = (
        "import ckm.cli.app, sys\n"
        "print([n for n in ('starlette', 'uvicorn', 'argon2') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
