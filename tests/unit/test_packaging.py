"""Dependencies are pinned, recipes listed, and no file names somebody's machine."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from ckm._packages import PACKAGES

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_every_dependency_has_a_range_and_a_pin_known_to_work():
    pins = {
        line.split("==")[0].lower().replace("_", "-")
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if "==" in line
    }
    extras = PROJECT["project"]["optional-dependencies"]
    wanted = [*PROJECT["project"]["dependencies"]]
    wanted += [d for name in ("dp", "web", "synth", "dpsgd", "spark") for d in extras[name]]
    for dependency in wanted:
        if dependency.startswith("ckm-engine["):  # an extra that holds another
            assert dependency.partition("[")[2].rstrip("]") in extras
            continue
        name = re.split(r"[<>=!~\[ ]", dependency)[0].lower()
        assert name in pins, f"{name} is not pinned"
        assert ">=" in dependency, f"{name} has no range"
    assert "torch==2.13.0" in (ROOT / "constraints.txt").read_text()


def test_all_holds_every_extra_but_dev():
    extras = PROJECT["project"]["optional-dependencies"]
    named = set(re.findall(r"[a-z]+", extras["all"][0].partition("[")[2]))
    assert named == set(extras) - {"all", "dev"}


def test_make_alone_lists_the_recipes():
    listed = subprocess.run(
        ["make", "--no-print-directory"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    for recipe in ("demo", "test", "lint", "check", "bench"):
        assert f"make {recipe}" in listed


@pytest.mark.slow
def test_every_benchmark_finds_what_it_measures():
    names = [f"bench.{path.stem}" for path in sorted((ROOT / "bench").glob("[a-z]*.py"))]
    code = f"import importlib\nfor name in {names}: importlib.import_module(name)"
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr


def test_continuous_integration_runs_the_commands_of_the_readme():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make check" in script
    assert "make test" in readme
    assert "make demo" in readme


def test_no_file_of_the_project_names_a_folder_of_somebodys_machine():
    private = re.compile(r"/(?:home|root|Users|work)/[a-z]")
    files = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split("\n")
    for name in files:
        path = ROOT / name
        if (
            path.suffix in {".py", ".md", ".toml", ".txt", ".svg"}
            and path.name != Path(__file__).name
        ):
            assert not private.search(path.read_text(encoding="utf-8")), name


@pytest.mark.slow
def test_no_message_names_a_page_or_an_example_that_a_wheel_has_not():
    names = re.compile(r"\b(docs|examples|bench|tests)/|\.md\b")
    exempt = {"ckm/release/pages/rerender.py", "ckm/demo/demo.py"}  # endings and own files
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if str(path.relative_to(ROOT)) in exempt:
                continue
            tree = ast.parse(path.read_text(encoding="utf-8"))
            docs = {
                id(node.body[0].value)
                for node in ast.walk(tree)
                if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
                and node.body
                and isinstance(node.body[0], ast.Expr)
            }
            for node in ast.walk(tree):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    assert id(node) in docs or not names.search(node.value), (path, node.value)
