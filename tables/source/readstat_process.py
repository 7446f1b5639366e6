"""Read a file of SAS, SPSS or Stata in a process of its own, and write it as a stream of Arrow.

The library is written in C, and a damaged file can end its process. This is a script: it
imports nothing of ours. Standard output gets the records, texts and doubles, with what the file
says of its columns in the schema; the last line on standard error tells how it went.
"""

import io
import json
import re
import struct
import sys
import warnings
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, BinaryIO

import numpy as np
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
# The header of SPSS: what stands where, and the numbers that its records begin with.
_SPSS_HEADER, _LAYOUT, _COMPRESSION, _RECORDS, _BIAS = 176, 64, 72, 80, 84
_VARIABLE, _LABELS, _EXTENSION, _END = 2, 3, 7, 999
_LISTS = {4: 4, 6: 80}  # of labelled columns and of lines of text: bytes of an entry
_FLOATS = 4  # the extension that tells the number which stands for a missing one
# Codes of compressed numbers: end, a word as it is, blanks, missing; others are small numbers.
_CODE_END, _CODE_WORD, _CODE_BLANKS, _CODE_MISSING = 252, 253, 254, 255
_WORD = 8  # bytes; so many codes stand in a row
_PIECE = 1 << 18

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
            length = min(size, self._header - self._at) if in_header else size
            self._file.seek(place)
            data = self._file.read(length)
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


