"""Tables of HTML: what pictures hold and what notebooks show."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from footing.svg import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def html_table(caption: str, names: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Write lines as an HTML table whose first column names each line."""
    head = "".join(f'<th scope="col">{safe(name)}</th>' for name in names)
    body = "".join(
        f'<tr><th scope="row">{safe(first)}</th>'
        + "".join(f"<td>{safe(cell)}</td>" for cell in rest)
        + "</tr>"
        for first, *rest in lines
    )
    return (
        f"<table><caption>{safe(caption)}</caption>"
        + (f"<thead><tr>{head}</tr></thead>" if names else "")
        + f"<tbody>{body}</tbody></table>"
    )


def safe(text: str) -> str:
    """Write a text so that nothing in it is markup."""
    return html.escape(clean(text))
