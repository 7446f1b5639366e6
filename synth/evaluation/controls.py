"""What to compare a figure with: the same figure for records that are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from synth.evaluation.records import Records

#: Real records that the synthesis never saw; a bootstrap of the training records; independent
#: columns with the margins of the training records; the training records themselves.
Control: TypeAlias = Literal["train", "bootstrap", "holdout", "independent"]
CONTROLS: tuple[Control, ...] = ("train", "bootstrap", "holdout", "independent")


def bootstrap(records: Records, *, seed: int) -> Records:
    """Draw as many records with replacement."""
    rng = np.random.default_rng(seed)
    return records.take(rng.integers(len(records), size=len(records)))


def independent(records: Records, *, seed: int) -> Records:
    """Shuffle every column by itself: the same margins, no dependence."""
    rng = np.random.default_rng(seed)
    return records.with_values(rng.permuted(records.values, axis=0))
