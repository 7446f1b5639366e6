"""The map of a service: which areas of a topology are which categories, at every level.

Areas are matched by the codes that callers may know of, so that a map tells no more than a
list of categories: whatever else the topology holds is drawn as land without a number.
"""

from __future__ import annotations

import logging
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ckm.errors import ConfigError
from ckm.service.maps.topology import Topology, read_topology
from footing.messages import Message, Name
from tables.cells.places import tree_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ckm.service.answering.variables import Variable

logger = logging.getLogger(__name__)


class AreaMap:
    """Where the categories of the variable of areas lie.

    Parameters
    ----------
    topology
        The areas of one level.
    variable
        The variable.
    """

    def __init__(self, topology: Topology, variable: Variable) -> None:
        self.topology = topology
        self._variable = variable
        names: dict[int, dict[str, int]] = {}
        for rank in np.flatnonzero(variable.is_listed).tolist():
            own = names.setdefault(int(variable.level_of[rank]), {})
            own |= {variable.codes[rank]: rank, variable.own(rank): rank} if rank else {}
        matches = {
            level: [by_name.get(code, -1) for code in topology.areas]
            for level, by_name in names.items()
        }
        self.level, ranks = max(matches.items(), key=lambda pair: _n_known(pair[1]))
        self._ranks = np.array(ranks, np.int64)

    @property
    def n_known(self) -> int:
        """How many areas of the topology are categories."""
        return int((self._ranks >= 0).sum())

    @cached_property
    def _above(self) -> NDArray[np.int64]:
        return np.asarray(tree_of(self._variable.axis), np.int64)

    def ranks(self, level: int) -> NDArray[np.int64]:
        """Return the category of a level that each area of the topology lies in, or -1."""
        ranks = self._ranks.copy()
        while True:
            is_lower = (ranks >= 0) & (self._variable.level_of[ranks] < level)
            if not is_lower.any():
                break
            ranks[is_lower] = self._above[ranks[is_lower]]
        is_there = (ranks >= 0) & (self._variable.level_of[ranks] == level)
        return np.where(is_there & self._variable.is_listed[ranks], ranks, -1)

    def frame_names(self, language: str) -> tuple[str, ...]:
        """Return what each box shows: the one area, of the broadest level, that it lies in."""
        places = {code: place for place, code in enumerate(self.topology.areas)}
        levels = range(len(self._variable.level_names) - 1, self.level - 1, -1)
        names = []
        for codes in self.topology.framed():
            own = [places[code] for code in codes]
            single = (
                rank
                for level in levels
                if len(ranks := {*self.ranks(level)[own].tolist()}) == 1
                for rank in ranks
                if rank > 0
            )
            rank = next(single, None)
            names.append("" if rank is None else self._variable.label(rank, language))
        return tuple(names)


def _n_known(ranks: list[int]) -> int:
    return sum(rank >= 0 for rank in ranks)


def open_map(variable: Variable | None) -> AreaMap | None:
    """Return the map that a service file names; raise where it is of no area of the service."""
    if variable is None or variable.offer.map is None:
        return None
    path = variable.offer.map
    area_map = AreaMap(read_topology(path), variable)
    if not area_map.n_known:
        raise ConfigError(
            Message(
                "No area of the map {path!r} is a category of {name!r}.",
                path=Name(path.name),
                name=Name(variable.name),
            ),
            hint=Message("--code of ckm service map names the property with the codes"),
        )
    # Geometry and codes that callers may know of: no count.
    logger.info(
        "map read",
        extra={"areas": len(area_map.topology.areas), "known": area_map.n_known},
    )
    return area_map
