"""What a page says of all tables of a service or a release, as plain numbers and names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from reports.facts.release import Text

if TYPE_CHECKING:
    from risk.reconstruction.attributes import FoundAttributes, FoundGroups
    from risk.reconstruction.lattice import FoundZeros


@dataclass(frozen=True, slots=True, kw_only=True)
class PartFact:
    """Tables, or the cells of an area in them.

    Parameters
    ----------
    name
        In the words of the service file; empty for a total.
    n_tables, n_cells, n_small
        How many tables and cells are published, and how many of the cells hold small counts.
    alone, together
        How many of the small counts are found from the table of each alone, and from all.
    """

    name: str
    n_tables: int
    n_cells: int
    n_small: int
    alone: int
    together: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PointFact:
    """How many tables are asked for, and what is found of all small counts and of the first.

    Of the small counts of the tables asked for first, None before all of these are.
    """

    n_tables: int
    found: int
    found_first: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowthFact:
    """What is found, the more tables are asked for.

    Parameters
    ----------
    n_first, n_small_first
        The tables asked for first, and their small counts.
    seed
        Of the order of the tables.
    points
        From one table to all.
    """

    n_first: int
    n_small_first: int
    seed: int
    points: tuple[PointFact, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosureFact:
    """What is closed in a round of advice, what is published then, and the share found."""

    what: str
    n_tables: int
    n_cells: int
    n_small: int
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ExposureFacts:
    """What all tables of a service or of a release give away together.

    Parameters
    ----------
    title
        Of the service.
    version
        Of the engine.
    finished, digests
        When the audit ended; what it looked at → its digest.
    small, confidence
        Counts from 1 to `small` are small; the share of right guesses from which on somebody
        is sure.
    n_areas, n_areas_drawn, seed
        How many areas there are, and were drawn; of the draw.
    limit
        The largest share that may be found; None for none.
    largest_share
        The largest share found, of all tables, of those of one number of variables, or of
        `remaining`.
    zeros, groups
        Cells published as 0 that are named as occupied; cells of which a stranger says that all
        have one category.
    largest_zeros_share, attribute_share
        The largest share named of the occupied cells published as 0; the share of right
        statements, 0 of fewer than 100.
    zeros_limit, attribute_limit
        The largest of each that may be; None for none.
    unfinished
        The steps that a limit of CPU time cut short.
    interval, zeros_interval
        Of a sample, where the largest share of tables by area lies in all areas, at 95 %: of
        small counts found, and of occupied cells published as 0 that are named.
    whole
        All tables.
    guessed, sure, sure_wrong, certain
        How many cells are guessed to be small; of how many somebody is sure, and wrongly; of
        how many small ones no other count fits.
    remaining, differences
        Sets of records that no table shows, but that two tables differ by: all, and those of
        the pairs of tables of which most is found.
    persons
        Persons who are alone in a cell.
    sizes, variables
        Tables by the number of their variables, and those that show a variable.
    areas, tables
        Those of which most small counts are found.
    growth
        None where there are too few tables, or no small counts.
    advice
        What to close, round by round.
    noise
        What more and more noise leaves instead.
    release, left_out
        The tables of a release that were looked at, and those that were not. Of a service
        none, and the tables of its official jobs.
    drawn
        The areas that were drawn; empty where all were looked at.
    cautions
        What there is to say of the weighted counts and of the sums of a release.
    """

    title: Text
    version: str
    small: int
    confidence: float
    n_areas: int
    n_areas_drawn: int
    seed: int
    limit: float | None
    largest_share: float
    zeros: FoundZeros
    largest_zeros_share: float
    groups: FoundGroups
    attribute_share: float
    whole: PartFact
    guessed: int
    sure: int
    sure_wrong: int
    certain: int
    remaining: PartFact
    persons: FoundAttributes
    sizes: tuple[PartFact, ...]
    variables: tuple[PartFact, ...]
    areas: tuple[PartFact, ...]
    tables: tuple[PartFact, ...]
    differences: tuple[PartFact, ...] = ()
    growth: GrowthFact | None = None
    advice: tuple[ClosureFact, ...] = ()
    noise: tuple[ClosureFact, ...] = ()
    release: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    drawn: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    zeros_limit: float | None = None
    attribute_limit: float | None = None
    unfinished: tuple[str, ...] = ()
    interval: tuple[float, float] | None = None
    zeros_interval: tuple[float, float] | None = None
    finished: str = ""
    digests: dict[str, str] = field(default_factory=dict)

    @property
    def share_held(self) -> float:
        """The share that is held to the limit: of a sample the upper end of its interval."""
        return max(self.largest_share, *(self.interval or (0.0,)))

    @property
    def zeros_share_held(self) -> float:
        """The same of occupied cells published as 0."""
        return max(self.largest_zeros_share, *(self.zeros_interval or (0.0,)))

    @property
    def attribute_share_held(self) -> float:
        """The share of right statements that is held to its limit: all of them of a sample.

        What a sample of areas says of all areas has no interval there.
        """
        is_sample = self.n_areas_drawn < self.n_areas
        return 1.0 if is_sample else self.attribute_share

    @property
    def is_over(self) -> bool:
        """Whether the share is above the limit."""
        return self.limit is not None and self.share_held > self.limit
