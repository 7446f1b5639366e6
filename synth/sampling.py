"""Records drawn until they keep the rules, with an end in sight."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footing.arrays import Flags, Integers
from synth.errors import RuleError, SynthWarning

_CHUNK = 250_000
_MAX_TRIES = 50
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
    repeated
        How many are copies of others, because too few kept the rules.
    """

    codes: NDArray[np.int32]
    numbers: dict[str, Integers]
    tries: int = 0
    repeated: int = 0

    def take(self, kept: NDArray[np.generic]) -> Drawn:
        """Return some of the records."""
        numbers = {name: values[kept] for name, values in self.numbers.items()}
        return Drawn(self.codes[kept], numbers, self.tries, self.repeated)


def draw_kept(
    number: int,
    *,
    draw: Callable[[int], Drawn],
    is_kept: Callable[[Drawn], Flags],
    rng: np.random.Generator,
    progress: Callable[[str, int, int], None] | None = None,
) -> Drawn:
    """Draw records until enough of them are kept.

    Every record that is returned was kept. After ``50 * number + 20000`` draws the rest are
    copies of kept ones, and a warning says so.
    """
    if number == 0:
        return draw(0)
    parts: list[Drawn] = []
    size, tries, limit = 0, 0, _MAX_TRIES * number + _AT_LEAST
    while size < number and tries < limit:
        missing = number - size
        share = (size + 1) / (tries + 1) if tries else 1.0
        wanted = missing if share > 0.999 else math.ceil(1.1 * missing / share) + 16
        drawn = draw(min(wanted, _CHUNK, limit - tries))
        tries += len(drawn.codes)
        kept = is_kept(drawn)
        found = drawn if kept.all() else drawn.take(kept)
        if len(found.codes):
            parts.append(found)
            size += len(found.codes)
        if progress is not None:
            progress("sample", min(size, number), number)
    if not size:
        raise RuleError(
            f"None of {tries} drawn records keeps the rules and conditions.",
            hint="look whether they contradict each other",
        )
    found = _joined(parts, tries)
    return found.take(np.arange(number)) if size >= number else _filled(found, number, rng)


def _joined(parts: list[Drawn], tries: int) -> Drawn:
    codes = np.concatenate([part.codes for part in parts])
    names = parts[0].numbers
    numbers = {name: np.concatenate([part.numbers[name] for part in parts]) for name in names}
    return Drawn(codes, numbers, tries)


def _filled(found: Drawn, number: int, rng: np.random.Generator) -> Drawn:
    size = len(found.codes)
    warnings.warn(
        f"Only {size} of {found.tries} drawn records keep the rules and conditions; "
        f"{number - size} are copies of these. Ask for fewer records, or weaker conditions.",
        SynthWarning,
        stacklevel=4,
    )
    full = found.take(np.concatenate([np.arange(size), rng.integers(size, size=number - size)]))
    full.repeated = number - size
    return full
