"""A finished report: one page, its numbers, and files inside the page."""

from __future__ import annotations

import base64
import html as escaping
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from footing.files import csv_text, write_whole
from footing.messages import Message, Name
from footing.serialisation import document
from reports.errors import ReportError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from reports.facts.checking import Facts

#: Who a report is for.
Edition: TypeAlias = Literal["internal", "public"]
#: Language → the file of the same report in it, in the same folder.
Links: TypeAlias = "Mapping[str, str] | None"

#: A spreadsheet takes a text that begins so for a formula.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")
_TYPES = {"csv": "text/csv", "json": "application/json"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A page complete in itself: no script, no style sheet, nothing fetched.

    Parameters
    ----------
    edition
        ``"internal"`` or ``"public"``.
    language
        The code of its language.
    title
        Its heading.
    html
        The page.
    facts
        What it shows; only what the edition may know.

    Examples
    --------
    >>> from reports import make_report
    >>> from reports.facts.release import PublicFacts
    >>> facts = PublicFacts(
    ...     id="2027-03",
    ...     title="Jobseekers",
    ...     date="2027-03-15",
    ...     contact="",
    ...     version="0.1.0",
    ...     ptable_label="",
    ...     checks={"noise-bound": "passed"},
    ...     tables=(),
    ... )
    >>> report = make_report(facts, edition="public", language="fr")
    >>> report
    Report('Jobseekers', public, fr)
    >>> '<html lang="fr"' in report.html
    True
    """

    edition: Edition
    language: str
    title: str
    html: str = field(repr=False)
    facts: Facts = field(repr=False, compare=False)

    def __repr__(self) -> str:
        return f"Report({self.title!r}, {self.edition}, {self.language})"

    def to_json(self) -> str:
        """Give every number of the page as JSON; it is the same in every language.

        Examples
        --------
        >>> from reports import make_report
        >>> from reports.facts.release import PublicFacts
        >>> facts = PublicFacts(
        ...     id="2027-03",
        ...     title="",
        ...     date="",
        ...     contact="",
        ...     version="0.1.0",
        ...     ptable_label="",
        ...     checks={},
        ...     tables=(),
        ... )
        >>> print(make_report(facts, edition="public", language="en").to_json()[:41])
        {
         "edition": "public",
         "id": "2027-03",
        """
        facts = {member.name: getattr(self.facts, member.name) for member in fields(self.facts)}
        return document({"edition": self.edition, **facts}, message=Message.to_dict)

    def write(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the page, or its numbers, to a file: all or nothing.

        Parameters
        ----------
        path
            A name ending in ``.html`` or ``.json``.
        overwrite
            Whether a file of that name may be replaced.

        Examples
        --------
        >>> from reports import make_report
        >>> from reports.facts.release import PublicFacts
        >>> facts = PublicFacts(
        ...     id="",
        ...     title="",
        ...     date="",
        ...     contact="",
        ...     version="0.1.0",
        ...     ptable_label="",
        ...     checks={},
        ...     tables=(),
        ... )
        >>> try:
        ...     make_report(facts, edition="public", language="en").write("report.pdf")
        ... except ReportError as error:
        ...     print(error)
        A report is written to .html or .json, not '.pdf'.
          hint: print the page to PDF in a browser
        """
        target = Path(path)
        form = target.suffix.lower()
        if form not in {".html", ".json"}:
            raise ReportError(
                Message(
                    "A report is written to .html or .json, not {suffix!r}.",
                    suffix=Name(target.suffix),
                ),
                hint=Message("print the page to PDF in a browser"),
            )
        text = self.to_json() if form == ".json" else self.html
        is_private = self.edition != "public"
        write_whole(target, text, error=ReportError, overwrite=overwrite, is_private=is_private)

    def _repr_html_(self) -> str:
        title = escaping.escape(self.title)
        return (
            f'<iframe title="{title}" sandbox="" srcdoc="{escaping.escape(self.html)}" '
            'style="width:100%;height:40em;border:1px solid #888"></iframe>'
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """A file inside a page: its name, and the link that holds it."""

    file: str
    link: str


def as_csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write rows as comma-separated text; nothing in it starts a formula."""
    return csv_text([columns, *(map(_entry, row) for row in rows)])


def download(file: str, content: str) -> Download:
    """Put a file into a link."""
    kind = _TYPES[file.rpartition(".")[2]]
    text = base64.b64encode(content.encode("utf-8")).decode("ascii")
    return Download(file=file, link=f"data:{kind};charset=utf-8;base64,{text}")


def facts_file(file: str, facts: Facts) -> Download:
    """Put every number of facts into a link to a JSON file, messages with their templates."""
    return download(file, document(facts, indent=None, message=Message.to_dict))


def _entry(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, str) and value.startswith(_FORMULAS):
        return f"'{value}"
    return value
