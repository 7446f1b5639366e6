"""Mechanisms that other packages add, measured and certified as our own.

A package names a class under the entry points ``ckm.synth``; its name is then a method. The
class is given a measurer in place of the records: what it asks is paid for, and certified.
"""

import json
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import EntryPoint
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from footing.arrays import AnyIntegers, Columns, Flags
from footing.messages import Message, Name
from synth.errors import SynthError
from synth.marginals.measuring import Measurer, Neighbours, NoiseSource
from synth.marginals.spending import PrivacyAccountant, Spend
from synth.methods import CodeModel, added_method


class Mechanism(CodeModel):
    """What a package adds: a model of codes that is fitted through a measurer.

    `Settings` may be a frozen dataclass, whose fields are set by ``--set``.
    """

    Settings: ClassVar[type[Any] | None] = None

    @classmethod
    @abstractmethod
    def fit(
        cls,
        measurer: Measurer,
        *,
        sizes: Sequence[int],
        rho: float,
        ordered: Sequence[bool],
        workload: Mapping[Columns, float] | None,
        label: int | None,
        settings: Any,
    ) -> Self:
        """Fit a model through a measurer, for rho at most.

        Parameters
        ----------
        measurer
            Its `margin`, `table` and `choose` give noisy answers, each at a price.
        sizes, ordered
            How many codes each column has, and whether neighbouring ones are alike.
        rho
            What may be spent; the measurer refuses more.
        workload, label
            What matters, if that was said.
        settings
            Of the class `Settings`, if any were given.
        """


@dataclass(frozen=True, eq=False, kw_only=True)
class MechanismModel(CodeModel):
    """A model of an added mechanism, and what it cost by our own account."""

    kind: ClassVar[str] = "mechanism"

    name: str
    inner: Mechanism
    spends: tuple[Spend, ...]

    @property
    def sizes(self) -> list[int]:
        """How many codes each column has."""
        return self.inner.sizes

    def sample(
        self,
        number: int,
        *,
        rng: np.random.Generator,
        allowed: Mapping[int, Flags] | None = None,
    ) -> NDArray[np.int32]:
        """Draw records, or refuse codes that nobody declared."""
        codes = np.asarray(self.inner.sample(number, rng=rng, allowed=allowed))
        fits = codes.shape == (number, len(self.sizes)) and codes.dtype.kind in "iu"
        if not (fits and (codes >= 0).all() and (codes < np.array(self.sizes)).all()):
            raise SynthError(
                Message(
                    "The mechanism {name!r} draws what is not declared.", name=Name(self.name)
                )
            )
        return codes.astype(np.int32)

    def _parts(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "model": json.loads(self.inner.to_json()),
            "spends": self.spends,
        }

    @classmethod
    def _of_parts(cls, content: Mapping[str, Any]) -> Self:
        name = str(content["name"])
        inner = _loaded(added_method(name)).from_json(json.dumps(content["model"]))
        spends = tuple(Spend.from_dict(spend) for spend in content["spends"])
        return cls(name=name, inner=inner, spends=spends)


def fitter(entry: EntryPoint) -> Callable[..., MechanismModel]:
    """Return what fits codes by an added mechanism."""
    return partial(_fit, entry)


def settings_class(entry: EntryPoint) -> type[Any] | None:
    """Return the class of its settings; None where it has none."""
    return _loaded(entry).Settings


def _fit(
    entry: EntryPoint,
    codes: AnyIntegers,
    *,
    sizes: Sequence[int],
    rho: float,
    ordered: Sequence[bool],
    noise: NoiseSource,
    neighbours: Neighbours,
    published: Sequence[Any] = (),
    workload: Mapping[Columns, float] | None = None,
    label: int | None = None,
    settings: Any = None,
    rules: Sequence[Any] = (),  # noqa: ARG001 (records that break one are drawn again)
) -> MechanismModel:
    if published:
        raise SynthError(
            Message(
                "The method {entry!r} knows nothing of published tables.",
                entry=Name(entry.name),
            )
        )
    accountant = PrivacyAccountant(float(rho))
    measurer = Measurer(codes, sizes, neighbours, accountant, noise)
    inner = _loaded(entry).fit(
        measurer,
        sizes=list(sizes),
        rho=accountant.rho,
        ordered=list(ordered),
        workload=workload,
        label=label,
        settings=settings,
    )
    measurer.forget()
    if list(inner.sizes) != list(sizes):
        raise SynthError(
            Message(
                "The model of the mechanism {entry!r} has other columns.",
                entry=Name(entry.name),
            )
        )
    return MechanismModel(name=entry.name, inner=inner, spends=tuple(accountant.spends))


def _loaded(entry: EntryPoint) -> type[Mechanism]:
    try:
        kind = entry.load()
    except (ImportError, AttributeError):
        raise SynthError(
            Message("The method {entry!r} cannot be loaded.", entry=Name(entry.name))
        ) from None
    if not (isinstance(kind, type) and issubclass(kind, Mechanism)):
        raise SynthError(
            Message("The method {entry!r} is no Mechanism.", entry=Name(entry.name))
        )
    return kind
