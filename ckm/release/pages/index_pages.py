"""The first pages of a release: its tables and files, whatever protected them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ckm.methods.internal_files import record_file
from ckm.release.job_inputs import load_secret
from ckm.release.pages.report_pages import LeakCheck, hidden_of_inputs
from footing.version import engine_version
from reports.facts.release import IndexFacts, PublicTableFact

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ckm.config.job.job import Job
    from ckm.release.files.manifest import TableRecord
    from ckm.release.review import Pages
    from reports.facts.release import FileFact


def index_names(languages: Sequence[str]) -> dict[str, str]:
    """Name the first page in each language; that of the first language is ``index.html``."""
    first, *others = languages
    return {first: "index.html", **{code: f"index.{code}.html" for code in others}}


def write_index(
    folder: Path,
    job: Job,
    tables: Sequence[TableRecord],
    pages: Pages,
    inputs: Sequence[FileFact],
    *,
    is_original: bool,
) -> list[FileFact]:
    """Write the first page in each language, once nothing in it must stay inside."""
    facts = _index_facts(job, tables, pages, is_original=is_original)
    leaks = pages.leaks.about(facts) if pages.leaks else _leaks(job, facts, inputs)
    return write_first_pages(folder, facts, job.report.languages, leaks)


def write_first_pages(
    folder: Path, facts: IndexFacts, languages: Sequence[str], leaks: LeakCheck
) -> list[FileFact]:
    """Write the first page of these facts in each language."""
    from reports import make_report

    names, files = index_names(languages), []
    for language, name in names.items():
        page = make_report(facts, language=language, links=names)
        leaks.require_clean_page(page)
        page.write(folder / name)
        files.append(record_file(folder / name, name=name))
    return files


def _index_facts(
    job: Job, tables: Sequence[TableRecord], pages: Pages, *, is_original: bool
) -> IndexFacts:
    """Tell what every method knows, and the margin of error where it is public."""
    return IndexFacts(
        id=job.report.id,
        title=job.title_of(),
        date=job.report.date,
        contact=job.report.contact,
        version=engine_version(),
        ptable_label="",
        checks={},
        tables=tuple(_table_fact(job, table) for table in tables),
        margin=pages.margin,
        pages=tuple(pages.public),
        is_original=is_original,
        are_stored=job.output.place is not None,
        adds_up=is_original or job.output.additive or job.rounding is not None,
    )


def _table_fact(job: Job, table: TableRecord) -> PublicTableFact:
    first = table.first_rows
    texts = tuple(name for name, kind, _ in table.columns if kind == "text")
    return PublicTableFact(
        name=table.name,
        title=job.title_of(table.name),
        dimensions=texts if first is None else first.dimensions,
        published=table.rows - table.suppressed,
        suppressed=table.suppressed,
        # The page shows no hashes: that of a table may be that of an input of the same bytes.
        files=tuple(replace(file, sha256="") for file in table.files),
        first_rows=first,
        population=job.population_of(table.name),
    )


def _leaks(job: Job, facts: IndexFacts, inputs: Sequence[FileFact]) -> LeakCheck:
    """Give what looks for the secret, the folder and the inputs of a job without a review."""
    secret = load_secret(job) if job.needs_secret else None
    return LeakCheck(facts, hidden=hidden_of_inputs(inputs, job.path.parent), secret=secret)
