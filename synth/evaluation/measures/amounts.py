"""Totals, means and quantiles of amounts, beside what sampling alone does."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from footing.arrays import Flags, Floats
from synth.evaluation.records import Records

#: Name of a figure → the share of the records below it; None for a total and a mean.
QUANTILES = {"total": None, "mean": None, "p50": 0.5, "p90": 0.9, "p99": 0.99}
_NORMAL = 1.96
_LEAST_DISTINCT = 20  # numbers, from which on a column is an amount
_MOST_COLUMNS, _MOST_CATEGORIES = 12, 12
_LEAST_RECORDS = 30  # of a category


@dataclass(frozen=True, slots=True, kw_only=True)
class AmountFigure:
    """A figure of an amount.

    Parameters
    ----------
    name, subject, part
        The figure; the column, and the category where it is of one.
    real, made
        Its value in the real and in the synthetic records; totals for as many records.
    off
        How far off the second is, as a share of the first; None where that is 0.
    sampling
        How far off another sample of as many real records is in 19 of 20 cases.
    """

    name: str
    subject: str
    part: str
    real: float
    made: float
    off: float | None
    sampling: float | None


def amounts_of(records: Records) -> list[str]:
    """Return the columns of numbers with many values, of which offices ask totals."""
    names = [
        name
        for name, kind, column in zip(
            records.names, records.kinds, records.values.T, strict=True
        )
        if not kind.is_category and not kind.is_date and _has_many(column)
    ]
    return names[:_MOST_COLUMNS]


def _has_many(column: Floats) -> bool:
    return len(np.unique(column[~np.isnan(column)])) >= _LEAST_DISTINCT


def main_category(records: Records, amounts: Sequence[str]) -> str | None:
    """Return the column of categories by which amounts differ most; None where none does.

    By the mean square of ranks between categories, so that many of them are not better by that.
    """
    from scipy.stats import rankdata

    ranks = [rankdata(records.values[:, records.place(one)]) for one in amounts]
    ranks = [one - one.mean() for one in ranks]
    shares: dict[str, float] = {}
    for name, kind in zip(records.names, records.kinds, strict=True):
        codes = records.values[:, records.place(name)]
        codes = np.where(np.isnan(codes), -1, codes)
        values, places = np.unique(codes, return_inverse=True)
        if kind.is_category and 2 <= len(values) <= 2 * _MOST_CATEGORIES:
            counts = np.bincount(places)
            shares[name] = sum(
                float((np.bincount(places, one) ** 2 / counts).sum()) / (len(values) - 1)
                for one in ranks
            )
    return max(shares, key=shares.__getitem__, default=None) if amounts else None


def amount_figures(
    real: Records, synthetic: Records, *, amounts: Sequence[str], by: str | None
) -> Iterator[AmountFigure]:
    """Give totals, means and quantiles, overall and by the categories of a column."""
    for name in amounts:
        for label, one, other in _parts(real, synthetic, by):
            yield from _figures(
                (name, label),
                real.values[one, real.place(name)],
                synthetic.values[other, synthetic.place(name)],
                size=len(real) / len(synthetic),
            )


def _parts(
    real: Records, synthetic: Records, by: str | None
) -> Iterator[tuple[str, Flags, Flags]]:
    """Yield all records, then those of each larger category."""
    yield "", np.ones(len(real), bool), np.ones(len(synthetic), bool)
    if by is None:
        return
    first, second = (some.values[:, some.place(by)] for some in (real, synthetic))
    codes, counts = np.unique(first[~np.isnan(first)], return_counts=True)
    largest = np.sort(np.argsort(-counts, kind="stable")[:_MOST_CATEGORIES])
    categories = real.kinds[real.place(by)].categories or ()
    for code, count in zip(codes[largest], counts[largest], strict=True):
        if count >= _LEAST_RECORDS:
            yield f"{by} = {categories[int(code)]}", first == code, second == code


def _figures(
    names: tuple[str, str], real: Floats, synthetic: Floats, *, size: float
) -> Iterator[AmountFigure]:
    real, synthetic = np.sort(real[~np.isnan(real)]), np.sort(synthetic[~np.isnan(synthetic)])
    for name, quantile in QUANTILES.items():
        if not len(real):
            continue
        if quantile is None:
            times = (
                (1.0, size) if name == "total" else (1 / len(real), 1 / max(len(synthetic), 1))
            )
            values = (math.fsum(real) * times[0], math.fsum(synthetic) * times[1])
            spread = float(real.std()) / math.sqrt(len(real)) * _NORMAL
            reach = abs(spread / real.mean()) if real.mean() else None
        else:
            values = (_quantile(real, quantile), _quantile(synthetic, quantile))
            half = _NORMAL * math.sqrt(quantile * (1 - quantile) / len(real))
            ends = [_quantile(real, min(max(quantile + s * half, 0), 1)) for s in (-1, 1)]
            reach = abs((ends[1] - ends[0]) / 2 / values[0]) if values[0] else None
        yield AmountFigure(
            name=f"amount_{name}",
            subject=", ".join(filter(None, names)),
            part=names[1],
            real=values[0],
            made=values[1],
            off=_off(*values),
            sampling=reach,
        )


def _quantile(values: Floats, share: float) -> float:
    return float(np.quantile(values, share)) if len(values) else 0.0


def _off(real: float, synthetic: float) -> float | None:
    if real == synthetic:
        return 0.0
    return abs(synthetic / real - 1) if real else None
