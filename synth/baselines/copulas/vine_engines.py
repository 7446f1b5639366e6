"""Vines as engines of `Synthesizer`: COPULA-SHIRLEY as published, and one without any privacy.

Neither is differentially private as claimed. They are there to compare with; their certificate
says what they really cost.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from synth.baselines.copulas.ceiling import vine_without_privacy
from synth.baselines.copulas.copula_shirley import copula_shirley
from synth.baselines.copulas.layout import Layout, drawn_frame
from synth.baselines.published import (
    account_record,
    as_frame,
    refuse_conditions,
    refuse_others,
    seeded_by,
)
from synth.baselines.settings import ThesisSettings, VineSettings
from synth.copulas.margins import Margin
from synth.copulas.vine import FittedVine
from synth.errors import SynthError
from synth.marginals.measuring import Neighbours

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from synth.baselines.model import BaselineModel
    from synth.claims import Claim
    from synth.marginals.measuring import NoiseSource
    from synth.marginals.spending import Spend

_FORMAT = "ckm-synth-vine"
_LEARNED = ("woe", "glmm")


@dataclass(frozen=True, eq=False, kw_only=True)
class VineModel:
    """Margins of ordered columns, and a vine between them.

    Parameters
    ----------
    parts
        Per column the places of its ordered columns: one, or one per category.
    values_of
        Per column the code that stands for each bin.
    margins
        One per ordered column.
    vine
        Between those that vary; None where fewer than two do.
    active
        Which ordered columns the vine is about.
    account
        What it really cost; see `synth.Model.account`.
    """

    parts: tuple[tuple[int, ...], ...]
    values_of: tuple[NDArray[np.int64], ...]
    margins: tuple[Margin, ...]
    vine: FittedVine | None = None
    active: tuple[int, ...] = ()
    account: dict[str, Any]
    spends: tuple[Spend, ...] = ()

    @property
    def sizes(self) -> list[int]:
        """How many codes each column has."""
        return [int(values.max()) + 1 for values in self.values_of]

    def sample(
        self,
        number: int,
        *,
        rng: np.random.Generator,
        conditions: Mapping[int, int] | None = None,
    ) -> NDArray[np.int32]:
        """Draw records."""
        refuse_conditions(conditions)
        if number == 0:
            return np.zeros((0, len(self.parts)), np.int32)
        layout = Layout(
            names=tuple(map(str, range(len(self.margins)))),
            bins=(),
            sizes=tuple(len(margin.values) for margin in self.margins),
            parts=self.parts,
            values_of=self.values_of,
            collisions={},
        )
        drawn = drawn_frame(
            number,
            rng,
            layout=layout,
            margins=self.margins,
            vine=self.vine,
            active=np.array(self.active, np.int64),
        )
        return np.column_stack(drawn).astype(np.int32)

    def to_json(self) -> str:
        """Return the model as text."""
        return json.dumps(
            {
                "format": _FORMAT,
                "parts": [list(places) for places in self.parts],
                "values_of": [values.tolist() for values in self.values_of],
                "margins": [margin.cumulative.tolist() for margin in self.margins],
                "vine": None if self.vine is None else self.vine.to_json(),
                "active": list(self.active),
                "account": self.account,
            },
            allow_nan=False,
        )

    @classmethod
    def from_json(cls, text: str) -> VineModel:
        """Read what `to_json` wrote."""
        try:
            found = json.loads(text)
            if found["format"] != _FORMAT:
                raise SynthError("The file is no model of a vine.")
            heights = [np.array(one, np.float64) for one in found["margins"]]
            model = cls(
                parts=tuple(tuple(int(one) for one in places) for places in found["parts"]),
                values_of=tuple(np.array(one, np.int64) for one in found["values_of"]),
                margins=tuple(
                    Margin(values=np.arange(len(one), dtype=np.float64), cumulative=one)
                    for one in heights
                ),
                vine=None if found["vine"] is None else FittedVine.from_json(found["vine"]),
                active=tuple(int(one) for one in found["active"]),
                account=dict(found["account"]),
            )
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            if isinstance(error, SynthError):
                raise
            raise SynthError("The model of a vine cannot be read.") from None
        return model.checked()

    def checked(self) -> VineModel:
        """Return the model itself, or refuse it if its parts do not fit each other."""
        places = [place for column in self.parts for place in column]
        fits = len(self.parts) == len(self.values_of) and all(self.parts)
        fits = fits and places == list(range(len(self.margins)))
        for column, values in zip(self.parts, self.values_of, strict=False):
            bins = len(column) if len(column) > 1 else len(self.margins[column[0]].values)
            fits = fits and values.shape == (bins,) and values.min(initial=0) >= 0
        n = 0 if self.vine is None else self.vine.n
        fits = fits and n == len(self.active) and {*self.active} <= {*places}
        if not fits:
            raise SynthError("The parts of the model do not fit each other.")
        return self


def fit_copula_shirley(
    codes: NDArray[np.integer],
    *,
    sizes: Sequence[int],
    claim: Claim,
    ordered: Sequence[bool],
    label: int | None = None,
    noise: NoiseSource | None = None,
    neighbours: Neighbours | None = None,
    settings: ThesisSettings | None = None,
    **others: Any,
) -> VineModel:
    """Fit COPULA-SHIRLEY as published, which is **not differentially private as claimed**.

    Here the domains are those of the schema: the published method reads them off the records.
    """
    settings = settings or ThesisSettings()
    _refuse(others, label, settings)
    if claim.epsilon is None:
        raise SynthError("The method claims an epsilon; 0 is no noise.", hint="--epsilon 1")
    coded = as_frame(codes, sizes=sizes, ordered=ordered)
    model = copula_shirley(
        coded.frame,
        epsilon=claim.epsilon,
        encoder=settings.encoder,  # type: ignore[arg-type]
        target=None if label is None else str(label),
        domains=coded.domains,
        histogram_share=settings.ratio,
        encoder_share=settings.encoder_ratio,
        mechanism=settings.mechanism,  # type: ignore[arg-type]
        delta=settings.delta,
        truncation=settings.trees,  # type: ignore[arg-type]
        measure=settings.measure,  # type: ignore[arg-type]
        families=settings.families,
        rng=seeded_by(noise),
    )
    account = account_record(
        model.account,
        label="COPULA-SHIRLEY as published",
        claimed=claim.epsilon,
        rows=(neighbours or Neighbours()).rows,
    )
    return _taken(model, account)


def fit_vine_without_privacy(
    codes: NDArray[np.integer],
    *,
    sizes: Sequence[int],
    claim: Claim,
    ordered: Sequence[bool],
    label: int | None = None,
    noise: NoiseSource | None = None,
    neighbours: Neighbours | None = None,
    settings: VineSettings | None = None,
    **others: Any,
) -> VineModel:
    """Fit a vine to the records as they are: what the others could reach at best."""
    del neighbours
    settings = settings or VineSettings()
    _refuse(others, label, settings)
    if claim.epsilon is not None:
        raise SynthError(
            "A vine without privacy keeps to no epsilon.", hint="leave it out: Claim()"
        )
    coded = as_frame(codes, sizes=sizes, ordered=ordered)
    model = vine_without_privacy(
        coded.frame,
        domains=coded.domains,
        encoder=settings.encoder,  # type: ignore[arg-type]
        target=None if label is None else str(label),
        truncation=settings.trees,  # type: ignore[arg-type]
        measure=settings.measure,  # type: ignore[arg-type]
        families=settings.families,
        rng=seeded_by(noise),
    )
    return _taken(
        model,
        account_record(model.account, label="A vine without privacy", claimed=None, rows=1),
    )


def _taken(model: BaselineModel, account: dict[str, Any]) -> VineModel:
    """Take from a baseline what draws records; the records themselves stay behind."""
    layout = model.details["layout"]
    return VineModel(
        parts=layout.parts,
        values_of=layout.values_of,
        margins=tuple(model.details["margins"].values()),
        vine=model.details["vine"],
        active=tuple(int(one) for one in model.details["active"]),
        account=account,
    )


def _refuse(others: dict[str, Any], label: int | None, settings: VineSettings) -> None:
    refuse_others(others)
    if (label is not None) != (settings.encoder in _LEARNED):
        raise SynthError(
            "The encoders 'woe' and 'glmm' need a label, and nothing else here uses one.",
            hint="settings=ThesisSettings(encoder='woe'), label=…",
        )
