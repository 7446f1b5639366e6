"""A Gaussian copula from noisy margins and noisy Kendall's taus."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from footing.arrays import Integers
from footing.messages import Message, Name
from synth.baselines.coded import CodedColumn, code_frame, decode_frame
from synth.baselines.model import Account, BaselineModel, Charge, charge_bins, checked_epsilon
from synth.baselines.noise import noisy_correlation, noisy_margins
from synth.errors import SynthError

#: What is wrong in the implementation that earlier comparisons used.
LEGACY_DEFECTS = ("string-ranks", "permuted-margins", "truncated-values")


def dp_copula(
    frame: Any,
    *,
    epsilon: float,
    domains: Mapping[str, Sequence[Any]] | None,
    defects: Collection[str] = (),
    rng: np.random.Generator | None = None,
) -> BaselineModel:
    """Fit a Gaussian copula: noisy margins, and noisy Kendall's taus of all pairs.

    Parameters
    ----------
    frame
        The records.
    epsilon
        The budget.
    domains
        Per column its values, categories in an order. None reads them from the records, and
        the account says so.
    defects
        Some of `LEGACY_DEFECTS`, to repeat earlier results: Kendall's tau of numbers as texts;
        margins whose counts belong to other values; numbers cut to integers.
    rng
        A generator, for simulations; without one the noise is exact and from the system.

    References
    ----------
    Li, Xiong, Jiang 2014.

    Examples
    --------
    >>> x = np.arange(400) % 20
    >>> model = dp_copula(
    ...     {"a": x, "b": -x},
    ...     epsilon=50,
    ...     domains={"a": range(20), "b": range(-19, 1)},
    ...     rng=np.random.default_rng(1),
    ... )
    >>> drawn = model.sample(500, np.random.default_rng(2))
    >>> bool(drawn.corr().loc["a", "b"] < -0.9), str(model.account)
    (True, 'epsilon 50 (margins 25, dependence 25)')
    """
    epsilon = checked_epsilon(epsilon)
    unknown = set(defects) - set(LEGACY_DEFECTS)
    if unknown:
        raise SynthError(
            Message("Unknown defect {names!r}.", names=Name(min(unknown))),
            hint=Message("known: {legacy_defects}", legacy_defects=Name.each(LEGACY_DEFECTS)),
        )
    columns = code_frame(frame, domains=domains)
    is_bounded = domains is not None and not defects
    account = Account(claimed=epsilon, limit=epsilon if is_bounded else None)
    charge_bins(account, columns)
    codes = [one.codes for one in columns]
    if "permuted-margins" in defects:
        account.pay(Charge(part="margins", what="order of appearance", epsilon=math.inf))
        codes = [_by_appearance(one) for one in codes]
    share = 0.5 if len(columns) > 1 else 1.0
    margins = noisy_margins(
        codes,
        [one.size for one in columns],
        names=[one.name for one in columns],
        epsilon=epsilon * share / len(columns),
        account=account,
        rng=rng,
    )
    ranks = [_text_ranks(one) for one in columns] if "string-ranks" in defects else None
    correlation = noisy_correlation(
        ranks or [one.codes for one in columns],
        epsilon=epsilon * (1 - share) or epsilon,
        account=account,
        rng=rng,
    )
    root = np.linalg.cholesky(correlation)

    def draw(n: int, source: np.random.Generator) -> pd.DataFrame:
        from scipy.special import ndtr

        u = ndtr(source.standard_normal((n, len(columns))) @ root.T)
        draws = [one.inverse(u[:, k]).astype(int) for k, one in enumerate(margins)]
        records = decode_frame(columns, draws)
        return _truncated(records) if "truncated-values" in defects else records

    label = "DP-Copula" if not defects else f"DP-Copula with {', '.join(sorted(defects))}"
    return BaselineModel(
        label=account.label(label),
        account=account,
        draw=draw,
        details={"correlation": correlation, "margins": margins},
    )


def _text_ranks(column: CodedColumn) -> Integers:
    texts = np.array([str(value) for value in column.domain])
    _, ranks = np.unique(texts, return_inverse=True)
    return np.asarray(ranks, dtype=np.int64)[column.codes]


def _by_appearance(codes: Integers) -> Integers:
    """Give each record the place at which its value appeared first."""
    values, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    place_of = np.empty(len(values), dtype=np.int64)
    place_of[np.argsort(first)] = np.arange(len(values))
    return place_of[inverse]


def _truncated(records: pd.DataFrame) -> pd.DataFrame:
    numeric = {
        name: np.trunc(records[name])
        for name in records.columns
        if pd.api.types.is_float_dtype(records[name])
    }
    return records.assign(**numeric)
