import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import click
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from ckm.cli import app
from ckm.cli.terminal import console
from ckm.engine.published_table import PublishedTable
from ckm.errors import InternalError
from ptable import NoiseSpec, PTableWarning, solve

ROOT = Path(__file__).resolve().parents[4]
SECRET = "MARKER-of-a-secret-3f9c1d"  # noqa: S105
PERSON = "MARKER-person"
VALUE = "MARKER-value"

JOB = """
schema = 1
[data]
path = "people.parquet"
id = "person_id"
[keys]
secret = "secret.key"
[ptable]
path = "pt.parquet"
[report]
languages = ["en"]
[[table]]
name = "people"
dimensions = ["sex"]
"""


@pytest.fixture(scope="session")
def ptable():
    return solve(NoiseSpec(max_noise=2, variance=1.0))


@pytest.fixture
def folder(tmp_path, ptable, monkeypatch):
    write_people(tmp_path)
    ptable.write(tmp_path / "pt.parquet")
    (tmp_path / "secret.key").write_text(SECRET)
    (tmp_path / "secret.key").chmod(0o600)
    (tmp_path / "job.toml").write_text(JOB)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CKM_DEBUG", raising=False)
    monkeypatch.delenv("CKM_SECRET", raising=False)
    for name in ("CKM_LOG", "CKM_LOG_FORMAT"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def with_ledger(folder):
    """Let the job compare its tables with earlier ones."""
    (folder / "job.toml").write_text(f'{JOB}\n[ledger]\npath = "ledger.db"\n')


def write_people(folder, **changes):
    n = 90
    people = {
        "person_id": [f"{PERSON}-{i}" for i in range(n)],
        "sex": ["F", "M", "F"] * (n // 3),
        "age": list(range(n)),
        "note": [f"{VALUE}-{i}" for i in range(n)],
    }
    pq.write_table(pa.table(people | changes), folder / "people.parquet")


def run(*args, style="text"):
    environment = {"CKM_LOG_FORMAT": style}
    return CliRunner(env=environment).invoke(app, [str(arg) for arg in args])


def command(*args, cwd, **environment):
    code = "from ckm.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, args)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def lines_of(result):
    return [json.loads(line) for line in result.stderr.splitlines()]


# --- the verbs -------------------------------------------------------------------------


def test_release_prints_the_folder_on_stdout_and_the_rest_on_stderr(folder):
    result = run("release", "job.toml", "-o", "out")
    assert result.exit_code == 0
    assert result.stdout == "out\n"
    assert "✔ job.toml: 1 table" in result.stderr
    assert (folder / "out" / "public" / "people.csv").exists()


def test_release_with_a_dry_run_writes_nothing(folder):
    result = run("release", "job.toml", "-o", "out", "--dry-run")
    assert result.exit_code == 0
    assert "dry run: 1 table would go to out; nothing written" in result.stderr
    assert result.stdout == ""
    assert not (folder / "out").exists()


@pytest.mark.slow
def test_release_replaces_an_earlier_one_with_force_alone(folder):
    assert run("release", "job.toml", "-o", "out").exit_code == 0
    refused = run("release", "job.toml", "-o", "out")
    assert refused.exit_code == 2
    assert refused.stderr.endswith(
        "error: The folder 'out' exists and is not empty.\n"
        "  hint: choose another folder, or replace it with --force\n"
    )
    assert run("release", "job.toml", "-o", "out", "--force").exit_code == 0


def test_check_looks_at_everything(folder):
    result = run("check", "job.toml")
    assert result.exit_code == 0
    assert "the data have every column" in result.stderr
    assert "record keys: none missing" in result.stderr


def test_a_quick_check_reads_no_rows(folder):
    result = run("check", "job.toml", "--quick")
    assert result.exit_code == 0
    assert "record keys" not in result.stderr


def test_check_draws_which_variances_are_feasible(folder):
    text = JOB.replace('path = "pt.parquet"', "max_noise = 3\nvariance = 1.0")
    (folder / "job.toml").write_text(text)
    result = run("check", "job.toml", "--quick", "-v")
    assert result.exit_code == 0
    assert "3 and more" in result.stdout
    assert not run("check", "job.toml", "--quick").stdout


def test_check_tells_infeasible_noise_apart(folder):
    text = JOB.replace('path = "pt.parquet"', "max_noise = 2\nvariance = 3.0")
    (folder / "job.toml").write_text(text)
    result = run("check", "job.toml")
    assert result.exit_code == 4
    assert "no: the noise of a count of 1 cannot go" in result.stdout
    assert "job.toml:9: No p-table has max_noise 2" in result.stderr


def test_check_shows_infeasible_noise_and_wrong_columns_together(folder):
    text = JOB.replace('path = "pt.parquet"', "max_noise = 2\nvariance = 3.0")
    (folder / "job.toml").write_text(text.replace('["sex"]', '["sexe"]'))
    result = run("check", "job.toml")
    assert "No p-table has max_noise 2" in result.stderr
    assert "  - job.toml:15: table 'people': Column 'sexe' is not in the data" in result.stderr
    assert "did you mean 'sex'?" in result.stderr
    told = json.loads(run("check", "job.toml", "--json").stdout)["problems"]
    assert [one["line"] for one in told] == [9, 15]
    assert told[1]["message"].startswith("table 'people'")


def test_ptable_build_show_and_check(folder):
    options = ("--max-noise", 5, "--variance", 3, "--small", 2)
    result = run("ptable", "build", *options, "-o", "new.parquet")
    assert (result.exit_code, result.stdout) == (0, "new.parquet\n")
    picture = run("ptable", "show", "new.parquet").stdout
    assert "8+" in picture
    assert "█" in picture
    row = run("ptable", "show", "new.parquet", "--row", 3).stdout
    assert "39.3663%" in row
    check = run("ptable", "check", "new.parquet")
    assert check.exit_code == 0
    assert "as asked" in check.stdout


def test_ptable_build_reads_the_section_of_a_job(folder):
    text = JOB.replace('path = "pt.parquet"', "max_noise = 3\nvariance = 1.0")
    (folder / "job.toml").write_text(text)
    assert run("ptable", "build", "job.toml", "-o", "new.json").exit_code == 0
    assert (folder / "new.json").exists()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["-o", "x.parquet"], "Give SPEC.toml, --preset, or --max-noise and --variance."),
        (["job.toml", "--small", "1", "-o", "x.json"], "Give a file or --small, not both."),
        (["--max-noise", "2", "-o", "x.txt"], "The output must end in .parquet or .json."),
        (
            ["--max-noise", "2", "--variance", "1", "-o", "pt.parquet"],
            "The output 'pt.parquet' exists; replace it with --force.",
        ),
    ],
)
def test_ptable_build_says_what_it_needs(folder, args, message):
    result = run("ptable", "build", *args)
    assert result.exit_code == 2
    assert message in result.stderr


