"""What the engine knows so far, all of it public or paid for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from synth.marginals.belief import Network
from synth.marginals.entropy import Target, fit_potentials
from synth.marginals.model import Measured

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from synth.marginals.settings import Settings

__all__ = ["Draft"]

Columns = tuple[int, ...]


@dataclass(slots=True)
class Draft:
    """Groups, noisy tables and the potentials fitted to them.

    Parameters
    ----------
    total
        The number of records.
    groups, shares, masks
        As in `TableModel`.
    """

    total: float
    groups: list[NDArray[np.int64]]
    shares: list[NDArray[np.float64]]
    masks: list[tuple[Columns, NDArray[np.float64]]]
    targets: list[Target] = field(default_factory=list)
    scales: list[float] = field(default_factory=list)
    potentials: list[NDArray[np.float64]] = field(default_factory=list)
    was_chosen: list[bool] = field(default_factory=list)

    @property
    def sizes(self) -> list[int]:
        """How many groups each column has."""
        return [int(group.max()) + 1 for group in self.groups]

    @property
    def sets(self) -> list[Columns]:
        """The column sets that lie in cliques."""
        return [
            *(target.columns for target in self.targets),
            *(columns for columns, _ in self.masks),
        ]

    def add(
        self,
        columns: Columns,
        counts: NDArray[np.float64],
        *,
        scale: float,
        slack: float,
        was_chosen: bool = False,
    ) -> None:
        """Take in a noisy table."""
        shifted = counts + (self.total - counts.sum()) / counts.size
        self.targets.append(Target(columns=columns, counts=shifted, slack=slack * scale))
        self.scales.append(scale)
        self.potentials.append(np.zeros(counts.shape))
        self.was_chosen.append(was_chosen)

    def combine(
        self, place: int, counts: NDArray[np.int64], *, scale: float, slack: float
    ) -> None:
        """Average a table with a second measurement of it, each by its precision."""
        old, before = self.targets[place], self.scales[place]
        share = before**2 / (before**2 + scale**2)
        shifted = counts + (self.total - counts.sum()) / counts.size
        both = share * shifted + (1 - share) * old.counts
        self.scales[place] = before * scale / float(np.hypot(before, scale))
        self.targets[place] = Target(
            columns=old.columns, counts=both, slack=slack * self.scales[place]
        )

    def network(self) -> Network:
        """Return the graph of all tables so far."""
        return Network(self.sizes, [target.columns for target in self.targets], self.masks)

    def fit(self, settings: Settings, *, steps: int) -> None:
        """Fit the potentials to all tables so far."""
        self.potentials = fit_potentials(
            self.network(),
            self.targets,
            total=self.total,
            start=self.potentials,
            softness=settings.softness,
            steps=steps,
        )

    def measured(self) -> tuple[Measured, ...]:
        """Return the tables with their potentials."""
        together = zip(self.targets, self.scales, self.potentials, strict=True)
        return tuple(
            Measured(
                columns=target.columns, counts=target.counts, scale=scale, potential=potential
            )
            for target, scale, potential in together
        )
