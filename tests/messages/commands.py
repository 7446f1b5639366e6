"""Collect what the commands say: their help, and the texts that reach an error or a warning.

A text is followed from where it is raised, warned of or shown back to where it is written:
through names, conditions, dictionaries, and what functions are given and return. What is put
in is a numbered place, ``{0}``.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from ckm.cli.terminal.help import paragraphs
from footing.data_files import read_data
from reports.i18n.messages import HOLE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

_ROOT = Path(__file__).parents[2]
HELP = "commands-help"
#: Domain → the packages whose messages it has.
DOMAINS = {
    "messages-ckm": ("ckm",),
    "messages-core": ("footing", "ptable", "reports", "risk", "tables"),
    "messages-dp": ("dp", "dpsgd", "rappor", "synth"),
}
#: Packages all of whose messages are made from data: nothing is followed there.
FROM_DATA = DOMAINS["messages-dp"]
#: Words of click and of the operating system that reach the terminal.
_FOREIGN = (
    *("Usage:", "Options", "Commands", "COMMAND", "ARGS", "required"),
    *("TEXT", "INTEGER", "INTEGER RANGE", "FLOAT", "FLOAT RANGE", "PATH", "FILE", "DIRECTORY"),
    *("default: {0}", "env var: {0}", "Show this message and exit."),
    *("Missing argument {0}.", "Missing option {0}.", "Missing parameter: {0}"),
    *("Missing argument {0}. {1}", "Missing option {0}. {1}", "Choose from:\n\t{0}"),
    *("Invalid value: {0}", "Invalid value for {0}: {1}", "Could not open file {0}: {1}"),
    *("No such option {0}.", "No such option {0}. Did you mean {1}?"),
    "No such option {0}. (Did you mean one of: {1}?)",
    *("Option {0} does not take a value.", "Option {0} requires an argument."),
    *("Option {0} requires {1} arguments.", "Argument {0} takes {1} values."),
    *("Got unexpected extra argument ({0})", "Got unexpected extra arguments ({0})"),
    *(
        "{0} is not a valid integer.",
        "{0} is not a valid integer range.",
        "{0} is not a valid float.",
        "{0} is not a valid float range.",
        "{0} is not in the range {1}.",
    ),
    *(
        "{0} is not one of {1}.",
        "{0} is not {1}.",
        "{0} is not a valid boolean. Recognized values: {1}",
    ),
    *("File {0} does not exist.", "Directory {0} does not exist.", "Path {0} does not exist."),
    *("File {0} is a directory.", "Directory {0} is a file.", "File {0} is not readable."),
    # Why there is no p-table, and what to do.
    *("use variance={0}", "use variance=({0})", "the largest noise is {0}"),
    *("relax {0}: count {1} has no law with mean zero at all", "the noise values"),
    *(
        "{0} leaves too little freedom",
        "a count of {0} has no noise whose opposite is in reach",
    ),
    "no noise strictly between {0} and {1} is allowed",
    "the noise of a count of {0} cannot go below {1}",
    "symmetric noise of a count of {0} cannot go beyond {1}",
    "change the variance of the parts that these rows belong to",
    "no single variance suits every row; use {0}",
    *("another p_stay", "{0} or more", "{0} or less", "or variance_rule='at-most'"),
    "or variance_rule='nearest' for the nearest variance of each row",
    "where these rows have less",
    # The steps of ckm explain.
    "original count",
    *("INTERNAL: original counts and keys", "number", "cell key", "range of cell keys"),
    *("rank", "noise of the rank", "least published count"),
    *("mixed key", "row of p-table", "keys of this noise", "noise", "count with noise"),
    *("published", "original weight", "weight with noise", "original sum", "contributors"),
    *("their key", "is sensitive", "row of its p-table", "units of noise", "noises"),
    *("sum with noise", "nowhere else", "the same records in the ledger:"),
    "the same records in this job, by count and cell key:",
    "none: a cell without records has no key and stays 0",
    "nothing: the file leaves this cell out, as others whose published count is 0",
    # What is put together where it is told.
    *("table", "{0} table in {1}", "{0} tables in {1}", "table {0}", "measure", "check"),
    *("counts", "from", "to", "feasible", "yes", "{0} and more", "the total"),
    *("yes, with less: {0}", "There is no preset {0}.", "There is no rule {0}."),
    *("Noise lies between {0} and {1}; {2}.", "its mean is exactly 0 for every count"),
    *("its mean is not always 0: {0} for count {1}", "Never published: {0}"),
    *("Always published as they are: {0}", "{0} = {1}, not {2}"),
    (
        "Table {0}: in {1}, amounts of {2} vary so little that a sum would tell how many "
        "contribute: there it has the noise of a count, too."
    ),
    *("some cells", "most cells", "all cells", "values"),
    *("the title", "the title of {0}", "the unit of {0}", "the label of {0}", "nothing"),
    *("1 category of {0}", "{0} categories of {1}", "unchanged", "written", "would be written"),
    *("{0} for {1}", "at line {0}, column {1}", " in {0}", "but not {0}", "the residual"),
    "[[report.exceptions]] with check = {0} records who allows it",
    (
        "without [ledger] nobody compares requests with what was published: "
        "two tables that differ by one person give that person away"
    ),
    (
        "not audited: what all tables of this service tell together was not examined; "
        "ckm audit {0} -o audit.json does it, and report in [audit] names it"
    ),
    '{0} may filter: {1}; filters = "officer" in [access] prevents it',
    *("everybody", "everybody with a token", "every researcher with a token"),
    (
        "whoever may filter can reconstruct the true counts from some hundred tables, "
        "with a ledger too"
    ),
    "the account bounds what each project finds by itself, not what several find together",
    (
        "[ledger] reserves nothing: a table that a caller asks for first may keep one of the "
        'office from publication; official = ["job.toml"] prevents it'
    ),
    (
        "The measure {0} cannot be published: "
        "a range is the difference of two persons' amounts, which no noise for sums hides."
    ),
    *("an empty cell", "weighted by {0}"),
    *("durations", "intervals", "periods", "periods ({0})", "text ({0})", "integer ({0})"),
    *("number ({0})", "boolean ({0})", "date ({0})", "time ({0})"),
    # What is wrong with record keys.
    *("{0} of the records have no key.", "About {0}", "Fewer than {0}"),
    "{0} of the identifiers repeat another, more than chance explains.",
    "{0} of the record keys repeat another, more than chance explains.",
    "The record keys are not uniform over their range.",
    *("not {0}", "and {0} more", "The frame", "column", "folder", "dimension", "weights"),
    *("No such file or directory", "Permission denied", "Is a directory", "Not a directory"),
    *("No space left on device", "File exists", "Read-only file system", "File name too long"),
    *("Input/output error", "Disk quota exceeded", "Too many open files", "Broken pipe"),
    # Parts of a plan of private tables, and of what their errors are.
    *("keys", "bounds of {0}", "units, threshold", "1,000 rows", "rows"),
    *("times the width, 1,000 rows", "times the larger bound", "what", "of"),
    *("error:", "hint:", "in the data:", "{0} or {1}", "{0} and {1}"),
)
_SINKS = frozenset(
    {"_note", "step", "warn", "warning", "add", "add_error", "fail", "table", "__init__"}
)
#: Functions whose texts are shown by the commands, and are words of pages elsewhere.
_OF_COMMANDS = frozenset({"add_task", "say", "tell"})
_KEYWORDS = frozenset({"hint", "problem", "message", "title", "caption", "inside", "text"})
#: What makes messages from data → the first argument that may be a text.
_OF_MESSAGES = {
    **dict.fromkeys(("Message", "Enumeration", "joined"), 1),
    **dict.fromkeys(("Text", "said", "named"), 0),
    **dict.fromkeys(("Name", "each", "Argument", "Shape", "mark"), 9),
}
_NAMED = re.compile(r"%[sdrfg]|%\.\df|\{[a-z_]\w*(?:![rs])?(?::[^{}]*)?\}")
#: What other languages write otherwise.
_SAID = re.compile(r"[A-Za-z]|[:;?!%]")
_WORD = re.compile(r"[A-Za-z]{2,}")
#: What is no text for people, though it is put together where one is.
_SQL = re.compile(r"^(SELECT|CREATE|WITH|FROM) |\b(TRY_)?CAST\(|list_extract\(")
#: Where the texts are in an expression.
_PARTS: dict[type, tuple[str, ...]] = {
    ast.BinOp: ("left", "right"),
    ast.IfExp: ("body", "orelse"),
    ast.BoolOp: ("values",),
    ast.Dict: ("values",),
    **dict.fromkeys((ast.Tuple, ast.List, ast.Set), ("elts",)),
    **dict.fromkeys((ast.ListComp, ast.GeneratorExp, ast.SetComp), ("elt",)),
    **dict.fromkeys((ast.Starred, ast.NamedExpr, ast.Subscript), ("value",)),
}
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def template(text: str) -> str:
    """Number the places of a text to be formatted."""
    count = iter(range(99))
    return _NAMED.sub(lambda _: f"{{{next(count)}}}", text)


def is_message(text: str) -> bool:
    """Whether a text has words to translate: several, or one that is a sentence."""
    bare = HOLE.sub("", text)
    words = _WORD.findall(bare)
    is_told = bool(words) and sum(map(len, words)) > 3 and " " in text.strip()
    return is_told and not _SQL.search(text)


class Module:
    """A module, with what its names are bound to."""

    def __init__(self, path: Path, *, root: Path = _ROOT) -> None:
        self.path = path.relative_to(root).as_posix()
        self.name = self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        self.tree = ast.parse(path.read_text(encoding="utf-8"))
        self.imports: dict[str, str] = {}
        self.bound: dict[tuple[Any, str], list[ast.expr]] = defaultdict(list)
        self.functions: dict[str, list[_Function]] = defaultdict(list)
        self.methods: set[int] = set()
        self.scopes: dict[int, Any] = {}
        self._walk(self.tree, None)

    def _walk(self, node: ast.AST, scope: Any) -> None:
        for child in ast.iter_child_nodes(node):
            self.scopes[id(child)] = scope
            self._bind(child, scope)
            inner = child if isinstance(child, _Function | ast.Lambda) else scope
            self._walk(child, inner)

    def _bind(self, node: ast.AST, scope: Any) -> None:
        if isinstance(node, ast.ImportFrom | ast.Import):
            self._import(node)
        elif isinstance(node, ast.ClassDef):
            self.methods |= {id(one) for one in node.body if isinstance(one, _Function)}
        elif isinstance(node, _Function):
            self.functions[node.name].append(node)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                self._bind_to(target, node.value, scope)
        elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and node.value:
            self._bind_to(node.target, node.value, scope)
        elif isinstance(node, ast.Call) and _name(node.func) in {"append", "extend"}:
            self._bind_to(node.func.value, node.args[0], scope)
        elif isinstance(node, ast.For | ast.comprehension):
            self._bind_to(node.target, node.iter, scope)

    def _import(self, node: ast.ImportFrom | ast.Import) -> None:
        for one in node.names:
            home = f"{one.name}:"
            if isinstance(node, ast.ImportFrom):
                home = f"{node.module}:{one.name}"
            self.imports[one.asname or one.name] = home

    def _bind_to(self, target: ast.AST, value: ast.expr, scope: Any) -> None:
        if isinstance(target, ast.Name):
            self.bound[scope, target.id].append(value)
        elif isinstance(target, ast.Attribute):
            self.bound["self", target.attr].append(value)
        elif isinstance(target, ast.Tuple | ast.List):
            parts = value.elts if isinstance(value, ast.Tuple | ast.List) else ()
            for index, one in enumerate(target.elts):
                same = len(parts) == len(target.elts)
                self._bind_to(one, parts[index] if same else value, scope)


class Collector:
    """Follow texts from where they are shown to where they are written."""

    def __init__(self, modules: Sequence[Module]) -> None:
        self.modules = {module.name: module for module in modules}
        self.found: dict[str, str] = {}  # text → where
        self._seen: set[tuple[int, bool]] = set()
        self._marked: set[tuple[str, str]] = set()  # function and parameter
        self._calls: dict[str, list[tuple[Module, ast.Call]]] = defaultdict(list)
        for module in modules:
            for node in ast.walk(module.tree):
                if isinstance(node, ast.Call):
                    self._calls[_name(node.func)].append((module, node))
        for module in modules:
            for node in ast.walk(module.tree):
                for text in _shown(node, is_command=module.name.startswith("ckm.cli.")):
                    self.flow(module, text)

    def flow(self, module: Module, node: ast.AST, *, inline: bool = False) -> None:
        """Follow one expression."""
        if (id(node), inline) in self._seen:
            return
        self._seen.add((id(node), inline))
        match node:
            case ast.Constant(value=str()) | ast.JoinedStr() | ast.BinOp(op=ast.Add()):
                self._text(module, node, inline=inline)
            case ast.Attribute(attr=name):
                self._each(module, module.bound.get(("self", name), ()))
            case ast.Name(id=name):
                self._named(module, node, name)
            case ast.Call():
                self._call(module, node)
            case _:
                is_choice = isinstance(node, ast.IfExp | ast.BoolOp)
                for field in _PARTS.get(type(node), ()):
                    part = getattr(node, field)
                    nodes = part if isinstance(part, list) else [part]
                    self._each(module, nodes, inline=inline and is_choice)

    def _each(self, module: Module, nodes: Any, *, inline: bool = False) -> None:
        for node in nodes:
            self.flow(module, node, inline=inline)

    def _named(self, module: Module, node: ast.AST, name: str) -> None:
        scope = module.scopes.get(id(node))
        while scope is not None and (scope, name) not in module.bound:
            arguments = scope.args
            every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
            if name in {one.arg for one in every} and isinstance(scope, _Function):
                self._mark(module, scope, name)
                return
            scope = module.scopes.get(id(scope))
        self._each(module, module.bound.get((scope, name), ()))
        if scope is None and (home := module.imports.get(name)):
            other, _, original = home.partition(":")
            if other in self.modules:
                there = self.modules[other]
                self._each(there, there.bound.get((None, original), ()))

    def _mark(self, module: Module, function: _Function, name: str) -> None:
        """Follow what is given as this parameter, wherever the function is called."""
        positional = [*function.args.posonlyargs, *function.args.args]
        names = [one.arg for one in positional]
        is_method = names[:1] in (["self"], ["cls"])
        called = function.name
        if called == "__init__":
            holders = [
                one.name
                for one in ast.walk(module.tree)
                if isinstance(one, ast.ClassDef) and function in one.body
            ]
            called = holders[0]
        if (called, name) in self._marked or name in {"self", "cls"}:
            return
        self._marked.add((called, name))
        place = names.index(name) - is_method if name in names else None
        is_free = id(function) not in module.methods
        for there, call in self._calls[called]:
            if is_free and not self._is_call_of(module, called, there, call.func):
                continue
            given = [one.value for one in call.keywords if one.arg == name]
            if place is not None and place < len(call.args):
                given.append(call.args[place])
            self._each(there, given)

    def _is_call_of(self, home: Module, function: str, there: Module, called: ast.AST) -> bool:
        """Tell whether a call elsewhere may be one of a function of a module."""
        if there is home:
            return True
        if isinstance(called, ast.Name) and called.id not in there.imports:
            return called.id not in there.functions  # what a parameter holds may be it
        if isinstance(called, ast.Name):
            places = [
                (module, original)
                for module, _, original in [there.imports.get(called.id, "").partition(":")]
            ]
        elif isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
            module, _, inner = there.imports.get(called.value.id, "").partition(":")
            places = [(f"{module}.{inner}" if inner else module, called.attr)]
        else:
            return False
        # A package hands on what its modules have.
        return any(
            original == function and (home.name == module or home.name.startswith(f"{module}."))
            for module, original in places
            if module
        )

    def _call(self, module: Module, node: ast.Call) -> None:
        name = _name(node.func)
        if name in _OF_MESSAGES:  # its template is found by its place
            start = _OF_MESSAGES[name]
            self._each(module, [*node.args[start:], *(one.value for one in node.keywords)])
            return
        if name in {
            "join",
            "dict",
            "fromkeys",
            "sorted",
            "list",
            "tuple",
            "next",
            "iter",
            "reversed",
            "enumerate",
            "zip",
            "filter",
            "append",
        }:
            self._each(module, node.args)
        if name in {
            "items",
            "values",
            "get",
            "format",
            "strip",
            "rstrip",
            "lstrip",
            "removesuffix",
            "replace",
            "capitalize",
            "pop",
        }:
            if isinstance(node.func, ast.Attribute):
                self.flow(module, node.func.value)
            self._each(module, node.args[1:] if name in {"get", "pop"} else ())
            return
        there, original = module, name
        if isinstance(node.func, ast.Name) and (home := module.imports.get(name)):
            other, _, original = home.partition(":")
            if other not in self.modules:
                return
            there = self.modules[other]
        for function in there.functions.get(original, ()):
            for inner in ast.walk(function):
                if isinstance(inner, ast.Return | ast.Yield) and inner.value is not None:
                    self.flow(there, inner.value)

    def _text(self, module: Module, node: Any, *, inline: bool) -> None:
        parts = list(self._parts(module, node))
        text = "".join(part if isinstance(part, str) else "{}" for part in parts)
        text = template(text.replace("{}", "{hole}"))
        if is_message(text) or (inline and text.strip().isalpha() and len(text.strip()) > 1):
            self.found.setdefault(text, f"{module.path}")

    def _parts(self, module: Module, node: Any) -> Iterator[Any]:
        match node:
            case ast.Constant(value=str(text)):
                yield text
            case ast.JoinedStr(values=values):
                for value in values:
                    yield from self._parts(module, value)
            case ast.BinOp(op=ast.Add(), left=left, right=right):
                yield from self._parts(module, left)
                yield from self._parts(module, right)
            case ast.FormattedValue(value=value, conversion=conversion):
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    yield value.value
                else:
                    if conversion != ord("r"):
                        self.flow(module, value, inline=True)
                    yield None
            case _:
                self.flow(module, node, inline=True)
                yield None


def _name(function: ast.AST) -> str:
    return getattr(function, "attr", "") or getattr(function, "id", "")


def _is_of_python(function: ast.AST) -> bool:
    holder = getattr(function, "value", None)
    return isinstance(holder, ast.Name) and holder.id == "warnings"


def _shown(node: ast.AST, *, is_command: bool) -> Iterator[ast.AST]:
    """Give what is shown by an expression."""
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
        yield from node.exc.args
    if isinstance(node, ast.Call):
        name = _name(node.func)
        if (
            name in _SINKS
            or (is_command and name in _OF_COMMANDS)
            or name.endswith(("Error", "Warning", "BadParameter"))
        ):
            # The first is a code, but of the warnings of Python.
            yield from node.args[name in {"step", "warn"} and not _is_of_python(node.func) :]
        yield from (one.value for one in node.keywords if one.arg in _KEYWORDS)


def sources(packages: Sequence[str]) -> list[Module]:
    """Read the modules of packages."""
    return [
        Module(path)
        for package in packages
        for path in sorted((_ROOT / package).rglob("*.py"))
        if not path.name.startswith("test_")
    ]


def help_texts() -> dict[str, str]:
    """Collect the help of every command, paragraph by paragraph."""
    from ckm.cli.app import app

    found: dict[str, str] = dict.fromkeys(_FOREIGN, "click")

    def visit(command: click.Command, name: str) -> None:
        for text in (command.help or "", command.epilog or ""):
            for _, one in paragraphs(text):
                found.setdefault(one, name)
        for option in command.params:
            if isinstance(option, click.Option) and option.help and not option.hidden:
                found.setdefault(option.help, name)
        if isinstance(command, click.Group):
            context = click.Context(command)
            for verb in command.list_commands(context):
                inner = command.get_command(context, verb)
                assert inner is not None
                visit(inner, f"{name} {verb}")

    visit(app, "ckm")
    return {text: place for text, place in found.items() if _WORD.search(text)}


def _texts_of_presets() -> dict[str, str]:
    found = read_data("ptable.design", "presets.toml")
    parts = [*found["presets"].values(), *found["mechanisms"].values()]
    return dict.fromkeys((part["text"] for part in parts), "ptable/design/presets.toml")


def _texts_of_words() -> dict[str, str]:
    problems, verdict = (
        read_data(package, f"{name}.toml")
        for package, name in (("ckm.config", "problems"), ("ckm.release", "verdict"))
    )
    texts = [*problems["rules"].values(), *problems["forms"].values()]
    found = dict.fromkeys(texts, "ckm/config/problems.toml")
    return found | dict.fromkeys(verdict["hints"].values(), "ckm/release/verdict.toml")


def _literals(
    stream: BinaryIO, keywords: Collection[str], _tags: object, options: object
) -> Iterator[tuple[int, str, str, list[str]]]:
    """Find the first arguments of some functions, also within calls of others; for Babel."""
    del options
    for node in ast.walk(ast.parse(stream.read())):
        if isinstance(node, ast.Call) and _name(node.func) in keywords and node.args:
            text = node.args[0]
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                yield node.lineno, "", text.value, []


def made_from_data(packages: Sequence[str]) -> dict[str, str]:
    """Collect the templates of messages: template → where it is written."""
    from babel.messages.extract import extract_from_file

    keywords: dict[str, Any] = dict.fromkeys(("Message", "Enumeration", "joined", "mark"))
    return {
        text: path.relative_to(_ROOT).as_posix()
        for package in packages
        for path in sorted((_ROOT / package).rglob("*.py"))
        for _, text, _, _ in extract_from_file(_literals, path, keywords=keywords)
        if isinstance(text, str) and _SAID.search(HOLE.sub("", text))
    }


def command_messages(pages: Collection[str] = ()) -> dict[str, dict[str, str]]:
    """Collect messages but those that pages alone say: domain → text → where it is written."""
    found = {HELP: help_texts()}
    packages = [one for group in DOMAINS.values() for one in group]
    texts = Collector(sources(packages)).found | _texts_of_presets() | _texts_of_words()
    texts = {
        text: place for text, place in texts.items() if place.partition("/")[0] not in FROM_DATA
    }
    texts |= made_from_data(packages)
    for domain, group in DOMAINS.items():
        found[domain] = {
            text: place
            for text, place in sorted(texts.items(), key=lambda item: (item[1], item[0]))
            if place.partition("/")[0] in group
            and text not in found[HELP]
            and not (text in pages and place.startswith("reports/"))
            and "%(" not in text
        }
    return found
