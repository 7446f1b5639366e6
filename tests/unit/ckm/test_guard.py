"""The engine's `tables` and PyTables share a name: whoever has both is told."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

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


def test_pytables_earlier_on_the_path_stops_the_import_with_the_cure(tmp_path):
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "__init__.py").write_text("def open_file(): ...\n")
    answer = run("import ckm", tmp_path)
    assert answer.returncode != 0
    assert "ImportError: The package 'tables' that Python finds is not the engine's own" in (
        answer.stderr
    )
    assert "PyTables" in answer.stderr
    assert "hint: install ckm-engine in an environment of its own" in answer.stderr


def test_pytables_that_is_already_imported_stops_the_import_with_the_cure(tmp_path):
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "__init__.py").write_text("def open_file(): ...\n")
    answer = run("import tables, sys; sys.path.remove(sys.path[1]); import ckm", tmp_path)
    assert answer.returncode != 0
    assert "install ckm-engine in an environment of its own" in answer.stderr


def test_a_module_called_tables_stops_the_import_with_the_cure(tmp_path):
    (tmp_path / "tables.py").write_text("")
    answer = run("import ckm", tmp_path)
    assert "install ckm-engine in an environment of its own" in answer.stderr


def test_the_engine_imports_its_own_tables():
    answer = run("import ckm, tables; print(tables.__file__)")
    assert answer.returncode == 0, answer.stderr
    assert Path(answer.stdout.strip()) == ROOT / "tables" / "__init__.py"


def test_pytables_installed_over_the_engine_stops_the_import_with_the_cure(tmp_path):
    for package in ("ckm", "ptable", "tables"):
        shutil.copytree(ROOT / package, tmp_path / package)
    (tmp_path / "tables" / "__init__.py").write_text("def open_file(): ...\n")
    (tmp_path / "tables" / "hdf5extension.so").touch()
    answer = subprocess.run(
        [sys.executable, "-c", "import ckm"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert "install ckm-engine in an environment of its own" in answer.stderr
