"""The assurance case and the sentences that promise something, as data for its tests."""

from __future__ import annotations

import ast
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from reports.i18n.messages import DOMAINS
from tests.messages import messages_in

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
CASE = ROOT / "docs" / "explanation" / "assurance.md"
REVIEWED = Path(__file__).with_name("not_promises.txt")
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
#: Words that promise; a sentence of a page that has one is a promise or was found to be none.
PROMISING = re.compile(
    r"\b(?:never|nobody|no one|safe|safely|guarantees?|guaranteed|private|prov(?:es|en)"
    r"|impossible|secure|anonymous|no more than|differentially private"
    r"|(?:cannot|can not) be (?:told|found|inferred|reconstructed|identified|undone|recovered)"
    r"|odds|reconstruct\w*|(?:does|do) not tell|(?:tells?|learns?) nothing"
    r"|gives? nothing away)\b",
    re.IGNORECASE,
)
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


@dataclass(frozen=True)
class Sentence:
    """A sentence with a promising word: where it stands, and the claims named there."""

    file: str
    text: str
    claims: tuple[str, ...]

    @property
    def line(self) -> str:
        return f"{self.file}\t{self.text}"


@cache
def claims() -> tuple[Claim, ...]:
    """Read the claims of the assurance case."""
    found = []
    for name, body in _CLAIM.findall(CASE.read_text(encoding="utf-8")):
        text, _, rest = body.partition("\n* *")
        fields = {key: _one_line(value) for key, value in _FIELD.findall("* *" + rest)}
        found.append(Claim(id=name, text=_one_line(text), fields=fields))
    return tuple(found)


@cache
def reviewed() -> tuple[str, ...]:
    """Read the sentences that were found to promise nothing, `file<TAB>sentence` a line."""
    return tuple(REVIEWED.read_text(encoding="utf-8").splitlines())


@cache
def sentences() -> tuple[Sentence, ...]:
    """Find every promising sentence of pages, messages and the program's own words."""
    return (*_of_docs(), *_of_messages(), *_of_code(), *_of_data())


def _of_docs() -> Iterator[Sentence]:
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        if page == CASE or page.parent.name == "adr":
            continue
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for block in re.split(r"\n\s*\n|\n(?=\s*(?:[*|#]|\d+\. ))", text):
            named = tuple(re.findall(r"assurance\.md#([\w-]+)", block))
            for sentence in _promising(block):
                yield Sentence(page.relative_to(ROOT).as_posix(), sentence, named)


def _of_messages() -> Iterator[Sentence]:
    from babel.messages.pofile import read_po

    for file in sorted((ROOT / "reports/locale/fr/LC_MESSAGES").glob("*.po")):
        if file.stem in DOMAINS:  # the commands say these, and their code is read below
            continue
        with file.open("rb") as stream:
            catalog = read_po(stream)
        for message in catalog:
            text = (
                message.id
                if isinstance(message.id, str)
                else message.id[1]
                if message.id
                else ""
            )
            named = _named(" ".join(message.auto_comments))
            for sentence in _promising(text):
                yield Sentence(file.name, sentence, named)


def _of_code() -> Iterator[Sentence]:
    """Give texts of four words and more; those of pages are in the catalogues."""
    for package in PACKAGES:
        if package == "reports":
            continue
        for path in sorted((ROOT / package).rglob("*.py")):
            source = path.read_text(encoding="utf-8")
            if not PROMISING.search(source):
                continue
            lines = source.splitlines()
            for statement in ast.parse(source).body:
                above = statement.lineno - 2
                named = _named(lines[above]) if above >= 0 else ()
                for text in _strings(statement):
                    for sentence in _promising(text):
                        if len(sentence.split()) > 3:
                            yield Sentence(path.relative_to(ROOT).as_posix(), sentence, named)


def _of_data() -> Iterator[Sentence]:
    """Give texts of four words and more of data files; those of pages are messages."""
    for package in set(PACKAGES) - {"reports"}:
        for path in sorted(
            path for path in (ROOT / package).rglob("*") if path.suffix in {".md", ".toml"}
        ):
            text = path.read_text(encoding="utf-8")
            is_list = path.suffix == ".toml" and path.parent.name != "files"
            parts = messages_in(tomllib.loads(text)) if is_list else [(text, "")]
            for part, claim in parts:
                for sentence in _promising(part):
                    if len(sentence.split()) > 3:
                        named = (claim,) if claim else ()
                        yield Sentence(path.relative_to(ROOT).as_posix(), sentence, named)


def _strings(tree: ast.AST) -> Iterator[str]:
    """Give the texts of a statement that users read: of docstrings, those of commands."""
    alone = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
    if isinstance(tree, ast.FunctionDef) and any(map(_is_command, tree.decorator_list)):
        yield ast.get_docstring(tree) or ""
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if is_text and id(node) not in alone:
            yield node.value


def _is_command(decorator: ast.expr) -> bool:
    return re.search(r"\.(command|group)\(", ast.unparse(decorator)) is not None


def of_templates() -> set[str]:
    """Give the claims that pages name at their end."""
    pages = (ROOT / "reports" / "templates").glob("*.html")
    blocks = [
        re.findall(r"block claims %}(.*?){%", page.read_text(encoding="utf-8"))
        for page in pages
    ]
    return {
        name for block in blocks for names in block for name in re.findall(r"[\w-]+", names)
    }


def _named(comments: str) -> tuple[str, ...]:
    found = re.findall(r"\bclaim ([a-z]+(?:-[a-z0-9]+)+(?:, [\w-]+)*)", comments)
    return tuple(name for names in found for name in names.split(", "))


def _promising(block: str) -> Iterator[str]:
    for sentence in re.split(r"(?<=[.!?;:]) ", _one_line(block)):
        if PROMISING.search(sentence):
            yield sentence


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
