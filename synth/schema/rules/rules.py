"""Edit rules: what holds for every record, in words that are parsed and never run.

A rule speaks of columns, numbers, texts, ``and or not``, ``if … then …``, comparisons,
``in (…)``, ``+ - *`` and ``missing(column)``. A comparison with a missing value is neither
true nor false, and a rule is broken only where it is false.
"""

import ast
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, cast

import numpy as np

from footing.messages import Argument, Message, Name, said
from synth.errors import RuleError, SchemaError
from synth.schema.columns import Category, Column, Date, Numeric, is_text, key_of
from synth.schema.rules.logic import (
    Amount,
    Codes,
    Test,
    Verdict,
    compare,
    either,
    every,
    known_missing,
    opposite,
)

_LONGEST = 2000
_DEEPEST = 60
_PER_RULE = 50  # codes in the text of a rule
_PIECES = re.compile(
    r"""(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
    r"|(?P<quoted>`[^`]+`)|(?P<word>\b(?:if|then)\b)|(?P<rest>.)",
    re.DOTALL,
)
_SIGNS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_TURNED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True, kw_only=True)
class EditRule:
    """What holds for every record.

    Parameters
    ----------
    text
        The rule. Names that are no words stand in backticks: ```hours-per-week` > 0``.
    name
        What to call it in reports; by default its text.

    Examples
    --------
    >>> EditRule(text="if age < 16 then status == 'single'").columns
    ('age', 'status')
    """

    text: str
    name: str = ""

    def __post_init__(self) -> None:
        if not (is_text(self.text) and is_text(self.name)):
            raise RuleError(Message("A rule, and its name, are text."))
        object.__setattr__(self, "name", self.name or self.text)
        _tree(self.text)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it speaks of, sorted."""
        tree, quoted = _tree(self.text)
        functions = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        names = {
            node.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Name) and id(node) not in functions
        }
        return tuple(sorted(quoted.get(name, name) for name in names))


def code_hierarchy(child: str, parent: str, *, parents: Mapping[Any, Any]) -> list[EditRule]:
    """Return the rules that each code of one column has its code of another.

    The model can draw no other pair, and rare codes are put together below their parent alone.

    Parameters
    ----------
    child, parent
        The column of finer codes, and that of coarser ones.
    parents
        The coarser code of each finer one, from a public code list.

    Examples
    --------
    >>> [rule] = code_hierarchy("nace4", "nace2", parents={"0111": "01", "0112": "01"})
    >>> rule.text
    "if `nace4` in ('0111', '0112') then `nace2` == '01'"
    """
    below: dict[Any, list[Any]] = {}
    for code, above in parents.items():
        below.setdefault(above, []).append(code)
    parts = (
        (above, tuple(codes[at : at + _PER_RULE]))
        for above, codes in below.items()
        for at in range(0, len(codes), _PER_RULE)
    )
    return [
        EditRule(
            text=Message(
                "if `{child}` in {codes} then `{parent}` == {above!r}",
                child=Name(child),
                codes=Argument(codes),
                parent=Name(parent),
                above=Argument(above),
            )
        )
        for above, codes in parts
    ]


@dataclass(frozen=True, slots=True)
class Identity:
    """A column of numbers that follows from others, rounded to its decimals."""

    column: Numeric
    parts: tuple[Numeric, ...]
    amount: Callable[[Mapping[str, Amount | Codes]], Amount]

    def judge(self, operands: Mapping[str, Amount | Codes]) -> Verdict:
        """Tell where the column is what it should be."""
        factor, amount = self.column.factor, self.amount(operands)
        low, high = (np.rint(end * factor) / factor for end in amount[:2])
        one = cast("Amount", operands[self.column.name])
        return one.compare("==", Amount(low, high, amount.missing))


@dataclass(frozen=True, slots=True)
class ParsedRule:
    """A rule that knows its columns.

    Parameters
    ----------
    rule
        The rule.
    test
        Tells what may hold.
    cuts
        Where the cells of columns of numbers should begin.
    identity
        What the rule says one column is, if it says that.
    """

    rule: EditRule
    judge: Test
    cuts: dict[str, set[int]] = field(default_factory=dict)
    identity: Identity | None = None


def parse_rule(rule: EditRule, columns: Mapping[str, Column]) -> ParsedRule:
    """Read a rule about declared columns."""
    tree, quoted = _tree(rule.text)
    reader = _Reader(rule, columns, quoted)
    identity = reader.identity(tree)
    judge = reader.test(tree) if identity is None else identity.judge
    return ParsedRule(rule, judge, reader.cuts, identity)


