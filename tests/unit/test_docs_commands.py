"""The commands of README and docs run as they are printed, in their order, in an empty folder.

What a page takes as its reader's own, data and files of settings, is put there first; files of
settings are those that the pages print, wherever they print them.
"""

from __future__ import annotations

import itertools
import json
import re
import shlex
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import ckm.comparison.compare_methods
from ckm.cli import app
from ptable import NoiseSpec, solve

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
#: Installing, serving until somebody stops it, tokens and clusters are tested elsewhere.
NOT_HERE = (
    *("pip ", "make", "ckm serve", "ckm rappor serve", "ckm token", ". .venv"),
    # Populations of a hundred thousand and a million: tests/unit/ckm/cli/rappor.
    *("ckm rappor simulate --params", "ckm rappor simulate --exp", "ckm rappor decode try/"),
    # tests/unit/ckm/cli, with columns that no other page has
    *("ckm synth schema --from-header people", "ckm anonymity", "ckm dp response"),
)


def fenced(page: Path) -> list[tuple[str, str]]:
    """Give the language and text of each fenced block."""
    found: list[tuple[str, list[str]]] = []
    is_open = False
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            is_open = not is_open
            if is_open:
                found.append((line[3:].strip(), []))
        elif is_open:
            found[-1][1].append(line)
    return [(language, "\n".join(lines) + "\n") for language, lines in found]


def commands(page: Path) -> list[str]:
    """Give the commands of a page: without comments, and with their further lines."""
    printed = []
    for language, text in fenced(page):
        if language not in ("", "sh"):
            continue
        for line in re.sub(r"\\\n\s*", " ", text).splitlines():
            command = re.split(r"\s#", line.strip())[0].strip()
            if re.match(r"(ckm|pip|make|\.) ", command):
                printed.append(command)
    return [command for command in printed if not command.startswith(NOT_HERE)]


def toml(page: str, word: str) -> str:
    """Give the settings on a page that hold a word."""
    return next(
        text for kind, text in fenced(ROOT / page) if kind in ("toml", "text") and word in text
    )


