"""Disjoint folds of the records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from footing.checks import require_number
from synth.errors import SynthError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LEAST = 2


def split_records(
    n: int,
    *,
    histogram_share: float,
    encoder_share: float = 0.0,
    rng: np.random.Generator | None = None,
) -> dict[str, NDArray[np.int64]]:
    """Deal the records at random to the steps of a method; no record goes to two."""
    require_number(histogram_share, "histogram_share", error=SynthError, above=0, below=1)
    require_number(encoder_share, "encoder_share", error=SynthError, minimum=0, below=1)
    order = (np.random.default_rng() if rng is None else rng).permutation(n)
    first = max(_LEAST, round(n * encoder_share)) if encoder_share else 0
    second = first + max(1, round((n - first) * histogram_share))
    if n - second < _LEAST:
        raise SynthError(
            f"{n} records are too few to be split.", hint="give more, or set epsilon to 0"
        )
    parts = np.split(order, [first, second])
    return {
        name: np.sort(part)
        for name, part in zip(("encoder", "histogram", "copula"), parts, strict=True)
    }
