"""Values that change: exchanged between records, rotated, or with noise on them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from footing.checks import require_number
from footing.messages import Argument, Message, Name
from synth.errors import SynthError
from synth.sanitisers.frames import checked_rows, numbers_of, opened

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from footing.arrays import Floats


def swap(frame: Any, *, pairs: Mapping[str, Sequence[tuple[int, int]]]) -> pd.DataFrame:
    """Exchange the values of pairs of records.

    Parameters
    ----------
    frame
        The records.
    pairs
        Per column the pairs of rows, from 0; no row twice.

    Examples
    --------
    >>> swap({"pay": [1, 2, 3]}, pairs={"pay": [(0, 2)]})["pay"].tolist()
    [3, 2, 1]
    """
    table = opened(frame, list(pairs))
    for name, row_pairs in pairs.items():
        rows = checked_rows([row for pair in row_pairs for row in pair], len(table))
        if len(set(rows)) < len(rows):
            raise SynthError(
                Message("A row of column {name!r} is swapped twice.", name=Name(name))
            )
        order = np.arange(len(table))
        for one, other in row_pairs:
            order[one], order[other] = other, one
        table[name] = table[name].take(order).to_numpy()
    return table


def rank_swap(
    frame: Any,
    *,
    columns: Sequence[str],
    reach: float,
    rng: np.random.Generator | None = None,
) -> pd.DataFrame:
    """Exchange values whose ranks are near, each column by itself.

    Parameters
    ----------
    frame
        The records.
    columns
        Columns with an order.
    reach
        How far ranks may lie apart, as a share of the records.
    rng
        A generator; without one the choice has no seed.

    References
    ----------
    Moore 1996.

    Examples
    --------
    >>> found = rank_swap({"a": range(10)}, columns=["a"], reach=0.2)["a"]
    >>> sorted(found) == list(range(10)), bool(abs(found - np.arange(10)).max() <= 2)
    (True, True)
    """
    table = opened(frame, columns)
    if not 0 < reach <= 1:
        raise SynthError(
            Message("reach must lie in (0, 1], not {reach}.", reach=Argument(reach))
        )
    source = np.random.default_rng(rng)
    n = len(table)
    farthest = max(1, math.floor(reach * n))
    for name in columns:
        try:
            ranked = np.argsort(table[name].to_numpy(), kind="stable")
        except TypeError:
            raise SynthError(
                Message("Column {name!r} has no order.", name=Name(name)),
                hint=Message("number it"),
            ) from None
        order, is_free = np.arange(n), np.ones(n, dtype=bool)
        for place in range(n):
            window = np.flatnonzero(is_free[place + 1 : place + 1 + farthest]) + place + 1
            if not is_free[place] or not len(window):
                continue
            partner = int(source.choice(window))
            is_free[[place, partner]] = False
            one, other = ranked[place], ranked[partner]
            order[one], order[other] = other, one
        table[name] = table[name].take(order).to_numpy()
    return table


def add_noise(
    frame: Any,
    *,
    scales: Mapping[str, float] | None = None,
    noises: Mapping[str, Sequence[float]] | None = None,
    lower: float = -np.inf,
    upper: float = np.inf,
    rng: np.random.Generator | None = None,
) -> pd.DataFrame:
    """Add Laplace noise to numbers, or noise that is given, and clamp.

    Parameters
    ----------
    frame
        The records.
    scales
        Per column the scale of Laplace noise.
    noises
        Per column the noise itself, one number per record.
    lower, upper
        The limits.
    rng
        A generator; without one the noise has no seed.

    Notes
    -----
    Noise drawn as floats for every record is a disclosure control of old and no differential
    privacy; `dp` has mechanisms that are.

    Examples
    --------
    >>> add_noise({"h": [40, 13]}, noises={"h": [8, -14]}, lower=0)["h"].tolist()
    [48.0, 0.0]
    """
    own_noises, own_scales = dict(noises or {}), dict(scales or {})
    if (not own_noises and not own_scales) or own_noises.keys() & own_scales.keys():
        raise SynthError(Message("Every column needs either a scale or its noise."))
    table = opened(frame, [*own_noises, *own_scales])
    if not lower <= upper:
        raise SynthError(
            Message(
                "lower must not exceed upper, but {lower} does {upper}.",
                lower=lower,
                upper=upper,
            )
        )
    source = np.random.default_rng(rng)
    for name, scale in own_scales.items():
        require_number(
            scale, Message("The scale of {name!r}", name=Name(name)), error=SynthError, above=0
        )
        own_noises[name] = list(source.laplace(0.0, scale, len(table)))
    for name, noise in own_noises.items():
        if len(noise) != len(table):
            raise SynthError(
                Message(
                    "{number} noises stand against {number_2} records.",
                    number=len(noise),
                    number_2=len(table),
                )
            )
        values = numbers_of(table, [name])[:, 0] + np.asarray(noise, np.float64)
        table[name] = values.clip(lower, upper)
    return table


def rotate(
    frame: Any, *, columns: Sequence[str], degrees: float, is_normalised: bool = True
) -> pd.DataFrame:
    """Rotate groups of three columns, the last perhaps of two, by one angle.

    Parameters
    ----------
    frame
        The records.
    columns
        Two or more columns of numbers; one that would be left over is refused.
    degrees
        The angle; in three dimensions around each axis in turn.
    is_normalised
        Whether columns are first brought to mean 0 and deviation 1.

    References
    ----------
    Upadhyay et al. 2018.

    Examples
    --------
    >>> turned = rotate(
    ...     {"x": [35.0], "y": [35.0]}, columns=["x", "y"], degrees=-8.13, is_normalised=False
    ... )
    >>> turned.round().iloc[0].tolist()
    [40.0, 30.0]
    """
    table = opened(frame, columns)
    if len(set(columns)) < 2 or len(set(columns)) < len(columns) or len(columns) % 3 == 1:
        raise SynthError(
            Message(
                "{number} columns cannot be rotated in groups of three or two.",
                number=len(columns),
            ),
            hint=Message("name 2, 3, 5, 6, 8 … different columns"),
        )
    values = numbers_of(table, columns)
    if is_normalised:
        spread = values.std(axis=0)
        values = (values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    for start in range(0, len(columns), 3):
        block = values[:, start : start + 3]
        values[:, start : start + 3] = block @ _matrix(block.shape[1], np.deg2rad(degrees)).T
    for place, name in enumerate(columns):
        table[name] = values[:, place]
    return table


def dispersion(before: Any, after: Any, *, columns: Sequence[str]) -> Floats:
    """Return the variance of the change of every column, over the variance it had.

    Parameters
    ----------
    before, after
        The records, and what became of them.
    columns
        Columns of numbers.

    Examples
    --------
    >>> dispersion({"a": [0, 2]}, {"a": [0, 4]}, columns=["a"]).tolist()
    [1.0]
    """
    old = numbers_of(opened(before, columns), columns)
    new = numbers_of(opened(after, columns), columns)
    if old.shape != new.shape:
        raise SynthError(Message("There must be as many records after as before."))
    spread = old.var(axis=0)
    return np.asarray((new - old).var(axis=0) / np.where(spread > 0, spread, 1.0))


def safe_angle(frame: Any, *, columns: Sequence[str], least: float) -> int:
    """Return the smallest whole angle at which every column changes enough.

    Parameters
    ----------
    frame
        The records.
    columns
        Columns of numbers.
    least
        The dispersion that each must reach.

    Examples
    --------
    >>> safe_angle({"a": [0, 1, 0, 1], "b": [0, 0, 1, 1]}, columns=["a", "b"], least=0.5)
    42
    """
    base = rotate(frame, columns=columns, degrees=0)
    for degrees in range(1, 360):
        turned = rotate(base, columns=columns, degrees=degrees, is_normalised=False)
        if (dispersion(base, turned, columns=columns) >= least).all():
            return degrees
    raise SynthError(
        Message("No angle changes every column by {least:g}.", least=least),
        hint=Message("ask for less"),
    )


def _matrix(n: int, angle: float) -> Floats:
    matrix = np.eye(n)
    for one, other in ((0, 1), (1, 2), (0, 2))[: 1 if n == 2 else 3]:
        turn = np.eye(n)
        turn[one, one] = turn[other, other] = np.cos(angle)
        turn[one, other], turn[other, one] = -np.sin(angle), np.sin(angle)
        matrix = turn @ matrix
    return matrix
