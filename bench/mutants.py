"""Small faults in the modules of the project, each behind a switch; see `bench.mutation`.

All mutants of a sample are compiled into the modules at once. A switch notes which test reaches
it, and turns its fault on when it is the active one. Files of the project stay as they are: a
finder on `sys.meta_path` hands out the compiled modules.
"""

from __future__ import annotations

import ast
import builtins
import copy
import json
import marshal
import os
import random
import sys
from collections import Counter, defaultdict
from functools import partial
from importlib.machinery import SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
PACKAGES = ("ckm", "ptable", "tables", "risk", "dp")
SWITCH = "_mutant"
#: Environment variables: where the compiled modules are, which fault is on, where to note.
FOLDER, ACTIVE, NOTES = "MUTANTS_FOLDER", "MUTANTS_ACTIVE", "MUTANTS_NOTES"
SPARED = {"debug", "info", "warning", "error", "exception", "log", "warn", "_", "gettext"}
OTHER: dict[type, Any] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn,
    ast.NotIn: ast.In, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitOr, ast.LShift: ast.RShift,
    ast.RShift: ast.LShift, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


class Mutator(ast.NodeTransformer):
    """Number the sites of a module in order; put those chosen behind switches."""

    def __init__(self, chosen: dict[int, int]) -> None:
        self.chosen = chosen
        self.sites: list[tuple[int, str, bool]] = []  # line, what, at import
        self.inside: list[Counter[str]] = []  # names bound by the functions around
        self.loose: list[int] = []  # mutants that take effect at import

    def _site(self, node: Any, what: str) -> int:
        self.sites.append((node.lineno, what, not self.inside))
        return self.chosen.get(len(self.sites) - 1, -1)

    def visit(self, node: Any) -> Any:
        """Return a node with its switches."""
        if _is_spared(node):
            return node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return self._function(node)
        if isinstance(node, ast.AnnAssign):
            node.value = node.value and self.visit(node.value)
            return node
        if isinstance(node, (ast.match_case, ast.ClassDef)):
            node.body = [self.visit(statement) for statement in node.body]
            return node
        found = [(self._site(node, what), made) for what, made in self._faults(node)]
        if isinstance(node, (ast.If, ast.While, ast.IfExp)):
            found.append((self._site(node.test, f"not ({ast.unparse(node.test)})"), None))
        self.generic_visit(node)
        for number, made in found:
            if number < 0:
                continue
            call = ast.copy_location(ast.parse(f"{SWITCH}({number})", mode="eval").body, node)
            self.loose += [] if self.inside else [number]
            new = node
            if made is None:
                node.test = ast.IfExp(call, ast.UnaryOp(ast.Not(), node.test), node.test)
            elif isinstance(node, ast.stmt):
                new = ast.If(call, [made(node)], [node])
            else:
                new = ast.IfExp(call, made(node), node)
            node = ast.fix_missing_locations(ast.copy_location(new, node))
        return node

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        before = len(self.loose)
        node.args = self.visit(node.args)
        names = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
        self.inside.append(Counter(n.id for n in names if isinstance(n.ctx, ast.Store)))
        node.body = [self.visit(statement) for statement in node.body]
        self.inside.pop()
        # A default acts where the function is called, so that is where it is reached.
        self._probe(node, self.loose[before:])
        del self.loose[before:]
        return node

    @staticmethod
    def _probe(node: Any, numbers: list[int]) -> None:
        calls = ast.parse("\n".join(f"{SWITCH}({number})" for number in numbers)).body
        at = int(ast.get_docstring(node, clean=False) is not None)
        node.body[at:at] = [
            ast.fix_missing_locations(ast.copy_location(c, node.body[0])) for c in calls
        ]

    def module(self, tree: ast.Module) -> ast.Module:
        """Return the tree with its switches; what acts at import is noted by all functions."""
        tree = self.visit(tree)
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self._probe(node, self.loose)
        return tree

    def _faults(self, node: ast.AST) -> Iterator[tuple[str, Any]]:
        """Yield what can be changed at a node, each with what makes the mutant."""
        op = node.ops[0] if isinstance(node, ast.Compare) else getattr(node, "op", None)
        if self._is_deletable(node):
            yield "delete", lambda _: ast.Pass()
        if type(op) in OTHER and not _is_text(node):
            new = OTHER[type(op)]()
            yield f"{type(op).__name__} -> {type(new).__name__}", partial(_with, new)
        match node:
            case ast.Constant(value=bool(value)):
                yield f"{value} -> {not value}", lambda _: ast.Constant(not value)
            case ast.Constant(value=int(value) | float(value)):
                other = value + (1 if len(self.sites) % 2 else -1)
                other = 2 * value if other == value else other
                yield f"{value} -> {other}", lambda _: ast.Constant(other)
            case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
                yield "return None", lambda _: ast.Return(ast.Constant(None))

    def _is_deletable(self, node: ast.AST) -> bool:
        """Say whether a statement is a call, or assigns what has another value without it."""
        match node:
            case ast.AugAssign() | ast.Expr(value=ast.Call()):
                return True
            case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
                return bool(self.inside)
            case ast.Assign(targets=[ast.Name(id=name)]):
                return bool(self.inside) and self.inside[-1][name] > 1
        return False


