"""How work tells how far it is."""

from collections.abc import Callable
from typing import TypeAlias

#: What takes the name of a stage, how many of its steps are done, and how many there are.
Progress: TypeAlias = Callable[[str, int, int], None]


def no_progress(_stage: str, _done: int, _total: int) -> None:
    """Tell nobody."""
