"""What a code list tells of areas beside their names: former names, and centres."""

import csv
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from footing.messages import Message

_BETWEEN = "|"  # former names of one area


@dataclass(frozen=True, slots=True)
class Places:
    """Former names and centres, by code."""

    former: dict[str, tuple[str, ...]] = field(default_factory=dict)
    centres: dict[str, tuple[float, float]] = field(default_factory=dict)


def read_places(path: Path, *, add: Callable[[str, str | None], None]) -> Places:
    """Read the columns `former`, `x` and `y` of a code list, as far as it has them."""
    places = Places()
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error):
        return places  # said of the code list
    if not rows or "code" not in rows[0]:
        return places
    for row in rows:
        names = (name.strip() for name in (row.get("former") or "").split(_BETWEEN))
        if former := tuple(filter(None, names)):
            places.former[row["code"]] = former
        x, y = ((row.get(axis) or "").strip() for axis in ("x", "y"))
        if not (x or y):
            continue
        try:
            centre = float(x), float(y)
        except ValueError:
            centre = math.nan, math.nan
        if not all(map(math.isfinite, centre)):
            add(
                Message("a centre in the columns x and y is no pair of numbers."),
                Message("write both with a decimal point, or neither"),
            )
            return places
        places.centres[row["code"]] = centre
    return places
