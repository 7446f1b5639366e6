"""The numbers of a page as files inside the page: no network, no script."""

from __future__ import annotations

import base64
import csv
import io
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reports.report import plain_facts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: A spreadsheet takes a text that begins so for a formula.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")
_TYPES = {"csv": "text/csv", "json": "application/json"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """A file inside a page: its name, and the link that holds it."""

    file: str
    link: str


def as_csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write rows as comma-separated text; nothing in it starts a formula."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_entry(value) for value in row] for row in rows)
    return text.getvalue()


def as_json(facts: Any) -> str:
    """Write every number of facts as JSON."""
    return json.dumps(plain_facts(facts), ensure_ascii=False, allow_nan=False)


def download(file: str, content: str) -> Download:
    """Put a file into a link."""
    kind = _TYPES[file.rpartition(".")[2]]
    packed = base64.b64encode(content.encode("utf-8")).decode("ascii")
    return Download(file=file, link=f"data:{kind};charset=utf-8;base64,{packed}")


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
