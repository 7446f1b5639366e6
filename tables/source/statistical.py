"""Files of SAS, SPSS and Stata: batches of records, and what the files say of their codes."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tables.errors import SourceError
from tables.source.office import ColumnFacts, OfficeFile, require_package

#: Cells that are read at once: about 60 bytes each.
_CELLS = 2_000_000
_DAY_S = 86_400
# Days from the first day of each program to that of Unix.
_SPSS_DAYS, _SAS_DAYS = 141_428, 3_653
_EARLIEST, _LATEST = -719_162, 2_932_896  # days of the years 1 to 9999
_SPSS = {
    **dict.fromkeys(
        ("DATE", "ADATE", "EDATE", "JDATE", "SDATE", "MOYR", "QYR", "WKYR"), "date"
    ),
    **dict.fromkeys(("DATETIME", "YMDHMS"), "datetime"),
    **dict.fromkeys(("TIME", "DTIME", "MTIME"), "time"),
}
_SAS = {
    r"DATETIME|E8601D[TZNX]|IS8601D[TZ]|B8601D[TZNX]|DATEAMPM|MDYAMPM|DT\w+|NLDATM\w*": "datetime",
    r"TIME|TIMEAMPM|HHMM|HOUR|MMSS|TOD|E8601[LT][MZ]|IS8601[LT][MZ]|B8601[LT][MZ]|NLTIM\w*": "time",
    r"(WEEK|WORD)?DAT[EX]|WORDDATX|WEEKDATX|(DDMMYY|MMDDYY|YYMMDD|YYMM|MMYY|YYQR?)[BCDNPSX]?|"
    r"MONYY|[EI]S?8601DA|B8601DA|JULIAN|JULDAY|PDJULG|PDJULI|YEAR|QTRR?|MONTH|MONNAME|DAY|DOWNAME|"
    r"WEEKDAY|WEEK[UVW]|NLDATE\w*|EURDF\w*|MINGUO|NENGO|HDATE|HEBDATE": "date",
}
_STATA = {"tc": "datetime", "tC": "datetime", "td": "date", "d": "date"}
_STATA |= {"tm": "month", "tq": "quarter", "th": "half-year", "tw": "week"}
_PERIODS = {"month": 12, "quarter": 4, "half-year": 2, "week": 52}
_PERIOD_SIGNS = {"month": "-{:02}", "quarter": "Q{}", "half-year": "H{}", "week": "W{:02}"}
_ENCODING = re.compile("convert|encoding|codec|utf", re.IGNORECASE)


def open_statistical(file: str, kind: str) -> OfficeFile:
    """Open a file of SAS, SPSS or Stata; its first records are read at once."""
    return _Reading(file, kind).opened()


@dataclass
class _Variable:
    """A column as its file declares it."""

    name: str
    kind: str
    ranges: Sequence[Mapping[str, Any]] = ()
    tags: set[str] = field(default_factory=set)


class _Reading:
    """One file, read from its first record to its last, so many at once."""

    def __init__(self, file: str, kind: str) -> None:
        self.file, self.kind, self.name = file, kind, Path(file).name
        library = require_package("pyreadstat", file)
        names = {"sas7bdat": "read_sas7bdat", "xpt": "read_xport", "dta": "read_dta"}
        read = getattr(library, names.get(kind, "read_sav"))
        has_codes = {} if kind == "xpt" else {"user_missing": True}
        self._read: Callable[..., tuple[dict[str, list[Any]], Any]] = partial(
            read, output_format="dict", disable_datetime_conversion=True, **has_codes
        )
        self._variables: list[_Variable] = []

    def opened(self) -> OfficeFile:
        """Read what the file says of its columns."""
        _, said = self._part(0, 1)
        if not said.column_names:
            raise SourceError(f"The file {self.name!r} has no columns.")
        for name in said.column_names:
            declared = said.readstat_variable_types[name]
            kind = _kind(self.kind, declared, said.original_variable_types[name] or "")
            ranges = said.missing_ranges.get(name, ())
            self._variables.append(_Variable(name, kind, ranges))
        facts = {
            v.name: ColumnFacts("text" if v.kind in _PERIODS else v.kind)
            for v in self._variables
        }
        return OfficeFile(
            facts=facts,
            batches=self._batches(facts),
            labels=self._labels(said.variable_value_labels),
            missing=self._missing,
        )

    def _part(self, offset: int, rows: int) -> tuple[dict[str, list[Any]], Any]:
        """Read some records; whatever the library says may quote them, so it is not told."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                part = self._read(self.file, row_offset=offset, row_limit=rows)
            except Exception as error:  # noqa: BLE001  (told in our words, without its own)
                problem = self._problem(error)
                error.args = ()
                raise problem from None
        if any("duplicated" in str(warning.message) for warning in caught):
            raise SourceError(f"The file {self.name!r} has two columns of one name.")
        return part

    def _problem(self, error: Exception) -> SourceError:
        if isinstance(error, UnicodeError) or _ENCODING.search(str(error)):
            reader = {"sas7bdat": "read_sas", "xpt": "read_xpt", "dta": "read_dta"}
            read = f'haven::{reader.get(self.kind, "read_sav")}("{self.name}"'
            return SourceError(
                f"Texts of {self.name!r} are not in the encoding that the file declares.",
                hint=f'in R: arrow::write_parquet({read}, encoding = "windows-1252"), '
                '"records.parquet")',
            )
        return SourceError(
            f"The file {self.name!r} is damaged, incomplete or not of its format.",
            hint="open it in the program that wrote it, and save it again",
        )

    def _batches(self, facts: Mapping[str, ColumnFacts]) -> Iterator[pa.RecordBatch]:
        """Give the records; see what their columns hold meanwhile."""
        rows = max(_CELLS // len(self._variables), 1)
        offset, count = 0, rows
        while count == rows:
            values, said = self._part(offset, rows)
            columns = {}
            for variable in self._variables:
                given = values[variable.name]
                if tags := said.missing_user_values.get(variable.name):
                    variable.tags.update(tags)
                    given = [None if isinstance(value, str) else value for value in given]
                columns[variable.name] = self._column(variable, given, facts[variable.name])
            yield pa.RecordBatch.from_pydict(columns)
            count = len(values[self._variables[0].name])
            offset += count

    def _column(self, variable: _Variable, given: list[Any], facts: ColumnFacts) -> pa.Array:
        """Return the values of a column; a code that is declared as missing is missing."""
        if variable.kind == "text":
            missing = pa.array({"", *(str(one["lo"]).rstrip() for one in variable.ranges)})
            texts = pa.array(given, pa.string())
            return pc.if_else(pc.is_in(texts, value_set=missing), None, texts)
        numbers = pa.array(given, pa.float64()).to_numpy(zero_copy_only=False)
        if variable.ranges:
            numbers = numbers.copy()
        for one in variable.ranges:
            numbers[(numbers >= one["lo"]) & (numbers <= one["hi"])] = np.nan
        if variable.kind in _PERIODS:
            return _periods(numbers, variable.kind)
        if variable.kind in {"number", "single", "time"}:
            facts.see(numbers)
            return pa.array(numbers, pa.float64(), mask=np.isnan(numbers))
        return self._days(variable, numbers)

    def _days(self, variable: _Variable, numbers: NDArray[np.float64]) -> pa.Array:
        """Return dates, or dates with times."""
        is_date = variable.kind == "date"
        if self.kind == "sav":
            seconds = np.round(numbers - _SPSS_DAYS * _DAY_S, 3)
        elif is_date:
            seconds = (numbers - _SAS_DAYS) * _DAY_S
        else:
            seconds = numbers / (1000 if self.kind == "dta" else 1) - _SAS_DAYS * _DAY_S
        is_missing = np.isnan(seconds)
        days = np.floor(np.where(is_missing, 0, seconds) / _DAY_S)
        if not ((days >= _EARLIEST) & (days <= _LATEST)).all():
            raise SourceError(
                f"Column {variable.name!r} of {self.name!r} has dates outside the years 1 to "
                "9999.",
                hint="give it a format of numbers in the program that wrote the file",
            )
        if is_date:
            return pa.array(days.astype(np.int32), pa.int32(), mask=is_missing).cast(
                pa.date32()
            )
        rest = np.where(is_missing, 0, seconds) - days * _DAY_S
        whole = days.astype(np.int64) * (_DAY_S * 1_000_000)
        moments = whole + np.round(rest * 1e6).astype(np.int64)
        return pa.array(moments, pa.int64(), mask=is_missing).cast(pa.timestamp("us"))

    def _labels(self, said: Mapping[str, Mapping[Any, str]]) -> dict[str, dict[Any, str]]:
        """Return what the file calls the codes of its columns, but for missing ones."""
        found: dict[str, dict[Any, str]] = {}
        for variable in self._variables:
            if variable.kind not in {"text", "number", "single"}:
                continue
            is_text = variable.kind == "text"
            for code, label in said.get(variable.name, {}).items():
                if isinstance(code, str) is not is_text or not label.strip():
                    continue  # a special code of missing values
                value = code.rstrip() if isinstance(code, str) else float(code)
                lows = [one["lo"].rstrip() if is_text else one["lo"] for one in variable.ranges]
                highs = [
                    one["hi"].rstrip() if is_text else one["hi"] for one in variable.ranges
                ]
                if value == "" or any(
                    low <= value <= high for low, high in zip(lows, highs, strict=True)
                ):
                    continue
                found.setdefault(variable.name, {})[value] = label.strip()
        return found

    def _missing(self) -> dict[str, str]:
        """Return columns of which codes stand for missing values, and how many."""
        return {
            v.name: _count_codes(v.ranges, v.tags)
            for v in self._variables
            if v.ranges or v.tags
        }


def _kind(file: str, declared: str, form: str) -> str:
    """Return what a column holds, by its type and the format that its file shows it in."""
    if declared == "string":
        return "text"
    name = form.rstrip("0123456789.")
    if file == "sav":
        found = _SPSS.get(name.upper())
    elif file == "dta":
        stem = re.match(r"%-?(t[cCdwmqhy]|d)", form)
        found = _STATA.get(stem[1]) if stem else None
    else:
        kinds = (_SAS[p] for p in _SAS if re.fullmatch(p, name.upper()))
        found = next(kinds, None)
    return found or ("single" if declared == "float" else "number")


def _periods(numbers: NDArray[np.float64], kind: str) -> pa.Array:
    """Write Stata's periods since 1960 as texts: 2020-01, 2020Q1, 2020H1, 2020W01."""
    parts, sign = _PERIODS[kind], _PERIOD_SIGNS[kind]
    values, places = np.unique(numbers, return_inverse=True)
    texts = [
        None
        if math.isnan(v)
        else f"{1960 + int(v // parts):04}" + sign.format(int(v % parts) + 1)
        for v in values.tolist()
    ]
    return pa.array(np.array(texts, dtype=object)[places].tolist(), pa.string())


def _count_codes(ranges: Sequence[Mapping[str, Any]], tags: set[str]) -> str:
    codes = sum(one["lo"] == one["hi"] for one in ranges) + len(tags)
    wide = len(ranges) + len(tags) - codes
    words = [f"{codes} code{'s' if codes > 1 else ''}"] if codes else []
    words += ["a range of codes" if wide == 1 else f"{wide} ranges of codes"] if wide else []
    return " and ".join(words)
