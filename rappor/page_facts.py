"""From a decoding to what a page says of it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from footing.version import engine_version
from reports.facts.copying import fact_of
from reports.facts.decoding import CandidateFact, DecodingFacts, EstimateFact, SuspicionFact

if TYPE_CHECKING:
    from rappor.decoding.result import Amount, Decoding


def decoding_facts(decoding: Decoding, *, title: str = "") -> DecodingFacts:
    """Give all that a page says of a decoding."""
    shape = decoding.parameters
    letters = {"n_bits": "k", "n_hashes": "h", "n_cohorts": "m"}
    names = (*letters, "f", "p", "q", "hash")
    return fact_of(
        DecodingFacts,
        decoding,
        shape,
        title=title,
        version=engine_version(),
        reports=decoding.total,
        parameters={letters.get(name, name): getattr(shape, name) for name in names},
        epsilon_one=_finite(shape.epsilon_one),
        epsilon_permanent=_finite(shape.epsilon_permanent),
        candidates=tuple(_candidates(decoding)),
        is_ordered=shape.hash == "index" and not shape.is_boolean,
        collisions=tuple(group for group in decoding.groups if len(group) > 1),
        limit=_limit(decoding),
        unknown=_amount(decoding, decoding.unknown),
        rest=_amount(decoding, decoding.rest),
        mass=_amount(decoding, decoding.mass),
        suspicions=tuple(
            fact_of(SuspicionFact, own, cohort=own.example[0], bit=own.example[1])
            for own in decoding.diagnostics
        ),
    )


def _candidates(decoding: Decoding) -> list[CandidateFact]:
    columns = (
        array.tolist()
        for array in (
            decoding.estimates,
            decoding.sds,
            decoding.intervals,
            decoding.adjusted,
            decoding.is_detected,
        )
    )
    return [
        CandidateFact(
            name=name,
            amount=EstimateFact(estimate=estimate, sd=sd, low=low, high=high)
            if math.isfinite(sd)
            else None,
            adjusted=adjusted,
            is_detected=is_detected,
        )
        for name, estimate, sd, (low, high), adjusted, is_detected in zip(
            decoding.names, *columns, strict=True
        )
    ]


def _limit(decoding: Decoding) -> float | None:
    """Give the estimate at which a typical candidate is just found."""
    from scipy.special import ndtri

    sds = decoding.sds[np.isfinite(decoding.sds)]
    if not sds.size:
        return None
    n, hits = len(decoding.p_values), max(1, int(decoding.is_detected.sum()))
    steps = {
        "none": 1.0,
        "bonferroni": 1 / n,
        "holm": 1 / (n + 1 - hits),
        "benjamini-hochberg": hits / n,
        "benjamini-yekutieli": hits / n / (1 / np.arange(1, n + 1)).sum(),
    }
    return float(-ndtri(decoding.alpha * steps[decoding.correction]) * np.median(sds))


def _amount(decoding: Decoding, amount: Amount | None) -> EstimateFact | None:
    if amount is None:
        return None
    wide = decoding.quantile * amount.sd
    return EstimateFact(
        estimate=amount.estimate,
        sd=amount.sd,
        low=amount.estimate - wide,
        high=amount.estimate + wide,
    )


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
