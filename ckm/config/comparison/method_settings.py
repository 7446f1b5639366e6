"""Which methods are compared, with which parameters, and on what."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import Field

from ckm.config.job.rounding import JobRounding
from ckm.config.section import FilePath, Items, Label, ReadAs, Section, Some, optional
from ckm.errors import ConfigError
from footing.messages import Message, Name

Simple: TypeAlias = Literal["yes", "no"]
_Keys: TypeAlias = Literal["fresh", "cell"]
_Number = Annotated[int, Field(ge=2, le=1000)]


_BASES = ("base", (2, 3, 5, 7, 10, 15, 20, 30, 50))


class MethodSettings(Section):
    """The parameters of a method; whether it is simple to run is a word we answer for."""

    kind: ClassVar[str]
    #: A parameter, and its values from little protection to much.
    strength: ClassVar[tuple[str, tuple[float, ...]] | None] = None
    simple: Simple = "yes"

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Name → value, for those that have one."""
        return {k: v for k, v in self if k != "simple" and v is not None}


class Exact(MethodSettings):
    """True counts, as the control."""

    kind = "exact"


class SmallCountRounding(MethodSettings):
    """Small counts go to 0 or the base."""

    kind = "small-count-rounding"
    strength = _BASES
    base: _Number = 3
    keys: _Keys = "fresh"


class Rounding(MethodSettings):
    """Counts go to the nearest multiple."""

    kind = "rounding"
    strength = _BASES
    base: _Number = 5


class RandomRounding(MethodSettings):
    """Counts go to a multiple beside them."""

    kind = "random-rounding"
    strength = _BASES
    base: _Number = 5
    keys: _Keys = "fresh"


class ControlledRounding(JobRounding, MethodSettings):
    """The rounding of jobs: true counts go to multiples that add up."""

    kind = "controlled-rounding"
    strength = ("base", (3, 5, 7, 10, 15, 20, 30, 50))
    base: int = optional("Published numbers are multiples of it.", default=5, ge=3, le=1000)


class DiscreteLaplace(MethodSettings):
    """Noise of differential privacy."""

    kind = "discrete-laplace"
    strength = ("epsilon", (4.0, 2.0, 1.0, 0.7, 0.5, 0.3, 0.2))
    simple: Simple = "no"
    epsilon: Annotated[float, Field(gt=0, le=100)] = 1.0
    max_noise: Annotated[int, Field(ge=1, le=1000)] = 20
    keys: _Keys = "fresh"


class DiscreteGaussian(MethodSettings):
    """One budget of differential privacy for all planned tables; then they add up."""

    kind = "discrete-gaussian"
    strength = ("rho", (8.0, 4.0, 2.0, 1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002))
    simple: Simple = "no"
    rho: Annotated[float, Field(gt=0, le=1e6)] = 0.1
    delta: Annotated[float, Field(gt=0, lt=1)] = 1e-6
    unit: Label | None = None
    rows: Annotated[int, Field(ge=1, le=1000)] = 1


class Swapping(MethodSettings):
    """Households change places."""

    kind = "swapping"
    strength = ("rate", (0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0))
    simple: Simple = "no"
    k: Annotated[int, Field(ge=0, le=1000)] = 3
    rate: Annotated[float, Field(ge=0, le=1)] = 0.05
    household: Label | None = None
    risk: Some[Label] | None = None


class Suppression(MethodSettings):
    """Cells are hidden."""

    kind = "suppression"
    strength = ("least", (2, 3, 4, 5, 7, 10, 15, 20, 30))
    simple: Simple = "no"
    least: _Number | None = None
    search: Literal["auto", "exact", "sequential"] = "sequential"
    limit_s: Annotated[float, Field(gt=0, le=3600)] = 60.0
    most_cells: Annotated[int, Field(ge=4, le=100_000)] = 3_000
    others: Literal["refused", "alone"] = "refused"


class Synthetic(MethodSettings):
    """Records of another program."""

    kind = "synthetic"
    simple: Simple = "no"
    path: FilePath


class CellKey(MethodSettings):
    """The noise of the job."""

    kind = "cell-key"


class CellKeyDesign(MethodSettings):
    """Noise of its own; of a count too small for its variance, the most there is."""

    kind = "cell-key-design"
    strength = ("variance", (0.3, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 25.0))
    variance: Annotated[float, Field(gt=0, le=1000)]
    max_noise: Annotated[int, Field(ge=1, le=1000)] | None = None


