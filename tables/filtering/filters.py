"""The filter language of a request: parsed, type-checked, never pasted into SQL.

``age >= 15 and sex in ('F', 'M') and region is not missing``

Comparisons ``= == != <> < <= > >=``, ``in (…)``, ``not in (…)``, ``between a and b``,
``is [not] missing`` (or ``null``), joined by ``and``, ``or``, ``not`` and parentheses.
Texts stand in single or double quotes, column names bare, in double quotes as in SQL, or in
backticks: what stands before a comparison is a column. As in SQL, a comparison with a missing
value holds neither way. What a table prints for a category stands
for that category and no other: numbers, true and false bare, all else in quotes.

A column of CSV is compared by the texts of its file: ``v = '10.10'``, and ``v = 10.10`` means
the same, as it is written. With ``< <= > >=`` and ``between``, a number is compared with the
numbers that the texts are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import NoReturn

from footing.messages import Message, Name, said
from tables.errors import FilterError, TablesError, unknown_name
from tables.filtering.values import (
    Bounds,
    FileType,
    Literal,
    Spelled,
    bounds_of,
    kind_of,
    plain,
    text_bounds_of,
)
from tables.refusals import Refusal, refusal_of

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))
    | (?P<text>'(?:[^']|'')*'|"(?:[^"]|"")*")
    | (?P<quoted>`(?:[^`]|``)+`)
    | (?P<word>[^\W\d][\w\u0300-\u036f]*)  # with accents behind their letters
    | (?P<symbol><=|>=|<>|!=|==|[<>=(),])
    )""",
    re.VERBOSE,
)
_OPERATORS = {"=", "<>", "<", "<=", ">", ">="}
_SYNONYMS = {"==": "=", "!=": "<>"}
_RESERVED = {"and", "or", "not", "in", "between", "is", "null", "missing", "true", "false"}
_MAX_LENGTH = 20_000
_MAX_DEPTH = 50
_MAX_DIGITS = 37
_EXPECTED = {
    "end": Message("'and', 'or' or the end"),
    "closing": "')'",
    "opening": "'('",
    "comma": "',' or ')'",
    "missing": "'missing'",
    "and": "'and'",
    "comparison": Message("a comparison such as '>='"),
    "column": Message("a column name"),
    "value": Message("a number or a quoted text"),
}
_EXAMPLE = Message(
    "write for example: age >= 15 and sex in ('F', 'M'); a name with blanks or "
    "signs stands in quotes: \"age group\" = '0–4'"
)


@dataclass(frozen=True, slots=True)
class Compare:
    """``column operator value``."""

    column: str
    operator: str
    value: Literal


@dataclass(frozen=True, slots=True)
class Within:
    """``column [not] in (values)``."""

    column: str
    values: tuple[Literal, ...]
    negated: bool


@dataclass(frozen=True, slots=True)
class Missing:
    """``column is [not] missing``."""

    column: str
    negated: bool


@dataclass(frozen=True, slots=True)
class Not:
    """``not part``."""

    part: Node


@dataclass(frozen=True, slots=True)
class Join:
    """Parts joined by one word, ``and`` or ``or``."""

    word: str
    parts: tuple[Node, ...]


Comparison = Compare | Within | Missing
Node = Comparison | Not | Join


