"""Zones that callers make: whole areas of the service, whose published counts are added up."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Self

import numpy as np

from ckm.service.answering.messages import bad_request
from ckm.service.answering.name_search import plain
from ckm.service.answering.pxweb_selection import parts_of
from ckm.service.answering.variables import Variable

if TYPE_CHECKING:
    from collections.abc import Sequence

_LONGEST = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Zone:
    """Some areas under a name.

    Parameters
    ----------
    name
        What it is called.
    ranks
        The areas, by rank; none lies in another.
    """

    name: str
    ranks: tuple[int, ...]

    @classmethod
    def of(cls, name: str, ranks: Sequence[int], *, variable: Variable) -> Self:
        """Make a zone; raise where its name or its areas cannot be.

        Only the name and the geography of the areas are looked at.
        """
        own = name.strip()
        # A name that begins with a sign could be a formula in a spreadsheet.
        if not own or len(own) > _LONGEST or not own.isprintable() or not own[0].isalnum():
            raise bad_request("zone_name", limit=_LONGEST)
        if variable.rank(own) is not None or _is_label(own, variable):
            raise bad_request("zone_name_taken", name=own)
        if not ranks:
            raise bad_request("zone_empty", name=own)
        if 0 in ranks:
            raise bad_request("zone_total", name=own)
        if len(set(ranks)) < len(ranks):
            raise bad_request("zone_twice", name=own)
        _require_apart(own, ranks, variable)
        return cls(name=own, ranks=tuple(sorted(ranks)))


def _is_label(name: str, variable: Variable) -> bool:
    """Tell whether an area, or the total, is called so in a language."""
    return any(
        plain(variable.label(rank, language)) == plain(name)
        for language in variable.offer.labels
        for rank in (0, *variable.find(name, language))
    )


def _require_apart(name: str, ranks: Sequence[int], variable: Variable) -> None:
    """Raise if one of the areas lies in another, so that its people would count twice."""
    levels = variable.level_of[list(ranks)]
    for level in np.unique(levels)[1:].tolist():
        above = [rank for rank, own in zip(ranks, levels, strict=True) if own == level]
        for lower in np.unique(levels[levels < level]).tolist():
            inside = {*parts_of(variable, above, lower)}.intersection(ranks)
            if inside:
                raise bad_request("zone_overlap", name=name, area=variable.codes[min(inside)])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ZonedVariable(Variable):
    """The variable of areas with zones behind its categories.

    Parameters
    ----------
    zones
        Their names; ranks from the number of categories on.
    """

    zones: tuple[str, ...]

    @classmethod
    def over(cls, variable: Variable, zones: Sequence[Zone]) -> Self:
        """Put zones behind the categories of a variable."""
        names = tuple(zone.name for zone in zones)
        own = {part.name: getattr(variable, part.name) for part in fields(variable)}
        own |= {
            "codes": (*variable.codes, *names),
            "is_listed": np.concatenate([variable.is_listed, np.ones(len(names), bool)]),
            "level_of": np.concatenate([variable.level_of, np.zeros(len(names), np.int64)]),
        }
        return cls(zones=names, **own)

    def label(self, rank: int, language: str) -> str:
        """Return what readers call a category, or the name of a zone."""
        if rank >= self.axis.size:
            return self.zones[rank - self.axis.size]
        return Variable.label(self, rank, language)

    def own(self, rank: int) -> str:
        """Return the text of a category at its own level, or the name of a zone."""
        if rank >= self.axis.size:
            return self.zones[rank - self.axis.size]
        return Variable.own(self, rank)