@lru_cache(maxsize=512)
def _tree(text: str) -> tuple[ast.expr, dict[str, str]]:
    """Return the syntax tree, and the quoted names behind their stand-ins."""
    if len(text) > _LONGEST:
        raise RuleError(Message("A rule has {longest} characters at most.", longest=_LONGEST))
    quoted: dict[str, str] = {}
    words, pieces = [], []
    for match in _PIECES.finditer(text):
        piece = match.group()
        if match.lastgroup == "quoted":
            piece = f"quoted_{len(quoted)}_"
            quoted[piece] = match.group()[1:-1]
        elif match.lastgroup == "word":
            words.append(piece)
            piece = "\0"
        pieces.append(piece)
    if words not in ([], ["if", "then"]) or "\0" in text:
        raise RuleError(
            Message("The rule {short} cannot be read.", short=Name(_short(text))),
            hint=Message("write: if condition then condition"),
        )
    python = "".join(pieces).replace("\n", " ").strip()
    if words:
        before, condition, consequence = python.split("\0")
        if before.strip():
            raise RuleError(
                Message("The rule {short} cannot be read.", short=Name(_short(text)))
            )
        python = f"(not ({condition})) or ({consequence})"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            tree = ast.parse(python, mode="eval").body
        if _depth(tree) > _DEEPEST:
            raise RuleError(
                Message("The rule {short} is nested too deeply.", short=Name(_short(text)))
            )
    except (SyntaxError, RecursionError, MemoryError):
        raise RuleError(
            Message("The rule {short} cannot be read.", short=Name(_short(text))),
            hint=Message("for example: if age < 16 then status == 'single'"),
        ) from None
    return tree, quoted


def _depth(tree: ast.AST) -> int:
    level, depth = [tree], 0
    while level:
        depth += 1
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return depth