def test_ptable_build_with_a_dry_run_writes_nothing(folder):
    result = run(
        "ptable", "build", "--max-noise", 2, "--variance", 1, "-o", "x.json", "--dry-run"
    )
    assert result.exit_code == 0
    assert "2 and more" in result.stdout
    assert not (folder / "x.json").exists()


def test_ptable_check_fails_for_a_table_that_was_changed(folder):
    run("ptable", "build", "--max-noise", 2, "--variance", 1, "-o", "new.json")
    text = (folder / "new.json").read_text()
    (folder / "new.json").write_text(text.replace('"variance": 1.0', '"variance": 1.1', 1))
    result = run("ptable", "check", "new.json")
    assert result.exit_code == 1


def test_keys_secret_attach_draw_and_check(folder):
    assert run("keys", "secret", "new.key").stdout == "new.key\n"
    assert (folder / "new.key").stat().st_mode & 0o077 == 0
    assert run("keys", "secret", "new.key").exit_code == 2
    attach = ("keys", "attach", "people.parquet", "--id", "person_id", "--secret", "new.key")
    assert run(*attach, "-o", "keyed.parquet", "--dry-run").exit_code == 0
    assert not (folder / "keyed.parquet").exists()
    assert run(*attach, "-o", "keyed.parquet").stdout == "keyed.parquet\n"
    assert run(*attach, "-o", "keyed.parquet").exit_code == 2
    assert run(*attach, "-o", "keyed.parquet", "--force").exit_code == 0
    assert run("keys", "draw", "people.parquet", "-o", "drawn.parquet").exit_code == 0
    refused = run("keys", "draw", "people.parquet", "-o", "drawn.csv")
    assert (refused.exit_code, (folder / "drawn.csv").exists()) == (2, False)
    for file in ("keyed.parquet", "drawn.parquet"):
        assert run("keys", "check", file, "--record-key", "record_key").exit_code == 0
    hashed = run("keys", "check", "people.parquet", "--id", "person_id", "--secret", "new.key")
    assert hashed.exit_code == 0


@pytest.mark.parametrize("verb", ["attach", "draw"])
def test_keys_never_overwrite_the_data(folder, verb):
    args = ["--id", "person_id", "--secret", "secret.key"] if verb == "attach" else []
    before = (folder / "people.parquet").read_bytes()
    result = run("keys", verb, "people.parquet", *args, "-o", "people.parquet", "--force")
    assert result.exit_code == 2
    assert "another file than the data" in result.stderr
    assert (folder / "people.parquet").read_bytes() == before


