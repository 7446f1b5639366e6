import json
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from ckm.config import JobError, read_job, read_noise_spec
from ckm.config.job.job import Job
from ckm.config.section import schema_of
from ckm.errors import ConfigError
from ptable import InfeasibleError

JOB = """
schema = 1
title = "People"
[data]
path = "people.csv"
id = "person_id"
weight = "w"
[keys]
secret = "secret.key"
[ptable]
max_noise = 5
variance = 3
small = 2
[hierarchies]
geo = ["region", "commune"]
ages = { column = "age", tree = "age.csv" }
[categories]
sex = ["F", "M"]
[[table]]
name = "first"
dimensions = ["geo", "sex"]
measures = ["count", "weighted"]
margins = [["geo"], ["region", "sex"], []]
where = "age >= 15"
"""

HIERARCHY = (
    "must be a list of columns from broad to fine, a code tree file, "
    "or { column = …, tree = … }."
)
MAX_NOISE = "must be a whole number from 1 to 1000, or a list of these, one per row."
MARGINS = 'margins must be "all", "none", or a list of lists of dimensions.'


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "people.csv").write_text("person_id,sex\na,F\n")
    (tmp_path / "age.csv").write_text("code,parent\nall,\n1,all\n")
    (tmp_path / "secret.key").write_text("a secret of sixteen bytes or more")
    return tmp_path


