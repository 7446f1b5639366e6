"""Collect the messages of pages and commands, update their translations, and compile them.

``python -m tests.messages`` does all three. New messages wait in the ``.po`` files with
an empty translation; nothing is guessed.
"""

from __future__ import annotations

import io
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from footing.data_files import read_data
from reports.i18n.languages import LANGUAGES, LOCALE
from tests.messages.commands import command_messages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from babel.messages.catalog import Catalog

_ROOT = Path(__file__).parents[2] / "reports"
_DOMAIN = "reports"
_KEYWORDS: dict[str, Any] = {
    "mark": None,
    "say": None,
    "text": None,
    "number": None,
    "say_many": (1, 2),
    "gettext": None,
    "ngettext": (1, 2),
}
_METHODS = [("templates/**.html", "jinja2"), ("**.py", "python")]
_OPTIONS = {"templates/**.html": {"trimmed": "true", "silent": "false"}}
#: Catalogues carry no time of their making, so that the same words are the same bytes.
_DATE = datetime(2026, 1, 1, tzinfo=UTC)
#: Lines of a head that only say which program wrote it, and when.
_HEADERS = tuple(
    f'"{name}:'
    for name in (
        "Project-Id-Version",
        "Report-Msgid-Bugs-To",
        "POT-Creation-Date",
        "PO-Revision-Date",
        "Last-Translator",
        "Language-Team",
        "Generated-By",
    )
)

#: Fields whose texts are names for programs, or stay in their own language.
_NO_WORDS = frozenset(
    {"better", "claim", "good", "group", "kind", "kinds", "references", "slides"}
)


def extracted() -> Catalog:
    """Collect the messages of templates, modules and lists of words."""
    from babel.messages.catalog import Catalog
    from babel.messages.extract import extract_from_dir

    found = Catalog(project="ckm-engine", charset="utf-8", creation_date=_DATE)
    messages = extract_from_dir(
        _ROOT, _METHODS, _OPTIONS, keywords=_KEYWORDS, comment_tags=("claim ",)
    )
    for file, _, message, comments, context in sorted(messages, key=lambda line: line[:2]):
        # The claim of the assurance case that a promising message belongs to; see CONTRIBUTING.
        claims = [f"claim {text.removeprefix('claim').strip()}" for text in comments]
        found.add(message, None, [(f"reports/{file}", 1)], (), claims, context=context)
    for path in sorted((_ROOT / "catalogues").glob("*.toml")):
        for text, claim in messages_in(read_data("reports.catalogues", path.name)):
            place = (f"reports/catalogues/{path.name}", 1)
            found.add(text, None, [place], (), [f"claim {claim}"] if claim else [])
    return found


def messages_in(value: Any, claim: str = "") -> Iterator[tuple[str, str]]:
    """Give the words of a file that are translated, each with its claim."""
    if isinstance(value, str):
        yield value, claim
    elif isinstance(value, list):
        for part in value:
            yield from messages_in(part, claim)
    elif isinstance(value, dict):
        for key, part in value.items():
            if key not in _NO_WORDS:
                yield from messages_in(part, value.get("claim", claim))


def catalogues() -> dict[str, Catalog]:
    """Collect all messages: domain → those of pages, and of commands."""
    from babel.messages.catalog import Catalog

    found = {_DOMAIN: extracted()}
    shown = {message.id for message in found[_DOMAIN]}
    for domain, texts in command_messages(shown).items():
        found[domain] = Catalog(project="ckm-engine", charset="utf-8", creation_date=_DATE)
        for text, place in texts.items():
            found[domain].add(text, None, [(place, 1)])
    return found


def updated(language: str, domain: str, messages: Catalog) -> str:
    """Give the ``.po`` file of a language with all messages of today and none of yesterday."""
    from babel.messages.catalog import Catalog
    from babel.messages.pofile import read_po, write_po

    file = LOCALE / language / "LC_MESSAGES" / f"{domain}.po"
    catalog = Catalog(locale=language)
    if file.is_file():
        with file.open("rb") as stream:
            catalog = read_po(stream, locale=language, domain=domain)
    catalog.header_comment = f"# Translations of {domain}: {LANGUAGES[language]}."
    catalog.fuzzy = False
    catalog.update(messages, no_fuzzy_matching=True, update_creation_date=False)
    catalog.creation_date = catalog.revision_date = _DATE
    catalog.obsolete.clear()
    written = io.BytesIO()
    write_po(written, catalog, width=96, include_lineno=False)
    lines = written.getvalue().decode("utf-8").splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(_HEADERS))


def compiled(file: Path) -> bytes:
    """Compile a ``.po`` file."""
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    with file.open("rb") as stream:
        catalog = read_po(stream, locale=file.parents[1].name)
    catalog.creation_date = _DATE
    written = io.BytesIO()
    write_mo(written, catalog)
    return written.getvalue()


def main() -> None:
    """Bring every language up to date."""
    found = catalogues()
    for language in LANGUAGES:
        if language == "en":
            continue
        folder = LOCALE / language / "LC_MESSAGES"
        folder.mkdir(parents=True, exist_ok=True)
        for domain, messages in found.items():
            text = updated(language, domain, messages)
            (folder / f"{domain}.po").write_text(text, encoding="utf-8", newline="\n")
        for file in sorted(folder.glob("*.po")):
            file.with_suffix(".mo").write_bytes(compiled(file))
