"""Read a file of SAS, SPSS or Stata in a process of its own, and write it as a stream of Arrow.

The library is written in C, and a damaged file can end its process. This is a script: it
imports nothing of ours. Standard output gets the records, texts and doubles, with what the file
says of its columns in the schema; the last line on standard error tells how it went.
"""

import io
import json
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa
import pyreadstat

#: Where it says of each column what it is.
SAID = b"ckm"
_READERS: dict[str, Any] = {
    "sav": pyreadstat.read_sav,
    "dta": pyreadstat.read_dta,
    "sas7bdat": pyreadstat.read_sas7bdat,
    "xpt": pyreadstat.read_xport,
}
_ENCODING = re.compile("convert|encoding|codec|utf", re.IGNORECASE)
# Each byte is one character: what the library would cut short, we can refuse.
_BYTES = "ISO-8859-1"
_OBSERVATIONS = re.compile(rb"HEADER RECORD\*{7}OBS(    |V8  ) HEADER RECORD")
_CARD = 80
_SEARCHED = 1 << 26

Part = tuple[dict[str, list[Any]], Any]


class DamagedError(Exception):
    """The file is damaged, or its names are no names."""


class _WithoutPandas:
    """Keep PyArrow from loading pandas: it takes longer than reading a million numbers."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == "pandas":
            raise ImportError(name)


class _Slice(io.RawIOBase):
    """The header of a file and some of its rows, as if they were a whole file."""

    def __init__(self, file: str, *, header: int, start: int, stop: int) -> None:
        self._file = open(file, "rb")  # noqa: PTH123, SIM115  (closed with it)
        self._header, self._start, self._size = header, start, header + stop - start
        self._at = 0

    def read(self, size: int = -1) -> bytes:
        """Read on, over the gap between header and rows."""
        size = self._size - self._at if size < 0 else min(size, self._size - self._at)
        parts = []
        while size > 0:
            in_header = self._at < self._header
            place = self._at if in_header else self._start + self._at - self._header
            wanted = min(size, self._header - self._at) if in_header else size
            self._file.seek(place)
            data = self._file.read(wanted)
            if not data:
                break
            parts.append(data)
            self._at += len(data)
            size -= len(data)
        return b"".join(parts)

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to a place."""
        self._at = offset + (0, self._at, self._size)[whence]
        return self._at

    def tell(self) -> int:
        """Return the place."""
        return self._at

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()


