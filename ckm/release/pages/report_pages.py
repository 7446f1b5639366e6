"""The pages of a release: both editions, in the languages asked for, and their numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from ckm.release.files.manifest import FileRecord, record_file
from ckm.release.pages.leak_check import require_clean

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from reports import Report
    from reports.facts.release import ReleaseFacts
    from tables import Secret

Edition: TypeAlias = Literal["internal", "public"]

#: The name of the file with all numbers of an edition.
NUMBERS = "report.json"
#: The languages of the pages.
LANGUAGES = ("en", "fr")
EDITIONS: tuple[Edition, ...] = ("public", "internal")

_DRAFT = re.compile(r"\.(report|manifest)[a-z.-]*\.[0-9a-f]{8}\.tmp\.(html|json)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFiles:
    """What was written of a report, in ``public/`` and in ``internal/``."""

    public: tuple[FileRecord, ...]
    internal: tuple[FileRecord, ...]


def page_name(edition: Edition, language: str) -> str:
    """Name the page of an edition."""
    return f"report{'-internal' * (edition == 'internal')}.{language}.html"


#: The names of the files that an edition may have: the numbers, then the pages.
FILES = {
    edition: (NUMBERS, *(page_name(edition, language) for language in LANGUAGES))
    for edition in EDITIONS
}


def is_draft(name: str) -> bool:
    """Tell whether a file is what a killed run left of a page or a manifest."""
    return _DRAFT.fullmatch(name) is not None


def place_of(folder: Path, edition: Edition) -> Path:
    """Give the folder of an edition inside a release; the two are never mixed."""
    return folder / edition


def make_pages(
    facts: ReleaseFacts,
    *,
    edition: Edition,
    languages: Sequence[str],
    hidden: Sequence[str],
    secret: Secret | None = None,
    linked: Sequence[str] | None = None,
) -> dict[str, Report]:
    """Make the pages of an edition, and look that the public ones give nothing away."""
    from reports import release_report

    beside = languages if linked is None else linked
    links = {language: page_name(edition, language) for language in beside}
    pages = {
        page_name(edition, language): release_report(
            facts, edition=edition, language=language, links=links
        )
        for language in languages
    }
    if edition == "public":
        for page in pages.values():
            require_clean(page, facts.public(), hidden=hidden, secret=secret)
    return pages


def write_report(
    facts: ReleaseFacts,
    folder: Path,
    *,
    languages: Sequence[str],
    hidden: Sequence[str],
    secret: Secret | None = None,
) -> ReportFiles:
    """Write both editions of a report into the folder of a release."""
    made = {
        edition: make_pages(
            facts, edition=edition, languages=languages, hidden=hidden, secret=secret
        )
        for edition in EDITIONS
    }
    records: dict[str, tuple[FileRecord, ...]] = {}
    for edition, pages in made.items():
        place = place_of(folder, edition)
        for name, page in pages.items():
            page.write(place / name)
        page.write(place / NUMBERS)
        names = [*pages, NUMBERS]
        records[edition] = tuple(record_file(place / name, name=name) for name in names)
    return ReportFiles(public=records["public"], internal=records["internal"])
