"""Designs that were compared, and where the design of the release lies among them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reports.facts import DesignFact, ScenarioFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ptable import PTable
    from risk.designs import MapDesign
    from risk.histogram import Histogram

__all__ = ["scenario_facts"]


def scenario_facts(
    designs: Mapping[str, MapDesign],
    histograms: Mapping[str, Histogram],
    *,
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
    histograms
        Name of a table → how many cells have each original count.
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
    >>> found = scenario_facts(
    ...     {"r5": Mechanism.rounding(5)},
    ...     {"t": Histogram.of([1, 2, 9])},
    ...     chosen=Mechanism.rounding(3).build(),
    ...     label="ours",
    ...     sensitive=[1],
    ... )
    >>> [(design.name, design.chosen) for design in found.designs]
    [('r5', False), ('ours', True)]
    """
    from risk.map import risk_utility_map
    from risk.map_catalogue import FIGURES
    from risk.map_result import EVERY_TABLE

    if not histograms:
        return None
    while label in designs:
        label += "*"
    tables = {
        f"{name} " if name == EVERY_TABLE else name: found for name, found in histograms.items()
    }
    found = risk_utility_map(
        {**designs, label: chosen},
        tables,
        rng=np.random.default_rng(0),
        sensitive=sensitive,
        n_draws=0,
        progress=progress,
    )
    front = set(found.pareto())
    return ScenarioFacts(
        designs=tuple(
            DesignFact(
                name=name,
                figures={figure: found.find(name, figure) for figure in FIGURES},
                front=name in front,
                chosen=name == label,
            )
            for name in found.designs
        ),
        refused=dict(found.refused),
    )
