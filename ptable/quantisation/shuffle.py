"""P-tables whose intervals come in random order, in pieces."""

import logging
import math
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate
from numbers import Real
from typing import Any, Literal

import numpy as np

from footing.messages import Argument, Message, Shape
from ptable.errors import PTableError
from ptable.table import PTable

logger = logging.getLogger(__name__)

_MAX_PIECES = 2**22


def shuffle(
    table: PTable, rng: np.random.Generator, *, piece: float | Literal["key"] = 0.2
) -> PTable:
    """Cut every interval into pieces and put the pieces of every row in random order.

    Probabilities stay as they are, to the key. What changes is which keys lead to which noise:
    neighbouring keys no longer tell the order of the noise, and rows no longer move together.

    Notes
    -----
    Every interval is cut into as many full pieces as fit, and a smaller one for what remains,
    if anything does. Rows are drawn in order of counts; rows with one noise value draw nothing.
    The order drawn from one state of a generator may change with the version of numpy: keep
    the table, not the seed.

    References
    ----------
    The ``modify_cnt_ptable`` of R's ptable 1.0.0, whose exact multiples leave empty pieces.
    """
    if not isinstance(rng, np.random.Generator):
        raise PTableError(
            Message(
                "rng must be a numpy.random.Generator, not a {name}.", name=Shape(type(rng))
            ),
            hint=Message("numpy.random.default_rng() gives one"),
        )
    size = _size(piece, table.key_range)
    units = [table.units(count) for count in table.counts.tolist()]
    n_pieces = sum(-(-n // size) for row in units for n in row.values() if len(row) > 1)
    if n_pieces > _MAX_PIECES:
        raise PTableError(
            Message(
                "piece={piece!r} cuts the table into {n_pieces} pieces; at most "
                "{max_pieces} can be handled.",
                piece=Argument(piece),
                n_pieces=n_pieces,
                max_pieces=_MAX_PIECES,
            ),
            hint=Message("quantise the table to fewer keys first, or use larger pieces"),
        )
    noise, upper = [], []
    for row, old_values, old_ends in zip(units, table.noise, table.upper, strict=True):
        if len(row) == 1:
            noise.append(old_values)
            upper.append(old_ends)
            continue
        values, sizes = _pieces(row, size)
        order = rng.permutation(len(sizes)).tolist()
        noise.append(tuple(values[place] for place in order))
        upper.append(tuple(accumulate(sizes[place] for place in order)))
    new = replace(table, noise=tuple(noise), upper=tuple(upper))
    n_intervals = sum(len(row) for row in new.noise if len(row) > 1)
    logger.info(
        "p-table shuffled",
        extra={"rows": len(units), "pieces": n_pieces, "joined": n_pieces - n_intervals},
    )
    return new


def _size(piece: Any, key_range: int) -> int:
    """Give the number of keys of a full piece."""
    if piece == "key":
        return 1
    is_number = isinstance(piece, Real) and not isinstance(piece, bool)
    if is_number and math.isfinite(piece):
        share = piece if isinstance(piece, Fraction) else Fraction(repr(float(piece)))
        if 1 <= share * key_range <= key_range:
            return int(share * key_range)
    raise PTableError(
        Message(
            "piece must be a probability from one key, 1/{key_range}, to 1, not {piece!r}.",
            key_range=key_range,
            piece=Argument(piece),
        ),
        hint=Message("piece='key' shuffles single keys"),
    )


def _pieces(units: dict[int, int], size: int) -> tuple[list[int], list[int]]:
    values: list[int] = []
    sizes: list[int] = []
    for v, n in sorted(units.items()):
        full, rest = divmod(n, size)
        parts = [size] * full + [rest] * (rest > 0)
        values += [v] * len(parts)
        sizes += parts
    return values, sizes
