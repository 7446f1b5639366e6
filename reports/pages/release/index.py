"""The first page of a release: its tables, their first rows and files, whatever the method."""

from typing import Any
from urllib.parse import quote

from reports.catalogues.pages import headings
from reports.facts.release import IndexFacts
from reports.i18n.languages import Words
from reports.pages.common import page_title, released
from reports.pages.release.released_tables import first_rows, list_of_tables
from reports.parts import Cell, Lines, Table


def index_page(words: Words, facts: IndexFacts) -> tuple[str, dict[str, Any]]:
    """Arrange the tables and files of a release for its readers."""
    return "index.html", {
        "title": page_title(words, words.text(facts.title), facts.id),
        "id": facts.id,
        "headings": headings(words, "index"),
        "released": released(words, facts.tables),
        "tables": list_of_tables(words, facts, has_anchors=True),
        "first_rows": first_rows(words, facts),
        "page": _own_page(words, facts),
        "whole": _whole(words, facts),
    }


def _own_page(words: Words, facts: IndexFacts) -> str:
    """Give the address of the page that explains the tables, in this language if it can be."""
    pages = [file.file for file in facts.pages if file.file.endswith(".html")]
    own = [name for name in pages if name.endswith(f".{words.language}.html")]
    return next((f"./{quote(name)}" for name in [*own, *pages]), "")


def _whole(words: Words, facts: IndexFacts) -> Table:
    """List the files that are about all tables."""
    files = [(file.file, _content(words, file.file)) for file in facts.pages]
    metadata = (
        words.say("Certificate: the guarantee, what it cost, and files with their SHA-256")
        if facts.is_private
        else words.say("Metadata: tables, columns, files and their SHA-256")
    )
    files.append((facts.manifest, metadata))
    return (
        Lines(words, files)
        .text("File", lambda line: Cell(text="", links=((line[0], f"./{quote(line[0])}"),)))
        .text("Content", lambda line: line[1])
        .table("whole-files", words.say("Files about all tables"))
    )


def _content(words: Words, name: str) -> str:
    if name.endswith(".fr.html"):
        return words.say("How the tables are protected and how to use them, in French")
    if name.endswith(".html"):
        return words.say("How the tables are protected and how to use them, in English")
    return words.say("The content of these pages, for programs")
