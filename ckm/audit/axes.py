"""The axes of many tables, and where areas stand on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from footing.arrays import Flags, Integers, Levels
from risk.reconstruction.lattice import Shown


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Areas:
    """Where areas stand on the axes.

    Parameters
    ----------
    axis, levels
        The axis, and its levels that are areas.
    coarsest
        The coarsest area of each of its finest categories.
    codes
        The codes of the coarsest areas.
    """

    axis: int
    levels: range
    coarsest: Integers
    codes: tuple[str, ...]

    def sample(self, mask: Flags) -> Areas:
        """Keep some of the finest areas, which are whole coarsest ones."""
        codes, coarsest = np.unique(self.coarsest[mask], return_inverse=True)
        return replace(self, coarsest=coarsest, codes=tuple(self.codes[n] for n in codes))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SpaceTables:
    """Tables of one level of each variable. Disclosive.

    Parameters
    ----------
    variables
        Their names, in the order of all axes. Where there are populations, a last axis tells
        who is in which of them.
    level_names
        For each axis its levels, finest first; the total is left out. Each population is a
        level of the last axis; the finest, of all memberships, no table shows.
    shown
        Combination of levels → what is published.
    parents
        Combination of levels → the permitted tables that show it, themselves or as a margin.
    area
        Where areas stand on the axes.
    """

    variables: tuple[str, ...]
    level_names: tuple[tuple[str, ...], ...]
    shown: Mapping[Levels, Shown]
    parents: Mapping[Levels, frozenset[Levels]]
    area: Areas | None = None
