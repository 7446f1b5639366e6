"""What is collected for translation: all that is shown, and nothing else."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

from reports.i18n.messages import HOLE, translated
from tests.messages.commands import Collector, Module, command_messages, template

ROOT = Path(__file__).parents[2]
PACKAGES = ("ckm", "tables", "ptable", "risk", "dp", "rappor", "synth", "dpsgd", "footing")


@functools.cache
def collected():
    return {text for found in command_messages().values() for text in found}


def texts_of(files):
    """Collect from a few modules: name → source."""

    def collect(folder):
        for name, text in files.items():
            (folder / f"{name}.py").write_text(text)
        modules = [Module(folder / f"{name}.py", root=folder) for name in files]
        return set(Collector(modules).found)

    return collect


WARNINGS = """
import warnings
warnings.warn("A warning in words.", UserWarning)
warnings.warn(UserWarning("One in its class."))
warnings.warn(message="One by its name.", category=UserWarning)
def tell(text):
    warnings.warn(text, UserWarning, stacklevel=2)
tell(f"One of {1} that is handed on.")
terminal.warn("a code of words", "What a command warns of.")
"""


def test_texts_of_warnings_are_collected_however_they_are_given(tmp_path):
    assert texts_of({"one": WARNINGS})(tmp_path) == {
        "A warning in words.",
        "One in its class.",
        "One by its name.",
        "One of {0} that is handed on.",
        "What a command warns of.",
    }


def test_a_function_is_followed_by_where_it_is_and_not_by_its_name(tmp_path):
    files = {
        "one": "def shown(text):\n    raise ValueError(text)\nshown('Said in one place.')",
        "two": "def shown(sql):\n    run(sql)\nshown('SELECT * FROM two')",
        "three": "from one import shown\nshown('Said in another place.')",
        "four": "import one\none.shown('Said by way of its module.')",
        "five": "from two import shown\nshown('CREATE VIEW of five')",
        "six": "def apply(shown):\n    shown('Said by way of a parameter.')",
    }
    assert texts_of(files)(tmp_path) == {
        "Said in one place.",
        "Said in another place.",
        "Said by way of its module.",
        "Said by way of a parameter.",
    }


def test_no_sql_is_collected():
    sql = re.compile(r"^(SELECT|CREATE|WITH|FROM) [^a-z]|\b(TRY_)?CAST\(|list_extract\(")
    assert not [text for text in collected() if sql.search(text)]


def warnings_of_sources():
    """Return the texts that are given to warnings and logs where they are written out."""
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and is_warning(node.func):
                    given = [*node.args[:1], *(k.value for k in node.keywords)]
                    yield from (text for one in given if (text := written(one)))


def is_warning(function):
    named = (getattr(getattr(function, "value", None), "id", ""), getattr(function, "attr", ""))
    return named in {("warnings", "warn"), ("logger", "warning")}


def written(node):
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        text = node.value
    elif isinstance(node, ast.JoinedStr):
        text = "".join(v.value if isinstance(v, ast.Constant) else "{x}" for v in node.values)
    else:
        return ""
    return template(text) if " " in HOLE.sub("", template(text)).strip() else ""


def test_every_warning_that_a_command_can_show_is_in_french():
    texts = set(warnings_of_sources())
    assert len(texts) > 10
    assert texts <= collected()
    for text in texts:
        assert translated(text, "fr") != text, text


NO_NOISE = (
    "The p-table has noise for counts of 0, but empty cells are published as 0: their keys "
    "would be those of no records at all. What the p-table guarantees for zeros does not hold "
    "here."
)
NEAREST = "Some rows cannot have the requested variance and took the nearest one: count 1: 2.5."
TINY = (
    "All values of 'income' are nearer to zero than 1e-300, too small to be added up: their "
    "sums are published as 0. Give them in a smaller unit."
)


@pytest.mark.parametrize("text", [NO_NOISE, NEAREST, TINY])
def test_warnings_with_their_values_in_them_are_said_in_french(text):
    said = translated(text, "fr")
    assert not re.search(r"\b(the|are|cannot|values|rows)\b", said), said
