"""The engines by name, each imported when it is used, and what every one of them returns."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from footing.arrays import Flags, Floats
from footing.checks import require_one_of
from footing.messages import Message, Name
from footing.serialisation import content_of, json_line, plain
from synth.errors import SynthError

_COPULAS = "synth.baselines.engines"
_NETWORKS = "synth.baselines.networks.network_engines"
_VINES = "synth.baselines.copulas.vine_engines"
_ADDED = "synth.mechanisms"
#: The entry points of packages that add a mechanism.
GROUP = "ckm.synth"


class CodeModel(ABC):
    """What an engine returns: a distribution over codes, and one object of JSON."""

    kind: ClassVar[str]
    spends: tuple[Any, ...] = ()
    #: How many records there are, from noisy counts; 0 where nothing tells.
    records: float = 0.0

    @property
    @abstractmethod
    def sizes(self) -> list[int]:
        """How many codes each column has."""

    @abstractmethod
    def sample(
        self,
        number: int,
        *,
        rng: np.random.Generator,
        allowed: Mapping[int, Flags] | None = None,
    ) -> NDArray[np.int32]:
        """Draw records; if it can, only those with codes that are allowed in some columns."""

    def chances(self, column: int) -> Floats | None:  # noqa: ARG002 (of those that know)
        """Return how likely each code of a column is; None where only draws tell."""
        return None

    @abstractmethod
    def _parts(self) -> dict[str, Any]:
        """Return what is written: arrays and plain values, nothing that runs."""

    @classmethod
    @abstractmethod
    def _of_parts(cls, content: Mapping[str, Any]) -> Self:
        """Return the model whose parts these are, or refuse what does not fit."""

    def to_json(self) -> str:
        """Return the model as text: noisy numbers and what they cost, nothing that runs."""
        return json_line(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return the model as plain values, for JSON."""
        content: dict[str, Any] = plain({"format": f"ckm-synth-{self.kind}", **self._parts()})
        return content

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a model.

        Parameters
        ----------
        text
            What `to_json` wrote.

        Raises
        ------
        SynthError
            If it is something else.
        """
        return cls.from_dict(content_of(text, form=f"ckm-synth-{cls.kind}"))

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Read what `to_dict` gave, or refuse what is something else.

        Parameters
        ----------
        content
            The plain values.
        """
        try:
            is_own = content.get("format") == f"ckm-synth-{cls.kind}"
            is_one = is_own and content.get("version", 1) == 1
            model = cls._of_parts(content) if is_one else None
        except SynthError:
            raise
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            raise SynthError(
                Message("The text is not a model."),
                hint=Message(
                    "give what to_json wrote; what an earlier version wrote, fit again"
                ),
            ) from None
        if model is None:
            raise SynthError(Message("The text is of another format, or of a newer version."))
        return model


class _Method(NamedTuple):
    """Where a method is: its module, what fits codes, its model, its settings if it has any."""

    module: str
    fit: str
    model: str
    settings: str = ""

    def load(self, name: str) -> Any:
        return getattr(import_module(self.module), name)


METHODS = {
    "tables": _Method("synth.marginals.engine", "fit_codes", "TableModel", "TableSettings"),
    "histogram": _Method(_COPULAS, "fit_histogram", "CopulaModel"),
    "copula": _Method(_COPULAS, "fit_copula", "CopulaModel"),
    "priv-bayes": _Method(_NETWORKS, "fit_priv_bayes", "NetworkModel", "NetworkSettings"),
    "copula-shirley": _Method(_VINES, "fit_copula_shirley", "VineModel", "ThesisSettings"),
    "copula-shirley-strict": _Method(
        _VINES, "fit_copula_shirley_strict", "VineModel", "StrictSettings"
    ),
    "vine": _Method(_VINES, "fit_vine_without_privacy", "VineModel", "VineSettings"),
}

#: Methods that are not differentially private as claimed: they take a `Claim`, no `Budget`.
UNPROTECTED = ("copula-shirley", "vine")

#: Methods whose bins are the numbers themselves, whatever cells are declared.
SINGLE = ("copula-shirley", "vine")


def is_unprotected(method: str) -> bool:
    """Tell whether a method is not differentially private as claimed."""
    return method in UNPROTECTED


def _is_own(method: Any) -> bool:
    return isinstance(method, str) and method in METHODS


def added_method(name: str) -> EntryPoint:
    """Return the entry point of a mechanism that a package adds."""
    added = {entry.name: entry for entry in entry_points(group=GROUP)}
    require_one_of(name, "method", (*METHODS, *sorted({*added} - {*METHODS})), error=SynthError)
    return added[name]


def origin_of(method: str) -> dict[str, str] | None:
    """Return the package, and its version, of a mechanism that is not our own."""
    if _is_own(method):
        return None
    entry = added_method(method)
    package = entry.dist
    pair = ("", "") if package is None else (package.name, package.version)
    return {"package": pair[0], "version": pair[1], "object": entry.value}


def fitter_of(method: str) -> Callable[..., Any]:
    """Return what fits codes."""
    if not _is_own(method):
        method_fitter: Callable[..., Any] = import_module(_ADDED).fitter(added_method(method))
        return method_fitter
    entry = METHODS[method]
    fitter: Callable[..., Any] = entry.load(entry.fit)
    return fitter


def reader_of(method: str) -> Callable[[Mapping[str, Any]], CodeModel]:
    """Return what reads a model of a method."""
    entry = METHODS.get(method, _Method(_ADDED, "", "MechanismModel"))
    reader: Callable[[Mapping[str, Any]], CodeModel] = entry.load(entry.model).from_dict
    return reader


def settings_of(method: str, values: Mapping[str, Any]) -> Any:
    """Return the settings of a method; None where nothing is given."""
    if not _is_own(method):
        kind = import_module(_ADDED).settings_class(added_method(method))
    else:
        entry = METHODS[method]
        kind = entry.load(entry.settings) if entry.settings else None
    if not values:
        return None
    if kind is None:
        raise SynthError(Message("The method {method!r} has no settings.", method=Name(method)))
    unknown = sorted({*values} - {*kind.__dataclass_fields__})
    if unknown:
        raise SynthError(
            Message(
                "The method {method!r} has no setting {names!r}.",
                method=Name(method),
                names=Name(unknown[0]),
            ),
            hint=Message(
                "it has {dataclass_fields}",
                dataclass_fields=Name.each(kind.__dataclass_fields__),
            ),
        )
    try:
        return kind(**values)
    except TypeError:
        raise SynthError(
            Message(
                "A setting of the method {method!r} is of the wrong type.", method=Name(method)
            )
        ) from None