def test_keys_check_needs_one_kind_of_key(folder):
    result = run("keys", "check", "people.parquet")
    assert result.exit_code == 2
    assert "Give one of --record-key and --id." in result.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(folder, shell):
    assert "_CKM_COMPLETE" in run("completion", shell).stdout


@pytest.mark.slow
def test_the_shell_completes_verbs(folder):
    answer = command(
        cwd=folder, _CKM_COMPLETE="bash_complete", COMP_WORDS="ckm pt", COMP_CWORD="1"
    )
    assert "plain,ptable" in answer.stdout


@pytest.mark.parametrize(
    "verb",
    [
        (),
        ("release",),
        ("check",),
        ("compare",),
        ("demo",),
        ("ptable",),
        ("ptable", "advise"),
        ("ptable", "build"),
        ("ptable", "show"),
        ("ptable", "check"),
        ("keys",),
        ("keys", "secret"),
        ("keys", "attach"),
        ("keys", "draw"),
        ("keys", "check"),
        ("job", "init"),
        ("schema",),
        ("completion",),
    ],
)
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_every_verb_has_help_with_an_example(folder, verb, flag):
    result = run(*verb, flag)
    assert result.exit_code == 0
    assert result.stdout.startswith("Usage: ckm")
    if verb not in {("ptable",), ("keys",)}:
        assert "  ckm " in result.stdout


def test_every_option_of_every_command_says_what_it_does():
    def silent(command, words):
        for option in command.params:
            if isinstance(option, click.Option) and not (option.help or option.hidden):
                yield " ".join([*words, option.opts[0]])
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                yield from silent(command.get_command(context, name), [*words, name])

    assert list(silent(app, ["ckm"])) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "more"),
    [
        (["--help"], {"duckdb", "numpy", "pydantic", "rich"}),
        (["check", "job.toml", "--quick", "-q"], set()),
    ],
)
def test_commands_that_look_load_nothing_heavy(words, more, folder):
    with_ledger(folder)
    heavy = {"cvxpy", "highspy", "jinja2", "pandas", "scipy", *more}
    code = (
        "import sys\nfrom ckm.cli import app\n"
        f"try:\n    app({words})\nexcept SystemExit as end:\n    assert not end.code\n"
        f"heavy = {heavy} & set(sys.modules)\n"
        "sys.exit(', '.join(sorted(heavy)) or 0)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_version_is_shown(folder):
    assert run("--version").stdout.startswith("ckm ")


# --- exit codes ------------------------------------------------------------------------


def failure_of(result):
    return result.stderr[result.stderr.index("error: ") :]


def test_exit_1_when_the_keys_fail_their_check(folder):
    write_people(folder, person_id=["same"] * 90)
    for args in (
        ("release", "job.toml", "-o", "out"),
        ("check", "job.toml"),
        ("keys", "check", "people.parquet", "--id", "person_id", "--secret", "secret.key"),
    ):
        result = run(*args)
        assert result.exit_code == 1
        assert failure_of(result) == (
            "error: About 99 % of the identifiers repeat another, more than chance explains.\n"
            "  hint: is the column one that tells records apart? repair the keys, "
            'or accept them knowingly with checks = "warn"\n'
        )
    assert not (folder / "out").exists()


def test_poor_keys_that_are_tolerated_give_a_warning(folder):
    write_people(folder, person_id=[f"p{i // 2}" for i in range(90)])
    (folder / "job.toml").write_text(JOB.replace("[keys]", '[keys]\nchecks = "warn"'))
    for args in (("release", "job.toml", "-o", "out"), ("check", "job.toml")):
        result = run(*args)
        assert result.exit_code == 0
        assert result.stderr.count("! About 50 % of the identifiers repeat another") == 1


def test_keys_that_are_not_checked_are_not_called_sound(folder):
    (folder / "job.toml").write_text(JOB.replace("[keys]", '[keys]\nchecks = "skip"'))
    assert 'record keys: not checked, for checks = "skip"' in run("check", "job.toml").stderr


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["relase"], "No such command 'relase'. Did you mean 'release'?"),
        (["ptable", "biuld"], "No such command 'biuld'. Did you mean 'build'?"),
        (["release", "job.toml"], "Missing option '-o' / '--output'."),
        (["release", "no.toml", "-o", "out"], "The job file 'no.toml' cannot be read: "),
        (["check", "job.toml", "--fast"], "No such option"),
        (["demo", "--persons", "3"], "3 is not in the range 1000<=x<=50000000"),
    ],
)
def test_exit_2_when_the_command_is_wrong(folder, args, message):
    result = run(*args)
    assert result.exit_code == 2
    assert message in failure_of(result)


