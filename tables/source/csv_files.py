"""CSV files: every column is the texts of the file; numbers and dates are readings of them.

What is printed or compared as a category is the text of the file, whatever the other records
hold. So a column has a type of its own only where writing the values gives every text back:
whole numbers of 64 bits, and dates. All else stays a text, which is read as a number where it
is added up, weighs or is ordered (`tables.filtering.values.NumberReading`). All records settle
that, never a sample.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

import duckdb

from tables.errors import DataError, RequestError, SourceError, unknown_name
from tables.filtering.filters import quote
from tables.filtering.values import FileType, NumberReading
from tables.source import csv_text
from tables.source.files import file_list, free_name, sql_text

if TYPE_CHECKING:
    Ask = Callable[[str], list[Any]]  # runs a statement
    Guesses = Mapping[str, tuple[str, ...]]

#: Words for the types of columns that can be declared.
TYPES = ("text", "integer", "decimal", "date")
_GUESSES = ("BIGINT", "UBIGINT", "DATE", "NUMBER")
_DECLARED = {
    "text": (),
    "integer": ("BIGINT", "UBIGINT", "HUGEINT"),
    "decimal": ("NUMBER",),
    "date": ("DATE",),
}
_HINTS = {
    "decimal": "repair it, or leave the field empty where the number is missing",
    "integer": 'write whole numbers plainly, such as 12, or declare the column as "decimal"',
    "date": 'write dates as 2027-03-31, or declare the column as "text"',
}
_SAMPLE_ROWS, _SAMPLE_FIELDS = 2048, 1_000_000
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
    is_lenient: bool = False

    def __post_init__(self) -> None:
        for name, word in self.types.items():
            if word not in TYPES:
                raise RequestError(
                    f"The type of column {name!r} is one of {', '.join(TYPES)}, not {word!r}.",
                    hint='as in types = { PUMA = "text", wage = "decimal" }',
                )
        if self.decimal not in {".", ","}:
            raise RequestError(
                f"The decimal mark is a point or a comma, not {self.decimal!r}.",
                hint='decimal = ","',
            )
        object.__setattr__(self, "types", MappingProxyType(dict(self.types)))

    def require_csv(self, label: str) -> None:
        """Raise if something is said that data of another format cannot follow."""
        if self.types or self.decimal != ".":
            raise RequestError(
                f"Types and decimal marks are declared for CSV files; {label!r} is none.",
                hint="its columns have types of their own; leave types and decimal out",
            )


class CsvColumns:
    """The columns of CSV files, and what their texts can be read as.

    Parameters
    ----------
    connection
        Where the files are read.
    files
        The files; all have one header line.
    options
        What is declared.
    has_paths
        Whether the records know the paths of their files, in a column more.
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        files: Sequence[str],
        *,
        options: ReadOptions,
        has_paths: bool,
    ) -> None:
        layouts = {csv_text.read_layout(file) for file in files}
        if len(layouts) > 1:
            raise SourceError("All files must have the same header line; they differ.")
        self._layout = layouts.pop()
        self._files, self.options = tuple(files), options
        self.names = self._layout.names
        self.file_column = free_name("ckm_file", self.names) if has_paths else None
        for name in options.types:
            if name not in self.names:
                problem, hint = unknown_name("Column", name, self.names)
                raise RequestError(problem, hint=hint)
        self._kinds: dict[str, str] = {}
        #: Column → how long the texts of numbers are; None where a text is no number.
        self._lengths: dict[str, int | None] = {}
        self._exact: dict[str, str] = {}
        try:
            self._settle(lambda sql: connection.execute(sql).fetchall())
        except duckdb.Error as error:
            self._explain(str(error))
            raise

    @property
    def relation(self) -> str:
        """SQL of the records as texts."""
        columns = ", ".join(f"{sql_text(name)}: 'VARCHAR'" for name in self.names)
        options = [
            f"columns={{{columns}}}, delim={sql_text(self._layout.delimiter)}",
            "quote='\"', escape='\"', nullstr='', header=true",
            "auto_detect=false, ignore_errors=false",
            "strict_mode=true, hive_partitioning=false",
        ]
        if self.file_column is not None:
            options.append(f"filename={sql_text(self.file_column)}")
        return f"read_csv({file_list(self._files)}, {', '.join(options)})"

    @property
    def sql(self) -> str:
        """SQL of the records, of columns of their types."""
        parts = [
            f"CAST({quote(name)} AS {kind}) AS {quote(name)}" if kind else quote(name)
            for name, kind in ((name, self._kinds.get(name)) for name in self.names)
        ]
        parts += [quote(self.file_column)] if self.file_column is not None else []
        return f"SELECT {', '.join(parts)} FROM {self.relation}"

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
                f"Column {name!r} is declared as texts, and is used as numbers.",
                hint='declare it as "decimal", or use another column',
            )
        if not self.are_numbers(ask, name):
            self._refuse(name, "decimal")
        if is_exact and not options.is_lenient and (self._lengths[name] or 0) > _SHORT:
            sql_type = self._exact_type(ask, name)
        return NumberReading(sql_type, decimal=options.decimal, is_lenient=options.is_lenient)

    def _exact_type(self, ask: Ask, name: str) -> str:
        """Return a decimal type that holds all numbers of a column, or floating point."""
        if name in self._exact:
            return self._exact[name]
        text = NumberReading("", decimal=self.options.decimal).text(quote(name))
        whole = f"max(strlen(ltrim(split_part({text}, '.', 1), ' +-0')))"
        fraction = f"max(strlen(rtrim(split_part({text}, '.', 2))))"
        has_power = f"bool_or(contains({text}, 'e') OR contains({text}, 'E'))"
        ((front, back, is_power),) = ask(
            f"SELECT {whole}, {fraction}, {has_power} FROM {self.relation}"
        )
        is_short = front + back <= _MOST_DIGITS and not is_power
        kind = f"DECIMAL({max(front + back, 1)},{back})" if is_short else "DOUBLE"
        return self._exact.setdefault(name, kind)

    # --- what all records say ---------------------------------------------------------------

    def _settle(self, ask: Ask) -> None:
        """Find the types of the columns; what a sample refutes is not asked of all records."""
        guesses = {name: tests for name in self.names if (tests := self._guesses(name))}
        most = max(1, min(_SAMPLE_ROWS, _SAMPLE_FIELDS // len(self.names)))
        answers = self._test(ask, guesses, most=most)
        if any(answer.records == most for answer in answers.values()):  # there may be more
            # Of what a sample lets through, the first mostly holds: one scan tells.
            first = {n: a.held if a.is_empty else a.held[:1] for n, a in answers.items()}
            rest = {n: () if a.is_empty else a.held[1:] for n, a in answers.items()}
            answers = self._test(ask, first)
            rest = {n: tests for n, tests in rest.items() if not answers[n].held}
            answers |= self._test(ask, rest)
        for name, answer in answers.items():
            declared = self.options.types.get(name)
            if declared is not None and not answer.held:
                self._refuse(name, declared)
            held = [test for test in answer.held if test != "NUMBER"]
            if held and (declared or not answer.is_empty):
                self._kinds[name] = held[0]

    def _guesses(self, name: str) -> tuple[str, ...]:
        declared = self.options.types.get(name)
        if declared is None:
            return () if self.options.text else _GUESSES
        return _DECLARED[declared]

    def _test(self, ask: Ask, guesses: Guesses, *, most: int = 0) -> dict[str, _Answer]:
        """Return what all records let through, or the first so many."""
        relation = self.relation
        if most:
            listed = "*" if len(guesses) == len(self.names) else ", ".join(map(quote, guesses))
            relation = f"(SELECT {listed} FROM {relation} LIMIT {most})"
        wanted = {name: tests for name, tests in guesses.items() if tests}
        rows = self._tested(ask, relation, wanted) if wanted else []
        answers = dict.fromkeys(guesses, _Answer())
        for (name, tests), (records, values, longest, *holds) in zip(
            wanted.items(), rows, strict=True
        ):
            held = tuple(test for test, is_held in zip(tests, holds, strict=True) if is_held)
            answers[name] = _Answer(records=records, is_empty=values == 0, held=held)
            if "NUMBER" in tests and "NUMBER" not in held:
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
        listed = ", ".join(map(quote, guesses))
        single = (
            f"SELECT unnest([{listed}]) AS t, unnest(range({len(guesses)})) AS i "
            f"FROM {relation}"
        )
        asked = ", ".join(["i", "count(*)", *self._test_sql("t", tests)])
        rows = {row[0]: row[1:] for row in ask(f"SELECT {asked} FROM ({single}) GROUP BY i")}
        empty = (0, 0, 0, *[True] * len(tests))
        found = []
        for place, own in enumerate(guesses.values()):
            row = rows.get(place, empty)
            holds = dict(zip(tests, row[3:], strict=True))
            found.append([*row[:3], *(holds[test] for test in own)])
        return found

    def _test_sql(self, column: str, guesses: Iterable[str]) -> list[str]:
        """Return SQL of the number of texts, the longest, and whether all are of each type."""
        number = NumberReading("DOUBLE", decimal=self.options.decimal, is_lenient=True)
        written = f"TRY_CAST({column} AS DATE)::VARCHAR = {column}"
        tests = {
            "NUMBER": f"({number.sql(column)}) IS NOT NULL",
            "DATE": f"(strlen({column}) = 10 AND {written}) IS TRUE",  # years of four digits
        }
        own = [
            tests.get(guess, f"(TRY_CAST({column} AS {guess})::VARCHAR = {column}) IS TRUE")
            for guess in guesses
        ]
        every = [f"coalesce(bool_and({column} IS NULL OR {test}), true)" for test in own]
        return [f"count({column})", f"coalesce(max(strlen({column})), 0)", *every]

    # --- what is wrong ----------------------------------------------------------------------

    def _refuse(self, name: str, word: str) -> NoReturn:
        """Say which line holds a text that is not of a type, and what it looks like."""
        decimal = self.options.decimal
        fits = {
            "decimal": functools.partial(csv_text.is_number, decimal=decimal),
            "integer": csv_text.is_whole,
            "date": csv_text.is_day,
        }[word]
        noun = {"decimal": "number", "integer": "whole number", "date": "date"}[word]
        place = csv_text.find_text(self._files, self._layout, name, fits)
        problem, hint = f"Column {name!r} holds texts that are no {noun}s.", _HINTS[word]
        if place is not None:
            file, line, text = place
            problem = (
                f"Column {name!r} holds texts that are no {noun}s: the first, in line {line:,} "
                f"of {Path(file).name!r}, is of the shape {csv_text.shape_of(text)!r}."
            )
            if word == "decimal":
                hint = csv_text.cure(text, decimal=decimal) or hint
        raise DataError(problem, hint=hint)

    def _explain(self, text: str) -> None:
        """Raise what is wrong with the files, where DuckDB's text tells."""
        if "nvalid unicode" in text:
            line = re.search(r"[Ll]ine:?\s*(\d+)", text)
            where = f" (line {line.group(1)})" if line else ""
            raise csv_text.not_utf_8(Path(self._files[0]).name, "WINDOWS-1252", where) from None
        for file in self._files:
            if csv_text.is_of_two_line_ends(file):
                raise SourceError(
                    f"The lines of {Path(file).name!r} do not all end in the same way.",
                    hint="give all lines one end, for example by dos2unix; line breaks within "
                    "a field may stay where it is quoted",
                ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """What records say of a column: their number, whether all are missing, what holds."""

    records: int = 0
    is_empty: bool = True
    held: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Texts:
    """The texts of one column."""

    columns: CsvColumns
    ask: Ask
    name: str

    def are_numbers(self) -> bool:
        return self.columns.are_numbers(self.ask, self.name)

    def reading(self, *, is_exact: bool = False) -> NumberReading:
        return self.columns.reading(self.ask, self.name, is_exact=is_exact)
