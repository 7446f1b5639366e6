"""What the numbers that come in must look like."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footing.checks import problems_of, require_integer, require_number
from footing.messages import Message, Name, Shape, joined, said
from ptable.table import PTable
from risk.errors import RiskError


def read_array(values: ArrayLike, *, name: str) -> NDArray[Any]:
    """Read numbers as an array; missing or ragged ones are an error."""
    if _is_masked(values):
        raise RiskError(
            Message("{name} must not be missing; some are masked.", name=Name(name)),
            hint=Message("fill or leave them out"),
        )
    try:
        return np.asarray(values)
    except (TypeError, ValueError):
        raise RiskError(
            Message("{name} must be numbers in rows of one length.", name=Name(name)),
            hint=Message("give an array of numbers"),
        ) from None


def read_numbers(values: ArrayLike, *, name: str) -> NDArray[np.float64]:
    """Read finite numbers, of any shape."""
    array = read_array(values, name=name)
    if array.size and array.dtype.kind not in "iuf":
        raise RiskError(
            Message(
                "{name} must be numbers, not {dtype}.",
                name=Name(name),
                dtype=Shape(array.dtype),
            ),
            hint=Message("none missing"),
        )
    numbers = array.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise RiskError(
            Message("{name} must be finite; some are not.", name=Name(name)),
            hint=Message("none missing"),
        )
    return numbers


def read_pair(values: Sequence[int], *, name: str) -> tuple[int, int]:
    """Read two counts."""
    numbers = require_counts(values, name=name)
    if numbers.shape != (2,):
        raise RiskError(
            Message("{name} must be two counts.", name=Name(name)),
            hint=Message("for example (20, 100)"),
        )
    return int(numbers[0]), int(numbers[1])


def _is_masked(values: object) -> bool:
    if isinstance(values, list | tuple):
        return any(map(_is_masked, values))
    return bool(np.ma.is_masked(values))


def require_counts(numbers: ArrayLike, *, name: str) -> NDArray[np.int64]:
    """Read whole numbers of 0 or more, of any shape."""
    array = read_array(numbers, name=name)
    if array.size == 0 and array.dtype.kind in "iuf":
        return array.astype(np.int64)
    problems = []
    if array.dtype.kind not in "iu":
        problems.append(
            Message(
                "{name} must be whole numbers, not {dtype}.",
                name=Name(name),
                dtype=Shape(array.dtype),
            )
        )
    elif array.dtype.kind == "i" and int(array.min()) < 0:
        problems.append(
            Message("{name} must be 0 or more; some are negative.", name=Name(name))
        )
    elif int(array.max()) > 2**53:
        problems.append(
            Message("{name} must be at most 2**53; some are larger.", name=Name(name))
        )
    if problems:
        raise RiskError(problems[0], hint=Message("give counts as integers"))
    return array.astype(np.int64)


def require_whole(number: int, *, name: str, least: int = 0) -> int:
    """Read one integer that is not below the least."""
    return require_integer(number, name, error=RiskError, minimum=least)


def require_between(
    number: float, *, name: str, least: float = 0.0, most: float = math.inf
) -> float:
    """Read one finite number from an interval that includes its ends."""
    ends = [None if math.isinf(end) else end for end in (least, most)]
    return require_number(number, name, error=RiskError, minimum=ends[0], maximum=ends[1])


def require_plain(table: PTable) -> PTable:
    """Refuse tables of magnitudes, whose noise scales with the magnitude."""
    if table.step != 1 or table.anchors is not None:
        raise RiskError(
            Message("The p-table must be one of counts, not one of magnitudes."),
            hint=Message("solve(NoiseSpec(…)) without step and anchors makes one"),
        )
    return table


def require_integers(what: str, **limits: tuple[Any, int, int | None]) -> None:
    """Raise one error that names every parameter outside its limits."""
    problems = [
        problem
        for name, (value, least, most) in limits.items()
        for problem in problems_of(value, name, is_whole=True, minimum=least, maximum=most)
    ]
    if problems:
        raise RiskError(
            Message(
                "Parameters of {what}: {problems}.",
                what=said(what),
                problems=joined("; ", problems),
            )
        )


def truth_of(values: ArrayLike, *, n_columns: int | None = None) -> NDArray[np.int64]:
    """Return what the guesses are compared with, one line per target."""
    truth = read_array(values, name="truth")
    shape = (
        Message("one per line")
        if n_columns is None
        else Message("{n_columns} per line", n_columns=n_columns)
    )
    fits = truth.ndim == 1 if n_columns is None else truth.shape[1:] == (n_columns,)
    if not fits or not len(truth) or truth.dtype.kind not in "iu" or (truth < 0).any():
        raise RiskError(
            Message("truth must hold whole numbers of 0 or more, {shape}.", shape=shape)
        )
    if int(truth.max()) > 2**53:
        raise RiskError(Message("truth must hold counts of at most 2**53; some are larger."))
    return truth.astype(np.int64)