def test_exit_2_when_the_job_is_wrong_with_all_problems(folder):
    (folder / "job.toml").write_text(JOB.replace("id =", "ident =") + "wehre = 1\n")
    result = run("release", "job.toml", "-o", "out")
    assert result.exit_code == 2
    assert failure_of(result) == (
        "error: job.toml has 2 problems:\n"
        "  - job.toml:5: [data] key 'ident' is unknown.\n"
        "    hint: known here: path, database, table, query, types, text, decimal, missing, "
        "id, record_key, key_range, cells, count, cell_key, amounts, weight, allow_empty, "
        "engine, master, spark\n"
        "  - job.toml:15: [[table]] 'people': key 'wehre' is unknown.\n"
        "    hint: did you mean 'where'?\n"
    )


def test_exit_2_when_the_filter_is_wrong(folder):
    (folder / "job.toml").write_text(JOB + 'where = "age >"\n')
    result = run("release", "job.toml", "-o", "out")
    assert result.exit_code == 2
    assert "table 'people': " in failure_of(result)


def test_exit_2_when_the_secret_is_too_short(folder):
    (folder / "secret.key").write_text("short")
    result = run("release", "job.toml", "-o", "out")
    assert result.exit_code == 2
    assert failure_of(result) == (
        "error: A secret needs at least 16 bytes; this one is shorter.\n"
        "  hint: make one with: ckm keys secret secret.key\n"
    )


def test_exit_3_when_the_data_cannot_be_read(folder):
    (folder / "people.parquet").write_bytes(b"PAR1 but no more than that")
    assert run("release", "job.toml", "-o", "out").exit_code == 3


def test_exit_2_when_the_job_names_an_identifier_that_the_data_lack(folder):
    (folder / "job.toml").write_text(JOB.replace('"person_id"', '"persn_id"'))
    result = run("release", "job.toml", "-o", "out")
    assert result.exit_code == 2
    assert failure_of(result) == (
        "error: job.toml:5: Column 'persn_id' is not in the data; it has 'person_id', 'sex', "
        "'age', 'note'.\n  hint: did you mean 'person_id'?\n"
    )


def test_exit_4_when_no_ptable_satisfies_the_request(folder):
    text = JOB.replace('path = "pt.parquet"', "max_noise = 2\nvariance = 3.0")
    (folder / "job.toml").write_text(text)
    result = run("release", "job.toml", "-o", "out")
    assert result.exit_code == 4
    assert "job.toml:9: No p-table has max_noise 2" in result.stderr
    build = run("ptable", "build", "--max-noise", 2, "--variance", 10, "-o", "x.json")
    assert build.exit_code == 4
    assert "2" in failure_of(build)


def test_exit_70_names_type_and_place_of_a_bug_and_no_more(folder, monkeypatch):
    def broken(*_args, **_options):
        raise KeyError(VALUE)

    monkeypatch.setattr("ckm.release.run.write_manifest", broken)
    result = run("release", "job.toml", "-o", "out")
    assert result.exit_code == 70
    assert failure_of(result).startswith("error: ckm stopped on a bug of its own: KeyError at ")
    assert "ckm.release.run:" in result.stderr
    assert VALUE not in result.output
    assert "Traceback" not in result.output
    assert not (folder / "out").exists()


def test_exit_70_with_debugging_shows_the_traceback(folder, monkeypatch):
    def broken(*_args, **_options):
        raise KeyError

    monkeypatch.setattr("ckm.release.run.write_manifest", broken)
    monkeypatch.setenv("CKM_DEBUG", "1")
    result = run("release", "job.toml", "-o", "out")
    assert result.exit_code == 70
    assert "Traceback" in result.stderr


def test_exit_70_for_a_broken_invariant_asks_for_a_report(folder, monkeypatch):
    def broken(*_args, **_options):
        raise InternalError("Two halves do not fit.")

    monkeypatch.setattr("ckm.release.run.write_manifest", broken)
    result = run("release", "job.toml", "-o", "out")
    assert result.exit_code == 70
    assert "Two halves do not fit." in result.stderr
    assert "report this message" in result.stderr