def write(folder, text, name="job.toml"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def problems_of(folder, text):
    with pytest.raises(JobError) as caught:
        read_job(write(folder, text))
    return caught.value.problems


def the_problem_of(folder, text):
    (problem,) = problems_of(folder, text)
    return problem


def test_a_whole_job_becomes_domain_objects(folder):
    job = read_job(write(folder, JOB))
    assert job.title_of() == "People"
    assert job.data.path == folder / "people.csv"
    assert job.keys.secret == folder / "secret.key"
    assert (job.ptable.max_noise, job.ptable.variance, job.ptable.small) == (5, 3.0, 2)
    assert job.hierarchies["geo"] == ["region", "commune"]
    assert job.hierarchies["ages"] == {"column": "age", "tree": str(folder / "age.csv")}
    request = job.tables["first"]
    assert request.dimensions == ("geo", "sex")
    assert request.margins == (("geo",), ("region", "sex"), ())
    assert request.where == "age >= 15"
    assert job.output.formats == ("csv", "parquet")


def test_a_job_cannot_be_changed(folder):
    job = read_job(write(folder, JOB))
    with pytest.raises(ValidationError, match="frozen"):
        job.title = {"": {}}


def test_the_repr_of_a_job_holds_neither_its_text_nor_the_secrets_path(folder):
    job = read_job(write(folder, JOB))
    assert "secret.key" not in repr(job)
    assert "schema = 1" not in repr(job)


def test_input_files_are_all_that_the_numbers_depend_on(folder):
    job = read_job(write(folder, JOB))
    assert [path.name for path in job.input_files()] == ["people.csv", "age.csv"]


def test_a_glob_stands_for_its_files(folder):
    (folder / "people2.csv").write_text("person_id,sex\nb,M\n")
    job = read_job(write(folder, JOB.replace('"people.csv"', '"people*.csv"')))
    assert [path.name for path in job.data.files()] == ["people.csv", "people2.csv"]
    job = read_job(write(folder, JOB.replace('"people.csv"', '["people2.csv", "people.csv"]')))
    assert [path.name for path in job.data.files()] == ["people2.csv", "people.csv"]


@pytest.mark.parametrize(
    ("old", "new", "text", "hint"),
    [
        (
            "variance = 3",
            "varience = 3\nvariance = 3",
            "[ptable] key 'varience' is unknown.",
            "did you mean 'variance'?",
        ),
        (
            'weight = "w"',
            'weight = "w"\nsecret = "s"',
            "[data] key 'secret' is unknown.",
            "'secret' belongs in [keys]",
        ),
        (
            'title = "People"',
            'titel = "People"',
            "The key 'titel' is unknown.",
            "did you mean 'title'?",
        ),
        (
            'where = "age',
            'wehre = "age',
            "[[table]] 'first': key 'wehre' is unknown.",
            "did you mean 'where'?",
        ),
        (
            'name = "first"',
            "",
            "[[table]] number 1: name is missing.",
            None,
        ),
        (
            "schema = 1",
            "schema = 2",
            "schema must be 1.",
            "a later schema needs a later version of ckm",
        ),
        *(
            (
                "schema = 1",
                f"schema = {other}",
                "schema must be 1.",
                "a later schema needs a later version of ckm",
            )
            for other in ("true", "1.0", '"1"')
        ),
        (
            "schema = 1",
            "",
            "schema is missing.",
            "write schema = 1 as the first line",
        ),
        (
            "max_noise = 5",
            "max_noise = 0",
            f"[ptable] max_noise {MAX_NOISE}",
            None,
        ),
        (
            'dimensions = ["geo", "sex"]',
            'dimensions = ["geo", 7]',
            "[[table]] 'first': dimensions, entry 2, must be a text in quotes.",
            None,
        ),
        (
            'dimensions = ["geo", "sex"]',
            "dimensions = []",
            "[[table]] 'first': dimensions must not be empty.",
            None,
        ),
        (
            'secret = "secret.key"',
            'checks = "maybe"',
            '[keys] checks must be one of "stop", "warn" or "skip".',
            None,
        ),
        (
            'column = "age", ',
            "",
            "[hierarchies] ages " + HIERARCHY,
            None,
        ),
        (
            "small = 2",
            "small = true",
            "[ptable] small must be a whole number.",
            None,
        ),
        (
            "variance = 3",
            "variance = nan",
            "[ptable] variance must be a number, or a list of numbers, one per row.",
            None,
        ),
        (
            'margins = [["geo"], ["region", "sex"], []]',
            'margins = "some"',
            "[[table]] 'first': " + MARGINS,
            None,
        ),
        (
            '["region", "sex"], []]',
            '["regoin", "sex"], []]',
            "[[table]] 'first': margins name 'regoin', which is no dimension of it.",
            "did you mean 'region'?",
        ),
        (
            'id = "person_id"',
            'id = "person_id"\nrecord_key = "r"',
            "[data] has both id and record_key.",
            "remove one of the two",
        ),
        (
            'id = "person_id"',
            "",
            "[data] needs id or record_key: whence the keys?",
            'id = "person_id" for a stable identifier, record_key = "rkey" for stored keys',
        ),
        (
            'id = "person_id"',
            'id = "person_id"\nkey_range = 256',
            "[data] key_range goes with stored keys alone.",
            "remove key_range",
        ),
        (
            "people.csv",
            "peopel.csv",
            "[data] path 'peopel.csv' does not exist.",
            "did you mean 'people.csv'?",
        ),
        (
            '"people.csv"',
            '"postgres://host/db"',
            "[data] path names no place that can be read.",
            "files, s3://… and - are a path, postgresql://… is a database",
        ),
        (
            '"people.csv"',
            "[]",
            "[data] path must be a path in quotes, or a list of paths.",
            None,
        ),
        (
            'path = "people.csv"',
            'database = "people.csv"',
            "[data] database names no place that can be read.",
            "files, s3://… and - are a path, postgresql://… is a database",
        ),
        (
            'path = "people.csv"',
            'path = "people.csv"\ndatabase = "postgresql://host/db"',
            "[data] needs path or database, one of the two.",
            'path = "…"',
        ),
        (
            'path = "people.csv"',
            'database = "postgresql://me:hunter2@host/db"',
            "[data] database must not hold a password.",
            "PostgreSQL finds it in ~/.pgpass or in PGPASSWORD, S3 in AWS_… or ~/.aws",
        ),
        (
            'path = "people.csv"',
            'path = "s3://bucket/people.csv?secret_key=hunter2"',
            "[data] path must not hold a password.",
            "PostgreSQL finds it in ~/.pgpass or in PGPASSWORD, S3 in AWS_… or ~/.aws",
        ),
        (
            'path = "people.csv"',
            'path = "people.csv"\nquery = "SELECT 1"',
            "[data] query goes with a database.",
            "remove query",
        ),
        (
            '"count", "weighted"',
            '"count", "range:income"',
            (
                "[[table]] 'first': The measure 'range:income' cannot be published: a range is "
                "the difference of two persons' amounts, which no noise for sums hides."
            ),
            'ask for "sum:"; base = "range" of [[magnitude]] makes its noise fit the range',
        ),
        (
            '"count", "weighted"',
            '"cuont"',
            (
                "[[table]] 'first': measures are 'count', 'weighted' and 'sum:', 'mean:', "
                "'median:' or 'quantile:' with a variable, each once, not 'cuont'."
            ),
            "did you mean 'count'?",
        ),
        (
            'weight = "w"',
            "",
            "[[table]] 'first': the measure \"weighted\" needs [data] weight.",
            'add weight = "…"',
        ),
        (
            '["F", "M"]',
            '["F", "F"]',
            "[categories] 'sex' must list different categories.",
            None,
        ),
        (
            "max_noise = 5",
            "",
            "[ptable] max_noise is missing.",
            "give max_noise and variance, a preset, or the path of a p-table",
        ),
        (
            "max_noise = 5",
            'max_noise = 5\npath = "people.csv"',
            "[ptable] has both path and max_noise, variance, small.",
            "a p-table file has its own specification: keep one of the two",
        ),
    ],
)
def test_a_problem_is_named_with_its_place_and_a_way_out(folder, old, new, text, hint):
    assert old in JOB
    problem = the_problem_of(folder, JOB.replace(old, new))
    assert problem.line() == text
    assert problem.hint == hint


def test_a_file_that_a_hierarchy_names_must_be_there(folder):
    for old, new, name in (
        ('tree = "age.csv"', 'tree = "gone.csv"', "ages.tree"),
        ('{ column = "age", tree = "age.csv" }', '"gone.csv"', "ages"),
    ):
        problem = the_problem_of(folder, JOB.replace(old, new))
        assert (problem.where, name in problem.line()) == ("[hierarchies]", True)
        assert "gone.csv" in problem.line()


def test_all_problems_of_the_parsing_are_shown_together(folder):
    text = JOB.replace("variance = 3", 'varience = "3"').replace("schema = 1", "schema = 3")
    lines = [p.line() for p in problems_of(folder, text + "title2 = 1")]
    assert len(lines) == 3
    assert lines[0] == "schema must be 1."


def test_all_problems_of_the_meaning_are_shown_together(folder):
    text = JOB.replace("people.csv", "x.csv").replace("secret.key", "no.key")
    text = text.replace('"first"', '"con"').replace("max_noise = 5", "max_noise = 1")
    places = [p.where for p in problems_of(folder, text)]
    assert places == ["[data]", "[keys]", "[[table]] 'con':", "[ptable]"]


def test_the_message_of_several_problems_lists_them(folder):
    text = JOB.replace("people.csv", "x.csv").replace('"first"', '"con"')
    with pytest.raises(JobError, match=r"^job.toml has 2 problems:\n  - job.toml:5: \[data\]"):
        read_job(write(folder, text))


def test_an_infeasible_specification_alone_is_told_apart(folder):
    text = JOB.replace("variance = 3", "variance = 26")
    with pytest.raises(InfeasibleError, match="max_noise 5"):
        read_job(write(folder, text))


def test_an_infeasible_specification_beside_others_is_one_of_the_problems(folder):
    text = JOB.replace("variance = 3", "variance = 26").replace("people.csv", "x.csv")
    assert [p.where for p in problems_of(folder, text)] == ["[data]", "[ptable]"]


@pytest.mark.parametrize(
    "name",
    [
        "../evil",
        "/etc/passwd",
        "a/b",
        "a\\\\b",
        "..",
        ".hidden",
        "CON",
        "con.csv",
        "nul",
        "Lpt1",
        "manifest",
        "a b",
        "a\\u0000b",
        "a\\nb",
        "tabelle\\u00e4",
        "-rf",
        "a" * 101,
        "trailing.",
        "two..dots",
    ],
)
def test_a_table_name_that_is_no_file_name_is_refused(folder, name):
    problem = the_problem_of(folder, JOB.replace('"first"', f'"{name}"'))
    assert problem.text == "name cannot be a file name everywhere."


def test_table_names_differ_in_more_than_case(folder):
    text = JOB + '[[table]]\nname = "FIRST"\ndimensions = ["sex"]\n'
    assert the_problem_of(folder, text).text == "the name 'first' occurs more than once."


def test_a_secret_written_as_a_key_is_never_echoed(folder):
    marker = "5ec2e75ec2e75ec2e75ec2e75ec2e75e"
    text = JOB.replace("[keys]\n", f'[keys]\n{marker} = "x"\n')
    problem = the_problem_of(folder, text)
    assert problem.line() == "[keys] has a key that is unknown."
    assert problem.hint == "known here: secret, secret_command, checks, mix, version"


def test_categories_and_hierarchies_of_no_table_give_a_warning(folder, caplog):
    text = JOB.replace('sex = ["F", "M"]', 'sexe = ["F", "M"]')
    read_job(write(folder, text + 'population = "Persons of 15 and more."\n'))
    assert [record.getMessage() for record in caplog.records] == [
        "job.toml: [hierarchies] 'ages' is a dimension of no table, so it does nothing.",
        (
            "job.toml: [categories] 'sexe' is a dimension of no table, so it does nothing; "
            "did you mean 'sex'?"
        ),
    ]


def test_a_secret_written_into_the_job_is_never_echoed(folder):
    marker = "5ec2e75ec2e75ec2e75ec2e75ec2e75e"
    with pytest.raises(JobError) as caught:
        read_job(write(folder, JOB.replace("secret.key", marker)))
    assert marker not in str(caught.value)
    assert "never write the secret itself here" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "The job file 'job.toml' is empty."),
        (b" \n", "The job file 'job.toml' is empty."),
        (b"\x00\x01\xff\xfe" * 50, "'job.toml' is not a text in UTF-8; a job is a TOML file."),
        (b"PAR1\x00\x01", "'job.toml' is not valid TOML at line 1, column 5."),
        (b"# " + b"x" * 10_000_000, "'job.toml' is larger than 1 MB; a job is a page of text."),
        (b"[data\n", "'job.toml' is not valid TOML at line 1, column 6."),
        (b"x = " + b"[" * 100_000, "'job.toml' is not valid TOML"),
    ],
)
def test_a_file_that_is_no_job_is_refused(folder, content, message):
    (folder / "job.toml").write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        read_job(folder / "job.toml")
    assert caught.value.problem.startswith(message)


