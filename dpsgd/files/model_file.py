"""One file a model: weights as tensors, and in JSON the plan, the schema and the privacy card.

There is no code in it, and nothing of it is trusted: sizes, digest and names are checked.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpsgd.card import PrivacyCard, card_of, disagreements
from dpsgd.errors import CheckpointError, DPSGDError
from dpsgd.files.tensor_file import opened
from dpsgd.plan import Plan
from footing.checks import is_integer
from footing.messages import Message, Name

if TYPE_CHECKING:
    from _typeshed import StrPath
    from torch import Tensor, nn

    from dpsgd.estimators import DPClassifier, DPRegressor

_ENCODING = 1  # how a schema becomes numbers, see dpsgd.encoding
_MAX_LAYERS, _WIDEST = 64, 10**7


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """What a model file says beside its weights.

    Parameters
    ----------
    estimator, settings
        ``"DPClassifier"`` or ``"DPRegressor"``, and its settings by name.
    plan
        The plan, with the schema.
    card
        The privacy card; None for a model without noise.
    inputs
        How many numbers a record becomes.

    Examples
    --------
    >>> ModelFacts.__slots__
    ('estimator', 'settings', 'plan', 'card', 'inputs')
    """

    estimator: str
    settings: dict[str, Any]
    plan: Plan
    card: PrivacyCard | None
    inputs: int


def write_model(
    path: StrPath, model: DPClassifier | DPRegressor | Any, *, card: PrivacyCard | None = None
) -> None:
    """Write a trained model; an older file stays until the new one is whole."""
    from dpsgd.files.checkpoint import write_tensors

    estimator = model._fitted()  # noqa: SLF001
    plan = estimator.plan
    if card is None and plan.noise_multiplier:
        card = card_of(plan)
    elif card is not None and (wrong := disagreements(card, plan=plan)):
        raise DPSGDError(
            Message("The card does not fit the plan: {wrong}.", wrong=Name.each(wrong)),
            hint=Message("make it with the model's own card()"),
        )
    facts = {
        "estimator": type(estimator).__name__,
        "settings": estimator._settings(),  # noqa: SLF001
        "plan": plan.to_json(),
        "card": None if card is None else card.to_json(),
        "encoding": _ENCODING,
        "inputs": estimator.inputs_,
        "steps_taken": estimator.steps_taken_,
    }
    write_tensors(path, estimator.network_.state_dict(), kind="model", facts=facts)


def read_facts(path: StrPath) -> ModelFacts:
    """Return what a model file says beside its weights; needs no PyTorch.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    CheckpointError
        If it is no model, damaged, or of a newer version.
    """
    return _facts(opened(path, kind="model")[1], Path(path).name)


def read_model(path: StrPath, *, device: str = "cpu") -> DPClassifier | DPRegressor:
    """Return the model that a file holds.

    Parameters
    ----------
    path
        The file.
    device
        Where it shall predict.

    Raises
    ------
    CheckpointError
        If it is no model, damaged, or of a newer version.
    """
    from dpsgd.estimators import DPClassifier, DPRegressor
    from dpsgd.files.checkpoint import read_tensors

    name = Path(path).name
    tensors, plain = read_tensors(path, kind="model")
    facts = _facts(plain, name)
    kinds: dict[str, type[Any]] = {"DPClassifier": DPClassifier, "DPRegressor": DPRegressor}
    kind = kinds.get(facts.estimator)
    if kind is None or not set(facts.settings) <= {*inspect.signature(kind).parameters}:
        raise _refused(name)
    try:
        model = kind(facts.plan, **facts.settings, device=device)
        network = _network(model, facts.inputs)
        _check(network, tensors, facts=facts, name=name)
        network.load_state_dict(tensors, assign=True)
        model.inputs_, model.steps_taken_ = facts.inputs, facts.plan.steps
        model.network_ = network.to(device).eval()
    except CheckpointError:
        raise
    except (DPSGDError, TypeError, ValueError, KeyError, RuntimeError) as error:
        raise _refused(name) from error
    estimator: DPClassifier | DPRegressor = model
    return estimator


def _network(model: Any, inputs: int) -> nn.Module:
    """Return the network without memory: a file may claim any size."""
    import torch

    hidden = [*model.hidden]
    widths = [inputs, *hidden]
    if len(hidden) > _MAX_LAYERS or not all(
        is_integer(w, minimum=1, maximum=_WIDEST) for w in widths
    ):
        raise CheckpointError(Message("The network of this file is too large."))
    with torch.device("meta"):
        network: nn.Module = model._build(inputs)  # noqa: SLF001
    return network


def _check(
    network: nn.Module, tensors: dict[str, Tensor], *, facts: ModelFacts, name: str
) -> None:
    import torch

    shapes = {n: (v.shape, v.dtype) for n, v in network.state_dict().items()}
    if shapes != {n: (v.shape, v.dtype) for n, v in tensors.items()}:
        raise _refused(name)
    if not all(bool(torch.isfinite(value).all()) for value in tensors.values()):
        raise CheckpointError(
            Message("The weights in {name!r} are not finite.", name=Name(name))
        )
    if facts.plan.schema is not None:
        from dpsgd.encoding import features

        nothing: dict[str, list[Any]] = {c.name: [] for c in facts.plan.schema.columns}
        if features(nothing, schema=facts.plan.schema).shape[1] != facts.inputs:
            raise _refused(name)


def _facts(plain: dict[str, Any], name: str) -> ModelFacts:
    try:
        plan = Plan.from_json(plain["plan"])
        card = None if plain["card"] is None else PrivacyCard.from_json(plain["card"])
        settings, inputs = dict(plain["settings"]), plain["inputs"]
        is_right = (
            plain["steps_taken"] == plan.steps
            and (card is not None or not plan.noise_multiplier)
            and is_integer(inputs, minimum=1, maximum=_WIDEST)
            and isinstance(plain["estimator"], str)
        )
    except (DPSGDError, KeyError, TypeError, ValueError) as error:
        raise _refused(name) from error
    if plain.get("encoding") != _ENCODING:
        raise CheckpointError(
            Message(
                "The model in {name!r} turns records into numbers in a way not known here.",
                name=Name(name),
            ),
            hint=Message("another version of ckm wrote it: install that one"),
        )
    if not is_right:
        raise _refused(name)
    return ModelFacts(
        estimator=plain["estimator"], settings=settings, plan=plan, card=card, inputs=inputs
    )


def _refused(name: str) -> CheckpointError:
    return CheckpointError(
        Message(
            "What {name!r} holds does not fit together: it is no model that dpsgd wrote.",
            name=Name(name),
        ),
        hint=Message("restore an undamaged copy of the file, or train again"),
    )