def people(n: int = 600, first: int = 0) -> pa.Table:
    """Make people with every column that a page speaks of."""
    rng = np.random.default_rng(first)
    region = rng.integers(1, 3, n)
    home = np.arange(n) // 2
    place = rng.integers(0, 3, n)[home]
    age = 10 * rng.integers(1, 8, n)
    return pa.table(
        {
            "person_id": [f"p{first + i}" for i in range(n)],
            "home_id": home,
            "region": [f"0{r}" for r in region[home]],
            "department": [f"0{r}{p}" for r, p in zip(region[home], place, strict=True)],
            "commune": [f"0{r}{p}7" for r, p in zip(region[home], place, strict=True)],
            "town": [f"t0{r}{p}" for r, p in zip(region[home], place, strict=True)],
            "sex": rng.choice(["F", "M"], n),
            "category": rng.choice(["A", "B", "C"], n),
            "sector": rng.choice(["farm", "shop"], n),
            "occupation": rng.choice(["clerk", "cook"], n),
            "tenure": rng.choice(["own", "rent"], n)[home],
            "age": age,
            "income": rng.integers(8, 60, n) * 100,
            "w": np.ones(n),
            "employed": np.where(age > 30, "yes", "no"),
            "person": [f"p{first + i}" for i in range(n)],
            "page": rng.choice(["a.example", "b.example"], n),
        }
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("CKM_SECRET", "CKM_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CKM_LOG_FORMAT", "text")
    return tmp_path


@pytest.fixture(scope="module")
def compared_once():
    """Compare methods once where commands of any page compare them for the same records."""
    compare, comparisons = ckm.comparison.compare_methods.compare_methods, {}

    def compared(plan, methods, **options):
        settings = tomllib.loads(plan.text)  # whatever its comments call the file
        records = Path(plan.data.path).read_bytes()
        key = repr(settings), records, repr(methods), repr(options["experiment"])
        if key not in comparisons:
            comparisons[key] = compare(plan, methods, **options)
        return comparisons[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ckm.comparison.compare_methods, "compare_methods", compared)
        yield


@pytest.fixture
def measured_once(monkeypatch):
    """Measure the memory of a step for the first batch size alone: each loads PyTorch anew."""
    from dpsgd.training import memory

    measure = memory.measure

    def measured(stages, configurations, **options):
        first = [
            c for c in configurations if c["batch_size"] == configurations[0]["batch_size"]
        ]
        footprints = {
            footprint.configuration["is_private"]: footprint
            for footprint in measure(stages, first, **options)
        }
        return [replace(footprints[c["is_private"]], configuration=c) for c in configurations]

    monkeypatch.setattr(memory, "measure", measured)


#: What pages show being refused, and the exit code that it ends with.
REFUSED = {
    "ckm ptable build --max-noise 5 --variance 3 --small 2 --posterior 0.5 --objective "
    "least-variance -o limits.parquet": 4
}


def run(command: str) -> None:
    program, *arguments = shlex.split(command)
    assert program == "ckm"
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == REFUSED.get(command, 0), f"{command}\n{result.output}"


def write_records(*names: str, has_classes: bool) -> None:
    for number, name in enumerate(names):
        table = people(first=600 * number)
        if has_classes:
            classes = np.where(table["income"].to_numpy() > 3000, "high", "low")
            table = table.select(["sex", "category", "age", "occupation"])
            table = table.append_column("income", pa.array(classes))
        write = pa.csv.write_csv if name.endswith(".csv") else pq.write_table
        write(table, name)


def write_schema(*, has_classes: bool) -> None:
    from synth import Category, Schema, Whole

    columns = [
        Category(name="sex", values=["F", "M"], declared_by="code book"),
        Category(name="category", values=["A", "B", "C"], declared_by="code book"),
        Whole(name="age", low=0, high=110, bins=22, declared_by="code book"),
        Category(name="occupation", values=["clerk", "cook"], declared_by="code book"),
        Category(name="income", values=["low", "high"], declared_by="code book")
        if has_classes
        else Whole(name="income", low=0, high=6000, bins=6, declared_by="code book"),
    ]
    named = {column.name for column in columns}
    ignored = (
        []
        if has_classes
        else [name for name in [*people(2).column_names, "record_key"] if name not in named]
    )
    Schema(columns=columns, ignored=ignored).write("schema.json")


def write_settings() -> None:
    """Put the settings that pages print under the names that commands use."""
    for name, page, word in (
        ("job.toml", "README.md", "jobseekers"),
        ("survey.toml", "docs/howto/your-data.md", "[[variable]]"),
        ("hiding.toml", "docs/howto/suppress.md", "[suppression]"),
        ("protecting.toml", "docs/reference/job-file.md", "cells = ["),
        ("swap.toml", "docs/reference/swapping.md", "[swap]"),
        ("plan.toml", "docs/reference/privacy/dpsgd.md", "[plan]"),
        ("tables.toml", "docs/reference/privacy/dp-release.md", "[privacy]"),
        ("service.toml", "docs/reference/service.md", "[service]"),
        ("sweep.toml", "docs/explanation/privacy/synth-evaluation.md", "[[ways]]"),
        ("methods.toml", "docs/explanation/criteria.md", "[methods."),
    ):
        Path(name).write_text(toml(page, word), encoding="utf-8")
    # The page's sweep takes hours: two folds of its first method do here.
    sweep = Path("sweep.toml").read_text(encoding="utf-8").replace("folds = 5", "folds = 2")
    first = '[[ways]]\nmethod = "copula-shirley"'
    assert first in sweep
    Path("sweep.toml").write_text(sweep.partition(first)[0], encoding="utf-8")
    # The page on criteria speaks of the demonstration's columns.
    methods = Path("methods.toml").read_text(encoding="utf-8")
    methods = methods.replace('"home"', '"home_id"').replace('"zone_2024"', '"sex"')
    Path("methods.toml").write_text(methods, encoding="utf-8")
    designs = (ROOT / "examples" / "qpv" / "designs.toml").read_text(encoding="utf-8")
    Path("designs.toml").write_text(designs, encoding="utf-8")


def write_ptables() -> None:
    """Put p-tables of other tools, as they come out of ours."""
    solve(NoiseSpec(max_noise=5, variance=3.0)).write("theirs.parquet")
    run("ckm ptable convert theirs.parquet ptable.csv --to r-ptable --digits 9")
    run("ckm ptable convert theirs.parquet old.csv --to r-ptable --digits 8")
    Path("theirs.parquet").unlink()


def write_checkpoint() -> None:
    """Put what a training by Opacus left."""
    import torch

    history = [(1.1, 0.004, 2500)]
    state = {"history": history, "mechanism": "prv"}
    torch.save({"privacy_accountant_state_dict": state}, "run.pt")


#: Page → the reader's own files, beside settings; then what earlier pages have the reader make.
OWN: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "README.md": (("people.parquet",), ()),
    "docs/howto/choosing-noise.md": ((), ()),
    "docs/howto/from-opacus.md": ((), ()),
    "docs/explanation/criteria.md": (
        ("people.parquet", "synthetic.parquet"),
        ("ckm keys secret secret.key",),
    ),
    "docs/explanation/designing-by-limits.md": ((), ()),
    "docs/explanation/privacy/dp.md": ((), ()),
    "docs/reference/privacy/dp-release.md": (("people.parquet",), ()),
    "docs/reference/privacy/dpsgd.md": (("people.csv", "new.csv", "others.csv"), ()),
    "docs/tutorial/from-the-slides.md": ((), ()),
    "docs/reference/job-file.md": (("people.parquet",), ("ckm keys secret secret.key",)),
    "docs/reference/ledger.md": (
        ("people.parquet",),
        ("ckm keys secret secret.key", "ckm release ledger.toml -o out"),
    ),
    "docs/howto/your-data.md": (("survey.csv",), ()),
    "docs/howto/release.md": (("people.parquet",), ("ckm keys secret secret.key",)),
    "docs/howto/suppress.md": (("people.parquet",), ()),
    "docs/howto/upgrades.md": (
        ("people.parquet",),
        ("ckm keys secret secret.key", "ckm release job.toml -o releases/2027"),
    ),
    "docs/explanation/method.md": (("people.parquet",), ("ckm keys secret secret.key",)),
    "docs/reference/ptable-files.md": ((), ()),
    "docs/reference/privacy/rappor.md": (("people.csv",), ()),
    "docs/explanation/risk.md": (
        ("people.parquet",),
        (
            "ckm keys secret secret.key",
            "ckm release job.toml -o out/2026",
            "ckm release job.toml -o out/2027",
        ),
    ),
    "docs/reference/service.md": (("people.parquet",), ()),
    "docs/reference/suppression.md": (("people.parquet",), ()),
    "docs/tutorial/first-release.md": (("people.parquet",), ()),
    "docs/explanation/privacy/synth-evaluation.md": (
        ("people.parquet", "train.parquet", "test.parquet"),
        (
            "ckm synth fit train.parquet --schema schema.json --epsilon 1 --delta 1e-6 -o m1",
            "ckm synth fit train.parquet --schema schema.json --epsilon 8 --delta 1e-6 -o m8",
            "ckm synth sample m1 -n 600 -o synthetic.parquet",
            "ckm synth sample m1 -n 600 -o eps1.parquet",
            "ckm synth sample m8 -n 600 -o eps8.parquet",
        ),
    ),
    "docs/reference/privacy/synth.md": (("people.parquet",), ()),
}


