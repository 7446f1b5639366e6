"""Sets of cells by classes of their original count."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TypeAlias

from footing.messages import Message, Name, joined
from risk.errors import RiskError
from risk.utility.pairs import Pairs

Classes: TypeAlias = "Mapping[str, tuple[int, int | None]]"

#: Name of a class → its least and its greatest original count; INSEE's small and large cells.
CLASSES: Classes = MappingProxyType({"small": (1, 20), "medium": (21, 50), "large": (51, None)})


def checked_classes(classes: Classes) -> Classes:
    """Check classes of counts and give them back."""
    problems = [
        Message("{name!r} runs from {low} to {high}", name=Name(name), low=low, high=high)
        for name, (low, high) in classes.items()
        if low < 0 or (high is not None and high < low)
    ]
    if "all" in classes:
        problems.append(Message("'all' is the name of all cells"))
    if problems:
        raise RiskError(
            Message(
                "A class must run from a count of at least 0 to one no smaller: {problems}.",
                problems=joined("; ", problems),
            ),
            hint=Message("for example {'small': (1, 20), 'large': (51, None)}"),
        )
    return classes


def class_cells(pairs: Pairs, classes: Classes) -> Iterator[tuple[str, Pairs]]:
    """Give all cells, and those of each class."""
    yield "all", pairs
    for name, (low, high) in classes.items():
        inside = pairs.o >= low
        if high is not None:
            inside &= pairs.o <= high
        yield name, pairs.take(inside)
