"""Where a property of numbers begins, found by halving an interval."""

from collections.abc import Callable


def bisected(
    is_low: Callable[[float], bool], low: float, high: float, *, rounds: int = 200
) -> tuple[float, float]:
    """Halve an interval until no float lies between its ends, or as often as asked."""
    for _ in range(rounds):
        middle = (low + high) / 2
        if middle in {low, high}:
            break
        if is_low(middle):
            low = middle
        else:
            high = middle
    return low, high
