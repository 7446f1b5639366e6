"""Which data sets a guarantee calls neighbours. No epsilon means anything without it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from dp.errors import DPError
from footing.messages import Argument, Enumeration, Message, Name


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

    @classmethod
    def _missing_(cls, value: object) -> Adjacency:
        raise DPError(
            Message("Unknown adjacency {value!r}.", value=Argument(value)),
            hint=Message("known: {value}", value=Name.each(cls)),
        )


def common(sides: Iterable[tuple[Adjacency, str]]) -> tuple[Adjacency, str]:
    """Return the one adjacency and unit that all share."""
    pairs = list(dict.fromkeys(sides))
    if not pairs:
        raise DPError(
            Message("Nothing to compose."), hint=Message("give at least one guarantee")
        )
    if len(pairs) > 1:
        names = [
            Message("{adjacency}, per {unit}", adjacency=adjacency, unit=Name(unit))
            for adjacency, unit in pairs
        ]
        raise DPError(
            Message(
                "Only losses of one adjacency and one unit add up, not {names}.",
                names=Enumeration("; ", names),
            ),
            hint=Message(
                "state all of them for the same neighbours; add-remove by epsilon is "
                "replace by twice epsilon"
            ),
        )
    return pairs[0]


def units_changed(part: Adjacency, whole: Adjacency, *, is_fixed: bool) -> int:
    """Return how many units, as the parts are stated, a neighbour of the whole changes.

    A unit replaced is removed and another added. Both may happen in one part, the most costly
    one: a unit that changes part costs the sum of two parts, which is never more.
    """
    if part == whole == Adjacency.ADD_REMOVE:
        return 1
    if part == whole and is_fixed and part in {Adjacency.REPLACE, Adjacency.ZERO_OUT}:
        return 1
    if part == Adjacency.ADD_REMOVE and whole == Adjacency.REPLACE:
        return 2
    raise DPError(
        Message(
            "For parts stated {number} nothing follows for the whole under {names}.",
            number=part,
            names=whole,
        ),
        hint=Message(
            "a unit whose values change may leave one part for another: state the "
            "parts for add-remove, or say that the part of a unit is public and fixed"
        ),
    )