@dataclass(frozen=True, slots=True)
class Filter:
    """A parsed filter; equal to another when both mean the same tree.

    Parameters
    ----------
    tree
        The parsed expression.

    Examples
    --------
    >>> parse_filter("age>=15") == parse_filter("`age`  >= 15")
    True
    """

    tree: Node

    @property
    def columns(self) -> frozenset[str]:
        """The columns that the filter reads."""
        return frozenset(node.column for node in comparisons_in(self.tree))

    @property
    def texts(self) -> frozenset[tuple[str, str]]:
        """The texts that the filter compares columns with for equality, with the column."""
        pairs = set()
        for node in comparisons_in(self.tree):
            if isinstance(node, Within) or getattr(node, "operator", "") in {"=", "<>"}:
                values = _literals(node)
                pairs |= {(node.column, value) for value in values if isinstance(value, str)}
        return frozenset(pairs)

    @property
    def comparisons(self) -> int:
        """How many comparisons with columns the filter has."""
        return sum(1 for _ in comparisons_in(self.tree))

    def problems(
        self, types: Mapping[str, str], refusals: Mapping[str, Refusal] | None = None
    ) -> list[tuple[str, str]]:
        """Tell what does not fit the columns, as (problem, hint) pairs.

        Parameters
        ----------
        types
            Column name → DuckDB's type.
        refusals
            Column name → why it is not read.

        Returns
        -------
        list of tuple
            Empty when the filter fits.

        Examples
        --------
        >>> parse_filter("age >= 'x'").problems({"age": "BIGINT"})[0][0]
        "The filter compares 'age', an integer column, with a text."
        """
        return [(error.problem, error.hint or "") for error in self.errors(types, refusals)]

    def errors(
        self, types: Mapping[str, str], refusals: Mapping[str, Refusal] | None = None
    ) -> list[FilterError]:
        """Tell what does not fit the columns, as errors to raise.

        Parameters
        ----------
        types, refusals
            As in `problems`.

        Returns
        -------
        list of FilterError
            Empty when the filter fits.

        Examples
        --------
        >>> parse_filter("age >= 'x'").errors({"age": "BIGINT"})[0].facts
        {'column': 'age', 'kind': 'integer', 'given': 'text'}
        """
        candidates = (_error(node, types, refusals or {}) for node in comparisons_in(self.tree))
        return [error for error in candidates if error is not None]

    def sql(self, types: Mapping[str, str], parameters: dict[str, object]) -> str:
        """Return the condition in SQL; its values go into `parameters`, never into the text.

        Parameters
        ----------
        types
            As in `problems`.
        parameters
            Extended by one entry for each value.

        Returns
        -------
        str
            A parenthesised condition with ``$name`` placeholders.

        Examples
        --------
        >>> values = {}
        >>> parse_filter("age >= 15").sql({"age": "BIGINT"}, values), values
        ('("age" >= CAST($f0 AS BIGINT))', {'f0': '15'})
        """
        return _sql(self.tree, types, parameters)


def parse_filter(text: str) -> Filter:
    """Parse a filter expression.

    Parameters
    ----------
    text
        See the module's description of the language.

    Returns
    -------
    Filter
        The parsed filter.

    Raises
    ------
    FilterError
        If the text is not in the language; the message tells the position.

    Examples
    --------
    >>> sorted(parse_filter("age between 15 and 64 and sex = 'F'").columns)
    ['age', 'sex']
    """
    if len(text) > _MAX_LENGTH:
        raise FilterError(
            Message("A filter has at most {max_length:,} characters.", max_length=_MAX_LENGTH),
            reason="length",
            limit=_MAX_LENGTH,
        )
    return Filter(_Parser(text).parse())