def test_a_folder_is_refused_with_the_job_inside_it(folder):
    write(folder, JOB)
    with pytest.raises(ConfigError, match="is a folder; a job is one TOML file"):
        read_job(folder)


def test_a_missing_job_file_suggests_the_nearest(folder):
    write(folder, JOB)
    with pytest.raises(ConfigError, match=r"did you mean 'job\.toml'"):
        read_job(folder / "jbo.toml")


def test_a_secret_given_as_a_job_is_not_shown(folder):
    (folder / "secret.key").write_text("hex:5ec2e75ec2e75ec2e75ec2e75e")
    with pytest.raises(ConfigError) as caught:
        read_job(folder / "secret.key")
    assert "5ec2e7" not in str(caught.value)


def test_a_byte_order_mark_and_windows_line_ends_are_read(folder):
    (folder / "job.toml").write_bytes(b"\xef\xbb\xbf" + JOB.replace("\n", "\r\n").encode())
    assert read_job(folder / "job.toml").title_of() == "People"


def test_a_specification_is_read_from_a_job_or_alone(folder):
    assert read_noise_spec(write(folder, JOB)).max_noise == 5
    alone = write(folder, "[ptable]\nmax_noise = 2\nvariance = 1.0\n", "spec.toml")
    assert read_noise_spec(alone).variance == 1.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max_noise = 2\n", "The key 'max_noise' is unknown."),
        ("[ptable]\nmax_nois = 2\n", "did you mean 'max_noise'?"),
        ('[ptable]\npath = "x"\n', "path names a p-table that exists"),
        ("[ptable]\nmax_noise = 2\n", "variance is missing"),
    ],
)
def test_a_wrong_specification_is_refused(folder, text, message):
    with pytest.raises(JobError) as caught:
        read_noise_spec(write(folder, text, "spec.toml"))
    assert message in str(caught.value)


