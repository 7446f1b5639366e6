"""Whether two variables of a table seem as related after protection as before."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footing.messages import Message, Shape, joined
from risk.errors import RiskError
from risk.utility.catalogue import Measure, defined, undefined
from risk.utility.pairs import counts_of

_NAMES = ("chi2", "chi2_p", "cramers_v", "deviance")


@dataclass(frozen=True, slots=True, kw_only=True)
class Association:
    """Association in a two-way table, before and after protection.

    Parameters
    ----------
    measures
        χ², its p-value, Cramér's V and the deviance of independence, original and published,
        with their changes; the base is the number of cells whose margins are not empty.
    related_original, related_published
        Whether the χ² test rejects independence at 5 %; None where it is undefined.

    Examples
    --------
    >>> found = association([[10, 20], [20, 10]], [[11, 19], [20, 10]])
    >>> found.related_original, found.related_published
    (True, True)
    """

    measures: tuple[Measure, ...]
    related_original: bool | None
    related_published: bool | None


def association(original: ArrayLike, published: ArrayLike) -> Association:
    """Compare the association of two variables, before and after protection.

    Parameters
    ----------
    original, published
        The inner cells of a two-way table.

    Notes
    -----
    Expected counts are ``e_ij = o_i. o_.j / o_..``, from sums of the cells. Rows and columns
    of empty cells are left out; r and c count those that stay. The deviance is 2 Σ(o ln(o/e)
    - o + e), the log-linear model of independence; the last two terms cancel.

    Examples
    --------
    >>> found = association([[10, 20], [20, 10]], [[10, 20], [20, 10]])
    >>> {m.name: round(m.value, 4) for m in found.measures if "cramers" in m.name}
    {'cramers_v_original': 0.3333, 'cramers_v_published': 0.3333}
    """
    before, after = _tables(original, published)
    both = {m.name: m for m in (*_side(before, "original"), *_side(after, "published"))}
    return Association(
        measures=(
            *(both[f"{name}_{side}"] for name in _NAMES for side in ("original", "published")),
            _change(both["cramers_v_original"], both["cramers_v_published"]),
            _ratio(both["deviance_original"], both["deviance_published"]),
        ),
        related_original=_related(both["chi2_p_original"]),
        related_published=_related(both["chi2_p_published"]),
    )


def _tables(
    original: ArrayLike, published: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    problems: list[str] = []
    before = counts_of(original, "original", problems)
    after = counts_of(published, "published", problems)
    if not problems and (before.ndim != 2 or before.shape != after.shape):
        problems.append(
            Message(
                "original and published must be two-way tables of one shape, not {shape} "
                "and {after_shape}",
                shape=Shape(before.shape),
                after_shape=Shape(after.shape),
            )
        )
    if problems:
        raise RiskError(
            Message(
                "Association takes two tables: {problems}.",
                problems=joined("; ", problems),
            )
        )
    return before, after


def _side(cells: NDArray[np.int64], word: str) -> list[Measure]:
    """Measure one of the two tables."""
    rows, columns, total = cells.sum(axis=1), cells.sum(axis=0), int(cells.sum())
    core = cells[np.ix_(rows > 0, columns > 0)]
    n_rows, n_columns = core.shape
    if min(n_rows, n_columns) < 2:
        reason = f"fewer than two {word} rows or columns are not empty"
        return [undefined(f"{name}_{word}", reason, base=core.size) for name in _NAMES]
    expected = np.outer(rows[rows > 0].astype(float), columns[columns > 0]) / total
    chi2 = float(((core - expected) ** 2 / expected).sum())
    drift = np.where(core > 0, core - expected, 0.0)  # o ln(o/e), exact where o is near e
    deviance = 2 * float((core * np.log1p(drift / expected) - core + expected).sum())
    values = {
        "chi2": chi2,
        "chi2_p": _tail(chi2, (n_rows - 1) * (n_columns - 1)),
        "cramers_v": math.sqrt(chi2 / (total * (min(n_rows, n_columns) - 1))),
        "deviance": max(deviance, 0.0),
    }
    return [defined(f"{name}_{word}", v, base=core.size) for name, v in values.items()]


def _tail(chi2: float, freedom: int) -> float:
    from scipy.special import chdtrc

    return float(chdtrc(freedom, chi2))


def _related(p_value: Measure) -> bool | None:
    return None if p_value.value is None else p_value.value < 0.05


def _change(before: Measure, after: Measure) -> Measure:
    base = min(before.base, after.base)
    if before.value is None or after.value is None:
        return undefined("rcv_pct", before.reason or after.reason, base=base)
    if before.value < 1e-12:
        return undefined("rcv_pct", "the original table has no association", base=base)
    return defined("rcv_pct", 100 * (after.value - before.value) / before.value, base=base)


def _ratio(before: Measure, after: Measure) -> Measure:
    base = min(before.base, after.base)
    if before.value is None or after.value is None:
        return undefined("deviance_ratio", before.reason or after.reason, base=base)
    if before.value < 1e-9:
        return undefined("deviance_ratio", "the original deviance is 0", base=base)
    return defined("deviance_ratio", after.value / before.value, base=base)