def test_exit_130_when_interrupted(folder, monkeypatch):
    def interrupted(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(PublishedTable, "write", interrupted)
    result = run("release", "job.toml", "-o", "out")
    assert result.exit_code == 130
    assert failure_of(result) == "error: Interrupted; nothing was published.\n"
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["int", "term"]
)
def test_a_signal_counts_even_when_a_library_hides_it(folder, monkeypatch, number, code):
    def interrupted(*_args, **_options):
        try:
            signal.raise_signal(number)
        except BaseException:  # noqa: BLE001
            raise RuntimeError("Query interrupted") from None

    monkeypatch.setattr(PublishedTable, "write", interrupted)
    result = run("release", "job.toml", "-o", "out")
    assert result.exit_code == code
    assert failure_of(result) == "error: Interrupted; nothing was published.\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
    ids=["int", "term", "hup"],
)
def test_a_signal_ends_cleanly(folder, number, code):
    script = (
        "import time; from pathlib import Path\n"
        "from ckm.engine.published_table import PublishedTable\n"
        "def wait(self, path, **options):\n"
        "    Path('started').touch(); time.sleep(600)\n"
        "PublishedTable.write = wait\n"
        # Whoever starts the tests may ignore hang-ups, and the program would inherit it.
        "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
        "from ckm.cli import main; main()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, "release", "job.toml", "-o", "out"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while not (folder / "started").exists():
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(number)
        _, errors = process.communicate(timeout=300)
    finally:
        process.kill()
    assert process.returncode == code
    assert errors.splitlines()[-1] == "error: Interrupted; nothing was published."
    assert not (folder / "out").exists()
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


# --- how it talks ----------------------------------------------------------------------


@pytest.mark.slow
def test_where_json_is_asked_for_every_line_of_stderr_is_json(folder):
    done = command("release", "job.toml", "-o", "out", cwd=folder, CKM_LOG="json")
    assert done.returncode == 0
    events = lines_of(done)
    assert all({"time", "level", "event", "message"} <= set(event) for event in events)
    assert {"job read", "table written", "release complete"} <= {e["event"] for e in events}
    assert done.stdout == "out\n"


@pytest.mark.slow
def test_where_json_is_asked_for_an_error_is_one_json_object(folder):
    done = command("release", "job.toml", "-o", ".", "--log-format", "json", cwd=folder)
    (error,) = [event for event in lines_of(done) if event["level"] == "error"]
    assert error["exit"] == done.returncode == 2
    assert error["code"] == "ckm-release"
    assert error["hint"] == "choose a folder of its own for the output"


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [("release", "job.toml", "-o", "out"), ("relase",), ("check",)]
)
def test_messages_are_text_where_stderr_is_a_file_and_json_is_not_asked_for(folder, words):
    done = command(*words, cwd=folder)
    assert done.stderr
    assert "{" not in done.stderr
    assert done.returncode == 0 or done.stderr.splitlines()[-2].startswith("error: ")


@pytest.mark.parametrize(
    ("environment", "words", "is_json"),
    [
        ({}, (), False),
        ({"CKM_LOG": "json"}, (), True),
        ({"CKM_LOG_FORMAT": "json"}, (), True),
        ({"CKM_LOG": "text", "CKM_LOG_FORMAT": "json"}, (), False),
        ({"CKM_LOG": "json"}, ("--log-format", "text"), False),
        ({}, ("--log-format=json",), True),
    ],
)
def test_json_is_asked_for_by_a_word_or_the_environment(folder, environment, words, is_json):
    variables = dict.fromkeys(("CKM_LOG", "CKM_LOG_FORMAT")) | environment
    for typed in (("check", "nothing.toml", *words), ("relase", *words)):
        done = CliRunner(env=variables).invoke(app, list(typed))
        assert done.exit_code == 2
        assert done.stderr.startswith("{" if is_json else "error: ")


def test_off_a_terminal_progress_is_a_line_a_minute(capsys, monkeypatch):
    monkeypatch.setattr(console, "_LINE_S", 0.01)
    terminal = console.Terminal(language="fr")
    with terminal.progress() as report_progress:
        report_progress("scan", 30, 60)
        text = ""
        while "lecture" not in text:  # the step reports nothing more
            text += capsys.readouterr().err
    assert "· lecture des enregistrements 50%" in text
    assert capsys.readouterr().out == ""
    terminal.is_quiet = True
    with terminal.progress() as report_progress:
        report_progress("scan", 30, 60)
        time.sleep(0.05)
    assert "·" not in capsys.readouterr().err


def test_the_json_of_a_wrong_job_lists_its_problems(folder):
    (folder / "job.toml").write_text(JOB.replace("id =", "ident =") + "wehre = 1\n")
    result = run("check", "job.toml", style="json")
    (error,) = lines_of(result)
    assert [problem["where"] for problem in error["problems"]] == [
        "[data]",
        "[[table]] 'people':",
    ]


def test_the_number_of_records_is_never_told(folder):
    write_people(
        folder,
        person_id=[f"p{i}" for i in range(77)],
        sex=["F"] * 77,
        age=[1] * 77,
        note=["x"] * 77,
    )
    result = run("release", "job.toml", "-o", "out", "-v", style="json")
    numbers = [v for line in lines_of(result) for v in line.values() if isinstance(v, int)]
    assert 77 not in numbers


def test_a_job_without_a_ledger_is_warned_as_a_service_is(folder):
    text = "without [ledger] the tables are not compared"
    commands = (
        ["check", "job.toml", "--quick"],
        ["release", "job.toml", "-o", "o", "--dry-run"],
    )
    for command in commands:
        result = run(*command, "--lang", "en")
        assert (result.exit_code, text in " ".join(result.stderr.split())) == (0, True)
        result = run(*command, "--lang", "fr")
        assert "sans [ledger]" in " ".join(result.stderr.split())
    with_ledger(folder)
    assert text not in " ".join(run(*commands[0]).stderr.split())


