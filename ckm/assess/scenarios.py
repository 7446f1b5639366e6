"""Designs that were compared, and where the design of the release lies among them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reports.facts import DesignFact, ScenarioFacts
from risk.histogram import Histogram

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ptable import PTable
    from risk.designs import MapDesign
    from risk.map_result import RiskUtilityMap

__all__ = ["scenario_facts"]

_RISK, _UTILITY = "q_worst", "hellinger_raw"


def scenario_facts(
    designs: Mapping[str, MapDesign],
    grids: Mapping[str, Histogram],
    *,
    shown: Mapping[str, Histogram],
    chosen: PTable,
    label: str,
    sensitive: Sequence[int],
    progress: Callable[[str, int, int], None] | None = None,
) -> ScenarioFacts | None:
    """Put designs and the p-table of a release on one map of risk and utility.

    The figures are expectations over all keys; those without a formula are left out.

    Parameters
    ----------
    designs
        Name → design.
    grids, shown
        Name of a table → how many cells have each original count, for figures of risk with
        all empty cells of the grid, for figures of use with those that the table lists.
    chosen
        The p-table of the release.
    label
        What it is called; where a design has that name, with an asterisk.
    sensitive
        The sensitive counts.
    progress
        As for `risk.map.risk_utility_map`.

    Examples
    --------
    >>> from ptable.mechanisms import Mechanism
    >>> from risk.histogram import Histogram
    >>> tables = {"t": Histogram.of([1, 2, 9])}
    >>> found = scenario_facts(
    ...     {"r5": Mechanism.rounding(5)},
    ...     tables,
    ...     shown=tables,
    ...     chosen=Mechanism.rounding(3).build(),
    ...     label="ours",
    ...     sensitive=[1],
    ... )
    >>> [(design.name, design.chosen) for design in found.designs]
    [('r5', False), ('ours', True)]
    """
    from risk.designs import build_designs

    if not shown:
        return None
    while label in designs:
        label += "*"
    built = build_designs({**designs, label: chosen}, progress=progress)
    figures = _figures(built.tables, grids=grids, shown=shown, sensitive=sensitive)
    front = _front(figures)
    return ScenarioFacts(
        designs=tuple(
            DesignFact(name=name, figures=found, front=name in front, chosen=name == label)
            for name, found in figures.items()
        ),
        refused=dict(built.refused),
        risk=_RISK,
        utility=_UTILITY,
    )


def _figures(
    tables: Mapping[str, PTable],
    *,
    grids: Mapping[str, Histogram],
    shown: Mapping[str, Histogram],
    sensitive: Sequence[int],
) -> dict[str, dict[str, float | None]]:
    """Compute the figures of each design on all tables together."""
    from risk.map import risk_utility_map
    from risk.map_catalogue import FIGURES
    from risk.map_result import EVERY_TABLE

    def mapped(histograms: Mapping[str, Histogram]) -> RiskUtilityMap:
        return risk_utility_map(
            tables,
            # One table of everything: no name of a table can be that of all of them.
            {"release": Histogram.together(histograms.values())},
            rng=np.random.default_rng(0),
            sensitive=sensitive,
            n_draws=0,
        )

    maps = {"risk": mapped(grids), "utility": mapped(shown)}
    return {
        name: {
            figure: maps[meaning.side].find(name, figure, table=EVERY_TABLE)
            for figure, meaning in FIGURES.items()
        }
        for name in tables
    }


def _front(figures: Mapping[str, Mapping[str, float | None]]) -> set[str]:
    """Find the designs that no other beats; less is better on both axes."""
    from risk.pareto import undominated

    names, points = [], []
    for name, found in figures.items():
        risk, loss = found[_RISK], found[_UTILITY]
        if risk is not None and loss is not None:
            names.append(name)
            points.append((risk, loss))
    return {names[place] for place in undominated(points)}
