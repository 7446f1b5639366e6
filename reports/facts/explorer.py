"""What the page says on which designs of noise are tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

#: Noise and its probability, in a row of a p-table.
Row: TypeAlias = "Sequence[tuple[int, float]]"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownDesign:
    """A p-table that stands beside the design that is tried.

    Parameters
    ----------
    name
        What it is called.
    rows
        By count: each noise with its probability; the last serves larger counts.
    cycle
        How many of the last rows serve larger counts in turn.
    """

    name: str
    rows: Sequence[Row]
    cycle: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplorerFacts:
    """What a page for trying designs begins with.

    Parameters
    ----------
    version
        Of the program.
    start
        Where the controls stand at first: ``noise``, ``variance``, ``small``, ``stay``,
        ``sensitive``, ``posterior``, ``floor``.
    priors
        Name of the catalogue → the share of cells of count 0, 1, 2, ...
    designs
        P-tables in use.
    own
        The p-table of a job, if there is one.
    title
        Of the job; empty for none.
    has_records
        Whether a prior was counted from records.
    """

    version: str
    start: Mapping[str, float]
    priors: Mapping[str, Sequence[float]] = field(repr=False)
    designs: Sequence[ShownDesign] = ()
    own: ShownDesign | None = None
    title: str = ""
    has_records: bool = False
