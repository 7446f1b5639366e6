"""The figures of docs/explanation/mechanisms.md are those that its last block prints."""

import contextlib
import io
import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[4] / "docs" / "explanation" / "mechanisms.md"


def test_the_figures_of_the_page_are_computed():
    text = PAGE.read_text(encoding="utf-8")
    section = text.partition("## The figures")[2].partition("##")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")][1:]
    written = [[cell.strip() for cell in line.strip("|").split("|")][1:] for line in lines]
    block = re.findall(r"```python\n(.*?)```", section, re.DOTALL)[0]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(block, str(PAGE), "exec"), {})  # noqa: S102
    computed = [line.split()[-4:] for line in printed.getvalue().splitlines()]
    assert len(computed) == 12
    assert written == [
        ["none" if figure == "inf" else figure for figure in row] for row in computed
    ]
