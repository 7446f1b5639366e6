"""Synthetic microdata, differentially private, from vine copulas and noisy tables."""

from synth.engine import fit_codes
from synth.errors import OverspentError, SynthError
from synth.measuring import Neighbours
from synth.model import Measured, TableModel
from synth.noise import NoiseSource, SecureNoise, SimulatedNoise
from synth.public import Published, Rule
from synth.settings import Settings
from synth.spending import Spend

__all__ = [
    "Measured",
    "Neighbours",
    "NoiseSource",
    "OverspentError",
    "Published",
    "Rule",
    "SecureNoise",
    "Settings",
    "SimulatedNoise",
    "Spend",
    "SynthError",
    "TableModel",
    "fit_codes",
]
