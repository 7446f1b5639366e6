"""What is collected for translation: the templates of messages, and nothing else."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

from reports.i18n.messages import HOLE
from tests.messages.commands import command_messages, made_from_data

ROOT = Path(__file__).parents[2]
PACKAGES = ("ckm", "tables", "ptable", "risk", "dp", "rappor", "synth", "dpsgd", "footing")

ONE = """
raise KeyError(Message("No column {name}.", name=Name(column)))
warn(joined("; ", [Message("one"), said(other or Message("within a call"))]))
words = {"a": mark("a template of its own")}
Message(template)
print("no message")
"""


@functools.cache
def collected():
    return {text for found in command_messages().values() for text in found}


def test_templates_are_found_where_they_are_written_also_within_other_calls(
    tmp_path, monkeypatch
):
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "module.py").write_text(ONE)
    monkeypatch.setattr("tests.messages.commands._ROOT", tmp_path)
    assert made_from_data(["one"]) == dict.fromkeys(
        ["No column {name}.", "; ", "one", "within a call", "a template of its own"],
        "one/module.py",
    )


@pytest.mark.slow
def test_no_sql_is_collected():
    sql = re.compile(r"^(SELECT|CREATE|WITH|FROM) [^a-z]|\b(TRY_)?CAST\(|list_extract\(")
    assert not [text for text in collected() if sql.search(text)]


def test_every_text_of_a_log_that_a_command_shows_is_a_message():
    """A warning that is logged goes through a terminal that may speak French."""
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and is_log(node.func) and node.args:
                    text = node.args[0]
                    is_text = isinstance(text, ast.Constant) and " " in HOLE.sub("", text.value)
                    assert not is_text, (path.name, node.lineno)


def is_log(function):
    holder = getattr(function, "value", None)
    return (getattr(holder, "id", ""), getattr(function, "attr", "")) == ("logger", "warning")
