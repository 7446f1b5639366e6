"""What a page says of the frontier of designs by limits, as plain numbers and names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

#: A title, or title by language.
Title: TypeAlias = str | Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class FiguresFact:
    """What a table tells and loses.

    Parameters
    ----------
    posterior, posterior_set
        The most that a published count tells of one sensitive count, and of all.
    loss
        Weighted by the first prior.
    neighbours
        The δ between positive counts one record apart.
    p_stay
        How often a count is published as it is, at most.
    least_variance, largest_variance
        Among the rows.
    """

    posterior: float
    posterior_set: float
    loss: float
    neighbours: float
    p_stay: float
    least_variance: float
    largest_variance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierPointFact:
    """A certified table of the frontier: its limit, and what any table loses at least."""

    limit: float
    bound: float
    figures: FiguresFact


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierDesignFact:
    """A design in use.

    Parameters
    ----------
    name
        What it is called; empty for the own one, which has no other name.
    figures
        Of its table.
    is_own
        Whether the frontier is drawn for it.
    exceeds
        Names of limits that it does not keep.
    least
        What any table within the limits that tells no more loses at least; None where none
        tells so little.
    alike
        The same of tables of its own reach that are no worse by any limit; None with bias.
    safer
        The least posterior among points that lose no more; None without any.
    cheaper
        The least loss among points that tell no more; None without any.
    """

    name: str
    figures: FiguresFact
    is_own: bool
    exceeds: tuple[str, ...] = ()
    least: float | None = None
    alike: float | None = None
    safer: float | None = None
    cheaper: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackedFact:
    """A design whose tables were attacked.

    Parameters
    ----------
    floor
        The least variance of rows of small counts; None for the own design.
    full_floor
        That of full rows.
    loss
        As along the frontier.
    audit, together, alone
        The largest share of small counts that the audit found; that from all tables, and that
        from the table of each alone. None where it was not tried: a formula ruled it out, or
        a design that loses less is as safe.
    error
        The standard error of the first, by the secrets that were drawn; None of one secret.
    differencing, averaging
        How often two nested cells, and many sums, give a count away.
    is_as_safe
        Whether none of the attacks finds more than is allowed; None where not all were tried.
    """

    floor: float | None
    full_floor: float | None
    loss: float
    audit: float | None
    together: float | None
    alone: float | None
    error: float | None
    differencing: float
    averaging: float
    is_as_safe: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttacksFact:
    """What attacks find with designs that lose less and less.

    Parameters
    ----------
    small
        Counts from 1 to this are small.
    n_secrets
        How many secrets were drawn for each design.
    allowed
        Attack → the share that it may find.
    is_stated
        Whether the share of the audit was stated; else it is that of the own design.
    is_entropy
        Whether the own design is that of the greatest entropy.
    designs
        The first is the own one.
    chosen
        The place of the design that loses least of those that are as safe.
    """

    small: int
    n_secrets: int
    allowed: Mapping[str, float]
    is_stated: bool
    is_entropy: bool
    designs: tuple[AttackedFact, ...]
    chosen: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierFacts:
    """The least loss by the worst posterior allowed, and designs beside it.

    Parameters
    ----------
    title
        Of the job; empty for none.
    version
        Of the engine.
    has_records
        Whether a prior comes from records.
    against
        ``"posterior"`` or ``"posterior_set"``.
    objective
        What is lost.
    priors
        Names of the priors, the one that weighs the loss first.
    max_noise, small, sensitive
        The largest noise, the largest count that is never published, the sensitive counts.
    limits
        Name of a limit that all points keep → it; None where rows differ.
    points, designs
        From the strictest limit to the loosest; the own design first.
    least_posterior
        No table tells less; None where nobody looked.
    planned, gaps
        Points that were planned, and limits at which whole keys had no room.
    attacks
        What attacks find; None where nobody tried.
    ptable
        The id of the own design's p-table, for inside; empty without one.
    """

    title: Title
    version: str
    has_records: bool
    against: str
    objective: str
    priors: tuple[str, ...]
    max_noise: int
    small: int
    sensitive: tuple[int, ...]
    limits: Mapping[str, float | None]
    points: tuple[FrontierPointFact, ...]
    designs: tuple[FrontierDesignFact, ...]
    least_posterior: float | None
    planned: int
    gaps: tuple[float, ...] = field(default=())
    attacks: AttacksFact | None = None
    ptable: str = ""
