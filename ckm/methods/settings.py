"""The parameters of every method that a job can ask for; sections of files become these."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ckm.engine.magnitudes import MagnitudeNoise
    from ptable import PTable
    from tables import CodeTree
    from tables.swapping.plan import SwapPlan

#: A table of which more is hidden is hardly a table: somebody has to want it.
LARGEST_HIDDEN_SHARE = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseSettings:
    """The noise of counts, and that of amounts.

    Parameters
    ----------
    ptable
        The p-table of counts.
    noises
        Variable → the noise of its sums.
    """

    ptable: PTable
    noises: Mapping[str, MagnitudeNoise] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdditivitySettings:
    """What decides which table is the nearest that adds up.

    Parameters
    ----------
    max_noise
        The largest noise of a count before this step.
    base
        What numbers stay multiples of.
    trees
        Dimension → its code tree, for those that have one.
    total_label
        What totals are called.
    """

    max_noise: int
    base: int = 1
    trees: Mapping[str, CodeTree] = field(default_factory=dict)
    total_label: str = "Total"

    @classmethod
    def of(
        cls, ptable: PTable, *, hierarchies: Mapping[str, Any], total_label: str
    ) -> AdditivitySettings:
        """Return the settings after the noise of a p-table; code trees are read at once."""
        from ptable.lookup import rounding_base
        from tables import CodeTree

        trees = {
            name: CodeTree.read(nesting if isinstance(nesting, Path) else Path(nesting["tree"]))
            for name, nesting in hierarchies.items()
            if not isinstance(nesting, list)
        }
        return cls(
            max_noise=ptable.max_noise,
            base=rounding_base(ptable),
            trees=trees,
            total_label=total_label,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundingSettings:
    """What counts are rounded to.

    Parameters
    ----------
    base
        Published numbers are multiples of it.
    bound
        How far a number may lie from the true count; None for less than the base.
    exact
        Find the table that deviates least, if it is small.
    counts
        Round all counts, or the small ones alone: groups of records below the base.
    limit_s
        When the search for such a table ends.
    """

    base: int
    bound: int | None = None
    exact: bool = False
    counts: Literal["all", "small"] = "all"
    limit_s: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SwapSettings:
    """Which households change places.

    Parameters
    ----------
    plan
        Who moves, and where to.
    seed
        What decides instead of a secret.
    """

    plan: SwapPlan
    seed: int | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticSettings:
    """Which records stand in place of the true ones.

    Parameters
    ----------
    path
        Their file.
    """

    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRule:
    """Passive confidentiality: cells are unsafe whose contributor asked for protection.

    Parameters
    ----------
    column
        Of records: whether the contributor asked.
    percent
        The contributor's share of the total, from which on a cell is unsafe.
    """

    column: str | None = None
    percent: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CellsFile:
    """A file of what is known of cells beforehand.

    Parameters
    ----------
    path
        The ``.hst`` of tau-ARGUS, or CSV with a header.
    table, measure
        The table whose cells it names, and the measure that is meant; None for all.
    unknown
        Whether lines of cells that are not there are refused; None for what holds elsewhere.
    """

    path: Path
    table: str
    measure: str | None = None
    unknown: Literal["refuse", "ignore"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSetting:
    """What the office says of a link between columns or tables.

    Parameters
    ----------
    equation
        Variables that belong together: ``"turnover = costs + profit"``.
    tables
        Two tables with records in common.
    holds
        Whether readers are taken to know it.
    """

    equation: str | None = None
    tables: tuple[str, ...] = ()
    holds: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SuppressionSettings:
    """Which cells are unsafe, and how others are chosen to protect them.

    Parameters
    ----------
    threshold
        Cells of fewer contributors are unsafe.
    margin
        Protection of such cells of amounts, per cent.
    dominance, p_percent, prior_posterior
        The nk rule, the p % rule and the p-q rule (posterior, prior).
    request
        Cells are unsafe whose contributor asked.
    zero_margin
        Sums of 0 over records are unsafe, and kept so wide.
    holding
        Column of the holding that a record belongs to.
    coalition
        How many contributors may join what they know.
    prior
        Within what readers know every number beforehand: below, above, per cent.
    costs
        What it costs to hide a cell: ``"value"``, ``"one"``, a measure, or the square root of
        the sum of a variable, ``"sqrt:jobs"``.
    cells
        Files that call cells safe, unsafe or protected.
    unknown
        Whether what is said of cells that are not there is refused or ignored.
    keep, prefer
        Cells that are published, and that are hidden before others: dimension → category.
    previous
        The folder of an earlier release, whose hidden cells are preferred.
    preferred_cost, zero_cost
        What it costs to hide a preferred cell, as a share, and a cell of 0.
    links
        What the office says of links that readers may see.
    shadow
        Variable → the variable that rules read instead of it.
    method, limit_s
        How secondary cells are chosen, and when the search stops.
    largest_hidden_share
        How much of the value of a table's inner cells may be hidden, as a share.
    audit
        Compute what readers can work out of each hidden cell.
    public_counts
        Publish counts of cells whose sums are hidden, which everybody then knows.
    """

    threshold: int | None = None
    margin: float = 10.0
    dominance: tuple[int, float] | None = None
    p_percent: float | None = None
    prior_posterior: tuple[float, float] | None = None
    request: RequestRule | None = None
    zero_margin: float | None = None
    holding: str | None = None
    coalition: int = 1
    prior: tuple[float, float] | None = None
    costs: str = "value"
    cells: Sequence[CellsFile] = ()
    unknown: Literal["refuse", "ignore"] = "refuse"
    keep: Sequence[Mapping[str, str]] = ()
    prefer: Sequence[Mapping[str, str]] = ()
    previous: Path | None = None
    preferred_cost: float = 0.01
    zero_cost: float | None = None
    links: Sequence[LinkSetting] = ()
    shadow: Mapping[str, str] = field(default_factory=dict)
    method: Literal["auto", "exact", "sequential"] = "auto"
    limit_s: float = 600.0
    largest_hidden_share: float = LARGEST_HIDDEN_SHARE
    audit: bool = True
    #: no key of the section: an entry of [[report.exceptions]] says it, who and why
    public_counts: bool = field(default=False, metadata={"section": "report.exceptions"})

    def record(self, text_of: Callable[[Path], str]) -> dict[str, Any]:
        """Return the settings for a manifest, paths as people wrote them."""
        files = [_values(file) | {"path": text_of(file.path)} for file in self.cells]
        previous = None if self.previous is None else text_of(self.previous)
        request = None if self.request is None else _values(self.request)
        links = [_values(link) for link in self.links]
        return _values(self) | {
            "cells": files,
            "previous": previous,
            "request": request,
            "links": links,
        }


def _values(settings: Any) -> dict[str, Any]:
    return {each.name: getattr(settings, each.name) for each in fields(settings)}
