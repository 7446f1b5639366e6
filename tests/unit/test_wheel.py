"""What users install: one package, the same command, and nobody else's package harmed."""

import importlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("hatchling", reason="hatchling is not installed")
import hatch_build

ROOT = Path(__file__).resolve().parents[2]
VIRTUAL = Path("bin/python")
#: Quick tests of every ground floor, which run on the wheel as they do here.
CHOICE = (
    "tests/unit/ptable/test_lookup.py",
    "tests/unit/tables/test_secret.py",
    "tests/unit/ckm/engine/test_engine.py",
)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import ckm", "from ckm_engine import ckm"),
        ("import dp as d, os", "import ckm_engine.dp as d; import os"),
        ("import ckm.cli", "from ckm_engine import ckm; import ckm_engine.ckm.cli"),
        ("import os, json", "import os, json"),
        (
            '"""\n    from tables.keys import a\n"""',
            '"""\n    from ckm_engine.tables.keys import a\n"""',
        ),
        ('"""\n>>> from dp import (\n"""', '"""\n>>> from ckm_engine.dp import (\n"""'),
        ("from tables.keys import x", "from ckm_engine.tables.keys import x"),
        ("from tablespace import x", "from tablespace import x"),
        ('home = "ckm.cli.app:main"', 'home = "ckm_engine.ckm.cli.app:main"'),
        ('é = "é", "dp.accounting"', 'é = "é", "ckm_engine.dp.accounting"'),
        ('unit = "dp.Exponential", "ckm.toml"', 'unit = "dp.Exponential", "ckm.toml"'),
        ('run([python, "-m", "ckm", "demo"])', 'run([python, "-m", "ckm_engine.ckm", "demo"])'),
        ('"""\n>>> import dp\n"""', '"""\n>>> from ckm_engine import dp\n"""'),
        ('f"""\nimport dp\n{1}\n"""', 'f"""\nfrom ckm_engine import dp\n{1}\n"""'),
        (r'"import dp, os\n"', r'"from ckm_engine import dp; import os\n"'),
        ('"""\nimport the tables\n"""', '"""\nimport the tables\n"""'),
        ('"""\nfrom tables to cells\n"""', '"""\nfrom tables to cells\n"""'),
    ],
)
def test_imports_of_our_packages_alone_are_rewritten(before, after):
    assert hatch_build.rewritten(before, ROOT) == after


@pytest.mark.parametrize("name", ["ckm", "tables.secret", "reports.facts.release", "dp"])
def test_a_checkout_has_each_module_once_under_both_names(name):
    ours = importlib.import_module(name)
    assert importlib.import_module(f"ckm_engine.{name}") is ours
    assert ours.__name__ == ours.__spec__.name == name


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Build the source distribution, the wheel from it, and one from the checkout."""
    pytest.importorskip("build", reason="build is not installed")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", str(ROOT), "--outdir"]
    for more in ([folder / "released"], [folder / "again", "--wheel", "--sdist"]):
        subprocess.run([*command, *more], check=True, capture_output=True)
    return folder


@pytest.mark.slow
def test_the_wheel_is_one_package_and_with_the_sources_the_same_bytes_when_built_again(built):
    (wheel,), (source,) = (list((built / "released").glob(g)) for g in ("*.whl", "*.gz"))
    (again,), (anew,) = (list((built / "again").glob(g)) for g in ("*.whl", "*.gz"))
    assert wheel.read_bytes() == again.read_bytes()
    assert source.read_bytes() == anew.read_bytes()
    with zipfile.ZipFile(wheel) as archive, tarfile.open(source) as sources:
        names = archive.namelist()
        held = {name.split("/")[1] for name in sources.getnames() if "/" in name}
    assert {name.split("/")[0].split("-")[0] for name in names} == {"ckm_engine"}
    for package in hatch_build.PACKAGES:
        assert f"ckm_engine/{package}/__init__.py" in names
        assert f"ckm_engine/{package}/py.typed" in names
    assert any(name.endswith(".mo") for name in names)
    assert not any(name.endswith((".po", ".pyc")) for name in names)
    assert any(name.endswith(".html") for name in names)
    assert any(name.endswith("LICENSE") for name in names)
    assert {"ckm", "tests", "docs", "hatch_build.py", "constraints.txt"} <= held
    assert not held & {".git", ".venv", "demo", "dist", "out"}


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory):
    """Install the wheel beside another's `tables`, what it needs being lent."""
    folder = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    packages = Path(sysconfig.get_path("purelib", vars={"base": folder}))
    others = packages / "tables"
    others.mkdir()
    (others / "__init__.py").write_text("__version__ = '3.10'\n")
    (packages / "lent.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    (wheel,) = (built / "released").glob("*.whl")
    pip = [sys.executable, "-m", "pip", "--python", folder / VIRTUAL, "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-index", wheel], check=True)
    return folder


def run(command, folder, **more):
    clean = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | more
    answer = subprocess.run(
        command, cwd=folder, env=clean, capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout


@pytest.mark.slow
def test_the_demo_of_the_wheel_publishes_the_same_bytes(installed, tmp_path):
    few = ["--persons", "5000", "--out"]
    run([installed / "bin" / "ckm", "demo", *few, tmp_path / "wheel"], tmp_path)
    run([sys.executable, "-m", "ckm", "demo", *few, tmp_path / "checkout"], ROOT)
    public = [
        {p.relative_to(tmp_path / name): p.read_bytes() for p in files if p.is_file()}
        for name in ("wheel", "checkout")
        for files in [sorted((tmp_path / name / "out" / "public").rglob("*"))]
    ]
    assert len(public[0]) > 10
    assert [p.parts[1:] for p in public[0]] == [p.parts[1:] for p in public[1]]
    assert list(public[0].values()) == list(public[1].values())


@pytest.mark.slow
def test_another_package_named_tables_works_beside_it(installed, tmp_path):
    code = (
        "import tables; from ckm_engine import tables as t; print(tables.__version__, t.Secret)"
    )
    said = run([installed / VIRTUAL, "-c", code], tmp_path)
    assert said.startswith("3.10 <class 'ckm_engine.tables.")


@pytest.mark.slow
def test_tests_pass_on_the_wheel(installed, tmp_path):
    hatch_build.write_packages(ROOT, tmp_path, ("tests",))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    pytest_ = [
        installed / VIRTUAL,
        "-m",
        "pytest",
        "-q",
        "-m",
        "not slow",
        "-p",
        "no:cacheprovider",
    ]
    said = run([*pytest_, *CHOICE], tmp_path, PYTEST_ADDOPTS="")
    assert " passed" in said


@pytest.mark.slow
def test_types_are_checked_against_the_wheel_from_outside(installed, tmp_path):
    pytest.importorskip("mypy", reason="mypy is not installed")
    (tmp_path / "use.py").write_text(
        "from ckm_engine import ptable\n"
        "table = ptable.solve(ptable.NoiseSpec(max_noise=5, variance=3.0))\n"
        "reveal_type(table)\n"
        "ptable.solve(3)\n"
    )
    mypy = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--python-executable",
        installed / VIRTUAL,
    ]
    answer = subprocess.run(
        [*mypy, "use.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert 'Revealed type is "ckm_engine.ptable.table.PTable"' in answer.stdout
    assert "use.py:4: error" in answer.stdout
    assert "Found 1 error" in answer.stdout
