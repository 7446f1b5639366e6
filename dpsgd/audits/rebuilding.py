"""How many records an attacker rebuilt, beside how many others happen to fit as well."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dpsgd.audits.bounds import Ceiling
from dpsgd.audits.rates import MemberShares, require_confidence
from dpsgd.errors import DPSGDError
from footing.arrays import Floats
from footing.checks import require_number
from footing.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilt(MemberShares):
    """The share of records that some guess comes close to; of others, how easy the guess is.

    Examples
    --------
    >>> shares = {"members": 0.9, "members_low": 0.8, "members_high": 1.0}
    >>> there_not = {"others": 0.0, "others_low": 0.0, "others_high": 0.1}
    >>> Rebuilt(**shares, **there_not, ceiling=0.3).is_above
    True
    """


def rebuilt(
    guesses: ArrayLike,
    *,
    members: ArrayLike,
    others: ArrayLike,
    tolerance: float,
    ceiling: Ceiling | None = None,
    confidence: float = 0.95,
) -> Rebuilt:
    """Count the records that some guess comes close to.

    Parameters
    ----------
    guesses
        Records that an attacker rebuilt, one a row; rows that are not finite count for none.
    members, others
        Records whose gradients were seen, and records that were not; one a row.
    tolerance
        The largest root mean square difference that counts as rebuilt.
    ceiling
        What the guarantee allows.
    confidence
        Of both intervals together.

    References
    ----------
    Balle, Cherubin, Hayes 2022, section III.

    Examples
    --------
    >>> found = rebuilt([[1.0, 2.0]], members=[[1.0, 2.0]], others=[[5.0, 5.0]], tolerance=0.1)
    >>> found.members, found.others
    (1.0, 0.0)
    """
    require_number(
        tolerance,
        "tolerance",
        error=DPSGDError,
        hint=Message("a tenth of the usual spread"),
        above=0,
    )
    require_confidence(confidence)
    tables = [_rows(rows) for rows in (guesses, members, others)]
    if not len(tables[1]) or not len(tables[2]):
        raise DPSGDError(Message("Give at least one member and one other record."))
    if len({table.shape[1] for table in tables}) > 1:
        raise DPSGDError(Message("Guesses and records need the same columns."))
    candidates = tables[0][np.isfinite(tables[0]).all(axis=1)]
    hits = (
        (sum(_is_near(row, candidates, tolerance) for row in table), len(table))
        for table in tables[1:]
    )
    return Rebuilt.of(*hits, ceiling=ceiling, confidence=confidence)


def _is_near(row: Floats, candidates: Floats, tolerance: float) -> bool:
    return bool(len(candidates)) and bool(
        ((candidates - row) ** 2).mean(axis=1).min() <= tolerance**2
    )


def _rows(values: ArrayLike) -> Floats:
    try:
        table = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise DPSGDError(Message("Records must be rows of numbers.")) from None
    if table.ndim > 2:
        table = table.reshape(len(table), math.prod(table.shape[1:]))
    if table.ndim != 2:
        raise DPSGDError(Message("Records must be rows of numbers, one record a row."))
    return table