class CellKeyAdditive(MethodSettings):
    """The noise of the job, and tables that add up."""

    kind = "cell-key-additive"
    simple: Simple = "no"
    bound: Annotated[float, Field(ge=0, le=1e9)] | None = None


class CellKeyLedger(MethodSettings):
    """The noise of the job, behind a ledger."""

    kind = "cell-key-ledger"
    simple: Simple = "no"
    threshold: Annotated[int, Field(ge=1, le=4)] | None = None
    smallest: Annotated[int, Field(ge=1, le=1000)] | None = None


#: Kind → its settings.
KINDS: Mapping[str, type[MethodSettings]] = MappingProxyType(
    {settings.kind: settings for settings in MethodSettings.__subclasses__()}
)

#: How a job can release its tables.
Way: TypeAlias = Literal["noise", "noise-ledger", "noise-additive", "suppression", "rounding"]


class AsReleased(MethodSettings):
    """The job's own method, as `ckm release` applies it; no file asks for it."""

    kind = "as-released"
    way: Way
    given: Mapping[str, Any] = Field(default_factory=dict)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """How the job releases, and what it says of that."""
        return {"way": self.way, **self.given}


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodChoice:
    """A method with its parameters."""

    name: str
    settings: MethodSettings

    @property
    def kind(self) -> str:
        """One of `KINDS`."""
        return self.settings.kind

    @property
    def simple(self) -> Simple:
        """Whether it is simple to run."""
        return self.settings.simple

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Name → value."""
        return self.settings.parameters


#: The methods that are compared where nothing is said, exact counts first, as the control.
DEFAULTS: Mapping[str, MethodChoice] = MappingProxyType(
    {
        name: MethodChoice(name=name, settings=settings)
        for name, settings in (
            ("exact", Exact()),
            ("small-count-rounding", SmallCountRounding()),
            ("rounding", Rounding()),
            ("controlled-rounding", ControlledRounding()),
            ("random-rounding", RandomRounding()),
            ("random-rounding-keyed", RandomRounding(keys="cell")),
            ("discrete-laplace", DiscreteLaplace()),
            ("discrete-laplace-keyed", DiscreteLaplace(keys="cell")),
            ("discrete-gaussian", DiscreteGaussian()),
            ("swapping", Swapping()),
            ("suppression", Suppression()),
            ("suppression-alone", Suppression(others="alone")),
            ("cell-key", CellKey()),
            ("cell-key-additive", CellKeyAdditive()),
            ("cell-key-ledger", CellKeyLedger()),
        )
    }
)


def choose_methods(
    choices: Mapping[str, MethodChoice], *, only: tuple[str, ...] = ()
) -> dict[str, MethodChoice]:
    """Put chosen methods in place of the defaults of their names, or beside them."""
    methods = {**DEFAULTS, **choices}
    unknown = [name for name in only if name not in methods]
    if unknown:
        raise ConfigError(
            Message("There is no method {name!r}.", name=Name(unknown[0])),
            hint=Message("one of {names}", names=Name.each(methods)),
        )
    return {name: methods[name] for name in dict.fromkeys(only)} if only else methods


_Areas = Annotated[
    tuple[str, ...],
    ReadAs(Label | Items[Label], lambda v, _: (v,) if isinstance(v, str) else v),
]


class Experiment(Section):
    """What the methods are tried on.

    By default `geography` is a dimension that the job calls an area, else the first hierarchy
    of its tables, else the first dimension; `target` is the last one of the first table with
    areas that is none.

    Examples
    --------
    >>> Experiment(persons=50).records
    20000
    """

    geography: Label | None = Field(default=None, description="The dimension of areas.")
    target: Label | None = Field(default=None, description="What an intruder wants to know.")
    areas: _Areas = Field(default=(), description="What moves with a household as well.")
    records: int = Field(default=20_000, ge=1, le=1_000_000, description="Of the sample.")
    most_areas: int = Field(default=100, ge=1, le=10_000, description="Of the sample.")
    persons: int = Field(default=200, ge=1, le=10_000, description="How many are sought.")
    seed: int = Field(default=1, ge=0, le=2**63 - 1, description="Of all that is drawn.")
    most_found: float | None = Field(
        default=None,
        gt=0,
        lt=1,
        description="Compare at equal protection: the largest share of small counts found.",
    )
