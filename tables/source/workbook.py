"""Sheets of Excel and OpenDocument: the records of one sheet, each column of one kind."""

from __future__ import annotations

import contextlib
import datetime as dt
import html
import logging
import mmap
import re
import warnings
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from footing.messages import Argument, Message, Name, said
from tables.errors import DataWarning, RequestError, SourceError, TablesError, unknown_name
from tables.refusals import Refusal, declaration
from tables.source.office import OLE, ColumnFacts, OfficeFile, damaged, require_package

#: What fastexcel calls kinds of cells → what people call them.
_KINDS = {
    "Int": "numbers",
    "Float": "numbers",
    "String": "texts",
    "DateTime": "dates",
    "Date": "dates",
    "Duration": "times",
    "Bool": "true or false",
}
_KIND_WORDS = {
    "numbers": Message("numbers"),
    "texts": Message("texts"),
    "dates": Message("dates"),
    "times": Message("times"),
    "true or false": Message("true or false"),
    "others": Message("others"),
}
_MIXED = re.compile(r"contains \{(.*?)\}.*determine dtype for column (.*?)\n?\Z", re.DOTALL)
_ERRORS = {
    "Div0": "#DIV/0!",
    "NA": "#N/A",
    "Name": "#NAME?",
    "Null": "#NULL!",
    "Num": "#NUM!",
    "Ref": "#REF!",
    "Value": "#VALUE!",
}
# A cell with a formula and without its result: programs write so that do not compute.
_FORMULA = re.compile(
    rb"<c\b([^>]*)>\s*<f\b(?:[^>]*/>|[^>]*>[^<]*</f>)\s*(?:<v\s*/>|<v>\s*</v>)?\s*</c>"
)
_LETTERS = re.compile(rb'\br="([A-Z]+)\d')
_NO_ZIP = (zipfile.BadZipFile, NotImplementedError, OSError, ValueError)
_MOST_MIXED, _SHOWN = 20, 12
_EXCEL_DIGITS = 1e15
_SAVE_AGAIN = Message("open the workbook in Excel or LibreOffice, and save it again")
_CHUNK, _OVERLAP = 1 << 22, 1 << 16
_FIRST_DAYS = [dt.datetime(1899, 12, day) for day in (30, 31)]  # noqa: DTZ001  (times of day)


def workbook_format(file: str, start: bytes) -> str | None:
    """Tell by its content of which format a workbook is; None where a file is none."""
    if start[:4] != b"PK\x03\x04":
        return "xls" if start.startswith(OLE) else None
    with contextlib.suppress(*_NO_ZIP), zipfile.ZipFile(file) as archive:
        names = set(archive.namelist())
        parts = {"xl/workbook.xml": "xlsx", "xl/workbook.bin": "xlsb", "content.xml": "ods"}
        return next((kind for part, kind in parts.items() if part in names), None)
    return None


def open_workbook(
    file: str, table: str | None, *, texts: frozenset[str] = frozenset()
) -> OfficeFile:
    """Read a sheet; its cells tell what each column holds."""
    name = Path(file).name
    try:
        with _quiet():
            return _Workbook(file, texts).sheet(table)
    except TablesError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        is_locked = "password" in str(error).lower()
        error.args = ()
        raise _locked(name) if is_locked else damaged(name) from None


