"""Differential privacy: mechanisms, sensitivity, composition, budgets, accountants.

Every mechanism has a `guarantee`; guarantees compose, mean something to a reader, and are
charged to a ledger that refuses what exceeds a budget.
"""

from dp.accounting.composition import advanced, basic, concentrated, parallel
from dp.accounting.concentrated import epsilon_of_rho, rho_of_epsilon
from dp.accounting.gaussian import (
    classic_gaussian_scale,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_scale,
)
from dp.accounting.pld import PrivacyLoss
from dp.accounting.rdp import CLASSIC_ORDERS, RenyiCurve, renyi_divergence
from dp.accounting.shuffled import shuffled_delta, shuffled_epsilon
from dp.accounting.training import training_cost
from dp.adjacency import Adjacency
from dp.aggregates.plan import Plan, TablePlan
from dp.aggregates.questions import Question
from dp.aggregates.release import Released, release
from dp.auditor import audit, one_run_bound
from dp.belief import (
    Meaning,
    Shift,
    advantage_bound,
    belief_bounds,
    belief_table,
    distance_bound,
    epsilon_for_belief,
    meaning,
    premium_bound,
    tail_bound,
    true_positive_bound,
)
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
    together,
)

__all__ = [
    "CLASSIC_ORDERS",
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
    "Meaning",
    "MissingPackageError",
    "Plan",
    "PlanarLaplace",
    "PrivacyLoss",
    "Question",
    "RandomisedResponse",
    "Released",
    "RenyiCurve",
    "Sensitivity",
    "Shift",
    "TablePlan",
    "UnboundedError",
    "advanced",
    "advantage_bound",
    "audit",
    "basic",
    "belief_bounds",
    "belief_table",
    "bounded_sum",
    "classic_gaussian_scale",
    "concentrated",
    "count",
    "counts",
    "disjoint",
    "distance_bound",
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
    "one_run_bound",
    "parallel",
    "premium_bound",
    "release",
    "renyi_divergence",
    "response_regression",
    "rho_of_epsilon",
    "shuffled_delta",
    "shuffled_epsilon",
    "tail_bound",
    "together",
    "training_cost",
    "true_positive_bound",
]
