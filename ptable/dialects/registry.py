"""Which layouts there are, how one is recognised, and reading and writing by name."""

import logging
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from footing.files import write_whole
from footing.messages import Argument, Message, Name, Shape, said
from ptable.dialects import intervals, keylists, listings, matrices
from ptable.dialects.losses import losses_between
from ptable.dialects.numbers import Reading, Writing, parse_decimal, parse_whole
from ptable.dialects.text import Sheet, sheet_of_bytes, sheet_of_path
from ptable.errors import PTableError
from ptable.files import read_table, write_table
from ptable.table import PTable

logger = logging.getLogger(__name__)

_OWN = "ckm"
_OWN_SUFFIXES = {".parquet", ".json"}
_PERT = ".pert"
_KEYS = 256
_MATRIX_NAME = re.compile(r"[vV]?[+-]?[0-9]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Dialect:
    """How a layout is read and written, which options it takes, how many tables it holds."""

    read: Callable[[Sheet, Reading], dict[str, PTable]]
    write: Callable[[Mapping[str, PTable], Writing], str]
    takes: frozenset[str]
    holds_several: bool = False


_DECIMALS = frozenset({"boundary", "key_range", "digits", "large_counts"})
_INTEGERS = frozenset({"key_range", "large_counts"})


def _for_one(
    read: Callable[[Sheet, Reading], dict[str, PTable]],
    write: Callable[[PTable, Writing], str],
    takes: frozenset[str],
) -> _Dialect:
    """Describe a layout of one table."""
    return _Dialect(read, lambda tables, how: write(next(iter(tables.values())), how), takes)


def _for_several(write: Callable[[Mapping[str, PTable], Writing], str]) -> _Dialect:
    """Describe a layout of intervals with decimal ends."""
    takes = _DECIMALS | {"anchors"}
    return _Dialect(intervals.read_decimal_intervals, write, takes, holds_several=True)


_TEXTS = {
    "cantabular": _for_one(keylists.read_key_lines, keylists.write_cantabular, _INTEGERS),
    "destatis": _for_one(matrices.read_destatis, matrices.write_destatis, _DECIMALS),
    "frame": _Dialect(
        intervals.read_key_intervals,
        listings.write_frame,
        _INTEGERS | {"anchors"},
        holds_several=True,
    ),
    "ons": _for_one(keylists.read_key_lines, keylists.write_ons, _INTEGERS),
    "r-ptable": _for_several(listings.write_r_ptable),
    "sas": _for_several(listings.write_sas),
    "superstar": _for_one(
        matrices.read_superstar, matrices.write_superstar, _INTEGERS | {"small_n"}
    ),
    "tau-argus": _for_several(listings.write_tau_argus),
}

#: The names of all layouts.
DIALECTS = tuple(sorted([_OWN, *_TEXTS]))


def detect(path: str | os.PathLike[str]) -> str:
    r"""Tell from a file's content which layout it has.

    Parameters
    ----------
    path
        The file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "pt.txt"
    ...     _ = file.write_text("pcv,ckey,pvalue\n1,0,0\n1,1,0\n")
    ...     detect(file)
    'ons'
    """
    source = _existing(path)
    return _OWN if _is_own(source) else _detect_text(sheet_of_path(source))


def read_tables(
    path: str | os.PathLike[str],
    *,
    dialect: str | None = None,
    boundary: Literal["[)", "(]"] = "[)",
    key_range: int | None = None,
    digits: int | None = None,
    large_counts: str | None = None,
    anchors: bool = False,
    small_n: int = 10,
) -> dict[str, PTable]:
    r"""Read all p-tables of a file, by type; a file without types has one, ``"all"``.

    Parameters
    ----------
    path
        The file.
    dialect
        The layout, one of `DIALECTS`; None recognises it by content.
    boundary
        Which end of an interval of decimals belongs to it: ``"[)"``, the lower one, or
        ``"(]"``, the upper one, which needs the key range of the keys.
    key_range
        How many keys there are; None follows from the file.
    digits
        Round decimals to so many digits; None takes all as printed.
    large_counts
        As for `PTable`; None is the habit of the tool that the layout belongs to.
    anchors
        Whether counts without a row are meant, as in tables for magnitudes; these need not
        say so where their noise is fractional.
    small_n
        SuperSTAR's SmallN: how many last columns serve the larger counts in turn.

    Raises
    ------
    PTableError
        With all problems of the file, by line and count.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> lines = ["i,v,p_int_ub,type", "1,0,1,even", "1,-1,.5,odd", "1,1,1,odd"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "pt.csv"
    ...     _ = file.write_text("\n".join(lines))
    ...     sorted(read_tables(file))
    ['even', 'odd']
    """
    reading = Reading(
        boundary=boundary,
        key_range=key_range,
        digits=digits,
        large_counts=large_counts,
        anchors=anchors,
        small_n=small_n,
    )
    if dialect is not None:
        _known(dialect)
    source = _existing(path)
    if dialect == _OWN or (dialect is None and _is_own(source)):
        _refuse_options(_OWN, reading, frozenset())
        return {"all": read_table(source)}
    sheet = sheet_of_path(source)
    name = dialect or _detect_text(sheet)
    _refuse_options(name, reading, _TEXTS[name].takes)
    tables = _TEXTS[name].read(sheet, reading)
    logger.info("p-table read", extra={"dialect": name, "tables": len(tables)})
    return tables


def write_tables(
    tables: PTable | Mapping[str, PTable],
    path: str | os.PathLike[str],
    *,
    dialect: str | None = None,
    digits: int | None = None,
    small_n: int = 10,
    overwrite: bool = False,
    dry_run: bool = False,
) -> tuple[str, ...]:
    """Write p-tables in the layout of another tool; return what the file does not hold.

    What is lost is found by reading the text back before anything is written.

    Parameters
    ----------
    tables
        One p-table, or several by type.
    path
        The file.
    dialect
        The layout, one of `DIALECTS`; None goes by a name ending in ``.parquet``, ``.json`` or
        ``.pert``.
    digits
        Round decimals to so many digits; None writes them in full, or with the 8 digits of R
        ptable's exports.
    small_n
        SuperSTAR's SmallN.
    overwrite
        Whether a file of that name may be replaced.
    dry_run
        Find out what would be lost, and write nothing.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from ptable import PTable
    >>> table = PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_tables(table, pathlib.Path(folder) / "pt.csv", dialect="frame")
    ()
    """
    writing = Writing(digits=digits, small_n=small_n)
    target = Path(path)
    by_type = _by_type(tables)
    name = _target_dialect(target, dialect)
    if name == _OWN:
        table = _one(by_type, name)
        if not dry_run:
            write_table(table, target, overwrite=overwrite)
        return ()
    if not _TEXTS[name].holds_several:
        _refuse_magnitudes(_one(by_type, name), name)
    _refuse_types(by_type)
    text = _TEXTS[name].write(by_type, writing)
    losses = _measured(text, by_type, name, writing, target)
    if not dry_run:
        write_whole(target, text, error=PTableError, overwrite=overwrite)
        logger.info("p-table written", extra={"dialect": name, "losses": len(losses)})
    return losses


def _by_type(tables: Any) -> dict[str, PTable]:
    by_type = {"all": tables} if not isinstance(tables, Mapping) else dict(tables)
    for table in by_type.values():
        if not isinstance(table, PTable):
            raise PTableError(
                Message(
                    "tables must be a PTable, or several by type, not a {name}.",
                    name=Shape(type(table)),
                )
            )
    return by_type


def _measured(
    text: str, tables: Mapping[str, PTable], name: str, writing: Writing, target: Path
) -> tuple[str, ...]:
    """Read a text back as its user would, and compare."""
    sheet = sheet_of_bytes(
        text.encode(),
        source=Message("The file '{target}'", target=Name(target.name)),
        stem=target.stem,
    )
    reading = Reading(
        small_n=writing.small_n,
        key_range=_KEYS if name == "superstar" else None,
        anchors=any(table.anchors is not None for table in tables.values()),
    )
    copies = _TEXTS[name].read(sheet, reading)
    losses: dict[str, None] = {}
    if len(tables) == 1 and len(copies) == 1:  # a single table's type is not written
        copies = {next(iter(tables)): next(iter(copies.values()))}
    for kind, table in tables.items():
        again = copies[kind]
        if again.anchors != table.anchors:
            raise PTableError(
                Message(
                    "The layout '{name}' cannot hold the anchors of this p-table.",
                    name=Name(name),
                )
            )
        if again.anchors is not None and again.step == 1:
            lost = "that only some counts have rows is not kept: read it with anchors=True"
            losses[lost] = None
        prefix = f"{kind}: " if len(tables) > 1 else ""
        losses |= dict.fromkeys(prefix + loss for loss in losses_between(table, again))
    return tuple(losses)


def _existing(path: str | os.PathLike[str]) -> Path:
    source = Path(path)
    if not source.is_file():
        raise PTableError(Message("There is no file '{source}'.", source=source))
    return source


def _known(name: str) -> None:
    if name not in DIALECTS:
        raise PTableError(
            Message(
                "dialect must be one of {dialects}, not {name!r}.",
                dialects=Name.each(DIALECTS),
                name=Name(name),
            )
        )


def _is_own(source: Path) -> bool:
    return source.suffix.lower() in _OWN_SUFFIXES


def _one(tables: Mapping[str, PTable], name: str) -> PTable:
    if len(tables) != 1:
        raise PTableError(
            Message(
                "The layout '{name}' holds one p-table, not {number}{message}",
                name=Name(name),
                number=len(tables),
                message=Message(", of types {tables}.", tables=Name.each(tables))
                if tables
                else Message("."),
            ),
            hint=Message("write each to its own file"),
        )
    return next(iter(tables.values()))


def _refuse_magnitudes(table: PTable, dialect: str) -> None:
    if table.step != 1 or table.anchors is not None:
        raise PTableError(
            Message(
                "The layout '{dialect}' holds whole noise for every count, not tables for "
                "magnitudes.",
                dialect=Name(dialect),
            ),
            hint=Message("write them as r-ptable, tau-argus or sas"),
        )


def _refuse_types(tables: Mapping[Any, PTable]) -> None:
    if not tables:
        raise PTableError(Message("There must be at least one p-table to write."))
    for kind in tables:
        is_word = isinstance(kind, str) and kind and kind == kind.strip()
        if not is_word or any(sign in kind for sign in ',;"\t\r\n'):
            raise PTableError(
                Message(
                    "The type of a p-table must be a plain word, not {kind!r}.",
                    kind=Argument(kind),
                )
            )


def _target_dialect(target: Path, dialect: str | None) -> str:
    suffix = target.suffix.lower()
    if dialect is not None:
        _known(dialect)
    name = dialect or {_PERT: "superstar"}.get(suffix, _OWN)
    if name == _OWN and suffix not in _OWN_SUFFIXES:
        raise PTableError(
            Message(
                "A p-table is written to .parquet or .json, not {suffix!r}.",
                suffix=Name(target.suffix),
            ),
            hint=Message(
                "or name the layout of another tool: {texts}", texts=Name.each(_TEXTS)
            ),
        )
    if name != _OWN and suffix in _OWN_SUFFIXES:
        raise PTableError(
            Message(
                "The layout '{name}' is text; a name ending in {suffix!r} would mislead.",
                name=Name(name),
                suffix=Name(target.suffix),
            ),
            hint=Message("end the name in .csv or .txt"),
        )
    return name


def _refuse_options(name: str, reading: Reading, takes: frozenset[str]) -> None:
    usual = Reading()
    options = [
        field.name
        for field in fields(reading)
        if getattr(reading, field.name) != getattr(usual, field.name)
        and field.name not in takes
    ]
    if options:
        raise PTableError(
            Message(
                "The layout '{name}' has no use for {value}.",
                name=Name(name),
                value=Name.each(options),
            ),
            hint=Message("it takes {takes}", takes=Name.each(sorted(takes)))
            if takes
            else Message("leave it out"),
        )


def _detect_text(sheet: Sheet) -> str:
    names = {intervals.ALIASES.get(name, name) for name in sheet.names}
    if {"pcv", "ckey"} <= names:
        return "ons"
    if {"cell_value", "cell_key"} <= names:
        return "cantabular"
    if {"i", "upper"} <= names:
        return "frame"
    if {"i", "p_int_ub"} <= names:
        if sheet.separator == ",":
            return "r-ptable"
        return "sas" if "p_int_lb" in names else "tau-argus"
    if _is_matrix(sheet):
        return "superstar" if _is_whole(sheet) else "destatis"
    raise PTableError(
        Message(
            "{source} is in no layout that is known: its first line is {cells}.",
            source=said(sheet.source),
            cells=Name.each(sheet.cells[0][:8]),
        ),
        hint=Message(
            "known are {dialects}; name one with dialect", dialects=Name.each(DIALECTS)
        ),
    )


def _is_matrix(sheet: Sheet) -> bool:
    """Tell whether there are numbers below numbers, or below names such as V1."""
    if len(sheet.cells) == 1 or not all(map(_MATRIX_NAME.fullmatch, sheet.cells[0][1:])):
        return False
    return all(
        parse_decimal(cell, has_commas=sheet.has_commas) is not None for cell in sheet.cells[1]
    )


def _is_whole(sheet: Sheet) -> bool:
    """Tell a matrix of noise from one of shares, which has other numbers than integers."""
    return all(
        parse_whole(cell) is not None
        or parse_decimal(cell, has_commas=sheet.has_commas) is None
        for _, cells in sheet.body
        for cell in cells
    )
