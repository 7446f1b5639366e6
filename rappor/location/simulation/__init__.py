"""People who move, simulated or real: ways to share where they are, and attacks on them."""

from rappor.location.simulation.attacks import averaging_attack, linkage_attack
from rappor.location.simulation.experiment import Experiment, compare, experiment
from rappor.location.simulation.outcome import Outcome
from rappor.location.simulation.people import Traces, moving_people, traces_of

__all__ = [
    "Experiment",
    "Outcome",
    "Traces",
    "averaging_attack",
    "compare",
    "experiment",
    "linkage_attack",
    "moving_people",
    "traces_of",
]
