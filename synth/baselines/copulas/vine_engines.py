"""Vines as engines of `Synthesizer`: COPULA-SHIRLEY as published, and one without any privacy.

Neither is differentially private as claimed. They are there to compare with; their certificate
says what they really cost.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, get_args

import numpy as np

from footing.arrays import AnyIntegers, Integers
from footing.checks import is_integer, require_number, require_one_of
from synth.baselines.copulas.copula_shirley import copula_shirley, vine_without_privacy
from synth.baselines.copulas.layout import Encoder, Layout, LayoutVine
from synth.baselines.model import BaselineModel
from synth.baselines.noise import Mechanism
from synth.baselines.published import (
    JointModel,
    account_record,
    as_frame,
    margins_of_codes,
    refuse_others,
    seeded_by,
)
from synth.claims import Claim
from synth.copulas.pair import FAMILIES
from synth.copulas.vine import FittedVine, Measure
from synth.errors import SynthError
from synth.marginals.measuring import Neighbours, NoiseSource
from synth.marginals.spending import Spend

_LEARNED = ("woe", "glmm")


@dataclass(frozen=True, slots=True, kw_only=True)
class VineSettings:
    """What may be chosen of a vine.

    Parameters
    ----------
    encoder
        How categories without an order get one: ``"ordinal"``, ``"one-hot"``, ``"woe"`` or
        ``"glmm"``; the last two need a label.
    truncation
        How many trees; ``"all"``, or ``"auto"`` for as many as mBICV wants.
    measure
        Which dependence decides the trees: ``"tau"`` or ``"rho"``.
    families
        The candidates for every pair.
    """

    encoder: str = "ordinal"
    truncation: int | str = "all"
    measure: str = "tau"
    families: tuple[str, ...] = FAMILIES

    def __post_init__(self) -> None:
        require_one_of(self.encoder, "encoder", get_args(Encoder), error=SynthError)
        require_one_of(self.measure, "measure", get_args(Measure), error=SynthError)
        depth = self.truncation
        if depth not in ("all", "auto") and not is_integer(depth, minimum=1):
            raise SynthError("truncation is a whole number from 1, 'all' or 'auto'.")
        given: object = self.families  # one name, where somebody wrote it as text
        names = (given,) if isinstance(given, str) else tuple(self.families)
        object.__setattr__(self, "families", names)
        for name in names:
            require_one_of(name, "families", FAMILIES, error=SynthError)

    @property
    def trees(self) -> int | str | None:
        """How many trees, as a fit of a vine takes it."""
        return None if self.truncation == "all" else self.truncation


@dataclass(frozen=True, slots=True, kw_only=True)
class ThesisSettings(VineSettings):
    """What may be chosen of COPULA-SHIRLEY as published; the defaults are those of the source.

    Parameters
    ----------
    encoder, truncation, measure, families
        See `VineSettings`.
    ratio
        The share of the records for the histograms; the vine has the others.
    encoder_ratio
        The share of the records for an encoder that has a label.
    mechanism
        ``"laplace"``, ``"geometric"`` or ``"gaussian"``.
    delta
        Of the Gaussian alone.
    """

    truncation: int | str = 2
    measure: str = "rho"
    ratio: float = 0.5
    encoder_ratio: float = 0.2
    mechanism: str = "laplace"
    delta: float = 1e-3

    def __post_init__(self) -> None:
        VineSettings.__post_init__(self)
        require_one_of(self.mechanism, "mechanism", get_args(Mechanism), error=SynthError)
        for name in ("ratio", "encoder_ratio", "delta"):
            require_number(getattr(self, name), name, error=SynthError, above=0, below=1)


@dataclass(frozen=True, eq=False, kw_only=True)
class VineModel(JointModel):
    """Margins of ordered columns, and a vine between them.

    Parameters
    ----------
    vine
        What draws records; it holds none.
    account
        What it really cost; see `synth.Model.account`.
    """

    kind: ClassVar[str] = "vine"

    vine: LayoutVine
    account: dict[str, Any]
    spends: tuple[Spend, ...] = ()

    @property
    def sizes(self) -> list[int]:
        """How many codes each column has."""
        return [int(values.max()) + 1 for values in self.vine.layout.values_of]

    def _drawn(self, number: int, rng: np.random.Generator) -> list[Integers]:
        return self.vine.draw(number, rng)

    def _parts(self) -> dict[str, Any]:
        fitted = self.vine.vine
        return {
            "parts": self.vine.layout.parts,
            "values_of": self.vine.layout.values_of,
            "margins": [margin.cumulative for margin in self.vine.margins],
            "vine": None if fitted is None else fitted.to_json(),
            "active": self.vine.active,
            "account": self.account,
        }

    @classmethod
    def _of_parts(cls, found: Mapping[str, Any]) -> Self:
        margins = margins_of_codes(found["margins"])
        layout = Layout(
            names=tuple(map(str, range(len(margins)))),
            bins=(),
            sizes=tuple(len(margin.values) for margin in margins),
            parts=tuple(tuple(int(one) for one in places) for places in found["parts"]),
            values_of=tuple(np.array(one, np.int64) for one in found["values_of"]),
            collisions={},
        )
        vine = LayoutVine(
            layout=layout,
            margins=margins,
            vine=None if found["vine"] is None else FittedVine.from_json(found["vine"]),
            active=np.array([int(one) for one in found["active"]], np.int64),
        )
        if not _fits(vine):
            raise SynthError("The parts of the model do not fit each other.")
        return cls(vine=vine, account=dict(found["account"]))


def _fits(vine: LayoutVine) -> bool:
    """Tell whether columns, margins and vine are about each other."""
    layout, active = vine.layout, vine.active.tolist()
    places = [place for column in layout.parts for place in column]
    if not all(layout.parts) or places != list(range(len(layout.sizes))):
        return False
    bins = [
        len(column) if len(column) > 1 else layout.sizes[column[0]] for column in layout.parts
    ]
    return (
        [values.shape for values in layout.values_of] == [(size,) for size in bins]
        and all(values.min(initial=0) >= 0 for values in layout.values_of)
        and len(active) == (0 if vine.vine is None else vine.vine.n)
        and {*active} <= {*places}
    )


def fit_copula_shirley(
    codes: AnyIntegers,
    *,
    claim: Claim,
    neighbours: Neighbours,
    settings: ThesisSettings | None = None,
    **given: Any,
) -> VineModel:
    """Fit COPULA-SHIRLEY as published, which is **not differentially private as claimed**.

    Here the domains are those of the schema: the published method reads them off the records.
    """
    settings = settings or ThesisSettings()
    common = _common(codes, settings, **given)
    if claim.epsilon is None:
        raise SynthError("The method claims an epsilon; 0 is no noise.", hint="--epsilon 1")
    model = copula_shirley(
        **common,
        epsilon=claim.epsilon,
        histogram_share=settings.ratio,
        encoder_share=settings.encoder_ratio,
        mechanism=settings.mechanism,  # type: ignore[arg-type]
        delta=settings.delta,
    )
    return _taken(model, "COPULA-SHIRLEY as published", claim, neighbours)


def fit_vine_without_privacy(
    codes: AnyIntegers,
    *,
    claim: Claim,
    neighbours: Neighbours,
    settings: VineSettings | None = None,
    **given: Any,
) -> VineModel:
    """Fit a vine to the records as they are: what the others could reach at best."""
    common = _common(codes, settings or VineSettings(), **given)
    if claim.epsilon is not None:
        raise SynthError(
            "A vine without privacy keeps to no epsilon.", hint="leave it out: Claim()"
        )
    return _taken(vine_without_privacy(**common), "A vine without privacy", claim, neighbours)


def _common(
    codes: AnyIntegers,
    settings: VineSettings,
    *,
    sizes: Sequence[int],
    ordered: Sequence[bool],
    noise: NoiseSource,
    label: int | None = None,
    **others: Any,
) -> dict[str, Any]:
    """Return what both methods are told, or refuse what neither can use."""
    refuse_others(others)
    if (label is not None) != (settings.encoder in _LEARNED):
        raise SynthError(
            "The encoders 'woe' and 'glmm' need a label, and nothing else here uses one.",
            hint="settings=ThesisSettings(encoder='woe'), label=…",
        )
    frame, domains = as_frame(codes, sizes=sizes, ordered=ordered)
    return {
        "frame": frame,
        "domains": domains,
        "encoder": settings.encoder,
        "target": None if label is None else str(label),
        "truncation": settings.trees,
        "measure": settings.measure,
        "families": settings.families,
        "rng": seeded_by(noise),
    }


def _taken(model: BaselineModel, label: str, claim: Claim, neighbours: Neighbours) -> VineModel:
    """Take from a baseline what draws records; the records themselves stay behind."""
    found = model.details
    vine = LayoutVine(
        layout=found["layout"],
        margins=tuple(found["margins"].values()),
        vine=found["vine"],
        active=found["active"],
    )
    account = account_record(
        model.account, label=label, claimed=claim.epsilon, rows=neighbours.rows
    )
    return VineModel(vine=vine, account=account)