class _Reader:
    """Turns a syntax tree into a test, and refuses everything that it does not know."""

    def __init__(
        self, rule: EditRule, columns: Mapping[str, Column], quoted: Mapping[str, str]
    ) -> None:
        self._rule, self._columns, self._quoted = rule, columns, quoted
        self.cuts: dict[str, set[int]] = {}

    def test(self, node: ast.expr) -> Test:
        match node:
            case ast.BoolOp(op=op, values=values):
                parts = [self.test(value) for value in values]
                return every(parts) if isinstance(op, ast.And) else either(parts)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return opposite(self.test(operand))
            case ast.Compare(left=left, ops=signs, comparators=rights):
                sides = [left, *rights]
                parts = [
                    self._compare(sides[place], sign, sides[place + 1])
                    for place, sign in enumerate(signs)
                ]
                return every(parts)
            case ast.Call(func=ast.Name(id="missing"), args=args, keywords=[]):
                return self._missing(args)
        raise self._wrong(Message("It is not a comparison, nor made of comparisons."))

    def identity(self, node: ast.expr) -> Identity | None:
        """Return what `column == sum of others` says of the column."""
        match node:
            case ast.Compare(left=ast.Name() as left, ops=[ast.Eq()], comparators=[right]):
                column = self._column(left)
                inner = [
                    self._column(one) for one in ast.walk(right) if isinstance(one, ast.Name)
                ]
                parts = tuple(one for one in inner if isinstance(one, Numeric))
                is_plain = 0 < len(parts) == len(inner) and column not in parts
                if isinstance(column, Numeric) and is_plain:
                    day = column if isinstance(column, Date) else None
                    return Identity(column, parts, self._amount(right, day))
        return None

    def _missing(self, args: list[ast.expr]) -> Test:
        column = self._column(args[0]) if args else None
        if column is None or len(args) > 2:
            raise self._wrong(Message("missing needs a column, and perhaps a kind."))
        kinds = list(column.missing)
        places = range(len(kinds))
        if len(args) == 2:
            kind = args[1].value if isinstance(args[1], ast.Constant) else None
            if kind not in kinds:
                raise self._wrong(
                    Message(
                        "Kinds of missing of column {column!r}: {kinds}.",
                        column=Name(column.name),
                        kinds=Argument(kinds),
                    )
                )
            places = range(kinds.index(kind), kinds.index(kind) + 1)
        first = column.domain_size
        return known_missing(column.name, {first + place for place in places})

    def _compare(self, left: ast.expr, sign: ast.cmpop, right: ast.expr) -> Test:
        if isinstance(sign, (ast.In, ast.NotIn)):
            if not isinstance(right, (ast.Tuple, ast.List)) or not right.elts:
                raise self._wrong(Message("in needs a list: in ('a', 'b')."))
            equal = either([self._compare(left, ast.Eq(), one) for one in right.elts])
            return opposite(equal) if isinstance(sign, ast.NotIn) else equal
        if type(sign) not in _SIGNS:
            raise self._wrong(
                Message("It compares by something other than == != < <= > >= in.")
            )
        mark = _SIGNS[type(sign)]
        one, other = self._column(left), self._column(right)
        if isinstance(other, Category) and one is None:
            left, right, one, other, mark = right, left, other, one, _TURNED[mark]
        if isinstance(one, Category):
            return self._categories(one, mark, other, right)
        if isinstance(other, Category):
            raise self._wrong(
                Message(
                    "Column {other!r} holds categories, not numbers.", other=Name(other.name)
                )
            )
        return self._numbers(left, mark, right)

    def _categories(
        self, column: Category, mark: str, other: Column | None, right: ast.expr
    ) -> Test:
        if mark not in ("==", "!=") and not column.is_ordered:
            raise self._wrong(
                Message(
                    "The categories of {column!r} come in no order.", column=Name(column.name)
                )
            )
        keys = [key_of(value) for value in column.known]
        if other is None:
            own_key = key_of(self._literal(right))
            if own_key not in keys:
                raise self._wrong(
                    Message(
                        "A value is none of the declared ones of {column!r}.",
                        column=Name(column.name),
                    )
                )
            place: Codes | str = Codes.fixed(keys.index(own_key))
            return compare(column.name, mark, place, size=len(keys))
        if not isinstance(other, Category) or (
            mark not in ("==", "!=") and other.values != column.values
        ):
            raise self._wrong(
                Message(
                    "{column!r} and {other!r} cannot be compared.",
                    column=Name(column.name),
                    other=Name(other.name),
                )
            )
        aligned = {key: place for place, key in enumerate(keys)}
        table = [aligned.setdefault(key_of(value), len(aligned)) for value in other.known]
        return compare(column.name, mark, other.name, size=len(keys), table=table)

    def _numbers(self, left: ast.expr, mark: str, right: ast.expr) -> Test:
        dates = [
            column
            for node in (*ast.walk(left), *ast.walk(right))
            if isinstance(node, ast.expr) and isinstance(column := self._column(node), Date)
        ]
        day = dates[0] if dates else None
        self._note_cuts(left, mark, right, day)
        self._note_cuts(right, _TURNED[mark], left, day)
        one, other = self._amount(left, day), self._amount(right, day)

        def test(operands: Mapping[str, Amount | Codes]) -> Verdict:
            return one(operands).compare(mark, other(operands))

        return test

    def _note_cuts(self, node: ast.expr, mark: str, bound: ast.expr, day: Date | None) -> None:
        """Remember where a cell must begin so that none lies across the bound."""
        column = self._column(node)
        if not isinstance(column, Numeric):
            return
        try:
            value = self._constant(bound, day) * column.factor
        except _NotConstantError:
            return
        below, above = -((-value) // 1), value // 1 + 1  # the first from it, the first beyond
        cuts = {"<": {below}, ">=": {below}, "<=": {above}, ">": {above}}
        starts = cuts.get(mark, {below, above})
        self.cuts.setdefault(column.name, set()).update(int(one) for one in starts)

    def _amount(
        self, node: ast.expr, day: Date | None
    ) -> Callable[[Mapping[str, Amount | Codes]], Amount]:
        match node:
            case ast.Name():
                column = self._column(node)
                if not isinstance(column, Numeric):
                    raise self._wrong(Message("It reckons with what is no column of numbers."))
                name = column.name
                return lambda operands: operands[name]  # type: ignore[return-value]
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() as op, right=right):
                one, other = self._amount(left, day), self._amount(right, day)
                sign = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}[type(op)]
                return lambda operands: one(operands).combine(sign, other(operands))
        try:
            value = self._constant(node, day)
        except _NotConstantError:
            raise self._wrong(
                Message("It may hold numbers, columns and + - * alone.")
            ) from None
        return lambda _operands: Amount.fixed(value)

    def _constant(self, node: ast.expr, day: Date | None) -> float:
        match node:
            case ast.Constant(value=bool()):
                raise _NotConstantError
            case ast.Constant(value=int() | float() as value) if abs(value) < 1e15:
                return value
            case ast.Constant(value=str() as text) if day is not None:
                try:
                    return day.number(text)
                except SchemaError:
                    raise self._wrong(
                        Message("A date is compared with what is no day.")
                    ) from None
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._constant(operand, day)
        raise _NotConstantError

    def _literal(self, node: ast.expr) -> object:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self._constant(node.operand, None)
        if isinstance(node, ast.Constant):
            return node.value
        raise self._wrong(Message("Categories are compared with values."))

    def _column(self, node: ast.expr) -> Column | None:
        if not isinstance(node, ast.Name):
            return None
        name = self._quoted.get(node.id, node.id)
        if name not in self._columns:
            raise self._wrong(Message("Column {name!r} is not declared.", name=Name(name)))
        return self._columns[name]

    def _wrong(self, reason: str) -> RuleError:
        return RuleError(
            Message(
                "The rule {short} cannot be used. {reason}",
                short=Name(_short(self._rule.text)),
                reason=said(reason),
            )
        )


class _NotConstantError(Exception):
    """What stands there is no number."""


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:79] + "…")
