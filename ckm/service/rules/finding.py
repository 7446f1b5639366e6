"""What a rule found against a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A rule that does not hold.

    Parameters
    ----------
    rule
        Its name, which is the reason code of a refusal.
    dimension
        The variable it speaks of, if one.
    tries
        Keys of the words that say what to try instead.
    filled
        What the words name: limits, and facts of the request's shape. Never a count.
    """

    rule: str
    dimension: str | None = None
    tries: tuple[str, ...] = ()
    filled: Mapping[str, Any] = field(default_factory=dict)
