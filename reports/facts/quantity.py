"""A named figure: what it is called, how much it is, how sure, and what limits it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reports.catalogues.wording import Kind
    from reports.facts.release import Outcome


@dataclass(frozen=True, slots=True)
class Quantity:
    """A figure of a list of figures, as plain numbers and words.

    Parameters
    ----------
    name
        What it is called: a message, or a name of the office.
    value
        How much it is, or a text; None where there is none.
    kind
        How the number is written.
    note
        What stands below the value, such as what it is a share of.
    meaning
        What it says: a message, below the name.
    subject
        What it is about, such as a group.
    low, high
        The ends of its interval; None where there is none.
    limit, outcome
        What the office allows, in words, and whether that is kept.

    Examples
    --------
    >>> Quantity("Rows", 3200, "count").value
    3200
    """

    name: str
    value: float | str | None
    kind: Kind = "plain"
    note: str = ""
    meaning: str = ""
    subject: str = ""
    low: float | None = None
    high: float | None = None
    limit: str = ""
    outcome: Outcome | None = None
