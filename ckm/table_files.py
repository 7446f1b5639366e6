"""The files of a release's tables: their names, their formats, what each of them holds."""

from __future__ import annotations

import contextlib
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ckm.errors import ConfigError, FormatError
from ckm.format_names import without_repeats
from ckm.formats import FORMATS, to_bytes
from ckm.formats.registry import format_named
from ckm.published import PublishedTable, measure_columns
from ckm.report import LANGUAGES, NUMBERS, page_name
from ckm.table_words import TableWords

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ckm.config.job import Job
    from ckm.formats import TableAbout

__all__ = ["TableFiles", "file_names", "in_formats"]

_ROOMY = ("csv", "csvw", "parquet")  # they hold whatever a table holds
_OTHERS = ("manifest.json", NUMBERS, *(page_name("public", code) for code in LANGUAGES))


def file_names(table: str, format: str) -> tuple[str, ...]:  # noqa: A002  (the word of jobs)
    """Return the names of a table's files in a format.

    Parameters
    ----------
    table
        Name of the table.
    format
        A name in `ckm.formats.FORMATS`.

    Examples
    --------
    >>> file_names("jobs", "csvw")
    ('jobs.csv', 'jobs.csv-metadata.json')
    """
    kind = FORMATS[format]
    name = f"{table}{kind.suffixes[0]}"
    return (name, f"{name}{kind.sidecar}") if kind.sidecar else (name,)


def in_formats(job: Job, formats: Sequence[str]) -> Job:
    """Return a job that writes its tables in other formats.

    Parameters
    ----------
    job
        The job.
    formats
        Names in `ckm.formats.FORMATS`.

    Raises
    ------
    FormatError
        If there is no format of that name.

    Examples
    --------
    >>> from ckm.config import read_job
    >>> in_formats(read_job("job.toml"), ["px"]).output.formats  # doctest: +SKIP
    ('px',)
    """
    names = without_repeats(format_named(name).name for name in formats)
    return replace(job, output=replace(job.output, formats=names))


class TableFiles:
    """Writes the tables of a job, each in the formats of the job.

    Parameters
    ----------
    job
        The job.

    Examples
    --------
    >>> from ckm.config import read_job
    >>> TableFiles(read_job("job.toml")).require_fit()  # doctest: +SKIP
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self._words = TableWords(job)
        self.said: dict[str, TableAbout] = {}

    def require_fit(self) -> None:
        """Refuse what no data are needed to see: names and words that a format cannot hold.

        Raises
        ------
        ConfigError
            If two tables would have the same file.
        FormatError
            If a format cannot hold a name, a label or another text of the job.
        """
        self._require_names()
        for name in self._job.tables:
            table = self._rehearsal(name)
            about = self._words.about(name, table)
            for kind in self._job.output.formats:
                if kind in _ROOMY:
                    continue
                with _explained(name, kind):
                    to_bytes(table, kind, about=about)

    def write(self, folder: Path, name: str, table: PublishedTable) -> tuple[Path, ...]:
        """Write a table in each format.

        Parameters
        ----------
        folder
            Where to.
        name
            Name of the table.
        table
            The table.

        Returns
        -------
        tuple of pathlib.Path
            The files.

        Raises
        ------
        FormatError
            If a format cannot hold the table.
        ReleaseError
            If a code list lacks a category, or a file cannot be written.
        """
        about = self.said[name] = self._words.about(name, table)
        paths: list[Path] = []
        for kind in self._job.output.formats:
            names = file_names(name, kind)
            with _explained(name, kind):
                table.write(folder / names[0], format=kind, about=about)
            paths += [folder / each for each in names]
        return tuple(paths)

    def _require_names(self) -> None:
        wanted = Counter(each.lower() for each in _OTHERS)
        for table in self._job.tables:
            for kind in self._job.output.formats:
                wanted.update(each.lower() for each in file_names(table, kind))
        twice = sorted(name for name, times in wanted.items() if times > 1)
        if twice:
            shown = ", ".join(map(repr, twice[:3]))
            raise ConfigError(
                f"A release has each file once; tables and formats give {shown} twice.",
                hint="give a [[table]] another name, or leave a format out",
            )

    def _rehearsal(self, name: str) -> PublishedTable:
        """Make a small table with the columns and the declared categories of a table."""
        words, request = self._words, self._job.tables[name]
        texts = {}
        for column, dimension in words.columns(name).items():
            declared = self._job.categories.get(dimension, ())
            listed = declared if isinstance(declared, list) and column == dimension else ()
            kept = [text for text in listed if isinstance(text, str)]
            texts[column] = list(dict.fromkeys([words.total(dimension), *kept]))
        size = max(map(len, texts.values()))
        rows = np.arange(size, dtype=np.int32)
        dimensions = {c: (np.minimum(rows, len(t) - 1), t) for c, t in texts.items()}
        return PublishedTable(
            dimensions=dimensions,
            measures={
                column: np.zeros(size, np.int64 if measure == "count" else np.float64)
                for column, measure in measure_columns(request.measures, dimensions).items()
            },
        )


@contextlib.contextmanager
def _explained(table: str, kind: str) -> Iterator[None]:
    """Name the table and the format in what a format refuses."""
    try:
        yield
    except FormatError as error:
        raise FormatError(
            f"Table {table!r} does not fit into {kind!r}: {error.problem}",
            hint=error.hint or f"leave {kind!r} out, or change the text",
        ) from None
