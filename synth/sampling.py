"""Records drawn until they keep the rules, with an end in sight."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footing.arrays import Flags, Integers
from footing.messages import Message
from footing.progress import Progress
from synth.errors import RuleError

_CHUNK = 250_000
_MAX_TRIES = 200
_AT_LEAST = 20_000


@dataclass(slots=True)
class Drawn:
    """Drawn records.

    Parameters
    ----------
    codes
        Their codes.
    numbers
        The numbers of each column of numbers.
    tries
        How many records were drawn, those that broke a rule among them.
    """

    codes: NDArray[np.int32]
    numbers: dict[str, Integers]
    tries: int = 0

    def take(self, mask: NDArray[np.generic]) -> Drawn:
        """Return some of the records."""
        numbers = {name: values[mask] for name, values in self.numbers.items()}
        return Drawn(self.codes[mask], numbers, self.tries)


def draw_kept(
    number: int,
    *,
    draw: Callable[[int], Drawn],
    is_kept: Callable[[Drawn], Flags],
    progress: Progress | None = None,
) -> Drawn:
    """Draw records until enough of them are kept.

    After ``200 * number + 20000`` draws it gives up: no record is returned twice.
    """
    if number == 0:
        return draw(0)
    parts: list[Drawn] = []
    size, tries, limit = 0, 0, _MAX_TRIES * number + _AT_LEAST
    while size < number and tries < limit:
        missing = number - size
        share = (size + 1) / (tries + 1) if tries else 1.0
        goal = missing if share > 0.999 else math.ceil(1.1 * missing / share) + 16
        records = draw(min(goal, _CHUNK, limit - tries))
        tries += len(records.codes)
        mask = is_kept(records)
        part = records if mask.all() else records.take(mask)
        if len(part.codes):
            parts.append(part)
            size += len(part.codes)
        if progress is not None:
            progress("sample", min(size, number), number)
    if size < number:
        raise RuleError(
            Message(
                "Only {size} of {tries} drawn records keep the rules and conditions; "
                "{number} are wanted.",
                size=size,
                tries=tries,
                number=number,
            ),
            hint=Message("ask for {size} at most, or for less", size=size)
            if size
            else Message("do they contradict?"),
        )
    return _joined(parts, tries).take(np.arange(number))


def _joined(parts: list[Drawn], tries: int) -> Drawn:
    codes = np.concatenate([part.codes for part in parts])
    names = parts[0].numbers
    numbers = {name: np.concatenate([part.numbers[name] for part in parts]) for name in names}
    return Drawn(codes, numbers, tries)