def test_variance_may_differ_by_count(folder):
    text = "[ptable]\nmax_noise = 2\nvariance = [1.0, 0.5]\nmonotone = ['none', 'left']\n"
    assert read_noise_spec(write(folder, text, "spec.toml")).variance == (1.0, 0.5)


def test_the_schema_names_every_section_and_refuses_unknown_keys():
    schema = json.loads(json.dumps(schema_of(Job)))
    assert schema["additionalProperties"] is False
    assert {"schema", "data", "keys", "ptable", "table"} <= set(schema["properties"])
    assert schema["properties"]["schema"]["const"] == 1


def test_the_example_of_the_repository_is_a_sound_job(tmp_path):
    example = Path(__file__).resolve().parents[4] / "examples" / "job.toml"
    text = example.read_text(encoding="utf-8")
    (tmp_path / "people.parquet").touch()
    (tmp_path / "secret.key").touch()
    assert read_job(write(tmp_path, text)).tables


@pytest.mark.slow
def test_reading_a_job_loads_no_solver(folder):
    path = write(folder, JOB)
    code = (
        "import sys; from ckm.config import read_job; read_job(sys.argv[1]); "
        "assert not {'cvxpy', 'highspy', 'rich', 'click'} & set(sys.modules)"
    )
    root = Path(__file__).resolve().parents[4]
    subprocess.run([sys.executable, "-c", code, str(path)], cwd=root, check=True)


