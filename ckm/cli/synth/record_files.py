"""Records that are evaluated: those of CSV are texts, and numbers only where that is told."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any

import click

from ckm.cli.office_records import is_office, office_table, opened
from footing.messages import Message, Name

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from synth import Schema
    from synth.evaluation.records import Kind

_PLAIN = re.compile(r"(?!-0(\.0+)?$)-?(0|[1-9][0-9]*)(\.[0-9]+)?")


def records_of(path: Path, *, schema: Schema | None = None) -> Any:
    """Return the records of a file, for fitting."""
    from synth.frames import read_records

    return office_table(path) if is_office(path) else read_records(path, schema=schema)


def column_names(path: Path) -> list[str]:
    """Return the names of the columns of a file."""
    from synth.frames import names_of

    if not is_office(path):
        return names_of(path)
    with opened(path) as source:
        return list(source.columns)


def _is_typed(path: Path) -> bool:
    """Tell whether the columns of a file have types: those of CSV are texts."""
    return path.suffix.lower() == ".parquet" or is_office(path)


def read_frame(path: Path, kinds: Mapping[str, Kind]) -> pd.DataFrame:
    """Read a table of records; a column of CSV is texts, or numbers where its kind says so."""
    import pandas as pd

    frame = _read(path)
    if _is_typed(path):
        return frame
    for name in frame.columns:
        kind = kinds.get(name)
        if kind is None or kind.is_date:
            continue
        if kind.categories is None:
            with contextlib.suppress(TypeError, ValueError):  # as where a missing one is a word
                frame[name] = pd.to_numeric(frame[name])
        else:
            frame[name] = _as_declared(frame[name], kind.categories)
    return frame


def _read(path: Path) -> pd.DataFrame:
    """Read a table of records; every column of CSV is texts, of which an empty one is null."""
    import pandas as pd

    from synth.errors import DomainError
    from synth.evaluation import EvaluationError
    from synth.frames import read_records

    kind = path.suffix.lower()
    if kind not in {".parquet", ".csv"} and not is_office(path):
        raise click.UsageError(
            Message(
                "Records are read from .parquet or .csv, not {path!r}.",
                path=Name(path.name),
            )
        )
    if not path.is_file():
        raise click.UsageError(Message("There is no file {path!r}.", path=Name(path.name)))
    if is_office(path):
        records: pd.DataFrame = office_table(path).to_pandas()
        return records
    try:
        if kind == ".parquet":
            return pd.read_parquet(path)
        texts = read_records(path)
    except (ValueError, OSError, DomainError):
        # The message of a reader may quote a line of the file.
        raise EvaluationError(
            Message("The file {path!r} cannot be read as a table.", path=Name(path.name))
        ) from None
    names = texts.column_names
    if twins := [name for name in names if names.count(name) > 1]:
        raise EvaluationError(
            Message("Column {twins!r} stands twice in the data.", twins=Name(twins[0]))
        )
    frame: pd.DataFrame = texts.to_pandas().astype(object)
    return frame.mask(frame.isna() | (frame == ""), None)


def _as_declared(texts: pd.Series, categories: Sequence[Any]) -> pd.Series:
    """Give texts that write a declared number or truth value its place, as fitting does."""
    import pandas as pd

    words = {one for one in categories if isinstance(one, str)}
    truths = {
        text: one
        for one in categories
        if isinstance(one, bool)
        for text in (str(one), str(one).lower())
    }
    numbers = {one: one for one in categories if type(one) in {int, float}}
    if not (truths or numbers):
        return texts
    mapping = {}
    for text in texts.dropna().unique():
        number = pd.to_numeric(text, errors="coerce")
        other = truths.get(text, numbers.get(number, text))
        mapping[text] = text if text in words else other
    return texts.map(mapping, na_action="ignore").astype(object)


def kinds_of_files(paths: Sequence[Path]) -> dict[str, Kind]:
    """Return the kinds of the columns that nobody declares, by the records of all files.

    A column is numbers where it is so in every file: by its type in Parquet, and in CSV where
    writing its numbers gives every text back, so that no two texts become one number.
    """
    from synth.evaluation.records import Kind

    if all(map(_is_typed, paths)):
        return {}
    if _is_typed(paths[0]):
        return _kinds_of_types(_read(paths[0]))
    is_number: dict[str, bool] = {}
    for path in paths:
        frame = _read(path)
        for name in frame.columns:
            if path.suffix.lower() == ".csv":
                is_numeric = _are_numbers(frame[name].dropna().unique())
            else:
                kind = _kinds_of_types(frame)[name]
                is_numeric = kind.categories is None
            is_number[name] = is_number.get(name, True) and is_numeric
    return {
        name: Kind(categories=None if is_numeric else ())
        for name, is_numeric in is_number.items()
    }


def _kinds_of_types(frame: pd.DataFrame) -> dict[str, Kind]:
    """Return the kinds of a frame's columns, with the numbers and truth values among texts."""
    from dataclasses import replace

    from synth.evaluation.records import kinds_of

    kinds = kinds_of(frame)
    for name, kind in kinds.items():
        if kind.is_category:
            values = frame[name].astype(object).dropna().unique()
            plain = [getattr(one, "item", lambda one=one: one)() for one in values]
            kinds[name] = replace(kind, categories=tuple(plain))
    return kinds


def _are_numbers(texts: Collection[str]) -> bool:
    """Tell whether texts are numbers that no other text writes: not 01, 1E2, 1_0 or +1."""
    import math

    numbers = set()
    for text in texts:
        if _PLAIN.fullmatch(text) is None or not math.isfinite(float(text)):
            return False
        numbers.add(float(text) if "." in text else int(text))
    return len(numbers) == len(texts)
