"""Vines as engines of `Synthesizer`: COPULA-SHIRLEY as published, and one without any privacy.

Neither is differentially private as claimed. They are there to compare with; their certificate
says what they really cost.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, get_args

import numpy as np

from footing.arrays import AnyIntegers, Integers
from footing.checks import is_integer, require_integer, require_number, require_one_of
from footing.messages import Message
from synth.baselines.coded import CodedColumn
from synth.baselines.copulas.copula_shirley import (
    copula_shirley,
    split_records,
    vine_without_privacy,
)
from synth.baselines.copulas.layout import Encoder, Layout, LayoutVine
from synth.baselines.engines import fit_copula
from synth.baselines.model import BaselineModel
from synth.baselines.noise import Mechanism
from synth.baselines.published import (
    JointModel,
    account_record,
    coded_columns,
    margins_of_codes,
    refuse_others,
)
from synth.claims import Claim
from synth.copulas.pair import FAMILIES
from synth.copulas.vine import FittedVine, Measure, gaussian_vine
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
        ``"glmm"``; the last two need a label. ``"auto"``: ``"woe"`` with a label, otherwise
        ``"ordinal"``.
    truncation
        How many trees; ``"all"``, or ``"auto"`` for as many as mBICV wants.
    measure
        Which dependence decides the trees: ``"tau"`` or ``"rho"``.
    families
        The candidates for every pair.
    records
        At most so many records choose trees and families, and are all that kernels see.
    """

    encoder: str = "ordinal"
    truncation: int | str = "all"
    measure: str = "tau"
    families: tuple[str, ...] = ("indep", "tll")
    records: int = 5000

    def __post_init__(self) -> None:
        encoders = ("auto", *get_args(Encoder))
        require_one_of(self.encoder, "encoder", encoders, error=SynthError)
        require_integer(self.records, "records", error=SynthError, minimum=2)
        require_one_of(self.measure, "measure", get_args(Measure), error=SynthError)
        depth = self.truncation
        if depth not in ("all", "auto") and not is_integer(depth, minimum=1):
            raise SynthError(Message("truncation is a whole number from 1, 'all' or 'auto'."))
        value: object = self.families  # one name, where somebody wrote it as text
        names = (value,) if isinstance(value, str) else tuple(self.families)
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
    encoder, truncation, measure, families, records
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

    encoder: str = "auto"
    truncation: int | str = 2
    measure: str = "rho"
    families: tuple[str, ...] = FAMILIES
    records: int = 3000
    ratio: float = 0.5
    encoder_ratio: float = 0.2
    mechanism: str = "laplace"
    delta: float = 1e-3

    def __post_init__(self) -> None:
        VineSettings.__post_init__(self)
        require_one_of(self.mechanism, "mechanism", get_args(Mechanism), error=SynthError)
        for name in ("ratio", "encoder_ratio", "delta"):
            require_number(getattr(self, name), name, error=SynthError, above=0, below=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class StrictSettings:
    """What may be chosen of COPULA-SHIRLEY within its budget.

    Parameters
    ----------
    truncation
        How many trees.
    """

    truncation: int = 2

    def __post_init__(self) -> None:
        require_integer(self.truncation, "truncation", error=SynthError, minimum=1)


@dataclass(frozen=True, eq=False, kw_only=True)
class VineModel(JointModel):
    """Margins of ordered columns, and a vine between them.

    Parameters
    ----------
    vine
        What draws records; it holds none.
    columns
        How many codes each column has; a margin knows those that it saw.
    account
        What it really cost, where it keeps to no budget; see `synth.Model.account`.
    spends
        Every look at the confidential records, where it does.
    """

    kind: ClassVar[str] = "vine"

    vine: LayoutVine
    columns: tuple[int, ...]
    account: dict[str, Any] | None = None
    spends: tuple[Spend, ...] = ()

    @property
    def sizes(self) -> list[int]:
        """How many codes each column has."""
        return list(self.columns)

    def _drawn(self, number: int, rng: np.random.Generator) -> list[Integers]:
        return self.vine.draw(number, rng)

    def _parts(self) -> dict[str, Any]:
        vine = self.vine.vine
        return {
            "parts": self.vine.layout.parts,
            "values_of": self.vine.layout.values_of,
            "margins": [margin.cumulative for margin in self.vine.margins],
            "vine": None if vine is None else vine.to_json(),
            "active": self.vine.active,
            "columns": self.columns,
            "account": self.account,
            "spends": self.spends,
        }

    @classmethod
    def _of_parts(cls, content: Mapping[str, Any]) -> Self:
        margins = margins_of_codes(content["margins"])
        layout = Layout(
            names=tuple(map(str, range(len(margins)))),
            bins=(),
            sizes=tuple(len(margin.values) for margin in margins),
            parts=tuple(tuple(int(one) for one in places) for places in content["parts"]),
            values_of=tuple(np.array(one, np.int64) for one in content["values_of"]),
            collisions={},
        )
        vine = LayoutVine(
            layout=layout,
            margins=margins,
            vine=None if content["vine"] is None else FittedVine.from_json(content["vine"]),
            active=np.array([int(one) for one in content["active"]], np.int64),
        )
        columns = tuple(int(size) for size in content["columns"])
        if not _fits(vine, columns):
            raise SynthError(Message("The parts of the model do not fit each other."))
        account = None if content["account"] is None else dict(content["account"])
        spends = tuple(Spend.from_dict(spend) for spend in content["spends"])
        return cls(vine=vine, columns=columns, account=account, spends=spends)


def _fits(vine: LayoutVine, columns: Sequence[int]) -> bool:
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
        and len(columns) == len(bins)
        and all(
            values.min(initial=0) >= 0 and values.max(initial=0) < size
            for values, size in zip(layout.values_of, columns, strict=True)
        )
        and len(active) == (0 if vine.vine is None else vine.vine.n)
        and {*active} <= {*places}
    )


