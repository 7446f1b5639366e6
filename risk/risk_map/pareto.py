"""Points that no other point beats."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def undominated(points: Sequence[tuple[float, float]]) -> list[int]:
    """Give the places of the points that no other one beats, by their first number.

    A point beats another when it is no larger in both numbers and smaller in one; of equal
    points all stay.
    """
    order = sorted(range(len(points)), key=lambda place: points[place])
    kept: list[int] = []
    for place in order:
        beaten = kept and points[place][1] >= points[kept[-1]][1]
        if not beaten or points[place] == points[kept[-1]]:
            kept.append(place)
    return kept
