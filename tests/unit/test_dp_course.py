"""The programs of the course print what its page says."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "tutorial" / "dp-course.md"
RUN = re.compile(r"```\npython (\S+)\n```\n\n```text\n(.*?)```", re.DOTALL)
PROGRAMS = RUN.findall(PAGE.read_text(encoding="utf-8"))


def test_every_program_is_on_the_page():
    files = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("examples/dp-course/*.py")}
    assert {file for file, _ in PROGRAMS} == files
    assert PAGE.read_text(encoding="utf-8").count("\npython ") == len(PROGRAMS) == 8


@pytest.mark.parametrize(("file", "printed"), PROGRAMS, ids=[Path(f).stem for f, _ in PROGRAMS])
def test_a_program_prints_the_number_of_the_text(file, printed, capsys):
    runpy.run_path(str(ROOT / file), run_name="__main__")
    assert capsys.readouterr().out == printed


@pytest.mark.parametrize("file", [file for file, _ in PROGRAMS])
def test_a_program_is_short(file):
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 40
