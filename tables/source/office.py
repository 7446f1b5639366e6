"""Files of SAS, SPSS, Stata, Excel and OpenDocument, read by way of private Parquet copies.

The extra ``[office]`` brings what reads them (ADR 37). Without it, and for what nobody reads
but R, one line that converts the file is the hint.
"""

from __future__ import annotations

import importlib.util
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from footing.messages import Message, Name, joined, said
from tables.errors import SourceError
from tables.refusals import Refusal
from tables.source.labels import MissingCodes, add_labels, add_missing, warn_of_missing
from tables.source.texts import ReadOptions

#: Formats of records, and of workbooks.
STATISTICAL = frozenset({"sav", "dta", "sas7bdat", "xpt"})
WORKBOOKS = frozenset({"xlsx", "xls", "xlsb", "ods"})
OFFICE = STATISTICAL | WORKBOOKS
#: The end of a file's name → how R reads it.
_IN_R = {
    **dict.fromkeys(("sav", "zsav"), "haven::read_sav"),
    "por": "haven::read_por",
    "dta": "haven::read_dta",
    "sas7bdat": "haven::read_sas",
    **dict.fromkeys(("xpt", "xport"), "haven::read_xpt"),
    **dict.fromkeys(("xlsx", "xlsm", "xls"), "readxl::read_excel"),
    "ods": "readODS::read_ods",
    "rds": "readRDS",
}
_SHEETS = frozenset({".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"})
_SAS = bytes(12) + bytes.fromhex("c2ea8160b31411cfbd92080009c7318c181f1011")
_OLD_STATA = tuple(
    bytes([release]) for release in (104, 105, 108, 110, 111, 112, 113, 114, 115)
)
#: How files of the older formats of Office begin; newer ones with a password do so too.
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_MOST_EXACT = 2.0**53
_DAY_US = 86_400_000_000


@dataclass
class ColumnFacts:
    """What the values of a column have been so far.

    Parameters
    ----------
    kind
        Text, number, single (of 32 bits), date, datetime, time or boolean.
    """

    kind: str
    has_values: bool = False
    is_whole: bool = True
    is_of_day: bool = True

    def see(self, numbers: NDArray[np.float64]) -> None:
        """Look at further values; NaN is missing."""
        numbers = numbers[~np.isnan(numbers)]
        if not numbers.size:
            return
        self.has_values = True
        if self.is_whole:
            is_whole = (numbers == np.floor(numbers)) & (np.abs(numbers) <= _MOST_EXACT)
            self.is_whole = bool(is_whole.all())
        if self.kind == "time" and self.is_of_day:
            moments = np.round(numbers * 1e6)
            self.is_of_day = bool(((moments >= 0) & (moments < _DAY_US)).all())

    def merge(self, other: ColumnFacts) -> ColumnFacts:
        """Return what the columns of two files have been."""
        kind = self.kind
        if {self.kind, other.kind} == {"single", "number"}:
            kind = "number"
        return ColumnFacts(
            kind,
            has_values=self.has_values or other.has_values,
            is_whole=self.is_whole and other.is_whole,
            is_of_day=self.is_of_day and other.is_of_day,
        )

    def finish(self, column: pa.Array) -> pa.Array:
        """Give a column its type: whole numbers are integers, times of the day are times."""
        if self.kind == "time" and self.is_of_day:
            moments = np.round(column.to_numpy(zero_copy_only=False) * 1e6)
            is_missing = np.isnan(moments)
            moments = np.where(is_missing, 0, moments).astype(np.int64)
            return pa.array(moments, pa.int64(), mask=is_missing).cast(pa.time64("us"))
        if self.kind not in {"number", "single", "time"}:
            return column
        if self.is_whole and self.has_values:
            return column.cast(pa.int64())
        return column.cast(pa.float32()) if self.kind == "single" else column


@dataclass
class OfficeFile:
    """One file that is being read.

    Parameters
    ----------
    facts
        Column → what its values have been so far.
    batches
        The records: texts, dates, and numbers as doubles.
    labels
        Column → code → what the file calls it.
    missing
        Tells, once all is read, the codes of columns that stand for missing values.
    refusals
        Column → why it is not read; such columns are not among the others.
    """

    facts: dict[str, ColumnFacts]
    batches: Iterator[pa.RecordBatch]
    labels: dict[str, dict[Any, str]] = field(default_factory=dict)
    missing: Callable[[], Mapping[str, MissingCodes]] = dict
    refusals: dict[str, Refusal] = field(default_factory=dict)


