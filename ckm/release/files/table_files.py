"""The files of a release's tables: their names, their formats, what each of them holds."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ckm.config.section import one_text
from ckm.engine.published_table import PublishedTable, measure_columns
from ckm.errors import ConfigError, FormatError, ReleaseError
from ckm.formats import FORMATS, to_bytes, without_repeats
from ckm.formats.about import to_plain, with_noise
from ckm.formats.csv_text import formulas, is_formula, plain_numbers, without_formulas
from ckm.formats.registry import format_named
from ckm.release.files.place import require_place
from ckm.release.files.table_metadata import TableWords
from ckm.release.opening import RELEASE_KINDS
from ckm.release.pages.report_pages import FILES, OVERVIEWS, is_draft
from footing.messages import Enumeration, Message, Name, joined, said
from footing.places import as_connectors_know, is_below, is_matched
from tables.recoding.lost_zeros import (
    codes_with_decimals,
    codes_without_zeros,
    without_decimals,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ckm.config.job.job import Job
    from ckm.config.job.output import JobOutput
    from ckm.formats import TableAbout
    from ptable.lookup import MarginOfError
    from reports.facts.release import FirstRowsFact, Text

logger = logging.getLogger(__name__)

_ROOMY = ("csv", "csv-labels", "csvw", "parquet")  # they hold whatever a table holds
_EXACT = ("csv", "csvw", "sdmx-csv", "sdmx-csv-1")  # a spreadsheet may open them
_SHOWN = 5
#: So many rows of each table are on the public page of a release.
_FIRST_ROWS = 8
_OTHERS = ("manifest.json", *FILES["public"])


def first_rows_of(table: PublishedTable, abouts: Mapping[str, TableAbout]) -> FirstRowsFact:
    """Give the first rows of a table, in the words of each language.

    Parameters
    ----------
    table
        The table.
    abouts
        Language → what files in it say of the table.
    """
    from reports.facts.release import FirstRowsFact

    first = next(table.pieces(_FIRST_ROWS), table)
    columns = [
        [
            one_text(
                {
                    code: about.category_labels.get(dimension, {}).get(texts[n], texts[n])
                    for code, about in abouts.items()
                }
            )
            for n in codes
        ]
        for dimension, (codes, texts) in first.dimensions.items()
    ]
    numbers = [plain_numbers(values).to_pylist() for values in first.measures.values()]
    return FirstRowsFact(
        dimensions=tuple(map(partial(_heading, abouts), first.dimensions)),
        measures=tuple(map(partial(_heading, abouts), first.measures)),
        categories=tuple(zip(*columns, strict=True)),
        numbers=tuple(zip(*numbers, strict=True)),
    )


def _heading(said: Mapping[str, TableAbout], column: str) -> Text:
    """Name a column of a table in each language, with its unit."""
    texts = {}
    for code, about in said.items():
        unit = about.units.get(column, "")
        texts[code] = about.labels.get(column, column) + (f" ({unit})" if unit else "")
    return one_text(texts)


def file_names(
    table: str,
    format: str,  # noqa: A002  (the word of jobs)
    *,
    language: str = "",
) -> tuple[str, ...]:
    """Return the names of a table's files in a format."""
    kind = FORMATS[format]
    name = f"{table}.{language}{kind.suffixes[0]}" if language else table + kind.suffixes[0]
    return (name, f"{name}{kind.sidecar}") if kind.sidecar else (name,)


