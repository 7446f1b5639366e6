"""The assurance case and the places that name its claims, as data for its tests."""

from __future__ import annotations

import ast
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
CASE = ROOT / "docs" / "explanation" / "assurance.md"
PACKAGES = (
    "ckm",
    "dp",
    "dpsgd",
    "footing",
    "ptable",
    "rappor",
    "reports",
    "risk",
    "synth",
    "tables",
)
#: Fields of a claim, in their order.
FIELDS = ("Assumes", "Evidence", "Tests", "Not claimed")
_CLAIM = re.compile(r"^### (\S+)\n\n(.+?)(?=^#{2,3} |\Z)", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^\* \*(.+?):\* (.+?)(?=^\* \*|\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Claim:
    """A claim of the case, with its fields as texts."""

    id: str
    text: str
    fields: dict[str, str]

    @property
    def tests(self) -> list[str]:
        return re.findall(r"`([\w./-]+\.py(?:::[\w.]+)+)`", self.fields.get("Tests", ""))


@cache
def claims() -> tuple[Claim, ...]:
    """Read the claims of the assurance case."""
    case = []
    for name, body in _CLAIM.findall(CASE.read_text(encoding="utf-8")):
        text, _, rest = body.partition("\n* *")
        fields = {key: _one_line(value) for key, value in _FIELD.findall("* *" + rest)}
        case.append(Claim(id=name, text=_one_line(text), fields=fields))
    return tuple(case)


@cache
def places() -> dict[str, frozenset[str]]:
    """Give the files that name each claim: pages, sentences of messages, code and data."""
    files: dict[str, set[str]] = {}
    for path, names in (*_of_docs(), *_of_code(), *_of_data(), *_of_templates()):
        for name in names:
            files.setdefault(name, set()).add(path.relative_to(ROOT).as_posix())
    return {name: frozenset(paths) for name, paths in files.items()}


def _of_docs() -> Iterator[tuple[Path, list[str]]]:
    """Links to the case."""
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        if page != CASE:
            text = page.read_text(encoding="utf-8")
            yield page, re.findall(r"assurance\.md#([\w-]+)", text)


def _of_code() -> Iterator[tuple[Path, list[str]]]:
    """Comments `claim id` above a sentence, of several ids by commas."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            yield path, _in_comments(path.read_text(encoding="utf-8"))


def _of_data() -> Iterator[tuple[Path, list[str]]]:
    """Keys `claim` beside a sentence."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.toml")):
            yield path, _in_data(tomllib.loads(path.read_text(encoding="utf-8")))


def _of_templates() -> Iterator[tuple[Path, list[str]]]:
    """What pages name at their end, and comments beside their sentences."""
    for page in sorted((ROOT / "reports" / "templates").rglob("*.html")):
        text = page.read_text(encoding="utf-8")
        blocks = re.findall(r"block claims %}(.*?){%", text)
        yield page, [*re.findall(r"[\w-]+", " ".join(blocks)), *_in_comments(text)]


def _in_comments(text: str) -> list[str]:
    lists = re.findall(r"#\}? *.*?\bclaim ([a-z]+(?:-[a-z0-9]+)+(?:, [\w-]+)*)", text)
    return [name for names in lists for name in names.split(", ")]


def _in_data(data: object) -> list[str]:
    if isinstance(data, dict):
        own = [data["claim"]] if isinstance(data.get("claim"), str) else []
        return own + [name for value in data.values() for name in _in_data(value)]
    if isinstance(data, list):
        return [name for value in data for name in _in_data(value)]
    return []


def _one_line(text: str) -> str:
    return " ".join(text.split())


def exists(test: str) -> bool:
    """Tell whether a test `path::name` (or `path::Class::name`, or a doctest) is there."""
    path, *names = test.split("::")
    file = ROOT / path
    if not file.is_file():
        return False
    defined = {
        node.name
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    }
    return all(name.rpartition(".")[2] in defined for name in names)
