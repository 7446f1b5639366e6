"""Synthetic microdata, differentially private, from vine copulas and noisy tables."""

from synth.budget import Budget
from synth.calls import Call
from synth.certificate import Certificate
from synth.claims import Claim
from synth.columns import Category, Column, Date, Numeric, Real, Whole
from synth.discovery import Discovery, discover
from synth.engine import fit_codes
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
from synth.guarantee import Guarantee, guarantee_beside
from synth.lint import Finding, lint
from synth.measuring import Neighbours
from synth.migration import schema_from
from synth.model import Measured, TableModel
from synth.noise import NoiseSource, SecureNoise, SimulatedNoise
from synth.picture import draw_structure, structure
from synth.priors import Prior
from synth.public import Published, Rule
from synth.rules import EditRule
from synth.schema import Schema, Unit
from synth.settings import Settings
from synth.spending import Spend
from synth.synthesizer import Synthesizer

__all__ = [
    "Budget",
    "Call",
    "Category",
    "Certificate",
    "CertificateError",
    "Claim",
    "Column",
    "Date",
    "Discovery",
    "DomainError",
    "EditRule",
    "Finding",
    "Guarantee",
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
    "draw_structure",
    "fit_codes",
    "guarantee_beside",
    "lint",
    "schema_from",
    "structure",
]
