"""Eight tasks of an office, each done by the commands and pages of `tasks.toml` alone.

Each must end with the right result and without a violation that nobody is told of: no number
that is not protected, no identifier and no secret in what may be passed on.
"""

import contextlib
import os
import re
import runpy
import shlex
import shutil
import stat
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from ckm.cli import app
from ptable import PTable

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
COOKBOOK = ROOT / "examples" / "cookbook"
TASKS = {
    task["id"]: task
    for task in tomllib.loads((Path(__file__).parent / "tasks.toml").read_text("utf-8"))["task"]
}
#: What a colleague left: a table by each income.
LEAK = """schema = 1
[data]
path = "people.parquet"
id = "person_id"
[keys]
secret = "secret.key"
[ptable]
max_noise = 5
variance = 3.0
small = 2
[[table]]
name = "incomes"
dimensions = ["region", "income"]
"""
#: Fewer people and firms than in the cookbook.
FEWER = {
    "n = 6_000": "n = 900",
    "iloc[400:]": "iloc[60:]",
    "iloc[:450]": "iloc[:70]",
    "range(450)": "range(70)",
    "m = 900": "m = 300",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Give a folder with the data, where all tasks were done in their order."""
    folder = tmp_path_factory.mktemp("study")
    text = (COOKBOOK / "make_data.py").read_text(encoding="utf-8")
    for old, new in FEWER.items():
        assert old in text
        text = text.replace(old, new)
    (folder / "make_data.py").write_text(text, encoding="utf-8")
    (folder / "leak.toml").write_text(LEAK, encoding="utf-8")
    with contextlib.chdir(folder):
        runpy.run_path("make_data.py", run_name="__main__")
    return folder


@pytest.fixture(scope="module")
def done(folder):
    """Do all tasks; give what their commands answered."""
    answers = {}
    with contextlib.chdir(folder), pytest.MonkeyPatch.context() as patch:
        patch.delenv("CKM_SECRET", raising=False)
        for name, task in TASKS.items():
            answers[name] = [answer for step in task["steps"] for answer in do(step)]
    return answers


def do(step):
    """Do a step; give what a command answered."""
    verb, _, rest = step.partition(" ")
    if verb == "ckm":
        command, _, code = rest.partition(" → ")
        result = CliRunner(env={"CKM_LANG": "en", "COLUMNS": "200"}).invoke(
            app, shlex.split(command)
        )
        assert result.exit_code == int(code or 0), f"{step}\n{result.output}"
        yield result.output
    elif verb == "copy":
        shutil.copy(COOKBOOK / rest, rest)
    elif verb == "edit":
        file, _, change = rest.partition(": ")
        old, _, new = change.replace("¶", "\n").partition(" → ")
        text = Path(file).read_text(encoding="utf-8")
        assert old in text, step
        Path(file).write_text(text.replace(old, new, 1), encoding="utf-8")
    else:
        assert verb == "open", step
        assert "<h1>" in Path(rest).read_text(encoding="utf-8")


def table(folder, release, name):
    return pd.read_parquet(folder / release / "public" / f"{name}.parquet")


def true_counts(people, columns):
    """Count the records with all margins, as tables have them."""
    texts = people[columns].astype(str)
    parts = []
    for kept in range(2 ** len(columns)):
        own = texts.copy()
        for place, column in enumerate(columns):
            if not kept >> place & 1:
                own[column] = "Total"
        parts.append(own.value_counts().rename("true").reset_index())
    return pd.concat(parts).drop_duplicates(columns)


def require_noise(folder, release, name, columns, *, data="people.parquet", small, largest):
    """Check counts of a table: none is small, none is far from the truth, some are not it."""
    published = table(folder, release, name)
    both = published.merge(true_counts(pd.read_parquet(folder / data), columns), on=columns)
    assert len(both) == len(published)
    noise = both["count"] - both["true"]
    assert noise.abs().max() <= largest
    assert (noise != 0).any()
    assert not both["count"].isin(range(1, small + 1)).any()


@pytest.mark.usefixtures("done")
def test_a_file_of_ones_own_becomes_a_release(folder):
    tables = [*(folder / "first" / "public").glob("*.parquet")]
    assert tables
    for file in tables:
        counts = pd.read_parquet(file)["count"]
        assert not counts.isin([1, 2]).any(), file.name


def test_a_leak_is_named_and_the_way_out_works(folder, done):
    refusal = " ".join(done["leak"][0].split())
    assert "Column 'income' cannot be a dimension" in refusal
    assert "bands" in refusal
    assert not re.search(r"\b\d{4,6}\b", refusal)  # no income of anybody


@pytest.mark.usefixtures("done")
def test_a_survey_with_weights_publishes_numbers_of_people(folder):
    people = pd.read_parquet(folder / "people.parquet")
    published = table(folder, "weights", "persons")
    total = published[(published["region"] == "Total") & (published["sex"] == "Total")]
    measure = next(name for name in published.columns if name.startswith("weighted"))
    assert abs(total[measure].item() - people["w"].sum()) <= 5 * people["w"].max()
    assert total[measure].item() > 5 * len(people)
    assert "count" not in published.columns


def test_a_second_year_is_held_against_the_first(folder, done):
    refusal = " ".join(done["yearly"][1].split())
    assert "differ from published ones by too few records" in refusal
    require_noise(folder, "yearly-2027", "persons", ["commune", "sex"], small=2, largest=5)
    require_noise(
        folder, "yearly-2028", "persons", ["region", "sex"],
        data="people-2028.parquet", small=2, largest=5,
    )  # fmt: skip
    assert done["yearly"][-1].count("persons") >= 2


@pytest.mark.usefixtures("done")
def test_a_page_explains_the_tables_to_a_journalist_without_a_parameter(folder):
    page = (folder / "journalist.html").read_text(encoding="utf-8")
    words = re.sub(r"<style>.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL)
    assert "Pourquoi les totaux" in words
    assert not re.search(r"variance|écart maximal|±", words)
    assert 'lang="fr"' in page


@pytest.mark.usefixtures("done")
def test_a_table_of_firms_hides_what_one_firm_could_be_told_from(folder):
    firms = pd.read_parquet(folder / "firms.parquet")
    published = table(folder, "business", "turnover")
    hidden = published["sum_turnover"].isna()
    assert hidden.any()
    assert not hidden.all()
    for row in published[~hidden].itertuples():
        own = firms
        for column in ("section", "branch", "region"):
            if (code := getattr(row, column)) != "Total":
                own = own[own[column] == code]
        holdings = own.groupby("group_id")["turnover"].sum().sort_values(ascending=False)
        assert holdings.empty or len(holdings) >= 3
        assert holdings.empty or holdings.iloc[0] <= 0.75 * holdings.sum()


def test_a_service_is_ready_to_start_and_keeps_no_token(folder, done):
    assert "the service can start" in " ".join(done["service"][-1].split())
    token = next(
        word for word in done["service"][1].split() if len(word) > 24 and "/" not in word
    )
    assert token not in (folder / "tokens.json").read_text(encoding="utf-8")


@pytest.mark.usefixtures("done")
def test_a_ptable_of_r_is_read_as_it_was_written_and_used(folder):
    made, read = (PTable.read(folder / name) for name in ("made.parquet", "theirs.parquet"))
    assert np.allclose(made.transition, read.transition, atol=1e-8)
    require_noise(folder, "from-r", "persons", ["region", "sex"], small=1, largest=2)


@pytest.mark.usefixtures("done")
def test_nothing_that_may_be_passed_on_holds_a_secret_or_an_identifier(folder):
    secret = (folder / "secret.key").read_bytes().strip()
    people = {ident.encode() for ident in identifiers(folder)}
    public = [*folder.glob("*/public/*"), folder / "journalist.html"]
    assert len(public) > 20
    for file in public:
        content = file.read_bytes()
        assert secret not in content, file.name
        assert not people & {*re.findall(rb"[PNF]\d{5,6}", content)}, file.name


@pytest.mark.usefixtures("done")
def test_what_is_inside_is_for_its_owner_alone(folder):
    private = [folder / "secret.key", folder / "ledger.db", *folder.glob("*/internal/*")]
    for file in private:
        assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0, file.name


def identifiers(folder):
    columns = {"people.parquet": "person_id", "firms.parquet": "firm_id"}
    for name, column in columns.items():
        yield from pd.read_parquet(folder / name)[column]


def test_the_page_counts_the_steps_and_names_what_was_read():
    text = (DOCS / "explanation" / "study.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \|(.+)$", text, flags=re.MULTILINE)
    assert {name for name, _ in rows} == {*TASKS}
    for name, rest in rows:
        cells = [cell.strip() for cell in rest.strip(" |").split("|")]
        assert int(cells[2]) == len(TASKS[name]["steps"]), name
        read = {os.path.normpath(Path("explanation", link)) for link in links(cells[1])}
        assert read == {*TASKS[name]["read"]}, name


def links(text):
    return re.findall(r"\]\(([^)#]+)", text)


def test_every_recipe_and_page_of_the_study_is_there():
    for task in TASKS.values():
        assert all((DOCS / page).is_file() for page in task["read"])
        copied = [step.split()[1] for step in task["steps"] if step.startswith("copy ")]
        assert all((COOKBOOK / name).is_file() for name in copied)
