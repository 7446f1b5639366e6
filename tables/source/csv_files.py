"""CSV files: every column is the texts of the file; numbers and dates are readings of them.

A column has a type of its own only where writing the values gives every text back: whole
numbers of 64 bits, and dates. All else stays a text, which is read as a number where it is
added up, weighs or is ordered (`tables.source.texts`). All records settle that, never a
sample.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from footing.messages import Message, Name
from tables.errors import RequestError, SourceError, unknown_name
from tables.filtering.filters import quote
from tables.source import csv_text
from tables.source.files import file_list, free_name, sql_text
from tables.source.texts import ReadOptions, TextColumns

if TYPE_CHECKING:
    from tables.source.texts import Ask

_GUESSES = ("BIGINT", "UBIGINT", "DATE", "NUMBER")
_DECLARED = {
    "text": (),
    "integer": ("BIGINT", "UBIGINT", "HUGEINT"),
    "decimal": ("NUMBER",),
    "date": ("DATE",),
}
_SAMPLE_ROWS, _SAMPLE_FIELDS = 2048, 1_000_000


class CsvColumns(TextColumns):
    """The columns of CSV files, and what their texts can be read as.

    Parameters
    ----------
    connection
        Where the files are read.
    files, readable
        The files; all have the same columns, in any order. Their paths as DuckDB is told them.
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
        readable: Sequence[str],
        options: ReadOptions,
        has_paths: bool,
    ) -> None:
        self._layouts = {file: csv_text.read_layout(file) for file in files}
        for file, layout in self._layouts.items():
            _require_same_columns((files[0], self._layouts[files[0]]), (file, layout))
        self._layout = self._layouts[files[0]]
        super().__init__(self._layout.names, options=options)
        self._files, self._readable = tuple(files), tuple(readable)
        self.file_column = free_name("ckm_file", self.names) if has_paths else None
        for name in options.types:
            if name not in self.names:
                problem, hint = unknown_name("Column", name, self.names)
                raise RequestError(problem, hint=hint)
        try:
            self._settle(lambda sql: connection.execute(sql).fetchall())
        except duckdb.Error as error:
            refusal = self._problem(str(error))
            if refusal is None:
                raise
            error.args = ()  # the chain of exceptions must not carry the text either
            raise refusal from None

    @property
    def relation(self) -> str:
        """SQL of the records as texts."""
        if len(set(self._layouts.values())) == 1:
            return self._read(self.names, self.file_column)
        # Not a union of statements: its records would come in no order of their own. And not
        # by the names that DuckDB reads: it looks for them below the first line, too.
        places = [str(place) for place in range(len(self.names))]
        groups: dict[tuple[str, ...], list[str]] = {}
        for file, path in zip(self._files, self._readable, strict=True):
            groups.setdefault(self._layouts[file].names, []).append(sql_text(path))
        columns = []
        for name in self.names:
            cases = " ".join(
                f"WHEN file IN ({', '.join(files)}) THEN {quote(places[names.index(name)])}"
                for names, files in groups.items()
            )
            cases += " ELSE error('a file of another path')"
            columns.append(f"CASE {cases} END AS {quote(name)}")
        columns += [] if self.file_column is None else [f"file AS {quote(self.file_column)}"]
        return f"(SELECT {', '.join(columns)} FROM {self._read(places, 'file')})"

    def _read(self, names: Sequence[str], file_column: str | None) -> str:
        """Return SQL of the fields of the files under names, and of the files' paths."""
        columns = ", ".join(f"{sql_text(name)}: 'VARCHAR'" for name in names)
        missing = ", ".join(map(sql_text, ["", *self.options.missing]))
        options = [
            f"columns={{{columns}}}, delim={sql_text(self._layout.delimiter)}",
            f"quote='\"', escape='\"', nullstr=[{missing}], header=true",
            "auto_detect=false, ignore_errors=false",
            "strict_mode=true, hive_partitioning=false",
        ]
        if file_column is not None:
            options.append(f"filename={sql_text(file_column)}")
        return f"read_csv({file_list(self._readable)}, {', '.join(options)})"

    @property
    def sql(self) -> str:
        """SQL of the records, of columns of their types."""
        parts = [
            f"CAST({quote(name)} AS {kind}) AS {quote(name)}" if kind else quote(name)
            for name, kind in ((name, self._kinds.get(name)) for name in self.names)
        ]
        parts += [quote(self.file_column)] if self.file_column is not None else []
        return f"SELECT {', '.join(parts)} FROM {self.relation}"

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
                self._refuse(ask, name, declared)
            kinds = [test for test in answer.held if test != "NUMBER"]
            if kinds and (declared or not answer.is_empty):
                self._kinds[name] = kinds[0]

    def _guesses(self, name: str) -> tuple[str, ...]:
        declared = self.options.types.get(name)
        if declared is None:
            return () if self.options.text else _GUESSES
        return _DECLARED[declared]

    def _first_misfit(self, ask: Ask, name: str, word: str) -> tuple[str, str, int] | None:  # noqa: ARG002
        test = csv_text.test_of(word, decimal=self.options.decimal)
        missing = self.options.missing
        misfit = csv_text.find_text(self._layouts, name, lambda t: t in missing or test(t))
        return None if misfit is None else (misfit[2], Path(misfit[0]).name, misfit[1])

    def _problem(self, text: str) -> SourceError | None:
        """Return what is wrong with the files, where DuckDB's text tells."""
        if "nvalid unicode" in text:
            line = re.search(r"[Ll]ine:?\s*(\d+)", text)
            where = Message(" (line {group})", group=Name(line.group(1))) if line else Message()
            return csv_text.not_utf_8(Path(self._files[0]).name, "WINDOWS-1252", where)
        for file in self._files:
            if csv_text.is_of_two_line_ends(file):
                return SourceError(
                    Message(
                        "The lines of {path!r} do not all end in the same way.",
                        path=Name(Path(file).name),
                    ),
                    hint=Message(
                        "give all lines one end, for example by dos2unix; line breaks within a "
                        "field may stay where it is quoted"
                    ),
                )
        return None


def _require_same_columns(
    first: tuple[str, csv_text.Layout], other: tuple[str, csv_text.Layout]
) -> None:
    """Name the column that one of two files lacks, or their delimiters where these differ."""
    for whole, lacking in ((first, other), (other, first)):
        missing = [name for name in whole[1].names if name not in lacking[1].names]
        if missing:
            raise SourceError(
                Message(
                    "All files must have the same columns; {path!r} has no {names!r}, which "
                    "{path_path!r} has.",
                    path=Name(Path(lacking[0]).name),
                    names=Name(missing[0]),
                    path_path=Name(Path(whole[0]).name),
                ),
                hint=Message("write them again from one program, or name fewer files"),
            )
    if first[1].delimiter != other[1].delimiter:
        raise SourceError(
            Message(
                "All files must have the same delimiter; it is {delimiter!r} in {path!r}, "
                "and {other_delimiter!r} in {path_path!r}.",
                delimiter=Name(first[1].delimiter),
                path=Name(Path(first[0]).name),
                other_delimiter=Name(other[1].delimiter),
                path_path=Name(Path(other[0]).name),
            ),
            hint=Message("write them again from one program, or name fewer files"),
        )
