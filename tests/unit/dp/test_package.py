"""The package: what it loads, what it calls public, what it says without its extras."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import dp

ROOT = Path(dp.__file__).resolve().parents[1]


def run(code):
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def test_importing_it_loads_neither_opendp_nor_dp_accounting_nor_scipy():
    code = "import json, sys, dp; print(json.dumps([m.split('.')[0] for m in sys.modules]))"
    loaded = set(json.loads(run(code)))
    others = {"opendp", "dp_accounting", "scipy", "pandas", "polars", "click", "rich"}
    ours = {"ckm", "ptable", "rappor", "reports", "risk", "tables"}
    assert not loaded & (others | ours)


@pytest.mark.parametrize(
    ("package", "call"),
    [
        ("opendp", "dp.Geometric(sensitivity=dp.count(), scale=1).release(3)"),
        ("dp_accounting", "dp.PrivacyLoss.gaussian(1)"),
    ],
)
def test_without_its_extra_it_says_how_to_get_it(package, call):
    code = f"""
import sys
sys.modules[{package!r}] = None
import dp
try:
    {call}
except ImportError as error:
    print(error)
"""
    assert "pip install '.[dp]'" in run(code)


@pytest.mark.parametrize("found", ["0.13.0", "0.14.0", "0.14.1", "0.9", "unknown"])
def test_an_opendp_whose_noise_is_wrong_is_refused(monkeypatch, found):
    from dp.mechanisms import opendp as exact

    monkeypatch.setattr(exact, "version", lambda _: found)
    exact._opendp.cache_clear()
    with pytest.raises(dp.MissingPackageError, match=r"0\.14\.2") as caught:
        dp.Exponential(epsilon=1, sensitivity=1, adjacency="replace").check([1, 2])
    assert found in caught.value.problem
    assert "pip install" in caught.value.hint


@pytest.mark.parametrize("found", ["0.14.2", "0.15.0", "0.16.0", "1.0.0"])
def test_an_opendp_whose_noise_is_right_is_taken(monkeypatch, found):
    from dp.mechanisms import opendp as exact

    monkeypatch.setattr(exact, "version", lambda _: found)
    exact._opendp.cache_clear()
    dp.Exponential(epsilon=1, sensitivity=1, adjacency="replace").check([1, 2])


def test_all_is_sorted_and_names_what_exists():
    public = {
        name
        for name, value in vars(dp).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }
    assert public == set(dp.__all__)
    upper = [name for name in dp.__all__ if name.isupper()]
    classes = [name for name in dp.__all__ if name[0].isupper() and not name.isupper()]
    rest = [name for name in dp.__all__ if name[0].islower()]
    assert dp.__all__ == [*sorted(upper), *sorted(classes), *sorted(rest)]


def test_every_public_callable_says_what_it_does():
    silent = []
    for info in pkgutil.walk_packages(dp.__path__, "dp."):
        module = importlib.import_module(info.name)
        assert (module.__doc__ or "").strip()
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            if callable(thing) and not (inspect.getdoc(thing) or "").strip():
                silent.append(name)
            if inspect.isclass(thing):
                silent += [
                    f"{name}.{member}"
                    for member, value in vars(thing).items()
                    if not member.startswith("_")
                    and (
                        inspect.isfunction(value) or isinstance(value, (property, classmethod))
                    )
                    and not (inspect.getdoc(value) or "").strip()
                ]
    assert not silent
