"""A finished drawing within a page: ids of its own, and as wide as there is room."""

from __future__ import annotations

import re
from typing import Any

from ptable.errors import PTableError

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_HEAD = re.compile(
    r'(<svg [^>]*?)width="[\d.]+" height="[\d.]+"( [^>]*?aria-labelledby="([^"> ]+)-t [^>]*>)'
)


def in_page(svg: str, *, id_prefix: Any) -> str:
    """Prepare a finished drawing for a page that holds more of them.

    It fills the width of the element around it, whatever the screen, and keeps its
    proportions; a style sheet may limit it with ``max-width``.
    """
    if not isinstance(id_prefix, str) or not _NAME.fullmatch(id_prefix):
        raise PTableError(
            f"id_prefix must be letters, digits, '-' and '_', not {id_prefix!r}.",
            hint="begin with a letter, for example 'figure-3'",
        )
    head = _HEAD.match(svg)
    if head is None:
        raise PTableError("A picture of a page must be a drawing of this package.")
    fluid = f'{head[1]}width="100%"{head[2]}'
    return (fluid + svg[head.end() :]).replace(f"{head[3]}-", f"{id_prefix}-")