class _Workbook:
    """A workbook of one or several sheets."""

    def __init__(self, file: str, texts: frozenset[str]) -> None:
        self._texts = texts
        self._refusals: dict[str, Refusal] = {}
        self.file, self.name = str(Path(file).absolute()), Path(file).name
        require_package("fastexcel", file)
        import fastexcel

        _require_open(self.file)
        self._reader = fastexcel.read_excel(self.file)

    def sheet(self, table: str | None) -> OfficeFile:
        """Return the records of the sheet that is named, or of the only one."""
        name, header = self._choose(table)
        self._require_texts(header)
        sheet, mixed = self._load(name, header)
        batch, failed = sheet.to_arrow_with_errors()
        letters = [c.absolute_index for c in sheet.available_columns()]
        errors: dict[int, set[str]] = {}
        is_record = np.zeros(batch.num_rows, dtype=bool)
        for one in failed.errors if failed else ():
            sign = re.search(r"Error\((\w+)\)", one.detail)
            row, place = one.offset_position
            is_record[row] = True
            errors.setdefault(place, set()).add(_ERRORS.get(sign[1] if sign else "", "errors"))
        uncomputed = self._without_results(name, sheet)
        columns = self._columns(header, batch, letters, holding={*errors, *uncomputed})
        for place, column in enumerate(header):
            self._refuse(
                column.strip(),
                kinds=mixed.get(place, ""),
                errors=errors.get(place, set()),
                is_uncomputed=place in uncomputed,
            )
        return self._records(columns, is_record)

    def _refuse(
        self,
        column: str,
        *,
        kinds: str = "",
        errors: Collection[str] = (),
        is_uncomputed: bool = False,
    ) -> None:
        """Note why a column is not read, if it is not."""
        name = self.name
        if kinds:
            self._refusals[column] = Refusal(
                problem=Message(
                    "Column {column!r} of {name!r} holds cells of several kinds: {kinds}.",
                    column=Name(column),
                    name=Name(name),
                    kinds=said(kinds),
                ),
                hint=Message(
                    "{declaration}, or give it cells of one kind",
                    declaration=said(declaration(column, "text")),
                ),
            )
        elif errors:
            examples = ", ".join(sorted(errors))
            self._refusals[column] = Refusal(
                problem=Message(
                    "Column {column!r} of {name!r} holds cells with errors: {words}.",
                    column=Name(column),
                    name=Name(name),
                    words=said(examples),
                ),
                hint=Message("mend their formulas, or empty the cells"),
            )
        elif is_uncomputed:
            self._refusals[column] = Refusal(
                problem=Message(
                    "Column {column!r} of {name!r} holds formulas without results.",
                    column=Name(column),
                    name=Name(name),
                ),
                hint=_SAVE_AGAIN,
            )

    def _choose(self, table: str | None) -> tuple[str, list[str]]:
        """Return the name of the sheet, and the texts of its first row."""
        names = list(self._reader.sheet_names)
        if table is not None and table not in names:
            problem, hint = unknown_name("Sheet", table, names)
            raise SourceError(problem, hint=hint)
        filled = {}
        for name in names if table is None else [table]:
            first = self._reader.load_sheet(name, header_row=None, n_rows=1, dtypes="string")
            if first.total_height:
                row = first.to_arrow_with_errors()[0]
                filled[name] = [column[0].as_py() or "" for column in row.columns]
        if not filled and table is None:
            raise SourceError(
                Message(
                    "The workbook {name!r} is empty: none of its sheets has a row.",
                    name=Argument(self.name),
                ),
                hint=Message("is it the file that was meant? charts hold no records"),
            )
        if not filled:
            raise SourceError(
                Message(
                    "The sheet {table!r} of {name!r} is empty.",
                    table=Name(table),
                    name=Name(self.name),
                )
            )
        if len(filled) > 1:
            sheets = ", ".join(map(repr, list(filled)[:_SHOWN]))
            raise SourceError(
                Message(
                    "The workbook {name!r} has {number} sheets that are not empty; name one.",
                    name=Name(self.name),
                    number=len(filled),
                ),
                hint=Message(
                    "table = one of {words}{value}",
                    words=said(sheets),
                    value=Message(", …") if len(filled) > _SHOWN else Message(),
                ),
            )
        return next(iter(filled.items()))

    def _load(self, name: str, header: Sequence[str]) -> tuple[Any, dict[int, str]]:
        """Load a sheet; columns of mixed cells are loaded as texts, and told with kinds."""
        places: dict[str, int] = {}

        def note(column: Any) -> bool:
            places[column.name] = column.index
            return True

        texts: dict[Any, Any] = {
            p: "string" for p, text in enumerate(header) if text.strip() in self._texts
        }
        mixed: dict[int, str] = {}
        while True:
            try:
                return self._reader.load_sheet(
                    name,
                    header_row=0,
                    schema_sample_rows=None,
                    dtype_coercion="strict",
                    dtypes=texts or None,
                    use_columns=note,
                ), mixed
            except Exception as error:
                match = _MIXED.search(str(error))
                if match is None or match[2] not in places:
                    raise
                if len(mixed) >= _MOST_MIXED:
                    error.args = ()
                    raise SourceError(
                        Message(
                            "More than {most_mixed} columns of {name!r} hold cells of "
                            "several kinds.",
                            most_mixed=_MOST_MIXED,
                            name=Name(self.name),
                        ),
                        hint=Message("give each column cells of one kind, or remove columns"),
                    ) from None
                error.args = ()
                kinds = {_KINDS.get(kind.strip(), "others") for kind in match[1].split(",")}
                place = places[match[2]]
                if kinds == {"numbers"}:
                    texts[place] = "float"
                elif kinds == {"dates"}:
                    texts[place] = "datetime"
                else:
                    texts[place], mixed[place] = "string", _beside(sorted(kinds))

    def _require_texts(self, header: Sequence[str]) -> None:
        """Refuse types of columns that are not there."""
        names = [name.strip() for name in header]
        for name in sorted(self._texts - {*names}):
            problem, hint = unknown_name("Column", name, names)
            raise RequestError(problem, hint=hint)

    def _columns(
        self,
        header: Sequence[str],
        batch: pa.RecordBatch,
        letters: Sequence[int],
        *,
        holding: Collection[int],
    ) -> dict[str, pa.Array]:
        """Return the columns by name; those without name and cells are left out."""
        columns: dict[str, pa.Array] = {}
        for place, column in enumerate(batch.columns):
            name = header[place].strip() if place < len(header) else ""
            if pa.types.is_string(column.type):
                column = pc.if_else(pc.equal(column, ""), None, column)  # noqa: PLW2901
            if not name:
                if column.null_count < len(column) or place in holding:
                    raise SourceError(
                        Message(
                            "Column {letters} of {name!r} has cells, and no name in the "
                            "first row.",
                            letters=said(_letters(letters[place])),
                            name=Name(self.name),
                        ),
                        hint=Message("the first row that is not empty names every column"),
                    )
                continue
            if name in columns:
                raise SourceError(
                    Message(
                        "The sheet of {name!r} has two columns called {name_2!r}.",
                        name=Name(self.name),
                        name_2=Name(name),
                    )
                )
            columns[name] = column
        if not columns:
            raise SourceError(
                Message(
                    "The first row of {name!r} must name every column.", name=Name(self.name)
                )
            )
        return columns

    def _without_results(self, name: str, sheet: Any) -> set[int]:
        """Return the columns of formulas that no program has computed."""
        part = _sheet_part(self.file, name)
        if part is None:
            return set()
        places = {c.absolute_index: c.index for c in sheet.available_columns()}
        return {places[place] for place in set(_uncomputed(self.file, part)) & places.keys()}

    def _records(
        self, columns: Mapping[str, pa.Array], is_record: NDArray[np.bool_]
    ) -> OfficeFile:
        """Give columns their kinds; rows without any value or error are no records."""
        facts: dict[str, ColumnFacts] = {}
        finished = {}
        for name, column in columns.items():
            is_record = is_record | column.is_valid().to_numpy(zero_copy_only=False)
            facts[name], finished[name] = self._typed(name, column)
        for name in self._refusals:
            del facts[name], finished[name]
        batch = pa.RecordBatch.from_pydict(finished)
        self._tell(facts, finished)
        batches = iter([batch.filter(pa.array(is_record))] if finished else [batch])
        return OfficeFile(facts=facts, batches=batches, refusals=self._refusals)

    def _typed(self, name: str, column: pa.Array) -> tuple[ColumnFacts, pa.Array]:
        kind = column.type
        if pa.types.is_timestamp(kind):
            return self._moments(name, column.cast(pa.timestamp("us")))
        if pa.types.is_boolean(kind):
            return ColumnFacts("boolean"), column
        if pa.types.is_floating(kind) or pa.types.is_integer(kind):
            return _seen(ColumnFacts("number"), column.cast(pa.float64()))
        if pa.types.is_duration(kind):
            parts = column.cast(pa.duration("ms")).cast(pa.int64()).cast(pa.float64())
            return _seen(ColumnFacts("time"), pc.divide(parts, 1000.0))
        return ColumnFacts("text"), column.cast(pa.string())

    def _moments(self, name: str, moments: pa.Array) -> tuple[ColumnFacts, pa.Array]:
        """Tell dates, dates with times, and times of no day, which stand before the first."""
        days = pc.floor_temporal(moments, unit="day")
        is_time = pc.is_in(days, value_set=pa.array(_FIRST_DAYS, pa.timestamp("us")))
        is_time = pc.if_else(pc.is_valid(days), is_time, None)
        if not pc.any(is_time).as_py():
            is_date = pc.all(pc.equal(days, moments)).as_py()
            kind = ("date", pa.date32()) if is_date else ("datetime", pa.timestamp("us"))
            return ColumnFacts(kind[0]), moments.cast(kind[1])
        if not pc.all(is_time).as_py():
            self._refuse(name, kinds=Message("dates beside times"))
            return ColumnFacts("datetime"), moments
        rest = pc.subtract(moments, days).cast(pa.int64())
        return _seen(ColumnFacts("time"), pc.divide(rest.cast(pa.float64()), 1e6))

    def _tell(self, facts: Mapping[str, ColumnFacts], columns: Mapping[str, pa.Array]) -> None:
        """Warn of what a spreadsheet may have changed before it was saved."""
        kinds = {"number", "date", "datetime"}
        no_texts = [n for n, f in facts.items() if f.kind in kinds]
        long = [
            n
            for n in no_texts
            if facts[n].kind == "number"
            and len(columns[n])
            and (pc.max(pc.abs(columns[n])).as_py() or 0) >= _EXCEL_DIGITS
        ]
        changed = [n for n in no_texts if n in long or _may_be_codes(columns[n])]
        if not changed:
            return
        examples = _listed(map(repr, long))
        more = (
            Message(
                " Of whole numbers it keeps 15 digits: look at {words}.", words=said(examples)
            )
            if long
            else Message()
        )
        warnings.warn(
            message=Message(
                "A spreadsheet turns codes such as 01 and 1E2 into 1 and 100, and SEP2 "
                "into a date, where their cells are not texts. Of {name!r} these columns "
                "are no texts: {listed}.{more}",
                name=Name(self.name),
                listed=said(_listed(map(repr, changed))),
                more=more,
            ),
            category=DataWarning,
            stacklevel=2,
        )


