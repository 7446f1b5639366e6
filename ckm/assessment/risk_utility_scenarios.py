"""Designs beside the p-table of a job, on one map: for comparisons and for reports."""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from ckm.engine.cell_histogram import CountHistogram
from footing.progress import Progress
from ptable import PTable
from reports.facts.release import DesignFact, ScenarioFacts
from risk.risk_map.catalogue import FIGURES
from risk.risk_map.designs import MapDesign, build_designs, keep_zeros
from risk.risk_map.result import EVERY_TABLE, RiskUtilityMap

#: The figures of the map, risk and loss: as the Handbook draws its R-U confidentiality map.
RISK, LOSS = "q_worst_set", "aad"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Scenarios:
    """Designs on one map of risk and utility; for inside.

    Parameters
    ----------
    map
        The figures of all designs.
    ptables
        Design → p-table, as it is published with: empty cells stay 0.
    chosen
        The design that is the job's own.
    """

    map: RiskUtilityMap
    ptables: Mapping[str, PTable]
    chosen: str

    def designs(self, table: str = EVERY_TABLE) -> tuple[DesignFact, ...]:
        """Give the figures of each design on a table; without draws, those with a formula."""
        front = set(self.map.pareto(risk=RISK, utility=LOSS, table=table))
        return tuple(
            DesignFact(
                name=line.design,
                figures={
                    name: number
                    for name, number in line.figures.items()
                    if self.map.n_draws or not FIGURES[name].is_drawn
                },
                front=line.design in front,
                chosen=line.design == self.chosen,
            )
            for line in self.map.lines
            if line.table == table
        )

    def facts(self) -> ScenarioFacts:
        """Give what a page says of the designs on all tables together."""
        return ScenarioFacts(
            designs=self.designs(), refused=dict(self.map.refused), risk=RISK, utility=LOSS
        )


def map_scenarios(
    designs: Mapping[str, MapDesign],
    count_histogram: CountHistogram,
    *,
    own: PTable,
    name: str,
    sensitive: Sequence[int],
    n_draws: int = 0,
    seed: int = 1,
    progress: Progress | None = None,
) -> Scenarios:
    """Map the risk and the utility of designs and of a p-table on the same cells.

    Figures of risk take all empty cells of the grids, figures of use those that the tables
    list. For all tables together, a cell that several of them show counts once.
    """
    from risk.risk_map.map import risk_utility_map

    while name in designs:
        name += "*"
    build = build_designs({**designs, name: own}, progress=progress)
    tables = {design: keep_zeros(table) for design, table in build.tables.items()}
    ptables, own_name = _chosen(tables, own=name)
    risk_map = risk_utility_map(
        ptables,
        count_histogram.tables,
        together=count_histogram.together,
        rng=np.random.default_rng(seed),
        sensitive=sensitive,
        n_draws=n_draws,
        progress=progress,
    )
    return Scenarios(
        map=dataclasses.replace(risk_map, refused=build.refused),
        ptables=ptables,
        chosen=own_name,
    )


def _chosen(tables: Mapping[str, PTable], *, own: str) -> tuple[dict[str, PTable], str]:
    """Put the job's own p-table first, or find it among the designs."""
    rest = {name: table for name, table in tables.items() if name != own}
    for name, table in rest.items():
        if _rows(table) == _rows(tables[own]):
            return rest, name
    return {own: tables[own], **rest}, own


def _rows(table: PTable) -> tuple[object, ...]:
    """Give what a p-table does, whatever it is called and however it was made."""
    rows = [sorted(table.units(count).items()) for count in range(table.n_rows)]
    return table.key_range, table.large_counts, table.step, rows
