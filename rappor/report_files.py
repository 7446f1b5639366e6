"""Files of reports, compact ones of ours and CSV of google/rappor, and the sums of many."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

import numpy as np

from footing.files import new_file
from footing.messages import Message, Name, said
from rappor.counts import Counts
from rappor.encoded import Reports
from rappor.errors import MismatchError, RapporError, ReportFileError
from rappor.parameters import Parameters
from rappor.text_files import whole_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from _typeshed import StrPath

logger = logging.getLogger(__name__)

_FORMAT = "rappor-reports"
_MAGIC = b'{"format": "rappor-reports"'
_CHUNK_BYTES = 2**22
_CSV_COLUMNS = ("cohort", "irr", "fingerprint")
_LONGEST_HEADER = 4096
#: Files of version 2 end in a digest of all before it; those of version 1 have none.
_VERSION, _DIGEST_BYTES = 2, hashlib.sha256().digest_size


def write_reports(
    pieces: Iterable[Reports], path: StrPath, *, parameters: Parameters, overwrite: bool = False
) -> int:
    """Write reports as they come, and give their number.

    Parameters
    ----------
    pieces
        The reports, in as many pieces as wanted.
    path
        A name ending in ``.rappor`` (a line that names the parameters, then each report in
        few bytes, then a digest that tells damage) or ``.csv`` (columns cohort, irr,
        fingerprint).
    parameters
        What all of them were made with.
    overwrite
        Whether a file of that name may be replaced.

    Raises
    ------
    MismatchError
        If a piece was made with other parameters.
    ReportFileError
        If the file exists or has another ending.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "reports.csv"
    >>> coin = Parameters.basic(3, f=0.5, p=0.25, q=0.75)
    >>> reports = Reports.from_texts(["001"], [0], parameters=coin)
    >>> write_reports([reports], file, parameters=coin)
    1
    >>> file.read_text().splitlines()[0]
    'cohort,irr,fingerprint'
    """
    target = Path(path)
    form = target.suffix.lower()
    if form not in {".rappor", ".csv"}:
        raise ReportFileError(
            Message(
                "Reports are written to .rappor or .csv, not {suffix!r}.",
                suffix=Name(target.suffix),
            )
        )
    total = 0
    with (
        new_file(target, error=ReportFileError, overwrite=overwrite) as draft,
        draft.open("wb") as file,
    ):
        is_csv = form == ".csv"
        header = {"format": _FORMAT, "version": _VERSION, "parameters": parameters.to_dict()}
        first = (",".join(_CSV_COLUMNS) if is_csv else json.dumps(header)) + "\n"
        file.write(first.encode())
        digest = hashlib.sha256(first.encode())
        for piece in pieces:
            if piece.parameters != parameters:
                raise _mismatch(target.name, piece.parameters.fingerprint, parameters)
            content = _csv_rows(piece) if is_csv else _records(piece)
            file.write(content)
            digest.update(content)
            total += len(piece)
        if not is_csv:
            file.write(digest.digest())
    return total


def read_reports(path: StrPath, *, parameters: Parameters | None = None) -> Iterator[Reports]:
    """Read reports in pieces that fit into little memory.

    Parameters
    ----------
    path
        A file of `write_reports`, or a CSV with the columns cohort and irr.
    parameters
        What they were made with. A file that names others is refused; a CSV needs them.

    Raises
    ------
    MismatchError
        If a report was made with other parameters.
    ReportFileError
        If the file is no file of reports, or damaged.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "reports.rappor"
    >>> coin = Parameters.basic(3, f=0.5, p=0.25, q=0.75)
    >>> reports = Reports.from_texts(["001"], [0], parameters=coin)
    >>> _ = write_reports([reports], file, parameters=coin)
    >>> [text for piece in read_reports(file) for text in piece.texts()]
    ['001']
    """
    source = Path(path)
    try:
        with source.open("rb") as file:
            is_ours = file.read(len(_MAGIC)) == _MAGIC
            file.seek(0)
            if is_ours:
                yield from _read_records(file, source.name, parameters)
                return
        with source.open(encoding="utf-8-sig", newline="") as text:
            yield from _read_csv(text, source.name, parameters)
    except UnicodeDecodeError:
        raise ReportFileError(
            Message("The file {source!r} is no file of reports.", source=Name(source.name))
        ) from None
    except OSError as error:
        raise ReportFileError(
            Message(
                "The file {source!r} cannot be read: {strerror}.",
                source=Name(source.name or str(source)),
                strerror=said(str(error.strerror)),
            )
        ) from None


def _record(parameters: Parameters) -> np.dtype[np.void]:
    return np.dtype([("cohort", "<u4"), ("bits", "u1", (-(-parameters.n_bits // 8),))])


def _records(piece: Reports) -> bytes:
    records = np.empty(len(piece), _record(piece.parameters))
    records["cohort"], records["bits"] = piece.cohorts, piece.packed
    return records.tobytes()


def _csv_rows(piece: Reports) -> bytes:
    end = f",{piece.parameters.fingerprint}\n"
    rows = zip(piece.cohorts.tolist(), piece.texts(), strict=True)
    return "".join(f"{cohort},{text}{end}" for cohort, text in rows).encode()


def _read_records(
    file: BinaryIO, name: str, parameters: Parameters | None
) -> Iterator[Reports]:
    line = file.readline(_LONGEST_HEADER)
    try:
        header = json.loads(line)
        own_parameters, version = Parameters.from_dict(header["parameters"]), header["version"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ReportFileError(
            Message("The first line of {name!r} names no parameters.", name=Name(name))
        ) from None
    if version not in {1, _VERSION}:
        raise ReportFileError(
            Message("The file {name!r} was written by a newer version.", name=Name(name))
        )
    if parameters is not None and parameters != own_parameters:
        raise _mismatch(name, own_parameters.fingerprint, parameters)
    form, digest = _record(own_parameters), hashlib.sha256(line)
    rest = file.seek(0, io.SEEK_END) - len(line)
    file.seek(len(line))
    if version == 1:
        logger.warning(
            Message(
                "The reports {name!r} have no digest, as in older versions: damage cannot be "
                "told.",
                name=Name(name),
            ),
            extra={"event": "reports without digest"},
        )
    else:
        rest -= _DIGEST_BYTES
    if rest < 0 or rest % form.itemsize:
        raise ReportFileError(
            Message("The file {name!r} ends in the middle of a report.", name=Name(name)),
            hint=Message("copy it again"),
        )
    yield _piece(name, own_parameters, np.empty(0, np.int64), np.empty(0, form)["bits"])
    while rest > 0 and (chunk := file.read(min(rest, _whole_chunk(form)))):
        rest -= len(chunk)
        digest.update(chunk)
        records = np.frombuffer(chunk, form)
        yield _piece(name, own_parameters, records["cohort"], records["bits"])
    if version != 1 and file.read() != digest.digest():
        raise ReportFileError(
            Message(
                "The file {name!r} is damaged: it does not hold what was written.",
                name=Name(name),
            ),
            hint=Message("copy it again"),
        )


def _whole_chunk(form: np.dtype[np.void]) -> int:
    return max(1, _CHUNK_BYTES // form.itemsize) * form.itemsize


def _piece(name: str, parameters: Parameters, cohorts: Any, packed: Any) -> Reports:
    try:
        return Reports(cohorts=cohorts, packed=packed, parameters=parameters)
    except RapporError as error:
        raise ReportFileError(
            Message(
                "The file {name!r}: {problem}", name=Name(name), problem=said(error.problem)
            ),
            hint=error.hint,
        ) from None


def _read_csv(file: TextIO, name: str, parameters: Parameters | None) -> Iterator[Reports]:
    rows = csv.reader(file)
    try:
        columns = [cell.strip() for cell in next(rows, [])]
        if not {"cohort", "irr"} <= set(columns):
            raise ReportFileError(
                Message("The file {name!r} is no file of reports.", name=Name(name)),
                hint=Message("a CSV of reports has the columns cohort and irr"),
            )
        if parameters is None:
            raise ReportFileError(
                Message(
                    "The file {name!r} does not say how its reports were made.", name=Name(name)
                ),
                hint=Message("give the parameters"),
            )
        size = max(1, _CHUNK_BYTES // (8 * parameters.n_bits))
        chunk: list[Sequence[str]] = []
        for row in rows:
            if row:
                chunk.append(row)
            if len(chunk) == size:
                yield _rows(chunk, columns, name, parameters)
                chunk = []
        if chunk:
            yield _rows(chunk, columns, name, parameters)
    except csv.Error:
        raise ReportFileError(
            Message("The file {name!r} is no CSV.", name=Name(name))
        ) from None


def _rows(
    chunk: Sequence[Sequence[str]], columns: list[str], name: str, parameters: Parameters
) -> Reports:
    if any(len(row) != len(columns) for row in chunk):
        raise ReportFileError(
            Message(
                "A row of {name!r} has more or fewer cells than the header.", name=Name(name)
            )
        )
    if "fingerprint" in columns:
        at = columns.index("fingerprint")
        for other in {row[at].strip() for row in chunk} - {parameters.fingerprint}:
            raise _mismatch(name, other, parameters)
    cohort, irr = columns.index("cohort"), columns.index("irr")
    try:
        cohorts = np.array([whole_number(row[cohort]) for row in chunk], np.int64)
        texts = [row[irr].strip() for row in chunk]
        return Reports.from_texts(texts, cohorts, parameters=parameters)
    except RapporError as error:
        raise ReportFileError(
            Message(
                "The file {name!r}: {problem}", name=Name(name), problem=said(error.problem)
            ),
            hint=error.hint,
        ) from None
    except (ValueError, OverflowError):
        raise ReportFileError(
            Message("A cohort in {name!r} is no whole number.", name=Name(name))
        ) from None


def _mismatch(name: str, fingerprint: str, parameters: Parameters) -> MismatchError:
    is_fingerprint = fingerprint.isalnum() and len(fingerprint) == 16
    text = Name(fingerprint) if is_fingerprint else Message("others")
    return MismatchError(
        Message(
            "The reports of {name!r} were made with the parameters {words}, not {fingerprint}.",
            name=Name(name),
            words=text,
            fingerprint=Name(parameters.fingerprint),
        ),
        hint=Message("sum each collection by itself"),
    )


def sum_files(
    paths: Sequence[StrPath],
    *,
    parameters: Parameters | None = None,
    progress: Callable[[int], None] | None = None,
) -> Counts:
    """Sum the reports of files, which must all be of one collection.

    Parameters
    ----------
    paths
        Files of `write_reports`, or CSV files.
    parameters
        What they were made with; by default what the first file says.
    progress
        Told the number of reports summed so far.

    Raises
    ------
    MismatchError
        If a file was made with other parameters.
    RapporError
        If there is no report from which to take the parameters.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from rappor import Parameters, Reports, write_reports
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "reports.rappor"
    >>> coin = Parameters.basic(2, f=0.5, p=0.25, q=0.75)
    >>> piece = Reports.from_texts(["01", "11"], [0, 0], parameters=coin)
    >>> _ = write_reports([piece], file, parameters=coin)
    >>> sum_files([file, file]).total
    4
    """
    total = None if parameters is None else Counts.zeros(parameters)
    for path in paths:
        expected = None if total is None else total.parameters
        for piece in read_reports(path, parameters=expected):
            total = piece.sum() if total is None else total + piece.sum()
            if progress is not None:
                progress(total.total)
    if total is None:
        raise RapporError(
            Message("There is no report from which to learn the parameters."),
            hint=Message("give the parameters"),
        )
    return total