#: Pages that begin with a file that they print how to make.
FROM_NOTHING = ("docs/tutorial/synthetic-file.md", "docs/fr/tutorial/synthetic-file.md")


def test_every_command_of_a_page_is_run():
    """A page may show commands that another page runs: a how-to those of its reference."""
    run_here = {c for page in (*OWN, *FROM_NOTHING) for c in commands(ROOT / page)}
    for page in (ROOT / "README.md", *sorted(DOCS.rglob("*.md"))):
        assert set(commands(page)) <= run_here, page
    assert all(commands(ROOT / page) for page in OWN)


def test_a_french_page_has_the_commands_and_files_of_its_english_one():
    pages = sorted((DOCS / "fr").rglob("*.md"))
    assert len(pages) > 10
    for page in pages:
        english = DOCS / page.relative_to(DOCS / "fr")
        assert set(commands(page)) <= set(commands(english)), page
        texts = [
            [plain_toml(text) for kind, text in fenced(p) if kind == "toml"]
            for p in (page, english)
        ]
        assert all(text in texts[1] for text in texts[0]), page


def plain_toml(text: str) -> str:
    """Leave out the comments of settings."""
    return re.sub(r" *#.*", "", text)


@pytest.mark.parametrize("page", OWN)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("compared_once", "measured_once")
def test_the_commands_of_a_page_run_in_their_order(page, folder):
    records, earlier = OWN[page]
    asked = (*earlier, *commands(ROOT / page))
    has_classes = page == "docs/explanation/privacy/synth-evaluation.md"
    write_records(*records, has_classes=has_classes)
    write_settings()
    write_schema(has_classes=has_classes)
    if any({"ptable.csv", "old.csv"} & set(command.split()) for command in asked):
        write_ptables()
    if any("run.pt" in command for command in asked):
        write_checkpoint()
    Path("pages.txt").write_text("a.example\nb.example\nc.example\n", encoding="utf-8")
    job = Path("job.toml").read_text(encoding="utf-8")
    Path("ledger.toml").write_text(job + '\n[ledger]\npath = "ledger.db"\n', encoding="utf-8")
    for command in asked:
        words = shlex.split(command)
        if words[1:3] == ["job", "init"]:  # the reader has no job before it
            Path(words[words.index("-o") + 1]).unlink(missing_ok=True)
        run(command)
    assert [path for path in folder.iterdir() if path.name.startswith(".")] == []