@dataclass(frozen=True)
class OfficeCopies:
    """Parquet copies of office files.

    Parameters
    ----------
    files
        The copies, in the order of the files.
    labels
        Column → category, as tables print it → what the files call it.
    missing
        Column → the codes that were read as missing values.
    refusals
        Column → why it is not read; such columns are not in the copies.
    """

    files: tuple[str, ...]
    labels: dict[str, dict[str, str]]
    missing: dict[str, MissingCodes]
    refusals: dict[str, Refusal]


def convert(
    files: Sequence[str],
    kind: str,
    folder: Path,
    *,
    table: str | None = None,
    options: ReadOptions | None = None,
) -> OfficeCopies:
    """Copy office files of one kind to Parquet, below folders of the same names.

    Parameters
    ----------
    files, kind
        The files, and their format.
    folder
        Where the copies go; their owner alone may read it.
    table
        The sheet of a workbook.
    options
        What is declared of the columns of a workbook: some are texts, whatever their cells.
    """
    from tables.source.frames import require_names

    facts: dict[str, ColumnFacts] = {}
    labels: dict[str, dict[Any, str]] = {}
    missing: dict[str, MissingCodes] = {}
    refusals: dict[str, Refusal] = {}
    copies, drafts = [], []
    for number, file in enumerate(files):
        office_file = _open(file, kind, table, options)
        require_names([*office_file.facts, *office_file.refusals])
        refusals = office_file.refusals | refusals
        draft = folder / f"office-{number}.arrow"
        _write_draft(office_file.batches, draft)
        for name, column_facts in office_file.facts.items():
            facts[name] = facts[name].merge(column_facts) if name in facts else column_facts
        add_labels(labels, office_file.labels)
        add_missing(missing, office_file.missing())
        path = Path(file).absolute()
        copies.append(folder / "office" / path.relative_to(path.anchor))
        drafts.append(draft)
    if not facts.keys() - refusals.keys():
        first = next(iter(refusals.values()))
        raise SourceError(first.problem, hint=first.hint)
    for draft, copy in zip(drafts, copies, strict=True):
        copy.parent.mkdir(parents=True, exist_ok=True)
        _write_copy(draft, copy, {n: f for n, f in facts.items() if n not in refusals})
        draft.unlink()
    label = Path(files[0]).name if len(files) == 1 else f"{len(files)} files"
    warn_of_missing(missing, label)
    return OfficeCopies(tuple(map(str, copies)), _as_texts(labels, facts), missing, refusals)


def _open(file: str, kind: str, table: str | None, options: ReadOptions | None) -> OfficeFile:
    declared = {} if options is None else dict(options.types)
    if options is not None and (
        kind in STATISTICAL or options.missing or {*declared.values()} - {"text"}
    ):
        options.require_csv(Path(file).name)
    if kind in STATISTICAL:
        from tables.source.statistical import open_statistical

        if table is not None:
            raise SourceError(
                Message(
                    "table names a sheet of a workbook; {path!r} is none.",
                    path=Name(Path(file).name),
                ),
                hint=Message("leave table out"),
            )
        return open_statistical(file, kind)
    from tables.source.workbook import open_workbook

    return open_workbook(file, table, texts=frozenset(declared))


def _write_draft(batches: Iterator[pa.RecordBatch], draft: Path) -> None:
    """Write batches as they come: what types their columns have, the last one may tell."""
    first = next(batches)
    with pa.OSFile(str(draft), "wb") as file, pa.ipc.new_stream(file, first.schema) as writer:
        for batch in itertools.chain([first], batches):
            writer.write_batch(batch)


def _write_copy(draft: Path, copy: Path, facts: Mapping[str, ColumnFacts]) -> None:
    """Write a draft as Parquet, with the types of its columns; those without are left out."""
    writer = None
    with pa.OSFile(str(draft)) as file, pa.ipc.open_stream(file) as batches:
        names = [name for name in batches.schema.names if name in facts]
        for batch in batches:
            columns = [facts[name].finish(batch.column(name)) for name in names]
            finished = pa.Table.from_arrays(columns, names)
            if writer is None:
                writer = pq.ParquetWriter(copy, finished.schema, compression="lz4")
            writer.write_table(finished)
    if writer is not None:
        writer.close()


