"""What was found against a model, beside what it promises: kept as JSON, and read again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from dp.adjacency import Adjacency
from dp.checking import checked_delta, checked_epsilon
from dpsgd.accounting.cost import Sampling
from dpsgd.audits.inversion import AttributeInversion
from dpsgd.audits.one_run import OneRun
from dpsgd.audits.rates import AttackRates, Rate
from dpsgd.audits.rebuilding import Rebuilt
from dpsgd.errors import DPSGDError
from footing.checks import is_number
from footing.messages import Argument, Message
from footing.serialisation import canonical, content_of

_FORMAT = "ckm-dpsgd-audit"
_VERSION = 1
_LONGEST = 200
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What was tried on one model, and what came out.

    Parameters
    ----------
    name
        Of the model.
    epsilon, delta
        What it promises; None for a model without privacy.
    adjacency, sampling, unit
        What the promise holds for; they have to stand beside it.
    attacks
        Name → what an attack on membership reached.
    shadows
        How many shadow models were used.
    one_run
        A lower bound of epsilon.
    attribute
        How often a hidden attribute was guessed.
    gradient
        How often a record was rebuilt from a gradient.

    Examples
    --------
    >>> from dpsgd.audits.rates import attack_rates
    >>> plain = Evidence(name="plain", attacks={"loss": attack_rates([2, 3], [0, 1])})
    >>> read_evidence(write_evidence([plain])) == (plain,)
    True
    """

    name: str
    epsilon: float | None = None
    delta: float | None = None
    adjacency: str = ""
    sampling: str = ""
    unit: str = "record"
    attacks: Mapping[str, AttackRates] = field(default_factory=dict)
    shadows: int = 0
    one_run: OneRun | None = None
    attribute: AttributeInversion | None = None
    gradient: Rebuilt | None = None

    def __post_init__(self) -> None:
        names: tuple[Any, ...] = (self.name, self.unit, *self.attacks)
        for text in names:
            is_line = isinstance(text, str) and text.isprintable() and text.strip()
            if not is_line or len(text) > _LONGEST:
                raise DPSGDError(
                    Message(
                        "A name must be a line of at most {longest} characters.",
                        longest=_LONGEST,
                    )
                )
        if (self.epsilon is None) != (self.delta is None):
            raise DPSGDError(
                Message("A promise has an epsilon and a delta."), hint=Message("or neither")
            )
        if self.epsilon is None or self.delta is None:
            return
        checked_epsilon(self.epsilon, may_be_zero=True)
        checked_delta(self.delta, may_be_zero=True)
        if self.adjacency not in set(Adjacency) or self.sampling not in set(Sampling):
            raise DPSGDError(
                Message("An epsilon says nothing without its neighbours and its sampler."),
                hint=Message(
                    "give adjacency and sampling, 'add-remove' and 'poisson' for example"
                ),
            )

    @property
    def is_refuted(self) -> bool:
        """Whether the lower bound is above the promise."""
        if self.one_run is None or self.epsilon is None:
            return False
        return self.one_run.refutes(self.epsilon)


def write_evidence(several: Sequence[Evidence]) -> str:
    """Return what was found as text, the same for equal findings.

    Parameters
    ----------
    several
        One a model.

    Examples
    --------
    >>> write_evidence([])
    '{"format": "ckm-dpsgd-audit", "models": [], "version": 1}'
    """
    return canonical({"format": _FORMAT, "version": _VERSION, "models": several})


def read_evidence(text: str) -> tuple[Evidence, ...]:
    """Return what `write_evidence` wrote.

    Parameters
    ----------
    text
        The text; anything else is refused.

    Examples
    --------
    >>> read_evidence(write_evidence([]))
    ()
    """
    content = content_of(text, form=_FORMAT)
    if not content:
        raise DPSGDError(
            Message("This text is no audit."), hint=Message("write one with write_evidence")
        )
    if content.get("version") != _VERSION:
        raise DPSGDError(
            Message(
                "This audit has version {content!r:.60}.",
                content=Argument(content.get("version")),
            ),
            hint=Message("it was written by another version of the program"),
        )
    try:
        return tuple(_evidence(model) for model in content["models"])
    except (AttributeError, KeyError, TypeError):
        raise DPSGDError(
            Message("An entry of the audit is missing or of another kind.")
        ) from None


def _evidence(model: Mapping[str, Any]) -> Evidence:
    attacks = {
        str(name): _made(
            AttackRates,
            {
                **attack,
                "rates": tuple(_made(Rate, rate) for rate in attack["rates"]),
                "curve": tuple((_number(x), _number(y)) for x, y in attack["curve"]),
            },
        )
        for name, attack in model["attacks"].items()
    }
    parts = {
        name: None if model[name] is None else _made(kind, model[name])
        for name, kind in (
            ("one_run", OneRun),
            ("attribute", AttributeInversion),
            ("gradient", Rebuilt),
        )
    }
    return Evidence(**{**model, "attacks": attacks, **parts})


def _made(kind: type[_T], content: Mapping[str, Any]) -> _T:
    """Build a record of numbers; what is no number is refused."""
    names = {member.name for member in fields(kind)}  # type: ignore[arg-type]
    if set(content) != names:
        raise TypeError
    for name, value in content.items():
        if value is not None and not isinstance(value, tuple):
            _number(value)
        elif value is None and "ceiling" not in name:
            raise TypeError
    return kind(**content)


def _number(value: Any) -> float:
    if not is_number(value):
        raise TypeError
    return float(value)
