"""What may be chosen of the published methods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from footing.checks import is_integer, require_integer, require_number, require_one_of
from synth.baselines.copulas.layout import Encoder
from synth.baselines.noise import Mechanism
from synth.copulas.pair import FAMILIES
from synth.copulas.vine import Measure
from synth.errors import SynthError


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSettings:
    """What may be chosen of PrivBayes.

    Parameters
    ----------
    degree
        The most parents of a column.
    """

    degree: int = 3

    def __post_init__(self) -> None:
        require_integer(self.degree, "degree", error=SynthError, minimum=1)


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
