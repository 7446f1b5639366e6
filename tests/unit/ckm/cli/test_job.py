import json
import re
import shlex
import tomllib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from ckm.cli import app
from ckm.config.draft import draft_job
from ckm.demo.register import job_seekers
from tables import DerivedVariable, Request, StoredKeys, cube, open_source
from tables.profile import nestings, profile_columns
from tables.recoding.derive import derive_variables

N = 2400
TREE = ["region", "department", "commune"]


def run(*args, language="en"):
    environment = {"CKM_LOG_FORMAT": "text", "CKM_LANG": language}
    return CliRunner(env=environment).invoke(app, [str(arg) for arg in args])


def people(**changes):
    rng = np.random.default_rng(3)
    commune = np.arange(N) % 60
    found = {
        "serial": np.arange(N),
        "person_id": [f"p{i}" for i in range(N)],
        "commune": [f"c{c}" for c in commune],
        "code": commune + 700,
        "region": [f"r{c // 20}" for c in commune],
        "department": [f"d{c // 5}" for c in commune],
        "sex": rng.choice(["F", "M", None], N, p=[0.5, 0.4, 0.1]),
        "activity": rng.choice([1.0, 2.0, np.nan], N),
        "income": rng.random(N),
        "weight": np.where(rng.random(N) < 0.1, 0.0, 1.5),
    }
    found |= changes
    return pa.table({name: values for name, values in found.items() if values is not None})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("CKM_SECRET", "CKM_LOG_FORMAT"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "secret.key").write_text("a secret that is used by nobody")
    (tmp_path / "secret.key").chmod(0o600)
    return tmp_path


def drafted(table, *, language="en"):
    pq.write_table(table, "people.parquet")
    result = run("job", "init", "people.parquet", "--force", language=language)
    assert result.exit_code == 0, result.output
    with open("job.toml", encoding="utf-8") as file:  # noqa: PTH123
        text = file.read()
    return tomllib.loads(text), text


def test_a_draft_names_what_it_found(folder):
    job, text = drafted(people())
    assert job["data"] == {"path": "people.parquet", "id": "person_id", "weight": "weight"}
    assert '# id = "serial"' in text
    assert job["hierarchies"] == {"geo": TREE}
    assert job["categories"] == {"sex": ["F", "M"], "activity": [1, 2]}
    assert [table["dimensions"] for table in job["table"]] == [
        ["geo", "sex", "activity"],
        ["sex", "activity"],
    ]
    assert '"code": integer, 60 values, divides the records as "commune" does' in text
    missing = f"{100 * people()['sex'].null_count / N:.3g} % missing"
    assert f'"sex": text, 2 values, {missing}, in a table' in text
    sums = 'measures = ["count", "sum:income"]'
    bands = 'or a dimension once cut into bands, see "income_bands" above\n'
    assert f"{sums}, {bands}" in text
    income = pa.array([None, *[-0.5] * 9, *np.arange(N - 10) / 7], pa.float64())
    _, text = drafted(people(income=income))
    more = 'with missing_values = "skip", signed = true in its [[magnitude]]'
    assert f"{sums} {more}, {bands}" in text