def _seen(facts: ColumnFacts, column: pa.Array) -> tuple[ColumnFacts, pa.Array]:
    facts.see(column.to_numpy(zero_copy_only=False).astype(np.float64))
    return facts, column


def _may_be_codes(column: pa.Array) -> bool:
    """Return whether values recur as codes do: those of identifiers and amounts hardly do."""
    n_values = len(column) - column.null_count
    return bool(0 < 2 * pc.count_distinct(column).as_py() <= n_values)


def _listed(words: Any) -> str:
    words = list(words)
    rest = len(words) - _SHOWN
    return ", ".join(words[:_SHOWN]) + (
        Message(" and {rest} more", rest=rest) if rest > 0 else Message()
    )


def _letters(place: int) -> str:
    """Return what a spreadsheet calls a column."""
    letters = ""
    place += 1
    while place:
        place, rest = divmod(place - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def _place(letters: bytes) -> int:
    place = 0
    for letter in letters:
        place = place * 26 + letter - ord("A") + 1
    return place - 1


def _require_open(file: str) -> None:
    """Refuse a workbook that a password locks."""
    name = Path(file).name
    with Path(file).open("rb") as handle:
        start = handle.read(8)
        if start == OLE:
            with mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as whole:
                if whole.find("EncryptedPackage".encode("utf-16-le")) >= 0:
                    raise _locked(name)
            return
    with contextlib.suppress(KeyError), zipfile.ZipFile(file) as archive:
        if b"encryption-data" in archive.read("META-INF/manifest.xml"):
            raise _locked(name)


def _sheet_part(file: str, sheet: str) -> str | None:
    """Return the part of an .xlsx that holds a sheet; None for other formats."""
    with contextlib.suppress(KeyError), zipfile.ZipFile(file) as archive:
        book = archive.read("xl/workbook.xml").decode()
        links = archive.read("xl/_rels/workbook.xml.rels").decode()
        for one in re.findall(r"<(?:\w+:)?sheet\b([^>]*)>", book):
            attributes = dict(re.findall(r'([\w:]+)="([^"]*)"', one))
            if html.unescape(attributes.get("name", "")) != sheet:
                continue
            sheet_id = next((v for k, v in attributes.items() if k.endswith(":id")), None)
            for link in re.findall(r"<Relationship\b([^>]*)>", links):
                fields = dict(re.findall(r'(\w+)="([^"]*)"', link))
                if fields.get("Id") == sheet_id:
                    target = fields.get("Target", "")
                    return target[1:] if target.startswith("/") else f"xl/{target}"
    return None


def _uncomputed(file: str, part: str) -> Iterator[int]:
    """Give the columns of formulas without results."""
    with zipfile.ZipFile(file) as archive, archive.open(part) as stream:
        rest = b""
        while chunk := stream.read(_CHUNK):
            text = rest + chunk
            for cell in _FORMULA.finditer(text):
                letters = _LETTERS.search(cell[1])
                if b't="str"' not in cell[1] and letters:
                    yield _place(letters[1])
            rest = text[-_OVERLAP:]


def _locked(name: str) -> SourceError:
    return SourceError(
        Message("The workbook {name!r} is protected by a password.", name=Name(name)),
        hint=Message("save it without one, in a folder that is private"),
    )


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Leave out what fastexcel logs: it speaks to programmers."""
    loggers = [logging.getLogger(name) for name in ("calamine", "fastexcel")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _beside(kinds: Sequence[str]) -> Message:
    """Name the kinds of cells of a column."""
    words = _KIND_WORDS[kinds[0]]
    for kind in kinds[1:]:
        words = Message("{kinds} beside {kind}", kinds=words, kind=_KIND_WORDS[kind])
    return words
