"""The risk-utility map: what designs of noise give away and cost, on one set of tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footing.messages import Message, Name, joined, said
from footing.progress import Progress
from ptable.table import PTable
from risk.distributions.band import Band
from risk.distributions.histogram import Histogram
from risk.errors import RiskError
from risk.risk_map.catalogue import FIGURES
from risk.risk_map.designs import MapDesign, build_designs, keep_zeros
from risk.risk_map.figures import (
    DRAWN,
    draw_keys,
    drawn_figures,
    own_figures,
    risk_figures,
    utility_figures,
)
from risk.risk_map.result import EVERY_TABLE, MapLine, RiskUtilityMap
from risk.wellformed import require_counts, require_whole


def risk_utility_map(
    designs: Mapping[str, MapDesign],
    tables: Mapping[str, ArrayLike | Histogram],
    *,
    rng: np.random.Generator,
    sensitive: Sequence[int] = (1, 2, 3, 4),
    together: Histogram | None = None,
    n_draws: int = 1,
    progress: Progress | None = None,
) -> RiskUtilityMap:
    """Compute what designs of noise give away and cost on a set of tables.

    Parameters
    ----------
    designs
        Name → p-table, `ptable.NoiseSpec`, `ptable.StackedSpec`, `ptable.Mechanism`, or what
        their ``to_dict`` gives. Those that are infeasible are listed with the reason.
    tables
        Name → original counts of the cells, in any shape, or their histogram. Figures of risk
        take all cells of a histogram, figures of use those that its table lists.
    rng
        Draws the keys; the same ones for every design, so that designs differ by themselves
        and not by chance.
    sensitive
        The sensitive original counts.
    together
        The cells of all tables together, where one that several tables show is to count once;
        by default the cells of all tables.
    n_draws
        How many times keys are drawn for the figures without a closed form; 0 leaves these
        out. For all tables together they are means over the tables, weighted by cells.
    progress
        Called with a stage (``"designs"``, ``"map"``), how much is done, how much there is.

    Notes
    -----
    The prior of the posteriors is the share of each count in the table itself, as an intruder
    who knew the table's histogram would have it. All figures but the drawn ones are exact
    expectations over uniform keys; `FIGURES` defines each. Empty cells stay 0, as in ckm.

    Examples
    --------
    >>> found = risk_utility_map(
    ...     {"D=2": {"max_noise": 2, "variance": 1.0}, "no": {"max_noise": 1, "variance": 3.0}},
    ...     {"t": [1, 2, 3, 8]},
    ...     rng=np.random.default_rng(1),
    ... )
    >>> found.designs, list(found.refused), round(found.find("D=2", "rmse"), 4)
    (('D=2',), ['no'], 1.0)
    """
    suspects = _suspects(sensitive)
    draws = require_whole(n_draws, name="n_draws")
    sheets = _sheets(tables, n_draws=draws, rng=rng)
    sheets[EVERY_TABLE] = _all_together(sheets, together)
    build = build_designs(designs, progress=progress)
    lines: list[MapLine] = []
    for done, (name, table) in enumerate(build.tables.items()):
        if progress is not None:
            progress("map", done, len(build.tables))
        lines += _lines(name, keep_zeros(table), sheets, suspects)
    if progress is not None:
        progress("map", len(build.tables), len(build.tables))
    return RiskUtilityMap(
        lines=tuple(lines),
        refused=build.refused,
        sensitive=tuple(suspects.tolist()),
        n_draws=draws,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class _Sheet:
    """One table: its histogram, and its cells with their keys where keys are drawn."""

    histogram: Histogram
    counts: NDArray[np.int64]
    keys: tuple[NDArray[np.uint32], ...]


def _suspects(sensitive: Sequence[int]) -> NDArray[np.int64]:
    numbers = list(sensitive) if isinstance(sensitive, range) else sensitive
    suspects = np.unique(require_counts(numbers, name="sensitive"))
    if not suspects.size or suspects[0] == 0:
        raise RiskError(
            Message("sensitive must list counts of at least 1."),
            hint=Message("for example (1, 2, 3, 4)"),
        )
    return suspects


def _sheets(
    tables: Mapping[str, ArrayLike | Histogram],
    *,
    n_draws: int,
    rng: np.random.Generator,
) -> dict[str, _Sheet]:
    problems = []
    if not tables:
        problems.append(Message("There must be at least one table."))
    if EVERY_TABLE in tables:
        problems.append(Message("A table must have a name: no name is all of them together."))
    sheets = {}
    for name, table in tables.items():
        try:
            histogram = table if isinstance(table, Histogram) else Histogram.of(table)
        except RiskError as error:
            problems.append(
                Message(
                    "Table {name!r}: {problem}", name=Name(name), problem=said(error.problem)
                )
            )
            continue
        counts = histogram.as_listed().listed() if n_draws else np.zeros(0, np.int64)
        keys = draw_keys(len(counts), n_draws=n_draws, rng=rng)
        sheets[name] = _Sheet(histogram=histogram, counts=counts, keys=keys)
    if problems:
        raise RiskError(joined(" ", problems))
    return sheets


def _all_together(sheets: Mapping[str, _Sheet], histogram: Histogram | None) -> _Sheet:
    cells = histogram or Histogram.together(sheet.histogram for sheet in sheets.values())
    return _Sheet(histogram=cells, counts=np.zeros(0, np.int64), keys=())


def _lines(
    design: str, table: PTable, sheets: Mapping[str, _Sheet], suspects: NDArray[np.int64]
) -> list[MapLine]:
    band = Band.of(table)
    own = own_figures(band)
    lines: list[MapLine] = []
    for name, sheet in sheets.items():
        figures = own | risk_figures(band, sheet.histogram, sensitive=suspects)
        figures |= utility_figures(band, sheet.histogram.as_listed())
        if name == EVERY_TABLE:
            figures |= {figure: _pooled(lines, sheets, figure) for figure in DRAWN}
        else:
            figures |= drawn_figures(table, sheet.counts, keys=sheet.keys)
        ordered = MappingProxyType({figure: figures[figure] for figure in FIGURES})
        lines.append(
            MapLine(design=design, table=name, n_cells=sheet.histogram.n_cells, figures=ordered)
        )
    return lines


def _pooled(
    lines: Sequence[MapLine], sheets: Mapping[str, _Sheet], figure: str
) -> float | None:
    pairs = [
        (value, sheets[line.table].histogram.as_listed().n_cells)
        for line in lines
        if (value := line.figures[figure]) is not None
    ]
    if not pairs:
        return None
    values, cells = zip(*pairs, strict=True)
    return float(np.average(values, weights=cells))
