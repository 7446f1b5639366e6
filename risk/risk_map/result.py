"""What a risk-utility map found: figures per design and table, and which designs stand out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from footing.messages import Message, Name, said
from risk.errors import RiskError
from risk.risk_map.catalogue import FIGURES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd


#: What the cells of all tables together are called; no table is named so.
EVERY_TABLE = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MapLine:
    """The figures of one design on one table.

    Parameters
    ----------
    design
        The name of the design.
    table
        The name of the table; empty for the cells of all tables together.
    n_cells
        The number of cells, empty ones included.
    figures
        Name → figure, in the order of `FIGURES`; None where it is not defined.

    Examples
    --------
    >>> MapLine(design="r3", table="", n_cells=2, figures={"aad": 0.5}).figures["aad"]
    0.5
    """

    design: str
    table: str
    n_cells: int
    figures: Mapping[str, float | None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RiskUtilityMap:
    """Compare designs by what they give away and what they cost; for inside.

    The figures follow from original counts and parameters of the noise: aggregates, but not
    for publication.

    Parameters
    ----------
    lines
        One per design and table, and one per design for all tables together.
    refused
        Design → why there is no such p-table.
    sensitive
        The sensitive counts.
    n_draws
        How many times keys were drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from ptable import Mechanism
    >>> from risk import risk_utility_map
    >>> found = risk_utility_map(
    ...     {"r3": Mechanism.rounding(3), "r5": Mechanism.rounding(5)},
    ...     {"t": [1, 2, 3, 8]},
    ...     rng=np.random.default_rng(1),
    ... )
    >>> found
    RiskUtilityMap(2 designs, 1 table)
    """

    lines: tuple[MapLine, ...]
    refused: Mapping[str, str]
    sensitive: tuple[int, ...]
    n_draws: int

    @property
    def designs(self) -> tuple[str, ...]:
        """The names of the designs that have figures.

        Examples
        --------
        >>> import numpy as np
        >>> from ptable import Mechanism
        >>> from risk import risk_utility_map
        >>> rng = np.random.default_rng(1)
        >>> risk_utility_map({"r3": Mechanism.rounding(3)}, {"t": [1]}, rng=rng).designs
        ('r3',)
        """
        return tuple(line.design for line in self.lines if line.table == EVERY_TABLE)

    def find(self, design: str, figure: str, *, table: str = EVERY_TABLE) -> float | None:
        """Find one figure; None where it is not defined.

        Parameters
        ----------
        design, figure, table
            Their names.

        Examples
        --------
        >>> import numpy as np
        >>> from ptable import Mechanism
        >>> from risk import risk_utility_map
        >>> rng = np.random.default_rng(1)
        >>> found = risk_utility_map({"r3": Mechanism.rounding(3)}, {"t": [1, 2]}, rng=rng)
        >>> found.find("r3", "aad")
        1.0
        """
        _require_figures(figure=figure)
        for line in self.lines:
            if (line.design, line.table) == (design, table):
                return line.figures[figure]
        refusal = self.refused.get(design)
        why = Message(".") if refusal is None else Message(": {refusal}", refusal=said(refusal))
        raise RiskError(
            Message(
                "There are no figures of design {design!r} on table {table!r}{why}",
                design=Name(design),
                table=Name(table),
                why=why,
            ),
            hint=Message("designs lists what has figures, refused the rest"),
        )

    def pareto(
        self, *, risk: str = "q_worst", utility: str = "hellinger_raw", table: str = EVERY_TABLE
    ) -> tuple[str, ...]:
        """List the designs that no other one beats, from the least risk on.

        A design beats another when it is no worse in both figures and better in one. Designs
        for which a figure is not defined are left out.

        Parameters
        ----------
        risk, utility
            Names of figures; which way is better follows from `FIGURES`.
        table
            The table.

        Examples
        --------
        >>> import numpy as np
        >>> from ptable import Mechanism
        >>> from risk import risk_utility_map
        >>> designs = {f"r{base}": Mechanism.rounding(base) for base in (2, 3, 5)}
        >>> found = risk_utility_map(
        ...     designs, {"t": [1, 2, 3, 4, 5, 9]}, rng=np.random.default_rng(1)
        ... )
        >>> found.pareto(risk="sensitive_kept", utility="aad")
        ('r5', 'r3')
        """
        across, upwards = (
            1.0 if FIGURES[name].better == "low" else -1.0
            for name in _require_figures(risk=risk, utility=utility)
        )
        places = self._places(risk, utility, table)
        points = [(across * y, upwards * x) for x, y in places.values()]
        names = list(places)
        return tuple(names[place] for place in undominated(points))

    def _places(self, risk: str, utility: str, table: str) -> dict[str, tuple[float, float]]:
        """Give the figures of utility and of risk of the designs that have both."""
        points = {}
        for design in self.designs:
            x, y = (self.find(design, name, table=table) for name in (utility, risk))
            if x is not None and y is not None:
                points[design] = x, y
        return points

    def to_frame(self) -> pd.DataFrame:
        """Give one line per design and table; figures that are not defined are missing.

        Examples
        --------
        >>> import numpy as np
        >>> from ptable import Mechanism
        >>> from risk import risk_utility_map
        >>> rng = np.random.default_rng(1)
        >>> found = risk_utility_map({"r3": Mechanism.rounding(3)}, {"t": [1, 2]}, rng=rng)
        >>> found.to_frame()[["design", "table", "cells", "aad"]].values.tolist()
        [['r3', 't', 2, 1.0], ['r3', '', 2, 1.0]]
        """
        import pandas as pd

        columns: dict[str, object] = {
            "design": [line.design for line in self.lines],
            "table": [line.table for line in self.lines],
            "cells": [line.n_cells for line in self.lines],
        }
        for name in FIGURES:
            values = [line.figures[name] for line in self.lines]
            columns[name] = pd.array(values, dtype="Float64")
        return pd.DataFrame(columns)

    def __repr__(self) -> str:
        n_designs = len(self.designs)
        n_tables = len(self.lines) // n_designs - 1 if n_designs else 0
        return (
            f"RiskUtilityMap({n_designs} design{'s' * (n_designs != 1)}, "
            f"{n_tables} table{'s' * (n_tables != 1)})"
        )


def _require_figures(**names: str) -> Iterable[str]:
    unknown = [f"{key} = {name!r}" for key, name in names.items() if name not in FIGURES]
    if unknown:
        raise RiskError(
            Message("There is no such figure: {names}.", names=Name.each(unknown)),
            hint=Message("the figures are {figures}", figures=Name.each(FIGURES)),
        )
    return names.values()


def undominated(points: Sequence[tuple[float, float]]) -> list[int]:
    """Give the places of the points that no other one beats, by their first number.

    A point beats another when it is no larger in both numbers and smaller in one; of equal
    points all stay.
    """
    order = sorted(range(len(points)), key=lambda place: points[place])
    front: list[int] = []
    for place in order:
        beaten = front and points[place][1] >= points[front[-1]][1]
        if not beaten or points[place] == points[front[-1]]:
            front.append(place)
    return front
