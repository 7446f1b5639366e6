"""Whether two variables of a table seem as related after protection as before."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
    margins
        ``"summed"`` when expected counts of the published table come from the sums of its
        published cells, ``"published"`` when they come from its published margins.
    related_original, related_published
        Whether the χ² test rejects independence at 5 %; None where it is undefined.
    n_expected_below_5
        Cells whose expected count is below 5, original and published: with many of them the
        χ² test is rough.

    Examples
    --------
    >>> found = association([[10, 20], [20, 10]], [[11, 19], [20, 10]])
    >>> found.related_original, found.related_published, found.same_decision
    (True, True, True)
    """

    measures: tuple[Measure, ...]
    margins: str
    related_original: bool | None
    related_published: bool | None
    n_expected_below_5: tuple[int, int]

    @property
    def same_decision(self) -> bool | None:
        """Whether both tests decide alike; None where one is undefined.

        Examples
        --------
        >>> association([[1, 0], [0, 0]], [[1, 0], [0, 0]]).same_decision is None
        True
        """
        if self.related_original is None or self.related_published is None:
            return None
        return self.related_original == self.related_published


def association(
    original: ArrayLike,
    published: ArrayLike,
    *,
    row_totals: ArrayLike | None = None,
    column_totals: ArrayLike | None = None,
    total: int | None = None,
) -> Association:
    """Compare the association of two variables, before and after protection.

    Parameters
    ----------
    original, published
        The inner cells of a two-way table.
    row_totals, column_totals, total
        The published margins. Give all three to take expected counts from them; leave all
        three out to take them from the sums of the published cells.

    Notes
    -----
    Expected counts are ``e_ij = o_i. o_.j / o_..``. Rows and columns whose margin is 0 are
    left out; r and c count those that stay. The deviance is 2 Σ(o ln(o/e) - o + e), the
    log-linear model of independence; with summed margins the last two terms cancel.

    Examples
    --------
    >>> found = association([[10, 20], [20, 10]], [[10, 20], [20, 10]])
    >>> {m.name: round(m.value, 4) for m in found.measures if "cramers" in m.name}
    {'cramers_v_original': 0.3333, 'cramers_v_published': 0.3333}
    """
    before, after = _tables(original, published)
    given = [margin is not None for margin in (row_totals, column_totals, total)]
    if any(given) and not all(given):
        raise RiskError(
            "Published margins must be given all three or not at all.",
            hint="give row_totals, column_totals and total",
        )
    margins = None
    if row_totals is not None and column_totals is not None and total is not None:
        margins = _margins(row_totals, column_totals, total, after.shape)
    found, small_before = _side(before, None, "original")
    other, small_after = _side(after, margins, "published")
    both = {m.name: m for m in (*found, *other)}
    return Association(
        measures=(
            *(both[f"{name}_{side}"] for name in _NAMES for side in ("original", "published")),
            _change(both["cramers_v_original"], both["cramers_v_published"]),
            _ratio(both["deviance_original"], both["deviance_published"]),
        ),
        margins="summed" if margins is None else "published",
        related_original=_related(both["chi2_p_original"]),
        related_published=_related(both["chi2_p_published"]),
        n_expected_below_5=(small_before, small_after),
    )


def _tables(
    original: ArrayLike, published: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    problems: list[str] = []
    before = counts_of(original, "original", problems)
    after = counts_of(published, "published", problems)
    if not problems and (before.ndim != 2 or before.shape != after.shape):
        problems.append(
            "original and published must be two-way tables of one shape, "
            f"not {before.shape} and {after.shape}"
        )
    if problems:
        raise RiskError("Association takes two tables: " + "; ".join(problems) + ".")
    return before, after


def _margins(
    rows: ArrayLike, columns: ArrayLike, total: int, shape: tuple[int, ...]
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    problems: list[str] = []
    row_totals = counts_of(rows, "row_totals", problems)
    column_totals = counts_of(columns, "column_totals", problems)
    whole = counts_of([total], "total", problems)
    if not problems and (row_totals.shape, column_totals.shape) != (shape[:1], shape[1:]):
        problems.append("row_totals and column_totals must have one count per row and column")
    if problems:
        raise RiskError("The published margins do not fit: " + "; ".join(problems) + ".")
    return row_totals, column_totals, int(whole[0])


def _side(
    cells: NDArray[np.int64],
    margins: tuple[NDArray[np.int64], NDArray[np.int64], int] | None,
    word: str,
) -> tuple[list[Measure], int]:
    """Measure one of the two tables."""
    if margins is None:
        margins = cells.sum(axis=1), cells.sum(axis=0), int(cells.sum())
    rows, columns, total = margins
    lost = cells[rows == 0, :].sum() + cells[:, columns == 0].sum()
    kept = cells[np.ix_(rows > 0, columns > 0)]
    n_rows, n_columns = kept.shape
    reason = ""
    if min(n_rows, n_columns) < 2:
        reason = f"fewer than two {word} rows or columns are not empty"
    elif not total:
        reason = f"the {word} total is 0"
    elif lost:
        reason = f"a {word} margin is 0 though one of its cells is not"
    if reason:
        return [undefined(f"{name}_{word}", reason, base=kept.size) for name in _NAMES], 0
    expected = np.outer(rows[rows > 0].astype(float), columns[columns > 0]) / total
    chi2 = float(((kept - expected) ** 2 / expected).sum())
    drift = np.where(kept > 0, kept - expected, 0.0)  # o ln(o/e), exact where o is near e
    deviance = 2 * float((kept * np.log1p(drift / expected) - kept + expected).sum())
    values = {
        "chi2": chi2,
        "chi2_p": _tail(chi2, (n_rows - 1) * (n_columns - 1)),
        "cramers_v": math.sqrt(chi2 / (total * (min(n_rows, n_columns) - 1))),
        "deviance": max(deviance, 0.0),
    }
    found = [defined(f"{name}_{word}", v, base=kept.size) for name, v in values.items()]
    return found, int(np.count_nonzero(expected < 5))


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
