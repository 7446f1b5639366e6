"""Each recipe of the cookbook runs as its first lines say, and the page names every one."""

import os
import re
import runpy
import shlex
import stat
from importlib.util import find_spec
from pathlib import Path

import pyarrow.csv
import pytest
from click.testing import CliRunner

from ckm.cli import app

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
COOKBOOK = ROOT / "examples" / "cookbook"
RECIPES = sorted(p.name for p in COOKBOOK.glob("*.*") if p.name != "make_data.py")
PAGES = [
    ROOT / "docs" / "howto" / "cookbook.md",
    ROOT / "docs" / "fr" / "howto" / "cookbook.md",
]


def commands(recipe: str) -> list[str]:
    """Give the commands in the first lines of a recipe."""
    head = (COOKBOOK / recipe).read_text(encoding="utf-8").split("schema = 1")[0]
    return re.findall(r"^#?\s+((?:ckm|python) .+)$", head, flags=re.MULTILINE)


def run(command: str) -> str:
    program, *words = shlex.split(command)
    if program == "python":
        runpy.run_path(words[0], run_name="__main__")
        return ""
    result = CliRunner(env={"CKM_LOG_FORMAT": "text"}).invoke(app, words)
    assert result.exit_code == 0, f"{command}\n{result.output}"
    return result.output


@pytest.fixture(scope="module")
def kitchen(tmp_path_factory):
    """Give a folder with the data, the secret and the recipes, which run in their order."""
    folder = tmp_path_factory.mktemp("cookbook")
    before = Path.cwd()
    os.chdir(folder)
    try:
        for recipe in COOKBOOK.iterdir():
            if recipe.is_file():
                (folder / recipe.name).write_bytes(recipe.read_bytes())
        runpy.run_path("make_data.py", run_name="__main__")
        run("ckm keys secret secret.key")
        yield folder
    finally:
        os.chdir(before)


def test_there_are_twenty_recipes_and_more():
    assert len(RECIPES) >= 20
    assert all(commands(recipe) for recipe in RECIPES)


@pytest.mark.parametrize("page", PAGES, ids=["en", "fr"])
def test_the_page_shows_every_recipe(page):
    text = page.read_text(encoding="utf-8")
    for recipe in RECIPES:
        assert f"cookbook/{recipe}" in text, recipe


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.filterwarnings("ignore")
def test_a_recipe_runs_as_its_first_lines_say(kitchen, recipe):
    if "people.sav" in (COOKBOOK / recipe).read_text() and not find_spec("pyreadstat"):
        pytest.skip("pyreadstat is not installed: there is no file of SPSS")
    outputs = [run(command) for command in commands(recipe)]
    made = [
        kitchen / word
        for command in commands(recipe)
        for before, word in zip(shlex.split(command), shlex.split(command)[1:], strict=False)
        if before == "-o"
    ]
    assert all(path.exists() for path in made)
    if recipe == "shares.toml":
        assert "share_low" in outputs[-1]
    if (kitchen / recipe).with_suffix("").is_dir():
        files = [f for f in (kitchen / recipe).with_suffix("").rglob("*") if f.is_file()]
        assert files
        assert not any(stat.S_IMODE(f.stat().st_mode) & 0o022 for f in files)
    if recipe == "french-csv.toml":
        text = (kitchen / "french-csv" / "public" / "salaires.labels.csv").read_text(
            "utf-8-sig"
        )
        assert ";" in text.splitlines()[0]
        assert re.search(r"\d,\d", text)
    if recipe == "rounding.toml":
        table = pyarrow.csv.read_csv(kitchen / "rounding" / "public" / "persons.csv")
        assert all(count % 5 == 0 for count in table["count"].to_pylist())
    if recipe == "business.toml":
        text = (kitchen / "business" / "public" / "turnover.csv").read_text()
        assert re.search(r",$", text, flags=re.MULTILINE)  # a sum is hidden
