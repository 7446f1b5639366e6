"""Every column by itself, from a noisy histogram."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

from footing.checks import require_one_of
from synth.baselines.coded import code_frame, decode_frame
from synth.baselines.model import Account, BaselineModel, charge_bins, checked_epsilon
from synth.baselines.noise import noisy_margins
from synth.errors import SynthError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    import pandas as pd

    from synth.baselines.noise import Mechanism

Mode = Literal["strict", "thesis"]


def dp_histogram(
    frame: Any,
    *,
    epsilon: float,
    domains: Mapping[str, Sequence[Any]] | None,
    mode: Mode = "strict",
    mechanism: Mechanism = "laplace",
    delta: float = 1e-3,
    rng: np.random.Generator | None = None,
) -> BaselineModel:
    """Sample every column from its noisy histogram, none with regard to another.

    Parameters
    ----------
    frame
        The records.
    epsilon
        The budget. In mode ``"strict"`` of all columns together; in mode ``"thesis"`` of each
        column, and 0 stands for no noise.
    domains
        Per column its values. None reads them from the records, and the account says so.
    mode
        Whether columns share the budget.
    mechanism, delta
        The noise; delta is of the Gaussian alone.
    rng
        A generator, for simulations; without one the noise is exact and from the system.

    Examples
    --------
    >>> model = dp_histogram(
    ...     {"sex": ["F", "M"] * 50, "age": [20, 30] * 50},
    ...     epsilon=1,
    ...     domains={"sex": ["F", "M"], "age": [20, 30]},
    ... )
    >>> print(model.account)
    epsilon 1 (margins 1)
    """
    require_one_of(mode, "mode", get_args(Mode), error=SynthError)
    is_strict = mode == "strict"
    epsilon = checked_epsilon(epsilon, may_be_zero=not is_strict)
    columns = code_frame(frame, domains=domains)
    is_bounded = is_strict and domains is not None
    account = Account(claimed=epsilon, limit=epsilon if is_bounded else None)
    charge_bins(account, columns)
    share = len(columns) if is_strict else 1
    margins = noisy_margins(
        [one.codes for one in columns],
        [one.size for one in columns],
        names=[one.name for one in columns],
        epsilon=epsilon / share,
        account=account,
        mechanism=mechanism,
        delta=delta / share,
        rng=rng,
    )

    def draw(n: int, source: np.random.Generator) -> pd.DataFrame:
        drawn = [margin.inverse(source.random(n)).astype(int) for margin in margins]
        return decode_frame(columns, drawn)

    return BaselineModel(label=account.label("DP-Histogram"), account=account, draw=draw)