def test_a_draft_says_which_columns_are_refused_and_why(folder):
    n = 600
    table = pa.table(
        {
            "id": range(n),
            "sex": ["F", "M"] * (n // 2),
            "income": [1000.5 + place // 2 for place in range(n)],
            "day": pa.array([place // 3 for place in range(n)], pa.int32()).cast(pa.date32()),
            "name": [f"n{place // 2 if place < 200 else place}" for place in range(n)],
            "half": pa.array([1.0] * n, pa.float32()).cast(pa.float16()),
            "list": [[1]] * n,
        }
    )
    _, text = drafted(table)
    refused = text.split("# Columns that are refused, and why")[1]
    lines = dict(line[2:].split(": ", 1) for line in refused.splitlines()[1:])
    assert list(lines) == ['"id"', '"income"', '"day"', '"name"', '"list"', '"half"']
    assert lines['"id"'] == "tells records apart: no dimension, no filter, no variable"
    assert lines['"income"'].endswith("records of a value is 2")
    assert "it has 300 values; one record alone has 0 %" in lines['"income"']
    assert "it has 200 values" in lines['"day"']
    assert "it has 500 values; one record alone has 80 %" in lines['"name"']
    assert "holds half floats, which are not read. cast it to float32" in lines['"half"']
    assert "holds nested values, which are not read" in lines['"list"']
    refused = drafted(table, language="fr")[1].split("# Colonnes")[-1]
    assert not re.search(r"\b(the|which|value|record|dimension, no)\b", refused), refused


def test_a_draft_of_groups_alone_says_of_no_column_that_it_is_refused(folder):
    table = pa.table({"sex": ["F", "M"] * 300, "code": [f"c{n % 120}" for n in range(600)]})
    assert "are refused" not in drafted(table)[1]


@pytest.mark.slow
def test_ages_are_drafted_in_bands_and_other_amounts_and_dates_are_proposed(folder):
    rng = np.random.default_rng(3)
    age = rng.integers(0, 100, N)
    day = np.datetime64("2020-01-01") + rng.integers(0, 900, N)
    job, text = drafted(people(age=age, income=rng.lognormal(10, 1, N).round(), day=day))
    (age5,) = job["variable"]
    assert age5 == {"name": "age5", "of": "age", "width": 5, "start": 0, "end": 85}
    assert any("age5" in table["dimensions"] for table in job["table"])
    keyed_and_checked()
    commented = "".join(
        f"{line[2:]}\n"
        for line in text.split("\n")
        if line.startswith(("# [[variable]]", "# name", "# of", "# width", "# start", "# end"))
    )
    (income,) = tomllib.loads(commented)["variable"]
    assert (income["name"], income["of"], income["width"]) == ("income_bands", "income", 10000)
    (folder / "job.toml").write_text(
        text.replace(
            "[[table]]",
            f'{commented}[[table]]\nname = "incomes"\ndimensions = ["income_bands"]\n[[table]]',
            1,
        ),
        encoding="utf-8",
    )
    assert "incomes" in [table["name"] for table in keyed_and_checked()["tables"]]
    assert 'a dimension by width = "year" or "month" of a [[variable]]' in text


@pytest.mark.parametrize(
    "values",
    [
        np.r_[np.full(N - 50, 7.0), np.arange(50) / 3],
        np.r_[np.full(N - 1, 1e-9), 1e300] * np.arange(1, N + 1),
        -np.arange(N) * 1e7,
        np.r_[np.arange(N - 1) / 7, 1e9],
        np.r_[-1e12, np.arange(N - 1)],
    ],
)
def test_proposed_bands_hold_every_value(folder, values):
    table = people(income=values, key=np.arange(N) % 256)
    pq.write_table(table, "people.parquet")
    draft = draft_job("people.parquet", output=folder / "job.toml")
    lines = draft.text.split("\n")
    start = next(n for n, line in enumerate(lines) if line.startswith("# [[variable]]"))
    block = "\n".join(line[2:] for line in lines[start : lines.index("", start)])
    (settings,) = tomllib.loads(block)["variable"]
    request = Request(dimensions=["income_bands"], where="income is not missing")
    with open_source(table) as source:
        derive_variables(source, [DerivedVariable(**settings)])
        (cells,) = cube(source, StoredKeys(column="key", key_range=256), [request])
    assert 2 < len(cells) <= 45


def test_comments_alone_are_in_the_language_of_the_reader(folder):
    table = people(sex=['a # in a table", # a weight', "\ta weight\t"] * (N // 2))
    (job, english), (travail, french) = drafted(table), drafted(table, language="fr")
    assert travail == job
    assert "[ptable]                       # à décider\N{NO-BREAK SPACE}: combien" in french
    same = set(english.splitlines()) & set(french.splitlines())
    shown = {line for line in same if "#" in line and "categ" not in line}
    alike = ("sex = ", '# "income"', "# ")
    assert all(line.startswith(alike) for line in shown), shown
    assert (
        '# "code": integer, 60 valeurs, répartit les enregistrements comme "commune"' in french
    )


def test_a_value_in_two_places_or_with_and_without_one_nests_in_none():
    places = {"town": ["a", "a", "b", "c"], "two": [1, 2, 3, 3], "gap": [None, 1, 3, 3]}
    with open_source(pa.table(places | {"all": [1, 1, 2, 2]})) as source:
        found = nestings(source, dict.fromkeys(source.columns, 3))
    assert found["town"] == {"all"}
    assert found["two"] == {"gap", "all"}
    assert found["gap"] == {"two", "all"}


def test_values_are_counted_up_to_a_thousand():
    with open_source(pa.table({"a": range(999), "b": [None] * 998 + [1.5]})) as source:
        _, (a, b) = profile_columns(source)
    assert (a.distinct, a.is_whole, b.distinct, b.is_whole) == (999, True, 1, False)


def keyed_and_checked(file="job.toml"):
    """Draw keys where the draft says so, and return what a check finds."""
    with open(file, encoding="utf-8") as text:  # noqa: PTH123
        for line in text:
            if "ckm keys draw" in line:
                assert run(*shlex.split(line.strip("# \n"))[1:], "--force").exit_code == 0
    result = run("check", file, "--json")
    found = json.loads(result.stdout)
    assert (result.exit_code, found["ok"], found["problems"]) == (0, True, []), found
    return found


@pytest.mark.slow
def test_the_draft_of_the_demonstration_is_released_as_it_is(folder):
    register = job_seekers(np.random.default_rng(1), persons=5000).people
    job, _ = drafted(register)
    assert job["hierarchies"]["geo"] == TREE
    found = keyed_and_checked()
    assert [table["name"] for table in found["tables"]] == [t["name"] for t in job["table"]]
    assert run("release", "job.toml", "-o", "out").exit_code == 0
    text = Path("job.toml").read_text(encoding="utf-8")
    Path("job.toml").write_text(text.replace("variance = 3.0", "variance = 2.5"), "utf-8")
    again = run("release", "job.toml", "-o", "again")
    assert again.exit_code == 2
    assert "The tables in the ledger have another noise" in again.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", ["acs_national_2019", "adult_train"])
def test_the_draft_of_real_data_is_released_once_keys_are_drawn(folder, shared, name):
    file = shared / "data" / f"{name}.parquet"
    if not file.exists():
        pytest.skip("no real data here")
    result = run("job", "init", file)
    assert "No column tells records apart" in result.stderr
    assert keyed_and_checked()["tables"]
    assert run("release", "job.toml", "-o", "out").exit_code == 0


HOSTILE = {
    'a "quoted"\n[id]': np.arange(N),
    "new\nline": ["x\ny", 'q"', "z\\"] * (N // 3),
    "dot.ted": ["'''", '"""'] * (N // 2),
    "été π \x7f": ["", "é", "é", "", "é"] * (N // 5),
    "\x9b2J\u202e": ["\x85", "\u2028"] * (N // 2),
    "nulls": pa.nulls(N),
    "lists": [[1]] * N,
    "Total": ["Total", "b"] * (N // 2),
}


def test_hostile_names_and_values_are_quoted(folder):
    job, text = drafted(pa.table(HOSTILE))
    assert all(map(str.isprintable, text.split("\n")))
    assert job["data"]["id"] == 'a "quoted"\n[id]'
    assert job["categories"]["new\nline"] == ['q"', "x\ny", "z\\"]
    assert job["categories"]["été π \x7f"] == ["", "é"]
    assert "Total" not in job["categories"]
    keyed_and_checked()


def test_one_column_makes_a_table_whose_name_a_file_can_have(folder):
    job, _ = drafted(pa.table({"aux": ["a", "b"] * (N // 2)}))
    assert job["table"] == [{"name": "by_aux", "dimensions": ["aux"]}]
    keyed_and_checked()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (people().slice(0, 0), "has no records"),
        (people().select(["serial"]), "has 2 to 30 categories"),
        (pa.table({"a": pa.nulls(9, pa.string())}), "has 2 to 30 categories"),
        (people().select(["person_id", "weight"]).slice(0, 9), "has 2 to 30 categories"),
    ],
)
def test_data_that_give_no_table_are_refused(folder, table, message):
    pq.write_table(table, "people.parquet")
    result = run("job", "init", "people.parquet")
    assert (result.exit_code, message in result.stderr) == (3, True)
    assert not (folder / "job.toml").exists()


def test_keys_that_were_drawn_are_no_identifier(folder):
    job, _ = drafted(people(person_id=None, serial=None, record_key=np.arange(N)))
    assert (job["data"]["record_key"], "id" in job["data"]) == ("record_key", False)


def test_a_job_that_exists_stays(folder):
    pq.write_table(people(), "people.parquet")
    (folder / "job.toml").write_text("mine")
    assert run("job", "init", "people.parquet").exit_code == 2
    assert (folder / "job.toml").read_text() == "mine"


def test_a_draft_is_private_and_never_replaces_the_data(folder):
    drafted(people())
    assert (folder / "job.toml").stat().st_mode & 0o77 == 0
    result = run("job", "init", "people.parquet", "-o", "people.parquet", "--force")
    assert (result.exit_code, pq.read_table("people.parquet").num_rows) == (2, N)
    (folder / "link.toml").symlink_to(folder / "gone.toml")
    for words in (["job", "init", "people.parquet"], ["schema", "job"]):
        assert run(*words, "-o", "link.toml").exit_code == 2


def test_the_schema_lies_beside_the_job_that_names_it(folder):
    pq.write_table(people(), "people.parquet")
    assert run("job", "init", "people.parquet", "-o", "march.toml", "--schema").exit_code == 0
    first = (folder / "march.toml").read_text(encoding="utf-8").splitlines()[0]
    assert first == "#:schema ./job.schema.json"
    assert json.loads((folder / "job.schema.json").read_text(encoding="utf-8"))["$defs"]


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        ("small = 2", "smal = 2", "did you mean 'small'?"),
        ('"sex", "activity"]', '"sexe", "activity"]', "did you mean 'sex'?"),
    ],
)
def test_a_check_for_programs_names_the_line_of_every_problem(folder, old, new, hint):
    _, text = drafted(people())
    changed = text.replace(old, new)
    (folder / "job.toml").write_text(changed, encoding="utf-8")
    result = run("check", "job.toml", "--json", "--quick")
    found = json.loads(result.stdout)
    assert (result.exit_code, found["ok"], found["exit"]) == (2, False, 2)
    wrong = [n for n, line in enumerate(changed.splitlines(), 1) if f"{new} " in f"{line} "]
    told = found["problems"]
    assert [one["line"] for one in told if one["hint"] == hint] == wrong
    assert {one["file"] for one in told} == {"job.toml"}


# --- services -----------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["en", "fr"])
def test_a_drafted_service_can_be_opened_as_it_is(tmp_path, monkeypatch, language):
    from ckm.config.service.service import read_service
    from ckm.release.job_inputs import load_ptable, open_engine
    from ckm.service.answering.answer import Answerer
    from ckm.service.answering.query import query_of_request

    monkeypatch.chdir(tmp_path)
    register = job_seekers(np.random.Generator(np.random.PCG64(3)), persons=4000).people
    pq.write_table(register, "people.parquet")
    result = run("service", "init", "people.parquet", language=language)
    assert result.exit_code == 0, result.output
    assert run("keys", "secret", "secret.key").exit_code == 0
    service = read_service("service.toml")
    assert service.area is not None
    assert "sex" in service.variables
    assert "person_id" not in service.variables
    with open_engine(service.job, load_ptable(service.job)) as engine:
        answerer = Answerer(service, engine)
        query = query_of_request(answerer.variables, dimensions=["sex"])
        assert answerer.answer(query).table.n_rows == 3
    words = "décider" if language == "fr" else "decide"
    assert words in (tmp_path / "service.toml").read_text(encoding="utf-8")


def test_a_drafted_service_replaces_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(people(), "people.parquet")
    assert run("service", "init", "people.parquet").exit_code == 0
    assert run("service", "init", "people.parquet").exit_code == 2
    assert run("service", "init", "people.parquet", "--force").exit_code == 0


def test_the_draft_of_a_service_has_the_bands_that_it_names_and_no_sums(folder):
    table = people(income=np.random.default_rng(3).lognormal(7, 1, N).round())
    pq.write_table(table, "people.parquet")
    text = draft_job("people.parquet", output=folder / "service.toml", is_service=True).text
    assert '# name = "income_bands"' in text.split("# The columns of the data")[0]
    line = next(one for one in text.splitlines() if one.startswith('# "income"'))
    assert line.endswith('a dimension once cut into bands, see "income_bands" above')
    assert "sum:" not in text
    block = text[text.index("# [[variable]]") :].split("\n\n")[0]
    offered = tomllib.loads(re.sub(r"(?m)^# ", "", block))["variable"]
    assert offered[0]["of"] == "income"
