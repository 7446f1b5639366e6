"""The house stands as drawn: layout, recipes, licence, constraints."""

import re
import subprocess
import tomllib
from pathlib import Path

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


def test_heavy_packages_are_imported_where_the_house_keeps_them():
    homes = {
        "cvxpy": {"ptable/solver/solve.py"},
        "highspy": {"ptable/solver/integer/integers.py", "risk/reconstruction/program.py"},
        "duckdb": {"tables/"},
        "pydantic": {
            "ckm/config/",
            "ckm/release/pages/numbers.py",
            "ckm/service/http/request_bodies.py",
        },
        "starlette": {"ckm/service/"},
        "uvicorn": {"ckm/service/"},
        "argon2": {"ckm/service/"},
        "click": {"ckm/cli/"},
        "rich": {"ckm/cli/"},
        "jinja2": {"reports/"},
        "babel": {"reports/"},
        "opendp": {"dp/"},
        "dp_accounting": {"dp/"},
        "pyvinecopulib": {"synth/copulas/library.py"},
        "pyspark": {"tables/spark/spark.py", "tables/spark/session.py"},
        "py4j": {"tables/spark/spark.py", "tables/spark/session.py"},
        "sqlglot": {"tables/spark/rules.py", "tables/spark/sql.py"},
        "torch": {"dpsgd/"},
    }
    for package in (
        "ckm",
        "dp",
        "dpsgd",
        "ptable",
        "rappor",
        "reports",
        "risk",
        "synth",
        "tables",
    ):
        for path in (ROOT / package).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            for heavy, allowed in homes.items():
                if re.search(rf"^\s*(import {heavy}\b|from {heavy}\b)", text, re.MULTILINE):
                    assert path.relative_to(ROOT).as_posix().startswith(tuple(allowed)), path
