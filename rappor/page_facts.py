"""From a decoding to what a page says of it."""

from __future__ import annotations

import math
from importlib import metadata
from typing import TYPE_CHECKING

import numpy as np

from reports.facts.copying import fact_of
from reports.facts.decoding import CandidateFact, DecodingFacts, EstimateFact, SuspicionFact

if TYPE_CHECKING:
    from rappor.decoding.result import Amount, Decoding


def decoding_facts(found: Decoding, *, title: str = "") -> DecodingFacts:
    """Give all that a page says of a decoding."""
    shape = found.parameters
    letters = {"n_bits": "k", "n_hashes": "h", "n_cohorts": "m"}
    names = (*letters, "f", "p", "q", "hash")
    return fact_of(
        DecodingFacts,
        found,
        shape,
        title=title,
        version=program_version(),
        reports=found.total,
        parameters={letters.get(name, name): getattr(shape, name) for name in names},
        epsilon_one=_finite(shape.epsilon_one),
        epsilon_permanent=_finite(shape.epsilon_permanent),
        candidates=tuple(_candidates(found)),
        is_ordered=shape.hash == "index" and not shape.is_boolean,
        collisions=tuple(group for group in found.groups if len(group) > 1),
        limit=_limit(found),
        unknown=_amount(found, found.unknown),
        rest=_amount(found, found.rest),
        mass=_amount(found, found.mass),
        suspicions=tuple(
            fact_of(SuspicionFact, own, cohort=own.example[0], bit=own.example[1])
            for own in found.diagnostics
        ),
    )


def _candidates(found: Decoding) -> list[CandidateFact]:
    columns = (
        array.tolist()
        for array in (
            found.estimates,
            found.sds,
            found.intervals,
            found.adjusted,
            found.is_detected,
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
            found.names, *columns, strict=True
        )
    ]


def _limit(found: Decoding) -> float | None:
    """Give the estimate at which a typical candidate is just found."""
    from scipy.special import ndtri

    known = found.sds[np.isfinite(found.sds)]
    if not known.size:
        return None
    n, hits = len(found.p_values), max(1, int(found.is_detected.sum()))
    steps = {
        "none": 1.0,
        "bonferroni": 1 / n,
        "holm": 1 / (n + 1 - hits),
        "benjamini-hochberg": hits / n,
        "benjamini-yekutieli": hits / n / (1 / np.arange(1, n + 1)).sum(),
    }
    return float(-ndtri(found.alpha * steps[found.correction]) * np.median(known))


def _amount(found: Decoding, amount: Amount | None) -> EstimateFact | None:
    if amount is None:
        return None
    wide = found.quantile * amount.sd
    return EstimateFact(
        estimate=amount.estimate,
        sd=amount.sd,
        low=amount.estimate - wide,
        high=amount.estimate + wide,
    )


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def program_version() -> str:
    """Return the version of the program, for pages."""
    try:
        return metadata.version("ckm-engine")
    except metadata.PackageNotFoundError:
        return "unknown"
