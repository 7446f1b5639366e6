"""Which data sets a guarantee calls neighbours. No epsilon means anything without it."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from dp.errors import DPError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Adjacency", "common"]


class Adjacency(StrEnum):
    """What may differ between two data sets that must look alike.

    ``ADD_REMOVE``: one has a unit more. ``REPLACE``: one unit has other values; the number of
    units is public. ``ZERO_OUT``: the values of one unit are blank; the number is public.
    ``LOCAL``: any two values of one respondent. ``DISTANCE``: two places; epsilon counts per
    unit of distance between them.

    Examples
    --------
    >>> Adjacency("add-remove")
    <Adjacency.ADD_REMOVE: 'add-remove'>
    """

    ADD_REMOVE = "add-remove"
    REPLACE = "replace"
    ZERO_OUT = "zero-out"
    LOCAL = "local"
    DISTANCE = "distance"


def common(sides: Iterable[tuple[Adjacency, str]]) -> tuple[Adjacency, str]:
    """Return the one adjacency and unit that all share.

    Parameters
    ----------
    sides
        Adjacency and unit of each.

    Returns
    -------
    tuple of Adjacency and str
        What they share.

    Raises
    ------
    DPError
        If there is none, or they differ: such losses do not add up.

    Examples
    --------
    >>> common([(Adjacency.REPLACE, "person"), (Adjacency.REPLACE, "person")])
    (<Adjacency.REPLACE: 'replace'>, 'person')
    """
    found = list(dict.fromkeys(sides))
    if not found:
        raise DPError("Nothing to compose.", hint="give at least one guarantee")
    if len(found) > 1:
        names = "; ".join(f"{adjacency}, per {unit}" for adjacency, unit in found)
        raise DPError(
            f"Only losses of one adjacency and one unit add up, not {names}.",
            hint="state all of them for the same neighbours; add-remove by epsilon is "
            "replace by twice epsilon",
        )
    return found[0]