def quote(name: str) -> str:
    """Quote an identifier for SQL."""
    return '"' + name.replace('"', '""') + '"'


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = self._tokenise(text)
        self.at = 0
        self.depth = 0

    def _tokenise(self, text: str) -> list[tuple[str, str, int]]:
        tokens = []
        position = 0
        end = len(text.rstrip())
        while position < end:
            match = _TOKEN.match(text, position)
            if match is None:
                start = position + len(text[position:]) - len(text[position:].lstrip())
                raise FilterError(
                    Message("The filter cannot be read at character {start}.", start=start + 1),
                    hint=_EXAMPLE,
                    reason="sign",
                    position=start + 1,
                )
            kind = match.lastgroup or ""
            token = match.group(kind)
            tokens.append((kind, token, match.start(kind)))
            position = match.end()
        return tokens

    def parse(self) -> Node:
        if not self.tokens:
            raise FilterError(Message("The filter is empty."), hint=_EXAMPLE, reason="empty")
        node = self._join("or")
        if self.at < len(self.tokens):
            self._fail("end")
        return node

    def _join(self, word: str) -> Node:
        below = self._not if word == "and" else lambda: self._join("and")
        parts = [below()]
        while self._take("word", word):
            parts.append(below())
        return parts[0] if len(parts) == 1 else Join(word, tuple(parts))

    def _not(self) -> Node:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise FilterError(
                Message(
                    "A filter nests at most {max_depth} levels deep.", max_depth=_MAX_DEPTH
                ),
                reason="depth",
                limit=_MAX_DEPTH,
            )
        try:
            if self._take("word", "not"):
                return Not(self._not())
            if self._take("symbol", "("):
                node = self._join("or")
                if not self._take("symbol", ")"):
                    self._fail("closing")
                return node
            return self._predicate()
        finally:
            self.depth -= 1

    def _predicate(self) -> Node:
        column = self._column()
        if self._take("word", "is"):
            negated = self._take("word", "not")
            if not (self._take("word", "missing") or self._take("word", "null")):
                self._fail("missing")
            return Missing(column, negated)
        negated = self._take("word", "not")
        if self._take("word", "in"):
            return Within(column, self._list(), negated)
        if self._take("word", "between"):
            low = self._literal(is_ordered=True)
            if not self._take("word", "and"):
                self._fail("and")
            high = self._literal(is_ordered=True)
            both = Join("and", (Compare(column, ">=", low), Compare(column, "<=", high)))
            return Not(both) if negated else both
        kind, token, _ = self._peek()
        operator = _SYNONYMS.get(token, token)
        if negated or kind != "symbol" or operator not in _OPERATORS:
            self._fail("comparison")
        self.at += 1
        is_ordered = operator not in {"=", "<>"}
        return Compare(column, operator, self._literal(is_ordered=is_ordered))

    def _column(self) -> str:
        kind, token, _ = self._peek()
        is_quoted = kind == "quoted" or (token.startswith('"') and len(token) > 2)
        if not is_quoted and (kind != "word" or token.lower() in _RESERVED):
            self._fail("column")
        self.at += 1
        return token[1:-1].replace(token[0] * 2, token[0]) if is_quoted else token

    def _list(self) -> tuple[Literal, ...]:
        if not self._take("symbol", "("):
            self._fail("opening")
        values = [self._literal()]
        while self._take("symbol", ","):
            values.append(self._literal())
        if not self._take("symbol", ")"):
            self._fail("comma")
        return tuple(values)

    def _literal(self, *, is_ordered: bool = False) -> Literal:
        """Read a value; of numbers that are ordered, how they are written says nothing."""
        kind, token, _ = self._peek()
        value: Literal
        if kind == "number":
            number = _number(token)
            if number is None:
                self._fail("value")
            is_plain = is_ordered or token == plain(number)
            value = number if is_plain else Spelled(number=number, text=token)
        elif kind == "text":
            mark = token[0]
            value = token[1:-1].replace(mark * 2, mark)
        elif kind == "word" and token.lower() in {"true", "false"}:
            value = token.lower() == "true"
        else:
            self._fail("value")
        self.at += 1
        return value

    def _peek(self) -> tuple[str, str, int]:
        return self.tokens[self.at] if self.at < len(self.tokens) else ("", "", len(self.text))

    def _take(self, kind: str, text: str) -> bool:
        next_kind, token, _ = self._peek()
        is_here = next_kind == kind and token.lower() == text
        self.at += is_here
        return is_here

    def _fail(self, expected: str) -> NoReturn:
        position = self._peek()[2] + 1
        raise FilterError(
            Message(
                "The filter needs {expected} at character {position}.",
                expected=said(_EXPECTED[expected]),
                position=position,
            ),
            hint=_EXAMPLE,
            reason="expected",
            expected=expected,
            position=position,
        )


def _number(token: str) -> int | Decimal | None:
    """Read a number; whole ones are integers however they are written, so that 1 is 1.0."""
    try:
        number = Decimal(token)
    except InvalidOperation:  # an exponent beyond all bounds
        return None
    is_whole = number.adjusted() < _MAX_DIGITS and number == number.to_integral_value()
    return int(number) if is_whole else number


def comparisons_in(node: Node) -> Iterator[Comparison]:
    """Return the comparisons of a condition with columns, in their order."""
    match node:
        case Join(parts=parts):
            for part in parts:
                yield from comparisons_in(part)
        case Not(part=part):
            yield from comparisons_in(part)
        case _:
            yield node


def _literals(node: Comparison) -> tuple[Literal, ...]:
    match node:
        case Compare(value=value):
            return (value,)
        case Within(values=values):
            return values
        case _:
            return ()


_KIND_WORDS = {
    "integer": Message("an integer column"),
    "number": Message("a number column"),
    "text": Message("a text column"),
    "boolean": Message("a true/false column"),
    "date": Message("a date column"),
    "time": Message("a column of times of day"),
}


_LITERAL_WORDS = {
    "text": Message("text"),
    "number": Message("number"),
    "true/false": Message("true/false"),
}

_TYPE_HINTS = {
    "text": Message("write the code in quotes"),
    "date": Message("write the date as '2027-03-31'"),
    "time": Message("write the time as '09:30:00'"),
    "boolean": Message("write true or false"),
}