def test_every_option_of_the_noise_has_a_key(folder):
    text = """
[ptable]
max_noise = [2, 2]
variance = 1.0
p_stay = [0.2, 0.3]
p_stay_rule = "at-least"
monotone = "left"
symmetric = [false, true]
variance_rule = ["exact", "at-most"]
min_probability = 0.001
zero_bias = 0.25
zero_variance = 0.5
"""
    spec = read_noise_spec(write(folder, text, "spec.toml"))
    assert (spec.max_noise, spec.p_stay, spec.p_stay_rule) == ((2, 2), (0.2, 0.3), "at-least")
    assert (spec.symmetric, spec.variance_rule) == ((False, True), ("exact", "at-most"))
    assert (spec.zero_bias, spec.zero_variance) == (0.25, 0.5)
    text = "[ptable]\nmax_noise = 1\nvariance = 0.4\nstep = 2\nanchors = [1, 5]\n"
    spec = read_noise_spec(write(folder, text, "spec.toml"))
    assert (spec.step, spec.anchors) == (2, (1, 5))


def test_the_keys_of_a_section_are_the_options_of_a_specification():
    from ckm.config.job.noise import PTableSection
    from ptable import NoiseSpec

    names = {"path", "preset", "rule"}
    fields = set(NoiseSpec.__dataclass_fields__) - {"target"}  # a table, in Python alone
    assert set(PTableSection.model_fields) - names == fields


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("p_stay = 'often'", "p_stay must be a number, or a list of numbers, one per row."),
        ("p_stay_rule = 'about'", 'p_stay_rule must be "exact", "at-least" or "at-most"'),
        ("monotone = ['up']", 'monotone must be "none", "left", "both" or "unimodal"'),
        ("symmetric = 1", "symmetric must be true or false"),
        ("variance_rule = 'free'", 'variance_rule must be "exact", "at-most" or "nearest"'),
        ("min_probability = 1.0", "min_probability must lie in [0, 1)"),
        ("zero_bias = -1.0", "zero_bias must be at least 0"),
        ("step = 0", "step must be at least 1"),
        ("anchors = []", "anchors must not be empty"),
    ],
)
def test_wrong_options_of_the_noise_are_named(folder, line, message):
    text = f"[ptable]\nmax_noise = 2\nvariance = 1.0\n{line}\n"
    with pytest.raises(JobError) as caught:
        read_noise_spec(write(folder, text, "spec.toml"))
    assert message in str(caught.value)


