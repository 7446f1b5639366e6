"""The privacy card of a model: what is promised, to whom, and on what conditions."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from dp.adjacency import Adjacency
from dpsgd.accounting.cost import Sampling
from dpsgd.errors import DPSGDError
from footing.checks import is_number, require_integer
from footing.messages import Argument, Message, Name
from footing.serialisation import canonical, content_of, plain_fields

if TYPE_CHECKING:
    from dpsgd.plan import Plan

#: What no run of this package promises.
LIMITS = (
    "the plan and the schema are taken to be decided without looking at these data",
    "several records of one unit are protected as a group, with a larger epsilon",
    "scores on any records are statistics without noise",
    "noise is drawn in 32-bit floats: attacks on their last digits are not excluded",
)
#: Whether a test came first.
_TESTED = {
    True: "that records are treated each by itself was tried on five records only",
    False: "that records are treated each by itself was not tried",
}
#: What was looked at while the model was trained, and what nobody can look at.
# claim dpsgd-nothing-beside-the-plan
_GUARDED = (
    ("before each step parameters, buffers, layers and hooks were checked for other changes"),
    "not checked: writes to param.data, copies kept elsewhere, attributes that no file keeps",
)
#: What is said of a run with Opacus inside, where the model was not tried and where it was.
# claim dpsgd-opacus-engine
OF_OPACUS = {
    False: (
        "gradients of records are those of Opacus; they were not compared with others",
        "that records are treated each by itself was not tried",
    ),
    True: (
        "gradients of records are those of Opacus; they were not compared with others",
        "that the model treats records each by itself was tried on five only, the loss was not",
    ),
}
#: What leaves, without and with cuts found in the records.
_RELEASED = (
    "the last model",
    "the last model, with cuts of columns found by noisy counts that epsilon pays for",
)
_DEMONSTRATION = "a seed: a demonstration, not a release"

#: What a card repeats of its plan.
_OF_THE_PLAN = (
    "delta", "unit", "adjacency", "sampling", "sampling_rate", "noise_multiplier",
    "clipping_norm", "steps", "expected_batch",
)  # fmt: skip
_FORMAT = 1
_LONGEST = 1000
_LARGEST_TEXT = 100_000
_MAX_TRIALS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyCard:
    """What has to stand beside an epsilon.

    Parameters
    ----------
    epsilon, delta
        The promise; the epsilon includes what tuning cost.
    unit, records_per_unit
        Who is protected, and how many records one may have.
    adjacency
        What the neighbours are; it says whether the number of records is public.
    sampling, accounted_sampling
        How batches were drawn, and for which way of drawing the account holds.
    accountant
        The method.
    sampling_rate, noise_multiplier, clipping_norm, steps, expected_batch
        Fixed before training.
    clipping
        The scheme: ``"flat"``, ``"per layer"``, ``"adaptive"``.
    released
        What leaves: the last model, all checkpoints, losses, predictions.
    data
        Which data, and what of them is taken for public.
    touches
        Other uses of the data: scaling, vocabularies, choice of columns, metrics.
    trials, tuning
        How many settings were tried (their mean, where drawn), and how the cost was counted.
    randomness
        Where the chance came from; a seed voids the promise.
    limits
        What the promise does not cover.

    Examples
    --------
    >>> card = PrivacyCard(
    ...     epsilon=1.0,
    ...     delta=1e-6,
    ...     unit="person",
    ...     adjacency="add-remove",
    ...     sampling="poisson",
    ...     accounted_sampling="poisson",
    ...     accountant="loss distribution",
    ...     sampling_rate=0.01,
    ...     noise_multiplier=1.1,
    ...     clipping_norm=1.0,
    ...     steps=1000,
    ...     expected_batch=320,
    ... )
    >>> PrivacyCard.from_json(card.to_json()) == card, card.doubts
    (True, ())
    """

    epsilon: float
    delta: float
    unit: str
    adjacency: Adjacency
    sampling: Sampling
    accounted_sampling: Sampling
    accountant: str
    sampling_rate: float
    noise_multiplier: float
    clipping_norm: float
    steps: int
    expected_batch: float
    records_per_unit: int = 1
    clipping: str = "flat"
    released: str = _RELEASED[0]
    data: str = ""
    touches: tuple[str, ...] = ()
    trials: float = 1
    tuning: str = "none"
    randomness: str = "operating system"
    limits: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        kinds = {"adjacency": Adjacency, "sampling": Sampling, "accounted_sampling": Sampling}
        for name, kind in kinds.items():
            try:
                object.__setattr__(self, name, kind(getattr(self, name)))
            except ValueError:
                raise DPSGDError(
                    Message(
                        "A card has no {name} {getattr!r}.",
                        name=Name(name),
                        getattr=Argument(getattr(self, name)),
                    ),
                    hint=Message("known: {kind}", kind=Name.each(kind)),
                ) from None
        _check_numbers(self)
        for name in ("unit", "accountant", "clipping", "released", "data", "tuning"):
            _check_text(name, getattr(self, name), may_be_empty=name == "data")
        _check_text("randomness", self.randomness)
        for name in ("touches", "limits"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
            for line in getattr(self, name):
                _check_text(name, line)

    @property
    def doubts(self) -> tuple[str, ...]:
        """What contradicts the promise; empty where nothing does.

        ``"sampling"``: batches were drawn otherwise than accounted for. ``"trials"``: settings
        were tried, and their cost was not counted. ``"seed"``: the noise can be drawn again.
        ``"touches"``: the data were used beside training. ``"no-noise"``: nothing is hidden.
        """
        reasons = {
            "sampling": self.sampling != self.accounted_sampling,
            "trials": self.trials > 1 and self.tuning == "none",
            "seed": "seed" in self.randomness.lower(),
            "touches": bool(self.touches),
            "no-noise": self.noise_multiplier == 0,
        }
        return tuple(name for name, is_so in reasons.items() if is_so)

    def to_json(self) -> str:
        """Return the card as text, the same for equal cards."""
        return canonical(plain_fields(self) | {"format": _FORMAT})

    @classmethod
    def from_json(cls, text: str) -> PrivacyCard:
        """Return the card that `to_json` wrote.

        Parameters
        ----------
        text
            The text; anything that is not a card is refused.
        """
        content = content_of(text, form=_FORMAT) if len(text) <= _LARGEST_TEXT else {}
        if not content:
            raise DPSGDError(
                Message("This text is no privacy card."),
                hint=Message("it may be of another version"),
            )
        del content["format"]
        names = {field.name for field in fields(cls)}
        if unknown := sorted(set(content) - names):
            raise DPSGDError(
                Message("A card has no entry {names!r}.", names=Argument(unknown[0][:60]))
            )
        try:
            return cls(**content)
        except TypeError:
            raise DPSGDError(
                Message("An entry of the card is missing or of another kind.")
            ) from None


def card_of(
    plan: Plan,
    *,
    data: str = "",
    touches: tuple[str, ...] = (),
    trials: int = 1,
    is_tested: bool = True,
) -> PrivacyCard:
    """Return the card of a model that was trained by all steps of a plan.

    Parameters
    ----------
    plan
        The plan; one without noise has no card.
    data
        Which data, and what of them is public.
    touches
        Other uses of the data.
    trials
        How many plans of this cost were run on the data, this one among them: the epsilon is
        that of all.
    is_tested
        Whether the self-test came before the first step, as it does in the estimators.

    Examples
    --------
    >>> from dpsgd import Plan
    >>> plan = Plan(
    ...     dataset_size=1000, sampling_rate=0.1, steps=100, noise_multiplier=2, delta=1e-4
    ... )
    >>> one, ten = card_of(plan), card_of(plan, trials=10)
    >>> round(one.epsilon, 2), round(ten.epsilon, 2), ten.tuning
    (1.97, 7.28, 'all trials count')
    """
    require_integer(trials, "trials", error=DPSGDError, minimum=1, maximum=_MAX_TRIALS)
    cost = plan.cost(trials * plan.steps)
    if not math.isfinite(cost.epsilon):
        raise DPSGDError(
            Message("A model without noise gives no protection: it has no privacy card."),
            hint=Message("train with a noise multiplier, or an epsilon"),
        )
    return PrivacyCard(
        epsilon=cost.epsilon,
        accountant=cost.accountant,
        accounted_sampling=plan.sampling,
        **{name: getattr(plan, name) for name in _OF_THE_PLAN},
        clipping="flat" if plan.adaptive is None else "adaptive",
        released=_RELEASED[plan.cuts_noise > 0],
        data=data,
        touches=touches,
        trials=trials,
        tuning="none" if trials == 1 else "all trials count",
        randomness="operating system" if plan.seed is None else _DEMONSTRATION,
        limits=(*LIMITS, *_GUARDED, _TESTED[is_tested]),
    )


def disagreements(card: PrivacyCard, *, plan: Plan) -> tuple[str, ...]:
    """Return the entries of a card that the plan beside it does not bear out.

    The cost is reckoned again, so that a card need not be taken on trust.
    """
    count = card.trials if card.tuning == "all trials count" else 1
    own_card = card_of(plan, trials=max(1, int(count)))
    others = ("records_per_unit", "accounted_sampling", "clipping", "released", "randomness")
    names = (*_OF_THE_PLAN, *others)
    wrong = [name for name in names if getattr(card, name) != getattr(own_card, name)]
    if card.epsilon < own_card.epsilon * (1 - 1e-6):
        wrong.insert(0, "epsilon")
    return tuple(wrong)


def _check_numbers(card: PrivacyCard) -> None:
    for name in (
        "epsilon", "delta", "sampling_rate", "noise_multiplier", "clipping_norm",
        "expected_batch", "steps", "records_per_unit", "trials",
    ):  # fmt: skip
        value = getattr(card, name)
        least = 1.0 if name in {"records_per_unit", "trials"} else 0.0
        most = 1.0 if name in {"delta", "sampling_rate"} else None
        if not is_number(value, minimum=least, maximum=most):
            raise DPSGDError(
                Message(
                    "{name} of a card must be finite and from {least:g}, not {value!r:.60}.",
                    name=Name(name),
                    least=least,
                    value=Argument(value),
                ),
                hint=Message("a run without an epsilon has no privacy card"),
            )
    for name in ("steps", "records_per_unit"):
        if getattr(card, name) != int(getattr(card, name)):
            raise DPSGDError(
                Message("{name} of a card must be a whole number.", name=Name(name))
            )


def _check_text(name: str, text: object, *, may_be_empty: bool = False) -> None:
    is_text = isinstance(text, str) and len(text) <= _LONGEST and text.isprintable()
    if not is_text or not (may_be_empty or str(text).strip()):
        raise DPSGDError(
            Message(
                "{name} of a card must be a line of at most {longest} characters.",
                name=Name(name),
                longest=_LONGEST,
            )
        )
