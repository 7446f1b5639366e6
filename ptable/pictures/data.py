"""The figures of a picture as an HTML table, and its usual heading."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from footing.svg import clean
from ptable.pictures.words import ENGLISH, Wording

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ptable.table import PTable


def html_table(caption: str, names: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Write lines as an HTML table whose first column names each line."""
    head = "".join(f'<th scope="col">{_safe(name)}</th>' for name in names)
    body = "".join(
        f'<tr><th scope="row">{_safe(first)}</th>'
        + "".join(f"<td>{_safe(cell)}</td>" for cell in rest)
        + "</tr>"
        for first, *rest in lines
    )
    return (
        f"<table><caption>{_safe(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>"
    )


def _safe(text: str) -> str:
    return html.escape(clean(text))


def heading(what: str, table: PTable, *, wording: Wording = ENGLISH) -> str:
    """Name a picture after what it shows and after its table."""
    if not table.label:
        return what
    named = wording.words("%(picture)s: %(ptable)s")
    return named % {"picture": what, "ptable": table.label}