def test_a_job_for_counts_takes_no_steps_of_magnitudes(folder):
    problem = the_problem_of(folder, JOB.replace("small = 2", "small = 0\nstep = 2"))
    assert problem.line() == "[ptable] step is for magnitudes, and a job publishes counts."


def test_a_preset_and_a_rule_stand_in_a_job_and_among_designs(folder):
    from ckm.config import read_designs
    from ptable import NoiseSpec

    text = JOB.replace("max_noise = 5", 'preset = "insee"').replace("variance = 3\n", "")
    text = text.replace("small = 2", 'rule = "maximum-entropy"')
    assert read_job(write(folder, text)).ptable == NoiseSpec(max_noise=5, variance=3.0, small=2)
    designs = """
[designs.zones]
preset = "insee-qpv"
[designs.r]
max_noise = 2
variance = 1.0
rule = "r-ptable"
"""
    found = read_designs(write(folder, designs, "designs.toml"))
    assert NoiseSpec(**found["zones"]) == NoiseSpec.r_ptable(10, 15.0, small=4)
    assert NoiseSpec(**found["r"]) == NoiseSpec.r_ptable(2, 1.0)
    for line, message in (
        ('preset = "x"', "There is no preset 'x'"),
        ('rule = "x"\nmax_noise = 2', "There is no rule 'x'"),
    ):
        with pytest.raises(JobError, match=message):
            read_designs(write(folder, f"[designs.x]\n{line}\n", "wrong.toml"))
        with pytest.raises(JobError, match=message):
            read_noise_spec(write(folder, f"[ptable]\n{line}\n", "wrong.toml"))


SPARK = """
schema = 1
[data]
path = "people.csv"
id = "person_id"
engine = "{engine}"
[data.spark]
{settings}
[keys]
secret = "secret.key"
[ptable]
max_noise = 2
variance = 1.0
[[table]]
name = "a"
dimensions = ["sex"]
"""


def test_settings_of_spark_are_handed_on_as_spark_writes_them(folder):
    settings = '"spark.executor.memory" = "8g"\n"spark.executor.cores" = 4\n"spark.x" = true'
    job = read_job(write(folder, SPARK.format(engine="spark", settings=settings)))
    assert job.data.spark_settings == {
        "spark.executor.memory": "8g",
        "spark.executor.cores": "4",
        "spark.x": "true",
    }


@pytest.mark.parametrize(
    ("engine", "setting", "told"),
    [
        ("spark", '"spark.sql.ansi.enabled" = false', "is not to be made"),
        ("spark", '"spark.ui.enabled" = true', "is not to be made"),
        ("spark", '"spark.hadoop.fs.s3a.secret.key" = "MARKER"', "holds a secret"),
        ("duckdb", '"spark.executor.memory" = "8g"', "spark goes with engine"),
    ],
)
def test_settings_that_decide_answers_or_hold_secrets_are_refused(
    folder, engine, setting, told
):
    problem = the_problem_of(folder, SPARK.format(engine=engine, settings=setting))
    assert told in str(problem)
    assert "MARKER" not in str(problem)


def test_a_filter_needs_words_for_readers_and_its_text_is_not_told(folder):
    job = read_job(write(folder, JOB))
    assert job.populations["first"] == {
        "en": "Only some of the records are counted: ask the office which.",
        "fr": (
            "Seule une partie des enregistrements est comptée\u00a0: demandez laquelle à "
            "l\N{RIGHT SINGLE QUOTATION MARK}organisme."
        ),
    }
    words = "Readers learn that first count some records alone, and not which"
    assert [words in text for text in job.warnings].count(True) == 1
    told = read_job(write(folder, JOB + 'population = "Persons of 15 and more."\n'))
    assert told.population_of("first") == "Persons of 15 and more."
    everybody = read_job(write(folder, JOB.replace('where = "age >= 15"', "")))
    assert everybody.populations == {}
    assert not any(words in text for text in (*told.warnings, *everybody.warnings))
