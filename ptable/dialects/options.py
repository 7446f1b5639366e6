"""What readers and writers are told besides the file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptable.dialects.numbers import Boundary


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a reader is told besides the file; None follows from the file.

    Parameters
    ----------
    boundary, key_range, digits, large_counts, anchors, small_n
        As for `read_tables`.
    """

    boundary: Boundary = "[)"
    key_range: int | None = None
    digits: int | None = None
    large_counts: str | None = None
    anchors: bool = False
    small_n: int = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """What a writer is told besides the tables.

    Parameters
    ----------
    digits, small_n
        As for `write_tables`.
    """

    digits: int | None = None
    small_n: int = 10
