"""Synthetic microdata, differentially private, from vine copulas and noisy tables."""

from synth.budget import Budget
from synth.calls import Call
from synth.columns import Category, Column, Date, Numeric, Real, Whole
from synth.discovery import Discovery, discover
from synth.engine import Settings, fit_codes
from synth.errors import (
    CertificateError,
    DomainError,
    OverspentError,
    RuleError,
    SchemaError,
    SynthError,
    SynthWarning,
    UndeclaredError,
    UnitError,
)
from synth.fitted import Model
from synth.measuring import Neighbours
from synth.model import Measured, TableModel
from synth.noise import NoiseSource, SecureNoise, SimulatedNoise
from synth.priors import Prior
from synth.public import Published, Rule
from synth.rules import EditRule
from synth.schema import Schema, Unit
from synth.spending import Spend
from synth.synthesizer import Synthesizer

__all__ = [
    "Budget",
    "Call",
    "Category",
    "CertificateError",
    "Column",
    "Date",
    "Discovery",
    "DomainError",
    "EditRule",
    "Measured",
    "Model",
    "Neighbours",
    "NoiseSource",
    "Numeric",
    "OverspentError",
    "Prior",
    "Published",
    "Real",
    "Rule",
    "RuleError",
    "Schema",
    "SchemaError",
    "SecureNoise",
    "Settings",
    "SimulatedNoise",
    "Spend",
    "SynthError",
    "SynthWarning",
    "Synthesizer",
    "TableModel",
    "UndeclaredError",
    "Unit",
    "UnitError",
    "Whole",
    "discover",
    "fit_codes",
]
