"""The amounts that noise must hide: largest contributors, mean, range or total."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from ckm.errors import MagnitudeError

if TYPE_CHECKING:
    from footing.arrays import Floats
    from tables import Magnitudes

Base: TypeAlias = Literal["top", "mean", "range", "sum"]


def bases(magnitudes: Magnitudes, *, base: Base, components: int) -> Floats:
    """Give the amounts that noise is scaled to, one column per component, without sign.

    Records that contribute zero change none of them. The range includes 0, because that of a
    single contributor would be 0 otherwise, and so would its noise. With weights the largest
    contribution to a total need not be that of the largest value: noise made for a value of
    100 that stands for one would leave one of 90 that stands for fifty bare.
    """
    if base == "top":
        values = _largest(magnitudes, components)
    elif base == "mean":
        values = _ratio(magnitudes.total, magnitudes.weighted_contributors)
    elif base == "range":
        spread = np.maximum(magnitudes.high, 0) - np.minimum(magnitudes.low, 0)
        values = np.maximum(spread, magnitudes.largest)
    else:
        values = magnitudes.total
    return np.abs(values.reshape(len(magnitudes), components))


def bases_of_records(magnitudes: Magnitudes, *, base: Base, components: int) -> Floats:
    """Give the amounts that other tools scale noise to, with their sign.

    The mean and the range are those of all records, zeros among them; the range of a single
    record is 0.
    """
    if base == "top":
        values = _top(magnitudes, components)
    elif base == "mean":
        values = _ratio(magnitudes.total, magnitudes.weight)
    elif base == "range":
        has_zero = magnitudes.records > magnitudes.contributors
        high = np.where(has_zero, np.maximum(magnitudes.high, 0), magnitudes.high)
        low = np.where(has_zero, np.minimum(magnitudes.low, 0), magnitudes.low)
        values = high - low
    else:
        values = magnitudes.total
    return values.reshape(len(magnitudes), components)


def _largest(magnitudes: Magnitudes, components: int) -> Floats:
    """Give the largest weighted values, the very largest first even if `top` lacks it."""
    if components == 1:
        return magnitudes.largest
    held = -np.sort(-np.abs(_top(magnitudes, components)), axis=1)
    lacks = magnitudes.largest > held[:, 0]
    shifted = np.column_stack([magnitudes.largest, held[:, :-1]])
    return np.where(lacks[:, None], shifted, held)


def _top(magnitudes: Magnitudes, components: int) -> Floats:
    held = magnitudes.top.shape[1]
    if held < components and bool((magnitudes.contributors > held).any()):
        raise MagnitudeError(
            f"The noise needs the {components} largest contributors of "
            f"{magnitudes.variable!r}; there are {held}.",
            hint="ask the aggregation for as many as the noise's n_top says",
        )
    values = (magnitudes.top * magnitudes.top_weight)[:, :components]
    if held < components:
        values = np.pad(values, ((0, 0), (0, components - held)))
    return np.asarray(values, np.float64)


def _ratio(total: Floats, divisor: Floats) -> Floats:
    return np.divide(total, divisor, out=np.zeros_like(total), where=divisor != 0)
