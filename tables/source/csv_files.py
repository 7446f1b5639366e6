"""CSV files: every column is the texts of the file; numbers and dates are readings of them.

What is printed or compared as a category is the text of the file, whatever the other records
hold. So a column has a type of its own only where writing the values gives every text back:
whole numbers of 64 bits, and dates. All else stays a text, which is read as a number where it
is added up, weighs or is ordered (`tables.filtering.values.NumberReading`). All records settle
that, never a sample.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
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
    Ask = Callable[[str], Any]  # runs a statement; returns its first row
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
_SAMPLE = "ckm_sample"
_SAMPLE_ROWS, _SAMPLE_FIELDS = 2048, 1_000_000
_COLUMNS_A_PASS = 200
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
        self._with_values: set[str] = set()
        try:
            self._settle(connection)
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
            self._test(ask, self.relation, {name: ("NUMBER",)})
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
        front, back, is_power = ask(
            f"SELECT {whole}, {fraction}, {has_power} FROM {self.relation}"
        )
        is_short = front + back <= _MOST_DIGITS and not is_power
        kind = f"DECIMAL({max(front + back, 1)},{back})" if is_short else "DOUBLE"
        return self._exact.setdefault(name, kind)

    # --- what all records say ---------------------------------------------------------------

    def _settle(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Find the types of the columns; what a sample refutes is not asked of all records."""
        guesses = {name: held for name in self.names if (held := self._guesses(name))}
        if not guesses:
            return
        rows = max(1, min(_SAMPLE_ROWS, _SAMPLE_FIELDS // len(self.names)))
        listed = ", ".join(map(quote, guesses)) if len(guesses) < len(self.names) else "*"
        sample = connection.sql(
            f"SELECT {listed} FROM {self.relation} LIMIT {rows}"
        ).to_arrow_table()

        def ask(sql: str) -> Any:
            return connection.execute(sql).fetchall()[0]

        held: dict[str, tuple[str, ...]] = {}
        for some in _parts(guesses):
            connection.register(_SAMPLE, sample.select(list(some)))
            held |= self._test(ask, _SAMPLE, some)
            connection.unregister(_SAMPLE)
        if len(sample) == rows:  # there may be more
            self._lengths = {n: size for n, size in self._lengths.items() if size is None}
            # The first guess that a sample lets through mostly holds: one scan tells.
            is_open = {n: sample[n].null_count == rows for n in guesses}
            first = {n: tests if is_open[n] else tests[:1] for n, tests in held.items()}
            there = self._test_all(ask, first)
            rest = {n: held[n][1:] for n in held if not there[n] and not is_open[n]}
            held = there | self._test_all(ask, rest)
        for name, tests in held.items():
            self._take(name, tests)

    def _guesses(self, name: str) -> tuple[str, ...]:
        declared = self.options.types.get(name)
        if declared is None:
            return () if self.options.text else _GUESSES
        return _DECLARED[declared]

    def _take(self, name: str, held: tuple[str, ...]) -> None:
        """Give a column the type that all its texts let through."""
        declared = self.options.types.get(name)
        if declared is not None and not held:
            self._refuse(name, declared)
        if held and held[0] != "NUMBER" and (declared or name in self._with_values):
            self._kinds[name] = held[0]

    def _test_all(self, ask: Ask, guesses: Guesses) -> dict[str, tuple[str, ...]]:
        """Return the guesses that all records let through."""
        held: dict[str, tuple[str, ...]] = dict.fromkeys(guesses, ())
        for some in _parts({name: tests for name, tests in guesses.items() if tests}):
            held |= self._test(ask, self.relation, some)
        return held

    def _test(self, ask: Ask, relation: str, guesses: Guesses) -> dict[str, tuple[str, ...]]:
        """Return the guesses that the records of a relation let through."""
        sql = [f"count({quote(name)}), max(strlen({quote(name)}))" for name in guesses]
        sql += [self._test_sql(name, test) for name, tests in guesses.items() for test in tests]
        answers = list(ask(f"SELECT {', '.join(sql)} FROM {relation}"))
        sizes = {name: (answers.pop(0), answers.pop(0)) for name in guesses}
        self._with_values = {*self._with_values, *(n for n, (some, _) in sizes.items() if some)}
        held = {
            name: tuple(test for test in tests if answers.pop(0) is not False)
            for name, tests in guesses.items()
        }
        for name, tests in guesses.items():
            if "NUMBER" in tests:
                self._lengths[name] = (sizes[name][1] or 0) if "NUMBER" in held[name] else None
        return held

    def _test_sql(self, name: str, guess: str) -> str:
        """Return SQL that tells whether all texts of a column are of a type."""
        column = quote(name)
        if guess == "DATE":
            written = f"TRY_CAST({column} AS DATE)::VARCHAR = {column}"
            fits = f"(strlen({column}) = 10 AND {written}) IS TRUE"  # of the years 1 to 9999
            return f"bool_and({column} IS NULL OR {fits})"
        if guess == "NUMBER":
            number = NumberReading("DOUBLE", decimal=self.options.decimal, is_lenient=True)
            return f"bool_and({column} IS NULL OR ({number.sql(column)}) IS NOT NULL)"
        return f"bool_and(TRY_CAST({column} AS {guess})::VARCHAR IS NOT DISTINCT FROM {column})"

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


def _parts(guesses: Guesses) -> Iterator[Guesses]:
    """Yield some columns after the others: what is tested in one statement."""
    names = list(guesses)
    for start in range(0, len(names), _COLUMNS_A_PASS):
        yield {name: guesses[name] for name in names[start : start + _COLUMNS_A_PASS]}
