"""DP-Histogram as published: columns by themselves, the whole epsilon for each of them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from footing.arrays import AnyIntegers
from footing.checks import require_one_of
from footing.messages import Message
from synth.baselines.copulas.layout import LayoutVine, lay_out
from synth.baselines.copulas.vine_engines import VineModel
from synth.baselines.model import Account, charge_bins
from synth.baselines.noise import noisy_margins
from synth.baselines.published import account_record, coded_columns, refuse_others
from synth.claims import Claim
from synth.errors import SynthError
from synth.marginals.measuring import Neighbours

_LABEL = "DP-Histogram as published"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistogramSettings:
    """What may be chosen of DP-Histogram.

    Parameters
    ----------
    mechanism
        ``"laplace"`` or ``"geometric"``.
    """

    mechanism: str = "laplace"

    def __post_init__(self) -> None:
        require_one_of(self.mechanism, "mechanism", ("laplace", "geometric"), error=SynthError)


def fit_dp_histogram(
    codes: AnyIntegers,
    *,
    claim: Claim,
    neighbours: Neighbours,
    settings: HistogramSettings | None = None,
    **terms: Any,
) -> VineModel:
    """Fit DP-Histogram as published, which is **not differentially private as claimed**.

    As there, bins are the values of the records, and each of n columns has the whole epsilon.

    References
    ----------
    Gambs, Ladouceur, Laurent, Roy-Gaumond 2021, section 5 (the baseline without dependence).
    """
    settings = settings or HistogramSettings()
    sizes, ordered, noise = terms.pop("sizes"), terms.pop("ordered"), terms.pop("noise")
    refuse_others(terms)
    if claim.epsilon is None:
        way = Message("--epsilon 1")
        raise SynthError(Message("The method claims an epsilon; 0 is no noise."), hint=way)
    getattr(noise, "look", lambda: None)()  # all is checked, and the records are looked at
    columns = coded_columns(codes, ordered=ordered)
    layout = lay_out(columns, encoder="ordinal", target=None)
    account = Account(claimed=claim.epsilon)
    charge_bins(account, columns)
    margins = noisy_margins(
        layout.bins,
        layout.sizes,
        names=layout.names,
        epsilon=claim.epsilon,
        account=account,
        mechanism=settings.mechanism,  # type: ignore[arg-type]
        rng=getattr(noise, "rng", None),  # noise without one is secure
    )
    values = zip(columns, layout.values_of, strict=True)
    public_layout = replace(
        layout,
        bins=(),
        values_of=tuple(np.array(column.domain)[places] for column, places in values),
    )
    independent = LayoutVine(
        layout=public_layout, margins=tuple(margins), vine=None, active=np.array([], np.int64)
    )
    record = account_record(account, label=_LABEL, claimed=claim.epsilon, rows=neighbours.rows)
    return VineModel(vine=independent, columns=tuple(sizes), account=record)
