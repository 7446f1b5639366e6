"""What may be chosen of the published methods."""

from __future__ import annotations

from dataclasses import dataclass

from footing.checks import is_integer, require_integer, require_number
from synth.copulas.pair import FAMILIES
from synth.errors import SynthError

_ENCODERS = ("ordinal", "one-hot", "woe", "glmm")
_MECHANISMS = ("laplace", "geometric", "gaussian")


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
        _require("encoder", self.encoder, _ENCODERS)
        _require("measure", self.measure, ("tau", "rho"))
        if self.truncation not in ("all", "auto") and not is_integer(
            self.truncation, minimum=1
        ):
            raise SynthError("truncation is a whole number from 1, 'all' or 'auto'.")
        given: object = self.families  # one name, where somebody wrote it as text
        names = (given,) if isinstance(given, str) else tuple(self.families)
        object.__setattr__(self, "families", names)
        for name in names:
            _require("families", name, FAMILIES)

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
        _require("mechanism", self.mechanism, _MECHANISMS)
        for name in ("ratio", "encoder_ratio", "delta"):
            require_number(getattr(self, name), name, error=SynthError, above=0, below=1)


def _require(name: str, value: object, known: tuple[str, ...]) -> None:
    if value not in known:
        raise SynthError(f"Unknown {name} {value!r}.", hint=f"known: {', '.join(known)}")
