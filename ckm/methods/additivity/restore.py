"""Make a published table add up again, after the cell key method and off by default."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckm.engine.published_table import PublishedTable
from ckm.errors import ConfigError, ReleaseError
from ckm.methods.additivity.controlled_rounding import round_additive, round_exactly
from ckm.methods.additivity.equations import TableSums
from ckm.methods.additivity.least_squares import nearest_additive
from footing.arrays import Floats
from footing.messages import Argument, Message, Name, joined
from tables import CodeTree

_LARGEST = 2.0**50


def restore_additivity(
    table: PublishedTable,
    *,
    measure: str = "count",
    bound: float | None = None,
    base: int | None = 1,
    exact: bool = False,
    trees: Mapping[str, CodeTree] | None = None,
    total_label: str = "Total",
) -> PublishedTable:
    """Return the nearest table whose parts add up to their totals.

    Nothing but the published table is used, so that the result tells no more than it did. But
    each table is changed by itself: the same cell no longer has the same number in every
    table.

    Parameters
    ----------
    table
        The published table, with totals.
    measure
        The column that is to add up; others stay as they are.
    bound
        How far a number may move at most; without limit by default.
    base
        Numbers become multiples of it; None leaves fractions, in exact least squares.
    exact
        Find the best table of multiples, for small tables only.
    trees
        Column → its code tree, where the categories of one column hold each other.
    total_label
        What totals are called.

    Returns
    -------
    PublishedTable
        The same cells with other numbers, none negative.

    Raises
    ------
    ConfigError
        If bound or base is wrong.
    ReleaseError
        If numbers are missing, negative or suppressed, or if no table that adds up lies within
        the bound.

    Notes
    -----
    Inner cells that were published as 0, or not listed, stay 0. Every margin that the table
    shows takes part in the least squares, so that totals are not simply added up again: their
    own noise is averaged with that of their parts.

    Examples
    --------
    >>> from ckm import PublishedTable
    >>> table = PublishedTable(
    ...     dimensions={"sex": (np.array([0, 1, 2], np.int32), ["Total", "F", "M"])},
    ...     measures={"count": np.array([12, 3, 6])},
    ... )
    >>> restore_additivity(table).measures["count"].tolist()
    [11, 4, 7]
    """
    _require(bound, base, exact=exact)
    published = _read(table, measure)
    sums = TableSums.of_table(table, trees=trees, total_label=total_label)
    sums = sums.without(published == 0)
    reach = np.inf if bound is None else float(bound)
    lower, upper = np.maximum(published - reach, 0.0), published + reach
    restored: NDArray[Any]
    if base is not None and exact:
        restored = round_exactly(sums, published, base=base, lower=lower, upper=upper)
    else:
        restored = nearest_additive(sums, published, lower=lower, upper=upper)
        if base is not None:
            restored = round_additive(sums, published, start=restored, base=base)
            if ((restored < lower) | (restored > upper)).any():
                raise ReleaseError(
                    Message(
                        "No table of multiples of {base} that adds up was found within "
                        "{bound:g}.",
                        base=base,
                        bound=bound,
                    ),
                    hint=Message("widen the bound, or set exact=True for a small table"),
                )
    return replace(table, measures={**table.measures, measure: restored})


def _require(bound: float | None, base: int | None, *, exact: bool) -> None:
    problems = []
    if bound is not None and not bound >= 0:
        problems.append(
            Message("bound must be a number of 0 or more, not {bound!r}", bound=Argument(bound))
        )
    if base is not None and (type(base) is not int or base < 1):
        problems.append(
            Message("base must be an integer of at least 1, not {base!r}", base=Argument(base))
        )
    if exact and base is None:
        problems.append(Message("exact finds multiples of a base; give one"))
    if problems:
        raise ConfigError(
            Message(
                "Additivity cannot be restored: {problems}.", problems=joined("; ", problems)
            )
        )


def _read(table: PublishedTable, measure: str) -> Floats:
    if measure not in table.measures:
        raise ReleaseError(
            Message("The table has no measure {measure!r}.", measure=Name(measure)),
            hint=Message("it has {measures!r}", measures=Name.each(table.measures)),
        )
    numbers = table.measures[measure]
    if np.ma.is_masked(numbers):
        raise ReleaseError(
            Message(
                "Some numbers of {measure!r} are suppressed, and would be told by the others.",
                measure=Name(measure),
            ),
            hint=Message("restore additivity or suppress, not both"),
        )
    values = np.asarray(numbers, np.float64)
    if not ((values >= 0) & (values <= _LARGEST)).all():
        raise ReleaseError(
            Message(
                "The numbers of {measure!r} must be from 0 to 2^50, none missing.",
                measure=Name(measure),
            ),
            hint=Message("larger ones do not add up exactly as floating-point numbers"),
        )
    return values
