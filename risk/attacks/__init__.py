"""Attacks on protected tables, run against any oracle that publishes counts.

An attack asks an `Oracle` as a user would, so that rules, limits and refusals count, and
reports an `AttackResult`. Where there is a formula, `closed_form` gives the same probability.
"""

from risk.attacks.additive_keys import AdditiveKeys, joint_noise
from risk.attacks.averaging import RepeatedAnswers, TwoPartition
from risk.attacks.differencing import Differencing
from risk.attacks.hidden_bound import HiddenBound
from risk.attacks.margins import MarginBounds, reveal
from risk.attacks.oracle import AttackResult, CountRequest, wilson
from risk.attacks.pairs import pairs_available, pairs_needed
from risk.attacks.reconstruction.geographic import GeographicDifferencing
from risk.attacks.reconstruction.linear import LinearReconstruction
from risk.attacks.reconstruction.subset_sums import SubsetSums
from risk.attacks.simulated import SimulatedOracle
from risk.attacks.small_cell import SmallCell

__all__ = [
    "AdditiveKeys",
    "AttackResult",
    "CountRequest",
    "Differencing",
    "GeographicDifferencing",
    "HiddenBound",
    "LinearReconstruction",
    "MarginBounds",
    "RepeatedAnswers",
    "SimulatedOracle",
    "SmallCell",
    "SubsetSums",
    "TwoPartition",
    "joint_noise",
    "pairs_available",
    "pairs_needed",
    "reveal",
    "wilson",
]
