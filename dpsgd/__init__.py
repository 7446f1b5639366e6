"""Training on confidential data by DP-SGD: plan, train, account, audit."""

from dpsgd.cost import Cost, Sampling, cost_of, noise_for
from dpsgd.errors import (
    BudgetEndedError,
    CheckpointError,
    DPSGDError,
    PlanError,
    TrainingDataError,
    UnsupportedLayerError,
)
from dpsgd.plan import AdaptiveClipping, Plan
from dpsgd.schema import Category, Number, Schema

__all__ = [
    "AdaptiveClipping",
    "BudgetEndedError",
    "Category",
    "CheckpointError",
    "Cost",
    "DPSGDError",
    "Number",
    "Plan",
    "PlanError",
    "Sampling",
    "Schema",
    "TrainingDataError",
    "UnsupportedLayerError",
    "cost_of",
    "noise_for",
]