def files_of(table: str, output: JobOutput) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Give the files that a release has of a table: format, language and names.

    Formats that hold several languages, and CSV, which has no words, have one file for all of
    them; in others a language stands in the names.
    """
    for kind in output.formats:
        keeps = FORMATS[kind].keeps
        if len(output.languages) == 1 or not keeps or "translations" in keeps:
            yield kind, output.languages[0], file_names(table, kind)
            continue
        for language in output.languages:
            yield kind, language, file_names(table, kind, language=language)


def in_formats(job: Job, formats: Sequence[str]) -> Job:
    """Return a job that writes its tables in other formats."""
    names = without_repeats(format_named(name).name for name in formats)
    return job.changed(output=job.output.changed(formats=names))


class TableFiles:
    """Writes the tables of a job, each in the formats of the job.

    Parameters
    ----------
    job
        The job.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        languages = job.output.languages
        self._words = {code: TableWords(job, language=code) for code in languages}
        #: Table and language → what its files say.
        self.said: dict[tuple[str, str], TableAbout] = {}
        #: The margin of error of counts, where the job tells it.
        self.margin: MarginOfError | None = None
        self._warned: set[str] = set()

    @property
    def words(self) -> dict[str, Any]:
        """What the files of all tables say, by table and language."""
        return {f"{name}.{code}": to_plain(about) for (name, code), about in self.said.items()}

    def require_fit(self) -> None:
        """Refuse what no data are needed to see: names and words that a format cannot hold."""
        if self._job.output.place is not None:
            require_place(self._job)
        elif self._job.output.stream:
            _require_parts(self._job)
        self._require_names()
        for name in self._job.tables:
            table = self.rehearsal(name)
            self.describe(name, table)
            for kind, language, _ in files_of(name, self._job.output):
                if kind in _ROOMY:
                    continue
                with _explained(name, kind):
                    to_bytes(table, kind, about=self._about(name, language))

    def cautions(self) -> tuple[str, ...]:
        """Return what to think of before a release, as far as no data are needed to see it."""
        formula_texts: dict[str, list[str]] = {}
        shorter: dict[str, list[str]] = {}
        with_decimals: dict[str, list[str]] = {}
        words = self._first
        for name in self._job.tables:
            rehearsal = self.rehearsal(name)
            formula_texts |= formulas(rehearsal)
            shorter |= _codes_by_column(rehearsal, codes_without_zeros)
            with_decimals |= _codes_by_column(rehearsal, codes_with_decimals)
            for column, dimension in words.columns(name).items():
                texts = [*formula_texts.get(column, ()), *words.codes(column, dimension)]
                formula_texts[column] = list(filter(is_formula, dict.fromkeys(texts)))
        of_formulas = formula_cautions(formula_texts, self._job.output)
        return (
            *of_formulas,
            *(lost_zeros_caution(*pair) for pair in shorter.items()),
            *(decimals_caution(*pair) for pair in with_decimals.items()),
        )

    @property
    def _first(self) -> TableWords:
        """The words in the first language; names and codes are the same in all."""
        return self._words[self._job.output.languages[0]]

    def write(self, folder: Path, name: str, table: PublishedTable) -> tuple[Path, ...]:
        """Write a table in each format and language."""
        self.describe(name, table)
        paths: list[Path] = []
        for column, texts in formulas(table).items():
            for caution in formula_cautions({column: texts}, self._job.output, is_named=False):
                # Logs are kept and sent around: the texts themselves are for the terminal.
                logger.warning(
                    "%s",
                    Message("Table {name!r}: {caution}", name=Name(name), caution=caution),
                    extra={"inside": _listed(texts)},
                )
        for pair in _codes_by_column(table, codes_without_zeros).items():
            self._tell_once(*pair, caution_of=lost_zeros_caution)
        for pair in _codes_by_column(table, codes_with_decimals).items():
            self._tell_once(*pair, caution_of=decimals_caution)
        for kind, language, names in files_of(name, self._job.output):
            about = self._about(name, language)
            locale = self._job.output.csv_locale
            if kind == "csv-labels" and locale != "language":
                # Nothing else of the language is in the file.
                about = replace(about, language=locale, translations=())
            with _explained(name, kind):
                self._escaped(table, kind).write(folder / names[0], format=kind, about=about)
            paths += [folder / each for each in names]
        return tuple(paths)

    def first_rows(self, name: str, table: PublishedTable) -> FirstRowsFact:
        """Give the first rows of a written table, in the words of its files."""
        return first_rows_of(table, {code: self.said[name, code] for code in self._words})

    def describe(self, name: str, table: PublishedTable) -> None:
        """Keep what the files of a table say in each language."""
        for code, words in self._words.items():
            about = words.about(name, table)
            if self.margin and "count" in self._job.tables[name].measures:
                about = with_noise(about, self.margin)
            self.said[name, code] = about

    def _tell_once(
        self, column: str, codes: Sequence[str], *, caution_of: Callable[..., Message]
    ) -> None:
        """Warn once of the codes of a column that another program may have changed."""
        if column not in self._warned:
            self._warned.add(column)
            caution = caution_of(column, codes, is_named=False)
            logger.warning("%s", caution, extra={"inside": _listed(codes)})

    def _about(self, name: str, language: str) -> TableAbout:
        """Return what is said of a table in a language, and with it the others."""
        others = [self.said[name, code] for code in self._words if code != language]
        return replace(self.said[name, language], translations=others)

    def _escaped(self, table: PublishedTable, kind: str) -> PublishedTable:
        escapes = kind == "csv" and self._job.output.csv_formulas == "escape"
        return table.mapped(without_formulas) if escapes else table

    def _require_names(self) -> None:
        counter = Counter(each.lower() for each in _OTHERS)
        for table in self._job.tables:
            for _, _, names in files_of(table, self._job.output):
                counter.update(each.lower() for each in names)
        twice = sorted(name for name, times in counter.items() if times > 1)
        if twice:
            raise ConfigError(
                Message(
                    "A release has each file once; tables and formats give {names!r} twice.",
                    names=Name.each(twice[:3]),
                ),
                hint=Message("give a [[table]] another name, or leave a format out"),
            )

    def rehearsal(self, name: str) -> PublishedTable:
        """Make a small table with the columns and the declared categories of a table."""
        words, request = self._first, self._job.tables[name]
        texts = {}
        for column, dimension in words.columns(name).items():
            declared = self._job.categories.get(dimension, ())
            codes = declared if isinstance(declared, list) and column == dimension else ()
            own_texts = [text for text in codes if isinstance(text, str)]
            texts[column] = list(dict.fromkeys([words.total(dimension), *own_texts]))
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