def test_check_remarks_once_on_words_that_readers_will_not_find(folder):
    result = run("check", "job.toml", "--quick")
    words = "a title of the release; a title of people; labels of sex; a contact"
    assert result.exit_code == 0
    assert " ".join(result.stderr.split()).count(f"in [report]: {words}") == 1
    assert [line[0] for line in result.stderr.splitlines() if "for readers" in line] == ["·"]
    events = json.loads(run("check", "job.toml", "--quick", "--json").stdout)
    told = [step["message"] for step in events["steps"] if step["event"] == "words for readers"]
    assert len(told) == 1
    assert [e for e in events["warnings"] if e["event"] == "words for readers"] == []
    job = folder / "job.toml"
    words = 'title = "People"\n[[variable]]\nname = "sex"\nlabels.en = "Sex"\n'
    text = JOB.replace("[report]", '[report]\ncontact = "us@example.org"')
    job.write_text(text.replace("schema = 1\n", "schema = 1\n" + words))
    events = json.loads(run("check", "job.toml", "--quick", "--json").stdout)
    assert events["ok"]
    assert "words for readers" not in {step["event"] for step in events["steps"]}


def test_a_job_takes_the_csv_of_r_as_it_is(folder, ptable):
    with pytest.warns(PTableWarning, match="certificate"):
        ptable.write(folder / "r.csv", dialect="r-ptable")
    job = folder / "job.toml"
    assert run("release", "job.toml", "-o", "ours").exit_code == 0
    job.write_text(JOB.replace("pt.parquet", "r.csv"))
    done = run("release", "job.toml", "-o", "theirs")
    assert (done.exit_code, "no certificate" in done.stderr) == (0, True)
    of = [(folder / name / "public/people.csv").read_bytes() for name in ("ours", "theirs")]
    assert of[0] == of[1]


def test_a_file_is_called_sound_after_all_checks_alone(folder):
    result = run("check", "job.toml")
    assert result.stderr.splitlines()[-1].endswith("job.toml is a sound job")
    assert "sound" not in run("check", "job.toml", "--quick").stderr
    job = folder / "job.toml"
    job.write_text(job.read_text().replace('"sex"', '"sexe"'))
    result = run("check", "job.toml")
    assert result.exit_code
    assert "job.toml can be read" in result.stderr
    assert "sound" not in result.stderr


def test_a_ptable_without_certificate_is_not_said_to_have_one(folder, ptable):
    replace(ptable, certificate=None).write(folder / "pt.parquet", overwrite=True)
    for language, told, other in (
        ("en", "it has no certificate", "certificate holds"),
        ("fr", "n\u2019a pas de certificat", "certificat est vérifié"),
    ):
        stderr = run("check", "job.toml", "--quick", "--lang", language).stderr
        assert told in stderr
        assert other not in stderr


@pytest.mark.slow
def test_quiet_says_nothing_when_all_is_well(folder):
    with_ledger(folder)
    assert run("release", "job.toml", "-o", "out", "-q").stderr == ""


def test_verbose_shows_the_events_of_the_engine(folder):
    assert "table written table=people" in run("release", "job.toml", "-o", "out", "-v").stderr


@pytest.mark.slow
def test_colour_is_left_out_where_it_is_not_wanted(folder):
    assert "\x1b" not in run("release", "job.toml", "-o", ".").stderr
    terminal = ["script", "-qec", f"{sys.executable} -c 'from ckm.cli import main; main()'"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"}
    environment.pop("NO_COLOR", None)
    plain, coloured = (
        subprocess.run(
            [*terminal[:-1], terminal[-1] + " release job.toml -o .", "/dev/null"],
            cwd=folder,
            env=environment | extra,
            capture_output=True,
            check=False,
        ).stdout
        for extra in ({"NO_COLOR": "1"}, {})
    )
    assert b"\x1b[31m" in coloured
    assert b"\x1b[31m" not in plain
    assert b"which the job reads" in plain


@pytest.mark.skipif(os.name != "posix", reason="modes are of POSIX")
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o602])
@pytest.mark.parametrize(
    "args",
    [
        ("release", "job.toml", "-o", "out"),
        ("release", "job.toml", "-o", "out", "--dry-run"),
        ("keys", "attach", "people.parquet", "--id", "person_id", "-o", "out.parquet"),
        ("keys", "check", "people.parquet", "--id", "person_id"),
        ("ledger", "audit", "ledger.db"),
    ],
)
def test_a_secret_that_others_may_use_is_refused_with_the_cure(folder, args, mode):
    (folder / "secret.key").chmod(mode)
    named = () if args[0] == "release" else ("--secret", "secret.key")
    result = run(*args, *named)
    assert result.exit_code in {2, 3}
    assert "'secret.key' can be read by others" in result.stderr
    assert "chmod 600 secret.key" in result.stderr
    assert not list(folder.glob("out*"))


