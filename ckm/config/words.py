"""The words of job and service files: texts in both languages, and code lists."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from ckm.config.section import TextModel

#: Language → text; empty where nothing was said.
Texts: TypeAlias = dict[str, str]

LANGUAGES = ("en", "fr")


def texts_of(text: str | TextModel | None) -> Texts:
    """Return a text by language; one text serves both."""
    if text is None:
        return {}
    if isinstance(text, str):
        return dict.fromkeys(LANGUAGES, text)
    return {"en": text.en, "fr": text.fr}


def one_text(texts: Mapping[str, str]) -> str | Mapping[str, str]:
    """Return one text where all languages have the same, empty where nothing was said."""
    different = set(texts.values())
    return dict(texts) if len(different) > 1 else next(iter(different), "")


def read_codelist(path: Path, *, add: Callable[[str, str | None], None]) -> dict[str, Texts]:
    r"""Read a code list: code → what readers see, by language."""
    if not path.is_file():
        return {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error):
        rows = []
    if not rows or not {"code", *LANGUAGES} <= set(rows[0]):
        add("codelist must be a CSV file in UTF-8 with the columns code, en, fr.", None)
        return {}
    codes = [row["code"] for row in rows]
    if None in codes or len(set(codes)) < len(codes):
        add("codelist names a code twice, or none.", "give each code a line of its own")
        return {}
    return {
        row["code"]: {language: row[language] or row["code"] for language in LANGUAGES}
        for row in rows
    }
