"""Run a choice of tests on the wheel with every newer Python that is on this machine.

`python -m tests.environments.versions` makes an environment for each with uv, which keeps what
it fetched.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import hatch_build

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = ("3.12", "3.13")
TOOLS = ("pytest", "hypothesis", "polars")
#: Quick tests of every part that an installation without extras has.
CHOICE = (
    "unit/ptable/test_lookup.py",
    "unit/tables/test_secret.py",
    "unit/ckm/engine/test_engine.py",
    "unit/footing",
)


def interpreter(version: str) -> str | None:
    """Return a Python of a version: on the path, or of pyenv."""
    home = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    kept = sorted(home.glob(f"versions/{version}.*/bin/python"))
    candidates = [*map(str, kept), shutil.which(f"python{version}")]
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    for candidate in filter(None, candidates):
        said = subprocess.run([candidate, "-c", code], capture_output=True, check=False)
        if said.stdout.decode().strip() == version:
            return candidate
    return None


def run(python: str, wheel: Path, folder: Path) -> int:
    """Install the wheel and the tools, and run the tests on it."""
    uv = [sys.executable, "-m", "uv", "--quiet"]
    subprocess.run([*uv, "venv", "--python", python, folder / "venv"], check=True)
    own = folder / "venv" / "bin" / "python"
    constraints = ROOT / "constraints.txt"
    install = [*uv, "pip", "install", "--python", own, "--constraint", constraints]
    subprocess.run([*install, wheel, *TOOLS], check=True)
    hatch_build.write_packages(ROOT, folder, ("tests",))
    shutil.copy(ROOT / "pyproject.toml", folder)
    chosen = [folder / "tests" / name for name in CHOICE]
    pytest = [
        own,
        "-m",
        "pytest",
        "-q",
        "-m",
        "not slow and not long",
        "-p",
        "no:cacheprovider",
        *chosen,
    ]
    clean = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(pytest, cwd=folder, env=clean, check=False).returncode


def main() -> int:
    """Run them all; tell of those that are not here."""
    found = {version: interpreter(version) for version in VERSIONS}
    for version in (v for v, python in found.items() if python is None):
        print(f"Python {version} is not on this machine: its tests are skipped.")
    with tempfile.TemporaryDirectory(prefix="ckm-versions-") as made:
        failed = 0
        if any(found.values()):
            build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", ROOT]
            subprocess.run([*build, "--outdir", made], check=True, capture_output=True)
            (wheel,) = Path(made).glob("*.whl")
        for version, python in found.items():
            if python is not None:
                print(f"Python {version}:", flush=True)
                (folder := Path(made) / version).mkdir()
                failed |= run(python, wheel, folder)
    return failed


if __name__ == "__main__":
    sys.exit(main())
