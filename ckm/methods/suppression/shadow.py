"""Rules that read another variable than the one that is shown: its shadow."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from ckm.methods.settings import SuppressionSettings
    from ckm.methods.suppression.primary import Amounts, Contributions, Primary


def primary_by_shadow(
    amounts: Amounts,
    shadow: Amounts,
    rules: SuppressionSettings,
    *,
    apply: Callable[[Amounts, SuppressionSettings], Primary],
) -> Primary:
    """Apply rules of shares to the shadow, and all others to what is shown.

    Parameters
    ----------
    amounts, shadow
        Of every cell.
    rules
        The rules.
    apply
        Applies rules to amounts.

    Notes
    -----
    A cell is kept as far from its value, as a share of it, as rules ask for its shadow. Against
    contributors they ask for no less: who they are is read from what is shown, and how much of
    the shadow one of them gave, from nothing.
    """
    without_shares = replace(rules, dominance=None, p_percent=None, prior_posterior=None)
    # a threshold of 1 calls nothing unsafe
    own = apply(amounts, replace(without_shares, threshold=rules.threshold or 1))
    verdict = apply(shadow, replace(rules, threshold=None, request=None, zero_margin=None))
    total = np.asarray(shadow.total, np.float64)
    share = np.divide(amounts.total, total, out=np.zeros(len(total)), where=total > 0)
    lower, upper = verdict.lower * share, verdict.upper * share
    is_primary = verdict.is_primary & (upper > 0)  # a sum of 0 is published as it is
    contributions: Any = own.contributions
    return replace(
        own,
        is_primary=own.is_primary | is_primary,
        lower=np.maximum(own.lower, np.where(is_primary, lower, 0.0)),
        upper=np.maximum(own.upper, np.where(is_primary, upper, 0.0)),
        contributions=_raised(contributions, np.where(is_primary, upper, 0.0)),
    )


def _raised(contributions: Contributions, need: Any) -> Contributions:
    """Ask for as much against contributors, wherever somebody else is in the cell."""
    number = contributions.number
    need = np.stack([number > 0, number > 1, number > 1, number > 1]) * need
    return replace(
        contributions,
        lower=np.maximum(contributions.lower, need),
        upper=np.maximum(contributions.upper, need),
    )