def _as_texts(
    labels: Mapping[str, Mapping[Any, str]], facts: Mapping[str, ColumnFacts]
) -> dict[str, dict[str, str]]:
    """Return labels by categories as tables print them."""
    texts = {}
    for name, codes in labels.items():
        is_whole = facts[name].is_whole
        texts[name] = {
            str(int(code)) if isinstance(code, float) and is_whole else str(code): text
            for code, text in codes.items()
            if isinstance(code, str) or not is_whole or code.is_integer()
        }
    return {name: mapping for name, mapping in texts.items() if mapping}


def office_format(file: str, start: bytes) -> str | None:
    """Tell the format of an office file by its first bytes, and for old Stata by its name."""
    ending = Path(file).suffix.lower()
    if start[:4] in (b"$FL2", b"$FL3"):
        return "sav"
    is_old_stata = ending == ".dta" and start[:1] in _OLD_STATA and start[1:2] in (b"\1", b"\2")
    if start[:11] == b"<stata_dta>" or is_old_stata:
        return "dta"
    if start[: len(_SAS)] == _SAS:
        return "sas7bdat"
    if re.match(rb"HEADER RECORD\*{7}LIB(RARY|V8)", start):
        return "xpt"
    if start[:4] == b"PK\3\4" or start[: len(OLE)] == OLE:
        from tables.source.workbook import workbook_format

        return workbook_format(file, start)
    return None


def require_no_r(file: str) -> None:
    """Refuse files that R alone reads, by their names, with the line that converts them."""
    path = Path(file)
    if path.suffix.lower() in {".rds", ".rdata", ".rda", ".por"}:
        raise SourceError(
            Message(
                "The file {path!r} is of a format of R or SPSS that is not read.",
                path=Name(path.name),
            ),
            hint=Message("in R: {line}", line=Name(str(r_line(file)))),
        )


def no_format(file: str, start: bytes) -> SourceError:
    """Return the error for a file that is of no format, with the way out."""
    name, ending = Path(file).name, Path(file).suffix.lower()
    if ending in _SHEETS and start[:2] not in (b"PK", OLE[:2]):
        what = (
            Message("a page of HTML or XML")
            if start.lstrip(b"\xef\xbb\xbf \r\n\t")[:1] == b"<"
            else Message("a text")
        )
        return SourceError(
            Message(
                "The file {name!r} is called a workbook, but is {what}: some programs "
                "export so.",
                name=Name(name),
                what=what,
            ),
            hint=Message(
                "open it in Excel and save it as .xlsx; a text of comma-separated values "
                "is read where its name ends in .csv"
            ),
        )
    if ending.removeprefix(".") in {*STATISTICAL, *WORKBOOKS, "zsav", "xlsm"}:
        return damaged(name)
    return SourceError(
        Message(
            "The file {name!r} is neither Parquet, Arrow, CSV, nor one of SAS, SPSS, "
            "Stata or Excel.",
            name=Name(name),
        ),
        hint=Message("CSV files end in .csv, .tsv or .txt (also .gz)"),
    )


def damaged(name: str) -> SourceError:
    """Return the error for a file that cannot be read as what it is."""
    return SourceError(
        Message(
            "The file {name!r} is damaged, incomplete or not of its format.", name=Name(name)
        ),
        hint=Message("open it in the program that wrote it, and save it again"),
    )


def require_package(name: str, file: str) -> None:
    """Raise, with two ways out, where what reads a file is not installed."""
    try:
        is_there = importlib.util.find_spec(name) is not None
    except ValueError:  # it was made unavailable
        is_there = False
    if not is_there:
        hint = Message("pip install 'ckm-engine[office]'")
        if line := r_line(file):
            hint = joined("; ", [hint, Message("or in R: {line}", line=Name(line))])
        raise SourceError(
            Message("Reading {path!r} needs the extra [office].", path=Name(Path(file).name)),
            hint=hint,
        )


def r_line(file: str, *, encoding: str = "") -> str | None:
    """Return the line of R that makes a file one of Parquet; None where R reads none such."""
    path = Path(file)
    kind = path.suffix.lower().removeprefix(".")
    name, target = (_r_text(text) for text in (path.name, f"{path.stem}.parquet"))
    if kind in {"rdata", "rda"}:
        return f"arrow::write_parquet(get(load({name})), {target})"
    if kind not in _IN_R:
        return None
    more = (
        Message(", encoding = {r_text}", r_text=said(_r_text(encoding)))
        if encoding
        else Message()
    )
    return f"arrow::write_parquet({_IN_R[kind]}({name}{more}), {target})"


def _r_text(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