def test_the_commands_of_the_demonstration_do_what_its_page_says(folder, monkeypatch):
    run("ckm demo --persons 1000 --out demo")
    monkeypatch.chdir(folder / "demo")
    text = Path("README.md").read_text(encoding="utf-8")
    printed = [line.strip() for line in text.splitlines() if line.startswith("    ckm ")]
    for command in printed:
        if not command.startswith(NOT_HERE):
            run(command)
    which = re.search(r"`ckm release (\S+) -o again/` writes the same bytes", text)
    assert which, "the page names the command that repeats the release"
    for file in Path("out/public").rglob("*"):
        if file.is_file():
            again = Path("again/public") / file.relative_to("out/public")
            assert again.read_bytes() == file.read_bytes()


#: What a page takes as its reader's own; all else that its commands name, earlier ones make.
BROUGHT = {
    "README.md": {"people.parquet"},
    "howto/collect-by-rappor.md": {"people.csv", "pages.txt"},
    "howto/from-other-tools.md": {"ptable.csv"},
    "howto/open-a-service.md": {"service.toml"},
    "howto/private-model.md": {"plan.toml", "new.csv"},
    "howto/private-tables.md": {"tables.toml"},
    "howto/release.md": {"job.toml"},
    "howto/suppress.md": {"hiding.toml"},
    "howto/upgrades.md": {"job.toml"},
    "howto/synthetic-file.md": {"people.parquet", "schema.json"},
    "howto/your-data.md": {"survey.csv", "survey.toml"},
    "tutorial/first-release.md": {"people.parquet"},
    "tutorial/synthetic-file.md": {"firms.csv"},
}
FIRST = [ROOT / "README.md", DOCS / "index.md", DOCS / "fr" / "index.md"]
FIRST += [
    page for folder in ("howto", "tutorial") for page in sorted((DOCS / folder).glob("*.md"))
]
FIRST += sorted((DOCS / "fr").glob("*/*.md"))
_MADE = re.compile(r"(.+\.(?:parquet|csv))\.certificate\.json|demo/.*")


@pytest.mark.parametrize("page", FIRST, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_file_that_a_command_names_is_the_readers_or_was_made_by_an_earlier_one(page):
    name = str(page.relative_to(ROOT)).removeprefix("docs/").removeprefix("fr/")
    there = set(BROUGHT.get(name, ()))
    brought = set(there)
    for command in commands(page):
        words = shlex.split(command)
        results = {
            word.rstrip("/")
            for before, word in itertools.pairwise(words)
            if before in {"-o", "--output"}
        }
        results |= {words[-1]} if words[1:3] == ["keys", "secret"] else set()
        results |= {words[4]} if words[1:3] == ["ptable", "convert"] else set()
        for word in words:
            if re.search(r"\.(toml|parquet|csv|json|key|html|txt)$", word):
                made = _MADE.fullmatch(word)
                is_known = word in there | results or word.split("/")[0] in there
                assert is_known or (made and (made[1] in there or made[1] is None)), command
                brought.discard(word)
        there |= results
    assert not brought  # nothing is listed that no command names


def test_the_french_tutorial_has_the_commands_of_the_english_one_in_their_order():
    french = commands(ROOT / "docs/fr/tutorial/first-release.md")
    assert french == commands(ROOT / "docs/tutorial/first-release.md")


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial/first-release.md"])
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("compared_once")
def test_from_the_readers_table_alone_each_command_finds_what_the_one_before_made(page, folder):
    write_records("people.parquet", has_classes=False)
    asked = [c for c in commands(ROOT / page) if not c.startswith("ckm demo")]
    assert len(asked) >= 5
    for command in asked:
        run(command)


@pytest.mark.filterwarnings("ignore")
def test_a_synthetic_file_is_made_from_a_header_and_what_the_tutorial_prints(folder):
    english, french = (
        [text for kind, text in fenced(ROOT / page) if kind in ("python", "json")]
        for page in FROM_NOTHING
    )
    python, schema = english
    assert french == english
    fewer = python.replace("5_000", "800")  # to be done in time
    exec(compile(fewer, "firms", "exec"), {})  # noqa: S102
    first, *rest = [one.replace("5000", "800") for one in commands(ROOT / FROM_NOTHING[0])]
    run(first)
    draft, full = json.loads(Path("schema.json").read_text()), json.loads(schema)
    assert [one["name"] for one in draft["columns"]] == [one["name"] for one in full["columns"]]
    assert all(one["values"] is None for one in draft["columns"])
    Path("schema.json").write_text(schema, encoding="utf-8")
    for command in rest:
        run(command)
    records = (folder / "synthetic.csv").read_text().splitlines()[1:]
    assert len(records) == 800
    for record in records:
        region, department = record.replace('"', "").split(",")[:2]
        assert department.startswith(region)
