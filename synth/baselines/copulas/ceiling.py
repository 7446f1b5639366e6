"""A vine without any privacy: what the others could reach at best."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from synth.baselines.coded import code_frame
from synth.baselines.copulas.layout import LayoutVine, lay_out
from synth.baselines.model import Account, Charge
from synth.baselines.noise import exact_margins
from synth.copulas.pair import FAMILIES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from synth.baselines.copulas.layout import Encoder
    from synth.baselines.model import BaselineModel
    from synth.copulas.pair import Criterion
    from synth.copulas.vine import Measure, Truncation


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
    is_discrete: bool = True,
    rng: np.random.Generator | None = None,
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
    is_discrete
        Whether the steps of the margins are taken into account; kernels need that. Otherwise
        every value is spread evenly over its step.
    rng
        A generator, for the spreading.
    threads
        How many processors a fit uses.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> x = rng.integers(0, 9, 300)
    >>> model = vine_without_privacy({"a": x, "b": 8 - x}, families=["gaussian"], rng=rng)
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
    if not is_discrete:
        source = np.random.default_rng() if rng is None else rng
        u = below + (u - below) * source.random(u.shape)
        constant = np.array([one.max() == one.min() for one in layout.bins])
        u[:, constant] = 1.0
    vine = LayoutVine.fitted(
        layout,
        margins,
        u,
        before=below if is_discrete else None,
        truncation=truncation,
        measure=measure,
        families=families,
        criterion=criterion,
        threads=threads,
    )
    return vine.baseline("Vine without privacy", columns, account)