def _require_parts(job: Job) -> None:
    """Refuse what needs a whole table at once, where tables are streamed."""
    problems: list[Message] = []
    if job.suppression:
        problems.append(
            Message("[suppression] chooses hidden cells by all cells of linked tables.")
        )
    if job.rounding:
        problems.append(
            Message("[rounding] chooses the multiples of all cells of a table together.")
        )
    if job.output.additive:
        problems.append(
            Message("additive = true changes the counts of all cells of a table together.")
        )
    if job.data.engine == "spark":
        problems.append(
            Message(
                'engine = "spark" brings all cells to this machine at once, or, with place, '
                "leaves them to the workers."
            )
        )
    if any(table.quantiles for table in job.tables.values()):
        problems.append(
            Message("A quantile is found in the values of all records of a table at once.")
        )
    problems += [
        Message("A file of the format {kind!r} is written from a whole table.", kind=Name(kind))
        for kind in job.output.formats
        if kind not in _ROOMY
    ]
    if problems:
        raise ConfigError(
            Message(
                "{key} under [output] does not go with this job: {problems}",
                key=Name("stream = true"),
                problems=joined(" ", problems),
            ),
            hint=Message(
                "leave one of them out; its formats are {formats}", formats=Name.each(_ROOMY)
            ),
        )


def formula_cautions(
    texts_by_column: Mapping[str, Sequence[str]],
    output: JobOutput,
    *,
    section: str = "[output]",
    is_named: bool = True,
) -> tuple[Message, ...]:
    """Say which texts of CSV files a spreadsheet would take for formulas, or how many."""
    exact = [kind for kind in output.formats if kind in _EXACT]
    if output.csv_formulas == "escape":
        exact = [kind for kind in exact if kind != "csv"]
    return tuple(
        Message(
            "Column {column!r} has {number} text{plural} that a spreadsheet takes for a "
            "formula when it opens {exact!r}{texts}. Change them, publish XLSX for "
            'spreadsheets, or write csv_formulas = "escape" under {section}, which '
            "puts an apostrophe before them in 'csv'.",
            column=Name(column),
            number=len(texts),
            plural=Message("s") if len(texts) > 1 else Message(),
            exact=Enumeration(" or ", Name.each(exact)),
            texts=Message(": {texts}", texts=Name(_listed(texts))) if is_named else Message(),
            section=Name(section),
        )
        for column, texts in texts_by_column.items()
        if texts and exact
    )


def lost_zeros_caution(column: str, codes: Sequence[str], *, is_named: bool = True) -> Message:
    """Say that codes are shorter than the others of their column, or how many."""
    return Message(
        "Some codes of column {column!r} are shorter than the others, {number} in all{texts}: "
        "a spreadsheet turns 45.10 into 45.1, and 01 into 1. Correct the data, or recode in "
        "[[variable]], if a zero was lost.",
        column=Name(column),
        number=len(codes),
        texts=Message(": {texts}", texts=Name(_listed(codes))) if is_named else Message(),
    )


def decimals_caution(column: str, codes: Sequence[str], *, is_named: bool = True) -> Message:
    """Say that the codes of a column are whole numbers written with decimals."""
    recoded = without_decimals(codes)
    pairs = ", ".join(f'"{code}" = "{text}"' for code, text in [*recoded.items()][:_SHOWN])
    more = ", …" if len(recoded) > _SHOWN else ""
    return Message(
        "The {number} codes of column {column!r} are whole numbers written with decimals"
        "{texts}. They are published so, and sorted as texts. If these are codes, correct the "
        "data, or recode them in [[variable]]{cure}.",
        column=Name(column),
        number=len(codes),
        texts=Message(": {texts}", texts=Name(_listed(codes))) if is_named else Message(),
        cure=Message(": recode = {{ {pairs} }}", pairs=Name(f"{pairs}{more}"))
        if is_named
        else Message(', as in recode = {{ "1,0" = "01", "10,0" = "10" }}'),
    )


