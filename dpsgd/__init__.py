"""Training on confidential data by DP-SGD: plan, train, account, audit.

What needs PyTorch is imported when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dpsgd.accounting.cost import Cost, Sampling, cost_of, noise_for
from dpsgd.card import PrivacyCard, card_of
from dpsgd.errors import (
    BudgetEndedError,
    CheckpointError,
    DPSGDError,
    PlanError,
    TrainingDataError,
    UnsupportedLayerError,
)
from dpsgd.files.model_file import read_facts
from dpsgd.plan import AdaptiveClipping, Plan
from dpsgd.schema import Category, Number, Schema
from footing.messages import Message, Name

if TYPE_CHECKING:
    from dpsgd.estimators import DPClassifier, DPRegressor
    from dpsgd.files.model_file import read_model
    from dpsgd.training.loop import privatise
    from dpsgd.training.training import PrivateTraining

__all__ = [
    "AdaptiveClipping",
    "BudgetEndedError",
    "Category",
    "CheckpointError",
    "Cost",
    "DPClassifier",
    "DPRegressor",
    "DPSGDError",
    "Number",
    "Plan",
    "PlanError",
    "PrivacyCard",
    "PrivateTraining",
    "Sampling",
    "Schema",
    "TrainingDataError",
    "UnsupportedLayerError",
    "card_of",
    "cost_of",
    "noise_for",
    "privatise",
    "read_facts",
    "read_model",
]

_HOMES = {
    "DPClassifier": "estimators",
    "DPRegressor": "estimators",
    "PrivateTraining": "training.training",
    "privatise": "training.loop",
    "read_model": "files.model_file",
}
_EXTRA = {"safetensors", "torch"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(
            Message(
                "module {name!r} has no attribute {name_2!r}",
                name=Name(__name__),
                name_2=Name(name),
            )
        )
    try:
        import_module("dpsgd.files.checkpoint")
        return getattr(import_module(f"dpsgd.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _EXTRA:
            raise
        raise DPSGDError(
            Message(
                "Training and predicting need the package {error}, which is not installed.",
                error=Name(error.name),
            ),
            hint=Message("in the project's folder: pip install '.[dpsgd]'"),
        ) from None
