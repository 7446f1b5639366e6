"""What imports load, and what packages call public."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import ckm

ROOT = Path(ckm.__file__).resolve().parents[1]
HEAVY = {
    "clarabel", "click", "cvxpy", "highspy", "jinja2", "opendp", "pandas", "polars", "pydantic",
    "pyvinecopulib", "rich", "scipy", "sklearn", "torch",
}  # fmt: skip


def loaded(code):
    """Run code in a new Python and return the packages that it loaded."""
    script = (
        f"import json, sys\n{code}\nprint(json.dumps([m.split('.')[0] for m in sys.modules]))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert answer.returncode == 0, answer.stderr
    return set(json.loads(answer.stdout))


@pytest.mark.slow
@pytest.mark.parametrize(
    "package", ["ckm", "dp", "rappor", "rappor.location", "synth", "tables", "ptable"]
)
def test_importing_a_package_loads_nothing_heavy(package):
    assert not loaded(f"import {package}") & HEAVY


@pytest.mark.slow
def test_tabulating_with_a_table_from_a_file_loads_no_solver(tmp_path):
    from tests.strategies import worked_ptable

    worked_ptable().write(tmp_path / "pt.parquet")
    code = f"""
import ckm, pyarrow as pa
from ptable import PTable
table = PTable.read({str(tmp_path / "pt.parquet")!r})
people = pa.table({{"id": range(50), "sex": ["F", "M"] * 25}})
with ckm.Engine(people, id="id", secret=ckm.Secret(bytes(16)), ptable=table) as engine:
    engine.tabulate(["sex"]).write({str(tmp_path / "t.csv")!r})
"""
    found = loaded(code)
    assert not found & (HEAVY - {"pandas"})  # DuckDB looks for pandas by itself


@pytest.mark.parametrize(
    "package", ["ckm", "dp", "rappor", "rappor.location", "synth", "tables", "ptable"]
)
def test_all_is_sorted_and_names_what_exists(package):
    module = importlib.import_module(package)
    assert list(module.__all__) == sorted(
        module.__all__, key=lambda name: (not name.isupper(), name)
    )
    assert len(set(module.__all__)) == len(module.__all__)
    assert all(hasattr(module, name) for name in module.__all__)  # and loaded from here on
    public = {
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and not inspect.ismodule(value)
        and getattr(value, "__module__", "").split(".")[0]
        in {"ckm", "dp", "rappor", "synth", "tables", "ptable"}
    }
    public.discard("require_own_packages")  # runs before the imports and is no part of the API
    constants = {
        name for name in module.__all__ if not hasattr(vars(module)[name], "__module__")
    }
    assert public == set(module.__all__) - constants


def modules(package):
    root = importlib.import_module(package)
    for info in pkgutil.walk_packages(root.__path__, f"{package}."):
        if not info.name.endswith("__main__"):
            yield importlib.import_module(info.name)


@pytest.mark.parametrize(
    "package", ["ckm", "dp", "rappor", "rappor.location", "synth", "tables", "ptable"]
)
def test_every_public_callable_says_what_it_does(package):
    silent = []
    for module in [importlib.import_module(package), *modules(package)]:
        assert (module.__doc__ or "").strip(), module.__name__
        for name, thing in vars(module).items():
            if name.startswith("_") or getattr(thing, "__module__", "") != module.__name__:
                continue
            if inspect.isclass(thing):
                silent += [
                    f"{module.__name__}.{name}.{member}"
                    for member, value in vars(thing).items()
                    if not member.startswith("_")
                    and (
                        inspect.isfunction(value) or isinstance(value, (property, classmethod))
                    )
                    and not (inspect.getdoc(value) or "").strip()
                ]
            if callable(thing) and not (inspect.getdoc(thing) or "").strip():
                silent.append(f"{module.__name__}.{name}")
    assert not silent