def _with(op: Any, node: Any) -> Any:
    """Return a node with another operator in place of its first."""
    node = copy.copy(node)
    if isinstance(node, ast.Compare):
        node.ops = [op, *node.ops[1:]]
    else:
        node.op = op
    return node


def _is_text(node: Any) -> bool:
    """Say whether an expression is a text as it stands, or joins one to another."""
    if isinstance(node, ast.BinOp):
        return _is_text(node.left) or _is_text(node.right)
    if isinstance(node, ast.AugAssign):
        return _is_text(node.value)
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))
    )


def _is_spared(node: ast.AST) -> bool:  # noqa: PLR0911 - one return a pattern
    """Say whether a part is left as it is: messages, log events, types and declarations."""
    match node:
        case ast.Raise() | ast.JoinedStr() | ast.arg() | ast.Expr(value=ast.Constant()):
            return True
        case ast.keyword(arg="strict" | "hint" | "help" | "description"):
            return True
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in SPARED or name in ("cast", "TypeVar")
        case ast.Expr(value=ast.Call() as call):
            return _is_spared(call)
        case ast.If(test=test):
            return ast.unparse(test) in ("TYPE_CHECKING", "__name__ == '__main__'")
        case ast.AnnAssign(annotation=ast.Name(id="TypeAlias")):
            return True
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name in ("__all__", "__slots__", "__version__")
    return False


def draw(
    folder: Path,
    *,
    number: int,
    seed: int,
    below: tuple[str, ...] = PACKAGES,
    is_each: bool = False,
) -> list[dict[str, Any]]:
    """Draw lines of all modules or of each, on each one site, and compile these modules."""
    lines: dict[tuple[Path, int], list[tuple[int, str, bool]]] = defaultdict(list)
    for path in sorted(p for name in below for p in _modules(ROOT / name)):
        mutator = Mutator({})
        mutator.module(ast.parse(path.read_bytes()))
        for at, (line, what, loose) in enumerate(mutator.sites):
            lines[path, line].append((at, what, loose))
    rng = random.Random(seed)  # noqa: S311 - a sample
    if is_each:
        places: dict[Path, list[tuple[Path, int]]] = defaultdict(list)
        for place in sorted(lines):
            places[place[0]].append(place)
        sample = []
        for path, of in places.items():
            # what is drawn of a module does not depend on those drawn beside it
            own = random.Random(f"{seed} {path.relative_to(ROOT)}")  # noqa: S311 - a sample
            sample += [(*p, own.choice(lines[p])) for p in own.sample(of, min(number, len(of)))]
        rng.shuffle(sample)
    else:
        sample = [(*p, rng.choice(lines[p])) for p in rng.sample(sorted(lines), number)]
    chosen: dict[Path, dict[int, int]] = defaultdict(dict)
    mutants = []
    for k, (path, line, (at, what, at_import)) in enumerate(sample):
        chosen[path][at] = k
        row = {"mutant": k, "path": str(path.relative_to(ROOT)), "line": line, "what": what}
        source = path.read_text().splitlines()[line - 1].strip()
        mutants.append({**row, "source": source, "at_import": at_import})
    (folder / "code").mkdir(parents=True, exist_ok=True)
    (folder / "site").mkdir(exist_ok=True)
    (folder / "site" / "sitecustomize.py").write_text(
        "import bench.mutants\n\nbench.mutants.install()\n"
    )
    modules = {}
    for path, sites in chosen.items():
        tree = Mutator(sites).module(ast.parse(path.read_bytes()))
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        modules[name] = str(path)
        code = compile(tree, str(path), "exec", dont_inherit=True)
        (folder / "code" / f"{name}.bin").write_bytes(marshal.dumps(code))
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "mutants.json").write_text(json.dumps(mutants, indent=1))
    return mutants


def _modules(path: Path) -> Iterator[Path]:
    return iter([path]) if path.is_file() else path.rglob("*.py")


class State:
    """What the switches of a process do."""

    def __init__(self) -> None:
        self.active = -1
        self.seen: set[int] = set()


STATE = State()


def _switch(number: int) -> bool:
    if number not in STATE.seen:
        STATE.seen.add(number)
        if notes := os.environ.get(NOTES):
            with Path(notes).open("a") as file:
                file.write(f"{os.environ.get('PYTEST_CURRENT_TEST', '')}\t{number}\n")
    return number == STATE.active


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> Any:
        file = Path(os.environ[FOLDER], "code", f"{fullname}.bin")
        return marshal.loads(file.read_bytes())  # noqa: S302 - ours


class _Finder:
    def __init__(self) -> None:
        self.modules = json.loads(Path(os.environ[FOLDER], "modules.json").read_text())

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        del path, target
        if (file := self.modules.get(name)) is None:
            return None
        inside = [str(Path(file).parent)] if file.endswith("__init__.py") else None
        return spec_from_file_location(
            name, file, loader=_Loader(name, file), submodule_search_locations=inside
        )


def install() -> None:
    """Hand out the compiled modules in this process; called as Python starts."""
    if FOLDER in os.environ:
        STATE.active = int(os.environ.get(ACTIVE, "-1"))
        setattr(builtins, SWITCH, _switch)
        sys.meta_path.insert(0, _Finder())
