"""The overviews of a suppression in a release: for the office, and for everybody."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from ckm.methods.internal_files import record_file
from ckm.release.pages.report_pages import LANGUAGES, OVERVIEWS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ckm.config.job.job import Job
    from ckm.release.files.manifest import TableRecord
    from ckm.release.review import Pages
    from reports import Report
    from reports.facts.release import FileFact


def with_overviews(
    pages: Pages, folder: Path, job: Job, method: Any, tables: Sequence[TableRecord]
) -> Pages:
    """Write the pages of a suppression beside what a review wrote."""
    from reports import make_report

    links = dict(zip(LANGUAGES, OVERVIEWS[1:], strict=True))
    public: list[FileFact] = []
    inside: list[FileFact] = []
    for number, language in enumerate(LANGUAGES):
        title = job.titles.get("", {}).get(language, "")
        internal_facts = method.overview(title=title)
        public_facts = method.public_overview(
            rows={table.name: table.rows for table in tables},
            title=title,
            contact=job.report.contact,
        )
        for facts, own in ((internal_facts, inside), (public_facts, public)):
            page = make_report(facts, language=language, links=links)
            place = folder / ("public" if own is public else "internal")
            own.extend(_written(page, place, links[language], has_numbers=not number))
    entries = {**pages.inside, "overview": [asdict(file) for file in inside]}
    return replace(pages, public=[*pages.public, *public], inside=entries)


def _written(page: Report, folder: Path, name: str, *, has_numbers: bool) -> list[FileFact]:
    """Write a page, and once the numbers of all its languages."""
    names = [name, *OVERVIEWS[:1] * has_numbers]
    for each in names:
        page.write(folder / each)
    return [record_file(folder / each, name=each) for each in names]