def fit_copula_shirley(
    codes: AnyIntegers,
    *,
    claim: Claim,
    neighbours: Neighbours,
    settings: ThesisSettings | None = None,
    **terms: Any,
) -> VineModel:
    """Fit COPULA-SHIRLEY as published, which is **not differentially private as claimed**.

    As there, bins are the values of the records, and weights of evidence order categories.
    """
    settings = settings or ThesisSettings()
    if claim.epsilon is None:
        raise SynthError(
            Message("The method claims an epsilon; 0 is no noise."), hint=Message("--epsilon 1")
        )
    common = _common(codes, settings, has_noise=claim.epsilon > 0, **terms)
    model = copula_shirley(
        **common,
        rng=getattr(terms["noise"], "rng", None),  # noise without one is secure
        selected_on=settings.records,
        epsilon=claim.epsilon,
        histogram_share=settings.ratio,
        encoder_share=settings.encoder_ratio,
        mechanism=settings.mechanism,  # type: ignore[arg-type]
        delta=settings.delta,
    )
    return _taken(model, common["frame"], terms["sizes"], _account(model, claim, neighbours))


def fit_copula_shirley_strict(
    codes: AnyIntegers, *, settings: StrictSettings | None = None, **terms: Any
) -> VineModel:
    """Fit COPULA-SHIRLEY within its budget: margins, and a vine from noisy ranks alone."""
    copula, many = fit_copula(codes, **terms), len(terms["sizes"])
    depth = min((settings or StrictSettings()).truncation, many - 1)
    layout = Layout(
        names=tuple(map(str, range(many))),
        bins=(),
        sizes=tuple(copula.sizes),
        parts=tuple((place,) for place in range(many)),
        values_of=tuple(np.arange(size) for size in copula.sizes),
        collisions={},
    )
    vine = LayoutVine(
        layout=layout,
        margins=copula.margins,
        vine=gaussian_vine(copula.correlation, depth=depth) if depth else None,
        active=np.arange(many if depth else 0),
    )
    return VineModel(vine=vine, columns=tuple(copula.sizes), spends=copula.spends)


def fit_vine_without_privacy(
    codes: AnyIntegers,
    *,
    claim: Claim,
    neighbours: Neighbours,
    settings: VineSettings | None = None,
    **terms: Any,
) -> VineModel:
    """Fit a vine to the records as they are: what the others could reach at best."""
    settings = settings or VineSettings()
    if claim.epsilon is not None:
        raise SynthError(
            Message("A vine without privacy keeps to no epsilon."), hint=Message("leave it out")
        )
    common = _common(codes, settings, **terms)
    model = vine_without_privacy(**common, records=settings.records)
    return _taken(model, common["frame"], terms["sizes"], _account(model, claim, neighbours))


def _common(
    codes: AnyIntegers,
    settings: VineSettings,
    *,
    sizes: Sequence[int],  # noqa: ARG001 (bins are the values of the records)
    ordered: Sequence[bool],
    noise: NoiseSource,
    has_noise: bool = False,
    label: int | None = None,
    **others: Any,
) -> dict[str, Any]:
    """Return what both methods are told, or refuse what neither can use."""
    refuse_others(others)
    auto = "ordinal" if label is None else "woe"
    encoder = auto if settings.encoder == "auto" else settings.encoder
    if (label is not None) != (encoder in _LEARNED):
        raise SynthError(
            Message(
                "The encoders 'woe' and 'glmm' need a label, and nothing else here uses one."
            ),
            hint=Message("--label COLUMN with --set encoder=woe, or neither"),
        )
    if encoder == "woe" and len(np.unique(codes[:, label])) != 2:
        raise SynthError(
            Message("Weights of evidence need a label of two values."),
            hint=Message("encoder='glmm' takes more"),
        )
    if len(codes) < 2:
        raise SynthError(Message("A vine needs at least two records."))
    if isinstance(settings, ThesisSettings) and has_noise:
        share = settings.encoder_ratio if encoder in _LEARNED else 0.0
        split_records(len(codes), histogram_share=settings.ratio, encoder_share=share)
    getattr(noise, "look", lambda: None)()  # all is checked, and the records are looked at
    return {
        "frame": coded_columns(codes, ordered=ordered),
        "encoder": encoder,
        "target": None if label is None else str(label),
        "truncation": settings.trees,
        "measure": settings.measure,
        "families": settings.families,
    }


def _account(model: BaselineModel, claim: Claim, neighbours: Neighbours) -> dict[str, Any]:
    label = model.label.partition(",")[0]
    return account_record(
        model.account, label=label, claimed=claim.epsilon, rows=neighbours.rows
    )


def _taken(
    model: BaselineModel,
    columns: Sequence[CodedColumn],
    sizes: Sequence[int],
    account: dict[str, Any],
) -> VineModel:
    """Take from a baseline what draws records; the records themselves stay behind."""
    details = model.details
    values = zip(columns, details["layout"].values_of, strict=True)
    vine = LayoutVine(
        layout=replace(
            details["layout"],
            values_of=tuple(np.array(column.domain)[places] for column, places in values),
        ),
        margins=tuple(details["margins"].values()),
        vine=details["vine"],
        active=details["active"],
    )
    return VineModel(vine=vine, columns=tuple(sizes), account=account)
