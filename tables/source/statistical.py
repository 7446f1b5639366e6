"""Files of SAS, SPSS and Stata: batches of records, and what the files say of their codes."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from footing.messages import Message, Name
from tables.errors import SourceError
from tables.source.labels import MissingCodes
from tables.source.office import ColumnFacts, OfficeFile, damaged, r_line, require_package

#: Cells that are read at once: about 60 bytes each.
_CELLS = 1_000_000
_DAY_S = 86_400
_MOST_EXACT = 2.0**53
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
    "datetime": r"DATETIME|[EIB]S?8601D[TZNX]|DATEAMPM|MDYAMPM|DT\w+|NLDATM\w*",
    "time": r"TIME|TIMEAMPM|HHMM|HOUR|MMSS|TOD|[EIB]S?8601[LT][MZ]|NLTIM\w*",
    "date": r"(WEEK|WORD)?DAT[EX]|(DDMMYY|MMDDYY|YYMMDD|YYMM|MMYY|YYQR?)[BCDNPSX]?|MONYY|"
    r"[EIB]S?8601DA|JULIAN|JULDAY|PDJUL[GI]|YEAR|QTRR?|MONTH|MONNAME|DAY|DOWNAME|WEEKDAY|"
    r"WEEK[UVW]|NLDATE\w*|EURDF\w*|MINGUO|NENGO|HDATE|HEBDATE",
}
_STATA = {"tc": "datetime", "tC": "datetime", "td": "date", "d": "date"}
_STATA |= {"tm": "month", "tq": "quarter", "th": "half-year", "tw": "week"}
_PERIODS = {"month": 12, "quarter": 4, "half-year": 2, "week": 52}
_PERIOD_SIGNS = {"month": "-{:02}", "quarter": "Q{}", "half-year": "H{}", "week": "W{:02}"}
_SCRIPT = str(Path(__file__).with_name("readstat_process.py"))
SAID = b"ckm"  # as the script has it, which must not be imported: it brings the library along
_CLOCK = re.compile("%-?t[cC](?=.*HH)[HhMSsAaPp:.]+")


def open_statistical(file: str, kind: str) -> OfficeFile:
    """Open a file of SAS, SPSS or Stata; its first records are read at once."""
    require_package("pyreadstat", file)
    reading = _Reading(file, kind)
    try:
        return reading.opened()
    except BaseException:
        reading.stop()
        raise


@dataclass
class _Variable:
    """A column as its file declares it."""

    name: str
    kind: str
    ranges: Sequence[Sequence[Any]] = ()


class _Reading:
    """One file, that a process of its own reads."""

    def __init__(self, file: str, kind: str) -> None:
        self.file, self.kind, self.name = file, kind, Path(file).name
        path = str(Path(file).absolute())
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the process)
        self._process = subprocess.Popen(  # noqa: S603  (our script, by our interpreter)
            [sys.executable, "-P", "-W", "ignore", _SCRIPT, kind, path, str(_CELLS)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )
        self._variables: list[_Variable] = []
        self._tags: dict[str, list[str]] = {}
        self._said_labels: dict[str, list[Any]] = {}

    def opened(self) -> OfficeFile:
        """Read what the file says of its columns."""
        try:
            stream = pa.ipc.open_stream(self._process.stdout)
        except (pa.ArrowException, OSError):
            raise self._problem() from None
        metadata = json.loads(stream.schema.metadata[SAID])
        self._said_labels = metadata["labels"]
        for name, declared, form in zip(
            metadata["names"], metadata["types"], metadata["formats"], strict=True
        ):
            kind = _kind(self.kind, declared, form or "")
            self._variables.append(_Variable(name, kind, metadata["ranges"].get(name, ())))
        facts = {
            v.name: ColumnFacts("text" if v.kind in _PERIODS else v.kind)
            for v in self._variables
        }
        return OfficeFile(
            facts=facts,
            batches=self._batches(stream, facts),
            labels=self._labels(),
            missing=self._missing,
        )

    def stop(self) -> None:
        """End the process, whatever it is at."""
        self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._errors.close()

    def _outcome(self) -> dict[str, Any]:
        """Wait for the end of the process; return what it tells, nothing if it died."""
        is_done = self._process.wait() == 0
        self._errors.seek(0)
        lines = self._errors.read().splitlines()
        return json.loads(lines[-1]) if is_done and lines else {}

    def _problem(self) -> SourceError:
        problem = self._outcome().get("problem")
        if problem == "names":
            return SourceError(
                Message(
                    "The file {name!r} has no columns, or two of one name.",
                    name=Name(self.name),
                ),
                hint=Message("rename them in the program that wrote it"),
            )
        if problem == "encoding":
            line = r_line(self.file, encoding="windows-1252")
            return SourceError(
                Message(
                    "Texts of {name!r} are not in the encoding that the file declares.",
                    name=Name(self.name),
                ),
                hint=Message("in R, with the true one: {line}", line=Name(str(line))),
            )
        return damaged(self.name)

    def _batches(
        self, stream: pa.RecordBatchReader, facts: Mapping[str, ColumnFacts]
    ) -> Iterator[pa.RecordBatch]:
        """Give the records; see what their columns hold meanwhile."""
        try:
            while True:
                try:
                    batch = stream.read_next_batch()
                except StopIteration:
                    break
                except (pa.ArrowException, OSError):
                    raise self._problem() from None
                columns = {
                    variable.name: self._column(variable, values, facts[variable.name])
                    for variable, values in zip(self._variables, batch.columns, strict=True)
                }
                yield pa.RecordBatch.from_pydict(columns)
            outcome = self._outcome()
            if "tags" not in outcome:
                raise self._problem()
            self._tags = outcome["tags"]
        finally:
            self.stop()

    def _column(self, variable: _Variable, values: pa.Array, facts: ColumnFacts) -> pa.Array:
        """Return the values of a column; a code that is declared as missing is missing."""
        if variable.kind == "text":
            missing = pa.array({"", *(low.rstrip() for low, _ in variable.ranges)})
            return pc.if_else(pc.is_in(values, value_set=missing), None, values)
        numbers = np.array(values.to_numpy(zero_copy_only=False))
        for low, high in variable.ranges:
            numbers[(numbers >= low) & (numbers <= high)] = np.nan
        if variable.kind in _PERIODS:
            return _periods(numbers, variable.kind)
        if variable.kind == "time" and self.kind == "dta":
            numbers /= 1000
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
                Message(
                    "Column {variable!r} of {name!r} has dates outside the years 1 to 9999.",
                    variable=Name(variable.name),
                    name=Name(self.name),
                ),
                hint=Message("give it a format of numbers in the program that wrote the file"),
            )
        if is_date:
            return pa.array(days.astype(np.int32), pa.int32(), mask=is_missing).cast(
                pa.date32()
            )
        rest = np.where(is_missing, 0, seconds) - days * _DAY_S
        whole = days.astype(np.int64) * (_DAY_S * 1_000_000)
        moments = whole + np.round(rest * 1e6).astype(np.int64)
        return pa.array(moments, pa.int64(), mask=is_missing).cast(pa.timestamp("us"))

    def _labels(self) -> dict[str, dict[Any, str]]:
        """Return what the file calls the codes of its columns, but for missing ones."""
        labels: dict[str, dict[Any, str]] = {}
        for variable in self._variables:
            if variable.kind not in {"text", "number", "single"}:
                continue
            is_text = variable.kind == "text"
            for code, label in self._said_labels.get(variable.name, ()):
                if isinstance(code, str) is not is_text or not label.strip():
                    continue  # a special code of missing values
                value = code.rstrip() if isinstance(code, str) else float(code)
                ends = [[e.rstrip() if is_text else e for e in one] for one in variable.ranges]
                if value != "" and not any(low <= value <= high for low, high in ends):
                    labels.setdefault(variable.name, {})[value] = label.strip()
        return labels

    def _missing(self) -> dict[str, MissingCodes]:
        """Return the codes of columns that stand for missing values, with their names."""
        codes = {}
        for variable in self._variables:
            tags = [f".{tag}" for tag in self._tags.get(variable.name, ())]
            ranges = [(_code(low), _code(high)) for low, high in variable.ranges]
            ranges += [(tag, tag) for tag in tags]
            if ranges:
                names = self._names(variable, tags)
                codes[variable.name] = MissingCodes(tuple(ranges), names)
        return codes

    def _names(self, variable: _Variable, tags: Sequence[str]) -> dict[str, str]:
        """Return what the file calls the missing codes of a column."""
        names = {}
        for code, label in self._said_labels.get(variable.name, ()):
            is_tag = isinstance(code, str) and variable.kind != "text"
            if is_tag:
                is_own = f".{code}" in tags
            else:
                is_own = any(low <= code <= high for low, high in variable.ranges)
            if is_own and label.strip():
                names[f".{code}" if is_tag else _code(code)] = label.strip()
        return names


def _code(value: Any) -> str:
    """Write a code as tables print it."""
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) <= _MOST_EXACT
    return str(int(value)) if is_whole else str(value).rstrip()


def _kind(file: str, declared: str, form: str) -> str:
    """Return what a column holds, by its type and the format that its file shows it in."""
    if declared == "string":
        return "text"
    name = form.rstrip("0123456789.")
    if file == "sav":
        family = _SPSS.get(name.upper())
    elif file == "dta":
        if _CLOCK.fullmatch(form):
            return "time"
        stem = re.match(r"%-?(t[cCdwmqhy]|d)", form)
        family = _STATA.get(stem[1]) if stem else None
    else:
        kinds = (kind for kind in _SAS if re.fullmatch(_SAS[kind], name.upper()))
        family = next(kinds, None)
    return family or ("single" if declared == "float" else "number")


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
