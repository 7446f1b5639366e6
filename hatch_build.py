"""Build the wheel: all packages of the engine in one, `ckm_engine`, their imports rewritten.

An editable installation keeps the names of the checkout. `python hatch_build.py FOLDER` writes
what a wheel holds and the tests, to run them on it (docs/adr/0001-names-at-the-top-level.md).
"""

import ast
import itertools
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HOME = "ckm_engine"
PACKAGES = (
    "ckm", "dp", "dpsgd", "footing", "ptable", "rappor", "reports", "risk", "synth", "tables",
)  # fmt: skip
_NAMES = "|".join(PACKAGES)
_OURS = re.compile(rf"(?:{_NAMES})(?:\.|$)")
_DOTTED = re.compile(rf"(?:{_NAMES})(?:\.\w+)+(?::\w+)?")
#: Examples in docstrings and programs in strings.
_SHOWN = re.compile(
    rf"(\s*(?:>>> |\.\.\. )?)"
    rf"(from (?:{_NAMES})(?:\.\w+)* import\b|import (?:{_NAMES})\b(?! \w))"
)
#: Translations are compiled.
_LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc", "*.po")


class CustomBuildHook(BuildHookInterface):
    """Put the rewritten packages into the wheel."""

    def initialize(self, version: str, build_data: dict) -> None:
        """Write them where the builder fetches them from."""
        self.folder = Path(tempfile.mkdtemp(prefix=f"{HOME}-"))
        if version == "standard":
            write_packages(Path(self.root), self.folder)
            for package in PACKAGES:
                build_data["force_include"][str(self.folder / package)] = f"{HOME}/{package}"

    def finalize(self, *_: object) -> None:
        """Leave nothing behind."""
        shutil.rmtree(self.folder, ignore_errors=True)


def write_packages(root: Path, to: Path, names: tuple[str, ...] = PACKAGES) -> None:
    """Copy packages of the checkout with every import of a package of the engine rewritten."""
    for name in names:
        shutil.copytree(root / name, to / name, ignore=_LEFT_OUT)
        for file in (to / name).rglob("*.py"):
            text = file.read_text(encoding="utf-8")
            file.write_text(rewritten(text, root), encoding="utf-8")


def rewritten(text: str, root: Path) -> str:
    """Return a module's text with imports, and names of modules in strings, under `HOME`."""
    lines = text.splitlines(keepends=True)
    edits = sorted(_edits(ast.parse(text), lines, root), reverse=True)
    for row, start, end, new in edits:
        line = lines[row].encode()
        lines[row] = (line[:start] + new.encode() + line[end:]).decode()
    return "".join(lines)


def _edits(
    tree: ast.Module, lines: list[str], root: Path
) -> Iterator[tuple[int, int, int, str]]:
    """Yield row, first and last byte, and what comes there."""
    within = {
        id(part) for n in ast.walk(tree) if isinstance(n, ast.JoinedStr) for part in n.values
    }
    for node in ast.walk(tree):
        row = getattr(node, "lineno", 0) - 1
        if isinstance(node, ast.ImportFrom) and _OURS.match(node.module or ""):
            start = node.col_offset + len("from ")
            yield row, start, start, f"{HOME}."
        elif isinstance(node, ast.Import) and any(_OURS.match(n.name) for n in node.names):
            yield row, node.col_offset, node.end_col_offset or 0, "; ".join(_imports(node))
        elif isinstance(node, ast.List):
            yield from _commands(node)
        elif isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in within
        ):
            yield from _in_text(node, lines, root)


def _in_text(
    node: ast.JoinedStr | ast.Constant, lines: list[str], root: Path
) -> Iterator[tuple[int, int, int, str]]:
    """Yield the changes within a text: it is a module's name, or shows imports."""
    row = node.lineno - 1
    first = lines[row].encode()[node.col_offset :].decode()
    prefix = re.match(r"[rbuf]*(?:'''|\"\"\"|'|\")", first, re.IGNORECASE)
    at = node.col_offset + (prefix.end() if prefix else 0)
    value = getattr(node, "value", "")
    if _DOTTED.fullmatch(value) and _is_module(value, root):
        yield row, at, at, f"{HOME}."
        return
    for below in range(row, node.end_lineno or row):
        if shown := _SHOWN.match(lines[below], at if below == row else 0):
            yield from _example(below, lines[below], shown)


def _imports(node: ast.Import) -> Iterator[str]:
    for name in node.names:
        if not _OURS.match(name.name):
            yield f"import {name.name}" + (f" as {name.asname}" if name.asname else "")
        elif name.asname:
            yield f"import {HOME}.{name.name} as {name.asname}"
        else:
            yield f"from {HOME} import {name.name.partition('.')[0]}"
            if "." in name.name:
                yield f"import {HOME}.{name.name}"


def _commands(node: ast.List) -> Iterator[tuple[int, int, int, str]]:
    """Yield the change of `python -m ckm` as a list of words."""
    texts = [(n.value if isinstance(n, ast.Constant) else None, n) for n in node.elts]
    for (flag, _), (name, at) in itertools.pairwise(texts):
        if flag == "-m" and name == "ckm":
            yield at.lineno - 1, at.col_offset + 1, at.col_offset + 1, f"{HOME}."


def _example(row: int, line: str, shown: re.Match[str]) -> Iterator[tuple[int, int, int, str]]:
    start = len(line[: shown.start(2)].encode())
    said = re.match(r"import [\w., ]*\w", line[shown.start(2) :])
    node = ast.parse(said[0]).body[0] if said else None
    if isinstance(node, ast.Import) and said:
        yield row, start, start + said.end(), "; ".join(_imports(node))
    else:
        yield row, start + len("from "), start + len("from "), f"{HOME}."


def _is_module(dotted: str, root: Path) -> bool:
    """Tell whether a text's first two names are a module, or a package, of the engine."""
    place = root.joinpath(*dotted.partition(":")[0].split(".")[:2])
    return place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()


if __name__ == "__main__":
    here = Path(__file__).resolve().parent
    target = Path(sys.argv[1])
    shutil.copytree(here / HOME, target / HOME, ignore=_LEFT_OUT)
    write_packages(here, target / HOME)
    write_packages(here, target, ("tests",))