def _error(
    node: Comparison, types: Mapping[str, str], refusals: Mapping[str, Refusal]
) -> FilterError | None:
    """Tell what does not fit a column, as an error to raise."""
    refusal = refusals.get(node.column)
    if refusal is None and node.column not in types:
        problem, hint = unknown_name("Column", node.column, [*types, *refusals])
        return FilterError(problem, hint=hint, reason="column", column=node.column)
    kind = kind_of(types[node.column]) if refusal is None else "other"
    if refusal is None and kind == "other" and not isinstance(node, Missing):
        refusal = refusal_of(node.column, types[node.column])
    if refusal is not None:
        facts = {"column": node.column, "kind": kind}
        return FilterError(refusal.problem, hint=refusal.hint, reason="type", **facts)
    for value in _literals(node):
        value_kind = _literal_kind(value)
        problem = Message(
            "The filter compares {column!r}, {kind_words}, with a {value}.",
            column=Name(node.column),
            kind_words=_KIND_WORDS[kind],
            value=_LITERAL_WORDS[value_kind],
        )
        hint = _TYPE_HINTS.get(kind, Message("write a number without quotes"))
        try:
            if _comparand(node, types[node.column]).bounds(value) is not None:
                continue
        except TablesError as error:  # texts that are to be numbers, and are none
            problem, hint = error.problem, error.hint or hint
        return FilterError(
            problem, hint=hint, reason="type", column=node.column, kind=kind, given=value_kind
        )
    return None


def _literal_kind(value: Literal) -> str:
    if isinstance(value, bool):
        return "true/false"
    return "text" if isinstance(value, str) else "number"


def _sql(node: Node, types: Mapping[str, str], parameters: dict[str, object]) -> str:
    match node:
        case Join(word=word, parts=parts):
            condition = f" {word.upper()} ".join(_sql(p, types, parameters) for p in parts)
            return f"({condition})"
        case Not(part=part):
            return f"(NOT {_sql(part, types, parameters)})"
        case Missing(column=column, negated=negated):
            return f"({quote(column)} IS {'NOT ' if negated else ''}NULL)"
        case Within(column=column, values=values, negated=negated):
            own = _comparand(node, types[column])
            bounds = [own.bounds(value) for value in values]
            exact = dict.fromkeys(b.low for b in bounds if b is not None and b.is_exact)
            if not exact:
                return f"({own.sql} {'=' if negated else '<>'} {own.sql})"
            places = [_bind(low, own.sql_type, parameters) for low in exact]
            return f"({own.sql} {'NOT IN' if negated else 'IN'} ({', '.join(places)}))"
        case Compare(column=column):
            own = _comparand(node, types[column])
            return f"({own.sql} {_compared(own, node, parameters)})"


@dataclass(frozen=True, slots=True)
class _Comparand:
    """What is compared of a column: SQL of its values, their type, where literals lie there."""

    sql: str
    sql_type: str
    bounds: Callable[[Literal], Bounds | None]


def _comparand(node: Comparison, sql_type: str) -> _Comparand:
    """Return what a comparison compares: of a text file's columns texts, or their numbers."""
    column, kind, bounds = quote(node.column), kind_of(sql_type), bounds_of
    if isinstance(sql_type, FileType) and kind in {"text", "integer"}:
        is_ordered = isinstance(node, Compare) and node.operator not in {"=", "<>"}
        if not is_ordered:
            bounds = text_bounds_of
        elif kind == "text" and _literal_kind(_literals(node)[0]) == "number":
            reading = sql_type.texts.reading(is_exact=True)
            column, sql_type = reading.sql(column), reading.sql_type
    elif kind == "text" and sql_type != "VARCHAR":  # what prints as a text, by its text
        column = f"CAST({column} AS VARCHAR)"
    return _Comparand(column, sql_type, lambda value: bounds(value, sql_type))


def _compared(own: _Comparand, node: Compare, parameters: dict[str, object]) -> str:
    """Compare with a value of the column's type: the literal, or the one next to it."""
    bounds, operator = own.bounds(node.value), node.operator
    if bounds is None:
        raise FilterError(
            Message(
                "The filter does not fit the type of {column!r}.", column=Name(node.column)
            ),
            reason="type",
        )
    near = bounds.low if operator[0] == "<" else bounds.high
    if bounds.is_exact:
        return f"{operator} {_bind(near, own.sql_type, parameters)}"
    if operator in {"=", "<>"} or near is None:  # all of them, or none, but the missing
        return f"{'=' if operator == '<>' else '<>'} {own.sql}"
    return f"{operator[0]}= {_bind(near, own.sql_type, parameters)}"


def _bind(value: object, sql_type: str, parameters: dict[str, object]) -> str:
    name = f"f{len(parameters)}"
    parameters[name] = value
    return f"${name}" if kind_of(sql_type) == "text" else f"CAST(${name} AS {sql_type})"
