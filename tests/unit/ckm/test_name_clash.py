"""The engine's packages have short names: whoever has others of them is told, with the cure."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ckm

ROOT = Path(ckm.__file__).resolve().parents[1]


def run(code, *path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [*path, ROOT]))}
    return subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        cwd=path[0] if path else ROOT,
    )


PACKAGES = ("footing", "ptable", "tables", "dp", "risk", "reports", "rappor", "synth", "dpsgd")


@pytest.fixture
def pytables(tmp_path):
    """Make an environment that has PyTables, earlier on the path than the engine."""
    place = tmp_path / "site-packages"
    (place / "tables").mkdir(parents=True)
    (place / "tables" / "__init__.py").write_text("def open_file(): ...\n")
    return place


def installed(place):
    """Copy the engine's packages as pip would."""
    for package in ("ckm", *PACKAGES):
        shutil.copytree(
            ROOT / package, place / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    return place


def alone(code, place):
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(place)},
        capture_output=True,
        text=True,
        check=False,
        cwd=place,
    )


@pytest.mark.parametrize(
    "code", ["import ckm", "import tables, sys; sys.path.remove(sys.path[1]); import ckm"]
)
def test_pytables_earlier_on_the_path_stops_the_import_with_the_cure(pytables, code):
    answer = run(code, pytables)
    assert answer.returncode != 0
    assert "ImportError: The package 'tables' that Python finds is not the engine's own" in (
        answer.stderr
    )
    assert "PyTables" in answer.stderr
    assert "hint: install ckm-engine in an environment of its own" in answer.stderr


@pytest.mark.parametrize("name", PACKAGES)
@pytest.mark.parametrize("kind", ["module", "package"])
def test_a_file_of_the_users_with_the_name_of_a_package_is_named(tmp_path, name, kind):
    file = tmp_path / f"{name}.py" if kind == "module" else tmp_path / name / "__init__.py"
    file.parent.mkdir(exist_ok=True)
    file.write_text("")
    answer = run("import ckm", tmp_path)
    assert f"{file} stands before the engine's package '{name}'" in answer.stderr
    assert "hint: rename it, or work in another folder" in answer.stderr
    assert "PyTables" not in answer.stderr


def test_a_folder_of_the_users_without_code_changes_nothing(tmp_path):
    (tmp_path / "reports").mkdir()
    assert run("import ckm", tmp_path).returncode == 0


@pytest.mark.slow
def test_the_engine_imports_its_own_tables():
    answer = run("import ckm, tables; print(tables.__file__)")
    assert answer.returncode == 0, answer.stderr
    assert Path(answer.stdout.strip()) == ROOT / "tables" / "__init__.py"


def test_pytables_installed_over_the_engine_stops_the_import_with_the_cure(tmp_path):
    installed(tmp_path)
    (tmp_path / "tables" / "__init__.py").write_text("def open_file(): ...\n")
    (tmp_path / "tables" / "hdf5extension.so").touch()
    answer = alone("import ckm", tmp_path)
    assert "install ckm-engine in an environment of its own" in answer.stderr
    assert (
        "pip uninstall tables, then in the project's folder: pip install --force-reinstall"
        in answer.stderr
    )


def test_a_package_that_went_with_pytables_is_told_with_the_cure(tmp_path):
    shutil.rmtree(installed(tmp_path) / "tables")
    answer = alone("import ckm", tmp_path)
    assert "The engine's package 'tables' is not installed any more." in answer.stderr
    assert (
        "hint: put it back: in the project's folder: pip install --force-reinstall --no-deps"
        in answer.stderr
    )
    assert "PyTables" not in answer.stderr


def test_every_package_has_its_types():
    assert all((ROOT / package / "py.typed").exists() for package in ("ckm", *PACKAGES))