@pytest.mark.skipif(not Path("/etc/passwd").exists(), reason="no such file here")
def test_a_file_that_everybody_reads_is_no_secret(folder):
    (folder / "job.toml").write_text(JOB.replace("secret.key", "/etc/passwd"))
    result = run("release", "job.toml", "-o", "out")
    assert result.exit_code == 2
    assert "'passwd' can be read by others" in result.stderr


@pytest.mark.parametrize("verb", ["attach", "draw"])
def test_files_with_keys_are_their_owners_alone_and_nothing_is_left_beside(folder, verb):
    before = os.umask(0o022)
    try:
        named = ["--id", "person_id", "--secret", "secret.key"] if verb == "attach" else []
        assert run("keys", verb, "people.parquet", *named, "-o", "k.parquet").exit_code == 0
    finally:
        os.umask(before)
    assert (folder / "k.parquet").stat().st_mode & 0o777 == 0o600
    assert [file.name for file in folder.glob("*k.*parquet*")] == ["k.parquet"]


@pytest.mark.slow
def test_a_reader_that_has_enough_ends_the_program_quietly(folder):
    code = "from ckm.cli import main; main()"
    line = f'"{sys.executable}" -c "{code}" schema job | head -1'
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "{\n"
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


def shell(line, folder):
    ckm = f'"{sys.executable}" -c "from ckm.cli import main; main()"'
    return subprocess.run(
        ["bash", "-c", line.replace("ckm", ckm, 1)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("end", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_stream_does_not_spoil_a_release(folder, end):
    done = shell(f"ckm release job.toml -o out {end}", folder)
    assert done.returncode == 0
    assert "bug" not in done.stderr
    assert (folder / "out" / "public" / "manifest.json").exists()


@pytest.mark.slow
def test_a_connection_that_nobody_minds_losing_does_not_end_a_release(folder):
    code = (
        "import signal, os; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "from ckm.engine.published_table import PublishedTable; write = PublishedTable.write\n"
        "def hang_up(self, path, **options):\n"
        "    os.kill(os.getpid(), signal.SIGHUP); write(self, path, **options)\n"
        "PublishedTable.write = hang_up\n"
        "from ckm.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "release", "job.toml", "-o", "out"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0


full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


@pytest.mark.slow
@full
def test_a_log_that_cannot_be_written_does_not_spoil_a_release(folder):
    done = shell("ckm release job.toml -o out 2>/dev/full", folder)
    assert done.returncode == 0
    assert done.stdout == "out\n"


@pytest.mark.slow
@full
def test_an_error_keeps_its_exit_code_when_it_cannot_be_told(folder):
    assert shell("ckm release nothing.toml -o out 2>/dev/full", folder).returncode == 2


@pytest.mark.slow
@full
def test_a_result_that_cannot_be_written_is_an_error(folder):
    done = shell("ckm schema job >/dev/full", folder)
    assert done.returncode == 2
    line, hint = done.stderr.splitlines()
    assert "cannot be written" in line
    assert hint == "  hint: free some space"


def test_no_verb_at_all_shows_the_help(folder):
    done = run()
    assert done.exit_code == 2
    assert done.stderr.startswith("Usage: ckm")
    assert "error" not in done.stderr.splitlines()[0]


def test_no_verb_at_all_is_one_json_object_where_json_is_asked_for(folder):
    done = run("ptable", style="json")
    assert done.exit_code == 2
    told = json.loads(done.stderr)
    assert (told["message"], told["hint"]) == (
        "The command is missing.",
        "see: ckm ptable --help",
    )


def test_a_secret_that_cannot_be_written_is_a_wrong_command(folder):
    done = run("keys", "secret", "nowhere/secret.key")
    assert done.exit_code == 2
    assert "cannot be written" in done.stderr


@pytest.mark.slow
def test_check_names_some_of_many_tables(folder):
    tables = "".join(
        f'[[table]]\nname = "t{number}"\ndimensions = ["sex"]\n' for number in range(14)
    )
    (folder / "job.toml").write_text(JOB + tables)
    line = run("check", "job.toml").stderr.splitlines()[0]
    assert line.endswith("t9, t10 and 3 more")


@pytest.mark.slow
def test_the_picture_of_a_wide_ptable_is_not_cut_off_in_a_file(folder):
    solve(NoiseSpec(max_noise=15, variance=14.0, small=2)).write(folder / "wide.parquet")
    done = command("ptable", "show", "wide.parquet", cwd=folder, CKM_LOG_FORMAT="text")
    assert "…" not in done.stdout
    assert "variance" in done.stdout


@pytest.mark.slow
def test_the_picture_of_a_wide_ptable_moves_together_on_a_narrow_terminal(folder):
    solve(NoiseSpec(max_noise=8, variance=7.0, small=2)).write(folder / "wide.parquet")
    done = command("ptable", "show", "wide.parquet", cwd=folder, COLUMNS="60")
    assert "…" not in done.stdout
    assert "-8      0      +8" in done.stdout


# --- nothing leaves but the release ----------------------------------------------------


def leaks(result, folder):
    written = [
        path.read_bytes().decode("latin-1")
        for path in folder.rglob("*")
        if path.is_file() and {"public", "internal"} & set(path.parts)
    ]
    texts = [result.output, result.stdout, result.stderr, *written]
    return [m for m in (SECRET, PERSON, VALUE) for text in texts if m in text]


@pytest.mark.parametrize("style", ["text", "json"])
def test_a_release_holds_no_planted_marker(folder, style):
    result = run("release", "job.toml", "-o", "out", "-v", style=style)
    assert result.exit_code == 0
    assert leaks(result, folder) == []


def _csv(folder, text):
    (folder / "people.csv").write_text(text)
    (folder / "job.toml").write_text(JOB.replace("people.parquet", "people.csv"))


def _where_compares_text_with_a_number(folder):
    (folder / "job.toml").write_text(JOB + 'where = "note >= 15"\n')


def _a_line_has_too_many_fields(folder):
    _csv(folder, f"person_id,sex,note\n{PERSON}-1,F,{VALUE}\n{PERSON}-2,M,{VALUE},extra\n")


def _a_line_is_not_closed(folder):
    _csv(folder, f'person_id,sex,note\n{PERSON}-1,F,"{VALUE}\n{PERSON}-2,M,x\n')


def _a_line_is_no_text(folder):
    header = f"person_id,sex,note\n{PERSON}-1,F,{VALUE}".encode()
    _csv(folder, "")
    (folder / "people.csv").write_bytes(header + b"\xff\xfe\n")


def _the_file_is_cut(folder):
    content = (folder / "people.parquet").read_bytes()
    (folder / "people.parquet").write_bytes(content[: len(content) // 2])


def _the_file_is_spoilt_in_the_middle(folder):
    content = bytearray((folder / "people.parquet").read_bytes())
    content[40 : len(content) // 2] = b"\xaa" * (len(content) // 2 - 40)
    (folder / "people.parquet").write_bytes(content)


def _a_column_is_gone(folder):
    people = pq.read_table(folder / "people.parquet").drop_columns(["sex"])
    pq.write_table(people, folder / "people.parquet")


def _identifiers_repeat(folder):
    write_people(folder, person_id=[f"{PERSON}-{i % 5}" for i in range(90)])


def _an_identifier_is_missing(folder):
    write_people(folder, person_id=[None, *(f"{PERSON}-{i}" for i in range(89))])


def _weights_are_texts(folder):
    text = JOB.replace("[keys]", 'weight = "note"\n[keys]')
    (folder / "job.toml").write_text(text + 'measures = ["count", "weighted"]\n')


def _the_secret_stands_in_the_job(folder):
    (folder / "job.toml").write_text(JOB.replace("secret.key", SECRET))


def _the_secret_is_not_hexadecimal(folder):
    (folder / "secret.key").write_text(f"hex:{SECRET}")


@pytest.mark.parametrize("style", ["text", "json"])
@pytest.mark.parametrize(
    "spoil",
    [
        _where_compares_text_with_a_number,
        _a_line_has_too_many_fields,
        _a_line_is_not_closed,
        _a_line_is_no_text,
        _the_file_is_cut,
        _the_file_is_spoilt_in_the_middle,
        _a_column_is_gone,
        _identifiers_repeat,
        _an_identifier_is_missing,
        _weights_are_texts,
        _the_secret_stands_in_the_job,
        _the_secret_is_not_hexadecimal,
    ],
)
def test_a_failure_shows_no_planted_marker_and_leaves_nothing(folder, spoil, style):
    spoil(folder)
    result = run("release", "job.toml", "-o", "out", "-v", style=style)
    assert result.exit_code in {1, 2, 3}
    assert leaks(result, folder) == []
    assert not (folder / "out").exists()
    assert run("check", "job.toml", style=style).exit_code == result.exit_code


@pytest.mark.parametrize("style", ["text", "json"])
def test_a_bug_shows_no_planted_marker(folder, style, monkeypatch):
    def broken(*_args, **_options):
        raise RuntimeError(f"{SECRET} {PERSON} {VALUE}")

    monkeypatch.setattr("ckm.engine.engine.cube", broken)
    result = run("release", "job.toml", "-o", "out", style=style)
    assert result.exit_code == 70
    assert leaks(result, folder) == []
