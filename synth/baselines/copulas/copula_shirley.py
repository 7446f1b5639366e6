"""COPULA-SHIRLEY: noisy margins and a vine; beside it a vine without any privacy."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from footing.arrays import Integers
from footing.checks import require_number
from footing.messages import Message, Name
from synth.baselines.coded import CodedColumn, code_frame
from synth.baselines.copulas.layout import Encoder, LayoutVine, lay_out
from synth.baselines.model import Account, BaselineModel, Charge, charge_bins, checked_epsilon
from synth.baselines.noise import Mechanism, exact_margins, noisy_margins
from synth.copulas.pair import FAMILIES, Criterion
from synth.copulas.vine import Measure, Truncation
from synth.errors import SynthError

_LEAST = 2


def copula_shirley(
    frame: Any,
    *,
    epsilon: float,
    encoder: Encoder = "ordinal",
    target: str | None = None,
    encoder_records: Any = None,
    domains: Mapping[str, Sequence[Any]] | None = None,
    histogram_share: float = 0.5,
    encoder_share: float = 0.2,
    mechanism: Mechanism = "laplace",
    delta: float = 1e-3,
    truncation: Truncation = 2,
    measure: Measure = "rho",
    families: Sequence[str] = FAMILIES,
    criterion: Criterion = "aic",
    selected_on: int | None = None,
    rng: np.random.Generator | None = None,
    threads: int = 1,
) -> BaselineModel:
    """Fit COPULA-SHIRLEY as published; the method ``"copula-shirley-strict"`` keeps a budget.

    It is **not** differentially private as claimed: each column has a histogram at the whole
    epsilon, the vine is fitted to records without any noise, bins and encoders are read off
    the records.

    Parameters
    ----------
    frame
        The records.
    epsilon
        The budget as claimed; 0 stands for no noise.
    encoder, target
        How categories become numbers: ``"ordinal"``, ``"one-hot"``, ``"woe"`` or ``"glmm"``;
        the last two for a target column.
    encoder_records
        Other records to fit the encoder on, a test fold for instance.
    domains
        Per column its values. None reads them from the records.
    histogram_share
        The share of the records for the margins.
    encoder_share
        The share of the records for an encoder that has a target.
    mechanism, delta
        The noise on the histograms; delta is of the Gaussian alone.
    truncation, measure, families, criterion, selected_on
        The vine, see `synth.copulas.fit_vine`.
    rng
        A generator, for simulations; without one the noise is exact and from the system.
    threads
        How many processors a fit uses.

    References
    ----------
    Gambs, Ladouceur, Laurent, Roy-Gaumond 2021, Growing synthetic data through
    differentially-private vine copulas, PoPETs 2021(3).

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> x = rng.integers(0, 9, 300)
    >>> model = copula_shirley({"a": x, "b": 8 - x}, epsilon=8, families=["gaussian"], rng=rng)
    >>> model.label
    'COPULA-SHIRLEY as published, NOT DP as claimed'
    >>> print(model.account)
    NOT DP as claimed: epsilon 8 claimed; bins unbounded, margins 16, dependence unbounded
    """
    epsilon = checked_epsilon(epsilon, may_be_zero=True)
    columns = code_frame(frame, domains=domains)
    other = None if encoder_records is None else _other(encoder_records, columns)
    learns = encoder in {"woe", "glmm"}
    learns_here = learns and other is None
    n = len(columns[0].codes)
    folds = dict.fromkeys(("encoder", "histogram", "copula"), np.arange(n))
    if epsilon > 0:  # without noise nothing is split, as published
        share = encoder_share if learns_here else 0.0
        folds = split_records(n, histogram_share=histogram_share, encoder_share=share, rng=rng)
    rows = folds["encoder"] if learns_here else None
    layout = lay_out(columns, encoder=encoder, target=target, fitted_on=other, rows=rows)
    account = Account(claimed=epsilon)
    charge_bins(account, columns)
    if learns:
        account.pay(Charge(part="encoders", what=encoder, epsilon=math.inf))
    bins = [one[folds["histogram"]] for one in layout.bins]
    margins = noisy_margins(
        bins,
        layout.sizes,
        names=layout.names,
        epsilon=epsilon,
        account=account,
        mechanism=mechanism,
        delta=delta,
        rng=rng,
    )
    account.pay(Charge(part="dependence", what="vine without noise", epsilon=math.inf))
    parts = [one[folds["copula"]] for one in layout.bins]
    vine = LayoutVine.fitted(
        layout,
        margins,
        np.column_stack([m.pit(one) for m, one in zip(margins, parts, strict=True)]),
        truncation=truncation,
        measure=measure,
        families=tuple(families),
        criterion=criterion,
        selected_on=selected_on,
        threads=threads,
    )
    label = "COPULA-SHIRLEY as published, NOT DP as claimed"
    return vine.baseline(label, columns, account, folds=folds)


def _other(records: Any, columns: list[CodedColumn]) -> list[CodedColumn]:
    """Code other records with the same values; what is not among them gets -1."""
    by_name = {one.name: one for one in code_frame(records)}
    lacking = [one.name for one in columns if one.name not in by_name]
    if lacking:
        raise SynthError(
            Message(
                "The records for the encoder have no column {lacking!r}.",
                lacking=Name(lacking[0]),
            )
        )
    coded = []
    for column in columns:
        place_of = {value: place for place, value in enumerate(column.domain)}
        other = by_name[column.name]
        new = np.array([place_of.get(value, -1) for value in other.domain], dtype=np.int64)
        coded.append(replace(column, codes=new[other.codes]))
    return coded


def split_records(
    n: int,
    *,
    histogram_share: float,
    encoder_share: float = 0.0,
    rng: np.random.Generator | None = None,
) -> dict[str, Integers]:
    """Deal the records at random to the steps of a method; no record goes to two."""
    require_number(histogram_share, "histogram_share", error=SynthError, above=0, below=1)
    require_number(encoder_share, "encoder_share", error=SynthError, minimum=0, below=1)
    order = np.random.default_rng(rng).permutation(n)
    first = max(_LEAST, round(n * encoder_share)) if encoder_share else 0
    second = first + max(1, round((n - first) * histogram_share))
    if n - second < _LEAST:
        raise SynthError(
            Message("{number} records are too few to be split.", number=n),
            hint=Message("give more, or set epsilon to 0"),
        )
    parts = np.split(order, [first, second])
    return {
        name: np.sort(part)
        for name, part in zip(("encoder", "histogram", "copula"), parts, strict=True)
    }


def vine_without_privacy(
    frame: Any,
    *,
    domains: Mapping[str, Sequence[Any]] | None = None,
    encoder: Encoder = "ordinal",
    target: str | None = None,
    truncation: Truncation = None,
    measure: Measure = "tau",
    families: Sequence[str] = FAMILIES,
    criterion: Criterion = "aic",
    records: int | None = None,
    threads: int = 1,
) -> BaselineModel:
    """Fit a vine to the records as they are.

    Parameters
    ----------
    frame
        The records.
    domains
        Per column its values; by default those of the records.
    encoder, target
        How categories are ordered.
    truncation, measure, families, criterion
        The vine.
    records
        To how many of the records the vine is fitted; margins are always those of all.
    threads
        How many processors a fit uses.

    Examples
    --------
    >>> x = np.random.default_rng(1).integers(0, 9, 300)
    >>> model = vine_without_privacy({"a": x, "b": 8 - x}, families=["gaussian"])
    >>> print(model.account)
    NOT DP as claimed: epsilon 0 claimed; dependence unbounded
    """
    columns = code_frame(frame, domains=domains)
    layout = lay_out(columns, encoder=encoder, target=target)
    margins = exact_margins(layout.bins, layout.sizes)
    account = Account(claimed=0.0)
    account.pay(Charge(part="dependence", what="everything, without noise", epsilon=math.inf))
    pairs = list(zip(margins, layout.bins, strict=True))
    u = np.column_stack([margin.pit(one) for margin, one in pairs])
    below = np.column_stack([margin.pit_before(one) for margin, one in pairs])
    if records is not None and records < len(u):
        some = np.sort(np.random.default_rng(0).choice(len(u), records, replace=False))
        u, below = u[some], below[some]
    vine = LayoutVine.fitted(
        layout,
        margins,
        u,
        before=below,
        truncation=truncation,
        measure=measure,
        families=families,
        criterion=criterion,
        threads=threads,
    )
    return vine.baseline("Vine without privacy", columns, account)
