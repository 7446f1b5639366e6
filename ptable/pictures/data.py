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
    """Write lines as an HTML table whose first column names each line.

    Parameters
    ----------
    caption
        What the table shows.
    names
        The names of the columns.
    lines
        The cells, line by line.

    Examples
    --------
    >>> html_table("Ages", ["who", "age"], [["<Ann>", "7"]])[-67:]
    '<tr><th scope="row">&lt;Ann&gt;</th><td>7</td></tr></tbody></table>'
    """
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
    """Name a picture after what it shows and after its table.

    Parameters
    ----------
    what
        What the picture shows.
    table
        The p-table.
    wording
        The language.

    Examples
    --------
    >>> from ptable import PTable
    >>> heading("Noise", PTable.from_units([{0: 8}], key_range=8, label="first"))
    'Noise: first'
    """
    if not table.label:
        return what
    named = wording.words("%(picture)s: %(ptable)s")
    return named % {"picture": what, "ptable": table.label}