def _codes_by_column(
    table: PublishedTable, changed: Callable[[Iterable[object]], list[str]]
) -> dict[str, list[str]]:
    """Return the codes that a program seems to have changed, by column."""
    by_column = {name: changed(codes) for name, (_, codes) in table.dimensions.items()}
    return {name: codes for name, codes in by_column.items() if codes}


def _listed(texts: Sequence[str]) -> str:
    return f"{', '.join(map(repr, texts[:_SHOWN]))}{', …' if len(texts) > _SHOWN else ''}"


@contextlib.contextmanager
def _explained(table: str, kind: str) -> Iterator[None]:
    """Name the table and the format in what a format refuses."""
    try:
        yield
    except FormatError as error:
        raise FormatError(
            Message(
                "Table {table!r} does not fit into {kind!r}: {problem}",
                table=Name(table),
                kind=Name(kind),
                problem=said(error.problem),
            ),
            hint=error.hint
            or Message("leave {kind!r} out, or change the text", kind=Name(kind)),
        ) from None


def refuse_foreign(folder: Path) -> None:
    """Refuse to replace a folder that is not a release of ours, or holds files of others."""
    try:
        manifest = json.loads((folder / "internal" / "manifest.json").read_bytes())
        ours = {"public/manifest.json", "internal/manifest.json", "internal/job.toml"}
        ours |= {"internal/pt.parquet", *(f"public/{f['file']}" for f in manifest["public"])}
        names = {place: (*own, *OVERVIEWS) for place, own in FILES.items()}
        ours |= {f"{place}/{name}" for place, own in names.items() for name in own}
        ours |= {f"internal/{name}" for name in _inside(manifest)}
        is_release = manifest["kind"] in RELEASE_KINDS
    except (OSError, ValueError, KeyError, TypeError):
        is_release, ours = False, set()
    if not is_release:
        raise ReleaseError(
            Message(
                "The folder {folder!r} is not a release of ckm; --force does not replace it.",
                folder=Name(folder.name),
            ),
            hint=Message("choose another folder, or remove this one yourself"),
        )
    files = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and not is_draft(path.name)
    }
    if others := sorted(files - ours):
        listing = [*map(repr, others[:5]), *["…"] * (len(others) > 5)]
        raise ReleaseError(
            Message(
                "The folder {folder!r} also holds {files}; --force would remove them.",
                folder=Name(folder.name),
                files=Name.each(listing),
            ),
            hint=Message("move these files away, or choose another folder"),
        )


def _inside(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Name the other internal files of a release: p-tables of amounts, audits, figures."""
    for file in manifest.get("inside", ()):
        yield file["file"]
    for amount in manifest.get("amounts", ()):
        for table in amount["ptables"].values():
            yield table["file"]["file"]


def refuse_overlap(job: Job, target: Path) -> None:
    """Refuse an output that holds an input, or that a glob of the data would read back."""
    inputs = [job.path, *job.input_files()]
    others = (job.keys.secret, job.report.designs, job.report.frontier)
    inputs += [path for path in others if path is not None]
    if job.ledger is not None and isinstance(job.ledger.target, Path):
        inputs.append(job.ledger.target)
    for path in inputs:
        if Path(os.path.realpath(path)).is_relative_to(target):
            raise ReleaseError(
                Message(
                    "The output {target!r} holds {path!r}, which the job reads.",
                    target=Name(target.name),
                    path=Name(path.name),
                ),
                hint=Message("choose a folder of its own for the output"),
            )
    names = [name for _, _, names in files_of("table", job.output) for name in names]
    outputs = [target / "public" / name for name in names]
    is_read = any(is_matched(path, one) for path in outputs for one in job.data.patterns)
    if job.output.place is not None:
        if re.search(r"[*?{}\[\]\\:]", target.name):
            raise ReleaseError(
                Message(
                    "The output {target!r} has signs that stand for others in Spark's paths.",
                    target=Name(target.name),
                ),
                hint=Message("choose a name of letters, digits, - and _"),
            )
        place = as_connectors_know(f"{job.output.place}/{target.name}").removeprefix("file://")
        parts = [f"{place}/{name}/part-0.parquet" for name in job.tables]
        patterns = [*job.data.patterns, as_connectors_know(str(job.data.path))]
        is_read |= any(is_below(part, pattern) for part in parts for pattern in patterns)
    if is_read:
        raise ReleaseError(
            Message(
                "The output {target!r} would be read as data by the next release.",
                target=Name(target.name),
            ),
            hint=Message("choose a folder that the pattern of [data] path does not reach"),
        )
