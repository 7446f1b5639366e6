"""The pages of a release in two editions, their numbers, and a check that they leak nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ckm.errors import CheckFailedError
from ckm.methods.internal_files import record_file
from footing import drafts
from footing.messages import Message, Name, said
from reports.facts.parts import walk

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from reports import Mark, Report
    from reports.facts.release import FileFact, PublicFacts, ReleaseFacts
    from tables import Secret

_FEWEST_LETTERS = 8
_MAX_SHOWN = 5
Edition: TypeAlias = Literal["internal", "public"]

#: The name of the file with all numbers of an edition.
NUMBERS = "report.json"
#: The languages of the pages.
LANGUAGES = ("en", "fr")
EDITIONS: tuple[Edition, ...] = ("public", "internal")

_DRAFT = re.compile(r"\.(report|manifest)[a-z.-]*\.[0-9a-f]{8}\.tmp\.(html|json)")


def hidden_texts(facts: ReleaseFacts, *, more: Iterable[str] = ()) -> tuple[str, ...]:
    """List what must stay inside: identifiers, hashes, times, and if given more.

    Numbers need no list: `reports.scan` marks every number that is not known to everybody.
    """
    reproduction = facts.reproduction
    texts = [
        facts.noise.ptable_id,
        reproduction.job.sha256,
        *(file.sha256 for file in reproduction.inputs),
        reproduction.started,
        reproduction.finished,
        *more,
    ]
    public = {file.sha256 for table in facts.tables for file in table.files}
    return tuple(
        text
        for text in dict.fromkeys(texts)
        if len(text) >= _FEWEST_LETTERS and text not in public
    )


def hidden_of_inputs(inputs: Iterable[FileFact], folder: Path) -> tuple[str, ...]:
    """List what must stay inside of any release: the folder and hashes of its inputs."""
    texts = [str(folder), *(file.sha256 for file in inputs)]
    return tuple(text for text in dict.fromkeys(texts) if len(text) >= _FEWEST_LETTERS)


class LeakCheck:
    """Looks that nothing public holds what must stay inside.

    Parameters
    ----------
    facts
        All that anybody may know of the release.
    hidden
        Texts that must stay inside.
    secret
        The secret of the record keys, where the release has one.
    """

    def __init__(
        self, facts: PublicFacts, *, hidden: Collection[str], secret: Secret | None = None
    ) -> None:
        self._facts, self._hidden, self._secret = facts, hidden, secret

    def about(self, facts: PublicFacts) -> LeakCheck:
        """Give a check for the same texts and secret on a page of other facts."""
        return LeakCheck(facts, hidden=self._hidden, secret=self._secret)

    def require_clean_page(self, page: Report) -> None:
        """Raise where a public page holds what must stay inside."""
        contents = (page.html, page.to_json())
        marks = sum(len(self._marks(text)) + self._has_secret(text) for text in contents)
        if marks:
            raise _failed(Message("a public page"), marks, self._guilty(walk(self._facts)))

    def require_clean(self, content: Mapping[str, object], *, what: str) -> None:
        """Raise where a public file holds a text that must stay inside."""
        texts = [(place, text) for place, text in walk(content) if isinstance(text, str)]
        if self._is_guilty("\n".join(text for _, text in texts)):
            guilty = self._guilty(texts)
            raise _failed(what, len(guilty), guilty)

    def _guilty(self, texts: Iterable[tuple[str, object]]) -> list[str]:
        """Name the places of texts that hold what must stay inside."""
        return [
            place for place, text in texts if isinstance(text, str) and self._is_guilty(text)
        ]

    def _is_guilty(self, text: str) -> bool:
        return self._has_secret(text) or any(m.kind == "forbidden" for m in self._marks(text))

    def _has_secret(self, text: str) -> bool:
        return self._secret is not None and self._secret.is_in(text)

    def _marks(self, text: str) -> Sequence[Mark]:
        from reports import scan

        return scan(text, self._facts, forbidden=self._hidden)


def _failed(what: str, marks: int, guilty: Sequence[str]) -> CheckFailedError:
    listing: list[Any] = [
        *map(said, guilty[:_MAX_SHOWN]),
        *[Name("…")] * (len(guilty) > _MAX_SHOWN),
    ]
    way = Message("take the secret, the folder or the hash out of: {places}", places=listing)
    return CheckFailedError(
        Message(
            "The release check 'public-scan' failed (found marks {marks}): {what} "
            "would hold what must stay inside; nothing was published.",
            marks=marks,
            what=said(what),
        ),
        hint=way
        if guilty
        else Message("no text of the job holds it: please report this message"),
    )


def page_name(edition: Edition, language: str) -> str:
    """Name the page of an edition."""
    return f"report{'-internal' * (edition == 'internal')}.{language}.html"


#: The names of the files that an edition may have: the numbers, then the pages.
FILES = {
    edition: (NUMBERS, *(page_name(edition, language) for language in LANGUAGES))
    for edition in EDITIONS
}

#: The names of the overviews of a suppression, in either edition.
OVERVIEWS = ("overview.json", *(f"overview.{language}.html" for language in LANGUAGES))


def is_draft(name: str) -> bool:
    """Tell whether a file is what a killed run left of a page or a manifest."""
    return _DRAFT.fullmatch(name) is not None or drafts.is_draft(name)


def place_of(folder: Path, edition: Edition) -> Path:
    """Give the folder of an edition inside a release; the two are never mixed."""
    return folder / edition


def make_pages(
    facts: ReleaseFacts,
    *,
    edition: Edition,
    languages: Sequence[str],
    leaks: LeakCheck,
    linked: Sequence[str] | None = None,
    is_full: bool = False,
) -> dict[str, Report]:
    """Make the pages of an edition, and look that the public ones give nothing away."""
    from reports import make_report

    beside = languages if linked is None else linked
    links = {language: page_name(edition, language) for language in beside}
    pages = {
        page_name(edition, language): make_report(
            facts, edition=edition, language=language, links=links, is_full=is_full
        )
        for language in languages
    }
    if edition == "public":
        for page in pages.values():
            leaks.require_clean_page(page)
    return pages


def write_report(
    facts: ReleaseFacts,
    folder: Path,
    *,
    languages: Sequence[str],
    leaks: LeakCheck,
    is_full: bool = False,
) -> dict[Edition, tuple[FileFact, ...]]:
    """Write both editions of a report into the folder of a release; tell their files."""
    pages_by_edition = {
        edition: make_pages(
            facts, edition=edition, languages=languages, leaks=leaks, is_full=is_full
        )
        for edition in EDITIONS
    }
    records: dict[Edition, tuple[FileFact, ...]] = {}
    for edition, pages in pages_by_edition.items():
        place = place_of(folder, edition)
        for name, page in pages.items():
            page.write(place / name)
        page.write(place / NUMBERS)
        names = [*pages, NUMBERS]
        records[edition] = tuple(record_file(place / name, name=name) for name in names)
    return records