class Reading:
    """One file, read from its first record to its last, so many at once."""

    def __init__(self, file: str, kind: str) -> None:
        self.file, self.kind = file, kind
        has_codes = {} if kind == "xpt" else {"user_missing": True}
        self._read: Callable[..., Part] = partial(
            _READERS[kind], output_format="dict", disable_datetime_conversion=True, **has_codes
        )
        self.tags: dict[str, set[str]] = {}
        self._is_raw = False
        _, said = self._part(self.file, 0, 1)
        if (said.file_encoding or "").upper() in {"UTF-8", "UTF8"} or self._is_new_stata():
            self._is_raw = True
            self._read = partial(self._read, encoding=_BYTES)
            _, said = self._part(self.file, 0, 1)
        self.said = said

    def _is_new_stata(self) -> bool:
        with open(self.file, "rb") as file:  # noqa: PTH123
            release = re.search(rb"<release>(\d+)</release>", file.read(100))
        return release is not None and int(release[1]) >= 118

    def _part(self, file: object, offset: int, rows: int) -> Part:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            part = self._read(file, row_offset=offset, row_limit=rows)
        if any("duplicated" in str(warning.message) for warning in caught):
            raise DamagedError
        return part

    def text(self, value: str) -> str:
        """Return a text of the file; raise where its bytes are not of its encoding."""
        return value.encode(_BYTES).decode() if self._is_raw and not value.isascii() else value

    def metadata(self) -> dict[str, Any]:
        """Return what the file says of its columns."""
        said = self.said
        labels = {
            self.text(name): [
                [self.text(code) if isinstance(code, str) else code, self.text(label)]
                for code, label in codes.items()
            ]
            for name, codes in said.variable_value_labels.items()
        }
        ranges = {
            self.text(name): [
                [
                    self.text(end) if isinstance(end, str) else end
                    for end in (one["lo"], one["hi"])
                ]
                for one in found
            ]
            for name, found in said.missing_ranges.items()
        }
        names = [self.text(name) for name in said.column_names]
        return {
            "names": names,
            "types": [said.readstat_variable_types[name] for name in said.column_names],
            "formats": [said.original_variable_types[name] for name in said.column_names],
            "labels": labels,
            "ranges": ranges,
        }

    def batches(self, schema: pa.Schema, rows: int) -> Iterator[pa.RecordBatch]:
        """Give the records."""
        for values, said in self._parts(rows):
            columns = []
            for field, own in zip(schema, said.column_names, strict=True):
                given = values[own]
                if tags := said.missing_user_values.get(own):
                    self.tags.setdefault(field.name, set()).update(tags)
                    given = [None if isinstance(value, str) else value for value in given]
                elif field.type == pa.string() and self._is_raw:
                    given = [value and self.text(value) for value in given]
                columns.append(pa.array(given, field.type))
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def _parts(self, rows: int) -> Iterator[Part]:
        if self.kind == "xpt":
            yield from self._slices(rows)
            return
        offset, count = 0, rows
        while count == rows:
            values, said = self._part(self.file, offset, rows)
            yield values, said
            count = len(next(iter(values.values())))
            offset += count

    def _slices(self, rows: int) -> Iterator[Part]:
        """Read rows of a transport file: it has no way to them but by reading all before."""
        with open(self.file, "rb") as file:  # noqa: PTH123
            found = _OBSERVATIONS.search(file.read(_SEARCHED))
            size = file.seek(0, io.SEEK_END)
        width = sum(self.said.variable_storage_width.values())
        if found is None or size % _CARD or not width:
            raise DamagedError
        header = found.start() + _CARD
        step = rows * width
        for start in range(header, max(size, header + 1), step):
            stop = min(start + step, size)
            with _Slice(self.file, header=header, start=start, stop=stop) as part:
                values, said = self._part(part, 0, 0)
            if stop < size:  # rows of blanks at the end are taken for the end of the file
                for column in values.values():
                    column.extend([None] * (rows - len(column)))
            yield values, said


def _has_no_variables(file: str) -> bool:
    """Tell whether the header of a file of SPSS counts none."""
    with open(file, "rb") as opened:  # noqa: PTH123
        start = opened.read(72)
    return start.startswith(b"$FL") and start[68:] == bytes(4)


def main(kind: str, file: str, cells: int) -> dict[str, Any]:
    """Write a file's records to standard output; return how it went."""
    try:
        reading = Reading(file, kind)
        metadata = reading.metadata()
        names = metadata["names"]
        if not names or len(set(names)) < len(names):
            return {"problem": "names"}
        types = [pa.string() if t == "string" else pa.float64() for t in metadata["types"]]
        schema = pa.schema(
            list(zip(names, types, strict=True)), {SAID: json.dumps(metadata).encode()}
        )
        with pa.ipc.new_stream(sys.stdout.buffer, schema) as writer:
            for batch in reading.batches(schema, max(cells // len(names), 1)):
                writer.write_batch(batch)
    except Exception as error:  # noqa: BLE001  (its text may quote records: it goes nowhere)
        if kind == "sav" and _has_no_variables(file):  # which the library takes for damage
            return {"problem": "names"}
        is_encoding = isinstance(error, UnicodeError) or _ENCODING.search(str(error))
        return {"problem": "encoding" if is_encoding else "damaged"}
    return {"tags": {name: sorted(tags) for name, tags in reading.tags.items()}}


if __name__ == "__main__":
    sys.meta_path.insert(0, _WithoutPandas())
    outcome = main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    sys.stderr.write("\n" + json.dumps(outcome) + "\n")
