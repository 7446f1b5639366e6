"""Texts of columns of files, which are categories as they stand, and numbers where asked.

What is printed or compared as a category is the text of the file, whatever the other records
hold. What is added up, weighs or is ordered is read as numbers; a text that is none is an
error, told by its place and its shape.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

from footing.messages import Message, Name, Shape, mark
from tables.errors import DataError, RequestError
from tables.filtering.filters import quote
from tables.filtering.values import FileType, NumberReading
from tables.source.csv_text import cure

if TYPE_CHECKING:
    Ask = Callable[[str], list[Any]]  # runs a statement
    Guesses = Mapping[str, tuple[str, ...]]

#: Words for the types of columns that can be declared.
TYPES = ("text", "integer", "decimal", "date")
#: How a copy of CSV in Parquet says which columns are texts of CSV.
_MARK = "ckm_csv"
_KEPT = ("VARCHAR", "BIGINT", "UBIGINT")
_HINTS = {
    "decimal": "repair it, or leave the field empty where the number is missing",
    "integer": 'write whole numbers plainly, such as 12, or declare the column as "decimal"',
    "date": 'write dates as 2027-03-31, or declare the column as "text"',
}
_FEW_COLUMNS = 64
_SHORT = 15  # characters; so many digits are told apart as floating-point numbers
_MOST_DIGITS = 38


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """What is said about the columns of CSV files before they are read.

    Parameters
    ----------
    types
        Column → ``"text"``, ``"integer"`` (whole numbers, written plainly), ``"decimal"``
        (numbers to add up or to compare; as a category its texts) or ``"date"`` (such as
        ``2027-03-31``). A text that does not fit is an error.
    text
        All columns that are not declared are texts; nothing in the file has a say in it.
    decimal
        The decimal mark of numbers, ``"."`` or ``","``.
    missing
        Texts that stand for a missing value, as an empty field does: ``["NA"]`` as R writes it.
    is_lenient
        A text that is no number is a missing one, so that no error depends on the records.

    Examples
    --------
    >>> ReadOptions(types={"PUMA": "text"}).types["PUMA"]
    'text'
    """

    types: Mapping[str, str] = field(default_factory=dict)
    text: bool = False
    decimal: str = "."
    missing: Sequence[str] = ()
    is_lenient: bool = False

    def __post_init__(self) -> None:
        for name, word in self.types.items():
            if word not in TYPES:
                raise RequestError(
                    Message(
                        "The type of column {name!r} is one of {types}, not {word!r}.",
                        name=Name(name),
                        types=Name.each(TYPES),
                        word=Name(word),
                    ),
                    hint=Message('as in types = { PUMA = "text", wage = "decimal" }'),
                )
        if self.decimal not in {".", ","}:
            raise RequestError(
                Message(
                    "The decimal mark is a point or a comma, not {decimal!r}.",
                    decimal=Name(self.decimal),
                ),
                hint=Message('decimal = ","'),
            )
        if isinstance(self.missing, str) or not all(self.missing):
            raise RequestError(
                Message("missing is a list of texts, none of them empty."),
                hint=Message('as in missing = ["NA"]; an empty field is missing by itself'),
            )
        object.__setattr__(self, "types", MappingProxyType(dict(self.types)))
        object.__setattr__(self, "missing", tuple(dict.fromkeys(self.missing)))

    def require_csv(self, label: str) -> None:
        """Raise if something is said that data of another format cannot follow."""
        if self.types or self.decimal != "." or self.missing:
            raise RequestError(
                Message(
                    "Types, decimal marks and texts for missing values are declared for CSV "
                    "files; {label!r} is none.",
                    label=Name(label),
                ),
                hint=Message(
                    "its columns have types and missing values of their own; leave types, "
                    "decimal and missing out"
                ),
            )


class TextColumns:
    """Columns of texts, and what these can be read as.

    Parameters
    ----------
    names
        The columns.
    options
        What is declared of them.
    kinds
        Column → the SQL type of those that are no texts.
    relation
        SQL of the records.
    """

    def __init__(
        self,
        names: Sequence[str],
        *,
        options: ReadOptions,
        kinds: Mapping[str, str] | None = None,
        relation: str = "",
    ) -> None:
        self.names, self.options, self._relation = tuple(names), options, relation
        self._kinds = dict(kinds or {})
        #: Column → how long the texts of numbers are; None where a text is no number.
        self._lengths: dict[str, int | None] = {}
        self._exact: dict[str, str] = {}
        self._misfits: dict[str, tuple[str, str]] = {}

    @property
    def relation(self) -> str:
        """SQL of the records as texts."""
        return self._relation

    def types(self, ask: Ask) -> dict[str, FileType]:
        """Return the SQL types of the columns, which know how texts are read as numbers.

        Parameters
        ----------
        ask
            Runs a statement, for columns of which nobody has asked it before.
        """
        return {
            name: FileType(self._kinds.get(name, "VARCHAR"), _Texts(self, ask, name))
            for name in self.names
        }

    def are_numbers(self, ask: Ask, name: str) -> bool:
        """Tell whether a column can be read as numbers."""
        if self.options.is_lenient:
            return True
        if self.options.types.get(name) == "text":
            return False
        if name not in self._lengths:
            self._test(ask, {name: ("NUMBER",)})
        return self._lengths[name] is not None

    def reading(self, ask: Ask, name: str, *, is_exact: bool) -> NumberReading:
        """Tell how the texts of a column are read as numbers, or raise."""
        options, sql_type = self.options, "DOUBLE"
        if options.types.get(name) == "text" and not options.is_lenient:
            raise DataError(
                Message(
                    "Column {name!r} is declared as texts, and is used as numbers.",
                    name=Name(name),
                ),
                hint=Message('declare it as "decimal", or use another column'),
            )
        if not self.are_numbers(ask, name):
            self._refuse(ask, name, "decimal")
        if is_exact and not options.is_lenient and (self._lengths[name] or 0) > _SHORT:
            sql_type = self._exact_type(ask, name)
        return NumberReading(sql_type, decimal=options.decimal, is_lenient=options.is_lenient)

    def _exact_type(self, ask: Ask, name: str) -> str:
        """Return a decimal type that holds all numbers of a column, or floating point."""
        if name in self._exact:
            return self._exact[name]
        text = NumberReading("", decimal=self.options.decimal).with_points(quote(name))
        whole = f"max(strlen(ltrim(split_part({text}, '.', 1), ' +-0')))"
        fraction = f"max(strlen(rtrim(split_part({text}, '.', 2))))"
        has_power = f"bool_or(contains({text}, 'e') OR contains({text}, 'E'))"
        ((front, back, is_power),) = ask(
            f"SELECT {whole}, {fraction}, {has_power} FROM {self.relation}"
        )
        is_short = front + back <= _MOST_DIGITS and not is_power
        kind = f"DECIMAL({max(front + back, 1)},{back})" if is_short else "DOUBLE"
        return self._exact.setdefault(name, kind)

    def _test(self, ask: Ask, guesses: Guesses, *, most: int = 0) -> dict[str, _Answer]:
        """Return what all records let through, or the first so many."""
        relation = self.relation
        if most:
            columns_sql = (
                "*" if len(guesses) == len(self.names) else ", ".join(map(quote, guesses))
            )
            relation = f"(SELECT {columns_sql} FROM {relation} LIMIT {most})"
        open_tests = {name: tests for name, tests in guesses.items() if tests}
        rows = self._tested(ask, relation, open_tests) if open_tests else []
        answers = dict.fromkeys(guesses, _Answer())
        for (name, tests), (records, values, longest, *holds) in zip(
            open_tests.items(), rows, strict=True
        ):
            passes = tuple(test for test, is_held in zip(tests, holds, strict=True) if is_held)
            answers[name] = _Answer(records=records, is_empty=values == 0, held=passes)
            if "NUMBER" in tests and "NUMBER" not in passes:
                self._lengths[name] = None
            elif "NUMBER" in tests and (not most or records < most):
                self._lengths[name] = longest
        return answers

    def _tested(self, ask: Ask, relation: str, guesses: Guesses) -> list[Sequence[Any]]:
        """Return for each column the number of records, of texts, the longest, and answers.

        Many columns become one, beside their place: a statement of many aggregates takes
        time that grows as the square of their number.
        """
        if len(guesses) <= _FEW_COLUMNS:
            parts = [
                ["count(*)", *self._test_sql(quote(name), tests)]
                for name, tests in guesses.items()
            ]
            answers = iter(
                ask(f"SELECT {', '.join(itertools.chain(*parts))} FROM {relation}")[0]
            )
            return [list(itertools.islice(answers, len(part))) for part in parts]
        tests = tuple(dict.fromkeys(itertools.chain(*guesses.values())))
        columns_sql = ", ".join(map(quote, guesses))
        single = (
            f"SELECT unnest([{columns_sql}]) AS t, unnest(range({len(guesses)})) AS i "
            f"FROM {relation}"
        )
        select_list = ", ".join(["i", "count(*)", *self._test_sql("t", tests)])
        rows = {
            row[0]: row[1:] for row in ask(f"SELECT {select_list} FROM ({single}) GROUP BY i")
        }
        empty = (0, 0, 0, *[True] * len(tests))
        lines: list[Sequence[Any]] = []
        for place, own in enumerate(guesses.values()):
            row = rows.get(place, empty)
            holds = dict(zip(tests, row[3:], strict=True))
            lines.append([*row[:3], *(holds[test] for test in own)])
        return lines

    def _test_sql(self, column: str, guesses: Iterable[str]) -> list[str]:
        """Return SQL of the number of texts, the longest, and whether all are of each type."""
        number = NumberReading("DOUBLE", decimal=self.options.decimal, is_lenient=True)
        round_trip = f"TRY_CAST({column} AS DATE)::VARCHAR = {column}"
        tests = {
            "NUMBER": f"({number.sql(column)}) IS NOT NULL",
            "DATE": f"(strlen({column}) = 10 AND {round_trip}) IS TRUE",  # years of four digits
        }
        own = [
            tests.get(guess, f"(TRY_CAST({column} AS {guess})::VARCHAR = {column}) IS TRUE")
            for guess in guesses
        ]
        every = [f"coalesce(bool_and({column} IS NULL OR {test}), true)" for test in own]
        return [f"count({column})", f"coalesce(max(strlen({column})), 0)", *every]

    # --- what is wrong ----------------------------------------------------------------------

    def _refuse(self, ask: Ask, name: str, word: str) -> NoReturn:
        """Say where a text stands that is not of a type, and what it looks like."""
        if name not in self._misfits:  # the files are looked through once
            self._misfits[name] = self._misfit(ask, name, word)
        problem, hint = self._misfits[name]
        raise DataError(problem, hint=hint)

    def _misfit(self, ask: Ask, name: str, word: str) -> tuple[str, str]:
        """Return the problem and the hint of a column with texts that are not of a type."""
        misfit, hint = self._first_misfit(ask, name, word), _HINTS[word]
        if misfit is None:
            problem = Message(
                "Column {name!r} holds texts that do not fit its type.", name=Name(name)
            )
            return problem, hint
        text, file, line = misfit
        where = (
            Message("the first, in line {line:,} of {file!r},", line=line, file=Name(file))
            if line
            else Message("one")
        )
        template = mark(
            "Column {name!r} holds texts that are no numbers: {where} is of the shape "
            "{shape!r}."
        )
        if word == "integer":
            template = mark(
                "Column {name!r} holds texts that are no whole numbers: {where} is of the "
                "shape {shape!r}."
            )
        elif word == "date":
            template = mark(
                "Column {name!r} holds texts that are no dates: {where} is of the shape "
                "{shape!r}."
            )
        else:
            hint = cure(text, decimal=self.options.decimal) or hint
        problem = Message(template, name=Name(name), where=where, shape=Shape(text))
        return problem, hint

    def _first_misfit(self, ask: Ask, name: str, word: str) -> tuple[str, str, int] | None:  # noqa: ARG002
        """Return a text of a column that is not of a type, its file, and its line or 0."""
        (own,) = self._test_sql(quote(name), ["NUMBER"])[2:]
        test = own.removeprefix("coalesce(bool_and(").removesuffix("), true)")
        rows = ask(f"SELECT min({quote(name)}) FROM {self.relation} WHERE NOT ({test})")
        return None if rows[0][0] is None else (rows[0][0], "", 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """What records say of a column: their number, whether all are missing, what holds."""

    records: int = 0
    is_empty: bool = True
    held: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Texts:
    """The texts of one column."""

    columns: TextColumns
    ask: Ask
    name: str

    def are_numbers(self) -> bool:
        return self.columns.are_numbers(self.ask, self.name)

    def reading(self, *, is_exact: bool = False) -> NumberReading:
        return self.columns.reading(self.ask, self.name, is_exact=is_exact)


def mark_of(columns: TextColumns | None, kinds: Mapping[str, str]) -> dict[str, str]:
    """Return the metadata of a copy of records that says which columns are texts of CSV."""
    if columns is None:
        return {}
    names = [name for name in columns.names if name in kinds]
    settings = {"columns": names, "decimal": columns.options.decimal}
    return {_MARK: json.dumps(settings)}


def marked_columns(
    ask: Ask, file: str, *, relation: str, kinds: Mapping[str, str], is_lenient: bool
) -> TextColumns | None:
    """Return the columns that a copy in Parquet has from CSV; None where it says nothing.

    Parameters
    ----------
    ask
        Runs a statement.
    file
        The file, as a literal of SQL.
    relation, kinds
        SQL of its records, and the types of its columns.
    is_lenient
        As in `ReadOptions`.
    """
    metadata = f"parquet_kv_metadata({file})"
    rows = ask(f"SELECT decode(value) FROM {metadata} WHERE decode(key) = '{_MARK}'")
    if not rows:
        return None
    try:
        settings = json.loads(rows[0][0])
        options = ReadOptions(decimal=settings["decimal"], is_lenient=is_lenient)
        own = {n: k for n, k in kinds.items() if n in settings["columns"] and k in _KEPT}
    except (ValueError, KeyError, TypeError):  # of another program
        return None
    typed = {name: kind for name, kind in own.items() if kind != "VARCHAR"}
    return TextColumns([*own], options=options, kinds=typed, relation=relation)