class _SpssRecords:
    """The records of a compressed file of SPSS, made plain from the first to the last.

    The library has no way into the middle of such a file: for each part it would make plain
    all that comes before. A part that stands behind the header as a whole file needs no more.
    """

    def __init__(self, file: str) -> None:
        with open(file, "rb") as handle:  # noqa: PTH123
            start = handle.read(_SPSS_HEADER)
            layout = start[_LAYOUT : _LAYOUT + 4]
            self._order = "<" if int.from_bytes(layout, "little") in {2, 3} else ">"
            self.compression = self._integer(start, _COMPRESSION)
            self._total = self._integer(start, _RECORDS)
            (self._bias,) = struct.unpack_from(self._order + "d", start, _BIAS)
            self._missing = struct.pack(self._order + "d", -sys.float_info.max)
            self._words = 0
            self._skip_dictionary(handle)
            self._start = handle.tell()
            handle.seek(0)
            self._header = handle.read(self._start)
        self._file = file

    def parts(self, rows: int) -> Iterator[io.BytesIO]:
        """Give so many records at once, as files that are not compressed."""
        size, remainder = self._words * _WORD, self._total
        plain = bytearray()
        for words in self._plain():
            plain += words
            while len(plain) >= rows * size and remainder:
                count = rows if remainder < 0 else min(rows, remainder)
                yield self._as_file(plain[: count * size], count)
                del plain[: count * size]
                remainder -= count if remainder > 0 else 0
            if not remainder:
                break
        count, rest = divmod(len(plain), size)
        if remainder >= 0:
            count, rest = min(count, remainder), 0
        if rest or count < remainder:
            raise DamagedError
        yield self._as_file(plain[: count * size], count)

    def _as_file(self, records: bytes | bytearray, count: int) -> io.BytesIO:
        header = bytearray(self._header)
        header[:4] = b"$FL2"
        for place, number in ((_COMPRESSION, 0), (_RECORDS, count)):
            struct.pack_into(self._order + "i", header, place, number)
        return io.BytesIO(bytes(header) + records)

    def _plain(self) -> Iterator[bytes]:
        """Make records plain: behind each row of eight codes stand the words it names."""
        table = np.zeros((256, _WORD), np.uint8)
        for code in range(1, _CODE_END):
            number = struct.pack(self._order + "d", code - self._bias)
            table[code] = np.frombuffer(number, np.uint8)
        table[_CODE_BLANKS] = ord(" ")
        table[_CODE_MISSING] = np.frombuffer(self._missing, np.uint8)
        words_of = table.view(np.uint64).ravel()
        data, is_last = b"", False
        pieces = self._pieces()
        while not is_last:
            piece = next(pieces, b"")
            is_last = not piece
            data += piece
            stop = len(data) if is_last else len(data) - _WORD * (_WORD + 1) + 1
            places, at = [], 0
            while at < stop:
                places.append(at)
                at += _WORD + _WORD * data.count(_CODE_WORD, at, at + _WORD)
            if not places:
                continue
            if at > len(data) and data.count(_CODE_WORD, places[-1], places[-1] + _WORD):
                raise DamagedError
            data += bytes(max(at - len(data), 0))
            block = np.frombuffer(data[:at], np.uint8).reshape(-1, _WORD)
            rows = np.array(places) // _WORD
            codes = block[rows]
            is_word = codes == _CODE_WORD
            words = words_of[codes]
            sources = rows[:, None] + np.cumsum(is_word, axis=1)
            words[is_word] = block.view(np.uint64).ravel()[sources[is_word]]
            ends = np.flatnonzero(codes == _CODE_END)
            end = int(ends[0]) if ends.size else codes.size
            yield words.ravel()[:end][codes.ravel()[:end] != 0].tobytes()
            if ends.size:
                return
            data = data[at:]

    def _pieces(self) -> Iterator[bytes]:
        """Give what stands behind the header, without the second compression of a .zsav."""
        with open(self._file, "rb") as handle:  # noqa: PTH123
            handle.seek(self._start)
            if self.compression == 1:
                yield from iter(partial(handle.read, _PIECE), b"")
                return
            _, trailer, _ = struct.unpack(self._order + "3q", handle.read(24))
            handle.seek(trailer)
            _, _, _, count = struct.unpack(self._order + "2q2i", handle.read(24))
            blocks = [
                struct.unpack(self._order + "2q2i", handle.read(24)) for _ in range(count)
            ]
            for _, start, size, compressed in blocks:
                handle.seek(start)
                inflate = zlib.decompressobj()
                plain = inflate.decompress(handle.read(compressed), size + 1)
                if not inflate.eof or len(plain) != size:
                    raise DamagedError
                yield from (plain[at : at + _PIECE] for at in range(0, size, _PIECE))

    def _skip_dictionary(self, handle: BinaryIO) -> None:
        """Go to the first record; count the words of each."""
        handle.seek(_SPSS_HEADER)
        while (kind := self._next(handle)) != _END:
            if kind == _VARIABLE:
                self._words += 1
                variable = handle.read(28)
                if self._integer(variable, 4):
                    handle.seek((self._next(handle) + 3) // 4 * 4, io.SEEK_CUR)
                handle.seek(_WORD * abs(self._integer(variable, 8)), io.SEEK_CUR)
            elif kind == _LABELS:
                for _ in range(self._next(handle)):
                    handle.seek(handle.read(_WORD + 1)[-1] // _WORD * _WORD + 7, io.SEEK_CUR)
            elif kind in _LISTS:
                handle.seek(_LISTS[kind] * self._next(handle), io.SEEK_CUR)
            elif kind == _EXTENSION:
                which, size, count = (self._next(handle) for _ in range(3))
                if which == _FLOATS:
                    self._missing = handle.read(_WORD)
                    size, count = size * count - _WORD, 1
                handle.seek(size * count, io.SEEK_CUR)
            else:
                raise DamagedError
        handle.seek(4, io.SEEK_CUR)
        if not self._words:
            raise DamagedError

    def _next(self, handle: BinaryIO) -> int:
        return self._integer(handle.read(4), 0)

    def _integer(self, data: bytes, place: int) -> int:
        (number,) = struct.unpack_from(self._order + "i", data, place)
        return int(number)


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
        _, header = self._part(self.file, 0, 1)
        if (header.file_encoding or "").upper() in {"UTF-8", "UTF8"} or self._is_new_stata():
            self._is_raw = True
            self._read = partial(self._read, encoding=_BYTES)
            _, header = self._part(self.file, 0, 1)
        self.said = header

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
        header = self.said
        labels = {
            self.text(name): [
                [self.text(code) if isinstance(code, str) else code, self.text(label)]
                for code, label in codes.items()
            ]
            for name, codes in header.variable_value_labels.items()
        }
        ranges = {
            self.text(name): [
                [
                    self.text(end) if isinstance(end, str) else end
                    for end in (one["lo"], one["hi"])
                ]
                for one in limits
            ]
            for name, limits in header.missing_ranges.items()
        }
        names = [self.text(name) for name in header.column_names]
        return {
            "names": names,
            "types": [header.readstat_variable_types[name] for name in header.column_names],
            "formats": [header.original_variable_types[name] for name in header.column_names],
            "labels": labels,
            "ranges": ranges,
        }

    def batches(self, schema: pa.Schema, rows: int) -> Iterator[pa.RecordBatch]:
        """Give the records."""
        for values, header in self._parts(rows):
            columns = []
            for field, own in zip(schema, header.column_names, strict=True):
                cells = values.pop(own)  # lists are large: they go one by one
                if tags := header.missing_user_values.get(own):
                    self.tags.setdefault(field.name, set()).update(tags)
                    cells = [None if isinstance(value, str) else value for value in cells]
                elif field.type == pa.string() and self._is_raw:
                    cells = [value and self.text(value) for value in cells]
                columns.append(pa.array(cells, field.type))
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def _parts(self, rows: int) -> Iterator[Part]:
        if self.kind == "xpt":
            yield from self._slices(rows)
            return
        if self.kind == "sav" and (records := _SpssRecords(self.file)).compression:
            yield from (self._part(file, 0, 0) for file in records.parts(rows))
            return
        offset, count = 0, rows
        while count == rows:
            values, header = self._part(self.file, offset, rows)
            count = len(next(iter(values.values())))
            yield values, header
            offset += count

    def _slices(self, rows: int) -> Iterator[Part]:
        """Read rows of a transport file: it has no way to them but by reading all before."""
        with open(self.file, "rb") as file:  # noqa: PTH123
            match = _OBSERVATIONS.search(file.read(_SEARCHED))
            size = file.seek(0, io.SEEK_END)
        width = sum(self.said.variable_storage_width.values())
        if match is None or size % _CARD or not width:
            raise DamagedError
        header = match.start() + _CARD
        step = rows * width
        for start in range(header, max(size, header + 1), step):
            stop = min(start + step, size)
            with _Slice(self.file, header=header, start=start, stop=stop) as part:
                values, metadata = self._part(part, 0, 0)
            if stop < size:  # rows of blanks at the end are taken for the end of the file
                for column in values.values():
                    column.extend([None] * (rows - len(column)))
            yield values, metadata


def _has_no_variables(file: str) -> bool:
    """Tell whether the header of a file of SPSS counts none."""
    with open(file, "rb") as stream:  # noqa: PTH123
        start = stream.read(72)
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
