"""Differential privacy: mechanisms, sensitivity, composition, budgets, accountants.

Every mechanism has a `guarantee`; guarantees compose, mean something to a reader, and are
charged to a ledger that refuses what exceeds a budget.
"""

from dp.accounting.composition import advanced, basic, concentrated, parallel
from dp.accounting.concentrated import epsilon_of_rho, rho_of_epsilon
from dp.accounting.gaussian import gaussian_delta, gaussian_epsilon, gaussian_scale
from dp.accounting.pld import PrivacyLoss
from dp.accounting.shuffled import shuffled_epsilon
from dp.accounting.training import training_cost
from dp.adjacency import Adjacency
from dp.aggregates.plan import Plan, TablePlan
from dp.aggregates.questions import Question
from dp.aggregates.release import release
from dp.auditor import audit
from dp.belief import epsilon_for_belief, meaning
from dp.budget.ledger import BudgetLedger
from dp.check import exact_epsilon
from dp.errors import (
    BudgetSpentError,
    DPError,
    DPWarning,
    LedgerFileError,
    MissingPackageError,
    UnboundedError,
)
from dp.guarantee import Guarantee
from dp.mechanisms.choice import Exponential
from dp.mechanisms.noise import DiscreteGaussian, Gaussian, Geometric, Laplace
from dp.mechanisms.planar import PlanarLaplace
from dp.mechanisms.response import RandomisedResponse
from dp.mechanisms.response_regression import response_regression
from dp.sensitivity import (
    Sensitivity,
    bounded_sum,
    count,
    counts,
    disjoint,
    histogram,
    maximum,
    mean,
)
from footing.lazy import moved as _moved

__all__ = [
    "Adjacency",
    "BudgetLedger",
    "BudgetSpentError",
    "DPError",
    "DPWarning",
    "DiscreteGaussian",
    "Exponential",
    "Gaussian",
    "Geometric",
    "Guarantee",
    "Laplace",
    "LedgerFileError",
    "MissingPackageError",
    "Plan",
    "PlanarLaplace",
    "PrivacyLoss",
    "Question",
    "RandomisedResponse",
    "Sensitivity",
    "TablePlan",
    "UnboundedError",
    "advanced",
    "audit",
    "basic",
    "bounded_sum",
    "concentrated",
    "count",
    "counts",
    "disjoint",
    "epsilon_for_belief",
    "epsilon_of_rho",
    "exact_epsilon",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_scale",
    "histogram",
    "maximum",
    "mean",
    "meaning",
    "parallel",
    "release",
    "response_regression",
    "rho_of_epsilon",
    "shuffled_epsilon",
    "training_cost",
]

#: Names of 0.1 that are asked of their modules, by whoever needs them.
__getattr__ = _moved(
    __name__,
    {
        "CLASSIC_ORDERS": "dp.accounting.rdp",
        "Meaning": "dp.belief",
        "Released": "dp.aggregates.release",
        "RenyiCurve": "dp.accounting.rdp",
        "Shift": "dp.belief",
        "advantage_bound": "dp.belief",
        "belief_bounds": "dp.belief",
        "belief_table": "dp.belief",
        "classic_gaussian_scale": "dp.accounting.gaussian",
        "distance_bound": "dp.belief",
        "one_run_bound": "dp.auditor",
        "premium_bound": "dp.belief",
        "renyi_divergence": "dp.accounting.rdp",
        "shuffled_delta": "dp.accounting.shuffled",
        "tail_bound": "dp.belief",
        "together": "dp.sensitivity",
        "true_positive_bound": "dp.belief",
    },
)
